/* Position p hears positions 0..p of its segment: the graph of a decoder's self-attention (Vaswani
 * et al. 2017, section 3.2.3). */
#include <graphs/build.h>

int gnn__topology_causal(gnn_graph_t **graph, int64_t segments, const int64_t *lengths,
                         const char *options);

static int fill(gnn_graph_t *g, gnn__pairs_t *pairs)
{
    int32_t *lo, *hi;
    GNN_TRY(gnn__graph_own(g, &lo, g->n_dst, sizeof *lo, "spans"));
    GNN_TRY(gnn__graph_own(g, &hi, g->n_dst, sizeof *hi, "spans"));
    for (int64_t s = 0; s < g->n_segments; s++)
        for (int64_t p = g->dst_segments[s]; p < g->dst_segments[s + 1]; p++) {
            lo[p] = (int32_t)g->src_segments[s];
            hi[p] = (int32_t)(p + 1);
        }
    gnn__spans_set(pairs, lo, hi);
    return GNN_OK;
}

int gnn_graph_causal(gnn_graph_t **graph, int64_t segments, const int64_t *lengths)
{
    int rc;
    gnn_graph_t *g = NULL;
    GNN_CHECK(gnn__graph_new_segments(&g, segments, lengths, lengths, 1));
    GNN_CHECK(fill(g, &g->base.parts[0].pairs));
done:
    return gnn__graph_deliver(graph, g, rc);
}

int gnn__topology_causal(gnn_graph_t **graph, int64_t segments, const int64_t *lengths,
                         const char *options)
{
    GNN_TRY(gnn__options_parse(graph, "causal", options, 0, NULL));
    return gnn_graph_causal(graph, segments, lengths);
}
