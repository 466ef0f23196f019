/* Logits of edges in additive scores, for the pairs of a block alone. Included by kernels only. */
#ifndef GNN_KERNELS_BLOCK_LOGITS_H
#define GNN_KERNELS_BLOCK_LOGITS_H

#include <lib/kernels/attention/by_lane/lane_block.h>
#include <lib/kernels/isa.h>

#define block_logits GNN__KERNEL(lanes_block_logits)
/* b->edge = logits of the edges at places at ..; 0 for edges that have no features. */
void block_logits(const gnn__lanes_t *l, const lane_block_t *b, int64_t at);

#endif
