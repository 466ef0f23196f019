/* Gaussian kernels: y_rk = exp(-1/2 sum over c of (e_rc - mu_kc)^2 / (1e-15 + sigma_kc^2)). e (n x
 * d), mu and sigma (K x d) -> (n x K). Monti et al. 2017 (MoNet), eq. 11. Gradients of mu and sigma
 * are summed in chunks of rows that depend on the shape alone. */
#include <lib/ops/named/named_ops.h>

static const double floor_of_variance = 1e-15;

/* Elements of mu, and of sigma. */
static int64_t centres(const gnn_op_call_t *call)
{
    return call->in[1].rows * call->in[1].cols;
}

/* Scratch of forward: 1 / variance of each centre. Of backward: the same, then two sums per centre
 * for each chunk of rows. */
static int shape(gnn_op_call_t *call)
{
    const gnn_operand_t *e = &call->in[0], *mu = &call->in[1];
    size_t sums;
    GNN_TRY(gnn__op_dense(call, "gaussian", 0, 2, 3));
    GNN_TRY(gnn__op_expect(call, "gaussian", 1, mu->rows, e->cols));
    GNN_TRY(gnn__op_expect(call, "gaussian", 2, mu->rows, e->cols));
    gnn__op_output(call, e->rows, mu->rows);
    for (int k = 0; k < 3; k++)
        call->in[k].keep = 1;
    call->out[0].keep = 1;
    GNN_TRY(gnn__op_bytes(call, mu->rows, mu->cols, sizeof(double), &call->forward_scratch));
    GNN_TRY(
        gnn__op_bytes(call, 2 * gnn__column_chunks(e->rows), centres(call), sizeof(double), &sums));
    call->backward_scratch = call->forward_scratch + sums;
    return GNN_OK;
}

/* Fills the scratch with 1 / variance of each centre. */
static const double *precisions(const gnn_op_call_t *call)
{
    double *p = call->scratch;
    const gnn_tensor_t *sigma = &call->in[2].value;
    for (int64_t k = 0; k < sigma->rows; k++)
        for (int64_t c = 0; c < sigma->cols; c++) {
            const double s = (double)gnn__row(sigma, k)[c];
            p[k * sigma->cols + c] = 1 / (floor_of_variance + s * s);
        }
    return p;
}

static int forward(gnn_op_call_t *call)
{
    const gnn_tensor_t *e = &call->in[0].value, *mu = &call->in[1].value, *y = &call->out[0].value;
    const double *precision = precisions(call);
    const int threads = gnn__op_threads(call, 20 * y->rows * y->cols);
    GNN__PARALLEL_FOR (threads, int64_t r = 0; r < y->rows; r++)
        for (int64_t k = 0; k < y->cols; k++) {
            double sum = 0;
            for (int64_t c = 0; c < e->cols; c++) {
                const double off = (double)gnn__row(e, r)[c] - (double)gnn__row(mu, k)[c];
                sum += off * off * precision[k * e->cols + c];
            }
            gnn__row(y, r)[k] = (gnn_real_t)exp(-0.5 * sum);
        }
    return GNN_OK;
}

/* Gradients from row r and kernel k: to the centre, to sigma (without its factor sigma), to the
 * row of e. */
static void pair_grad(const gnn_op_call_t *call, int64_t r, int64_t k, const double *precision,
                      double *d_mu, double *d_sigma)
{
    const int64_t d = call->in[0].cols;
    const gnn_real_t *e = gnn__row(&call->in[0].value, r), *mu = gnn__row(&call->in[1].value, k);
    gnn_real_t *de = gnn__wants(call, 0) ? gnn__row(&call->in[0].grad, r) : NULL;
    const double g =
        (double)gnn__row(&call->out[0].grad, r)[k] * (double)gnn__row(&call->out[0].value, r)[k];
    for (int64_t c = 0; c < d; c++) {
        const double off = (double)e[c] - (double)mu[c], pull = g * off * precision[k * d + c];
        d_mu[k * d + c] += pull;
        d_sigma[k * d + c] += pull * off * precision[k * d + c];
        if (de)
            de[c] -= (gnn_real_t)pull;
    }
}

static void chunk_grad(const gnn_op_call_t *call, int64_t from, int64_t end,
                       const double *precision, double *sums)
{
    memset(sums, 0, 2 * sizeof *sums * (size_t)centres(call));
    for (int64_t r = from; r < end; r++)
        for (int64_t k = 0; k < call->out[0].cols; k++)
            pair_grad(call, r, k, precision, sums, sums + centres(call));
}

static int backward(gnn_op_call_t *call)
{
    const int64_t rows = call->out[0].rows, n = centres(call), chunks = gnn__column_chunks(rows);
    const gnn_tensor_t *sigma = &call->in[2].value;
    const double *precision = precisions(call);
    double *sums = (double *)call->scratch + n;
    const int threads = gnn__op_threads(call, 10 * rows * n);
    for (int k = 0; k < 3; k++)
        gnn__op_begin(call, k);
    GNN__PARALLEL_FOR (threads, int64_t k = 0; k < chunks; k++)
        chunk_grad(call, gnn__share(rows, (int)k, (int)chunks),
                   gnn__share(rows, (int)k + 1, (int)chunks), precision, sums + 2 * k * n);
    gnn__column_total(chunks, 2 * n, sums);
    for (int64_t k = 0; k < n; k++)
        sums[n + k] *= (double)gnn__row(sigma, k / sigma->cols)[k % sigma->cols];
    if (gnn__wants(call, 1))
        gnn__op_accumulate(&call->in[1], sums);
    if (gnn__wants(call, 2))
        gnn__op_accumulate(&call->in[2], sums + n);
    return GNN_OK;
}

const gnn_op_t gnn_op_gaussian = {
    .name = "gaussian", GNN__NO_OPTIONS, .shape = shape, .forward = forward, .backward = backward};
