/* Short rows of additive attention. Included by kernels only. */
#ifndef GNN_KERNELS_LANES_SHORT_H
#define GNN_KERNELS_LANES_SHORT_H

#include <lib/kernels/attention/by_lane/lane_block.h>

#define forward_short GNN__KERNEL(lanes_forward_short)
#define send_short GNN__KERNEL(lanes_send_short)

/* Handle as many rows from `row` on as fit one block, at least two; 0: none was touched. Forward:
 * of the first part. */
int64_t forward_short(const gnn__lanes_t *l, lane_block_t *b, int64_t row);
int64_t send_short(const gnn__lanes_t *l, lane_block_t *b, int64_t row);

#endif
