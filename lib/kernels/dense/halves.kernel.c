/* Products of few rows by a matrix in 16 bits, and widening alone (halves.h). Some outputs at a
 * time walk side by side along k: each number of W is read once, from memory, and meets all rows of
 * x, which lie in the nearest cache. */
#include <lib/kernels/dense/halves.h>
#include <lib/kernels/isa.h>
#include <lib/kernels/simd/vec.h>

enum { LANES = GNN__VEC_LANES, OUTPUTS = 4, ROWS = 4 };

typedef uint16_t halves_t __attribute__((vector_size(LANES * 2)));
typedef uint16_t halves_anywhere_t __attribute__((vector_size(LANES * 2), aligned(2), may_alias));
typedef uint32_t words_t __attribute__((vector_size(LANES * 4)));
typedef float floats_t __attribute__((vector_size(LANES * 4)));

#if GNN_DOUBLE
#define AS_REAL(x) __builtin_convertvector(x, gnn__vec_t)
#else
#define AS_REAL(x) (x)
#endif

/* A float16 is 5 bits of exponent and 10 of fraction: moved to where a float has them, its exponent
 * is 112 too small. Those of exponent 0 are multiples of 2^-24 and get there by a subtraction;
 * infinities and NaN are no weights. */
GNN__INLINE floats_t from_float16(words_t w)
{
    const words_t sign = (w & 0x8000u) << 16, bits = (w & 0x7fffu) << 13;
    const words_t small = (words_t)((w & 0x7c00u) == 0);
    const floats_t least = (floats_t)(words_t){0} + 0x1p-14f;
    const words_t normal = bits + (112u << 23),
                  subnormal = (words_t)((floats_t)(bits + (113u << 23)) - least);
    return (floats_t)(sign | (subnormal & small) | (normal & ~small));
}

GNN__INLINE gnn__vec_t widened(const uint16_t *at, bool bf16)
{
    const halves_t h = *(const halves_anywhere_t *)at;
    const words_t w = __builtin_convertvector(h, words_t);
    return AS_REAL(bf16 ? (floats_t)(w << 16) : from_float16(w));
}

/* The last of a row, of fewer than LANES. */
GNN__INLINE gnn__vec_t widened_first(const uint16_t *at, int count, bool bf16)
{
    uint16_t h[LANES] = {0};
    memcpy(h, at, (size_t)count * sizeof *h);
    return widened(h, bf16);
}

GNN__INLINE gnn_real_t total(gnn__vec_t x)
{
    gnn_real_t part[LANES];
    gnn__vec_store(part, x);
    for (int n = LANES / 2; n > 0; n /= 2)
        for (int l = 0; l < n; l++)
            part[l] += part[l + n];
    return part[0];
}

/* One tile: `rows` of x by `outputs` rows of W. Both are constants where this is called. */
GNN__INLINE void tile(const gnn__halves_product_t *p, int64_t row, int64_t output, int rows,
                      int outputs, bool bf16)
{
    const int64_t k = p->w->cols, whole = k - k % LANES;
    const uint16_t *w = p->w->at + output * k;
    const gnn_real_t *x = p->x + row * p->ldx;
    gnn__vec_t sum[ROWS][OUTPUTS] = {{{0}}};
    for (int64_t i = 0; i < whole; i += LANES)
        for (int o = 0; o < outputs; o++) {
            const gnn__vec_t weight = widened(w + o * k + i, bf16);
            for (int r = 0; r < rows; r++)
                sum[r][o] += weight * gnn__vec_load(x + r * p->ldx + i);
        }
    if (whole < k)
        for (int o = 0; o < outputs; o++) {
            const gnn__vec_t weight = widened_first(w + o * k + whole, (int)(k - whole), bf16);
            for (int r = 0; r < rows; r++)
                sum[r][o] += weight * gnn__vec_load_first(x + r * p->ldx + whole, (int)(k - whole));
        }
    for (int r = 0; r < rows; r++)
        for (int o = 0; o < outputs; o++) {
            gnn_real_t *y = p->y + (row + r) * p->ldy + output + o;
            *y = total(sum[r][o]) + (p->add ? *y : p->bias ? p->bias[output + o] : 0);
        }
}

/* All rows of x by a few outputs. */
GNN__INLINE void strip(const gnn__halves_product_t *p, int64_t output, int outputs, bool bf16)
{
    int64_t row = 0;
    for (; p->rows - row >= ROWS; row += ROWS)
        tile(p, row, output, ROWS, outputs, bf16);
    if (p->rows - row == 3)
        tile(p, row, output, 3, outputs, bf16);
    else if (p->rows - row == 2)
        tile(p, row, output, 2, outputs, bf16);
    else if (p->rows - row == 1)
        tile(p, row, output, 1, outputs, bf16);
}

GNN__INLINE void strips(const gnn__halves_product_t *p, int64_t from, int64_t to, bool bf16)
{
    for (; to - from >= OUTPUTS; from += OUTPUTS)
        strip(p, from, OUTPUTS, bf16);
    for (; from < to; from++)
        strip(p, from, 1, bf16);
}

static void few(const gnn__halves_product_t *p, int64_t from, int64_t to)
{
    if (p->w->bf16)
        strips(p, from, to, true);
    else
        strips(p, from, to, false);
}

static void widen(int64_t n, bool bf16, const uint16_t *from, gnn_real_t *to)
{
    const int64_t whole = n - n % LANES;
    for (int64_t k = 0; k < whole; k += LANES)
        gnn__vec_store(to + k, widened(from + k, bf16));
    if (whole < n)
        gnn__vec_store_first(to + whole, widened_first(from + whole, (int)(n - whole), bf16),
                             (int)(n - whole));
}

extern const gnn__halves_kernels_t GNN__KERNEL(halves_kernels);
const gnn__halves_kernels_t GNN__KERNEL(halves_kernels) = {.few = few, .widen = widen};
