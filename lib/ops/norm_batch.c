/* Batch norm over rows, Ioffe and Szegedy 2015, as PyTorch's: the batch's mean and biased variance
 * when training (or where there are no running statistics), the running ones otherwise; the
 * unbiased variance moves the running one. */
#include <lib/kernels/rowwise/row_norm.h>
#include <lib/ops/norm.h>

#include <math.h>

/* Workspace of both directions, in doubles and then reals: the chunks' sums, and vectors of one
 * number per column. */
typedef struct {
    int64_t rows, cols, chunks;
    double *parts, *second;  /* chunks x cols; one row of cols */
    gnn_real_t *p, *q, *r;   /* per column */
    gnn_real_t *mean, *rstd; /* per column; saved */
} batch_t;

static bool uses_batch(const gnn_op_call_t *call)
{
    return call->training || !((const gnn__norm_settings_t *)call->attributes)->running.data;
}

int gnn__batch_norm_shape(gnn_op_call_t *call)
{
    const gnn_tensor_t *running = &((const gnn__norm_settings_t *)call->attributes)->running;
    const int64_t cols = call->in[0].cols;
    size_t doubles, reals, saved;
    if (running->data && (running->rows != 2 || running->cols != cols))
        return gnn_op_fail(call, GNN_ESHAPE,
                           "batch norm expects running statistics of 2 x %lld, got %lld x %lld",
                           (long long)cols, (long long)running->rows, (long long)running->cols);
    GNN_TRY(gnn__op_bytes(call, gnn__column_chunks(call->in[0].rows) + 1, cols, sizeof(double),
                          &doubles));
    GNN_TRY(gnn__op_bytes(call, 3, cols, sizeof(gnn_real_t), &reals));
    GNN_TRY(gnn__op_bytes(call, 2, cols, sizeof(gnn_real_t), &saved));
    call->forward_scratch = doubles + reals + (call->recording ? 0 : saved);
    if (call->recording) {
        call->saved_bytes[0] = saved;
        call->backward_scratch = doubles + reals;
        call->in[0].keep = 1;
        if (gnn__has_input(call, 1))
            call->in[1].keep = call->in[0].wants_grad;
    }
    return GNN_OK;
}

static batch_t workspace(const gnn_op_call_t *call)
{
    batch_t b = {.rows = call->in[0].rows, .cols = call->in[0].cols};
    b.chunks = gnn__column_chunks(b.rows);
    b.parts = call->scratch;
    b.second = b.parts + b.chunks * b.cols;
    b.p = (gnn_real_t *)(b.second + b.cols);
    b.q = b.p + b.cols;
    b.r = b.q + b.cols;
    b.mean = call->recording ? call->saved[0] : b.r + b.cols;
    b.rstd = b.mean + b.cols;
    return b;
}

typedef enum { SUM, SQUARES, PRODUCTS } what_t;

/* parts[0..cols) = column sums of x, of (x - mean)^2, or of dy (x - mean). */
static void sums(const gnn_op_call_t *call, const batch_t *b, what_t what, const gnn_tensor_t *x,
                 const gnn_tensor_t *dy)
{
    const gnn__row_kernels_t *kernels = gnn__row_kernels();
    const int threads = gnn__op_threads(call, b->rows * b->cols);
    GNN__PARALLEL_FOR (threads, int64_t k = 0; k < b->chunks; k++) {
        const int64_t from = gnn__share(b->rows, (int)k, (int)b->chunks),
                      rows = gnn__share(b->rows, (int)k + 1, (int)b->chunks) - from;
        double *part = b->parts + k * b->cols;
        if (what == SUM)
            kernels->column_sum(rows, b->cols, gnn__row(x, from), gnn__stride(x), part);
        else if (what == SQUARES)
            kernels->column_square(rows, b->cols, gnn__row(x, from), gnn__stride(x), b->mean, part);
        else
            kernels->column_product(rows, b->cols, gnn__row(dy, from), gnn__stride(dy),
                                    gnn__row(x, from), gnn__stride(x), b->mean, part);
    }
    gnn__column_total(b->chunks, b->cols, b->parts);
}

static void move_running(const gnn_op_call_t *call, const batch_t *b, const double *variance)
{
    const gnn__norm_settings_t *how = call->attributes;
    const double m = how->momentum == 0 ? 0.1 : (double)how->momentum;
    gnn_real_t *mean = how->running.data, *spread = gnn__row(&how->running, 1);
    const double unbiased = b->rows > 1 ? (double)b->rows / (double)(b->rows - 1) : 1;
    for (int64_t c = 0; c < b->cols; c++) {
        mean[c] = (gnn_real_t)((1 - m) * (double)mean[c] + m * (double)b->mean[c]);
        spread[c] = (gnn_real_t)((1 - m) * (double)spread[c] + m * variance[c] * unbiased);
    }
}

/* Two passes: the mean first, so that the variance does not cancel. */
static void batch_statistics(const gnn_op_call_t *call, const batch_t *b)
{
    const gnn_tensor_t *x = &call->in[0].value;
    const double n = b->rows > 0 ? (double)b->rows : 1, eps = (double)gnn__norm_eps(call);
    sums(call, b, SUM, x, NULL);
    for (int64_t c = 0; c < b->cols; c++)
        b->mean[c] = (gnn_real_t)(b->parts[c] / n);
    sums(call, b, SQUARES, x, NULL);
    for (int64_t c = 0; c < b->cols; c++) {
        b->parts[c] /= n;
        b->rstd[c] = (gnn_real_t)(1 / sqrt(b->parts[c] + eps));
    }
    if (call->training && b->rows > 0 &&
        ((const gnn__norm_settings_t *)call->attributes)->running.data)
        move_running(call, b, b->parts);
}

static void running_statistics(const gnn_op_call_t *call, const batch_t *b)
{
    const gnn_tensor_t *running = &((const gnn__norm_settings_t *)call->attributes)->running;
    const double eps = (double)gnn__norm_eps(call);
    const gnn_real_t *variance = gnn__row(running, 1);
    for (int64_t c = 0; c < b->cols; c++) {
        b->mean[c] = running->data[c];
        b->rstd[c] = (gnn_real_t)(1 / sqrt((double)variance[c] + eps));
    }
}

int gnn__batch_norm_forward(gnn_op_call_t *call)
{
    const gnn_tensor_t *x = &call->in[0].value, *y = &call->out[0].value;
    const gnn_real_t *gain = gnn__has_input(call, 1) ? call->in[1].value.data : NULL,
                     *shift = gnn__has_input(call, 2) ? call->in[2].value.data : NULL;
    const gnn__row_kernels_t *kernels = gnn__row_kernels();
    const batch_t b = workspace(call);
    if (uses_batch(call))
        batch_statistics(call, &b);
    else
        running_statistics(call, &b);
    for (int64_t c = 0; c < b.cols; c++) {
        b.p[c] = b.rstd[c] * (gain ? gain[c] : 1);
        b.q[c] = (shift ? shift[c] : 0) - b.mean[c] * b.p[c];
    }
    const int threads = gnn__op_threads(call, b.rows * b.cols);
    GNN__PARALLEL_FOR (threads, int64_t r = 0; r < b.rows; r++)
        kernels->affine(b.cols, gnn__row(x, r), b.p, b.q, gnn__row(y, r));
    return GNN_OK;
}

/* With z = (x - mean) rstd:  dx = gain rstd (dy - mean(dy) - z mean(dy z)), written as p dy + q (x
 * - mean) + r; running statistics are constants. */
static void coefficients(const gnn_op_call_t *call, const batch_t *b, const double *sum,
                         const double *product)
{
    const gnn_real_t *gain = gnn__has_input(call, 1) ? call->in[1].value.data : NULL;
    const double n = b->rows > 0 ? (double)b->rows : 1;
    for (int64_t c = 0; c < b->cols; c++) {
        double rstd = (double)b->rstd[c], p = rstd * (gain ? (double)gain[c] : 1);
        double q = uses_batch(call) ? -p * rstd * rstd * product[c] / n : 0;
        b->p[c] = (gnn_real_t)p;
        b->q[c] = (gnn_real_t)q;
        b->r[c] = (gnn_real_t)(uses_batch(call) ? -p * sum[c] / n : 0);
    }
}

int gnn__batch_norm_backward(gnn_op_call_t *call)
{
    const gnn_tensor_t *x = &call->in[0].value, *dy = &call->out[0].grad, *dx = &call->in[0].grad;
    const gnn__row_kernels_t *kernels = gnn__row_kernels();
    const batch_t b = workspace(call);
    const bool add = call->in[0].accumulate;
    sums(call, &b, SUM, dy, NULL);
    for (int64_t c = 0; c < b.cols; c++)
        b.second[c] = b.parts[c];
    sums(call, &b, PRODUCTS, x, dy);
    if (gnn__wants(call, 0))
        coefficients(call, &b, b.second, b.parts);
    if (gnn__wants(call, 1)) {
        for (int64_t c = 0; c < b.cols; c++)
            b.parts[c] *= (double)b.rstd[c];
        gnn__column_send(b.parts, 1, &call->in[1]);
    }
    if (gnn__wants(call, 2))
        gnn__column_send(b.second, 1, &call->in[2]);
    if (!gnn__wants(call, 0))
        return GNN_OK;
    const int threads = gnn__op_threads(call, b.rows * b.cols);
    GNN__PARALLEL_FOR (threads, int64_t r = 0; r < b.rows; r++)
        kernels->affine_grad(b.cols, gnn__row(dy, r), gnn__row(x, r), b.mean, b.p, b.q, b.r, add,
                             gnn__row(dx, r));
    return GNN_OK;
}
