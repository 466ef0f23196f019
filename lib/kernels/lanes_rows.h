/* Between the kernels of attention with heads in lanes: rows of values, heads fastest or in place, and their weighted sums. Included by kernels only. */
#ifndef GNN_KERNELS_LANES_ROWS_H
#define GNN_KERNELS_LANES_ROWS_H

#include <lib/kernels/lanes_block.h>

/* ---- copies: number c of head h is at c * width + h ---- */

#if !GNN_DOUBLE && defined(__AVX512F__)
#define GNN__TRANSPOSES 1
/* Eight heads of eight numbers, either way: a transpose of 8 x 8 in four registers. */
GNN__INLINE void transpose_eight(const gnn_real_t *x, gnn_real_t *y)
{
    const __m512i low = _mm512_setr_epi32(0, 8, 16, 24, 1, 9, 17, 25, 2, 10, 18, 26, 3, 11, 19, 27),
                  high =
                      _mm512_setr_epi32(4, 12, 20, 28, 5, 13, 21, 29, 6, 14, 22, 30, 7, 15, 23, 31),
                  first = _mm512_setr_epi32(0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23),
                  second = _mm512_setr_epi32(8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29,
                                             30, 31);
    const __m512 x0 = _mm512_loadu_ps(x), x1 = _mm512_loadu_ps(x + 16),
                 x2 = _mm512_loadu_ps(x + 32), x3 = _mm512_loadu_ps(x + 48);
    const __m512 a0 = _mm512_permutex2var_ps(x0, low, x1), a1 = _mm512_permutex2var_ps(x0, high, x1),
                 b0 = _mm512_permutex2var_ps(x2, low, x3), b1 = _mm512_permutex2var_ps(x2, high, x3);
    _mm512_storeu_ps(y, _mm512_permutex2var_ps(a0, first, b0));
    _mm512_storeu_ps(y + 16, _mm512_permutex2var_ps(a0, second, b0));
    _mm512_storeu_ps(y + 32, _mm512_permutex2var_ps(a1, first, b1));
    _mm512_storeu_ps(y + 48, _mm512_permutex2var_ps(a1, second, b1));
}
#else
#define GNN__TRANSPOSES 0
static inline void transpose_eight(const gnn_real_t *x, gnn_real_t *y)
{
    for (int h = 0; h < 8; h++)
        for (int c = 0; c < 8; c++)
            y[c * 8 + h] = x[h * 8 + c];
}
#endif

static void pack_row(const gnn_real_t *x, int64_t heads, int64_t d, int width, gnn_real_t *y,
                     int64_t row)
{
    if (heads == 8 && d == 8) {
        transpose_eight(x, y);
        return;
    }
    if (width == 1) {
        memcpy(y, x, sizeof *y * (size_t)d);
        memset(y + d, 0, sizeof *y * (size_t)(row - d));
        return;
    }
    if (heads < width || d * width < row)
        memset(y, 0, sizeof *y * (size_t)row);
    for (int64_t h = 0; h < heads; h++)
        for (int64_t c = 0; c < d; c++)
            y[c * width + h] = x[h * d + c];
}

GNN__INLINE void load_row(const gnn__lanes_t *l, const gnn_real_t *x, gnn_real_t *y, const int width)
{
    if (l->packed)
        pack_row(x, l->a->heads, l->a->d_v, width, y, l->row);
    else
        memcpy(y, x, sizeof *y * (size_t)l->row);
}

static inline void store_row(const gnn__lanes_t *l, const gnn_real_t *x, gnn_real_t *y,
                             const int width)
{
    const int64_t heads = l->a->heads, d = l->a->d_v;
    if (!l->packed || width == 1)
        memcpy(y, x, sizeof *y * (size_t)(heads * d));
    else if (heads == 8 && d == 8)
        transpose_eight(x, y);
    else
        for (int64_t h = 0; h < heads; h++)
            for (int64_t c = 0; c < d; c++)
                y[h * d + c] = x[c * width + h];
}

static void add_row(const gnn__lanes_t *l, const gnn_real_t *x, gnn_real_t *y, int64_t d, int width)
{
    const int64_t heads = l->a->heads;
    gnn_real_t turned[64];
    if (heads == 8 && d == 8) {
        transpose_eight(x, turned);
        x = turned;
    } else if (l->packed && width > 1) {
        for (int64_t h = 0; h < heads; h++)
            for (int64_t c = 0; c < d; c++)
                y[h * d + c] += x[c * width + h];
        return;
    }
#pragma omp simd
    for (int64_t c = 0; c < heads * d; c++)
        y[c] += x[c];
}

GNN__INLINE void clear_row(const gnn__lanes_t *l, const block_t *b)
{
    memset(b->y, 0, sizeof *b->y * (size_t)l->row);
    memset(b->p, 0, sizeof *b->p * (size_t)l->row);
}

/* ---- products ---- */

GNN__INLINE void scale_row(const gnn__lanes_t *l, gnn_real_t *y, const gnn__vec_t *by, const int width)
{
    if (l->packed) {
        for (int64_t x = 0; x < l->row; x += LANES)
            gnn__vec_store(y + x, by[x / LANES % parts_of(width)] * gnn__vec_load(y + x));
        return;
    }
    gnn_real_t all[16];
    write_heads(all, width, by, width);
    for (int64_t h = 0; h < l->a->heads; h++, y += l->a->d_v)
        for (int64_t c = 0; c < l->a->d_v; c += LANES)
            gnn__vec_store(y + c, all[h] * gnn__vec_load(y + c));
}

/* products = x . y of each head. */
GNN__INLINE void row_products(const gnn__lanes_t *l, const gnn_real_t *x, const gnn_real_t *y,
                              gnn__vec_t *products, const int width)
{
    for (int u = 0; u < parts_of(width); u++)
        products[u] = gnn__vec_all(0);
    if (l->packed) {
        for (int64_t c = 0; c < l->row; c += LANES)
            products[c / LANES % parts_of(width)] += gnn__vec_load(x + c) * gnn__vec_load(y + c);
        for (int u = 0; u < parts_of(width); u++)
            products[u] = gnn__vec_fold(products[u], width, false);
        return;
    }
    gnn_real_t all[16] = {0};
    for (int64_t h = 0; h < l->a->heads; h++, x += l->a->d_v, y += l->a->d_v) {
        gnn__vec_t sum = gnn__vec_all(0);
        for (int64_t c = 0; c < l->a->d_v; c += LANES)
            sum += gnn__vec_load(x + c) * gnn__vec_load(y + c);
        all[h] = gnn__vec_fold(sum, 1, false)[0];
    }
    read_pattern(all, products, width);
}

/* ---- weighted sums over a block ---- */

/* `registers` registers of y (and p) from `x` on; `stride` numbers lie between the weights of two pairs. */
GNN__INLINE void section(const block_t *b, const gnn_real_t *x, int64_t ld, const gnn_real_t *w,
                         const gnn_real_t *negative, int64_t stride, gnn_real_t *y, gnn_real_t *p,
                         int part, bool fresh, const int width, const int registers, const bool two)
{
    gnn__vec_t sum[8], sum_p[8];
    for (int v = 0; v < registers; v++) {
        sum[v] = fresh ? gnn__vec_all(0) : gnn__vec_load(y + v * LANES);
        sum_p[v] = fresh || !two ? gnn__vec_all(0) : gnn__vec_load(p + v * LANES);
    }
    for (int e = 0; e < b->n; e++) {
        const gnn_real_t *row = x + b->other[e] * ld;
        const char *next = (const char *)(x + b->other[e + AHEAD] * ld);
        for (int byte = 0; byte < registers * GNN__VEC_BYTES; byte += 64)
            __builtin_prefetch(next + byte);
        for (int v = 0; v < registers; v++) {
            const gnn__vec_t t = gnn__vec_load(row + v * LANES);
            sum[v] += gnn__vec_pattern(w + e * stride, width, part + v) * t;
            if (two)
                sum_p[v] += gnn__vec_pattern(negative + e * stride, width, part + v) * t;
        }
    }
    for (int v = 0; v < registers; v++) {
        gnn__vec_store(y + v * LANES, sum[v]);
        if (two)
            gnn__vec_store(p + v * LANES, sum_p[v]);
    }
}

/* Most registers of one section: sums, their second ones and what is read must fit the register file. */
#if defined(__AVX512F__)
enum { WIDEST = 8 };
#else
enum { WIDEST = 4 };
#endif

/* Numbers from .. to - 1 of the rows. */
GNN__INLINE void sections(const block_t *b, const gnn__matrix_t *m, const gnn_real_t *w,
                          const gnn_real_t *negative, int64_t stride, int64_t from, int64_t to,
                          bool fresh, const int width, const bool two)
{
    int64_t x = from;
    for (; x + WIDEST * LANES <= to; x += WIDEST * LANES)
        section(b, m->at + x, m->stride, w, negative, stride, b->y + x, b->p + x, 0, fresh, width,
                WIDEST, two);
    for (; WIDEST > 4 && x + 4 * LANES <= to; x += 4 * LANES)
        section(b, m->at + x, m->stride, w, negative, stride, b->y + x, b->p + x, 0, fresh, width,
                4, two);
    for (; x < to; x += LANES)
        section(b, m->at + x, m->stride, w, negative, stride, b->y + x, b->p + x, (int)(x / LANES),
                fresh, width, 1, two);
}

/* y (+)= weight x over the pairs of a block, and p likewise with `negative` where `two`. */
#define GATHER(width)                                                                   \
    static __attribute__((noinline, unused)) void gather_##width(                       \
        const block_t *b, const gnn__matrix_t *m, int64_t row, bool fresh, bool two)    \
    {                                                                                   \
        if (two)                                                                        \
            sections(b, m, b->weight, b->negative, width, 0, row, fresh, width, true);  \
        else                                                                            \
            sections(b, m, b->weight, b->negative, width, 0, row, fresh, width, false); \
    }
GATHER(4)
GATHER(8)
GATHER(16)

/* One weight for all numbers of a head: one head, or heads that fill whole registers. */
static __attribute__((noinline)) void gather_heads(const gnn__lanes_t *l, const block_t *b,
                                                   const gnn__matrix_t *m, int64_t row, bool fresh,
                                                   bool two)
{
    const int64_t heads = l->packed ? 1 : l->a->heads, d = row / heads;
    for (int64_t h = 0; h < heads; h++) {
        const gnn_real_t *w = b->weight + h, *negative = b->negative + h;
        if (two)
            sections(b, m, w, negative, l->width, h * d, (h + 1) * d, fresh, 1, true);
        else
            sections(b, m, w, negative, l->width, h * d, (h + 1) * d, fresh, 1, false);
    }
}

GNN__INLINE void gather(const gnn__lanes_t *l, const block_t *b, const gnn__matrix_t *m,
                        int64_t row, bool fresh, bool two, const int width)
{
    if (width == 1 || !l->packed)
        gather_heads(l, b, m, row, fresh, two);
    else if (width == 4)
        gather_4(b, m, row, fresh, two);
    else if (width == 8)
        gather_8(b, m, row, fresh, two);
    else
        gather_16(b, m, row, fresh, two);
}

/* ---- products of the row's own numbers with the pairs' ---- */

/* out = scale times own . x of each head, for every pair. */
GNN__INLINE void pair_products(const block_t *b, const gnn_real_t *own, const gnn__matrix_t *m,
                               int64_t row, gnn_real_t scale, gnn_real_t *out, const int width)
{
    for (int e = 0; e < b->n; e++) {
        const gnn_real_t *x = gnn__matrix_row(m, b->other[e]),
                         *next = gnn__matrix_row(m, b->other[e + AHEAD]);
        gnn__vec_t sum[PATTERN];
        for (int u = 0; u < parts_of(width); u++)
            sum[u] = gnn__vec_all(0);
        for (int64_t c = 0; c < row; c += LANES) {
            __builtin_prefetch(next + c);
            sum[c / LANES % parts_of(width)] += gnn__vec_load(own + c) * gnn__vec_load(x + c);
        }
        for (int u = 0; u < parts_of(width); u++)
            gnn__vec_put(out + e * width, scale * gnn__vec_fold(sum[u], width, false), width, u);
    }
}

/* out = a . leaky(own + x) of each head. */
GNN__INLINE void pair_scores_v2(const block_t *b, const gnn_real_t *own, const gnn__matrix_t *m,
                                int64_t row, const gnn_real_t *a, gnn_real_t slope, gnn_real_t *out,
                                const int width)
{
    for (int e = 0; e < b->n; e++) {
        const gnn_real_t *x = gnn__matrix_row(m, b->other[e]),
                         *next = gnn__matrix_row(m, b->other[e + AHEAD]);
        gnn__vec_t sum[PATTERN];
        for (int u = 0; u < parts_of(width); u++)
            sum[u] = gnn__vec_all(0);
        for (int64_t c = 0; c < row; c += LANES) {
            __builtin_prefetch(next + c);
            sum[c / LANES % parts_of(width)] +=
                gnn__vec_load(a + c) * leaky(gnn__vec_load(own + c) + gnn__vec_load(x + c), slope);
        }
        for (int u = 0; u < parts_of(width); u++)
            gnn__vec_put(out + e * width, gnn__vec_fold(sum[u], width, false), width, u);
    }
}

/* Scores of a block's pairs from rows of keys and queries; behind the last pair minus infinity. */
#define PAIR_SCORES(width)                                                                      \
    static __attribute__((noinline, unused)) void pair_scores_##width(                          \
        const gnn__lanes_t *l, const block_t *b, const gnn_real_t *own, const gnn__matrix_t *m) \
    {                                                                                           \
        if (l->a->score == GNN__SCORE_DOT)                                                      \
            pair_products(b, own, m, l->key_row, l->a->scale, b->score, width);                 \
        else                                                                                    \
            pair_scores_v2(b, own, m, l->key_row, l->weights, l->a->slope, b->score, width);    \
        for (int x = b->n * width; x < padded(b->n * width); x++)                               \
            b->score[x] = -INFINITY;                                                            \
    }
PAIR_SCORES(1)
PAIR_SCORES(4)
PAIR_SCORES(8)
PAIR_SCORES(16)

GNN__INLINE void pair_scores(const gnn__lanes_t *l, const block_t *b, const gnn_real_t *own,
                             const gnn__matrix_t *m, const int width)
{
    if (width == 1)
        pair_scores_1(l, b, own, m);
    else if (width == 4)
        pair_scores_4(l, b, own, m);
    else if (width == 8)
        pair_scores_8(l, b, own, m);
    else
        pair_scores_16(l, b, own, m);
}

#endif
