/* Spans of a strip in a tile (tile.h), products within them, softcap, prefetches.
 *
 *     columns       0            16           32           48         64
 *     row 0         |------------|-----====== ============ =====-----|     = attended
 *     row 1         |------------|------===== ============ ======----|     - computed and masked
 *     ..            first[g] rounded down              end[g] rounded up
 *
 * A group of rows computes whole registers between the first column that its first row attends and
 * the last of its last row. Where a tile is not cut by any span, a single product takes all
 * groups. */
#include <lib/kernels/attention/by_tile/tile.h>

/* ---- products of a strip and a tile ---- */

#if BF16_PRODUCTS
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

/* ---- spans of a strip in a tile ---- */

ONE_COPY void span_bounds(const gnn__attention_t *a, const tile_t *t, int64_t row, int rows,
                          gnn_precision_t level, spans_t *h)
{
    const int32_t *lo = a->pairs.lo + row, *hi = a->pairs.hi + row;
    h->level = level;
    h->multiply = product_of(a, level);
    h->rows = rows;
    h->groups = (rows + GROUP - 1) / GROUP;
    h->cut = lo[rows - 1] > t->at || hi[0] < t->at + t->count;
    for (int r = 0; r < h->groups * GROUP; r++) {
        h->from[r] = r < rows ? clamp_column(lo[r] - t->at, t->count) : h->from[rows - 1];
        h->to[r] = r < rows ? clamp_column(hi[r] - t->at, t->count) : h->to[rows - 1];
    }
    for (int g = 0; g < h->groups; g++) {
        h->first[g] = h->from[g * GROUP];
        h->end[g] = h->to[g * GROUP + GROUP - 1];
    }
    h->all_first = h->from[0];
    h->all_end = h->to[rows - 1];
}

void score_product(const spans_t *h, const gnn_real_t *a, int64_t lda, int64_t n,
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

/* At `high` a product starts at a block boundary: elements before the first attended one are 0. */
static inline int64_t first_word(const spans_t *h, int g)
{
    if (SPLIT(h->level))
        return lanes_from(h, h->first[g]) / 2;
    return IN_BF16(h->level) ? h->first[g] / 2 : h->first[g];
}

void span_product(const spans_t *h, const gnn_real_t *p, const panel_t *b, gnn_real_t *out,
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
        h->multiply(p + g * GROUP * ldp + word_at(SPLIT(h->level), 1, k), ldp, 1, GROUP,
                    b->rows + k * ldb, ldb, words_of(h->level, h->end[g]) - k,
                    out + g * GROUP * width, width, width, true);
    }
    for (int r = 0; !b->finite && r < h->rows; r++)
        row_product(h, p + r * ldp, 1, b->rows, b->ld, h->from[r], h->to[r], out + r * width, width);
}

void row_product(const spans_t *h, const gnn_real_t *a, int64_t step, const gnn_real_t *b,
                 int64_t ldb, int64_t from, int64_t to, gnn_real_t *out, int64_t width)
{
    if (IN_BF16(h->level))
        bf16_row_product(a, step, b, next_row(h->level, ldb), from, to, out, width, SPLIT(h->level));
    else
        product(a + from * step, 0, step, 1, b + from * ldb, ldb, to - from, out, width, width, true);
}

/* ---- softcap ---- */

ONE_COPY void cap_strip(const gnn__attention_t *a, const spans_t *h, gnn_real_t *p, gnn_real_t *slopes)
{
    const int c0 = lanes_from(h, h->all_first), c1 = lanes_to(h->all_end);
    const gnn__vec_t cap = gnn__vec_all(a->softcap * log2_e), inverse = 1 / cap;
    for (int r = 0; r < h->rows; r++)
        for (int c = c0; c < c1; c += LANES) {
            const int at = r * COLUMNS + c;
            const gnn__vec_t t = tanh_of(gnn__vec_load(p + at) * inverse);
            gnn__vec_store(p + at, cap * t);
            if (slopes)
                gnn__vec_store(slopes + at, 1 - t * t);
        }
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
