/* All rows of x (k x cols), again and again: row r of y is row r mod k of x. Rows that are learned
 * once and stand in every segment of a batch. */
#include <lib/ops/support.h>

/* Sums of one direction, in doubles, take no more numbers than this or than one x. */
enum { MOST_SUMS = 1 << 20 };

static int64_t times_of(const gnn_op_call_t *call)
{
    return ((const gnn__repeat_settings_t *)call->attributes)->times;
}

/* The repetitions are added up in so many chunks, by the shape alone. */
static int64_t chunks_of(const gnn_op_call_t *call)
{
    const int64_t numbers = call->in[0].rows * call->in[0].cols,
                  most = numbers > 0 ? MOST_SUMS / numbers : 1,
                  chunks = gnn__column_chunks(times_of(call));
    return chunks <= most ? chunks : most > 1 ? most : 1;
}

static int repeat_rows_shape(gnn_op_call_t *call)
{
    const gnn_operand_t *x = &call->in[0];
    int64_t rows, sums;
    GNN_TRY(gnn__op_dense(call, "repeat_rows", 0, 0, 1));
    if (times_of(call) < 0)
        return gnn_op_fail(call, GNN_EINVALID, "repeat_rows expects a number of times >= 0, got %lld",
                           (long long)times_of(call));
    if (!gnn__mul(x->rows, times_of(call), &rows) || !gnn__mul(x->rows, x->cols, &sums))
        return gnn_op_fail(call, GNN_EOVERFLOW, "repeat_rows: %lld x %lld rows of %lld do not fit",
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

/* The chunks' sums, added up in order, into dx. */
static void send_sums(const gnn_operand_t *x, int64_t chunks, double *sums)
{
    gnn__column_total(chunks, x->rows * x->cols, sums);
    for (int64_t r = 0; r < x->rows; r++)
        for (int64_t c = 0; c < x->cols; c++) {
            gnn_real_t *to = gnn__row(&x->grad, r) + c;
            *to = (gnn_real_t)((x->accumulate ? (double)*to : 0) + sums[r * x->cols + c]);
        }
}

/* One row of x and its repetitions in one chunk are a matrix whose columns are added up. */
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
        const int64_t chunk = u / x->rows, r = u % x->rows,
                      from = gnn__share(times, (int)chunk, (int)chunks),
                      end = gnn__share(times, (int)chunk + 1, (int)chunks);
        gnn__row_kernels()->column_sum(end - from, x->cols, gnn__row(dy, from * x->rows + r),
                                       x->rows * gnn__stride(dy), sums + u * x->cols);
    }
    send_sums(x, chunks, sums);
    return GNN_OK;
}

const gnn_op_t gnn__op_repeat_rows = {.name = "repeat_rows",
                                      .shape = repeat_rows_shape,
                                      .forward = repeat_rows_forward,
                                      .backward = repeat_rows_backward};
