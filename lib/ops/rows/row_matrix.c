/* A matrix for each row: y_r = x_r W_r, x (n x in), W (n x in*out, row by row) -> (n x out).
 * Gilmer et al. 2017: messages of edge-conditioned convolutions. */
#include <lib/ops/rows/named_ops.h>

static int shape(gnn_op_call_t *call)
{
    const gnn_operand_t *x = &call->in[0], *w = &call->in[1];
    GNN_TRY(gnn__op_dense(call, "row_matrix", 0, 1, 2));
    if (x->cols < 1 || w->cols % x->cols != 0 || w->rows != x->rows)
        return gnn_op_fail(
            call, GNN_ESHAPE,
            "row_matrix expects %lld matrices of %lld rows each, got %lld x %lld numbers",
            (long long)x->rows, (long long)x->cols, (long long)w->rows, (long long)w->cols);
    gnn__op_output(call, x->rows, w->cols / x->cols);
    call->in[0].keep = w->wants_grad;
    call->in[1].keep = x->wants_grad;
    return GNN_OK;
}

static int forward(gnn_op_call_t *call)
{
    const gnn_tensor_t *x = &call->in[0].value, *w = &call->in[1].value, *y = &call->out[0].value;
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    const int threads = gnn__op_threads(call, w->rows * w->cols);
    GNN__PARALLEL_FOR (threads, int64_t r = 0; r < x->rows; r++) {
        memset(gnn__row(y, r), 0, sizeof(gnn_real_t) * (size_t)y->cols);
        for (int64_t i = 0; i < x->cols; i++)
            kernels->scale(y->cols, gnn__row(x, r)[i], gnn__row(w, r) + i * y->cols, true,
                           gnn__row(y, r));
    }
    return GNN_OK;
}

static void row_grad(const gnn_op_call_t *call, int64_t r)
{
    const gnn_operand_t *x = &call->in[0], *w = &call->in[1];
    const gnn_tensor_t *dy = &call->out[0].grad;
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    for (int64_t i = 0; i < x->cols; i++) {
        if (gnn__wants(call, 0))
            gnn__row(&x->grad, r)[i] += (gnn_real_t)kernels->dot(
                dy->cols, gnn__row(&w->value, r) + i * dy->cols, gnn__row(dy, r));
        if (gnn__wants(call, 1))
            kernels->scale(dy->cols, gnn__row(&x->value, r)[i], gnn__row(dy, r), true,
                           gnn__row(&w->grad, r) + i * dy->cols);
    }
}

static int backward(gnn_op_call_t *call)
{
    const int64_t rows = call->in[0].rows;
    gnn__op_begin(call, 0);
    gnn__op_begin(call, 1);
    const int threads = gnn__op_threads(call, 2 * rows * call->in[1].cols);
    GNN__PARALLEL_FOR (threads, int64_t r = 0; r < rows; r++)
        row_grad(call, r);
    return GNN_OK;
}

const gnn_op_t gnn_op_row_matrix = {
    .name = "row_matrix", .shape = shape, .forward = forward, .backward = backward};
