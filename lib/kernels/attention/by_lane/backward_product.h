/* Backward of scores that are made of rows (attention_pairs.kernel.c), as gnn__attention_lanes_t
 * describes it. Included by kernels only. */
#ifndef GNN_KERNELS_LANES_PAIRS_H
#define GNN_KERNELS_LANES_PAIRS_H

#include <lib/kernels/attention/by_lane/by_lane.h>
#include <lib/kernels/isa.h>

#define receive_pairs GNN__KERNEL(lanes_receive_pairs)
#define collect_senders GNN__KERNEL(lanes_collect)
#define send_pairs GNN__KERNEL(lanes_send_pairs)
void receive_pairs(const gnn__lanes_t *l, int64_t row0, int64_t row1, gnn_real_t *scratch,
                   gnn_real_t *d_a, gnn_real_t *d_edges, gnn_real_t *d_senders);
void collect_senders(const gnn__lanes_t *l, int64_t j0, int64_t j1, gnn_real_t *scratch);
void send_pairs(const gnn__lanes_t *l, int64_t row0, int64_t row1, gnn_real_t *scratch,
                gnn_real_t *d_a);

#endif
