/* Graphs of spans: one run of senders per receiver. Neither end of a run decreases from row to
 * row, so the transpose is spans as well. */
#include <graphs/build.h>

void gnn__spans_set(gnn__pairs_t *pairs, const int32_t *lo, const int32_t *hi)
{
    pairs->lo = lo;
    pairs->hi = hi;
    pairs->count = 0;
    for (int64_t r = 0; r < pairs->n_rows; r++)
        pairs->count += hi[r] - lo[r];
}

int gnn__spans_whole_segments(gnn_graph_t *graph, gnn__pairs_t *pairs)
{
    int32_t *lo, *hi;
    GNN_TRY(gnn__graph_own(graph, &lo, graph->n_dst, sizeof *lo, "spans"));
    GNN_TRY(gnn__graph_own(graph, &hi, graph->n_dst, sizeof *hi, "spans"));
    for (int64_t s = 0; s < graph->n_segments; s++)
        for (int64_t i = graph->dst_segments[s]; i < graph->dst_segments[s + 1]; i++) {
            lo[i] = (int32_t)graph->src_segments[s];
            hi[i] = (int32_t)graph->src_segments[s + 1];
        }
    gnn__spans_set(pairs, lo, hi);
    return GNN_OK;
}

/* Gives empty runs a position [at, at) that keeps lo and hi monotone, or marks them with -1 where
 * there is none. Returns the count of marked rows. */
static int64_t place_empty_runs(int64_t n, int32_t n_cols, int32_t *lo, int32_t *hi)
{
    int64_t marked = 0, end;
    int32_t before = 0; /* end of the previous run */
    for (int64_t r = 0; r < n; r = end + 1) {
        for (end = r; end < n && lo[end] == hi[end];)
            end++;
        bool fits = before <= (end < n ? lo[end] : n_cols);
        for (int64_t k = r; k < end; k++)
            lo[k] = hi[k] = fits ? before : -1;
        marked += fits ? 0 : end - r;
        if (end < n)
            before = hi[end];
    }
    return marked;
}

/* In place: no row is written after the position that it is read from. */
static void move_marked_rows(int64_t n, int64_t marked, int32_t n_cols, int32_t *lo, int32_t *hi,
                             int32_t *order)
{
    int64_t kept = 0, last = n - marked;
    for (int64_t r = 0; r < n; r++) {
        if (lo[r] < 0) {
            order[last++] = (int32_t)r;
            continue;
        }
        order[kept] = (int32_t)r;
        lo[kept] = lo[r];
        hi[kept++] = hi[r];
    }
    for (int64_t r = kept; r < n; r++)
        lo[r] = hi[r] = n_cols;
}

int gnn__spans_settle(gnn_graph_t *graph, gnn__pairs_t *pairs, int32_t *lo, int32_t *hi)
{
    int64_t n = pairs->n_rows;
    int32_t n_cols = (int32_t)pairs->n_cols, *order = NULL;
    int64_t marked = place_empty_runs(n, n_cols, lo, hi);
    if (marked > 0) {
        GNN_TRY(gnn__graph_own(graph, &order, n, sizeof *order, "order of receivers"));
        move_marked_rows(n, marked, n_cols, lo, hi, order);
    }
    pairs->row_order = order;
    gnn__spans_set(pairs, lo, hi);
    return GNN_OK;
}

/* Checks that `order` is NULL or a permutation of n. */
static int check_order(const char *name, const char *side, int64_t n, const int32_t *order)
{
    int rc = GNN_OK;
    uint8_t *seen;
    if (!order)
        return GNN_OK;
    GNN_TRY(gnn__new(&seen, n, 1, "check of a permutation"));
    for (int64_t r = 0; r < n && rc == GNN_OK; r++) {
        if (order[r] < 0 || order[r] >= n)
            rc = gnn__error(GNN_ETOPOLOGY, "%s[%lld] = %d, but there are %lld %s", name,
                            (long long)r, order[r], (long long)n, side);
        else if (seen[order[r]])
            rc = gnn__error(GNN_ETOPOLOGY, "%s[%lld] = %d is a duplicate", name, (long long)r,
                            order[r]);
        else
            seen[order[r]] = 1;
    }
    gnn_free(seen);
    return rc;
}

static int check_run(int64_t n_src, const int32_t *lo, const int32_t *hi, int64_t r)
{
    if (lo[r] < 0)
        return gnn__error(GNN_ETOPOLOGY, "lo[%lld] = %d is negative", (long long)r, lo[r]);
    if (lo[r] > hi[r])
        return gnn__error(GNN_ETOPOLOGY, "lo[%lld] = %d is above hi[%lld] = %d", (long long)r,
                          lo[r], (long long)r, hi[r]);
    if (hi[r] > n_src)
        return gnn__error(GNN_ETOPOLOGY, "hi[%lld] = %d, but there are %lld senders", (long long)r,
                          hi[r], (long long)n_src);
    if (r > 0 && lo[r] < lo[r - 1])
        return gnn__error(GNN_ETOPOLOGY, "lo[%lld] = %d is below lo[%lld] = %d", (long long)r,
                          lo[r], (long long)(r - 1), lo[r - 1]);
    if (r > 0 && hi[r] < hi[r - 1])
        return gnn__error(GNN_ETOPOLOGY, "hi[%lld] = %d is below hi[%lld] = %d", (long long)r,
                          hi[r], (long long)(r - 1), hi[r - 1]);
    return GNN_OK;
}

int gnn__check_spans(int64_t n_dst, int64_t n_src, const int32_t *dst_order,
                     const int32_t *src_order, const int32_t *lo, const int32_t *hi)
{
    GNN_TRY(gnn__graph_check_size("n_dst", n_dst));
    GNN_TRY(gnn__graph_check_size("n_src", n_src));
    if (n_dst > 0 && (!lo || !hi))
        return gnn__error(GNN_EINVALID, "%s is NULL for %lld receivers", lo ? "hi" : "lo",
                          (long long)n_dst);
    GNN_TRY(check_order("dst_order", "receivers", n_dst, dst_order));
    GNN_TRY(check_order("src_order", "senders", n_src, src_order));
    for (int64_t r = 0; r < n_dst; r++)
        GNN_TRY(check_run(n_src, lo, hi, r));
    return GNN_OK;
}

/* Copies the four arrays into the graph's memory. */
static int take_spans(gnn_graph_t *g, gnn_ints_t dst_order, gnn_ints_t src_order, gnn_ints_t lo,
                      gnn_ints_t hi)
{
    const struct {
        const char *name;
        gnn_ints_t from;
        int64_t count;
    } arrays[] = {{"dst_order", dst_order, g->n_dst},
                  {"src_order", src_order, g->n_src},
                  {"lo", lo, g->n_dst},
                  {"hi", hi, g->n_dst}};
    gnn__pairs_t *pairs = &g->base.parts[0].pairs;
    int32_t *own[4] = {NULL};
    for (int k = 0; k < 4; k++) {
        if (!arrays[k].from.data && (k < 2 || arrays[k].count == 0))
            continue;
        GNN_TRY(gnn__ints_check(arrays[k].name, arrays[k].from, arrays[k].count));
        GNN_TRY(gnn__graph_own(g, &own[k], arrays[k].count, sizeof *own[k], "spans"));
        GNN_TRY(gnn__ints_copy_32(arrays[k].name, own[k], arrays[k].from, arrays[k].count));
    }
    GNN_TRY(gnn__check_spans(g->n_dst, g->n_src, own[0], own[1], own[2], own[3]));
    pairs->row_order = own[0];
    pairs->col_order = own[1];
    gnn__spans_set(pairs, own[2], own[3]);
    return GNN_OK;
}

int(gnn_graph_from_spans)(gnn_graph_t **graph, int64_t n_dst, int64_t n_src, gnn_ints_t dst_order,
                          gnn_ints_t src_order, gnn_ints_t lo, gnn_ints_t hi)
{
    GNN__NEED(graph);
    GNN__NEED_INTS(lo, n_dst);
    GNN__NEED_INTS(hi, n_dst);
    int rc;
    gnn_graph_t *g = NULL;
    GNN_CHECK(gnn__graph_check_size("n_dst", n_dst));
    GNN_CHECK(gnn__graph_check_size("n_src", n_src));
    GNN_CHECK(gnn__graph_new(&g, n_dst, n_src, 1));
    GNN_CHECK(take_spans(g, dst_order, src_order, lo, hi));
done:
    return gnn__graph_deliver(graph, g, rc);
}
