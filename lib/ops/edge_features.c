/* Rows per edge: node rows gathered to edges, and edge features of self-loops. */
#include <graphs/halo.h>
#include <lib/ops/support.h>

#include <omp.h>

/* ---- edge_rows ---- */

/* Node rows gathered to edges: row e of y is the row of edge e's receiver, or sender. In backward
 * every node sums the rows of its own edges, along the graph or, for senders, along its transpose:
 * each row has one owner and one order of summation. */

/* Nodes per dynamic chunk: their degrees differ. */
enum { NODES_AT_ONCE = 64 };

static const gnn__edge_rows_settings_t *settings(const gnn_op_call_t *call)
{
    return call->attributes;
}

static bool of_senders(const gnn_op_call_t *call)
{
    return settings(call)->side == GNN_SIDE_SENDERS;
}

static const gnn__built_view_t *edge_view_of(const gnn_op_call_t *call)
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
    const gnn__built_view_t *view = edge_view_of(call);
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

/* Writes x_i, or x_j, to the rows of all edges into receiver i. */
static void edge_copy_rows(const gnn_op_call_t *call, const gnn__built_view_t *view, int64_t i)
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

/* Sums dy over a node's edges. */
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
    const gnn__built_view_t *view = edge_view_of(call);
    if (!view)
        return unprepared(call);
    if (call->in[0].cols > 0)
        visit_nodes(call, view, settings(call)->graph->n_dst, edge_copy_rows);
    return GNN_OK;
}

static int edge_rows_backward(gnn_op_call_t *call)
{
    const gnn__built_view_t *view = edge_view_of(call);
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

/* ---- loop_rows ---- */

/* Edge features with self-loops, (m x d) -> (m + n x d), as PyG's default fill_value "mean". Row m
 * + i, of the self-loop that is added at receiver i, is the mean of the rows of its edges from
 * other nodes, 0 if it has none. Self-loops i -> i of the graph get the same mean: PyG removes them
 * and adds new ones, so their own features are not read. All other rows are copied. Over ranks i is
 * a row of the graph with the halo: an aggregation reads the self-loops of own receivers alone, and
 * backward completes the gradients of edges at the owner of their receivers, from which all ranks
 * get them. */

static const gnn_graph_t *graph_of(const gnn_op_call_t *call)
{
    const gnn_graph_t *graph = ((const gnn__loop_rows_settings_t *)call->attributes)->graph;
    return graph->halo ? graph->halo->wide : graph;
}

static const gnn__built_view_t *loop_view_of(const gnn_op_call_t *call)
{
    return gnn__graph_view(graph_of(call), &(gnn_view_t){.norm = GNN_GRAPH_NORM_NONE});
}

static int loop_rows_shape(gnn_op_call_t *call)
{
    const gnn_graph_t *graph = graph_of(call);
    const gnn__built_view_t *view = loop_view_of(call);
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
        return gnn_op_fail(call, GNN_EOVERFLOW,
                           "loop_rows: the count of %lld edges and %lld self-loops overflows",
                           (long long)graph->n_edges, (long long)graph->n_dst);
    gnn__op_output(call, rows, call->in[0].cols);
    return GNN_OK;
}

/* Prefetch distance in edges, whose rows may be anywhere in memory. */
enum { EDGES_AHEAD = 32 };

/* The edge EDGES_AHEAD positions later, or the part's last. */
static int64_t edge_ahead(const gnn__pairs_t *pairs, int64_t at)
{
    return gnn__pairs_edge(pairs, gnn__min(at + EDGES_AHEAD, pairs->count - 1));
}

/* Writes `mean` to the rows of the self-loops that the graph has at receiver i. */
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

/* to += columns c0 .. c0 + count - 1 of the rows of receiver i's edges from other nodes; returns
 * their count. */
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

/* Row m + i of y: the mean over receiver i's edges from other nodes. They are read from y rather
 * than x because the library's memory has large pages. */
static void loop_mean(const gnn_op_call_t *call, const gnn__built_view_t *view, int64_t i)
{
    const gnn_tensor_t y = call->out[0].value;
    gnn_real_t *to = gnn__row(&y, call->in[0].value.rows + i);
    int64_t pairs_all = 0, others = 0;
    memset(to, 0, sizeof *to * (size_t)y.cols);
    for (int64_t p = 0; p < view->n_parts; p++) {
        const gnn__pairs_t *pairs = &view->parts[p].pairs;
        int64_t c = 0, found = 0;
        for (; c + TOGETHER <= y.cols; c += TOGETHER)
            found = add_columns(pairs, i, &y, c, TOGETHER, to);
        if (c < y.cols)
            found = add_columns(pairs, i, &y, c, y.cols - c, to);
        others += found;
        pairs_all += gnn__pairs_to(pairs, i) - gnn__pairs_from(pairs, i);
    }
    for (int64_t c = 0; others > 0 && c < y.cols; c++)
        to[c] /= (gnn_real_t)others;
    if (others < pairs_all)
        fill_loops(view, i, to, &y);
}

/* In-degrees differ widely, so receivers are scheduled dynamically, in groups. */
enum { ROWS_AT_ONCE = 1024, RECEIVERS_AT_ONCE = 16 };

/* Copies rows e0 .. e1 - 1. */
static void loop_copy_rows(const gnn_tensor_t *x, const gnn_tensor_t *y, int64_t e0, int64_t e1)
{
    const size_t row = sizeof *x->data * (size_t)x->cols;
    if (x->stride == x->cols && y->stride == x->cols)
        memcpy(gnn__row(y, e0), gnn__row(x, e0), row * (size_t)(e1 - e0));
    else
        for (int64_t e = e0; e < e1; e++)
            memcpy(gnn__row(y, e), gnn__row(x, e), row);
}

/* One pass for edges that are stored in the order of their receivers: their rows are averaged
 * while they are in the cache. Returns false for other orders. */
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
        loop_copy_rows(x, &call->out[0].value, pairs->indptr[i0], pairs->indptr[i1]);
        for (int64_t i = i0; i < i1; i++)
            loop_mean(call, view, i);
    }
    return true;
}

static int loop_rows_forward(gnn_op_call_t *call)
{
    const gnn__built_view_t *view = loop_view_of(call);
    const gnn_tensor_t *x = &call->in[0].value;
    const int64_t n = graph_of(call)->n_dst;
    if (!view)
        return GNN_EUNPREPARED;
    const int threads = gnn__op_threads(call, 2 * x->rows * x->cols);
    if (copy_by_receiver(call, view, threads))
        return GNN_OK;
    GNN__PARALLEL_FOR (threads, int64_t e = 0; e < x->rows; e += ROWS_AT_ONCE)
        loop_copy_rows(x, &call->out[0].value, e, gnn__min(e + ROWS_AT_ONCE, x->rows));
    GNN__PARALLEL_FOR_AS (threads, schedule(dynamic, RECEIVERS_AT_ONCE), int64_t i = 0; i < n; i++)
        loop_mean(call, view, i);
    return GNN_OK;
}

/* Of one receiver: its edges from other nodes, and its self-loops in the graph. */
typedef struct {
    int64_t others, loops;
} degree_t;

static degree_t degree_of(const gnn__built_view_t *view, int64_t i)
{
    degree_t degree = {0, 0};
    for (int64_t p = 0; p < view->n_parts; p++) {
        const gnn__pairs_t *pairs = &view->parts[p].pairs;
        const int64_t from = gnn__pairs_from(pairs, i), to = gnn__pairs_to(pairs, i);
        for (int64_t at = from; at < to; at++)
            degree.loops += gnn__pairs_col(pairs, at) == i;
        degree.others += to - from;
    }
    degree.others -= degree.loops;
    return degree;
}

/* Adds `share` times the gradient of a self-loop to the rows of receiver i's edges from other
 * nodes. */
static void spread_loop_grad(const gnn_op_call_t *call, const gnn__built_view_t *view, int64_t i,
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

static void spread_loop_grads(const gnn_op_call_t *call, const gnn__built_view_t *view, int64_t i,
                              gnn_real_t share)
{
    const gnn_tensor_t dy = call->out[0].grad;
    for (int64_t p = 0; p < view->n_parts; p++) {
        const gnn__pairs_t *pairs = &view->parts[p].pairs;
        for (int64_t at = gnn__pairs_from(pairs, i); at < gnn__pairs_to(pairs, i); at++)
            if (gnn__pairs_col(pairs, at) == i)
                spread_loop_grad(call, view, i, share, gnn__row(&dy, gnn__pairs_edge(pairs, at)));
    }
}

/* Writes dx of receiver i's edges: their own gradient and their share of that of the added
 * self-loop; 0 for self-loops of the graph, whose rows are not read. */
static void edge_grads(const gnn_op_call_t *call, const gnn__built_view_t *view, int64_t i)
{
    const gnn_operand_t *x = &call->in[0];
    const gnn_tensor_t dy = call->out[0].grad, dx = x->grad;
    const degree_t degree = degree_of(view, i);
    const gnn_real_t share = degree.others > 0 ? 1 / (gnn_real_t)degree.others : 0,
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
    if (degree.loops > 0)
        spread_loop_grads(call, view, i, share);
}

static int loop_rows_backward(gnn_op_call_t *call)
{
    const gnn__built_view_t *view = loop_view_of(call);
    const gnn_tensor_t *dy = &call->out[0].grad;
    const int64_t n = graph_of(call)->n_dst;
    if (!view)
        return GNN_EUNPREPARED;
    if (!gnn__wants(call, 0))
        return GNN_OK;
    const int threads = gnn__op_threads(call, 2 * dy->rows * dy->cols);
    GNN__PARALLEL_FOR_AS (threads, schedule(dynamic, RECEIVERS_AT_ONCE), int64_t i = 0; i < n; i++)
        edge_grads(call, view, i);
    return graph_of(call)->wide_of
               ? gnn__halo_gather_edges(graph_of(call)->wide_of, &call->in[0].grad)
               : GNN_OK;
}

const gnn_op_t gnn__op_loop_rows = {.name = "loop_rows",
                                    .shape = loop_rows_shape,
                                    .forward = loop_rows_forward,
                                    .backward = loop_rows_backward};
