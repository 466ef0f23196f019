/* Products of tiles in bf16 words by vdpbf16ps, with sums in fp32, and conversion of tiles to
 * words. On AMD's processors vdpbf16ps does twice the work of an fp32 instruction.
 *
 *     medium    a b                         a, b rounded to bf16
 *     high      a_hi b_hi                   a = a_hi + a_lo, b = b_hi + b_lo; the product of both
 *               + a_hi b_lo + a_lo b_hi     remainders is left out */
#include <lib/kernels/attention/by_tile/tile.h>

#if BF16_PRODUCTS
#define TARGET __attribute__((target("avx512bf16")))
#define MULTIPLY_ADD(w, x, sum) \
    ((gnn__vec_t)_mm512_dpbf16_ps((__m512)(sum), (__m512bh)(w), (__m512bh)(x)))
#include <lib/kernels/attention/by_tile/product_template.h>

TARGET void rounded_product(const gnn_real_t *a, int64_t row, int64_t step, int64_t rows,
                            const gnn_real_t *b, int64_t ldb, int64_t n, gnn_real_t *out,
                            int64_t ldo, int64_t width, bool add)
{
    grouped_product(a, row, step, rows, b, ldb, n, out, ldo, width, add);
}

TARGET void split_product(const gnn_real_t *a, int64_t row, int64_t step, int64_t rows,
                          const gnn_real_t *b, int64_t ldb, int64_t n, gnn_real_t *out, int64_t ldo,
                          int64_t width, bool add)
{
    for (int64_t k = 0; k < n; k += BLOCK_WORDS) {
        const gnn_real_t *x = a + word_at(true, step, k), *y = b + k * ldb;
        const int64_t words = n - k < BLOCK_WORDS ? n - k : BLOCK_WORDS,
                      remainders = remainders_at(step);
        rounded_product(x, row, step, rows, y, ldb, words, out, ldo, width, add || k > 0);
        rounded_product(x, row, step, rows, y + ldb / 2, ldb, words, out, ldo, width, true);
        rounded_product(x + remainders, row, step, rows, y, ldb, words, out, ldo, width, true);
    }
}

/* Adds one word times a row of words; `there` masks elements outside from .. to - 1. */
TARGET static void add_row(gnn_real_t word, const gnn_real_t *b, lanes_t there, gnn_real_t *out,
                           int64_t width)
{
    for (int64_t c = 0; c < width; c += LANES) {
        const lanes_t x = (lanes_t)gnn__vec_load(b + c) & there;
        gnn__vec_store(out + c, MULTIPLY_ADD(gnn__vec_all(word), x, gnn__vec_load(out + c)));
    }
}

TARGET void bf16_row_product(const gnn_real_t *a, int64_t step, const gnn_real_t *b, int64_t ldb,
                             int64_t from, int64_t to, gnn_real_t *out, int64_t width, bool split)
{
    const int64_t first = from / 2, end = (to + 1) / 2;
    for (int64_t k0 = first / BLOCK_WORDS * BLOCK_WORDS; k0 < end; k0 += BLOCK_WORDS)
        for (int part = 0; part < (split ? 3 : 1); part++) { /* a_hi b_hi, a_hi b_lo, a_lo b_hi */
            const gnn_real_t *x = a + word_at(split, step, k0) +
                                  (part == 2 ? remainders_at(step) : 0),
                             *y = b + (part == 1 ? ldb / 2 : 0);
            for (int64_t k = k0 > first ? k0 : first; k < k0 + BLOCK_WORDS && k < end; k++) {
                const uint32_t low = 2 * k < from ? 0 : 0xffffu,
                               high = 2 * k + 1 < to ? 0xffff0000u : 0;
                add_row(x[(k - k0) * step], y + k * ldb, (lanes_t){0} + (int32_t)(low | high), out,
                        width);
            }
        }
}

/* 32 elements as words, and their remainders. */
typedef struct {
    __m512i words, remainders;
} words_t;

TARGET GNN__INLINE __m512i round_both(gnn__vec_t first, gnn__vec_t second)
{
    return (__m512i)_mm512_cvtne2ps_pbh((__m512)second, (__m512)first);
}

/* The remainder of x, whose rounded value is in the low half of each lane of `near`; 0 where that
 * is infinite, or the remainder would be NaN. */
TARGET GNN__INLINE gnn__vec_t remainder_of(gnn__vec_t x, __m256i near)
{
    const lanes_t bits = (lanes_t)_mm512_cvtepu16_epi32(near) << 16;
    const lanes_t finite = (bits & 0x7fffffff) != 0x7f800000;
    return (gnn__vec_t)((lanes_t)(x - (gnn__vec_t)bits) & finite);
}

TARGET GNN__INLINE words_t split_both(gnn__vec_t first, gnn__vec_t second)
{
    const __m512i words = round_both(first, second);
    const gnn__vec_t low = remainder_of(first, _mm512_castsi512_si256(words)),
                     high = remainder_of(second, _mm512_extracti64x4_epi64(words, 1));
    return (words_t){words, round_both(low, high)};
}

TARGET void bf16_rows(gnn_real_t *x, int64_t n, bool split)
{
    for (int64_t k = 0; k < n; k += 2 * LANES) {
        const gnn__vec_t first = gnn__vec_load(x + k), second = gnn__vec_load(x + k + LANES);
        if (!split) {
            gnn__vec_store(x + k / 2, (gnn__vec_t)round_both(first, second));
            continue;
        }
        const words_t w = split_both(first, second);
        gnn__vec_store(x + k, (gnn__vec_t)w.words);
        gnn__vec_store(x + k + LANES, (gnn__vec_t)w.remainders);
    }
}

TARGET void bf16_pairs(const gnn_real_t *x, int64_t rows, int64_t ld, gnn_real_t *y, bool split)
{
    /* element l of the first row, then of the second */
    const lanes_t l = lane_indices(), by_turns = l | ((l + LANES) << 16);
    for (int64_t r = 0; r < rows; r += 2, y += split ? 2 * ld : ld)
        for (int64_t c = 0; c < ld; c += LANES) {
            const gnn__vec_t first = gnn__vec_load(x + r * ld + c),
                             second = r + 1 < rows ? gnn__vec_load(x + (r + 1) * ld + c)
                                                   : (gnn__vec_t){0};
            const words_t w =
                split ? split_both(first, second) : (words_t){round_both(first, second), {0}};
            gnn__vec_store(y + c, (gnn__vec_t)_mm512_permutexvar_epi16((__m512i)by_turns, w.words));
            if (split)
                gnn__vec_store(y + ld + c, (gnn__vec_t)_mm512_permutexvar_epi16((__m512i)by_turns,
                                                                                w.remainders));
        }
}
#endif
