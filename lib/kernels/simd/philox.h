/* Dropout by Philox 4x32-10 in registers: counters and keys are those of gnn__dropout_draw, many at
 * a time. A counter gives eight draws of 16 bits; which of them are kept are the bits of a byte.
 * Included by kernels only.
 *
 *     register    c0 of counter 0    c0 of counter 1    ..      64-bit lanes, 32 bits used
 *     registers   c0, c1, c2, c3 of as many counters
 *     rounds      2 multiplications, 2 shifts, 4 xors per register and round
 *     compare     8 draws of 16 bits <= threshold -> 8 bits per counter */
#ifndef GNN_KERNELS_PHILOX_H
#define GNN_KERNELS_PHILOX_H

#include <lib/kernels/simd/vec.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* Whether multipliers are stored as bits, which become masks of products, or as scalars. */
#if !GNN_DOUBLE && defined(__AVX2__)
#define GNN__KEEPS_BITS 1
#else
#define GNN__KEEPS_BITS 0
#endif

/* Counters that are drawn together; counters per register; registers of twice as many counters;
 * registers whose rounds are interleaved, as many as there are registers for, because a round has
 * to wait for the one before. */
enum {
    GNN__PHILOX_LANES = 16,
    GNN__PHILOX_AT_ONCE = (int)(GNN__VEC_BYTES / sizeof(uint64_t)),
    GNN__PHILOX_REGISTERS = 2 * GNN__PHILOX_LANES / GNN__PHILOX_AT_ONCE,
    GNN__PHILOX_TOGETHER = GNN__VEC_BYTES == 64 ? 4 : 2
};

/* ---- 64-bit lanes ---- */

typedef uint64_t gnn__wide_words_t __attribute__((vector_size(GNN__VEC_BYTES)));

GNN__INLINE gnn__wide_words_t gnn__words_all(uint64_t x)
{
    return x - (gnn__wide_words_t){0};
}

/* The lower 32 bits of each lane times m, all 64 bits of the product. */
GNN__INLINE gnn__wide_words_t gnn__words_product(gnn__wide_words_t x, uint32_t m)
{
#if defined(__AVX512F__)
    return (gnn__wide_words_t)_mm512_mul_epu32((__m512i)x, _mm512_set1_epi64(m));
#elif defined(__AVX2__)
    return (gnn__wide_words_t)_mm256_mul_epu32((__m256i)x, _mm256_set1_epi64x(m));
#elif defined(__x86_64__)
    return (gnn__wide_words_t)_mm_mul_epu32((__m128i)x, _mm_set1_epi64x(m));
#else
    return (x & 0xffffffffu) * m;
#endif
}

GNN__INLINE gnn__wide_words_t gnn__words_xor(gnn__wide_words_t x, gnn__wide_words_t y,
                                             gnn__wide_words_t z)
{
#if defined(__AVX512F__)
    return (gnn__wide_words_t)_mm512_ternarylogic_epi64((__m512i)x, (__m512i)y, (__m512i)z, 0x96);
#else
    return x ^ y ^ z;
#endif
}

GNN__INLINE gnn__wide_words_t gnn__words_from(const uint32_t *at)
{
#if defined(__AVX512F__)
    return (gnn__wide_words_t)_mm512_cvtepu32_epi64(_mm256_loadu_si256((const void *)at));
#elif defined(__AVX2__)
    return (gnn__wide_words_t)_mm256_cvtepu32_epi64(_mm_loadu_si128((const void *)at));
#else
    gnn__wide_words_t words;
    for (int l = 0; l < GNN__PHILOX_AT_ONCE; l++)
        words[l] = at[l];
    return words;
#endif
}

/* ---- Philox ---- */

/* Each Philox word has a 64-bit lane of its own, so that products need no shuffles; bits above the
 * lower 32 are never read. */
typedef struct gnn__philox_words {
    gnn__wide_words_t c0, c1, c2, c3;
} gnn__philox_words_t;

GNN__INLINE gnn__philox_words_t gnn__philox_round(gnn__philox_words_t s, gnn__wide_words_t k0,
                                                  gnn__wide_words_t k1)
{
    const gnn__wide_words_t p0 = gnn__words_product(s.c0, 0xD2511F53u),
                            p1 = gnn__words_product(s.c2, 0xCD9E8D57u);
    return (gnn__philox_words_t){gnn__words_xor(p1 >> 32, s.c1, k0), p1,
                                 gnn__words_xor(p0 >> 32, s.c3, k1), p0};
}

/* One byte per counter: which of its eight draws are at most `most`. */
GNN__INLINE void gnn__philox_kept(gnn__philox_words_t s, uint16_t most, uint8_t *bits)
{
#if defined(__AVX512F__)
    const __m512i all = _mm512_set1_epi16((short)most),
                  low = _mm512_mask_blend_epi32(0xAAAA, (__m512i)s.c0, (__m512i)(s.c1 << 32)),
                  high = _mm512_mask_blend_epi32(0xAAAA, (__m512i)s.c2, (__m512i)(s.c3 << 32));
    const uint64_t even = _mm512_cmple_epu16_mask(_mm512_unpacklo_epi64(low, high), all),
                   odd = _mm512_cmple_epu16_mask(_mm512_unpackhi_epi64(low, high), all),
                   kept = _pdep_u64(even, 0x00ff00ff00ff00ff) | _pdep_u64(odd, 0xff00ff00ff00ff00);
    memcpy(bits, &kept, sizeof kept);
#elif defined(__AVX2__)
    const __m256i all = _mm256_set1_epi16((short)most), none = _mm256_setzero_si256();
    const __m256i low = _mm256_blend_epi32((__m256i)s.c0, (__m256i)(s.c1 << 32), 0xAA),
                  high = _mm256_blend_epi32((__m256i)s.c2, (__m256i)(s.c3 << 32), 0xAA);
    const __m256i even = _mm256_subs_epu16(_mm256_unpacklo_epi64(low, high), all),
                  odd = _mm256_subs_epu16(_mm256_unpackhi_epi64(low, high), all);
    const int kept = _mm256_movemask_epi8(
        _mm256_packs_epi16(_mm256_cmpeq_epi16(even, none), _mm256_cmpeq_epi16(odd, none)));
    memcpy(bits, &kept, sizeof kept);
#elif defined(__x86_64__)
    const __m128i all = _mm_set1_epi16((short)most), none = _mm_setzero_si128();
    const __m128i low = (__m128i)((s.c0 & 0xffffffffu) | s.c1 << 32),
                  high = (__m128i)((s.c2 & 0xffffffffu) | s.c3 << 32);
    const __m128i first = _mm_subs_epu16(_mm_unpacklo_epi64(low, high), all),
                  second = _mm_subs_epu16(_mm_unpackhi_epi64(low, high), all);
    const uint16_t kept = (uint16_t)_mm_movemask_epi8(
        _mm_packs_epi16(_mm_cmpeq_epi16(first, none), _mm_cmpeq_epi16(second, none)));
    memcpy(bits, &kept, sizeof kept);
#else
    for (int l = 0; l < GNN__PHILOX_AT_ONCE; l++) {
        const uint64_t words[4] = {s.c0[l], s.c1[l], s.c2[l], s.c3[l]};
        unsigned byte = 0;
        for (int draw = 0; draw < 8; draw++) {
            const uint64_t value = words[draw / 2] >> 16 * (draw % 2) & 0xffff;
            byte |= (value <= most ? 1u : 0) << draw;
        }
        bits[l] = (uint8_t)byte;
    }
#endif
}

/* Draws for the counters (a, b, step, stream << 8 | block) of `together` registers. */
GNN__INLINE void gnn__philox_together(const gnn__dropout_t *d, uint32_t block,
                                      const gnn__wide_words_t *a, const gnn__wide_words_t *b,
                                      uint8_t *bits, const int together)
{
    gnn__philox_words_t s[GNN__PHILOX_TOGETHER];
    uint32_t k0 = d->key[0], k1 = d->key[1];
#pragma GCC unroll 4
    for (int r = 0; r < together; r++)
        s[r] = (gnn__philox_words_t){a[r], b[r], gnn__words_all(d->step),
                                     gnn__words_all(d->stream << 8 | block)};
#pragma GCC unroll 1
    for (int round = 0; round < GNN__DROPOUT_ROUNDS; round++) {
        const gnn__wide_words_t key0 = gnn__words_all(k0), key1 = gnn__words_all(k1);
#pragma GCC unroll 4
        for (int r = 0; r < together; r++)
            s[r] = gnn__philox_round(s[r], key0, key1);
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
#pragma GCC unroll 4
    for (int r = 0; r < together; r++)
        gnn__philox_kept(s[r], (uint16_t)(d->threshold - 1), bits + r * GNN__PHILOX_AT_ONCE);
}

/* One byte for each of 32, or of 16, counters. */
static __attribute__((noinline, unused)) void gnn__keep_32(const gnn__dropout_t *d, uint32_t block,
                                                           const gnn__wide_words_t *a,
                                                           const gnn__wide_words_t *b, uint8_t *bits)
{
#pragma GCC unroll 1
    for (int r = 0; r < GNN__PHILOX_REGISTERS; r += GNN__PHILOX_TOGETHER)
        gnn__philox_together(d, block, a + r, b + r, bits + r * GNN__PHILOX_AT_ONCE,
                             GNN__PHILOX_TOGETHER);
}

static __attribute__((noinline, unused)) void gnn__keep_16(const gnn__dropout_t *d, uint32_t block,
                                                           const gnn__wide_words_t *a,
                                                           const gnn__wide_words_t *b, uint8_t *bits)
{
#pragma GCC unroll 1
    for (int r = 0; r < GNN__PHILOX_REGISTERS / 2; r += 2)
        gnn__philox_together(d, block, a + r, b + r, bits + r * GNN__PHILOX_AT_ONCE, 2);
}

/* ---- pairs ---- */

/* n pairs (at most 32) and eight heads: bit h of a pair's byte is set if head 8 block + h is kept.
 * i, j and `bits` have room for a multiple of GNN__PHILOX_LANES pairs. */
static inline void gnn__keep_bytes(const gnn__dropout_t *d, int n, const uint32_t *i,
                                   const uint32_t *j, uint32_t block, uint8_t *bits)
{
    const int registers = n > GNN__PHILOX_LANES ? GNN__PHILOX_REGISTERS : GNN__PHILOX_REGISTERS / 2;
    gnn__wide_words_t a[GNN__PHILOX_REGISTERS], b[GNN__PHILOX_REGISTERS];
    for (int r = 0; r < registers; r++) {
        a[r] = gnn__words_from(i + r * GNN__PHILOX_AT_ONCE);
        b[r] = gnn__words_from(j + r * GNN__PHILOX_AT_ONCE);
    }
    (n > GNN__PHILOX_LANES ? gnn__keep_32 : gnn__keep_16)(d, block, a, b, bits);
}

/* keep[e * heads + h] for n pairs. i and j are readable up to the next multiple of
 * GNN__PHILOX_LANES. */
static inline void gnn__keep_pairs(const gnn__dropout_t *d, int n, const uint32_t *i,
                                   const uint32_t *j, int64_t heads, gnn_real_t *keep)
{
    uint8_t bits[GNN__PHILOX_LANES];
    for (int e = 0; e < n; e += GNN__PHILOX_LANES)
        for (int64_t h = 0; h < heads; h += 8) {
            gnn__keep_bytes(d, GNN__PHILOX_LANES, i + e, j + e, (uint32_t)(h / 8), bits);
            for (int l = 0; l < GNN__PHILOX_LANES && e + l < n; l++)
                for (int64_t a = h; a < heads && a < h + 8; a++)
                    keep[(e + l) * heads + a] = bits[l] >> (a - h) & 1 ? d->scale : 0;
        }
}

/* Dropout multipliers of pairs x width, width 1, 4 or 8: one bit or one gnn_real_t each.
 * gnn__keep_patterns draws those of n pairs; i, j and keep have room for a multiple of
 * GNN__PHILOX_LANES pairs. gnn__kept multiplies a register by those from element x on, for any
 * x. */
#if GNN__KEEPS_BITS
/* The lowest `width` bits of each of eight bytes, packed. */
GNN__INLINE uint64_t gnn__low_bits(uint64_t bytes, int width)
{
#if defined(__AVX512F__)
    return _pext_u64(bytes, ((1u << width) - 1) * 0x0101010101010101u);
#else /* pext takes hundreds of cycles on several processors with AVX2 */
    if (width == 8)
        return bytes;
    if (width == 1)
        return (bytes & 0x0101010101010101u) * 0x0102040810204080u >> 56;
    bytes = (bytes & 0x000f000f000f000fu) | (bytes >> 4 & 0x00f000f000f000f0u);
    bytes = (bytes & 0x000000ff000000ffu) | (bytes >> 8 & 0x0000ff000000ff00u);
    return (bytes & 0xffffu) | (bytes >> 16 & 0xffff0000u);
#endif
}

static inline void gnn__keep_patterns(const gnn__dropout_t *d, int n, const uint32_t *i,
                                      const uint32_t *j, void *keep, int width)
{
    uint8_t *to = keep;
    for (int e = 0; e < n;) {
        uint8_t drawn[2 * GNN__PHILOX_LANES];
        const int all = n - e > GNN__PHILOX_LANES ? 2 * GNN__PHILOX_LANES : GNN__PHILOX_LANES;
        gnn__keep_bytes(d, n - e, i + e, j + e, 0, drawn);
        for (int k = 0; k < all; k += 8, to += width) {
            uint64_t bits;
            memcpy(&bits, drawn + k, sizeof bits);
            bits = gnn__low_bits(bits, width);
            memcpy(to, &bits, sizeof bits); /* the next bytes overwrite the excess */
        }
        e += all;
    }
}

/* w times the scale in lanes whose bit is set, else 0. */
GNN__INLINE gnn__vec_t gnn__kept_lanes(gnn_real_t scale, uint32_t bits, gnn__vec_t w)
{
#if defined(__AVX512F__)
    return (gnn__vec_t)_mm512_maskz_mul_ps((__mmask16)bits, (__m512)w, _mm512_set1_ps(scale));
#else
    const __m256i place = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128),
                  kept = _mm256_and_si256(_mm256_set1_epi32((int)bits), place);
    return (gnn__vec_t)_mm256_and_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(kept, place)),
                                     (__m256)(w * scale));
#endif
}

GNN__INLINE gnn__vec_t gnn__kept(gnn_real_t scale, const void *keep, int64_t x, gnn__vec_t w)
{
    uint32_t bits;
    memcpy(&bits, (const uint8_t *)keep + (x >> 3), sizeof bits);
    return gnn__kept_lanes(scale, bits >> (x & 7), w);
}

/* gnn__kept for width 1 with each multiplier in `width` lanes; scale 0: no dropout. */
GNN__INLINE gnn__vec_t gnn__kept_repeated(gnn_real_t scale, const void *keep, int64_t x,
                                          gnn__vec_t w, const int width)
{
    uint32_t bits;
    if (!(scale > 0))
        return w;
    memcpy(&bits, (const uint8_t *)keep + (x >> 3), sizeof bits);
    const uint32_t lowest = width == 4 ? 0x1111 : 1; /* bit of each multiplier's first lane */
    bits = _pdep_u32(bits >> (x & 7), width == 8 ? 0x0101 : lowest);
    return gnn__kept_lanes(scale, bits * ((1u << width) - 1), w);
}
#else
static inline void gnn__keep_patterns(const gnn__dropout_t *d, int n, const uint32_t *i,
                                      const uint32_t *j, void *keep, int width)
{
    uint8_t bits[GNN__PHILOX_LANES];
    gnn_real_t *to = keep;
    for (int e = 0; e < n; e += GNN__PHILOX_LANES) {
        gnn__keep_bytes(d, GNN__PHILOX_LANES, i + e, j + e, 0, bits);
        for (int l = 0; l < GNN__PHILOX_LANES; l++)
            for (int h = 0; h < width; h++)
                to[(e + l) * width + h] = bits[l] >> h & 1 ? d->scale : 0;
    }
}

GNN__INLINE gnn__vec_t gnn__kept(gnn_real_t scale, const void *keep, int64_t x, gnn__vec_t w)
{
    (void)scale;
    return w * gnn__vec_load((const gnn_real_t *)keep + x);
}
#endif

#endif
