/* The layouts in which people keep node classification sets in a .npz: what each part may be called, and every check that makes it safe to use. */
#include <lib/io/data/data.h>

#include <gnn/graph.h>
#include <lib/io/arrays/arrays.h>
#include <math.h>

typedef struct csr {
    int64_t rows, cols, nnz;
    int64_t *indptr;
    int32_t *indices;
} csr_t;

/* ---- finding arrays ---- */

/* The first of the names (a list that ends with NULL) that the file has, or NULL. */
static const gnn_array_t *find_any(const gnn_arrays_t *arrays, const char *const *names)
{
    const gnn_array_t *found = NULL;
    for (; *names && !found; names++)
        found = gnn_arrays_find(arrays, *names);
    return found;
}

static int missing(const gnn_arrays_t *arrays, const char *name)
{
    const char *type = gnn__arrays_left_out(arrays, name);
    if (type)
        return gnn__error(GNN_EFORMAT, "%s: holds no plain numbers (its type is '%s')", name, type);
    return gnn__error(GNN_EFORMAT, "the array %s is missing", name);
}

static int check_rank(const gnn_array_t *array, int ndim)
{
    return array->ndim == ndim ? GNN_OK
                               : gnn__error(GNN_EFORMAT, "%s: %d dimensions, expected %d",
                                            array->name, array->ndim, ndim);
}

static int check_integer(const gnn_array_t *array)
{
    const gnn__element_t *type = gnn__element(array->dtype);
    return type->integer ? GNN_OK
                         : gnn__error(GNN_EFORMAT, "%s: whole numbers are expected, its type is %s",
                                      array->name, type->name);
}

static int need(const gnn_array_t **array, const gnn_arrays_t *arrays, const char *name, int ndim)
{
    *array = gnn_arrays_find(arrays, name);
    return *array ? check_rank(*array, ndim) : missing(arrays, name);
}

static int need_integers(const gnn_array_t **array, const gnn_arrays_t *arrays, const char *name)
{
    GNN_TRY(need(array, arrays, name, 1));
    return check_integer(*array);
}

/* ---- sparse matrices: PREFIX_shape, PREFIX_indptr, PREFIX_indices ---- */

static int read_shape(csr_t *csr, const gnn_arrays_t *arrays, const char *name, int64_t n)
{
    const gnn_array_t *shape;
    GNN_TRY(need_integers(&shape, arrays, name));
    if (shape->count != 2)
        return gnn__error(GNN_EFORMAT, "%s: %lld numbers, expected 2", name, (long long)shape->count);
    csr->rows = gnn__array_int(shape, 0);
    csr->cols = gnn__array_int(shape, 1);
    if (csr->cols < 0 || csr->cols > INT32_MAX)
        return gnn__error(GNN_EFORMAT, "%s: %lld columns, 0 to %d are possible", name,
                          (long long)csr->cols, INT32_MAX);
    if (csr->rows != n)
        return gnn__error(GNN_EFORMAT, "%s: %lld rows, there are labels for %lld nodes", name,
                          (long long)csr->rows, (long long)n);
    return GNN_OK;
}

static int read_indptr(csr_t *csr, const gnn_arrays_t *arrays, const char *name)
{
    const gnn_array_t *indptr;
    GNN_TRY(need_integers(&indptr, arrays, name));
    if (indptr->count != csr->rows + 1)
        return gnn__error(GNN_EFORMAT, "%s: %lld numbers, expected %lld for %lld rows", name,
                          (long long)indptr->count, (long long)csr->rows + 1, (long long)csr->rows);
    GNN_TRY(gnn__new(&csr->indptr, csr->rows + 1, sizeof *csr->indptr, name));
    for (int64_t r = 0; r <= csr->rows; r++) {
        csr->indptr[r] = gnn__array_int(indptr, r);
        if (r == 0 && csr->indptr[0] != 0)
            return gnn__error(GNN_EFORMAT, "%s: starts at %lld, expected 0", name,
                              (long long)csr->indptr[0]);
        if (r > 0 && csr->indptr[r] < csr->indptr[r - 1])
            return gnn__error(GNN_EFORMAT, "%s: falls from %lld to %lld at row %lld", name,
                              (long long)csr->indptr[r - 1], (long long)csr->indptr[r],
                              (long long)r - 1);
    }
    return GNN_OK;
}

static int read_indices(csr_t *csr, const gnn_arrays_t *arrays, const char *name,
                        const char *indptr_name)
{
    const gnn_array_t *indices;
    GNN_TRY(need_integers(&indices, arrays, name));
    csr->nnz = csr->indptr[csr->rows];
    if (csr->nnz != indices->count)
        return gnn__error(GNN_EFORMAT, "%s: ends at %lld, %s holds %lld", indptr_name,
                          (long long)csr->nnz, name, (long long)indices->count);
    GNN_TRY(gnn__new(&csr->indices, csr->nnz, sizeof *csr->indices, name));
    for (int64_t r = 0; r < csr->rows; r++)
        for (int64_t k = csr->indptr[r]; k < csr->indptr[r + 1]; k++) {
            int64_t column = gnn__array_int(indices, k);
            if (column < 0 || column >= csr->cols)
                return gnn__error(
                    GNN_EFORMAT,
                    "%s: column %lld at position %lld (row %lld), there are %lld columns", name,
                    (long long)column, (long long)k, (long long)r, (long long)csr->cols);
            csr->indices[k] = (int32_t)column;
        }
    return GNN_OK;
}

/* On failure the caller frees what `csr` holds. */
static int read_csr(csr_t *csr, const gnn_arrays_t *arrays, const char *prefix, int64_t n)
{
    char shape[32], indptr[32], indices[32];
    snprintf(shape, sizeof shape, "%s_shape", prefix);
    snprintf(indptr, sizeof indptr, "%s_indptr", prefix);
    snprintf(indices, sizeof indices, "%s_indices", prefix);
    GNN_TRY(read_shape(csr, arrays, shape, n));
    GNN_TRY(read_indptr(csr, arrays, indptr));
    return read_indices(csr, arrays, indices, indptr);
}

/* ---- labels ---- */

static int read_labels(gnn_data_t *data, const gnn_arrays_t *arrays)
{
    static const char *const names[] = {"labels", "node_labels", NULL};
    const gnn_array_t *labels = find_any(arrays, names);
    if (!labels)
        return missing(arrays,
                       gnn__arrays_left_out(arrays, names[1]) || gnn_arrays_find(arrays, "edges")
                           ? names[1]
                           : names[0]);
    GNN_TRY(check_rank(labels, 1));
    GNN_TRY(check_integer(labels));
    if (labels->count == 0 || labels->count > INT32_MAX)
        return gnn__error(GNN_EFORMAT, "%s: %lld nodes, 1 to %d are possible", labels->name,
                          (long long)labels->count, INT32_MAX);
    data->n = labels->count;
    int64_t most = data->n > GNN__MOST_CLASSES ? data->n : GNN__MOST_CLASSES;
    GNN_TRY(gnn__new(&data->labels, data->n, sizeof *data->labels, "labels"));
    for (int64_t i = 0; i < data->n; i++) {
        int64_t label = gnn__array_int(labels, i);
        if (label >= most)
            return gnn__error(GNN_EFORMAT, "%s: class %lld at node %lld, less than %lld is expected",
                              labels->name, (long long)label, (long long)i, (long long)most);
        data->labels[i] = label < 0 ? -1 : (int32_t)label;
        if (label >= data->classes)
            data->classes = label + 1;
    }
    return data->classes > 0
               ? GNN_OK
               : gnn__error(GNN_EFORMAT, "%s: no node has one, all are negative", labels->name);
}

/* ---- edges ---- */

static int read_edge_list(gnn_data_t *data, const gnn_array_t *edges)
{
    int32_t *ends[2] = {NULL, NULL};
    int rc = GNN_OK;
    GNN_CHECK(check_rank(edges, 2));
    GNN_CHECK(check_integer(edges));
    if (edges->shape[1] != 2)
        GNN_CHECK(gnn__error(GNN_EFORMAT, "edges: its shape is %s, expected m x 2",
                             gnn__shape_words(2, edges->shape)));
    int64_t m = edges->shape[0];
    for (int side = 0; side < 2; side++)
        GNN_CHECK(gnn__new(&ends[side], m, sizeof *ends[side], "edges"));
    for (int64_t k = 0; k < 2 * m; k++) {
        int64_t node = gnn__array_int(edges, k);
        if (node < 0 || node >= data->n)
            GNN_CHECK(gnn__error(GNN_EFORMAT, "edges: node %lld in row %lld, there are %lld nodes",
                                 (long long)node, (long long)k / 2, (long long)data->n));
        ends[k & 1][k / 2] = (int32_t)node;
    }
    GNN_CHECK(gnn__data_links(&data->graph, data->n, m, ends[0], ends[1]));
done:
    gnn_free(ends[0]);
    gnn_free(ends[1]);
    return rc;
}

static int read_adjacency(gnn_data_t *data, const gnn_arrays_t *arrays)
{
    csr_t csr = {0};
    int32_t *rows = NULL;
    int rc;
    GNN_CHECK(read_csr(&csr, arrays, "adj", data->n));
    if (csr.rows != csr.cols)
        GNN_CHECK(gnn__error(GNN_EFORMAT, "adj_shape: %lld x %lld is no square",
                             (long long)csr.rows, (long long)csr.cols));
    const gnn_array_t *weights = gnn_arrays_find(arrays, "adj_data");
    if (weights && weights->count != csr.nnz)
        GNN_CHECK(gnn__error(GNN_EFORMAT, "adj_data: %lld weights, adj_indices holds %lld",
                             (long long)weights->count, (long long)csr.nnz));
    GNN_CHECK(gnn__new(&rows, csr.nnz, sizeof *rows, "edges"));
    for (int64_t r = 0; r < csr.rows; r++)
        for (int64_t k = csr.indptr[r]; k < csr.indptr[r + 1]; k++)
            rows[k] = (int32_t)r;
    GNN_CHECK(gnn__data_links(&data->graph, data->n, csr.nnz, rows, csr.indices));
done:
    gnn_free(rows);
    gnn_free(csr.indptr);
    gnn_free(csr.indices);
    return rc;
}

static int read_edges(gnn_data_t *data, const gnn_arrays_t *arrays)
{
    const gnn_array_t *edges = gnn_arrays_find(arrays, "edges");
    if (edges)
        return read_edge_list(data, edges);
    if (!gnn_arrays_find(arrays, "adj_indptr") && !gnn_arrays_find(arrays, "adj_shape"))
        return gnn__error(
            GNN_EFORMAT,
            "there are neither adj_indptr, adj_indices and adj_shape nor edges (docs/formats.md)");
    return read_adjacency(data, arrays);
}

/* ---- features ---- */

static int bad_value(const gnn_array_t *array, int64_t k, int64_t row, int64_t column)
{
    double value = gnn_array_get(array, k);
    return gnn__error(GNN_ENUMERIC, "%s: %g at row %lld, column %lld%s", array->name, value,
                      (long long)row, (long long)column, isfinite(value) ? " is too large" : "");
}

static int read_sparse(gnn_data_t *data, const gnn_arrays_t *arrays)
{
    csr_t csr = {0};
    gnn_real_t *values = NULL;
    const gnn_array_t *numbers;
    int rc;
    GNN_CHECK(read_csr(&csr, arrays, "attr", data->n));
    GNN_CHECK(need(&numbers, arrays, "attr_data", 1));
    if (numbers->count != csr.nnz)
        GNN_CHECK(gnn__error(GNN_EFORMAT, "attr_data: %lld numbers, attr_indices holds %lld",
                             (long long)numbers->count, (long long)csr.nnz));
    GNN_CHECK(gnn__new(&values, csr.nnz, sizeof *values, "features"));
    gnn_array_reals(numbers, values);
    for (int64_t r = 0; r < csr.rows; r++)
        for (int64_t k = csr.indptr[r]; k < csr.indptr[r + 1]; k++)
            if (!isfinite(values[k]))
                GNN_CHECK(bad_value(numbers, k, r, csr.indices[k]));
    data->features = csr.cols;
    data->sparse = (gnn_sparse_t){csr.rows, csr.cols, csr.indptr, csr.indices, values};
    return GNN_OK;
done:
    gnn_free(csr.indptr);
    gnn_free(csr.indices);
    gnn_free(values);
    return rc;
}

static int read_dense(gnn_data_t *data, const gnn_array_t *x)
{
    GNN_TRY(check_rank(x, 2));
    if (x->shape[0] != data->n)
        return gnn__error(GNN_EFORMAT, "%s: %lld rows, there are labels for %lld nodes", x->name,
                          (long long)x->shape[0], (long long)data->n);
    if (x->shape[1] > INT32_MAX)
        return gnn__error(GNN_EFORMAT, "%s: %lld columns, 0 to %d are possible", x->name,
                          (long long)x->shape[1], INT32_MAX);
    gnn_real_t *values;
    GNN_TRY(gnn__new(&values, x->count, sizeof *values, "features"));
    data->features = x->shape[1];
    data->x = gnn_tensor(values, x->shape[0], x->shape[1]);
    gnn_array_reals(x, values);
    for (int64_t k = 0; k < x->count; k++)
        if (!isfinite(values[k]))
            return bad_value(x, k, k / x->shape[1], k % x->shape[1]);
    return GNN_OK;
}

static int read_features(gnn_data_t *data, const gnn_arrays_t *arrays)
{
    static const char *const names[] = {"node_features", "attr_matrix", "x", NULL};
    if (gnn_arrays_find(arrays, "attr_indptr"))
        return read_sparse(data, arrays);
    const gnn_array_t *x = find_any(arrays, names);
    if (x)
        return read_dense(data, x);
    for (int k = 0; names[k]; k++)
        if (gnn__arrays_left_out(arrays, names[k]))
            return missing(arrays, names[k]);
    return gnn__error(
        GNN_EFORMAT,
        "there are no features: attr_indptr with its companions, node_features, attr_matrix or x (docs/formats.md)");
}

/* ---- masks ---- */

/* One kind: (n) or (splits x n). */
static int read_mask(gnn_data_t *data, const gnn_array_t *mask, int kind)
{
    for (int64_t s = 0; s < data->n_splits; s++)
        for (int64_t i = 0; i < data->n; i++) {
            uint8_t in = gnn__array_int(mask, s * data->n + i) != 0;
            if (in && data->labels[i] < 0)
                return gnn__error(GNN_EFORMAT, "%s: split %lld takes node %lld, which has no label",
                                  mask->name, (long long)s, (long long)i);
            data->masks[kind][s][i] = in;
        }
    return GNN_OK;
}

static int check_mask(const gnn_data_t *data, const gnn_array_t *mask, int64_t *splits)
{
    GNN_TRY(check_integer(mask));
    bool plain = mask->ndim == 1;
    if ((!plain && mask->ndim != 2) || mask->shape[mask->ndim - 1] != data->n ||
        (!plain && mask->shape[0] == 0))
        return gnn__error(GNN_EFORMAT, "%s: its shape is %s, expected %lld or splits x %lld",
                          mask->name, gnn__shape_words(mask->ndim, mask->shape), (long long)data->n,
                          (long long)data->n);
    int64_t here = plain ? 1 : mask->shape[0];
    if (*splits != 0 && here != *splits)
        return gnn__error(GNN_EFORMAT, "%s: %lld splits, train_mask has %lld", mask->name,
                          (long long)here, (long long)*splits);
    *splits = here;
    return GNN_OK;
}

static int read_masks(gnn_data_t *data, const gnn_arrays_t *arrays)
{
    static const char *const names[3][3] = {
        [GNN_TRAIN] = {"train_mask", "train_masks", NULL},
        [GNN_VALIDATION] = {"val_mask", "val_masks", NULL},
        [GNN_TEST] = {"test_mask", "test_masks", NULL},
    };
    const gnn_array_t *masks[3];
    int64_t splits = 0;
    int found = 0;
    for (int k = 0; k < 3; k++)
        found += (masks[k] = find_any(arrays, names[k])) != NULL;
    if (found == 0)
        return gnn__data_split(data, 0);
    for (int k = 0; k < 3; k++)
        GNN_TRY(masks[k] ? check_mask(data, masks[k], &splits) : missing(arrays, names[k][0]));
    GNN_TRY(gnn__data_masks(data, splits));
    for (int k = 0; k < 3; k++)
        GNN_TRY(read_mask(data, masks[k], k));
    return GNN_OK;
}

int gnn__data_from_arrays(gnn_data_t *data, const gnn_arrays_t *arrays)
{
    GNN_TRY(read_labels(data, arrays));
    GNN_TRY(gnn__data_read_class_names(data, arrays));
    GNN_TRY(read_edges(data, arrays));
    GNN_TRY(read_features(data, arrays));
    return read_masks(data, arrays);
}

int gnn__data_read_npz(gnn_data_t *data, const char *path)
{
    gnn_arrays_t *arrays;
    GNN_TRY(gnn_npz_read(&arrays, path, NULL));
    int rc = gnn__data_from_arrays(data, arrays);
    gnn_arrays_free(arrays);
    return rc == GNN_OK ? rc : gnn__error_prefix(rc, "%s", gnn__file_name(path));
}
