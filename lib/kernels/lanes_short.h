/* Short rows of additive attention (attention_short.kernel.c), and what they share with the others. Included by kernels only. */
#ifndef GNN_KERNELS_LANES_SHORT_H
#define GNN_KERNELS_LANES_SHORT_H

#include <lib/kernels/lanes_block.h>

#define forward_short GNN__KERNEL(lanes_forward_short)
#define send_short GNN__KERNEL(lanes_send_short)
#define finish_sender GNN__KERNEL(lanes_finish_sender)
#define clear_sender GNN__KERNEL(lanes_clear_sender)

/* Handle as many rows from `row` on as fit one block, at least two; 0: none was touched. Forward: of the first part. */
int64_t forward_short(const gnn__lanes_t *l, block_t *b, int64_t row);
int64_t send_short(const gnn__lanes_t *l, block_t *b, int64_t row);

/* d_v and d_k of sender j from what its row has gathered; `sum`, a pattern of whole sums: alpha S, times the slope where s <= 0. */
void finish_sender(const gnn__lanes_t *l, const block_t *b, int64_t j, const gnn__vec_t *sum,
                   int width);
/* Gradients of a sender that nobody hears, where they are written. */
void clear_sender(const gnn__lanes_t *l, int64_t j);

#endif
