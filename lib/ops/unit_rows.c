/* L2 normalisation per head: y = x / max(|x|, 1e-12). With u = 1 / max(|x|, 1e-12), dx = u (dy - y
 * (y . dy)); u dy if the length is below the bound. */
#include <lib/ops/unit_rows.h>

#include <math.h>

static const double least = 1e-12;

static int64_t heads_of(const gnn_op_call_t *call)
{
    return ((const gnn__heads_settings_t *)call->attributes)->heads;
}

int gnn__unit_shape(gnn_op_call_t *call, const char *name, int64_t heads)
{
    GNN_TRY(gnn__op_dense(call, name, 0, 0, 1));
    if (heads < 1 || call->in[0].cols % heads != 0)
        return gnn_op_fail(call, GNN_ESHAPE, "%s: %lld columns do not divide into %lld heads", name,
                           (long long)call->in[0].cols, (long long)heads);
    gnn__op_output(call, call->in[0].rows, call->in[0].cols);
    call->in[0].keep = call->in[0].wants_grad;
    return GNN_OK;
}

static double length_of(const gnn_real_t *x, int64_t d)
{
    double sum = 0;
    for (int64_t c = 0; c < d; c++)
        sum += (double)x[c] * (double)x[c];
    return sqrt(sum);
}

void gnn__unit_head(const gnn_real_t *x, int64_t d, gnn_real_t *y)
{
    const double u = 1 / fmax(length_of(x, d), least);
    for (int64_t c = 0; c < d; c++)
        y[c] = (gnn_real_t)((double)x[c] * u);
}

int gnn__unit_forward(gnn_op_call_t *call, int64_t heads)
{
    const gnn_tensor_t *x = &call->in[0].value, *y = &call->out[0].value;
    const int64_t d = x->cols / heads;
    const int threads = gnn__op_threads(call, 3 * x->rows * x->cols);
    GNN__PARALLEL_FOR (threads, int64_t r = 0; r < x->rows; r++)
        for (int64_t h = 0; h < heads; h++)
            gnn__unit_head(gnn__row(x, r) + h * d, d, gnn__row(y, r) + h * d);
    return GNN_OK;
}

void gnn__unit_head_grad(const gnn_real_t *x, const gnn_real_t *dy, int64_t d, bool add,
                         gnn_real_t *dx)
{
    const double length = length_of(x, d), u = 1 / fmax(length, least);
    double along = 0;
    for (int64_t c = 0; length > least && c < d; c++)
        along += (double)x[c] * u * (double)dy[c];
    for (int64_t c = 0; c < d; c++)
        dx[c] =
            (gnn_real_t)((add ? (double)dx[c] : 0) + u * ((double)dy[c] - (double)x[c] * u * along));
}

int gnn__unit_backward(gnn_op_call_t *call, int64_t heads)
{
    const gnn_operand_t *x = &call->in[0];
    const gnn_tensor_t *dy = &call->out[0].grad;
    const int64_t d = dy->cols / heads;
    if (!gnn__wants(call, 0))
        return GNN_OK;
    const int threads = gnn__op_threads(call, 5 * dy->rows * dy->cols);
    GNN__PARALLEL_FOR (threads, int64_t r = 0; r < dy->rows; r++)
        for (int64_t h = 0; h < heads; h++)
            gnn__unit_head_grad(gnn__row(&x->value, r) + h * d, gnn__row(dy, r) + h * d, d,
                                x->accumulate != 0, gnn__row(&x->grad, r) + h * d);
    return GNN_OK;
}

static int unit_rows_shape(gnn_op_call_t *call)
{
    return gnn__unit_shape(call, "unit_rows", heads_of(call));
}

static int unit_rows_forward(gnn_op_call_t *call)
{
    return gnn__unit_forward(call, heads_of(call));
}

static int unit_rows_backward(gnn_op_call_t *call)
{
    return gnn__unit_backward(call, heads_of(call));
}

const gnn_op_t gnn__op_unit_rows = {.name = "unit_rows",
                                    .flags = GNN_OP_BY_ROWS,
                                    .shape = unit_rows_shape,
                                    .forward = unit_rows_forward,
                                    .backward = unit_rows_backward};
