/* Conversions between gnn_real_t and 16-bit formats (dense.h): weights in fp16 or bf16 are widened,
 * operands of oneDNN's bf16 products are rounded and split.
 *
 *     float    s eeeeeeee fffffff ffffffffffffffff
 *     bf16     s eeeeeeee fffffff                      the upper half, rounded to even
 *     low      the bf16 of float - bf16 */
#include <lib/kernels/dense/dense.h>
#include <lib/kernels/simd/vec_fp16.h>
#include <lib/kernels/isa.h>

static void widen(int64_t n, bool bf16, const uint16_t *from, gnn_real_t *to)
{
    const int64_t whole = n - n % LANES;
    for (int64_t k = 0; k < whole; k += LANES)
        gnn__vec_store(to + k, widened(from + k, bf16));
    if (whole < n)
        gnn__vec_store_first(to + whole, widened_first(from + whole, (int)(n - whole), bf16),
                             (int)(n - whole));
}

/* ---- rounding and splitting ---- */

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

static inline float float_of(uint32_t half)
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
        const float rest = (near & 0x7fffu) == 0x7f80u ? 0 : x[k] - float_of(near);
        high[k] = (uint16_t)near;
        low[k] = (uint16_t)rounded(rest);
    }
}

extern const gnn__fp16_kernels_t GNN__KERNEL(fp16_kernels);
const gnn__fp16_kernels_t GNN__KERNEL(fp16_kernels) = {.widen = widen, .split = split};
