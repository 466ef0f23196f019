/* Checks of dense and sparse tensors that a program passes. */
#include <lib/base/base.h>

#include <math.h>

int gnn__tensor_check(const gnn_tensor_t *tensor, const char *name)
{
    if (!tensor)
        return gnn__error(GNN_ESHAPE, "%s: the tensor is NULL", name);
    const long long rows = tensor->rows, cols = tensor->cols, stride = tensor->stride;
    int64_t last, count;
    if (rows < 0 || cols < 0)
        return gnn__error(GNN_ESHAPE, "%s: expected a shape >= 0, got %lld x %lld", name, rows, cols);
    if (stride < 0 || (stride != 0 && stride < cols))
        return gnn__error(GNN_ESHAPE, "%s: expected a stride of at least %lld columns, got %lld",
                          name, cols, stride);
    if (!gnn__mul(tensor->rows, stride ? tensor->stride : tensor->cols, &count) ||
        !gnn__mul(count, sizeof(gnn_real_t), &last))
        return gnn__error(GNN_EOVERFLOW, "%s: the size of %lld rows with a stride of %lld overflows",
                          name, rows, stride ? stride : cols);
    if (rows > 0 && cols > 0 && !tensor->data)
        return gnn__error(GNN_ESHAPE, "%s: data of a %lld x %lld tensor is NULL", name, rows, cols);
    return GNN_OK;
}

int gnn__tensor_check_finite(const gnn_tensor_t *tensor, const char *name)
{
    GNN_TRY(gnn__tensor_check(tensor, name));
    for (int64_t r = 0; r < tensor->rows; r++) {
        const gnn_real_t *row = gnn__row(tensor, r);
        for (int64_t c = 0; c < tensor->cols; c++)
            if (!isfinite(row[c]))
                return gnn__error(GNN_ENUMERIC, "%s: row %lld, column %lld is %g", name,
                                  (long long)r, (long long)c, (double)row[c]);
    }
    return GNN_OK;
}

static int validate_row(const gnn_sparse_t *sparse, int64_t r, const char *name)
{
    for (int64_t k = sparse->indptr[r]; k < sparse->indptr[r + 1]; k++) {
        if (sparse->indices[k] < 0 || sparse->indices[k] >= sparse->cols)
            return gnn__error(GNN_ESHAPE,
                              "%s: row %lld has column %lld (indices[%lld]), there are %lld columns",
                              name, (long long)r, (long long)sparse->indices[k], (long long)k,
                              (long long)sparse->cols);
        if (sparse->values && !isfinite(sparse->values[k]))
            return gnn__error(GNN_ENUMERIC, "%s: row %lld, column %lld is %g", name, (long long)r,
                              (long long)sparse->indices[k], (double)sparse->values[k]);
    }
    return GNN_OK;
}

int gnn__sparse_validate(const gnn_sparse_t *sparse, const char *name)
{
    if (!sparse)
        return gnn__error(GNN_ESHAPE, "%s: the matrix is NULL", name);
    if (sparse->rows < 0 || sparse->cols < 0)
        return gnn__error(GNN_ESHAPE, "%s: expected a shape >= 0, got %lld x %lld", name,
                          (long long)sparse->rows, (long long)sparse->cols);
    if (!sparse->indptr)
        return gnn__error(GNN_ESHAPE, "%s: indptr is NULL", name);
    if (sparse->indptr[0] != 0)
        return gnn__error(GNN_ESHAPE, "%s: indptr[0] = %lld, expected 0", name,
                          (long long)sparse->indptr[0]);
    for (int64_t r = 0; r < sparse->rows; r++)
        if (sparse->indptr[r + 1] < sparse->indptr[r])
            return gnn__error(GNN_ESHAPE, "%s: indptr falls from %lld to %lld at row %lld", name,
                              (long long)sparse->indptr[r], (long long)sparse->indptr[r + 1],
                              (long long)r);
    if (sparse->indptr[sparse->rows] > 0 && !sparse->indices)
        return gnn__error(GNN_ESHAPE, "%s: %lld values are stored, indices is NULL", name,
                          (long long)sparse->indptr[sparse->rows]);
    for (int64_t r = 0; r < sparse->rows; r++)
        GNN_TRY(validate_row(sparse, r, name));
    return GNN_OK;
}

/* Copies of arrays whose type is not that of gnn_sparse_t. */
typedef struct gnn__csr_copy {
    int64_t *indptr;
    int32_t *indices;
} csr_copy_t;

static void release_copy(void *user)
{
    csr_copy_t *copy = user;
    gnn_free(copy->indptr);
    gnn_free(copy->indices);
    gnn_free(copy);
}

int(gnn_sparse_from_csr)(gnn_sparse_t *sparse, gnn_owner_t *owner, int64_t rows, int64_t cols,
                         gnn_ints_t indptr, gnn_ints_t indices, const gnn_real_t *values)
{
    int rc;
    csr_copy_t *copy = NULL;
    int64_t most = 0;
    GNN__NEED(sparse);
    GNN__NEED(owner);
    GNN__NEED_INTS(indptr, 1);
    *owner = (gnn_owner_t){0};
    *sparse = (gnn_sparse_t){.rows = rows, .cols = cols, .values = values};
    if (rows < 0 || !gnn__add(rows, 1, &most))
        return gnn__error(GNN_ESHAPE, "gnn_sparse_from_csr: rows = %lld, expected at least 0",
                          (long long)rows);
    GNN_TRY(gnn__new(&copy, 1, sizeof *copy, "a sparse matrix"));
    GNN_CHECK(gnn__ints_64("indptr", indptr, rows + 1, &sparse->indptr, &copy->indptr));
    most = 0;
    for (int64_t r = 0; r <= rows; r++)
        if (sparse->indptr[r] >= most)
            most = sparse->indptr[r];
        else
            GNN_CHECK(gnn__error(GNN_ESHAPE, "indptr[%lld]: expected at least %lld, got %lld",
                                 (long long)r, (long long)most, (long long)sparse->indptr[r]));
    GNN_CHECK(gnn__ints_32("indices", indices, most, &sparse->indices, &copy->indices));
    GNN_CHECK(gnn__sparse_validate(sparse, "sparse matrix"));
done:
    if (rc == GNN_OK && (copy->indptr || copy->indices)) {
        *owner = (gnn_owner_t){release_copy, copy};
        return rc;
    }
    release_copy(copy);
    if (rc != GNN_OK)
        *sparse = (gnn_sparse_t){0};
    return rc;
}

int gnn__sparse_to_dense(const gnn_sparse_t *sparse, const gnn_tensor_t *dense)
{
    GNN_TRY(gnn__sparse_validate(sparse, "sparse matrix"));
    GNN_TRY(gnn__tensor_check(dense, "dense matrix"));
    if (sparse->rows != dense->rows || sparse->cols != dense->cols)
        return gnn__error(GNN_ESHAPE,
                          "expected a dense matrix of %lld x %lld as the sparse one, got %lld x %lld",
                          (long long)sparse->rows, (long long)sparse->cols, (long long)dense->rows,
                          (long long)dense->cols);
    for (int64_t r = 0; r < dense->rows; r++) {
        gnn_real_t *row = gnn__row(dense, r);
        if (dense->cols > 0)
            memset(row, 0, (size_t)dense->cols * sizeof *row);
        for (int64_t k = sparse->indptr[r]; k < sparse->indptr[r + 1]; k++)
            row[sparse->indices[k]] += sparse->values ? sparse->values[k] : 1;
    }
    return GNN_OK;
}
