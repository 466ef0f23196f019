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
    return gnn__column_bytes(call, x->rows, m->rows * m->cols, &call->backward_scratch);
}

static int forward(gnn_op_call_t *call)
{
    const gnn_tensor_t *x = &call->in[0].value, *m = &call->in[1].value, *y = &call->out[0].value;
    const int64_t d = x->cols / m->rows;
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    const int threads = gnn__op_threads(call, x->rows * x->cols * m->cols);
    GNN__PARALLEL_FOR (threads, int64_t r = 0; r < x->rows; r++)
        for (int64_t b = 0; b < m->cols; b++)
            for (int64_t a = 0; a < m->rows; a++)
                kernels->scale(d, gnn__row(m, a)[b], gnn__row(x, r) + a * d, a > 0,
                               gnn__row(y, r) + b * d);
    return GNN_OK;
}

/* One row: dx, and what it adds to dm. */
static void row_grad(const gnn_op_call_t *call, int64_t r, double *sums)
{
    const gnn_tensor_t *m = &call->in[1].value;
    const int64_t d = call->in[0].cols / m->rows;
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    for (int64_t a = 0; a < m->rows; a++)
        for (int64_t b = 0; b < m->cols; b++) {
            const gnn_real_t *dy = gnn__row(&call->out[0].grad, r) + b * d;
            if (gnn__wants(call, 0))
                kernels->scale(d, gnn__row(m, a)[b], dy, true,
                               gnn__row(&call->in[0].grad, r) + a * d);
            if (gnn__wants(call, 1))
                sums[a * m->cols + b] += kernels->dot(d, gnn__row(&call->in[0].value, r) + a * d, dy);
        }
}

static int backward(gnn_op_call_t *call)
{
    const int64_t rows = call->in[0].rows, numbers = call->in[1].rows * call->in[1].cols;
    const int chunks = (int)gnn__column_chunks(rows);
    double *sums = call->scratch;
    gnn__op_begin(call, 0);
    gnn__op_begin(call, 1);
    const int threads = gnn__op_threads(call, 2 * rows * call->in[0].cols * call->in[1].cols);
    GNN__PARALLEL_FOR (threads, int k = 0; k < chunks; k++) {
        memset(sums + k * numbers, 0, sizeof *sums * (size_t)numbers);
        for (int64_t r = gnn__share(rows, k, chunks); r < gnn__share(rows, k + 1, chunks); r++)
            row_grad(call, r, sums + k * numbers);
    }
    if (gnn__wants(call, 1) && call->out[0].cols > 0) {
        gnn__column_total(chunks, numbers, sums);
        gnn__op_add_numbers(&call->in[1], sums);
    }
    return GNN_OK;
}

const gnn_op_t gnn_op_mix_heads = {
    .name = "mix_heads", .shape = shape, .forward = forward, .backward = backward};
