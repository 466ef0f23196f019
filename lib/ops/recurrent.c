/* Recurrent cells: GRU and LSTM. Over the senders of a receiver: recurrent_senders.c. */
#include <lib/ops/named/named_ops.h>
#include <lib/ops/support.h>

/* ---- gru ---- */

/* The GRU cell, Cho et al. 2014, in PyTorch's form, after the two products that make the gates:
 *   r = sigmoid(x_r + h_r),  z = sigmoid(x_z + h_z),  n = tanh(x_n + r h_n),  h' = (1 - z) n + z h.
 * Saved: r, z, n and h_n, so that the gates themselves need not be kept. */

enum { ROWS_AT_ONCE = 32 };

static int gru_shape(gnn_op_call_t *call)
{
    const gnn_operand_t *h = &call->in[2];
    int64_t three;
    GNN_TRY(gnn__op_dense(call, "gru", 0, 2, 3));
    if (!gnn__mul(h->cols, 3, &three))
        return gnn_op_fail(call, GNN_EOVERFLOW, "gru: gates of 3 x %lld columns overflow",
                           (long long)h->cols);
    for (int k = 0; k < 2; k++)
        if (call->in[k].rows != h->rows || call->in[k].cols != three)
            return gnn_op_fail(
                call, GNN_ESHAPE,
                "gru expects gates of %lld x %lld for a state of %lld x %lld, got %lld x %lld",
                (long long)h->rows, (long long)three, (long long)h->rows, (long long)h->cols,
                (long long)call->in[k].rows, (long long)call->in[k].cols);
    gnn__op_output(call, h->rows, h->cols);
    if (!call->recording)
        return GNN_OK;
    call->in[2].keep = 1;
    size_t row;
    GNN_TRY(gnn__op_bytes(call, 5, h->cols, sizeof(gnn_real_t), &row));
    GNN_TRY(gnn__op_bytes(call, h->rows, 4 * h->cols, sizeof(gnn_real_t), &call->saved_bytes[0]));
    return gnn__op_bytes(call, (h->rows + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE, (int64_t)row, 1,
                         &call->backward_scratch);
}

static int gru_forward(gnn_op_call_t *call)
{
    const gnn_tensor_t *xg = &call->in[0].value, *hg = &call->in[1].value;
    const gnn_tensor_t *h = &call->in[2].value, *y = &call->out[0].value;
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    gnn_real_t *saved = call->recording ? call->saved[0] : NULL;
    const int64_t d = h->cols;
    const int threads = gnn__op_threads(call, 24 * h->rows * d);
    GNN__PARALLEL_FOR (threads, int64_t r = 0; r < h->rows; r++)
        kernels->gru(d, gnn__row(xg, r), gnn__row(hg, r), gnn__row(h, r), gnn__row(y, r),
                     saved ? saved + 4 * d * r : NULL);
    return GNN_OK;
}

/* Writes the gradients of row r; `inner` holds dr, dz, dn of gates_x, dn of gates_h, and dh. */
static void write_row_grads(const gnn_op_call_t *call, int64_t r, const gnn_real_t *inner)
{
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    const int64_t d = call->in[2].cols;
    if (gnn__wants(call, 0))
        kernels->scale(3 * d, 1, inner, call->in[0].accumulate, gnn__row(&call->in[0].grad, r));
    if (gnn__wants(call, 1)) {
        kernels->scale(2 * d, 1, inner, call->in[1].accumulate, gnn__row(&call->in[1].grad, r));
        kernels->scale(d, 1, inner + 3 * d, call->in[1].accumulate,
                       gnn__row(&call->in[1].grad, r) + 2 * d);
    }
    if (gnn__wants(call, 2))
        kernels->scale(d, 1, inner + 4 * d, call->in[2].accumulate, gnn__row(&call->in[2].grad, r));
}

static int gru_backward(gnn_op_call_t *call)
{
    const gnn_tensor_t *h = &call->in[2].value, *dy = &call->out[0].grad;
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    const gnn_real_t *saved = call->saved[0];
    const int64_t d = dy->cols, pieces = (dy->rows + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE;
    const int threads = gnn__op_threads(call, 12 * dy->rows * d);
    GNN__PARALLEL_FOR (threads, int64_t k = 0; k < pieces; k++) {
        gnn_real_t *inner = (gnn_real_t *)call->scratch + 5 * d * k;
        for (int64_t r = k * ROWS_AT_ONCE; r < dy->rows && r < (k + 1) * ROWS_AT_ONCE; r++) {
            kernels->gru_grad(d, saved + 4 * d * r, gnn__row(h, r), gnn__row(dy, r), inner,
                              inner + 4 * d);
            write_row_grads(call, r, inner);
        }
    }
    return GNN_OK;
}

const gnn_op_t gnn__op_gru = {.name = "gru",
                              .flags = GNN_OP_BY_ROWS,
                              .shape = gru_shape,
                              .forward = gru_forward,
                              .backward = gru_backward};

/* ---- lstm_cell ---- */

/* One LSTM step after the products that make its gates: gates (n x 4h) in the order i, f, g, o,
 * state (n x 2h) = [h | c], 0 if absent -> [h' | c'], c' = sigmoid(f) c + sigmoid(i) tanh(g), h' =
 * sigmoid(o) tanh(c'). Hochreiter and Schmidhuber 1997, in PyTorch's form. */

static int lstm_cell_shape(gnn_op_call_t *call)
{
    const gnn_operand_t *gates = &call->in[0];
    GNN_TRY(gnn__op_dense(call, "lstm_cell", 0, 1, 1));
    if (gates->cols % 4 != 0)
        return gnn_op_fail(call, GNN_ESHAPE, "lstm_cell expects gates of 4 h columns, got %lld",
                           (long long)gates->cols);
    if (gnn__has_input(call, 1))
        GNN_TRY(gnn__op_expect(call, "lstm_cell", 1, gates->rows, gates->cols / 2));
    gnn__op_output(call, gates->rows, gates->cols / 2);
    call->in[0].keep = call->recording;
    if (gnn__has_input(call, 1))
        call->in[1].keep = call->recording;
    return GNN_OK;
}

/* c of row r; NULL if it is 0. */
static const gnn_real_t *cell_state(const gnn_op_call_t *call, int64_t r)
{
    return gnn__has_input(call, 1) ? gnn__row(&call->in[1].value, r) + call->out[0].cols / 2 : NULL;
}

static int lstm_cell_forward(gnn_op_call_t *call)
{
    const gnn_tensor_t *gates = &call->in[0].value, *y = &call->out[0].value;
    const int64_t h = y->cols / 2;
    const int threads = gnn__op_threads(call, 60 * y->rows * y->cols);
    GNN__PARALLEL_FOR (threads, int64_t r = 0; r < y->rows; r++)
        gnn__elementwise_kernels()->lstm(h, h, gnn__row(gates, r), cell_state(call, r),
                                         gnn__row(y, r), gnn__row(y, r) + h);
    return GNN_OK;
}

static void lstm_cell_row_grad(const gnn_op_call_t *call, int64_t r)
{
    const gnn_real_t *dy = gnn__row(&call->out[0].grad, r);
    const int64_t h = call->out[0].cols / 2;
    gnn__elementwise_kernels()->lstm_grad(
        h, h, gnn__row(&call->in[0].value, r), cell_state(call, r), dy, dy + h,
        gnn__wants(call, 0) ? gnn__row(&call->in[0].grad, r) : NULL,
        gnn__wants(call, 1) ? gnn__row(&call->in[1].grad, r) + h : NULL);
}

static int lstm_cell_backward(gnn_op_call_t *call)
{
    const int64_t rows = call->out[0].rows;
    gnn__op_begin(call, 0);
    if (gnn__has_input(call, 1))
        gnn__op_begin(call, 1);
    const int threads = gnn__op_threads(call, 60 * rows * call->out[0].cols);
    GNN__PARALLEL_FOR (threads, int64_t r = 0; r < rows; r++)
        lstm_cell_row_grad(call, r);
    return GNN_OK;
}

const gnn_op_t gnn_op_lstm_cell = {.name = "lstm_cell",
                                   GNN__NO_OPTIONS,
                                   .shape = lstm_cell_shape,
                                   .forward = lstm_cell_forward,
                                   .backward = lstm_cell_backward};
