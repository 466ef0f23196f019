/* Sums of two tensors. */
#include <lib/ops/support.h>
#include <lib/ops/traits.h>

enum { ROWS_AT_ONCE = 256 };

static int same_shape(const gnn_op_call_t *call, const char *name)
{
    const gnn_operand_t *x = &call->in[0], *z = &call->in[1];
    if (x->rows != z->rows || x->cols != z->cols)
        return gnn_op_fail(call, GNN_ESHAPE,
                           "%s expects two tensors of one shape, got %lld x %lld and %lld x %lld",
                           name, (long long)x->rows, (long long)x->cols, (long long)z->rows,
                           (long long)z->cols);
    return GNN_OK;
}

/* ---- y = x + alpha z; z may be one row for all ---- */

static gnn_real_t alpha_of(const void *attributes)
{
    return ((const gnn__add_settings_t *)attributes)->alpha;
}

static bool is_one_row(const gnn_op_call_t *call)
{
    return call->in[1].rows == 1 && call->in[0].rows != 1;
}

static int add_shape(gnn_op_call_t *call)
{
    const gnn_operand_t *x = &call->in[0], *z = &call->in[1];
    GNN_TRY(gnn__op_dense(call, "add", 0, 1, 2));
    if (!(z->rows == 1 && z->cols == x->cols))
        GNN_TRY(same_shape(call, "add"));
    gnn__op_output(call, x->rows, x->cols);
    if (is_one_row(call) && z->wants_grad)
        GNN_TRY(gnn__column_bytes(call, x->rows, x->cols, &call->backward_scratch));
    return GNN_OK;
}

static int add_forward(gnn_op_call_t *call)
{
    const gnn_real_t alpha = alpha_of(call->attributes);
    const gnn_tensor_t *x = &call->in[0].value, *z = &call->in[1].value, *y = &call->out[0].value;
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    const gnn__lines_t lines = gnn__lines(x, z, y, NULL);
    const int threads = gnn__op_threads(call, lines.total);
    if (is_one_row(call)) {
        GNN__PARALLEL_FOR (threads, int64_t from = 0; from < x->rows; from += ROWS_AT_ONCE)
            gnn__add_row(x, alpha, z->data, y, from, from + gnn__rows_left(x, from, ROWS_AT_ONCE));
        return GNN_OK;
    }
    GNN__PARALLEL_FOR (threads, int64_t k = 0; k < lines.count; k++)
        kernels->mix(gnn__line_length(&lines, k), 1, gnn__line(&lines, x, k), alpha,
                     gnn__line(&lines, z, k), gnn__line(&lines, y, k));
    return GNN_OK;
}

static int add_backward(gnn_op_call_t *call)
{
    const gnn_real_t alpha = alpha_of(call->attributes);
    const gnn_tensor_t *dy = &call->out[0].grad;
    if (gnn__wants(call, 0))
        gnn__op_send(call, 1, dy, &call->in[0].grad, call->in[0].accumulate);
    if (gnn__wants(call, 1) && is_one_row(call))
        gnn__column_sum(call, dy, (double)alpha, &call->in[1], call->scratch);
    else if (gnn__wants(call, 1))
        gnn__op_send(call, alpha, dy, &call->in[1].grad, call->in[1].accumulate);
    return GNN_OK;
}

static const gnn__op_traits_t add_traits = {.alpha = alpha_of, .with_activation = &gnn__op_bias};
const gnn_op_t gnn__op_add = {.name = "add",
                              .shape = add_shape,
                              .forward = add_forward,
                              .backward = add_backward,
                              .flags = GNN_OP_ELEMENTWISE,
                              .traits = &add_traits};

/* ---- y = (1 + eps) x + z ---- */

static int add_scaled_shape(gnn_op_call_t *call)
{
    const gnn_operand_t *x = &call->in[0], *eps = &call->in[2];
    GNN_TRY(gnn__op_dense(call, "add_scaled", 0, 2, 3));
    GNN_TRY(same_shape(call, "add_scaled"));
    if (eps->rows != 1 || eps->cols != 1)
        return gnn_op_fail(call, GNN_ESHAPE, "add_scaled expects one number eps, got %lld x %lld",
                           (long long)eps->rows, (long long)eps->cols);
    gnn__op_output(call, x->rows, x->cols);
    if (x->wants_grad)
        call->in[2].keep = 1;
    if (eps->wants_grad) {
        call->in[0].keep = 1;
        GNN_TRY(gnn__op_bytes(call, x->rows > 0 ? x->rows : 1, 1, sizeof(double),
                              &call->backward_scratch));
    }
    return GNN_OK;
}

static int add_scaled_forward(gnn_op_call_t *call)
{
    const gnn_tensor_t *x = &call->in[0].value, *z = &call->in[1].value, *y = &call->out[0].value;
    const gnn_real_t factor = 1 + call->in[2].value.data[0];
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    const gnn__lines_t lines = gnn__lines(x, z, y, NULL);
    const int threads = gnn__op_threads(call, lines.total);
    GNN__PARALLEL_FOR (threads, int64_t k = 0; k < lines.count; k++)
        kernels->mix(gnn__line_length(&lines, k), factor, gnn__line(&lines, x, k), 1,
                     gnn__line(&lines, z, k), gnn__line(&lines, y, k));
    return GNN_OK;
}

/* deps = sum of dy x: one number per row, then the rows in order. */
static void eps_grad(const gnn_op_call_t *call)
{
    const gnn_tensor_t *x = &call->in[0].value, *dy = &call->out[0].grad;
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    const int threads = gnn__op_threads(call, x->rows * x->cols);
    double *parts = call->scratch, total = 0;
    GNN__PARALLEL_FOR (threads, int64_t r = 0; r < x->rows; r++)
        parts[r] = kernels->dot(x->cols, gnn__row(x, r), gnn__row(dy, r));
    for (int64_t r = 0; r < x->rows; r++)
        total += parts[r];
    gnn__column_send(&total, 1, &call->in[2]);
}

static int add_scaled_backward(gnn_op_call_t *call)
{
    const gnn_tensor_t *dy = &call->out[0].grad;
    if (gnn__wants(call, 0))
        gnn__op_send(call, 1 + call->in[2].value.data[0], dy, &call->in[0].grad,
                     call->in[0].accumulate);
    if (gnn__wants(call, 1))
        gnn__op_send(call, 1, dy, &call->in[1].grad, call->in[1].accumulate);
    if (gnn__wants(call, 2))
        eps_grad(call);
    return GNN_OK;
}

const gnn_op_t gnn__op_add_scaled = {.name = "add_scaled",
                                     .shape = add_scaled_shape,
                                     .forward = add_scaled_forward,
                                     .backward = add_scaled_backward};
