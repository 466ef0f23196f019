/* Features of self-loops: (m x d) -> (m + n x d). Row m + i is the mean of the rows of the edges by
 * which receiver i hears others, 0 where it hears none; so are the rows of loops i -> i that the
 * graph has itself, whose own features are not read. The others are x's own. What PyG does by
 * default where a layer has self-loops on a graph with edge features: it takes away those that are
 * there and adds new ones. */
#include <graphs/graph.h>
#include <lib/ops/support.h>

static const gnn_graph_t *graph_of(const gnn_op_call_t *call)
{
    return ((const gnn__loop_rows_settings_t *)call->attributes)->graph;
}

static const gnn__built_view_t *view_of(const gnn_op_call_t *call)
{
    return gnn__graph_view(graph_of(call), &(gnn_view_t){.norm = GNN_GRAPH_NORM_NONE});
}

static int loop_rows_shape(gnn_op_call_t *call)
{
    const gnn_graph_t *graph = graph_of(call);
    const gnn__built_view_t *view = view_of(call);
    int64_t rows;
    GNN_TRY(gnn__op_dense(call, "loop_rows", 0, 0, 1));
    if (!view)
        return GNN_EUNPREPARED;
    for (int64_t p = 0; p < view->n_parts; p++)
        if (gnn__pairs_form(&view->parts[p].pairs) != GNN__EDGES && view->parts[p].pairs.count > 0)
            return gnn_op_fail(
                call, GNN_EUNSUPPORTED,
                "loop_rows: part %lld of the graph stores spans, which have no edge features",
                (long long)p);
    if (call->in[0].rows != graph->n_edges)
        return gnn_op_fail(call, GNN_ESHAPE, "edge features have %lld rows, the graph %lld edges",
                           (long long)call->in[0].rows, (long long)graph->n_edges);
    if (!gnn__add(graph->n_edges, graph->n_dst, &rows))
        return gnn_op_fail(call, GNN_EOVERFLOW, "loop_rows: %lld edges and %lld nodes do not fit",
                           (long long)graph->n_edges, (long long)graph->n_dst);
    gnn__op_output(call, rows, call->in[0].cols);
    return GNN_OK;
}

/* How far ahead rows of edges are prefetched, which may lie anywhere. */
enum { EDGES_AHEAD = 32 };

/* The edge some places behind this one, or the part's last. */
static int64_t edge_ahead(const gnn__pairs_t *pairs, int64_t at)
{
    return gnn__pairs_edge(pairs, gnn__min(at + EDGES_AHEAD, pairs->count - 1));
}

/* Rows of the loops that receiver i has itself become `mean`. */
static void fill_loops(const gnn__built_view_t *view, int64_t i, const gnn_real_t *mean,
                       const gnn_tensor_t *y)
{
    for (int64_t p = 0; p < view->n_parts; p++) {
        const gnn__pairs_t *pairs = &view->parts[p].pairs;
        for (int64_t at = gnn__pairs_from(pairs, i); at < gnn__pairs_to(pairs, i); at++)
            if (gnn__pairs_col(pairs, at) == i)
                memcpy(gnn__row(y, gnn__pairs_edge(pairs, at)), mean, sizeof *mean * (size_t)y->cols);
    }
}

enum { TOGETHER = 8 };

/* to += columns c0 .. c0 + count - 1 of the rows of the edges by which receiver i hears others;
 * returns how many those are. */
static inline int64_t add_columns(const gnn__pairs_t *pairs, int64_t i, const gnn_tensor_t *y,
                                  int64_t c0, int64_t count, gnn_real_t *to)
{
    const int64_t end = gnn__pairs_to(pairs, i);
    gnn_real_t sum[TOGETHER] = {0};
    int64_t others = 0;
    for (int64_t at = gnn__pairs_from(pairs, i); at < end; at++) {
        const gnn_real_t *from = gnn__row(y, gnn__pairs_edge(pairs, at)) + c0;
        __builtin_prefetch(gnn__row(y, edge_ahead(pairs, at)) + c0);
        if (gnn__pairs_col(pairs, at) != i) {
            others++;
            for (int64_t c = 0; c < count; c++)
                sum[c] += from[c];
        }
    }
    for (int64_t c = 0; c < count; c++)
        to[c0 + c] += sum[c];
    return others;
}

/* y of receiver i's loop becomes the mean over the edges from others, which are read from y: the
 * library's memory has large pages. Sums of eight columns stay in registers. */
static void loop_mean(const gnn_op_call_t *call, const gnn__built_view_t *view, int64_t i)
{
    const gnn_tensor_t y = call->out[0].value;
    gnn_real_t *to = gnn__row(&y, call->in[0].value.rows + i);
    int64_t pairs_all = 0, others = 0;
    memset(to, 0, sizeof *to * (size_t)y.cols);
    for (int64_t p = 0; p < view->n_parts; p++) {
        const gnn__pairs_t *pairs = &view->parts[p].pairs;
        int64_t c = 0, heard = 0;
        for (; c + TOGETHER <= y.cols; c += TOGETHER)
            heard = add_columns(pairs, i, &y, c, TOGETHER, to);
        if (c < y.cols)
            heard = add_columns(pairs, i, &y, c, y.cols - c, to);
        others += heard;
        pairs_all += gnn__pairs_to(pairs, i) - gnn__pairs_from(pairs, i);
    }
    for (int64_t c = 0; others > 0 && c < y.cols; c++)
        to[c] /= (gnn_real_t)others;
    if (others < pairs_all)
        fill_loops(view, i, to, &y);
}

/* Receivers hear very different numbers of edges: threads take them as they come, some at once. */
enum { ROWS_AT_ONCE = 1024, RECEIVERS_AT_ONCE = 16 };

/* Rows e0 .. e1 - 1 as they are. */
static void copy_rows(const gnn_tensor_t *x, const gnn_tensor_t *y, int64_t e0, int64_t e1)
{
    const size_t row = sizeof *x->data * (size_t)x->cols;
    if (x->stride == x->cols && y->stride == x->cols)
        memcpy(gnn__row(y, e0), gnn__row(x, e0), row * (size_t)(e1 - e0));
    else
        for (int64_t e = e0; e < e1; e++)
            memcpy(gnn__row(y, e), gnn__row(x, e), row);
}

/* Rows of edges that stand in the order of their receivers are summed while they are at hand.
 * Returns false where they do not. */
static bool copy_by_receiver(const gnn_op_call_t *call, const gnn__built_view_t *view, int threads)
{
    const gnn_tensor_t *x = &call->in[0].value;
    const gnn__pairs_t *pairs = &view->parts[0].pairs;
    const int64_t n = graph_of(call)->n_dst;
    if (view->n_parts != 1 || !pairs->indptr || pairs->edge || pairs->edge_base != 0 ||
        pairs->count != x->rows)
        return false;
    GNN__PARALLEL_FOR_AS (threads, schedule(dynamic), int64_t i0 = 0; i0 < n;
                          i0 += RECEIVERS_AT_ONCE) {
        const int64_t i1 = gnn__min(i0 + RECEIVERS_AT_ONCE, n);
        copy_rows(x, &call->out[0].value, pairs->indptr[i0], pairs->indptr[i1]);
        for (int64_t i = i0; i < i1; i++)
            loop_mean(call, view, i);
    }
    return true;
}

static int loop_rows_forward(gnn_op_call_t *call)
{
    const gnn__built_view_t *view = view_of(call);
    const gnn_tensor_t *x = &call->in[0].value;
    const int64_t n = graph_of(call)->n_dst;
    if (!view)
        return GNN_EUNPREPARED;
    const int threads = gnn__op_threads(call, 2 * x->rows * x->cols);
    if (copy_by_receiver(call, view, threads))
        return GNN_OK;
    GNN__PARALLEL_FOR (threads, int64_t e = 0; e < x->rows; e += ROWS_AT_ONCE)
        copy_rows(x, &call->out[0].value, e, gnn__min(e + ROWS_AT_ONCE, x->rows));
    GNN__PARALLEL_FOR_AS (threads, schedule(dynamic, RECEIVERS_AT_ONCE), int64_t i = 0; i < n; i++)
        loop_mean(call, view, i);
    return GNN_OK;
}

/* How many edges by which receiver i hears others, and loops of its own that the graph has. */
typedef struct {
    int64_t others, loops;
} heard_t;

static heard_t heard_of(const gnn__built_view_t *view, int64_t i)
{
    heard_t heard = {0, 0};
    for (int64_t p = 0; p < view->n_parts; p++) {
        const gnn__pairs_t *pairs = &view->parts[p].pairs;
        const int64_t from = gnn__pairs_from(pairs, i), to = gnn__pairs_to(pairs, i);
        for (int64_t at = from; at < to; at++)
            heard.loops += gnn__pairs_col(pairs, at) == i;
        heard.others += to - from;
    }
    heard.others -= heard.loops;
    return heard;
}

/* Every edge by which receiver i hears another node gets a share of the gradient of each loop that
 * i has itself. */
static void share_out(const gnn_op_call_t *call, const gnn__built_view_t *view, int64_t i,
                      gnn_real_t share, const gnn_real_t *of_loop)
{
    const gnn_tensor_t dx = call->in[0].grad;
    for (int64_t p = 0; p < view->n_parts; p++) {
        const gnn__pairs_t *pairs = &view->parts[p].pairs;
        for (int64_t at = gnn__pairs_from(pairs, i); at < gnn__pairs_to(pairs, i); at++) {
            gnn_real_t *to = gnn__row(&dx, gnn__pairs_edge(pairs, at));
            for (int64_t c = 0; gnn__pairs_col(pairs, at) != i && c < dx.cols; c++)
                to[c] += share * of_loop[c];
        }
    }
}

static void share_loops(const gnn_op_call_t *call, const gnn__built_view_t *view, int64_t i,
                        gnn_real_t share)
{
    const gnn_tensor_t dy = call->out[0].grad;
    for (int64_t p = 0; p < view->n_parts; p++) {
        const gnn__pairs_t *pairs = &view->parts[p].pairs;
        for (int64_t at = gnn__pairs_from(pairs, i); at < gnn__pairs_to(pairs, i); at++)
            if (gnn__pairs_col(pairs, at) == i)
                share_out(call, view, i, share, gnn__row(&dy, gnn__pairs_edge(pairs, at)));
    }
}

/* The row of an edge from another node gets its own gradient and its share of that of the loop that
 * may be added; what a loop's own row says is not read. */
static void edge_grads(const gnn_op_call_t *call, const gnn__built_view_t *view, int64_t i)
{
    const gnn_operand_t *x = &call->in[0];
    const gnn_tensor_t dy = call->out[0].grad, dx = x->grad;
    const heard_t heard = heard_of(view, i);
    const gnn_real_t share = heard.others > 0 ? 1 / (gnn_real_t)heard.others : 0,
                     *of_loop = gnn__row(&dy, x->rows + i);
    const bool adds = x->accumulate != 0;
    for (int64_t p = 0; p < view->n_parts; p++) {
        const gnn__pairs_t *pairs = &view->parts[p].pairs;
        for (int64_t at = gnn__pairs_from(pairs, i); at < gnn__pairs_to(pairs, i); at++) {
            const int64_t edge = gnn__pairs_edge(pairs, at), next = edge_ahead(pairs, at);
            const gnn_real_t *from = gnn__row(&dy, edge);
            const bool loop = gnn__pairs_col(pairs, at) == i;
            gnn_real_t *to = gnn__row(&dx, edge);
            __builtin_prefetch(gnn__row(&dy, next));
            __builtin_prefetch(gnn__row(&dx, next), 1);
            for (int64_t c = 0; c < dy.cols; c++)
                to[c] = (adds ? to[c] : 0) + (loop ? 0 : from[c] + share * of_loop[c]);
        }
    }
    if (heard.loops > 0)
        share_loops(call, view, i, share);
}

static int loop_rows_backward(gnn_op_call_t *call)
{
    const gnn__built_view_t *view = view_of(call);
    const gnn_tensor_t *dy = &call->out[0].grad;
    const int64_t n = graph_of(call)->n_dst;
    if (!view)
        return GNN_EUNPREPARED;
    if (!gnn__wants(call, 0))
        return GNN_OK;
    const int threads = gnn__op_threads(call, 2 * dy->rows * dy->cols);
    GNN__PARALLEL_FOR_AS (threads, schedule(dynamic, RECEIVERS_AT_ONCE), int64_t i = 0; i < n; i++)
        edge_grads(call, view, i);
    return GNN_OK;
}

const gnn_op_t gnn__op_loop_rows = {.name = "loop_rows",
                                    .shape = loop_rows_shape,
                                    .forward = loop_rows_forward,
                                    .backward = loop_rows_backward};
