/* What forward and backward of attention with heads in lanes share: blocks of pairs with their dropout, weighted sums, and scores from rows. */
#include <lib/kernels/lanes_few.h>
#include <lib/kernels/lanes_rows.h>
#include <lib/kernels/philox_lanes.h>

#include <math.h>

/* ---- patterns ---- */

void read_some(const gnn_real_t *at, int64_t heads, gnn__vec_t *x, gnn_real_t none, int width)
{
    gnn_real_t all[ROOM];
    for (int h = 0; h < ROOM; h++)
        all[h] = none;
    memcpy(all, at, sizeof *at * (size_t)heads);
    read_pattern(all, x, width);
}

void write_some(gnn_real_t *at, int64_t heads, const gnn__vec_t *x, bool add, int width)
{
    gnn_real_t all[ROOM];
    gnn__vec_t before[PATTERN];
    fill(before, 0);
    if (add)
        read_some(at, heads, before, 0, width);
    for (int u = 0; u < parts_of(width); u++)
        gnn__vec_put(all, x[u] + before[u], width, u);
    memcpy(at, all, sizeof *at * (size_t)heads);
}

/* ---- blocks ---- */

static gnn_real_t *carve(gnn_real_t **at, int64_t count)
{
    gnn_real_t *memory = *at;
    *at += (count + 15) / 16 * 16;
    return memory;
}

block_t block_at(const gnn__lanes_t *l, int64_t row1, gnn_real_t *scratch)
{
    block_t b = {.row1 = row1, .own_from = -OWN, .scale = l->a->dropout ? l->a->dropout->scale : 0};
    const int64_t indices = PAIRS + 2 * DRAWS, pairs = PAIRS * l->width + 16;
    b.copied = (uint32_t *)carve(&scratch, indices);
    b.ends[0] = (uint32_t *)carve(&scratch, DRAWN + DRAWS);
    b.ends[1] = (uint32_t *)carve(&scratch, DRAWN + DRAWS);
    memset(b.copied, 0, sizeof *b.copied * (size_t)indices);
    memset(b.ends[0], 0, sizeof *b.ends[0] * (DRAWN + DRAWS));
    memset(b.ends[1], 0, sizeof *b.ends[1] * (DRAWN + DRAWS));
    b.score = carve(&scratch, pairs);
    b.weight = carve(&scratch, pairs);
    b.negative = carve(&scratch, pairs);
    b.drawn = carve(&scratch, DRAWN * l->width + 16);
    if (l->a->dropout) /* behind the last pair stands something, whatever it is: its weight is 0 */
        memset(b.drawn, 0,
               sizeof(gnn_real_t) * (size_t)(DRAWN * l->width / (GNN__KEEPS_BITS ? 32 : 1) + 16));
    b.y = carve(&scratch, l->row + l->key_row);
    b.p = carve(&scratch, l->row > l->key_row ? l->row : l->key_row);
    b.columns = scratch;
    return b;
}

/* Draws for the pairs from place `at` of `row` on: a window over this and the next rows; on spans, whose places are not their own, for this row. */
static void draw(const gnn__lanes_t *l, block_t *b, int64_t row, int64_t at, int64_t to)
{
    const gnn__pairs_t *p = &l->a->pairs;
    uint32_t *others = b->ends[1];
    int n = 0;
    b->drawn_from = at;
    for (int64_t r = row; r < b->row1 && n < DRAWN; r++) {
        const uint32_t node = (uint32_t)gnn__pairs_node(p, r);
        const int count = to - at < DRAWN - n ? (int)(to - at) : DRAWN - n;
        for (int e = 0; e < count; e += DRAWS)
            for (int lane = 0; lane < DRAWS; lane++)
                b->ends[0][n + e + lane] = node; /* what is too many, the next row writes again */
        n += count;
        at += count;
        if (!p->indptr || r + 1 == b->row1)
            break;
        to = p->indptr[r + 2];
    }
    b->drawn_to = p->indptr ? at : b->drawn_from;
    at -= n;
    if (p->indptr && at + n + DRAWS <= p->indptr[p->n_rows])
        others = (uint32_t *)p->indices + at;
    else
        for (int e = 0; e < n; e++)
            others[e] = (uint32_t)gnn__pairs_col(p, at + e);
    gnn__keep_patterns(l->a->dropout, n, l->a->transposed ? others : b->ends[0],
                       l->a->transposed ? b->ends[0] : others, b->drawn, l->width);
}

/* The pairs at places at .. of a row; nodes of the next rows behind them, for the prefetch. */
void block_load(const gnn__lanes_t *l, block_t *b, int64_t row, int64_t at, int64_t to)
{
    const gnn__pairs_t *p = &l->a->pairs;
    b->n = (int)(to - at < PAIRS ? to - at : PAIRS);
    const int64_t end = p->indptr ? p->indptr[p->n_rows] : to,
                  there = end - at < b->n + AHEAD ? end - at : b->n + AHEAD;
    b->other = b->copied;
    if (p->indptr && at + PAIRS + 2 * DRAWS <= end)
        b->other = (const uint32_t *)p->indices + at;
    else
        for (int64_t e = 0; e < b->n + AHEAD; e++)
            b->copied[e] = (uint32_t)gnn__pairs_col(p, at + (e < there ? e : there - 1));
    if (!l->a->dropout)
        return;
    if (at < b->drawn_from || at + b->n > b->drawn_to)
        draw(l, b, row, at, p->indptr ? p->indptr[row + 1] : to);
    b->kept = (at - b->drawn_from) * l->width;
}

/* ---- weighted sums over a block ---- */

/* `registers` registers of y (and p) from `x` on, `per_head` for each weight; `stride` numbers lie between the weights of two pairs. */
GNN__INLINE void section(const block_t *b, const gnn_real_t *x, int64_t ld, const gnn_real_t *w,
                         const gnn_real_t *negative, int64_t stride, gnn_real_t *y, gnn_real_t *p,
                         int part, bool fresh, const int width, const int registers,
                         const int per_head, const bool two)
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
                sum_p[v] +=
                    gnn__vec_pattern(negative + e * stride + v / per_head, width, part + v) * t;
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
                WIDEST, WIDEST, two);
    for (; WIDEST > 4 && x + 4 * LANES <= to; x += 4 * LANES)
        section(b, m->at + x, m->stride, w, negative, stride, b->y + x, b->p + x, 0, fresh, width,
                4, 4, two);
    for (; x < to; x += LANES)
        section(b, m->at + x, m->stride, w, negative, stride, b->y + x, b->p + x, (int)(x / LANES),
                fresh, width, 1, 1, two);
}

/* y (+)= weight x over the pairs of a block, and p likewise with `negative` where `two`. */
#define GATHER(width)                                                                                \
    MADE gather_##width(const block_t *b, const gnn__matrix_t *m, int64_t row, bool fresh, bool two) \
    {                                                                                                \
        if (two)                                                                                     \
            sections(b, m, b->weight, b->negative, width, 0, row, fresh, width, true);               \
        else                                                                                         \
            sections(b, m, b->weight, b->negative, width, 0, row, fresh, width, false);              \
    }
GATHER(4)
GATHER(8)

/* Two heads at once where one would fill half a section: more is read of a row at a time. Returns how many heads are done. */
GNN__INLINE int64_t head_pairs(const gnn__lanes_t *l, const block_t *b, const gnn__matrix_t *m,
                               int64_t heads, bool fresh, const bool two)
{
    const int64_t d = 4 * LANES;
    int64_t h = 0;
    for (; h + 2 <= heads; h += 2)
        section(b, m->at + h * d, m->stride, b->weight + h, b->negative + h, l->width, b->y + h * d,
                b->p + h * d, 0, fresh, 1, WIDEST, 4, two);
    return h;
}

/* One weight for all numbers of a head: one head, or heads that fill whole registers. */
static __attribute__((noinline)) void gather_heads(const gnn__lanes_t *l, const block_t *b,
                                                   const gnn__matrix_t *m, int64_t row, bool fresh,
                                                   bool two)
{
    const int64_t heads = l->a->heads, d = row / heads;
    int64_t h = 0;
    if (WIDEST == 8 && d == 4 * LANES && heads > 1)
        h = two ? head_pairs(l, b, m, heads, fresh, true) : head_pairs(l, b, m, heads, fresh, false);
    for (; h < heads; h++) {
        const gnn_real_t *w = b->weight + h, *negative = b->negative + h;
        if (two)
            sections(b, m, w, negative, l->width, h * d, (h + 1) * d, fresh, 1, true);
        else
            sections(b, m, w, negative, l->width, h * d, (h + 1) * d, fresh, 1, false);
    }
}

static void gather_narrow(const block_t *b, const gnn__matrix_t *m, int count, bool fresh, bool two)
{
    const gnn__vec_bits_t before = (gnn__vec_bits_t){0} - (fresh ? 0 : 1);
    gnn__vec_t p = {0}, y = two ? narrow_sum(b, m, count, 0, b->n, &p, true)
                                : narrow_sum(b, m, count, 0, b->n, NULL, false);
    gnn__vec_store(b->y, gnn__vec_where(before, gnn__vec_load(b->y)) + y);
    if (two)
        gnn__vec_store(b->p, gnn__vec_where(before, gnn__vec_load(b->p)) + p);
}

/* Registers `first` .. `first` + registers - 1 of y (and p). */
GNN__INLINE void shared_section(const gnn__lanes_t *l, const block_t *b, const gnn__matrix_t *m,
                                int first, bool fresh, const int registers, const bool two)
{
    const gnn__vec_bits_t before = (gnn__vec_bits_t){0} - (fresh ? 0 : 1);
    const gnn__matrix_t part = {m->at + first * LANES, m->stride};
    gnn_real_t *y = b->y + first * LANES, *p = b->p + first * LANES;
    gnn__vec_bits_t head[4];
    gnn__vec_t sum[4], sum_p[4];
#pragma GCC unroll 4
    for (int v = 0; v < registers; v++) {
        head[v] = gnn__vec_heads(shared(l), first + v);
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

GNN__INLINE void gather_shared(const gnn__lanes_t *l, const block_t *b, const gnn__matrix_t *m,
                               bool fresh, const bool two)
{
    const int registers = (int)(l->row / LANES);
    if (registers == 4)
        shared_section(l, b, m, 0, fresh, 4, two);
    else
        for (int v = 0; v < registers; v++)
            shared_section(l, b, m, v, fresh, 1, two);
}

void gather(const gnn__lanes_t *l, const block_t *b, const gnn__matrix_t *m, int64_t row,
            bool fresh, bool two)
{
    if (narrow(l))
        gather_narrow(b, m, narrow(l), fresh, two);
    else if (shared(l))
        two ? gather_shared(l, b, m, fresh, true) : gather_shared(l, b, m, fresh, false);
    else if (l->width == 1 || l->layout != GNN__PACKED)
        gather_heads(l, b, m, row, fresh, two);
    else if (l->width == 4)
        gather_4(b, m, row, fresh, two);
    else
        gather_8(b, m, row, fresh, two);
}

/* ---- scores ---- */

/* Of rows of four registers, keys' and values' as long; pairs are taken two by two. `two`: products too. */
GNN__INLINE void four_pairs(const gnn__lanes_t *l, const block_t *b, const gnn_real_t *own_key,
                            gnn__matrix_t keys, const gnn_real_t *own_value, gnn__matrix_t values,
                            const bool two)
{
    const bool bent = l->a->score != GNN__SCORE_DOT, apart = two && keys.at != values.at,
               records = two && l->a->transposed;
    const gnn__matrix_t record = l->records;
    const gnn_real_t scale = bent ? 1 : l->a->scale;
    const four_t key = four_of(own_key, bent ? l->weights : own_key, l->a->slope),
                 value = four_of(two ? own_value : own_key, own_key, 0);
    const uint32_t *others = b->other;
    gnn_real_t *scores = b->score, *products = b->negative;
    const int n = b->n;
#pragma GCC unroll 1
    for (int e = 0; e < n; e += 2, scores += LANES, products += LANES) {
        gnn__vec_t score[2], product[2];
        for (int pair = 0; pair < 2; pair++) {
            const uint32_t other = others[e + pair], next = others[e + pair + AHEAD];
            prefetch_four(gnn__matrix_row(&keys, next));
            if (apart)
                prefetch_four(gnn__matrix_row(&values, next));
            if (records)
                __builtin_prefetch(gnn__matrix_row(&record, next));
            score[pair] = four_product(&key, gnn__matrix_row(&keys, other), bent);
            product[pair] =
                two ? four_product(&value, gnn__matrix_row(&values, other), false) : score[pair];
        }
        gnn__vec_store(scores, scale * gnn__vec_fold_two(score[0], score[1]));
        if (two)
            gnn__vec_store(products, gnn__vec_fold_two(product[0], product[1]));
    }
}

#define ROW_PRODUCTS(width)                                                                    \
    MADE row_products_##width(const block_t *b, const gnn_real_t *own, const gnn__matrix_t *m, \
                              int64_t row, gnn_real_t scale, const gnn_real_t *a,              \
                              gnn_real_t slope, gnn_real_t *out)                               \
    {                                                                                          \
        if (a)                                                                                 \
            pair_products(b, own, m, row, scale, a, slope, out, width);                        \
        else                                                                                   \
            pair_products(b, own, m, row, scale, NULL, 0, out, width);                         \
    }
FOR_WIDTHS(ROW_PRODUCTS)

static void any_pairs(const gnn__lanes_t *l, const block_t *b, const gnn_real_t *own_key,
                      const gnn__matrix_t *keys, const gnn_real_t *own_value,
                      const gnn__matrix_t *values)
{
    const bool dot = l->a->score == GNN__SCORE_DOT;
    BY_WIDTH(l->width, row_products, b, own_key, keys, l->key_row, dot ? l->a->scale : 1,
             dot ? NULL : l->weights, l->a->slope, b->score);
    if (own_value)
        BY_WIDTH(l->width, row_products, b, own_value, values, l->row, 1, NULL, 0, b->negative);
}

void pair_scores(const gnn__lanes_t *l, const block_t *b, const gnn_real_t *own_key,
                 const gnn__matrix_t *keys, const gnn_real_t *own_value, const gnn__matrix_t *values)
{
    if (few(l))
        few_scores(l, b, own_key, own_value);
    else if (in_four_registers(l->width, l->key_row) && l->row == l->key_row)
        own_value ? four_pairs(l, b, own_key, *keys, own_value, *values, true)
                  : four_pairs(l, b, own_key, *keys, NULL, *values, false);
    else
        any_pairs(l, b, own_key, keys, own_value, values);
    for (int x = b->n * l->width; x < padded(b->n * l->width); x++)
        b->score[x] = -INFINITY;
}
