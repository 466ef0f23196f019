/* Forward of attention with heads in lanes, as gnn__attention_lanes_t describes it. Included by
 * kernels only. */
#ifndef GNN_KERNELS_LANE_FORWARD_H
#define GNN_KERNELS_LANE_FORWARD_H

#include <lib/kernels/attention/by_lane/by_lane.h>
#include <lib/kernels/isa.h>

#define lanes_forward GNN__KERNEL(lanes_forward)
void lanes_forward(const gnn__lanes_t *l, int64_t row0, int64_t row1, gnn_real_t *scratch);

#endif
