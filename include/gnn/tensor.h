/** Tensors are views over the caller's memory: dense matrices with a row stride, and sparse
 * matrices (CSR). Nothing here owns. */
#ifndef GNN_TENSOR_H
#define GNN_TENSOR_H

#include <gnn/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A dense rows x cols matrix, row-major: element (r, c) is data[r * stride + c]. */
typedef struct gnn_tensor {
    gnn_real_t *data;
    int64_t rows, cols;
    int64_t stride; /**< elements from one row to the next, >= cols; 0 means cols */
} gnn_tensor_t;

/** A sparse rows x cols matrix (CSR): row r holds indices[k], values[k] for indptr[r] <= k <
 * indptr[r+1]. */
typedef struct gnn_sparse {
    int64_t rows, cols;
    const int64_t *indptr;    /**< rows + 1, starts at 0, never decreases */
    const int32_t *indices;   /**< column of each stored number, 0 <= c < cols */
    const gnn_real_t *values; /**< NULL: all are 1 */
} gnn_sparse_t;

/** A contiguous rows x cols view of `data`. */
static inline gnn_tensor_t gnn_tensor(gnn_real_t *data, int64_t rows, int64_t cols)
{
    gnn_tensor_t t;
    t.data = data;
    t.rows = rows;
    t.cols = cols;
    t.stride = cols;
    return t;
}

/** Checks shape, stride and that data is there. GNN_ESHAPE with the numbers; `name` is used in the
 * message. */
GNN_API int gnn_tensor_check(const gnn_tensor_t *tensor, const char *name);
/** GNN_ENUMERIC naming row, column and value of the first NaN or infinity. O(rows cols). */
GNN_API int gnn_tensor_check_finite(const gnn_tensor_t *tensor, const char *name);
/** Checks a CSR matrix: indptr starts at 0 and never decreases, every column in range, every value
 * finite. O(nnz). */
GNN_API int gnn_sparse_validate(const gnn_sparse_t *sparse, const char *name);
/** Writes a sparse matrix into a dense one (caller's, same shape, overwritten; duplicates add
 * up). */
GNN_API int gnn_sparse_to_dense(const gnn_sparse_t *sparse, const gnn_tensor_t *dense);

#ifdef __cplusplus
}
#endif
#endif
