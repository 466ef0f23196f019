/* y = x^p with a learned exponent: x (n x d), p (1 x 1). What is not positive becomes 0 and passes
 * no gradient, but for x = 0 under p = 1. Li et al. 2020 (DeeperGCN): halves of a power mean. */
#include <lib/ops/rows/named_ops.h>

static int shape(gnn_op_call_t *call)
{
    GNN_TRY(gnn__op_dense(call, "power_by", 0, 1, 2));
    GNN_TRY(gnn__op_expect(call, "power_by", 1, 1, 1));
    gnn__op_output(call, call->in[0].rows, call->in[0].cols);
    call->in[0].keep = call->in[1].keep = call->recording;
    return GNN_OK;
}

static int forward(gnn_op_call_t *call)
{
    const gnn_tensor_t *x = &call->in[0].value, *y = &call->out[0].value;
    const double p = (double)call->in[1].value.data[0];
    const int threads = gnn__op_threads(call, 20 * x->rows * x->cols);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t r = 0; r < x->rows; r++)
        for (int64_t c = 0; c < x->cols; c++) {
            const double v = (double)gnn__row(x, r)[c];
            gnn__row(y, r)[c] = (gnn_real_t)(v > 0 ? pow(v, p) : 0);
        }
    return GNN_OK;
}

/* dx = p x^(p - 1) dy, dp = sum of x^p log(x) dy */
static int backward(gnn_op_call_t *call)
{
    const gnn_tensor_t *x = &call->in[0].value, *dy = &call->out[0].grad;
    const double p = (double)call->in[1].value.data[0];
    double dp = 0;
    gnn__op_begin(call, 0);
    gnn__op_begin(call, 1);
    for (int64_t r = 0; r < x->rows; r++)
        for (int64_t c = 0; c < x->cols; c++) {
            const double v = (double)gnn__row(x, r)[c], g = (double)gnn__row(dy, r)[c];
            dp += v > 0 ? g * pow(v, p) * log(v) : 0;
            if (gnn__wants(call, 0))
                gnn__row(&call->in[0].grad, r)[c] += (gnn_real_t)(v > 0 ? g * p * pow(v, p - 1)
                                                                  : v == 0 && p == 1 ? g
                                                                                     : 0);
        }
    if (gnn__wants(call, 1))
        gnn__op_add_numbers(&call->in[1], &dp);
    return GNN_OK;
}

const gnn_op_t gnn_op_power_by = {
    .name = "power_by", .shape = shape, .forward = forward, .backward = backward};
