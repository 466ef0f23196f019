/* Edge inputs of the by-lane kernels. Additive scores: features times a weight per head, and a bias
 * (edges_additive.kernel.c). Dot scores: features in keys and values; additive-v2: features in keys
 * (both in edges_product.kernel.c). Included by kernels only. */
#ifndef GNN_KERNELS_EDGE_INPUTS_H
#define GNN_KERNELS_EDGE_INPUTS_H

#include <lib/kernels/attention/by_lane/lane_block.h>
#include <lib/kernels/isa.h>

/* Elements of a row of projection weights or of sums (one per head, padded); distance in edges at
 * which rows of edge inputs are prefetched, which may lie anywhere. */
enum { TERM_ROW = 16, EDGE_AHEAD = 64 };

/* True if the edge with this id has a row in an input of `rows` rows. */
GNN__INLINE bool has_row(int64_t id, int64_t rows)
{
    return id >= 0 && id < rows;
}

GNN__INLINE int64_t last_slot(const gnn__pairs_t *p)
{
    return p->indptr ? p->indptr[p->n_rows] - 1 : -1;
}

/* Prefetches the row of edge `id`, if the input is there and has it. */
GNN__INLINE void prefetch_row(const gnn__matrix_t *m, int64_t rows, int64_t id)
{
    if (m->at && has_row(id, rows))
        __builtin_prefetch(gnn__matrix_row(m, id));
}

/* Prefetches logits (or features) of the pairs one block after those of elements x .. x + LANES -
 * 1, early enough for the latency to overlap with this block's arithmetic. */
GNN__INLINE void prefetch_pairs(const gnn__matrix_t *source, const lane_block_t *b, int x, int width)
{
    const int e = x / width, pairs = (LANES + width - 1) / width;
    for (int k = 0; k < pairs; k++)
        if (x % width == 0 && e + k < b->coming)
            __builtin_prefetch(gnn__matrix_row(source, b->next_edges[e + k]));
}

/* True if edge features, or edges at all, add to additive scores. */
static inline bool has_logits(const gnn__lanes_t *l)
{
    return l->edge_weights != NULL;
}

static inline bool has_edge_terms(const gnn__lanes_t *l)
{
    return has_logits(l) || l->a->bias.at;
}

/* Rows that are read per edge: its logits where these are computed beforehand, else its
 * features. */
static inline gnn__matrix_t edge_source(const gnn__lanes_t *l)
{
    return l->edge_logits.at ? l->edge_logits : l->a->features;
}

/* b->edge = what the edges in slots at .. add to the scores before the slope, and with edge biases
 * b->second = the bias, which is added after it. 0 for edges without a row in the inputs and after
 * the last pair. */
#define edge_terms GNN__KERNEL(lanes_edge_terms)
void edge_terms(const gnn__lanes_t *l, lane_block_t *b, int64_t at);

/* Gradients of edge inputs from a block of a sender's pairs that is weighed: `weight` is alpha
 * after dropout, `second` dY . v, `edge` the score before the slope, `score` alpha S_i, times the
 * slope where s <= 0 unless there is a bias. Overwrites all but `weight`. The gradients of logits
 * and biases are written; where blocks compute logits themselves, those of the weights (b->d_edges;
 * NULL: not wanted) and of features are added to instead. */
#define edge_grads GNN__KERNEL(lanes_edge_grads)
void edge_grads(const gnn__lanes_t *l, const lane_block_t *b, int64_t at);

/* Dot and additive-v2 scores: adds the biases of the edges in slots at .. to `score`; and adds to
 * the gradients of biases those of the scores, which are in `second`, times a->scale for dot. */
#define add_biases GNN__KERNEL(lanes_add_biases)
#define pair_bias_grads GNN__KERNEL(lanes_pair_bias_grads)
void add_biases(const gnn__lanes_t *l, const lane_block_t *b, int64_t at);
void pair_bias_grads(const gnn__lanes_t *l, const lane_block_t *b, int64_t at);

/* Eight elements, whatever a register holds. */
typedef gnn_real_t eight_t
    __attribute__((vector_size(8 * sizeof(gnn_real_t)), aligned(sizeof(gnn_real_t))));

/* The edges in slots at .. at + n - 1. */
typedef struct edges {
    const gnn__pairs_t *pairs;
    int64_t at;
    int n;
} edges_t;

/* sums (d_e x TERM_ROW) += features of the edges times `from` (edges x width). */
#define feature_sums GNN__KERNEL(lanes_feature_sums)
void feature_sums(const gnn__lanes_t *l, const edges_t *edges, const gnn_real_t *from,
                  gnn_real_t *sums);

/* Gradients of the edges' features += rows (d_e x stride, one element per head) times `from` (edges
 * x width). */
#define feature_grads GNN__KERNEL(lanes_feature_grads)
void feature_grads(const gnn__lanes_t *l, const edges_t *edges, const gnn_real_t *rows,
                   int64_t stride, const gnn_real_t *from);

#define block_logits GNN__KERNEL(lanes_block_logits)
/* b->features = the feature row of each pair; a row of zeros for pairs without features and for a
 * register's pairs after the last. */
#define edge_feature_rows GNN__KERNEL(lanes_edge_feature_rows)
void edge_feature_rows(const gnn__lanes_t *l, const lane_block_t *b);
/* Prefetches the features of the next block's pairs. */
#define prefetch_edge_features GNN__KERNEL(lanes_prefetch_edge_features)
void prefetch_edge_features(const gnn__lanes_t *l, const lane_block_t *b);

/* b->edge = logits of the edges in slots at .., computed from their features; 0 for edges without
 * features. */
void block_logits(const gnn__lanes_t *l, const lane_block_t *b, int64_t at);

/* ---- features in the keys of additive-v2 scores ---- */

/* Scores of a block from the row's own query (key, where rows are senders), the keys at the other
 * ends and the projected features. Scores after the last pair are minus infinity. `keep`: stores
 * the summed rows in b->rows. */
#define edge_key_scores GNN__KERNEL(lanes_edge_key_scores)
void edge_key_scores(const gnn__lanes_t *l, const lane_block_t *b, const gnn_real_t *own,
                     const gnn__matrix_t *keys, bool keep);

/* Backward of a block whose scores were made with `keep`, with g in `second`: y += g where the row
 * is above 0; p += the pairs' part of d_a. Where rows are receivers, also adds to the gradients of
 * features, to d_weights (d_e x row_numbers, without the factor a; may be NULL: not wanted) and,
 * where keys are values, to d_senders (may be NULL), dY being `dy`. Overwrites b->rows. */
#define edge_key_block GNN__KERNEL(lanes_edge_key_block)
void edge_key_block(const gnn__lanes_t *l, const lane_block_t *b, const gnn_real_t *dy,
                    gnn_real_t *d_weights, gnn_real_t *d_senders);

/* ---- features in the keys and values of dot scores ---- */

/* True if features enter keys or values. */
static inline bool has_edge_rows(const gnn__lanes_t *l)
{
    return l->key_rows || l->value_rows;
}

/* Adds to `score` what the features of the edges in slots at .. add to keys, and in backward to
 * `second` what they add to values. `node` is the row's. */
#define add_edge_rows GNN__KERNEL(lanes_add_edge_rows)
void add_edge_rows(const gnn__lanes_t *l, const lane_block_t *b, int64_t at, int64_t node,
                   bool backward);

/* y (`elements` elements) += sums (d_e x TERM_ROW, one element per head) times rows (d_e x
 * elements). */
#define spread_sums GNN__KERNEL(lanes_spread_sums)
void spread_sums(const gnn__lanes_t *l, const gnn_real_t *sums, const gnn_real_t *rows,
                 int64_t elements, gnn_real_t *y);

/* Adds to the gradients of edge features of a block of receiver i, weighed as
 * lane_backward.kernel.c leaves it. */
#define edge_row_grads GNN__KERNEL(lanes_edge_row_grads)
void edge_row_grads(const gnn__lanes_t *l, const lane_block_t *b, const edges_t *edges, int64_t i);

/* d (d_e x elements) += x times the row's sums, head by head. */
#define add_outer GNN__KERNEL(lanes_add_outer)
void add_outer(const gnn__lanes_t *l, const gnn_real_t *sums, const gnn_real_t *x, int64_t elements,
               gnn_real_t *d);

#endif
