/* y = x W + b. The gradients: dx = dy W', dW = x' dy, db = column sums of dy. A sparse x is never
 * made dense: see linear_sparse.c. */
#include <lib/kernels/dense.h>
#include <lib/ops/linear.h>

static int linear_shape(gnn_op_call_t *call)
{
    const gnn_operand_t *x = &call->in[0], *w = &call->in[1], *b = &call->in[2];
    const bool bias = gnn__has_input(call, 2);
    GNN_TRY(gnn__op_dense(call, "linear", 1, 2, 2));
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
    if (gnn__linear_is_thin(call))
        GNN_TRY(gnn__linear_thin_shape(call));
    if (bias && b->wants_grad) {
        size_t sums;
        GNN_TRY(gnn__column_bytes(call, x->rows, w->cols, &sums));
        call->backward_scratch = call->backward_scratch > sums ? call->backward_scratch : sums;
    }
    return GNN_OK;
}

static int linear_forward(gnn_op_call_t *call)
{
    const gnn_tensor_t *x = &call->in[0].value, *w = &call->in[1].value, *y = &call->out[0].value;
    const gnn__linear_t *how = call->attributes;
    if (call->in[0].sparse)
        return gnn__linear_sparse_forward(call);
    return gnn__dense(
        call->context,
        &(gnn__product_t){.m = x->rows,
                          .n = w->cols,
                          .k = x->cols,
                          .alpha = 1,
                          .beta = how && how->adds ? 1 : 0,
                          .a = x->data,
                          .lda = gnn__stride(x),
                          .b = w->data,
                          .ldb = gnn__stride(w),
                          .c = y->data,
                          .ldc = gnn__stride(y),
                          .bias = gnn__has_input(call, 2) ? call->in[2].value.data : NULL});
}

static int product_grads(const gnn_op_call_t *call)
{
    const gnn_operand_t *x = &call->in[0], *w = &call->in[1];
    const gnn_tensor_t *dy = &call->out[0].grad;
    if (gnn__linear_is_thin(call))
        return gnn__linear_thin_grad(call);
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
    return GNN_OK;
}

static int linear_backward(gnn_op_call_t *call)
{
    GNN_TRY(product_grads(call));
    if (gnn__wants(call, 2))
        gnn__column_sum(call, &call->out[0].grad, 1, &call->in[2], call->scratch);
    return GNN_OK;
}

const gnn_op_t gnn__op_linear = {
    .name = "linear", .shape = linear_shape, .forward = linear_forward, .backward = linear_backward};
