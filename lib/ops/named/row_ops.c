/* Ops on rows: gather, concatenation of consecutive rows, softmax, autoscale. */
#include <lib/kernels/dense/dense.h>
#include <lib/ops/named/named_ops.h>
#include <lib/ops/support.h>
#include <lib/ops/traits.h>

/* ---- pick_rows ---- */

/* Gather: row r of y is row ids[r] of the table, or 0 for -1. Backward is a scatter-add in which
 * every element of the table's gradient has one owner. */

static int gather_shape(gnn_op_call_t *call)
{
    GNN_TRY(gnn__op_dense(call, "gather", 0, 0, 2));
    if (!call->in[1].ids && call->in[1].rows > 0)
        return gnn_op_fail(call, GNN_EUNSUPPORTED,
                           "gather expects a list of row indices as its second input");
    gnn__op_output(call, call->in[1].rows, call->in[0].cols);
    return GNN_OK;
}

static int check_ids(const gnn_op_call_t *call)
{
    const int32_t *ids = call->in[1].ids;
    for (int64_t r = 0; r < call->in[1].rows; r++)
        if (ids[r] < -1 || ids[r] >= call->in[0].rows)
            return gnn_op_fail(call, GNN_EINVALID,
                               "gather: ids[%lld] is %lld, the table has %lld rows", (long long)r,
                               (long long)ids[r], (long long)call->in[0].rows);
    return GNN_OK;
}

static void copy_row(const gnn_op_call_t *call, int64_t row, gnn_real_t *to)
{
    const gnn_operand_t *table = &call->in[0];
    const gnn__fp16_t *h = gnn__op_fp16(call, 0);
    if (h)
        gnn__fp16_kernels()->widen(h->cols, h->bf16, h->at + row * h->cols, to);
    else
        memcpy(to, gnn__row(&table->value, row), (size_t)table->cols * sizeof *to);
}

static int gather_forward(gnn_op_call_t *call)
{
    const int32_t *ids = call->in[1].ids;
    const gnn_tensor_t *y = &call->out[0].value;
    GNN_TRY(check_ids(call));
    const size_t bytes = (size_t)y->cols * sizeof(gnn_real_t);
    const int threads = gnn__op_threads(call, bytes ? y->rows * y->cols : 0);
    GNN__PARALLEL_FOR (threads, int64_t r = 0; r < y->rows; r++) {
        if (bytes && ids[r] >= 0)
            copy_row(call, ids[r], gnn__row(y, r));
        else if (bytes)
            memset(gnn__row(y, r), 0, bytes);
    }
    return GNN_OK;
}

static void add_block(const gnn_op_call_t *call, const gnn__owned_block_t *block)
{
    const int32_t *ids = call->in[1].ids;
    const gnn_tensor_t *table = &call->in[0].grad, *dy = &call->out[0].grad;
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    gnn__scatter_begin(block, table, call->in[0].accumulate);
    for (int64_t r = 0; r < dy->rows; r++)
        if (ids[r] >= block->row && ids[r] < block->row + block->rows)
            kernels->scale(block->cols, 1, gnn__row(dy, r) + block->col, true,
                           gnn__row(table, ids[r]) + block->col);
}

static int gather_backward(gnn_op_call_t *call)
{
    const gnn_tensor_t *table = &call->in[0].grad;
    if (!gnn__wants(call, 0))
        return GNN_OK;
    const int threads =
        gnn__op_threads(call, (call->in[0].accumulate ? 0 : table->rows * table->cols) +
                                  call->in[1].rows * table->cols);
    GNN__PARALLEL_FOR_AS (threads, schedule(static, 1), int share = 0; share < threads; share++) {
        gnn__owned_block_t block = gnn__scatter_share(table->rows, table->cols, share, threads);
        if (block.rows > 0 && block.cols > 0)
            add_block(call, &block);
    }
    return GNN_OK;
}

/* For profiles: the rows that ids name, not the table; its gradient is zeroed first. */
static void gather_work(const gnn_op_call_t *call, int backward, gnn_op_work_t *work)
{
    const double row = (double)call->out[0].cols * sizeof(gnn_real_t),
                 zeroed = backward && !call->in[0].accumulate ? (double)call->in[0].rows * row : 0;
    work->bytes = (backward ? 3 : 2) * (double)call->out[0].rows * row + zeroed;
}

static bool reads_fp16(const void *attributes, int k, const gnn__fp16_t *w)
{
    (void)attributes;
    return k == 0 && !w->transposed;
}

static const gnn__op_traits_t traits = {.reads_fp16 = reads_fp16};
const gnn_op_t gnn_op_pick_rows = {.name = "pick_rows",
                                   GNN__NO_OPTIONS,
                                   .shape = gather_shape,
                                   .forward = gather_forward,
                                   .backward = gather_backward,
                                   .work = gather_work,
                                   .traits = &traits};

/* ---- fold_rows ---- */

/* Concatenates every k consecutive rows: (n*k x d) -> (n x k*d). Option: k. */

static int fold_rows_shape(gnn_op_call_t *call)
{
    const gnn_operand_t *x = &call->in[0];
    int64_t k, cols;
    GNN_TRY(gnn__op_dense(call, "fold_rows", 0, 0, 1));
    GNN_TRY(gnn__op_integer(call, "fold_rows", 0, INT32_MAX, &k));
    if (x->rows % k != 0 || !gnn__mul(x->cols, k, &cols))
        return gnn_op_fail(call, GNN_ESHAPE, "fold_rows: %lld rows do not divide into groups of %lld",
                           (long long)x->rows, (long long)k);
    gnn__op_output(call, x->rows / k, cols);
    return GNN_OK;
}

static int fold_rows_forward(gnn_op_call_t *call)
{
    const gnn_tensor_t *x = &call->in[0].value, *y = &call->out[0].value;
    const int64_t k = y->rows > 0 ? x->rows / y->rows : 1;
    for (int64_t r = 0; r < x->rows; r++)
        memcpy(gnn__row(y, r / k) + r % k * x->cols, gnn__row(x, r),
               sizeof(gnn_real_t) * (size_t)x->cols);
    return GNN_OK;
}

static int fold_rows_backward(gnn_op_call_t *call)
{
    const gnn_operand_t *x = &call->in[0];
    const gnn_tensor_t *dy = &call->out[0].grad;
    const int64_t k = dy->rows > 0 ? x->rows / dy->rows : 1;
    for (int64_t r = 0; gnn__wants(call, 0) && r < x->rows; r++)
        gnn__elementwise_kernels()->scale(x->cols, 1, gnn__row(dy, r / k) + r % k * x->cols,
                                          x->accumulate != 0, gnn__row(&x->grad, r));
    return GNN_OK;
}

static const gnn_option_t fold_rows_options[] = {
    GNN__COUNT_OPTION("k", INT32_MAX, "rows per row of the output")};

const gnn_op_t gnn_op_fold_rows = {.name = "fold_rows",
                                   GNN__OPTIONS(fold_rows_options),
                                   .shape = fold_rows_shape,
                                   .forward = fold_rows_forward,
                                   .backward = fold_rows_backward};

/* ---- unfold_rows ---- */

/* The reverse: each row becomes k consecutive rows, (n x k*d) -> (n*k x d). Option: k. */

static int unfold_rows_shape(gnn_op_call_t *call)
{
    const gnn_operand_t *x = &call->in[0];
    int64_t k, rows;
    GNN_TRY(gnn__op_dense(call, "unfold_rows", 0, 0, 1));
    GNN_TRY(gnn__op_integer(call, "unfold_rows", 0, INT32_MAX, &k));
    if (x->cols % k != 0 || !gnn__mul(x->rows, k, &rows))
        return gnn_op_fail(call, GNN_ESHAPE, "unfold_rows: %lld columns do not divide into %lld rows",
                           (long long)x->cols, (long long)k);
    gnn__op_output(call, rows, x->cols / k);
    return GNN_OK;
}

static int unfold_rows_forward(gnn_op_call_t *call)
{
    const gnn_tensor_t *x = &call->in[0].value, *y = &call->out[0].value;
    const int64_t k = x->rows > 0 ? y->rows / x->rows : 1;
    for (int64_t r = 0; r < y->rows; r++)
        memcpy(gnn__row(y, r), gnn__row(x, r / k) + r % k * y->cols,
               sizeof(gnn_real_t) * (size_t)y->cols);
    return GNN_OK;
}

static int unfold_rows_backward(gnn_op_call_t *call)
{
    const gnn_operand_t *x = &call->in[0];
    const gnn_tensor_t *dy = &call->out[0].grad;
    const int64_t k = x->rows > 0 ? dy->rows / x->rows : 1;
    for (int64_t r = 0; gnn__wants(call, 0) && r < dy->rows; r++)
        gnn__elementwise_kernels()->scale(dy->cols, 1, gnn__row(dy, r), x->accumulate != 0,
                                          gnn__row(&x->grad, r / k) + r % k * dy->cols);
    return GNN_OK;
}

static const gnn_option_t unfold_rows_options[] = {
    GNN__COUNT_OPTION("k", INT32_MAX, "rows per row of the input")};

const gnn_op_t gnn_op_unfold_rows = {.name = "unfold_rows",
                                     GNN__OPTIONS(unfold_rows_options),
                                     .shape = unfold_rows_shape,
                                     .forward = unfold_rows_forward,
                                     .backward = unfold_rows_backward};

/* ---- softmax_rows ---- */

/* Softmax along each row, or along each of the blocks that its columns divide into; 0 where all are
 * minus infinity. Option: count of blocks [1]. */

static int softmax_rows_shape(gnn_op_call_t *call)
{
    int64_t blocks;
    GNN_TRY(gnn__op_heads(call, "softmax_rows", &blocks));
    gnn__op_output(call, call->in[0].rows, call->in[0].cols);
    call->out[0].keep = call->in[0].wants_grad;
    return GNN_OK;
}

static void softmax(const gnn_real_t *x, int64_t n, gnn_real_t *y)
{
    double largest = -INFINITY, sum = 0;
    for (int64_t c = 0; c < n; c++)
        largest = fmax(largest, (double)x[c]);
    for (int64_t c = 0; c < n; c++)
        sum += exp((double)x[c] - largest);
    for (int64_t c = 0; c < n; c++)
        y[c] = (gnn_real_t)(largest == -INFINITY && !isnan(x[c]) ? 0
                                                                 : exp((double)x[c] - largest) / sum);
}

static int softmax_rows_forward(gnn_op_call_t *call)
{
    const gnn_tensor_t *x = &call->in[0].value, *y = &call->out[0].value;
    const int64_t blocks = (int64_t)gnn__op_option(call, 0, 1), n = x->cols / blocks;
    const int threads = gnn__op_threads(call, 20 * x->rows * x->cols);
    GNN__PARALLEL_FOR (threads, int64_t r = 0; r < x->rows; r++)
        for (int64_t b = 0; b < blocks; b++)
            softmax(gnn__row(x, r) + b * n, n, gnn__row(y, r) + b * n);
    return GNN_OK;
}

static void softmax_grad(const gnn_real_t *y, const gnn_real_t *dy, int64_t n, gnn_real_t *dx)
{
    double along = 0;
    for (int64_t c = 0; c < n; c++)
        along += (double)y[c] * (double)dy[c];
    for (int64_t c = 0; c < n; c++)
        dx[c] += (gnn_real_t)((double)y[c] * ((double)dy[c] - along));
}

static int softmax_rows_backward(gnn_op_call_t *call)
{
    const gnn_tensor_t *y = &call->out[0].value, *dy = &call->out[0].grad;
    const int64_t blocks = (int64_t)gnn__op_option(call, 0, 1), n = y->cols / blocks;
    if (!gnn__wants(call, 0))
        return GNN_OK;
    gnn__op_begin(call, 0);
    for (int64_t r = 0; r < dy->rows; r++)
        for (int64_t b = 0; b < blocks; b++)
            softmax_grad(gnn__row(y, r) + b * n, gnn__row(dy, r) + b * n, n,
                         gnn__row(&call->in[0].grad, r) + b * n);
    return GNN_OK;
}

static const gnn_option_t softmax_rows_options[] = {GNN__COUNT_OPTION("blocks", INT32_MAX, "")};

const gnn_op_t gnn_op_softmax_rows = {.name = "softmax_rows",
                                      GNN__OPTIONS(softmax_rows_options),
                                      .shape = softmax_rows_shape,
                                      .forward = softmax_rows_forward,
                                      .backward = softmax_rows_backward,
                                      .flags = GNN_OP_BY_ROWS};

/* ---- autoscale ---- */

/* Autoscale of Correct and Smooth, Huang et al. 2021, as PyG has it: y_i = e_i sigma / |e_i|_1,
 * with sigma the mean of |error_i|_1 over known rows; a factor above 1000 or NaN becomes 1.
 * Smoothed errors e (n x c), errors (n x c), known (n x 1, 1 where the error is known). For
 * inference: the gradient is 0. */

static int autoscale_shape(gnn_op_call_t *call)
{
    const gnn_operand_t *e = &call->in[0];
    GNN_TRY(gnn__op_dense(call, "autoscale", 0, 2, 3));
    GNN_TRY(gnn__op_expect(call, "autoscale", 1, e->rows, e->cols));
    GNN_TRY(gnn__op_expect(call, "autoscale", 2, e->rows, 1));
    gnn__op_output(call, e->rows, e->cols);
    return GNN_OK;
}

static double length_of(const gnn_real_t *row, int64_t n)
{
    double sum = 0;
    for (int64_t c = 0; c < n; c++)
        sum += fabs((double)row[c]);
    return sum;
}

static int autoscale_forward(gnn_op_call_t *call)
{
    const gnn_tensor_t *e = &call->in[0].value, *error = &call->in[1].value;
    const gnn_tensor_t *known = &call->in[2].value, *y = &call->out[0].value;
    double sum = 0, count = 0;
    for (int64_t r = 0; r < e->rows; r++)
        if (gnn__row(known, r)[0] != 0) {
            sum += length_of(gnn__row(error, r), e->cols);
            count += 1;
        }
    for (int64_t r = 0; r < e->rows; r++) {
        double f = sum / count / length_of(gnn__row(e, r), e->cols);
        f = f <= 1000 ? f : 1;
        for (int64_t c = 0; c < e->cols; c++)
            gnn__row(y, r)[c] = (gnn_real_t)(f * (double)gnn__row(e, r)[c]);
    }
    return GNN_OK;
}

static int autoscale_backward(gnn_op_call_t *call)
{
    for (int k = 0; k < 3; k++)
        gnn__op_begin(call, k);
    return GNN_OK;
}

const gnn_op_t gnn_op_autoscale = {.name = "autoscale",
                                   GNN__NO_OPTIONS,
                                   .shape = autoscale_shape,
                                   .forward = autoscale_forward,
                                   .backward = autoscale_backward};
