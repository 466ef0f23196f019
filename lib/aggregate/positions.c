/* Where nodes stand in their segments. */
#include <lib/aggregate/positions.h>

void gnn__positions(const gnn_graph_t *g, bool receivers, int64_t *positions)
{
    const int64_t n = receivers ? g->n_dst : g->n_src,
                  *offsets = receivers ? g->dst_segments : g->src_segments,
                  *starts = receivers ? g->dst_start : g->src_start;
    for (int64_t k = 0; k < n; k++)
        positions[k] = k;
    for (int64_t s = 0; s < g->n_segments; s++)
        for (int64_t k = offsets[s]; k < offsets[s + 1]; k++)
            positions[k] = k - offsets[s] + starts[s];
}
