/* Sums, products and maxima of tensors. */
#include <lib/kernels/rowwise/rowwise.h>
#include <lib/ops/support.h>
#include <lib/ops/traits.h>

#include <omp.h>

enum { ROWS_AT_ONCE = 256 };

static int same_shape(const gnn_op_call_t *call, const char *name)
{
    const gnn_operand_t *x = &call->in[0], *z = &call->in[1];
    if (x->rows != z->rows || x->cols != z->cols)
        return gnn_op_fail(
            call, GNN_ESHAPE,
            "%s expects two tensors of the same shape, got %lld x %lld and %lld x %lld", name,
            (long long)x->rows, (long long)x->cols, (long long)z->rows, (long long)z->cols);
    return GNN_OK;
}

/* ---- add: y = x + alpha z; z may be one row ---- */

static gnn_real_t alpha_of(const void *attributes)
{
    return ((const gnn__add_settings_t *)attributes)->alpha;
}

static bool is_one_row(const gnn_op_call_t *call)
{
    return call->in[1].rows == 1 && call->in[0].rows != 1;
}

static int add_shape(gnn_op_call_t *call)
{
    const gnn_operand_t *x = &call->in[0], *z = &call->in[1];
    GNN_TRY(gnn__op_dense(call, "add", 0, 1, 2));
    if (!(z->rows == 1 && z->cols == x->cols))
        GNN_TRY(same_shape(call, "add"));
    gnn__op_output(call, x->rows, x->cols);
    if (is_one_row(call) && z->wants_grad)
        GNN_TRY(gnn__column_bytes(call, x->rows, x->cols, &call->backward_scratch));
    return GNN_OK;
}

static int add_forward(gnn_op_call_t *call)
{
    const gnn_real_t alpha = alpha_of(call->attributes);
    const gnn_tensor_t *x = &call->in[0].value, *z = &call->in[1].value, *y = &call->out[0].value;
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    const gnn__lines_t lines = gnn__lines(x, z, y, NULL);
    const int threads = gnn__op_threads(call, lines.total);
    if (is_one_row(call)) {
        GNN__PARALLEL_FOR (threads, int64_t from = 0; from < x->rows; from += ROWS_AT_ONCE)
            gnn__add_row(x, alpha, z->data, y, from, from + gnn__rows_left(x, from, ROWS_AT_ONCE));
        return GNN_OK;
    }
    GNN__PARALLEL_FOR (threads, int64_t k = 0; k < lines.count; k++)
        kernels->mix(gnn__line_length(&lines, k), 1, gnn__line(&lines, x, k), alpha,
                     gnn__line(&lines, z, k), gnn__line(&lines, y, k));
    return GNN_OK;
}

static int add_backward(gnn_op_call_t *call)
{
    const gnn_real_t alpha = alpha_of(call->attributes);
    const gnn_tensor_t *dy = &call->out[0].grad;
    if (gnn__wants(call, 0))
        gnn__op_send(call, 1, dy, &call->in[0].grad, call->in[0].accumulate);
    if (gnn__wants(call, 1) && is_one_row(call))
        gnn__column_sum(call, dy, (double)alpha, &call->in[1], call->scratch);
    else if (gnn__wants(call, 1))
        gnn__op_send(call, alpha, dy, &call->in[1].grad, call->in[1].accumulate);
    return GNN_OK;
}

static const gnn__op_traits_t add_traits = {.alpha = alpha_of, .with_activation = &gnn__op_bias};
const gnn_op_t gnn__op_add = {.name = "add",
                              .shape = add_shape,
                              .forward = add_forward,
                              .backward = add_backward,
                              .flags = GNN_OP_ELEMENTWISE,
                              .traits = &add_traits};

/* ---- add_scaled: y = (1 + eps) x + z ---- */

static int add_scaled_shape(gnn_op_call_t *call)
{
    const gnn_operand_t *x = &call->in[0], *eps = &call->in[2];
    GNN_TRY(gnn__op_dense(call, "add_scaled", 0, 2, 3));
    GNN_TRY(same_shape(call, "add_scaled"));
    if (eps->rows != 1 || eps->cols != 1)
        return gnn_op_fail(call, GNN_ESHAPE, "add_scaled expects eps of 1 x 1, got %lld x %lld",
                           (long long)eps->rows, (long long)eps->cols);
    gnn__op_output(call, x->rows, x->cols);
    if (x->wants_grad)
        call->in[2].keep = 1;
    if (eps->wants_grad) {
        call->in[0].keep = 1;
        GNN_TRY(gnn__op_bytes(call, x->rows > 0 ? x->rows : 1, 1, sizeof(double),
                              &call->backward_scratch));
    }
    return GNN_OK;
}

static int add_scaled_forward(gnn_op_call_t *call)
{
    const gnn_tensor_t *x = &call->in[0].value, *z = &call->in[1].value, *y = &call->out[0].value;
    const gnn_real_t factor = 1 + call->in[2].value.data[0];
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    const gnn__lines_t lines = gnn__lines(x, z, y, NULL);
    const int threads = gnn__op_threads(call, lines.total);
    GNN__PARALLEL_FOR (threads, int64_t k = 0; k < lines.count; k++)
        kernels->mix(gnn__line_length(&lines, k), factor, gnn__line(&lines, x, k), 1,
                     gnn__line(&lines, z, k), gnn__line(&lines, y, k));
    return GNN_OK;
}

/* deps = sum of dy x: one sum per row, then the rows in order. */
static void eps_grad(const gnn_op_call_t *call)
{
    const gnn_tensor_t *x = &call->in[0].value, *dy = &call->out[0].grad;
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    const int threads = gnn__op_threads(call, x->rows * x->cols);
    double *parts = call->scratch, total = 0;
    GNN__PARALLEL_FOR (threads, int64_t r = 0; r < x->rows; r++)
        parts[r] = kernels->dot(x->cols, gnn__row(x, r), gnn__row(dy, r));
    for (int64_t r = 0; r < x->rows; r++)
        total += parts[r];
    gnn__column_send(&total, 1, &call->in[2]);
}

static int add_scaled_backward(gnn_op_call_t *call)
{
    const gnn_tensor_t *dy = &call->out[0].grad;
    if (gnn__wants(call, 0))
        gnn__op_send(call, 1 + call->in[2].value.data[0], dy, &call->in[0].grad,
                     call->in[0].accumulate);
    if (gnn__wants(call, 1))
        gnn__op_send(call, 1, dy, &call->in[1].grad, call->in[1].accumulate);
    if (gnn__wants(call, 2))
        eps_grad(call);
    return GNN_OK;
}

static const gnn__op_traits_t add_scaled_traits = {.whole = 1u << 2};
const gnn_op_t gnn__op_add_scaled = {.name = "add_scaled",
                                     .flags = GNN_OP_BY_ROWS,
                                     .shape = add_scaled_shape,
                                     .forward = add_scaled_forward,
                                     .backward = add_scaled_backward,
                                     .traits = &add_scaled_traits};

/* ---- scale ---- */

/* y = alpha x, and an optional fused dropout. */

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

/* The dropped dy is written to dx, or to a block per thread where dx is accumulated. */
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

static gnn_real_t *scale_rate(void *attributes)
{
    return &((gnn__scale_settings_t *)attributes)->rate;
}

static const gnn__op_traits_t scale_traits = {.rate = scale_rate};
const gnn_op_t gnn__op_scale = {.name = "scale",
                                .shape = scale_shape,
                                .forward = scale_forward,
                                .backward = scale_backward,
                                .flags = GNN_OP_ELEMENTWISE,
                                .work = scale_work,
                                .traits = &scale_traits};

/* ---- multiply and scale_heads ---- */

/* y = x z, elementwise with broadcasting, and an optional fused dropout. z has x's rows or one
 * row, and x's columns or one value per block of columns (multiply: one block; scale_heads: one
 * block per head). Backward sums over the broadcast dimensions. */

static gnn_real_t rate_of(const gnn_op_call_t *call)
{
    const gnn__multiply_settings_t *how = call->attributes;
    return how ? how->rate : 0;
}

/* True if z is one row, broadcast over the rows of x. */
static bool sums_rows(const gnn_op_call_t *call)
{
    return call->in[1].rows != call->in[0].rows;
}

/* Columns of x per column of z. */
static int64_t block_width(const gnn_tensor_t *x, const gnn_tensor_t *z)
{
    return z->cols > 0 ? x->cols / z->cols : 1;
}

/* Scratch of one chunk of rows: sums over all its rows, sums over a block of rows, and the block's
 * dy after dropout. */
typedef struct {
    double *sums, *block_sums;
    gnn_real_t *dy;
} chunk_t;

/* Scratch: the sums of all chunks (doubles), a row of zeros, the blocks of dy. */
static int chunk_bytes(const gnn_op_call_t *call, size_t *sums, size_t *blocks)
{
    const gnn_operand_t *x = &call->in[0], *z = &call->in[1];
    const int64_t chunks = gnn__column_chunks(x->rows);
    int64_t dropped = 0;
    *sums = 0;
    if (sums_rows(call))
        GNN_TRY(gnn__op_bytes(call, 2 * chunks, z->cols, sizeof(double), sums));
    if (rate_of(call) > 0 && !gnn__mul(chunks, gnn__rows_at_once(x->cols), &dropped))
        return gnn_op_fail(call, GNN_EOVERFLOW, "multiply: the size of its scratch overflows");
    return gnn__op_bytes(call, 1 + dropped, x->cols, sizeof(gnn_real_t), blocks);
}

static gnn_real_t *zeros_of(const gnn_op_call_t *call)
{
    const int64_t chunks = gnn__column_chunks(call->in[0].rows);
    return (gnn_real_t *)((double *)call->scratch +
                          (sums_rows(call) ? 2 * chunks * call->in[1].cols : 0));
}

static chunk_t chunk_at(const gnn_op_call_t *call, int64_t k)
{
    const int64_t chunks = gnn__column_chunks(call->in[0].rows), cols = call->in[0].cols;
    double *sums = call->scratch;
    return (chunk_t){sums + k * call->in[1].cols, sums + (chunks + k) * call->in[1].cols,
                     zeros_of(call) + (1 + k * gnn__rows_at_once(cols)) * cols};
}

static int prepare_multiply(gnn_op_call_t *call)
{
    const gnn_operand_t *x = &call->in[0], *z = &call->in[1];
    size_t sums, blocks;
    gnn__op_output(call, x->rows, x->cols);
    call->in[0].keep = z->wants_grad;
    call->in[1].keep = x->wants_grad;
    if (!x->wants_grad && !z->wants_grad)
        return GNN_OK;
    GNN_TRY(chunk_bytes(call, &sums, &blocks));
    call->backward_scratch = sums + blocks;
    return GNN_OK;
}

static int multiply_shape(gnn_op_call_t *call)
{
    const gnn_operand_t *x = &call->in[0], *z = &call->in[1];
    GNN_TRY(gnn__op_dense(call, "multiply", 0, 1, 2));
    if ((z->rows != x->rows && z->rows != 1) || (z->cols != x->cols && z->cols != 1))
        return gnn_op_fail(
            call, GNN_ESHAPE,
            "multiply expects a factor of %lld or 1 rows and %lld or 1 columns, got %lld x %lld",
            (long long)x->rows, (long long)x->cols, (long long)z->rows, (long long)z->cols);
    return prepare_multiply(call);
}

static int scale_heads_shape(gnn_op_call_t *call)
{
    const gnn_operand_t *x = &call->in[0], *g = &call->in[1];
    GNN_TRY(gnn__op_dense(call, "scale_heads", 0, 1, 2));
    if (g->rows != x->rows && g->rows != 1)
        return gnn_op_fail(call, GNN_ESHAPE,
                           "scale_heads expects factors of %lld or 1 rows, got %lld x %lld",
                           (long long)x->rows, (long long)g->rows, (long long)g->cols);
    if (!gnn__splits(x->cols, g->cols))
        return gnn_op_fail(call, GNN_ESHAPE,
                           "scale_heads: %lld columns do not divide into %lld heads",
                           (long long)x->cols, (long long)g->cols);
    return prepare_multiply(call);
}

/* Contiguous rows can be processed as one long row. */
static bool flat(const gnn_tensor_t *t)
{
    return gnn__stride(t) == t->cols;
}

/* y = x z for a block of rows, or += if `add`; z has the same rows, or one. */
static void multiply_rows(const gnn_tensor_t *x, const gnn_tensor_t *z, bool add,
                          const gnn_tensor_t *y)
{
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    const int64_t width = block_width(x, z);
    if (width == 1) {
        const int64_t step = z->rows == x->rows && flat(x) && flat(y) && flat(z) ? x->rows : 1;
        for (int64_t r = 0; r < x->rows; r += step)
            kernels->multiply(step * x->cols, gnn__row(x, r), gnn__row(z, z->rows > 1 ? r : 0), add,
                              gnn__row(y, r));
        return;
    }
    for (int64_t r = 0; r < x->rows; r++)
        for (int64_t h = 0; h < z->cols; h++)
            kernels->scale(width, gnn__row(z, z->rows > 1 ? r : 0)[h], gnn__row(x, r) + h * width,
                           add, gnn__row(y, r) + h * width);
}

/* The rows of z that belong to rows from .. of x. */
static gnn_tensor_t multiply_factors(const gnn_op_call_t *call, const gnn_tensor_t *z, int64_t from,
                                     int64_t rows)
{
    return sums_rows(call) ? *z : gnn__rows(z, from, rows);
}

static int multiply_forward(gnn_op_call_t *call)
{
    const gnn_tensor_t *x = &call->in[0].value, *y = &call->out[0].value;
    const gnn__dropout_t d = gnn__dropout(call->rng, rate_of(call));
    const int64_t step = gnn__rows_at_once(x->cols);
    const int threads = gnn__op_threads(call, (rate_of(call) > 0 ? 4 : 1) * x->rows * x->cols);
    GNN__PARALLEL_FOR (threads, int64_t from = 0; from < x->rows; from += step) {
        const int64_t rows = gnn__rows_left(x, from, step);
        const gnn_tensor_t source = gnn__rows(x, from, rows), target = gnn__rows(y, from, rows),
                           z = multiply_factors(call, &call->in[1].value, from, rows);
        multiply_rows(&source, &z, false, &target);
        if (rate_of(call) > 0)
            gnn__dropout_kernels()->matrix(&d, from, rows, x->cols, target.data, target.stride,
                                           false, target.data, target.stride);
    }
    return GNN_OK;
}

/* c->sums += column sums of dy x over a block of rows, per column of z. */
static void add_sums(const gnn_op_call_t *call, const gnn_tensor_t *dy, const gnn_tensor_t *x,
                     const chunk_t *c)
{
    const int64_t heads = call->in[1].cols, width = block_width(x, &call->in[1].value);
    if (width == 1) {
        gnn__row_kernels()->column_product(x->rows, x->cols, dy->data, gnn__stride(dy), x->data,
                                           gnn__stride(x), zeros_of(call), c->block_sums);
        for (int64_t h = 0; h < heads; h++)
            c->sums[h] += c->block_sums[h];
        return;
    }
    for (int64_t r = 0; r < x->rows; r++)
        for (int64_t h = 0; h < heads; h++)
            c->sums[h] += gnn__elementwise_kernels()->dot(width, gnn__row(dy, r) + h * width,
                                                          gnn__row(x, r) + h * width);
}

/* dz = dy x summed over column blocks, or += if `add`; z has x's rows. */
static void factor_grad(const gnn_tensor_t *dy, const gnn_tensor_t *x, bool add,
                        const gnn_tensor_t *dz)
{
    const int64_t width = block_width(x, dz);
    if (width == 1) {
        multiply_rows(x, dy, add, dz);
        return;
    }
    for (int64_t r = 0; r < x->rows; r++)
        for (int64_t h = 0; h < dz->cols; h++) {
            gnn_real_t *to = gnn__row(dz, r) + h;
            const double sum = gnn__elementwise_kernels()->dot(width, gnn__row(dy, r) + h * width,
                                                               gnn__row(x, r) + h * width);
            *to = (gnn_real_t)((add ? (double)*to : 0) + sum);
        }
}

/* Gradients of a block of rows from dy, to which dropout has been applied. */
static void rows_grad(const gnn_op_call_t *call, int64_t from, const gnn_tensor_t *dy,
                      const chunk_t *c)
{
    const gnn_operand_t *x = &call->in[0], *z = &call->in[1];
    if (gnn__wants(call, 0)) {
        const gnn_tensor_t by = multiply_factors(call, &z->value, from, dy->rows),
                           to = gnn__rows(&x->grad, from, dy->rows);
        multiply_rows(dy, &by, x->accumulate, &to);
    }
    if (!gnn__wants(call, 1))
        return;
    const gnn_tensor_t rows = gnn__rows(&x->value, from, dy->rows);
    if (sums_rows(call)) {
        add_sums(call, dy, &rows, c);
        return;
    }
    const gnn_tensor_t to = gnn__rows(&z->grad, from, dy->rows);
    factor_grad(dy, &rows, z->accumulate, &to);
}

static void chunk_grad(const gnn_op_call_t *call, int64_t from, int64_t end, const chunk_t *c)
{
    const gnn_tensor_t *dy = &call->out[0].grad;
    const gnn__dropout_t d = gnn__dropout(call->rng, rate_of(call));
    const int64_t step = gnn__rows_at_once(dy->cols);
    for (int64_t h = 0; sums_rows(call) && h < call->in[1].cols; h++)
        c->sums[h] = 0;
    for (int64_t r = from; r < end; r += step) {
        gnn_tensor_t rows = gnn__rows(dy, r, end - r < step ? end - r : step);
        if (rate_of(call) > 0) {
            gnn__dropout_kernels()->matrix(&d, r, rows.rows, rows.cols, rows.data, rows.stride,
                                           false, c->dy, rows.cols);
            rows = gnn_tensor(c->dy, rows.rows, rows.cols);
        }
        rows_grad(call, r, &rows, c);
    }
}

static int multiply_backward(gnn_op_call_t *call)
{
    const gnn_tensor_t *dy = &call->out[0].grad;
    const int64_t chunks = gnn__column_chunks(dy->rows);
    const int threads = gnn__op_threads(call, (rate_of(call) > 0 ? 6 : 2) * dy->rows * dy->cols);
    memset(zeros_of(call), 0, sizeof(gnn_real_t) * (size_t)dy->cols);
    GNN__PARALLEL_FOR (threads, int64_t k = 0; k < chunks; k++) {
        const chunk_t c = chunk_at(call, k);
        chunk_grad(call, gnn__share(dy->rows, (int)k, (int)chunks),
                   gnn__share(dy->rows, (int)k + 1, (int)chunks), &c);
    }
    if (sums_rows(call) && gnn__wants(call, 1)) {
        gnn__column_total(chunks, call->in[1].cols, call->scratch);
        gnn__column_send(call->scratch, 1, &call->in[1]);
    }
    return GNN_OK;
}

static void multiply_work(const gnn_op_call_t *call, int multiply_backward,
                          gnn_op_work_t *multiply_work)
{
    multiply_work->flops =
        (multiply_backward ? 4 : 1) * (double)call->out[0].rows * (double)call->out[0].cols;
}

static gnn_real_t *multiply_rate(void *attributes)
{
    return &((gnn__multiply_settings_t *)attributes)->rate;
}

static const gnn__op_traits_t multiply_traits = {.rate = multiply_rate};
const gnn_op_t gnn__op_multiply = {.name = "multiply",
                                   .shape = multiply_shape,
                                   .forward = multiply_forward,
                                   .backward = multiply_backward,
                                   .flags = GNN_OP_ELEMENTWISE,
                                   .work = multiply_work,
                                   .traits = &multiply_traits};
const gnn_op_t gnn__op_scale_heads = {.name = "scale_heads",
                                      .shape = scale_heads_shape,
                                      .forward = multiply_forward,
                                      .backward = multiply_backward,
                                      .flags = GNN_OP_ELEMENTWISE,
                                      .work = multiply_work,
                                      .traits = &multiply_traits};

/* ---- maximum ---- */

/* Elementwise maximum of several tensors. Inputs that tie share the gradient equally, as in the
 * max aggregator; NaN propagates, and then the gradient is 0. */

/* Elements of a block that stays in the L1 cache while all inputs pass. */
enum { BLOCK = 512 };

static int maximum_shape(gnn_op_call_t *call)
{
    const gnn_operand_t *x = call->in;
    bool wants = false;
    GNN_TRY(gnn__op_dense(call, "maximum", 0, call->n_in - 1, call->n_in));
    if (call->n_in < 1)
        return gnn_op_fail(call, GNN_ESHAPE, "maximum expects at least one tensor");
    for (int k = 0; k < call->n_in; k++) {
        if (x[k].rows != x->rows || x[k].cols != x->cols)
            return gnn_op_fail(
                call, GNN_ESHAPE,
                "maximum expects %lld x %lld as in its first tensor, tensor %d is %lld x %lld",
                (long long)x->rows, (long long)x->cols, k, (long long)x[k].rows,
                (long long)x[k].cols);
        wants |= x[k].wants_grad;
    }
    gnn__op_output(call, x->rows, x->cols);
    for (int k = 0; k < call->n_in; k++)
        call->in[k].keep = wants;
    return GNN_OK;
}

/* Elements first .. first + n - 1 of a line (gnn__lines). */
typedef struct {
    const gnn__lines_t *lines;
    int64_t line, first, n;
} maximum_block_t;

static gnn_real_t *block_of(const maximum_block_t *p, const gnn_tensor_t *t)
{
    return gnn__line(p->lines, t, p->line) + p->first;
}

/* y may be the first input's own memory. */
static void largest(const gnn_op_call_t *call, const maximum_block_t *p, gnn_real_t *y)
{
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    const gnn_real_t *first = block_of(p, &call->in[0].value);
    kernels->maximum(p->n, first, first, y);
    for (int k = 1; k < call->n_in; k++)
        kernels->maximum(p->n, y, block_of(p, &call->in[k].value), y);
}

static void block_grad(const gnn_op_call_t *call, const maximum_block_t *p)
{
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    gnn_real_t most[BLOCK], ties[BLOCK] = {0};
    largest(call, p, most);
    for (int k = 0; k < call->n_in; k++)
        kernels->count_ties(p->n, block_of(p, &call->in[k].value), most, ties);
    for (int k = 0; k < call->n_in; k++)
        if (gnn__wants(call, k))
            kernels->maximum_grad(p->n, block_of(p, &call->in[k].value), most, ties,
                                  block_of(p, &call->out[0].grad), call->in[k].accumulate,
                                  block_of(p, &call->in[k].grad));
}

static gnn__lines_t lines_of(const gnn_op_call_t *call, bool backward)
{
    const gnn_operand_t *y = &call->out[0];
    gnn__lines_t lines = gnn__lines(backward ? &y->grad : &y->value, NULL);
    for (int k = 0; k < call->n_in; k++) {
        gnn__lines_with(&lines, &call->in[k].value);
        if (backward && gnn__wants(call, k))
            gnn__lines_with(&lines, &call->in[k].grad);
    }
    return lines;
}

static int maximum_run(const gnn_op_call_t *call, bool backward)
{
    const gnn__lines_t lines = lines_of(call, backward);
    const int threads = gnn__op_threads(call, lines.total * call->n_in);
    GNN__PARALLEL_FOR (threads, int64_t line = 0; line < lines.count; line++) {
        const int64_t length = gnn__line_length(&lines, line);
        for (int64_t first = 0; first < length; first += BLOCK) {
            const int64_t rest = length - first;
            const maximum_block_t p = {&lines, line, first, rest < BLOCK ? rest : BLOCK};
            if (backward)
                block_grad(call, &p);
            else
                largest(call, &p, block_of(&p, &call->out[0].value));
        }
    }
    return GNN_OK;
}

static int maximum_forward(gnn_op_call_t *call)
{
    return maximum_run(call, false);
}

static int maximum_backward(gnn_op_call_t *call)
{
    return maximum_run(call, true);
}

const gnn_op_t gnn__op_maximum = {.name = "maximum",
                                  .shape = maximum_shape,
                                  .forward = maximum_forward,
                                  .backward = maximum_backward,
                                  .flags = GNN_OP_ELEMENTWISE};
