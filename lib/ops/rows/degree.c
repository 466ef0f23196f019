/* How many senders each receiver of the graph hears (n_dst x 1); with option 0 at 1, how many
 * receivers hear each sender (n_src x 1). Option 1: the least number put out. The input says when
 * it runs, and is not read; no gradient passes. */
#include <lib/ops/rows/named_ops.h>

static bool of_senders(const gnn_op_call_t *call)
{
    return gnn__op_options(call)->options[0] == 1;
}

static int shape(gnn_op_call_t *call)
{
    const gnn_graph_t *graph = gnn__op_options(call)->graph;
    if (!graph)
        return gnn_op_fail(call, GNN_EINVALID, "degree needs a graph");
    gnn__op_output(call, of_senders(call) ? graph->n_src : graph->n_dst, 1);
    return GNN_OK;
}

static void count_heard(const gnn__pairs_t *pairs, const gnn_tensor_t *y)
{
    for (int64_t r = 0; r < pairs->n_rows; r++)
        for (int64_t at = gnn__pairs_from(pairs, r); at < gnn__pairs_to(pairs, r); at++)
            gnn__row(y, gnn__pairs_col(pairs, at))[0] += 1;
}

static int forward(gnn_op_call_t *call)
{
    const gnn_graph_t *graph = gnn__op_options(call)->graph;
    const gnn_tensor_t *y = &call->out[0].value;
    const gnn_real_t least = (gnn_real_t)gnn__op_options(call)->options[1];
    for (int64_t i = 0; i < y->rows; i++)
        gnn__row(y, i)[0] = of_senders(call) ? 0 : (gnn_real_t)graph->base.degree[i];
    for (int64_t p = 0; of_senders(call) && p < graph->base.n_parts; p++)
        count_heard(&graph->base.parts[p].pairs, y);
    for (int64_t i = 0; i < y->rows; i++)
        if (gnn__row(y, i)[0] < least)
            gnn__row(y, i)[0] = least;
    return GNN_OK;
}

static int backward(gnn_op_call_t *call)
{
    gnn__op_begin(call, 0);
    return GNN_OK;
}

const gnn_op_t gnn_op_degree = {.name = "degree",
                                .shape = shape,
                                .forward = forward,
                                .backward = backward,
                                .flags = GNN_OP_READS_GRAPH};
