/* Recurrent cells: GRU, LSTM, and the LSTM over the senders of a receiver. */
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

const gnn_op_t gnn__op_gru = {
    .name = "gru", .shape = gru_shape, .forward = gru_forward, .backward = gru_backward};

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
                                   .shape = lstm_cell_shape,
                                   .forward = lstm_cell_forward,
                                   .backward = lstm_cell_backward};

/* ---- lstm_senders ---- */

/* LSTM aggregation: the last state of an LSTM that reads the senders of a receiver in order. x
 * (n_src x d), W (d x 4h), U (h x 4h), b (1 x 4h), gates i, f, g, o -> (n_dst x h). As in PyG's
 * LSTMAggregation every receiver takes as many steps as the largest in-degree, padded with rows of
 * 0. Hamilton et al. 2017.
 *
 * x W is one product over all senders; receivers run in groups, with one product h U per step.
 * Backward recomputes a group with all its steps saved, so its groups are smaller. */

/* Steps: the largest in-degree. */
static int64_t longest(const gnn__pairs_t *pairs)
{
    int64_t most = 0;
    for (int64_t r = 0; r < pairs->n_rows; r++)
        most = gnn__max(most, gnn__pairs_to(pairs, r) - gnn__pairs_from(pairs, r));
    return most;
}

/* Receivers of a group: at most 256, at least 16, and as many as 32 MB of saved steps hold. */
static int64_t group_rows(int64_t rows, int64_t steps, int64_t h)
{
    const int64_t of_one = gnn__max((steps + 1) * 6 * h * (int64_t)sizeof(gnn_real_t), 1),
                  fit = ((int64_t)32 << 20) / of_one;
    return gnn__max(gnn__min(gnn__min(gnn__max(fit, 16), 256), rows), 1);
}

/* Workspace. Forward keeps one step's gates and two states, backward those of all steps. */
typedef struct run {
    const gnn_op_call_t *call;
    const gnn__pairs_t *pairs;
    int64_t h, steps, most; /* width; steps; receivers of a group */
    bool keeps;
    gnn_real_t *sent;          /* n_src x 4h: x W; in backward its gradient follows */
    gnn_real_t *gates, *state; /* (steps or 1) x most x 4h; (steps + 1 or 2) x most x 2h: h | c */
    gnn_real_t *d_h, *d_c, *d_gates; /* backward: most x h; most x h and one row; 1 x 4h */
    double *d_bias;                  /* backward: 1 x 4h */
} lstm_run_t;

static int lay_out(const gnn_op_call_t *call, const gnn__pairs_t *pairs, void *scratch,
                   bool lstm_senders_backward, lstm_run_t *run, size_t *bytes)
{
    gnn__carve_t carve = {.base = scratch};
    const int64_t h = call->in[2].rows, steps = longest(pairs),
                  most = group_rows(pairs->n_rows, lstm_senders_backward ? steps : 1, h);
    int64_t sent = 0, gates = 0, state = 0;
    *run = (lstm_run_t){.call = call,
                        .pairs = pairs,
                        .h = h,
                        .steps = steps,
                        .most = most,
                        .keeps = lstm_senders_backward};
    carve.overflow |= !gnn__mul(call->in[0].rows, 4 * h * (lstm_senders_backward ? 2 : 1), &sent) ||
                      !gnn__mul(lstm_senders_backward ? steps : 1, most * 4 * h, &gates) ||
                      !gnn__mul(lstm_senders_backward ? steps + 1 : 2, most * 2 * h, &state);
    run->d_bias = gnn__carve(&carve, lstm_senders_backward ? 4 * h : 0, sizeof(double));
    run->sent = gnn__carve(&carve, sent, sizeof(gnn_real_t));
    run->gates = gnn__carve(&carve, gates, sizeof(gnn_real_t));
    run->state = gnn__carve(&carve, state, sizeof(gnn_real_t));
    run->d_h = gnn__carve(&carve, lstm_senders_backward ? most * h : 0, sizeof(gnn_real_t));
    run->d_c = gnn__carve(&carve, lstm_senders_backward ? (most + 1) * h : 0, sizeof(gnn_real_t));
    run->d_gates = gnn__carve(&carve, lstm_senders_backward ? 4 * h : 0, sizeof(gnn_real_t));
    *bytes = (size_t)carve.used;
    return carve.overflow
               ? gnn_op_fail(call, GNN_EOVERFLOW, "lstm_senders: the size of its workspace overflows")
               : GNN_OK;
}

static int lstm_senders_shape(gnn_op_call_t *call)
{
    const gnn__pairs_t *pairs;
    const int64_t d = call->in[0].cols, h = call->n_in > 2 ? call->in[2].rows : 0;
    lstm_run_t run;
    GNN_TRY(gnn__op_dense(call, "lstm_senders", 0, 3, 4));
    GNN_TRY(gnn__op_senders(call, "lstm_senders", &pairs));
    GNN_TRY(gnn__op_expect(call, "lstm_senders", 1, d, 4 * h));
    GNN_TRY(gnn__op_expect(call, "lstm_senders", 2, h, 4 * h));
    GNN_TRY(gnn__op_expect(call, "lstm_senders", 3, 1, 4 * h));
    gnn__op_output(call, gnn__op_options(call)->graph->n_dst, h);
    for (int k = 0; k < 4; k++)
        call->in[k].keep = call->recording;
    GNN_TRY(lay_out(call, pairs, NULL, false, &run, &call->forward_scratch));
    return lay_out(call, pairs, NULL, true, &run, &call->backward_scratch);
}

/* ---- the steps of a group: receivers first .. first + rows - 1 ---- */

static gnn_real_t *gates_at(const lstm_run_t *run, int64_t t)
{
    return run->gates + (run->keeps ? t : 0) * run->most * 4 * run->h;
}

static gnn_real_t *state_at(const lstm_run_t *run, int64_t t)
{
    return run->state + (run->keeps ? t : t % 2) * run->most * 2 * run->h;
}

/* The sender of step t; -1 where the receiver has fewer. */
static int64_t sender(const gnn__pairs_t *pairs, int64_t r, int64_t t)
{
    const int64_t at = gnn__pairs_from(pairs, r) + t;
    return at < gnn__pairs_to(pairs, r) ? gnn__pairs_col(pairs, at) : -1;
}

static int run_step(const lstm_run_t *run, int64_t first, int64_t rows, int64_t t)
{
    const int64_t h = run->h, g = 4 * h;
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    gnn_real_t *gates = gates_at(run, t), *next = state_at(run, t + 1);
    const gnn_real_t *bias = run->call->in[3].value.data, *before = state_at(run, t);
    const int threads = gnn__op_threads(run->call, 60 * rows * h);
    GNN__PARALLEL_FOR (threads, int64_t r = 0; r < rows; r++) {
        const int64_t j = sender(run->pairs, first + r, t);
        memcpy(gates + r * g, bias, sizeof *gates * (size_t)g);
        if (j >= 0)
            kernels->scale(g, 1, run->sent + j * g, true, gates + r * g);
    }
    const gnn_tensor_t state = {(gnn_real_t *)before, rows, h, 2 * h}, sums = {gates, rows, g, g};
    if (t > 0)
        GNN_TRY(gnn__op_product(run->call, &state, false, &run->call->in[2].value, false, &sums,
                                true, NULL));
    GNN__PARALLEL_FOR (threads, int64_t r = 0; r < rows; r++)
        kernels->lstm(h, h, gates + r * g, before + r * 2 * h + h, next + r * 2 * h,
                      next + r * 2 * h + h);
    return GNN_OK;
}

static int run_group(const lstm_run_t *run, int64_t first, int64_t rows)
{
    memset(state_at(run, 0), 0, sizeof(gnn_real_t) * (size_t)(rows * 2 * run->h));
    for (int64_t t = 0; t < run->steps; t++)
        GNN_TRY(run_step(run, first, rows, t));
    return GNN_OK;
}

/* x W of all senders. */
static int project_senders(const lstm_run_t *run)
{
    const gnn_tensor_t sent = {run->sent, run->call->in[0].rows, 4 * run->h, 4 * run->h};
    return gnn__op_product(run->call, &run->call->in[0].value, false, &run->call->in[1].value,
                           false, &sent, false, NULL);
}

static int lstm_senders_forward(gnn_op_call_t *call)
{
    lstm_run_t run;
    size_t bytes;
    GNN_TRY(lay_out(call, gnn__op_pairs(call, "lstm_senders"), call->scratch, false, &run, &bytes));
    GNN_TRY(project_senders(&run));
    for (int64_t first = 0; first < run.pairs->n_rows; first += run.most) {
        const int64_t rows = gnn__min(run.pairs->n_rows - first, run.most);
        GNN_TRY(run_group(&run, first, rows));
        for (int64_t r = 0; r < rows; r++)
            memcpy(gnn__row(&call->out[0].value, gnn__pairs_node(run.pairs, first + r)),
                   state_at(&run, run.steps) + r * 2 * run.h, sizeof(gnn_real_t) * (size_t)run.h);
    }
    return GNN_OK;
}

/* ---- backward ---- */

/* Row r of step t: its gates are replaced by their gradient, which is added to the sender's. */
static void lstm_senders_row_grad(const lstm_run_t *run, int64_t first, int64_t r, int64_t t)
{
    const int64_t h = run->h, g = 4 * h, j = sender(run->pairs, first + r, t);
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    gnn_real_t *gates = gates_at(run, t) + r * g, *d_c = run->d_c + r * h,
               *d_before = run->d_c + run->most * h;
    memset(run->d_gates, 0, sizeof *gates * (size_t)g);
    memset(d_before, 0, sizeof *gates * (size_t)h);
    kernels->lstm_grad(h, h, gates, state_at(run, t) + r * 2 * h + h, run->d_h + r * h, d_c,
                       run->d_gates, d_before);
    memcpy(gates, run->d_gates, sizeof *gates * (size_t)g);
    memcpy(d_c, d_before, sizeof *gates * (size_t)h);
    for (int64_t c = 0; c < g; c++)
        run->d_bias[c] += (double)gates[c];
    if (j >= 0)
        kernels->scale(g, 1, gates, true, run->sent + (run->call->in[0].rows + j) * g);
}

static int group_grad(const lstm_run_t *run, int64_t first, int64_t rows)
{
    const int64_t h = run->h, g = 4 * h;
    const gnn_operand_t *u = &run->call->in[2];
    for (int64_t r = 0; r < rows; r++)
        memcpy(run->d_h + r * h,
               gnn__row(&run->call->out[0].grad, gnn__pairs_node(run->pairs, first + r)),
               sizeof(gnn_real_t) * (size_t)h);
    memset(run->d_c, 0, sizeof(gnn_real_t) * (size_t)(rows * h));
    for (int64_t t = run->steps - 1; t >= 0; t--) {
        for (int64_t r = 0; r < rows; r++)
            lstm_senders_row_grad(run, first, r, t);
        const gnn_tensor_t d = {gates_at(run, t), rows, g, g}, d_h = {run->d_h, rows, h, h},
                           before = {state_at(run, t), rows, h, 2 * h};
        GNN_TRY(gnn__op_product(run->call, &d, false, &u->value, true, &d_h, false, NULL));
        if (gnn__wants(run->call, 2) && t > 0)
            GNN_TRY(gnn__op_product(run->call, &before, true, &d, false, &u->grad, true, NULL));
    }
    return GNN_OK;
}

static int lstm_senders_backward(gnn_op_call_t *call)
{
    lstm_run_t run;
    size_t bytes;
    GNN_TRY(lay_out(call, gnn__op_pairs(call, "lstm_senders"), call->scratch, true, &run, &bytes));
    const int64_t g = 4 * run.h, n = call->in[0].rows;
    const gnn_tensor_t d_sent = {run.sent + n * g, n, g, g};
    memset(d_sent.data, 0, sizeof(gnn_real_t) * (size_t)(n * g));
    memset(run.d_bias, 0, sizeof(double) * (size_t)g);
    for (int k = 0; k < 4; k++)
        gnn__op_begin(call, k);
    GNN_TRY(project_senders(&run));
    for (int64_t first = 0; first < run.pairs->n_rows; first += run.most) {
        const int64_t rows = gnn__min(run.pairs->n_rows - first, run.most);
        GNN_TRY(run_group(&run, first, rows));
        GNN_TRY(group_grad(&run, first, rows));
    }
    if (gnn__wants(call, 0))
        GNN_TRY(gnn__op_product(call, &d_sent, false, &call->in[1].value, true, &call->in[0].grad,
                                true, NULL));
    if (gnn__wants(call, 1))
        GNN_TRY(gnn__op_product(call, &call->in[0].value, true, &d_sent, false, &call->in[1].grad,
                                true, NULL));
    if (gnn__wants(call, 3))
        gnn__op_accumulate(&call->in[3], run.d_bias);
    return GNN_OK;
}

const gnn_op_t gnn_op_lstm_senders = {.name = "lstm_senders",
                                      .shape = lstm_senders_shape,
                                      .forward = lstm_senders_forward,
                                      .backward = lstm_senders_backward,
                                      .flags = GNN_OP_READS_GRAPH};
