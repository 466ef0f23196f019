/* Heads mixed by a matrix: head b of y is the sum over a of m_ab times head a of x. x (n x A*d), m
 * (A x B) -> (n x B*d). */
#include <lib/ops/rows/named_ops.h>

static int shape(gnn_op_call_t *call)
{
    const gnn_operand_t *x = &call->in[0], *m = &call->in[1];
    int64_t cols;
    GNN_TRY(gnn__op_dense(call, "mix_heads", 0, 1, 2));
    if (m->rows < 1 || x->cols % m->rows != 0)
        return gnn_op_fail(call, GNN_ESHAPE, "mix_heads: %lld columns do not divide into %lld heads",
                           (long long)x->cols, (long long)m->rows);
    if (!gnn__mul(x->cols / m->rows, m->cols, &cols))
        return gnn_op_fail(call, GNN_EOVERFLOW, "mix_heads: too many columns");
    gnn__op_output(call, x->rows, cols);
    call->in[0].keep = m->wants_grad;
    call->in[1].keep = x->wants_grad;
    return gnn__op_bytes(call, m->rows, m->cols, sizeof(double), &call->backward_scratch);
}

static int forward(gnn_op_call_t *call)
{
    const gnn_tensor_t *x = &call->in[0].value, *m = &call->in[1].value, *y = &call->out[0].value;
    const int64_t d = x->cols / m->rows;
    const int threads = gnn__op_threads(call, x->rows * x->cols * m->cols);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t r = 0; r < x->rows; r++)
        for (int64_t c = 0; c < y->cols; c++) {
            double sum = 0;
            for (int64_t a = 0; a < m->rows; a++)
                sum += (double)gnn__row(m, a)[c / d] * (double)gnn__row(x, r)[a * d + c % d];
            gnn__row(y, r)[c] = (gnn_real_t)sum;
        }
    return GNN_OK;
}

static void matrix_grad(const gnn_op_call_t *call)
{
    const gnn_tensor_t *x = &call->in[0].value, *dy = &call->out[0].grad;
    const int64_t heads = call->in[1].rows, mixed = call->in[1].cols, d = x->cols / heads;
    double *sums = call->scratch;
    memset(sums, 0, sizeof *sums * (size_t)(heads * mixed));
    for (int64_t r = 0; r < x->rows; r++)
        for (int64_t a = 0; a < heads; a++)
            for (int64_t c = 0; c < dy->cols; c++)
                sums[a * mixed + c / d] +=
                    (double)gnn__row(dy, r)[c] * (double)gnn__row(x, r)[a * d + c % d];
    gnn__op_add_numbers(&call->in[1], sums);
}

static int backward(gnn_op_call_t *call)
{
    const gnn_tensor_t *m = &call->in[1].value, *dx = &call->in[0].grad, *dy = &call->out[0].grad;
    gnn__op_begin(call, 0);
    gnn__op_begin(call, 1);
    if (gnn__wants(call, 1) && dy->cols > 0)
        matrix_grad(call);
    for (int64_t r = 0; gnn__wants(call, 0) && r < dx->rows; r++)
        for (int64_t c = 0; c < dy->cols; c++) {
            const int64_t d = dx->cols / m->rows;
            for (int64_t a = 0; a < m->rows; a++)
                gnn__row(dx, r)[a * d + c % d] += gnn__row(m, a)[c / d] * gnn__row(dy, r)[c];
        }
    return GNN_OK;
}

const gnn_op_t gnn_op_mix_heads = {
    .name = "mix_heads", .shape = shape, .forward = forward, .backward = backward};
