/*
 * Position p hears p + k * dilation for |k| <= width inside its segment (Beltagy et al. 2020,
 * figure 2b and c).
 *
 * With a dilation the positions that p hears are not neighbours, but p hears only positions of its
 * own residue class: ordered class by class, every run of senders is contiguous again. Length 7,
 * dilation 2:
 *
 *     rank    0 1 2 3 | 4 5 6
 *     node    0 2 4 6 | 1 3 5       node 4, width 1: ranks 1..3, nodes 2 4 6
 */
#include <graphs/build.h>

int gnn__topology_window(gnn_graph_t **graph, int64_t segments, const int64_t *lengths,
                         const char *options);

typedef struct window {
    int64_t before, after, dilation;
    int32_t *order, *lo, *hi; /* order is NULL if the dilation is 1 */
} window_t;

/* Positions first, first + dilation, ... of a segment [.., end), as ranks from `rank` on. Returns
 * how many. */
static int64_t fill_class(const window_t *w, int64_t first, int64_t end, int64_t rank)
{
    int64_t length = (end - first - 1) / w->dilation + 1;
    for (int64_t k = 0; k < length; k++) {
        if (w->order)
            w->order[rank + k] = (int32_t)(first + k * w->dilation);
        w->lo[rank + k] = (int32_t)(rank + (k > w->before ? k - w->before : 0));
        w->hi[rank + k] = (int32_t)(rank + (w->after < length - 1 - k ? k + w->after + 1 : length));
    }
    return length;
}

static int fill(gnn_graph_t *g, gnn__pairs_t *pairs, window_t *w)
{
    if (w->dilation > 1)
        GNN_TRY(gnn__graph_own(g, &w->order, g->n_dst, sizeof(int32_t), "order of receivers"));
    GNN_TRY(gnn__graph_own(g, &w->lo, g->n_dst, sizeof(int32_t), "spans"));
    GNN_TRY(gnn__graph_own(g, &w->hi, g->n_dst, sizeof(int32_t), "spans"));
    for (int64_t s = 0, rank = 0; s < g->n_segments; s++) {
        int64_t start = g->dst_segments[s], end = g->dst_segments[s + 1];
        for (int64_t residue = 0; residue < w->dilation && start + residue < end; residue++)
            rank += fill_class(w, start + residue, end, rank);
    }
    pairs->row_order = pairs->col_order = w->order;
    gnn__spans_set(pairs, w->lo, w->hi);
    return GNN_OK;
}

int gnn_graph_window(gnn_graph_t **graph, int64_t segments, const int64_t *lengths, int64_t width,
                     int64_t dilation, gnn_flag_t causal)
{
    int rc;
    gnn_graph_t *g = NULL;
    window_t w = {.before = width, .after = causal == GNN_ON ? 0 : width, .dilation = dilation};
    if (width < 0)
        GNN_CHECK(gnn__error(GNN_EINVALID, "width = %lld is negative", (long long)width));
    if (dilation < 1)
        GNN_CHECK(gnn__error(GNN_EINVALID, "dilation = %lld, but it must be at least 1",
                             (long long)dilation));
    if (causal != GNN_FLAG_DEFAULT && causal != GNN_ON && causal != GNN_OFF)
        GNN_CHECK(gnn__error(GNN_EINVALID, "causal = %d is no flag", (int)causal));
    GNN_CHECK(gnn__graph_new_segments(&g, segments, lengths, lengths, 1));
    GNN_CHECK(fill(g, &g->base.parts[0].pairs, &w));
done:
    return gnn__graph_deliver(graph, g, rc);
}

int gnn__topology_window(gnn_graph_t **graph, int64_t segments, const int64_t *lengths,
                         const char *options)
{
    int64_t width = 1, dilation = 1, causal = 0;
    GNN_TRY(gnn__options_parse(graph, "window", options, 3,
                               (gnn__topology_option_t[]){{"width", &width, 0},
                                                          {"dilation", &dilation, 1},
                                                          {"causal", &causal, 0}}));
    return gnn_graph_window(graph, segments, lengths, width, dilation, causal ? GNN_ON : GNN_OFF);
}
