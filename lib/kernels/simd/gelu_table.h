/* gelu(v) = v F(v) and gelu'(v) = F(v) + v f(v), F being the normal distribution and f its density.
 * Both factors minus 1/2 are odd in v, and are piecewise polynomials here: sixteen pieces around
 * the multiples of 0.4, one per lane of a register (AVX2: of two), from which a permutation fetches
 * the coefficients of a register of elements at once:
 *
 *     |v| / 0.4     piece 0   piece 1  ..  piece 15        term k: one register of 16 coefficients
 *     v0 .. v15  -> piece of each -> permute term k -> fma, from the highest term down
 *
 * That is a third of the instructions of an erf. Errors: 4e-8 of F, 9e-8 of gelu', as large as
 * rounding. Included by kernels only. */
#ifndef GNN_KERNELS_GELU_TABLE_H
#define GNN_KERNELS_GELU_TABLE_H

#include <lib/kernels/simd/vec.h>

#if defined(__AVX2__) && !GNN_DOUBLE
#define GNN__GELU_TABLE 1
enum { GNN__GELU_TERMS = 6 };

/* F(v) - 1/2: coefficients of (|v| / 0.4 - piece)^k. */
static const float gnn__gelu_value[GNN__GELU_TERMS][16] = {
    {0.0f, 0.155421734f, 0.288144588f, 0.384930342f, 0.445200711f, 0.477249861f, 0.491802454f,
     0.497444868f, 0.499312848f, 0.499840885f, 0.49996832f, 0.499994576f, 0.499999195f,
     0.499999911f, 0.5f, 0.5f},
    {0.159576908f, 0.147308052f, 0.115876622f, 0.0776744261f, 0.0443683341f, 0.021596387f,
     0.00895781163f, 0.0031661801f, 0.000953635201f, 0.000244760857f, 5.35321633e-05f,
     9.97702318e-06f, 1.58453133e-06f, 2.14444427e-07f, 2.47310936e-08f, 2.43045228e-09f},
    {6.40866986e-08f, -0.0117842518f, -0.0185398441f, -0.0186417364f, -0.0141980089f, -0.00863874797f,
     -0.00429985113f, -0.00177307019f, -0.000610300223f, -0.000176204296f, -4.28137537e-05f,
     -8.77541152e-06f, -1.51992492e-06f, -2.2274935e-07f, -2.76496781e-08f, -2.90929769e-09f},
    {-0.00425593415f, -0.00329964724f, -0.00111245597f, 0.000911305484f, 0.00184568588f,
     0.0017277213f, 0.00113706966f, 0.00057752576f, 0.000234978041f, 7.80599439e-05f, 2.14105548e-05f,
     4.88362593e-06f, 9.30899716e-07f, 1.48811651e-07f, 2.00022718e-08f, 2.26515784e-09f},
    {1.95672465e-06f, 0.000442049262f, 0.000578964711f, 0.000386419328f, 8.48126583e-05f,
     -0.000113115719f, -0.000157149887f, -0.000114326525f, -5.91988428e-05f, -2.36534397e-05f,
     -7.55015935e-06f, -1.96134988e-06f, -4.19358827e-07f, -7.43500692e-08f, -1.09877147e-08f,
     -1.35869627e-09f},
    {9.94566581e-05f, 6.44861357e-05f, -1.03158936e-05f, -5.85012058e-05f, -5.46646552e-05f,
     -2.31192516e-05f, 2.89352943e-06f, 1.16550027e-05f, 9.42491806e-06f, 4.88603564e-06f,
     1.87975297e-06f, 5.65755727e-07f, 1.36722292e-07f, 2.69335345e-08f, 4.36725189e-09f,
     5.86778737e-10f},
};

/* gelu'(v) - 1/2: coefficients of (|v| / 0.4 - piece)^k. */
static const float gnn__gelu_slope[GNN__GELU_TERMS][16] = {
    {0.0f, 0.302729756f, 0.519897819f, 0.617953598f, 0.622674048f, 0.585231841f, 0.545549333f,
     0.51960814f, 0.506941915f, 0.502043724f, 0.500503659f, 0.500104308f, 0.500018239f,
     0.500002682f, 0.500000358f, 0.50000006f},
    {0.319153816f, 0.271046817f, 0.157592222f, 0.0434976928f, -0.0248462651f, -0.0431927815f,
     -0.0336813778f, -0.0184904952f, -0.0078579532f, -0.00268257712f, -0.000749449013f,
     -0.000173200591f, -3.33383723e-05f, -5.36964671e-06f, -7.26096687e-07f, -8.26340738e-08f},
    {5.11219241e-07f, -0.0452500507f, -0.0622927323f, -0.0477232933f, -0.0204465799f,
     -1.11968063e-06f, 0.0075675156f, 0.00680894405f, 0.00380870537f, 0.00157906685f, 0.000513888896f,
     0.000134832531f, 2.89507207e-05f, 5.13460145e-06f, 7.56928614e-07f, 9.31605229e-08f},
    {-0.0170259234f, -0.0114134876f, 0.000217065768f, 0.00829796121f, 0.00871551782f, 0.00460747629f,
     0.000750825449f, -0.000893742021f, -0.000945486594f, -0.000530293153f, -0.000211280494f,
     -6.47255511e-05f, -1.57818922e-05f, -3.12050497e-06f, -5.06123399e-07f, -6.78542804e-08f},
    {1.56160186e-05f, 0.00252390606f, 0.00278347405f, 0.00105369068f, -0.000665043248f,
     -0.00113985513f, -0.000697961426f, -0.000164316414f, 8.02933719e-05f, 0.000101277888f,
     5.6164572e-05f, 2.1314534e-05f, 6.11665291e-06f, 1.38322116e-06f, 2.51930487e-07f,
     3.74482987e-08f},
    {0.00059143774f, 0.000319300045f, -0.000202582611f, -0.000413836242f, -0.000231075435f,
     2.56625935e-05f, 0.000120784374f, 8.07392207e-05f, 2.06924014e-05f, -6.64744721e-06f,
     -9.05613706e-06f, -4.76284276e-06f, -1.674597e-06f, -4.40208368e-07f, -9.05159823e-08f,
     -1.49073482e-08f},
};

/* The factor of each element: 0 or 1 from |v| = 6 on, NaN for NaN. */
#if defined(__AVX512F__)
GNN__INLINE gnn__vec_t gnn__gelu_factor(const float table[GNN__GELU_TERMS][16], gnn__vec_t v)
{
    const __m512 half = _mm512_set1_ps(0.5f), size = _mm512_abs_ps(v);
    const __m512 at = _mm512_min_ps(_mm512_set1_ps(15), size * _mm512_set1_ps(2.5f));
    const __m512i piece = _mm512_cvtps_epi32(at);
    const __m512 t = _mm512_reduce_ps(at, 0);
    __m512 p = _mm512_permutexvar_ps(piece, _mm512_loadu_ps(table[GNN__GELU_TERMS - 1]));
    for (int k = GNN__GELU_TERMS - 2; k >= 0; k--)
        p = _mm512_fmadd_ps(p, t, _mm512_permutexvar_ps(piece, _mm512_loadu_ps(table[k])));
    p = _mm512_mask_mov_ps(p, _mm512_cmp_ps_mask(size, _mm512_set1_ps(6), _CMP_GE_OQ), half);
    const __m512 sign = _mm512_and_ps(v, _mm512_set1_ps(-0.0f));
    return half + _mm512_xor_ps(p, sign);
}
#else
/* Coefficient k of each piece: from the first eight, or from the other eight where bit 3 is set. */
GNN__INLINE __m256 gnn__gelu_term(const float *table, __m256i piece)
{
    const __m256 low = _mm256_permutevar8x32_ps(_mm256_loadu_ps(table), piece),
                 high = _mm256_permutevar8x32_ps(_mm256_loadu_ps(table + 8), piece);
    return _mm256_blendv_ps(low, high, _mm256_castsi256_ps(_mm256_slli_epi32(piece, 28)));
}

GNN__INLINE gnn__vec_t gnn__gelu_factor(const float table[GNN__GELU_TERMS][16], gnn__vec_t v)
{
    const __m256 half = _mm256_set1_ps(0.5f), minus = _mm256_set1_ps(-0.0f);
    const __m256 size = _mm256_andnot_ps(minus, v),
                 at = _mm256_min_ps(_mm256_set1_ps(15), size * _mm256_set1_ps(2.5f)),
                 t = at - _mm256_round_ps(at, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const __m256i piece = _mm256_cvtps_epi32(at);
    __m256 p = gnn__gelu_term(table[GNN__GELU_TERMS - 1], piece);
    for (int k = GNN__GELU_TERMS - 2; k >= 0; k--)
        p = _mm256_fmadd_ps(p, t, gnn__gelu_term(table[k], piece));
    p = _mm256_blendv_ps(p, half, _mm256_cmp_ps(size, _mm256_set1_ps(6), _CMP_GE_OQ));
    return half + _mm256_xor_ps(p, _mm256_and_ps(v, minus));
}
#endif
#endif

#endif
