/* Between the tile kernels of attention: tiles, who hears what of them, packing and products. Included by kernels only. */
#ifndef GNN_KERNELS_ATTENTION_TILES_H
#define GNN_KERNELS_ATTENTION_TILES_H

#include <lib/kernels/attention.h>
#include <lib/kernels/isa.h>
#include <lib/kernels/philox_lanes.h>
#include <lib/kernels/tile_math.h>

/* A tile has COLUMNS columns and is met by STRIP rows at a time, so that a factor and the strip's scores stay in L1; a group of GROUP rows times PANEL registers
 * of sums fits the register file. */
#if defined(__AVX2__)
enum { GROUP = 6 };
#else
enum { GROUP = 4 };
#endif
enum { PANEL = 2 };
/* Instruction sets that a processor with bf16 products may extend. */
#if defined(__AVX512F__) && !GNN_DOUBLE
#define HALVES 1
#else
#define HALVES 0
#endif
#define IN_BF16(level) (HALVES && (level) != GNN_PRECISION_HIGHEST)
#define SPLIT(level) (HALVES && (level) == GNN_PRECISION_HIGH)
enum { COLUMNS = GNN__TILE_COLUMNS, STRIP = 48, GROUPS = STRIP / GROUP };

/* One copy of what is called from many places. */
#if defined(__clang__)
#define ONE_COPY __attribute__((noinline))
#else
#define ONE_COPY __attribute__((noinline, noclone))
#endif

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

/* The next tile of the columns that rows row0 .. row1 - 1 hear; false when there are no more. One that was packed for all rows may reach further. */
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

GNN__INLINE void clear(gnn_real_t *x, int64_t n)
{
    for (int64_t k = 0; k < n; k += LANES)
        gnn__vec_store(x + k, (gnn__vec_t){0});
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

/* out[r] (+)= sum over k < n of a[r * row + k * step] b[k] for `rows` rows, `width` (whole registers) columns; rows of b and out are ldb and ldo numbers apart. */
typedef void product_t(const gnn_real_t *a, int64_t row, int64_t step, int64_t rows,
                       const gnn_real_t *b, int64_t ldb, int64_t n, gnn_real_t *out, int64_t ldo,
                       int64_t width, bool add);

/* ---- who hears what of a tile ---- */

/* Row r of a strip hears columns from[r] .. to[r] - 1 of the tile; all rows of group g together first[g] .. end[g] - 1. */
typedef struct heard {
    int rows, groups;
    bool cut; /* somebody does not hear the whole tile */
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

/* ---- bf16: a word holds two numbers, the first in its low half ----
 *
 * At `medium` numbers are rounded. At `high` a number is the sum of two, itself rounded and the rest, rounded too; both have words of their own.
 *
 * Rows of a      words one after another; at `high` by blocks of 16, each followed by the block of their rests
 * Rows of b      words of rows 2k and 2k + 1 of one column each; at `high` followed by a row of their rests
 *
 * What is b may be an a whose rows lie side by side. */

#define rounded_product GNN__KERNEL(tile_rounded_product)
#define split_product GNN__KERNEL(tile_split_product)
#define amx_rounded_product GNN__KERNEL(tile_amx_rounded_product)
#define amx_split_product GNN__KERNEL(tile_amx_split_product)
#define amx_begin GNN__KERNEL(tile_amx_begin)
#define amx_end GNN__KERNEL(tile_amx_end)
#define bf16_row GNN__KERNEL(tile_bf16_row)
#define halve GNN__KERNEL(tile_halve)
#define pair GNN__KERNEL(tile_pair)

enum { BLOCK = 16 };

/* Words that n numbers count for in a product. */
static inline int64_t words_of(gnn_precision_t level, int64_t n)
{
    return IN_BF16(level) ? (n + 1) / 2 : n;
}

/* What a row of n numbers takes as a row of a, n rows as rows of b; and how far apart two rows of b are, ld numbers each. */
static inline int64_t room_of(gnn_precision_t level, int64_t n)
{
    return IN_BF16(level) ? gnn__tile_room(level, n) : n;
}

static inline int64_t next_row(gnn_precision_t level, int64_t ld)
{
    return SPLIT(level) ? 2 * ld : ld;
}

/* Where word k of a row of a is, k being the first of a block, and how far behind it its rest. */
static inline int64_t block_at(bool split, int64_t step, int64_t k)
{
    return step == 1 && split ? 2 * k : k * step;
}

static inline int64_t rests_at(int64_t step)
{
    return step == 1 ? BLOCK : step / 2;
}

/* n, steps and distances count words. In attention_amx.kernel.c the same by AMX, between begin and end. */
product_t rounded_product, split_product, amx_rounded_product, amx_split_product;
void amx_begin(void);
void amx_end(void);

/* One row, of numbers from .. to - 1, in the same order. */
void bf16_row(const gnn_real_t *a, int64_t step, const gnn_real_t *b, int64_t ldb, int64_t from,
              int64_t to, gnn_real_t *out, int64_t width, bool split);

/* n numbers (whole rows) become rows of a, where they are. */
void halve(gnn_real_t *x, int64_t n, bool split);

/* Rows become those of b; beyond the last one is 0. y may be x. */
void pair(const gnn_real_t *x, int64_t rows, int64_t ld, gnn_real_t *y, bool split);

/* ---- attention_tile_parts.kernel.c ---- */

#define pack_rows GNN__KERNEL(tile_pack_rows)
#define transpose GNN__KERNEL(tile_transpose)
#define product GNN__KERNEL(tile_product)
#define hear GNN__KERNEL(tile_hear)
#define score_product GNN__KERNEL(tile_score_product)
#define heard_product GNN__KERNEL(tile_heard_product)
#define row_product GNN__KERNEL(tile_row_product)
#define draw_piece GNN__KERNEL(tile_draw_piece)
#define keep_row GNN__KERNEL(tile_keep_row)
#define put_scaled GNN__KERNEL(tile_put_scaled)

/* rows[r] = factor * numbers first .. first + count - 1 of node[r]'s row of m, filled up to ld with 0, as are the rows from n to `whole`. True if all are finite:
 * then 0 times any of them is 0. */
bool pack_rows(const gnn__matrix_t *m, const uint32_t *node, int n, int whole, int64_t first,
               int64_t count, int64_t ld, gnn_real_t factor, gnn_real_t *rows);

/* columns[x][c] = rows[c][x] for c < count, rows of columns being COLUMNS long; the last register of each is filled up with the last row. */
void transpose(const panel_t *p, int count, int64_t width, gnn_real_t *columns);

product_t product;

/* Runs only move to the right, so that the first and the last row of a group tell what it hears. */
void hear(const gnn__attention_t *a, const tile_t *t, int64_t row, int rows, gnn_precision_t level,
          heard_t *h);

/* out = a b over the registers of columns that each group hears. */
void score_product(const heard_t *h, const gnn_real_t *a, int64_t lda, int64_t n,
                   const gnn_real_t *b, gnn_real_t *out);

/* out[r] += sum over what row r hears of p[r][c] b[c]. p is 0 where a row of a group hears nothing, which is safe to multiply if b is finite; else row by row, in
 * the same order, since 0 x NaN is NaN. */
void heard_product(const heard_t *h, const gnn_real_t *p, const panel_t *b, gnn_real_t *out,
                   int64_t width);

/* out += sum over k = from .. to - 1 of a[k * step] b[k], one row. */
void row_product(const heard_t *h, const gnn_real_t *a, int64_t step, const gnn_real_t *b,
                 int64_t ldb, int64_t from, int64_t to, gnn_real_t *out, int64_t width);

/* y (+)= factor * x, n numbers. */
void put_scaled(const gnn_real_t *x, int64_t n, gnn_real_t factor, bool add, gnn_real_t *y);

/* Dropout of one piece, eight heads at once: a byte for each of its rows and columns, row0 and column0 being the first, rows `ld` apart; ld 0: the piece is too
 * large, and every head draws for itself, row by row. */
typedef struct drawn {
    uint8_t *bits;
    int64_t row0, column0, ld;
} drawn_t;

/* Draws for rows row0 .. row1 - 1 and the heads around `head`. */
void draw_piece(const gnn__attention_t *a, int64_t row0, int64_t row1, int64_t head, drawn_t *drawn);

/* Multipliers of one row of a tile: bits where registers have masks. */
#if defined(__AVX512BW__) && !GNN_DOUBLE
typedef struct {
    uint64_t kept;
    gnn_real_t scale;
} keep_t;

/* Column c and those behind it. */
GNN__INLINE gnn__vec_t kept_of(const keep_t *keep, int c, gnn__vec_t x)
{
    return (gnn__vec_t)_mm512_maskz_mul_ps((__mmask16)(keep->kept >> c), (__m512)x,
                                           _mm512_set1_ps(keep->scale));
}
#else
typedef struct {
    gnn_real_t by[COLUMNS];
} keep_t;

GNN__INLINE gnn__vec_t kept_of(const keep_t *keep, int c, gnn__vec_t x)
{
    return x * gnn__vec_load(keep->by + c);
}
#endif

/* Those of columns from .. to - 1 of one row of the tile that begins at column `at`, and of as many around them as make whole registers. */
void keep_row(const gnn__attention_t *a, const drawn_t *drawn, int64_t row, int64_t at, int from,
              int to, int64_t head, keep_t *keep);

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

/* While the last tile is worked on: what the next head will read of the piece's first tile, or of the strip's own rows, and the rows that will be written. */
GNN__INLINE bool last_tile(const gnn__attention_t *a, const tile_t *t, const strip_t *s)
{
    return t->at + COLUMNS >= a->pairs.hi[s->row1 - 1];
}

/* In attention_tile_parts.kernel.c. */
#define prefetch_first GNN__KERNEL(tile_prefetch_first)
#define prefetch_rows GNN__KERNEL(tile_prefetch_rows)

void prefetch_first(const gnn__attention_t *a, const strip_t *s, const gnn__matrix_t *m,
                    int64_t first, int64_t count);
void prefetch_rows(const strip_t *s, const uint32_t *node, const gnn__matrix_t *m, int64_t first,
                   int64_t count, bool write);

/* The first row from row0 on that shares no column with those before it, at most row1: short sentences become tiles of their own. Less than a register of columns
 * is not worth a tile. */
static inline int64_t piece_end(const gnn__attention_t *a, int64_t row0, int64_t row1)
{
    const int32_t *lo = a->pairs.lo, *hi = a->pairs.hi;
    int64_t row = row0 + 1;
    while (row < row1 && (lo[row] < hi[row - 1] || hi[row - 1] - lo[row0] < 16))
        row++;
    return row;
}

#endif
