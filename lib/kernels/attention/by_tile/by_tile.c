/* Memory of attention in tiles. */
#include <lib/kernels/attention/by_tile/by_tile.h>

/* Backward, which needs more: a tile, both ways; rows and their sums; two strips of scores; numbers
 * of the tile's columns; in bf16 the keys and a strip once more. Forward has sums and maxima of
 * rows. */
/* With keys by distance, backward: a band as wide as the rows, a strip of it transposed,
 * derivatives of all rows' scores, and queries; 16 rows of slack. */
static int64_t keys_scratch(const gnn__attention_t *a)
{
    return a->keys.count == 0 ? 0
                              : GNN__TILE_COLUMNS * (2 * GNN__TILE_ROWS + 2 * GNN__BAND_SLACK + 48 +
                                                     16 + 16 + gnn__tile_row(a, a->d_k));
}

int64_t gnn__attention_tiles_scratch(const gnn__attention_t *a)
{
    const int64_t keys = gnn__tile_row(a, a->d_k), both = keys + gnn__tile_row(a, a->d_v);
    return 2 * (GNN__TILE_COLUMNS + GNN__TILE_ROWS) * both + 2 * 48 * GNN__TILE_COLUMNS +
           4 * GNN__TILE_COLUMNS + 17 * GNN__TILE_ROWS +
           (a->dropout ? GNN__TILE_DRAWN / (int64_t)sizeof(gnn_real_t) : 0) + keys_scratch(a) +
           (a->level == GNN_PRECISION_HIGHEST
                ? 0
                : gnn__tile_room(a->level, 48 * GNN__TILE_COLUMNS + GNN__TILE_ROWS * keys));
}
