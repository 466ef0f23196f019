/* Columns side by side. */
#include <lib/ops/support.h>

static int concat_shape(gnn_op_call_t *call)
{
    int64_t cols = 0;
    GNN_TRY(gnn__op_dense(call, "concat", 0, call->n_in - 1, call->n_in));
    if (call->n_in < 1)
        return gnn__op_error(call, GNN_ESHAPE, "concat expects at least one tensor");
    for (int k = 0; k < call->n_in; k++) {
        if (call->in[k].rows != call->in[0].rows)
            return gnn__op_error(call, GNN_ESHAPE,
                                 "concat expects %lld rows as in its first tensor, tensor %d has %lld",
                                 (long long)call->in[0].rows, k, (long long)call->in[k].rows);
        if (!gnn__add(cols, call->in[k].cols, &cols))
            return gnn__op_error(call, GNN_EOVERFLOW,
                                 "concat: the columns of %d tensors do not fit", call->n_in);
    }
    gnn__op_output(call, call->in[0].rows, cols);
    return GNN_OK;
}

/* The columns of `whole` that belong to input k. */
static gnn_tensor_t part_of(const gnn_op_call_t *call, const gnn_tensor_t *whole, int k)
{
    gnn_tensor_t part = *whole;
    part.stride = gnn__stride(whole);
    part.cols = call->in[k].cols;
    for (int before = 0; before < k; before++)
        part.data += call->in[before].cols;
    return part;
}

static int concat_forward(gnn_op_call_t *call)
{
    for (int k = 0; k < call->n_in; k++) {
        const gnn_tensor_t part = part_of(call, &call->out[0].value, k);
        gnn__op_send(call, 1, &call->in[k].value, &part, false);
    }
    return GNN_OK;
}

static int concat_backward(gnn_op_call_t *call)
{
    for (int k = 0; k < call->n_in; k++)
        if (gnn__wants(call, k)) {
            const gnn_tensor_t part = part_of(call, &call->out[0].grad, k);
            gnn__op_send(call, 1, &part, &call->in[k].grad, call->in[k].accumulate);
        }
    return GNN_OK;
}

const gnn_op_t gnn__op_concat = {
    .name = "concat", .shape = concat_shape, .forward = concat_forward, .backward = concat_backward};
