/* Norms: y = gain (x - mean) / sqrt(variance + eps) + shift. Layer norm and rms norm (mean 0; Zhang
 * and Sennrich 2019) along rows are here, batch norm along columns in norm_batch.c. With a residual
 * z, dropped first where the attributes say so, x + z takes the place of x: the sum never leaves
 * the cache in inference, and is kept in training. */
#include <lib/kernels/rowwise/dropout_mask.h>
#include <lib/kernels/rowwise/row_norm.h>
#include <lib/ops/norm.h>

const char *gnn__norm_name(gnn_norm_t kind)
{
    static const char *const names[] = {"default", "none", "layer", "batch", "rms", "l2"};
    return kind >= 0 && (size_t)kind < sizeof names / sizeof *names ? names[kind] : "unknown";
}

static gnn_norm_t kind_of(const gnn_op_call_t *call)
{
    gnn_norm_t kind = ((const gnn__norm_settings_t *)call->attributes)->kind;
    return kind == GNN_NORM_DEFAULT ? GNN_NORM_LAYER : kind;
}

static gnn_real_t rate_of(const gnn_op_call_t *call)
{
    return ((const gnn__norm_settings_t *)call->attributes)->rate;
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
        call->in[0].keep = 1;
    if (wants && gain)
        call->in[1].keep = 1;
    if (wants || gain_wants || shift_wants)
        GNN_TRY(gnn__column_bytes(call, call->in[0].rows, 3 * call->in[0].cols,
                                  &call->backward_scratch));
    return GNN_OK;
}

static int residual_shape(const gnn_op_call_t *call, gnn_norm_t kind)
{
    const gnn_operand_t *x = &call->in[0], *z = &call->in[3];
    if (kind == GNN_NORM_BATCH)
        return gnn_op_fail(call, GNN_EUNSUPPORTED, "batch norm takes no residual");
    if (x->rows != z->rows || x->cols != z->cols)
        return gnn_op_fail(
            call, GNN_ESHAPE, "norm expects a residual of %lld x %lld, got %lld x %lld",
            (long long)x->rows, (long long)x->cols, (long long)z->rows, (long long)z->cols);
    return GNN_OK;
}

static int norm_shape(gnn_op_call_t *call)
{
    static const char *const roles[] = {"", "gain", "shift"};
    const gnn_norm_t kind = kind_of(call);
    const int64_t cols = call->in[0].cols;
    GNN_TRY(gnn__op_dense(call, "norm", 0, 3, 1));
    if (kind != GNN_NORM_LAYER && kind != GNN_NORM_RMS && kind != GNN_NORM_BATCH)
        return gnn_op_fail(call, GNN_EINVALID, "there is no norm of kind %d (%s)", (int)kind,
                           gnn__norm_name(kind));
    for (int k = 1; k <= 2; k++)
        if (gnn__has_input(call, k) && (call->in[k].rows != 1 || call->in[k].cols != cols))
            return gnn_op_fail(call, GNN_ESHAPE, "%s norm expects a %s of 1 x %lld, got %lld x %lld",
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

/* Rows from..end - 1 of x + z, z dropped first where it is to be. */
static void add_residual(const gnn_op_call_t *call, const gnn__dropout_t *d, int64_t from,
                         int64_t end, const gnn_tensor_t *sums)
{
    const gnn_tensor_t *x = &call->in[0].value, *z = &call->in[3].value;
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    const bool drops = rate_of(call) > 0;
    for (int64_t r = from; r < end; r++)
        if (drops)
            kernels->scale(x->cols, 1, gnn__row(x, r), false, gnn__row(sums, r));
        else
            kernels->mix(x->cols, 1, gnn__row(x, r), 1, gnn__row(z, r), gnn__row(sums, r));
    if (drops)
        gnn__dropout_kernels()->matrix(d, from, end - from, x->cols, gnn__row(z, from),
                                       gnn__stride(z), true, gnn__row(sums, from), gnn__stride(sums));
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
    const gnn__dropout_t d = gnn__dropout(call->rng, rate_of(call));
    const int threads = gnn__op_threads(call, 4 * x->rows * x->cols);
    const int64_t step = gnn__rows_at_once(x->cols);
    GNN__PARALLEL_FOR (threads, int64_t from = 0; from < x->rows; from += step) {
        const int64_t end = from + gnn__rows_left(x, from, step);
        if (residual)
            add_residual(call, &d, from, end, &sums);
        for (int64_t r = from; r < end; r++)
            kernels->norm(rms, x->cols, gnn__row(residual ? &sums : x, r), gain, shift, eps,
                          gnn__row(y, r), stats + 2 * r);
    }
    return GNN_OK;
}

/* The gradient of the sum in rows from..end - 1, and from there into both its parts; `row` has room
 * for one where x's own gradient is added to. */
static void sum_grad(const gnn_op_call_t *call, int64_t from, int64_t end, gnn_real_t *row)
{
    const gnn_tensor_t x = read_by_backward(call), *dy = &call->out[0].grad;
    const gnn_operand_t *first = &call->in[0], *second = &call->in[3];
    const bool own = gnn__wants(call, 0) && !first->accumulate;
    const gnn_real_t *gain = gnn__has_input(call, 1) ? call->in[1].value.data : NULL,
                     *stats = call->saved[0], rate = rate_of(call);
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    const gnn__dropout_t d = gnn__dropout(call->rng, rate);
    const int64_t step = own ? gnn__rows_at_once(x.cols) : 1;
    for (int64_t r = from; r < end; r++) {
        gnn_real_t *g = own ? gnn__row(&first->grad, r) : row;
        gnn__row_kernels()->norm_grad(kind_of(call) == GNN_NORM_RMS, x.cols, gnn__row(&x, r), gain,
                                      gnn__row(dy, r), stats + 2 * r, g);
        if (gnn__wants(call, 0) && !own)
            kernels->scale(x.cols, 1, g, true, gnn__row(&first->grad, r));
        const int64_t behind = (r - from) % step, rows = behind + 1;
        if (gnn__wants(call, 3) && rate > 0 && (rows == step || r + 1 == end)) /* as many at once */
            gnn__dropout_kernels()->matrix(
                &d, r - behind, rows, x.cols, own ? gnn__row(&first->grad, r - behind) : g,
                own ? gnn__stride(&first->grad) : x.cols, second->accumulate,
                gnn__row(&second->grad, r - behind), gnn__stride(&second->grad));
        else if (gnn__wants(call, 3) && rate == 0)
            kernels->scale(x.cols, 1, g, second->accumulate, gnn__row(&second->grad, r));
    }
}

/* All gradients of one chunk of rows while it is in cache. */
static void chunk_grad(const gnn_op_call_t *call, int64_t from, int64_t end, double *const sums[],
                       int64_t at)
{
    const gnn_tensor_t x = read_by_backward(call), *dy = &call->out[0].grad;
    const gnn_real_t *stats = call->saved[0];
    if (gnn__wants(call, 1))
        gnn__row_kernels()->column_normal(end - from, x.cols, gnn__row(dy, from), gnn__stride(dy),
                                          gnn__row(&x, from), gnn__stride(&x), stats + 2 * from,
                                          sums[0] + at);
    if (gnn__wants(call, 2))
        gnn__row_kernels()->column_sum(end - from, x.cols, gnn__row(dy, from), gnn__stride(dy),
                                       sums[1] + at);
    if (gnn__wants(call, 0) || gnn__wants(call, 3))
        sum_grad(call, from, end, (gnn_real_t *)(void *)(sums[2] + at));
}

static int norm_backward(gnn_op_call_t *call)
{
    if (kind_of(call) == GNN_NORM_BATCH)
        return gnn__batch_norm_backward(call);
    const gnn_tensor_t *dy = &call->out[0].grad;
    const int64_t chunks = gnn__column_chunks(dy->rows), cols = dy->cols;
    const int threads = gnn__op_threads(call, 4 * dy->rows * cols);
    double *sums[3] = {call->scratch}; /* of the gain, of the shift; and a row */
    for (int k = 1; k < 3; k++)
        sums[k] = sums[k - 1] + chunks * cols;
    GNN__PARALLEL_FOR (threads, int64_t k = 0; k < chunks; k++)
        chunk_grad(call, gnn__share(dy->rows, (int)k, (int)chunks),
                   gnn__share(dy->rows, (int)k + 1, (int)chunks), sums, k * cols);
    for (int k = 0; k < 2; k++)
        if (gnn__wants(call, k + 1)) {
            gnn__column_total(chunks, cols, sums[k]);
            gnn__column_send(sums[k], 1, &call->in[k + 1]);
        }
    return GNN_OK;
}

const gnn_op_t gnn__op_norm = {
    .name = "norm", .shape = norm_shape, .forward = norm_forward, .backward = norm_backward};
