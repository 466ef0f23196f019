/* y = alpha x, and dropout behind it where a plan lets it do so. */
#include <lib/kernels/rowwise/dropout_mask.h>
#include <lib/ops/support.h>
#include <lib/ops/traits.h>

#include <omp.h>

static const gnn__scale_settings_t *settings(const gnn_op_call_t *call)
{
    return call->attributes;
}

static int scale_shape(gnn_op_call_t *call)
{
    GNN_TRY(gnn__op_dense(call, "scale", 0, 0, 1));
    const gnn_operand_t *x = &call->in[0];
    gnn__op_output(call, x->rows, x->cols);
    if (settings(call)->rate > 0 && x->wants_grad)
        return gnn__op_bytes(
            call, gnn__most_threads(call->context, call->threads) * gnn__rows_at_once(x->cols),
            x->cols, sizeof(gnn_real_t), &call->backward_scratch);
    return GNN_OK;
}

static void scale_and_drop(const gnn_op_call_t *call, const gnn_tensor_t *x, const gnn_tensor_t *y)
{
    const gnn__dropout_t d = gnn__dropout(call->rng, settings(call)->rate);
    const int64_t step = gnn__rows_at_once(x->cols);
    const int threads = gnn__op_threads(call, 4 * x->rows * x->cols);
    GNN__PARALLEL_FOR (threads, int64_t from = 0; from < x->rows; from += step) {
        const int64_t rows = gnn__rows_left(x, from, step);
        for (int64_t r = from; r < from + rows; r++)
            gnn__elementwise_kernels()->scale(x->cols, settings(call)->alpha, gnn__row(x, r), false,
                                              gnn__row(y, r));
        gnn__dropout_kernels()->matrix(&d, from, rows, x->cols, gnn__row(y, from), gnn__stride(y),
                                       false, gnn__row(y, from), gnn__stride(y));
    }
}

/* dy is dropped where dx will stand, or in a thread's own block where dx is added to. */
static void scale_and_drop_grad(const gnn_op_call_t *call)
{
    const gnn_operand_t *x = &call->in[0];
    const gnn_tensor_t *dy = &call->out[0].grad;
    const gnn__dropout_t d = gnn__dropout(call->rng, settings(call)->rate);
    const int64_t step = gnn__rows_at_once(dy->cols);
    const int threads = gnn__op_threads(call, 4 * dy->rows * dy->cols);
    GNN__PARALLEL_FOR (threads, int64_t from = 0; from < dy->rows; from += step) {
        const int64_t rows = gnn__rows_left(dy, from, step);
        gnn_real_t *block = (gnn_real_t *)call->scratch + omp_get_thread_num() * step * dy->cols;
        const gnn_tensor_t to = gnn__rows(&x->grad, from, rows),
                           g = x->accumulate ? gnn_tensor(block, rows, dy->cols) : to;
        gnn__dropout_kernels()->matrix(&d, from, rows, dy->cols, gnn__row(dy, from),
                                       gnn__stride(dy), false, g.data, g.stride);
        for (int64_t r = 0; r < rows; r++)
            gnn__elementwise_kernels()->scale(dy->cols, settings(call)->alpha, gnn__row(&g, r),
                                              x->accumulate, gnn__row(&to, r));
    }
}

static int scale_forward(gnn_op_call_t *call)
{
    const gnn_tensor_t *x = &call->in[0].value, *y = &call->out[0].value;
    if (settings(call)->rate > 0)
        scale_and_drop(call, x, y);
    else
        gnn__op_send(call, settings(call)->alpha, x, y, false);
    return GNN_OK;
}

static int scale_backward(gnn_op_call_t *call)
{
    const gnn_operand_t *x = &call->in[0];
    if (gnn__wants(call, 0) && settings(call)->rate > 0)
        scale_and_drop_grad(call);
    else if (gnn__wants(call, 0))
        gnn__op_send(call, settings(call)->alpha, &call->out[0].grad, &x->grad, x->accumulate);
    return GNN_OK;
}

static void scale_work(const gnn_op_call_t *call, int backward, gnn_op_work_t *work)
{
    (void)backward;
    work->flops = (double)call->out[0].rows * (double)call->out[0].cols;
}

static gnn_real_t *rate(void *attributes)
{
    return &((gnn__scale_settings_t *)attributes)->rate;
}

static const gnn__op_traits_t traits = {.rate = rate};
const gnn_op_t gnn__op_scale = {.name = "scale",
                                .shape = scale_shape,
                                .forward = scale_forward,
                                .backward = scale_backward,
                                .flags = GNN_OP_ELEMENTWISE,
                                .work = scale_work,
                                .traits = &traits};
