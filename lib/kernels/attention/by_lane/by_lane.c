/* Memory of attention with heads in lanes. */
#include <lib/kernels/attention/by_lane/by_lane.h>

/* Lists of nodes of a block and of what is drawn; four arrays of pairs x width, and what is drawn;
 * two rows of values and two of keys; numbers of a block's pairs, and their features; sums of
 * features; keys of a block's pairs, a list of rows of features, and one such row. */
int64_t gnn__attention_lanes_scratch(const gnn__lanes_t *l)
{
    return GNN__LANES_PAIRS + 2 * GNN__LANES_DRAWN + 4 * 32 +
           (4 * GNN__LANES_PAIRS + GNN__LANES_DRAWN) * l->width + 5 * 16 +
           2 * (l->value_numbers + l->key_numbers) + 8 * 16 + 2 * 16 * l->a->d_e +
           GNN__LANES_PAIRS * (l->row_numbers + 2) + gnn__round_up(l->a->d_e, 16) + 3 * 16 +
           (l->layout == GNN__COLUMNS
                ? (2 + 2 * GNN__LANES_COLUMNS + l->a->d_e) * GNN__LANES_PAIRS + 16
                : 16 * GNN__LANES_OWN);
}
