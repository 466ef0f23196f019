/* Attention in tiles, for dot scores on spans: blocks of rows against blocks of columns. What lies
 * outside a row's run is never multiplied, since 0 x NaN is NaN. Here are the sizes that kernels
 * and their callers share; tile_forward.h and tile_backward.h have the kernels. */
#ifndef GNN_KERNELS_BY_TILE_H
#define GNN_KERNELS_BY_TILE_H

#include <lib/kernels/attention/attention.h>

/* The most rows of a forward call; backward, the most that share a packed tile; bytes of a thread's
 * draws of dropout. */
enum { GNN__TILE_COLUMNS = 64, GNN__TILE_ROWS = 384, GNN__TILE_DRAWN = 512 << 10 };

/* Columns on either side of a band of products with keys (tile_band.h). */
enum { GNN__BAND_SLACK = 48 };

/* Columns of a tile: whole registers of any instruction set. */
static inline int64_t gnn__tile_width(int64_t n)
{
    return gnn__round_up(n, 16);
}

/* A row of d_k or d_v numbers inside of tiles: whole registers, at `high` of words. */
static inline int64_t gnn__tile_row(const gnn__attention_t *a, int64_t n)
{
    return gnn__round_up(n, a->level == GNN_PRECISION_HIGH ? 32 : 16);
}

/* Tiles of a part whose rows hear columns from the same one on, and numbers in each: keys, values,
 * and whether the values are finite. */
static inline int64_t gnn__packed_tiles(const gnn__attention_t *a)
{
    const int64_t columns = a->pairs.hi[a->pairs.n_rows - 1] - a->pairs.lo[0];
    return (columns + GNN__TILE_COLUMNS - 1) / GNN__TILE_COLUMNS;
}

/* What holds n packed numbers: half as much at `medium`, where two share a word; at `high` each is
 * two bf16 numbers. */
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

/* Numbers of scratch per thread. */
int64_t gnn__attention_tiles_scratch(const gnn__attention_t *a);

#endif
