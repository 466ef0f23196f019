/* Attention as its callers see it: the precision of products, scratch memory of each strategy. */
#include <lib/kernels/attention/attention.h>
#include <lib/kernels/attention/by_lane/by_lane.h>
#include <lib/kernels/attention/by_tile/by_tile.h>

/* On AMD's processors vdpbf16ps does twice the work of an fp32 instruction, on Intel's no more than
 * that: `medium` gains from it on the former, `high` from AMX alone. */
gnn_precision_t gnn__attention_level(const gnn_context_t *context)
{
    const gnn_precision_t used = gnn_context_precision_used(context);
    if (GNN_DOUBLE || used == GNN_PRECISION_HIGHEST || gnn__isa() < GNN__ISA_V4 ||
        !gnn__cpu_has_bf16())
        return GNN_PRECISION_HIGHEST;
    const bool on_amd = used == GNN_PRECISION_MEDIUM && gnn__cpu_is_amd();
    return context->forced || on_amd || gnn__amx_granted() ? used : GNN_PRECISION_HIGHEST;
}

/* ---- scratch memory ---- */

/* By row. Blocks of 64 pairs: nodes, keys of draws, edge ids, weights, six arrays of pairs x heads,
 * and one row of queries. Each starts a cache line. */
int64_t gnn__attention_rows_scratch(const gnn__attention_t *a)
{
    const int64_t pairs = 64, head_arrays = 6 * pairs * a->heads,
                  indices = 6 * pairs * (int64_t)(sizeof(int64_t) / sizeof(gnn_real_t));
    return indices + pairs + head_arrays + a->heads * a->d_k + 16 * 16;
}

/* By lane. Nodes of a block and of drawn pairs; four arrays of pairs x width, and dropout draws;
 * two rows of values and two of keys; edge ids and features of a block's pairs; sums of features;
 * keys of a block's pairs, a list of feature rows, and one such row; columns or exponential
 * factors. */
int64_t gnn__attention_lanes_scratch(const gnn__lanes_t *l)
{
    return GNN__LANES_PAIRS + 2 * GNN__LANES_DRAW_PAIRS + 4 * 32 +
           (4 * GNN__LANES_PAIRS + GNN__LANES_DRAW_PAIRS) * l->width + 5 * 16 +
           2 * (l->value_numbers + l->key_numbers) + 8 * 16 + 2 * 16 * l->a->d_e +
           GNN__LANES_PAIRS * (l->row_numbers + 2) + gnn__round_up(l->a->d_e, 16) + 3 * 16 +
           (l->layout == GNN__COLUMNS
                ? (2 + 2 * GNN__LANES_COLUMNS + l->a->d_e) * GNN__LANES_PAIRS + 16
                : 16 * GNN__LANES_FACTOR_ROWS);
}

enum { STRIP = 48 };

/* By tile, backward with keys by distance: a band as wide as the rows, a strip of it transposed,
 * derivatives of all rows' scores between rows of zeros, products with the shared keys, and
 * queries. */
static int64_t keys_scratch(const gnn__attention_t *a)
{
    enum { GUARDS = 16, ENDS = 4, SLACK = 4 };
    const int64_t rows = 2 * GNN__TILE_ROWS + 2 * GNN__BAND_SLACK + STRIP + GUARDS + ENDS + SLACK;
    return a->keys.count == 0 ? 0 : GNN__TILE_COLUMNS * (rows + gnn__tile_row(a, a->d_k));
}

/* By tile; backward needs more than forward: a tile, both ways; rows and their sums; two strips of
 * scores, and with a softcap its derivatives; scalars of the tile's columns; in bf16 the keys and a
 * strip once more. Forward has sums and maxima of rows. */
int64_t gnn__attention_tiles_scratch(const gnn__attention_t *a)
{
    const int64_t keys = gnn__tile_row(a, a->d_k), both = keys + gnn__tile_row(a, a->d_v);
    const int64_t strip = STRIP * GNN__TILE_COLUMNS, strips = a->softcap > 0 ? 3 : 2;
    int64_t scratch = 2 * (GNN__TILE_COLUMNS + GNN__TILE_ROWS) * both + strips * strip +
                      4 * GNN__TILE_COLUMNS + 17 * GNN__TILE_ROWS + keys_scratch(a);
    if (a->dropout)
        scratch += GNN__TILE_DRAWN / (int64_t)sizeof(gnn_real_t);
    if (a->level != GNN_PRECISION_HIGHEST)
        scratch += gnn__tile_room(a->level, strip + GNN__TILE_ROWS * keys);
    return scratch;
}
