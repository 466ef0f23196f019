/* What a sender's row has gathered becomes its gradients (additive scores). Included by kernels
 * only. */
#ifndef GNN_KERNELS_SENDER_H
#define GNN_KERNELS_SENDER_H

#include <lib/kernels/attention/by_lane/lane_block.h>

#define finish_sender GNN__KERNEL(lanes_finish_sender)
#define clear_sender GNN__KERNEL(lanes_clear_sender)
/* d_v and d_k of sender j from what its row has gathered; `sum`, a pattern of whole sums: alpha S,
 * times the slope where s <= 0. */
void finish_sender(const gnn__lanes_t *l, const lane_block_t *b, int64_t j, const gnn__vec_t *sum,
                   int width);
/* Gradients of a sender that no receiver hears, where they are written. */
void clear_sender(const gnn__lanes_t *l, int64_t j);

#endif
