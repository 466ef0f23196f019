/* Helpers that ops share: error messages, shapes, lines of elements, column sums, derivatives. */
#include <lib/kernels/dense/dense.h>
#include <lib/kernels/rowwise/rowwise.h>
#include <lib/ops/support.h>

#include <math.h>
#include <stdarg.h>

const gnn_option_t gnn__no_options[1];

int gnn_op_fail(const gnn_op_call_t *call, int code, const char *format, ...)
{
    char text[512];
    va_list arguments;
    GNN__NEED(call);
    GNN__NEED(format);
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const char *where = call->where ? call->where : "";
    return gnn__error(code, "%s%s%s", where, *where ? ": " : "", text);
}

int gnn__op_product(const gnn_op_call_t *call, const gnn_tensor_t *a, bool transpose_a,
                    const gnn_tensor_t *b, bool transpose_b, const gnn_tensor_t *c, bool add,
                    const gnn_real_t *bias)
{
    return gnn__dense(call->context, &(gnn__product_t){.transpose_a = transpose_a,
                                                       .transpose_b = transpose_b,
                                                       .m = c->rows,
                                                       .n = c->cols,
                                                       .k = transpose_a ? a->rows : a->cols,
                                                       .lda = gnn__stride(a),
                                                       .ldb = gnn__stride(b),
                                                       .ldc = gnn__stride(c),
                                                       .alpha = 1,
                                                       .beta = add ? 1 : 0,
                                                       .a = a->data,
                                                       .b = b->data,
                                                       .c = c->data,
                                                       .bias = bias,
                                                       .threads = call->threads});
}

void gnn__op_output(gnn_op_call_t *call, int64_t rows, int64_t cols)
{
    call->n_out = 1;
    call->out[0].rows = rows;
    call->out[0].cols = cols;
    memset(call->saved_bytes, 0, sizeof call->saved_bytes);
    call->forward_scratch = call->backward_scratch = 0;
    call->out[0].keep = 0;
    for (int k = 0; k < call->n_in; k++)
        call->in[k].keep = 0;
}

int gnn__op_dense(const gnn_op_call_t *call, const char *name, int first, int last, int needed)
{
    for (int k = 0; k < needed; k++)
        if (k >= call->n_in || !call->in[k].present)
            return gnn_op_fail(call, GNN_EINVALID, "%s: input %d is missing", name, k);
    for (int k = first; k <= last && k < call->n_in; k++)
        if (call->in[k].present && (call->in[k].sparse || call->in[k].ids))
            return gnn_op_fail(call, GNN_EUNSUPPORTED, "%s takes dense tensors; input %d is %s",
                               name, k, call->in[k].sparse ? "sparse" : "a list of ids");
    return GNN_OK;
}

int gnn__op_bytes(const gnn_op_call_t *call, int64_t rows, int64_t cols, size_t element, size_t *bytes)
{
    int64_t count;
    if (!gnn__mul(rows, cols, &count))
        return gnn_op_fail(call, GNN_EOVERFLOW, "%lld x %lld elements overflow", (long long)rows,
                           (long long)cols);
    return gnn__bytes(count, element, "an op's workspace", bytes);
}

void gnn__lines_with(gnn__lines_t *lines, const gnn_tensor_t *t)
{
    if (gnn__stride(t) == t->cols || t->rows <= 1)
        return;
    lines->flat = false;
    lines->count = t->rows;
}

gnn__lines_t gnn__lines(const gnn_tensor_t *first, ...)
{
    const int64_t total = first->rows * first->cols;
    gnn__lines_t lines = {(total + GNN__LINE - 1) / GNN__LINE, first->cols, total, true};
    va_list list;
    va_start(list, first);
    for (const gnn_tensor_t *t = first; t; t = va_arg(list, const gnn_tensor_t *))
        gnn__lines_with(&lines, t);
    va_end(list);
    return lines;
}

void gnn__op_send(const gnn_op_call_t *call, gnn_real_t alpha, const gnn_tensor_t *source,
                  const gnn_tensor_t *target, bool add)
{
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    const gnn__lines_t lines = gnn__lines(source, target, NULL);
    if (source->data == target->data && alpha == 1 && !add)
        return; /* a tape may alias both */
    const int threads = gnn__op_threads(call, lines.total);
    GNN__PARALLEL_FOR (threads, int64_t k = 0; k < lines.count; k++)
        kernels->scale(gnn__line_length(&lines, k), alpha, gnn__line(&lines, source, k), add,
                       gnn__line(&lines, target, k));
}

gnn_tensor_t gnn__undropped(const gnn_tensor_t *y, const gnn__activation_settings_t *f,
                            const gnn__dropout_t *dropout, int64_t from, int64_t rows,
                            gnn_real_t *block)
{
    if (f->kind <= GNN_LEAKY_RELU)
        return gnn__rows(y, from, rows);
    const gnn_real_t back = 1 / dropout->scale; /* not 1 - rate: dropout rounds rates */
    for (int64_t r = 0; r < rows; r++)
        gnn__elementwise_kernels()->scale(y->cols, back, gnn__row(y, from + r), false,
                                          block + r * y->cols);
    return gnn_tensor(block, rows, y->cols);
}

bool gnn__grad_from_output(const gnn__activation_settings_t *f, const gnn__dropout_t *dropout,
                           gnn__grad_from_output_t *grad)
{
    const gnn_real_t scale = f->rate > 0 ? dropout->scale : 1;
    if (f->kind > GNN_ELU || !gnn__activation_from_output(f->kind, f->slope))
        return false;
    gnn_real_t below = 0;
    if (f->kind == GNN_ELU)
        below = scale;
    else if (f->kind == GNN_LEAKY_RELU)
        below = f->slope * scale;
    *grad = (gnn__grad_from_output_t){.above = scale,
                                      .below = below,
                                      .curved = f->kind == GNN_ELU,
                                      .dropped = f->rate > 0 ? (gnn_real_t)-0.0 : (gnn_real_t)NAN};
    return true;
}

void gnn__add_row(const gnn_tensor_t *x, gnn_real_t alpha, const gnn_real_t *b,
                  const gnn_tensor_t *y, int64_t from, int64_t end)
{
    enum { TILE = 256 };
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    const bool flat = gnn__stride(x) == x->cols && gnn__stride(y) == y->cols;
    /* Short rows are processed several at a time, next to as many copies of b. */
    const int64_t cols = x->cols, most = flat && cols > 0 && cols <= TILE / 4 ? TILE / cols : 1,
                  rows = gnn__max(gnn__min(most, end - from), 1);
    gnn_real_t tile[TILE];
    if (rows > 1)
        memcpy(tile, b, (size_t)cols * sizeof *b);
    for (int64_t k = 1, more; k < rows; k += more) { /* doubled each time */
        more = gnn__min(k, rows - k);
        memcpy(tile + k * cols, tile, (size_t)(more * cols) * sizeof *b);
    }
    for (int64_t r = from; r < end; r += rows)
        kernels->mix((end - r < rows ? end - r : rows) * cols, 1, gnn__row(x, r), alpha,
                     rows > 1 ? tile : b, gnn__row(y, r));
}

int64_t gnn__column_chunks(int64_t rows)
{
    int64_t chunks = (rows + 127) / 128;
    return gnn__max(gnn__min(chunks, 64), 1);
}

int gnn__column_bytes(const gnn_op_call_t *call, int64_t rows, int64_t cols, size_t *bytes)
{
    return gnn__op_bytes(call, gnn__column_chunks(rows), cols, sizeof(double), bytes);
}

void gnn__column_total(int64_t chunks, int64_t cols, double *parts)
{
    for (int64_t k = 1; k < chunks; k++)
        for (int64_t c = 0; c < cols; c++)
            parts[c] += parts[k * cols + c];
}

void gnn__column_send(const double *total, double alpha, const gnn_operand_t *to)
{
    for (int64_t c = 0; c < to->grad.cols; c++)
        to->grad.data[c] =
            (gnn_real_t)((to->accumulate ? (double)to->grad.data[c] : 0) + alpha * total[c]);
}

void gnn__column_sum(const gnn_op_call_t *call, const gnn_tensor_t *x, double alpha,
                     const gnn_operand_t *to, void *scratch)
{
    const gnn__row_kernels_t *kernels = gnn__row_kernels();
    const int64_t chunks = gnn__column_chunks(x->rows), cols = x->cols;
    const int threads = gnn__op_threads(call, x->rows * cols);
    double *parts = scratch;
    GNN__PARALLEL_FOR (threads, int64_t k = 0; k < chunks; k++) {
        const int64_t from = gnn__share(x->rows, (int)k, (int)chunks),
                      to_row = gnn__share(x->rows, (int)k + 1, (int)chunks);
        kernels->column_sum(to_row - from, cols, gnn__row(x, from), gnn__stride(x), parts + k * cols);
    }
    gnn__column_total(chunks, cols, parts);
    gnn__column_send(parts, alpha, to);
}

/* Owners of columns split at cache lines, so that no two write to the same one. */
enum { UNIT = 64 / sizeof(gnn_real_t) };

gnn__owned_block_t gnn__scatter_share(int64_t rows, int64_t cols, int k, int shares)
{
    gnn__owned_block_t block = {0, rows, 0, cols};
    if (cols >= 2 * UNIT * shares) {
        const int64_t units = (cols + UNIT - 1) / UNIT;
        const int64_t end = gnn__share(units, k + 1, shares) * UNIT;
        block.col = gnn__share(units, k, shares) * UNIT;
        block.cols = (end < cols ? end : cols) - block.col;
    } else {
        block.row = gnn__share(rows, k, shares);
        block.rows = gnn__share(rows, k + 1, shares) - block.row;
    }
    return block;
}

void gnn__scatter_begin(const gnn__owned_block_t *block, const gnn_tensor_t *target, bool add)
{
    for (int64_t r = 0; !add && r < block->rows; r++)
        memset(gnn__row(target, block->row + r) + block->col, 0,
               (size_t)block->cols * sizeof(gnn_real_t));
}
