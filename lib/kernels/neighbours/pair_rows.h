/* What one pair says, takes in and gives back, row by row of n numbers: the inner loops of the
 * generic driver and of the rows of messages.def and aggregators.def. All are serial, and what they
 * compute of a pair depends on nothing but the pair. */
#ifndef GNN_KERNELS_PAIR_ROWS_H
#define GNN_KERNELS_PAIR_ROWS_H

#include <lib/base/base.h>

/* A matrix of weights (count x n) that projects features of edges. */
typedef struct gnn__feature_weight {
    int64_t count, n, stride;
    const gnn_real_t *weight;
} gnn__feature_weight_t;

typedef struct gnn__pair_kernels {
    /* y = start + f W; y may be `start`. */
    void (*project)(const gnn__feature_weight_t *w, const gnn_real_t *f, const gnn_real_t *start,
                    gnn_real_t *y);
    /* Gradients of `pairs` projections, d (pairs x n): dw (count x n) += the sum of f d, pair after
     * pair in order. */
    void (*project_weights)(const gnn__feature_weight_t *w, int64_t pairs,
                            const gnn_real_t *const *f, const gnn_real_t *d, gnn_real_t *dw);
    /* df += W d of one pair. */
    void (*project_features)(const gnn__feature_weight_t *w, const gnn_real_t *d, gnn_real_t *df);

    /* y = max(x + e, 0), NaN where the sum is; e may be NULL. */
    void (*relu_sum)(int64_t n, const gnn_real_t *x, const gnn_real_t *e, gnn_real_t *y);
    /* dx += dy where x + e > 0. */
    void (*relu_sum_grad)(int64_t n, const gnn_real_t *x, const gnn_real_t *e, const gnn_real_t *dy,
                          gnn_real_t *dx);
    /* y = sigmoid(dst + src + e) (src' + e'), where primed rows stand n numbers behind the others;
     * e may be NULL. */
    void (*gate)(int64_t n, const gnn_real_t *dst, const gnn_real_t *src, const gnn_real_t *e,
                 gnn_real_t *y);
    /* Each gradient is added to, unless it is NULL. */
    void (*gate_grad)(int64_t n, const gnn_real_t *dst, const gnn_real_t *src, const gnn_real_t *e,
                      const gnn_real_t *dy, gnn_real_t *d_dst, gnn_real_t *d_src, gnn_real_t *d_e);

    /* Welford's recurrence for the message that is number `count`. */
    void (*welford)(int64_t n, gnn_real_t count, const gnn_real_t *x, gnn_real_t *mean,
                    gnn_real_t *squares);
    /* dx += factor (x - mean). */
    void (*welford_grad)(int64_t n, const gnn_real_t *factor, const gnn_real_t *x,
                         const gnn_real_t *mean, gnn_real_t *dx);
    /* The largest t x so far, the sum of exp(t x - most), that of x times it; sum 0: nothing
     * yet. */
    void (*soften)(int64_t n, gnn_real_t t, const gnn_real_t *x, gnn_real_t *most, gnn_real_t *sum,
                   gnn_real_t *heard);
    /* Of y = heard / sum, where `share` is dy / sum: dx += its gradient (unless NULL); returns that
     * of t. */
    gnn_real_t (*soften_grad)(int64_t n, gnn_real_t t, const gnn_real_t *x, const gnn_real_t *most,
                              const gnn_real_t *y, const gnn_real_t *share, gnn_real_t *dx);
    /* The largest or least number, NaN if there was one, and how many share it; ties 0: nothing
     * yet. */
    void (*extreme)(int64_t n, bool largest, const gnn_real_t *x, gnn_real_t *best, gnn_real_t *ties);
    /* dx += share where x is `best`. */
    void (*extreme_grad)(int64_t n, const gnn_real_t *x, const gnn_real_t *best,
                         const gnn_real_t *share, gnn_real_t *dx);
} gnn__pair_kernels_t;
const gnn__pair_kernels_t *gnn__pair_kernels(void);

#endif
