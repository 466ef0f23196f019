/* Inner loops over rows and columns of dense matrices, a const table per subject and instruction
 * set (isa.h). All are serial: the ops divide the rows. Functions with `add` add to their output if
 * it is true and overwrite it otherwise. Outputs may be inputs, but may not overlap them
 * otherwise. */
#ifndef GNN_KERNELS_ROWWISE_H
#define GNN_KERNELS_ROWWISE_H

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
    /* y = max(x, z); NaN if one of them is. */
    void (*maximum)(int64_t n, const gnn_real_t *x, const gnn_real_t *z, gnn_real_t *y);
    /* ties += 1 where x equals `most`. */
    void (*count_ties)(int64_t n, const gnn_real_t *x, const gnn_real_t *most, gnn_real_t *ties);
    /* dx (+)= dy / ties where x equals `most`, 0 elsewhere. */
    void (*maximum_grad)(int64_t n, const gnn_real_t *x, const gnn_real_t *most,
                         const gnn_real_t *ties, const gnn_real_t *dy, bool add, gnn_real_t *dx);
    void (*activate)(gnn_activation_t kind, gnn_real_t slope, int64_t n, const gnn_real_t *x,
                     gnn_real_t *y);
    /* dx (+)= dy f'(x). t is y if gnn__activation_from_output is true, else x. */
    void (*activate_grad)(gnn_activation_t kind, gnn_real_t slope, int64_t n, const gnn_real_t *t,
                          const gnn_real_t *dy, bool add, gnn_real_t *dx);
    /* Loss of one row, summed, and its gradient times `scale` in g (NULL: not wanted); t are the
     * targets. Binary cross-entropy of logits: max(x, 0) - x t + log(1 + e^-|x|). Squared error: (x
     * - t)^2. */
    double (*binary_cross_entropy)(int64_t n, const gnn_real_t *x, const gnn_real_t *t,
                                   gnn_real_t scale, gnn_real_t *g);
    double (*squared)(int64_t n, const gnn_real_t *x, const gnn_real_t *t, gnn_real_t scale,
                      gnn_real_t *g);
    /* PyTorch's GRUCell on one row: xg and hg are the gates (r, z, n) from x and h. keep (NULL: not
     * wanted) receives r, z, n and h's part of n (4d). */
    void (*gru)(int64_t d, const gnn_real_t *xg, const gnn_real_t *hg, const gnn_real_t *h,
                gnn_real_t *y, gnn_real_t *keep);
    /* Gradients of the gates' inputs: `inner` (4d) receives dr, dz, dn (of xg) and dn of hg;
     * dh_share = z dy. */
    void (*gru_grad)(int64_t d, const gnn_real_t *keep, const gnn_real_t *h, const gnn_real_t *dy,
                     gnn_real_t *inner, gnn_real_t *dh_share);
    /* y = x^p where x > 0, else 0. */
    void (*power)(int64_t n, gnn_real_t p, const gnn_real_t *x, gnn_real_t *y);
    /* With y = x^p: dx (NULL: not wanted) += p y / x dy, 0 where x <= 0, but dy where x is 0 and p
     * is 1. Returns the sum of y log(x) dy. */
    double (*power_grad)(int64_t n, gnn_real_t p, const gnn_real_t *x, const gnn_real_t *y,
                         const gnn_real_t *dy, gnn_real_t *dx);
    /* One step of an LSTM cell for n of its elements: `gates` starts with theirs of i; those of f,
     * g and o follow `stride` further on each. Writes c and h. memory NULL: 0. */
    void (*lstm)(int64_t n, int64_t stride, const gnn_real_t *gates, const gnn_real_t *memory,
                 gnn_real_t *h, gnn_real_t *c);
    /* Its gradients: d_gates += and d_memory += (each NULL: not wanted). */
    void (*lstm_grad)(int64_t n, int64_t stride, const gnn_real_t *gates, const gnn_real_t *memory,
                      const gnn_real_t *dh, const gnn_real_t *dc, gnn_real_t *d_gates,
                      gnn_real_t *d_memory);
} gnn__elementwise_kernels_t;
const gnn__elementwise_kernels_t *gnn__elementwise_kernels(void);

/* True if f' is computed from y = f(x), so that x need not be kept. */
static inline bool gnn__activation_from_output(gnn_activation_t kind, gnn_real_t slope)
{
    (void)slope;
    switch (kind) {
#define GNN_ACTIVATION(id, name, from_output) \
    case GNN_##id:                            \
        return from_output;
#include <lib/kernels/rowwise/activations.def>
#undef GNN_ACTIVATION
    default: return false;
    }
}

/* ---- norms of rows, sums down columns (row_norm.kernel.c) ---- */

/* f' from y = dropout(f(x)): `above` where y > 0; 0 where y was dropped, which is stored as -0 then
 * and only then (`dropped` is NaN without dropout); else curved y + below. */
typedef struct gnn__grad_from_output {
    gnn_real_t above, below, curved, dropped;
} gnn__grad_from_output_t;

typedef struct gnn__row_kernels {
    /* y = gain (x - mean) rstd + shift over one row; gain and shift may be NULL: 1 and 0. stats
     * receives mean and rstd; rms: mean is 0. */
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

    /* sums (cols) = sums down columns: blocks of rows in gnn_real_t, the blocks in double. */
    void (*column_sum)(int64_t rows, int64_t cols, const gnn_real_t *x, int64_t ldx, double *sums);
    /* dx = dy f'(x) from y, and sums (NULL: not wanted) = its sums down columns. dx is part of a
     * matrix of `elements` elements. */
    void (*left_grad)(const gnn__grad_from_output_t *f, int64_t rows, int64_t cols,
                      const gnn_real_t *y, int64_t ldy, const gnn_real_t *dy, int64_t ldd,
                      gnn_real_t *dx, int64_t ldx, int64_t elements, double *sums);
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

/* ---- dropout (dropout_mask.kernel.c) ---- */

typedef struct gnn__dropout_kernels {
    /* y (+)= x times its dropout multipliers, for `rows` rows from `row` on. Dropped elements
     * become -0, zeros that are kept +0. */
    void (*matrix)(const gnn__dropout_t *d, int64_t row, int64_t rows, int64_t cols,
                   const gnn_real_t *x, int64_t ldx, bool add, gnn_real_t *y, int64_t ldy);
    /* Keeps what dropout leaves of rows from .. to - 1 of x: counts[r] elements from slot
     * indptr[r] on. Draws count a row's stored elements, so the mask does not depend on their
     * columns. */
    void (*sparse)(const gnn__dropout_t *d, int64_t from, int64_t to, const gnn_sparse_t *x,
                   int32_t *indices, gnn_real_t *values, int32_t *counts);
} gnn__dropout_kernels_t;
const gnn__dropout_kernels_t *gnn__dropout_kernels(void);

/* ---- dot products per head (head_dot.kernel.c) ---- */

/* Dot products per head of rows with up to two vectors, and their gradients: GAT's scores. */
enum { GNN__HEAD_VECTORS = 2 };

typedef struct gnn__heads_block {
    int64_t rows, heads, width;
    int vectors;
    const gnn_real_t *x; /* rows x heads * width */
    int64_t ldx;
    const gnn_real_t *a[GNN__HEAD_VECTORS]; /* heads * width */
    gnn_real_t *y[GNN__HEAD_VECTORS];       /* rows x heads; `grads`: their gradients */
    int64_t ldy;
    gnn_real_t *dx; /* NULL: not wanted */
    int64_t lddx;
    bool add; /* dx += instead */
    /* gradients of a, added to: in gnn_real_t within a block of rows, in double across; NULL: not
     * wanted */
    double *sums[GNN__HEAD_VECTORS];
} gnn__heads_block_t;

typedef struct gnn__head_kernels {
    /* y[v][r][h] = dot product of head h of row r of x with that of a[v] */
    void (*dots)(const gnn__heads_block_t *b);
    /* dx[r][c] (+)= sum over v of y[v][r][c / width] a[v][c]; sums[v][c] += sum over r of y[v][r][c
     * / width] x[r][c] */
    void (*grads)(const gnn__heads_block_t *b);
} gnn__head_kernels_t;
const gnn__head_kernels_t *gnn__head_kernels(void);

/* ---- optimizer steps over the flat block of parameters (elementwise.kernel.c) ---- */

/* Scalars of a step in the precision of the parameters: learning rate; factor of the gradient;
 * weight decay added to the gradient; factor of the parameter (decoupled decay); momentum; 1 -
 * beta1; beta2; 1 - beta2; sqrt(1 - beta2^t); epsilon. */
typedef struct {
    gnn_real_t lr, scale, l2, shrink, momentum, one_beta1, beta2, one_beta2, root_correction2, eps;
    bool nesterov;
} gnn__sweep_t;

typedef struct gnn__optimizer_kernels {
    /* One step of n parameters p with gradients g. torch.optim.SGD: g += wd p; b = momentum b + g;
     * p -= lr (nesterov ? g + momentum b : b); b NULL: no momentum. */
    void (*sgd)(const gnn__sweep_t *s, gnn_real_t *p, const gnn_real_t *g, gnn_real_t *b, int64_t n);
    /* torch.optim.Adam and AdamW: m += (1 - beta1)(g - m); v = beta2 v + (1 - beta2) g^2; p -= lr /
     * (1 - beta1^t) m / (sqrt(v / (1 - beta2^t)) + eps). Adam adds wd p to the gradient (l2), AdamW
     * multiplies p by 1 - lr wd before (shrink). RMSprop is Adam with m = g and without
     * corrections. */
    void (*adam)(const gnn__sweep_t *s, gnn_real_t *p, const gnn_real_t *g, gnn_real_t *m,
                 gnn_real_t *v, int64_t n);
    /* Sum of squares in double. */
    double (*squares)(int64_t n, const gnn_real_t *x);
    bool (*finite)(int64_t n, const gnn_real_t *x);
} gnn__optimizer_kernels_t;
const gnn__optimizer_kernels_t *gnn__optimizer_kernels(void);

/* ---- peak rates of the machine, for profiles (peak.kernel.c) ---- */

typedef struct gnn__peak_kernels {
    /* `rounds` of multiply-adds on registers; *operations = operations per round. Returns a value
     * that depends on all of them. */
    gnn_real_t (*multiply_add)(int64_t rounds, gnn_real_t by, double *operations);
    /* Reads n elements once. */
    gnn_real_t (*read)(int64_t n, const gnn_real_t *x);
} gnn__peak_kernels_t;
const gnn__peak_kernels_t *gnn__peak_kernels(void);

#endif
