/* Attention on edges with the heads of a pair side by side in the lanes of a register: nothing is
 * summed across lanes but once per receiver.
 *
 * Rows of values lie heads fastest, number c of head h at c * width + h, in copies made beforehand;
 * or head by head where they are, if every head fills whole registers. With additive scores kernels
 * that have masks also read in place one head of fewer numbers than a register has, and those with
 * permutations of two registers (AVX-512) heads of 2, 4 or 8 numbers that fill their registers
 * together: there the weights of a pair, one per head, are permuted to the lanes of their heads.
 * Scores of a pair are `width` numbers, 1, 4 or 8, of which a->heads are real.
 *
 * Additive scores s = q_i + k_j with a gnn__vec_leaky slope need no product per edge in backward.
 * With S_i = dY_i . Y_i, and over the pairs with s <= 0 only P_i = sum of alpha f v_j (f: dropout)
 * and A_i = sum of alpha, the gradients of all scores of a receiver sum to 0, hence
 *
 *     d_q_i = (1 - slope) (S_i A_i - dY_i . P_i)                          no edges at all
 *     d_v_j = sum of alpha f dY_i,  Q_j = the same over pairs with s <= 0   one gather over the
 *                                                                         transposed part
 *     d_k_j = v_j . (d_v_j - (1 - slope) Q_j) - sum of alpha S_i (1 or slope)
 *
 * Their weights need no exp per pair either, where there are factors: e^(gnn__vec_leaky s) is the
 * larger of e^q_i e^k_j and e^(slope q_i) e^(slope k_j), and the exponentials are made once for
 * every node, and one narrow_width head has a sender's values behind them. What would leave the
 * numbers' range is marked by NaN; a row that meets such a one is done again from its scores.
 *
 * Dot and additive-v2 scores are products of rows: keys and queries lie heads fastest too, and
 * backward computes scores and dY . v again, once by receiver and once by sender. With g = alpha (f
 * dY_i . v_j - S_i), and for additive-v2 scores s = a . gnn__vec_leaky(q_i + k_j), number by
 * number,
 *
 *     d_q_i = a D_i     D_i = slope (sum of g) + (1 - slope) (sum of g over pairs where
 *                       q_i + k_j > 0): one addition per number and pair
 *     d_k_j = a D_j     the same sums over the receivers of j
 *     d_a   = sum over i of q_i D_i + sum over j of k_j D_j, because gnn__vec_leaky(z) =
 *             z gnn__vec_leaky'(z): no edges at all, but both passes
 *
 * Where additive-v2 keys are values and both gradients the same rows, `receive` can do the senders'
 * part too: what a pair gives them, alpha f dY_i + a g (1 or slope), is added to a matrix that only
 * this group of receivers writes.
 *
 * Rows of four registers, 8 heads of 8, keep what is their own in them; two pairs share the sums
 * across lanes. One head of at most 16 numbers has pairs in the lanes instead: what a block needs
 * of its pairs' other ends is written into columns first (lanes_few.kernel.c).
 *
 * Edges may add to additive scores: features times a weight for each head, and a bias
 * (edge_terms.kernel.c). Where an edge has no more features than a pattern has heads, blocks make
 * these logits of the features; else a sweep over the features makes them once for all edges, in
 * the order of their numbers (edge_logits.kernel.c). The formulas above hold as they are, and the
 * gradients of what is added ask for a product dY_i . v_j per pair, where they are wanted: they
 * take the place of the logits, if there are rows of those, and another sweep makes of them those
 * of features and weights; or the block makes them at once.
 *
 * Features may be in the keys and values of dot scores too, never multiplied out per edge
 * (edge_rows.kernel.c), and in the keys of additive-v2 scores, where every pair has a row of its
 * own, which stays in registers forward and in a cache backward (edge_keys.kernel.c). Both take
 * edge biases.
 *
 * All take dropout and up to eight heads and slopes between 0 and 1, but no edge weights. What
 * lanes do not take goes row by row (by_row.kernel.c). */
#ifndef GNN_KERNELS_ATTENTION_LANES_H
#define GNN_KERNELS_ATTENTION_LANES_H

#include <lib/kernels/attention/attention.h>

/* Most heads; pairs of a block, and pairs whose dropout is drawn at once; most numbers of a head
 * that are in_columns; rows whose own factors are made at once. */
enum {
    GNN__LANES_HEADS = 8,
    GNN__LANES_PAIRS = 128,
    GNN__LANES_DRAWN = 256,
    GNN__LANES_COLUMNS = 16,
    GNN__LANES_OWN = 16
};

/* How rows of values lie; of keys and queries that are rows: as packed ones, or in place. */
typedef enum gnn__layout {
    GNN__WHOLE,  /* in place: every head fills whole registers */
    GNN__PACKED, /* copies, heads fastest */
    GNN__NARROW, /* in place: one head of fewer numbers than a register has */
    /* in place: heads of 2, 4 or 8 numbers, several to a register; as many as a pattern is wide */
    GNN__SHARED,
    /* in place: one head of in_columns numbers; pairs stand in lanes. Not with additive scores */
    GNN__COLUMNS
} gnn__layout_t;

typedef struct gnn__lanes {
    const gnn__attention_t *a;
    int width; /* of a pattern of heads */
    gnn__layout_t layout;
    /* in a row of values, whole registers; GNN__COLUMNS: in their sums, 16 for each */
    int64_t value_numbers;
    int64_t key_numbers; /* in a row of keys or queries; additive: width */
    /* of scores when they are weighed: additive, where edges add nothing; 1: they are final */
    gnn_real_t slope;
    gnn__matrix_t q, k, v;
    const gnn_real_t *weights; /* additive-v2: a, as a row of keys */
    /* additive: d_e rows of 16 numbers, a->key_weights with 0 behind the heads; NULL: features have
     * no say */
    const gnn_real_t *edge_weights;
    /* additive: a row of `width` numbers for each edge, the loops that a view adds included: what
     * its features add to the score; after `send` with term_grads, the gradient of that. At NULL:
     * blocks of pairs make what they need of the features */
    gnn__matrix_t edge_logits;
    /* Dot: features in keys and values. e . edge_queries_i is added to q_i . k_j, e .
     * edge_outputs_i to dY_i . v_j: rows of d_e x `width` numbers, the projections of q_i and dY_i.
     * key_rows, value_rows: their weights, d_e rows of keys and of values. At NULL: they have no
     * say. */
    gnn__matrix_t edge_queries, edge_outputs;
    const gnn_real_t *key_rows, *value_rows;
    /* Additive-v2: weights of features in keys, d_e rows of keys; NULL: features have no say.
     * Numbers of a key that a pair has for itself; 0: none, or columns hold them. */
    const gnn_real_t *edge_keys;
    int64_t row_numbers;
    /* Dot and, but in columns, additive-v2 with edge features, backward: two rows of `width`
     * numbers for each edge, loops included, alpha behind dropout and g, which `receive` leaves for
     * `send`. At NULL: `send` makes them itself. */
    gnn__matrix_t pair_weights;
    bool term_grads; /* additive: `send` leaves the gradients of what edges add to scores */
    gnn_real_t *p_sums, *a_sums; /* P: n_dst x value_numbers; A: n_dst x width; NULL: not wanted */
    gnn__matrix_t dy;            /* as v */
    bool writes_q, writes_k, writes_v; /* additive: these gradients are written, not added to */
    bool same_gradient; /* not additive: d_k_rows are d_v_rows, and get both sums at once */
    /* Additive-v2 scores, backward in one pass: groups x n_src x sender_numbers, what each group of
     * receivers gives to senders; NULL: senders have a pass of their own. */
    gnn_real_t *d_senders;
    int64_t groups, n_src, sender_numbers;
    gnn__matrix_t records; /* of receivers, `width` numbers each: log-sum-exp, S, q (additive) */
    /* Additive scores, forward: n_src x factors, e^k and e^(slope k), each of eight heads, or of
     * one that is GNN__NARROW, with v behind them. NULL: none are asked for. */
    gnn_real_t *key_factors;
    int factors; /* 4, 8 or 16 */
    /* Forward: makes of rows what is wanted in their place, `how` being its own. NULL: they are.
     * One part only, and nothing recorded. */
    void (*finish)(const void *how, gnn_real_t *y, int64_t rows, int64_t stride);
    const void *how;
    int64_t at_once; /* so many rows, or a handful more */
} gnn__lanes_t;

/* The same rows serve as keys and as values (additive-v2 with one product for both). */
static inline bool gnn__keys_are_values(const gnn__attention_t *a)
{
    return a->score != GNN__SCORE_ADDITIVE && a->k.at && a->k.at == a->v.at &&
           a->k.stride == a->v.stride && a->d_k == a->d_v;
}

typedef struct gnn__attention_lanes {
    /* Rows i0 .. i1 - 1 of `from` (heads of width d) heads fastest, what is padding 0; d = 1 for
     * numbers per head. */
    void (*pack)(const gnn__matrix_t *from, int64_t i0, int64_t i1, int64_t heads, int64_t d,
                 int width, const gnn__matrix_t *to, int64_t row);
    /* l->key_factors of nodes j0 .. j1 - 1 from l->k. NULL: forward wants none. */
    void (*factors)(const gnn__lanes_t *l, int64_t j0, int64_t j1, gnn_real_t *scratch);
    /* l->edge_logits of edges e0 .. e1 - 1; it needs no scratch. */
    void (*edge_logits)(const gnn__lanes_t *l, int64_t e0, int64_t e1, gnn_real_t *scratch);
    void (*forward)(const gnn__lanes_t *l, int64_t row0, int64_t row1, gnn_real_t *scratch);
    /* Of receivers i0 .. i1 - 1, all parts at once: a copy of dY where there is one, S, their
     * records, and with additive scores d_q. */
    void (*prepare)(const gnn__lanes_t *l, int64_t i0, int64_t i1, gnn_real_t *scratch);
    /* d_q; not with additive scores. d_a (heads * d_k), if not NULL: what these rows add to it,
     * here and in `send`. d_edges, if not NULL: gains what these rows give to the gradients of
     * key_rows, then of value_rows; additive-v2: of edge_keys, less the factor a.
     * d_senders, if not NULL: n_src x sender_numbers that gain what these receivers give to the
     * gradient of keys that are values; d_a is whole then, and there is nothing to send. */
    void (*receive)(const gnn__lanes_t *l, int64_t row0, int64_t row1, gnn_real_t *scratch,
                    gnn_real_t *d_a, gnn_real_t *d_edges, gnn_real_t *d_senders);
    /* d_k_rows j0 .. j1 - 1 gain what l->d_senders hold. */
    void (*collect)(const gnn__lanes_t *l, int64_t j0, int64_t j1, gnn_real_t *scratch);
    /* d_edges, if not NULL: gains what these rows give to the gradient of edge_weights; where edges
     * have no rows of logits, and features gain theirs as well. */
    void (*send)(const gnn__lanes_t *l, int64_t row0, int64_t row1, gnn_real_t *scratch,
                 gnn_real_t *d_a, gnn_real_t *d_edges);
    /* Additive scores, after `send` of every part: from the gradients of logits of edges e0 .. e1 -
     * 1 those of features, and d_weights (d_e rows of 16 numbers, or NULL) gains what they give to
     * the gradient of edge_weights. */
    void (*spend_logits)(const gnn__lanes_t *l, int64_t e0, int64_t e1, gnn_real_t *d_weights);
    /* a register's numbers, where it takes GNN__NARROW; 0: it does not */
    int in_place;
    bool shares;    /* it takes GNN__SHARED */
    bool both_ends; /* `receive` can do the senders' part of packed heads, eight of eight numbers */
} gnn__attention_lanes_t;
/* NULL: this processor has none. */
const gnn__attention_lanes_t *gnn__attention_lanes(void);

/* Numbers of scratch per thread. */
int64_t gnn__attention_lanes_scratch(const gnn__lanes_t *l);

#endif
