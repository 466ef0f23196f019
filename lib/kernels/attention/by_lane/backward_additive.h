/* Backward of additive scores, and what every backward pass begins with; as gnn__attention_lanes_t
 * describes them. Included by kernels only. */
#ifndef GNN_KERNELS_BACKWARD_ADDITIVE_H
#define GNN_KERNELS_BACKWARD_ADDITIVE_H

#include <lib/kernels/attention/by_lane/by_lane.h>
#include <lib/kernels/isa.h>

#define prepare_receivers GNN__KERNEL(lanes_prepare_receivers)
#define send_additive GNN__KERNEL(lanes_send_additive)
/* Of any scores. */
void prepare_receivers(const gnn__lanes_t *l, int64_t i0, int64_t i1, gnn_real_t *scratch);
void send_additive(const gnn__lanes_t *l, int64_t row0, int64_t row1, gnn_real_t *scratch,
                   gnn_real_t *d_edges);

#endif
