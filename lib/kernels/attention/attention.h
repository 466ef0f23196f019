/* Attention on one part of a graph: y_i = sum over j of alpha_ij v_j for each head, alpha = softmax
 * over j of score(q_i, k_j) + bias_ij. Four ways run it; the first that takes a call does
 * (lib/aggregate/ways.c).
 *
 *   way      scores             graph           heads             instruction set
 *   by_lane  additive, v2, dot  edges*          <= 8, kv = heads  AVX2, AVX-512, NEON
 *   by_tile  dot                spans           any               any; bf16, AMX
 *   by_row   all three          edges or spans  any               any (reference)
 *   generic  any row of tables  edges or spans  any               any
 *
 * and of what comes with the pairs:
 *
 *   by_lane  edge features, of loops that a view adds too; edge bias
 *   by_tile  caps, priors by distance (numbers and keys), sinks
 *   by_row   the same, edge bias and weight, scales of nodes, values by distance
 *   generic  everything: other weighers, weights that are asked for
 *
 *   * additive and v2 also on spans
 *
 * by_lane takes a graph as a whole. by_tile and by_row are one way
 * (lib/aggregate/fast/way_attention.c): each part goes by tiles where it can, else row by row.
 * generic walks pair by pair (lib/aggregate/generic) and keeps a state per receiver.
 *
 * Inside by_lane a layout says how a row of values lies (by_lane.h):
 *
 *   narrow   one head of fewer numbers than a register, in place; additive scores, AVX-512
 *   shared   heads of 2, 4 or 8 numbers, several to a register, in place; additive scores, AVX-512
 *   whole    every head fills registers, in place
 *   columns  one head of at most 16 numbers, in place; dot and v2 scores: pairs stand in the lanes
 *   packed   anything else: a copy with heads fastest
 *
 * and it does three things row by row where they pay: short rows by the handful, exponentials as
 * products of factors (+factors), both ends of a pair in one pass of backward (+groups). With
 * GNN_PROFILE=1 the profile says which of all this ran: "aggregate[by_lane/shared+factors]".
 *
 * Head a reads key and value head a / (heads / kv_heads). Rows lie head by head: q has heads * d_k
 * numbers (additive: heads), k has kv_heads * d_k (additive: heads), v has kv_heads * d_v, y has
 * heads * d_v.
 *
 * Forward runs over the parts one after another. In between the state holds each receiver's largest
 * score and the sum of exp(score - largest), and y the weighted sum that goes with them; the last
 * part divides and leaves the log-sum-exp in `largest`. Nothing per pair is kept: backward computes
 * alpha again from the log-sum-exp, once by receiver (d_q, edge gradients) and once by sender over
 * the transposed part (d_k, d_v). A receiver that hears no sender, or only scores of minus
 * infinity, has the sum 0, y = 0 and the log-sum-exp minus infinity. */
#ifndef GNN_KERNELS_ATTENTION_H
#define GNN_KERNELS_ATTENTION_H

#include <lib/kernels/neighbours/pairs.h>

typedef enum {
    GNN__SCORE_OTHER, /* kernels have none for it */
    GNN__SCORE_DOT,
    GNN__SCORE_ADDITIVE,
    GNN__SCORE_ADDITIVE_V2
} gnn__score_kind_t;

/* A matrix as a pointer and a stride. */
typedef struct gnn__matrix {
    gnn_real_t *at;
    int64_t stride;
} gnn__matrix_t;

static inline gnn_real_t *gnn__matrix_row(const gnn__matrix_t *m, int64_t row)
{
    return m->at + row * m->stride;
}

/* What the distance from receiver to sender adds to the scores of a part: for each head a row of
 * numbers by distance. In tiles the pair of row r and place c reads number shift[r] + c; on a
 * transposed part the numbers stand in reverse, and a tile may read up to GNN__PRIOR_MARGIN numbers
 * beyond what its rows hear, on either side. Row by row the number is found by the positions of the
 * two nodes: src_position[j] - dst_position[i] + origin. */
enum { GNN__PRIOR_MARGIN = 64 };

typedef struct gnn__prior_strips {
    const gnn_real_t *at; /* NULL: distances add nothing */
    int64_t stride;       /* numbers of a head */
    const int64_t *shift;
    const int64_t *dst_position, *src_position;
    int64_t origin;
} gnn__prior_strips_t;

/* Keys by distance: the product of a receiver's query with the key of the distance, times `scale`,
 * is added to a pair's score. Distances are known by the places that a->prior finds, whether it has
 * numbers of its own or not. Row by row a key is a part of a row of the model's parameters. In
 * tiles it is the sum over all tables, laid out by place twice: as rows, and in blocks of
 * GNN__KEY_BLOCK places with the places side by side. */
enum { GNN__KEY_BLOCK = 32, GNN__KEY_TABLES = 3 };

typedef struct gnn__key_table {
    const gnn_real_t *at;
    int64_t stride, cols;
    const int32_t *row;    /* of each place */
    const int64_t *column; /* of each head */
    int64_t sums;          /* where its gradient begins among the sums of a chunk of rows */
} gnn__key_table_t;

typedef struct gnn__keys {
    int64_t count; /* tables; 0: there are no keys */
    gnn__key_table_t table[GNN__KEY_TABLES];
    gnn__matrix_t q, d_q; /* what keys multiply; d_q.at NULL: its gradient is not wanted */
    bool apart;           /* which is something else than the queries */
    /* by_tile */
    /* Places that pairs have are low .. high. All up to `near` share a key, and all from `far` on,
     * if they fill a block at least: else near is low - 1, far is high + 1. Then only blocks from
     * that of `near` to that of `far` are laid out. Sums of gradients are those of places first ..
     * last. */
    int64_t low, high, near, far, first, last;
    int64_t width;                   /* numbers of a row */
    int64_t head_rows;               /* rows from one head to the next; 0: heads share them */
    const gnn_real_t *rows, *blocks; /* backward: times scale and log2 e */
    bool finite;
} gnn__keys_t;

/* Forward state (n_dst x heads): largest score, and sum of exp(score - largest). Carried from part
 * to part; `largest` also becomes the log-sum-exp for backward. by_tile and by_lane accept NULL
 * where a part is the only one and, of `largest`, nothing is recorded. */
typedef struct gnn__attention_state {
    gnn_real_t *largest, *sum;
} gnn__attention_state_t;

/* Backward: what comes in, and where gradients go (at NULL: not wanted). They are added to, except
 * that tiles overwrite those of q of the first `writes_q` receivers, and those of k, v if
 * `writes_k`, `writes_v`. */
typedef struct gnn__attention_grads {
    const gnn_real_t *lse, *delta; /* n_dst x heads: log-sum-exp and dY . Y */
    gnn__matrix_t y;
    gnn__matrix_t q, k, v, bias, weight, features;
    int64_t writes_q;
    bool writes_k, writes_v;
} gnn__attention_grads_t;

typedef struct gnn__attention {
    gnn__score_kind_t score;
    int64_t heads, kv_heads, d_k, d_v;
    gnn_real_t scale;      /* dot */
    gnn_precision_t level; /* dot: of products inside tiles */
    bool amx;              /* and whether the tiles of AMX multiply where they fit */
    gnn_real_t softcap;    /* products become softcap * tanh(product / softcap); 0: they do not */
    gnn_real_t slope;      /* of the leaky relu in additive scores */
    const gnn_real_t *a;   /* additive_v2: heads * d_k */
    gnn__matrix_t q, k, v, y;
    gnn__pairs_t pairs;
    gnn__prior_strips_t prior;
    gnn__keys_t keys;
    /* by_row: rows by distance that are added to a sender's, with a column for each value head; at
     * NULL: there are none */
    gnn__key_table_t values;
    bool transposed; /* rows are senders */
    /* Edge inputs; at NULL: none. Edge numbers beyond the rows of `bias` have bias 0, beyond those
     * of `weight` weight 1. */
    gnn__matrix_t bias, weight;
    int64_t biases, bias_cols, weights;
    gnn__matrix_t features; /* edges x d_e; which say they have depends on the kernels */
    int64_t edges, d_e;
    const gnn_real_t *dst_scale, *src_scale; /* per node, times the weight; NULL: 1 */
    const gnn__dropout_t *dropout;           /* NULL: off */
    bool first, last;                        /* part */
    gnn__attention_state_t state;
    gnn__attention_grads_t grad;
    /* by_tile, forward: tiles of senders by head; NULL: they are packed as they are met */
    gnn_real_t *packed;
    int64_t rows; /* by_tile, backward: at most so many senders share a tile of receivers */
} gnn__attention_t;

/* The level that products inside of tiles run at in this context. */
gnn_precision_t gnn__attention_level(const gnn_context_t *context);

#endif
