/* Values laid out head by head, (n x heads*d): one dot product per head, and the mean over heads.
 * */
#include <lib/ops/support.h>

enum { ROWS_AT_ONCE = 64 };

static int64_t heads_of(const gnn_op_call_t *call)
{
    return ((const gnn__heads_t *)call->attributes)->heads;
}

static int check_heads(const gnn_op_call_t *call, const char *name)
{
    if (heads_of(call) < 1 || call->in[0].cols % heads_of(call) != 0)
        return gnn__op_error(call, GNN_ESHAPE, "%s: %lld columns do not divide into %lld heads",
                             name, (long long)call->in[0].cols, (long long)heads_of(call));
    return GNN_OK;
}

/* ---- y_rh = sum over k of x_rhk a_hk ---- */

static int head_dot_shape(gnn_op_call_t *call)
{
    const gnn_operand_t *x = &call->in[0], *a = &call->in[1];
    GNN_TRY(gnn__op_dense(call, "head_dot", 0, 1));
    GNN_TRY(check_heads(call, "head_dot"));
    if (a->rows != 1 || a->cols != x->cols)
        return gnn__op_error(call, GNN_ESHAPE,
                             "head_dot expects a vector of 1 x %lld, got %lld x %lld",
                             (long long)x->cols, (long long)a->rows, (long long)a->cols);
    gnn__op_output(call, x->rows, heads_of(call));
    if (x->wants_grad)
        call->keep_in |= 2u;
    if (a->wants_grad) {
        call->keep_in |= 1u;
        GNN_TRY(gnn__column_bytes(call, x->rows, x->cols, &call->backward_scratch));
    }
    return GNN_OK;
}

static int head_dot_forward(gnn_op_call_t *call)
{
    const gnn_tensor_t *x = &call->in[0].value, *y = &call->out[0].value;
    const gnn_real_t *a = call->in[1].value.data;
    const gnn__row_kernels_t *kernels = gnn__row_kernels();
    const int64_t heads = heads_of(call), d = x->cols / heads;
    const int threads = gnn__threads(call->context, x->rows * x->cols);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t from = 0; from < x->rows; from += ROWS_AT_ONCE)
        kernels->head_dot(gnn__rows_left(x, from, ROWS_AT_ONCE), heads, d, gnn__row(x, from),
                          gnn__stride(x), a, gnn__row(y, from), gnn__stride(y));
    return GNN_OK;
}

static void vector_grad(const gnn_op_call_t *call)
{
    const gnn_tensor_t *x = &call->in[0].value, *dy = &call->out[0].grad;
    const gnn__row_kernels_t *kernels = gnn__row_kernels();
    const int64_t heads = heads_of(call), cols = x->cols, chunks = gnn__column_chunks(x->rows);
    const int threads = gnn__threads(call->context, x->rows * cols);
    double *parts = call->scratch;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t k = 0; k < chunks; k++) {
        const int64_t from = gnn__share(x->rows, (int)k, (int)chunks),
                      to = gnn__share(x->rows, (int)k + 1, (int)chunks);
        kernels->column_heads(to - from, heads, cols / heads, gnn__row(dy, from), gnn__stride(dy),
                              gnn__row(x, from), gnn__stride(x), parts + k * cols);
    }
    gnn__column_total(chunks, cols, parts);
    gnn__column_send(parts, 1, &call->in[1]);
}

static int head_dot_backward(gnn_op_call_t *call)
{
    const gnn_tensor_t *dx = &call->in[0].grad, *dy = &call->out[0].grad;
    const gnn_real_t *a = call->in[1].value.data;
    const gnn__row_kernels_t *kernels = gnn__row_kernels();
    const int64_t heads = heads_of(call), d = call->in[0].cols / heads;
    const bool add = call->in[0].accumulate;
    const int threads = gnn__threads(call->context, dy->rows * heads * d);
    if (gnn__wants(call, 0)) {
#pragma omp parallel for num_threads(threads) schedule(static)
        for (int64_t from = 0; from < dy->rows; from += ROWS_AT_ONCE)
            kernels->head_spread(gnn__rows_left(dy, from, ROWS_AT_ONCE), heads, d, gnn__row(dy, from),
                                 gnn__stride(dy), a, add, gnn__row(dx, from), gnn__stride(dx));
    }
    if (gnn__wants(call, 1))
        vector_grad(call);
    return GNN_OK;
}

const gnn_op_t gnn__op_head_dot = {.name = "head_dot",
                                   .shape = head_dot_shape,
                                   .forward = head_dot_forward,
                                   .backward = head_dot_backward};

/* ---- y_rk = mean over h of x_rhk ---- */

static int head_mean_shape(gnn_op_call_t *call)
{
    GNN_TRY(gnn__op_dense(call, "head_mean", 0, 0));
    GNN_TRY(check_heads(call, "head_mean"));
    gnn__op_output(call, call->in[0].rows, call->in[0].cols / heads_of(call));
    return GNN_OK;
}

static int head_mean_forward(gnn_op_call_t *call)
{
    const gnn_tensor_t *x = &call->in[0].value, *y = &call->out[0].value;
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    const int64_t heads = heads_of(call), d = y->cols;
    const gnn_real_t share = 1 / (gnn_real_t)heads;
    const int threads = gnn__threads(call->context, x->rows * x->cols);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t r = 0; r < x->rows; r++)
        for (int64_t h = 0; h < heads; h++)
            kernels->scale(d, share, gnn__row(x, r) + h * d, h > 0, gnn__row(y, r));
    return GNN_OK;
}

static int head_mean_backward(gnn_op_call_t *call)
{
    const gnn_tensor_t *dx = &call->in[0].grad, *dy = &call->out[0].grad;
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    const int64_t heads = heads_of(call), d = dy->cols;
    const gnn_real_t share = 1 / (gnn_real_t)heads;
    const bool add = call->in[0].accumulate;
    const int threads = gnn__threads(call->context, dy->rows * heads * d);
    if (!gnn__wants(call, 0))
        return GNN_OK;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t r = 0; r < dy->rows; r++)
        for (int64_t h = 0; h < heads; h++)
            kernels->scale(d, share, gnn__row(dy, r), add, gnn__row(dx, r) + h * d);
    return GNN_OK;
}

const gnn_op_t gnn__op_head_mean = {.name = "head_mean",
                                    .shape = head_mean_shape,
                                    .forward = head_mean_forward,
                                    .backward = head_mean_backward};
