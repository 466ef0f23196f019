/* Norms: y = gain (x - mean) / sqrt(variance + eps) + shift. Layer norm and rms norm (mean 0; Zhang
 * and Sennrich 2019) along rows are here, batch norm along columns in norm_batch.c. With a residual z,
 * x + z takes the place of x: the sum never leaves the cache in inference, and is kept in training. */
#include <lib/ops/norm.h>

const char *gnn__norm_name(gnn_norm_t kind)
{
    static const char *const names[] = {"default", "none", "layer", "batch", "rms"};
    return kind >= 0 && (size_t)kind < sizeof names / sizeof *names ? names[kind] : "unknown";
}

static gnn_norm_t kind_of(const gnn_op_call_t *call)
{
    gnn_norm_t kind = ((const gnn__norm_t *)call->attributes)->kind;
    return kind == GNN_NORM_DEFAULT ? GNN_NORM_LAYER : kind;
}

static int rows_shape(gnn_op_call_t *call)
{
    const bool residual = gnn__has_input(call, 3),
               wants = call->in[0].wants_grad || (residual && call->in[3].wants_grad),
               gain = gnn__has_input(call, 1), shift = gnn__has_input(call, 2);
    const bool gain_wants = gain && call->in[1].wants_grad,
               shift_wants = shift && call->in[2].wants_grad;
    GNN_TRY(gnn__op_bytes(call, call->in[0].rows, 2, sizeof(gnn_real_t),
                          call->recording ? &call->saved_bytes[0] : &call->forward_scratch));
    if (residual && call->recording)
        GNN_TRY(gnn__op_bytes(call, call->in[0].rows, call->in[0].cols, sizeof(gnn_real_t),
                              &call->saved_bytes[1]));
    else if (wants || gain_wants)
        call->keep_in |= 1u;
    if (wants && gain)
        call->keep_in |= 2u;
    if (gain_wants || shift_wants)
        GNN_TRY(gnn__column_bytes(call, call->in[0].rows, call->in[0].cols, &call->backward_scratch));
    return GNN_OK;
}

static int residual_shape(const gnn_op_call_t *call, gnn_norm_t kind)
{
    const gnn_operand_t *x = &call->in[0], *z = &call->in[3];
    if (kind == GNN_NORM_BATCH)
        return gnn__op_error(call, GNN_EUNSUPPORTED, "batch norm takes no residual");
    if (x->rows != z->rows || x->cols != z->cols)
        return gnn__op_error(
            call, GNN_ESHAPE, "norm expects a residual of %lld x %lld, got %lld x %lld",
            (long long)x->rows, (long long)x->cols, (long long)z->rows, (long long)z->cols);
    return GNN_OK;
}

static int norm_shape(gnn_op_call_t *call)
{
    static const char *const roles[] = {"", "gain", "shift"};
    const gnn_norm_t kind = kind_of(call);
    const int64_t cols = call->in[0].cols;
    GNN_TRY(gnn__op_dense(call, "norm", 0, 3));
    if (kind != GNN_NORM_LAYER && kind != GNN_NORM_RMS && kind != GNN_NORM_BATCH)
        return gnn__op_error(call, GNN_EINVALID, "there is no norm of kind %d (%s)", (int)kind,
                             gnn__norm_name(kind));
    for (int k = 1; k <= 2; k++)
        if (gnn__has_input(call, k) && (call->in[k].rows != 1 || call->in[k].cols != cols))
            return gnn__op_error(call, GNN_ESHAPE,
                                 "%s norm expects a %s of 1 x %lld, got %lld x %lld",
                                 gnn__norm_name(kind), roles[k], (long long)cols,
                                 (long long)call->in[k].rows, (long long)call->in[k].cols);
    if (gnn__has_input(call, 3))
        GNN_TRY(residual_shape(call, kind));
    gnn__op_output(call, call->in[0].rows, cols);
    return kind == GNN_NORM_BATCH ? gnn__batch_norm_shape(call) : rows_shape(call);
}

/* What was normed: x, or the kept sum. */
static gnn_tensor_t read_by_backward(const gnn_op_call_t *call)
{
    const gnn_tensor_t *x = &call->in[0].value;
    return gnn__has_input(call, 3) ? gnn_tensor(call->saved[1], x->rows, x->cols) : *x;
}

static int norm_forward(gnn_op_call_t *call)
{
    if (kind_of(call) == GNN_NORM_BATCH)
        return gnn__batch_norm_forward(call);
    const gnn_tensor_t *x = &call->in[0].value, *y = &call->out[0].value;
    const gnn_real_t *gain = gnn__has_input(call, 1) ? call->in[1].value.data : NULL,
                     *shift = gnn__has_input(call, 2) ? call->in[2].value.data : NULL;
    const gnn_real_t eps = gnn__norm_eps(call);
    const bool rms = kind_of(call) == GNN_NORM_RMS, residual = gnn__has_input(call, 3);
    const gnn__row_kernels_t *kernels = gnn__row_kernels();
    gnn_real_t *stats = call->recording ? call->saved[0] : call->scratch;
    const gnn_tensor_t sums = call->recording ? read_by_backward(call) : *y;
    const int threads = gnn__threads(call->context, 4 * x->rows * x->cols);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t r = 0; r < x->rows; r++) {
        const gnn_real_t *row = gnn__row(x, r);
        if (residual) {
            gnn__elementwise_kernels()->mix(x->cols, 1, row, 1, gnn__row(&call->in[3].value, r),
                                            gnn__row(&sums, r));
            row = gnn__row(&sums, r);
        }
        kernels->norm(rms, x->cols, row, gain, shift, eps, gnn__row(y, r), stats + 2 * r);
    }
    return GNN_OK;
}

static void gain_grad(const gnn_op_call_t *call)
{
    const gnn_tensor_t normed = read_by_backward(call), *x = &normed, *dy = &call->out[0].grad;
    const gnn__row_kernels_t *kernels = gnn__row_kernels();
    const gnn_real_t *stats = call->saved[0];
    const int64_t chunks = gnn__column_chunks(x->rows), cols = x->cols;
    const int threads = gnn__threads(call->context, 2 * x->rows * cols);
    double *parts = call->scratch;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t k = 0; k < chunks; k++) {
        const int64_t from = gnn__share(x->rows, (int)k, (int)chunks),
                      to = gnn__share(x->rows, (int)k + 1, (int)chunks);
        kernels->column_normal(to - from, cols, gnn__row(dy, from), gnn__stride(dy),
                               gnn__row(x, from), gnn__stride(x), stats + 2 * from, parts + k * cols);
    }
    gnn__column_total(chunks, cols, parts);
    gnn__column_send(parts, 1, &call->in[1]);
}

/* The gradient of the sum is that of both its parts: one is computed, the other copied while the
 * row is in cache. */
static void sum_grad(const gnn_op_call_t *call)
{
    const gnn_tensor_t x = read_by_backward(call), *dy = &call->out[0].grad;
    const gnn_real_t *gain = gnn__has_input(call, 1) ? call->in[1].value.data : NULL,
                     *stats = call->saved[0];
    const bool rms = kind_of(call) == GNN_NORM_RMS, both = gnn__wants(call, 0) && gnn__wants(call, 3);
    const bool other_first = !gnn__wants(call, 0) || (both && call->in[0].accumulate);
    const gnn_operand_t *first = &call->in[other_first ? 3 : 0],
                        *second = &call->in[other_first ? 0 : 3];
    const gnn__row_kernels_t *kernels = gnn__row_kernels();
    const int threads = gnn__threads(call->context, 4 * dy->rows * dy->cols);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t r = 0; r < dy->rows; r++) {
        kernels->norm_grad(rms, x.cols, gnn__row(&x, r), gain, gnn__row(dy, r), stats + 2 * r,
                           first->accumulate, gnn__row(&first->grad, r));
        if (both && first->accumulate)
            kernels->norm_grad(rms, x.cols, gnn__row(&x, r), gain, gnn__row(dy, r), stats + 2 * r,
                               second->accumulate, gnn__row(&second->grad, r));
        else if (both)
            gnn__elementwise_kernels()->scale(x.cols, 1, gnn__row(&first->grad, r),
                                              second->accumulate, gnn__row(&second->grad, r));
    }
}

static int norm_backward(gnn_op_call_t *call)
{
    if (kind_of(call) == GNN_NORM_BATCH)
        return gnn__batch_norm_backward(call);
    if (gnn__wants(call, 1))
        gain_grad(call);
    if (gnn__wants(call, 2))
        gnn__column_sum(call, &call->out[0].grad, 1, &call->in[2], call->scratch);
    if (gnn__wants(call, 0) || gnn__wants(call, 3))
        sum_grad(call);
    return GNN_OK;
}

const gnn_op_t gnn__op_norm = {
    .name = "norm", .shape = norm_shape, .forward = norm_forward, .backward = norm_backward};
