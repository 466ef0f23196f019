/* Inner loops over rows and columns of dense matrices, one const table per subject and instruction
 * set (isa.h). All are serial: the ops divide the rows. Where a function takes `add`, it adds to
 * its output if true and overwrites it otherwise. Outputs may be the inputs themselves, but may not
 * overlap them otherwise. */
#ifndef GNN_KERNELS_ELEMENTWISE_H
#define GNN_KERNELS_ELEMENTWISE_H

#include <gnn/tape.h>
#include <lib/base/base.h>

typedef struct gnn__elementwise_kernels {
    void (*exp)(int64_t n, const gnn_real_t *x, gnn_real_t *y);
    /* y = e^(x - shift); returns the sum of y. */
    double (*exp_sum)(int64_t n, const gnn_real_t *x, gnn_real_t shift, gnn_real_t *y);
    gnn_real_t (*max)(int64_t n, const gnn_real_t *x); /* n > 0 */
    double (*sum)(int64_t n, const gnn_real_t *x);
    double (*dot)(int64_t n, const gnn_real_t *x, const gnn_real_t *y);
    void (*scale)(int64_t n, gnn_real_t alpha, const gnn_real_t *x, bool add,
                  gnn_real_t *y); /* y (+)= alpha x */
    void (*mix)(int64_t n, gnn_real_t alpha, const gnn_real_t *x, gnn_real_t beta,
                const gnn_real_t *z, gnn_real_t *y); /* y = alpha x + beta z */
    void (*multiply)(int64_t n, const gnn_real_t *x, const gnn_real_t *z, bool add,
                     gnn_real_t *y); /* y (+)= x z */
    void (*activate)(gnn_activation_t kind, gnn_real_t slope, int64_t n, const gnn_real_t *x,
                     gnn_real_t *y);
    /* dx (+)= dy f'(x). `t` is y where gnn__activation_from_output says so, else x. */
    void (*activate_grad)(gnn_activation_t kind, gnn_real_t slope, int64_t n, const gnn_real_t *t,
                          const gnn_real_t *dy, bool add, gnn_real_t *dx);
    /* Losses of one row, added up, and their gradients times `scale` in g (unless NULL); t are the
     * targets. Cross-entropy of logits: max(x, 0) - x t + log(1 + e^-|x|); squares: (x - t)^2. */
    double (*binary_cross_entropy)(int64_t n, const gnn_real_t *x, const gnn_real_t *t,
                                   gnn_real_t scale, gnn_real_t *g);
    double (*squared)(int64_t n, const gnn_real_t *x, const gnn_real_t *t, gnn_real_t scale,
                      gnn_real_t *g);
    /* PyTorch's GRUCell on one row: xg and hg are the gates (r, z, n) from x and h. `keep` receives
     * r, z, n and h's share of n (4d), or is NULL. */
    void (*gru)(int64_t d, const gnn_real_t *xg, const gnn_real_t *hg, const gnn_real_t *h,
                gnn_real_t *y, gnn_real_t *keep);
    /* Gradients of the sums inside the gates: `inner` (4d) receives dr, dz, dn (of xg) and dn of
     * hg; dh_share = z dy. */
    void (*gru_grad)(int64_t d, const gnn_real_t *keep, const gnn_real_t *h, const gnn_real_t *dy,
                     gnn_real_t *inner, gnn_real_t *dh_share);
} gnn__elementwise_kernels_t;
const gnn__elementwise_kernels_t *gnn__elementwise_kernels(void);

/* Is f' computed from y = f(x)? Then x need not be kept. */
bool gnn__activation_from_output(gnn_activation_t kind, gnn_real_t slope);

/* f' where y = dropout(f(x)) tells it: `above` where y > 0; 0 where y was dropped, which is -0 then and never else (where nothing drops, `dropped` is
 * a NaN); else curved y + below. */
typedef struct gnn__left {
    gnn_real_t above, below, curved, dropped;
} gnn__left_t;

typedef struct gnn__row_kernels {
    /* y = gain (x - mean) rstd + shift over one row; gain, shift may be NULL. stats receives mean
     * and rstd; rms: mean is 0. */
    void (*norm)(bool rms, int64_t n, const gnn_real_t *x, const gnn_real_t *gain,
                 const gnn_real_t *shift, gnn_real_t eps, gnn_real_t *y, gnn_real_t stats[2]);
    void (*norm_grad)(bool rms, int64_t n, const gnn_real_t *x, const gnn_real_t *gain,
                      const gnn_real_t *dy, const gnn_real_t stats[2], gnn_real_t *dx);
    /* y = x factor[c] + offset[c] */
    void (*affine)(int64_t n, const gnn_real_t *x, const gnn_real_t *factor,
                   const gnn_real_t *offset, gnn_real_t *y);
    /* dx (+)= p[c] dy + q[c] (x - center[c]) + r[c] */
    void (*affine_grad)(int64_t n, const gnn_real_t *dy, const gnn_real_t *x,
                        const gnn_real_t *center, const gnn_real_t *p, const gnn_real_t *q,
                        const gnn_real_t *r, bool add, gnn_real_t *dx);

    /* Sums down columns into `sums` (cols), overwritten: blocks of rows add up in gnn_real_t, the
     * blocks in double. */
    void (*column_sum)(int64_t rows, int64_t cols, const gnn_real_t *x, int64_t ldx, double *sums);
    /* dx = dy f'(x) from y, and its sums down columns, unless NULL. dx is part of a matrix of so many numbers. */
    void (*left_grad)(const gnn__left_t *f, int64_t rows, int64_t cols, const gnn_real_t *y,
                      int64_t ldy, const gnn_real_t *dy, int64_t ldd, gnn_real_t *dx, int64_t ldx,
                      int64_t numbers, double *sums);
    /* of (x - center[c])^2 */
    void (*column_square)(int64_t rows, int64_t cols, const gnn_real_t *x, int64_t ldx,
                          const gnn_real_t *center, double *sums);
    /* of dy (x - center[c]) */
    void (*column_product)(int64_t rows, int64_t cols, const gnn_real_t *dy, int64_t ldy,
                           const gnn_real_t *x, int64_t ldx, const gnn_real_t *center, double *sums);
    /* of dy (x - mean[r]) rstd[r]; stats is (rows x 2) */
    void (*column_normal)(int64_t rows, int64_t cols, const gnn_real_t *dy, int64_t ldy,
                          const gnn_real_t *x, int64_t ldx, const gnn_real_t *stats, double *sums);
} gnn__row_kernels_t;
const gnn__row_kernels_t *gnn__row_kernels(void);

typedef struct gnn__dropout_kernels {
    /* y (+)= x times its multipliers, for `rows` rows of which the first is number `row`. What is dropped becomes -0, a 0 that is kept +0. */
    void (*matrix)(const gnn__dropout_t *d, int64_t row, int64_t rows, int64_t cols,
                   const gnn_real_t *x, int64_t ldx, bool add, gnn_real_t *y, int64_t ldy);
    /* What is left of rows from..to - 1 of x: counts[r] numbers from place indptr[r] on. A row's
     * stored numbers are counted: the mask does not depend on which columns they stand for. */
    void (*sparse)(const gnn__dropout_t *d, int64_t from, int64_t to, const gnn_sparse_t *x,
                   int32_t *indices, gnn_real_t *values, int32_t *counts);
} gnn__dropout_kernels_t;
const gnn__dropout_kernels_t *gnn__dropout_kernels(void);

#endif
