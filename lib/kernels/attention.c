#include <lib/kernels/attention_lanes.h>
#include <lib/kernels/isa.h>

GNN__DISPATCH_WIDE(gnn__attention_lanes_t, attention_lanes)
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

/* vdpbf16ps does twice the work of an fp32 instruction on AMD's processors, no more than that on Intel's: `medium` gains by it on the former, `high` by AMX
 * alone. */
gnn_precision_t gnn__attention_level(const gnn_context_t *context)
{
    const gnn_precision_t used = gnn_context_precision_used(context);
    if (GNN_DOUBLE || used == GNN_PRECISION_HIGHEST || gnn__isa() < GNN__ISA_V4 ||
        !gnn__cpu_has_bf16())
        return GNN_PRECISION_HIGHEST;
    const bool on_amd = used == GNN_PRECISION_MEDIUM && gnn__cpu_is_amd();
    return context->forced || on_amd || gnn__amx_granted() ? used : GNN_PRECISION_HIGHEST;
}

/* Lists of nodes of a block and of what is drawn; three arrays of pairs x width, and what is drawn; two rows of values and two of keys; numbers of a block's pairs. */
int64_t gnn__attention_lanes_scratch(const gnn__lanes_t *l)
{
    return GNN__LANES_PAIRS + 2 * GNN__LANES_DRAWN + 4 * 32 +
           (3 * GNN__LANES_PAIRS + GNN__LANES_DRAWN) * l->width + 4 * 16 +
           2 * (l->row + l->key_row) + 8 * 16 +
           (l->layout == GNN__FEW ? (2 + 2 * GNN__LANES_FEW) * GNN__LANES_PAIRS + 16
                                  : 16 * GNN__LANES_OWN);
}

/* Backward, which needs more: a tile, both ways; rows and their sums; two strips of scores; numbers of the tile's columns; in bf16 the keys and a strip once more.
 * Forward has sums and maxima of rows. */
int64_t gnn__attention_tiles_scratch(const gnn__attention_t *a)
{
    const int64_t keys = gnn__tile_row(a, a->d_k), both = keys + gnn__tile_row(a, a->d_v);
    return 2 * (GNN__TILE_COLUMNS + GNN__TILE_ROWS) * both + 2 * 48 * GNN__TILE_COLUMNS +
           4 * GNN__TILE_COLUMNS + 17 * GNN__TILE_ROWS +
           (a->dropout ? GNN__TILE_DRAWN / (int64_t)sizeof(gnn_real_t) : 0) +
           (a->level == GNN_PRECISION_HIGHEST
                ? 0
                : gnn__tile_room(a->level, 48 * GNN__TILE_COLUMNS + GNN__TILE_ROWS * keys));
}
