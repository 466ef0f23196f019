/* Feature scaling: rows of sum 1 or norm 1, columns of mean 0 and variance 1. */
#include <lib/data/data.h>

#include <math.h>

/* ---- rows ---- */

/* Divides a row by its sum or Euclidean norm, unless that is 0. */
static int divide(gnn_real_t *values, int64_t n, bool by_length, int64_t node)
{
    double sum = 0;
    for (int64_t k = 0; k < n; k++)
        sum += (double)values[k] * (by_length ? (double)values[k] : 1);
    if (!isfinite(sum))
        return gnn__error(GNN_ENUMERIC, "the %s of node %lld add up to %g",
                          by_length ? "squared features" : "features", (long long)node, sum);
    const double by = by_length ? sqrt(sum) : sum;
    for (int64_t k = 0; k < n && by != 0; k++)
        values[k] = (gnn_real_t)((double)values[k] / by);
    return GNN_OK;
}

static int divide_rows(gnn_data_t *data, bool by_length)
{
    gnn__data_changed(data);
    GNN_TRY(gnn__data_own_features(data));
    const gnn_sparse_t *s = &data->sparse;
    for (int64_t r = 0; r < data->n; r++) {
        const int64_t node = data->order ? data->order[r] : r;
        if (s->indptr) /* a data set always has stored values, and owns them */
            GNN_TRY(divide((gnn_real_t *)s->values + s->indptr[r], s->indptr[r + 1] - s->indptr[r],
                           by_length, node));
        else
            GNN_TRY(divide(gnn__row(&data->x, r), data->x.cols, by_length, node));
    }
    return GNN_OK;
}

int gnn_data_row_normalise(gnn_data_t *data)
{
    GNN__NEED(data);
    return divide_rows(data, false);
}

int gnn_data_row_unit(gnn_data_t *data)
{
    GNN__NEED(data);
    return divide_rows(data, true);
}

/* ---- columns ---- */

typedef struct columns {
    double *mean, *spread; /* standard deviation; 1 for a constant column */
} columns_t;

static void add_means(const gnn_data_t *data, const uint8_t *mask, int64_t rows, double *mean)
{
    for (int64_t r = 0; r < data->n; r++)
        for (int64_t c = 0; c < data->features && (!mask || mask[r]); c++)
            mean[c] += (double)gnn__row(&data->x, r)[c] / (double)rows;
}

static int add_spreads(const gnn_data_t *data, const uint8_t *mask, int64_t rows, const columns_t *k)
{
    for (int64_t r = 0; r < data->n; r++)
        for (int64_t c = 0; c < data->features && (!mask || mask[r]); c++) {
            double off = (double)gnn__row(&data->x, r)[c] - k->mean[c];
            k->spread[c] += off * off / (double)rows;
        }
    for (int64_t c = 0; c < data->features; c++) {
        if (!isfinite(k->spread[c]))
            return gnn__error(GNN_ENUMERIC, "the variance of feature %lld is %g", (long long)c,
                              k->spread[c]);
        double deviation = sqrt(k->spread[c]);
        /* Rounding can give a constant column a non-zero deviation. */
        k->spread[c] = deviation > 1e-12 * fabs(k->mean[c]) ? deviation : 1;
    }
    return GNN_OK;
}

static int measure(const gnn_data_t *data, const uint8_t *mask, const columns_t *columns)
{
    int64_t rows = 0;
    for (int64_t r = 0; r < data->n; r++)
        rows += !mask || mask[r];
    if (rows == 0)
        return gnn__error(GNN_EINVALID, "the split has no training nodes to measure");
    add_means(data, mask, rows, columns->mean);
    return add_spreads(data, mask, rows, columns);
}

/* A set with the features alone, as dense rows of its own. */
static int dense_rows(gnn_data_t *to, const gnn_data_t *data)
{
    *to = (gnn_data_t){.n = data->n, .features = data->features};
    GNN_TRY(gnn__data_new_rows(&to->x, data->n, data->features));
    return gnn__sparse_to_dense(&data->sparse, &to->x);
}

/* Replaces sparse features by dense ones. */
static void take_rows(gnn_data_t *data, gnn_data_t *dense)
{
    gnn__data_free_features(data);
    data->x = dense->x;
    dense->x.data = NULL;
}

int gnn_data_standardise(gnn_data_t *data, int64_t split)
{
    columns_t columns = {NULL, NULL};
    gnn_data_t dense = {0};
    int rc;
    GNN__NEED(data);
    GNN_TRY(gnn__data_whole(data, "standardised"));
    if (split < -1 || split >= data->split->count)
        return gnn__error(GNN_EINVALID, "split %lld, expected 0 to %lld, or -1 for all nodes",
                          (long long)split, (long long)data->split->count - 1);
    gnn__data_changed(data);
    const int is_sparse = data->sparse.indptr != NULL;
    GNN_CHECK(is_sparse ? dense_rows(&dense, data) : gnn__data_own_features(data));
    GNN_CHECK(gnn__new(&columns.mean, data->features, sizeof *columns.mean, "means"));
    GNN_CHECK(gnn__new(&columns.spread, data->features, sizeof *columns.spread, "deviations"));
    GNN_CHECK(measure(is_sparse ? &dense : data,
                      split < 0 ? NULL : gnn__split_marks(data->split, GNN_TRAIN, split), &columns));
    if (is_sparse)
        take_rows(data, &dense);
    for (int64_t r = 0; r < data->n; r++)
        for (int64_t c = 0; c < data->features; c++) {
            gnn_real_t *x = &gnn__row(&data->x, r)[c];
            *x = (gnn_real_t)(((double)*x - columns.mean[c]) / columns.spread[c]);
        }
done:
    gnn_free(dense.x.data);
    gnn_free(columns.mean);
    gnn_free(columns.spread);
    return rc;
}

/* ---- dense to sparse ---- */

/* Row r of the matrix begins at indptr[r]. */
static int64_t count_rows(const gnn_tensor_t *x, int64_t *indptr)
{
    int64_t count = 0;
    for (int64_t r = 0; r < x->rows; r++) {
        indptr[r] = count;
        for (int64_t c = 0; c < x->cols; c++)
            count += gnn__row(x, r)[c] != 0;
    }
    return indptr[x->rows] = count;
}

int gnn_data_to_sparse(gnn_data_t *data)
{
    int64_t *indptr = NULL, at = 0;
    int32_t *indices = NULL;
    gnn_real_t *values = NULL;
    int rc = GNN_OK;
    GNN__NEED(data);
    if (data->sparse.indptr)
        return GNN_OK;
    const gnn_tensor_t *x = &data->x;
    GNN_CHECK(gnn__new(&indptr, x->rows + 1, sizeof *indptr, "rows of features"));
    const int64_t count = count_rows(x, indptr);
    GNN_CHECK(gnn__new(&indices, count, sizeof *indices, "columns of features"));
    GNN_CHECK(gnn__new(&values, count, sizeof *values, "features"));
    for (int64_t r = 0; r < x->rows; r++)
        for (int64_t c = 0; c < x->cols; c++)
            if (gnn__row(x, r)[c] != 0) {
                indices[at] = (int32_t)c;
                values[at++] = gnn__row(x, r)[c];
            }
    gnn__data_changed(data);
    if (!data->borrowed_x)
        gnn_free(x->data);
    data->sparse = (gnn_sparse_t){x->rows, x->cols, indptr, indices, values};
    data->x = (gnn_tensor_t){0};
    data->borrowed_x = false;
    return GNN_OK;
done:
    gnn_free(indptr);
    gnn_free(indices);
    gnn_free(values);
    return rc;
}
