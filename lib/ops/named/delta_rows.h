/* Small products of rows of one head, for op delta in chunks. */
#ifndef GNN_OPS_NAMED_DELTA_ROWS_H
#define GNN_OPS_NAMED_DELTA_ROWS_H

#include <lib/kernels/dense/dense.h>
#include <lib/kernels/simd/real_math.h>
#include <lib/ops/named/delta.h>

enum { GNN__DELTA_ROWS = 64 }; /* rows of a chunk */

static inline int64_t gnn__delta_chunks_of(int64_t rows)
{
    return (rows + GNN__DELTA_ROWS - 1) / GNN__DELTA_ROWS;
}

/* Rows of one head: element (i, c) is at[i * stride + c]. */
typedef struct gnn__delta_rows {
    gnn_real_t *at;
    int64_t stride;
} gnn__delta_rows_t;

/* c (m x n) += alpha a b, or alpha a' b where `turned`; c without memory: nothing. */
static inline void gnn__delta_add(int64_t m, int64_t n, int64_t k, gnn_real_t alpha,
                                  gnn__delta_rows_t a, bool turned, gnn__delta_rows_t b,
                                  gnn__delta_rows_t c)
{
    const gnn__gemm_block_t p = {.m = m,
                                 .n = n,
                                 .k = k,
                                 .a = a.at,
                                 .a_row = turned ? 1 : a.stride,
                                 .a_col = turned ? a.stride : 1,
                                 .b = b.at,
                                 .ldb = b.stride,
                                 .c = c.at,
                                 .ldc = c.stride,
                                 .alpha = alpha};
    if (c.at)
        gnn__gemm_block_kernels()->multiply(&p);
}

static inline void gnn__delta_clear(gnn_real_t *x, int64_t count)
{
    memset(x, 0, sizeof *x * (size_t)count);
}

/* to (cols x n, of `stride`) = x'. */
static inline gnn__delta_rows_t gnn__delta_turn(int64_t n, int64_t cols, gnn__delta_rows_t x,
                                                gnn_real_t *to, int64_t stride)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < cols; c++)
            to[c * stride + i] = x.at[i * x.stride + c];
    return (gnn__delta_rows_t){to, stride};
}

/* Row i of y = f_i times row i of x; f NULL: 1. */
static inline void gnn__delta_scale(int64_t n, int64_t cols, const gnn_real_t *f, gnn_real_t by,
                                    gnn__delta_rows_t x, gnn_real_t *y)
{
    for (int64_t i = 0; i < n; i++) {
        const gnn_real_t factor = f ? by * f[i] : by;
#pragma omp simd
        for (int64_t c = 0; c < cols; c++)
            y[i * cols + c] = factor * x.at[i * x.stride + c];
    }
}

/* y -= by x. */
static inline void gnn__delta_subtract(int64_t n, gnn_real_t by, const gnn_real_t *restrict x,
                                       gnn_real_t *restrict y)
{
#pragma omp simd
    for (int64_t c = 0; c < n; c++)
        y[c] -= by * x[c];
}

/* Bounded from below: differences of gates of -inf would be NaN. */
static inline double gnn__delta_gate(gnn_real_t gate)
{
    return gate < GNN__REAL(-1e4) ? -1e4 : (double)gate;
}

#endif
