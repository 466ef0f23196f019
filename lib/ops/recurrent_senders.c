/* The last state of a recurrent cell that reads the senders of a receiver one after another: ops
 * lstm_senders (Hamilton et al. 2017) and gru_senders. x (n_src x d), W (d x g), U (h x g), b ->
 * (n_dst x h). The gates of an LSTM are i, f, g, o (g = 4h, b 1 x g), those of a GRU r, z, n (g =
 * 3h, b 2 x g: for the input and for the state).
 *
 * As in PyG every receiver takes as many steps as the largest in-degree: after its own senders it
 * reads rows of 0.
 *
 * x W is one product over all senders; receivers run in groups, with one product h U per step.
 * Backward recomputes a group with all its steps saved, so its groups are smaller. */
#include <lib/ops/named/named_ops.h>
#include <lib/ops/support.h>

/* Elements that a step saves for backward, per receiver and column of h. */
enum { KEPT = 4 };

typedef struct run run_t;

/* The differences between the cells. */
typedef struct cell {
    const char *name;
    int64_t gates, biases; /* g / h; rows of b */
    int64_t states;        /* 1: the state is h; 2: h and c */
    int64_t work;          /* elements of run_t.work per receiver and column of h */
    bool passes;           /* h enters the next state directly too, not only through U */
    /* Step t of receivers first .. first + rows - 1: from state t to state t + 1. */
    int (*step)(const run_t *run, int64_t first, int64_t rows, int64_t t);
    /* Writes the gradients of row r's gates (before their activations) at step t, and adds them
     * to the gradients of the bias and of the sender's x W. If `passes`, replaces d_h of the row
     * by the part that does not go through U. */
    void (*row_grad)(const run_t *run, int64_t first, int64_t r, int64_t t);
    /* (rows x g) the gradients of h U at step t */
    gnn_real_t *(*d_gates)(const run_t *run, int64_t t);
} cell_t;

/* Workspace. Forward keeps the gates of one step and two states, backward the gates and states of
 * all steps. */
struct run {
    const cell_t *cell;
    const gnn_op_call_t *call;
    const gnn__pairs_t *pairs;
    int64_t h, g, steps, most; /* width; columns of W; steps; receivers of a group, at most */
    bool keeps;
    gnn_real_t *sent;      /* n_src x g: x W; in backward its gradient follows */
    gnn_real_t *kept;      /* (steps or 1) x most x KEPT h */
    gnn_real_t *state;     /* (steps + 1 or 2) x most x states h */
    gnn_real_t *work;      /* most x work h: of the cell */
    gnn_real_t *d_h, *row; /* backward: most x h; 5h for one row */
    double *d_bias;        /* backward: biases x g */
};

/* Steps: the largest in-degree. */
static int64_t longest(const gnn__pairs_t *pairs)
{
    int64_t most = 0;
    for (int64_t r = 0; r < pairs->n_rows; r++)
        most = gnn__max(most, gnn__pairs_to(pairs, r) - gnn__pairs_from(pairs, r));
    return most;
}

/* Receivers of a group: at most 256, at least 16, and as many as 32 MB of saved steps hold. */
static int64_t group_rows(const cell_t *cell, int64_t rows, int64_t steps, int64_t h)
{
    const int64_t of_step = (KEPT + cell->states) * h * (int64_t)sizeof(gnn_real_t),
                  fit = ((int64_t)32 << 20) / gnn__max((steps + 1) * of_step, 1);
    return gnn__max(gnn__min(gnn__min(gnn__max(fit, 16), 256), rows), 1);
}

static int lay_out(const cell_t *cell, const gnn_op_call_t *call, const gnn__pairs_t *pairs,
                   void *scratch, bool backward, run_t *run, size_t *bytes)
{
    gnn__carve_t carve = {.base = scratch};
    const int64_t h = call->in[2].rows, g = cell->gates * h, steps = longest(pairs),
                  most = group_rows(cell, pairs->n_rows, backward ? steps : 1, h);
    int64_t sent = 0, kept = 0, state = 0;
    *run = (run_t){.cell = cell,
                   .call = call,
                   .pairs = pairs,
                   .h = h,
                   .g = g,
                   .steps = steps,
                   .most = most,
                   .keeps = backward};
    carve.overflow |= !gnn__mul(call->in[0].rows, g * (backward ? 2 : 1), &sent) ||
                      !gnn__mul(backward ? steps : 1, most * KEPT * h, &kept) ||
                      !gnn__mul(backward ? steps + 1 : 2, most * cell->states * h, &state);
    run->d_bias = gnn__carve(&carve, backward ? cell->biases * g : 0, sizeof(double));
    run->sent = gnn__carve(&carve, sent, sizeof(gnn_real_t));
    run->kept = gnn__carve(&carve, kept, sizeof(gnn_real_t));
    run->state = gnn__carve(&carve, state, sizeof(gnn_real_t));
    run->work = gnn__carve(&carve, most * cell->work * h, sizeof(gnn_real_t));
    run->d_h = gnn__carve(&carve, backward ? most * h : 0, sizeof(gnn_real_t));
    run->row = gnn__carve(&carve, backward ? 5 * h : 0, sizeof(gnn_real_t));
    *bytes = (size_t)carve.used;
    return carve.overflow ? gnn_op_fail(call, GNN_EOVERFLOW,
                                        "%s: the size of its workspace overflows", cell->name)
                          : GNN_OK;
}

static int shape(const cell_t *cell, gnn_op_call_t *call)
{
    const gnn__pairs_t *pairs;
    run_t run;
    GNN_TRY(gnn__op_dense(call, cell->name, 0, 3, 4));
    GNN_TRY(gnn__op_senders(call, cell->name, &pairs));
    const int64_t d = call->in[0].cols, h = call->in[2].rows;
    if (h > INT64_MAX / 64)
        return gnn_op_fail(call, GNN_EOVERFLOW, "%s: too many columns", cell->name);
    GNN_TRY(gnn__op_expect(call, cell->name, 1, d, cell->gates * h));
    GNN_TRY(gnn__op_expect(call, cell->name, 2, h, cell->gates * h));
    GNN_TRY(gnn__op_expect(call, cell->name, 3, cell->biases, cell->gates * h));
    gnn__op_output(call, gnn__op_options(call)->graph->n_dst, h);
    for (int k = 0; k < 4; k++)
        call->in[k].keep = call->recording;
    GNN_TRY(lay_out(cell, call, pairs, NULL, false, &run, &call->forward_scratch));
    return lay_out(cell, call, pairs, NULL, true, &run, &call->backward_scratch);
}

/* ---- the steps of a group: receivers first .. first + rows - 1 ---- */

static gnn_real_t *kept_at(const run_t *run, int64_t t)
{
    return run->kept + (run->keeps ? t : 0) * run->most * KEPT * run->h;
}

static gnn_real_t *state_at(const run_t *run, int64_t t)
{
    return run->state + (run->keeps ? t : t % 2) * run->most * run->cell->states * run->h;
}

/* h of the state before step t. */
static gnn_tensor_t h_at(const run_t *run, int64_t t, int64_t rows)
{
    return (gnn_tensor_t){state_at(run, t), rows, run->h, run->cell->states * run->h};
}

/* The sender of step t; -1 where the receiver has fewer. */
static int64_t sender(const gnn__pairs_t *pairs, int64_t r, int64_t t)
{
    const int64_t at = gnn__pairs_from(pairs, r) + t;
    return at < gnn__pairs_to(pairs, r) ? gnn__pairs_col(pairs, at) : -1;
}

/* The bias and x W of row r's sender, if it has one. */
static void read_sender(const run_t *run, int64_t first, int64_t r, int64_t t, gnn_real_t *gates)
{
    const int64_t j = sender(run->pairs, first + r, t);
    memcpy(gates, gnn__row(&run->call->in[3].value, 0), sizeof *gates * (size_t)run->g);
    if (j >= 0)
        gnn__elementwise_kernels()->scale(run->g, 1, run->sent + j * run->g, true, gates);
}

/* Adds the gradient of what read_sender read. */
static void give_sender(const run_t *run, int64_t first, int64_t r, int64_t t,
                        const gnn_real_t *d_gates)
{
    const int64_t j = sender(run->pairs, first + r, t);
    for (int64_t c = 0; c < run->g; c++)
        run->d_bias[c] += (double)d_gates[c];
    if (j >= 0)
        gnn__elementwise_kernels()->scale(run->g, 1, d_gates, true,
                                          run->sent + (run->call->in[0].rows + j) * run->g);
}

static int run_group(const run_t *run, int64_t first, int64_t rows)
{
    memset(state_at(run, 0), 0, sizeof(gnn_real_t) * (size_t)(rows * run->cell->states * run->h));
    for (int64_t t = 0; t < run->steps; t++)
        GNN_TRY(run->cell->step(run, first, rows, t));
    return GNN_OK;
}

/* x W of all senders. */
static int project_senders(const run_t *run)
{
    const gnn_tensor_t sent = gnn_tensor(run->sent, run->call->in[0].rows, run->g);
    return gnn__op_product(run->call, &run->call->in[0].value, false, &run->call->in[1].value,
                           false, &sent, false, NULL);
}

static int forward(const cell_t *cell, gnn_op_call_t *call)
{
    run_t run;
    size_t bytes;
    GNN_TRY(lay_out(cell, call, gnn__op_pairs(call, cell->name), call->scratch, false, &run, &bytes));
    GNN_TRY(project_senders(&run));
    for (int64_t first = 0; first < run.pairs->n_rows; first += run.most) {
        const int64_t rows = gnn__min(run.pairs->n_rows - first, run.most);
        GNN_TRY(run_group(&run, first, rows));
        const gnn_tensor_t last = h_at(&run, run.steps, rows);
        for (int64_t r = 0; r < rows; r++)
            memcpy(gnn__row(&call->out[0].value, gnn__pairs_node(run.pairs, first + r)),
                   gnn__row(&last, r), sizeof(gnn_real_t) * (size_t)run.h);
    }
    return GNN_OK;
}

/* ---- backward ---- */

static int group_grad(const run_t *run, int64_t first, int64_t rows)
{
    const int64_t h = run->h;
    const gnn_operand_t *u = &run->call->in[2];
    const gnn_tensor_t d_h = gnn_tensor(run->d_h, rows, h);
    for (int64_t r = 0; r < rows; r++)
        memcpy(run->d_h + r * h,
               gnn__row(&run->call->out[0].grad, gnn__pairs_node(run->pairs, first + r)),
               sizeof(gnn_real_t) * (size_t)h);
    memset(run->work, 0, sizeof(gnn_real_t) * (size_t)(rows * run->cell->work * h));
    for (int64_t t = run->steps - 1; t >= 0; t--) {
        const gnn_tensor_t d = gnn_tensor(run->cell->d_gates(run, t), rows, run->g),
                           before = h_at(run, t, rows);
        for (int64_t r = 0; r < rows; r++)
            run->cell->row_grad(run, first, r, t);
        GNN_TRY(gnn__op_product(run->call, &d, false, &u->value, true, &d_h, run->cell->passes, NULL));
        if (gnn__wants(run->call, 2) && t > 0)
            GNN_TRY(gnn__op_product(run->call, &before, true, &d, false, &u->grad, true, NULL));
    }
    return GNN_OK;
}

static int backward(const cell_t *cell, gnn_op_call_t *call)
{
    run_t run;
    size_t bytes;
    GNN_TRY(lay_out(cell, call, gnn__op_pairs(call, cell->name), call->scratch, true, &run, &bytes));
    const int64_t n = call->in[0].rows;
    const gnn_tensor_t d_sent = gnn_tensor(run.sent + n * run.g, n, run.g);
    memset(d_sent.data, 0, sizeof(gnn_real_t) * (size_t)(n * run.g));
    memset(run.d_bias, 0, sizeof(double) * (size_t)(cell->biases * run.g));
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

/* ---- lstm: kept are the gates, in backward their gradients; work is the gradient of c ---- */

static int lstm_step(const run_t *run, int64_t first, int64_t rows, int64_t t)
{
    const int64_t h = run->h, g = run->g;
    gnn_real_t *gates = kept_at(run, t), *next = state_at(run, t + 1);
    const gnn_real_t *before = state_at(run, t);
    const gnn_tensor_t state = h_at(run, t, rows), sums = gnn_tensor(gates, rows, g);
    const int threads = gnn__op_threads(run->call, 60 * rows * h);
    GNN__PARALLEL_FOR (threads, int64_t r = 0; r < rows; r++)
        read_sender(run, first, r, t, gates + r * g);
    if (t > 0)
        GNN_TRY(gnn__op_product(run->call, &state, false, &run->call->in[2].value, false, &sums,
                                true, NULL));
    GNN__PARALLEL_FOR (threads, int64_t r = 0; r < rows; r++)
        gnn__elementwise_kernels()->lstm(h, h, gates + r * g, before + r * 2 * h + h,
                                         next + r * 2 * h, next + r * 2 * h + h);
    return GNN_OK;
}

static void lstm_row_grad(const run_t *run, int64_t first, int64_t r, int64_t t)
{
    const int64_t h = run->h, g = run->g;
    gnn_real_t *gates = kept_at(run, t) + r * g, *d_c = run->work + r * h, *d_gates = run->row,
               *d_before = run->row + g;
    memset(run->row, 0, sizeof *gates * (size_t)(g + h));
    gnn__elementwise_kernels()->lstm_grad(h, h, gates, state_at(run, t) + r * 2 * h + h,
                                          run->d_h + r * h, d_c, d_gates, d_before);
    memcpy(gates, d_gates, sizeof *gates * (size_t)g);
    memcpy(d_c, d_before, sizeof *gates * (size_t)h);
    give_sender(run, first, r, t, gates);
}

static const cell_t lstm = {.name = "lstm_senders",
                            .gates = 4,
                            .biases = 1,
                            .states = 2,
                            .work = 1,
                            .step = lstm_step,
                            .row_grad = lstm_row_grad,
                            .d_gates = kept_at};

/* ---- gru: kept are r, z, n and the state's part of n; work are the gates of x and of h ---- */

static gnn_real_t *gates_of_h(const run_t *run)
{
    return run->work + run->most * run->g;
}

static int gru_step(const run_t *run, int64_t first, int64_t rows, int64_t t)
{
    const int64_t h = run->h, g = run->g;
    gnn_real_t *before = state_at(run, t), *next = state_at(run, t + 1), *kept = kept_at(run, t),
               *of_h = gates_of_h(run);
    const gnn_tensor_t state = h_at(run, t, rows), sums = gnn_tensor(of_h, rows, g);
    GNN_TRY(gnn__op_product(run->call, &state, false, &run->call->in[2].value, false, &sums, false,
                            gnn__row(&run->call->in[3].value, 1)));
    const int threads = gnn__op_threads(run->call, 60 * rows * h);
    GNN__PARALLEL_FOR (threads, int64_t r = 0; r < rows; r++) {
        gnn_real_t *of_x = run->work + r * g;
        read_sender(run, first, r, t, of_x);
        gnn__elementwise_kernels()->gru(h, of_x, of_h + r * g, before + r * h, next + r * h,
                                        kept + r * KEPT * h);
    }
    return GNN_OK;
}

static void gru_row_grad(const run_t *run, int64_t first, int64_t r, int64_t t)
{
    const int64_t h = run->h, g = run->g;
    gnn_real_t *inner = run->row, *d_gates = gates_of_h(run) + r * g, *d_h = run->d_h + r * h;
    gnn__elementwise_kernels()->gru_grad(h, kept_at(run, t) + r * KEPT * h,
                                         state_at(run, t) + r * h, d_h, inner, inner + 4 * h);
    memcpy(d_gates, inner, sizeof *inner * (size_t)(2 * h));
    memcpy(d_gates + 2 * h, inner + 3 * h, sizeof *inner * (size_t)h);
    memcpy(d_h, inner + 4 * h, sizeof *inner * (size_t)h);
    for (int64_t c = 0; c < g; c++)
        run->d_bias[g + c] += (double)d_gates[c];
    give_sender(run, first, r, t, inner);
}

/* The same for every step. */
static gnn_real_t *gru_d_gates(const run_t *run, int64_t t)
{
    (void)t;
    return gates_of_h(run);
}

static const cell_t gru = {.name = "gru_senders",
                           .gates = 3,
                           .biases = 2,
                           .states = 1,
                           .work = 6,
                           .passes = true,
                           .step = gru_step,
                           .row_grad = gru_row_grad,
                           .d_gates = gru_d_gates};

/* ---- the ops ---- */

#define OP(cell)                                    \
    static int cell##_shape(gnn_op_call_t *call)    \
    {                                               \
        return shape(&cell, call);                  \
    }                                               \
    static int cell##_forward(gnn_op_call_t *call)  \
    {                                               \
        return forward(&cell, call);                \
    }                                               \
    static int cell##_backward(gnn_op_call_t *call) \
    {                                               \
        return backward(&cell, call);               \
    }                                               \
    const gnn_op_t gnn_op_##cell##_senders = {      \
        .name = #cell "_senders",                   \
        GNN__NO_OPTIONS,                            \
        .shape = cell##_shape,                      \
        .forward = cell##_forward,                  \
        .backward = cell##_backward,                \
        .flags = GNN_OP_READS_GRAPH,                \
    };
OP(lstm)
OP(gru)
