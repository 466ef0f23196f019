/* Rms norm of each head's part of a row by itself: y = gain x / sqrt(mean of the part's squares +
 * eps), with one gain for all heads. Zhang and Sennrich 2019; of queries and keys: Henry et al.
 * 2020, Dehghani et al. 2023. */
#include <lib/kernels/rowwise/row_norm.h>
#include <lib/ops/support.h>

static int64_t heads_of(const gnn_op_call_t *call)
{
    return ((const gnn__head_norm_settings_t *)call->attributes)->heads;
}

static gnn_real_t eps_of(const gnn_op_call_t *call)
{
    return ((const gnn__head_norm_settings_t *)call->attributes)->eps;
}

static int head_norm_shape(gnn_op_call_t *call)
{
    GNN_TRY(gnn__op_dense(call, "head_norm", 0, 1, 2));
    const int64_t rows = call->in[0].rows, cols = call->in[0].cols, heads = heads_of(call);
    if (!gnn__splits(cols, heads))
        return gnn_op_fail(call, GNN_ESHAPE, "head_norm: %lld columns in %lld heads",
                           (long long)cols, (long long)heads);
    if (call->in[1].rows != 1 || call->in[1].cols != cols / heads)
        return gnn_op_fail(call, GNN_ESHAPE, "head_norm expects a gain of 1 x %lld, got %lld x %lld",
                           (long long)(cols / heads), (long long)call->in[1].rows,
                           (long long)call->in[1].cols);
    gnn__op_output(call, rows, cols);
    GNN_TRY(gnn__op_bytes(call, rows, 2 * heads, sizeof(gnn_real_t),
                          call->recording ? &call->saved_bytes[0] : &call->forward_scratch));
    if (!call->in[0].wants_grad && !call->in[1].wants_grad)
        return GNN_OK;
    call->in[0].keep = call->in[1].keep = 1;
    return gnn__column_bytes(call, rows, 2 * cols, &call->backward_scratch);
}

/* Mean and scale of each part are kept head by head. */
static gnn_real_t *stats_at(gnn_real_t *stats, int64_t rows, int64_t head, int64_t row)
{
    return stats + 2 * (head * rows + row);
}

static int head_norm_forward(gnn_op_call_t *call)
{
    const gnn_tensor_t *x = &call->in[0].value, *y = &call->out[0].value;
    const int64_t heads = heads_of(call), d = x->cols / heads;
    const gnn_real_t *gain = call->in[1].value.data, eps = eps_of(call);
    gnn_real_t *stats = call->recording ? call->saved[0] : call->scratch;
    const int threads = gnn__op_threads(call, 4 * x->rows * x->cols);
    GNN__PARALLEL_FOR (threads, int64_t r = 0; r < x->rows; r++)
        for (int64_t h = 0; h < heads; h++)
            gnn__row_kernels()->norm(true, d, gnn__row(x, r) + h * d, gain, NULL, eps,
                                     gnn__row(y, r) + h * d, stats_at(stats, x->rows, h, r));
    return GNN_OK;
}

/* Rows from..end - 1 of one head; `row` has room for one. */
static void input_grad(const gnn_op_call_t *call, int64_t head, int64_t from, int64_t end,
                       gnn_real_t *row)
{
    const gnn_tensor_t *x = &call->in[0].value, *dx = &call->in[0].grad, *dy = &call->out[0].grad;
    const int64_t d = x->cols / heads_of(call), at = head * d;
    for (int64_t r = from; r < end; r++) {
        gnn__row_kernels()->norm_grad(true, d, gnn__row(x, r) + at, call->in[1].value.data,
                                      gnn__row(dy, r) + at,
                                      stats_at(call->saved[0], x->rows, head, r), row);
        gnn__elementwise_kernels()->scale(d, 1, row, call->in[0].accumulate, gnn__row(dx, r) + at);
    }
}

static void chunk_grad(const gnn_op_call_t *call, int64_t from, int64_t end, double *sums,
                       gnn_real_t *row)
{
    const gnn_tensor_t *x = &call->in[0].value, *dy = &call->out[0].grad;
    const int64_t heads = heads_of(call), d = x->cols / heads;
    for (int64_t h = 0; h < heads; h++) {
        if (gnn__wants(call, 1))
            gnn__row_kernels()->column_normal(
                end - from, d, gnn__row(dy, from) + h * d, gnn__stride(dy), gnn__row(x, from) + h * d,
                gnn__stride(x), stats_at(call->saved[0], x->rows, h, from), sums + h * d);
        if (gnn__wants(call, 0))
            input_grad(call, h, from, end, row);
    }
}

static int head_norm_backward(gnn_op_call_t *call)
{
    const int64_t rows = call->in[0].rows, cols = call->in[0].cols, heads = heads_of(call),
                  d = cols / heads, chunks = gnn__column_chunks(rows);
    double *sums = call->scratch, *free_rows = sums + chunks * cols;
    const int threads = gnn__op_threads(call, 4 * rows * cols);
    GNN__PARALLEL_FOR (threads, int64_t k = 0; k < chunks; k++)
        chunk_grad(call, gnn__share(rows, (int)k, (int)chunks),
                   gnn__share(rows, (int)k + 1, (int)chunks), sums + k * cols,
                   (gnn_real_t *)(void *)(free_rows + k * cols));
    if (!gnn__wants(call, 1))
        return GNN_OK;
    gnn__column_total(chunks, cols, sums);
    for (int64_t h = 1; h < heads; h++)
        for (int64_t c = 0; c < d; c++)
            sums[c] += sums[h * d + c];
    gnn__column_send(sums, 1, &call->in[1]);
    return GNN_OK;
}

const gnn_op_t gnn__op_head_norm = {.name = "head_norm",
                                    .shape = head_norm_shape,
                                    .forward = head_norm_forward,
                                    .backward = head_norm_backward};
