/* Values of 16 bits (fp16, bf16) as registers of gnn_real_t. Included by kernels only. */
#ifndef GNN_KERNELS_VEC_FP16_H
#define GNN_KERNELS_VEC_FP16_H

#include <lib/kernels/simd/vec.h>

enum { LANES = GNN__VEC_LANES };

typedef uint32_t words_t __attribute__((vector_size(LANES * 4)));
typedef float floats_t __attribute__((vector_size(LANES * 4)));

#if GNN_DOUBLE
#define AS_REAL(x) __builtin_convertvector(x, gnn__vec_t)
#else
#define AS_REAL(x) (x)
#endif

/* Intrinsics, because gcc widens a vector in halves and joins these again. */
#if defined(__AVX2__)
#if defined(__AVX512F__) && !GNN_DOUBLE
#define WIDENED(op, at) _mm512_##op(_mm256_loadu_si256((const __m256i *)(at)))
#elif defined(__AVX512F__) || !GNN_DOUBLE
#define WIDENED(op, at) _mm256_##op(_mm_loadu_si128((const __m128i *)(at)))
#else
#define WIDENED(op, at) _mm_##op(_mm_loadl_epi64((const __m128i *)(at)))
#endif

GNN__INLINE words_t words(const uint16_t *at)
{
    return (words_t)WIDENED(cvtepu16_epi32, at);
}

GNN__INLINE floats_t from_float16(const uint16_t *at)
{
    return (floats_t)WIDENED(cvtph_ps, at);
}
#else
typedef uint16_t halves_t __attribute__((vector_size(LANES * 2)));
typedef uint16_t halves_anywhere_t __attribute__((vector_size(LANES * 2), aligned(2), may_alias));

GNN__INLINE words_t words(const uint16_t *at)
{
    const halves_t h = *(const halves_anywhere_t *)at;
    return __builtin_convertvector(h, words_t);
}

/* fp16 has 5 bits of exponent and 10 of fraction: moved to a float's positions, its exponent is 112
 * too small. Those of exponent 0 are multiples of 2^-24 and are corrected by a subtraction;
 * infinity and NaN do not occur in weights. */
GNN__INLINE floats_t from_float16(const uint16_t *at)
{
    const words_t w = words(at), sign = (w & 0x8000u) << 16, bits = (w & 0x7fffu) << 13;
    const words_t small = (words_t)((w & 0x7c00u) == 0);
    const floats_t least = (floats_t)(words_t){0} + 0x1p-14f;
    const words_t normal = bits + (112u << 23),
                  subnormal = (words_t)((floats_t)(bits + (113u << 23)) - least);
    return (floats_t)(sign | (subnormal & small) | (normal & ~small));
}
#endif

GNN__INLINE gnn__vec_t widened(const uint16_t *at, bool bf16)
{
    return AS_REAL(bf16 ? (floats_t)(words(at) << 16) : from_float16(at));
}

/* The last `count` elements of a row, fewer than LANES. */
GNN__INLINE gnn__vec_t widened_first(const uint16_t *at, int count, bool bf16)
{
    uint16_t h[LANES] = {0};
    memcpy(h, at, (size_t)count * sizeof *h);
    return widened(h, bf16);
}

#endif
