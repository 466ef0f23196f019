/* Rows of x (n_dst x c) whose receivers hear option 0 to option 1 senders, in order: what weights
 * of a degree's own are multiplied with. place_by_degree puts them back. */
#include <lib/ops/rows/rows_of_degree.h>

int gnn__degrees_check(const gnn_op_call_t *call, const char *name, gnn__degrees_t *degrees)
{
    const double *options = gnn__op_options(call)->options;
    if (!gnn__op_options(call)->graph)
        return gnn_op_fail(call, GNN_EINVALID, "%s needs a graph", name);
    if (!(options[0] >= 0 && options[1] >= options[0]))
        return gnn_op_fail(call, GNN_EINVALID, "%s: degrees from %g to %g", name, options[0],
                           options[1]);
    *degrees = (gnn__degrees_t){options[0], options[1]};
    return GNN_OK;
}

static bool is_among(const gnn_graph_t *graph, int64_t i, gnn__degrees_t degrees)
{
    const double degree = (double)graph->base.degree[i];
    return degree >= degrees.least && degree <= degrees.most;
}

int64_t gnn__degrees_count(const gnn_op_call_t *call, gnn__degrees_t degrees)
{
    const gnn_graph_t *graph = gnn__op_options(call)->graph;
    int64_t count = 0;
    for (int64_t i = 0; i < graph->n_dst; i++)
        count += is_among(graph, i, degrees);
    return count;
}

void gnn__degrees_move(const gnn_op_call_t *call, gnn__degrees_t degrees, const gnn_tensor_t *apart,
                       const gnn_tensor_t *all, bool to_all, bool add)
{
    const gnn_graph_t *graph = gnn__op_options(call)->graph;
    int64_t at = 0;
    for (int64_t i = 0; apart->cols > 0 && i < graph->n_dst; i++) {
        if (!is_among(graph, i, degrees))
            continue;
        gnn_real_t *own = gnn__row(apart, at++), *place = gnn__row(all, i);
        const gnn_real_t *from = to_all ? own : place;
        gnn_real_t *to = to_all ? place : own;
        if (add)
            gnn__elementwise_kernels()->scale(apart->cols, 1, from, true, to);
        else
            memcpy(to, from, (size_t)apart->cols * sizeof *to);
    }
}

static int shape(gnn_op_call_t *call)
{
    gnn__degrees_t degrees;
    GNN_TRY(gnn__op_dense(call, "rows_of_degree", 0, 0, 1));
    GNN_TRY(gnn__degrees_check(call, "rows_of_degree", &degrees));
    GNN_TRY(gnn__op_expect(call, "rows_of_degree", 0, gnn__op_options(call)->graph->n_dst,
                           call->in[0].cols));
    gnn__op_output(call, gnn__degrees_count(call, degrees), call->in[0].cols);
    return GNN_OK;
}

static int forward(gnn_op_call_t *call)
{
    gnn__degrees_t degrees;
    GNN_TRY(gnn__degrees_check(call, "rows_of_degree", &degrees));
    gnn__degrees_move(call, degrees, &call->out[0].value, &call->in[0].value, false, false);
    return GNN_OK;
}

static int backward(gnn_op_call_t *call)
{
    gnn__degrees_t degrees;
    GNN_TRY(gnn__degrees_check(call, "rows_of_degree", &degrees));
    gnn__op_begin(call, 0);
    if (gnn__wants(call, 0))
        gnn__degrees_move(call, degrees, &call->out[0].grad, &call->in[0].grad, true, true);
    return GNN_OK;
}

const gnn_op_t gnn_op_rows_of_degree = {.name = "rows_of_degree",
                                        .shape = shape,
                                        .forward = forward,
                                        .backward = backward,
                                        .flags = GNN_OP_READS_GRAPH};
