/* Rows side by side: k rows that follow one another become one, (n*k x d) -> (n x k*d). Option:
 * k. */
#include <lib/ops/rows/named_ops.h>

static int shape(gnn_op_call_t *call)
{
    const gnn_operand_t *x = &call->in[0];
    int64_t k, cols;
    GNN_TRY(gnn__op_dense(call, "fold_rows", 0, 0, 1));
    GNN_TRY(gnn__op_whole(call, "fold_rows", 0, INT32_MAX, &k));
    if (x->rows % k != 0 || !gnn__mul(x->cols, k, &cols))
        return gnn_op_fail(call, GNN_ESHAPE, "fold_rows: %lld rows do not divide into groups of %lld",
                           (long long)x->rows, (long long)k);
    gnn__op_output(call, x->rows / k, cols);
    return GNN_OK;
}

static int forward(gnn_op_call_t *call)
{
    const gnn_tensor_t *x = &call->in[0].value, *y = &call->out[0].value;
    const int64_t k = y->rows > 0 ? x->rows / y->rows : 1;
    for (int64_t r = 0; r < x->rows; r++)
        memcpy(gnn__row(y, r / k) + r % k * x->cols, gnn__row(x, r),
               sizeof(gnn_real_t) * (size_t)x->cols);
    return GNN_OK;
}

static int backward(gnn_op_call_t *call)
{
    const gnn_operand_t *x = &call->in[0];
    const gnn_tensor_t *dy = &call->out[0].grad;
    const int64_t k = dy->rows > 0 ? x->rows / dy->rows : 1;
    for (int64_t r = 0; gnn__wants(call, 0) && r < x->rows; r++)
        gnn__elementwise_kernels()->scale(x->cols, 1, gnn__row(dy, r / k) + r % k * x->cols,
                                          x->accumulate != 0, gnn__row(&x->grad, r));
    return GNN_OK;
}

const gnn_op_t gnn_op_fold_rows = {
    .name = "fold_rows", .shape = shape, .forward = forward, .backward = backward};
