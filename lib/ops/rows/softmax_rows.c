/* Softmax along each row. */
#include <lib/ops/rows/named_ops.h>

static int shape(gnn_op_call_t *call)
{
    GNN_TRY(gnn__op_dense(call, "softmax_rows", 0, 0, 1));
    gnn__op_output(call, call->in[0].rows, call->in[0].cols);
    call->out[0].keep = call->in[0].wants_grad;
    return GNN_OK;
}

static void softmax(const gnn_real_t *x, int64_t n, gnn_real_t *y)
{
    double largest = -INFINITY, sum = 0;
    for (int64_t c = 0; c < n; c++)
        largest = fmax(largest, (double)x[c]);
    for (int64_t c = 0; c < n; c++)
        sum += exp((double)x[c] - largest);
    for (int64_t c = 0; c < n; c++)
        y[c] = (gnn_real_t)(exp((double)x[c] - largest) / sum);
}

static int forward(gnn_op_call_t *call)
{
    const gnn_tensor_t *x = &call->in[0].value, *y = &call->out[0].value;
    const int threads = gnn__op_threads(call, 20 * x->rows * x->cols);
    GNN__PARALLEL_FOR (threads, int64_t r = 0; r < x->rows; r++)
        softmax(gnn__row(x, r), x->cols, gnn__row(y, r));
    return GNN_OK;
}

static int backward(gnn_op_call_t *call)
{
    const gnn_tensor_t *y = &call->out[0].value, *dy = &call->out[0].grad;
    if (!gnn__wants(call, 0))
        return GNN_OK;
    gnn__op_begin(call, 0);
    for (int64_t r = 0; r < dy->rows; r++) {
        double along = 0;
        for (int64_t c = 0; c < dy->cols; c++)
            along += (double)gnn__row(y, r)[c] * (double)gnn__row(dy, r)[c];
        for (int64_t c = 0; c < dy->cols; c++)
            gnn__row(&call->in[0].grad, r)[c] +=
                (gnn_real_t)((double)gnn__row(y, r)[c] * ((double)gnn__row(dy, r)[c] - along));
    }
    return GNN_OK;
}

const gnn_op_t gnn_op_softmax_rows = {
    .name = "softmax_rows", .shape = shape, .forward = forward, .backward = backward};
