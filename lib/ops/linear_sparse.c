/* Linear on a sparse x (CSR): row r of y is the sum of v W_c over the stored (c, v) of row r, and
 * row c of dW the sum of v dy_r over the stored (r, v) of column c. With dropout on the stored
 * numbers, the dropped ones are kept for backward (one number each). */
#include <lib/ops/linear.h>

static gnn_real_t dropout_rate(const gnn_op_call_t *call)
{
    const gnn__linear_t *how = call->attributes;
    return call->training && how ? how->sparse_dropout : 0;
}

int gnn__linear_sparse_shape(gnn_op_call_t *call)
{
    const gnn_sparse_t *x = call->in[0].sparse;
    const gnn__linear_t *how = call->attributes;
    if (how && !(how->sparse_dropout >= 0 && how->sparse_dropout < 1))
        return gnn__op_error(call, GNN_EINVALID, "dropout takes a rate in [0, 1), got %g",
                             (double)how->sparse_dropout);
    if (dropout_rate(call) > 0)
        GNN_TRY(gnn__op_bytes(call, x->indptr[x->rows], 1, sizeof(gnn_real_t),
                              call->recording ? &call->saved_bytes[0] : &call->forward_scratch));
    return GNN_OK;
}

/* Rows in pieces that threads take turns at: rows differ in how much they hold. */
enum { ROWS_AT_ONCE = 64 };

static void drop_values(const gnn_op_call_t *call, gnn_real_t *values)
{
    const gnn_sparse_t *x = call->in[0].sparse;
    const gnn__dropout_t d = gnn__dropout(call->rng, dropout_rate(call));
    const gnn__dropout_kernels_t *kernels = gnn__dropout_kernels();
    const int64_t pieces = (x->rows + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE;
    const int threads = gnn__threads(call->context, 8 * x->indptr[x->rows]);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t k = 0; k < pieces; k++) {
        int64_t from = k * ROWS_AT_ONCE,
                to = from + ROWS_AT_ONCE < x->rows ? from + ROWS_AT_ONCE : x->rows;
        kernels->sparse(&d, from, to, x->indptr, x->indices, x->values, values);
    }
}

int gnn__linear_sparse_forward(gnn_op_call_t *call)
{
    const gnn_sparse_t *x = call->in[0].sparse;
    const gnn_tensor_t *w = &call->in[1].value, *y = &call->out[0].value;
    const gnn_real_t *bias = gnn__has_input(call, 2) ? call->in[2].value.data : NULL,
                     *values = x->values;
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    if (dropout_rate(call) > 0) {
        gnn_real_t *kept = call->recording ? call->saved[0] : call->scratch;
        drop_values(call, kept);
        values = kept;
    }
    const int threads = gnn__threads(call->context, x->indptr[x->rows] * y->cols);
#pragma omp parallel for num_threads(threads) schedule(dynamic, ROWS_AT_ONCE)
    for (int64_t r = 0; r < x->rows; r++) {
        const int64_t from = x->indptr[r], count = x->indptr[r + 1] - from;
        kernels->sparse_row(y->cols, count, x->indices + from, values ? values + from : NULL,
                            w->data, gnn__stride(w), gnn__row(y, r));
        if (bias)
            kernels->scale(y->cols, 1, bias, true, gnn__row(y, r));
    }
    return GNN_OK;
}

static void add_block(const gnn_op_call_t *call, const gnn__block_t *block, const gnn_real_t *values)
{
    const gnn_sparse_t *x = call->in[0].sparse;
    const gnn_tensor_t *dw = &call->in[1].grad, *dy = &call->out[0].grad;
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    gnn__scatter_begin(block, dw, call->in[1].accumulate);
    for (int64_t r = 0; r < x->rows; r++) {
        const gnn_real_t *row = gnn__row(dy, r) + block->col;
        for (int64_t k = x->indptr[r]; k < x->indptr[r + 1]; k++) {
            const int64_t c = x->indices[k];
            const gnn_real_t v = values ? values[k] : 1;
            if (c >= block->row && c < block->row + block->rows && v != 0)
                kernels->scale(block->cols, v, row, true, gnn__row(dw, c) + block->col);
        }
    }
}

void gnn__linear_sparse_grad(const gnn_op_call_t *call)
{
    const gnn_sparse_t *x = call->in[0].sparse;
    const gnn_tensor_t *dw = &call->in[1].grad;
    const gnn_real_t *values = dropout_rate(call) > 0 ? call->saved[0] : x->values;
    const int threads = gnn__threads(call->context, x->indptr[x->rows] * dw->cols);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int share = 0; share < threads; share++) {
        gnn__block_t block = gnn__scatter_share(dw->rows, dw->cols, share, threads);
        if (block.rows > 0 && block.cols > 0)
            add_block(call, &block, values);
    }
}
