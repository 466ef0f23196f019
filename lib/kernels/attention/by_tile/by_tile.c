/* Memory of attention in tiles. */
#include <lib/kernels/attention/by_tile/by_tile.h>

enum { STRIP = 48 };

/* With keys by distance, backward: a band as wide as the rows, a strip of it transposed, the
 * derivatives of all rows' scores between rows of 0, products with the keys at both ends, and
 * queries. */
static int64_t keys_scratch(const gnn__attention_t *a)
{
    enum { GUARDS = 16, ENDS = 4, SLACK = 4 };
    const int64_t rows = 2 * GNN__TILE_ROWS + 2 * GNN__BAND_SLACK + STRIP + GUARDS + ENDS + SLACK;
    return a->keys.count == 0 ? 0 : GNN__TILE_COLUMNS * (rows + gnn__tile_row(a, a->d_k));
}

/* Backward, which needs more: a tile, both ways; rows and their sums; two strips of scores, and
 * with a cap its derivatives; numbers of the tile's columns; in bf16 the keys and a strip once
 * more. Forward has sums and maxima of rows. */
int64_t gnn__attention_tiles_scratch(const gnn__attention_t *a)
{
    const int64_t keys = gnn__tile_row(a, a->d_k), both = keys + gnn__tile_row(a, a->d_v);
    return 2 * (GNN__TILE_COLUMNS + GNN__TILE_ROWS) * both +
           (a->softcap > 0 ? 3 : 2) * STRIP * GNN__TILE_COLUMNS + 4 * GNN__TILE_COLUMNS +
           17 * GNN__TILE_ROWS + (a->dropout ? GNN__TILE_DRAWN / (int64_t)sizeof(gnn_real_t) : 0) +
           keys_scratch(a) +
           (a->level == GNN_PRECISION_HIGHEST
                ? 0
                : gnn__tile_room(a->level, STRIP * GNN__TILE_COLUMNS + GNN__TILE_ROWS * keys));
}
