/* Dropout of dense rows and of stored numbers: inner loops, serial, as in elementwise.h. */
#ifndef GNN_KERNELS_DROPOUT_MASK_H
#define GNN_KERNELS_DROPOUT_MASK_H

#include <lib/base/base.h>

typedef struct gnn__dropout_kernels {
    /* y (+)= x times its multipliers, for `rows` rows of which the first is number `row`. What is
     * dropped becomes -0, a 0 that is kept +0. */
    void (*matrix)(const gnn__dropout_t *d, int64_t row, int64_t rows, int64_t cols,
                   const gnn_real_t *x, int64_t ldx, bool add, gnn_real_t *y, int64_t ldy);
    /* What is left of rows from..to - 1 of x: counts[r] numbers from place indptr[r] on. A row's
     * stored numbers are counted: the mask does not depend on which columns they stand for. */
    void (*sparse)(const gnn__dropout_t *d, int64_t from, int64_t to, const gnn_sparse_t *x,
                   int32_t *indices, gnn_real_t *values, int32_t *counts);
} gnn__dropout_kernels_t;
const gnn__dropout_kernels_t *gnn__dropout_kernels(void);

#endif
