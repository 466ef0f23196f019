/*
 * Longformer's pattern (Beltagy et al. 2020, figure 2d): a window over positions, and global nodes
 * that hear and are heard by their whole segment. Three parts that do not overlap, so that no pair
 * is counted twice:
 *
 *     0  others hear the others of their window          senders ordered: others, then globals
 *     1  others hear the globals of their segment        the same order
 *     2  globals hear their whole segment                senders as they stand
 *
 * A part has a row for every receiver; those that it does not serve are silent in it
 * (gnn__spans_settle finds them a place).
 */
#include <graphs/build.h>

int gnn__topology_window_global(gnn_graph_t **graph, int64_t segments, const int64_t *lengths,
                                const char *options);

typedef struct pattern {
    int64_t width, n_others;
    uint8_t *is_global;
    int32_t *others; /* others[p]: how many of the nodes below p are not global */
} pattern_t;

static int mark_globals(pattern_t *pattern, int64_t n, int64_t m, gnn_ints_t globals)
{
    GNN_TRY(gnn__new(&pattern->is_global, n, 1, "marks of global nodes"));
    GNN_TRY(gnn__new(&pattern->others, n + 1, sizeof(int32_t), "counts of other nodes"));
    for (int64_t k = 0; k < m; k++) {
        const int64_t node = gnn__int(globals, k);
        if (node < 0 || node >= n)
            return gnn__error(GNN_ETOPOLOGY, "globals[%lld] = %lld, but there are %lld nodes",
                              (long long)k, (long long)node, (long long)n);
        if (pattern->is_global[node])
            return gnn__error(GNN_ETOPOLOGY, "globals[%lld] = %lld was there before", (long long)k,
                              (long long)node);
        pattern->is_global[node] = 1;
    }
    for (int64_t p = 0; p < n; p++)
        pattern->others[p + 1] = pattern->others[p] + !pattern->is_global[p];
    pattern->n_others = n - m;
    return GNN_OK;
}

static int order_senders(gnn_graph_t *g, const pattern_t *pattern, int32_t **order)
{
    GNN_TRY(gnn__graph_own(g, order, g->n_src, sizeof **order, "order of senders"));
    for (int64_t p = 0; p < g->n_src; p++) {
        int64_t rank =
            pattern->is_global[p] ? pattern->n_others + p - pattern->others[p] : pattern->others[p];
        (*order)[rank] = (int32_t)p;
    }
    return GNN_OK;
}

/* The run of receiver p of segment [start, end) in one of the three parts; lo == hi if p is silent
 * there. */
static void find_run(const pattern_t *pattern, int which, int64_t p, int64_t start, int64_t end,
                     int32_t *lo, int32_t *hi)
{
    const int32_t *others = pattern->others;
    int64_t first = p - start > pattern->width ? p - pattern->width : start;
    int64_t last = end - 1 - p > pattern->width ? p + pattern->width + 1 : end;
    *lo = *hi = 0;
    if (pattern->is_global[p] != (which == 2))
        return;
    if (which == 0) {
        *lo = others[first];
        *hi = others[last];
    } else if (which == 1) {
        *lo = (int32_t)(pattern->n_others + start - others[start]);
        *hi = (int32_t)(pattern->n_others + end - others[end]);
    } else {
        *lo = (int32_t)start;
        *hi = (int32_t)end;
    }
}

static int fill(gnn_graph_t *g, const pattern_t *pattern, int which, const int32_t *order)
{
    gnn__pairs_t *pairs = &g->base.parts[which].pairs;
    int32_t *lo, *hi;
    GNN_TRY(gnn__graph_own(g, &lo, g->n_dst, sizeof *lo, "spans"));
    GNN_TRY(gnn__graph_own(g, &hi, g->n_dst, sizeof *hi, "spans"));
    for (int64_t s = 0; s < g->n_segments; s++)
        for (int64_t p = g->dst_segments[s]; p < g->dst_segments[s + 1]; p++)
            find_run(pattern, which, p, g->dst_segments[s], g->dst_segments[s + 1], &lo[p], &hi[p]);
    pairs->col_order = order;
    return gnn__spans_settle(g, pairs, lo, hi);
}

int(gnn_graph_window_global)(gnn_graph_t **graph, int64_t segments, const int64_t *lengths,
                             int64_t width, int64_t m, gnn_ints_t globals)
{
    int rc;
    gnn_graph_t *g = NULL;
    pattern_t pattern = {.width = width};
    int32_t *order;
    if (width < 0 || m < 0)
        GNN_CHECK(gnn__error(GNN_EINVALID, "%s = %lld is negative", width < 0 ? "width" : "m",
                             (long long)(width < 0 ? width : m)));
    GNN_CHECK(gnn__ints_check("globals", globals, m));
    GNN_CHECK(gnn__graph_new_segments(&g, segments, lengths, lengths, 3));
    GNN_CHECK(mark_globals(&pattern, g->n_dst, m, globals));
    GNN_CHECK(order_senders(g, &pattern, &order));
    GNN_CHECK(fill(g, &pattern, 0, order));
    GNN_CHECK(fill(g, &pattern, 1, order));
    GNN_CHECK(fill(g, &pattern, 2, NULL));
done:
    gnn_free(pattern.is_global);
    gnn_free(pattern.others);
    return gnn__graph_deliver(graph, g, rc);
}

/* The first `each` nodes of every segment (all of a shorter one). */
static int first_nodes(int64_t segments, const int64_t *lengths, int64_t each, int64_t *m,
                       int64_t **globals)
{
    int64_t start = 0;
    *m = 0;
    for (int64_t s = 0; s < segments; s++)
        *m += lengths[s] < each ? lengths[s] : each;
    GNN_TRY(gnn__new(globals, *m, sizeof **globals, "global nodes"));
    for (int64_t s = 0, at = 0; s < segments; start += lengths[s++])
        for (int64_t k = 0; k < each && k < lengths[s]; k++)
            (*globals)[at++] = start + k;
    return GNN_OK;
}

int gnn__topology_window_global(gnn_graph_t **graph, int64_t segments, const int64_t *lengths,
                                const char *options)
{
    int64_t width = 1, each = 1, m, *globals;
    gnn_graph_t *check;
    GNN_TRY(
        gnn__options_parse(graph, "window_global", options, 2,
                           (gnn__topology_option_t[]){{"width", &width, 0}, {"globals", &each, 0}}));
    GNN_TRY(gnn__graph_new_segments(&check, segments, lengths, lengths,
                                    0)); /* lengths are sound from here on */
    gnn_graph_free(check);
    GNN_TRY(first_nodes(segments, lengths, each, &m, &globals));
    int rc = gnn_graph_window_global(graph, segments, lengths, width, m, globals);
    gnn_free(globals);
    return rc;
}
