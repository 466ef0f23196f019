/* Weighted sums of rows over the pairs of a block. Included by kernels only. */
#ifndef GNN_KERNELS_GATHER_H
#define GNN_KERNELS_GATHER_H

#include <lib/kernels/attention/by_lane/lane_row.h>

/* sum += weight x over pairs from .. to - 1 of a block, `registers` registers of a row, and sum_p
 * likewise with `second` where `two`. */
GNN__INLINE void shared_sums(const lane_block_t *b, const gnn__matrix_t *m, int from, int to,
                             int width, const gnn__vec_bits_t *head, gnn__vec_t *sum,
                             gnn__vec_t *sum_p, const int registers, const bool two)
{
    for (int e = from; e < to; e++) {
        const gnn_real_t *row = gnn__matrix_row(m, b->other[e]),
                         *next = gnn__matrix_row(m, b->other[e + AHEAD]);
        const gnn__vec_t w = gnn__vec_pattern(b->weight + e * width, HEADS, 0),
                         w_p = two ? gnn__vec_pattern(b->second + e * width, HEADS, 0) : w;
        for (int v = 0; v < registers; v++) {
            const gnn__vec_t x = gnn__vec_load(row + v * LANES);
            __builtin_prefetch(next + v * LANES);
            sum[v] += gnn__vec_spread(w, head[v]) * x;
            if (two)
                sum_p[v] += gnn__vec_spread(w_p, head[v]) * x;
        }
    }
}

/* Sum of weight x over pairs from .. to - 1 of a block, and *p likewise with `second` where `two`.
 * Even and odd pairs have sums of their own: no addition waits for the last. */
GNN__INLINE gnn__vec_t narrow_sum(const lane_block_t *b, const gnn__matrix_t *m, int count,
                                  int from, int to, gnn__vec_t *p, const bool two)
{
    gnn__vec_t sum[2] = {{0}}, sum_p[2] = {{0}};
    for (int e = from; e < to; e += 2)
        for (int k = 0; k < 2 && e + k < to; k++) {
            const gnn__vec_t x = gnn__vec_load_first(gnn__matrix_row(m, b->other[e + k]), count);
            __builtin_prefetch(gnn__matrix_row(m, b->other[e + k + AHEAD]));
            sum[k] += b->weight[e + k] * x;
            if (two)
                sum_p[k] += b->second[e + k] * x;
        }
    if (two)
        *p = sum_p[0] + sum_p[1];
    return sum[0] + sum[1];
}

/* y (+)= weight x over the pairs of a block, rows of `row` numbers, and p likewise with `second`
 * where `two`. */
#define gather GNN__KERNEL(lanes_gather)
void gather(const gnn__lanes_t *l, const lane_block_t *b, const gnn__matrix_t *m, int64_t row,
            bool fresh, bool two);

#endif
