/* One head of in_columns numbers with dot or additive-v2 scores (lanes_few.kernel.c). Included by
 * kernels only. */
#ifndef GNN_KERNELS_LANES_FEW_H
#define GNN_KERNELS_LANES_FEW_H

#include <lib/kernels/attention/by_lane/lane_block.h>

#define column_scores GNN__KERNEL(lanes_column_scores)
#define column_gather GNN__KERNEL(lanes_column_gather)
#define column_above GNN__KERNEL(lanes_column_above)
#define column_both GNN__KERNEL(lanes_column_both)
#define column_reduce GNN__KERNEL(lanes_column_reduce)
#define column_spread GNN__KERNEL(lanes_column_spread)
#define column_prepare GNN__KERNEL(lanes_column_prepare)

GNN__INLINE bool in_columns(const gnn__lanes_t *l)
{
    return l->layout == GNN__COLUMNS;
}

/* Scores of own_key and the pairs' keys (receivers: queries); where there is one, own_value .
 * values (receivers: dY) into `second`. What is needed of the other ends is in the block's columns
 * then. */
void column_scores(const gnn__lanes_t *l, const lane_block_t *b, const gnn_real_t *own_key,
                   const gnn_real_t *own_value);
/* The columns alone. */
#define column_load GNN__KERNEL(lanes_column_load)
void column_load(const gnn__lanes_t *l, const lane_block_t *b);
/* b->edge = features of the block's pairs times `one`, d_e numbers of the row's own; where there
 * are others, b->weight = features times those. */
#define column_features GNN__KERNEL(lanes_column_features)
void column_features(const gnn__lanes_t *l, const lane_block_t *b, const gnn_real_t *one,
                     const gnn_real_t *other);
/* Lanes' sums: y (+)= weight x for the numbers x of keys or values, y += g where own + key > 0. */
void column_gather(const gnn__lanes_t *l, const lane_block_t *b, const gnn_real_t *weight,
                   bool keys, bool fresh, gnn_real_t *y);
void column_above(const gnn__lanes_t *l, const lane_block_t *b, const gnn_real_t *own);
/* What a block's pairs give to both their ends (attention_pairs.kernel.c): lanes' sums in y,
 * numbers in p. */
void column_both(const gnn__lanes_t *l, const lane_block_t *b, const gnn_real_t *own,
                 const gnn_real_t *dy, gnn_real_t *d_senders);
/* Additive-v2 with edge features, rows are receivers: gradients of features gain what the block's
 * pairs give them; d_weights (or NULL) what they do to those of weights, less the factor a, in 16
 * lanes' sums for each number; and where `keys_too`, p what d_a does by way of the keys. */
#define column_edges GNN__KERNEL(lanes_column_edges)
void column_edges(const gnn__lanes_t *l, const lane_block_t *b, const gnn_real_t *own,
                  gnn_real_t *d_weights, bool keys_too);
/* Lanes' sums become a row of n numbers, and the other way round. */
void column_reduce(gnn_real_t *y, int64_t n);
void column_spread(gnn_real_t *y, int64_t n);
/* A receiver's record from its rows of q and dY. */
void column_prepare(const gnn__lanes_t *l, int64_t i0, int64_t i1);

#endif
