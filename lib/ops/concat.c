/* Columns side by side. */
#include <lib/ops/support.h>

static int concat_shape(gnn_op_call_t *call)
{
    int64_t cols = 0;
    GNN_TRY(gnn__op_dense(call, "concat", 0, call->n_in - 1, call->n_in));
    if (call->n_in < 1)
        return gnn_op_fail(call, GNN_ESHAPE, "concat expects at least one tensor");
    for (int k = 0; k < call->n_in; k++) {
        if (call->in[k].rows != call->in[0].rows)
            return gnn_op_fail(call, GNN_ESHAPE,
                               "concat expects %lld rows as in its first tensor, tensor %d has %lld",
                               (long long)call->in[0].rows, k, (long long)call->in[k].rows);
        if (!gnn__add(cols, call->in[k].cols, &cols))
            return gnn_op_fail(call, GNN_EOVERFLOW, "concat: the columns of %d tensors do not fit",
                               call->n_in);
    }
    gnn__op_output(call, call->in[0].rows, cols);
    return GNN_OK;
}

/* `cols` columns of `whole` from `first` on. */
static gnn_tensor_t part_of(const gnn_tensor_t *whole, int64_t first, int64_t cols)
{
    return (gnn_tensor_t){whole->data + first, whole->rows, cols, gnn__stride(whole)};
}

static int concat_forward(gnn_op_call_t *call)
{
    int64_t first = 0;
    for (int k = 0; k < call->n_in; first += call->in[k++].cols) {
        const gnn_tensor_t part = part_of(&call->out[0].value, first, call->in[k].cols);
        gnn__op_send(call, 1, &call->in[k].value, &part, false);
    }
    return GNN_OK;
}

static int concat_backward(gnn_op_call_t *call)
{
    int64_t first = 0;
    for (int k = 0; k < call->n_in; first += call->in[k++].cols)
        if (gnn__wants(call, k)) {
            const gnn_tensor_t part = part_of(&call->out[0].grad, first, call->in[k].cols);
            gnn__op_send(call, 1, &part, &call->in[k].grad, call->in[k].accumulate);
        }
    return GNN_OK;
}

const gnn_op_t gnn__op_concat = {
    .name = "concat", .shape = concat_shape, .forward = concat_forward, .backward = concat_backward};
