/* Dropout for many places at once: counters and keys are those of gnn__dropout_draw, sixteen of them side by side. Included by kernels only. */
#ifndef GNN_KERNELS_PHILOX_LANES_H
#define GNN_KERNELS_PHILOX_LANES_H

#include <lib/kernels/vec.h>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

enum { GNN__PHILOX_LANES = 16, GNN__PHILOX_ROUNDS = 10 };

#if defined(__AVX512F__)
/* Halves of a 64-bit product of even and of odd lanes become the low and the high words of all lanes. */
GNN__INLINE void gnn__philox_multiply(__m512i x, __m512i by, __m512i *low, __m512i *high)
{
    const __m512i even = _mm512_mul_epu32(x, by),
                  odd = _mm512_mul_epu32(_mm512_srli_epi64(x, 32), by);
    *low = _mm512_mask_blend_epi32(0xAAAA, even, _mm512_slli_epi64(odd, 32));
    *high = _mm512_mask_blend_epi32(0xAAAA, _mm512_srli_epi64(even, 32), odd);
}

GNN__INLINE void gnn__philox_rounds(const gnn__dropout_t *d, uint32_t words[4][GNN__PHILOX_LANES])
{
    __m512i c0 = _mm512_loadu_si512(words[0]), c1 = _mm512_loadu_si512(words[1]),
            c2 = _mm512_loadu_si512(words[2]), c3 = _mm512_loadu_si512(words[3]);
    const __m512i m0 = _mm512_set1_epi32((int)0xD2511F53u), m1 = _mm512_set1_epi32((int)0xCD9E8D57u);
    uint32_t k0 = d->key[0], k1 = d->key[1];
#pragma GCC unroll 2 /* a round is long enough, and there are many copies */
    for (int round = 0; round < GNN__PHILOX_ROUNDS; round++) {
        __m512i low0, high0, low1, high1;
        gnn__philox_multiply(c0, m0, &low0, &high0);
        gnn__philox_multiply(c2, m1, &low1, &high1);
        c0 = _mm512_ternarylogic_epi32(high1, c1, _mm512_set1_epi32((int)k0), 0x96);
        c2 = _mm512_ternarylogic_epi32(high0, c3, _mm512_set1_epi32((int)k1), 0x96);
        c1 = low1;
        c3 = low0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    _mm512_storeu_si512(words[0], c0);
    _mm512_storeu_si512(words[1], c1);
    _mm512_storeu_si512(words[2], c2);
    _mm512_storeu_si512(words[3], c3);
}
#else
GNN__INLINE void gnn__philox_rounds(const gnn__dropout_t *d, uint32_t words[4][GNN__PHILOX_LANES])
{
    uint32_t *restrict c0 = words[0], *restrict c1 = words[1], *restrict c2 = words[2],
                       *restrict c3 = words[3], k0 = d->key[0], k1 = d->key[1];
    for (int round = 0; round < GNN__PHILOX_ROUNDS; round++) {
#pragma omp simd
        for (int l = 0; l < GNN__PHILOX_LANES; l++) {
            uint64_t p0 = (uint64_t)0xD2511F53u * c0[l], p1 = (uint64_t)0xCD9E8D57u * c2[l];
            uint32_t next0 = (uint32_t)(p1 >> 32) ^ c1[l] ^ k0,
                     next2 = (uint32_t)(p0 >> 32) ^ c3[l] ^ k1;
            c1[l] = (uint32_t)p1;
            c3[l] = (uint32_t)p0;
            c0[l] = next0;
            c2[l] = next2;
        }
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
}
#endif

/* words[w][lane] is word w for the counter (i[lane], j[lane], step, stream << 8 | block). */
static inline void gnn__philox_lanes(const gnn__dropout_t *d, const uint32_t *i, const uint32_t *j,
                                     uint32_t block, uint32_t words[4][GNN__PHILOX_LANES])
{
    for (int l = 0; l < GNN__PHILOX_LANES; l++) {
        words[0][l] = i[l];
        words[1][l] = j[l];
        words[2][l] = d->step;
        words[3][l] = d->stream << 8 | block;
    }
    gnn__philox_rounds(d, words);
}

/* keep[e * heads + h] for n pairs. i and j must be readable up to the next multiple of GNN__PHILOX_LANES. */
static inline void gnn__keep_pairs(const gnn__dropout_t *d, int n, const uint32_t *i,
                                   const uint32_t *j, int64_t heads, gnn_real_t *keep)
{
    uint32_t words[4][GNN__PHILOX_LANES];
    for (int e = 0; e < n; e += GNN__PHILOX_LANES)
        for (int64_t h = 0; h < heads; h += 8) {
            gnn__philox_lanes(d, i + e, j + e, (uint32_t)(h / 8), words);
            for (int l = 0; l < GNN__PHILOX_LANES && e + l < n; l++)
                for (int64_t a = h; a < heads && a < h + 8; a++) {
                    const uint32_t word = words[(a - h) / 2][l];
                    keep[(e + l) * heads + a] =
                        (a & 1 ? word >> 16 : word & 0xffff) < d->threshold ? d->scale : 0;
                }
        }
}

#if !GNN_DOUBLE && defined(__AVX512F__)
/* Sixteen pairs, eight heads from `keep` on: bits of a pair's mask are its heads. */
static inline void gnn__keep_eight(const gnn__dropout_t *d, uint32_t words[4][GNN__PHILOX_LANES],
                                   gnn_real_t *keep, int width)
{
    const __m512i w0 = _mm512_loadu_si512(words[0]), w1 = _mm512_loadu_si512(words[1]),
                  w2 = _mm512_loadu_si512(words[2]), w3 = _mm512_loadu_si512(words[3]);
    const __m512i t[2] = {_mm512_unpacklo_epi32(w0, w1), _mm512_unpackhi_epi32(w0, w1)},
                  u[2] = {_mm512_unpacklo_epi32(w2, w3), _mm512_unpackhi_epi32(w2, w3)};
    const __m512i least = _mm512_set1_epi16((short)(d->threshold - 1));
    const __m256 scale = _mm256_set1_ps(d->scale);
    for (int m = 0; m < 4; m++) {
        const __m512i draws = m & 1 ? _mm512_unpackhi_epi64(t[m / 2], u[m / 2])
                                    : _mm512_unpacklo_epi64(t[m / 2], u[m / 2]);
        const uint32_t kept = _mm512_cmple_epu16_mask(draws, least);
        for (int k = 0; k < 4; k++) {
            const __m256 x = _mm256_maskz_mov_ps((__mmask8)(kept >> 8 * k), scale);
            gnn_real_t *to = keep + (4 * k + m) * width;
            if (width >= 8)
                _mm256_storeu_ps(to, x);
            else
                _mm_storeu_ps(to, _mm256_castps256_ps128(x));
        }
    }
}

/* Sixteen pairs, one head. */
GNN__INLINE void gnn__keep_first(const gnn__dropout_t *d, uint32_t words[4][GNN__PHILOX_LANES],
                                 gnn_real_t *keep)
{
    const __m512i draws = _mm512_and_si512(_mm512_loadu_si512(words[0]), _mm512_set1_epi32(0xffff));
    const __mmask16 kept = _mm512_cmplt_epu32_mask(draws, _mm512_set1_epi32((int)d->threshold));
    _mm512_storeu_ps(keep, _mm512_maskz_mov_ps(kept, _mm512_set1_ps(d->scale)));
}
#else
GNN__INLINE void gnn__keep_first(const gnn__dropout_t *d, uint32_t words[4][GNN__PHILOX_LANES],
                                 gnn_real_t *keep)
{
    for (int l = 0; l < GNN__PHILOX_LANES; l++)
        keep[l] = (words[0][l] & 0xffff) < d->threshold ? d->scale : 0;
}

static inline void gnn__keep_eight(const gnn__dropout_t *d, uint32_t words[4][GNN__PHILOX_LANES],
                                   gnn_real_t *keep, int width)
{
    for (int l = 0; l < GNN__PHILOX_LANES; l++)
        for (int h = 0; h < 8 && h < width; h++) {
            const uint32_t word = words[h / 2][l];
            keep[l * width + h] = (h & 1 ? word >> 16 : word & 0xffff) < d->threshold ? d->scale : 0;
        }
}
#endif

/* keep[e * width + h] for n pairs, width 1, 4 or 8. i, j and keep have room for a multiple of GNN__PHILOX_LANES pairs. */
static inline void gnn__keep_patterns(const gnn__dropout_t *d, int n, const uint32_t *i,
                                      const uint32_t *j, gnn_real_t *keep, int width)
{
    uint32_t words[4][GNN__PHILOX_LANES];
    for (int e = 0; e < n; e += GNN__PHILOX_LANES)
        for (int h = 0; h < width; h += 8) {
            gnn__philox_lanes(d, i + e, j + e, (uint32_t)h / 8, words);
            if (width > 1)
                gnn__keep_eight(d, words, keep + e * width + h, width);
            else
                gnn__keep_first(d, words, keep + e);
        }
}

/* Sixteen pairs, eight heads: bit h of a pair's byte says whether head 8 block + h is kept. */
static inline void gnn__keep_bits(const gnn__dropout_t *d, const uint32_t *i, const uint32_t *j,
                                  uint32_t block, uint8_t bits[GNN__PHILOX_LANES])
{
    uint32_t words[4][GNN__PHILOX_LANES], byte[GNN__PHILOX_LANES] = {0};
    gnn__philox_lanes(d, i, j, block, words);
    for (int w = 0; w < 4; w++)
#pragma omp simd
        for (int l = 0; l < GNN__PHILOX_LANES; l++)
            byte[l] |= ((words[w][l] & 0xffff) < d->threshold ? 1u : 0) << 2 * w |
                       ((words[w][l] >> 16) < d->threshold ? 2u : 0) << 2 * w;
    for (int l = 0; l < GNN__PHILOX_LANES; l++)
        bits[l] = (uint8_t)byte[l];
}

#endif
