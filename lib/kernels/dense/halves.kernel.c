/* Products of few rows by a matrix in 16 bits, and widening alone (halves.h). Some outputs at a
 * time walk side by side along k: each number of W is read once, from memory, and meets all rows of
 * x, which lie in the nearest cache. */
#include <lib/kernels/dense/halves.h>
#include <lib/kernels/isa.h>
#include <lib/kernels/simd/vec.h>

/* Sums of OUTPUTS by ROWS want more than the 16 registers of AVX2. */
#if defined(__AVX512F__)
#define MANY_REGISTERS true
#else
#define MANY_REGISTERS false
#endif

/* LINE: numbers of a line of the caches. */
enum { LANES = GNN__VEC_LANES, OUTPUTS = 4, ROWS = 4, LINE = 32 };

typedef uint32_t words_t __attribute__((vector_size(LANES * 4)));
typedef float floats_t __attribute__((vector_size(LANES * 4)));

#if GNN_DOUBLE
#define AS_REAL(x) __builtin_convertvector(x, gnn__vec_t)
#else
#define AS_REAL(x) (x)
#endif

/* gcc widens a vector in halves and puts those together again: hence the instructions by name. */
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

/* A float16 is 5 bits of exponent and 10 of fraction: moved to where a float has them, its exponent
 * is 112 too small. Those of exponent 0 are multiples of 2^-24 and get there by a subtraction;
 * infinities and NaN are no weights. */
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

/* LANES numbers of each row of W and x. */
GNN__INLINE void step(const gnn__halves_product_t *p, const uint16_t *w, const gnn_real_t *x,
                      int rows, int outputs, bool bf16, gnn__vec_t sum[ROWS][OUTPUTS])
{
    for (int o = 0; o < outputs; o++) {
        const gnn__vec_t weight = widened(w + o * p->w->cols, bf16);
        for (int r = 0; r < rows; r++)
            sum[r][o] += weight * gnn__vec_load(x + r * p->ldx);
    }
}

/* A line of W that a later strip will read: into the nearest cache, unless several rows of x fill
 * that. */
GNN__INLINE void ask_for(const uint16_t *line, int64_t row, int rows)
{
    if (row > 0)
        return;
    if (rows == 1)
        __builtin_prefetch(line);
    else
        __builtin_prefetch(line, 0, 2);
}

/* One tile: `rows` of x by `outputs` rows of W. Both are constants where this is called. The rows
 * of W that come next are asked for a strip ahead, in the order in which they lie: processors
 * foresee few of several short rows side by side. */
GNN__INLINE void tile(const gnn__halves_product_t *p, int64_t row, int64_t output, int rows,
                      int outputs, bool bf16)
{
    const int64_t k = p->w->cols, whole = k - k % LANES;
    const uint16_t *w = p->w->at + output * k;
    const gnn_real_t *x = p->x + row * p->ldx;
    gnn__vec_t sum[ROWS][OUTPUTS] = {{{0}}};
    int64_t i = 0;
    for (; i + LINE <= k; i += LINE) {
        for (int o = 0; o < outputs; o++)
            ask_for(w + outputs * (k + i) + o * LINE, row, rows);
        for (int l = 0; l < LINE; l += LANES)
            step(p, w + i + l, x + i + l, rows, outputs, bf16, sum);
    }
    for (; i < whole; i += LANES)
        step(p, w + i, x + i, rows, outputs, bf16, sum);
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
    if (p->rows <= 2 || MANY_REGISTERS)
        for (; to - from >= OUTPUTS; from += OUTPUTS)
            strip(p, from, OUTPUTS, bf16);
    for (; to - from >= 2; from += 2)
        strip(p, from, 2, bf16);
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
