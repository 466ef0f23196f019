/* The last state of an LSTM that hears the senders of a receiver one after another: x (n_src x d),
 * W (d x 4h), U (h x 4h), b (1 x 4h), gates i, f, g, o -> (n_dst x h). It takes as many steps for
 * every receiver: as many senders as the one with the most of them hears; behind its own ones a
 * receiver hears rows of 0, as in PyG's LSTMAggregation. Hamilton et al. 2017. */
#include <lib/ops/rows/named_ops.h>
#include <lib/ops/rows/lstm.h>

/* Steps: of the receiver that hears most. */
static int64_t longest(const gnn__pairs_t *pairs)
{
    int64_t most = 0;
    for (int64_t r = 0; r < pairs->n_rows; r++)
        most = gnn__max(most, gnn__pairs_to(pairs, r) - gnn__pairs_from(pairs, r));
    return most;
}

/* Of one receiver: for every step gates (4h), h and c (2h), and room for their gradients. */
static int lay_out(const gnn_op_call_t *call, const gnn__pairs_t *pairs, size_t *bytes)
{
    const int64_t h = call->in[2].rows;
    return gnn__op_bytes(call, longest(pairs) + 1, 12 * h, sizeof(gnn_real_t), bytes);
}

static int shape(gnn_op_call_t *call)
{
    const gnn__pairs_t *pairs;
    const int64_t d = call->in[0].cols, h = call->n_in > 2 ? call->in[2].rows : 0;
    size_t run, sums;
    GNN_TRY(gnn__op_dense(call, "lstm_senders", 0, 3, 4));
    GNN_TRY(gnn__op_senders(call, "lstm_senders", &pairs));
    GNN_TRY(gnn__op_expect(call, "lstm_senders", 1, d, 4 * h));
    GNN_TRY(gnn__op_expect(call, "lstm_senders", 2, h, 4 * h));
    GNN_TRY(gnn__op_expect(call, "lstm_senders", 3, 1, 4 * h));
    gnn__op_output(call, gnn__op_options(call)->graph->n_dst, h);
    for (int k = 0; k < 4; k++)
        call->in[k].keep = call->recording;
    GNN_TRY(lay_out(call, pairs, &run));
    GNN_TRY(gnn__op_bytes(call, d + h + 1, 4 * h, sizeof(double), &sums));
    call->forward_scratch = run;
    call->backward_scratch = sums + run;
    return GNN_OK;
}

/* The sender of step t, or -1. */
static int64_t sender(const gnn__pairs_t *pairs, int64_t r, int64_t t)
{
    const int64_t at = gnn__pairs_from(pairs, r) + t;
    return r >= 0 && at < gnn__pairs_to(pairs, r) ? gnn__pairs_col(pairs, at) : -1;
}

/* gates = b + x W + h U */
static void gates_of(const gnn_op_call_t *call, const gnn_real_t *x, const gnn_real_t *before,
                     gnn_real_t *gates)
{
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    const gnn_tensor_t *w = &call->in[1].value, *u = &call->in[2].value;
    memcpy(gates, call->in[3].value.data, sizeof *gates * (size_t)w->cols);
    for (int64_t k = 0; x && k < w->rows; k++)
        kernels->scale(w->cols, x[k], gnn__row(w, k), true, gates);
    for (int64_t k = 0; k < u->rows; k++)
        kernels->scale(u->cols, before[k], gnn__row(u, k), true, gates);
}

/* Fills gates[t] and state[t + 1] = [h | c]; state[0] is 0. */
static void run_row(const gnn_op_call_t *call, const gnn__pairs_t *pairs, int64_t r, int64_t steps,
                    gnn_real_t *gates, gnn_real_t *state)
{
    const int64_t h = call->in[2].rows;
    memset(state, 0, sizeof *state * (size_t)(2 * h));
    for (int64_t t = 0; t < steps; t++, gates += 4 * h, state += 2 * h) {
        const int64_t j = sender(pairs, r, t);
        gates_of(call, j >= 0 ? gnn__row(&call->in[0].value, j) : NULL, state, gates);
        gnn__lstm_step(h, gates, state + h, state + 2 * h, state + 3 * h);
    }
}

static int forward(gnn_op_call_t *call)
{
    const gnn__pairs_t *pairs = gnn__op_pairs(call, "lstm_senders");
    const int64_t h = call->in[2].rows, steps = longest(pairs);
    gnn_real_t *gates = call->scratch, *state = gates + (steps + 1) * 4 * h;
    for (int64_t r = 0; r < pairs->n_rows; r++) {
        run_row(call, pairs, r, steps, gates, state);
        memcpy(gnn__row(&call->out[0].value, gnn__pairs_node(pairs, r)), state + steps * 2 * h,
               sizeof *state * (size_t)h);
    }
    return GNN_OK;
}

/* sums: dW, dU, db. `d` is the gradient of one step's gates. */
static void step_grads(const gnn_op_call_t *call, int64_t j, const gnn_real_t *before,
                       const gnn_real_t *d, double *sums)
{
    const int64_t in = call->in[0].cols, h = call->in[2].rows, g = 4 * h;
    const gnn_real_t *x = j >= 0 ? gnn__row(&call->in[0].value, j) : NULL;
    for (int64_t c = 0; c < g; c++) {
        for (int64_t k = 0; x && k < in; k++)
            sums[k * g + c] += (double)x[k] * (double)d[c];
        for (int64_t k = 0; k < h; k++)
            sums[(in + k) * g + c] += (double)before[k] * (double)d[c];
        sums[(in + h) * g + c] += (double)d[c];
    }
    for (int64_t k = 0; x && gnn__wants(call, 0) && k < in; k++)
        gnn__row(&call->in[0].grad, j)[k] +=
            (gnn_real_t)gnn__elementwise_kernels()->dot(g, gnn__row(&call->in[1].value, k), d);
}

/* Back through the steps of one row; `back` has room for dh, dc (2h) and the gates' (4h). */
static void row_grad(const gnn_op_call_t *call, const gnn__pairs_t *pairs, int64_t r, int64_t steps,
                     const gnn_real_t *gates, const gnn_real_t *state, gnn_real_t *back, double *sums)
{
    const int64_t h = call->in[2].rows;
    gnn_real_t *d_h = back, *d_c = back + h, *d = back + 2 * h;
    memcpy(d_h, gnn__row(&call->out[0].grad, gnn__pairs_node(pairs, r)), sizeof *d_h * (size_t)h);
    memset(d_c, 0, sizeof *d_c * (size_t)h);
    for (int64_t t = steps - 1; t >= 0; t--) {
        const gnn_real_t *before = state + t * 2 * h;
        for (int64_t k = 0; k < h; k++) {
            double five[5];
            gnn__lstm_step_grad(h, k, gates + t * 4 * h, (double)before[h + k], (double)d_h[k],
                                (double)d_c[k], five);
            for (int g = 0; g < 4; g++)
                d[g * h + k] = (gnn_real_t)five[g];
            d_c[k] = (gnn_real_t)five[4];
        }
        step_grads(call, sender(pairs, r, t), before, d, sums);
        for (int64_t k = 0; k < h; k++)
            d_h[k] = (gnn_real_t)gnn__elementwise_kernels()->dot(4 * h,
                                                                 gnn__row(&call->in[2].value, k), d);
    }
}

static int backward(gnn_op_call_t *call)
{
    const gnn__pairs_t *pairs = gnn__op_pairs(call, "lstm_senders");
    const int64_t in = call->in[0].cols, h = call->in[2].rows, steps = longest(pairs),
                  count = (in + h + 1) * 4 * h;
    double *sums = call->scratch;
    gnn_real_t *gates = (gnn_real_t *)(void *)(sums + count), *state = gates + (steps + 1) * 4 * h,
               *back = state + (steps + 1) * 2 * h;
    memset(sums, 0, sizeof *sums * (size_t)count);
    for (int k = 0; k < 4; k++)
        gnn__op_begin(call, k);
    for (int64_t r = 0; r < pairs->n_rows; r++) {
        run_row(call, pairs, r, steps, gates, state);
        row_grad(call, pairs, r, steps, gates, state, back, sums);
    }
    const int64_t starts[] = {0, 0, in * 4 * h, (in + h) * 4 * h};
    for (int k = 1; k < 4; k++)
        if (gnn__wants(call, k))
            gnn__op_add_numbers(&call->in[k], sums + starts[k]);
    return GNN_OK;
}

const gnn_op_t gnn_op_lstm_senders = {.name = "lstm_senders",
                                      .shape = shape,
                                      .forward = forward,
                                      .backward = backward,
                                      .flags = GNN_OP_READS_GRAPH};
