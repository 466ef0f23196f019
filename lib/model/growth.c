/* Which steps of a model grow when rows are appended, and whether they can. */
#include <lib/model/state.h>

static bool is_fixed(const gnn_model_inputs_t *fixed, const char *name)
{
    for (int64_t k = 0; fixed && k < fixed->n_values; k++)
        if (strcmp(fixed->values[k].name, name) == 0)
            return true;
    return false;
}

static void mark(gnn_state_t *state, const gnn_model_inputs_t *fixed)
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

/* The numbers of a prior that is shared by all pairs are a table, whose rows stay as they are. */
static bool is_table(const gnn__model_step_t *s, int i)
{
    const gnn_layer_config_t *c = &s->step.layer;
    const int p = i - s->row->priors;
    return s->row->priors > 0 && p >= 0 && p < GNN_PRIORS && c->priors[p].prior &&
           c->priors[p].prior->numbers == GNN_PRIOR_SHARED;
}

/* Senders are all fixed or all growing; receivers grow; nothing lies on edges. */
static int check_inputs(const gnn_state_t *state, const gnn__model_step_t *s)
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

static int check_config(const gnn__model_step_t *s)
{
    const gnn_layer_config_t *c = &s->step.layer;
    if (c->self_loops == GNN_ON || c->graph_norm != GNN_GRAPH_NORM_NONE)
        return gnn__error(GNN_EUNSUPPORTED,
                          "%s: self-loops and norms that a view adds do not grow with the rows",
                          s->where);
    for (int p = 0; p < GNN_PRIORS; p++) {
        const gnn_prior_t *prior = c->priors[p].prior;
        if (prior && prior->numbers == GNN_PRIOR_PER_SENDER)
            return gnn__error(GNN_EUNSUPPORTED,
                              "%s: numbers per sender (prior %s) are not kept as the rows grow",
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

/* Senders of each sequence: those of the segments of the graph that is given. */
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
            "%s hears fixed rows: .fixed must have a graph of %lld segments in slot %d%s", s->where,
            (long long)state->segments, s->step.graph, g ? "" : ", and has none");
    GNN_TRY(gnn__new(&slot->lengths, state->segments, sizeof *slot->lengths, "lengths of segments"));
    for (int64_t k = 0; k < state->segments; k++)
        slot->lengths[k] = gnn_graph_src_segments(g)[k + 1] - gnn_graph_src_segments(g)[k];
    return GNN_OK;
}

static int classify_hearing(gnn_state_t *state, const gnn__model_step_t *s,
                            const gnn_model_inputs_t *fixed)
{
    GNN_TRY(check_inputs(state, s));
    GNN_TRY(check_config(s));
    if (gnn__state_senders_grow(state, s))
        return take_slot(state, s, GNN__SLOT_GROWS);
    GNN_TRY(take_slot(state, s, GNN__SLOT_ACROSS));
    return take_lengths(state, s, fixed);
}

int gnn__state_classify(gnn_state_t *state, const gnn_state_config_t *config)
{
    const gnn_model_t *m = state->model;
    mark(state, config->fixed);
    for (int64_t k = 0; k < m->n_steps; k++) {
        const gnn__model_step_t *s = &m->steps[k];
        if (!state->grows[k] && s->uses_graph)
            GNN_TRY(take_slot(state, s, GNN__SLOT_FIXED));
        if (!state->grows[k])
            continue;
        if (s->growth == GNN__GROWS_NOT)
            return gnn__error(GNN_EUNSUPPORTED, "%s: a step of kind %s cannot go on row by row",
                              s->where, s->row->name);
        if (s->growth == GNN__GROWS_HEARS)
            GNN_TRY(classify_hearing(state, s, config->fixed));
    }
    if (!state->grows[m->n_steps - 1])
        return gnn__error(GNN_EINVALID, "%s, the last, reads nothing that grows",
                          m->steps[m->n_steps - 1].where);
    return GNN_OK;
}
