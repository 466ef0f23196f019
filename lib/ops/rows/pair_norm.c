/* Rows less their mean, divided by the root of the mean square of their lengths: u = x - mean of
 * rows, y = scale u / sqrt(eps + mean of |u_i|^2). Options: scale [1], eps [1e-5]. Zhao and Akoglu
 * 2020 (PairNorm). */
#include <lib/ops/rows/named_ops.h>

static int shape(gnn_op_call_t *call)
{
    GNN_TRY(gnn__op_dense(call, "pair_norm", 0, 0, 1));
    gnn__op_output(call, call->in[0].rows, call->in[0].cols);
    call->in[0].keep = call->in[0].wants_grad;
    GNN_TRY(gnn__op_bytes(call, 1, call->in[0].cols, sizeof(double), &call->forward_scratch));
    return gnn__op_bytes(call, 2, call->in[0].cols, sizeof(double), &call->backward_scratch);
}

/* Means of the columns of t. */
static void means(const gnn_tensor_t *t, double *mean)
{
    memset(mean, 0, sizeof *mean * (size_t)t->cols);
    for (int64_t r = 0; r < t->rows; r++)
        for (int64_t c = 0; c < t->cols; c++)
            mean[c] += (double)gnn__row(t, r)[c] / (double)t->rows;
}

/* scale / sqrt(eps + mean of |u_i|^2) */
static double factor(const gnn_op_call_t *call, const double *mean)
{
    const gnn_tensor_t *x = &call->in[0].value;
    double square = 0;
    for (int64_t r = 0; r < x->rows; r++)
        for (int64_t c = 0; c < x->cols; c++) {
            const double u = (double)gnn__row(x, r)[c] - mean[c];
            square += u * u / (double)x->rows;
        }
    return gnn__op_option(call, 0, 1) / sqrt(gnn__op_option(call, 1, 1e-5) + square);
}

static int forward(gnn_op_call_t *call)
{
    const gnn_tensor_t *x = &call->in[0].value, *y = &call->out[0].value;
    double *mean = call->scratch;
    means(x, mean);
    const double f = factor(call, mean);
    for (int64_t r = 0; r < x->rows; r++)
        for (int64_t c = 0; c < x->cols; c++)
            gnn__row(y, r)[c] = (gnn_real_t)(f * ((double)gnn__row(x, r)[c] - mean[c]));
    return GNN_OK;
}

/* du = f (dy - u (sum of u dy) f^2 / (n scale^2)), dx = du - mean of du; the mean of u is 0. */
static int backward(gnn_op_call_t *call)
{
    const gnn_tensor_t *x = &call->in[0].value, *dy = &call->out[0].grad;
    double *mean = call->scratch, *d_mean = mean + x->cols, along = 0;
    const double scale = gnn__op_option(call, 0, 1);
    if (!gnn__wants(call, 0))
        return GNN_OK;
    gnn__op_begin(call, 0);
    means(x, mean);
    means(dy, d_mean);
    const double f = factor(call, mean);
    for (int64_t r = 0; r < x->rows; r++)
        for (int64_t c = 0; c < x->cols; c++)
            along += ((double)gnn__row(x, r)[c] - mean[c]) * (double)gnn__row(dy, r)[c];
    along *= f * f / (scale * scale * (double)x->rows);
    for (int64_t r = 0; r < x->rows; r++)
        for (int64_t c = 0; c < x->cols; c++)
            gnn__row(&call->in[0].grad, r)[c] +=
                (gnn_real_t)(f * ((double)gnn__row(dy, r)[c] - d_mean[c] -
                                  ((double)gnn__row(x, r)[c] - mean[c]) * along));
    return GNN_OK;
}

const gnn_op_t gnn_op_pair_norm = {
    .name = "pair_norm", .shape = shape, .forward = forward, .backward = backward};
