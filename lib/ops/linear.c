/* y = x W + b. The gradients: dx = dy W', dW = x' dy, db = column sums of dy. A sparse x is never
 * made dense: see linear_sparse.c. */
#include <lib/kernels/dense.h>
#include <lib/ops/linear.h>

static int linear_shape(gnn_op_call_t *call)
{
    const gnn_operand_t *x = &call->in[0], *w = &call->in[1], *b = &call->in[2];
    const bool bias = gnn__has_input(call, 2);
    GNN_TRY(gnn__op_dense(call, "linear", 1, 2));
    if (x->ids)
        return gnn__op_error(call, GNN_EUNSUPPORTED,
                             "linear takes a matrix; input 0 is a list of ids");
    if (x->cols != w->rows)
        return gnn__op_error(call, GNN_ESHAPE,
                             "linear expects %lld input features, the tensor has %lld",
                             (long long)w->rows, (long long)x->cols);
    if (bias && (b->rows != 1 || b->cols != w->cols))
        return gnn__op_error(call, GNN_ESHAPE, "linear expects a bias of 1 x %lld, got %lld x %lld",
                             (long long)w->cols, (long long)b->rows, (long long)b->cols);
    gnn__op_output(call, x->rows, w->cols);
    if (x->sparse)
        GNN_TRY(gnn__linear_sparse_shape(call));
    else if (x->wants_grad)
        call->keep_in |= 2u;
    if (!x->sparse && w->wants_grad)
        call->keep_in |= 1u;
    if (bias && b->wants_grad) {
        size_t sums;
        GNN_TRY(gnn__column_bytes(call, x->rows, w->cols, &sums));
        call->backward_scratch = call->backward_scratch > sums ? call->backward_scratch : sums;
    }
    return GNN_OK;
}

/* Rows of y become the bias, for a product that adds to them. */
static void spread_bias(const gnn_op_call_t *call, const gnn_tensor_t *bias, const gnn_tensor_t *y)
{
    const int threads = gnn__threads(call->context, y->rows * y->cols);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t r = 0; r < y->rows; r++)
        memcpy(gnn__row(y, r), bias->data, (size_t)y->cols * sizeof(gnn_real_t));
}

static int linear_forward(gnn_op_call_t *call)
{
    const gnn_tensor_t *x = &call->in[0].value, *w = &call->in[1].value, *y = &call->out[0].value;
    const bool bias = gnn__has_input(call, 2);
    if (call->in[0].sparse)
        return gnn__linear_sparse_forward(call);
    if (bias && y->cols > 0)
        spread_bias(call, &call->in[2].value, y);
    return gnn__gemm(call->context, false, false, x->rows, w->cols, x->cols, 1, x->data,
                     gnn__stride(x), w->data, gnn__stride(w), bias ? 1 : 0, y->data, gnn__stride(y));
}

static int linear_backward(gnn_op_call_t *call)
{
    const gnn_operand_t *x = &call->in[0], *w = &call->in[1];
    const gnn_tensor_t *dy = &call->out[0].grad;
    if (!x->sparse && x->grad.data)
        GNN_TRY(gnn__gemm(call->context, false, true, dy->rows, x->cols, dy->cols, 1, dy->data,
                          gnn__stride(dy), w->value.data, gnn__stride(&w->value),
                          x->accumulate ? 1 : 0, x->grad.data, gnn__stride(&x->grad)));
    if (w->grad.data && x->sparse)
        GNN_TRY(gnn__linear_sparse_grad(call));
    else if (w->grad.data)
        GNN_TRY(gnn__gemm(call->context, true, false, w->rows, w->cols, dy->rows, 1, x->value.data,
                          gnn__stride(&x->value), dy->data, gnn__stride(dy), w->accumulate ? 1 : 0,
                          w->grad.data, gnn__stride(&w->grad)));
    if (gnn__wants(call, 2))
        gnn__column_sum(call, dy, 1, &call->in[2], call->scratch);
    return GNN_OK;
}

const gnn_op_t gnn__op_linear = {
    .name = "linear", .shape = linear_shape, .forward = linear_forward, .backward = linear_backward};
