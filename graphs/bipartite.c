/* Every receiver of a segment hears every sender of the same segment: cross-attention (Vaswani et
 * al. 2017) and, with one receiver each, readouts. */
#include <graphs/build.h>

int gnn__topology_bipartite(gnn_graph_t **graph, int64_t segments, const int64_t *lengths,
                            const char *options);

int gnn_graph_bipartite(gnn_graph_t **graph, int64_t segments, const int64_t *dst_lengths,
                        const int64_t *src_lengths)
{
    int rc;
    gnn_graph_t *g = NULL;
    GNN_CHECK(gnn__graph_new_segments(&g, segments, dst_lengths, src_lengths, 1));
    GNN_CHECK(gnn__spans_whole_segments(g, &g->base.parts[0].pairs));
done:
    return gnn__graph_deliver(graph, g, rc);
}

int gnn__topology_bipartite(gnn_graph_t **graph, int64_t segments, const int64_t *lengths,
                            const char *options)
{
    int64_t receivers = 0, *dst_lengths = NULL;
    GNN_TRY(gnn__options_parse(graph, "bipartite", options, 1,
                               (gnn__topology_option_t[]){{"receivers", &receivers, 0}}));
    if (receivers == 0 || segments <= 0)
        return gnn_graph_bipartite(graph, segments, lengths, lengths);
    GNN_TRY(gnn__new(&dst_lengths, segments, sizeof *dst_lengths, "segment lengths"));
    for (int64_t s = 0; s < segments; s++)
        dst_lengths[s] = receivers;
    int rc = gnn_graph_bipartite(graph, segments, dst_lengths, lengths);
    gnn_free(dst_lengths);
    return rc;
}
