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
    return GNN_OK;
}

/* Block b of a tensor of `blocks` side by side. */
static gnn_tensor_t beside(const gnn_tensor_t *t, int64_t blocks, int64_t b)
{
    const int64_t cols = t->cols / blocks;
    return (gnn_tensor_t){t->data + b * cols, t->rows, cols, t->stride};
}

static int forward(gnn_op_call_t *call)
{
    const int64_t blocks = (int64_t)gnn__op_option(call, 0, 1), d = call->in[0].cols / blocks;
    for (int64_t b = 0; b < blocks; b++) {
        const gnn_tensor_t x = beside(&call->in[0].value, blocks, b),
                           w = gnn__rows(&call->in[1].value, b * d, d),
                           y = beside(&call->out[0].value, blocks, b);
        GNN_TRY(gnn__op_product(call, &x, false, &w, false, &y, false, NULL));
    }
    return GNN_OK;
}

static int backward(gnn_op_call_t *call)
{
    const int64_t blocks = (int64_t)gnn__op_option(call, 0, 1), d = call->in[0].cols / blocks;
    gnn__op_begin(call, 0);
    gnn__op_begin(call, 1);
    for (int64_t b = 0; b < blocks; b++) {
        const gnn_tensor_t dy = beside(&call->out[0].grad, blocks, b);
        if (gnn__wants(call, 0)) {
            const gnn_tensor_t w = gnn__rows(&call->in[1].value, b * d, d),
                               dx = beside(&call->in[0].grad, blocks, b);
            GNN_TRY(gnn__op_product(call, &dy, false, &w, true, &dx, true, NULL));
        }
        if (gnn__wants(call, 1)) {
            const gnn_tensor_t x = beside(&call->in[0].value, blocks, b),
                               dw = gnn__rows(&call->in[1].grad, b * d, d);
            GNN_TRY(gnn__op_product(call, &x, true, &dy, false, &dw, true, NULL));
        }
    }
    return GNN_OK;
}

const gnn_op_t gnn_op_block_product = {
    .name = "block_product", .shape = shape, .forward = forward, .backward = backward};
