/* Additive attention by factors (lanes_factors.kernel.c), and what it shares with the way by
 * scores. Included by kernels only. */
#ifndef GNN_KERNELS_LANES_FACTORS_H
#define GNN_KERNELS_LANES_FACTORS_H

#include <lib/kernels/attention/by_lane/lane_block.h>

/* What a receiver has gathered so far. */
typedef struct state {
    gnn__vec_t largest[PATTERN], sum[PATTERN], a_sum[PATTERN];
} lane_state_t;

/* Weights x .. of a block: they are added up and dropped; those of pairs with s <= 0 stand once
 * more, the others 0 there. */
GNN__INLINE void take_weights(const lane_block_t *b, bool records, int x, gnn__vec_t w,
                              gnn__vec_bits_t negative, gnn__vec_t *sum, gnn__vec_t *a)
{
    *sum += w;
    if (records)
        *a += gnn__vec_where(negative, w);
    w = drop(b, x, w);
    gnn__vec_store(b->weight + x, w);
    if (records)
        gnn__vec_store(b->second + x, gnn__vec_where(negative, w));
}

#if !GNN_DOUBLE && defined(__AVX2__)
/* l->key_factors of senders j0 .. j1 - 1. */
#define make_factors GNN__KERNEL(lanes_make_factors)
void make_factors(const gnn__lanes_t *l, int64_t j0, int64_t j1, gnn_real_t *scratch);
/* Gathers a whole row of a first part; false: it has no pairs, or some of its numbers are out of
 * factors' range. */
#define gather_by_factors GNN__KERNEL(lanes_gather_by_factors)
bool gather_by_factors(const gnn__lanes_t *l, lane_block_t *b, int64_t row, lane_state_t *s);
#else
#define make_factors NULL

GNN__INLINE bool gather_by_factors(const gnn__lanes_t *l, lane_block_t *b, int64_t row,
                                   lane_state_t *s)
{
    (void)l, (void)b, (void)row, (void)s;
    return false;
}
#endif

#endif
