/* Writes a data set as .npz in libgnn's own layout: planetoid's arrays, the names of classes and
 * nodes, arrays by name. */
#include <lib/data/data.h>

#include <graphs/build.h>
#include <lib/data/arrays/arrays.h>

enum { SET_ARRAYS = 20 }; /* arrays other than the set's named ones */

/* Arrays to be written; temporaries are freed at the end. */
typedef struct bundle {
    gnn_array_t *arrays;
    int64_t count;
    void **made;
    int64_t n_made;
} bundle_t;

static void add(bundle_t *b, const char *name, gnn_dtype_t dtype, int64_t count, const void *values)
{
    b->arrays[b->count++] = (gnn_array_t){name, dtype, 1, {count}, count, values};
}

static void add_matrix(bundle_t *b, const char *name, gnn_dtype_t dtype, int64_t rows, int64_t cols,
                       const void *values)
{
    b->arrays[b->count++] = (gnn_array_t){name, dtype, 2, {rows, cols}, rows * cols, values};
}

static int make(bundle_t *b, void *out, int64_t count, size_t element, const char *what)
{
    void *block;
    GNN_TRY(gnn__new(&block, count, element, what));
    b->made[b->n_made++] = block;
    *(void **)out = block;
    return GNN_OK;
}

static int add_shape(bundle_t *b, const char *name, int64_t rows, int64_t cols)
{
    int64_t *shape;
    GNN_TRY(make(b, &shape, 2, sizeof *shape, name));
    shape[0] = rows;
    shape[1] = cols;
    add(b, name, GNN_DTYPE_INT64, 2, shape);
    return GNN_OK;
}

typedef struct pairs {
    int64_t m, *src, *dst, *edge;
} pairs_t;

/* Pairs ordered by receiver, senders in the order of the graph. */
static int list_pairs(bundle_t *b, const gnn_graph_t *graph, pairs_t *p)
{
    p->m = gnn_graph_n_pairs(graph);
    if (p->m != gnn_graph_n_edges(graph))
        return gnn__error(GNN_EUNSUPPORTED, "a graph with spans, one of edges is expected");
    GNN_TRY(make(b, &p->src, p->m, sizeof *p->src, "links"));
    GNN_TRY(make(b, &p->dst, p->m, sizeof *p->dst, "links"));
    GNN_TRY(make(b, &p->edge, p->m, sizeof *p->edge, "links"));
    return gnn_graph_pairs(graph, p->src, p->dst, p->edge);
}

static bool hears(const pairs_t *p, const int64_t *indptr, int64_t i, int64_t j)
{
    int64_t low = indptr[i], high = indptr[i + 1];
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (p->src[middle] == j)
            return true;
        if (p->src[middle] < j)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

/* Are the edges as a reader makes them from links: ids in receiver order, each with its reverse, no
 * duplicates, no self-loops? */
static bool are_links(const pairs_t *p, const int64_t *indptr)
{
    for (int64_t k = 0; k < p->m; k++) {
        bool next = k == 0 || p->dst[k] > p->dst[k - 1] ||
                    (p->dst[k] == p->dst[k - 1] && p->src[k] > p->src[k - 1]);
        if (!next || p->edge[k] != k || p->src[k] == p->dst[k])
            return false;
    }
    for (int64_t k = 0; k < p->m; k++)
        if (!hears(p, indptr, p->src[k], p->dst[k]))
            return false;
    return true;
}

/* Directed edges: sender and receiver, by edge id. */
static int add_messages(bundle_t *b, const pairs_t *p)
{
    int64_t *ends;
    GNN_TRY(make(b, &ends, p->m, 2 * sizeof *ends, "edges"));
    for (int64_t k = 0; k < p->m; k++) {
        ends[2 * p->edge[k]] = p->src[k];
        ends[2 * p->edge[k] + 1] = p->dst[k];
    }
    add_matrix(b, "messages", GNN_DTYPE_INT64, p->m, 2, ends);
    return GNN_OK;
}

static int add_links(bundle_t *b, const gnn_data_t *data, const pairs_t *p, const int64_t *indptr)
{
    const gnn_tensor_t *weight = gnn_data_rows(data, GNN_ON_EDGES, "weight");
    int32_t *indices;
    GNN_TRY(make(b, &indices, p->m, sizeof *indices, "links"));
    for (int64_t k = 0; k < p->m; k++)
        indices[k] = (int32_t)p->src[k];
    add(b, "adj_indptr", GNN_DTYPE_INT64, data->n + 1, indptr);
    add(b, "adj_indices", GNN_DTYPE_INT32, p->m, indices);
    if (weight && weight->cols == 1)
        add(b, "adj_data", GNN__REAL_DTYPE, p->m, weight->data);
    return add_shape(b, "adj_shape", data->n, data->n);
}

static int add_graph(bundle_t *b, const gnn_data_t *data)
{
    pairs_t p;
    int64_t *indptr;
    GNN_TRY(list_pairs(b, data->graph, &p));
    GNN_TRY(make(b, &indptr, data->n + 1, sizeof *indptr, "links"));
    for (int64_t k = 0; k < p.m; k++)
        indptr[p.dst[k] + 1]++;
    for (int64_t i = 0; i < data->n; i++)
        indptr[i + 1] += indptr[i];
    return are_links(&p, indptr) ? add_links(b, data, &p, indptr) : add_messages(b, &p);
}

/* Arrays by name, except weights already written as adj_data. */
static int add_arrays(bundle_t *b, const gnn_data_t *data)
{
    static const char *const places[] = {
        [GNN_ON_NODES] = "node", [GNN_ON_EDGES] = "edge", [GNN_ON_GRAPHS] = "graph"};
    bool weighted = false;
    for (int64_t k = 0; k < b->count; k++)
        weighted = weighted || strcmp(b->arrays[k].name, "adj_data") == 0;
    for (int64_t k = 0; k < data->n_arrays; k++) {
        const gnn__data_array_t *a = &data->arrays[k];
        char *name;
        if (weighted && a->place == GNN_ON_EDGES && strcmp(a->array.name, "weight") == 0)
            continue;
        if (a->place == GNN_ON_NODES && strcmp(a->array.name, "targets") == 0 &&
            gnn_data_label_kind(data) > GNN_LABELS_CLASSES)
            continue;
        GNN_TRY(gnn__asprintf(&name, "%s.%s", places[a->place], a->array.name));
        b->made[b->n_made++] = name;
        b->arrays[b->count] = a->array;
        b->arrays[b->count++].name = name;
    }
    return GNN_OK;
}

static int add_features(bundle_t *b, const gnn_data_t *data)
{
    const gnn_sparse_t *s = &data->sparse;
    if (!s->indptr) {
        add_matrix(b, "attr_matrix", GNN__REAL_DTYPE, data->n, data->features, data->x.data);
        return GNN_OK;
    }
    int64_t nnz = s->indptr[data->n];
    add(b, "attr_indptr", GNN_DTYPE_INT64, data->n + 1, s->indptr);
    add(b, "attr_indices", GNN_DTYPE_INT32, nnz, s->indices);
    add(b, "attr_data", GNN__REAL_DTYPE, nnz, s->values);
    return add_shape(b, "attr_shape", data->n, data->features);
}

static bool has_labels(const gnn_data_t *data)
{
    for (int64_t i = 0; i < data->n; i++)
        if (data->labels[i] >= 0)
            return true;
    return false;
}

/* Classes, or the targets in their place. Without labels there is no array of them. */
static void add_labels(bundle_t *b, const gnn_data_t *data)
{
    const gnn_tensor_t *targets = gnn_data_rows(data, GNN_ON_NODES, "targets");
    if (gnn_data_label_kind(data) > GNN_LABELS_CLASSES)
        add_matrix(b, "labels", GNN__REAL_DTYPE, targets->rows, targets->cols, targets->data);
    else if (has_labels(data))
        add(b, "labels", GNN_DTYPE_INT32, data->n, data->labels);
}

static void add_masks(bundle_t *b, const gnn_data_t *data)
{
    static const char *const one[] = {
        [GNN_TRAIN] = "train_mask", [GNN_VALIDATION] = "val_mask", [GNN_TEST] = "test_mask"};
    static const char *const many[] = {
        [GNN_TRAIN] = "train_masks", [GNN_VALIDATION] = "val_masks", [GNN_TEST] = "test_masks"};
    for (int k = 0; k < 3; k++)
        if (data->split->count == 1)
            add(b, one[k], GNN_DTYPE_BOOL, data->n, data->split->masks[k]);
        else
            add_matrix(b, many[k], GNN_DTYPE_BOOL, data->split->count, data->n,
                       data->split->masks[k]);
}

/* Strings as bytes and offsets. */
static int add_names(bundle_t *b, const char *name, const char *offsets_name, int64_t count,
                     char *const *list)
{
    int64_t *offsets;
    char *bytes;
    if (!list)
        return GNN_OK;
    GNN_TRY(make(b, &offsets, count + 1, sizeof *offsets, name));
    for (int64_t c = 0; c < count; c++)
        offsets[c + 1] = offsets[c] + (int64_t)strlen(list[c]);
    GNN_TRY(make(b, &bytes, offsets[count] + 1, 1, name));
    for (int64_t c = 0; c < count; c++)
        memcpy(bytes + offsets[c], list[c], (size_t)(offsets[c + 1] - offsets[c]));
    add(b, name, GNN_DTYPE_UINT8, offsets[count], bytes);
    add(b, offsets_name, GNN_DTYPE_INT64, count + 1, offsets);
    return GNN_OK;
}

static int save(const gnn_data_t *data, const char *path)
{
    bundle_t bundle = {.count = 0};
    int rc;
    GNN_CHECK(gnn__new(&bundle.arrays, SET_ARRAYS + data->n_arrays, sizeof *bundle.arrays, "arrays"));
    GNN_CHECK(gnn__new(&bundle.made, SET_ARRAYS + data->n_arrays, sizeof *bundle.made, "arrays"));
    GNN_CHECK(add_graph(&bundle, data));
    GNN_CHECK(add_features(&bundle, data));
    add_labels(&bundle, data);
    add_masks(&bundle, data);
    GNN_CHECK(
        add_names(&bundle, "class_names", "class_name_offsets", data->classes, data->class_names));
    GNN_CHECK(add_names(&bundle, "names", "name_offsets", data->n, data->node_names));
    GNN_CHECK(add_arrays(&bundle, data));
    GNN_CHECK(gnn_npz_write(path, bundle.count, bundle.arrays));
done:
    for (int64_t k = 0; k < bundle.n_made; k++)
        gnn_free(bundle.made[k]);
    gnn_free(bundle.made);
    gnn_free(bundle.arrays);
    return rc;
}

/* Restores the ids of nodes and edges from before gnn_data_reorder. */
static int restore(gnn_data_t *file, const gnn_data_t *data, const int64_t *rank)
{
    const int64_t *order = data->edge_order;
    int64_t *edges = NULL;
    GNN_TRY(gnn__data_arrange(file, data, rank));
    if (order)
        GNN_TRY(gnn__order_invert(gnn_graph_n_edges(file->graph), order, &edges));
    int rc = order ? gnn__graph_rename_edges(file->graph, order) : GNN_OK;
    if (rc == GNN_OK)
        rc = gnn__data_arrange_arrays(file, data, rank, edges);
    gnn_free(edges);
    return rc;
}

/* A reordered set is written in the order of its file. */
int gnn_data_save(const gnn_data_t *data, const char *path)
{
    gnn_data_t file;
    int64_t *rank;
    GNN__NEED(data);
    GNN__NEED(path);
    GNN_TRY(gnn__data_one_graph(data, "saved"));
    for (int64_t k = 0; k < data->n_arrays; k++)
        if (data->arrays[k].place == GNN_ON_TYPES)
            return gnn__error(
                GNN_EUNSUPPORTED,
                "array %.80s has rows per type of nodes, which a file does not store; expected rows per node, edge or graph",
                data->arrays[k].array.name);
    if (!data->order)
        return save(data, path);
    GNN_TRY(gnn__order_invert(data->n, data->order, &rank));
    int rc = restore(&file, data, rank);
    if (rc == GNN_OK)
        rc = save(&file, path);
    gnn__data_free_rows(&file);
    gnn_free(rank);
    return rc;
}
