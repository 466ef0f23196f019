/* A graph of edges as several side by side: its nodes are cut into segments. */
#include <graphs/build.h>

static int check_pieces(const gnn_graph_t *graph, int64_t segments, const int64_t *lengths)
{
    int64_t total = 0;
    if (segments < 1 || !lengths)
        return gnn__error(GNN_EINVALID,
                          "%lld segments%s: at least one and their lengths are expected",
                          (long long)segments, lengths ? "" : " without lengths");
    if (graph->n_dst != graph->n_src || graph->n_segments > 0)
        return gnn__error(GNN_ETOPOLOGY,
                          "a graph of %lld receivers, %lld senders and %lld segments cannot be cut",
                          (long long)graph->n_dst, (long long)graph->n_src,
                          (long long)graph->n_segments);
    for (int64_t s = 0; s < segments; s++)
        if (lengths[s] < 0 || !gnn__add(total, lengths[s], &total))
            return gnn__error(GNN_EINVALID, "segment %lld has a length of %lld", (long long)s,
                              (long long)lengths[s]);
    if (total != graph->n_dst)
        return gnn__error(GNN_ESHAPE, "%lld segments of %lld nodes in all, the graph has %lld",
                          (long long)segments, (long long)total, (long long)graph->n_dst);
    return GNN_OK;
}

/* Receivers begin .. end - 1 hear nothing from outside. */
static int check_edges(const gnn_graph_t *graph, int64_t p, int64_t begin, int64_t end)
{
    gnn_graph_row_t row;
    for (int64_t i = begin; i < end; i++) {
        GNN_TRY(gnn_graph_row(graph, p, i, &row));
        for (int64_t k = 0; k < row.count; k++) {
            const int64_t j = gnn_graph_row_sender(&row, k);
            if (j < begin || j >= end)
                return gnn__error(GNN_ETOPOLOGY,
                                  "node %lld hears node %lld, its segment is %lld to %lld",
                                  (long long)i, (long long)j, (long long)begin, (long long)(end - 1));
        }
    }
    return GNN_OK;
}

int gnn_graph_cut(gnn_graph_t *graph, int64_t segments, const int64_t *lengths)
{
    GNN__NEED(graph);
    GNN_TRY(check_pieces(graph, segments, lengths));
    for (int64_t p = 0; p < graph->base.n_parts; p++) {
        if (gnn_graph_part_is_spans(graph, p))
            return gnn__error(GNN_ETOPOLOGY,
                              "part %lld of the graph stores spans, which have their "
                              "segments already",
                              (long long)p);
        for (int64_t s = 0, begin = 0; s < segments; begin += lengths[s++])
            GNN_TRY(check_edges(graph, p, begin, begin + lengths[s]));
    }
    GNN_TRY(gnn__graph_add_segments(graph, segments));
    for (int64_t s = 0; s < segments; s++)
        graph->dst_segments[s + 1] = graph->src_segments[s + 1] = graph->dst_segments[s] + lengths[s];
    return GNN_OK;
}
