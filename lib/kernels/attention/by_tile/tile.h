/* Shared by the by-tile kernels: products of tiles in fp32 and bf16, packing, dropout, the spans of
 * a strip, keys by distance. Included by kernels only.
 *
 *     tile      COLUMNS (64) senders, packed:   keys transposed (d_k x 64), values (64 x d_v)
 *     strip     STRIP (48) rows of receivers;   scores p (48 x 64) stay in L1
 *     group     GROUP (6 or 4) rows             x PANEL (2) registers of sums, in registers
 *     piece     rows whose spans overlap        short sequences become pieces of their own
 *
 *     p = q k'      score_product      strip (48 x d_k) x tile (d_k x 64)
 *     y += p v      span_product       strip (48 x 64)  x tile (64 x d_v) */
#ifndef GNN_KERNELS_TILE_H
#define GNN_KERNELS_TILE_H

#include <lib/kernels/attention/by_tile/by_tile.h>
#include <lib/kernels/attention/by_tile/tile_math.h>
#include <lib/kernels/isa.h>

/* Sizes: a factor and the scores of a strip stay in L1; a group of rows times PANEL registers of
 * sums fits the register file. */
#if defined(__AVX2__)
enum { GROUP = 6 };
#else
enum { GROUP = 4 };
#endif
enum { PANEL = 2 };
/* True in instruction sets that a processor with bf16 products may extend. */
#if defined(__AVX512F__) && !GNN_DOUBLE
#define BF16_PRODUCTS 1
#else
#define BF16_PRODUCTS 0
#endif
#define IN_BF16(level) (BF16_PRODUCTS && (level) != GNN_PRECISION_HIGHEST)
#define SPLIT(level) (BF16_PRODUCTS && (level) == GNN_PRECISION_HIGH)
enum { COLUMNS = GNN__TILE_COLUMNS, STRIP = 48, GROUPS = STRIP / GROUP };

/* One copy of functions with many callers. */
#if defined(__clang__)
#define ONE_COPY __attribute__((noinline))
#else
#define ONE_COPY __attribute__((noinline, noclone))
#endif

/* out[r] (+)= sum over k < n of a[r * row + k * step] b[k], for `rows` rows and `width` columns
 * (whole registers). Rows of b and out are ldb and ldo elements apart. */
typedef void product_t(const gnn_real_t *a, int64_t row, int64_t step, int64_t rows,
                       const gnn_real_t *b, int64_t ldb, int64_t n, gnn_real_t *out, int64_t ldo,
                       int64_t width, bool add);

#define product GNN__KERNEL(tile_product)
product_t product;

/* ---- bf16 words: two values each, the first in the low half ----
 *
 * At `medium` operands are rounded to bf16. At `high` an operand is split in two, itself rounded
 * and the remainder, rounded too; both have words of their own.
 *
 *     rows of a   words in sequence; at `high` in blocks of 16, each followed by its remainders
 *                 [w0 .. w15] [r0 .. r15] [w16 .. w31] [r16 .. r31] ..
 *     rows of b   word c holds column c of rows 2k and 2k + 1; at `high` followed by a row of
 *                 remainders
 *
 * An operand b may also be read as an a with rows next to each other. */

enum { BLOCK_WORDS = 16 };

/* Words that n elements take in a product. */
static inline int64_t words_of(gnn_precision_t level, int64_t n)
{
    return IN_BF16(level) ? (n + 1) / 2 : n;
}

/* Elements of memory of a row of n as a row of a, or of n rows as rows of b; and the distance of
 * two rows of b, ld elements each. */
static inline int64_t room_of(gnn_precision_t level, int64_t n)
{
    return IN_BF16(level) ? gnn__tile_room(level, n) : n;
}

static inline int64_t next_row(gnn_precision_t level, int64_t ld)
{
    return SPLIT(level) ? 2 * ld : ld;
}

/* Offset of word k of a row of a, where k starts a block, and the distance from it to its
 * remainder. */
static inline int64_t word_at(bool split, int64_t step, int64_t k)
{
    return step == 1 && split ? 2 * k : k * step;
}

static inline int64_t remainders_at(int64_t step)
{
    return step == 1 ? BLOCK_WORDS : step / 2;
}

/* ---- bf16 products by vdpbf16ps, and conversion to words (product_bf16.kernel.c) ---- */

#define rounded_product GNN__KERNEL(tile_rounded_product)
#define split_product GNN__KERNEL(tile_split_product)
#define bf16_row_product GNN__KERNEL(tile_bf16_row_product)
#define bf16_rows GNN__KERNEL(tile_bf16_rows)
#define bf16_pairs GNN__KERNEL(tile_bf16_pairs)

/* n, steps and distances count words. */
product_t rounded_product, split_product;

/* One row of a product over elements from .. to - 1, in the same order. */
void bf16_row_product(const gnn_real_t *a, int64_t step, const gnn_real_t *b, int64_t ldb,
                      int64_t from, int64_t to, gnn_real_t *out, int64_t width, bool split);

/* Converts n elements (whole rows) in place to rows of a. */
void bf16_rows(gnn_real_t *x, int64_t n, bool split);

/* Converts rows to the layout of the second factor, which pairs rows; a row of zeros follows an odd
 * count. y may be x. */
void bf16_pairs(const gnn_real_t *x, int64_t rows, int64_t ld, gnn_real_t *y, bool split);

/* ---- bf16 products by AMX, between amx_begin and amx_end (product_amx.kernel.c) ---- */

#define amx_rounded_product GNN__KERNEL(tile_amx_rounded_product)
#define amx_split_product GNN__KERNEL(tile_amx_split_product)
#define amx_begin GNN__KERNEL(tile_amx_begin)
#define amx_end GNN__KERNEL(tile_amx_end)

/* n, steps and distances count words. */
product_t amx_rounded_product, amx_split_product;
void amx_begin(void);
void amx_end(void);

/* ---- packing ---- */

GNN__INLINE gnn_real_t *carve_reals(gnn__carve_t *c, int64_t count)
{
    return gnn__carve(c, count, sizeof(gnn_real_t));
}

GNN__INLINE void clear(gnn_real_t *x, int64_t n)
{
    for (int64_t k = 0; k < n; k += LANES)
        gnn__vec_store(x + k, (gnn__vec_t){0});
}

/* One side of a tile, a row per column of the tile. finite: all elements are. */
typedef struct panel {
    const gnn_real_t *rows;
    int64_t ld;
    bool finite;
} panel_t;

#define pack_rows GNN__KERNEL(tile_pack_rows)
#define transpose GNN__KERNEL(tile_transpose)
#define put_scaled GNN__KERNEL(tile_put_scaled)

/* rows[r] = factor * elements first .. first + count - 1 of node[r]'s row of m, padded to ld with
 * zeros, as are the rows from n to `whole`. True if all are finite: 0 times any of them is then
 * 0. */
bool pack_rows(const gnn__matrix_t *m, const uint32_t *node, int n, int whole, int64_t first,
               int64_t count, int64_t ld, gnn_real_t factor, gnn_real_t *rows);

/* columns[x][c] = rows[c][x] for c < count; rows of columns are COLUMNS long, and the last register
 * of each is filled with the last row. */
void transpose(const panel_t *p, int count, int64_t width, gnn_real_t *columns);

/* y (+)= factor * x, n elements. */
void put_scaled(const gnn_real_t *x, int64_t n, gnn_real_t factor, bool add, gnn_real_t *y);

/* ---- dropout ---- */

#define draw_piece GNN__KERNEL(tile_draw_piece)
#define keep_row GNN__KERNEL(tile_keep_row)

/* Dropout draws of one piece, eight heads at once: a byte per row and column, row0 and column0
 * being the first, rows `ld` apart. ld 0: the piece is too large, and each head draws row by
 * row. */
typedef struct drawn {
    uint8_t *bits;
    int64_t row0, column0, ld;
} drawn_t;

/* Draws for rows row0 .. row1 - 1 and the group of eight heads that `head` is in. */
void draw_piece(const gnn__attention_t *a, int64_t row0, int64_t row1, int64_t head, drawn_t *drawn);

/* Dropout multipliers of one row of a tile: bits where registers have masks. */
#if defined(__AVX512BW__) && !GNN_DOUBLE
typedef struct {
    uint64_t kept;
    gnn_real_t scale;
} keep_t;

/* x times the multipliers of columns c .. c + LANES - 1. */
GNN__INLINE gnn__vec_t apply_dropout(const keep_t *keep, int c, gnn__vec_t x)
{
    return (gnn__vec_t)_mm512_maskz_mul_ps((__mmask16)(keep->kept >> c), (__m512)x,
                                           _mm512_set1_ps(keep->scale));
}
#else
typedef struct {
    gnn_real_t by[COLUMNS];
} keep_t;

GNN__INLINE gnn__vec_t apply_dropout(const keep_t *keep, int c, gnn__vec_t x)
{
    return x * gnn__vec_load(keep->by + c);
}
#endif

/* Loads the multipliers of columns from .. to - 1, rounded out to whole registers, of one row of
 * the tile that begins at column `at`. */
void keep_row(const gnn__attention_t *a, const drawn_t *drawn, int64_t row, int64_t at, int from,
              int to, int64_t head, keep_t *keep);

/* ---- tiles ---- */

/* Columns at .. at + count - 1 of a part, and their nodes. */
typedef struct tile {
    int64_t at;
    int count;
    uint32_t node[COLUMNS];
} tile_t;

/* Moves t to the next tile of the columns that rows row0 .. row1 - 1 attend; false after the last.
 * A tile packed for all rows may extend further. */
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

/* True for short pieces whose rows all attend all of it: they are read in place, since nothing is
 * multiplied by 0 then. */
GNN__INLINE bool in_place(const gnn__attention_t *a, int64_t row0, int64_t row1)
{
    const int32_t *lo = a->pairs.lo, *hi = a->pairs.hi;
    return !a->pairs.col_order && a->keys.count == 0 && lo[row0] == lo[row1 - 1] &&
           hi[row0] == hi[row1 - 1] && hi[row0] - lo[row0] <= STRIP;
}

/* ---- spans of a strip in a tile ---- */

/* A column relative to a tile of `count` columns, clamped to it. */
GNN__INLINE int clamp_column(int64_t column, int count)
{
    if (column < 0)
        return 0;
    return column > count ? count : (int)column;
}

/* Row r of a strip attends columns from[r] .. to[r] - 1 of the tile; the rows of group g together
 * first[g] .. end[g] - 1; all of them all_first .. all_end - 1. */
typedef struct spans {
    int rows, groups;
    bool cut; /* some row does not attend the whole tile */
    gnn_precision_t level;
    product_t *multiply;
    int from[STRIP], to[STRIP], first[GROUPS], end[GROUPS];
    int all_first, all_end;
} spans_t;

/* Column rounded down to whole registers (at `high`: of words), and up. */
GNN__INLINE int lanes_from(const spans_t *h, int column)
{
    const int unit = SPLIT(h->level) ? 2 * LANES : LANES;
    return column / unit * unit;
}

static inline int lanes_to(int column)
{
    return (column + LANES - 1) / LANES * LANES;
}

/* Prior by distance of a row that attends some of the tile; element c belongs to column c. */
GNN__INLINE const gnn_real_t *prior_of(const gnn__attention_t *a, const tile_t *t, int64_t row,
                                       int64_t head)
{
    return a->prior.at + head * a->prior.stride + a->prior.shift[row] + t->at;
}

#define span_bounds GNN__KERNEL(tile_span_bounds)
#define score_product GNN__KERNEL(tile_score_product)
#define span_product GNN__KERNEL(tile_span_product)
#define row_product GNN__KERNEL(tile_row_product)
#define cap_strip GNN__KERNEL(tile_cap_strip)

/* Fills h for `rows` rows from `row` on. Span bounds are non-decreasing, so the first and last row
 * bound the senders of a row group. */
void span_bounds(const gnn__attention_t *a, const tile_t *t, int64_t row, int rows,
                 gnn_precision_t level, spans_t *h);

/* out = a b over the registers of columns that each group attends. */
void score_product(const spans_t *h, const gnn_real_t *a, int64_t lda, int64_t n,
                   const gnn_real_t *b, gnn_real_t *out);

/* out[r] += sum over the columns that row r attends of p[r][c] b[c]. p is 0 where a row of a group
 * does not attend, which is safe to multiply if b is finite; else row by row in the same order,
 * since 0 x NaN is NaN. */
void span_product(const spans_t *h, const gnn_real_t *p, const panel_t *b, gnn_real_t *out,
                  int64_t width);

/* out += sum over k = from .. to - 1 of a[k * step] b[k], one row. */
void row_product(const spans_t *h, const gnn_real_t *a, int64_t step, const gnn_real_t *b,
                 int64_t ldb, int64_t from, int64_t to, gnn_real_t *out, int64_t width);

/* Applies the softcap to the scores of a strip, in units of log2. slopes (same shape; NULL: not
 * wanted) receives its derivatives. */
void cap_strip(const gnn__attention_t *a, const spans_t *h, gnn_real_t *p, gnn_real_t *slopes);

/* One head of the tile's rows of m, in place if they may be read so, else packed at `place`. */
static inline panel_t panel_of(const gnn__attention_t *a, const gnn__matrix_t *m, const tile_t *t,
                               int64_t first, int64_t count, bool in_callers_memory,
                               gnn_real_t *place)
{
    const int64_t ld = gnn__tile_row(a, count);
    if (in_callers_memory && count == ld)
        return (panel_t){gnn__matrix_row(m, t->at) + first, m->stride, false};
    return (panel_t){place, ld,
                     pack_rows(m, t->node, t->count, t->count, first, count, ld, 1, place)};
}

/* ---- pieces and strips of rows ---- */

/* Strip `index` of `count` of the rows row0 .. row1 - 1. */
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

/* Prefetches this strip's share of the rows of the next tile. */
GNN__INLINE void prefetch_next(const gnn__attention_t *a, const tile_t *t, const strip_t *s,
                               const gnn__matrix_t *m, int64_t first, int64_t count)
{
    const int64_t most = a->pairs.hi[s->row1 - 1], next = t->at + COLUMNS;
    const int64_t last = next + (s->index + 1) * COLUMNS / s->count, end = last < most ? last : most;
    for (int64_t c = next + s->index * COLUMNS / s->count; c < end; c++) {
        const gnn_real_t *x = gnn__matrix_row(m, gnn__pairs_col(&a->pairs, c)) + first;
        for (int64_t i = 0; i < count; i += 64 / (int64_t)sizeof *x)
            __builtin_prefetch(x + i);
    }
}

/* While the last tile is processed, prefetch_first fetches what the next head reads of the piece's
 * first tile, and prefetch_rows the strip's own rows, to read or to write. */
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

/* The first row after row0, at most row1, that shares no column with earlier rows: short sequences
 * become pieces. A piece has at least a register of columns; keys by distance need rows whose
 * distances are contiguous. */
static inline int64_t piece_end(const gnn__attention_t *a, int64_t row0, int64_t row1)
{
    const int32_t *lo = a->pairs.lo, *hi = a->pairs.hi;
    int64_t row = row0 + 1;
    while (row < row1 && (lo[row] < hi[row - 1] || hi[row - 1] - lo[row0] < 16) &&
           (a->keys.count == 0 || a->prior.shift[row] == a->prior.shift[row - 1] - 1))
        row++;
    return row;
}

/* ---- keys by distance (tile_band.kernel.c) ----
 *
 * The distance of a pair is its column minus its row, plus a constant. So the products of some rows
 * of queries with the keys of the distances that they need form a band: row r's start one slot
 * before those of row r - 1. A product that stores the rows of its result one element further apart
 * turns the band into a rectangle with the columns of a tile, and one that reads a rectangle so
 * turns it back:
 *
 *     slots      x0     x0 + 1  x0 + 2            columns    0       1       2
 *     row 0       a00    a01     a02               row 0      a00     a01     a02
 *     row 1  a10  a11    a12                       row 1      a10     a11     a12
 *
 * Forward, rows are receivers and columns senders. Backward, where tiles have senders as rows, the
 * band is that of the tile's receivers, a row each, and the tile adds it transposed. */

/* Groups of rows multiply whole blocks of keys, which extend beyond their columns by less than a
 * block and a group on either side. */
enum { BAND_SLACK = GNN__BAND_SLACK, BAND_GROUPS = COLUMNS / GROUP + 1 };

/* Element (r, c) is at[r * ld + c]; BAND_SLACK columns more are on either side. */
typedef struct band {
    gnn_real_t *at;
    int64_t ld;
    int64_t x0;    /* slot of row 0, column 0 */
    int64_t *done; /* per group of rows: blocks before this one are computed */
    /* Products of each row with the key of all slots up to `near`, and of all from `far` on; bits
     * per group: which of them are known. */
    gnn_real_t *ends;
    uint8_t *known;
} band_t;

#define band_pack GNN__KERNEL(tile_band_pack)
#define band_fill GNN__KERNEL(tile_band_fill)
#define band_transpose GNN__KERNEL(tile_band_transpose)
#define band_grads GNN__KERNEL(tile_band_grads)

/* Transposes GNN__KEY_BLOCK rows of keys to a block. */
void band_pack(const gnn_real_t *rows, int64_t width, gnn_real_t *block);

/* Computes products of `rows` queries of a head with keys, where group g of rows needs columns
 * first[g] .. end[g] - 1. Blocks that are computed already are kept. */
void band_fill(const gnn__attention_t *a, int64_t head, const gnn_real_t *q, int64_t ldq, int rows,
               const int *first, const int *end, const band_t *band);

/* out[r][c] = row c, column r0 + r of the band, for r < rows and columns c0 .. c1 - 1 (whole
 * registers). */
void band_transpose(const band_t *band, int64_t r0, int rows, int c0, int c1, gnn_real_t *out);

/* Rows of a piece (senders): row r attends columns from[r] .. to[r] - 1 of a tile. d holds the
 * derivatives of scores (rows x COLUMNS), 0 where there is no pair, with BAND_GUARD rows of zeros
 * before and after. */
enum { BAND_GUARD = 8 };

typedef struct band_pairs {
    int rows, columns;
    int from[GNN__TILE_ROWS], to[GNN__TILE_ROWS];
    int64_t x0; /* slot of row 0, column 0; that of (r, c) is x0 + r - c */
    const gnn_real_t *d;
} band_pairs_t;

/* d_q (a row per column) and d_keys (a row per slot) += what these pairs give; NULL: not
 * wanted. */
void band_grads(const gnn__attention_t *a, const band_pairs_t *pairs, int64_t head,
                const panel_t *q, gnn_real_t *d_q, gnn_real_t *d_keys);

#endif
