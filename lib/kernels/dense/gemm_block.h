/* Products of small blocks, called inside a parallel region. */
#ifndef GNN_KERNELS_GEMM_BLOCK_H
#define GNN_KERNELS_GEMM_BLOCK_H

#include <lib/base/base.h>

/* c (m x n) += alpha a (m x k) b (k x n). Element (i, l) of a is a[i * a_row + l * a_col], so that
 * a matrix and its transpose are both read in place; rows of b and c are contiguous. */
typedef struct gnn__gemm_block {
    int64_t m, n, k;
    const gnn_real_t *a;
    int64_t a_row, a_col;
    const gnn_real_t *b;
    int64_t ldb;
    gnn_real_t *c;
    int64_t ldc;
    gnn_real_t alpha;
} gnn__gemm_block_t;

typedef struct gnn__gemm_block_kernels {
    void (*multiply)(const gnn__gemm_block_t *p);
} gnn__gemm_block_kernels_t;

const gnn__gemm_block_kernels_t *gnn__gemm_block_kernels(void);

#endif
