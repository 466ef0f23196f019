/* Between the tile kernels of attention: packing, products with a packed tile, powers of two and masks on registers. Included by kernels only. */
#ifndef GNN_KERNELS_ATTENTION_TILES_H
#define GNN_KERNELS_ATTENTION_TILES_H

#include <lib/kernels/attention.h>
#include <lib/kernels/philox_lanes.h>
#include <lib/kernels/tile_math.h>

/* A tile has COLUMNS columns and is met by STRIP rows at a time, so that a factor and the strip's scores stay in L1; a group of GROUP rows times PANEL registers
 * of sums fits the register file. */
#if defined(__AVX512F__)
enum { GROUP = 6, PANEL = 4 };
#elif defined(__AVX2__)
enum { GROUP = 6, PANEL = 2 };
#else
enum { GROUP = 4, PANEL = 2 };
#endif
enum { COLUMNS = GNN__TILE_COLUMNS, STRIP = 48, GROUPS = STRIP / GROUP };

GNN__INLINE gnn_real_t *take(gnn_real_t **at, int64_t count)
{
    gnn_real_t *memory = *at;
    *at += count;
    return memory;
}

/* ---- packing ---- */

/* Columns at .. at + count - 1 of a part. */
typedef struct tile {
    int64_t at;
    int count;
    uint32_t node[COLUMNS];
} tile_t;

/* The next tile of the columns that rows row0 .. row1 - 1 hear; false when there are no more. */
GNN__INLINE bool next_tile(const gnn__attention_t *a, tile_t *t, int64_t row0, int64_t row1,
                           bool first)
{
    const int64_t end = a->pairs.hi[row1 - 1];
    t->at = first ? a->pairs.lo[row0] : t->at + COLUMNS;
    if (t->at >= end)
        return false;
    t->count = (int)(end - t->at < COLUMNS ? end - t->at : COLUMNS);
    for (int c = 0; c < t->count; c++)
        t->node[c] = (uint32_t)gnn__pairs_col(&a->pairs, t->at + c);
    for (int64_t c = t->count; c < gnn__tile_width(t->count); c++)
        t->node[c] = 0;
    return true;
}

/* rows[r] = factor * numbers first .. first + count - 1 of node[r]'s row of m, filled up to ld with 0, as are the rows from n to `whole`. True if all are finite:
 * then 0 times any of them is 0. */
static __attribute__((noinline)) bool pack_rows(const gnn__matrix_t *m, const uint32_t *node, int n,
                                                int whole, int64_t first, int64_t count, int64_t ld,
                                                gnn_real_t factor, gnn_real_t *rows)
{
    const gnn__vec_t by = gnn__vec_all(factor);
    gnn__vec_t nothing = {0};
    gnn_real_t nothing_else = 0;
    for (int r = 0; r < n; r++, rows += ld) {
        const gnn_real_t *x = gnn__matrix_row(m, node[r]) + first;
        int64_t k = 0;
        for (; k + LANES <= count; k += LANES) {
            const gnn__vec_t v = by * gnn__vec_load(x + k);
            nothing += v * 0;
            gnn__vec_store(rows + k, v);
        }
        for (; k < count; k++) {
            rows[k] = factor * x[k];
            nothing_else += rows[k] * 0;
        }
        for (; k < ld; k++)
            rows[k] = 0;
    }
    if (whole > n)
        memset(rows, 0, sizeof *rows * (size_t)((whole - n) * ld));
    return all_zero(nothing + nothing_else);
}

/* columns[x][c] from rows[c][x], for the registers of columns that hold `n`; both are filled up with 0. */
static __attribute__((noinline)) void transpose(const gnn_real_t *rows, int64_t ld, int n,
                                                gnn_real_t *columns)
{
    for (int c = 0; c < n; c += LANES)
        for (int64_t x = 0; x < ld; x += LANES)
            transpose_square(rows + c * ld + x, ld, columns + x * COLUMNS + c, COLUMNS);
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

/* `rows` rows of the product, `width` (whole registers) columns: whole groups, then one by one. */
static __attribute__((noinline)) void product(const gnn_real_t *a, int64_t row, int64_t step,
                                              int64_t rows, const gnn_real_t *b, int64_t ldb,
                                              int64_t n, gnn_real_t *out, int64_t ldo,
                                              int64_t width, bool add)
{
    int64_t r = 0;
    for (; r + GROUP <= rows; r += GROUP)
        wide_product(a + r * row, row, step, b, ldb, n, out + r * ldo, ldo, width, add, GROUP);
    for (; r < rows; r++)
        wide_product(a + r * row, row, step, b, ldb, n, out + r * ldo, ldo, width, add, 1);
}

/* ---- who hears what of a tile ---- */

/* Row r of a strip hears columns from[r] .. to[r] - 1 of the tile; all rows of group g together first[g] .. end[g] - 1. */
typedef struct heard {
    int rows, groups;
    bool cut; /* somebody does not hear the whole tile */
    int from[STRIP], to[STRIP], first[GROUPS], end[GROUPS];
    int all_first, all_end;
} heard_t;

static int inside(int64_t at, int count)
{
    return (int)(at < 0 ? 0 : at > count ? count : at);
}

/* Runs only move to the right, so that the first and the last row of a group tell what it hears. */
static __attribute__((noinline)) void hear(const gnn__attention_t *a, const tile_t *t, int64_t row,
                                           int rows, heard_t *h)
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

static inline int lanes_from(int column)
{
    return column / LANES * LANES;
}

static inline int lanes_to(int column)
{
    return (column + LANES - 1) / LANES * LANES;
}

/* out = a b over the registers of columns that each group hears. */
static void score_product(const heard_t *h, const gnn_real_t *a, int64_t lda, int64_t n,
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

/* out[r] += sum over what row r hears of p[r][c] b[c]. p is 0 where a row of a group hears nothing, which is safe to multiply if b is finite; else row by row, in
 * the same order, since 0 x NaN is NaN. */
static void heard_product(const heard_t *h, const gnn_real_t *p, const gnn_real_t *b, int64_t ldb,
                          bool finite, gnn_real_t *out, int64_t width)
{
    if (!h->cut) {
        product(p, COLUMNS, 1, h->groups * GROUP, b, ldb, h->end[0], out, ldb, width, true);
        return;
    }
    for (int g = 0; finite && g < h->groups; g++)
        product(p + g * GROUP * COLUMNS + h->first[g], COLUMNS, 1, GROUP, b + h->first[g] * ldb,
                ldb, h->end[g] - h->first[g], out + g * GROUP * ldb, ldb, width, true);
    for (int r = 0; !finite && r < h->rows; r++)
        product(p + r * COLUMNS + h->from[r], COLUMNS, 1, 1, b + h->from[r] * ldb, ldb,
                h->to[r] - h->from[r], out + r * ldb, ldb, width, true);
}

/* ---- pieces ---- */

/* The first row from row0 on that shares no column with those before it, at most row1: short sentences become tiles of their own. Less than a register of columns
 * is not worth a tile. */
static int64_t piece_end(const gnn__attention_t *a, int64_t row0, int64_t row1)
{
    const int32_t *lo = a->pairs.lo, *hi = a->pairs.hi;
    int64_t row = row0 + 1;
    while (row < row1 && (lo[row] < hi[row - 1] || hi[row - 1] - lo[row0] < 16))
        row++;
    return row;
}

#endif
