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

/* Does an edge add anything? */
static inline bool has_edge_terms(const gnn__lanes_t *l)
{
    return l->edge_weights || l->a->bias.at;
}

/* b->edge = what features of the edges at places at .. add to the scores of the block before the
 * slope, b->second = the bias behind it; 0 for edges that have no row in the inputs, and behind the
 * last pair. */
#define edge_terms GNN__KERNEL(lanes_edge_terms)
void edge_terms(const gnn__lanes_t *l, const lane_block_t *b, int64_t at);

/* A block of a sender's row, weighed: `weight` is alpha behind dropout, `score` alpha S_i, `edge`
 * the score before the slope, `own` the sender's row of values; all but `weight` are lost.
 * Gradients of the terms go to features and bias, and are added to d_weights (d_e rows of 16
 * numbers), if not NULL. */
#define edge_grads GNN__KERNEL(lanes_edge_grads)
void edge_grads(const gnn__lanes_t *l, const lane_block_t *b, int64_t at, const gnn_real_t *own,
                gnn_real_t *d_weights);

/* sums (d_e rows of TERM_ROW numbers) += features of the edges at places at .. times what `from`
 * has for the pairs. */
#define feature_sums GNN__KERNEL(lanes_feature_sums)
void feature_sums(const gnn__lanes_t *l, const lane_block_t *b, int64_t at, const gnn_real_t *from,
                  gnn_real_t *sums);

#endif
