/* Blocks of pairs (lane_block.h): padded patterns, loading pairs and their dropout, packing and
 * scaling rows of values, and weighted sums of rows in each layout.
 *
 *     block of 5 pairs, width 4, 8 lanes:
 *     other     j0  j1  j2  j3  j4 | j5 ..    AHEAD more nodes, for prefetches
 *     score     j0 h0-h3, j1 h0-h3 | j2, j3 | j4, -inf
 *     weight    the same, 0 after the last pair
 *
 * A gather walks over all pairs once per section, some registers of a row whose sums stay in
 * registers:
 *
 *               section 0          section 1
 *     row j0    [r0 r1 r2 r3]      [r4 r5 r6 r7]
 *     row j1    [r0 r1 r2 r3]      [r4 r5 r6 r7]
 *                += w(pair) x       += w(pair) x
 *
 * Rows wider than a section, with one weight per head, are instead read from end to end, TOGETHER
 * pairs at a time, while their sums stay in the first-level cache. */
#include <lib/kernels/attention/by_lane/lane_block.h>

/* ---- padded patterns ---- */

void read_some(const gnn_real_t *at, int64_t heads, gnn__vec_t *x, gnn_real_t none, int width)
{
    gnn_real_t all[PATTERN_ROOM];
    for (int h = 0; h < PATTERN_ROOM; h++)
        all[h] = none;
    memcpy(all, at, sizeof *at * (size_t)heads);
    read_pattern(all, x, width);
}

void write_some(gnn_real_t *at, int64_t heads, const gnn__vec_t *x, bool add, int width)
{
    gnn_real_t all[PATTERN_ROOM];
    gnn__vec_t before[PATTERN];
    fill_pattern(before, 0);
    if (add)
        read_some(at, heads, before, 0, width);
    for (int u = 0; u < pattern_registers(width); u++)
        gnn__vec_store_pattern(all, x[u] + before[u], width, u);
    memcpy(at, all, sizeof *at * (size_t)heads);
}

/* ---- blocks of pairs ---- */

lane_block_t lane_block_carve(const gnn__lanes_t *l, int64_t row1, gnn_real_t *scratch)
{
    lane_block_t b = {
        .row1 = row1, .own_from = -FACTOR_ROWS, .scale = l->a->dropout ? l->a->dropout->scale : 0};
    const int64_t indices = BLOCK_PAIRS + 2 * DRAW_STEP, pairs = BLOCK_PAIRS * l->width + 16;
    gnn__carve_t c = {.base = (char *)scratch};
    b.copied = gnn__carve(&c, indices, sizeof *b.copied);
    b.ends[0] = gnn__carve(&c, DRAW_PAIRS + DRAW_STEP, sizeof *b.ends[0]);
    b.ends[1] = gnn__carve(&c, DRAW_PAIRS + DRAW_STEP, sizeof *b.ends[1]);
    memset(b.copied, 0, sizeof *b.copied * (size_t)indices);
    memset(b.ends[0], 0, sizeof *b.ends[0] * (DRAW_PAIRS + DRAW_STEP));
    memset(b.ends[1], 0, sizeof *b.ends[1] * (DRAW_PAIRS + DRAW_STEP));
    b.score = gnn__carve(&c, pairs, sizeof *b.score);
    b.weight = gnn__carve(&c, pairs, sizeof *b.weight);
    b.second = gnn__carve(&c, pairs, sizeof *b.second);
    b.edge = gnn__carve(&c, pairs, sizeof *b.edge);
    b.drawn = gnn__carve(&c, DRAW_PAIRS * l->width + 16, sizeof(gnn_real_t));
    if (l->a->dropout) /* elements after the last pair must be defined; their weight is 0 */
        memset(b.drawn, 0,
               sizeof(gnn_real_t) * (size_t)(DRAW_PAIRS * l->width / (GNN__KEEPS_BITS ? 32 : 1) + 16));
    b.y = gnn__carve(&c, l->value_numbers + l->key_numbers, sizeof *b.y);
    b.p = gnn__carve(&c, gnn__max(l->value_numbers, l->key_numbers), sizeof *b.p);
    for (int k = 0; k < 2; k++)
        b.sums[k] = gnn__carve(&c, 16 * l->a->d_e, sizeof *b.sums[k]);
    if (l->a->d_e > 0) {
        b.features = gnn__carve(&c, BLOCK_PAIRS, sizeof *b.features);
        b.zeros = gnn__carve(&c, l->a->d_e, sizeof *b.zeros);
        b.rows = gnn__carve(&c, BLOCK_PAIRS * l->row_numbers, sizeof *b.rows);
        memset(b.zeros, 0, sizeof *b.zeros * (size_t)l->a->d_e);
    }
    b.columns = gnn__carve(&c, 0, sizeof *b.columns);
    return b;
}

/* The key of a node's draws. */
static uint32_t key_of(const gnn__lanes_t *l, int64_t node)
{
    return (uint32_t)(l->a->nodes ? l->a->nodes[node] : node);
}

/* Draws dropout for the pairs from slot `at` of `row` on: on edges for a window over this and the
 * next rows; on spans, where rows share slots, for this row. */
static void draw(const gnn__lanes_t *l, lane_block_t *b, int64_t row, int64_t at, int64_t to)
{
    const gnn__pairs_t *p = &l->a->pairs;
    uint32_t *others = b->ends[1];
    int n = 0;
    b->drawn_from = at;
    for (int64_t r = row; r < b->row1 && n < DRAW_PAIRS; r++) {
        const uint32_t node = key_of(l, gnn__pairs_node(p, r));
        const int count = to - at < DRAW_PAIRS - n ? (int)(to - at) : DRAW_PAIRS - n;
        for (int e = 0; e < count; e += DRAW_STEP)
            for (int lane = 0; lane < DRAW_STEP; lane++)
                b->ends[0][n + e + lane] = node; /* the next row overwrites the excess */
        n += count;
        at += count;
        if (!p->indptr || r + 1 == b->row1)
            break;
        to = p->indptr[r + 2];
    }
    b->drawn_to = p->indptr ? at : b->drawn_from;
    at -= n;
    if (p->indptr && !l->a->nodes && at + n + DRAW_STEP <= p->indptr[p->n_rows])
        others = (uint32_t *)p->indices + at;
    else
        for (int e = 0; e < n; e++)
            others[e] = key_of(l, gnn__pairs_col(p, at + e));
    if (l->a->transposed)
        gnn__keep_patterns(l->a->dropout, n, others, b->ends[0], b->drawn, l->width);
    else
        gnn__keep_patterns(l->a->dropout, n, b->ends[0], others, b->drawn, l->width);
}

void lane_block_load(const gnn__lanes_t *l, lane_block_t *b, int64_t row, int64_t at, int64_t to)
{
    const gnn__pairs_t *p = &l->a->pairs;
    b->n = (int)(to - at < BLOCK_PAIRS ? to - at : BLOCK_PAIRS);
    b->at = at;
    const int64_t end = p->indptr ? p->indptr[p->n_rows] : to;
    const int64_t there = end - at < b->n + AHEAD ? end - at : b->n + AHEAD;
    b->other = b->copied;
    b->coming = 0;
    if (p->indptr && at + BLOCK_PAIRS + 2 * DRAW_STEP <= end)
        b->other = (const uint32_t *)p->indices + at;
    else
        for (int64_t e = 0; e < b->n + AHEAD; e++)
            b->copied[e] = (uint32_t)gnn__pairs_col(p, at + (e < there ? e : there - 1));
    if (!l->a->dropout || (l->a->transposed && l->pair_weights.at))
        return;
    if (at < b->drawn_from || at + b->n > b->drawn_to)
        draw(l, b, row, at, p->indptr ? p->indptr[row + 1] : to);
    b->kept = (at - b->drawn_from) * l->width;
}

/* ---- rows of values ---- */

#if !GNN_DOUBLE && defined(__AVX512F__)
#define TRANSPOSES 1
/* Packs or unpacks a row of 8 heads x 8: a transpose of 8 x 8 in four registers (AVX-512) or in
 * eight (AVX2). */
GNN__INLINE void transpose_eight(const gnn_real_t *x, gnn_real_t *y)
{
    const __m512i low = _mm512_setr_epi32(0, 8, 16, 24, 1, 9, 17, 25, 2, 10, 18, 26, 3, 11, 19, 27);
    const __m512i high =
        _mm512_setr_epi32(4, 12, 20, 28, 5, 13, 21, 29, 6, 14, 22, 30, 7, 15, 23, 31);
    const __m512i first = _mm512_setr_epi32(0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23);
    const __m512i second =
        _mm512_setr_epi32(8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31);
    const __m512 x0 = _mm512_loadu_ps(x), x1 = _mm512_loadu_ps(x + 16);
    const __m512 x2 = _mm512_loadu_ps(x + 32), x3 = _mm512_loadu_ps(x + 48);
    const __m512 a0 = _mm512_permutex2var_ps(x0, low, x1), a1 = _mm512_permutex2var_ps(x0, high, x1);
    const __m512 b0 = _mm512_permutex2var_ps(x2, low, x3), b1 = _mm512_permutex2var_ps(x2, high, x3);
    _mm512_storeu_ps(y, _mm512_permutex2var_ps(a0, first, b0));
    _mm512_storeu_ps(y + 16, _mm512_permutex2var_ps(a0, second, b0));
    _mm512_storeu_ps(y + 32, _mm512_permutex2var_ps(a1, first, b1));
    _mm512_storeu_ps(y + 48, _mm512_permutex2var_ps(a1, second, b1));
}
#elif defined(GNN__VEC_TRANSPOSE)
#define TRANSPOSES 1
GNN__INLINE void transpose_eight(const gnn_real_t *x, gnn_real_t *y)
{
    const gnn_real_t *const rows[] = {x, x + 8, x + 16, x + 24, x + 32, x + 40, x + 48, x + 56};
    gnn__vec_transpose(rows, 0, y, 8);
}
#endif

void pack_row(const gnn_real_t *x, int64_t heads, int64_t d, int width, gnn_real_t *y, int64_t row)
{
#ifdef TRANSPOSES
    if (heads == 8 && d == 8) {
        transpose_eight(x, y);
        return;
    }
#endif
    if (width == 1) {
        for (; d >= LANES; d -= LANES, row -= LANES, x += LANES, y += LANES)
            gnn__vec_store(y, gnn__vec_load(x));
        for (; row > 0; row -= LANES, y += LANES, d = 0)
            gnn__vec_store(y, gnn__vec_load_first(x, (int)d));
        return;
    }
    if (heads < width || d * width < row)
        memset(y, 0, sizeof *y * (size_t)row);
    for (int64_t h = 0; h < heads; h++)
        for (int64_t c = 0; c < d; c++)
            y[c * width + h] = x[h * d + c];
}

/* y = x, or y += x, for d elements; x is padded to whole registers. */
static void store_elements(const gnn_real_t *x, int64_t d, gnn_real_t *y, bool add)
{
    for (; d >= LANES; d -= LANES, x += LANES, y += LANES)
        gnn__vec_store(y, gnn__vec_load(x) + (add ? gnn__vec_load(y) : gnn__vec_all(0)));
    if (d > 0)
        gnn__vec_store_first(
            y, gnn__vec_load(x) + (add ? gnn__vec_load_first(y, (int)d) : gnn__vec_all(0)), (int)d);
}

void unpack_row(const gnn__lanes_t *l, const gnn_real_t *x, gnn_real_t *y, int64_t d, bool add,
                int width)
{
    const int64_t heads = l->a->heads;
#ifdef TRANSPOSES
    gnn_real_t transposed_row[64];
    if (l->layout == GNN__PACKED && heads == 8 && d == 8) {
        transpose_eight(x, add ? transposed_row : y);
        for (int c = 0; add && c < 64; c += LANES)
            gnn__vec_store(y + c, gnn__vec_load(y + c) + gnn__vec_load(transposed_row + c));
        return;
    }
#endif
    if (l->layout != GNN__PACKED || width == 1) {
        store_elements(x, heads * d, y, add);
        return;
    }
    for (int64_t h = 0; h < heads; h++)
        for (int64_t c = 0; c < d; c++)
            y[h * d + c] = (add ? y[h * d + c] : 0) + x[c * width + h];
}

void scale_shared(const gnn__lanes_t *l, const gnn_real_t *x, gnn__vec_t by, gnn_real_t *y,
                  bool stream)
{
    for (int v = 0; shared_width(l) && v < l->value_numbers / LANES; v++, x += LANES, y += LANES) {
        const gnn__vec_bits_t head = gnn__vec_head_of_lane(shared_width(l), v);
        gnn__vec_store_or_stream(y, gnn__vec_spread(by, head) * gnn__vec_load(x), stream);
    }
}

void shared_products(const gnn__lanes_t *l, const gnn_real_t *x, const gnn_real_t *y,
                     gnn__vec_t *products)
{
    const int d = shared_width(l), registers = d ? (int)(l->value_numbers / LANES) : 0;
    gnn__vec_t sum[4];
    for (int v = 0; v < registers; v++)
        sum[v] = gnn__vec_load(x + v * LANES) * gnn__vec_load(y + v * LANES);
    if (registers == 4)
        products[0] = shared_reduce(sum, d, 4);
    else if (registers == 2)
        products[0] = shared_reduce(sum, d, 2);
    else if (registers > 0)
        products[0] = shared_reduce(sum, d, 1);
}

void scale_row(const gnn__lanes_t *l, const gnn_real_t *x, const gnn__vec_t *by, gnn_real_t *y,
               int width)
{
    if (!in_callers_layout(l)) {
        for (int64_t c = 0; c < l->value_numbers; c += LANES)
            gnn__vec_store(y + c, by[c / LANES % pattern_registers(width)] * gnn__vec_load(x + c));
        return;
    }
    const bool stream = x != y && streams(l, y);
    if (width > 1 && shared_width(l)) {
        scale_shared(l, x, by[0], y, stream);
        return;
    }
    gnn_real_t all[PATTERN_ROOM] = {0};
    write_heads(all, width, by, false, width);
    for (int64_t h = 0; h < l->a->heads; h++, x += l->a->d_v, y += l->a->d_v)
        for (int64_t c = 0; c < l->a->d_v; c += LANES)
            gnn__vec_store_or_stream(y + c, all[h] * gnn__vec_load(x + c), stream);
}

void row_products(const gnn__lanes_t *l, const gnn_real_t *x, const gnn_real_t *y,
                  gnn__vec_t *products, int width)
{
    for (int u = 0; u < pattern_registers(width); u++)
        products[u] = gnn__vec_all(0);
    if (width == 1 && narrow_width(l)) {
        products[0] = gnn__vec_reduce(gnn__vec_load_first(x, narrow_width(l)) *
                                          gnn__vec_load_first(y, narrow_width(l)),
                                      1, false);
        return;
    }
    if (width > 1 && shared_width(l)) {
        shared_products(l, x, y, products);
        return;
    }
    if (l->layout == GNN__PACKED) {
        for (int64_t c = 0; c < l->value_numbers; c += LANES)
            products[c / LANES % pattern_registers(width)] +=
                gnn__vec_load(x + c) * gnn__vec_load(y + c);
        for (int u = 0; u < pattern_registers(width); u++)
            products[u] = reduce(products[u], width, false);
        return;
    }
    gnn_real_t all[PATTERN_ROOM] = {0};
    for (int64_t h = 0; h < l->a->heads; h++, x += l->a->d_v, y += l->a->d_v) {
        gnn__vec_t sum = gnn__vec_all(0);
        for (int64_t c = 0; c < l->a->d_v; c += LANES)
            sum += gnn__vec_load(x + c) * gnn__vec_load(y + c);
        all[h] = gnn__vec_reduce(sum, 1, false)[0];
    }
    read_pattern(all, products, width);
}

void scale_and_stream(const gnn__lanes_t *l, gnn_real_t *x, const gnn__vec_t *by, gnn_real_t *y,
                      int width)
{
    const int64_t n = l->a->heads * l->a->d_v;
    scale_row(l, x, by, x, width);
    l->finish(l->how, x, 1, n);
    for (int64_t c = 0; c < n; c += LANES)
        gnn__vec_store_or_stream(y + c, gnn__vec_load(x + c), true);
}

/* ---- weighted sums of rows ---- */

/* One section: `registers` registers of y (and p) from column offset `x` on. Successive registers
 * share a weight `per_head` at a time; the weights of successive pairs are `stride` elements
 * apart. */
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

/* Registers of the widest section: sums, second sums and what is loaded fit the register file. */
#if defined(__AVX512F__)
enum { WIDEST = 8 };
#else
enum { WIDEST = 4 };
#endif

/* Sections for columns from .. to - 1 of the rows. */
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

#define GATHER(width)                                                                    \
    PER_WIDTH gather_##width(const lane_block_t *b, const gnn__matrix_t *m, int64_t row, \
                             bool fresh, bool two)                                       \
    {                                                                                    \
        if (two)                                                                         \
            sections(b, m, b->weight, b->second, width, 0, row, fresh, width, true);     \
        else                                                                             \
            sections(b, m, b->weight, b->second, width, 0, row, fresh, width, false);    \
    }
GATHER(4)
GATHER(8)

/* Pairs that are added together; elements of a cache line. */
enum { TOGETHER = 4, LINE = 64 / (int)sizeof(gnn_real_t) };

/* y (and p) += weight x of all heads for pairs e .. e + count - 1: rows are read from end to end
 * while sums stay in the first-level cache. */
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

/* True if sums stay in registers: rows of one section, or several narrow heads. */
GNN__INLINE bool one_section(int64_t heads, int64_t row)
{
    return row <= WIDEST * LANES &&
           (heads > 1 || row == LANES || row == 4 * LANES || row == WIDEST * LANES);
}

/* Layouts with one weight for all elements of a head: a single head, or heads of whole
 * registers. */
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

/* Layout GNN__SHARED: registers first .. first + registers - 1 of y (and p). */
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
        head[v] = gnn__vec_head_of_lane(shared_width(l), first + v);
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

/* ---- gradients of a sender, additive scores ---- */

/* Stores or adds d_v of one sender. */
GNN__INLINE void store_d_v(const gnn__lanes_t *l, const gnn_real_t *x, gnn_real_t *y, const int width)
{
    if (!l->writes_v || !streams(l, y)) {
        unpack_row(l, x, y, l->a->d_v, !l->writes_v, width);
        return;
    }
    for (int64_t c = 0; c < l->value_numbers; c += LANES)
        gnn__vec_store_or_stream(y + c, gnn__vec_load(x + c), true);
}

GNN__INLINE void finish_row_of(const gnn__lanes_t *l, const lane_block_t *b, int64_t j,
                               const gnn__vec_t *sum, const int width)
{
    const gnn__attention_t *a = l->a;
    const gnn_real_t *v = gnn__matrix_row(&l->v, j);
    gnn__vec_t products[PATTERN];
    /* the next sender's values */
    for (int64_t x = 0; x < l->value_numbers; x += 64 / (int64_t)sizeof *v)
        __builtin_prefetch(v + l->v.stride + x);
    if (a->grad.v.at)
        store_d_v(l, b->y, gnn__matrix_row(&a->grad.v, j), width);
    if (!a->grad.k.at)
        return;
    for (int64_t x = 0; x < l->value_numbers; x += LANES)
        gnn__vec_store(b->p + x, gnn__vec_load(b->y + x) - (1 - a->slope) * gnn__vec_load(b->p + x));
    row_products(l, v, b->p, products, width);
    for (int u = 0; u < pattern_registers(width); u++)
        products[u] -= sum[u];
    write_heads(gnn__matrix_row(&a->grad.k, j), a->heads, products, !l->writes_k, width);
}

#define FINISH(width)                                                                 \
    PER_WIDTH finish_##width(const gnn__lanes_t *l, const lane_block_t *b, int64_t j, \
                             const gnn__vec_t *sum)                                   \
    {                                                                                 \
        finish_row_of(l, b, j, sum, width);                                           \
    }
FOR_WIDTHS(FINISH)

void finish_sender(const gnn__lanes_t *l, const lane_block_t *b, int64_t j, const gnn__vec_t *sum,
                   int width)
{
    BY_WIDTH(width, finish, l, b, j, sum);
}

void clear_sender(const gnn__lanes_t *l, int64_t j)
{
    const gnn__attention_t *a = l->a;
    if (l->writes_v)
        memset(gnn__matrix_row(&a->grad.v, j), 0, sizeof(gnn_real_t) * (size_t)(a->heads * a->d_v));
    if (l->writes_k)
        memset(gnn__matrix_row(&a->grad.k, j), 0, sizeof(gnn_real_t) * (size_t)a->heads);
}
