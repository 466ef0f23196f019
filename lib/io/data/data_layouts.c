/* Layouts of node classification sets in .npz files: the possible names of each part, and all
 * validation. */
#include <lib/io/data/layouts.h>

#include <gnn/graph.h>
#include <math.h>

/* ---- features ---- */

static int bad_value(const gnn_array_t *array, int64_t k, int64_t row, int64_t column)
{
    double value = gnn_array_get(array, k);
    return gnn__error(GNN_ENUMERIC, "%s: %g at row %lld, column %lld%s", array->name, value,
                      (long long)row, (long long)column, isfinite(value) ? " is too large" : "");
}

/* A model has weights for each column: a small file must not declare billions. */
enum { MOST_COLUMNS = 1 << 20, MOST_COLUMNS_EACH = 64 };

static int read_sparse(gnn_data_t *data, const gnn_arrays_t *arrays)
{
    gnn__layout_csr_t csr = {0};
    gnn_real_t *values = NULL;
    const gnn_array_t *numbers;
    int rc;
    GNN_CHECK(gnn__layout_csr(&csr, &numbers, arrays, "attr", data->n));
    if (csr.cols > MOST_COLUMNS && csr.cols / MOST_COLUMNS_EACH > csr.nnz)
        GNN_CHECK(gnn__error(
            GNN_EFORMAT, "%s: %lld columns for %lld stored numbers, at most %d or %d a number",
            "attr_shape", (long long)csr.cols, (long long)csr.nnz, MOST_COLUMNS, MOST_COLUMNS_EACH));
    if (!numbers)
        GNN_CHECK(gnn__layout_missing(arrays, "attr_data"));
    GNN_CHECK(gnn__layout_rank(numbers, 1));
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
    GNN_TRY(gnn__layout_rank(x, 2));
    if (x->shape[0] != data->n)
        return gnn__error(GNN_EFORMAT, "%s: %lld rows, the set has %lld nodes", x->name,
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
    if (gnn__layout_indptr(arrays, "attr"))
        return read_sparse(data, arrays);
    const gnn_array_t *x = gnn__layout_dense(arrays);
    return x ? read_dense(data, x) : gnn__layout_no_features(arrays);
}

/* ---- masks ---- */

/* One kind: (n) or (splits x n). */
static int read_mask(gnn_data_t *data, const gnn_array_t *mask, int kind)
{
    for (int64_t s = 0; s < data->split->count; s++)
        for (int64_t i = 0; i < data->n; i++) {
            uint8_t in = gnn__array_int(mask, s * data->n + i) != 0;
            if (in && data->classes > 0 && data->labels[i] < 0)
                return gnn__error(GNN_EFORMAT, "%s: split %lld takes node %lld, which has no label",
                                  mask->name, (long long)s, (long long)i);
            gnn__split_marks(data->split, kind, s)[i] = in;
        }
    return GNN_OK;
}

static int check_mask(const gnn_data_t *data, const gnn_array_t *mask, int64_t *splits)
{
    GNN_TRY(gnn__layout_integer(mask));
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
        found += (masks[k] = gnn__layout_find(arrays, names[k])) != NULL;
    if (found == 0)
        return gnn__data_default_split(data, 0);
    for (int k = 0; k < 3; k++)
        GNN_TRY(masks[k] ? check_mask(data, masks[k], &splits)
                         : gnn__layout_missing(arrays, names[k][0]));
    GNN_TRY(gnn_split_new(&data->split, data->n, splits));
    for (int k = 0; k < 3; k++)
        GNN_TRY(read_mask(data, masks[k], k));
    return GNN_OK;
}

int gnn__data_from_arrays(gnn_data_t *data, const gnn_arrays_t *arrays)
{
    GNN_TRY(gnn__layout_labels(data, arrays));
    GNN_TRY(gnn__data_read_class_names(data, arrays));
    GNN_TRY(gnn__data_read_node_names(data, arrays));
    GNN_TRY(gnn__layout_edges(data, arrays));
    GNN_TRY(read_features(data, arrays));
    GNN_TRY(gnn__layout_arrays(data, arrays));
    return read_masks(data, arrays);
}

int gnn__data_read_npz(gnn_data_t *data, const char *path)
{
    gnn_arrays_t *arrays;
    GNN_TRY(gnn__npz_read_wanted(&arrays, path, data->limits, gnn__layout_wants));
    int rc = gnn__data_from_arrays(data, arrays);
    gnn_arrays_free(arrays);
    return rc == GNN_OK ? rc : gnn__error_prefix(rc, "%s", gnn__file_name(path));
}
