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
    /* y = the larger of x and z; NaN if one of them is. */
    void (*maximum)(int64_t n, const gnn_real_t *x, const gnn_real_t *z, gnn_real_t *y);
    /* ties += 1 where x is `most`. */
    void (*count_ties)(int64_t n, const gnn_real_t *x, const gnn_real_t *most, gnn_real_t *ties);
    /* dx (+)= dy / ties where x is `most`, 0 elsewhere. */
    void (*maximum_grad)(int64_t n, const gnn_real_t *x, const gnn_real_t *most,
                         const gnn_real_t *ties, const gnn_real_t *dy, bool add, gnn_real_t *dx);
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
    /* y = x^p where x > 0, else 0. */
    void (*power)(int64_t n, gnn_real_t p, const gnn_real_t *x, gnn_real_t *y);
    /* Of y = x^p: dx += p y / x dy (unless NULL), 0 where x is not positive, but dy where x is 0
     * and p 1; returns the sum of y log(x) dy. */
    double (*power_grad)(int64_t n, gnn_real_t p, const gnn_real_t *x, const gnn_real_t *y,
                         const gnn_real_t *dy, gnn_real_t *dx);
    /* One step of an LSTM cell for n of its numbers: `gates` begins with theirs of i, those of f, g
     * and o follow `stride` further on each; c and h come out. `memory` NULL: 0. */
    void (*lstm)(int64_t n, int64_t stride, const gnn_real_t *gates, const gnn_real_t *memory,
                 gnn_real_t *h, gnn_real_t *c);
    /* Its gradients: d_gates += (unless NULL), d_memory += (unless NULL). */
    void (*lstm_grad)(int64_t n, int64_t stride, const gnn_real_t *gates, const gnn_real_t *memory,
                      const gnn_real_t *dh, const gnn_real_t *dc, gnn_real_t *d_gates,
                      gnn_real_t *d_memory);
} gnn__elementwise_kernels_t;
const gnn__elementwise_kernels_t *gnn__elementwise_kernels(void);

/* Is f' computed from y = f(x)? Then x need not be kept. */
bool gnn__activation_from_output(gnn_activation_t kind, gnn_real_t slope);

#endif
