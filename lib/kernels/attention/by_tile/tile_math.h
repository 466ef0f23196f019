/* Register arithmetic of attention by tile: powers of two, tanh, masks, maxima, square transposes.
 * Included by kernels only. */
#ifndef GNN_KERNELS_TILE_MATH_H
#define GNN_KERNELS_TILE_MATH_H

#include <lib/kernels/simd/vec_math.h>
#include <math.h>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

enum { LANES = GNN__VEC_LANES };

#if GNN_DOUBLE
typedef int64_t lane_int_t;
#define AVX512(name) _mm512_##name##_pd
#define AVX512_MASK(name) _mm512_##name##_pd_mask
#else
typedef int32_t lane_int_t;
#define AVX512(name) _mm512_##name##_ps
#define AVX512_MASK(name) _mm512_##name##_ps_mask
#endif
typedef lane_int_t lanes_t __attribute__((vector_size(GNN__VEC_BYTES)));

GNN__INLINE lanes_t lane_indices(void)
{
    static const lane_int_t indices[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    lanes_t l;
    memcpy(&l, indices, sizeof l);
    return l;
}

/* Scores are in units of log2, so that weights are powers of two. */
static const gnn_real_t log2_e = (gnn_real_t)1.4426950408889634,
                        ln_2 = (gnn_real_t)0.6931471805599453;

/* Coefficients of 2^r, highest power first. Double: Taylor series for |r| <= 1/2. Float: for 0 <= r
 * < 1 a fit to 8e-8 where scalef adds the integer part, else Cephes' for |r| <= 1/2. */
#if GNN_DOUBLE
static const gnn_real_t powers[] = {1.3691488853904124e-12, 2.567843599348819e-11,
                                    4.445538271870811e-10,  7.054911620801122e-09,
                                    1.0178086009239699e-07, 1.321548679014431e-06,
                                    1.5252733804059838e-05, 0.00015403530393381606,
                                    0.0013333558146428441,  0.009618129107628477,
                                    0.055504108664821576,   0.24022650695910069,
                                    0.6931471805599453,     1};
#elif defined(__AVX512DQ__)
static const gnn_real_t powers[] = {0x1.ec320ap-10f, 0x1.26900ep-7f, 0x1.c95446p-5f,
                                    0x1.ebd5a8p-3f,  0x1.62e4f6p-1f, 0x1.fffffep-1f};
#else
static const gnn_real_t powers[] = {1.535336188319500e-4f,
                                    1.339887440266574e-3f,
                                    9.618437357674640e-3f,
                                    5.550332471162809e-2f,
                                    2.402264791363012e-1f,
                                    6.931472028550421e-1f,
                                    1};
#endif

GNN__INLINE gnn__vec_t power_of_fraction(gnn__vec_t r)
{
    gnn__vec_t p = gnn__vec_all(powers[0]);
    for (size_t k = 1; k < sizeof powers / sizeof *powers; k++)
        p = p * r + powers[k];
    return p;
}

/* 2^x for x up to about 100, to 1e-7 (double: 2e-16) relative; 0 far below the normal range, NaN
 * for NaN. */
#if defined(__AVX512DQ__) && GNN_DOUBLE
GNN__INLINE gnn__vec_t exp2_of(gnn__vec_t x)
{
    return _mm512_scalef_pd(power_of_fraction(_mm512_reduce_pd(x, _MM_FROUND_TO_NEAREST_INT)),
                            _mm512_roundscale_pd(x, _MM_FROUND_TO_NEAREST_INT));
}
#elif defined(__AVX512DQ__)
GNN__INLINE gnn__vec_t exp2_of(gnn__vec_t x)
{
    return _mm512_scalef_ps(power_of_fraction(_mm512_reduce_ps(x, _MM_FROUND_TO_NEG_INF)), x);
}
#elif defined(__AVX2__) && !GNN_DOUBLE
/* A power of 1/8 from a table, the remainder by three terms, 3e-8 off: multiply units are the
 * bottleneck, and a table look-up does not use them. */
GNN__INLINE gnn__vec_t exp2_of(gnn__vec_t x)
{
    /* Bits of 2^(j / 8), minus those that j itself adds once it is shifted. */
    static const lanes_t eighths = {0x3f800000, 0x3f7b95c2, 0x3f7837f0, 0x3f75fed7,
                                    0x3f7504f3, 0x3f75672a, 0x3f7744fd, 0x3f7ac0c7};
    enum { MANTISSA = 23, EIGHTHS = 3, BIAS = 127 };
    /* Adding it rounds to eighths, whose integer is then in the lowest bits. */
    const gnn_real_t magic = 3 << (MANTISSA - EIGHTHS - 1);
    const gnn__vec_t y = gnn__vec_max(gnn__vec_all(-BIAS), x), rounded = y + magic;
    const gnn__vec_t r = y - (rounded - magic),
                     power = ((0x1.c6cp-5f * r + 0x1.ec0c32p-3f) * r + 0x1.62e43p-1f) * r + 1;
    const lanes_t index = (lanes_t)rounded,
                  whole = (lanes_t)_mm256_permutevar8x32_epi32((__m256i)eighths, (__m256i)index);
    return power * (gnn__vec_t)(whole + (index << (MANTISSA - EIGHTHS)));
}
#else
GNN__INLINE gnn__vec_t exp2_of(gnn__vec_t x)
{
    enum { MANTISSA = GNN_DOUBLE ? 52 : 23, BIAS = GNN_DOUBLE ? 1023 : 127 };
    /* Adding it rounds, and leaves the exponent of the result in the lowest bits: that of 0 below
     * the range. */
    const gnn_real_t magic = (gnn_real_t)(3 * ((int64_t)1 << (MANTISSA - 1)) + BIAS);
    const gnn__vec_t y = gnn__vec_max(gnn__vec_all(-BIAS), x), rounded = y + magic;
    return power_of_fraction(y - (rounded - magic)) * (gnn__vec_t)((lanes_t)rounded << MANTISSA);
}
#endif

/* tanh. Float: as gnn__tanh, an odd polynomial near 0. Double: to 2e-16 of 1. */
GNN__INLINE gnn__vec_t tanh_of(gnn__vec_t x)
{
    static const gnn_real_t terms[] = {(gnn_real_t)-5.70498872745e-3, (gnn_real_t)2.06390887954e-2,
                                       (gnn_real_t)-5.37397155531e-2, (gnn_real_t)1.33314422036e-1,
                                       (gnn_real_t)-3.33332819422e-1};
    const gnn_real_t most = GNN_DOUBLE ? 20 : 10;
    const lanes_t sign = (lanes_t)gnn__vec_all((gnn_real_t)-0.0);
    const gnn__vec_t z = x * x, two = gnn__vec_all(2 * log2_e);
    gnn__vec_t size = (gnn__vec_t)((lanes_t)x & ~sign), near = gnn__vec_all(terms[0]);
    for (size_t k = 1; k < sizeof terms / sizeof *terms; k++)
        near = near * z + terms[k];
    near = near * z * x + x;
    const lanes_t small = size<(gnn_real_t)(GNN_DOUBLE ? 0 : 0.625), large = size> most;
    size = (gnn__vec_t)(((lanes_t)size & ~large) | ((lanes_t)gnn__vec_all(most) & large));
    const gnn__vec_t far = 1 - 2 / (exp2_of(two * size) + 1);
    return (gnn__vec_t)(((lanes_t)near & small) | (((lanes_t)far | ((lanes_t)x & sign)) & ~small));
}

/* Elementwise maximum; `best` where x is NaN. */
GNN__INLINE gnn__vec_t larger(gnn__vec_t x, gnn__vec_t best)
{
#if defined(__AVX512F__)
    return AVX512(max)(x, best);
#else
    return gnn__vec_max(x, best);
#endif
}

GNN__INLINE bool any(lanes_t mask)
{
#if defined(__AVX2__) && !defined(__AVX512F__)
    return !_mm256_testz_si256((__m256i)mask, (__m256i)mask);
#endif
    lane_int_t some = 0;
    for (int l = 0; l < LANES; l++)
        some |= mask[l];
    return some != 0;
}

GNN__INLINE bool any_above(gnn__vec_t x, gnn__vec_t y)
{
#if defined(__AVX512F__)
    return AVX512_MASK(cmp)(x, y, _CMP_GT_OQ) != 0;
#else
    return any(x > y);
#endif
}

/* False if any is NaN. */
GNN__INLINE bool all_zero(gnn__vec_t x)
{
    return !any(~(x == (gnn__vec_t){0}));
}

GNN__INLINE gnn_real_t largest_lane(gnn__vec_t x)
{
#if defined(__AVX512F__)
    return AVX512(reduce_max)(x);
#else
    gnn_real_t best = x[0];
    for (int l = 1; l < LANES; l++)
        best = x[l] > best ? x[l] : best;
    return best;
#endif
}

GNN__INLINE gnn_real_t sum_of_lanes(gnn__vec_t x)
{
#if defined(__AVX512F__)
    return AVX512(reduce_add)(x);
#else
    gnn_real_t sum = 0;
    for (int l = 0; l < LANES; l++)
        sum += x[l];
    return sum;
#endif
}

/* All ones in lanes whose column is from .. to - 1, where lane 0 is column c. */
GNN__INLINE lanes_t columns_inside(int c, int from, int to)
{
    const lanes_t column = lane_indices() + c;
    return (column >= from) & (column < to);
}

GNN__INLINE gnn__vec_t choose(lanes_t mask, gnn__vec_t x, gnn_real_t other)
{
    return gnn__vec_select(mask, x, gnn__vec_all(other));
}

/* y[c][r] = rows[r][at + c], a square of LANES x LANES elements. */
#if defined(__AVX512F__)
/* Step s exchanges the off-diagonal s x s blocks of every 2s x 2s block. */
GNN__INLINE void transpose_square(const gnn_real_t *const *rows, int64_t at, gnn_real_t *y,
                                  int64_t ldy)
{
    gnn__vec_t row[LANES];
    for (int r = 0; r < LANES; r++)
        row[r] = gnn__vec_load(rows[r] + at);
#pragma GCC unroll 4
    for (int s = 1; s < LANES; s *= 2) {
        const lanes_t l = lane_indices(), odd = (l & s) != 0;
        /* LANES + l: lane l of the second operand */
        const lanes_t low = l + (odd & (LANES - s)), high = l + ((odd & LANES) | (~odd & s));
#pragma GCC unroll 16
        for (int r = 0; r < LANES; r++)
            if (!(r & s)) {
                const gnn__vec_t a = row[r], b = row[r + s];
                row[r] = AVX512(permutex2var)(a, (__m512i)low, b);
                row[r + s] = AVX512(permutex2var)(a, (__m512i)high, b);
            }
    }
    for (int r = 0; r < LANES; r++)
        gnn__vec_store(y + r * ldy, row[r]);
}
#elif defined(GNN__VEC_TRANSPOSE)
GNN__INLINE void transpose_square(const gnn_real_t *const *rows, int64_t at, gnn_real_t *y,
                                  int64_t ldy)
{
    gnn__vec_transpose(rows, at, y, ldy);
}
#else
GNN__INLINE void transpose_square(const gnn_real_t *const *rows, int64_t at, gnn_real_t *y,
                                  int64_t ldy)
{
    for (int r = 0; r < LANES; r++)
        for (int c = 0; c < LANES; c++)
            y[c * ldy + r] = rows[r][at + c];
}
#endif

#endif
