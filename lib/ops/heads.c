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

/* ---- y_vrh = sum over k of x_rhk a_vhk, the rows of one vector a_v below those of the one before ---- */

static int64_t vectors_of(const gnn_op_call_t *call)
{
    return call->n_in - 1;
}

static int head_dot_shape(gnn_op_call_t *call)
{
    const gnn_operand_t *x = &call->in[0], *a = &call->in[1];
    GNN_TRY(gnn__op_dense(call, "head_dot", 0, (int)vectors_of(call)));
    GNN_TRY(check_heads(call, "head_dot"));
    gnn__op_output(call, x->rows * vectors_of(call), heads_of(call));
    for (int64_t v = 0; v < vectors_of(call); v++, a++) {
        if (a->rows != 1 || a->cols != x->cols)
            return gnn__op_error(call, GNN_ESHAPE,
                                 "head_dot expects a vector of 1 x %lld, got %lld x %lld",
                                 (long long)x->cols, (long long)a->rows, (long long)a->cols);
        call->keep_in |= a->wants_grad ? 1u : 0;
        call->keep_in |= x->wants_grad ? 2u << v : 0;
    }
    return gnn__op_bytes(call, 2 * vectors_of(call) * gnn__column_chunks(x->rows), x->cols,
                         sizeof(double), &call->backward_scratch);
}

static int head_dot_forward(gnn_op_call_t *call)
{
    const gnn_tensor_t *x = &call->in[0].value, *y = &call->out[0].value;
    const gnn__row_kernels_t *kernels = gnn__row_kernels();
    const int64_t heads = heads_of(call), d = x->cols / heads;
    const int threads = gnn__threads(call->context, x->rows * x->cols);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t from = 0; from < x->rows; from += ROWS_AT_ONCE)
        for (int64_t v = 0; v < vectors_of(call); v++)
            kernels->head_dot(gnn__rows_left(x, from, ROWS_AT_ONCE), heads, d, gnn__row(x, from),
                              gnn__stride(x), call->in[1 + v].value.data,
                              gnn__row(y, v * x->rows + from), gnn__stride(y));
    return GNN_OK;
}

/* Rows from .. from + rows - 1, one vector: into dx, and into the vector's sums by way of `block`. */
static void block_grad(const gnn_op_call_t *call, int64_t v, int64_t from, int64_t rows, bool add,
                       double *sums, double *block)
{
    const gnn_tensor_t *x = &call->in[0].value, *dx = &call->in[0].grad;
    const gnn__row_kernels_t *kernels = gnn__row_kernels();
    const int64_t heads = heads_of(call), cols = call->in[0].cols,
                  ldy = gnn__stride(&call->out[0].grad);
    const gnn_real_t *dy = gnn__row(&call->out[0].grad, v * x->rows + from);
    if (gnn__wants(call, 0))
        kernels->head_spread(rows, heads, cols / heads, dy, ldy, call->in[1 + v].value.data, add,
                             gnn__row(dx, from), gnn__stride(dx));
    if (!gnn__wants(call, (int)v + 1))
        return;
    kernels->column_heads(rows, heads, cols / heads, dy, ldy, gnn__row(x, from), gnn__stride(x),
                          block);
    for (int64_t c = 0; c < cols; c++)
        sums[c] += block[c];
}

/* All vectors' shares of a block of rows while it is in the cache. */
static int head_dot_backward(gnn_op_call_t *call)
{
    const int64_t rows = call->in[0].rows, cols = call->in[0].cols, vectors = vectors_of(call),
                  chunks = gnn__column_chunks(rows);
    const int threads = gnn__threads(call->context, rows * cols);
    double *sums = call->scratch, *blocks = sums + vectors * chunks * cols;
    memset(sums, 0, sizeof *sums * (size_t)(vectors * chunks * cols));
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t k = 0; k < chunks; k++) {
        const int64_t end = gnn__share(rows, (int)k + 1, (int)chunks);
        for (int64_t from = gnn__share(rows, (int)k, (int)chunks); from < end; from += ROWS_AT_ONCE)
            for (int64_t v = 0; v < vectors; v++)
                block_grad(call, v, from, end - from < ROWS_AT_ONCE ? end - from : ROWS_AT_ONCE,
                           call->in[0].accumulate || v > 0, sums + (v * chunks + k) * cols,
                           blocks + k * cols);
    }
    for (int64_t v = 0; v < vectors; v++)
        if (gnn__wants(call, (int)v + 1)) {
            gnn__column_total(chunks, cols, sums + v * chunks * cols);
            gnn__column_send(sums + v * chunks * cols, 1, &call->in[1 + v]);
        }
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
