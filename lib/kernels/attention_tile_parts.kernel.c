/* What forward and backward share of attention in tiles: packing, products, who hears what. */
#include <lib/kernels/attention_tiles.h>

/* ---- packing ---- */

/* Numbers of a row that fill no register, and 0 up to ld. */
static ONE_COPY gnn_real_t pack_rest(const gnn_real_t *x, int64_t k, int64_t count, int64_t ld,
                                     gnn_real_t factor, gnn_real_t *row)
{
    gnn_real_t nothing = 0;
    for (; k < count; k++) {
        row[k] = factor * x[k];
        nothing += (row[k] + row[k]) * 0;
    }
    for (; k < ld; k++)
        row[k] = 0;
    return nothing;
}

ONE_COPY bool pack_rows(const gnn__matrix_t *m, const uint32_t *node, int n, int whole,
                        int64_t first, int64_t count, int64_t ld, gnn_real_t factor, gnn_real_t *rows)
{
    const gnn__vec_t by = gnn__vec_all(factor);
    gnn__vec_t nothing = {0};
    for (int r = 0; r < n; r++, rows += ld) {
        const gnn_real_t *x = gnn__matrix_row(m, node[r]) + first;
        int64_t k = 0;
        for (; k + LANES <= count; k += LANES) {
            const gnn__vec_t v = by * gnn__vec_load(x + k);
            nothing += (v + v) * 0; /* also what rounding to bf16 might carry to infinity */
            gnn__vec_store(rows + k, v);
        }
        if (k < ld)
            nothing += pack_rest(x, k, count, ld, factor, rows);
    }
    clear(rows, (whole - n) * ld);
    return all_zero(nothing);
}

ONE_COPY void transpose(const panel_t *p, int count, int64_t width, gnn_real_t *columns)
{
    const gnn_real_t *row[LANES], *at = p->rows;
    for (int c = 0; c < count; c += LANES) {
        for (int l = 0; l < LANES; l++) {
            row[l] = at;
            at += c + l + 1 < count ? p->ld : 0;
        }
        for (int64_t x = 0; x < width; x += LANES)
            transpose_square(row, x, columns + x * COLUMNS + c, COLUMNS);
    }
}

ONE_COPY void put_scaled(const gnn_real_t *x, int64_t n, gnn_real_t factor, bool add, gnn_real_t *y)
{
    static const gnn_real_t nothing[LANES];
    const gnn_real_t *old = add ? y : nothing;
    const gnn__vec_t by = gnn__vec_all(factor);
    int64_t c = 0;
#pragma GCC unroll 1
    for (; c + LANES <= n; c += LANES, old += add ? LANES : 0)
        gnn__vec_store(y + c, by * gnn__vec_load(x + c) + gnn__vec_load(old));
#pragma GCC unroll 1
    for (; c < n; c++, old += add ? 1 : 0)
        y[c] = factor * x[c] + *old;
}

/* ---- products ---- */

#define TARGET
#define MULTIPLY_ADD(w, x, sum) ((sum) + (w) * (x))
#include <lib/kernels/tile_product.h>

ONE_COPY void product(const gnn_real_t *a, int64_t row, int64_t step, int64_t rows,
                      const gnn_real_t *b, int64_t ldb, int64_t n, gnn_real_t *out, int64_t ldo,
                      int64_t width, bool add)
{
    grouped_product(a, row, step, rows, b, ldb, n, out, ldo, width, add);
}

#if HALVES
static product_t *product_of(const gnn__attention_t *a, gnn_precision_t level)
{
    switch (level) {
    case GNN_PRECISION_HIGH: return a->amx ? amx_split_product : split_product;
    case GNN_PRECISION_MEDIUM: return a->amx ? amx_rounded_product : rounded_product;
    default: return product;
    }
}
#else
static product_t *product_of(const gnn__attention_t *a, gnn_precision_t level)
{
    (void)a;
    (void)level;
    return product;
}
#endif

/* ---- who hears what of a tile ---- */

static int inside(int64_t at, int count)
{
    return (int)(at < 0 ? 0 : at > count ? count : at);
}

ONE_COPY void hear(const gnn__attention_t *a, const tile_t *t, int64_t row, int rows,
                   gnn_precision_t level, heard_t *h)
{
    const int32_t *lo = a->pairs.lo + row, *hi = a->pairs.hi + row;
    h->level = level;
    h->multiply = product_of(a, level);
    h->rows = rows;
    h->groups = (rows + GROUP - 1) / GROUP;
    h->cut = lo[rows - 1] > t->at || hi[0] < t->at + t->count;
    for (int r = 0; r < h->groups * GROUP; r++) {
        h->from[r] = r < rows ? inside(lo[r] - t->at, t->count) : h->from[rows - 1];
        h->to[r] = r < rows ? inside(hi[r] - t->at, t->count) : h->to[rows - 1];
    }
    for (int g = 0; g < h->groups; g++) {
        h->first[g] = h->from[g * GROUP];
        h->end[g] = h->to[g * GROUP + GROUP - 1];
    }
    h->all_first = h->from[0];
    h->all_end = h->to[rows - 1];
}

void score_product(const heard_t *h, const gnn_real_t *a, int64_t lda, int64_t n,
                   const gnn_real_t *b, gnn_real_t *out)
{
    const int64_t ldb = next_row(h->level, COLUMNS);
    n = words_of(h->level, n);
    if (!h->cut) {
        h->multiply(a, lda, 1, h->groups * GROUP, b, ldb, n, out, COLUMNS, lanes_to(h->end[0]),
                    false);
        return;
    }
    for (int g = 0; g < h->groups; g++) {
        const int c = lanes_from(h, h->first[g]);
        if (h->end[g] > h->first[g])
            h->multiply(a + g * GROUP * lda, lda, 1, GROUP, b + c, ldb, n,
                        out + g * GROUP * COLUMNS + c, COLUMNS, lanes_to(h->end[g]) - c, false);
    }
}

/* At `high` a product begins with a block: what comes before the first that is heard is 0. */
static inline int64_t first_word(const heard_t *h, int g)
{
    return SPLIT(h->level)     ? lanes_from(h, h->first[g]) / 2
           : IN_BF16(h->level) ? h->first[g] / 2
                               : h->first[g];
}

void heard_product(const heard_t *h, const gnn_real_t *p, const panel_t *b, gnn_real_t *out,
                   int64_t width)
{
    const int64_t ldp = room_of(h->level, COLUMNS), ldb = next_row(h->level, b->ld);
    if (!h->cut) {
        h->multiply(p, ldp, 1, h->groups * GROUP, b->rows, ldb, words_of(h->level, h->end[0]), out,
                    width, width, true);
        return;
    }
    for (int g = 0; b->finite && g < h->groups; g++) {
        const int64_t k = first_word(h, g);
        h->multiply(p + g * GROUP * ldp + block_at(SPLIT(h->level), 1, k), ldp, 1, GROUP,
                    b->rows + k * ldb, ldb, words_of(h->level, h->end[g]) - k,
                    out + g * GROUP * width, width, width, true);
    }
    for (int r = 0; !b->finite && r < h->rows; r++)
        row_product(h, p + r * ldp, 1, b->rows, b->ld, h->from[r], h->to[r], out + r * width, width);
}

void row_product(const heard_t *h, const gnn_real_t *a, int64_t step, const gnn_real_t *b,
                 int64_t ldb, int64_t from, int64_t to, gnn_real_t *out, int64_t width)
{
    if (IN_BF16(h->level))
        bf16_row(a, step, b, next_row(h->level, ldb), from, to, out, width, SPLIT(h->level));
    else
        product(a + from * step, 0, step, 1, b + from * ldb, ldb, to - from, out, width, width, true);
}

/* ---- prefetching ---- */

ONE_COPY void prefetch_first(const gnn__attention_t *a, const strip_t *s, const gnn__matrix_t *m,
                             int64_t first, int64_t count)
{
    const int64_t lo = a->pairs.lo[s->row0], hi = a->pairs.hi[s->row1 - 1],
                  all = hi - lo < COLUMNS ? hi - lo : COLUMNS;
    for (int64_t c = s->index * all / s->count; c < (s->index + 1) * all / s->count; c++) {
        const gnn_real_t *x = gnn__matrix_row(m, gnn__pairs_col(&a->pairs, lo + c)) + first;
        for (int64_t i = 0; i < count; i += 64 / (int64_t)sizeof *x)
            __builtin_prefetch(x + i, 0, 2);
    }
}

ONE_COPY void prefetch_rows(const strip_t *s, const uint32_t *node, const gnn__matrix_t *m,
                            int64_t first, int64_t count, bool write)
{
    for (int r = 0; m->at && r < strip_rows(s); r++) {
        const gnn_real_t *x = gnn__matrix_row(m, node[strip_first(s) + r]) + first;
        for (int64_t i = 0; i < count; i += 64 / (int64_t)sizeof *x)
            if (write)
                __builtin_prefetch(x + i, 1, 2);
            else
                __builtin_prefetch(x + i, 0, 2);
    }
}

/* ---- dropout ---- */

static ONE_COPY void draw_row(const gnn__attention_t *a, int64_t row, int64_t at, int64_t n,
                              int64_t head, uint8_t *bits)
{
    enum { DRAWN = 2 * GNN__PHILOX_LANES };
    const uint32_t node = (uint32_t)gnn__pairs_node(&a->pairs, row);
    uint32_t own[DRAWN], other[DRAWN];
    for (int l = 0; l < DRAWN; l++)
        own[l] = node;
    for (int64_t c = 0; c < n; c += DRAWN) {
        if (!a->pairs.col_order)
            for (int l = 0; l < DRAWN; l++)
                other[l] = (uint32_t)(at + c) + (uint32_t)l;
        else
            for (int64_t l = 0; l < DRAWN; l++)
                other[l] = (uint32_t)gnn__pairs_col(&a->pairs, at + (c + l < n ? c + l : n - 1));
        gnn__keep_bytes(a->dropout, (int)(n - c < DRAWN ? n - c : DRAWN), a->transposed ? other : own,
                        a->transposed ? own : other, (uint32_t)(head / 8), bits + c);
    }
}

void draw_piece(const gnn__attention_t *a, int64_t row0, int64_t row1, int64_t head, drawn_t *drawn)
{
    enum { WHOLE = 32 }; /* registers, as lanes_from has them */
    const int64_t at = a->pairs.lo[row0], n = a->pairs.hi[row1 - 1] - at,
                  ld = gnn__tile_width(n > 0 ? n : 0);
    drawn->row0 = row0;
    drawn->column0 = at;
    drawn->ld = (row1 - row0) * ld <= GNN__TILE_DRAWN ? ld : 0;
    for (int64_t row = row0; drawn->ld > 0 && row < row1; row++) {
        const int64_t from = (a->pairs.lo[row] - at) / WHOLE * WHOLE, to = a->pairs.hi[row] - at;
        draw_row(a, row, at + from, to - from, head, drawn->bits + (row - row0) * ld + from);
    }
}

#if defined(__AVX512BW__) && !GNN_DOUBLE
static inline uint64_t below(int n)
{
    return n < 64 ? ((uint64_t)1 << n) - 1 : ~(uint64_t)0;
}

/* Which of the bytes from .. to - 1 have the head's bit. */
static void spread_bits(const uint8_t *bits, int from, int to, int64_t head, gnn_real_t scale,
                        keep_t *keep)
{
    keep->kept = _mm512_test_epi8_mask(_mm512_maskz_loadu_epi8(below(to) & ~below(from), bits),
                                       _mm512_set1_epi8((char)(1 << head % 8)));
    keep->scale = scale;
}
#else
static void spread_bits(const uint8_t *bits, int from, int to, int64_t head, gnn_real_t scale,
                        keep_t *keep)
{
    typedef uint8_t bytes_t __attribute__((vector_size(LANES)));
    const lane_int_t bit = (lane_int_t)1 << head % 8;
#pragma GCC unroll 1
    for (int c = from; c < to; c += LANES) {
        bytes_t byte;
        memcpy(&byte, bits + c, sizeof byte);
        const lanes_t kept = (__builtin_convertvector(byte, lanes_t) & bit) != 0;
        gnn__vec_store(keep->by + c, choose(kept, gnn__vec_all(scale), 0));
    }
}
#endif

void keep_row(const gnn__attention_t *a, const drawn_t *drawn, int64_t row, int64_t at, int from,
              int to, int64_t head, keep_t *keep)
{
    uint8_t own[COLUMNS];
    const uint8_t *bits = own;
    from -= from % GNN__PHILOX_LANES;
    if (drawn->ld > 0)
        bits = drawn->bits + (row - drawn->row0) * drawn->ld + (at - drawn->column0);
    else
        draw_row(a, row, at + from, to - from, head, own + from);
    spread_bits(bits, from, to, head, a->dropout->scale, keep);
}
