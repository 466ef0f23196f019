/* y = x z, element by element, and dropout behind it where a plan lets it do so. z may be spread
 * over x: it has x's rows or one for all, and x's columns or one number for each of several equal
 * blocks of them (one block: a number a row; heads: a number a head). Backward sums what was
 * spread. */
#include <lib/kernels/rowwise/dropout_mask.h>
#include <lib/ops/support.h>
#include <lib/ops/traits.h>

static gnn_real_t rate_of(const gnn_op_call_t *call)
{
    const gnn__multiply_settings_t *how = call->attributes;
    return how ? how->rate : 0;
}

/* Is one row of z summed over the rows of x? */
static bool sums_rows(const gnn_op_call_t *call)
{
    return call->in[1].rows != call->in[0].rows;
}

/* Columns of x for each of z. */
static int64_t block_width(const gnn_tensor_t *x, const gnn_tensor_t *z)
{
    return z->cols > 0 ? x->cols / z->cols : 1;
}

/* Numbers of a chunk's scratch: sums of a row of z, those of a few rows, and the dropped dy of
 * these. */
typedef struct {
    double *sums, *few;
    gnn_real_t *dy;
} chunk_t;

/* Lays scratch out: doubles of all chunks, a row of zeros, and blocks of dy. */
static int chunk_bytes(const gnn_op_call_t *call, size_t *sums, size_t *blocks)
{
    const gnn_operand_t *x = &call->in[0], *z = &call->in[1];
    const int64_t chunks = gnn__column_chunks(x->rows);
    int64_t dropped = 0;
    *sums = 0;
    if (sums_rows(call))
        GNN_TRY(gnn__op_bytes(call, 2 * chunks, z->cols, sizeof(double), sums));
    if (rate_of(call) > 0 && !gnn__mul(chunks, gnn__rows_at_once(x->cols), &dropped))
        return gnn_op_fail(call, GNN_EOVERFLOW, "multiply: its scratch does not fit");
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

static int prepare(gnn_op_call_t *call)
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
    return prepare(call);
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
    return prepare(call);
}

/* Rows follow one another without a gap: many are as good as one long one. */
static bool flat(const gnn_tensor_t *t)
{
    return gnn__stride(t) == t->cols;
}

/* y (+)= x z for some rows, z being those rows or one. */
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

/* The rows of z that go with rows from .. of x. */
static gnn_tensor_t factors(const gnn_op_call_t *call, const gnn_tensor_t *z, int64_t from,
                            int64_t rows)
{
    return sums_rows(call) ? *z : gnn__rows(z, from, rows);
}

static int forward(gnn_op_call_t *call)
{
    const gnn_tensor_t *x = &call->in[0].value, *y = &call->out[0].value;
    const gnn__dropout_t d = gnn__dropout(call->rng, rate_of(call));
    const int64_t step = gnn__rows_at_once(x->cols);
    const int threads = gnn__op_threads(call, (rate_of(call) > 0 ? 4 : 1) * x->rows * x->cols);
    GNN__PARALLEL_FOR (threads, int64_t from = 0; from < x->rows; from += step) {
        const int64_t rows = gnn__rows_left(x, from, step);
        const gnn_tensor_t source = gnn__rows(x, from, rows), target = gnn__rows(y, from, rows),
                           z = factors(call, &call->in[1].value, from, rows);
        multiply_rows(&source, &z, false, &target);
        if (rate_of(call) > 0)
            gnn__dropout_kernels()->matrix(&d, from, rows, x->cols, target.data, target.stride,
                                           false, target.data, target.stride);
    }
    return GNN_OK;
}

/* sums += those of dy x over some rows, for each column of z. */
static void add_sums(const gnn_op_call_t *call, const gnn_tensor_t *dy, const gnn_tensor_t *x,
                     const chunk_t *c)
{
    const int64_t heads = call->in[1].cols, width = block_width(x, &call->in[1].value);
    if (width == 1) {
        gnn__row_kernels()->column_product(x->rows, x->cols, dy->data, gnn__stride(dy), x->data,
                                           gnn__stride(x), zeros_of(call), c->few);
        for (int64_t h = 0; h < heads; h++)
            c->sums[h] += c->few[h];
        return;
    }
    for (int64_t r = 0; r < x->rows; r++)
        for (int64_t h = 0; h < heads; h++)
            c->sums[h] += gnn__elementwise_kernels()->dot(width, gnn__row(dy, r) + h * width,
                                                          gnn__row(x, r) + h * width);
}

/* dz (+)= dy x, of which blocks of columns are added up. */
static void own_factors(const gnn_tensor_t *dy, const gnn_tensor_t *x, bool add,
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

/* Gradients of some rows from dy, which was dropped if it is to be. */
static void rows_grad(const gnn_op_call_t *call, int64_t from, const gnn_tensor_t *dy,
                      const chunk_t *c)
{
    const gnn_operand_t *x = &call->in[0], *z = &call->in[1];
    if (gnn__wants(call, 0)) {
        const gnn_tensor_t by = factors(call, &z->value, from, dy->rows),
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
    own_factors(dy, &rows, z->accumulate, &to);
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

static int backward(gnn_op_call_t *call)
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

static void work(const gnn_op_call_t *call, int backward, gnn_op_work_t *work)
{
    work->flops = (backward ? 4 : 1) * (double)call->out[0].rows * (double)call->out[0].cols;
}

static gnn_real_t *rate(void *attributes)
{
    return &((gnn__multiply_settings_t *)attributes)->rate;
}

static const gnn__op_traits_t traits = {.rate = rate};
const gnn_op_t gnn__op_multiply = {.name = "multiply",
                                   .shape = multiply_shape,
                                   .forward = forward,
                                   .backward = backward,
                                   .flags = GNN_OP_ELEMENTWISE,
                                   .work = work,
                                   .traits = &traits};
const gnn_op_t gnn__op_scale_heads = {.name = "scale_heads",
                                      .shape = scale_heads_shape,
                                      .forward = forward,
                                      .backward = backward,
                                      .flags = GNN_OP_ELEMENTWISE,
                                      .work = work,
                                      .traits = &traits};
