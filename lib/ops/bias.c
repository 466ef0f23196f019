/* y = dropout(f(x + b)), b one row: a layer's last two ops, and the next one's first, in one sweep.
 * An f whose derivative needs x is for inference only: the layer then records add and activation.
 * Backward has y, or 0 where it was dropped: no gradient passes there. */
#include <lib/kernels/rowwise/dropout_mask.h>
#include <lib/kernels/rowwise/row_norm.h>
#include <lib/ops/support.h>
#include <lib/ops/traits.h>

/* Of a block in backward. */
enum { ROWS_AT_ONCE = 32 };

static const gnn__activation_settings_t *settings(const gnn_op_call_t *call)
{
    return call->attributes;
}

/* Of one chunk of rows: sums of all its rows and of the running block, that block, and y as it was
 * before dropout. */
typedef struct {
    double *sums, *block_sums;
    gnn_real_t *block, *y;
} chunk_t;

static int chunk_bytes(const gnn_op_call_t *call, size_t *sums, size_t *blocks)
{
    const int64_t chunks = gnn__column_chunks(call->in[0].rows), cols = call->in[0].cols;
    GNN_TRY(gnn__op_bytes(call, 2 * chunks, cols, sizeof(double), sums));
    return gnn__op_bytes(call, 2 * ROWS_AT_ONCE * chunks, cols, sizeof(gnn_real_t), blocks);
}

static chunk_t chunk_at(const gnn_op_call_t *call, int64_t k)
{
    const int64_t chunks = gnn__column_chunks(call->in[0].rows), cols = call->in[0].cols;
    double *sums = call->scratch;
    gnn_real_t *block = (gnn_real_t *)(sums + 2 * chunks * cols) + 2 * ROWS_AT_ONCE * k * cols;
    return (chunk_t){sums + k * cols, sums + (chunks + k) * cols, block, block + ROWS_AT_ONCE * cols};
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
    if (!gnn__activation_from_output(settings(call)->kind, settings(call)->slope))
        return gnn_op_fail(call, GNN_EUNSUPPORTED, "bias: %s has no derivative from its value",
                           gnn__activation_name(settings(call)->kind));
    call->out[0].keep = 1;
    GNN_TRY(chunk_bytes(call, &sums, &blocks));
    call->backward_scratch = sums + blocks;
    return GNN_OK;
}

/* Rows follow one another without a gap: many are as good as one long one. */
static bool flat(const gnn_tensor_t *x)
{
    return gnn__stride(x) == x->cols;
}

void gnn__bias_rows(const gnn__activation_settings_t *f, const gnn__dropout_t *dropout,
                    const gnn_tensor_t *x, const gnn_real_t *b, int64_t from, const gnn_tensor_t *y)
{
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    const int64_t step = flat(y) ? y->rows : 1;
    gnn__add_row(x, 1, b, y, 0, y->rows);
    for (int64_t r = 0; r < y->rows; r += step)
        kernels->activate(f->kind, f->slope, step * y->cols, gnn__row(y, r), gnn__row(y, r));
    if (f->rate > 0)
        gnn__dropout_kernels()->matrix(dropout, from, y->rows, y->cols, y->data, gnn__stride(y),
                                       false, y->data, gnn__stride(y));
}

static int bias_forward(gnn_op_call_t *call)
{
    const gnn__activation_settings_t *how = settings(call);
    const gnn_tensor_t *x = &call->in[0].value, *y = &call->out[0].value;
    const gnn__dropout_t d = gnn__dropout(call->rng, how->rate);
    const int64_t step = gnn__rows_at_once(x->cols), work = how->kind > GNN_LEAKY_RELU ? 8
                                                            : how->rate > 0            ? 4
                                                                                       : 1;
    const int threads = gnn__op_threads(call, work * x->rows * x->cols);
    GNN__PARALLEL_FOR (threads, int64_t from = 0; from < x->rows; from += step) {
        const int64_t rows = gnn__rows_left(x, from, step);
        const gnn_tensor_t source = gnn__rows(x, from, rows), target = gnn__rows(y, from, rows);
        gnn__bias_rows(how, &d, &source, call->in[1].value.data, from, &target);
    }
    return GNN_OK;
}

/* Rows from..end - 1 of dy f'(x), into x's gradient, or beside it where it is not the first to
 * write there; their sums into `c`. */
static void block_grad(const gnn_op_call_t *call, const gnn__dropout_t *dropout, int64_t from,
                       int64_t end, const chunk_t *c)
{
    const gnn__activation_settings_t *how = settings(call);
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

/* What f and dropout left of a chunk tells all of its derivative: nothing is drawn again. */
static bool left_grad(const gnn_op_call_t *call, const gnn__dropout_t *dropout, int64_t from,
                      int64_t end, const chunk_t *c)
{
    const gnn_operand_t *x = &call->in[0], *y = &call->out[0];
    gnn__grad_from_output_t left;
    if (!gnn__wants(call, 0) || x->accumulate ||
        !gnn__grad_from_output(settings(call), dropout, &left))
        return false;
    gnn__row_kernels()->left_grad(&left, end - from, x->cols, gnn__row(&y->value, from),
                                  gnn__stride(&y->value), gnn__row(&y->grad, from),
                                  gnn__stride(&y->grad), gnn__row(&x->grad, from),
                                  gnn__stride(&x->grad), x->rows * x->cols, c->sums);
    return true;
}

static int bias_backward(gnn_op_call_t *call)
{
    const gnn_tensor_t *dy = &call->out[0].grad;
    const gnn__dropout_t dropout = gnn__dropout(call->rng, settings(call)->rate);
    const int64_t chunks = gnn__column_chunks(dy->rows);
    const int threads =
        gnn__op_threads(call, (settings(call)->rate > 0 ? 6 : 2) * dy->rows * dy->cols);
    GNN__PARALLEL_FOR (threads, int64_t k = 0; k < chunks; k++) {
        const chunk_t c = chunk_at(call, k);
        const int64_t from = gnn__share(dy->rows, (int)k, (int)chunks),
                      end = gnn__share(dy->rows, (int)k + 1, (int)chunks);
        if (left_grad(call, &dropout, from, end, &c))
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

static gnn_real_t *rate(void *attributes)
{
    return &((gnn__activation_settings_t *)attributes)->rate;
}

static const gnn__activation_settings_t *f(const void *attributes)
{
    return attributes;
}

static const gnn__op_traits_t traits = {.rate = rate, .f = f};
const gnn_op_t gnn__op_bias = {.name = "bias",
                               .shape = bias_shape,
                               .forward = bias_forward,
                               .backward = bias_backward,
                               .flags = GNN_OP_ELEMENTWISE,
                               .traits = &traits};
