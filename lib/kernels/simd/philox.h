/* Dropout for many places at once: counters and keys are those of gnn__dropout_draw, many of them side by side. A counter has eight draws of sixteen bits; what is kept
 * of them are the bits of a byte. Included by kernels only. */
#ifndef GNN_KERNELS_PHILOX_LANES_H
#define GNN_KERNELS_PHILOX_LANES_H

#include <lib/kernels/simd/vec.h>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

/* Whether multipliers stay bits, the masks of products, or are numbers. */
#if !GNN_DOUBLE && defined(__AVX512F__)
#define GNN__KEEPS_BITS 1
#else
#define GNN__KEEPS_BITS 0
#endif

/* Counters of gnn__keep_bits, and of the most registers that turn together. */
enum { GNN__PHILOX_LANES = 16, GNN__PHILOX_REGISTERS = 4 };

#if defined(__AVX512F__)
/* Each word of Philox lies in 64 bits of its own, so that a product needs no shuffles: what stands above the lower 32 bits is never read. */
typedef struct gnn__philox_words {
    __m512i c0, c1, c2, c3;
} gnn__philox_words_t;

GNN__INLINE gnn__philox_words_t gnn__philox_turn(gnn__philox_words_t s, __m512i k0, __m512i k1)
{
    const __m512i p0 = _mm512_mul_epu32(s.c0, _mm512_set1_epi64(0xD2511F53)),
                  p1 = _mm512_mul_epu32(s.c2, _mm512_set1_epi64(0xCD9E8D57));
    return (gnn__philox_words_t){
        _mm512_ternarylogic_epi64(_mm512_srli_epi64(p1, 32), s.c1, k0, 0x96), p1,
        _mm512_ternarylogic_epi64(_mm512_srli_epi64(p0, 32), s.c3, k1, 0x96), p0};
}

/* One byte for each of eight counters. */
GNN__INLINE uint64_t gnn__philox_kept(gnn__philox_words_t s, __m512i most)
{
    const __m512i low = _mm512_mask_blend_epi32(0xAAAA, s.c0, _mm512_slli_epi64(s.c1, 32)),
                  high = _mm512_mask_blend_epi32(0xAAAA, s.c2, _mm512_slli_epi64(s.c3, 32));
    const uint64_t even = _mm512_cmple_epu16_mask(_mm512_unpacklo_epi64(low, high), most),
                   odd = _mm512_cmple_epu16_mask(_mm512_unpackhi_epi64(low, high), most);
    return _pdep_u64(even, 0x00ff00ff00ff00ff) | _pdep_u64(odd, 0xff00ff00ff00ff00);
}

/* For the counters (a, b, step, stream << 8 | block) of `registers` registers, which turn together because a round waits for the one before. */
GNN__INLINE void gnn__philox_registers(const gnn__dropout_t *d, uint32_t block, const __m512i *a,
                                       const __m512i *b, uint64_t *kept, const int registers)
{
    gnn__philox_words_t s[GNN__PHILOX_REGISTERS];
    const __m512i most = _mm512_set1_epi16((short)(d->threshold - 1)),
                  step = _mm512_set1_epi64(d->step),
                  stream = _mm512_set1_epi64(d->stream << 8 | block);
    uint32_t k0 = d->key[0], k1 = d->key[1];
#pragma GCC unroll 4
    for (int r = 0; r < registers; r++)
        s[r] = (gnn__philox_words_t){a[r], b[r], step, stream};
#pragma GCC unroll 1
    for (int round = 0; round < GNN__DROPOUT_ROUNDS; round++) {
        const __m512i key0 = _mm512_set1_epi64(k0), key1 = _mm512_set1_epi64(k1);
#pragma GCC unroll 4
        for (int r = 0; r < registers; r++)
            s[r] = gnn__philox_turn(s[r], key0, key1);
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
#pragma GCC unroll 4
    for (int r = 0; r < registers; r++)
        kept[r] = gnn__philox_kept(s[r], most);
}

static __attribute__((noinline, unused)) void gnn__kept_in_four(const gnn__dropout_t *d,
                                                                uint32_t block, const __m512i *a,
                                                                const __m512i *b, uint64_t *kept)
{
    gnn__philox_registers(d, block, a, b, kept, 4);
}

static __attribute__((noinline, unused)) void gnn__kept_in_two(const gnn__dropout_t *d,
                                                               uint32_t block, const __m512i *a,
                                                               const __m512i *b, uint64_t *kept)
{
    gnn__philox_registers(d, block, a, b, kept, 2);
}

GNN__INLINE __m512i gnn__philox_numbers(const uint32_t *at)
{
    return _mm512_cvtepu32_epi64(_mm256_loadu_si256((const __m256i *)(const void *)at));
}

/* Sixteen pairs, eight heads: bit h of a pair's byte says whether head 8 block + h is kept. */
static inline void gnn__keep_bits(const gnn__dropout_t *d, const uint32_t *i, const uint32_t *j,
                                  uint32_t block, uint8_t bits[GNN__PHILOX_LANES])
{
    const __m512i a[2] = {gnn__philox_numbers(i), gnn__philox_numbers(i + 8)},
                  b[2] = {gnn__philox_numbers(j), gnn__philox_numbers(j + 8)};
    uint64_t kept[2];
    gnn__kept_in_two(d, block, a, b, kept);
    memcpy(bits, kept, sizeof kept);
}
#else
static inline void gnn__keep_bits(const gnn__dropout_t *d, const uint32_t *i, const uint32_t *j,
                                  uint32_t block, uint8_t bits[GNN__PHILOX_LANES])
{
    uint32_t c0[GNN__PHILOX_LANES], c1[GNN__PHILOX_LANES], c2[GNN__PHILOX_LANES],
        c3[GNN__PHILOX_LANES], k0 = d->key[0], k1 = d->key[1];
    for (int l = 0; l < GNN__PHILOX_LANES; l++) {
        c0[l] = i[l];
        c1[l] = j[l];
        c2[l] = d->step;
        c3[l] = d->stream << 8 | block;
    }
#pragma GCC unroll 1
    for (int round = 0; round < GNN__DROPOUT_ROUNDS; round++) {
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
    const uint32_t *words[4] = {c0, c1, c2, c3};
    uint32_t byte[GNN__PHILOX_LANES] = {0};
    for (int w = 0; w < 4; w++)
#pragma omp simd
        for (int l = 0; l < GNN__PHILOX_LANES; l++)
            byte[l] |= ((words[w][l] & 0xffff) < d->threshold ? 1u : 0) << 2 * w |
                       ((words[w][l] >> 16) < d->threshold ? 2u : 0) << 2 * w;
    for (int l = 0; l < GNN__PHILOX_LANES; l++)
        bits[l] = (uint8_t)byte[l];
}
#endif

/* As gnn__keep_bits for n pairs, at most twice as many; i and j hold that many, and `bits` a multiple of GNN__PHILOX_LANES. */
static inline void gnn__keep_bytes(const gnn__dropout_t *d, int n, const uint32_t *i,
                                   const uint32_t *j, uint32_t block, uint8_t *bits)
{
#if defined(__AVX512F__)
    __m512i a[GNN__PHILOX_REGISTERS], b[GNN__PHILOX_REGISTERS];
    uint64_t kept[GNN__PHILOX_REGISTERS];
    for (int r = 0; r < GNN__PHILOX_REGISTERS; r++) {
        a[r] = gnn__philox_numbers(i + 8 * r);
        b[r] = gnn__philox_numbers(j + 8 * r);
    }
    if (n > GNN__PHILOX_LANES)
        gnn__kept_in_four(d, block, a, b, kept);
    else
        gnn__kept_in_two(d, block, a, b, kept);
    memcpy(bits, kept, n > GNN__PHILOX_LANES ? sizeof kept : sizeof kept / 2);
#else
    for (int e = 0; e < n; e += GNN__PHILOX_LANES)
        gnn__keep_bits(d, i + e, j + e, block, bits + e);
#endif
}

/* keep[e * heads + h] for n pairs. i and j must be readable up to the next multiple of GNN__PHILOX_LANES. */
static inline void gnn__keep_pairs(const gnn__dropout_t *d, int n, const uint32_t *i,
                                   const uint32_t *j, int64_t heads, gnn_real_t *keep)
{
    uint8_t bits[GNN__PHILOX_LANES];
    for (int e = 0; e < n; e += GNN__PHILOX_LANES)
        for (int64_t h = 0; h < heads; h += 8) {
            gnn__keep_bits(d, i + e, j + e, (uint32_t)(h / 8), bits);
            for (int l = 0; l < GNN__PHILOX_LANES && e + l < n; l++)
                for (int64_t a = h; a < heads && a < h + 8; a++)
                    keep[(e + l) * heads + a] = bits[l] >> (a - h) & 1 ? d->scale : 0;
        }
}

/* Dropout's multipliers of pairs x width numbers, width 1, 4 or 8: one bit for each or one gnn_real_t. gnn__keep_patterns draws those of n pairs;
 * i, j and keep have room for a multiple of GNN__PHILOX_LANES pairs. gnn__kept multiplies a register by those from number x on, of which any may be the first. */
#if GNN__KEEPS_BITS
static inline void gnn__keep_patterns(const gnn__dropout_t *d, int n, const uint32_t *i,
                                      const uint32_t *j, void *keep, int width)
{
    const uint64_t heads = (width == 1 ? 1u : width == 4 ? 0xfu : 0xffu) * 0x0101010101010101u;
    __m512i a[GNN__PHILOX_REGISTERS], b[GNN__PHILOX_REGISTERS];
    uint64_t kept[GNN__PHILOX_REGISTERS];
    uint8_t *to = keep;
    for (int e = 0, registers; e < n; e += 8 * registers) {
        registers = n - e > 16 ? 4 : 2;
        for (int r = 0; r < registers; r++) {
            a[r] = gnn__philox_numbers(i + e + 8 * r);
            b[r] = gnn__philox_numbers(j + e + 8 * r);
        }
        (registers == 4 ? gnn__kept_in_four : gnn__kept_in_two)(d, 0, a, b, kept);
        for (int r = 0; r < registers; r++, to += width) {
            const uint64_t bits = _pext_u64(kept[r], heads);
            memcpy(to, &bits, sizeof bits); /* the next ones overwrite what is too many */
        }
    }
}

GNN__INLINE gnn__vec_t gnn__kept(gnn_real_t scale, const void *keep, int64_t x, gnn__vec_t w)
{
    uint32_t bits;
    memcpy(&bits, (const uint8_t *)keep + (x >> 3), sizeof bits);
    return (gnn__vec_t)_mm512_maskz_mul_ps((__mmask16)(bits >> (x & 7)), (__m512)w,
                                           _mm512_set1_ps(scale));
}

/* Of width 1, but each number in `width` lanes; scale 0: nothing is dropped. */
GNN__INLINE gnn__vec_t gnn__kept_wide(gnn_real_t scale, const void *keep, int64_t x, gnn__vec_t w,
                                      const int width)
{
    uint32_t bits;
    if (!(scale > 0))
        return w;
    memcpy(&bits, (const uint8_t *)keep + (x >> 3), sizeof bits);
    bits = _pdep_u32(bits >> (x & 7), width == 4 ? 0x1111 : width == 8 ? 0x0101 : 1);
    return (gnn__vec_t)_mm512_maskz_mul_ps((__mmask16)(bits * ((1u << width) - 1)), (__m512)w,
                                           _mm512_set1_ps(scale));
}
#else
static inline void gnn__keep_patterns(const gnn__dropout_t *d, int n, const uint32_t *i,
                                      const uint32_t *j, void *keep, int width)
{
    uint8_t bits[GNN__PHILOX_LANES];
    gnn_real_t *to = keep;
    for (int e = 0; e < n; e += GNN__PHILOX_LANES) {
        gnn__keep_bits(d, i + e, j + e, 0, bits);
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
