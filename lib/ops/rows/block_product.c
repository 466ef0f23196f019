/* A block-diagonal product: block b of y is block b of x times W_b. x (n x B*d), W (B*d x o), the
 * blocks' matrices one under another -> (n x B*o). Option: B. Schlichtkrull et al. 2018 (R-GCN). */
#include <lib/ops/rows/named_ops.h>

static int shape(gnn_op_call_t *call)
{
    const gnn_operand_t *x = &call->in[0], *w = &call->in[1];
    int64_t blocks, cols;
    GNN_TRY(gnn__op_dense(call, "block_product", 0, 1, 2));
    GNN_TRY(gnn__op_whole(call, "block_product", 0, INT32_MAX, &blocks));
    if (x->cols % blocks != 0)
        return gnn_op_fail(call, GNN_ESHAPE,
                           "block_product: %lld columns do not divide into %lld blocks",
                           (long long)x->cols, (long long)blocks);
    GNN_TRY(gnn__op_expect(call, "block_product", 1, x->cols, w->cols));
    if (!gnn__mul(blocks, w->cols, &cols))
        return gnn_op_fail(call, GNN_EOVERFLOW, "block_product: too many columns");
    gnn__op_output(call, x->rows, cols);
    call->in[0].keep = w->wants_grad;
    call->in[1].keep = x->wants_grad;
    return gnn__op_bytes(call, w->rows, w->cols, sizeof(double), &call->backward_scratch);
}

/* Column i of x belongs to block i / d, whose numbers in y begin here. */
static int64_t block_start(const gnn_op_call_t *call, int64_t i)
{
    const int64_t blocks = (int64_t)gnn__op_option(call, 0, 1), d = call->in[0].cols / blocks;
    return i / d * call->in[1].cols;
}

static int forward(gnn_op_call_t *call)
{
    const gnn_tensor_t *x = &call->in[0].value, *w = &call->in[1].value, *y = &call->out[0].value;
    const int threads = gnn__op_threads(call, x->rows * x->cols * w->cols);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t r = 0; r < x->rows; r++) {
        memset(gnn__row(y, r), 0, sizeof(gnn_real_t) * (size_t)y->cols);
        for (int64_t i = 0; i < x->cols; i++)
            gnn__elementwise_kernels()->scale(w->cols, gnn__row(x, r)[i], gnn__row(w, i), true,
                                              gnn__row(y, r) + block_start(call, i));
    }
    return GNN_OK;
}

static void weight_grad(const gnn_op_call_t *call)
{
    const gnn_tensor_t *x = &call->in[0].value, *dy = &call->out[0].grad;
    const int64_t cols = call->in[1].cols;
    double *sums = call->scratch;
    memset(sums, 0, sizeof *sums * (size_t)(x->cols * cols));
    for (int64_t r = 0; r < x->rows; r++)
        for (int64_t i = 0; i < x->cols; i++)
            for (int64_t c = 0; c < cols; c++)
                sums[i * cols + c] +=
                    (double)gnn__row(x, r)[i] * (double)gnn__row(dy, r)[block_start(call, i) + c];
    gnn__op_add_numbers(&call->in[1], sums);
}

static int backward(gnn_op_call_t *call)
{
    const gnn_tensor_t *w = &call->in[1].value, *dx = &call->in[0].grad, *dy = &call->out[0].grad;
    gnn__op_begin(call, 0);
    gnn__op_begin(call, 1);
    if (gnn__wants(call, 1))
        weight_grad(call);
    for (int64_t r = 0; gnn__wants(call, 0) && r < dx->rows; r++)
        for (int64_t i = 0; i < dx->cols; i++)
            gnn__row(dx, r)[i] += (gnn_real_t)gnn__elementwise_kernels()->dot(
                call->in[1].cols, gnn__row(w, i), gnn__row(dy, r) + block_start(call, i));
    return GNN_OK;
}

const gnn_op_t gnn_op_block_product = {
    .name = "block_product", .shape = shape, .forward = forward, .backward = backward};
