/* Heterogeneous data sets: one graph with a part per relation, and block-diagonal features. */
#include <graphs/hetero.h>
#include <lib/data/data.h>

typedef struct {
    int64_t *indptr;
    int32_t *indices;
    gnn_real_t *values;
    int32_t *labels;
    gnn_split_t *split;
    bool any_part;
} rows_t;

static int64_t width(const gnn_node_type_t *type)
{
    return type->x ? type->x->cols : 0;
}

/* Counts nodes, feature columns and stored values. */
static int measure(const gnn_hetero_t *h, int64_t *nodes, int64_t *cols, int64_t *stored)
{
    for (int64_t t = 0; t < h->n_types; t++) {
        const gnn_node_type_t *type = &h->types[t];
        int64_t numbers;
        if (type->x)
            GNN_TRY(gnn__tensor_check(type->x, type->name));
        if (type->x && type->x->rows != type->count)
            return gnn__error(GNN_ESHAPE, "type %.40s has %lld nodes, its features %lld rows",
                              type->name, (long long)type->count, (long long)type->x->rows);
        if (!gnn__mul(type->count, width(type) + 1, &numbers) || !gnn__add(*stored, numbers, stored) ||
            !gnn__add(*cols, width(type) + 1, cols) || *cols > INT32_MAX)
            return gnn__error(GNN_EOVERFLOW, "the features of %lld types do not fit",
                              (long long)h->n_types);
        *nodes += type->count;
    }
    return GNN_OK;
}

/* Features of a type from column `col` on, then its column of ones. */
static void add_features(const gnn_node_type_t *type, int64_t node, int64_t col, rows_t *r)
{
    for (int64_t k = 0; k < type->count; k++, node++) {
        int64_t at = r->indptr[node];
        for (int64_t c = 0; c < width(type); c++, at++) {
            r->indices[at] = (int32_t)(col + c);
            r->values[at] = gnn__row(type->x, k)[c];
        }
        r->indices[at] = (int32_t)(col + width(type));
        r->values[at++] = 1;
        r->indptr[node + 1] = at;
    }
}

static int add_labels(const gnn_node_type_t *type, int64_t node, rows_t *r)
{
    GNN_TRY(gnn__type_split_fits(type));
    if (type->labels.data)
        GNN_TRY(gnn__ints_check("labels", type->labels, type->count));
    for (int64_t k = 0; k < type->count; k++, node++) {
        const int64_t label = type->labels.data ? gnn__int(type->labels, k) : -1;
        if (label > INT32_MAX)
            return gnn__error(GNN_EINVALID, "type %.40s: labels[%lld] = %lld is not a class",
                              type->name, (long long)k, (long long)label);
        r->labels[node] = label < 0 ? -1 : (int32_t)label;
        for (int part = 0; type->split && part < 3; part++)
            if (gnn_split_mask(type->split, part, 0)[k]) {
                r->split->masks[part][node] = 1;
                r->any_part = true;
            }
    }
    return GNN_OK;
}

static int fill(const gnn_hetero_t *h, rows_t *r)
{
    int64_t node = 0, col = 0;
    for (int64_t t = 0; t < h->n_types; t++) {
        const gnn_node_type_t *type = &h->types[t];
        add_features(type, node, col, r);
        GNN_TRY(add_labels(type, node, r));
        node += type->count;
        col += width(type) + 1;
    }
    return GNN_OK;
}

static int rows_new(rows_t *r, int64_t nodes, int64_t stored)
{
    GNN_TRY(gnn__new(&r->indptr, nodes + 1, sizeof *r->indptr, "features"));
    GNN_TRY(gnn__new(&r->indices, stored, sizeof *r->indices, "features"));
    GNN_TRY(gnn__new(&r->values, stored, sizeof *r->values, "features"));
    GNN_TRY(gnn__new(&r->labels, nodes, sizeof *r->labels, "labels"));
    return gnn_split_new(&r->split, nodes, 1);
}

static void rows_free(rows_t *r)
{
    gnn_free(r->indptr);
    gnn_free(r->indices);
    gnn_free(r->values);
    gnn_free(r->labels);
    gnn_split_free(r->split);
}

/* The type of each node and edge, as an array of the set. */
static int add_class(gnn_data_t *data, gnn_data_place_t place, const char *name, int64_t count,
                     const int32_t *of)
{
    return gnn_data_array_set(data, place,
                              &(gnn_array_t){.name = name,
                                             .dtype = GNN_DTYPE_INT32,
                                             .ndim = 1,
                                             .shape = {count},
                                             .count = count,
                                             .data = of});
}

static int make(gnn_data_t **data, gnn_graph_t *graph, int64_t nodes, int64_t cols, const rows_t *r)
{
    const gnn_sparse_t x = {
        .rows = nodes, .cols = cols, .indptr = r->indptr, .indices = r->indices, .values = r->values};
    gnn_data_config_t config = {.graph = graph, .sparse = &x, .labels = gnn_ints(r->labels)};
    if (r->any_part)
        config.split = r->split;
    return gnn_data_new(data, &config);
}

int gnn_data_hetero(gnn_data_t **data, const gnn_hetero_t *hetero)
{
    GNN__NEED(hetero);
    int rc;
    int64_t nodes = 0, cols = 0, stored = 0, edges = 0;
    rows_t r = {0};
    gnn_graph_t *graph = NULL;
    int32_t *node_class = NULL, *edge_class = NULL;
    GNN__NEED(data);
    *data = NULL;
    GNN_CHECK(gnn_graph_hetero(&graph, hetero, NULL, NULL));
    GNN_CHECK(measure(hetero, &nodes, &cols, &stored));
    edges = gnn_graph_n_edges(graph);
    GNN_CHECK(gnn__new(&node_class, nodes, sizeof *node_class, "types of nodes"));
    GNN_CHECK(gnn__new(&edge_class, edges, sizeof *edge_class, "relations of edges"));
    GNN_CHECK(rows_new(&r, nodes, stored));
    GNN_CHECK(fill(hetero, &r));
    gnn__hetero_classes(hetero, node_class, edge_class);
    GNN_CHECK(make(data, graph, nodes, cols, &r));
    graph = NULL; /* now owned by the set */
    GNN_CHECK(add_class(*data, GNN_ON_NODES, "type", nodes, node_class));
    GNN_CHECK(add_class(*data, GNN_ON_EDGES, "relation", edges, edge_class));
done:
    if (rc != GNN_OK) {
        gnn_data_free(*data);
        *data = NULL;
    }
    gnn_graph_free(graph);
    gnn_free(node_class);
    gnn_free(edge_class);
    rows_free(&r);
    return rc;
}
