/* The sum of each head's numbers: (n x h*d) -> (n x h). Option: heads. */
#include <lib/ops/rows/named_ops.h>

static int shape(gnn_op_call_t *call)
{
    int64_t heads;
    GNN_TRY(gnn__op_heads(call, "head_sum", &heads));
    gnn__op_output(call, call->in[0].rows, heads);
    return GNN_OK;
}

static int forward(gnn_op_call_t *call)
{
    const gnn_tensor_t *x = &call->in[0].value, *y = &call->out[0].value;
    const int64_t d = x->cols / y->cols;
    const int threads = gnn__op_threads(call, x->rows * x->cols);
    GNN__PARALLEL_FOR (threads, int64_t r = 0; r < x->rows; r++)
        for (int64_t h = 0; h < y->cols; h++) {
            double sum = 0;
            for (int64_t c = h * d; c < (h + 1) * d; c++)
                sum += (double)gnn__row(x, r)[c];
            gnn__row(y, r)[h] = (gnn_real_t)sum;
        }
    return GNN_OK;
}

static int backward(gnn_op_call_t *call)
{
    const gnn_tensor_t *dx = &call->in[0].grad, *dy = &call->out[0].grad;
    const int64_t d = call->in[0].cols / dy->cols;
    if (!gnn__wants(call, 0))
        return GNN_OK;
    gnn__op_begin(call, 0);
    for (int64_t r = 0; r < dy->rows; r++)
        for (int64_t c = 0; c < dx->cols; c++)
            gnn__row(dx, r)[c] += gnn__row(dy, r)[c / d];
    return GNN_OK;
}

const gnn_op_t gnn_op_head_sum = {
    .name = "head_sum", .shape = shape, .forward = forward, .backward = backward};
