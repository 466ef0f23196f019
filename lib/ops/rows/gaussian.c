/* Gaussian kernels: y_rk = exp(-1/2 sum over c of (e_rc - mu_kc)^2 / (1e-15 + sigma_kc^2)). e (n x
 * d), mu and sigma (K x d) -> (n x K). Monti et al. 2017 (MoNet), eq. 11. */
#include <lib/ops/rows/named_ops.h>

static const double floor_of_variance = 1e-15;

static int shape(gnn_op_call_t *call)
{
    const gnn_operand_t *e = &call->in[0], *mu = &call->in[1];
    GNN_TRY(gnn__op_dense(call, "gaussian", 0, 2, 3));
    GNN_TRY(gnn__op_expect(call, "gaussian", 1, mu->rows, e->cols));
    GNN_TRY(gnn__op_expect(call, "gaussian", 2, mu->rows, e->cols));
    gnn__op_output(call, e->rows, mu->rows);
    for (int k = 0; k < 3; k++)
        call->in[k].keep = 1;
    call->out[0].keep = 1;
    return gnn__op_bytes(call, 2 * mu->rows, mu->cols, sizeof(double), &call->backward_scratch);
}

static double variance(const gnn_op_call_t *call, int64_t k, int64_t c)
{
    const double sigma = (double)gnn__row(&call->in[2].value, k)[c];
    return floor_of_variance + sigma * sigma;
}

static double off_centre(const gnn_op_call_t *call, int64_t r, int64_t k, int64_t c)
{
    return (double)gnn__row(&call->in[0].value, r)[c] - (double)gnn__row(&call->in[1].value, k)[c];
}

static int forward(gnn_op_call_t *call)
{
    const gnn_tensor_t *y = &call->out[0].value;
    const int64_t d = call->in[0].cols;
    const int threads = gnn__op_threads(call, 20 * y->rows * y->cols);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t r = 0; r < y->rows; r++)
        for (int64_t k = 0; k < y->cols; k++) {
            double sum = 0;
            for (int64_t c = 0; c < d; c++)
                sum += off_centre(call, r, k, c) * off_centre(call, r, k, c) / variance(call, k, c);
            gnn__row(y, r)[k] = (gnn_real_t)exp(-0.5 * sum);
        }
    return GNN_OK;
}

/* dy y of row r and kernel k to its centre, its width and the row. */
static void pair_grad(const gnn_op_call_t *call, int64_t r, int64_t k, double *d_mu, double *d_sigma)
{
    const int64_t d = call->in[0].cols;
    const double g =
        (double)gnn__row(&call->out[0].grad, r)[k] * (double)gnn__row(&call->out[0].value, r)[k];
    for (int64_t c = 0; c < d; c++) {
        const double off = off_centre(call, r, k, c), v = variance(call, k, c);
        d_mu[k * d + c] += g * off / v;
        d_sigma[k * d + c] += g * off * off * (double)gnn__row(&call->in[2].value, k)[c] / (v * v);
        if (gnn__wants(call, 0))
            gnn__row(&call->in[0].grad, r)[c] -= (gnn_real_t)(g * off / v);
    }
}

static int backward(gnn_op_call_t *call)
{
    const int64_t rows = call->out[0].rows, kernels = call->out[0].cols, d = call->in[0].cols;
    double *d_mu = call->scratch, *d_sigma = d_mu + kernels * d;
    for (int k = 0; k < 3; k++)
        gnn__op_begin(call, k);
    memset(d_mu, 0, sizeof *d_mu * (size_t)(2 * kernels * d));
    for (int64_t r = 0; r < rows; r++)
        for (int64_t k = 0; k < kernels; k++)
            pair_grad(call, r, k, d_mu, d_sigma);
    if (gnn__wants(call, 1))
        gnn__op_add_numbers(&call->in[1], d_mu);
    if (gnn__wants(call, 2))
        gnn__op_add_numbers(&call->in[2], d_sigma);
    return GNN_OK;
}

const gnn_op_t gnn_op_gaussian = {
    .name = "gaussian", .shape = shape, .forward = forward, .backward = backward};
