/* Incremental decoding: running a model on new rows. Projected rows of the senders are appended to
 * the state before they are read. */
#include <graphs/build.h>
#include <lib/layer/score_config.h>
#include <lib/model/state.h>
#include <lib/ops/support.h>

/* ---- the op that appends ---- */

typedef struct {
    gnn_tensor_t store;
    const int64_t *rows; /* of the store, one for each row of the input */
} append_t;

/* No output: later ops on the tape read the store. */
static int append_shape(gnn_op_call_t *call)
{
    const append_t *how = call->attributes;
    if (call->in[0].cols != how->store.cols)
        return gnn_op_fail(call, GNN_ESHAPE, "the senders have %lld columns, the state keeps %lld",
                           (long long)call->in[0].cols, (long long)how->store.cols);
    gnn__op_output(call, 0, 0);
    return GNN_OK;
}

static int append_forward(gnn_op_call_t *call)
{
    const append_t *how = call->attributes;
    const gnn_tensor_t *x = &call->in[0].value;
    for (int64_t r = 0; r < x->rows; r++)
        memcpy(gnn__row(&how->store, how->rows[r]), gnn__row(x, r),
               (size_t)x->cols * sizeof(gnn_real_t));
    return GNN_OK;
}

static const gnn_op_t append_op = {.name = "append", .shape = append_shape, .forward = append_forward};

/* ---- one step ---- */

/* One call of gnn_model_advance. */
typedef struct {
    gnn__recording_t r;
    gnn_state_t *state;
    int64_t n;             /* new rows */
    int64_t *rows;         /* (n) index of each in a store */
    const int64_t *counts; /* (segments) */
} advance_t;

static gnn_var_t read_value(const advance_t *a, const gnn__model_step_t *s, int i)
{
    const int64_t value = s->in[i], steps = a->r.model->n_steps;
    if (value == GNN__NOT_READ)
        return GNN_NONE;
    if (!a->state->grows[value])
        return a->state->saved[value].data
                   ? gnn_tape_input(a->r.tape, &a->state->saved[value], 0)
                   : GNN_NONE; /* fixed senders, whose projections are in the state */
    return value < steps ? a->r.outputs[value]
                         : gnn__record_named(&a->r, s, a->r.model->inputs[value - steps]);
}

/* Every growing input has n rows. */
static int check_rows(const advance_t *a, const gnn__model_step_t *s, const gnn_var_t *in)
{
    for (int i = 0; i < s->row->n_inputs; i++)
        if (in[i] != GNN_NONE && a->state->grows[s->in[i]] && gnn_tape_rows(a->r.tape, in[i]) != a->n)
            return gnn__error(GNN_ESHAPE, "%s: %lld new rows are expected in .%s, got %lld",
                              s->where, (long long)a->n, s->row->inputs[i].name,
                              (long long)gnn_tape_rows(a->r.tape, in[i]));
    return GNN_OK;
}

static int append(advance_t *a, gnn_var_t x, gnn_tensor_t *store)
{
    gnn_state_t *state = a->state;
    if (!store->data)
        GNN_TRY(gnn__state_tensor(store, state->room * state->capacity, gnn_tape_cols(a->r.tape, x)));
    store->rows = state->segments * state->capacity;
    gnn_tape_op(a->r.tape, &append_op, &x, 1, &(append_t){*store, a->rows}, sizeof(append_t));
    return gnn_tape_status(a->r.tape);
}

/* The senders' rows of the cache, with the new ones appended. */
static int update_cache(advance_t *a, int64_t k, const gnn_var_t *in, gnn_var_t sent[GNN__SENT])
{
    const gnn__model_step_t *s = &a->r.model->steps[k];
    gnn_tensor_t *stores = a->state->sent[k];
    if (gnn__state_senders_grow(a->state, s)) {
        s->row->send(&a->r, s, in, sent);
        for (int w = 0; w < GNN__SENT; w++)
            if (sent[w] != GNN_NONE)
                GNN_TRY(append(a, sent[w], &stores[w]));
    }
    for (int w = 0; w < GNN__SENT; w++)
        sent[w] = stores[w].data ? gnn_tape_input(a->r.tape, &stores[w], 0) : GNN_NONE;
    return gnn_tape_status(a->r.tape);
}

/* The sums over earlier rows, zeros where there are none. */
static int take_sums(advance_t *a, int64_t k)
{
    gnn_state_t *state = a->state;
    gnn_tensor_t *sums = &state->sent[k][0];
    const gnn_aggregate_t how = gnn__scores_settings(&a->r.model->steps[k].step.layer, NULL, NULL);
    int64_t size;
    GNN_TRY(gnn__sums_size(&how, &size));
    if (!sums->data)
        GNN_TRY(gnn__state_tensor(sums, state->room, size));
    sums->rows = state->segments;
    for (int64_t s = 0; s < state->segments; s++)
        if (state->lengths[s] == 0)
            memset(gnn__row(sums, s), 0, sizeof(gnn_real_t) * (size_t)size);
    a->r.extras.running = sums->data;
    return GNN_OK;
}

static int record_step(advance_t *a, int64_t k)
{
    const gnn_model_inputs_t *const whole = a->r.inputs;
    const gnn_model_inputs_t alone = {a->state->fresh, whole->n_graphs, whole->values,
                                      whole->n_values};
    const gnn__model_step_t *s = &a->r.model->steps[k];
    gnn_var_t in[GNN__STEP_INPUTS], sent[GNN__SENT];
    for (int i = 0; i < s->row->n_inputs; i++)
        in[i] = read_value(a, s, i);
    GNN_TRY(gnn_tape_status(a->r.tape));
    GNN_TRY(check_rows(a, s, in));
    a->r.sent = NULL;
    if (a->state->linear[k]) {
        GNN_TRY(take_sums(a, k));
        a->r.inputs = &alone;
    } else if (s->incremental == GNN__NEEDS_CACHE) {
        GNN_TRY(update_cache(a, k, in, sent));
        a->r.sent = sent;
    }
    a->r.outputs[k] = gnn__record_step(&a->r, k, in);
    a->r.inputs = whole;
    a->r.extras.running = NULL;
    return gnn_tape_status(a->r.tape);
}

static int record(advance_t *a, const gnn_tensor_t *out)
{
    const gnn_model_t *m = a->r.model;
    gnn__record_inputs(&a->r);
    for (int64_t k = 0; k < m->n_steps; k++)
        if (a->state->grows[k])
            GNN_TRY(record_step(a, k));
    gnn__record_into(a->r.tape, a->r.outputs[m->n_steps - 1], out);
    return gnn_tape_forward(a->r.tape);
}

/* ---- rows and graphs ---- */

static int place_rows(advance_t *a)
{
    gnn_state_t *state = a->state;
    int64_t total;
    if (!gnn__mul(state->segments, state->capacity, &total))
        return gnn__error(GNN_EOVERFLOW, "a state of %lld x %lld rows does not fit",
                          (long long)state->segments, (long long)state->capacity);
    for (int64_t s = 0; s < state->segments; s++) {
        if (a->counts[s] < 0 || a->counts[s] > state->capacity - state->lengths[s])
            return gnn__error(GNN_ESHAPE,
                              "sequence %lld has %lld rows of at most %lld: %lld more do not fit",
                              (long long)s, (long long)state->lengths[s],
                              (long long)state->capacity, (long long)a->counts[s]);
        a->n += a->counts[s];
    }
    GNN_TRY(gnn__new(&a->rows, a->n, sizeof *a->rows, "rows of a state"));
    for (int64_t s = 0, r = 0; s < state->segments; s++)
        for (int64_t i = 0; i < a->counts[s]; i++)
            a->rows[r++] = s * state->capacity + state->lengths[s] + i;
    return GNN_OK;
}

static int build_graph(const advance_t *a, int slot)
{
    gnn_state_t *state = a->state;
    const gnn__slot_t *how = &state->slots[slot];
    gnn_graph_t *graph = NULL;
    if (how->kind == GNN__SLOT_GROWS)
        GNN_TRY(gnn__graph_continued(&graph, state->segments, state->lengths, a->counts,
                                     state->capacity, how->window));
    if (how->kind == GNN__SLOT_ACROSS)
        GNN_TRY(gnn_graph_bipartite(&graph, state->segments, a->counts, how->lengths));
    state->graphs[slot] = graph;
    for (int64_t s = 0; how->kind == GNN__SLOT_ACROSS && s < state->segments; s++)
        GNN_TRY(gnn__graph_set_start(graph, s, state->lengths[s], 0));
    return GNN_OK;
}

/* The new rows of each sequence, after its earlier ones, where a step keeps sums. */
static int build_fresh(const advance_t *a)
{
    gnn_state_t *state = a->state;
    for (int64_t k = 0; k < a->r.model->n_steps; k++) {
        const int slot = a->r.model->steps[k].step.graph;
        gnn_graph_t *graph;
        if (!state->linear[k] || state->fresh[slot])
            continue;
        GNN_TRY(gnn_graph_causal(&graph, state->segments, a->counts));
        state->fresh[slot] = graph;
        for (int64_t s = 0; s < state->segments; s++)
            GNN_TRY(gnn__graph_set_start(graph, s, state->lengths[s], state->lengths[s]));
    }
    return GNN_OK;
}

static void release(advance_t *a)
{
    for (int k = 0; k < a->r.model->n_graphs; k++) {
        gnn_graph_free((gnn_graph_t *)(uintptr_t)a->state->fresh[k]);
        a->state->fresh[k] = NULL;
        gnn_graph_free((gnn_graph_t *)(uintptr_t)a->state->graphs[k]);
        a->state->graphs[k] = NULL;
    }
    gnn_free(a->rows);
    gnn_free(a->r.outputs);
}

static int run(advance_t *a, gnn_context_t *context, const gnn_tensor_t *out)
{
    const gnn_model_t *m = a->r.model;
    GNN_TRY(place_rows(a));
    for (int k = 0; k < m->n_graphs; k++)
        GNN_TRY(build_graph(a, k));
    GNN_TRY(build_fresh(a));
    GNN_TRY(gnn__context_tape(context, &a->r.tape));
    GNN_TRY(gnn__new(&a->r.outputs, m->n_steps + a->r.inputs->n_values, sizeof *a->r.outputs,
                     "a model's recording"));
    a->r.vars = a->r.outputs + m->n_steps;
    return record(a, out);
}

static int advance(const gnn_model_t *model, gnn_context_t *context, gnn_state_t *state,
                   const int64_t *counts, const gnn_model_inputs_t *inputs, const gnn_tensor_t *out)
{
    const gnn_model_inputs_t own = {state->graphs, model->n_graphs, inputs->values, inputs->n_values};
    advance_t a = {.r = {.model = model, .inputs = &own}, .state = state, .counts = counts};
    const int rc = run(&a, context, out);
    for (int64_t s = 0; rc == GNN_OK && s < state->segments; s++)
        state->lengths[s] += counts[s];
    release(&a);
    return rc;
}

int gnn_model_advance(const gnn_model_t *model, gnn_context_t *context, gnn_state_t *state,
                      const int64_t *counts, const gnn_model_inputs_t *inputs,
                      const gnn_tensor_t *out)
{
    GNN__NEED(model);
    GNN__NEED(context);
    GNN__NEED(state);
    GNN__NEED(inputs);
    GNN__NEED(out);
    int64_t *ones = NULL;
    if (state->model != model)
        return gnn__error(GNN_EINVALID, "the state is that of another model");
    if (counts)
        return advance(model, context, state, counts, inputs, out);
    GNN_TRY(gnn__new(&ones, state->segments, sizeof *ones, "counts of rows"));
    for (int64_t s = 0; s < state->segments; s++)
        ones[s] = 1;
    const int rc = advance(model, context, state, ones, inputs, out);
    gnn_free(ones);
    return rc;
}
