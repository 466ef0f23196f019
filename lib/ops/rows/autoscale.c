/* The scale of what is corrected: y_i = e_i sigma / |e_i|, sigma the mean over known rows of the
 * length of their errors, lengths being sums of absolute values; a factor above 1000, or none, is
 * 1. Smoothed errors e (n x c), errors (n x c), known (n x 1, 1 where the error is known). Huang
 * et al. 2021 (Correct and Smooth), as PyG scales. It is no op of training: no gradient passes. */
#include <lib/ops/rows/named_ops.h>

static int shape(gnn_op_call_t *call)
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

static int forward(gnn_op_call_t *call)
{
    const gnn_tensor_t *e = &call->in[0].value, *error = &call->in[1].value,
                       *known = &call->in[2].value, *y = &call->out[0].value;
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

static int backward(gnn_op_call_t *call)
{
    for (int k = 0; k < 3; k++)
        gnn__op_begin(call, k);
    return GNN_OK;
}

const gnn_op_t gnn_op_autoscale = {
    .name = "autoscale", .shape = shape, .forward = forward, .backward = backward};
