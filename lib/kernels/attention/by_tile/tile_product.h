/* Products of tiles: how their factors lie, and the product of fp32 numbers. Included by kernels
 * only. */
#ifndef GNN_KERNELS_TILE_PRODUCT_H
#define GNN_KERNELS_TILE_PRODUCT_H

#include <lib/kernels/attention/by_tile/by_tile.h>
#include <lib/kernels/attention/by_tile/tile_math.h>
#include <lib/kernels/isa.h>

/* A tile has COLUMNS columns and is met by STRIP rows at a time, so that a factor and the strip's
 * scores stay in L1; a group of GROUP rows times PANEL registers of sums fits the register file. */
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

/* out[r] (+)= sum over k < n of a[r * row + k * step] b[k] for `rows` rows, `width` (whole
 * registers) columns; rows of b and out are ldb and ldo numbers apart. */
typedef void product_t(const gnn_real_t *a, int64_t row, int64_t step, int64_t rows,
                       const gnn_real_t *b, int64_t ldb, int64_t n, gnn_real_t *out, int64_t ldo,
                       int64_t width, bool add);

#define product GNN__KERNEL(tile_product)
product_t product;

/* ---- bf16: a word holds two numbers, the first in its low half ----
 *
 * At `medium` numbers are rounded. At `high` a number is the sum of two, itself rounded and the
 * rest, rounded too; both have words of their own.
 *
 * Rows of a      words one after another; at `high` by blocks of 16, each followed by the block of
 *                their rests
 * Rows of b      words of rows 2k and 2k + 1 of one column each; at `high` followed by a row of
 *                their rests
 *
 * What is b may be an a whose rows lie side by side. */

enum { BLOCK_WORDS = 16 };

/* Words that n numbers count for in a product. */
static inline int64_t words_of(gnn_precision_t level, int64_t n)
{
    return IN_BF16(level) ? (n + 1) / 2 : n;
}

/* What a row of n numbers takes as a row of a, n rows as rows of b; and how far apart two rows of b
 * are, ld numbers each. */
static inline int64_t room_of(gnn_precision_t level, int64_t n)
{
    return IN_BF16(level) ? gnn__tile_room(level, n) : n;
}

static inline int64_t next_row(gnn_precision_t level, int64_t ld)
{
    return SPLIT(level) ? 2 * ld : ld;
}

/* Where word k of a row of a is, k being the first of a block, and how far behind it its rest. */
static inline int64_t word_at(bool split, int64_t step, int64_t k)
{
    return step == 1 && split ? 2 * k : k * step;
}

static inline int64_t rests_at(int64_t step)
{
    return step == 1 ? BLOCK_WORDS : step / 2;
}

#endif
