/* Products of a sparse matrix (CSR) and a dense one, serial: the ops divide rows and columns. */
#ifndef GNN_KERNELS_SPARSE_H
#define GNN_KERNELS_SPARSE_H

#include <lib/base/base.h>

typedef struct gnn__csr_product {
    const int64_t *indptr;
    /* row r holds so many numbers from indptr[r] on; NULL: up to indptr[r + 1] */
    const int32_t *counts;
    const int32_t *indices;
    const gnn_real_t *values; /* NULL: all are 1 */
    const gnn_real_t *x;
    int64_t ldx;
    gnn_real_t *y;
    int64_t ldy;
    const gnn_real_t *bias; /* one row that sums start from, or NULL */
} gnn__csr_product_t;

typedef struct gnn__csr_kernels {
    /* Rows from..to - 1 of y, `cols` wide: the sums of value times row `index` of x. */
    void (*gather)(const gnn__csr_product_t *p, int64_t from, int64_t to, int64_t cols);
    /* Adds value times row r of x to row `index` of y, for r = from, ..., to - 1 in turn, in `cols`
     * columns from `first` on: the bits do not depend on how columns are divided. */
    void (*scatter)(const gnn__csr_product_t *p, int64_t from, int64_t to, int64_t first,
                    int64_t cols);
} gnn__csr_kernels_t;
const gnn__csr_kernels_t *gnn__csr_kernels(void);

#endif
