/* Values on edges: the row of an edge's receiver, or of its sender, by the user's edge numbers. In
 * backward every node adds up the rows of its own edges: along the graph, or along its transpose
 * for senders, so that each row has one owner and its sum one order. */
#include <graphs/graph.h>
#include <lib/ops/support.h>

#include <omp.h>

/* Threads take turns at so many nodes: these differ in how many edges they have. */
enum { NODES_AT_ONCE = 64 };

static const gnn__edge_rows_settings_t *settings(const gnn_op_call_t *call)
{
    return call->attributes;
}

static bool of_senders(const gnn_op_call_t *call)
{
    return settings(call)->side == GNN_SIDE_SENDERS;
}

static const gnn__built_view_t *view_of(const gnn_op_call_t *call)
{
    const bool transposed = of_senders(call) && call->recording && call->in[0].wants_grad;
    const gnn_view_t wanted = {.self_loops = GNN_OFF,
                               .norm = GNN_GRAPH_NORM_NONE,
                               .backward = transposed ? GNN_ON : GNN_OFF};
    return gnn__graph_view(settings(call)->graph, &wanted);
}

static int unprepared(const gnn_op_call_t *call)
{
    return gnn__error_prefix(GNN_EUNPREPARED, "%s",
                             call->where && *call->where ? call->where : "edge_rows");
}

static int check_graph(const gnn_op_call_t *call)
{
    const gnn_graph_t *graph = settings(call)->graph;
    const gnn_sides_t side = settings(call)->side;
    if (!graph)
        return gnn_op_fail(call, GNN_EINVALID, "edge_rows needs a graph");
    if (side != GNN_SIDE_RECEIVERS && side != GNN_SIDE_SENDERS)
        return gnn_op_fail(call, GNN_EINVALID,
                           "edge_rows takes rows of receivers (%d) or of senders (%d), got side %d",
                           (int)GNN_SIDE_RECEIVERS, (int)GNN_SIDE_SENDERS, (int)side);
    const int64_t nodes = of_senders(call) ? graph->n_src : graph->n_dst;
    if (call->in[0].rows != nodes)
        return gnn_op_fail(call, GNN_ESHAPE, "edge_rows expects a row for each of %lld %s, got %lld",
                           (long long)nodes, of_senders(call) ? "senders" : "receivers",
                           (long long)call->in[0].rows);
    return GNN_OK;
}

static int edge_rows_shape(gnn_op_call_t *call)
{
    GNN_TRY(gnn__op_dense(call, "edge_rows", 0, 0, 1));
    GNN_TRY(check_graph(call));
    const gnn__built_view_t *view = view_of(call);
    if (!view)
        return unprepared(call);
    for (int64_t p = 0; p < view->n_parts; p++)
        if (gnn__pairs_form(&view->parts[p].pairs) != GNN__EDGES && view->parts[p].pairs.count > 0)
            return gnn_op_fail(
                call, GNN_EUNSUPPORTED,
                "edge_rows: part %lld of the graph stores spans, which have no edges: see gnn_graph_to_edges",
                (long long)p);
    gnn__op_output(call, settings(call)->graph->n_edges, call->in[0].cols);
    return GNN_OK;
}

/* x_i, or x_j, to the rows of all edges that receiver i hears. */
static void copy_rows(const gnn_op_call_t *call, const gnn__built_view_t *view, int64_t i)
{
    const gnn_tensor_t *x = &call->in[0].value, *y = &call->out[0].value;
    for (int64_t p = 0; p < view->n_parts; p++) {
        const gnn__pairs_t *pairs = &view->parts[p].pairs;
        for (int64_t at = gnn__pairs_from(pairs, i); at < gnn__pairs_to(pairs, i); at++)
            memcpy(gnn__row(y, gnn__pairs_edge(pairs, at)),
                   gnn__row(x, of_senders(call) ? gnn__pairs_col(pairs, at) : i),
                   (size_t)x->cols * sizeof(gnn_real_t));
    }
}

/* The rows of a node's edges, added up. */
static void add_rows(const gnn_op_call_t *call, const gnn__built_view_t *view, int64_t node)
{
    const gnn__part_t *parts = of_senders(call) ? view->transposed : view->parts;
    const gnn_tensor_t *dy = &call->out[0].grad, *dx = &call->in[0].grad;
    if (!call->in[0].accumulate)
        memset(gnn__row(dx, node), 0, (size_t)dx->cols * sizeof(gnn_real_t));
    for (int64_t p = 0; p < view->n_parts; p++) {
        const gnn__pairs_t *pairs = &parts[p].pairs;
        for (int64_t at = gnn__pairs_from(pairs, node); at < gnn__pairs_to(pairs, node); at++)
            gnn__elementwise_kernels()->scale(dx->cols, 1, gnn__row(dy, gnn__pairs_edge(pairs, at)),
                                              true, gnn__row(dx, node));
    }
}

static void visit_nodes(const gnn_op_call_t *call, const gnn__built_view_t *view, int64_t nodes,
                        void (*visit)(const gnn_op_call_t *, const gnn__built_view_t *, int64_t))
{
    const int64_t pieces = (nodes + NODES_AT_ONCE - 1) / NODES_AT_ONCE;
    const int threads = gnn__op_threads(call, (call->out[0].rows + nodes) * call->in[0].cols);
    GNN__EACH_CHUNK (k, pieces, threads)
        for (int64_t i = k * NODES_AT_ONCE; i < nodes && i < (k + 1) * NODES_AT_ONCE; i++)
            visit(call, view, i);
}

static int edge_rows_forward(gnn_op_call_t *call)
{
    const gnn__built_view_t *view = view_of(call);
    if (!view)
        return unprepared(call);
    if (call->in[0].cols > 0)
        visit_nodes(call, view, settings(call)->graph->n_dst, copy_rows);
    return GNN_OK;
}

static int edge_rows_backward(gnn_op_call_t *call)
{
    const gnn__built_view_t *view = view_of(call);
    if (!view)
        return unprepared(call);
    if (gnn__wants(call, 0) && call->in[0].cols > 0)
        visit_nodes(call, view, call->in[0].rows, add_rows);
    return GNN_OK;
}

const gnn_op_t gnn__op_edge_rows = {.name = "edge_rows",
                                    .shape = edge_rows_shape,
                                    .forward = edge_rows_forward,
                                    .backward = edge_rows_backward};
