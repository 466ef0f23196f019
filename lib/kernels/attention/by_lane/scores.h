/* Scores of the pairs of a block. Included by kernels only. */
#ifndef GNN_KERNELS_SCORES_H
#define GNN_KERNELS_SCORES_H

#include <lib/kernels/attention/by_lane/lane_block.h>

/* score = q + k of additive scores, q being the pattern of the row's own numbers, and what the
 * edges at places at .. add; lanes behind the last pair become minus infinity. Where edges have
 * biases scores are final, and `edge` is what they were before the slope. */
#define additive_scores GNN__KERNEL(lanes_additive_scores)
void additive_scores(const gnn__lanes_t *l, lane_block_t *b, const gnn__vec_t *q, int64_t at);

/* Scores of a block's pairs from rows of keys and queries, behind the last pair minus infinity;
 * where there are values, dY . v into `second` too. */
#define pair_scores GNN__KERNEL(lanes_pair_scores)
void pair_scores(const gnn__lanes_t *l, const lane_block_t *b, const gnn_real_t *own_key,
                 const gnn__matrix_t *keys, const gnn_real_t *own_value, const gnn__matrix_t *values);

/* out = own . x of each head, for every pair of a block; rows x lie as values do. */
#define value_products GNN__KERNEL(lanes_value_products)
void value_products(const gnn__lanes_t *l, const lane_block_t *b, const gnn_real_t *own,
                    const gnn__matrix_t *values, gnn_real_t *out);

#endif
