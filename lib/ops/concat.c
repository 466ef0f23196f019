/* Tensors put together: concatenation along columns and rows, and repetition. */
#include <lib/ops/support.h>

/* ---- concat ---- */

/* Concatenation along columns. */

static int concat_shape(gnn_op_call_t *call)
{
    int64_t cols = 0;
    GNN_TRY(gnn__op_dense(call, "concat", 0, call->n_in - 1, call->n_in));
    if (call->n_in < 1)
        return gnn_op_fail(call, GNN_ESHAPE, "concat expects at least one tensor");
    for (int k = 0; k < call->n_in; k++) {
        if (call->in[k].rows != call->in[0].rows)
            return gnn_op_fail(call, GNN_ESHAPE,
                               "concat expects %lld rows as in its first tensor, tensor %d has %lld",
                               (long long)call->in[0].rows, k, (long long)call->in[k].rows);
        if (!gnn__add(cols, call->in[k].cols, &cols))
            return gnn_op_fail(call, GNN_EOVERFLOW, "concat: the columns of %d tensors overflow",
                               call->n_in);
    }
    gnn__op_output(call, call->in[0].rows, cols);
    return GNN_OK;
}

/* Columns first .. first + cols - 1 of `whole`. */
static gnn_tensor_t columns_of(const gnn_tensor_t *whole, int64_t first, int64_t cols)
{
    return (gnn_tensor_t){whole->data + first, whole->rows, cols, gnn__stride(whole)};
}

static int concat_forward(gnn_op_call_t *call)
{
    int64_t first = 0;
    for (int k = 0; k < call->n_in; first += call->in[k++].cols) {
        const gnn_tensor_t part = columns_of(&call->out[0].value, first, call->in[k].cols);
        gnn__op_send(call, 1, &call->in[k].value, &part, false);
    }
    return GNN_OK;
}

static int concat_backward(gnn_op_call_t *call)
{
    int64_t first = 0;
    for (int k = 0; k < call->n_in; first += call->in[k++].cols)
        if (gnn__wants(call, k)) {
            const gnn_tensor_t part = columns_of(&call->out[0].grad, first, call->in[k].cols);
            gnn__op_send(call, 1, &part, &call->in[k].grad, call->in[k].accumulate);
        }
    return GNN_OK;
}

const gnn_op_t gnn__op_concat = {.name = "concat",
                                 .flags = GNN_OP_BY_ROWS,
                                 .shape = concat_shape,
                                 .forward = concat_forward,
                                 .backward = concat_backward};

/* ---- stack ---- */

/* Concatenation along rows. */

static int stack_shape(gnn_op_call_t *call)
{
    int64_t rows = 0;
    GNN_TRY(gnn__op_dense(call, "stack", 0, call->n_in - 1, call->n_in));
    if (call->n_in < 1)
        return gnn_op_fail(call, GNN_ESHAPE, "stack expects at least one tensor");
    for (int k = 0; k < call->n_in; k++) {
        if (call->in[k].cols != call->in[0].cols)
            return gnn_op_fail(call, GNN_ESHAPE,
                               "stack expects %lld columns as in its first tensor, tensor %d has %lld",
                               (long long)call->in[0].cols, k, (long long)call->in[k].cols);
        if (!gnn__add(rows, call->in[k].rows, &rows))
            return gnn_op_fail(call, GNN_EOVERFLOW, "stack: the rows of %d tensors overflow",
                               call->n_in);
    }
    gnn__op_output(call, rows, call->in[0].cols);
    return GNN_OK;
}

static int stack_forward(gnn_op_call_t *call)
{
    int64_t first = 0;
    for (int k = 0; k < call->n_in; first += call->in[k++].rows) {
        const gnn_tensor_t part = gnn__rows(&call->out[0].value, first, call->in[k].rows);
        gnn__op_send(call, 1, &call->in[k].value, &part, false);
    }
    return GNN_OK;
}

static int stack_backward(gnn_op_call_t *call)
{
    int64_t first = 0;
    for (int k = 0; k < call->n_in; first += call->in[k++].rows)
        if (gnn__wants(call, k)) {
            const gnn_tensor_t part = gnn__rows(&call->out[0].grad, first, call->in[k].rows);
            gnn__op_send(call, 1, &part, &call->in[k].grad, call->in[k].accumulate);
        }
    return GNN_OK;
}

const gnn_op_t gnn__op_stack = {
    .name = "stack", .shape = stack_shape, .forward = stack_forward, .backward = stack_backward};

/* ---- repeat_rows ---- */

/* Repeats x (k x cols): row r of y is row r mod k of x. Used for learned rows that every segment
 * of a batch gets. */

/* Limit on the doubles of partial sums (or one x, if that is more). */
enum { MOST_SUMS = 1 << 20 };

static int64_t times_of(const gnn_op_call_t *call)
{
    return ((const gnn__repeat_settings_t *)call->attributes)->times;
}

/* Chunks of repetitions in backward; from the shape alone, so that results do not depend on
 * threads. */
static int64_t chunks_of(const gnn_op_call_t *call)
{
    const int64_t elements = call->in[0].rows * call->in[0].cols,
                  most = elements > 0 ? MOST_SUMS / elements : 1,
                  chunks = gnn__column_chunks(times_of(call));
    return gnn__max(gnn__min(chunks, most), 1);
}

static int repeat_rows_shape(gnn_op_call_t *call)
{
    const gnn_operand_t *x = &call->in[0];
    int64_t rows, sums;
    GNN_TRY(gnn__op_dense(call, "repeat_rows", 0, 0, 1));
    if (times_of(call) < 0)
        return gnn_op_fail(call, GNN_EINVALID, "repeat_rows expects a count >= 0, got %lld",
                           (long long)times_of(call));
    if (!gnn__mul(x->rows, times_of(call), &rows) || !gnn__mul(x->rows, x->cols, &sums))
        return gnn_op_fail(call, GNN_EOVERFLOW,
                           "repeat_rows: %lld x %lld rows of %lld columns overflow",
                           (long long)times_of(call), (long long)x->rows, (long long)x->cols);
    gnn__op_output(call, rows, x->cols);
    if (!x->wants_grad)
        return GNN_OK;
    return gnn__op_bytes(call, chunks_of(call), sums, sizeof(double), &call->backward_scratch);
}

static int repeat_rows_forward(gnn_op_call_t *call)
{
    const gnn_tensor_t *x = &call->in[0].value, *y = &call->out[0].value;
    const size_t bytes = (size_t)y->cols * sizeof(gnn_real_t);
    const int threads = gnn__op_threads(call, y->rows * y->cols);
    GNN__PARALLEL_FOR (threads, int64_t r = 0; r < (bytes ? y->rows : 0); r++)
        memcpy(gnn__row(y, r), gnn__row(x, r % x->rows), bytes);
    return GNN_OK;
}

/* Adds the chunks' sums in order and writes dx. */
static void write_grad(const gnn_operand_t *x, int64_t chunks, double *sums)
{
    gnn__column_total(chunks, x->rows * x->cols, sums);
    for (int64_t r = 0; r < x->rows; r++)
        for (int64_t c = 0; c < x->cols; c++) {
            gnn_real_t *to = gnn__row(&x->grad, r) + c;
            *to = (gnn_real_t)((x->accumulate ? (double)*to : 0) + sums[r * x->cols + c]);
        }
}

/* One row of x and its repetitions within a chunk are a strided matrix whose column sums are
 * taken. */
static int repeat_rows_backward(gnn_op_call_t *call)
{
    const gnn_operand_t *x = &call->in[0];
    const gnn_tensor_t *dy = &call->out[0].grad;
    const int64_t chunks = chunks_of(call), units = chunks * x->rows, times = times_of(call);
    double *sums = call->scratch;
    if (!gnn__wants(call, 0) || x->rows == 0 || x->cols == 0)
        return GNN_OK;
    const int threads = gnn__op_threads(call, dy->rows * dy->cols);
    GNN__PARALLEL_FOR (threads, int64_t u = 0; u < units; u++) {
        const int64_t chunk = u / x->rows, r = u % x->rows;
        const int64_t from = gnn__share(times, (int)chunk, (int)chunks),
                      end = gnn__share(times, (int)chunk + 1, (int)chunks);
        gnn__row_kernels()->column_sum(end - from, x->cols, gnn__row(dy, from * x->rows + r),
                                       x->rows * gnn__stride(dy), sums + u * x->cols);
    }
    write_grad(x, chunks, sums);
    return GNN_OK;
}

const gnn_op_t gnn__op_repeat_rows = {.name = "repeat_rows",
                                      .shape = repeat_rows_shape,
                                      .forward = repeat_rows_forward,
                                      .backward = repeat_rows_backward};
