/* What edges add to additive scores: their features times a weight per head, and a bias. Included
 * by kernels only. */
#ifndef GNN_KERNELS_EDGE_TERMS_H
#define GNN_KERNELS_EDGE_TERMS_H

#include <lib/kernels/attention/by_lane/lane_row.h>

/* Numbers of a row of weights or sums; how far ahead rows of edges are prefetched, whose numbers
 * may be anywhere. */
enum { TERM_ROW = 16, EDGE_AHEAD = 64 };

/* Does the edge of this number have a row in inputs of `rows` rows? */
GNN__INLINE bool has_row(int64_t number, int64_t rows)
{
    return number >= 0 && number < rows;
}

GNN__INLINE int64_t last_place(const gnn__pairs_t *p)
{
    return p->indptr ? p->indptr[p->n_rows] - 1 : -1;
}

/* Rows that edges have in an input; `at` NULL: they have none. */
GNN__INLINE void prefetch_row(const gnn__matrix_t *m, int64_t rows, int64_t number)
{
    if (m->at && has_row(number, rows))
        __builtin_prefetch(gnn__matrix_row(m, number));
}

/* Logits or features of the pairs that stand a block behind those of numbers x .. x + LANES - 1:
 * what is prefetched in between comes while there is something else to do. */
GNN__INLINE void prefetch_pairs(const gnn__matrix_t *source, const lane_block_t *b, int x, int width)
{
    const int e = x / width, pairs = (LANES + width - 1) / width;
    for (int k = 0; k < pairs; k++)
        if (x % width == 0 && e + k < b->coming)
            __builtin_prefetch(gnn__matrix_row(source, b->numbers[e + k]));
}

/* Do features add anything, does an edge? */
static inline bool has_logits(const gnn__lanes_t *l)
{
    return l->edge_weights != NULL;
}

static inline bool has_edge_terms(const gnn__lanes_t *l)
{
    return has_logits(l) || l->a->bias.at;
}

/* What is read of an edge: its logits where they are made beforehand, else its features. */
static inline gnn__matrix_t edge_source(const gnn__lanes_t *l)
{
    return l->edge_logits.at ? l->edge_logits : l->a->features;
}

/* b->edge = what the edges at places at .. add to the scores of the block before the slope, and
 * where there are biases, b->second = the bias behind it; 0 for edges that have no row in the
 * inputs, and behind the last pair. */
#define edge_terms GNN__KERNEL(lanes_edge_terms)
void edge_terms(const gnn__lanes_t *l, lane_block_t *b, int64_t at);

/* A block of pairs of senders, weighed: `weight` is alpha behind dropout, `second` dY . v, `edge`
 * the score before the slope, `score` alpha S_i, where there is no bias times the slope where s <=
 * 0. All but `weight` are lost. The gradients of logits and biases are written; where logits are
 * made pair by pair, those of weights (b->d_edges, or NULL) and features gain theirs instead. */
#define edge_grads GNN__KERNEL(lanes_edge_grads)
void edge_grads(const gnn__lanes_t *l, const lane_block_t *b, int64_t at);

/* Dot and additive-v2 scores: `score` of the edges at places at .. gains their biases, whose
 * gradients are those of the scores; the latter times a->scale (dot) are in `second`. */
#define add_biases GNN__KERNEL(lanes_add_biases)
#define pair_bias_grads GNN__KERNEL(lanes_pair_bias_grads)
void add_biases(const gnn__lanes_t *l, const lane_block_t *b, int64_t at);
void pair_bias_grads(const gnn__lanes_t *l, const lane_block_t *b, int64_t at);

/* Eight numbers, whatever a register holds. */
typedef gnn_real_t eight_t
    __attribute__((vector_size(8 * sizeof(gnn_real_t)), aligned(sizeof(gnn_real_t))));

/* The edges at places at .. at + n - 1. */
typedef struct edges {
    const gnn__pairs_t *pairs;
    int64_t at;
    int n;
} edges_t;

/* sums (d_e rows of TERM_ROW numbers) += features of the edges times `from`, which has `width`
 * numbers for each. */
#define feature_sums GNN__KERNEL(lanes_feature_sums)
void feature_sums(const gnn__lanes_t *l, const edges_t *edges, const gnn_real_t *from,
                  gnn_real_t *sums);

/* Gradients of the features of the edges += rows (d_e of `stride` numbers, one for each head) times
 * what `from` has for them. */
#define feature_grads GNN__KERNEL(lanes_feature_grads)
void feature_grads(const gnn__lanes_t *l, const edges_t *edges, const gnn_real_t *rows,
                   int64_t stride, const gnn_real_t *from);

#endif
