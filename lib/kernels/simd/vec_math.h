/* Operations on registers that the vector extension lacks: maximum, selection, exp, log, powers.
 * Included by kernels only. */
#ifndef GNN_KERNELS_VEC_MATH_H
#define GNN_KERNELS_VEC_MATH_H

#include <lib/kernels/simd/real_math.h>
#include <lib/kernels/simd/vec.h>

#include <float.h>

#if !GNN_DOUBLE && (defined(__AVX512F__) || defined(__AVX2__))
#include <immintrin.h>
#endif

#if GNN_DOUBLE
typedef int64_t gnn__vec_bits_t __attribute__((vector_size(GNN__VEC_BYTES)));
#else
typedef int32_t gnn__vec_bits_t __attribute__((vector_size(GNN__VEC_BYTES)));
#endif

/* x in lanes of `mask` (all ones or all zeros), 0 in the others. */
GNN__INLINE gnn__vec_t gnn__vec_where(gnn__vec_bits_t mask, gnn__vec_t x)
{
    return (gnn__vec_t)(mask & (gnn__vec_bits_t)x);
}

GNN__INLINE gnn__vec_t gnn__vec_select(gnn__vec_bits_t mask, gnn__vec_t x, gnn__vec_t otherwise)
{
#if !GNN_DOUBLE && defined(__AVX2__) && !defined(__AVX512F__)
    return (gnn__vec_t)_mm256_blendv_ps((__m256)otherwise, (__m256)x, (__m256)mask);
#endif
    return (gnn__vec_t)((mask & (gnn__vec_bits_t)x) | (~mask & (gnn__vec_bits_t)otherwise));
}

/* Elementwise maximum; `kept` where x is NaN. */
GNN__INLINE gnn__vec_t gnn__vec_max(gnn__vec_t x, gnn__vec_t kept)
{
#if !GNN_DOUBLE && defined(__AVX512F__)
    return (gnn__vec_t)_mm512_max_ps((__m512)x, (__m512)kept);
#elif !GNN_DOUBLE && defined(__AVX2__)
    return (gnn__vec_t)_mm256_max_ps((__m256)x, (__m256)kept);
#else
    return gnn__vec_select(x > kept, x, kept);
#endif
}

/* Elementwise minimum; x where x is NaN, and where `most` is. */
GNN__INLINE gnn__vec_t gnn__vec_min(gnn__vec_t most, gnn__vec_t x)
{
#if !GNN_DOUBLE && defined(__AVX512F__)
    return (gnn__vec_t)_mm512_min_ps((__m512)most, (__m512)x);
#elif !GNN_DOUBLE && defined(__AVX2__)
    return (gnn__vec_t)_mm256_min_ps((__m256)most, (__m256)x);
#else
    return gnn__vec_select(most < x, most, x);
#endif
}

/* gnn__leaky of slopes from 0 to 1; maximum ignores the NaN of 0 times infinity. */
GNN__INLINE gnn__vec_t gnn__vec_leaky(gnn__vec_t x, gnn_real_t slope)
{
    return gnn__vec_max(slope * x, x);
}

#if !GNN_DOUBLE && defined(__AVX512F__)
/* x = n ln 2 + r; e^r - 1. */
GNN__INLINE __m512 gnn__vec_exp_tail(gnn__vec_t x, __m512 *n)
{
    const __m512 y = _mm512_max_ps(_mm512_set1_ps(GNN__EXP_LEAST), (__m512)x);
    *n = _mm512_roundscale_ps(y * 1.44269504f, _MM_FROUND_TO_NEAREST_INT);
    __m512 r = _mm512_fnmadd_ps(*n, _mm512_set1_ps(GNN__LN2_HIGH), y);
    r = _mm512_fnmadd_ps(*n, _mm512_set1_ps(GNN__LN2_LOW), r);
    __m512 q = r * 1.392632562e-03f + 8.363292753e-03f;
    q = q * r + 4.166655376e-02f;
    q = q * r + 1.666657631e-01f;
    q = q * r + 5.000000000e-01f;
    return r * r * q + r;
}
#endif

/* e^x, as gnn__exp lane by lane. */
GNN__INLINE gnn__vec_t gnn__vec_exp(gnn__vec_t x)
{
#if !GNN_DOUBLE && defined(__AVX512F__)
    __m512 n;
    const __m512 tail = gnn__vec_exp_tail(x, &n);
    return (gnn__vec_t)_mm512_scalef_ps(tail + 1.0f, n);
#elif !GNN_DOUBLE
    /* Adding it rounds to integers, and leaves n and twice the bias in the lowest bits. */
    const gnn__vec_t magic = gnn__vec_all(0x1.8p23f + 2 * GNN__BIAS);
    const gnn__vec_t y = gnn__vec_min(gnn__vec_all(GNN__EXP_MOST),
                                      gnn__vec_max(gnn__vec_all(GNN__EXP_LEAST), x)),
                     rounded = y * 1.44269504f + magic, n = rounded - magic;
    const gnn__vec_t r = y - n * GNN__LN2_HIGH - n * GNN__LN2_LOW;
    gnn__vec_t q = r * 1.392632562e-03f + 8.363292753e-03f;
    q = q * r + 4.166655376e-02f;
    q = q * r + 1.666657631e-01f;
    q = q * r + 5.000000000e-01f;
    const gnn__vec_bits_t e = (gnn__vec_bits_t)rounded, high = e >> 1;
    return (r * r * q + r + 1.0f) * (gnn__vec_t)(high << GNN__MANTISSA) *
           (gnn__vec_t)((e - high) << GNN__MANTISSA);
#else
    gnn__vec_t y = {0};
    for (int l = 0; l < GNN__VEC_LANES; l++)
        y[l] = gnn__exp(x[l]);
    return y;
#endif
}

#if !GNN_DOUBLE && defined(__AVX512F__)
#define GNN__VEC_EXPM1 1
/* e^x - 1 for x <= 0, exact near 0. */
GNN__INLINE gnn__vec_t gnn__vec_expm1(gnn__vec_t x)
{
    __m512 n;
    const __m512 tail = gnn__vec_exp_tail(x, &n), scale = _mm512_scalef_ps(_mm512_set1_ps(1), n);
    return (gnn__vec_t)(scale * tail + (scale - 1.0f));
}
#endif

/* Natural logarithm of positive normal values: x = 2^n m with m in [sqrt(1/2), sqrt 2), log m = 2
 * atanh((m - 1) / (m + 1)). */
GNN__INLINE gnn__vec_t gnn__vec_log(gnn__vec_t x)
{
#if GNN_DOUBLE
    gnn__vec_t y = {0};
    for (int l = 0; l < GNN__VEC_LANES; l++)
        y[l] = log(x[l]);
    return y;
#else
    const gnn__vec_bits_t bits = (gnn__vec_bits_t)x - 0x3f3504f3;
    const gnn__vec_t n = __builtin_convertvector(bits >> GNN__MANTISSA, gnn__vec_t),
                     m = (gnn__vec_t)((bits & 0x007fffff) + 0x3f3504f3);
    const gnn__vec_t s = (m - 1) / (m + 1), z = s * s;
    gnn__vec_t q = z * (2.0f / 9) + 2.0f / 7;
    q = q * z + 2.0f / 5;
    q = q * z + 2.0f / 3;
    return n * GNN__LN2_HIGH + (n * GNN__LN2_LOW + (2 * s + s * z * q));
#endif
}

/* sum + z * `above` in lanes where z > 0, sum + z * `below` in the others. */
GNN__INLINE gnn__vec_t gnn__vec_add_leaky(gnn__vec_t sum, gnn__vec_t z, gnn__vec_t above,
                                          gnn__vec_t below)
{
#if !GNN_DOUBLE && defined(__AVX512F__)
    const __mmask16 up = _mm512_cmp_ps_mask((__m512)z, _mm512_setzero_ps(), _CMP_GT_OQ);
    return sum + z * (gnn__vec_t)_mm512_mask_blend_ps(up, (__m512)below, (__m512)above);
#else
    return sum + z * gnn__vec_select(z > 0, above, below);
#endif
}

/* `above` in lanes where z > least, `below` in the others. */
GNN__INLINE gnn__vec_t gnn__vec_select_above(gnn__vec_t z, gnn__vec_t least, gnn__vec_t above,
                                             gnn__vec_t below)
{
#if !GNN_DOUBLE && defined(__AVX512F__)
    const __mmask16 up = _mm512_cmp_ps_mask((__m512)z, (__m512)least, _CMP_GT_OQ);
    return (gnn__vec_t)_mm512_mask_blend_ps(up, (__m512)below, (__m512)above);
#else
    return gnn__vec_select(z > least, above, below);
#endif
}

/* sum + x in lanes where z > least, sum in the others. */
GNN__INLINE gnn__vec_t gnn__vec_add_above(gnn__vec_t sum, gnn__vec_t z, gnn__vec_t least, gnn__vec_t x)
{
#if !GNN_DOUBLE && defined(__AVX512F__)
    const __mmask16 above = _mm512_cmp_ps_mask((__m512)z, (__m512)least, _CMP_GT_OQ);
    return (gnn__vec_t)_mm512_mask_add_ps((__m512)sum, above, (__m512)sum, (__m512)x);
#else
    return sum + gnn__vec_where(z > least, x);
#endif
}

#if !GNN_DOUBLE && defined(__AVX2__) && !defined(__AVX512F__)
#define GNN__VEC_TRANSPOSE 1
/* y[c * ldy + r] = rows[r][at + c] for eight rows of eight elements. One name per register: arrays
 * of them would be kept in memory. */
GNN__INLINE void gnn__vec_transpose(const gnn_real_t *const *rows, int64_t at, gnn_real_t *y,
                                    int64_t ldy)
{
    const __m256 a = _mm256_loadu_ps(rows[0] + at), b = _mm256_loadu_ps(rows[1] + at);
    const __m256 c = _mm256_loadu_ps(rows[2] + at), d = _mm256_loadu_ps(rows[3] + at);
    const __m256 e = _mm256_loadu_ps(rows[4] + at), f = _mm256_loadu_ps(rows[5] + at);
    const __m256 g = _mm256_loadu_ps(rows[6] + at), h = _mm256_loadu_ps(rows[7] + at);
    const __m256 ab = _mm256_unpacklo_ps(a, b), ab_2 = _mm256_unpackhi_ps(a, b);
    const __m256 cd = _mm256_unpacklo_ps(c, d), cd_2 = _mm256_unpackhi_ps(c, d);
    const __m256 ef = _mm256_unpacklo_ps(e, f), ef_2 = _mm256_unpackhi_ps(e, f);
    const __m256 gh = _mm256_unpacklo_ps(g, h), gh_2 = _mm256_unpackhi_ps(g, h);
    const __m256 low_0 = _mm256_shuffle_ps(ab, cd, 0x44), high_0 = _mm256_shuffle_ps(ef, gh, 0x44);
    const __m256 low_1 = _mm256_shuffle_ps(ab, cd, 0xEE), high_1 = _mm256_shuffle_ps(ef, gh, 0xEE);
    const __m256 low_2 = _mm256_shuffle_ps(ab_2, cd_2, 0x44),
                 high_2 = _mm256_shuffle_ps(ef_2, gh_2, 0x44);
    const __m256 low_3 = _mm256_shuffle_ps(ab_2, cd_2, 0xEE),
                 high_3 = _mm256_shuffle_ps(ef_2, gh_2, 0xEE);
    _mm256_storeu_ps(y, _mm256_permute2f128_ps(low_0, high_0, 0x20));
    _mm256_storeu_ps(y + ldy, _mm256_permute2f128_ps(low_1, high_1, 0x20));
    _mm256_storeu_ps(y + 2 * ldy, _mm256_permute2f128_ps(low_2, high_2, 0x20));
    _mm256_storeu_ps(y + 3 * ldy, _mm256_permute2f128_ps(low_3, high_3, 0x20));
    _mm256_storeu_ps(y + 4 * ldy, _mm256_permute2f128_ps(low_0, high_0, 0x31));
    _mm256_storeu_ps(y + 5 * ldy, _mm256_permute2f128_ps(low_1, high_1, 0x31));
    _mm256_storeu_ps(y + 6 * ldy, _mm256_permute2f128_ps(low_2, high_2, 0x31));
    _mm256_storeu_ps(y + 7 * ldy, _mm256_permute2f128_ps(low_3, high_3, 0x31));
}
#endif

/* ---- powers ---- */

/* log(x), or that of the smallest normal value where x is less. */
GNN__INLINE gnn__vec_t gnn__vec_log_positive(gnn__vec_t x)
{
    return gnn__vec_log(gnn__vec_max(x, gnn__vec_all(GNN_DOUBLE ? (gnn_real_t)DBL_MIN : FLT_MIN)));
}

/* x^p where x > 0, else 0. */
GNN__INLINE gnn__vec_t gnn__vec_power(gnn__vec_t x, gnn_real_t p)
{
    return gnn__vec_select(x > 0, gnn__vec_exp(p * gnn__vec_log_positive(x)), gnn__vec_all(0));
}

/* Derivative p y / x of y = x^p; 0 where x <= 0, but 1 where x is 0 and p is 1. */
GNN__INLINE gnn__vec_t gnn__vec_power_slope(gnn__vec_t x, gnn__vec_t y, gnn_real_t p)
{
    const gnn__vec_t zero = gnn__vec_all(0), one = gnn__vec_all(1);
    const gnn__vec_t below = gnn__vec_select(x == 0, gnn__vec_all(p == 1 ? 1 : 0), zero);
    return gnn__vec_select(x > 0, p * y / gnn__vec_select(x > 0, x, one), below);
}

#endif
