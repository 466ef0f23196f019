/* Linear maps of many rows to a few numbers, as last layers are, and both their gradients in one
 * sweep over the input. Libraries pack what is read once, and fill registers with columns that are
 * not there. */
#ifndef GNN_KERNELS_THIN_H
#define GNN_KERNELS_THIN_H

#include <lib/base/base.h>

/* The most columns of y; the columns of x are a multiple of the other, and so is the stride of a
 * padded matrix. */
enum { GNN__THIN = 16, GNN__THIN_UNIT = 16 };

typedef struct gnn__thin {
    int64_t rows, in, out;
    const gnn_real_t *x; /* rows x in */
    int64_t ldx;
    const gnn_real_t *w;    /* in x GNN__THIN: W, then zeros */
    const gnn_real_t *bias; /* out numbers, or NULL */
    gnn_real_t *y;          /* rows x out */
    int64_t ldy;
    bool add; /* to what y holds */
} gnn__thin_t;

typedef struct gnn__thin_grads {
    int64_t rows, in, out;
    const gnn_real_t *x; /* rows x in */
    int64_t ldx;
    const gnn_real_t *dy; /* rows x out */
    int64_t lddy;
    /* W in units, one behind another: out rows of GNN__THIN_UNIT numbers, the columns of W's next
     * rows. Columns as whole rows would meet in few sets of the first cache. */
    const gnn_real_t *w;
    gnn_real_t *dx; /* (+)= dy w; NULL: not wanted */
    int64_t lddx;
    bool add;
    gnn_real_t *sums; /* as w: += dy' x */
} gnn__thin_grads_t;

typedef struct gnn__thin_kernels {
    /* Products of fewer columns are a library's: they would leave half of each register empty. */
    int64_t least_out;
    void (*product)(const gnn__thin_t *t);
    void (*grads)(const gnn__thin_grads_t *t);
} gnn__thin_kernels_t;
const gnn__thin_kernels_t *gnn__thin_kernels(void);

#endif
