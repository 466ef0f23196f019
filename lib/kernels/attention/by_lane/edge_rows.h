/* Edge features in the keys and values of dot scores. Included by kernels only. */
#ifndef GNN_KERNELS_EDGE_ROWS_H
#define GNN_KERNELS_EDGE_ROWS_H

#include <lib/kernels/attention/by_lane/edge_terms.h>

/* Do features have a say in keys or values? */
static inline bool has_edge_rows(const gnn__lanes_t *l)
{
    return l->key_rows || l->value_rows;
}

/* `score` of the edges at places at .. gains what features do to keys, and `second` in backward
 * what they do to values. `node` is the row's. */
#define add_edge_rows GNN__KERNEL(lanes_add_edge_rows)
void add_edge_rows(const gnn__lanes_t *l, const lane_block_t *b, int64_t at, int64_t node,
                   bool backward);

/* y (`numbers` long) += sums (d_e rows of TERM_ROW numbers, one for each head) times d_e rows. */
#define spread_sums GNN__KERNEL(lanes_spread_sums)
void spread_sums(const gnn__lanes_t *l, const gnn_real_t *sums, const gnn_real_t *rows,
                 int64_t numbers, gnn_real_t *y);

/* A block of receiver i, weighed as backward_product leaves it: gradients of the features of its
 * edges. */
#define edge_row_grads GNN__KERNEL(lanes_edge_row_grads)
void edge_row_grads(const gnn__lanes_t *l, const lane_block_t *b, const edges_t *edges, int64_t i);

/* d (d_e rows, of `numbers`) += the row's numbers x times its sums, head by head. */
#define add_outer GNN__KERNEL(lanes_add_outer)
void add_outer(const gnn__lanes_t *l, const gnn_real_t *sums, const gnn_real_t *x, int64_t numbers,
               gnn_real_t *d);

#endif
