/* The last state of an LSTM that hears the senders of a receiver one after another: x (n_src x d),
 * W (d x 4h), U (h x 4h), b (1 x 4h), gates i, f, g, o -> (n_dst x h). It takes as many steps for
 * every receiver: as many senders as the one with the most of them hears; behind its own ones a
 * receiver hears rows of 0, as in PyG's LSTMAggregation. Hamilton et al. 2017.
 *
 * x W is one product for all senders; receivers go together in groups, whose h U is one product a
 * step. Backward runs a group forward again and keeps its steps, so its groups are smaller. */
#include <lib/ops/rows/named_ops.h>

/* Steps: of the receiver that hears most. */
static int64_t longest(const gnn__pairs_t *pairs)
{
    int64_t most = 0;
    for (int64_t r = 0; r < pairs->n_rows; r++)
        most = gnn__max(most, gnn__pairs_to(pairs, r) - gnn__pairs_from(pairs, r));
    return most;
}

/* Receivers of a group: as many as 32 MB of the steps that are kept hold, at least 16. */
static int64_t group_rows(int64_t rows, int64_t steps, int64_t h)
{
    const int64_t of_one = gnn__max((steps + 1) * 6 * h * (int64_t)sizeof(gnn_real_t), 1),
                  fit = ((int64_t)32 << 20) / of_one;
    return gnn__max(gnn__min(gnn__min(gnn__max(fit, 16), 256), rows), 1);
}

/* What a run works with. Forward keeps one step's gates and two states, backward all of them. */
typedef struct run {
    const gnn_op_call_t *call;
    const gnn__pairs_t *pairs;
    int64_t h, steps, most; /* receivers of a group */
    bool keeps;
    gnn_real_t *sent;          /* n_src x 4h: x W; backward: and its gradient behind it */
    gnn_real_t *gates, *state; /* (steps or 1) x most x 4h, (steps + 1 or 2) x most x 2h: h | c */
    gnn_real_t *d_h, *d_c, *d_gates; /* backward: most x h, h of one row, 4h of one row */
    double *d_bias;                  /* backward: 4h */
} run_t;

static int lay_out(const gnn_op_call_t *call, const gnn__pairs_t *pairs, void *scratch,
                   bool backward, run_t *run, size_t *bytes)
{
    gnn__carve_t carve = {.base = scratch};
    const int64_t h = call->in[2].rows, steps = longest(pairs),
                  most = group_rows(pairs->n_rows, backward ? steps : 1, h);
    int64_t sent = 0, gates = 0, state = 0;
    *run = (run_t){
        .call = call, .pairs = pairs, .h = h, .steps = steps, .most = most, .keeps = backward};
    carve.overflow |= !gnn__mul(call->in[0].rows, 4 * h * (backward ? 2 : 1), &sent) ||
                      !gnn__mul(backward ? steps : 1, most * 4 * h, &gates) ||
                      !gnn__mul(backward ? steps + 1 : 2, most * 2 * h, &state);
    run->d_bias = gnn__carve(&carve, backward ? 4 * h : 0, sizeof(double));
    run->sent = gnn__carve(&carve, sent, sizeof(gnn_real_t));
    run->gates = gnn__carve(&carve, gates, sizeof(gnn_real_t));
    run->state = gnn__carve(&carve, state, sizeof(gnn_real_t));
    run->d_h = gnn__carve(&carve, backward ? most * h : 0, sizeof(gnn_real_t));
    run->d_c = gnn__carve(&carve, backward ? (most + 1) * h : 0, sizeof(gnn_real_t));
    run->d_gates = gnn__carve(&carve, backward ? 4 * h : 0, sizeof(gnn_real_t));
    *bytes = (size_t)carve.used;
    return carve.overflow ? gnn_op_fail(call, GNN_EOVERFLOW, "lstm_senders: too many steps") : GNN_OK;
}

static int shape(gnn_op_call_t *call)
{
    const gnn__pairs_t *pairs;
    const int64_t d = call->in[0].cols, h = call->n_in > 2 ? call->in[2].rows : 0;
    run_t run;
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

/* ---- the steps of a group: receivers `first` .. first + rows - 1 ---- */

static gnn_real_t *gates_at(const run_t *run, int64_t t)
{
    return run->gates + (run->keeps ? t : 0) * run->most * 4 * run->h;
}

static gnn_real_t *state_at(const run_t *run, int64_t t)
{
    return run->state + (run->keeps ? t : t % 2) * run->most * 2 * run->h;
}

/* The sender of step t, or -1. */
static int64_t sender(const gnn__pairs_t *pairs, int64_t r, int64_t t)
{
    const int64_t at = gnn__pairs_from(pairs, r) + t;
    return at < gnn__pairs_to(pairs, r) ? gnn__pairs_col(pairs, at) : -1;
}

static int run_step(const run_t *run, int64_t first, int64_t rows, int64_t t)
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

static int run_group(const run_t *run, int64_t first, int64_t rows)
{
    memset(state_at(run, 0), 0, sizeof(gnn_real_t) * (size_t)(rows * 2 * run->h));
    for (int64_t t = 0; t < run->steps; t++)
        GNN_TRY(run_step(run, first, rows, t));
    return GNN_OK;
}

/* x W of all senders. */
static int send(const run_t *run)
{
    const gnn_tensor_t sent = {run->sent, run->call->in[0].rows, 4 * run->h, 4 * run->h};
    return gnn__op_product(run->call, &run->call->in[0].value, false, &run->call->in[1].value,
                           false, &sent, false, NULL);
}

static int forward(gnn_op_call_t *call)
{
    run_t run;
    size_t bytes;
    GNN_TRY(lay_out(call, gnn__op_pairs(call, "lstm_senders"), call->scratch, false, &run, &bytes));
    GNN_TRY(send(&run));
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

/* Row r of step t: the gradient of its gates takes their place, and goes to its sender. */
static void row_grad(const run_t *run, int64_t first, int64_t r, int64_t t)
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

static int group_grad(const run_t *run, int64_t first, int64_t rows)
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
            row_grad(run, first, r, t);
        const gnn_tensor_t d = {gates_at(run, t), rows, g, g}, d_h = {run->d_h, rows, h, h},
                           before = {state_at(run, t), rows, h, 2 * h};
        GNN_TRY(gnn__op_product(run->call, &d, false, &u->value, true, &d_h, false, NULL));
        if (gnn__wants(run->call, 2) && t > 0)
            GNN_TRY(gnn__op_product(run->call, &before, true, &d, false, &u->grad, true, NULL));
    }
    return GNN_OK;
}

static int backward(gnn_op_call_t *call)
{
    run_t run;
    size_t bytes;
    GNN_TRY(lay_out(call, gnn__op_pairs(call, "lstm_senders"), call->scratch, true, &run, &bytes));
    const int64_t g = 4 * run.h, n = call->in[0].rows;
    const gnn_tensor_t d_sent = {run.sent + n * g, n, g, g};
    memset(d_sent.data, 0, sizeof(gnn_real_t) * (size_t)(n * g));
    memset(run.d_bias, 0, sizeof(double) * (size_t)g);
    for (int k = 0; k < 4; k++)
        gnn__op_begin(call, k);
    GNN_TRY(send(&run));
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
        gnn__op_add_numbers(&call->in[3], run.d_bias);
    return GNN_OK;
}

const gnn_op_t gnn_op_lstm_senders = {.name = "lstm_senders",
                                      .shape = shape,
                                      .forward = forward,
                                      .backward = backward,
                                      .flags = GNN_OP_READS_GRAPH};
