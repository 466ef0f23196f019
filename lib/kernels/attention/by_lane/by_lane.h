/* Attention by lane: on edges, with the heads of a pair in the lanes of a register, so that sums
 * over pairs need no reduction across lanes until the receiver ends.
 *
 *     lane        0    1    2    3    4    5    6    7
 *     score       h0   h1   h2   h3   h4   h5   h6   h7      of one pair: `width` lanes, 1, 4 or 8
 *     values      c0.0 c0.1 c0.2 c0.3 c0.4 c0.5 c0.6 c0.7    packed: element c of head h is at
 *                 c1.0 c1.1 c1.2 ...                         c * width + h
 *
 * Layouts (gnn__layout_t). Packed rows of values are copies with heads fastest, so that the weights
 * of a pair meet a register of values as they are. Rows are read in place, head by head, where
 * every head fills whole registers; additive scores also read in place one head narrower than a
 * register (kernels with masked loads) and heads of 2, 4 or 8 elements that share registers
 * (AVX-512), where a permutation brings the weight of a head to its lanes.
 *
 * Passes of a call, each a function of gnn__attention_lanes_t:
 *
 *     forward                    backward
 *     pack         copies        prepare          per receiver: dY, S, records, additive d_q
 *     factors      exp per node  receive          per receiver: d_q, edge gradients (not additive)
 *     edge_logits  per edge      collect          sums what `receive` left for senders
 *     forward      per receiver  send             per sender: d_k, d_v
 *                                logits_backward  per edge: gradients of features and weights
 *
 * Additive scores s = q_i + k_j under a leaky ReLU need no product per edge in backward. With S_i =
 * dY_i . Y_i and, over the pairs with s <= 0 only, P_i = sum of alpha f v_j (f: dropout) and A_i =
 * sum of alpha, the gradients of a receiver's scores sum to 0, hence
 *
 *     d_q_i = (1 - slope) (S_i A_i - dY_i . P_i)                           without edges
 *     d_v_j = sum of alpha f dY_i; Q_j = the same over pairs with s <= 0   one gather over the
 *                                                                          transposed part
 *     d_k_j = v_j . (d_v_j - (1 - slope) Q_j) - sum of alpha S_i (1 or slope)
 *
 * Their weights need no exp per pair either where exponential factors are used
 * (exp_factors.kernel.c): e^leaky(s) is the larger of e^q_i e^k_j and e^(slope q_i) e^(slope k_j),
 * and the four exponentials are computed once per node. Factors that would overflow are NaN, and a
 * row that meets one is computed again from its scores.
 *
 * Dot and additive-v2 scores are products of rows: keys and queries are packed as values are, and
 * backward recomputes scores and dY . v, once by receiver and once by sender. With g = alpha (f
 * dY_i . v_j - S_i), and for additive-v2 s = a . leaky(q_i + k_j), elementwise
 *
 *     d_q_i = a D_i     D_i = slope (sum of g) + (1 - slope) (sum of g over pairs where
 *                       q_i + k_j > 0): one addition per element and pair
 *     d_k_j = a D_j     the same sums over the receivers of j
 *     d_a   = sum over i of q_i D_i + sum over j of k_j D_j, because leaky(z) = z leaky'(z):
 *             without edges, but from both passes
 *
 * Where additive-v2 keys are values and share one gradient, `receive` can serve senders too: it
 * adds alpha f dY_i + a g (1 or slope) of each pair to a matrix that only its group of receivers
 * writes.
 *
 * Rows of 8 heads x 8 keep the row's own side in four registers, and two pairs share each
 * reduction. One head of at most 16 elements has pairs in the lanes instead, so the elements of a
 * block's pairs are transposed into columns first (one_head.kernel.c). Short rows of additive
 * scores are processed several at a time (short_rows.kernel.c).
 *
 * Edge inputs. Additive scores: features times a weight per head (logits), and a bias. Logits are
 * computed per block where an edge has no more features than a pattern has heads, else in one sweep
 * over all edges in order of their ids. The formulas above stay valid; the gradients of what edges
 * add need a product dY_i . v_j per pair, replace the logits if these are stored, and another sweep
 * turns them into those of features and weights (edges_additive.kernel.c). Dot scores: features in
 * keys and values, never multiplied out per edge; additive-v2: features in keys, where every pair
 * has a key of its own, in registers in forward and in cache in backward (edges_product.kernel.c).
 * Both take edge biases.
 *
 * All take dropout, up to eight heads, slopes from 0 to 1 and no edge weights. Other calls run row
 * by row (by_row.kernel.c). */
#ifndef GNN_KERNELS_BY_LANE_H
#define GNN_KERNELS_BY_LANE_H

#include <lib/kernels/attention/attention.h>

/* Most heads; pairs of a block; pairs whose dropout is drawn together; most elements of the head in
 * layout GNN__COLUMNS; rows whose exponential factors are computed together. */
enum {
    GNN__LANES_HEADS = 8,
    GNN__LANES_PAIRS = 128,
    GNN__LANES_DRAW_PAIRS = 256,
    GNN__LANES_COLUMNS = 16,
    GNN__LANES_FACTOR_ROWS = 16
};

/* Storage of rows of values. Rows of keys and queries (dot, additive-v2) are packed, or in place
 * where values are. */
typedef enum gnn__layout {
    GNN__WHOLE,  /* in place: every head fills whole registers */
    GNN__PACKED, /* copies, heads fastest */
    GNN__NARROW, /* in place: one head narrower than a register */
    /* in place: heads of 2, 4 or 8 elements that share registers, as many as a pattern is wide */
    GNN__SHARED,
    /* in place: one head of at most GNN__LANES_COLUMNS elements, pairs in lanes; not additive */
    GNN__COLUMNS
} gnn__layout_t;

/* A call by lane: the attention call and what is packed or computed for it beforehand. */
typedef struct gnn__lanes {
    const gnn__attention_t *a;
    int width; /* of a pattern of heads: 1, 4 or 8 */
    gnn__layout_t layout;
    /* Elements of a row of values, whole registers; GNN__COLUMNS: of their per-lane sums, 16
     * each. */
    int64_t value_numbers;
    int64_t key_numbers; /* elements of a row of keys or queries; additive: width */
    /* Slope that is applied to scores when they are weighed: additive without edge biases; else 1,
     * the scores are final. */
    gnn_real_t slope;
    gnn__matrix_t q, k, v;     /* a->q, a->k, a->v in place, or their packed copies */
    const gnn_real_t *weights; /* additive-v2: a, laid out as a row of keys */
    /* Additive: d_e rows of 16 elements, the weight of each feature per head, then zeros; NULL if
     * edge features do not enter the score. */
    const gnn_real_t *edge_weights;
    /* Additive: edges (loops that a view adds included) x width, e . U of every edge; after `send`
     * with term_grads, its gradient. At NULL: blocks of pairs compute what they need. */
    gnn__matrix_t edge_logits;
    /* Dot, features in keys and values: nodes x (d_e * width), the projections W' q_i and W' dY_i,
     * so that e . edge_queries_i is added to q_i . k_j and e . edge_outputs_i to dY_i . v_j.
     * key_rows, value_rows: W itself, d_e rows of keys and of values; NULL if features do not enter
     * that term. */
    gnn__matrix_t edge_queries, edge_outputs;
    const gnn_real_t *key_rows, *value_rows;
    /* Additive-v2, features in keys: W, d_e rows of keys; NULL if features do not enter them.
     * row_numbers: elements of the key that a pair then has; 0: none, or it is in columns. */
    const gnn_real_t *edge_keys;
    int64_t row_numbers;
    /* Backward of dot scores, and of additive-v2 with edge features but not in columns: edges
     * (loops included) x 2 width, alpha after dropout and g, which `receive` leaves for `send`. At
     * NULL: `send` recomputes them. */
    gnn__matrix_t pair_weights;
    bool term_grads; /* additive: `send` writes the gradients of what edges add to scores */
    gnn_real_t *p_sums, *a_sums; /* P: n_dst x value_numbers; A: n_dst x width; NULL: not wanted */
    gnn__matrix_t dy;            /* n_dst rows of dY, laid out as v */
    bool writes_q, writes_k, writes_v; /* additive: these gradients are overwritten, not added to */
    /* not additive: d_k and d_v are the same rows, which receive both sums at once */
    bool same_gradient;
    /* Additive-v2, backward in one pass: groups x n_src x sender_numbers, the gradients that each
     * group of receivers gives to senders; NULL: senders have a pass of their own. */
    gnn_real_t *d_senders;
    int64_t groups, n_src, sender_numbers;
    /* n_dst rows for senders, `width` elements each: log-sum-exp, S, q (additive) */
    gnn__matrix_t records;
    /* Additive, forward: n_src x factors, e^k and e^(slope k) of eight heads, or of the one head of
     * GNN__NARROW followed by v. NULL: exponential factors are not used. */
    gnn_real_t *key_factors;
    int factors; /* elements of such a row: 4, 8 or 16 */
    /* Forward: replaces finished rows in place (bias, activation), `how` being its own data. NULL:
     * nothing follows. Single part only, and nothing is recorded for backward. */
    void (*finish)(const void *how, gnn_real_t *y, int64_t rows, int64_t stride);
    const void *how;
    int64_t at_once;     /* rows to finish together, or up to a batch of short rows more */
    int64_t *early_rows; /* additive, over ranks: += rows that ran; NULL: not wanted */
} gnn__lanes_t;

/* True if the same rows serve as keys and as values (additive-v2 with one product for both). */
static inline bool gnn__keys_are_values(const gnn__attention_t *a)
{
    return a->score != GNN__SCORE_ADDITIVE && a->k.at && a->k.at == a->v.at &&
           a->k.stride == a->v.stride && a->d_k == a->d_v;
}

typedef struct gnn__attention_lanes {
    /* Packs rows i0 .. i1 - 1 of `from` (heads of width d) with heads fastest, zeros as padding; d
     * = 1 for one element per head. */
    void (*pack)(const gnn__matrix_t *from, int64_t i0, int64_t i1, int64_t heads, int64_t d,
                 int width, const gnn__matrix_t *to, int64_t row);
    /* Computes l->key_factors of nodes j0 .. j1 - 1 from l->k. NULL: forward does not use them. */
    void (*factors)(const gnn__lanes_t *l, int64_t j0, int64_t j1, gnn_real_t *scratch);
    /* Computes l->edge_logits of edges e0 .. e1 - 1; needs no scratch. */
    void (*edge_logits)(const gnn__lanes_t *l, int64_t e0, int64_t e1, gnn_real_t *scratch);
    void (*forward)(const gnn__lanes_t *l, int64_t row0, int64_t row1, gnn_real_t *scratch);
    /* For receivers i0 .. i1 - 1, all parts at once: packs dY if it is packed, computes S and the
     * records, and with additive scores d_q. */
    void (*prepare)(const gnn__lanes_t *l, int64_t i0, int64_t i1, gnn_real_t *scratch);
    /* d_q of rows row0 .. row1 - 1; not with additive scores. d_a (heads * d_k; NULL: not wanted)
     * is overwritten by what these rows add to it, here and in `send`. d_edges (NULL: not wanted)
     * += the gradients of key_rows, then of value_rows; additive-v2: of edge_keys, without the
     * factor a. d_senders (NULL: senders have their own pass): n_src x sender_numbers, += the
     * gradient of keys that are values; d_a is complete then, and there is nothing to send. */
    void (*receive)(const gnn__lanes_t *l, int64_t row0, int64_t row1, gnn_real_t *scratch,
                    gnn_real_t *d_a, gnn_real_t *d_edges, gnn_real_t *d_senders);
    /* Adds the sums over groups of l->d_senders to rows j0 .. j1 - 1 of d_k. */
    void (*collect)(const gnn__lanes_t *l, int64_t j0, int64_t j1, gnn_real_t *scratch);
    /* d_k and d_v of senders, rows of the transposed part. d_edges (NULL: not wanted) += the
     * gradient of edge_weights, and the gradients of features too, where blocks compute logits
     * themselves. */
    void (*send)(const gnn__lanes_t *l, int64_t row0, int64_t row1, gnn_real_t *scratch,
                 gnn_real_t *d_a, gnn_real_t *d_edges);
    /* Additive, after `send` of every part: turns the gradients of logits of edges e0 .. e1 - 1
     * into those of features, and adds those of edge_weights to d_weights (d_e x 16; NULL: not
     * wanted). */
    void (*logits_backward)(const gnn__lanes_t *l, int64_t e0, int64_t e1, gnn_real_t *d_weights);
    /* lanes of a register if GNN__NARROW is supported, else 0 */
    int in_place;
    bool shares;    /* GNN__SHARED is supported */
    bool both_ends; /* `receive` can serve senders too for packed rows of 8 heads x 8 */
} gnn__attention_lanes_t;
/* NULL: this processor has no such kernels. */
const gnn__attention_lanes_t *gnn__attention_lanes(void);

/* Scratch elements per thread. */
int64_t gnn__attention_lanes_scratch(const gnn__lanes_t *l);

#endif
