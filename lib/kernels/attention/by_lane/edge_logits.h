/* Logits of edges in additive scores, once for every edge in the order of their numbers, and what
 * their gradients give to features and weights. Included by kernels only. */
#ifndef GNN_KERNELS_EDGE_LOGITS_H
#define GNN_KERNELS_EDGE_LOGITS_H

#include <lib/kernels/attention/by_lane/by_lane.h>
#include <lib/kernels/isa.h>

#define make_edge_logits GNN__KERNEL(lanes_make_edge_logits)
#define spend_edge_logits GNN__KERNEL(lanes_spend_edge_logits)
/* As gnn__attention_lanes_t describes them. */
void make_edge_logits(const gnn__lanes_t *l, int64_t e0, int64_t e1, gnn_real_t *scratch);
void spend_edge_logits(const gnn__lanes_t *l, int64_t e0, int64_t e1, gnn_real_t *d_weights);

#endif
