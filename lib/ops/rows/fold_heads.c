/* The sum of all heads: (n x h*d) -> (n x d). Option: heads. */
#include <lib/ops/rows/named_ops.h>

static int shape(gnn_op_call_t *call)
{
    int64_t heads;
    GNN_TRY(gnn__op_heads(call, "fold_heads", &heads));
    gnn__op_output(call, call->in[0].rows, call->in[0].cols / heads);
    return GNN_OK;
}

static int forward(gnn_op_call_t *call)
{
    const gnn_tensor_t *x = &call->in[0].value, *y = &call->out[0].value;
    const int threads = gnn__op_threads(call, x->rows * x->cols);
    GNN__PARALLEL_FOR (threads, int64_t r = 0; r < x->rows; r++)
        for (int64_t c = 0; c < y->cols; c++) {
            double sum = 0;
            for (int64_t at = c; at < x->cols; at += y->cols)
                sum += (double)gnn__row(x, r)[at];
            gnn__row(y, r)[c] = (gnn_real_t)sum;
        }
    return GNN_OK;
}

static int backward(gnn_op_call_t *call)
{
    const gnn_tensor_t *dx = &call->in[0].grad, *dy = &call->out[0].grad;
    if (!gnn__wants(call, 0))
        return GNN_OK;
    gnn__op_begin(call, 0);
    for (int64_t r = 0; r < dy->rows; r++)
        for (int64_t c = 0; c < dx->cols; c++)
            gnn__row(dx, r)[c] += gnn__row(dy, r)[c % dy->cols];
    return GNN_OK;
}

const gnn_op_t gnn_op_fold_heads = {
    .name = "fold_heads", .shape = shape, .forward = forward, .backward = backward};
