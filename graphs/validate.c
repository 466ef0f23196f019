/* Checks every invariant of a graph from the definitions: parts, edge ids, degrees, norms,
 * transposes. */
#include <graphs/build.h>

static int check_offsets(const char *name, int64_t segments, const int64_t *offsets, int64_t n)
{
    if (offsets[0] != 0)
        return gnn__error(GNN_ETOPOLOGY, "%s[0] = %lld, but it must be 0", name,
                          (long long)offsets[0]);
    for (int64_t s = 0; s < segments; s++)
        if (offsets[s + 1] < offsets[s])
            return gnn__error(GNN_ETOPOLOGY, "%s[%lld] = %lld is below %s[%lld] = %lld", name,
                              (long long)(s + 1), (long long)offsets[s + 1], name, (long long)s,
                              (long long)offsets[s]);
    if (offsets[segments] != n)
        return gnn__error(GNN_ETOPOLOGY, "%s[%lld] = %lld, but there are %lld nodes", name,
                          (long long)segments, (long long)offsets[segments], (long long)n);
    return GNN_OK;
}

static int check_pairs(const gnn__pairs_t *p, int64_t n_rows, int64_t n_cols)
{
    int64_t count = 0;
    if (p->n_rows != n_rows || p->n_cols != n_cols)
        return gnn__error(
            GNN_ETOPOLOGY, "%lld rows and %lld columns, but the graph has %lld and %lld",
            (long long)p->n_rows, (long long)p->n_cols, (long long)n_rows, (long long)n_cols);
    if (gnn__pairs_form(p) == GNN__EDGES) {
        GNN_TRY(gnn__check_csr(n_rows, n_cols, p->indptr, p->indices));
        count = p->indptr[n_rows];
    } else {
        GNN_TRY(gnn__check_spans(n_rows, n_cols, p->row_order, p->col_order, p->lo, p->hi));
        for (int64_t r = 0; r < n_rows; r++)
            count += p->hi[r] - p->lo[r];
    }
    if (count != p->count)
        return gnn__error(GNN_ETOPOLOGY, "count is %lld, but there are %lld pairs",
                          (long long)p->count, (long long)count);
    return GNN_OK;
}

/* Checks an edge id: one of the user's, each once, or that of a self-loop. */
static int check_edge_id(const gnn_graph_t *graph, const gnn__built_view_t *view, int64_t i,
                         int64_t j, int64_t e, uint8_t *seen)
{
    int64_t end = graph->n_edges + view->n_loops;
    if (e < 0 || e >= end)
        return gnn__error(GNN_ETOPOLOGY, "edge %lld of receiver %lld, but there are %lld edges",
                          (long long)e, (long long)i, (long long)end);
    if (seen[e]++)
        return gnn__error(GNN_ETOPOLOGY, "edge %lld of receiver %lld is a duplicate", (long long)e,
                          (long long)i);
    if (e >= graph->n_edges && (i != j || i != e - graph->n_edges))
        return gnn__error(GNN_ETOPOLOGY,
                          "edge %lld is node %lld's self-loop, but goes from %lld to %lld",
                          (long long)e, (long long)(e - graph->n_edges), (long long)j, (long long)i);
    return GNN_OK;
}

static int check_part_ids(const gnn_graph_t *graph, const gnn__built_view_t *view,
                          const gnn__pairs_t *pairs, uint8_t *seen)
{
    for (int64_t i = 0; gnn__pairs_form(pairs) == GNN__EDGES && i < pairs->n_rows; i++)
        for (int64_t k = pairs->indptr[i]; k < pairs->indptr[i + 1]; k++)
            GNN_TRY(check_edge_id(graph, view, i, pairs->indices[k], gnn__pairs_edge(pairs, k), seen));
    return GNN_OK;
}

static int check_edge_ids(const gnn_graph_t *graph, const gnn__built_view_t *view)
{
    int rc = GNN_OK;
    uint8_t *seen;
    GNN_TRY(gnn__new(&seen, graph->n_edges + view->n_loops, 1, "check of edge ids"));
    for (int64_t p = 0; p < view->n_parts && rc == GNN_OK; p++) {
        rc = check_part_ids(graph, view, &view->parts[p].pairs, seen);
        if (rc != GNN_OK)
            gnn__error_prefix(rc, "part %lld", (long long)p);
    }
    for (int64_t e = 0; e < graph->n_edges && rc == GNN_OK; e++)
        if (!seen[e])
            rc = gnn__error(GNN_ETOPOLOGY, "edge %lld is in no part", (long long)e);
    gnn_free(seen);
    return rc;
}

static int check_degrees(const gnn_graph_t *graph, const gnn__built_view_t *view)
{
    int rc = GNN_OK;
    int64_t *degree;
    GNN_TRY(gnn__new(&degree, graph->n_dst, sizeof *degree, "check of degrees"));
    for (int64_t p = 0; p < view->n_parts; p++)
        gnn__pairs_count_degrees(&view->parts[p].pairs, degree);
    for (int64_t i = 0; i < graph->n_dst && rc == GNN_OK; i++)
        if (degree[i] != view->degree[i])
            rc = gnn__error(GNN_ETOPOLOGY, "degree[%lld] = %lld, but there are %lld incoming edges",
                            (long long)i, (long long)view->degree[i], (long long)degree[i]);
    gnn_free(degree);
    return rc;
}

static int check_loops(const gnn_graph_t *graph, const gnn__built_view_t *view)
{
    int rc = GNN_OK;
    uint8_t *missing;
    int64_t count;
    if (view->key.self_loops != GNN_ON)
        return GNN_OK;
    GNN_TRY(gnn__view_missing_loops(view, graph->n_dst, &missing, &count));
    for (int64_t i = 0; i < graph->n_dst && rc == GNN_OK; i++)
        if (missing[i])
            rc = gnn__error(GNN_ETOPOLOGY, "receiver %lld has no self-loop", (long long)i);
    gnn_free(missing);
    return rc;
}

static int check_scale(const char *name, const gnn_real_t *scale, gnn_graph_norm_t norm, int64_t n,
                       const int64_t *degree)
{
    if (norm == GNN_GRAPH_NORM_NONE)
        return scale ? gnn__error(GNN_ETOPOLOGY, "%s is present without a norm", name) : GNN_OK;
    if (!scale)
        return gnn__error(GNN_ETOPOLOGY, "%s is missing", name);
    for (int64_t i = 0; i < n; i++)
        if (scale[i] != gnn__norm_factor(norm, degree[i]))
            return gnn__error(GNN_ETOPOLOGY, "%s[%lld] = %g, but degree %lld gives %g", name,
                              (long long)i, (double)scale[i], (long long)degree[i],
                              (double)gnn__norm_factor(norm, degree[i]));
    return GNN_OK;
}

static int check_scales(const gnn_graph_t *graph, const gnn__built_view_t *view,
                        const gnn__part_t *part, bool transposed)
{
    gnn_graph_norm_t norm = view->key.norm,
                     senders = norm == GNN_GRAPH_NORM_SYMMETRIC ? norm : GNN_GRAPH_NORM_NONE;
    const gnn_real_t *receiver = transposed ? part->scale_col : part->scale_row,
                     *sender = transposed ? part->scale_row : part->scale_col;
    GNN_TRY(check_scale("receiver scale", receiver, norm, graph->n_dst, view->degree));
    return check_scale("sender scale", sender, senders, graph->n_dst, view->degree);
}

static int check_same_order(const char *name, int64_t n, const int32_t *a, const int32_t *b)
{
    for (int64_t r = 0; (a || b) && r < n; r++)
        if ((a ? a[r] : r) != (b ? b[r] : r))
            return gnn__error(GNN_ETOPOLOGY,
                              "the order of %s differs from the forward part's at %lld", name,
                              (long long)r);
    return GNN_OK;
}

static int check_transposed_spans(const gnn__pairs_t *p, const gnn__pairs_t *t)
{
    int64_t ended = 0, started = 0;
    GNN_TRY(check_same_order("senders", p->n_cols, t->row_order, p->col_order));
    GNN_TRY(check_same_order("receivers", p->n_rows, t->col_order, p->row_order));
    for (int64_t j = 0; j < p->n_cols; j++) {
        for (; ended < p->n_rows && p->hi[ended] <= j;)
            ended++;
        for (; started < p->n_rows && p->lo[started] <= j;)
            started++;
        if (t->lo[j] != ended || t->hi[j] != started)
            return gnn__error(GNN_ETOPOLOGY,
                              "row %lld has receivers [%d, %d), but [%lld, %lld) in the forward part",
                              (long long)j, t->lo[j], t->hi[j], (long long)ended, (long long)started);
    }
    return GNN_OK;
}

/* In order of receivers, the k-th edge of a sender must be the k-th of its row in the transpose.
 * `next` starts as the transpose's indptr. */
static int check_transposed_row(const gnn__pairs_t *p, const gnn__pairs_t *t, int64_t i, int64_t *next)
{
    for (int64_t at = p->indptr[i]; at < p->indptr[i + 1]; at++) {
        const int64_t j = p->indices[at], e = gnn__pairs_edge(p, at), k = next[j]++;
        if (k >= t->indptr[j + 1] || t->indices[k] != i || gnn__pairs_edge(t, k) != e)
            return gnn__error(GNN_ETOPOLOGY, "edge %lld from %lld to %lld is missing or out of order",
                              (long long)e, (long long)j, (long long)i);
    }
    return GNN_OK;
}

static int check_transposed_edges(const gnn__pairs_t *p, const gnn__pairs_t *t)
{
    int rc = GNN_OK;
    int64_t *next;
    GNN_TRY(gnn__new(&next, p->n_cols + 1, sizeof *next, "check of a transpose"));
    memcpy(next, t->indptr, (size_t)(p->n_cols + 1) * sizeof *next);
    for (int64_t i = 0; i < p->n_rows && rc == GNN_OK; i++)
        rc = check_transposed_row(p, t, i, next);
    gnn_free(next);
    return rc;
}

static int check_transposed(const gnn__pairs_t *p, const gnn__pairs_t *t)
{
    GNN_TRY(check_pairs(t, p->n_cols, p->n_rows));
    if (gnn__pairs_form(t) != gnn__pairs_form(p) || t->count != p->count)
        return gnn__error(GNN_ETOPOLOGY, "%lld pairs, but the forward part has %lld",
                          (long long)t->count, (long long)p->count);
    return gnn__pairs_form(p) == GNN__EDGES ? check_transposed_edges(p, t)
                                            : check_transposed_spans(p, t);
}

static int check_parts(const gnn_graph_t *graph, const gnn__built_view_t *view)
{
    int rc = GNN_OK;
    for (int64_t p = 0; p < view->n_parts && rc == GNN_OK; p++) {
        rc = check_pairs(&view->parts[p].pairs, graph->n_dst, graph->n_src);
        if (rc == GNN_OK)
            rc = check_scales(graph, view, &view->parts[p], false);
        if (rc != GNN_OK)
            return gnn__error_prefix(rc, "part %lld", (long long)p);
        if (view->key.backward == GNN_ON)
            rc = check_transposed(&view->parts[p].pairs, &view->transposed[p].pairs);
        if (view->key.backward == GNN_ON && rc == GNN_OK)
            rc = check_scales(graph, view, &view->transposed[p], true);
        if (rc != GNN_OK)
            return gnn__error_prefix(rc, "transposed part %lld", (long long)p);
    }
    return GNN_OK;
}

static int check_view(const gnn_graph_t *graph, const gnn__built_view_t *view)
{
    char name[64];
    int rc;
    GNN_CHECK(check_parts(graph, view));
    GNN_CHECK(check_edge_ids(graph, view));
    GNN_CHECK(check_degrees(graph, view));
    GNN_CHECK(check_loops(graph, view));
    return GNN_OK;
done:
    if (view == &graph->base)
        return rc;
    gnn__view_name(&view->key, name, sizeof name);
    return gnn__error_prefix(rc, "view with %s", name);
}

int gnn__graph_validate(const gnn_graph_t *graph)
{
    if (graph->n_segments > 0) {
        GNN_TRY(check_offsets("dst_segments", graph->n_segments, graph->dst_segments, graph->n_dst));
        GNN_TRY(check_offsets("src_segments", graph->n_segments, graph->src_segments, graph->n_src));
    }
    GNN_TRY(check_view(graph, &graph->base));
    for (int64_t v = 0; v < graph->n_views; v++)
        GNN_TRY(check_view(graph, graph->views[v]));
    return GNN_OK;
}
