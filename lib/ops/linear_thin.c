/* Backward of a linear map of many rows to a few numbers, as last layers have: both gradients in
 * one sweep (lib/kernels/dense/thin.h). Chunks of rows that depend on the shape alone add up in
 * double, in order, so the bits do not depend on threads. */
#include <lib/kernels/dense/thin.h>
#include <lib/ops/linear.h>

/* From so many rows on; at most so many columns of dy, and of x. */
enum { MANY = 1024, MOST = 2 * GNN__THIN, WIDEST = 1024, ROWS_AT_ONCE = 32 };

bool gnn__linear_is_thin(const gnn_op_call_t *call)
{
    const gnn_operand_t *x = &call->in[0], *w = &call->in[1];
    const gnn__linear_settings_t *how = call->attributes;
    if (!w->wants_grad || x->sparse || (how && how->transposed))
        return false;
    return x->rows >= MANY && w->cols <= MOST && w->rows <= WIDEST && w->rows % GNN__THIN_UNIT == 0;
}

typedef struct {
    int64_t groups, size, chunks; /* of columns of dy; numbers of W', whose missing rows are 0 */
    double *total;                /* size */
    gnn_real_t *w, *sums, *dy;    /* W'; chunks x size; chunks x a block of dy */
} thin_t;

static int layout(const gnn_op_call_t *call, void *memory, thin_t *t, size_t *bytes)
{
    size_t total, numbers;
    t->groups = (call->in[1].cols + GNN__THIN - 1) / GNN__THIN;
    t->size = t->groups * GNN__THIN * call->in[1].rows;
    t->chunks = gnn__column_chunks(call->in[0].rows);
    GNN_TRY(gnn__op_bytes(call, t->size, 1, sizeof *t->total, &total));
    GNN_TRY(gnn__op_bytes(call, t->size + t->chunks * (t->size + ROWS_AT_ONCE * GNN__THIN), 1,
                          sizeof *t->w, &numbers));
    *bytes = total + numbers;
    t->total = memory;
    t->w = (gnn_real_t *)(t->total + t->size);
    t->sums = t->w + t->size;
    t->dy = t->sums + t->chunks * t->size;
    return GNN_OK;
}

int gnn__linear_thin_shape(gnn_op_call_t *call)
{
    thin_t t;
    return layout(call, NULL, &t, &call->backward_scratch);
}

static void turn_weights(const gnn_tensor_t *w, const thin_t *t)
{
    memset(t->w, 0, sizeof *t->w * (size_t)t->size);
    for (int64_t r = 0; r < w->rows; r++)
        for (int64_t c = 0; c < w->cols; c++)
            t->w[c * w->rows + r] = gnn__row(w, r)[c];
}

/* Columns first .. of some rows of dy, those that are not there 0. */
static void take_columns(const gnn_tensor_t *dy, int64_t row, int64_t rows, int64_t first,
                         gnn_real_t *to)
{
    for (int64_t r = 0; r < rows; r++)
        for (int64_t k = 0; k < GNN__THIN; k++)
            to[r * GNN__THIN + k] = first + k < dy->cols ? gnn__row(dy, row + r)[first + k] : 0;
}

static void chunk_grad(const gnn_op_call_t *call, const thin_t *t, int64_t chunk)
{
    const gnn_operand_t *x = &call->in[0];
    const gnn_tensor_t *dy = &call->out[0].grad;
    gnn_real_t *sums = t->sums + chunk * t->size, *block = t->dy + chunk * ROWS_AT_ONCE * GNN__THIN;
    const int64_t end = gnn__share(x->rows, (int)chunk + 1, (int)t->chunks);
    memset(sums, 0, sizeof *sums * (size_t)t->size);
    for (int64_t row = gnn__share(x->rows, (int)chunk, (int)t->chunks); row < end; row += ROWS_AT_ONCE)
        for (int64_t g = 0; g < t->groups; g++) {
            const int64_t rows = end - row < ROWS_AT_ONCE ? end - row : ROWS_AT_ONCE;
            take_columns(dy, row, rows, g * GNN__THIN, block);
            gnn__thin_kernels()->grads(
                &(gnn__thin_t){.rows = rows,
                               .cols = x->cols,
                               .x = gnn__row(&x->value, row),
                               .ldx = gnn__stride(&x->value),
                               .dy = block,
                               .w = t->w + g * GNN__THIN * x->cols,
                               .dx = gnn__wants(call, 0) ? gnn__row(&x->grad, row) : NULL,
                               .lddx = gnn__stride(&x->grad),
                               .add = x->accumulate || g > 0,
                               .sums = sums + g * GNN__THIN * x->cols});
        }
}

static void send_sums(const gnn_operand_t *w, const thin_t *t)
{
    for (int64_t c = 0; c < t->size; c++)
        t->total[c] = (double)t->sums[c];
    for (int64_t k = 1; k < t->chunks; k++)
        for (int64_t c = 0; c < t->size; c++)
            t->total[c] += (double)t->sums[k * t->size + c];
    for (int64_t r = 0; r < w->rows; r++)
        for (int64_t c = 0; c < w->cols; c++) {
            gnn_real_t *to = gnn__row(&w->grad, r) + c;
            *to = (gnn_real_t)((w->accumulate ? (double)*to : 0) + t->total[c * w->rows + r]);
        }
}

int gnn__linear_thin_grad(const gnn_op_call_t *call)
{
    thin_t t;
    size_t bytes;
    GNN_TRY(layout(call, call->scratch, &t, &bytes));
    const int threads = gnn__op_threads(call, 4 * call->in[0].rows * call->in[0].cols);
    if (gnn__wants(call, 0))
        turn_weights(&call->in[1].value, &t);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t k = 0; k < t.chunks; k++)
        chunk_grad(call, &t, k);
    send_sums(&call->in[1], &t);
    return GNN_OK;
}
