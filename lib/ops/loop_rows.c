/* Features of self-loops: (m x d) -> (m + n x d). Row m + i is the mean of the rows of the edges
 * that receiver i hears, 0 where it hears none; the others are x's own. What PyG does by default
 * where a layer adds self-loops to a graph with edge features. */
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

/* y of receiver i's loop becomes the mean over its edges. */
static void loop_mean(const gnn_op_call_t *call, const gnn__built_view_t *view, int64_t i)
{
    const gnn_tensor_t *x = &call->in[0].value;
    gnn_real_t *to = gnn__row(&call->out[0].value, x->rows + i);
    memset(to, 0, sizeof *to * (size_t)x->cols);
    for (int64_t p = 0; p < view->n_parts; p++) {
        const gnn__pairs_t *pairs = &view->parts[p].pairs;
        for (int64_t at = gnn__pairs_from(pairs, i); at < gnn__pairs_to(pairs, i); at++)
            gnn__elementwise_kernels()->scale(x->cols, 1, gnn__row(x, gnn__pairs_edge(pairs, at)),
                                              true, to);
    }
    if (view->degree[i] > 0)
        gnn__elementwise_kernels()->scale(x->cols, 1 / (gnn_real_t)view->degree[i], to, false, to);
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

/* An edge's row gets its own gradient and its share of its receiver's loop's. */
static void edge_grads(const gnn_op_call_t *call, const gnn__built_view_t *view, int64_t i)
{
    const gnn_operand_t *x = &call->in[0];
    const gnn_tensor_t *dy = &call->out[0].grad;
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    const gnn_real_t share = view->degree[i] > 0 ? 1 / (gnn_real_t)view->degree[i] : 0;
    for (int64_t p = 0; p < view->n_parts; p++) {
        const gnn__pairs_t *pairs = &view->parts[p].pairs;
        for (int64_t at = gnn__pairs_from(pairs, i); at < gnn__pairs_to(pairs, i); at++) {
            const int64_t edge = gnn__pairs_edge(pairs, at);
            gnn_real_t *to = gnn__row(&x->grad, edge);
            kernels->scale(dy->cols, 1, gnn__row(dy, edge), x->accumulate != 0, to);
            kernels->scale(dy->cols, share, gnn__row(dy, x->rows + i), true, to);
        }
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
