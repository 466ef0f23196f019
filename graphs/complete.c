/* Every node hears every node of its segment: the graph of an encoder's self-attention (Vaswani
 * et al. 2017). */
#include <graphs/build.h>

int gnn__topology_complete(gnn_graph_t **graph, int64_t segments, const int64_t *lengths,
                           const char *options);

int gnn_graph_complete(gnn_graph_t **graph, int64_t segments, const int64_t *lengths)
{
    int rc;
    gnn_graph_t *g = NULL;
    GNN_CHECK(gnn__graph_new_segments(&g, segments, lengths, lengths, 1));
    GNN_CHECK(gnn__spans_whole_segments(g, &g->base.parts[0].pairs));
done:
    return gnn__graph_deliver(graph, g, rc);
}

int gnn__topology_complete(gnn_graph_t **graph, int64_t segments, const int64_t *lengths,
                           const char *options)
{
    GNN_TRY(gnn__options_parse(graph, "complete", options, 0, NULL));
    return gnn_graph_complete(graph, segments, lengths);
}
