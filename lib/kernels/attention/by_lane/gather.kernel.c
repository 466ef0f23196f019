/* Weighted sums of rows, for each way that rows lie. */
#include <lib/kernels/attention/by_lane/gather.h>

/* `registers` registers of y (and p) from `x` on, `per_head` for each weight; `stride` numbers lie
 * between the weights of two pairs. */
GNN__INLINE void section(const lane_block_t *b, const gnn_real_t *x, int64_t ld,
                         const gnn_real_t *w, const gnn_real_t *second, int64_t stride,
                         gnn_real_t *y, gnn_real_t *p, int part, bool fresh, const int width,
                         const int registers, const int per_head, const bool two)
{
    const gnn__vec_bits_t before = (gnn__vec_bits_t){0} - (fresh ? 0 : 1);
    gnn__vec_t sum[8], sum_p[8];
    for (int v = 0; v < registers; v++) {
        sum[v] = gnn__vec_where(before, gnn__vec_load(y + v * LANES));
        sum_p[v] = two ? gnn__vec_where(before, gnn__vec_load(p + v * LANES)) : gnn__vec_all(0);
    }
    for (int e = 0; e < b->n; e++) {
        const gnn_real_t *row = x + b->other[e] * ld;
        const char *next = (const char *)(x + b->other[e + AHEAD] * ld);
        for (int byte = 0; byte < registers * GNN__VEC_BYTES; byte += 64)
            __builtin_prefetch(next + byte);
        for (int v = 0; v < registers; v++) {
            const gnn__vec_t t = gnn__vec_load(row + v * LANES);
            sum[v] += gnn__vec_pattern(w + e * stride + v / per_head, width, part + v) * t;
            if (two)
                sum_p[v] += gnn__vec_pattern(second + e * stride + v / per_head, width, part + v) * t;
        }
    }
    for (int v = 0; v < registers; v++) {
        gnn__vec_store(y + v * LANES, sum[v]);
        if (two)
            gnn__vec_store(p + v * LANES, sum_p[v]);
    }
}

/* Most registers of one section: sums, their second ones and what is read must fit the register
 * file. */
#if defined(__AVX512F__)
enum { WIDEST = 8 };
#else
enum { WIDEST = 4 };
#endif

/* Numbers from .. to - 1 of the rows. */
GNN__INLINE void sections(const lane_block_t *b, const gnn__matrix_t *m, const gnn_real_t *w,
                          const gnn_real_t *second, int64_t stride, int64_t from, int64_t to,
                          bool fresh, const int width, const bool two)
{
    int64_t x = from;
    for (; x + WIDEST * LANES <= to; x += WIDEST * LANES)
        section(b, m->at + x, m->stride, w, second, stride, b->y + x, b->p + x, 0, fresh, width,
                WIDEST, WIDEST, two);
    for (; WIDEST > 4 && x + 4 * LANES <= to; x += 4 * LANES)
        section(b, m->at + x, m->stride, w, second, stride, b->y + x, b->p + x, 0, fresh, width, 4,
                4, two);
    for (; x < to; x += LANES)
        section(b, m->at + x, m->stride, w, second, stride, b->y + x, b->p + x, (int)(x / LANES),
                fresh, width, 1, 1, two);
}

/* y (+)= weight x over the pairs of a block, and p likewise with `second` where `two`. */
#define GATHER(width)                                                                           \
    MADE gather_##width(const lane_block_t *b, const gnn__matrix_t *m, int64_t row, bool fresh, \
                        bool two)                                                               \
    {                                                                                           \
        if (two)                                                                                \
            sections(b, m, b->weight, b->second, width, 0, row, fresh, width, true);            \
        else                                                                                    \
            sections(b, m, b->weight, b->second, width, 0, row, fresh, width, false);           \
    }
GATHER(4)
GATHER(8)

/* Pairs that are added together, and numbers of a line of the caches. */
enum { TOGETHER = 4, LINE = 64 / (int)sizeof(gnn_real_t) };

/* y (and p) of all heads from pairs e .. e + count - 1: rows are read from end to end, while sums
 * stand in the nearest cache. */
GNN__INLINE void few_pairs(const gnn__lanes_t *l, const lane_block_t *b, const gnn__matrix_t *m,
                           int64_t d, int e, bool fresh, const int count, const bool two)
{
    const gnn__vec_bits_t before = (gnn__vec_bits_t){0} - (fresh ? 0 : 1);
    const gnn_real_t *x[TOGETHER], *next[TOGETHER];
    gnn_real_t *y = b->y, *p = b->p;
#pragma GCC unroll 4
    for (int k = 0; k < count; k++) {
        x[k] = gnn__matrix_row(m, b->other[e + k]);
        next[k] = gnn__matrix_row(m, b->other[e + k + AHEAD]);
    }
    for (int64_t h = 0; h < l->a->heads; h++) {
        gnn__vec_t w[TOGETHER], w_p[TOGETHER];
#pragma GCC unroll 4
        for (int k = 0; k < count; k++) {
            w[k] = gnn__vec_all(b->weight[(e + k) * l->width + h]);
            w_p[k] = gnn__vec_all(two ? b->second[(e + k) * l->width + h] : 0);
        }
        for (int64_t c = h * d; c < (h + 1) * d; c += LANES) {
            gnn__vec_t sum = gnn__vec_where(before, gnn__vec_load(y + c)),
                       sum_p = two ? gnn__vec_where(before, gnn__vec_load(p + c)) : sum;
#pragma GCC unroll 4
            for (int k = 0; k < count; k++) {
                const gnn__vec_t t = gnn__vec_load(x[k] + c);
                if (c % LINE == 0)
                    __builtin_prefetch(next[k] + c);
                sum += w[k] * t;
                if (two)
                    sum_p += w_p[k] * t;
            }
            gnn__vec_store(y + c, sum);
            if (two)
                gnn__vec_store(p + c, sum_p);
        }
    }
}

GNN__INLINE void whole_rows(const gnn__lanes_t *l, const lane_block_t *b, const gnn__matrix_t *m,
                            int64_t d, bool fresh, const bool two)
{
    int e = 0;
    for (; e + TOGETHER <= b->n; e += TOGETHER, fresh = false)
        few_pairs(l, b, m, d, e, fresh, TOGETHER, two);
    for (; e + 2 <= b->n; e += 2, fresh = false)
        few_pairs(l, b, m, d, e, fresh, 2, two);
    if (e < b->n)
        few_pairs(l, b, m, d, e, fresh, 1, two);
}

/* Rows of one section, or of few narrow heads, keep their sums in registers. */
GNN__INLINE bool one_section(int64_t heads, int64_t row)
{
    return row <= WIDEST * LANES &&
           (heads > 1 || row == LANES || row == 4 * LANES || row == WIDEST * LANES);
}

/* One weight for all numbers of a head: one head, or heads that fill whole registers. */
static __attribute__((noinline)) void gather_heads(const gnn__lanes_t *l, const lane_block_t *b,
                                                   const gnn__matrix_t *m, int64_t row, bool fresh,
                                                   bool two)
{
    const int64_t heads = l->a->heads, d = row / heads;
    if (b->n > 0 && !one_section(heads, row)) {
        two ? whole_rows(l, b, m, d, fresh, true) : whole_rows(l, b, m, d, fresh, false);
        return;
    }
    for (int64_t h = 0; h < heads; h++) {
        const gnn_real_t *w = b->weight + h, *second = b->second + h;
        if (two)
            sections(b, m, w, second, l->width, h * d, (h + 1) * d, fresh, 1, true);
        else
            sections(b, m, w, second, l->width, h * d, (h + 1) * d, fresh, 1, false);
    }
}

static void gather_narrow(const lane_block_t *b, const gnn__matrix_t *m, int count, bool fresh,
                          bool two)
{
    const gnn__vec_bits_t before = (gnn__vec_bits_t){0} - (fresh ? 0 : 1);
    gnn__vec_t p = {0}, y = two ? narrow_sum(b, m, count, 0, b->n, &p, true)
                                : narrow_sum(b, m, count, 0, b->n, NULL, false);
    gnn__vec_store(b->y, gnn__vec_where(before, gnn__vec_load(b->y)) + y);
    if (two)
        gnn__vec_store(b->p, gnn__vec_where(before, gnn__vec_load(b->p)) + p);
}

/* Registers `first` .. `first` + registers - 1 of y (and p). */
GNN__INLINE void shared_section(const gnn__lanes_t *l, const lane_block_t *b, const gnn__matrix_t *m,
                                int first, bool fresh, const int registers, const bool two)
{
    const gnn__vec_bits_t before = (gnn__vec_bits_t){0} - (fresh ? 0 : 1);
    const gnn__matrix_t part = {m->at + first * LANES, m->stride};
    gnn_real_t *y = b->y + first * LANES, *p = b->p + first * LANES;
    gnn__vec_bits_t head[4];
    gnn__vec_t sum[4], sum_p[4];
#pragma GCC unroll 4
    for (int v = 0; v < registers; v++) {
        head[v] = gnn__vec_heads(shared_width(l), first + v);
        sum[v] = gnn__vec_where(before, gnn__vec_load(y + v * LANES));
        sum_p[v] = two ? gnn__vec_where(before, gnn__vec_load(p + v * LANES)) : gnn__vec_all(0);
    }
    shared_sums(b, &part, 0, b->n, l->width, head, sum, sum_p, registers, two);
#pragma GCC unroll 4
    for (int v = 0; v < registers; v++) {
        gnn__vec_store(y + v * LANES, sum[v]);
        if (two)
            gnn__vec_store(p + v * LANES, sum_p[v]);
    }
}

GNN__INLINE void gather_shared(const gnn__lanes_t *l, const lane_block_t *b, const gnn__matrix_t *m,
                               bool fresh, const bool two)
{
    const int registers = (int)(l->value_numbers / LANES);
    if (registers == 4)
        shared_section(l, b, m, 0, fresh, 4, two);
    else
        for (int v = 0; v < registers; v++)
            shared_section(l, b, m, v, fresh, 1, two);
}

void gather(const gnn__lanes_t *l, const lane_block_t *b, const gnn__matrix_t *m, int64_t row,
            bool fresh, bool two)
{
    if (narrow_width(l))
        gather_narrow(b, m, narrow_width(l), fresh, two);
    else if (shared_width(l))
        two ? gather_shared(l, b, m, fresh, true) : gather_shared(l, b, m, fresh, false);
    else if (l->width == 1 || l->layout != GNN__PACKED)
        gather_heads(l, b, m, row, fresh, two);
    else if (l->width == 4)
        gather_4(b, m, row, fresh, two);
    else
        gather_8(b, m, row, fresh, two);
}
