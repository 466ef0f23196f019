/* Weights of additive scores of eight heads as products of numbers of both ends. With e(x) = e^x and slopes from 0 to 1,
 *
 *     e(leaky(q_i + k_j)) = the larger of e(q_i) e(k_j) and e(slope q_i) e(slope k_j)
 *
 * so exp runs per node, not per pair. Factors of a node are sixteen numbers: e(x) of every head, then e(slope x). Those of numbers beyond RANGE are NaN, and so is every
 * sum that meets them: a row is given up by itself, whatever other rows hold, and done again from its scores. Included by kernels only. */
#ifndef GNN_KERNELS_LANES_FACTORS_H
#define GNN_KERNELS_LANES_FACTORS_H

#include <lib/kernels/lanes_rows.h>

#if !GNN_DOUBLE && defined(__AVX512F__)
#define GNN__FACTORS 1

/* e^(2 RANGE) and its inverse, times values and the number of pairs, stay far from the ends of a float's range; products that differ by less than NEAR units in the
 * last place may be those of equal numbers. */
enum { FACTORS = 2 * HEADS, RANGE = 20, NEAR = 32 };

/* lanes_parts.kernel.c */
#define factors_of GNN__KERNEL(lanes_factors_of)
#define signs_of_scores GNN__KERNEL(lanes_signs_of_scores)
gnn__vec_t factors_of(const gnn_real_t *numbers, gnn_real_t slope);
/* s <= 0 of the pairs of this node and two others, by their scores. */
gnn__vec_bits_t signs_of_scores(const gnn__matrix_t *others, const uint32_t *nodes,
                                const gnn_real_t *numbers);

/* Weights of two pairs: `own` are the row's factors, the others' stand in rows. Where `numbers`, the row's own, are given, *negative is where s <= 0. */
GNN__INLINE gnn__vec_t factor_weights(const gnn__matrix_t *factors, const uint32_t *nodes,
                                      gnn__vec_t own, const gnn__matrix_t *others,
                                      const gnn_real_t *numbers, gnn__vec_bits_t *negative)
{
    const __m512 x = (__m512)(own * gnn__vec_load(gnn__matrix_row(factors, nodes[0]))),
                 y = (__m512)(own * gnn__vec_load(gnn__matrix_row(factors, nodes[1]))),
                 whole = _mm512_shuffle_f32x4(x, y, 0x44), sloped = _mm512_shuffle_f32x4(x, y, 0xEE);
    *negative = (gnn__vec_bits_t){0};
    if (numbers) {
        const __m512i apart = _mm512_sub_epi32((__m512i)whole, (__m512i)sloped);
        *negative = (gnn__vec_bits_t)apart <= 0;
        /* Products so near one another do not tell the sign of a score, which may be 0. */
        if (_mm512_cmplt_epu32_mask(_mm512_add_epi32(apart, _mm512_set1_epi32(NEAR)),
                                    _mm512_set1_epi32(2 * NEAR)))
            *negative = signs_of_scores(others, nodes, numbers);
    }
    return (gnn__vec_t)_mm512_max_ps(whole, sloped);
}
#else
#define GNN__FACTORS 0
#endif

#endif
