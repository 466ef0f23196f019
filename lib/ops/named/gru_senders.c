/* The last state of a GRU that reads the senders of a receiver one after another: x (n_src x d),
 * W (d x 3h), U (h x 3h), b (2 x 3h: of the input's gates and of the state's), gates r, z, n ->
 * (n_dst x h). It takes the same count of steps for every receiver, that of the one with the most
 * senders; after its own a receiver reads rows of 0, as in PyG's GRUAggregation.
 *
 * x W is one product for all senders; receivers go together in groups, whose h U is one product per
 * step. Backward runs a group forward again and keeps its steps, so its groups are smaller. */
#include <lib/ops/named/named_ops.h>

static int64_t longest(const gnn__pairs_t *pairs)
{
    int64_t most = 0;
    for (int64_t r = 0; r < pairs->n_rows; r++)
        most = gnn__max(most, gnn__pairs_to(pairs, r) - gnn__pairs_from(pairs, r));
    return most;
}

/* Receivers of a group: 16 to 256, as many as 32 MB of kept steps hold. */
static int64_t group_rows(int64_t rows, int64_t steps, int64_t h)
{
    const int64_t of_one = gnn__max((steps + 1) * 5 * h * (int64_t)sizeof(gnn_real_t), 1),
                  fit = ((int64_t)32 << 20) / of_one;
    return gnn__max(gnn__min(gnn__min(gnn__max(fit, 16), 256), rows), 1);
}

typedef struct run {
    const gnn_op_call_t *call;
    const gnn__pairs_t *pairs;
    int64_t h, steps, most; /* receivers of a group */
    bool keeps;
    gnn_real_t *sent;         /* n_src x 3h: x W; backward: and its gradient after it */
    gnn_real_t *kept, *state; /* backward: steps x most x 4h; (steps + 1 or 2) x most x h */
    gnn_real_t *x_gates, *h_gates, *d_h, *inner; /* most x 3h, most x 3h, most x h, 5h */
    double *d_bias;                              /* backward: 2 x 3h */
} run_t;

static int lay_out(const gnn_op_call_t *call, const gnn__pairs_t *pairs, void *scratch,
                   bool backward, run_t *run, size_t *bytes)
{
    gnn__carve_t carve = {.base = scratch};
    const int64_t h = call->in[2].rows, steps = longest(pairs),
                  most = group_rows(pairs->n_rows, backward ? steps : 1, h);
    int64_t sent = 0, kept = 0, state = 0;
    *run = (run_t){
        .call = call, .pairs = pairs, .h = h, .steps = steps, .most = most, .keeps = backward};
    carve.overflow |= !gnn__mul(call->in[0].rows, 3 * h * (backward ? 2 : 1), &sent) ||
                      !gnn__mul(backward ? steps : 0, most * 4 * h, &kept) ||
                      !gnn__mul(backward ? steps + 1 : 2, most * h, &state);
    run->d_bias = gnn__carve(&carve, backward ? 6 * h : 0, sizeof(double));
    run->sent = gnn__carve(&carve, sent, sizeof(gnn_real_t));
    run->kept = gnn__carve(&carve, kept, sizeof(gnn_real_t));
    run->state = gnn__carve(&carve, state, sizeof(gnn_real_t));
    run->x_gates = gnn__carve(&carve, most * 3 * h, sizeof(gnn_real_t));
    run->h_gates = gnn__carve(&carve, most * 3 * h, sizeof(gnn_real_t));
    run->d_h = gnn__carve(&carve, backward ? most * h : 0, sizeof(gnn_real_t));
    run->inner = gnn__carve(&carve, backward ? 5 * h : 0, sizeof(gnn_real_t));
    *bytes = (size_t)carve.used;
    return carve.overflow ? gnn_op_fail(call, GNN_EOVERFLOW, "gru_senders: too many steps") : GNN_OK;
}

static int shape(gnn_op_call_t *call)
{
    const gnn__pairs_t *pairs;
    run_t run;
    GNN_TRY(gnn__op_dense(call, "gru_senders", 0, 3, 4));
    GNN_TRY(gnn__op_senders(call, "gru_senders", &pairs));
    const int64_t d = call->in[0].cols, h = call->in[2].rows;
    if (h > INT64_MAX / 64)
        return gnn_op_fail(call, GNN_EOVERFLOW, "gru_senders: too many columns");
    GNN_TRY(gnn__op_expect(call, "gru_senders", 1, d, 3 * h));
    GNN_TRY(gnn__op_expect(call, "gru_senders", 2, h, 3 * h));
    GNN_TRY(gnn__op_expect(call, "gru_senders", 3, 2, 3 * h));
    gnn__op_output(call, gnn__op_options(call)->graph->n_dst, h);
    for (int k = 0; k < 4; k++)
        call->in[k].keep = call->recording;
    GNN_TRY(lay_out(call, pairs, NULL, false, &run, &call->forward_scratch));
    return lay_out(call, pairs, NULL, true, &run, &call->backward_scratch);
}

/* ---- the steps of a group: receivers `first` .. first + rows - 1 ---- */

static gnn_real_t *kept_at(const run_t *run, int64_t t)
{
    return run->keeps ? run->kept + t * run->most * 4 * run->h : NULL;
}

static gnn_real_t *state_at(const run_t *run, int64_t t)
{
    return run->state + (run->keeps ? t : t % 2) * run->most * run->h;
}

/* The sender of step t, or -1. */
static int64_t sender(const gnn__pairs_t *pairs, int64_t r, int64_t t)
{
    const int64_t at = gnn__pairs_from(pairs, r) + t;
    return at < gnn__pairs_to(pairs, r) ? gnn__pairs_col(pairs, at) : -1;
}

static int run_step(const run_t *run, int64_t first, int64_t rows, int64_t t)
{
    const int64_t h = run->h, g = 3 * h;
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    const gnn_tensor_t *bias = &run->call->in[3].value;
    gnn_real_t *before = state_at(run, t), *next = state_at(run, t + 1), *kept = kept_at(run, t);
    const gnn_tensor_t state = gnn_tensor(before, rows, h), sums = gnn_tensor(run->h_gates, rows, g);
    GNN_TRY(gnn__op_product(run->call, &state, false, &run->call->in[2].value, false, &sums, false,
                            gnn__row(bias, 1)));
    const int threads = gnn__op_threads(run->call, 60 * rows * h);
    GNN__PARALLEL_FOR (threads, int64_t r = 0; r < rows; r++) {
        const int64_t j = sender(run->pairs, first + r, t);
        gnn_real_t *x_gates = run->x_gates + r * g;
        memcpy(x_gates, gnn__row(bias, 0), sizeof *x_gates * (size_t)g);
        if (j >= 0)
            kernels->scale(g, 1, run->sent + j * g, true, x_gates);
        kernels->gru(h, x_gates, run->h_gates + r * g, before + r * h, next + r * h,
                     kept ? kept + r * 4 * h : NULL);
    }
    return GNN_OK;
}

static int run_group(const run_t *run, int64_t first, int64_t rows)
{
    memset(state_at(run, 0), 0, sizeof(gnn_real_t) * (size_t)(rows * run->h));
    for (int64_t t = 0; t < run->steps; t++)
        GNN_TRY(run_step(run, first, rows, t));
    return GNN_OK;
}

/* x W of all senders. */
static int send(const run_t *run)
{
    const gnn_tensor_t sent = gnn_tensor(run->sent, run->call->in[0].rows, 3 * run->h);
    return gnn__op_product(run->call, &run->call->in[0].value, false, &run->call->in[1].value,
                           false, &sent, false, NULL);
}

static int forward(gnn_op_call_t *call)
{
    run_t run;
    size_t bytes;
    GNN_TRY(lay_out(call, gnn__op_pairs(call, "gru_senders"), call->scratch, false, &run, &bytes));
    GNN_TRY(send(&run));
    for (int64_t first = 0; first < run.pairs->n_rows; first += run.most) {
        const int64_t rows = gnn__min(run.pairs->n_rows - first, run.most);
        GNN_TRY(run_group(&run, first, rows));
        for (int64_t r = 0; r < rows; r++)
            memcpy(gnn__row(&call->out[0].value, gnn__pairs_node(run.pairs, first + r)),
                   state_at(&run, run.steps) + r * run.h, sizeof(gnn_real_t) * (size_t)run.h);
    }
    return GNN_OK;
}

/* ---- backward ---- */

/* Row r of step t: gradients of its gates take the place of h_gates, and go to its sender. */
static void row_grad(const run_t *run, int64_t first, int64_t r, int64_t t)
{
    const int64_t h = run->h, g = 3 * h, j = sender(run->pairs, first + r, t);
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    gnn_real_t *inner = run->inner, *d_gates = run->h_gates + r * g, *d_h = run->d_h + r * h;
    kernels->gru_grad(h, kept_at(run, t) + r * 4 * h, state_at(run, t) + r * h, d_h, inner,
                      inner + 4 * h);
    memcpy(d_gates, inner, sizeof *inner * (size_t)(2 * h));
    memcpy(d_gates + 2 * h, inner + 3 * h, sizeof *inner * (size_t)h);
    memcpy(d_h, inner + 4 * h, sizeof *inner * (size_t)h);
    for (int64_t c = 0; c < g; c++) {
        run->d_bias[c] += (double)inner[c];
        run->d_bias[g + c] += (double)d_gates[c];
    }
    if (j >= 0)
        kernels->scale(g, 1, inner, true, run->sent + (run->call->in[0].rows + j) * g);
}

static int group_grad(const run_t *run, int64_t first, int64_t rows)
{
    const int64_t h = run->h;
    const gnn_operand_t *u = &run->call->in[2];
    const gnn_tensor_t d = gnn_tensor(run->h_gates, rows, 3 * h), d_h = gnn_tensor(run->d_h, rows, h);
    for (int64_t r = 0; r < rows; r++)
        memcpy(run->d_h + r * h,
               gnn__row(&run->call->out[0].grad, gnn__pairs_node(run->pairs, first + r)),
               sizeof(gnn_real_t) * (size_t)h);
    for (int64_t t = run->steps - 1; t >= 0; t--) {
        const gnn_tensor_t before = gnn_tensor(state_at(run, t), rows, h);
        for (int64_t r = 0; r < rows; r++)
            row_grad(run, first, r, t);
        GNN_TRY(gnn__op_product(run->call, &d, false, &u->value, true, &d_h, true, NULL));
        if (gnn__wants(run->call, 2) && t > 0)
            GNN_TRY(gnn__op_product(run->call, &before, true, &d, false, &u->grad, true, NULL));
    }
    return GNN_OK;
}

static int backward(gnn_op_call_t *call)
{
    run_t run;
    size_t bytes;
    GNN_TRY(lay_out(call, gnn__op_pairs(call, "gru_senders"), call->scratch, true, &run, &bytes));
    const int64_t g = 3 * run.h, n = call->in[0].rows;
    const gnn_tensor_t d_sent = gnn_tensor(run.sent + n * g, n, g);
    memset(d_sent.data, 0, sizeof(gnn_real_t) * (size_t)(n * g));
    memset(run.d_bias, 0, sizeof(double) * (size_t)(2 * g));
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
        gnn__op_accumulate(&call->in[3], run.d_bias);
    return GNN_OK;
}

const gnn_op_t gnn_op_gru_senders = {.name = "gru_senders",
                                     .shape = shape,
                                     .forward = forward,
                                     .backward = backward,
                                     .flags = GNN_OP_READS_GRAPH};
