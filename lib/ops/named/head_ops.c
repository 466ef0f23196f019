/* Ops on (n x heads*d): sums within and over heads, mixing, L2 normalisation. */
#include <lib/ops/named/named_ops.h>
#include <lib/ops/traits.h>
#include <lib/ops/unit_rows.h>

/* ---- head_sum ---- */

/* Sum within each head: (n x h*d) -> (n x h). Option: heads. */

static int head_sum_shape(gnn_op_call_t *call)
{
    int64_t heads;
    GNN_TRY(gnn__op_heads(call, "head_sum", &heads));
    gnn__op_output(call, call->in[0].rows, heads);
    return GNN_OK;
}

static int head_sum_forward(gnn_op_call_t *call)
{
    const gnn_tensor_t *x = &call->in[0].value, *y = &call->out[0].value;
    const int64_t d = x->cols / y->cols;
    const int threads = gnn__op_threads(call, x->rows * x->cols);
    GNN__PARALLEL_FOR (threads, int64_t r = 0; r < x->rows; r++)
        for (int64_t h = 0; h < y->cols; h++) {
            double sum = 0;
            for (int64_t c = h * d; c < (h + 1) * d; c++)
                sum += (double)gnn__row(x, r)[c];
            gnn__row(y, r)[h] = (gnn_real_t)sum;
        }
    return GNN_OK;
}

static int head_sum_backward(gnn_op_call_t *call)
{
    const gnn_tensor_t *dx = &call->in[0].grad, *dy = &call->out[0].grad;
    const int64_t d = call->in[0].cols / dy->cols;
    if (!gnn__wants(call, 0))
        return GNN_OK;
    gnn__op_begin(call, 0);
    for (int64_t r = 0; r < dy->rows; r++)
        for (int64_t c = 0; c < dx->cols; c++)
            gnn__row(dx, r)[c] += gnn__row(dy, r)[c / d];
    return GNN_OK;
}

static const gnn_option_t head_sum_options[] = {GNN__COUNT_OPTION("heads", INT32_MAX, "")};

const gnn_op_t gnn_op_head_sum = {.name = "head_sum",
                                  GNN__OPTIONS(head_sum_options),
                                  .shape = head_sum_shape,
                                  .forward = head_sum_forward,
                                  .backward = head_sum_backward,
                                  .flags = GNN_OP_BY_ROWS};

/* ---- fold_heads ---- */

/* Sum over heads: (n x h*d) -> (n x d). Option: heads. */

static int fold_heads_shape(gnn_op_call_t *call)
{
    int64_t heads;
    GNN_TRY(gnn__op_heads(call, "fold_heads", &heads));
    gnn__op_output(call, call->in[0].rows, call->in[0].cols / heads);
    return GNN_OK;
}

static int fold_heads_forward(gnn_op_call_t *call)
{
    const gnn_tensor_t *x = &call->in[0].value, *y = &call->out[0].value;
    const int threads = gnn__op_threads(call, x->rows * x->cols);
    GNN__PARALLEL_FOR (threads, int64_t r = 0; r < x->rows; r++)
        for (int64_t c = 0; c < y->cols; c++) {
            double sum = 0;
            for (int64_t at = c; at < x->cols; at += y->cols)
                sum += (double)gnn__row(x, r)[at];
            gnn__row(y, r)[c] = (gnn_real_t)sum;
        }
    return GNN_OK;
}

static int fold_heads_backward(gnn_op_call_t *call)
{
    const gnn_tensor_t *dx = &call->in[0].grad, *dy = &call->out[0].grad;
    if (!gnn__wants(call, 0))
        return GNN_OK;
    gnn__op_begin(call, 0);
    for (int64_t r = 0; r < dy->rows; r++)
        for (int64_t c = 0; c < dx->cols; c++)
            gnn__row(dx, r)[c] += gnn__row(dy, r)[c % dy->cols];
    return GNN_OK;
}

static const gnn_option_t fold_heads_options[] = {GNN__COUNT_OPTION("heads", INT32_MAX, "")};

const gnn_op_t gnn_op_fold_heads = {.name = "fold_heads",
                                    GNN__OPTIONS(fold_heads_options),
                                    .shape = fold_heads_shape,
                                    .forward = fold_heads_forward,
                                    .backward = fold_heads_backward};

/* ---- mix_heads ---- */

/* Linear mixing of heads: head b of y is the sum over a of m_ab times head a of x. x (n x A*d), m
 * (A x B) -> (n x B*d). */

static int mix_heads_shape(gnn_op_call_t *call)
{
    const gnn_operand_t *x = &call->in[0], *m = &call->in[1];
    int64_t cols;
    GNN_TRY(gnn__op_dense(call, "mix_heads", 0, 1, 2));
    if (m->rows < 1 || x->cols % m->rows != 0)
        return gnn_op_fail(call, GNN_ESHAPE, "mix_heads: %lld columns do not divide into %lld heads",
                           (long long)x->cols, (long long)m->rows);
    if (!gnn__mul(x->cols / m->rows, m->cols, &cols))
        return gnn_op_fail(call, GNN_EOVERFLOW, "mix_heads: the count of columns overflows");
    gnn__op_output(call, x->rows, cols);
    call->in[0].keep = m->wants_grad;
    call->in[1].keep = x->wants_grad;
    return gnn__column_bytes(call, x->rows, m->rows * m->cols, &call->backward_scratch);
}

static int mix_heads_forward(gnn_op_call_t *call)
{
    const gnn_tensor_t *x = &call->in[0].value, *m = &call->in[1].value, *y = &call->out[0].value;
    const int64_t d = x->cols / m->rows;
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    const int threads = gnn__op_threads(call, x->rows * x->cols * m->cols);
    GNN__PARALLEL_FOR (threads, int64_t r = 0; r < x->rows; r++)
        for (int64_t b = 0; b < m->cols; b++)
            for (int64_t a = 0; a < m->rows; a++)
                kernels->scale(d, gnn__row(m, a)[b], gnn__row(x, r) + a * d, a > 0,
                               gnn__row(y, r) + b * d);
    return GNN_OK;
}

/* Gradients from one row: dx, and its contribution to dm. */
static void row_grad(const gnn_op_call_t *call, int64_t r, double *sums)
{
    const gnn_tensor_t *m = &call->in[1].value;
    const int64_t d = call->in[0].cols / m->rows;
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    for (int64_t a = 0; a < m->rows; a++)
        for (int64_t b = 0; b < m->cols; b++) {
            const gnn_real_t *dy = gnn__row(&call->out[0].grad, r) + b * d;
            if (gnn__wants(call, 0))
                kernels->scale(d, gnn__row(m, a)[b], dy, true,
                               gnn__row(&call->in[0].grad, r) + a * d);
            if (gnn__wants(call, 1))
                sums[a * m->cols + b] += kernels->dot(d, gnn__row(&call->in[0].value, r) + a * d, dy);
        }
}

static int mix_heads_backward(gnn_op_call_t *call)
{
    const int64_t rows = call->in[0].rows, elements = call->in[1].rows * call->in[1].cols;
    const int chunks = (int)gnn__column_chunks(rows);
    double *sums = call->scratch;
    gnn__op_begin(call, 0);
    gnn__op_begin(call, 1);
    const int threads = gnn__op_threads(call, 2 * rows * call->in[0].cols * call->in[1].cols);
    GNN__PARALLEL_FOR (threads, int k = 0; k < chunks; k++) {
        memset(sums + k * elements, 0, sizeof *sums * (size_t)elements);
        for (int64_t r = gnn__share(rows, k, chunks); r < gnn__share(rows, k + 1, chunks); r++)
            row_grad(call, r, sums + k * elements);
    }
    if (gnn__wants(call, 1) && call->out[0].cols > 0) {
        gnn__column_total(chunks, elements, sums);
        gnn__op_accumulate(&call->in[1], sums);
    }
    return GNN_OK;
}

static const gnn__op_traits_t mix_heads_traits = {.whole = 1u << 1};
const gnn_op_t gnn_op_mix_heads = {.name = "mix_heads",
                                   GNN__NO_OPTIONS,
                                   .flags = GNN_OP_BY_ROWS,
                                   .shape = mix_heads_shape,
                                   .forward = mix_heads_forward,
                                   .backward = mix_heads_backward,
                                   .traits = &mix_heads_traits};

/* ---- unit_heads ---- */

/* L2 normalisation per head: (n x h*d). Option: heads. */

static int64_t heads_of(const gnn_op_call_t *call)
{
    return (int64_t)gnn__op_option(call, 0, 1);
}

static int unit_heads_shape(gnn_op_call_t *call)
{
    int64_t heads;
    GNN_TRY(gnn__op_integer(call, "unit_heads", 0, INT32_MAX, &heads));
    return gnn__unit_shape(call, "unit_heads", heads);
}

static int unit_heads_forward(gnn_op_call_t *call)
{
    return gnn__unit_forward(call, heads_of(call));
}

static int unit_heads_backward(gnn_op_call_t *call)
{
    return gnn__unit_backward(call, heads_of(call));
}

static const gnn_option_t unit_heads_options[] = {GNN__COUNT_OPTION("heads", INT32_MAX, "")};

const gnn_op_t gnn_op_unit_heads = {.name = "unit_heads",
                                    GNN__OPTIONS(unit_heads_options),
                                    .shape = unit_heads_shape,
                                    .forward = unit_heads_forward,
                                    .backward = unit_heads_backward};

/* ---- transpose_heads ---- */

/* Column b of head a becomes column a of head b: (n x A*B) -> (n x B*A). Option: A. Rows of
 * positions with channels become heads of a channel each. */

static int transpose_heads_shape(gnn_op_call_t *call)
{
    int64_t heads;
    GNN_TRY(gnn__op_heads(call, "transpose_heads", &heads));
    gnn__op_output(call, call->in[0].rows, call->in[0].cols);
    return GNN_OK;
}

/* to = or += from, whose rows are `heads` x width, transposed. */
static void transpose(const gnn_op_call_t *call, const gnn_tensor_t *from, int64_t heads, bool add,
                      const gnn_tensor_t *to)
{
    const int64_t width = from->cols / heads;
    const int threads = gnn__op_threads(call, from->rows * from->cols);
    GNN__PARALLEL_FOR (threads, int64_t r = 0; r < from->rows; r++) {
        const gnn_real_t *x = gnn__row(from, r);
        gnn_real_t *y = gnn__row(to, r);
        for (int64_t b = 0; b < width; b++)
            for (int64_t a = 0; a < heads; a++)
                y[b * heads + a] = (add ? y[b * heads + a] : 0) + x[a * width + b];
    }
}

static int transpose_heads_forward(gnn_op_call_t *call)
{
    transpose(call, &call->in[0].value, heads_of(call), false, &call->out[0].value);
    return GNN_OK;
}

static int transpose_heads_backward(gnn_op_call_t *call)
{
    if (gnn__wants(call, 0))
        transpose(call, &call->out[0].grad, call->in[0].cols / heads_of(call),
                  call->in[0].accumulate != 0, &call->in[0].grad);
    return GNN_OK;
}

static const gnn_option_t transpose_heads_options[] = {GNN__COUNT_OPTION("heads", INT32_MAX, "")};

const gnn_op_t gnn_op_transpose_heads = {.name = "transpose_heads",
                                         GNN__OPTIONS(transpose_heads_options),
                                         .shape = transpose_heads_shape,
                                         .forward = transpose_heads_forward,
                                         .backward = transpose_heads_backward,
                                         .flags = GNN_OP_BY_ROWS};
