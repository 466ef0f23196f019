/* The graph of rows that come after others: segment s has before[s] rows already and counts[s] new
 * ones, which hear themselves and what came earlier, at most `window` rows of it (0: all). Senders
 * are segments of `capacity` rows each, of which those that are not there yet are heard by no
 * row. */
#include <graphs/build.h>

static void fill_segment(const gnn_graph_t *g, int64_t s, int64_t window, int32_t *lo, int32_t *hi)
{
    const int64_t begin = g->src_segments[s], from = g->dst_segments[s];
    for (int64_t r = from; r < g->dst_segments[s + 1]; r++) {
        const int64_t position = g->dst_start[s] + r - from;
        lo[r] = (int32_t)(begin + (window > 0 ? gnn__max(0, position - window) : 0));
        hi[r] = (int32_t)(begin + position + 1);
    }
}

static int fill(gnn_graph_t *g, const int64_t *before, int64_t window)
{
    int32_t *lo, *hi;
    GNN_TRY(gnn__graph_own(g, &lo, g->n_dst, sizeof *lo, "spans"));
    GNN_TRY(gnn__graph_own(g, &hi, g->n_dst, sizeof *hi, "spans"));
    for (int64_t s = 0; s < g->n_segments; s++) {
        g->dst_start[s] = before[s];
        fill_segment(g, s, window, lo, hi);
    }
    gnn__spans_set(&g->base.parts[0].pairs, lo, hi);
    return GNN_OK;
}

int gnn__graph_continued(gnn_graph_t **graph, int64_t segments, const int64_t *before,
                         const int64_t *counts, int64_t capacity, int64_t window)
{
    gnn_graph_t *g = NULL;
    int64_t *room = NULL;
    int rc;
    GNN_CHECK(gnn__new(&room, segments, sizeof *room, "lengths of segments"));
    for (int64_t s = 0; s < segments; s++)
        room[s] = capacity;
    GNN_CHECK(gnn__graph_new_segments(&g, segments, counts, room, 1));
    GNN_CHECK(fill(g, before, window));
done:
    gnn_free(room);
    return gnn__graph_deliver(graph, g, rc);
}
