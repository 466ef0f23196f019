/* One dot product per head of rows with vectors, up to two vectors at once, and their gradients:
 * what GAT's scores are made of. */
#ifndef GNN_KERNELS_HEADS_H
#define GNN_KERNELS_HEADS_H

#include <lib/base/base.h>

enum { GNN__HEAD_VECTORS = 2 };

typedef struct gnn__heads_block {
    int64_t rows, heads, width;
    int vectors;
    const gnn_real_t *x; /* rows x heads * width */
    int64_t ldx;
    const gnn_real_t *a[GNN__HEAD_VECTORS]; /* heads * width */
    gnn_real_t *y[GNN__HEAD_VECTORS];       /* rows x heads; or their gradients */
    int64_t ldy;
    gnn_real_t *dx; /* NULL: not wanted */
    int64_t lddx;
    bool add; /* to what dx holds */
    /* gradients of a, added to: rows add up in gnn_real_t, a block in double; NULL: not
     * wanted */
    double *sums[GNN__HEAD_VECTORS];
} gnn__heads_block_t;

typedef struct gnn__head_kernels {
    /* y[v][r][h] = the dot product of head h of row r of x with that of a[v] */
    void (*dots)(const gnn__heads_block_t *b);
    /* dx[r][c] (+)= the sum over v of y[v][r][c / width] a[v][c];
     * sums[v][c] += the sum over r of y[v][r][c / width] x[r][c] */
    void (*grads)(const gnn__heads_block_t *b);
} gnn__head_kernels_t;
const gnn__head_kernels_t *gnn__head_kernels(void);

#endif
