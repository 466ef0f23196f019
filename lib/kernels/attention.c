#include <lib/kernels/attention.h>
#include <lib/kernels/isa.h>

GNN__DISPATCH(gnn__attention_rows_t, attention_rows)
GNN__DISPATCH(gnn__attention_tiles_t, attention_tiles)
GNN__DISPATCH(gnn__attention_tiles_grad_t, attention_tiles_grad)

/* Blocks of 64 pairs: numbers of nodes and edges, weights, five arrays of pairs x heads; and one row of queries. Each starts a cache line. */
int64_t gnn__attention_rows_scratch(const gnn__attention_t *a)
{
    const int64_t pairs = 64, head_arrays = 5 * pairs * a->heads,
                  indices = 4 * pairs * (int64_t)(sizeof(int64_t) / sizeof(gnn_real_t));
    return indices + pairs + head_arrays + a->heads * a->d_k + 16 * 16;
}

/* Backward, which needs more: a tile, both ways; rows and their sums; two strips of scores; numbers of the tile's columns. Forward has sums and maxima of rows. */
int64_t gnn__attention_tiles_scratch(const gnn__attention_t *a)
{
    const int64_t both = gnn__tile_width(a->d_k) + gnn__tile_width(a->d_v);
    return 2 * (GNN__TILE_COLUMNS + GNN__TILE_ROWS) * both + 2 * 48 * GNN__TILE_COLUMNS +
           4 * GNN__TILE_COLUMNS + 17 * GNN__TILE_ROWS;
}
