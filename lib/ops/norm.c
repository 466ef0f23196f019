/* Norms: y = gain (x - mean) / sqrt(variance + eps) + shift. Layer norm and RMS norm (mean 0;
 * Zhang and Sennrich 2019) along rows; batch norm along columns; RMS norm per head. With a residual
 * z, y = norm(x + dropout(z)): the sum is stored only in training. */
#include <lib/base/ranks.h>
#include <lib/kernels/rowwise/rowwise.h>
#include <lib/ops/support.h>
#include <lib/ops/traits.h>

#include <math.h>

const char *gnn__norm_name(gnn_norm_t kind)
{
    static const char *const names[] = {"default", "none", "layer", "batch", "rms", "l2"};
    return kind >= 0 && (size_t)kind < sizeof names / sizeof *names ? names[kind] : "unknown";
}

static gnn_real_t norm_eps(const gnn_op_call_t *call)
{
    const gnn__norm_settings_t *how = call->attributes;
    return how->eps == 0 ? (gnn_real_t)1e-5 : how->eps;
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

/* ---- batch norm ---- */

/* Batch norm over rows, Ioffe and Szegedy 2015, as PyTorch has it: statistics of the batch (biased
 * variance) in training or if there are no running ones, the running statistics otherwise. Training
 * updates them with the unbiased variance. */

/* Workspace of forward and backward: doubles, then reals. */
typedef struct {
    gnn__ranks_t *ranks; /* over ranks, else NULL: sums are those of all */
    double count;        /* rows of all ranks, at least 1 */
    int64_t rows, cols, chunks;
    double *parts, *second;  /* chunks x cols; 1 x cols */
    gnn_real_t *p, *q, *r;   /* 1 x cols each */
    gnn_real_t *mean, *rstd; /* 1 x cols each; saved */
} batch_t;

static bool uses_batch(const gnn_op_call_t *call)
{
    return call->training || !((const gnn__norm_settings_t *)call->attributes)->running.data;
}

static int batch_norm_shape(gnn_op_call_t *call)
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
    b.ranks = gnn__ranks_of_call(call->context);
    b.count = (double)gnn__max(b.ranks ? b.ranks->n : b.rows, 1);
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

typedef enum { SUM, SQUARES, PRODUCTS } batch_sum_t;

/* part (cols) = the sums of some rows. */
static void sum_rows(const batch_t *b, batch_sum_t what, const gnn_tensor_t *x,
                     const gnn_tensor_t *dy, int64_t from, int64_t rows, double *part)
{
    const gnn__row_kernels_t *kernels = gnn__row_kernels();
    if (what == SUM)
        kernels->column_sum(rows, b->cols, gnn__row(x, from), gnn__stride(x), part);
    else if (what == SQUARES)
        kernels->column_square(rows, b->cols, gnn__row(x, from), gnn__stride(x), b->mean, part);
    else
        kernels->column_product(rows, b->cols, gnn__row(dy, from), gnn__stride(dy),
                                gnn__row(x, from), gnn__stride(x), b->mean, part);
}

/* The same over the slices of all ranks. */
static int sum_slices(const batch_t *b, batch_sum_t what, const gnn_tensor_t *x,
                      const gnn_tensor_t *dy)
{
    gnn__slice_sums_t sums = gnn__slice_sums(b->ranks, b->cols);
    const double *total;
    for (int64_t k = 0; k < gnn__slices(b->ranks); k++) {
        double *block;
        GNN_TRY(gnn__slice_sums_next(&sums, &block));
        sum_rows(b, what, x, dy, k * GNN_SLICE, gnn__slice_rows(b->ranks, k), block);
        gnn__slice_sums_add(&sums, gnn__first_slice(b->ranks) + k);
    }
    GNN_TRY(gnn__slice_sums_end(&sums, &total));
    memcpy(b->parts, total, sizeof *total * (size_t)b->cols);
    return GNN_OK;
}

/* parts[0..cols) = column sums of x, of (x - mean)^2, or of dy (x - mean). */
static int batch_sums(const gnn_op_call_t *call, const batch_t *b, batch_sum_t what,
                      const gnn_tensor_t *x, const gnn_tensor_t *dy)
{
    const int threads = gnn__op_threads(call, b->rows * b->cols);
    if (b->ranks)
        return sum_slices(b, what, x, dy);
    GNN__PARALLEL_FOR (threads, int64_t k = 0; k < b->chunks; k++) {
        const int64_t from = gnn__share(b->rows, (int)k, (int)b->chunks),
                      rows = gnn__share(b->rows, (int)k + 1, (int)b->chunks) - from;
        sum_rows(b, what, x, dy, from, rows, b->parts + k * b->cols);
    }
    gnn__column_total(b->chunks, b->cols, b->parts);
    return GNN_OK;
}

static void update_running(const gnn_op_call_t *call, const batch_t *b, const double *variance)
{
    const gnn__norm_settings_t *how = call->attributes;
    const double m = how->momentum == 0 ? 0.1 : (double)how->momentum;
    gnn_real_t *mean = how->running.data, *spread = gnn__row(&how->running, 1);
    const double unbiased = b->count > 1 ? b->count / (b->count - 1) : 1;
    for (int64_t c = 0; c < b->cols; c++) {
        mean[c] = (gnn_real_t)((1 - m) * (double)mean[c] + m * (double)b->mean[c]);
        spread[c] = (gnn_real_t)((1 - m) * (double)spread[c] + m * variance[c] * unbiased);
    }
}

/* Two passes, so that the variance does not suffer from cancellation. */
static int batch_statistics(const gnn_op_call_t *call, const batch_t *b)
{
    const gnn_tensor_t *x = &call->in[0].value;
    const double n = b->count, eps = (double)norm_eps(call);
    GNN_TRY(batch_sums(call, b, SUM, x, NULL));
    for (int64_t c = 0; c < b->cols; c++)
        b->mean[c] = (gnn_real_t)(b->parts[c] / n);
    GNN_TRY(batch_sums(call, b, SQUARES, x, NULL));
    for (int64_t c = 0; c < b->cols; c++) {
        b->parts[c] /= n;
        b->rstd[c] = (gnn_real_t)(1 / sqrt(b->parts[c] + eps));
    }
    if (call->training && !call->again && (b->ranks ? b->ranks->n : b->rows) > 0 &&
        ((const gnn__norm_settings_t *)call->attributes)->running.data)
        update_running(call, b, b->parts);
    return GNN_OK;
}

static void running_statistics(const gnn_op_call_t *call, const batch_t *b)
{
    const gnn_tensor_t *running = &((const gnn__norm_settings_t *)call->attributes)->running;
    const double eps = (double)norm_eps(call);
    const gnn_real_t *variance = gnn__row(running, 1);
    for (int64_t c = 0; c < b->cols; c++) {
        b->mean[c] = running->data[c];
        b->rstd[c] = (gnn_real_t)(1 / sqrt((double)variance[c] + eps));
    }
}

static int batch_norm_forward(gnn_op_call_t *call)
{
    const gnn_tensor_t *x = &call->in[0].value, *y = &call->out[0].value;
    const gnn_real_t *gain = gnn__has_input(call, 1) ? call->in[1].value.data : NULL,
                     *shift = gnn__has_input(call, 2) ? call->in[2].value.data : NULL;
    const gnn__row_kernels_t *kernels = gnn__row_kernels();
    const batch_t b = workspace(call);
    if (uses_batch(call))
        GNN_TRY(batch_statistics(call, &b));
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

/* With z = (x - mean) rstd: dx = gain rstd (dy - mean(dy) - z mean(dy z)) = p dy + q (x - mean) +
 * r. Running statistics are constants: q = r = 0. */
static void coefficients(const gnn_op_call_t *call, const batch_t *b, const double *sum,
                         const double *product)
{
    const gnn_real_t *gain = gnn__has_input(call, 1) ? call->in[1].value.data : NULL;
    const double n = b->count;
    for (int64_t c = 0; c < b->cols; c++) {
        double rstd = (double)b->rstd[c], p = rstd * (gain ? (double)gain[c] : 1);
        double q = uses_batch(call) ? -p * rstd * rstd * product[c] / n : 0;
        b->p[c] = (gnn_real_t)p;
        b->q[c] = (gnn_real_t)q;
        b->r[c] = (gnn_real_t)(uses_batch(call) ? -p * sum[c] / n : 0);
    }
}

static int batch_norm_backward(gnn_op_call_t *call)
{
    const gnn_tensor_t *x = &call->in[0].value, *dy = &call->out[0].grad, *dx = &call->in[0].grad;
    const gnn__row_kernels_t *kernels = gnn__row_kernels();
    const batch_t b = workspace(call);
    const bool add = call->in[0].accumulate;
    GNN_TRY(batch_sums(call, &b, SUM, dy, NULL));
    for (int64_t c = 0; c < b.cols; c++)
        b.second[c] = b.parts[c];
    GNN_TRY(batch_sums(call, &b, PRODUCTS, x, dy));
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

/* ---- layer norm, RMS norm, and the op norm ---- */

static int row_norm_shape(gnn_op_call_t *call)
{
    const bool gain = gnn__has_input(call, 1), gain_wants = gain && call->in[1].wants_grad;
    const bool shift_wants = gnn__has_input(call, 2) && call->in[2].wants_grad;
    const bool residual = gnn__has_input(call, 3);
    const bool wants = call->in[0].wants_grad || (residual && call->in[3].wants_grad);
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
    return kind == GNN_NORM_BATCH ? batch_norm_shape(call) : row_norm_shape(call);
}

/* The normalised values: x, or the saved sum with the residual. */
static gnn_tensor_t normalised(const gnn_op_call_t *call)
{
    const gnn_tensor_t *x = &call->in[0].value;
    return gnn__has_input(call, 3) ? gnn_tensor(call->saved[1], x->rows, x->cols) : *x;
}

/* sums = x + dropout(z) for rows from..end - 1. */
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
        return batch_norm_forward(call);
    const gnn_tensor_t *x = &call->in[0].value, *y = &call->out[0].value;
    const gnn_real_t *gain = gnn__has_input(call, 1) ? call->in[1].value.data : NULL,
                     *shift = gnn__has_input(call, 2) ? call->in[2].value.data : NULL;
    const gnn_real_t eps = norm_eps(call);
    const bool rms = kind_of(call) == GNN_NORM_RMS, residual = gnn__has_input(call, 3);
    const gnn__row_kernels_t *kernels = gnn__row_kernels();
    gnn_real_t *stats = call->recording ? call->saved[0] : call->scratch;
    const gnn_tensor_t sums = call->recording ? normalised(call) : *y;
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

/* Gradient of x + dropout(z) for rows from..end - 1, passed on to both; `row` is scratch for one
 * row, used where x's gradient accumulates. */
static void sum_grad(const gnn_op_call_t *call, int64_t from, int64_t end, gnn_real_t *row)
{
    const gnn_tensor_t x = normalised(call), *dy = &call->out[0].grad;
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
        const int64_t before = (r - from) % step, rows = before + 1;
        if (gnn__wants(call, 3) && rate > 0 && (rows == step || r + 1 == end)) /* a block at a
                                                                                * time */
            gnn__dropout_kernels()->matrix(
                &d, r - before, rows, x.cols, own ? gnn__row(&first->grad, r - before) : g,
                own ? gnn__stride(&first->grad) : x.cols, second->accumulate,
                gnn__row(&second->grad, r - before), gnn__stride(&second->grad));
        else if (gnn__wants(call, 3) && rate == 0)
            kernels->scale(x.cols, 1, g, second->accumulate, gnn__row(&second->grad, r));
    }
}

/* All gradients of one chunk of rows while it is in the cache. */
static void norm_chunk_grad(const gnn_op_call_t *call, int64_t from, int64_t end,
                            double *const sums[], int64_t at)
{
    const gnn_tensor_t x = normalised(call), *dy = &call->out[0].grad;
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
        return batch_norm_backward(call);
    const gnn_tensor_t *dy = &call->out[0].grad;
    const int64_t chunks = gnn__column_chunks(dy->rows), cols = dy->cols;
    const int threads = gnn__op_threads(call, 4 * dy->rows * cols);
    double *sums[3] = {call->scratch}; /* of the gain; of the shift; scratch for a row */
    for (int k = 1; k < 3; k++)
        sums[k] = sums[k - 1] + chunks * cols;
    GNN__PARALLEL_FOR (threads, int64_t k = 0; k < chunks; k++)
        norm_chunk_grad(call, gnn__share(dy->rows, (int)k, (int)chunks),
                        gnn__share(dy->rows, (int)k + 1, (int)chunks), sums, k * cols);
    for (int k = 0; k < 2; k++)
        if (gnn__wants(call, k + 1)) {
            gnn__column_total(chunks, cols, sums[k]);
            gnn__column_send(sums[k], 1, &call->in[k + 1]);
        }
    return GNN_OK;
}

static gnn__over_t norm_over(const gnn_op_call_t *call, int *rc)
{
    (void)rc;
    return kind_of(call) == GNN_NORM_BATCH ? GNN__OVER_OWN : GNN__OVER_SLICES;
}

enum { WEIGHTS = 1u << 1 | 1u << 2 };
static const gnn__op_traits_t norm_traits = {.over = norm_over, .whole = WEIGHTS};
const gnn_op_t gnn__op_norm = {.name = "norm",
                               .shape = norm_shape,
                               .forward = norm_forward,
                               .backward = norm_backward,
                               .traits = &norm_traits};

/* ---- head_norm ---- */

/* RMS norm per head: y = gain x / sqrt(mean of x^2 over the head + eps), with one gain for all
 * heads. Zhang and Sennrich 2019; on queries and keys: Henry et al. 2020, Dehghani et al. 2023. */

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
        return gnn_op_fail(call, GNN_ESHAPE, "head_norm: %lld columns do not divide into %lld heads",
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

/* Mean and scale per head and row, head by head. */
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

/* dx of rows from..end - 1 of one head; `row` is scratch for one head. */
static void head_input_grad(const gnn_op_call_t *call, int64_t head, int64_t from, int64_t end,
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

static void head_chunk_grad(const gnn_op_call_t *call, int64_t from, int64_t end, double *sums,
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
            head_input_grad(call, h, from, end, row);
    }
}

static int head_norm_backward(gnn_op_call_t *call)
{
    const int64_t rows = call->in[0].rows, cols = call->in[0].cols;
    const int64_t heads = heads_of(call), d = cols / heads, chunks = gnn__column_chunks(rows);
    double *sums = call->scratch, *free_rows = sums + chunks * cols;
    const int threads = gnn__op_threads(call, 4 * rows * cols);
    GNN__PARALLEL_FOR (threads, int64_t k = 0; k < chunks; k++)
        head_chunk_grad(call, gnn__share(rows, (int)k, (int)chunks),
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

static const gnn__op_traits_t head_norm_traits = {.whole = 1u << 1};
const gnn_op_t gnn__op_head_norm = {.name = "head_norm",
                                    .flags = GNN_OP_BY_ROWS,
                                    .shape = head_norm_shape,
                                    .forward = head_norm_forward,
                                    .backward = head_norm_backward,
                                    .traits = &head_norm_traits};
