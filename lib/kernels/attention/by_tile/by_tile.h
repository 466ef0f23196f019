/* Attention by tile, for dot scores on spans: blocks of receivers against tiles of senders, with
 * the scores of a block in L1.
 *
 *                     senders, tiles of 64 columns
 *                     tile 0        tile 1        tile 2
 *     receivers     +-------------+-------------+-------------+
 *     strip 0       | all         | cut by the span           |
 *     (48 rows)     |             |           \ |             |    every row attends one run of
 *     strip 1       |             | all        \|             |    columns, lo .. hi - 1, and runs
 *                   |             |             | \           |    only move to the right
 *                   +-------------+-------------+-------------+
 *
 * Columns outside of a row's run are never multiplied with data that may not be finite, since 0 x
 * NaN is NaN. Forward (tile_forward.kernel.c) keeps a running softmax per receiver; backward
 * (tile_backward.kernel.c) has senders as rows and recomputes alpha. Here are the sizes and
 * functions that kernels share with their callers. */
#ifndef GNN_KERNELS_BY_TILE_H
#define GNN_KERNELS_BY_TILE_H

#include <lib/kernels/attention/attention.h>

/* Columns of a tile; most rows of a forward call, and in backward of a packed tile; bytes of a
 * thread's dropout draws. */
enum { GNN__TILE_COLUMNS = 64, GNN__TILE_ROWS = 384, GNN__TILE_DRAWN = 512 << 10 };

/* Extra columns on either side of a band of products with keys by distance (tile.h). */
enum { GNN__BAND_SLACK = 48 };

/* Columns of a tile: whole registers of any instruction set. */
static inline int64_t gnn__tile_width(int64_t n)
{
    return gnn__round_up(n, 16);
}

/* Elements of a packed row of d_k or d_v: whole registers, at `high` of words (tile.h). */
static inline int64_t gnn__tile_row(const gnn__attention_t *a, int64_t n)
{
    return gnn__round_up(n, a->level == GNN_PRECISION_HIGH ? 32 : 16);
}

/* Tiles of a part whose rows all start at the same column, and elements of each: keys, values, and
 * whether the values are finite. */
static inline int64_t gnn__packed_tiles(const gnn__attention_t *a)
{
    const int64_t columns = a->pairs.hi[a->pairs.n_rows - 1] - a->pairs.lo[0];
    return (columns + GNN__TILE_COLUMNS - 1) / GNN__TILE_COLUMNS;
}

/* Elements of memory that hold n packed elements: half as many at `medium`, where two share a word;
 * as many at `high`, where each is two bf16 values. */
static inline int64_t gnn__tile_room(gnn_precision_t level, int64_t n)
{
    return level == GNN_PRECISION_MEDIUM ? n / 2 : n;
}

static inline int64_t gnn__packed_tile(const gnn__attention_t *a)
{
    return GNN__TILE_COLUMNS *
               gnn__tile_room(a->level, gnn__tile_row(a, a->d_k) + gnn__tile_row(a, a->d_v)) +
           16;
}

/* Scratch elements per thread. */
int64_t gnn__attention_tiles_scratch(const gnn__attention_t *a);

/* ---- forward ---- */

typedef struct gnn__attention_tiles {
    /* Rows row0 .. row1 - 1, heads head0 .. head1 - 1. */
    void (*forward)(const gnn__attention_t *a, int64_t row0, int64_t row1, int64_t head0,
                    int64_t head1, gnn_real_t *scratch);
    /* Packs one tile of key and value head kv into a->packed. */
    void (*pack)(const gnn__attention_t *a, int64_t tile, int64_t kv, gnn_real_t *scratch);
    /* Transposes GNN__KEY_BLOCK rows of keys by distance to a block. */
    void (*pack_keys)(const gnn_real_t *rows, int64_t width, gnn_real_t *block);
} gnn__attention_tiles_t;
const gnn__attention_tiles_t *gnn__attention_tiles(void);

/* ---- backward ---- */

/* Sums of a call of `send` for rows that other threads own, per head of the call; overwritten. The
 * caller adds them to the gradients. NULL: not wanted. */
typedef struct gnn__tile_sums {
    /* Rows of gnn__tile_row(d_k) elements, one per receiver lo[row0] .. hi[row1 - 1] - 1: gradients
     * of queries, and of the rows that keys by distance multiply, which may be the queries. */
    gnn_real_t *d_q, *d_key_q;
    gnn_real_t *d_prior; /* a->prior.stride elements, the longest distance first, as in a->prior */
    gnn_real_t *d_keys;  /* a->prior.stride rows of a->keys.width elements, by distance */
} gnn__tile_sums_t;

/* Runs on the transposed part: rows are senders. */
typedef struct gnn__attention_tiles_grad {
    /* Rows row0 .. row1 - 1, any count; key and value heads kv0 .. kv1 - 1 and all query heads that
     * read them. */
    void (*send)(const gnn__attention_t *a, int64_t row0, int64_t row1, int64_t kv0, int64_t kv1,
                 const gnn__tile_sums_t *sums, gnn_real_t *scratch);
    /* Stores (add: adds) sums of columns c0 .. c1 - 1 in one head of the receivers' gradients. */
    void (*receive)(const gnn__attention_t *a, int64_t c0, int64_t c1, int64_t head, bool add,
                    const gnn_real_t *d_q);
} gnn__attention_tiles_grad_t;
const gnn__attention_tiles_grad_t *gnn__attention_tiles_grad(void);

#endif
