/* Making a state: which steps need a cache and which cannot run incrementally; fixed steps run
 * once, and the values that growing steps read of them are kept. */
#include <lib/layer/score_config.h>
#include <lib/model/state.h>
#include <lib/ops/traits.h>

/* ---- which steps grow ---- */

static bool is_fixed(const gnn_model_inputs_t *fixed, const char *name)
{
    for (int64_t k = 0; fixed && k < fixed->n_values; k++)
        if (strcmp(fixed->values[k].name, name) == 0)
            return true;
    return false;
}

static void mark_growing(gnn_state_t *state, const gnn_model_inputs_t *fixed)
{
    const gnn_model_t *m = state->model;
    for (int64_t k = 0; k < m->n_inputs; k++)
        state->grows[m->n_steps + k] = !is_fixed(fixed, m->inputs[k]);
    for (int64_t k = 0; k < m->n_steps; k++)
        for (int i = 0; i < m->steps[k].row->n_inputs; i++)
            if (m->steps[k].in[i] != GNN__NOT_READ && state->grows[m->steps[k].in[i]])
                state->grows[k] = true;
}

bool gnn__state_senders_grow(const gnn_state_t *state, const gnn__model_step_t *s)
{
    for (int i = 0; i < s->row->n_inputs; i++)
        if ((s->row->senders >> i & 1) && s->in[i] != GNN__NOT_READ)
            return state->grows[s->in[i]];
    return false;
}

/* True if input i is the table of a prior, whose rows are not those of a sequence. */
static bool is_table(const gnn__model_step_t *s, int i)
{
    const gnn_layer_config_t *c = &s->step.layer;
    const int p = i - s->row->priors;
    return s->row->priors > 0 && p >= 0 && p < GNN_PRIORS && c->priors[p].prior &&
           c->priors[p].prior->numbers == GNN_PRIOR_SHARED &&
           !(c->priors[p].prior->flags & GNN_PRIOR_RUNNING);
}

/* Senders are all fixed or all growing; receivers grow; there are no values on edges. */
static int check_growing(const gnn_state_t *state, const gnn__model_step_t *s)
{
    const bool senders = gnn__state_senders_grow(state, s);
    for (int i = 0; i < s->row->n_inputs; i++) {
        const char *name = s->row->inputs[i].name;
        if (s->in[i] == GNN__NOT_READ)
            continue;
        if (s->row->edges >> i & 1)
            return gnn__error(GNN_EUNSUPPORTED, "%s: .%s has rows on edges, which do not grow",
                              s->where, name);
        if (is_table(s, i) ? state->grows[s->in[i]]
                           : state->grows[s->in[i]] != ((s->row->senders >> i & 1) ? senders : true))
            return gnn__error(GNN_EUNSUPPORTED, "%s: its rows grow, but .%s does not", s->where,
                              name);
    }
    return GNN_OK;
}

static int check_view(const gnn__model_step_t *s, bool linear)
{
    const gnn_layer_config_t *c = &s->step.layer;
    if (c->self_loops == GNN_ON || c->graph_norm != GNN_GRAPH_NORM_NONE)
        return gnn__error(GNN_EUNSUPPORTED,
                          "%s: self-loops and graph norms of a layer need the whole graph; "
                          "expected a layer without them for decoding token by token",
                          s->where);
    for (int p = 0; p < GNN_PRIORS; p++) {
        const gnn_prior_t *prior = c->priors[p].prior;
        if (prior && !linear &&
            (prior->numbers == GNN_PRIOR_PER_SENDER || (prior->flags & GNN_PRIOR_RUNNING)))
            return gnn__error(GNN_EUNSUPPORTED,
                              "%s: values per sender (prior %s) are not kept as the rows grow",
                              s->where, prior->name);
    }
    return GNN_OK;
}

static int take_slot(gnn_state_t *state, const gnn__model_step_t *s, gnn__slot_kind_t kind)
{
    gnn__slot_t *slot = &state->slots[s->step.graph];
    if (slot->kind != GNN__SLOT_UNUSED && slot->kind != kind)
        return gnn__error(GNN_EUNSUPPORTED,
                          "%s: graph slot %d is used with rows that grow and with others", s->where,
                          s->step.graph);
    slot->kind = kind;
    return GNN_OK;
}

/* The senders of each sequence are those of a segment of the given graph. */
static int take_lengths(gnn_state_t *state, const gnn__model_step_t *s,
                        const gnn_model_inputs_t *fixed)
{
    gnn__slot_t *slot = &state->slots[s->step.graph];
    const gnn_graph_t *g =
        fixed && s->step.graph < fixed->n_graphs ? fixed->graphs[s->step.graph] : NULL;
    if (slot->lengths)
        return GNN_OK;
    if (!g || gnn_graph_n_segments(g) != state->segments)
        return gnn__error(
            GNN_EINVALID,
            "%s has fixed senders: .fixed must have a graph of %lld segments in slot %d%s",
            s->where, (long long)state->segments, s->step.graph, g ? "" : ", and has none");
    GNN_TRY(gnn__new(&slot->lengths, state->segments, sizeof *slot->lengths, "lengths of segments"));
    for (int64_t k = 0; k < state->segments; k++)
        slot->lengths[k] = gnn_graph_src_segments(g)[k + 1] - gnn_graph_src_segments(g)[k];
    return GNN_OK;
}

/* Linear attention over all earlier rows needs their sums only. */
static bool is_linear(const gnn_state_t *state, const gnn__model_step_t *s)
{
    const gnn_layer_config_t *c = &s->step.layer;
    const gnn_aggregate_t how = gnn__scores_settings(c, NULL, NULL);
    return gnn__state_senders_grow(state, s) && state->slots[s->step.graph].window == 0 &&
           gnn__scored(c) && c->edge_dim == 0 && gnn__keeps_sums(&how);
}

static int classify_cached(gnn_state_t *state, const gnn__model_step_t *s,
                           const gnn_model_inputs_t *fixed)
{
    const int64_t k = s - state->model->steps;
    state->linear[k] = is_linear(state, s);
    GNN_TRY(check_growing(state, s));
    GNN_TRY(check_view(s, state->linear[k]));
    if (gnn__state_senders_grow(state, s))
        return take_slot(state, s, GNN__SLOT_GROWS);
    GNN_TRY(take_slot(state, s, GNN__SLOT_ACROSS));
    return take_lengths(state, s, fixed);
}

/* Refuses a growing value, of which a call has the new rows alone, as an input that an op reads
 * whole. */
static int check_whole(const gnn_state_t *state, const gnn__model_step_t *s)
{
    for (int i = 0; s->step.op && i < s->row->n_inputs; i++)
        if (s->in[i] != GNN__NOT_READ && state->grows[s->in[i]] && gnn__op_reads_whole(s->step.op, i))
            return gnn__error(GNN_EUNSUPPORTED,
                              "%s: op %s reads all rows of .inputs[%d], which grow: it cannot run "
                              "incrementally",
                              s->where, s->step.op->name, i);
    return GNN_OK;
}

int gnn__state_classify(gnn_state_t *state, const gnn_state_config_t *config)
{
    const gnn_model_t *m = state->model;
    mark_growing(state, config->fixed);
    for (int64_t k = 0; k < m->n_steps; k++) {
        const gnn__model_step_t *s = &m->steps[k];
        if (!state->grows[k] && s->uses_graph)
            GNN_TRY(take_slot(state, s, GNN__SLOT_FIXED));
        if (!state->grows[k])
            continue;
        if (s->incremental == GNN__NOT_INCREMENTAL)
            return gnn__error(GNN_EUNSUPPORTED, "%s: a step of kind %s cannot run incrementally",
                              s->where, s->row->name);
        GNN_TRY(check_whole(state, s));
        if (s->incremental == GNN__NEEDS_CACHE)
            GNN_TRY(classify_cached(state, s, config->fixed));
    }
    if (!state->grows[m->n_steps - 1])
        return gnn__error(GNN_EINVALID, "%s, the last step, depends on no input that grows",
                          m->steps[m->n_steps - 1].where);
    return GNN_OK;
}

int gnn__state_tensor(gnn_tensor_t *tensor, int64_t rows, int64_t cols)
{
    int64_t count;
    gnn_real_t *data = NULL;
    if (!gnn__mul(rows, cols, &count))
        return gnn__error(GNN_EOVERFLOW, "a state of %lld x %lld values does not fit",
                          (long long)rows, (long long)cols);
    GNN_TRY(gnn__new(&data, count, sizeof *data, "a state"));
    *tensor = gnn_tensor(data, rows, cols);
    return GNN_OK;
}

void gnn_state_free(gnn_state_t *state)
{
    if (!state)
        return;
    const gnn_model_t *m = state->model;
    for (int64_t k = 0; state->saved && k < m->n_steps + m->n_inputs; k++)
        gnn_free(state->saved[k].data);
    for (int64_t k = 0; state->sent && k < m->n_steps; k++)
        for (int w = 0; w < GNN__SENT; w++)
            gnn_free(state->sent[k][w].data);
    for (int k = 0; state->slots && k < m->n_graphs; k++)
        gnn_free(state->slots[k].lengths);
    gnn_free(state->lengths);
    gnn_free(state->origin);
    gnn_free(state->slots);
    gnn_free(state->grows);
    gnn_free(state->saved);
    gnn_free(state->sent);
    gnn_free(state->graphs);
    gnn_free(state->fresh);
    gnn_free(state->linear);
    gnn_free(state);
}

/* ---- fixed values ---- */

/* Records a copy of x into a tensor of the state. */
static int keep(gnn_tape_t *tape, gnn_var_t x, gnn_tensor_t *tensor)
{
    if (x == GNN_NONE || gnn_tape_status(tape) != GNN_OK)
        return gnn_tape_status(tape);
    GNN_TRY(gnn__state_tensor(tensor, gnn_tape_rows(tape, x), gnn_tape_cols(tape, x)));
    gnn__record_into(tape, x, tensor);
    return GNN_OK;
}

static gnn_var_t fixed_value(const gnn__recording_t *r, const gnn__model_step_t *s, int64_t value)
{
    const int64_t steps = r->model->n_steps;
    return value < steps ? r->outputs[value]
                         : gnn__record_named(r, s, r->model->inputs[value - steps]);
}

/* The fixed inputs of a step. */
static void fixed_inputs(const gnn__recording_t *r, const gnn_state_t *state,
                         const gnn__model_step_t *s, gnn_var_t *in)
{
    for (int i = 0; i < s->row->n_inputs; i++)
        in[i] = s->in[i] == GNN__NOT_READ || state->grows[s->in[i]] ? GNN_NONE
                                                                    : fixed_value(r, s, s->in[i]);
}

static int keep_for(gnn__recording_t *r, gnn_state_t *state, int64_t k, const gnn_var_t *in)
{
    const gnn__model_step_t *s = &state->model->steps[k];
    const bool cached = s->incremental == GNN__NEEDS_CACHE;
    gnn_var_t sent[GNN__SENT];
    if (cached && !gnn__state_senders_grow(state, s)) {
        s->row->send(r, s, in, sent);
        for (int w = 0; w < GNN__SENT; w++)
            GNN_TRY(keep(r->tape, sent[w], &state->sent[k][w]));
    }
    for (int i = 0; i < s->row->n_inputs; i++)
        if (in[i] != GNN_NONE && !(cached && (s->row->senders >> i & 1)) &&
            !state->saved[s->in[i]].data)
            GNN_TRY(keep(r->tape, in[i], &state->saved[s->in[i]]));
    return GNN_OK;
}

static int record_fixed(gnn__recording_t *r, gnn_state_t *state)
{
    gnn_var_t in[GNN__STEP_INPUTS];
    gnn__record_inputs(r);
    for (int64_t k = 0; k < state->model->n_steps; k++) {
        fixed_inputs(r, state, &state->model->steps[k], in);
        if (!state->grows[k])
            r->outputs[k] = gnn__record_step(r, k, in);
        else
            GNN_TRY(keep_for(r, state, k, in));
        GNN_TRY(gnn_tape_status(r->tape));
    }
    return GNN_OK;
}

static int run_fixed(gnn_state_t *state, gnn_context_t *context, const gnn_model_inputs_t *fixed)
{
    const gnn_model_inputs_t none = {0};
    const gnn_model_t *m = state->model;
    gnn_var_t *vars = NULL;
    gnn_tape_t *tape;
    int rc;
    fixed = fixed ? fixed : &none;
    GNN_TRY(gnn__context_tape(context, &tape));
    GNN_TRY(gnn__new(&vars, m->n_steps + fixed->n_values, sizeof *vars, "a model's recording"));
    gnn__recording_t r = {
        .model = m, .tape = tape, .inputs = fixed, .vars = vars + m->n_steps, .outputs = vars};
    GNN_CHECK(record_fixed(&r, state));
    GNN_CHECK(gnn_tape_forward(tape));
done:
    gnn_free(vars);
    return rc;
}

/* ---- the state ---- */

static int build(gnn_state_t *state, gnn_context_t *context, const gnn_state_config_t *config)
{
    const gnn_model_t *m = state->model;
    const int64_t values = m->n_steps + m->n_inputs;
    GNN_TRY(gnn__new(&state->lengths, state->segments, sizeof *state->lengths, "a state"));
    GNN_TRY(gnn__new(&state->origin, state->segments, sizeof *state->origin, "a state"));
    GNN_TRY(gnn__new(&state->slots, m->n_graphs, sizeof *state->slots, "a state"));
    GNN_TRY(gnn__new(&state->graphs, m->n_graphs, sizeof *state->graphs, "a state"));
    GNN_TRY(gnn__new(&state->fresh, m->n_graphs, sizeof *state->fresh, "a state"));
    GNN_TRY(gnn__new(&state->linear, m->n_steps, sizeof *state->linear, "a state"));
    GNN_TRY(gnn__new(&state->grows, values, sizeof *state->grows, "a state"));
    GNN_TRY(gnn__new(&state->saved, values, sizeof *state->saved, "a state"));
    GNN_TRY(gnn__new(&state->sent, m->n_steps, sizeof *state->sent, "a state"));
    for (int64_t k = 0; k < state->segments; k++)
        state->origin[k] = k;
    for (int k = 0; k < m->n_graphs && k < config->n_windows; k++)
        state->slots[k].window = config->windows[k];
    GNN_TRY(gnn__state_classify(state, config));
    return run_fixed(state, context, config->fixed);
}

static int check_config(const gnn_state_config_t *c)
{
    if (c->segments < 0 || c->capacity < 1)
        return gnn__error(GNN_EINVALID,
                          "a state of .segments = %lld and .capacity = %lld: at least 1 is needed",
                          (long long)c->segments, (long long)c->capacity);
    for (int64_t k = 0; k < c->n_windows; k++)
        if (c->windows[k] < 0)
            return gnn__error(GNN_EINVALID, ".windows[%lld] = %lld is negative", (long long)k,
                              (long long)c->windows[k]);
    return GNN_OK;
}

int gnn_state_new(gnn_state_t **state, const gnn_model_t *model, gnn_context_t *context,
                  const gnn_state_config_t *config)
{
    gnn_state_config_t full = config ? *config : (gnn_state_config_t){0};
    gnn_state_t *made;
    GNN__NEED(state);
    GNN__NEED(model);
    GNN__NEED(context);
    GNN__NEED(config);
    GNN_TRY(check_config(&full));
    GNN_TRY(gnn__new(&made, 1, sizeof *made, "a state"));
    const int64_t segments = full.segments ? full.segments : 1;
    *made = (gnn_state_t){
        .model = model, .segments = segments, .room = segments, .capacity = full.capacity};
    const int rc = build(made, context, &full);
    if (rc != GNN_OK) {
        gnn_state_free(made);
        return rc;
    }
    *state = made;
    return GNN_OK;
}

int64_t gnn_state_segments(const gnn_state_t *state)
{
    GNN__NEED_OR(state, 0);
    return state->segments;
}

int64_t gnn_state_length(const gnn_state_t *state, int64_t segment)
{
    GNN__NEED_OR(state, 0);
    return segment >= 0 && segment < state->segments ? state->lengths[segment] : 0;
}

int gnn_state_truncate(gnn_state_t *state, int64_t segment, int64_t length)
{
    GNN__NEED(state);
    if (segment < 0 || segment >= state->segments || length < 0 || length > state->lengths[segment])
        return gnn__error(GNN_EINVALID, "sequence %lld of %lld cannot be cut to %lld rows",
                          (long long)segment, (long long)state->segments, (long long)length);
    for (int64_t k = 0; length > 0 && length < state->lengths[segment] && k < state->model->n_steps;
         k++)
        if (state->linear[k])
            return gnn__error(GNN_EUNSUPPORTED,
                              "%s keeps sums over all rows: a sequence is cut to 0 rows, not to %lld "
                              "of %lld",
                              state->model->steps[k].where, (long long)length,
                              (long long)state->lengths[segment]);
    state->lengths[segment] = length;
    return GNN_OK;
}
