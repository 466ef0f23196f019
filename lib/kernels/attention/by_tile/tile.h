/* Between the tile kernels of attention: tiles, who hears what of them, and strips of rows that
 * meet them. Included by kernels only. */
#ifndef GNN_KERNELS_TILE_H
#define GNN_KERNELS_TILE_H

#include <lib/kernels/attention/by_tile/tile_pack.h>

/* ---- tiles ---- */

/* Columns at .. at + count - 1 of a part. */
typedef struct tile {
    int64_t at;
    int count;
    uint32_t node[COLUMNS];
} tile_t;

/* The next tile of the columns that rows row0 .. row1 - 1 hear; false when there are no more. One
 * that was packed for all rows may reach further. */
GNN__INLINE bool next_tile(const gnn__attention_t *a, tile_t *t, int64_t row0, int64_t row1,
                           bool first)
{
    const int64_t end = a->pairs.hi[row1 - 1],
                  last = a->packed ? a->pairs.hi[a->pairs.n_rows - 1] : end;
    t->at = first ? a->pairs.lo[row0] : t->at + COLUMNS;
    if (t->at >= end)
        return false;
    t->count = (int)(last - t->at < COLUMNS ? last - t->at : COLUMNS);
    for (int c = 0; c < t->count; c++)
        t->node[c] = (uint32_t)gnn__pairs_col(&a->pairs, t->at + c);
    for (int64_t c = t->count; c < gnn__tile_width(t->count); c++)
        t->node[c] = 0;
    return true;
}

/* Short pieces whose rows all hear the whole of it are read where they are; nothing is then
 * multiplied by 0. */
GNN__INLINE bool in_place(const gnn__attention_t *a, int64_t row0, int64_t row1)
{
    const int32_t *lo = a->pairs.lo, *hi = a->pairs.hi;
    return !a->pairs.col_order && a->keys.count == 0 && lo[row0] == lo[row1 - 1] &&
           hi[row0] == hi[row1 - 1] && hi[row0] - lo[row0] <= STRIP;
}

/* ---- who hears what of a tile ---- */

/* Row r of a strip hears columns from[r] .. to[r] - 1 of the tile; all rows of group g together
 * first[g] .. end[g] - 1. */
typedef struct heard {
    int rows, groups;
    bool cut; /* some row does not hear the whole tile */
    gnn_precision_t level;
    product_t *multiply;
    int from[STRIP], to[STRIP], first[GROUPS], end[GROUPS];
    int all_first, all_end;
} heard_t;

/* Where whole registers begin, of words if a number is two. */
GNN__INLINE int lanes_from(const heard_t *h, int column)
{
    const int unit = SPLIT(h->level) ? 2 * LANES : LANES;
    return column / unit * unit;
}

static inline int lanes_to(int column)
{
    return (column + LANES - 1) / LANES * LANES;
}

/* What distances add to the scores of a row that hears some of the tile: number c is that of column
 * c. */
GNN__INLINE const gnn_real_t *prior_of(const gnn__attention_t *a, const tile_t *t, int64_t row,
                                       int64_t head)
{
    return a->prior.at + head * a->prior.stride + a->prior.shift[row] + t->at;
}

#define hear GNN__KERNEL(tile_hear)
#define score_product GNN__KERNEL(tile_score_product)
#define heard_product GNN__KERNEL(tile_heard_product)
#define row_product GNN__KERNEL(tile_row_product)
#define cap_strip GNN__KERNEL(tile_cap_strip)

/* Runs only move to the right, so that the first and the last row of a group tell what it hears. */
void hear(const gnn__attention_t *a, const tile_t *t, int64_t row, int rows, gnn_precision_t level,
          heard_t *h);

/* out = a b over the registers of columns that each group hears. */
void score_product(const heard_t *h, const gnn_real_t *a, int64_t lda, int64_t n,
                   const gnn_real_t *b, gnn_real_t *out);

/* out[r] += sum over what row r hears of p[r][c] b[c]. p is 0 where a row of a group hears nothing,
 * which is safe to multiply if b is finite; else row by row, in the same order, since 0 x NaN is
 * NaN. */
void heard_product(const heard_t *h, const gnn_real_t *p, const panel_t *b, gnn_real_t *out,
                   int64_t width);

/* out += sum over k = from .. to - 1 of a[k * step] b[k], one row. */
void row_product(const heard_t *h, const gnn_real_t *a, int64_t step, const gnn_real_t *b,
                 int64_t ldb, int64_t from, int64_t to, gnn_real_t *out, int64_t width);

/* Scores of the strip, in units of log2, are capped; `slopes`, of the same shape, receives the
 * derivatives of the cap (NULL: not wanted). */
void cap_strip(const gnn__attention_t *a, const heard_t *h, gnn_real_t *p, gnn_real_t *slopes);

/* ---- packing ---- */

/* The tile's rows of one head of a matrix; `place` for packed ones. */
static inline panel_t panel_of(const gnn__attention_t *a, const gnn__matrix_t *m, const tile_t *t,
                               int64_t first, int64_t count, bool where_they_are, gnn_real_t *place)
{
    const int64_t ld = gnn__tile_row(a, count);
    if (where_they_are && count == ld)
        return (panel_t){gnn__matrix_row(m, t->at) + first, m->stride, false};
    return (panel_t){place, ld,
                     pack_rows(m, t->node, t->count, t->count, first, count, ld, 1, place)};
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

/* While the last tile is worked on: what the next head will read of the piece's first tile, or of
 * the strip's own rows, and the rows that will be written. */
GNN__INLINE bool last_tile(const gnn__attention_t *a, const tile_t *t, const strip_t *s)
{
    return t->at + COLUMNS >= a->pairs.hi[s->row1 - 1];
}

#define prefetch_first GNN__KERNEL(tile_prefetch_first)
#define prefetch_rows GNN__KERNEL(tile_prefetch_rows)

void prefetch_first(const gnn__attention_t *a, const strip_t *s, const gnn__matrix_t *m,
                    int64_t first, int64_t count);
void prefetch_rows(const strip_t *s, const uint32_t *node, const gnn__matrix_t *m, int64_t first,
                   int64_t count, bool write);

/* The first row from row0 on that shares no column with those before it, at most row1: short
 * sentences become tiles of their own. Less than a register of columns is not worth a tile; but
 * keys by distance need rows whose distances run on. */
static inline int64_t piece_end(const gnn__attention_t *a, int64_t row0, int64_t row1)
{
    const int32_t *lo = a->pairs.lo, *hi = a->pairs.hi;
    int64_t row = row0 + 1;
    while (row < row1 && (lo[row] < hi[row - 1] || hi[row - 1] - lo[row0] < 16) &&
           (a->keys.count == 0 || a->prior.shift[row] == a->prior.shift[row - 1] - 1))
        row++;
    return row;
}

#endif
