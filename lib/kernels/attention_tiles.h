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

/* Numbers of a row that fill no register, and 0 up to ld. */
static __attribute__((noinline)) gnn_real_t pack_rest(const gnn_real_t *x, int64_t k, int64_t count,
                                                      int64_t ld, gnn_real_t factor, gnn_real_t *row)
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

GNN__INLINE void clear(gnn_real_t *x, int64_t n)
{
    for (int64_t k = 0; k < n; k += LANES)
        gnn__vec_store(x + k, (gnn__vec_t){0});
}

/* rows[r] = factor * numbers first .. first + count - 1 of node[r]'s row of m, filled up to ld with 0, as are the rows from n to `whole`. True if all are finite:
 * then 0 times any of them is 0. */
static __attribute__((noinline)) bool pack_rows(const gnn__matrix_t *m, const uint32_t *node, int n,
                                                int whole, int64_t first, int64_t count, int64_t ld,
                                                gnn_real_t factor, gnn_real_t *rows)
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

/* One side of a tile: row c belongs to column c. */
typedef struct panel {
    const gnn_real_t *rows;
    int64_t ld;
    bool finite;
} panel_t;

/* Short pieces whose rows all hear the whole of it are read where they are; nothing is then multiplied by 0. */
GNN__INLINE bool in_place(const gnn__attention_t *a, int64_t row0, int64_t row1)
{
    const int32_t *lo = a->pairs.lo, *hi = a->pairs.hi;
    return !a->pairs.col_order && lo[row0] == lo[row1 - 1] && hi[row0] == hi[row1 - 1] &&
           hi[row0] - lo[row0] <= STRIP;
}

/* The tile's rows of one head of a matrix; `place` for packed ones. */
static panel_t panel_of(const gnn__matrix_t *m, const tile_t *t, int64_t first, int64_t count,
                        bool where_they_are, gnn_real_t *place)
{
    const int64_t ld = gnn__tile_width(count);
    if (where_they_are)
        return (panel_t){gnn__matrix_row(m, t->at) + first, m->stride, false};
    return (panel_t){place, ld,
                     pack_rows(m, t->node, t->count, t->count, first, count, ld, 1, place)};
}

/* columns[x][c] from rows[c][x]; the last register of columns is filled up with the last row. */
static __attribute__((noinline)) void transpose(const panel_t *p, const tile_t *t, int64_t width,
                                                gnn_real_t *columns)
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
static void heard_product(const heard_t *h, const gnn_real_t *p, const panel_t *b, gnn_real_t *out,
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

/* ---- pieces of rows, strips of pieces ---- */

/* Strip number `index` of the rows row0 .. row1 - 1. */
typedef struct strip {
    int64_t row0, row1, index, count;
} strip_t;

static inline int64_t strip_first(const strip_t *s)
{
    return s->index * STRIP;
}

static inline int strip_rows(const strip_t *s)
{
    const int64_t left = s->row1 - s->row0 - s->index * STRIP;
    return (int)(left < STRIP ? left : STRIP);
}

static inline strip_t first_strip(int64_t row0, int64_t row1)
{
    return (strip_t){row0, row1, 0, (row1 - row0 + STRIP - 1) / STRIP};
}

/* Rows of the tile after t: the strip's share, on its way while this tile is worked on. */
GNN__INLINE void prefetch_next(const gnn__attention_t *a, const tile_t *t, const strip_t *s,
                               const gnn__matrix_t *m, int64_t first, int64_t count)
{
    const int64_t most = a->pairs.hi[s->row1 - 1], next = t->at + COLUMNS,
                  last = next + (s->index + 1) * COLUMNS / s->count, end = last < most ? last : most;
    for (int64_t c = next + s->index * COLUMNS / s->count; c < end; c++) {
        const gnn_real_t *x = gnn__matrix_row(m, gnn__pairs_col(&a->pairs, c)) + first;
        for (int64_t i = 0; i < count; i += 64 / (int64_t)sizeof *x)
            __builtin_prefetch(x + i);
    }
}

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
