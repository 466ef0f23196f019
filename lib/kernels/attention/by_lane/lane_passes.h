/* Passes of the by-lane kernels over the rows of a call, and the parts of such passes that several
 * of them use. Included by kernels only. */
#ifndef GNN_KERNELS_LANE_PASSES_H
#define GNN_KERNELS_LANE_PASSES_H

#include <lib/kernels/attention/by_lane/lane_block.h>
#include <lib/kernels/attention/by_lane/by_lane.h>
#include <lib/kernels/isa.h>

/* Running softmax of one receiver, as patterns: largest score, sum of exp(score - largest), and
 * (additive) the sum over pairs with s <= 0, A. */
typedef struct lane_state {
    gnn__vec_t largest[PATTERN], sum[PATTERN], a_sum[PATTERN];
} lane_state_t;

/* Adds the weights x .. of a block to the running sums, applies dropout and stores them in
 * `weight`; with `records` also those of pairs with s <= 0 in `second`, 0 for the others. */
GNN__INLINE void accumulate_weights(const lane_block_t *b, bool records, int x, gnn__vec_t w,
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
/* Computes l->key_factors of senders j0 .. j1 - 1. */
#define make_factors GNN__KERNEL(lanes_make_factors)
void make_factors(const gnn__lanes_t *l, int64_t j0, int64_t j1, gnn_real_t *scratch);
/* Gathers a whole row of a first part by exponential factors. False, and nothing is gathered: the
 * row has no pairs, or one of its scores is outside the factors' range. */
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

/* ---- batches of short rows, additive scores (short_rows.kernel.c) ---- */

#define forward_short GNN__KERNEL(lanes_forward_short)
#define send_short GNN__KERNEL(lanes_send_short)

/* Process as many rows from `row` on as fit one block, unless they are not due, and return their
 * count, at least two; 0: nothing was done. Forward: of a first part. */
int64_t forward_short(const gnn__lanes_t *l, lane_block_t *b, int64_t row);
int64_t send_short(const gnn__lanes_t *l, lane_block_t *b, int64_t row);

/* Several threads call it. */
static inline void count_rows(const gnn__lanes_t *l, int64_t rows)
{
    if (l->early_rows)
        __atomic_fetch_add(l->early_rows, rows, __ATOMIC_RELAXED);
}

/* ---- logits of all edges in one sweep (edges_additive.kernel.c) ---- */

#define make_edge_logits GNN__KERNEL(lanes_make_edge_logits)
#define edge_logits_backward GNN__KERNEL(lanes_edge_logits_backward)
/* `edge_logits` and `logits_backward` of gnn__attention_lanes_t. */
void make_edge_logits(const gnn__lanes_t *l, int64_t e0, int64_t e1, gnn_real_t *scratch);
void edge_logits_backward(const gnn__lanes_t *l, int64_t e0, int64_t e1, gnn_real_t *d_weights);

/* ---- backward (lane_backward.kernel.c); gnn__attention_lanes_t describes these functions ---- */

#define prepare_receivers GNN__KERNEL(lanes_prepare_receivers)
#define send_additive GNN__KERNEL(lanes_send_additive)
/* `prepare`, for all scores; `send` for additive scores. */
void prepare_receivers(const gnn__lanes_t *l, int64_t i0, int64_t i1, gnn_real_t *scratch);
void send_additive(const gnn__lanes_t *l, int64_t row0, int64_t row1, gnn_real_t *scratch,
                   gnn_real_t *d_edges);

#define receive_pairs GNN__KERNEL(lanes_receive_pairs)
#define collect_senders GNN__KERNEL(lanes_collect)
#define send_pairs GNN__KERNEL(lanes_send_pairs)
void receive_pairs(const gnn__lanes_t *l, int64_t row0, int64_t row1, gnn_real_t *scratch,
                   gnn_real_t *d_a, gnn_real_t *d_edges, gnn_real_t *d_senders);
void collect_senders(const gnn__lanes_t *l, int64_t j0, int64_t j1, gnn_real_t *scratch);
void send_pairs(const gnn__lanes_t *l, int64_t row0, int64_t row1, gnn_real_t *scratch,
                gnn_real_t *d_a);

#endif
