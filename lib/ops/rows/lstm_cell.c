/* One step of an LSTM after the products that make its gates: gates (n x 4h) in the order i, f, g,
 * o, state (n x 2h) = [h | c], absent: 0 -> [h' | c'], c' = sigmoid(f) c + sigmoid(i) tanh(g), h'
 * = sigmoid(o) tanh(c'). Hochreiter and Schmidhuber 1997, in PyTorch's form. */
#include <lib/ops/rows/named_ops.h>

static int shape(gnn_op_call_t *call)
{
    const gnn_operand_t *gates = &call->in[0];
    GNN_TRY(gnn__op_dense(call, "lstm_cell", 0, 1, 1));
    if (gates->cols % 4 != 0)
        return gnn_op_fail(call, GNN_ESHAPE, "lstm_cell: gates of %lld columns are no four parts",
                           (long long)gates->cols);
    if (gnn__has_input(call, 1))
        GNN_TRY(gnn__op_expect(call, "lstm_cell", 1, gates->rows, gates->cols / 2));
    gnn__op_output(call, gates->rows, gates->cols / 2);
    call->in[0].keep = call->recording;
    if (gnn__has_input(call, 1))
        call->in[1].keep = call->recording;
    return GNN_OK;
}

/* c of row r, NULL where it is 0. */
static const gnn_real_t *memory(const gnn_op_call_t *call, int64_t r)
{
    return gnn__has_input(call, 1) ? gnn__row(&call->in[1].value, r) + call->out[0].cols / 2 : NULL;
}

static int forward(gnn_op_call_t *call)
{
    const gnn_tensor_t *gates = &call->in[0].value, *y = &call->out[0].value;
    const int64_t h = y->cols / 2;
    const int threads = gnn__op_threads(call, 60 * y->rows * y->cols);
    GNN__PARALLEL_FOR (threads, int64_t r = 0; r < y->rows; r++)
        gnn__elementwise_kernels()->lstm(h, h, gnn__row(gates, r), memory(call, r), gnn__row(y, r),
                                         gnn__row(y, r) + h);
    return GNN_OK;
}

static void row_grad(const gnn_op_call_t *call, int64_t r)
{
    const gnn_real_t *dy = gnn__row(&call->out[0].grad, r);
    const int64_t h = call->out[0].cols / 2;
    gnn__elementwise_kernels()->lstm_grad(
        h, h, gnn__row(&call->in[0].value, r), memory(call, r), dy, dy + h,
        gnn__wants(call, 0) ? gnn__row(&call->in[0].grad, r) : NULL,
        gnn__wants(call, 1) ? gnn__row(&call->in[1].grad, r) + h : NULL);
}

static int backward(gnn_op_call_t *call)
{
    const int64_t rows = call->out[0].rows;
    gnn__op_begin(call, 0);
    if (gnn__has_input(call, 1))
        gnn__op_begin(call, 1);
    const int threads = gnn__op_threads(call, 60 * rows * call->out[0].cols);
    GNN__PARALLEL_FOR (threads, int64_t r = 0; r < rows; r++)
        row_grad(call, r);
    return GNN_OK;
}

const gnn_op_t gnn_op_lstm_cell = {
    .name = "lstm_cell", .shape = shape, .forward = forward, .backward = backward};
