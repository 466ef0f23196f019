/* y = x^p with a learned exponent: x (n x d), p (1 x 1). What is not positive becomes 0 and passes
 * no gradient, but for x = 0 under p = 1. Li et al. 2020 (DeeperGCN): halves of a power mean. */
#include <lib/ops/rows/named_ops.h>

static int shape(gnn_op_call_t *call)
{
    GNN_TRY(gnn__op_dense(call, "power_by", 0, 1, 2));
    GNN_TRY(gnn__op_expect(call, "power_by", 1, 1, 1));
    gnn__op_output(call, call->in[0].rows, call->in[0].cols);
    call->in[0].keep = call->in[1].keep = call->out[0].keep = call->recording;
    return gnn__column_bytes(call, call->in[0].rows, 1, &call->backward_scratch);
}

static int forward(gnn_op_call_t *call)
{
    const gnn_tensor_t *x = &call->in[0].value, *y = &call->out[0].value;
    const gnn_real_t p = call->in[1].value.data[0];
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    const int threads = gnn__op_threads(call, 4 * x->rows * x->cols);
    GNN__PARALLEL_FOR (threads, int64_t r = 0; r < x->rows; r++)
        kernels->power(x->cols, p, gnn__row(x, r), gnn__row(y, r));
    return GNN_OK;
}

/* dx = p x^(p - 1) dy, dp = sum of x^p log(x) dy, which is summed up in fixed chunks of rows. */
static int backward(gnn_op_call_t *call)
{
    const gnn_tensor_t *x = &call->in[0].value, *y = &call->out[0].value, *dy = &call->out[0].grad;
    const gnn_real_t p = call->in[1].value.data[0];
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    const int chunks = (int)gnn__column_chunks(x->rows);
    double *sums = call->scratch, dp = 0;
    gnn__op_begin(call, 0);
    gnn__op_begin(call, 1);
    const int threads = gnn__op_threads(call, 6 * x->rows * x->cols);
    GNN__PARALLEL_FOR (threads, int k = 0; k < chunks; k++) {
        sums[k] = 0;
        for (int64_t r = gnn__share(x->rows, k, chunks); r < gnn__share(x->rows, k + 1, chunks); r++)
            sums[k] +=
                kernels->power_grad(x->cols, p, gnn__row(x, r), gnn__row(y, r), gnn__row(dy, r),
                                    gnn__wants(call, 0) ? gnn__row(&call->in[0].grad, r) : NULL);
    }
    for (int k = 0; k < chunks; k++)
        dp += sums[k];
    if (gnn__wants(call, 1))
        gnn__op_add_numbers(&call->in[1], &dp);
    return GNN_OK;
}

const gnn_op_t gnn_op_power_by = {
    .name = "power_by", .shape = shape, .forward = forward, .backward = backward};
