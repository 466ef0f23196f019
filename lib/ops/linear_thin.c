/* A linear map of many rows to few columns, as in last layers: forward, and both gradients in one
 * pass (gemm_narrow.kernel.c). Chunks of rows, whose count depends on the shape alone, are
 * added in double and in order, so results do not depend on threads. */
#include <lib/kernels/dense/dense.h>
#include <lib/ops/linear.h>
#include <lib/ops/traits.h>

/* Rows of x at least, columns of x at most, rows of y per chunk. */
enum { MANY = 1024, WIDEST = 1024, ROWS_AT_ONCE = 96 };

bool gnn__linear_is_thin(const gnn_op_call_t *call)
{
    const gnn_operand_t *x = &call->in[0], *w = &call->in[1];
    const gnn__linear_settings_t *how = call->attributes;
    if (x->sparse || gnn__op_fp16(call, 1) || (how && how->transposed))
        return false;
    return x->rows >= MANY && w->cols > 0 && w->cols <= GNN__GEMM_NARROW && w->rows <= WIDEST &&
           w->rows % GNN__GEMM_NARROW_UNIT == 0;
}

bool gnn__linear_has_thin_product(const gnn_op_call_t *call)
{
    return gnn__linear_is_thin(call) && call->in[1].cols >= gnn__gemm_narrow_kernels()->least_out;
}

/* ---- forward ---- */

static int product_bytes(const gnn_op_call_t *call, size_t *bytes)
{
    return gnn__op_bytes(call, call->in[1].rows, GNN__GEMM_NARROW, sizeof(gnn_real_t), bytes);
}

static void pad_weights(const gnn_tensor_t *w, gnn_real_t *to)
{
    for (int64_t r = 0; r < w->rows; r++)
        for (int64_t c = 0; c < GNN__GEMM_NARROW; c++)
            to[r * GNN__GEMM_NARROW + c] = c < w->cols ? gnn__row(w, r)[c] : 0;
}

int gnn__linear_thin_forward(gnn_op_call_t *call)
{
    const gnn_tensor_t *x = &call->in[0].value, *y = &call->out[0].value;
    const gnn__linear_settings_t *how = call->attributes;
    const gnn_real_t *bias = gnn__has_input(call, 2) ? call->in[2].value.data : NULL;
    const int threads = gnn__op_threads(call, x->rows * x->cols);
    pad_weights(&call->in[1].value, call->scratch);
    GNN__EACH_CHUNK (k, (x->rows + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE, threads)
        gnn__gemm_narrow_kernels()->product(
            &(gnn__gemm_narrow_t){.rows = gnn__rows_left(x, k * ROWS_AT_ONCE, ROWS_AT_ONCE),
                                  .in = x->cols,
                                  .out = y->cols,
                                  .x = gnn__row(x, k * ROWS_AT_ONCE),
                                  .ldx = gnn__stride(x),
                                  .w = call->scratch,
                                  .bias = bias,
                                  .y = gnn__row(y, k * ROWS_AT_ONCE),
                                  .ldy = gnn__stride(y),
                                  .add = !bias && how && how->adds});
    return GNN_OK;
}

/* ---- backward ---- */

typedef struct {
    int64_t size, chunks; /* elements of W; count of chunks */
    gnn_real_t *w, *sums; /* W in units (gnn__gemm_narrow_grads_t); chunks x size */
} thin_t;

static int layout(const gnn_op_call_t *call, void *memory, thin_t *t, size_t *bytes)
{
    t->size = call->in[1].cols * call->in[1].rows;
    t->chunks = gnn__column_chunks(call->in[0].rows);
    GNN_TRY(gnn__op_bytes(call, t->chunks + 1, t->size, sizeof *t->w, bytes));
    if (!memory) /* only the size is wanted */
        return GNN_OK;
    t->w = memory;
    t->sums = t->w + t->size;
    return GNN_OK;
}

int gnn__linear_thin_shape(gnn_op_call_t *call)
{
    thin_t t;
    if (gnn__linear_has_thin_product(call))
        GNN_TRY(product_bytes(call, &call->forward_scratch));
    return call->in[1].wants_grad ? layout(call, NULL, &t, &call->backward_scratch) : GNN_OK;
}

/* Offset in units of W's row r and column c. */
static int64_t unit_offset(const gnn_tensor_t *w, int64_t r, int64_t c)
{
    return (r - r % GNN__GEMM_NARROW_UNIT) * w->cols + c * GNN__GEMM_NARROW_UNIT +
           r % GNN__GEMM_NARROW_UNIT;
}

static void pack_weights(const gnn_tensor_t *w, const thin_t *t)
{
    for (int64_t r = 0; r < w->rows; r++)
        for (int64_t c = 0; c < w->cols; c++)
            t->w[unit_offset(w, r, c)] = gnn__row(w, r)[c];
}

static void chunk_grad(const gnn_op_call_t *call, const thin_t *t, int64_t chunk)
{
    const gnn_operand_t *x = &call->in[0];
    const gnn_tensor_t *dy = &call->out[0].grad;
    gnn_real_t *sums = t->sums + chunk * t->size;
    const int64_t row = gnn__share(x->rows, (int)chunk, (int)t->chunks);
    memset(sums, 0, sizeof *sums * (size_t)t->size);
    gnn__gemm_narrow_kernels()->grads(&(gnn__gemm_narrow_grads_t){
        .rows = gnn__share(x->rows, (int)chunk + 1, (int)t->chunks) - row,
        .in = x->cols,
        .out = dy->cols,
        .x = gnn__row(&x->value, row),
        .ldx = gnn__stride(&x->value),
        .dy = gnn__row(dy, row),
        .lddy = gnn__stride(dy),
        .w = t->w,
        .dx = gnn__wants(call, 0) ? gnn__row(&x->grad, row) : NULL,
        .lddx = gnn__stride(&x->grad),
        .add = x->accumulate,
        .sums = sums});
}

/* Sums rows top .. top + GNN__GEMM_NARROW_UNIT - 1 of dW over the chunks. */
static void write_unit(const gnn_operand_t *w, const thin_t *t, int64_t top)
{
    double total[GNN__GEMM_NARROW_UNIT * GNN__GEMM_NARROW] = {0};
    const gnn_real_t *sums = t->sums + top * w->cols;
    for (int64_t k = 0; k < t->chunks; k++, sums += t->size)
        for (int64_t c = 0; c < GNN__GEMM_NARROW_UNIT * w->cols; c++)
            total[c] += (double)sums[c];
    for (int64_t r = 0; r < GNN__GEMM_NARROW_UNIT; r++)
        for (int64_t c = 0; c < w->cols; c++) {
            gnn_real_t *to = gnn__row(&w->grad, top + r) + c;
            *to = (gnn_real_t)((w->accumulate ? (double)*to : 0) +
                               total[c * GNN__GEMM_NARROW_UNIT + r]);
        }
}

int gnn__linear_thin_grad(const gnn_op_call_t *call)
{
    thin_t t;
    size_t bytes;
    const gnn_operand_t *x = &call->in[0], *w = &call->in[1];
    GNN_TRY(layout(call, call->scratch, &t, &bytes));
    if (gnn__wants(call, 0))
        pack_weights(&w->value, &t);
    else /* the kernel reads it, but dx is not wanted */
        memset(t.w, 0, sizeof *t.w * (size_t)t.size);
    GNN__EACH_CHUNK (k, t.chunks, gnn__op_threads(call, w->cols * x->rows * x->cols))
        chunk_grad(call, &t, k);
    const int threads = gnn__op_threads(call, t.chunks * t.size / 4);
    GNN__PARALLEL_FOR (threads, int64_t top = 0; top < w->rows; top += GNN__GEMM_NARROW_UNIT)
        write_unit(w, &t, top);
    return GNN_OK;
}
