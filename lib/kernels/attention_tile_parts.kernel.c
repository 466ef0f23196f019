/* What forward and backward share of attention in tiles: packing, products, who hears what. */
#include <lib/kernels/attention_tiles.h>

/* One copy of what is called from many places. */
#if defined(__clang__)
#define ONE_COPY __attribute__((noinline))
#else
#define ONE_COPY __attribute__((noinline, noclone))
#endif

/* ---- packing ---- */

/* Numbers of a row that fill no register, and 0 up to ld. */
static ONE_COPY gnn_real_t pack_rest(const gnn_real_t *x, int64_t k, int64_t count, int64_t ld,
                                     gnn_real_t factor, gnn_real_t *row)
{
    gnn_real_t nothing = 0;
    for (; k < count; k++) {
        row[k] = factor * x[k];
        nothing += row[k] * 0;
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
            nothing += v * 0;
            gnn__vec_store(rows + k, v);
        }
        if (k < ld)
            nothing += pack_rest(x, k, count, ld, factor, rows);
    }
    clear(rows, (whole - n) * ld);
    return all_zero(nothing);
}

ONE_COPY void transpose(const panel_t *p, const tile_t *t, int64_t width, gnn_real_t *columns)
{
    const gnn_real_t *row[LANES], *at = p->rows;
    for (int c = 0; c < t->count; c += LANES) {
        for (int l = 0; l < LANES; l++) {
            row[l] = at;
            at += c + l + 1 < t->count ? p->ld : 0;
        }
        for (int64_t x = 0; x < width; x += LANES)
            transpose_square(row, x, columns + x * COLUMNS + c, COLUMNS);
    }
}

/* ---- products ---- */

/* out[r] (+)= sum over k < n of a[r * row + k * step] b[k], `panel` registers wide; rows of b and out are ldb and ldo numbers apart. */
GNN__INLINE void panel_product(const gnn_real_t *a, int64_t row, int64_t step, const gnn_real_t *b,
                               int64_t ldb, int64_t n, gnn_real_t *out, int64_t ldo, bool add,
                               const int rows, const int panel)
{
    gnn__vec_t sum[GROUP][PANEL];
    const gnn_real_t *from[GROUP];
    for (int r = 0; r < rows; r++) {
        from[r] = a + r * row;
        for (int v = 0; v < panel; v++)
            sum[r][v] = add ? gnn__vec_load(out + r * ldo + v * LANES) : (gnn__vec_t){0};
    }
    for (int64_t k = 0; k < n; k++) {
        gnn__vec_t x[PANEL];
        for (int v = 0; v < panel; v++)
            x[v] = gnn__vec_load(b + k * ldb + v * LANES);
        for (int r = 0; r < rows; r++) {
            const gnn__vec_t w = gnn__vec_all(from[r][k * step]);
            for (int v = 0; v < panel; v++)
                sum[r][v] += w * x[v];
        }
    }
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < panel; v++)
            gnn__vec_store(out + r * ldo + v * LANES, sum[r][v]);
}

GNN__INLINE void wide_product(const gnn_real_t *a, int64_t row, int64_t step, const gnn_real_t *b,
                              int64_t ldb, int64_t n, gnn_real_t *out, int64_t ldo, int64_t width,
                              bool add, const int rows)
{
    int64_t x = 0;
    for (; x + PANEL * LANES <= width; x += PANEL * LANES)
        panel_product(a, row, step, b + x, ldb, n, out + x, ldo, add, rows, PANEL);
    for (; PANEL > 2 && x + 2 * LANES <= width; x += 2 * LANES)
        panel_product(a, row, step, b + x, ldb, n, out + x, ldo, add, rows, 2);
    for (; x < width; x += LANES)
        panel_product(a, row, step, b + x, ldb, n, out + x, ldo, add, rows, 1);
}

/* Whole groups, then one by one. */
ONE_COPY void product(const gnn_real_t *a, int64_t row, int64_t step, int64_t rows,
                      const gnn_real_t *b, int64_t ldb, int64_t n, gnn_real_t *out, int64_t ldo,
                      int64_t width, bool add)
{
    int64_t r = 0;
    for (; r + GROUP <= rows; r += GROUP)
        wide_product(a + r * row, row, step, b, ldb, n, out + r * ldo, ldo, width, add, GROUP);
    for (; r < rows; r++)
        wide_product(a + r * row, row, step, b, ldb, n, out + r * ldo, ldo, width, add, 1);
}

/* ---- who hears what of a tile ---- */

static int inside(int64_t at, int count)
{
    return (int)(at < 0 ? 0 : at > count ? count : at);
}

ONE_COPY void hear(const gnn__attention_t *a, const tile_t *t, int64_t row, int rows, heard_t *h)
{
    const int32_t *lo = a->pairs.lo + row, *hi = a->pairs.hi + row;
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
    if (!h->cut) {
        product(a, lda, 1, h->groups * GROUP, b, COLUMNS, n, out, COLUMNS, lanes_to(h->end[0]),
                false);
        return;
    }
    for (int g = 0; g < h->groups; g++) {
        const int c = lanes_from(h->first[g]);
        if (h->end[g] > h->first[g])
            product(a + g * GROUP * lda, lda, 1, GROUP, b + c, COLUMNS, n,
                    out + g * GROUP * COLUMNS + c, COLUMNS, lanes_to(h->end[g]) - c, false);
    }
}

void heard_product(const heard_t *h, const gnn_real_t *p, const panel_t *b, gnn_real_t *out,
                   int64_t width)
{
    if (!h->cut) {
        product(p, COLUMNS, 1, h->groups * GROUP, b->rows, b->ld, h->end[0], out, width, width, true);
        return;
    }
    for (int g = 0; b->finite && g < h->groups; g++)
        product(p + g * GROUP * COLUMNS + h->first[g], COLUMNS, 1, GROUP,
                b->rows + h->first[g] * b->ld, b->ld, h->end[g] - h->first[g],
                out + g * GROUP * width, width, width, true);
    for (int r = 0; !b->finite && r < h->rows; r++)
        product(p + r * COLUMNS + h->from[r], COLUMNS, 1, 1, b->rows + h->from[r] * b->ld, b->ld,
                h->to[r] - h->from[r], out + r * width, width, width, true);
}
