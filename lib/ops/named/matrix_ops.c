/* Products with several matrices: one per row, or one per block of columns. */
#include <lib/ops/named/named_ops.h>
#include <lib/ops/traits.h>

/* ---- row_matrix ---- */

/* One matrix per row: y_r = x_r W_r, x (n x in), W (n x in*out, row-major) -> (n x out). Messages
 * of edge-conditioned convolutions, Gilmer et al. 2017. */

static int row_matrix_shape(gnn_op_call_t *call)
{
    const gnn_operand_t *x = &call->in[0], *w = &call->in[1];
    GNN_TRY(gnn__op_dense(call, "row_matrix", 0, 1, 2));
    if (x->cols < 1 || w->cols % x->cols != 0 || w->rows != x->rows)
        return gnn_op_fail(
            call, GNN_ESHAPE,
            "row_matrix expects %lld matrices of %lld rows each, got a tensor of %lld x %lld",
            (long long)x->rows, (long long)x->cols, (long long)w->rows, (long long)w->cols);
    gnn__op_output(call, x->rows, w->cols / x->cols);
    call->in[0].keep = w->wants_grad;
    call->in[1].keep = x->wants_grad;
    return GNN_OK;
}

static int row_matrix_forward(gnn_op_call_t *call)
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

static int row_matrix_backward(gnn_op_call_t *call)
{
    const int64_t rows = call->in[0].rows;
    gnn__op_begin(call, 0);
    gnn__op_begin(call, 1);
    const int threads = gnn__op_threads(call, 2 * rows * call->in[1].cols);
    GNN__PARALLEL_FOR (threads, int64_t r = 0; r < rows; r++)
        row_grad(call, r);
    return GNN_OK;
}

const gnn_op_t gnn_op_row_matrix = {.name = "row_matrix",
                                    GNN__NO_OPTIONS,
                                    .flags = GNN_OP_BY_ROWS,
                                    .shape = row_matrix_shape,
                                    .forward = row_matrix_forward,
                                    .backward = row_matrix_backward};

/* ---- block_product ---- */

/* Block-diagonal product: block b of y is block b of x times W_b. x (n x B*d), W (B*d x o, the
 * blocks' matrices stacked) -> (n x B*o). Option: B. Schlichtkrull et al. 2018 (R-GCN). */

static int block_product_shape(gnn_op_call_t *call)
{
    const gnn_operand_t *x = &call->in[0], *w = &call->in[1];
    int64_t blocks, cols;
    GNN_TRY(gnn__op_dense(call, "block_product", 0, 1, 2));
    GNN_TRY(gnn__op_integer(call, "block_product", 0, INT32_MAX, &blocks));
    if (x->cols % blocks != 0)
        return gnn_op_fail(call, GNN_ESHAPE,
                           "block_product: %lld columns do not divide into %lld blocks",
                           (long long)x->cols, (long long)blocks);
    GNN_TRY(gnn__op_expect(call, "block_product", 1, x->cols, w->cols));
    if (!gnn__mul(blocks, w->cols, &cols))
        return gnn_op_fail(call, GNN_EOVERFLOW, "block_product: the count of columns overflows");
    gnn__op_output(call, x->rows, cols);
    call->in[0].keep = w->wants_grad;
    call->in[1].keep = x->wants_grad;
    return GNN_OK;
}

/* Columns of block b. */
static gnn_tensor_t column_block(const gnn_tensor_t *t, int64_t blocks, int64_t b)
{
    const int64_t cols = t->cols / blocks;
    return (gnn_tensor_t){t->data + b * cols, t->rows, cols, t->stride};
}

static int block_product_forward(gnn_op_call_t *call)
{
    const int64_t blocks = (int64_t)gnn__op_option(call, 0, 1), d = call->in[0].cols / blocks;
    for (int64_t b = 0; b < blocks; b++) {
        const gnn_tensor_t x = column_block(&call->in[0].value, blocks, b),
                           w = gnn__rows(&call->in[1].value, b * d, d),
                           y = column_block(&call->out[0].value, blocks, b);
        GNN_TRY(gnn__op_product(call, &x, false, &w, false, &y, false, NULL));
    }
    return GNN_OK;
}

static int block_product_backward(gnn_op_call_t *call)
{
    const int64_t blocks = (int64_t)gnn__op_option(call, 0, 1), d = call->in[0].cols / blocks;
    gnn__op_begin(call, 0);
    gnn__op_begin(call, 1);
    for (int64_t b = 0; b < blocks; b++) {
        const gnn_tensor_t dy = column_block(&call->out[0].grad, blocks, b);
        if (gnn__wants(call, 0)) {
            const gnn_tensor_t w = gnn__rows(&call->in[1].value, b * d, d),
                               dx = column_block(&call->in[0].grad, blocks, b);
            GNN_TRY(gnn__op_product(call, &dy, false, &w, true, &dx, true, NULL));
        }
        if (gnn__wants(call, 1)) {
            const gnn_tensor_t x = column_block(&call->in[0].value, blocks, b),
                               dw = gnn__rows(&call->in[1].grad, b * d, d);
            GNN_TRY(gnn__op_product(call, &x, true, &dy, false, &dw, true, NULL));
        }
    }
    return GNN_OK;
}

static const gnn__op_traits_t block_product_traits = {.whole = 1u << 1};
static const gnn_option_t block_product_options[] = {GNN__COUNT_OPTION("blocks", INT32_MAX, "")};

const gnn_op_t gnn_op_block_product = {.name = "block_product",
                                       GNN__OPTIONS(block_product_options),
                                       .flags = GNN_OP_BY_ROWS,
                                       .shape = block_product_shape,
                                       .forward = block_product_forward,
                                       .backward = block_product_backward,
                                       .traits = &block_product_traits};
