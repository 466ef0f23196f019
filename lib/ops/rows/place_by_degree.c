/* The inverse of rows_of_degree for several degrees at once: input k holds the rows of receivers
 * that hear option 0 + k senders, the last input those of up to option 1; y (n_dst x c) has each at
 * its place and 0 elsewhere. */
#include <lib/ops/rows/rows_of_degree.h>

static int count_inputs(const gnn_op_call_t *call)
{
    int count = 0;
    while (gnn__has_input(call, count))
        count++;
    return count;
}

/* Of input k among `count`. */
static gnn__degrees_t degrees_of(const gnn_op_call_t *call, int k, int count)
{
    const double *options = gnn__op_options(call)->options, least = options[0] + k;
    return (gnn__degrees_t){least, k + 1 < count ? least : options[1]};
}

static int shape(gnn_op_call_t *call)
{
    const int count = count_inputs(call);
    gnn__degrees_t all;
    GNN_TRY(gnn__op_dense(call, "place_by_degree", 0, count - 1, 1));
    GNN_TRY(gnn__degrees_check(call, "place_by_degree", &all));
    for (int k = 0; k < count; k++)
        GNN_TRY(gnn__op_expect(call, "place_by_degree", k,
                               gnn__degrees_count(call, degrees_of(call, k, count)),
                               call->in[0].cols));
    gnn__op_output(call, gnn__op_options(call)->graph->n_dst, call->in[0].cols);
    return GNN_OK;
}

static int forward(gnn_op_call_t *call)
{
    const gnn_tensor_t *y = &call->out[0].value;
    const int count = count_inputs(call);
    for (int64_t i = 0; i < y->rows; i++)
        memset(gnn__row(y, i), 0, (size_t)y->cols * sizeof *y->data);
    for (int k = 0; k < count; k++)
        gnn__degrees_move(call, degrees_of(call, k, count), &call->in[k].value, y, true, false);
    return GNN_OK;
}

static int backward(gnn_op_call_t *call)
{
    const int count = count_inputs(call);
    for (int k = 0; k < count; k++)
        if (gnn__wants(call, k))
            gnn__degrees_move(call, degrees_of(call, k, count), &call->in[k].grad,
                              &call->out[0].grad, false, call->in[k].accumulate);
    return GNN_OK;
}

const gnn_op_t gnn_op_place_by_degree = {.name = "place_by_degree",
                                         .shape = shape,
                                         .forward = forward,
                                         .backward = backward,
                                         .flags = GNN_OP_READS_GRAPH};
