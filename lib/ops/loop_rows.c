/* Features of self-loops: (m x d) -> (m + n x d). Row m + i is the mean of the rows of the edges by
 * which receiver i hears others, 0 where it hears none; so are the rows of loops i -> i that the
 * graph has itself, whose own features are not read. The others are x's own. What PyG does by default
 * where a layer has self-loops on a graph with edge features: it takes away those that are there and
 * adds new ones. */
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

/* What one loop's mean is over: the edges by which receiver i hears others. */
static int64_t heard_from_others(const gnn__built_view_t *view, int64_t i)
{
    int64_t count = 0;
    for (int64_t p = 0; p < view->n_parts; p++) {
        const gnn__pairs_t *pairs = &view->parts[p].pairs;
        for (int64_t at = gnn__pairs_from(pairs, i); at < gnn__pairs_to(pairs, i); at++)
            count += gnn__pairs_col(pairs, at) != i;
    }
    return count;
}

static gnn_real_t share_of(const gnn__built_view_t *view, int64_t i)
{
    const int64_t count = heard_from_others(view, i);
    return count > 0 ? 1 / (gnn_real_t)count : 0;
}

/* y of receiver i's loop becomes the mean over the edges from others. */
static void loop_mean(const gnn_op_call_t *call, const gnn__built_view_t *view, int64_t i)
{
    const gnn_tensor_t *x = &call->in[0].value;
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    const size_t row = sizeof *x->data * (size_t)x->cols;
    gnn_real_t *to = gnn__row(&call->out[0].value, x->rows + i);
    memset(to, 0, row);
    for (int64_t p = 0; p < view->n_parts; p++) {
        const gnn__pairs_t *pairs = &view->parts[p].pairs;
        for (int64_t at = gnn__pairs_from(pairs, i); at < gnn__pairs_to(pairs, i); at++)
            if (gnn__pairs_col(pairs, at) != i)
                kernels->scale(x->cols, 1, gnn__row(x, gnn__pairs_edge(pairs, at)), true, to);
    }
    kernels->scale(x->cols, share_of(view, i), to, false, to);
    for (int64_t p = 0; p < view->n_parts; p++) {
        const gnn__pairs_t *pairs = &view->parts[p].pairs;
        for (int64_t at = gnn__pairs_from(pairs, i); at < gnn__pairs_to(pairs, i); at++)
            if (gnn__pairs_col(pairs, at) == i)
                memcpy(gnn__row(&call->out[0].value, gnn__pairs_edge(pairs, at)), to, row);
    }
}

static int loop_rows_forward(gnn_op_call_t *call)
{
    const gnn__built_view_t *view = view_of(call);
    const gnn_tensor_t *x = &call->in[0].value;
    const int64_t n = graph_of(call)->n_dst;
    if (!view)
        return GNN_EUNPREPARED;
    const int threads = gnn__op_threads(call, 2 * x->rows * x->cols);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t e = 0; e < x->rows; e++)
        memcpy(gnn__row(&call->out[0].value, e), gnn__row(x, e), sizeof *x->data * (size_t)x->cols);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < n; i++)
        loop_mean(call, view, i);
    return GNN_OK;
}

/* Every edge by which receiver i hears another node gets its share of the gradient of one loop. */
static void share_out(const gnn_op_call_t *call, const gnn__built_view_t *view, int64_t i,
                      gnn_real_t share, const gnn_real_t *d_loop)
{
    const gnn_tensor_t *dx = &call->in[0].grad;
    for (int64_t p = 0; p < view->n_parts; p++) {
        const gnn__pairs_t *pairs = &view->parts[p].pairs;
        for (int64_t at = gnn__pairs_from(pairs, i); at < gnn__pairs_to(pairs, i); at++)
            if (gnn__pairs_col(pairs, at) != i)
                gnn__elementwise_kernels()->scale(dx->cols, share, d_loop, true,
                                                  gnn__row(dx, gnn__pairs_edge(pairs, at)));
    }
}

/* Edges from others first get their own gradients, then shares of those of the loop that may be
 * added and of the loops that are there; what a loop's own row says is not read. */
static void edge_grads(const gnn_op_call_t *call, const gnn__built_view_t *view, int64_t i)
{
    const gnn_operand_t *x = &call->in[0];
    const gnn_tensor_t *dy = &call->out[0].grad;
    const gnn_real_t share = share_of(view, i);
    for (int64_t p = 0; p < view->n_parts; p++) {
        const gnn__pairs_t *pairs = &view->parts[p].pairs;
        for (int64_t at = gnn__pairs_from(pairs, i); at < gnn__pairs_to(pairs, i); at++) {
            const int64_t edge = gnn__pairs_edge(pairs, at);
            const gnn_real_t own = gnn__pairs_col(pairs, at) != i;
            gnn__elementwise_kernels()->scale(dy->cols, own, gnn__row(dy, edge), x->accumulate != 0,
                                              gnn__row(&x->grad, edge));
        }
    }
    share_out(call, view, i, share, gnn__row(dy, x->rows + i));
    for (int64_t p = 0; p < view->n_parts; p++) {
        const gnn__pairs_t *pairs = &view->parts[p].pairs;
        for (int64_t at = gnn__pairs_from(pairs, i); at < gnn__pairs_to(pairs, i); at++)
            if (gnn__pairs_col(pairs, at) == i)
                share_out(call, view, i, share, gnn__row(dy, gnn__pairs_edge(pairs, at)));
    }
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
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < n; i++)
        edge_grads(call, view, i);
    return GNN_OK;
}

const gnn_op_t gnn__op_loop_rows = {.name = "loop_rows",
                                    .shape = loop_rows_shape,
                                    .forward = loop_rows_forward,
                                    .backward = loop_rows_backward};
