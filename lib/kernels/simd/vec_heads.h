/* Patterns of a few heads in a register. A pattern repeats one scalar for each of `width` heads (1,
 * 4 or 8) over a register, or over several registers where heads are more than lanes. Included by
 * kernels only.
 *
 *     width 4, 8 lanes:  h0 h1 h2 h3 h0 h1 h2 h3      width 8, 4 lanes:  h0 h1 h2 h3 | h4 h5 h6
 * h7 */
#ifndef GNN_KERNELS_VEC_HEADS_H
#define GNN_KERNELS_VEC_HEADS_H

#include <lib/kernels/simd/vec_math.h>

/* `width` elements (1, 4 or 8) as a pattern; `part` is the register's index modulo those of a
 * pattern. */
GNN__INLINE gnn__vec_t gnn__vec_pattern(const gnn_real_t *at, const int width, int part)
{
    if (width == 1)
        return gnn__vec_all(*at);
    if (width >= GNN__VEC_LANES)
        return gnn__vec_load(at + part % (width / GNN__VEC_LANES) * GNN__VEC_LANES);
#if !GNN_DOUBLE && defined(__AVX512F__)
    return width == 8 ? (gnn__vec_t)_mm512_castpd_ps(
                            _mm512_broadcast_f64x4(_mm256_castps_pd(_mm256_loadu_ps(at))))
                      : (gnn__vec_t)_mm512_broadcast_f32x4(_mm_loadu_ps(at));
#elif !GNN_DOUBLE && defined(__AVX2__)
    return (gnn__vec_t)_mm256_broadcast_ps((const __m128 *)at);
#else
    gnn__vec_t x;
    for (int l = 0; l < GNN__VEC_LANES; l++)
        x[l] = at[l % width];
    return x;
#endif
}

/* The head of each lane of register `part` of a row whose heads, of 2, 4 or 8 elements, follow one
 * another. */
GNN__INLINE gnn__vec_bits_t gnn__vec_head_of_lane(int d, int part)
{
    gnn__vec_bits_t index;
    for (int l = 0; l < GNN__VEC_LANES; l++)
        index[l] = l;
    return (index + part * GNN__VEC_LANES) >> __builtin_ctz((unsigned)d);
}

/* Copies lane l of a pattern to the lanes whose head is l. */
GNN__INLINE gnn__vec_t gnn__vec_spread(gnn__vec_t pattern, gnn__vec_bits_t head)
{
#if !GNN_DOUBLE && defined(__AVX512F__)
    return (gnn__vec_t)_mm512_permutexvar_ps((__m512i)head, (__m512)pattern);
#elif !GNN_DOUBLE && defined(__AVX2__)
    return (gnn__vec_t)_mm256_permutevar8x32_ps((__m256)pattern, (__m256i)head);
#else
    gnn__vec_t y;
    for (int l = 0; l < GNN__VEC_LANES; l++)
        y[l] = pattern[head[l]];
    return y;
#endif
}

/* Sums of lanes 0 and 1, 2 and 3, ... of x and then of y. */
GNN__INLINE gnn__vec_t gnn__vec_neighbours(gnn__vec_t x, gnn__vec_t y)
{
#if !GNN_DOUBLE && defined(__AVX512F__)
    const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30),
                  odd = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
    return (gnn__vec_t)(_mm512_permutex2var_ps((__m512)x, even, (__m512)y) +
                        _mm512_permutex2var_ps((__m512)x, odd, (__m512)y));
#elif !GNN_DOUBLE && defined(__AVX2__)
    const __m256d sums = _mm256_castps_pd(_mm256_hadd_ps((__m256)x, (__m256)y));
    return (gnn__vec_t)_mm256_castpd_ps(_mm256_permute4x64_pd(sums, 0xD8));
#else
    gnn__vec_t z;
    for (int l = 0; l < GNN__VEC_LANES / 2; l++) {
        z[l] = x[2 * l] + x[2 * l + 1];
        z[GNN__VEC_LANES / 2 + l] = y[2 * l] + y[2 * l + 1];
    }
    return z;
#endif
}

/* Sets every lane to the sum (or maximum) over the lanes of its head. */
GNN__INLINE gnn__vec_t gnn__vec_reduce(gnn__vec_t x, const int width, const bool largest)
{
    if (width >= GNN__VEC_LANES)
        return x;
#if !GNN_DOUBLE && defined(__AVX512F__)
#define FOLD(shuffled) y = largest ? _mm512_max_ps(y, shuffled) : _mm512_add_ps(y, shuffled)
    __m512 y = (__m512)x;
    FOLD(_mm512_shuffle_f32x4(y, y, 0x4E));
    if (width <= 4)
        FOLD(_mm512_shuffle_f32x4(y, y, 0xB1));
    if (width <= 2)
        FOLD(_mm512_permute_ps(y, 0x4E));
    if (width <= 1)
        FOLD(_mm512_permute_ps(y, 0xB1));
    return (gnn__vec_t)y;
#elif !GNN_DOUBLE && defined(__AVX2__)
#define FOLD(shuffled) y = largest ? _mm256_max_ps(y, shuffled) : _mm256_add_ps(y, shuffled)
    __m256 y = (__m256)x;
    FOLD(_mm256_permute2f128_ps(y, y, 1));
    if (width <= 2)
        FOLD(_mm256_permute_ps(y, 0x4E));
    if (width <= 1)
        FOLD(_mm256_permute_ps(y, 0xB1));
    return (gnn__vec_t)y;
#else
    for (int step = GNN__VEC_LANES / 2; step >= width; step /= 2)
        for (int l = 0; l < step; l++)
            if (!largest)
                x[l] += x[l + step];
            else
                x[l] = x[l + step] > x[l] ? x[l + step] : x[l];
    for (int l = width; l < GNN__VEC_LANES; l++)
        x[l] = x[l % width];
    return x;
#endif
#undef FOLD
}

/* Two patterns half as wide as a register: adds the halves of x, then those of y. */
GNN__INLINE gnn__vec_t gnn__vec_reduce_two(gnn__vec_t x, gnn__vec_t y)
{
#if !GNN_DOUBLE && defined(__AVX512F__)
    const __m512 a = (__m512)x, b = (__m512)y;
    return (gnn__vec_t)(_mm512_shuffle_f32x4(a, b, 0x44) + _mm512_shuffle_f32x4(a, b, 0xEE));
#elif !GNN_DOUBLE && defined(__AVX2__)
    const __m256 a = (__m256)x, b = (__m256)y;
    return (gnn__vec_t)(_mm256_permute2f128_ps(a, b, 0x20) + _mm256_permute2f128_ps(a, b, 0x31));
#else
    gnn__vec_t z;
    for (int l = 0; l < GNN__VEC_LANES / 2; l++) {
        z[l] = x[l] + x[GNN__VEC_LANES / 2 + l];
        z[GNN__VEC_LANES / 2 + l] = y[l] + y[GNN__VEC_LANES / 2 + l];
    }
    return z;
#endif
}

/* Stores the first `width` elements of a pattern. */
GNN__INLINE void gnn__vec_store_pattern(gnn_real_t *at, gnn__vec_t x, const int width, int part)
{
    if (width >= GNN__VEC_LANES) {
        gnn__vec_store(at + part % (width / GNN__VEC_LANES) * GNN__VEC_LANES, x);
        return;
    }
#if !GNN_DOUBLE && defined(__AVX512F__)
    if (width == 8)
        _mm256_storeu_ps(at, _mm512_castps512_ps256((__m512)x));
    else if (width == 4)
        _mm_storeu_ps(at, _mm512_castps512_ps128((__m512)x));
    else
        for (int l = 0; l < width; l++)
            at[l] = x[l];
#elif !GNN_DOUBLE && defined(__AVX2__)
    if (width == 4)
        _mm_storeu_ps(at, _mm256_castps256_ps128((__m256)x));
    else
        for (int l = 0; l < width; l++)
            at[l] = x[l];
#else
    for (int l = 0; l < width; l++)
        at[l] = x[l];
#endif
}

#endif
