/* Between the tile kernels of attention: packing, and products of a group of rows with a packed tile. Included by kernels only. */
#ifndef GNN_KERNELS_ATTENTION_TILES_H
#define GNN_KERNELS_ATTENTION_TILES_H

#include <lib/kernels/attention.h>
#include <lib/kernels/philox_lanes.h>
#include <lib/kernels/real_math.h>
#include <lib/kernels/vec.h>

/* A tile has COLUMNS columns; a group of GROUP rows times PANEL registers of sums fits the register file. */
#if defined(__AVX512F__)
enum { GROUP = 6, PANEL = 4 };
#elif defined(__AVX2__)
enum { GROUP = 6, PANEL = 2 };
#else
enum { GROUP = 4, PANEL = 2 };
#endif
enum { COLUMNS = 64, LANES = GNN__VEC_LANES };

static inline int64_t whole_lanes(int64_t n)
{
    return (n + 15) / 16 * 16;
}

GNN__INLINE gnn_real_t *take(gnn_real_t **at, int64_t count)
{
    gnn_real_t *memory = *at;
    *at += count;
    return memory;
}

/* ---- packing ---- */

/* Columns at .. at + COLUMNS - 1 of a part, of which from .. to - 1 (counted inside the tile) exist. The others read as zero. */
typedef struct tile {
    int64_t at;
    int from, to;
    uint32_t node[COLUMNS];
} tile_t;

GNN__INLINE void tile_nodes(const gnn__attention_t *a, tile_t *t)
{
    for (int c = 0; c < COLUMNS; c++)
        t->node[c] = c >= t->from && c < t->to ? (uint32_t)gnn__pairs_col(&a->pairs, t->at + c) : 0;
}

/* rows[c][x] = number x of the head of column c, rows of `ld` numbers; what does not exist is 0. */
GNN__INLINE void pack_rows(const gnn__matrix_t *m, const tile_t *t, int64_t first, int64_t count,
                           int64_t ld, gnn_real_t *rows)
{
    for (int c = 0; c < COLUMNS; c++, rows += ld) {
        const bool there = c >= t->from && c < t->to;
        const gnn_real_t *x = there ? gnn__matrix_row(m, t->node[c]) + first : NULL;
        if (there)
            memcpy(rows, x, sizeof *rows * (size_t)count);
        else
            memset(rows, 0, sizeof *rows * (size_t)count);
        for (int64_t k = count; k < ld; k++)
            rows[k] = 0;
    }
}

/* columns[x][c] from rows[c][x]. */
GNN__INLINE void transpose(const gnn_real_t *rows, int64_t ld, int64_t count, gnn_real_t *columns)
{
    for (int64_t x0 = 0; x0 < count; x0 += 8)
        for (int c0 = 0; c0 < COLUMNS; c0 += 8)
            for (int64_t x = x0; x < x0 + 8 && x < count; x++)
                for (int c = c0; c < c0 + 8; c++)
                    columns[x * COLUMNS + c] = rows[c * ld + x];
}

/* ---- products ---- */

/* out[r] (+)= sum over k in from .. to - 1 of a[r][k] b[k], `panel` registers wide; rows of b and out are ldb and ldo numbers apart. */
GNN__INLINE void panel_product(const gnn_real_t *const *a, const gnn_real_t *b, int64_t ldb,
                               int64_t from, int64_t to, gnn_real_t *out, int64_t ldo, bool add,
                               const int rows, const int panel)
{
    gnn__vec_t sum[GROUP][PANEL];
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < panel; v++)
            sum[r][v] = add ? gnn__vec_load(out + r * ldo + v * LANES) : (gnn__vec_t){0};
    for (int64_t k = from; k < to; k++) {
        gnn__vec_t x[PANEL];
        for (int v = 0; v < panel; v++)
            x[v] = gnn__vec_load(b + k * ldb + v * LANES);
        for (int r = 0; r < rows; r++) {
            const gnn__vec_t w = gnn__vec_all(a[r][k]);
            for (int v = 0; v < panel; v++)
                sum[r][v] += w * x[v];
        }
    }
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < panel; v++)
            gnn__vec_store(out + r * ldo + v * LANES, sum[r][v]);
}

GNN__INLINE void wide_product(const gnn_real_t *const *a, const gnn_real_t *b, int64_t ldb,
                              int64_t from, int64_t to, gnn_real_t *out, int64_t ldo, int64_t width,
                              bool add, const int rows)
{
    int64_t x = 0;
    for (; x + PANEL * LANES <= width; x += PANEL * LANES)
        panel_product(a, b + x, ldb, from, to, out + x, ldo, add, rows, PANEL);
    for (; x < width; x += LANES)
        panel_product(a, b + x, ldb, from, to, out + x, ldo, add, rows, 1);
}

/* `width` (whole registers) columns of the product of up to GROUP rows. */
static __attribute__((noinline)) void product(const gnn_real_t *const *a, int rows,
                                              const gnn_real_t *b, int64_t ldb, int64_t from,
                                              int64_t to, gnn_real_t *out, int64_t ldo,
                                              int64_t width, bool add)
{
    if (rows == GROUP) {
        wide_product(a, b, ldb, from, to, out, ldo, width, add, GROUP);
        return;
    }
    for (int r = 0; r < rows; r++)
        wide_product(a + r, b, ldb, from, to, out + r * ldo, ldo, width, add, 1);
}

/* The part of a tile that each row of a group hears: from[r] .. to[r] - 1. */
typedef struct group {
    int rows;
    int from[GROUP], to[GROUP];
    int all_from, all_to; /* what all of them hear; empty if all_to <= all_from */
    bool any, cut;        /* somebody hears something; somebody does not hear all */
} group_t;

GNN__INLINE group_t group_at(const gnn__attention_t *a, const tile_t *t, int64_t row, int64_t row1)
{
    group_t g = {
        .rows = (int)(row1 - row < GROUP ? row1 - row : GROUP), .all_from = 0, .all_to = COLUMNS};
    for (int r = 0; r < g.rows; r++) {
        const int64_t from = a->pairs.lo[row + r] - t->at, to = a->pairs.hi[row + r] - t->at;
        g.from[r] = (int)(from < 0 ? 0 : from > COLUMNS ? COLUMNS : from);
        g.to[r] = (int)(to < g.from[r] ? g.from[r] : to > COLUMNS ? COLUMNS : to);
        g.all_from = g.from[r] > g.all_from ? g.from[r] : g.all_from;
        g.all_to = g.to[r] < g.all_to ? g.to[r] : g.all_to;
        g.any |= g.to[r] > g.from[r];
        g.cut |= g.from[r] > 0 || g.to[r] < COLUMNS;
    }
    return g;
}

/* out[r] += sum over what row r hears of p[r][k] b[k]: what all rows hear goes together, the rest row by row. Columns that a row does not hear are not touched,
 * since 0 x NaN is NaN. */
static inline void heard_product(const group_t *g, const gnn_real_t *const *p, const gnn_real_t *b,
                                 int64_t ldb, gnn_real_t *out, int64_t width)
{
    const bool together = g->all_to > g->all_from && g->rows == GROUP;
    if (together)
        product(p, GROUP, b, ldb, g->all_from, g->all_to, out, ldb, width, true);
    for (int r = 0; r < g->rows; r++) {
        const int stop = together ? g->all_from : g->to[r], start = together ? g->all_to : g->to[r];
        if (g->from[r] < stop)
            product(p + r, 1, b, ldb, g->from[r], stop, out + r * ldb, ldb, width, true);
        if (start < g->to[r])
            product(p + r, 1, b, ldb, start, g->to[r], out + r * ldb, ldb, width, true);
    }
}

/* Columns that the rows row0 .. row1 - 1 hear, cut into tiles from the first row's run on; false when there are no more. */
GNN__INLINE bool next_tile(const gnn__attention_t *a, tile_t *t, int64_t row0, int64_t row1,
                           bool first)
{
    const int64_t end = a->pairs.hi[row1 - 1];
    t->at = first ? a->pairs.lo[row0] : t->at + COLUMNS;
    if (t->at >= end)
        return false;
    t->from = 0;
    t->to = (int)(end - t->at < COLUMNS ? end - t->at : COLUMNS);
    tile_nodes(a, t);
    return true;
}

GNN__INLINE gnn_real_t lse_shift(gnn_real_t lse)
{
    return lse == -INFINITY ? INFINITY : lse; /* nobody was heard: every alpha is 0 */
}

#endif
