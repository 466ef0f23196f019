/* Activations, and dropout behind them where they take it over. Those whose derivative follows from
 * y keep y (0 where it was dropped: no gradient passes there), the others x. */
#include <lib/kernels/rowwise/dropout_mask.h>
#include <lib/kernels/rowwise/row_norm.h>
#include <lib/ops/support.h>
#include <lib/ops/traits.h>

#include <omp.h>

static gnn__activation_settings_t settings(const gnn_op_call_t *call)
{
    gnn__activation_settings_t how = *(const gnn__activation_settings_t *)call->attributes;
    if (how.kind == GNN_LEAKY_RELU && how.slope == 0)
        how.slope = (gnn_real_t)0.2;
    return how;
}

static int activation_shape(gnn_op_call_t *call)
{
    const gnn__activation_settings_t how = settings(call);
    GNN_TRY(gnn__op_dense(call, "activation", 0, 0, 1));
    if (how.kind < GNN_ACTIVATION_DEFAULT || how.kind >= GNN_ACTIVATION_COUNT)
        return gnn_op_fail(call, GNN_EINVALID, "there is no activation %d", (int)how.kind);
    gnn__op_output(call, call->in[0].rows, call->in[0].cols);
    if (!call->in[0].wants_grad || how.kind <= GNN_IDENTITY)
        return GNN_OK;
    if (gnn__activation_from_output(how.kind, how.slope))
        call->out[0].keep = 1;
    else
        call->in[0].keep = 1;
    if (how.rate > 0)
        return gnn__op_bytes(call,
                             2 * gnn__most_threads(call->context, call->threads) *
                                 gnn__rows_at_once(call->in[0].cols),
                             call->in[0].cols, sizeof(gnn_real_t), &call->backward_scratch);
    return GNN_OK;
}

/* An exp costs some eight multiply-adds. */
static int threads_for(const gnn_op_call_t *call, const gnn__activation_settings_t *how,
                       int64_t elements)
{
    return gnn__op_threads(call, how->kind <= GNN_LEAKY_RELU ? elements : 8 * elements);
}

static void activate_and_drop(const gnn_op_call_t *call, const gnn__activation_settings_t *how)
{
    const gnn_tensor_t *x = &call->in[0].value, *y = &call->out[0].value;
    const gnn__dropout_t d = gnn__dropout(call->rng, how->rate);
    const int64_t step = gnn__rows_at_once(x->cols);
    const int threads = gnn__op_threads(call, 8 * x->rows * x->cols);
    GNN__PARALLEL_FOR (threads, int64_t from = 0; from < x->rows; from += step) {
        const int64_t rows = gnn__rows_left(x, from, step);
        for (int64_t r = from; r < from + rows; r++)
            gnn__elementwise_kernels()->activate(how->kind, how->slope, x->cols, gnn__row(x, r),
                                                 gnn__row(y, r));
        gnn__dropout_kernels()->matrix(&d, from, rows, x->cols, gnn__row(y, from), gnn__stride(y),
                                       false, gnn__row(y, from), gnn__stride(y));
    }
}

/* dy is dropped where dx will stand, or in a thread's own block where dx is added to. */
static void activate_and_drop_grad(const gnn_op_call_t *call, const gnn__activation_settings_t *how)
{
    const gnn_operand_t *x = &call->in[0];
    const gnn_tensor_t *dy = &call->out[0].grad, *dx = &x->grad;
    const gnn__dropout_t d = gnn__dropout(call->rng, how->rate);
    const int64_t step = gnn__rows_at_once(dy->cols);
    const bool output = gnn__activation_from_output(how->kind, how->slope);
    const int threads = gnn__op_threads(call, 8 * dy->rows * dy->cols);
    GNN__PARALLEL_FOR (threads, int64_t from = 0; from < dy->rows; from += step) {
        const int64_t rows = gnn__rows_left(dy, from, step),
                      ld = x->accumulate ? dy->cols : gnn__stride(dx);
        gnn_real_t *blocks = (gnn_real_t *)call->scratch + 2 * omp_get_thread_num() * step * dy->cols;
        gnn_real_t *g = x->accumulate ? blocks : gnn__row(dx, from);
        const gnn_tensor_t t = output ? gnn__undropped(&call->out[0].value, how, &d, from, rows,
                                                       blocks + step * dy->cols)
                                      : gnn__rows(&x->value, from, rows);
        gnn__dropout_kernels()->matrix(&d, from, rows, dy->cols, gnn__row(dy, from),
                                       gnn__stride(dy), false, g, ld);
        for (int64_t r = from; r < from + rows; r++)
            gnn__elementwise_kernels()->activate_grad(how->kind, how->slope, dy->cols,
                                                      gnn__row(&t, r - from), g + (r - from) * ld,
                                                      x->accumulate, gnn__row(dx, r));
    }
}

static int activation_forward(gnn_op_call_t *call)
{
    const gnn__activation_settings_t how = settings(call);
    if (how.rate > 0) {
        activate_and_drop(call, &how);
        return GNN_OK;
    }
    const gnn_tensor_t *x = &call->in[0].value, *y = &call->out[0].value;
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    const gnn__lines_t lines = gnn__lines(x, y, NULL);
    const int threads = threads_for(call, &how, lines.total);
    GNN__PARALLEL_FOR (threads, int64_t k = 0; k < lines.count; k++)
        kernels->activate(how.kind, how.slope, gnn__line_length(&lines, k), gnn__line(&lines, x, k),
                          gnn__line(&lines, y, k));
    return GNN_OK;
}

/* y alone tells what f and dropout made of x: nothing is drawn again. */
static bool left_grad(const gnn_op_call_t *call, const gnn__activation_settings_t *how)
{
    const gnn_operand_t *x = &call->in[0], *y = &call->out[0];
    const gnn__dropout_t dropout = gnn__dropout(call->rng, how->rate);
    gnn__grad_from_output_t left;
    if (x->accumulate || !gnn__grad_from_output(how, &dropout, &left))
        return false;
    const gnn__lines_t lines = gnn__lines(&x->grad, &y->grad, &y->value, NULL);
    const int threads = threads_for(call, how, lines.total);
    GNN__PARALLEL_FOR (threads, int64_t k = 0; k < lines.count; k++)
        gnn__row_kernels()->left_grad(&left, 1, gnn__line_length(&lines, k),
                                      gnn__line(&lines, &y->value, k), 0,
                                      gnn__line(&lines, &y->grad, k), 0,
                                      gnn__line(&lines, &x->grad, k), 0, lines.total, NULL);
    return true;
}

static int activation_backward(gnn_op_call_t *call)
{
    const gnn__activation_settings_t how = settings(call);
    const gnn_operand_t *x = &call->in[0], *y = &call->out[0];
    if (!gnn__wants(call, 0))
        return GNN_OK;
    if (left_grad(call, &how))
        return GNN_OK;
    if (how.rate > 0) {
        activate_and_drop_grad(call, &how);
        return GNN_OK;
    }
    /* The identity keeps nothing, so nothing but dy may be read. */
    const gnn_tensor_t *t = how.kind <= GNN_IDENTITY                           ? &y->grad
                            : gnn__activation_from_output(how.kind, how.slope) ? &y->value
                                                                               : &x->value;
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    const gnn__lines_t lines = gnn__lines(&x->grad, &y->grad, t, NULL);
    const int threads = threads_for(call, &how, lines.total);
    GNN__PARALLEL_FOR (threads, int64_t k = 0; k < lines.count; k++)
        kernels->activate_grad(how.kind, how.slope, gnn__line_length(&lines, k),
                               gnn__line(&lines, t, k), gnn__line(&lines, &y->grad, k),
                               x->accumulate, gnn__line(&lines, &x->grad, k));
    return GNN_OK;
}

static gnn_real_t *rate(void *attributes)
{
    return &((gnn__activation_settings_t *)attributes)->rate;
}

static const gnn__op_traits_t traits = {.rate = rate};
const gnn_op_t gnn__op_activation = {.name = "activation",
                                     .shape = activation_shape,
                                     .forward = activation_forward,
                                     .backward = activation_backward,
                                     .flags = GNN_OP_ELEMENTWISE,
                                     .traits = &traits};

const char *gnn__activation_name(gnn_activation_t kind)
{
    static const char *const names[] = {
        "default",
#define GNN_ACTIVATION(id, name, from_output) #name,
#include <lib/kernels/rowwise/activations.def>
#undef GNN_ACTIVATION
    };
    return kind >= 0 && (size_t)kind < sizeof names / sizeof *names ? names[kind] : "unknown";
}
