/* Both gradients of a linear map to a few numbers, a last layer's, in one sweep over its input: a
 * library's two products would read or write as much twice. */
#ifndef GNN_KERNELS_THIN_H
#define GNN_KERNELS_THIN_H

#include <lib/base/base.h>

/* Columns of dy at once, and of x: it has a multiple of these. */
enum { GNN__THIN = 4, GNN__THIN_UNIT = 16 };

typedef struct gnn__thin {
    int64_t rows, cols;
    const gnn_real_t *x; /* rows x cols */
    int64_t ldx;
    const gnn_real_t *dy; /* rows x GNN__THIN, without gaps */
    const gnn_real_t *w;  /* GNN__THIN x cols: columns of W as rows */
    gnn_real_t *dx;       /* (+)= dy w; NULL: not wanted */
    int64_t lddx;
    bool add;
    gnn_real_t *sums; /* as w: += dy' x */
} gnn__thin_t;

typedef struct gnn__thin_kernels {
    void (*grads)(const gnn__thin_t *t);
} gnn__thin_kernels_t;
const gnn__thin_kernels_t *gnn__thin_kernels(void);

#endif
