/* Rows one under another. */
#include <lib/ops/support.h>

static int stack_shape(gnn_op_call_t *call)
{
    int64_t rows = 0;
    GNN_TRY(gnn__op_dense(call, "stack", 0, call->n_in - 1, call->n_in));
    if (call->n_in < 1)
        return gnn_op_fail(call, GNN_ESHAPE, "stack expects at least one tensor");
    for (int k = 0; k < call->n_in; k++) {
        if (call->in[k].cols != call->in[0].cols)
            return gnn_op_fail(call, GNN_ESHAPE,
                               "stack expects %lld columns as in its first tensor, tensor %d has %lld",
                               (long long)call->in[0].cols, k, (long long)call->in[k].cols);
        if (!gnn__add(rows, call->in[k].rows, &rows))
            return gnn_op_fail(call, GNN_EOVERFLOW, "stack: the rows of %d tensors do not fit",
                               call->n_in);
    }
    gnn__op_output(call, rows, call->in[0].cols);
    return GNN_OK;
}

static int stack_forward(gnn_op_call_t *call)
{
    int64_t first = 0;
    for (int k = 0; k < call->n_in; first += call->in[k++].rows) {
        const gnn_tensor_t part = gnn__rows(&call->out[0].value, first, call->in[k].rows);
        gnn__op_send(call, 1, &call->in[k].value, &part, false);
    }
    return GNN_OK;
}

static int stack_backward(gnn_op_call_t *call)
{
    int64_t first = 0;
    for (int k = 0; k < call->n_in; first += call->in[k++].rows)
        if (gnn__wants(call, k)) {
            const gnn_tensor_t part = gnn__rows(&call->out[0].grad, first, call->in[k].rows);
            gnn__op_send(call, 1, &part, &call->in[k].grad, call->in[k].accumulate);
        }
    return GNN_OK;
}

const gnn_op_t gnn__op_stack = {
    .name = "stack", .shape = stack_shape, .forward = stack_forward, .backward = stack_backward};
