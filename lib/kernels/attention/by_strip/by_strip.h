/* Attention by strip, for dot scores on spans and any weigher: a strip of receivers against all of
 * their senders, so that a weigher has whole rows of scores.
 *
 *                    senders, in tiles of 64 columns
 *                    first                            first + width
 *     receiver 0     |  from[0] ====== to[0]               |
 *     receiver 1     |     from[1] ====== to[1]            |   scores, weights and derivatives:
 *     ..             |                                     |   rows x ld elements each
 *
 * Products are those of by_tile. Here are the passes over one row of a strip and over the columns
 * of tiles; lib/aggregate/fast/strategy_by_strip.c puts them in order. */
#ifndef GNN_KERNELS_BY_STRIP_H
#define GNN_KERNELS_BY_STRIP_H

#include <lib/kernels/attention/attention.h>

/* Most rows of a strip, columns of a tile, draws that are made together. */
enum { GNN__STRIP_ROWS = 48, GNN__STRIP_TILE = 64, GNN__STRIP_DRAWN = 32 };

/* Operands of a strip, whose columns are first .. first + width - 1 of tiles. `factors`: q and k
 * are e^2q (rows x ldk) and e^2key (tiles, transposed); else 2 q and 2 key, both as rows. */
typedef struct gnn__strip_tanh {
    int64_t rows, first, width, ld, ldk, d_k;
    const int64_t *from, *to; /* (rows) columns that each row attends, from `first` on */
    const gnn_real_t *q, *k, *v;
    bool factors;
} gnn__strip_tanh_t;

typedef struct gnn__attention_strips {
    /* rows[r] = factor * elements first .. first + count - 1 of node[r]'s row, padded to ld with
     * zeros, as are the rows from n to `whole`. True if all are finite. */
    bool (*pack)(const gnn__matrix_t *m, const uint32_t *node, int64_t n, int64_t whole,
                 int64_t first, int64_t count, int64_t ld, gnn_real_t factor, gnn_real_t *rows);
    /* Tiles of GNN__STRIP_TILE packed rows -> their columns, width x GNN__STRIP_TILE each. */
    void (*to_columns)(const gnn_real_t *rows, int64_t tiles, int64_t width, gnn_real_t *columns);
    /* out[r] (+)= sum over k < n of a[r * row + k * step] b[k], `width` columns (whole registers of
     * 16 elements). */
    void (*multiply)(const gnn_real_t *a, int64_t row, int64_t step, int64_t rows,
                     const gnn_real_t *b, int64_t ldb, int64_t n, gnn_real_t *out, int64_t ldo,
                     int64_t width, bool add);
    /* y (+)= factor * x */
    void (*put)(const gnn_real_t *x, int64_t n, gnn_real_t factor, bool add, gnn_real_t *y);
    /* x = cap tanh(x / cap); d *= the derivative at the capped value. */
    void (*cap)(int64_t n, gnn_real_t cap, gnn_real_t *x);
    void (*cap_grad)(int64_t n, gnn_real_t cap, const gnn_real_t *capped, gnn_real_t *d);
    void (*exp)(int64_t n, gnn_real_t *x);
    /* True if no |x| is above `most`, or NaN. */
    bool (*within)(int64_t n, const gnn_real_t *x, gnn_real_t most);
    /* out[c] += values[index[c]];  with rows: values[row[index[c]]] */
    void (*gather)(int64_t n, const gnn_real_t *values, const int32_t *index, gnn_real_t *out);
    void (*gather_rows)(int64_t n, const gnn_real_t *values, const int32_t *row,
                        const int32_t *index, gnn_real_t *out);
    /* Weights of softmax. state: the largest score, and the sum of exp(score - largest). */
    void (*softmax)(int64_t n, const gnn_real_t *s, gnn_real_t *w, gnn_real_t state[2]);
    /* d = w (d - delta), 0 where w is. */
    void (*softmax_grad)(int64_t n, const gnn_real_t *w, gnn_real_t delta, gnn_real_t *d);
    /* w = sigmoid(s - shift);  d = w (1 - w) d, 0 where w is. */
    void (*sigmoid)(int64_t n, gnn_real_t shift, const gnn_real_t *s, gnn_real_t *w);
    void (*sigmoid_grad)(int64_t n, const gnn_real_t *w, gnn_real_t *d);
    /* sum of w d over elements whose w is not 0 */
    gnn_real_t (*dot)(int64_t n, const gnn_real_t *w, const gnn_real_t *d);
    gnn_real_t (*sum)(int64_t n, const gnn_real_t *x);
    /* Scores of additive_tanh: sum over k of v_k tanh(q_k + key_k). tanh(x) = 1 - 2 / (1 + e^2q
     * e^2key), so that a pair needs no exponential; `grad` adds to d_q (rows x ldk), to d_k (in
     * tiles transposed, as k) and to d_v (ldk). */
    void (*tanh_scores)(const gnn__strip_tanh_t *t, gnn_real_t *s);
    void (*tanh_grad)(const gnn__strip_tanh_t *t, const gnn_real_t *d, gnn_real_t *d_q,
                      gnn_real_t *d_k, gnn_real_t *d_v);
    /* Draws of dropout for one receiver, n senders and eight heads: a byte per sender, whose bits
     * are the heads. bits has room for whole registers of draws. */
    void (*draw)(const gnn__dropout_t *d, uint32_t receiver, int64_t n, const uint32_t *sender,
                 uint32_t block, uint8_t *bits);
    /* x = scale x where the bit is set, else 0 */
    void (*drop)(int64_t n, const uint8_t *bits, int bit, gnn_real_t scale, gnn_real_t *x);
} gnn__attention_strips_t;
const gnn__attention_strips_t *gnn__attention_strips(void);

#endif
