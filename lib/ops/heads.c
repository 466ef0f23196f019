/* Ops on (n x heads*d): one dot product per head, and the mean over heads. */
#include <lib/kernels/rowwise/rowwise.h>
#include <lib/ops/support.h>
#include <lib/ops/traits.h>

enum { ROWS_AT_ONCE = 64 };

static int64_t heads_of(const gnn_op_call_t *call)
{
    return ((const gnn__heads_settings_t *)call->attributes)->heads;
}

static int check_heads(const gnn_op_call_t *call, const char *name)
{
    const int64_t heads = heads_of(call), cols = call->in[0].cols;
    if (!gnn__splits(cols, heads))
        return gnn_op_fail(call, GNN_ESHAPE, "%s: %lld columns do not divide into %lld heads", name,
                           (long long)cols, (long long)heads);
    return GNN_OK;
}

/* ---- head_dot: y_vrh = sum over k of x_rhk a_vhk; row r of vector v is row v n + r of y ---- */

static int64_t vectors_of(const gnn_op_call_t *call)
{
    return call->n_in - 1;
}

static int head_dot_shape(gnn_op_call_t *call)
{
    const gnn_operand_t *x = &call->in[0], *a = &call->in[1];
    GNN_TRY(gnn__op_dense(call, "head_dot", 0, (int)vectors_of(call), 1 + (int)vectors_of(call)));
    GNN_TRY(check_heads(call, "head_dot"));
    gnn__op_output(call, x->rows * vectors_of(call), heads_of(call));
    for (int64_t v = 0; v < vectors_of(call); v++, a++) {
        if (a->rows != 1 || a->cols != x->cols)
            return gnn_op_fail(call, GNN_ESHAPE,
                               "head_dot expects a vector of 1 x %lld, got %lld x %lld",
                               (long long)x->cols, (long long)a->rows, (long long)a->cols);
        call->in[0].keep |= a->wants_grad;
        call->in[1 + v].keep = x->wants_grad;
    }
    return gnn__op_bytes(call, vectors_of(call) * gnn__column_chunks(x->rows), x->cols,
                         sizeof(double), &call->backward_scratch);
}

/* The kernel's arguments for ROWS_AT_ONCE rows from `from` on and GNN__HEAD_VECTORS vectors from v
 * on. */
static gnn__heads_block_t block_of(const gnn_op_call_t *call, int64_t v, int64_t from, bool backward)
{
    const gnn_tensor_t *x = &call->in[0].value,
                       *y = backward ? &call->out[0].grad : &call->out[0].value;
    const int64_t left = vectors_of(call) - v;
    gnn__heads_block_t b = {.rows = gnn__rows_left(x, from, ROWS_AT_ONCE),
                            .heads = heads_of(call),
                            .width = x->cols / heads_of(call),
                            .vectors = left < GNN__HEAD_VECTORS ? (int)left : GNN__HEAD_VECTORS,
                            .x = gnn__row(x, from),
                            .ldx = gnn__stride(x),
                            .ldy = gnn__stride(y)};
    for (int k = 0; k < b.vectors; k++) {
        b.a[k] = call->in[1 + v + k].value.data;
        b.y[k] = gnn__row(y, (v + k) * x->rows + from);
    }
    return b;
}

static int head_dot_forward(gnn_op_call_t *call)
{
    const gnn_tensor_t *x = &call->in[0].value;
    const int threads = gnn__op_threads(call, x->rows * x->cols);
    GNN__PARALLEL_FOR (threads, int64_t from = 0; from < x->rows; from += ROWS_AT_ONCE)
        for (int64_t v = 0; v < vectors_of(call); v += GNN__HEAD_VECTORS) {
            const gnn__heads_block_t b = block_of(call, v, from, false);
            gnn__head_kernels()->dots(&b);
        }
    return GNN_OK;
}

/* Gradients from rows from .. end - 1 of one chunk: all vectors pass while a block of rows is in
 * the cache. The sums of a vector's chunks are adjacent. */
static void chunk_grad(const gnn_op_call_t *call, int64_t from, int64_t end, double *sums,
                       int64_t chunks)
{
    const gnn_operand_t *x = &call->in[0];
    for (; from < end; from += ROWS_AT_ONCE)
        for (int64_t v = 0; v < vectors_of(call); v += GNN__HEAD_VECTORS) {
            gnn__heads_block_t b = block_of(call, v, from, true);
            b.rows = end - from < b.rows ? end - from : b.rows;
            if (gnn__wants(call, 0)) {
                b.dx = gnn__row(&x->grad, from);
                b.lddx = gnn__stride(&x->grad);
                b.add = x->accumulate || v > 0;
            }
            for (int k = 0; k < b.vectors; k++)
                b.sums[k] =
                    gnn__wants(call, (int)(1 + v) + k) ? sums + (v + k) * chunks * x->cols : NULL;
            gnn__head_kernels()->grads(&b);
        }
}

static int head_dot_backward(gnn_op_call_t *call)
{
    const int64_t rows = call->in[0].rows, cols = call->in[0].cols;
    const int64_t vectors = vectors_of(call), chunks = gnn__column_chunks(rows);
    const int threads = gnn__op_threads(call, rows * cols);
    double *sums = call->scratch;
    memset(sums, 0, sizeof *sums * (size_t)(vectors * chunks * cols));
    GNN__PARALLEL_FOR (threads, int64_t k = 0; k < chunks; k++)
        chunk_grad(call, gnn__share(rows, (int)k, (int)chunks),
                   gnn__share(rows, (int)k + 1, (int)chunks), sums + k * cols, chunks);
    for (int64_t v = 0; v < vectors; v++)
        if (gnn__wants(call, 1 + (int)v)) {
            gnn__column_total(chunks, cols, sums + v * chunks * cols);
            gnn__column_send(sums + v * chunks * cols, 1, &call->in[1 + v]);
        }
    return GNN_OK;
}

static const gnn__op_traits_t head_dot_traits = {.whole = 1u << 1 | 1u << 2};
const gnn_op_t gnn__op_head_dot = {.name = "head_dot",
                                   .flags = GNN_OP_BY_ROWS,
                                   .shape = head_dot_shape,
                                   .forward = head_dot_forward,
                                   .backward = head_dot_backward,
                                   .traits = &head_dot_traits};

/* ---- head_mean: y_rk = mean over h of x_rhk ---- */

static int head_mean_shape(gnn_op_call_t *call)
{
    GNN_TRY(gnn__op_dense(call, "head_mean", 0, 0, 1));
    GNN_TRY(check_heads(call, "head_mean"));
    gnn__op_output(call, call->in[0].rows, call->in[0].cols / heads_of(call));
    return GNN_OK;
}

static int head_mean_forward(gnn_op_call_t *call)
{
    const gnn_tensor_t *x = &call->in[0].value, *y = &call->out[0].value;
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    const int64_t heads = heads_of(call), d = y->cols;
    const gnn_real_t share = 1 / (gnn_real_t)heads;
    const int threads = gnn__op_threads(call, x->rows * x->cols);
    GNN__PARALLEL_FOR (threads, int64_t r = 0; r < x->rows; r++)
        for (int64_t h = 0; h < heads; h++)
            kernels->scale(d, share, gnn__row(x, r) + h * d, h > 0, gnn__row(y, r));
    return GNN_OK;
}

static int head_mean_backward(gnn_op_call_t *call)
{
    const gnn_tensor_t *dx = &call->in[0].grad, *dy = &call->out[0].grad;
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    const int64_t heads = heads_of(call), d = dy->cols;
    const gnn_real_t share = 1 / (gnn_real_t)heads;
    const bool add = call->in[0].accumulate;
    const int threads = gnn__op_threads(call, dy->rows * heads * d);
    if (!gnn__wants(call, 0))
        return GNN_OK;
    GNN__PARALLEL_FOR (threads, int64_t r = 0; r < dy->rows; r++)
        for (int64_t h = 0; h < heads; h++)
            kernels->scale(d, share, gnn__row(dy, r), add, gnn__row(dx, r) + h * d);
    return GNN_OK;
}

const gnn_op_t gnn__op_head_mean = {.name = "head_mean",
                                    .flags = GNN_OP_BY_ROWS,
                                    .shape = head_mean_shape,
                                    .forward = head_mean_forward,
                                    .backward = head_mean_backward};
