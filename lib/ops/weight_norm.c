/* Normalisation of edge weights: y_ij = w_ij / sqrt(d_i d_j) (GCN, Kipf and Welling 2017) or w_ij
 * / d_i, where d_i is the sum of the weights of i's incoming edges. (m x 1) -> (m + n x 1); without
 * an input every weight is 1. Self-loops that the view adds are the edges m + i and have the weight
 * of the settings. A degree of 0 gives 0; one below 0 has no root, which is an error.
 *
 * Both are y_e = w_e a_i b_j with a, b powers of the degree (by rows: b = 1). With g = dy:
 *   dw_e = g_e a_i b_j + dd_i
 *   dd_i = a'(d_i) sum over e into i of g_e w_e b_j + b'(d_i) sum over e out of i of g_e w_e
 *   a_receiver */
#include <graphs/graph.h>
#include <lib/ops/support.h>

#include <math.h>

static const gnn__weight_norm_settings_t *settings(const gnn_op_call_t *call)
{
    return call->attributes;
}

static bool symmetric(const gnn_op_call_t *call)
{
    return settings(call)->kind != GNN_GRAPH_NORM_ROW;
}

static bool needs_transpose(const gnn_op_call_t *call)
{
    return call->recording && call->in[0].wants_grad && symmetric(call);
}

static const gnn__built_view_t *view_of(const gnn_op_call_t *call)
{
    const gnn_view_t wanted = {.self_loops = settings(call)->self_loops == GNN_ON ? GNN_ON : GNN_OFF,
                               .norm = GNN_GRAPH_NORM_NONE,
                               .backward = needs_transpose(call) ? GNN_ON : GNN_OFF};
    return gnn__graph_view(settings(call)->graph, &wanted);
}

static int check_graph(const gnn_op_call_t *call)
{
    const gnn_graph_t *graph = settings(call)->graph;
    const gnn_graph_norm_t kind = settings(call)->kind;
    if ((unsigned)settings(call)->self_loops > GNN_OFF)
        return gnn_op_fail(call, GNN_EINVALID, "weight_norm: self_loops = %d is not a flag",
                           (int)settings(call)->self_loops);
    if (kind != GNN_GRAPH_NORM_DEFAULT && kind != GNN_GRAPH_NORM_SYMMETRIC &&
        kind != GNN_GRAPH_NORM_ROW)
        return gnn_op_fail(call, GNN_EINVALID,
                           "weight_norm expects the kind symmetric or row, got %d", (int)kind);
    if (symmetric(call) && graph->n_dst != graph->n_src)
        return gnn_op_fail(
            call, GNN_ETOPOLOGY,
            "symmetric weight_norm expects as many receivers as senders, got %lld and %lld",
            (long long)graph->n_dst, (long long)graph->n_src);
    if (gnn__has_input(call, 0) && (call->in[0].rows != graph->n_edges || call->in[0].cols != 1))
        return gnn_op_fail(
            call, GNN_ESHAPE, "weight_norm expects %lld x 1 edge weights, got %lld x %lld",
            (long long)graph->n_edges, (long long)call->in[0].rows, (long long)call->in[0].cols);
    return GNN_OK;
}

static int weight_norm_shape(gnn_op_call_t *call)
{
    GNN_TRY(gnn__op_dense(call, "weight_norm", 0, 0, 0));
    GNN_TRY(check_graph(call));
    const gnn_graph_t *graph = settings(call)->graph;
    const gnn__built_view_t *view = view_of(call);
    int64_t rows;
    if (!view)
        return gnn__error_prefix(GNN_EUNPREPARED, "%s",
                                 call->where && *call->where ? call->where : "weight_norm");
    for (int64_t p = 0; p < view->n_parts; p++)
        if (gnn__pairs_form(&view->parts[p].pairs) != GNN__EDGES && view->parts[p].pairs.count > 0)
            return gnn_op_fail(
                call, GNN_EUNSUPPORTED,
                "weight_norm: part %lld of the graph stores spans, which have no edge weights",
                (long long)p);
    if (!gnn__add(graph->n_edges, graph->n_dst, &rows))
        return gnn_op_fail(call, GNN_EOVERFLOW,
                           "weight_norm: the count of %lld edges and %lld self-loops overflows",
                           (long long)graph->n_edges, (long long)graph->n_dst);
    gnn__op_output(call, rows, 1);
    GNN_TRY(gnn__op_bytes(call, graph->n_dst, 2, sizeof(gnn_real_t),
                          call->recording ? &call->saved_bytes[0] : &call->forward_scratch));
    if (call->recording && call->in[0].wants_grad)
        call->in[0].keep = 1;
    return GNN_OK;
}

static gnn_real_t weight_of(const gnn_op_call_t *call, int64_t edge)
{
    if (edge >= settings(call)->graph->n_edges)
        return settings(call)->loop_weight;
    return gnn__has_input(call, 0) ? *gnn__row(&call->in[0].value, edge) : 1;
}

/* Per node: the degree, and a = d^-1/2 or 1/d. */
static int degrees(const gnn_op_call_t *call, const gnn__built_view_t *view, gnn_real_t *degree,
                   gnn_real_t *a, int threads)
{
    const int64_t n = settings(call)->graph->n_dst;
    GNN__PARALLEL_FOR (threads, int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int64_t p = 0; p < view->n_parts; p++) {
            const gnn__pairs_t *pairs = &view->parts[p].pairs;
            for (int64_t at = gnn__pairs_from(pairs, i); at < gnn__pairs_to(pairs, i); at++)
                sum += (double)weight_of(call, gnn__pairs_edge(pairs, at));
        }
        degree[i] = (gnn_real_t)sum;
        a[i] = sum != 0 ? (gnn_real_t)(symmetric(call) ? 1 / sqrt(sum) : 1 / sum) : 0;
    }
    for (int64_t i = 0; symmetric(call) && i < n; i++)
        if (degree[i] < 0)
            return gnn_op_fail(call, GNN_EINVALID,
                               "symmetric weight_norm: the weights of the edges into node %lld sum "
                               "to %g, at least 0 is expected",
                               (long long)i, (double)degree[i]);
    return GNN_OK;
}

static int weight_norm_forward(gnn_op_call_t *call)
{
    const gnn__built_view_t *view = view_of(call);
    const gnn_tensor_t *y = &call->out[0].value;
    const int64_t n = settings(call)->graph->n_dst, m = settings(call)->graph->n_edges;
    if (!view)
        return gnn__error_prefix(GNN_EUNPREPARED, "weight_norm");
    gnn_real_t *degree = call->recording ? call->saved[0] : call->scratch, *a = degree + n;
    const int threads = gnn__op_threads(call, m + n);
    GNN_TRY(degrees(call, view, degree, a, threads));
    for (int64_t i = m; i < y->rows; i++)
        *gnn__row(y, i) = 0;
    GNN__PARALLEL_FOR (threads, int64_t i = 0; i < n; i++) {
        for (int64_t p = 0; p < view->n_parts; p++) {
            const gnn__pairs_t *pairs = &view->parts[p].pairs;
            for (int64_t at = gnn__pairs_from(pairs, i); at < gnn__pairs_to(pairs, i); at++) {
                const int64_t j = gnn__pairs_col(pairs, at), edge = gnn__pairs_edge(pairs, at);
                *gnn__row(y, edge) = weight_of(call, edge) * a[i] * (symmetric(call) ? a[j] : 1);
            }
        }
    }
    return GNN_OK;
}

/* `sum` plus dy w over the pairs of row i, each times a of the other end if `scaled_by_other`. */
static double add_row(const gnn_op_call_t *call, const gnn__pairs_t *pairs, int64_t i,
                      bool scaled_by_other, double sum)
{
    const gnn_tensor_t *dy = &call->out[0].grad;
    const gnn_real_t *a = (const gnn_real_t *)call->saved[0] + settings(call)->graph->n_dst;
    for (int64_t at = gnn__pairs_from(pairs, i); at < gnn__pairs_to(pairs, i); at++) {
        const int64_t edge = gnn__pairs_edge(pairs, at);
        sum += (double)(*gnn__row(dy, edge) * weight_of(call, edge)) *
               (scaled_by_other ? (double)a[gnn__pairs_col(pairs, at)] : 1);
    }
    return sum;
}

/* Gradient of node i's degree: as a receiver, and if symmetric as a sender. */
static gnn_real_t degree_grad(const gnn_op_call_t *call, const gnn__built_view_t *view, int64_t i)
{
    const gnn_real_t *degree = call->saved[0], *a = degree + settings(call)->graph->n_dst;
    const double d = (double)degree[i],
                 slope = d != 0 ? (symmetric(call) ? -0.5 * (double)a[i] / d : -(double)a[i] / d) : 0;
    double sum = 0;
    for (int64_t p = 0; p < view->n_parts; p++)
        sum = add_row(call, &view->parts[p].pairs, i, symmetric(call), sum);
    for (int64_t p = 0; symmetric(call) && p < view->n_parts; p++)
        sum = add_row(call, &view->transposed[p].pairs, i, true, sum);
    return (gnn_real_t)(slope * sum);
}

/* Gradients of the weights of edges into receiver i. */
static void weight_row_grad(const gnn_op_call_t *call, const gnn__pairs_t *pairs, int64_t i,
                            gnn_real_t ddegree)
{
    const gnn_tensor_t *dw = &call->in[0].grad, *dy = &call->out[0].grad;
    const gnn_real_t *a = (const gnn_real_t *)call->saved[0] + settings(call)->graph->n_dst;
    for (int64_t at = gnn__pairs_from(pairs, i); at < gnn__pairs_to(pairs, i); at++) {
        const int64_t j = gnn__pairs_col(pairs, at), edge = gnn__pairs_edge(pairs, at);
        if (edge >= dw->rows)
            continue;
        gnn_real_t *to = gnn__row(dw, edge),
                   g = *gnn__row(dy, edge) * a[i] * (symmetric(call) ? a[j] : 1) + ddegree;
        *to = call->in[0].accumulate ? *to + g : g;
    }
}

static int weight_norm_backward(gnn_op_call_t *call)
{
    const gnn__built_view_t *view = view_of(call);
    const gnn_tensor_t *dy = &call->out[0].grad;
    const int64_t n = settings(call)->graph->n_dst;
    if (!view)
        return gnn__error_prefix(GNN_EUNPREPARED, "weight_norm");
    if (!gnn__wants(call, 0))
        return GNN_OK;
    const int threads = gnn__op_threads(call, 2 * dy->rows);
    GNN__PARALLEL_FOR (threads, int64_t i = 0; i < n; i++) {
        const gnn_real_t ddegree = degree_grad(call, view, i);
        for (int64_t p = 0; p < view->n_parts; p++)
            weight_row_grad(call, &view->parts[p].pairs, i, ddegree);
    }
    return GNN_OK;
}

const gnn_op_t gnn__op_weight_norm = {.name = "weight_norm",
                                      .shape = weight_norm_shape,
                                      .forward = weight_norm_forward,
                                      .backward = weight_norm_backward};
