/* Kernels over in-neighbours: sums, extremes, and the rows of single pairs. Chunks of rows are
 * given to one thread each, and a row's senders are taken in order, so results do not depend on the
 * thread count.
 *
 * Sums: y_i = start_i + row_i * sum over j in the row of w_ij col_j x_j, on edges and spans, in
 * both directions (the gradient is the same sum over the transposed part). */
#ifndef GNN_KERNELS_NEIGHBOURS_H
#define GNN_KERNELS_NEIGHBOURS_H

#include <lib/kernels/neighbours/pairs.h>
#include <lib/base/base.h>

typedef struct gnn__neighbour_sum {
    gnn__pairs_t pairs;
    int64_t width;       /* features of a row */
    const gnn_real_t *x; /* rows by sender */
    int64_t ldx;
    gnn_real_t *y; /* rows by receiver */
    int64_t ldy;
    bool held; /* edges: y is a block of rows from y_row on that is read again at once */
    int64_t y_row;
    const gnn_real_t *start; /* by node, may be y; NULL: 0 */
    int64_t ldstart;
    const gnn_real_t *row_scale, *col_scale; /* per node; NULL: 1 */
    const gnn_real_t *weight; /* by edge id; NULL, or an edge id from `weights` on: 1 */
    int64_t weight_stride, weights;
} gnn__neighbour_sum_t;

/* Features per pass over a run. */
enum { GNN__SLIDE_BLOCK = 64 };

typedef struct gnn__neighbour_sum_kernels {
    void (*edges)(const gnn__neighbour_sum_t *s, int64_t row0, int64_t row1);
    /* Copies `count` contiguous rows to y, with streaming stores if y (`elements` elements in all)
     * exceeds the caches. last: fences, so that other threads may read. */
    void (*store_rows)(const gnn_real_t *rows, int64_t count, int64_t width, gnn_real_t *y,
                       int64_t ldy, int64_t elements, bool last);
    /* Sliding sums over spans for `count` features from `first` on. suffix: GNN__SLIDE_BLOCK
     * elements for each of the `longest` slots that gnn__slide_chunks found. */
    void (*spans)(const gnn__neighbour_sum_t *s, int64_t row0, int64_t row1, int64_t first,
                  int64_t count, gnn_real_t *suffix);
    /* d_weight[edge] += row_i col_j (d_y_i . x_j) over edges; d_y is passed as y and only read. */
    void (*weight_grad)(const gnn__neighbour_sum_t *s, int64_t row0, int64_t row1,
                        gnn_real_t *d_weight, int64_t d_stride);
} gnn__neighbour_sum_kernels_t;
const gnn__neighbour_sum_kernels_t *gnn__neighbour_sum_kernels(void);

/* Divides the rows of a spans part into at most GNN__SLIDE_CHUNKS chunks, such that summing a
 * chunk's first run anew costs no more than the chunk before did. bounds has one element more.
 * *longest is raised to the longest suffix stack. Returns the count of chunks. */
enum { GNN__SLIDE_CHUNKS = 66 };
int64_t gnn__slide_chunks(const gnn__pairs_t *pairs, int64_t *bounds, int64_t *longest);

/* ---- elementwise maximum or minimum over in-neighbours, on edges ---- */

typedef struct gnn__neighbour_extreme {
    gnn__pairs_t pairs; /* edges only */
    int64_t width;
    gnn_real_t sign;         /* `receive`: 1: maximum; -1: minimum */
    const gnn_real_t *other; /* rows of senders */
    gnn_real_t *own;         /* rows of receivers; `receive` writes these */
    int64_t ldother, ldown;
    /* `match` only */
    const gnn_real_t *gain;
    gnn_real_t *to;
    int64_t ldgain, ldto;
    bool add; /* to += instead */
} gnn__neighbour_extreme_t;

typedef struct gnn__neighbour_extreme_kernels {
    /* own_r = the extreme of other_n over the in-neighbours n of row r; 0 without any, NaN where
     * one of them is. */
    void (*receive)(const gnn__neighbour_extreme_t *e, int64_t row0, int64_t row1);
    /* to_r (+)= sum of gain_n, elementwise, over neighbours whose other_n equals own_r. Ties are
     * counted as such a sum of ones; the gradient is one of shares over the transposed part. */
    void (*match)(const gnn__neighbour_extreme_t *e, int64_t row0, int64_t row1);
} gnn__neighbour_extreme_kernels_t;
/* NULL: this processor has none. */
const gnn__neighbour_extreme_kernels_t *gnn__neighbour_extreme_kernels(void);

/* ---- rows of single pairs ---- */

/* Messages, aggregators' steps and their gradients for one pair, rows of n elements: the inner
 * loops of the generic driver and of entries of messages.def and aggregators.def. Serial; the
 * result for a pair depends on the pair alone. */
/* Weights (count x n) that project edge features. */
typedef struct gnn__feature_weight {
    int64_t count, n, stride;
    const gnn_real_t *weight;
} gnn__feature_weight_t;

typedef struct gnn__pair_kernels {
    /* y = start + f W; y may be `start`. */
    void (*project)(const gnn__feature_weight_t *w, const gnn_real_t *f, const gnn_real_t *start,
                    gnn_real_t *y);
    /* Gradient of `pairs` projections, d (pairs x n): dw (count x n) += sum of f d, pair by pair in
     * order. */
    void (*project_weights)(const gnn__feature_weight_t *w, int64_t pairs,
                            const gnn_real_t *const *f, const gnn_real_t *d, gnn_real_t *dw);
    /* df += W d of one pair. */
    void (*project_features)(const gnn__feature_weight_t *w, const gnn_real_t *d, gnn_real_t *df);

    /* y = max(x + e, 0), NaN where the sum is; e may be NULL: 0. */
    void (*relu_sum)(int64_t n, const gnn_real_t *x, const gnn_real_t *e, gnn_real_t *y);
    /* dx += dy where x + e > 0. */
    void (*relu_sum_grad)(int64_t n, const gnn_real_t *x, const gnn_real_t *e, const gnn_real_t *dy,
                          gnn_real_t *dx);
    /* y = sigmoid(dst + src + e) (src' + e'), where primed rows are n elements after the others; e
     * may be NULL: 0. */
    void (*gate)(int64_t n, const gnn_real_t *dst, const gnn_real_t *src, const gnn_real_t *e,
                 gnn_real_t *y);
    /* Gradients are added to those that are not NULL. */
    void (*gate_grad)(int64_t n, const gnn_real_t *dst, const gnn_real_t *src, const gnn_real_t *e,
                      const gnn_real_t *dy, gnn_real_t *d_dst, gnn_real_t *d_src, gnn_real_t *d_e);

    /* Welford's recurrence; `count` includes this message. */
    void (*welford)(int64_t n, gnn_real_t count, const gnn_real_t *x, gnn_real_t *mean,
                    gnn_real_t *squares);
    /* dx += factor (x - mean). */
    void (*welford_grad)(int64_t n, const gnn_real_t *factor, const gnn_real_t *x,
                         const gnn_real_t *mean, gnn_real_t *dx);
    /* Online softmax over messages: the largest t x, the sum of exp(t x - most), and the sum of
     * that times x; sum 0: no message yet. */
    void (*soften)(int64_t n, gnn_real_t t, const gnn_real_t *x, gnn_real_t *most, gnn_real_t *sum,
                   gnn_real_t *weighted);
    /* With y = weighted / sum and share = dy / sum: dx += its gradient (NULL: not wanted); returns
     * that of t. */
    gnn_real_t (*soften_grad)(int64_t n, gnn_real_t t, const gnn_real_t *x, const gnn_real_t *most,
                              const gnn_real_t *y, const gnn_real_t *share, gnn_real_t *dx);
    /* Largest or smallest element, NaN if there was one, and the count of ties; ties 0: no message
     * yet. */
    void (*extreme)(int64_t n, bool largest, const gnn_real_t *x, gnn_real_t *best, gnn_real_t *ties);
    /* dx += share where x equals `best`. */
    void (*extreme_grad)(int64_t n, const gnn_real_t *x, const gnn_real_t *best,
                         const gnn_real_t *share, gnn_real_t *dx);
} gnn__pair_kernels_t;
const gnn__pair_kernels_t *gnn__pair_kernels(void);

#endif
