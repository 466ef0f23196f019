/* Activations, the activation with a bias, and dropout. */
#include <lib/kernels/rowwise/rowwise.h>
#include <lib/ops/support.h>
#include <lib/ops/traits.h>

#include <omp.h>

/* ---- activation ---- */

/* y = dropout(f(x)). An f whose derivative follows from its output keeps y (0
 * where it was dropped: the gradient there is 0), the others keep x. */

static gnn__activation_settings_t activation_settings(const gnn_op_call_t *call)
{
    gnn__activation_settings_t how = *(const gnn__activation_settings_t *)call->attributes;
    if (how.kind == GNN_LEAKY_RELU && how.slope == 0)
        how.slope = (gnn_real_t)0.2;
    return how;
}

static int activation_shape(gnn_op_call_t *call)
{
    const gnn__activation_settings_t how = activation_settings(call);
    GNN_TRY(gnn__op_dense(call, "activation", 0, 0, 1));
    if (how.kind < GNN_ACTIVATION_DEFAULT || how.kind >= GNN_ACTIVATION_COUNT)
        return gnn_op_fail(call, GNN_EINVALID, "activation %d, expected a gnn_activation_t",
                           (int)how.kind);
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

/* An exp costs about eight multiply-adds. */
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

/* The dropped dy is written to dx, or to a block per thread where dx is accumulated. */
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
    const gnn__activation_settings_t how = activation_settings(call);
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

/* For an f whose derivative follows from the output, the zeros of y give the dropout mask: nothing
 * is drawn again. */
static bool activation_grad_from_output(const gnn_op_call_t *call,
                                        const gnn__activation_settings_t *how)
{
    const gnn_operand_t *x = &call->in[0], *y = &call->out[0];
    const gnn__dropout_t dropout = gnn__dropout(call->rng, how->rate);
    gnn__grad_from_output_t grad;
    if (x->accumulate || !gnn__grad_from_output(how, &dropout, &grad))
        return false;
    const gnn__lines_t lines = gnn__lines(&x->grad, &y->grad, &y->value, NULL);
    const int threads = threads_for(call, how, lines.total);
    GNN__PARALLEL_FOR (threads, int64_t k = 0; k < lines.count; k++)
        gnn__row_kernels()->left_grad(&grad, 1, gnn__line_length(&lines, k),
                                      gnn__line(&lines, &y->value, k), 0,
                                      gnn__line(&lines, &y->grad, k), 0,
                                      gnn__line(&lines, &x->grad, k), 0, lines.total, NULL);
    return true;
}

static int activation_backward(gnn_op_call_t *call)
{
    const gnn__activation_settings_t how = activation_settings(call);
    const gnn_operand_t *x = &call->in[0], *y = &call->out[0];
    if (!gnn__wants(call, 0))
        return GNN_OK;
    if (activation_grad_from_output(call, &how))
        return GNN_OK;
    if (how.rate > 0) {
        activate_and_drop_grad(call, &how);
        return GNN_OK;
    }
    /* The identity keeps neither x nor y, so t is dy, the only value that is there. */
    const gnn_tensor_t *t = &y->grad;
    if (how.kind > GNN_IDENTITY)
        t = gnn__activation_from_output(how.kind, how.slope) ? &y->value : &x->value;
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    const gnn__lines_t lines = gnn__lines(&x->grad, &y->grad, t, NULL);
    const int threads = threads_for(call, &how, lines.total);
    GNN__PARALLEL_FOR (threads, int64_t k = 0; k < lines.count; k++)
        kernels->activate_grad(how.kind, how.slope, gnn__line_length(&lines, k),
                               gnn__line(&lines, t, k), gnn__line(&lines, &y->grad, k),
                               x->accumulate, gnn__line(&lines, &x->grad, k));
    return GNN_OK;
}

static gnn_real_t *activation_rate(void *attributes)
{
    return &((gnn__activation_settings_t *)attributes)->rate;
}

static const gnn__op_traits_t activation_traits = {.rate = activation_rate};
const gnn_op_t gnn__op_activation = {.name = "activation",
                                     .shape = activation_shape,
                                     .forward = activation_forward,
                                     .backward = activation_backward,
                                     .flags = GNN_OP_ELEMENTWISE,
                                     .traits = &activation_traits};

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

/* ---- bias ---- */

/* y = dropout(f(x + b)) with b one row, in one pass over memory. Training needs an f whose
 * derivative follows from its output; for others, layers record add and activation. Backward reads
 * y, which is 0 where it was dropped: the gradient there is 0. */

/* Rows of a block. */
enum { ROWS_AT_ONCE = 32 };

static const gnn__activation_settings_t *bias_settings(const gnn_op_call_t *call)
{
    return call->attributes;
}

/* Scratch of one chunk of rows: sums over all its rows and over the current block; the block's
 * gradient; y without dropout. */
typedef struct {
    double *sums, *block_sums;
    gnn_real_t *block, *y;
} bias_chunk_t;

static int chunk_bytes(const gnn_op_call_t *call, size_t *sums, size_t *blocks)
{
    const int64_t chunks = gnn__column_chunks(call->in[0].rows), cols = call->in[0].cols;
    GNN_TRY(gnn__op_bytes(call, 2 * chunks, cols, sizeof(double), sums));
    return gnn__op_bytes(call, 2 * ROWS_AT_ONCE * chunks, cols, sizeof(gnn_real_t), blocks);
}

static bias_chunk_t chunk_at(const gnn_op_call_t *call, int64_t k)
{
    const int64_t chunks = gnn__column_chunks(call->in[0].rows), cols = call->in[0].cols;
    double *sums = call->scratch;
    gnn_real_t *block = (gnn_real_t *)(sums + 2 * chunks * cols) + 2 * ROWS_AT_ONCE * k * cols;
    return (bias_chunk_t){sums + k * cols, sums + (chunks + k) * cols, block,
                          block + ROWS_AT_ONCE * cols};
}

static int bias_shape(gnn_op_call_t *call)
{
    const gnn_operand_t *x = &call->in[0], *b = &call->in[1];
    size_t sums, blocks;
    GNN_TRY(gnn__op_dense(call, "bias", 0, 1, 2));
    if (b->rows != 1 || b->cols != x->cols)
        return gnn_op_fail(call, GNN_ESHAPE, "bias expects a row of %lld, got %lld x %lld",
                           (long long)x->cols, (long long)b->rows, (long long)b->cols);
    gnn__op_output(call, x->rows, x->cols);
    if (!x->wants_grad && !b->wants_grad)
        return GNN_OK;
    if (!gnn__activation_from_output(bias_settings(call)->kind, bias_settings(call)->slope))
        return gnn_op_fail(call, GNN_EUNSUPPORTED,
                           "bias: the derivative of %s does not follow from its output",
                           gnn__activation_name(bias_settings(call)->kind));
    call->out[0].keep = 1;
    GNN_TRY(chunk_bytes(call, &sums, &blocks));
    call->backward_scratch = sums + blocks;
    return GNN_OK;
}

/* Contiguous rows can be processed as one long row. */
static bool flat(const gnn_tensor_t *x)
{
    return gnn__stride(x) == x->cols;
}

void gnn__bias_rows(const gnn__activation_settings_t *bias_f, const gnn__dropout_t *dropout,
                    const gnn_tensor_t *x, const gnn_real_t *b, int64_t from, const gnn_tensor_t *y)
{
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    const int64_t step = flat(y) ? y->rows : 1;
    gnn__add_row(x, 1, b, y, 0, y->rows);
    for (int64_t r = 0; r < y->rows; r += step)
        kernels->activate(bias_f->kind, bias_f->slope, step * y->cols, gnn__row(y, r),
                          gnn__row(y, r));
    if (bias_f->rate > 0)
        gnn__dropout_kernels()->matrix(dropout, from, y->rows, y->cols, y->data, gnn__stride(y),
                                       false, y->data, gnn__stride(y));
}

static int bias_forward(gnn_op_call_t *call)
{
    const gnn__activation_settings_t *how = bias_settings(call);
    const gnn_tensor_t *x = &call->in[0].value, *y = &call->out[0].value;
    const gnn__dropout_t d = gnn__dropout(call->rng, how->rate);
    const int64_t step = gnn__rows_at_once(x->cols);
    int64_t work = how->rate > 0 ? 4 : 1;
    if (how->kind > GNN_LEAKY_RELU)
        work = 8;
    const int threads = gnn__op_threads(call, work * x->rows * x->cols);
    GNN__PARALLEL_FOR (threads, int64_t from = 0; from < x->rows; from += step) {
        const int64_t rows = gnn__rows_left(x, from, step);
        const gnn_tensor_t source = gnn__rows(x, from, rows), target = gnn__rows(y, from, rows);
        gnn__bias_rows(how, &d, &source, call->in[1].value.data, from, &target);
    }
    return GNN_OK;
}

/* dy f'(x) of rows from..end - 1: written to x's gradient, or to the block and added if it
 * accumulates. Their column sums are added to c->sums. */
static void block_grad(const gnn_op_call_t *call, const gnn__dropout_t *dropout, int64_t from,
                       int64_t end, const bias_chunk_t *c)
{
    const gnn__activation_settings_t *how = bias_settings(call);
    const gnn_operand_t *x = &call->in[0], *y = &call->out[0];
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    const bool own = gnn__wants(call, 0) && !x->accumulate;
    const int64_t cols = x->cols, ld = own ? gnn__stride(&x->grad) : cols;
    gnn_real_t *g = own ? gnn__row(&x->grad, from) : c->block;
    gnn_tensor_t before = gnn__rows(&y->value, from, end - from),
                 d = gnn__rows(&y->grad, from, end - from);
    if (how->rate > 0) {
        gnn__dropout_kernels()->matrix(dropout, from, d.rows, cols, d.data, d.stride, false, g, ld);
        d = (gnn_tensor_t){g, d.rows, cols, ld};
        before = gnn__undropped(&y->value, how, dropout, from, d.rows, c->y);
    }
    const int64_t step = flat(&before) && flat(&d) && ld == cols ? end - from : 1;
    for (int64_t r = 0; r < end - from; r += step)
        kernels->activate_grad(how->kind, how->slope, step * cols, gnn__row(&before, r),
                               gnn__row(&d, r), false, g + r * ld);
    for (int64_t r = from; gnn__wants(call, 0) && !own && r < end; r++)
        kernels->scale(cols, 1, g + (r - from) * ld, true, gnn__row(&x->grad, r));
    if (!gnn__wants(call, 1))
        return;
    gnn__row_kernels()->column_sum(end - from, cols, g, ld, c->block_sums);
    for (int64_t k = 0; k < cols; k++)
        c->sums[k] += c->block_sums[k];
}

/* For an f whose derivative follows from the output, the zeros of y give the dropout mask: nothing
 * is drawn again. */
static bool bias_grad_from_output(const gnn_op_call_t *call, const gnn__dropout_t *dropout,
                                  int64_t from, int64_t end, const bias_chunk_t *c)
{
    const gnn_operand_t *x = &call->in[0], *y = &call->out[0];
    gnn__grad_from_output_t grad;
    if (!gnn__wants(call, 0) || x->accumulate ||
        !gnn__grad_from_output(bias_settings(call), dropout, &grad))
        return false;
    gnn__row_kernels()->left_grad(&grad, end - from, x->cols, gnn__row(&y->value, from),
                                  gnn__stride(&y->value), gnn__row(&y->grad, from),
                                  gnn__stride(&y->grad), gnn__row(&x->grad, from),
                                  gnn__stride(&x->grad), x->rows * x->cols, c->sums);
    return true;
}

static int bias_backward(gnn_op_call_t *call)
{
    const gnn_tensor_t *dy = &call->out[0].grad;
    const gnn__dropout_t dropout = gnn__dropout(call->rng, bias_settings(call)->rate);
    const int64_t chunks = gnn__column_chunks(dy->rows);
    const int threads =
        gnn__op_threads(call, (bias_settings(call)->rate > 0 ? 6 : 2) * dy->rows * dy->cols);
    GNN__PARALLEL_FOR (threads, int64_t k = 0; k < chunks; k++) {
        const bias_chunk_t c = chunk_at(call, k);
        const int64_t from = gnn__share(dy->rows, (int)k, (int)chunks),
                      end = gnn__share(dy->rows, (int)k + 1, (int)chunks);
        if (bias_grad_from_output(call, &dropout, from, end, &c))
            continue;
        for (int64_t col = 0; col < dy->cols; col++)
            c.sums[col] = 0;
        for (int64_t r = from; r < end; r += ROWS_AT_ONCE)
            block_grad(call, &dropout, r, r + ROWS_AT_ONCE < end ? r + ROWS_AT_ONCE : end, &c);
    }
    if (gnn__wants(call, 1)) {
        double *sums = call->scratch;
        gnn__column_total(chunks, dy->cols, sums);
        gnn__column_send(sums, 1, &call->in[1]);
    }
    return GNN_OK;
}

static gnn_real_t *bias_rate(void *attributes)
{
    return &((gnn__activation_settings_t *)attributes)->rate;
}

static const gnn__activation_settings_t *bias_f(const void *attributes)
{
    return attributes;
}

static const gnn__op_traits_t bias_traits = {.rate = bias_rate, .f = bias_f};
const gnn_op_t gnn__op_bias = {.name = "bias",
                               .shape = bias_shape,
                               .forward = bias_forward,
                               .backward = bias_backward,
                               .flags = GNN_OP_ELEMENTWISE,
                               .traits = &bias_traits};

/* ---- dropout ---- */

/* Inverted dropout. The mask is keyed by (row, column) and drawn again in backward, never stored.
 * Outside of training: the identity. */

static gnn_real_t rate_of(const gnn_op_call_t *call)
{
    return ((const gnn__dropout_settings_t *)call->attributes)->rate;
}

static int dropout_shape(gnn_op_call_t *call)
{
    GNN_TRY(gnn__op_dense(call, "dropout", 0, 0, 1));
    if (!(rate_of(call) >= 0 && rate_of(call) < 1))
        return gnn_op_fail(call, GNN_EINVALID, "dropout takes a rate in [0, 1), got %g",
                           (double)rate_of(call));
    gnn__op_output(call, call->in[0].rows, call->in[0].cols);
    return GNN_OK;
}

static void apply_dropout(const gnn_op_call_t *call, const gnn_tensor_t *x, bool add,
                          const gnn_tensor_t *y)
{
    if (!call->training || rate_of(call) == 0) {
        gnn__op_send(call, 1, x, y, add);
        return;
    }
    const gnn__dropout_t d = gnn__dropout(call->rng, rate_of(call));
    const gnn__dropout_kernels_t *kernels = gnn__dropout_kernels();
    const int threads = gnn__op_threads(call, 4 * x->rows * x->cols);
    const int64_t pieces = (x->rows + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE;
    GNN__PARALLEL_FOR (threads, int64_t k = 0; k < pieces; k++) {
        const int64_t row = k * ROWS_AT_ONCE,
                      rows = x->rows - row < ROWS_AT_ONCE ? x->rows - row : ROWS_AT_ONCE;
        kernels->matrix(&d, row, rows, x->cols, gnn__row(x, row), gnn__stride(x), add,
                        gnn__row(y, row), gnn__stride(y));
    }
}

static int dropout_forward(gnn_op_call_t *call)
{
    apply_dropout(call, &call->in[0].value, false, &call->out[0].value);
    return GNN_OK;
}

static int dropout_backward(gnn_op_call_t *call)
{
    if (gnn__wants(call, 0))
        apply_dropout(call, &call->out[0].grad, call->in[0].accumulate, &call->in[0].grad);
    return GNN_OK;
}

static gnn_real_t *dropout_rate(void *attributes)
{
    return &((gnn__dropout_settings_t *)attributes)->rate;
}

static const gnn__op_traits_t dropout_traits = {.rate = dropout_rate, .is_dropout = true};
const gnn_op_t gnn__op_dropout = {.name = "dropout",
                                  .shape = dropout_shape,
                                  .forward = dropout_forward,
                                  .backward = dropout_backward,
                                  .flags = GNN_OP_ELEMENTWISE,
                                  .traits = &dropout_traits};
