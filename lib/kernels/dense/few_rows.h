/* Products of few rows by a large matrix: reading the matrix is what takes the time. Each of its
 * numbers is read once, from memory, and meets all rows; libraries read it at a third of what the
 * memory gives, since they pack it first or follow short rows that processors do not foresee. */
#ifndef GNN_KERNELS_FEW_ROWS_H
#define GNN_KERNELS_FEW_ROWS_H

#include <lib/base/base.h>

/* How W holds its numbers. */
typedef enum { GNN__BF16, GNN__FLOAT16, GNN__REAL } gnn__numbers_t;

/* y = x op(W) + bias, x being (rows x k). */
typedef struct gnn__few_rows {
    gnn__numbers_t numbers;
    bool turned; /* W is (outputs x k), else (k x outputs), which must be GNN__REAL */
    const void *w;
    const gnn_real_t *x, *bias; /* a row of outputs, or NULL */
    gnn_real_t *y;
    int64_t rows, outputs, k, ldx, ldw, ldy;
    bool add; /* to what y holds; then there is no bias */
} gnn__few_rows_t;

/* Rows up to which this is faster than a library, and for columns of W. */
enum { GNN__FEW_ROWS = 8, GNN__FEW_ROWS_COLUMNS = 16 };

typedef struct gnn__few_rows_kernels {
    /* Outputs from .. to - 1. The order of a sum follows from k alone. */
    void (*product)(const gnn__few_rows_t *p, int64_t from, int64_t to);
} gnn__few_rows_kernels_t;
const gnn__few_rows_kernels_t *gnn__few_rows_kernels(void);

/* The whole product, with at most `threads` of the context's (0: all). Called outside parallel
 * regions; bits do not depend on the number of threads. */
void gnn__few_rows(const gnn_context_t *context, const gnn__few_rows_t *product, int threads);

#endif
