/* One head of few numbers with dot or additive-v2 scores (lanes_few.kernel.c). Included by kernels only. */
#ifndef GNN_KERNELS_LANES_FEW_H
#define GNN_KERNELS_LANES_FEW_H

#include <lib/kernels/lanes_block.h>

#define few_scores GNN__KERNEL(lanes_few_scores)
#define few_gather GNN__KERNEL(lanes_few_gather)
#define few_above GNN__KERNEL(lanes_few_above)
#define few_both GNN__KERNEL(lanes_few_both)
#define few_fold GNN__KERNEL(lanes_few_fold)
#define few_unfold GNN__KERNEL(lanes_few_unfold)
#define few_prepare GNN__KERNEL(lanes_few_prepare)

GNN__INLINE bool few(const gnn__lanes_t *l)
{
    return l->layout == GNN__FEW;
}

/* Scores of own_key and the pairs' keys (receivers: queries); where there is one, own_value . values (receivers: dY) into `negative`. What is needed of the other ends
 * is in the block's columns then. */
void few_scores(const gnn__lanes_t *l, const block_t *b, const gnn_real_t *own_key,
                const gnn_real_t *own_value);
/* Lanes' sums: y (+)= weight x for the numbers x of keys or values, y += g where own + key > 0. */
void few_gather(const gnn__lanes_t *l, const block_t *b, const gnn_real_t *weight, bool keys,
                bool fresh, gnn_real_t *y);
void few_above(const gnn__lanes_t *l, const block_t *b, const gnn_real_t *own);
/* What a block's pairs give to both their ends (attention_pairs.kernel.c): lanes' sums in y, numbers in p. */
void few_both(const gnn__lanes_t *l, const block_t *b, const gnn_real_t *own, const gnn_real_t *dy,
              gnn_real_t *d_senders);
/* Lanes' sums become a row of n numbers, and the other way round. */
void few_fold(gnn_real_t *y, int64_t n);
void few_unfold(gnn_real_t *y, int64_t n);
/* A receiver's record from its rows of q and dY. */
void few_prepare(const gnn__lanes_t *l, int64_t i0, int64_t i1);

#endif
