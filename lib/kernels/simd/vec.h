/* One register of gnn_real_t at the width of the instruction set that a kernel is compiled for:
 * loads, stores and arithmetic by gcc's and clang's vector extension. Included by kernels only. */
#ifndef GNN_KERNELS_VEC_H
#define GNN_KERNELS_VEC_H

#include <lib/base/base.h>

#if defined(__AVX512F__)
#define GNN__VEC_BYTES 64
#elif defined(__AVX2__)
#define GNN__VEC_BYTES 32
#else
#define GNN__VEC_BYTES 16
#endif

typedef gnn_real_t gnn__vec_t __attribute__((vector_size(GNN__VEC_BYTES)));
typedef gnn_real_t gnn__vec_anywhere_t
    __attribute__((vector_size(GNN__VEC_BYTES), aligned(sizeof(gnn_real_t)), may_alias));

enum { GNN__VEC_LANES = (int)(GNN__VEC_BYTES / sizeof(gnn_real_t)) };

#define GNN__INLINE static inline __attribute__((always_inline))

GNN__INLINE gnn__vec_t gnn__vec_load(const gnn_real_t *at)
{
    return *(const gnn__vec_anywhere_t *)at;
}

GNN__INLINE void gnn__vec_store(gnn_real_t *at, gnn__vec_t x)
{
    *(gnn__vec_anywhere_t *)at = x;
}

GNN__INLINE gnn__vec_t gnn__vec_all(gnn_real_t x)
{
    return x - (gnn__vec_t){0};
}

/* Loads and stores of the first `count` lanes, fewer than all: nothing after them is read or
 * written; other lanes are loaded as 0. */
#if defined(__AVX2__)
#include <immintrin.h>
#if defined(__AVX512F__) && GNN_DOUBLE
#define GNN__MASK(count) ((__mmask8)((1u << (count)) - 1))
#define GNN__MASKED(op) _mm512_##op##_pd
#elif defined(__AVX512F__)
#define GNN__MASK(count) ((__mmask16)((1u << (count)) - 1))
#define GNN__MASKED(op) _mm512_##op##_ps
#elif GNN_DOUBLE
#define GNN__MASK(count) \
    _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3))
#define GNN__MASKED(op) _mm256_##op##_pd
#else
#define GNN__MASK(count) \
    _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))
#define GNN__MASKED(op) _mm256_##op##_ps
#endif

GNN__INLINE gnn__vec_t gnn__vec_load_first(const gnn_real_t *at, int count)
{
#if defined(__AVX512F__)
    return (gnn__vec_t)GNN__MASKED(maskz_loadu)(GNN__MASK(count), at);
#else
    return (gnn__vec_t)GNN__MASKED(maskload)(at, GNN__MASK(count));
#endif
}

GNN__INLINE void gnn__vec_store_first(gnn_real_t *at, gnn__vec_t x, int count)
{
#if defined(__AVX512F__)
    GNN__MASKED(mask_storeu)(at, GNN__MASK(count), x);
#elif GNN_DOUBLE
    GNN__MASKED(maskstore)(at, GNN__MASK(count), x);
#else /* in parts: masked stores take a dozen cycles on some processors */
    if (count >= 8) {
        _mm256_storeu_ps(at, (__m256)x);
        return;
    }
    __m128 rest = _mm256_castps256_ps128((__m256)x);
    if (count & 4) {
        _mm_storeu_ps(at, rest);
        rest = _mm256_extractf128_ps((__m256)x, 1);
        at += 4;
    }
    if (count & 2) {
        _mm_storel_pi((__m64 *)at, rest);
        rest = _mm_movehl_ps(rest, rest);
        at += 2;
    }
    if (count & 1)
        _mm_store_ss(at, rest);
#endif
}
#else
GNN__INLINE gnn__vec_t gnn__vec_load_first(const gnn_real_t *at, int count)
{
    gnn__vec_t x = {0};
    for (int l = 0; l < GNN__VEC_LANES && l < count; l++)
        x[l] = at[l];
    return x;
}

GNN__INLINE void gnn__vec_store_first(gnn_real_t *at, gnn__vec_t x, int count)
{
    for (int l = 0; l < GNN__VEC_LANES && l < count; l++)
        at[l] = x[l];
}
#endif

/* Streaming stores, for results that exceed any cache before they are read again: a line that is
 * written as a whole need not be read first. True for an aligned y of a matrix of `elements`
 * elements. */
GNN__INLINE bool gnn__vec_streams(const gnn_real_t *y, int64_t elements)
{
#if !GNN_DOUBLE && defined(__AVX2__)
    return elements > 8 << 20 && (uintptr_t)y % GNN__VEC_BYTES == 0;
#else
    (void)y;
    (void)elements;
    return false;
#endif
}

GNN__INLINE void gnn__vec_store_or_stream(gnn_real_t *y, gnn__vec_t x, bool pass)
{
#if !GNN_DOUBLE && defined(__AVX2__)
    if (pass) {
#if defined(__AVX512F__)
        _mm512_stream_ps(y, (__m512)x);
#else
        _mm256_stream_ps(y, (__m256)x);
#endif
        return;
    }
#endif
    (void)pass;
    gnn__vec_store(y, x);
}

/* Fences streaming stores, before other threads read them. */
GNN__INLINE void gnn__vec_fence(void)
{
#if !GNN_DOUBLE && defined(__AVX2__)
    _mm_sfence();
#endif
}

#endif
