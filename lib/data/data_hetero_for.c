/* Heterogeneous data sets with the graphs and features that one block reads. */
#include <graphs/hetero.h>
#include <lib/data/data.h>
#include <lib/data/arrays/arrays.h>

/* A block: the count of its graphs, and how each is made. */
typedef struct {
    const char *name;
    bool of_all; /* its nodes are those of all types; else those of one */
    int64_t (*count)(const gnn_hetero_t *hetero);
    int (*make)(gnn_graph_t **graph, const gnn_hetero_t *hetero, const gnn_data_t *data, int64_t k);
} block_t;

static int64_t relations(const gnn_hetero_t *hetero)
{
    return hetero->n_relations;
}

static int64_t types(const gnn_hetero_t *hetero)
{
    return hetero->n_types;
}

static int part(gnn_graph_t **graph, const gnn_hetero_t *hetero, const gnn_data_t *data, int64_t k)
{
    (void)hetero;
    return gnn_graph_part(graph, gnn_data_graph(data), k);
}

static int relation(gnn_graph_t **graph, const gnn_hetero_t *hetero, const gnn_data_t *data, int64_t k)
{
    (void)data;
    return gnn_graph_relation(graph, hetero, k);
}

static int towards(gnn_graph_t **graph, const gnn_hetero_t *hetero, const gnn_data_t *data, int64_t k)
{
    (void)data;
    return gnn_graph_towards(graph, hetero, k);
}

static const block_t blocks[] = {{"rgcn", true, relations, part},
                                 {"hetero_conv", false, relations, relation},
                                 {"hgt", false, types, towards}};
enum { BLOCKS = sizeof blocks / sizeof *blocks };

static int find(const block_t **found, const char *name)
{
    char names[80] = "";
    for (int k = 0; k < BLOCKS; k++) {
        gnn__append_name(names, sizeof names, ", ", blocks[k].name);
        if (strcmp(blocks[k].name, name) == 0) {
            *found = &blocks[k];
            return GNN_OK;
        }
    }
    return gnn__error(GNN_ENOTFOUND, "no block of types is called \"%.40s\"; there are %s", name,
                      names);
}

/* A type's split; NULL if there is none or all its masks are empty. */
static int find_split(const gnn_split_t **split, const gnn_node_type_t *type)
{
    bool any = false;
    *split = NULL;
    GNN_TRY(gnn__type_split_fits(type));
    if (!type->split)
        return GNN_OK;
    for (int part = 0; part < 3; part++)
        any = any || memchr(gnn_split_mask(type->split, part, 0), 1, (size_t)type->count);
    if (any)
        *split = type->split;
    return GNN_OK;
}

/* The features of each type under "x.TYPE". */
static int add_features(gnn_data_t *data, const gnn_node_type_t *type)
{
    char *name;
    int64_t count;
    if (!type->x)
        return GNN_OK;
    GNN_TRY(gnn__tensor_check(type->x, type->name));
    if (type->x->rows != type->count)
        return gnn__error(GNN_ESHAPE, "type %.40s has %lld nodes, its features %lld rows",
                          type->name, (long long)type->count, (long long)type->x->rows);
    if (!gnn__mul(type->count, type->x->cols, &count))
        return gnn__error(GNN_EOVERFLOW, "the features of %.40s do not fit", type->name);
    gnn_real_t *rows = NULL;
    GNN_TRY(gnn__asprintf(&name, "x.%s", type->name));
    int rc = gnn__new(&rows, count, sizeof *rows, "features of a type");
    for (int64_t k = 0; rc == GNN_OK && k < type->count; k++)
        memcpy(rows + k * type->x->cols, gnn__row(type->x, k), (size_t)type->x->cols * sizeof *rows);
    if (rc == GNN_OK)
        rc = gnn_data_array_set(data, GNN_ON_TYPES,
                                &(gnn_array_t){.name = name,
                                               .dtype = GNN__REAL_DTYPE,
                                               .ndim = 2,
                                               .shape = {type->count, type->x->cols},
                                               .count = count,
                                               .data = rows});
    gnn_free(rows);
    gnn_free(name);
    return rc;
}

/* The nodes of one type, which receive only through the graphs in slots. */
static int of_type(gnn_data_t **data, const gnn_hetero_t *h, int64_t t)
{
    const gnn_node_type_t *type = &h->types[t];
    gnn_graph_t *graph = NULL;
    const gnn_split_t *split;
    int rc;
    GNN_CHECK(find_split(&split, type));
    GNN_CHECK(gnn_graph_from_edges(&graph, type->count, type->count, 0, NULL, NULL));
    GNN_CHECK(gnn_data_new(data, &(gnn_data_config_t){.name = type->name,
                                                      .graph = graph,
                                                      .x = type->x,
                                                      .labels = type->labels,
                                                      .split = split}));
    graph = NULL; /* now owned by the set */
    for (int64_t k = 0; k < h->n_types; k++)
        GNN_CHECK(add_features(*data, &h->types[k]));
done:
    gnn_graph_free(graph);
    return rc;
}

static int add_graphs(gnn_data_t *data, const gnn_hetero_t *hetero, const block_t *block)
{
    const int64_t count = block->count(hetero);
    gnn_graph_t **graphs;
    int rc;
    GNN_TRY(gnn__new(&graphs, count, sizeof *graphs, "graphs of slots"));
    for (int64_t k = 0; k < count; k++)
        GNN_CHECK(block->make(&graphs[k], hetero, data, k));
    GNN_CHECK(gnn_data_graphs_set(data, count, graphs));
    gnn_free(graphs);
    return GNN_OK;
done:
    for (int64_t k = 0; k < count; k++)
        gnn_graph_free(graphs[k]);
    gnn_free(graphs);
    return rc;
}

int gnn_data_hetero_for(gnn_data_t **data, const gnn_hetero_t *hetero, const char *block,
                        const char *type)
{
    const block_t *row = NULL;
    int64_t t = 0;
    GNN__NEED(data);
    *data = NULL;
    GNN__NEED(hetero);
    GNN__NEED(block);
    GNN_TRY(find(&row, block));
    if (row->of_all != (type == NULL))
        return gnn__error(GNN_EINVALID,
                          row->of_all
                              ? "block %s reads all types of nodes: expected type NULL, got a name"
                              : "block %s reads one type of nodes: expected its name, got NULL",
                          row->name);
    GNN_TRY(gnn__hetero_check_types(hetero));
    if (type && (t = gnn__hetero_type(hetero, type)) < 0)
        return GNN_ENOTFOUND;
    int rc = row->of_all ? gnn_data_hetero(data, hetero) : of_type(data, hetero, t);
    if (rc == GNN_OK)
        rc = add_graphs(*data, hetero, row);
    if (rc != GNN_OK) {
        gnn_data_free(*data);
        *data = NULL;
    }
    return rc;
}
