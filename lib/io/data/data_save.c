/* A data set as .npz in libgnn's own layout: planetoid's arrays and the names of the classes. */
#include <lib/io/data/data.h>

#include <graphs/build.h>
#include <lib/io/arrays/arrays.h>

enum { MOST_ARRAYS = 16 };

/* Arrays to be written; what was made for them is freed at the end. */
typedef struct bundle {
    gnn_array_t arrays[MOST_ARRAYS];
    int64_t count;
    void *made[MOST_ARRAYS];
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

/* Pairs come receiver after receiver, senders in the order of the graph. */
static int add_graph(bundle_t *b, const gnn_data_t *data)
{
    int64_t m = gnn_graph_n_pairs(data->graph), *src, *dst, *indptr;
    int32_t *indices;
    GNN_TRY(make(b, &src, m, sizeof *src, "links"));
    GNN_TRY(make(b, &dst, m, sizeof *dst, "links"));
    GNN_TRY(make(b, &indices, m, sizeof *indices, "links"));
    GNN_TRY(make(b, &indptr, data->n + 1, sizeof *indptr, "links"));
    GNN_TRY(gnn_graph_pairs(data->graph, src, dst, NULL));
    for (int64_t k = 0; k < m; k++) {
        if (k > 0 && dst[k] < dst[k - 1])
            return gnn__error(GNN_EUNSUPPORTED, "a graph of several parts, one is expected");
        indices[k] = (int32_t)src[k];
        indptr[dst[k] + 1]++;
    }
    for (int64_t i = 0; i < data->n; i++)
        indptr[i + 1] += indptr[i];
    add(b, "adj_indptr", GNN_DTYPE_INT64, data->n + 1, indptr);
    add(b, "adj_indices", GNN_DTYPE_INT32, m, indices);
    return add_shape(b, "adj_shape", data->n, data->n);
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

static void add_masks(bundle_t *b, const gnn_data_t *data)
{
    static const char *const one[] = {
        [GNN_TRAIN] = "train_mask", [GNN_VALIDATION] = "val_mask", [GNN_TEST] = "test_mask"};
    static const char *const many[] = {
        [GNN_TRAIN] = "train_masks", [GNN_VALIDATION] = "val_masks", [GNN_TEST] = "test_masks"};
    for (int k = 0; k < 3; k++)
        if (data->n_splits == 1)
            add(b, one[k], GNN_DTYPE_BOOL, data->n, data->masks[k][0]);
        else /* one block holds all splits */
            add_matrix(b, many[k], GNN_DTYPE_BOOL, data->n_splits, data->n, data->masks[k][0]);
}

static int add_class_names(bundle_t *b, const gnn_data_t *data)
{
    int64_t *offsets;
    char *names;
    if (!data->class_names)
        return GNN_OK;
    GNN_TRY(make(b, &offsets, data->classes + 1, sizeof *offsets, "class names"));
    for (int64_t c = 0; c < data->classes; c++)
        offsets[c + 1] = offsets[c] + (int64_t)strlen(data->class_names[c]);
    GNN_TRY(make(b, &names, offsets[data->classes] + 1, 1, "class names"));
    for (int64_t c = 0; c < data->classes; c++)
        memcpy(names + offsets[c], data->class_names[c], (size_t)(offsets[c + 1] - offsets[c]));
    add(b, "class_names", GNN_DTYPE_UINT8, offsets[data->classes], names);
    add(b, "class_name_offsets", GNN_DTYPE_INT64, data->classes + 1, offsets);
    return GNN_OK;
}

static int save(const gnn_data_t *data, const char *path)
{
    bundle_t bundle = {.count = 0};
    int rc;
    GNN_CHECK(add_graph(&bundle, data));
    GNN_CHECK(add_features(&bundle, data));
    add(&bundle, "labels", GNN_DTYPE_INT32, data->n, data->labels);
    add_masks(&bundle, data);
    GNN_CHECK(add_class_names(&bundle, data));
    GNN_CHECK(gnn_npz_write(path, bundle.count, bundle.arrays));
done:
    for (int64_t k = 0; k < bundle.n_made; k++)
        gnn_free(bundle.made[k]);
    return rc;
}

/* A set whose nodes were reordered is written in the order of its file. */
int gnn_data_save(const gnn_data_t *data, const char *path)
{
    gnn_data_t file;
    int64_t *rank;
    if (!data || !path)
        return gnn__error(GNN_EINVALID, "no %s", data ? "path" : "data set");
    if (data->classes == 0)
        return gnn__error(GNN_EINVALID, "%s: no node has a label (gnn_data_add_csv brings them)",
                          data->name);
    if (!data->order)
        return save(data, path);
    GNN_TRY(gnn__order_invert(data->n, data->order, &rank));
    int rc = gnn__data_arrange(&file, data, rank);
    if (rc == GNN_OK)
        rc = save(&file, path);
    gnn__data_free_rows(&file);
    gnn_free(rank);
    return rc;
}
