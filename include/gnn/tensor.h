/**
 * Views of the caller's memory: dense matrices with a row stride, sparse matrices (CSR), and arrays
 * of indices of int32 or int64. None of them owns its memory.
 */
#ifndef GNN_TENSOR_H
#define GNN_TENSOR_H

#include <gnn/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A dense rows x cols matrix, row-major: element (r, c) is data[r * stride + c]. */
typedef struct gnn_tensor_s {
    gnn_real_t *data;
    int64_t rows, cols;
    int64_t stride; /**< elements from one row to the next, >= cols; 0 means cols */
} gnn_tensor_t;

/** A sparse rows x cols matrix (CSR): row r holds indices[k], values[k] for indptr[r] <= k <
 * indptr[r+1]. */
typedef struct gnn_sparse {
    int64_t rows, cols;
    const int64_t *indptr;    /**< rows + 1, starts at 0, never decreases */
    const int32_t *indices;   /**< column of each stored value, 0 <= c < cols */
    const gnn_real_t *values; /**< NULL: all are 1 */
} gnn_sparse_t;

/** The owner of borrowed memory. `release(user)` is called once, when the borrower is freed; NULL:
 * the memory outlives the borrower. */
typedef struct gnn_owner {
    void (*release)(void *user);
    void *user;
} gnn_owner_t;

/* ---- element types, and arrays of indices ---- */

/** Types of the elements of an array, as numpy and safetensors name them. */
typedef enum {
    GNN_DTYPE_BOOL,
    GNN_DTYPE_INT8,
    GNN_DTYPE_UINT8,
    GNN_DTYPE_INT16,
    GNN_DTYPE_INT32,
    GNN_DTYPE_INT64,
    GNN_DTYPE_FLOAT32,
    GNN_DTYPE_FLOAT64,
    GNN_DTYPE_FLOAT16,
    GNN_DTYPE_UINT16,
    GNN_DTYPE_UINT32,
    GNN_DTYPE_UINT64,
    GNN_DTYPE_BFLOAT16
} gnn_dtype_t;

/* clang-format off */
#define GNN__LONG (sizeof(long) == sizeof(int64_t) ? GNN_DTYPE_INT64 : GNN_DTYPE_INT32)
/* clang-format on */

/**
 * An array of indices or classes, int32 (as in SciPy) or int64 (as in PyG); arrays of one call may
 * differ. gnn_ints(p) makes one of a pointer; other element types do not compile:
 *
 *     (gnn_data_config_t){.src = gnn_ints(src), .dst = gnn_ints(dst)}
 *
 * Functions with such parameters are also macros of the same name, so that plain pointers can be
 * passed: gnn_graph_from_csr(&graph, n, n, indptr, indices). A compound literal needs parentheses
 * there, since macros split at its commas. In C++ pointers convert implicitly. A value out of range
 * is an error that gives its index and value.
 *
 * Interleaved pairs int32_t e[m][2] must be split into two arrays; an array int32_t e[2][m] is
 * passed as e[0] and e[1].
 */
typedef struct gnn_ints {
    gnn_dtype_t type; /**< GNN_DTYPE_INT32 or GNN_DTYPE_INT64 */
    const void *data; /**< NULL: there is no array */
#ifdef __cplusplus
    gnn_ints() : type(GNN_DTYPE_INT64), data(0) {}
    gnn_ints(const void *array, gnn_dtype_t element) : type(element), data(array) {}
    gnn_ints(decltype(nullptr)) : type(GNN_DTYPE_INT64), data(0) {}
    gnn_ints(const int *array) : type(GNN_DTYPE_INT32), data(array) {}
    gnn_ints(const long *array) : type(GNN__LONG), data(array) {}
    gnn_ints(const long long *array) : type(GNN_DTYPE_INT64), data(array) {}
#endif
} gnn_ints_t;

#ifndef __cplusplus
static inline gnn_ints_t gnn__ints_same(gnn_ints_t array)
{
    return array;
}
static inline gnn_ints_t gnn__ints_int(const int *array)
{
    return (gnn_ints_t){GNN_DTYPE_INT32, array};
}
static inline gnn_ints_t gnn__ints_long(const long *array)
{
    return (gnn_ints_t){GNN__LONG, array};
}
static inline gnn_ints_t gnn__ints_long_long(const long long *array)
{
    return (gnn_ints_t){GNN_DTYPE_INT64, array};
}
/* NULL. Other pointers without a type are refused where they are read. */
static inline gnn_ints_t gnn__ints_void(const void *array)
{
    return (gnn_ints_t){(gnn_dtype_t)-1, array};
}
/* clang-format off */
#define gnn_ints(...)                                                                     \
    _Generic((__VA_ARGS__), gnn_ints_t: gnn__ints_same,                                   \
             int *: gnn__ints_int, const int *: gnn__ints_int,                            \
             long *: gnn__ints_long, const long *: gnn__ints_long,                        \
             long long *: gnn__ints_long_long, const long long *: gnn__ints_long_long,    \
             void *: gnn__ints_void)(__VA_ARGS__)
/* clang-format on */
#endif

/**
 * A contiguous rows x cols view of `data`.
 *
 * @param[in] data  (rows x cols) row-major, borrowed; &x[0][0] of a matrix gnn_real_t x[N][D]. Not
 *                  const, since one type serves inputs and outputs; inputs are only read
 *
 * Threads: only the pointer is stored.
 */
static inline gnn_tensor_t gnn_tensor(gnn_real_t *data, int64_t rows, int64_t cols)
{
    gnn_tensor_t t;
    t.data = data;
    t.rows = rows;
    t.cols = cols;
    t.stride = cols;
    return t;
}

/**
 * A view of a CSR matrix whose index arrays have other types than those of gnn_sparse_t, such as
 * SciPy's (int32) or PyG's (int64). Only arrays of another type are copied.
 *
 * @param[out] sparse  valid until owner->release(owner->user), and as long as the arrays live
 * @param[out] owner   owner of the copies, which may be passed to a data set that borrows the view
 *                     (gnn_data_config_t.owner); its release is NULL if nothing was copied
 * @param[in] indptr   (rows + 1)
 * @param[in] indices  (indptr[rows]); may be NULL if that is 0
 * @param[in] values   (indptr[rows]); NULL: all are 1
 * @return GNN_OK; GNN_EINVALID (a NULL, an array of another type); GNN_EOVERFLOW: an index does
 *         not fit in 32 bits; GNN_ESHAPE: indptr does not start at 0 or decreases, or a column is
 *         out of range; GNN_ENUMERIC: a value is not finite; GNN_EMEMORY. *sparse is empty then.
 *         O(rows + nnz)
 */
GNN_API int gnn_sparse_from_csr(gnn_sparse_t *sparse, gnn_owner_t *owner, int64_t rows, int64_t cols,
                                gnn_ints_t indptr, gnn_ints_t indices, const gnn_real_t *values);
#ifndef __cplusplus
#define gnn_sparse_from_csr(sparse, owner, rows, cols, indptr, indices, values) \
    gnn_sparse_from_csr(sparse, owner, rows, cols, gnn_ints(indptr), gnn_ints(indices), values)
#endif

#ifdef __cplusplus
}
#endif
#endif
