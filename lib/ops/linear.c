/* y = x W + b. Gradients: dx = dy W', dW = x' dy, db = column sums of dy. With a transposed weight
 * y = x W' + b: dx = dy W, dW = dy' x. A sparse x stays sparse (linear_sparse.c). */
#include <lib/kernels/dense/dense.h>
#include <lib/ops/linear.h>
#include <lib/ops/traits.h>

static bool is_transposed(const gnn_op_call_t *call)
{
    const gnn__linear_settings_t *how = call->attributes;
    return how && how->transposed;
}

static int check_shapes(const gnn_op_call_t *call)
{
    const gnn_operand_t *x = &call->in[0], *w = &call->in[1], *b = &call->in[2];
    const bool transposed = is_transposed(call);
    const int64_t in = transposed ? w->cols : w->rows, out = transposed ? w->rows : w->cols;
    if (x->ids)
        return gnn_op_fail(call, GNN_EUNSUPPORTED, "linear takes a matrix; input 0 is a list of ids");
    if (x->sparse && transposed)
        return gnn_op_fail(call, GNN_EUNSUPPORTED,
                           "linear takes no sparse tensor with a transposed weight");
    if (x->cols != in)
        return gnn_op_fail(call, GNN_ESHAPE,
                           "linear expects %lld input features, the tensor has %lld", (long long)in,
                           (long long)x->cols);
    if (gnn__has_input(call, 2) && (b->rows != 1 || b->cols != out))
        return gnn_op_fail(call, GNN_ESHAPE, "linear expects a bias of 1 x %lld, got %lld x %lld",
                           (long long)out, (long long)b->rows, (long long)b->cols);
    return GNN_OK;
}

/* fp16 or bf16 weights, stored with one row per output. */
static int fp16_shape(gnn_op_call_t *call)
{
    if (call->in[0].sparse)
        return gnn_op_fail(call, GNN_EUNSUPPORTED,
                           "linear takes no sparse tensor with fp16 or bf16 weights");
    if (call->in[0].wants_grad)
        return gnn_op_fail(call, GNN_EUNSUPPORTED,
                           "training: no gradient passes through fp16 or bf16 weights; what is below "
                           "them must be frozen, or the model opened in full precision");
    return gnn__op_bytes(call, gnn__fp16_scratch(gnn__op_fp16(call, 1), call->in[0].rows), 1,
                         sizeof(gnn_real_t), &call->forward_scratch);
}

static int fp16_forward(const gnn_op_call_t *call)
{
    const gnn__linear_settings_t *how = call->attributes;
    const gnn_tensor_t *x = &call->in[0].value, *y = &call->out[0].value;
    return gnn__fp16_multiply(
        call->context,
        &(gnn__fp16_product_t){.w = gnn__op_fp16(call, 1),
                               .x = x->data,
                               .ldx = gnn__stride(x),
                               .bias = gnn__has_input(call, 2) ? call->in[2].value.data : NULL,
                               .y = y->data,
                               .ldy = gnn__stride(y),
                               .rows = x->rows,
                               .add = how && how->adds},
        call->threads, call->scratch);
}

static int linear_shape(gnn_op_call_t *call)
{
    const gnn_operand_t *x = &call->in[0], *w = &call->in[1];
    GNN_TRY(gnn__op_dense(call, "linear", 1, 2, 2));
    GNN_TRY(check_shapes(call));
    gnn__op_output(call, x->rows, is_transposed(call) ? w->rows : w->cols);
    if (gnn__op_fp16(call, 1))
        GNN_TRY(fp16_shape(call));
    call->in[0].keep = !x->sparse && w->wants_grad;
    call->in[1].keep = !x->sparse && x->wants_grad;
    if (x->sparse)
        GNN_TRY(gnn__linear_sparse_shape(call));
    if (gnn__linear_is_thin(call))
        GNN_TRY(gnn__linear_thin_shape(call));
    if (gnn__has_input(call, 2) && call->in[2].wants_grad) {
        size_t sums;
        GNN_TRY(gnn__column_bytes(call, x->rows, call->out[0].cols, &sums));
        call->backward_scratch = call->backward_scratch > sums ? call->backward_scratch : sums;
    }
    return GNN_OK;
}

static int linear_forward(gnn_op_call_t *call)
{
    const gnn__linear_settings_t *how = call->attributes;
    if (gnn__op_fp16(call, 1))
        return fp16_forward(call);
    if (call->in[0].sparse)
        return gnn__linear_sparse_forward(call);
    if (gnn__linear_has_thin_product(call))
        return gnn__linear_thin_forward(call);
    return gnn__op_product(call, &call->in[0].value, false, &call->in[1].value, is_transposed(call),
                           &call->out[0].value, how && how->adds,
                           gnn__has_input(call, 2) ? call->in[2].value.data : NULL);
}

static int product_grads(const gnn_op_call_t *call)
{
    const gnn_operand_t *x = &call->in[0], *w = &call->in[1];
    const gnn_tensor_t *dy = &call->out[0].grad;
    if (gnn__linear_is_thin(call) && w->grad.data)
        return gnn__linear_thin_grad(call);
    if (!x->sparse && x->grad.data)
        GNN_TRY(gnn__op_product(call, dy, false, &w->value, !is_transposed(call), &x->grad,
                                x->accumulate, NULL));
    if (!w->grad.data)
        return GNN_OK;
    if (x->sparse)
        return gnn__linear_sparse_grad(call);
    return is_transposed(call)
               ? gnn__op_product(call, dy, true, &x->value, false, &w->grad, w->accumulate, NULL)
               : gnn__op_product(call, &x->value, true, dy, false, &w->grad, w->accumulate, NULL);
}

static int linear_backward(gnn_op_call_t *call)
{
    GNN_TRY(product_grads(call));
    if (gnn__wants(call, 2))
        gnn__column_sum(call, &call->out[0].grad, 1, &call->in[2], call->scratch);
    return GNN_OK;
}

/* Backward is two products if x wants a gradient. */
static void linear_work(const gnn_op_call_t *call, int backward, gnn_op_work_t *work)
{
    const gnn_operand_t *x = &call->in[0];
    const double pairs =
        x->sparse ? (double)x->sparse->indptr[x->rows] : (double)x->rows * (double)x->cols;
    const bool both = backward && !x->sparse && x->wants_grad;
    work->flops = 2 * pairs * (double)call->out[0].cols * (both ? 2 : 1);
}

/* With a bias, the product is added to rows of the bias, so it cannot be added to an earlier value
 * of y as well. */
static gnn__product_kind_t product(const gnn_op_call_t *call)
{
    if (call->in[0].sparse)
        return GNN__PRODUCT_NONE;
    return gnn__has_input(call, 2) ? GNN__PRODUCT_WRITES : GNN__PRODUCT_ADDS;
}

static bool *adds(void *attributes)
{
    return &((gnn__linear_settings_t *)attributes)->adds;
}

/* fp16 and bf16 weights have one row per output. */
static bool reads_fp16(const void *attributes, int k, const gnn__fp16_t *w)
{
    const gnn__linear_settings_t *how = attributes;
    return k == 1 && w->transposed != (how && how->transposed);
}

static const gnn__op_traits_t traits = {.product = product,
                                        .adds = adds,
                                        .drops_sparse = true,
                                        .reads_fp16 = reads_fp16,
                                        .whole = 1u << 1 | 1u << 2};
const gnn_op_t gnn__op_linear = {.name = "linear",
                                 .flags = GNN_OP_BY_ROWS,
                                 .shape = linear_shape,
                                 .forward = linear_forward,
                                 .backward = linear_backward,
                                 .sparse_inputs = 1u,
                                 .work = linear_work,
                                 .traits = &traits};
