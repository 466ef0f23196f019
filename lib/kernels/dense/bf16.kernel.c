/* Splits floats into bf16 numbers and their rests (bf16.h). */
#include <lib/kernels/dense/bf16.h>
#include <lib/kernels/isa.h>

typedef union {
    float real;
    uint32_t bits;
} word_t;

static inline uint32_t rounded(float x)
{
    const word_t w = {.real = x};
    const uint32_t nearest = w.bits + 0x7fffu + (w.bits >> 16 & 1);
    return (x != x ? w.bits | 0x400000u : nearest) >> 16;
}

static inline float widened(uint32_t half)
{
    const word_t w = {.bits = half << 16};
    return w.real;
}

static void split(int64_t n, const float *x, uint16_t *high, uint16_t *low)
{
    if (!low) {
#pragma omp simd
        for (int64_t k = 0; k < n; k++)
            high[k] = (uint16_t)rounded(x[k]);
        return;
    }
#pragma omp simd
    for (int64_t k = 0; k < n; k++) {
        const uint32_t near = rounded(x[k]);
        const float rest = (near & 0x7fffu) == 0x7f80u ? 0 : x[k] - widened(near);
        high[k] = (uint16_t)near;
        low[k] = (uint16_t)rounded(rest);
    }
}

const gnn__bf16_kernels_t GNN__KERNEL(bf16_kernels) = {.split = split};
