/* Tiles of attention in bf16, two numbers to a word: products at twice the rate of fp32 where vdpbf16ps runs as fast as an fp32 instruction. Sums are fp32. */
#include <lib/kernels/attention_tiles.h>

#if HALVES
#define TARGET __attribute__((target("avx512bf16")))
#define MULTIPLY_ADD(w, x, sum) \
    ((gnn__vec_t)_mm512_dpbf16_ps((__m512)(sum), (__m512bh)(w), (__m512bh)(x)))
#include <lib/kernels/tile_product.h>

TARGET void half_product(const gnn_real_t *a, int64_t row, int64_t step, int64_t rows,
                         const gnn_real_t *b, int64_t ldb, int64_t n, gnn_real_t *out, int64_t ldo,
                         int64_t width, bool add)
{
    grouped_product(a, row, step, rows, b, ldb, n, out, ldo, width, add);
}

TARGET void half_row(const gnn_real_t *a, int64_t step, const gnn_real_t *b, int64_t ldb,
                     int64_t from, int64_t to, gnn_real_t *out, int64_t width)
{
    for (int64_t k = from / 2; k < (to + 1) / 2; k++) {
        const uint32_t low = 2 * k < from ? 0 : 0xffffu, high = 2 * k + 1 < to ? 0xffff0000u : 0;
        const lanes_t there = (lanes_t){0} + (int32_t)(low | high);
        const gnn__vec_t w = gnn__vec_all(a[k * step]);
        for (int64_t c = 0; c < width; c += LANES) {
            const lanes_t x = (lanes_t)gnn__vec_load(b + k * ldb + c) & there;
            gnn__vec_store(out + c, MULTIPLY_ADD(w, x, gnn__vec_load(out + c)));
        }
    }
}

TARGET void halve(gnn_real_t *x, int64_t n)
{
    for (int64_t k = 0; k < n; k += 2 * LANES)
        gnn__vec_store(x + k / 2,
                       (gnn__vec_t)_mm512_cvtne2ps_pbh((__m512)gnn__vec_load(x + k + LANES),
                                                       (__m512)gnn__vec_load(x + k)));
}

TARGET void pair(const gnn_real_t *x, int64_t rows, int64_t ld, gnn_real_t *y)
{
    /* number l of the first row, then of the second */
    const lanes_t l = lane_numbers(), by_turns = l | ((l + LANES) << 16);
    for (int64_t r = 0; r < rows; r += 2)
        for (int64_t c = 0; c < ld; c += LANES) {
            const gnn__vec_t first = gnn__vec_load(x + r * ld + c),
                             second = r + 1 < rows ? gnn__vec_load(x + (r + 1) * ld + c)
                                                   : (gnn__vec_t){0};
            const __m512i both = (__m512i)_mm512_cvtne2ps_pbh((__m512)second, (__m512)first);
            gnn__vec_store(y + r / 2 * ld + c,
                           (gnn__vec_t)_mm512_permutexvar_epi16((__m512i)by_turns, both));
        }
}
#endif
