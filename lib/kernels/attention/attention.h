/* Attention on one part of a graph: y_i = sum over j of alpha_ij v_j for each head, alpha = softmax
 * over j of score(q_i, k_j) + bias_ij. Five strategies run it; the first that takes a call does
 * (lib/aggregate/aggregate_plan.c).
 *
 *     strategy  scores             graph           heads             instruction set
 *     by_lane   additive, v2, dot  edges*          <= 8, kv = heads  AVX2, AVX-512, NEON
 *     by_tile   dot                spans           any               any; bf16, AMX
 *     by_row    all three          edges or spans  any               any (reference)
 *     by_strip  dot, tanh          spans, a part   any, kv unlike    any
 *     generic   any table entry    edges or spans  any               any
 *
 *     * additive and v2 also on spans
 *
 * and of edge inputs and terms by distance:
 *
 *     by_lane   edge features, of loops that a view adds too; edge bias
 *     by_tile   softcap, priors by distance (scalars and keys), sinks
 *     by_row    the same, edge bias and weight, scales of nodes, values by distance
 *     by_strip  any weigher without parameters; all priors of the tables
 *     generic   everything: entries of a program, attention weights as an output
 *
 * Unlike counts of key and value heads, and priors per node, reach by_tile and by_row on copies of
 * the rows (lib/aggregate/fast/strategy_aligned.c).
 *
 * by_lane takes a graph as a whole. by_tile and by_row are one strategy
 * (lib/aggregate/fast/strategy_attention.c): each part runs by tile where it can, else row by row.
 * by_strip (lib/aggregate/fast/strategy_by_strip.c) keeps the scores of a strip of receivers with
 * all of their senders, so that a weigher meets whole rows (lib/aggregate/tables.h), and adds
 * priors to them (lib/aggregate/fast/strip_terms.h).
 * generic traverses pair by pair (lib/aggregate/generic) and keeps a state per receiver.
 *
 * Inside by_lane the layout of a row of values is one of these (by_lane.h):
 *
 *     narrow   one head narrower than a register, in place; additive scores, AVX-512
 *     shared   heads of 2, 4 or 8 elements that share registers, in place; additive scores, AVX-512
 *     whole    every head fills registers, in place
 *     columns  one head of at most 16 elements, in place; dot and v2 scores: pairs are in the lanes
 *     packed   anything else: a copy with heads fastest
 *
 * and three choices are made per row or per call where they pay: batches of short rows,
 * exponentials as products of factors (+factors), both ends of a pair in one pass of backward
 * (+groups). With GNN_PROFILE=1 the profile shows what ran: "aggregate[by_lane/shared+factors]".
 *
 * Head a reads key and value head a / (heads / kv_heads). Rows lie head by head: q has heads * d_k
 * elements (additive: heads), k has kv_heads * d_k (additive: heads), v has kv_heads * d_v, y has
 * heads * d_v.
 *
 * Forward runs over the parts one after another. In between the state holds each receiver's largest
 * score and the sum of exp(score - largest), and y the weighted sum that belongs to them; the last
 * part divides and leaves the log-sum-exp in `largest`. Nothing per pair is kept: backward
 * recomputes alpha from the log-sum-exp, once by receiver (d_q, edge gradients) and once by sender
 * over the transposed part (d_k, d_v). A receiver without senders, or with scores of minus infinity
 * only, has the sum 0, y = 0 and the log-sum-exp minus infinity. */
#ifndef GNN_KERNELS_ATTENTION_H
#define GNN_KERNELS_ATTENTION_H

#include <lib/kernels/neighbours/pairs.h>

typedef enum {
    GNN__SCORE_OTHER, /* generic only */
    GNN__SCORE_DOT,
    GNN__SCORE_ADDITIVE,
    GNN__SCORE_ADDITIVE_V2,
    GNN__SCORE_ADDITIVE_TANH /* by_strip only */
} gnn__score_kind_t;

/* A matrix as a pointer and a row stride in elements. */
typedef struct gnn__matrix {
    gnn_real_t *at;
    int64_t stride;
} gnn__matrix_t;

static inline gnn_real_t *gnn__matrix_row(const gnn__matrix_t *m, int64_t row)
{
    return m->at + row * m->stride;
}

/* Priors by distance: for each head a row of scalars by distance that are added to scores. In tiles
 * the pair of row r and column c reads element shift[r] + c; on a transposed part the elements are
 * in reverse, and a tile may read up to GNN__PRIOR_MARGIN elements outside of what its rows attend,
 * on either side. Row by row the element is src_position[j] - dst_position[i] + origin. */
enum { GNN__PRIOR_MARGIN = 64 };

typedef struct gnn__prior_strips {
    const gnn_real_t *at; /* heads x stride; NULL: distances add nothing */
    int64_t stride;       /* elements per head */
    const int64_t *shift;
    const int64_t *dst_position, *src_position;
    int64_t origin;
} gnn__prior_strips_t;

/* Keys by distance: the product of a receiver's query with the key of the distance, times `scale`,
 * is added to a pair's score. Distances are the indices of a->prior, whether it has scalars or not.
 * Row by row a key is part of a row of the model's parameters. In tiles it is the sum over all
 * tables, laid out by slot twice: as rows, and in blocks of GNN__KEY_BLOCK slots with the slots
 * in lanes. */
enum { GNN__KEY_BLOCK = 32, GNN__KEY_TABLES = 3 };

typedef struct gnn__key_table {
    const gnn_real_t *at;
    int64_t stride, cols;
    const int32_t *row;    /* row of each slot */
    const int64_t *column; /* first column of each head */
    int64_t sums;          /* offset of its gradient in the sums of a chunk of rows */
} gnn__key_table_t;

typedef struct gnn__keys {
    int64_t count; /* count of tables; 0: there are no keys */
    gnn__key_table_t table[GNN__KEY_TABLES];
    gnn__matrix_t q, d_q; /* the queries that keys meet; d_q.at NULL: its gradient is not wanted */
    bool apart;           /* q is not a->q */
    /* The rest is for by_tile. */
    /* Slots that pairs have are low .. high. All up to `near` share a key, and all from `far` on,
     * if they fill a block at least; else near is low - 1, far is high + 1. Only blocks from that
     * of `near` to that of `far` are laid out. Sums of gradients cover slots first .. last. */
    int64_t low, high, near, far, first, last;
    int64_t width;                   /* elements of a row */
    int64_t head_rows;               /* rows from one head to the next; 0: heads share them */
    const gnn_real_t *rows, *blocks; /* backward: times scale and log2 e */
    bool finite;
} gnn__keys_t;

/* Forward state (n_dst x heads): largest score and sum of exp(score - largest), carried from part
 * to part; `largest` then becomes the log-sum-exp for backward. by_tile and by_lane accept NULL for
 * a single part and, for `largest`, if nothing is recorded. */
typedef struct gnn__attention_state {
    gnn_real_t *largest, *sum;
} gnn__attention_state_t;

/* Backward: incoming gradients, and where gradients go (at NULL: not wanted). They are added to,
 * except that tiles overwrite those of q of the first `writes_q` receivers, and those of k, v if
 * `writes_k`, `writes_v`. */
typedef struct gnn__attention_grads {
    const gnn_real_t *lse, *delta; /* n_dst x heads: log-sum-exp and dY . Y */
    gnn__matrix_t y;               /* n_dst x heads * d_v: incoming */
    /* gradients of the inputs of the same names, with their shapes */
    gnn__matrix_t q, k, v, bias, weight, features;
    int64_t writes_q;        /* by_tile: receivers whose d_q is overwritten */
    bool writes_k, writes_v; /* by_tile: d_k, d_v are overwritten */
} gnn__attention_grads_t;

typedef struct gnn__attention {
    gnn__score_kind_t score;
    int64_t heads, kv_heads;   /* heads of queries, and of keys and values */
    int64_t d_k, d_v;          /* width of a head */
    gnn_real_t scale;          /* dot: factor of the product */
    gnn_precision_t level;     /* dot: precision of products inside tiles */
    bool amx;                  /* and AMX multiplies the tiles that fit it */
    gnn_real_t softcap;        /* products become softcap * tanh(product / softcap); 0: no cap */
    gnn_real_t slope;          /* additive: slope of the leaky ReLU */
    const gnn_real_t *a;       /* additive_v2: heads * d_k */
    gnn__matrix_t q, k, v, y;  /* rows by node; shapes above. y is the output */
    gnn__pairs_t pairs;        /* the part */
    gnn__prior_strips_t prior; /* by_tile, by_row: scalars by distance */
    gnn__keys_t keys;          /* by_tile, by_row: keys by distance, dot only */
    /* by_row: rows by distance that are added to a sender's value, with a column for each value
     * head; at NULL: none */
    gnn__key_table_t values;
    bool transposed; /* rows are senders, columns receivers */
    /* Edge inputs by edge id; at NULL: none. Ids from `biases` on have bias 0, from `weights` on
     * weight 1. bias_cols: 1 or heads. */
    gnn__matrix_t bias, weight;
    int64_t biases, bias_cols, weights;
    gnn__matrix_t features; /* edges x d_e; strategies differ in what they do with them (above) */
    int64_t edges, d_e;     /* rows and columns of `features` */
    const gnn_real_t *dst_scale, *src_scale; /* per node, times the edge weight; NULL: 1 */
    const gnn__dropout_t *dropout;           /* NULL: off */
    const int32_t *nodes; /* on edges: the key of each node's draws; NULL: the node itself */
    bool first, last;     /* first and last part of the graph */
    gnn__attention_state_t state; /* forward */
    gnn__attention_grads_t grad;  /* backward */
    /* by_tile, forward: packed tiles of senders per head; NULL: packed as they are met */
    gnn_real_t *packed;
    int64_t rows; /* by_tile, backward: most senders that share a tile of receivers */
} gnn__attention_t;

/* The precision that products inside of tiles run at in this context. */
gnn_precision_t gnn__attention_level(const gnn_context_t *context);

/* ---- by row (by_row.kernel.c) ---- */

/* Sums over all pairs; NULL: not wanted. */
typedef struct gnn__row_sums {
    gnn_real_t *a;      /* heads * d_k */
    gnn_real_t *prior;  /* heads * prior.stride */
    gnn_real_t *keys;   /* those of all key tables in sequence */
    gnn_real_t *values; /* of the table of values */
} gnn__row_sums_t;

typedef struct gnn__attention_rows {
    void (*forward)(const gnn__attention_t *a, int64_t row0, int64_t row1, gnn_real_t *scratch);
    /* n_dst x heads: dY . Y */
    void (*delta)(const gnn__attention_t *a, int64_t i0, int64_t i1, gnn_real_t *delta);
    /* d_q of rows row0 .. row1 - 1; adds to `sums`. */
    void (*receive)(const gnn__attention_t *a, int64_t row0, int64_t row1, gnn_real_t *scratch,
                    const gnn__row_sums_t *sums);
    void (*send)(const gnn__attention_t *a, int64_t row0, int64_t row1, gnn_real_t *scratch);
} gnn__attention_rows_t;
const gnn__attention_rows_t *gnn__attention_rows(void);

/* Scratch elements per thread, by row. */
int64_t gnn__attention_rows_scratch(const gnn__attention_t *a);

#endif
