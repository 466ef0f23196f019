/* Products of a sparse matrix (CSR) and a dense one, serial: the ops divide rows and columns. */
#ifndef GNN_KERNELS_SPARSE_H
#define GNN_KERNELS_SPARSE_H

#include <lib/base/base.h>

typedef struct gnn__sparse_product {
    const int64_t *indptr;
    const int32_t *indices;
    const gnn_real_t *values; /* NULL: all are 1 */
    const int32_t *place;     /* the k-th stored number is values[place[k]]; NULL: values[k] */
    bool gaps;                /* values of 0 were dropped: what they would multiply is not read */
    const gnn_real_t *x;
    int64_t ldx;
    gnn_real_t *y;
    int64_t ldy;
    const gnn_real_t *bias; /* one row that sums start from, or NULL */
    bool add;               /* sums start from what y holds (no bias then) */
} gnn__sparse_product_t;

typedef struct gnn__sparse_kernels {
    /* Rows from..to - 1 of y, columns first..first + cols - 1: the sum of value times row `index` of
     * x. Sums do not depend on the division of rows; divisions of columns at multiples of 64 bytes
     * keep their bits too. */
    void (*gather)(const gnn__sparse_product_t *p, int64_t from, int64_t to, int64_t first,
                   int64_t cols);
    /* Adds value times row r of x to row `index` of y, for all rows r of the matrix in turn. */
    void (*scatter)(const gnn__sparse_product_t *p, int64_t rows, int64_t first, int64_t cols);
} gnn__sparse_kernels_t;
const gnn__sparse_kernels_t *gnn__sparse_kernels(void);

#endif
