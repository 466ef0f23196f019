/* Running a model: the steps that are needed are recorded on a tape in order. */
#include <lib/model/steps.h>
#include <lib/tape/tape.h>

static gnn_var_t record_input(gnn_tape_t *tape, const gnn_named_t *v)
{
    int given = !!v->dense + !!v->sparse + !!v->ids;
    if (given != 1) {
        gnn_tape_fail(
            tape, gnn__error(GNN_EINVALID,
                             "input %s: exactly one of dense, sparse and ids must be given, got %d",
                             v->name, given));
        return GNN_NONE;
    }
    return v->dense    ? gnn_tape_input(tape, v->dense, v->wants_grad)
           : v->sparse ? gnn_tape_sparse(tape, v->sparse)
                       : gnn_tape_ids(tape, v->ids, v->count);
}

gnn_var_t gnn__record_named(const gnn__recording_t *r, const gnn__model_step_t *s, const char *name)
{
    for (int64_t k = 0; k < r->inputs->n_values; k++) {
        const gnn_named_t *v = &r->inputs->values[k];
        if ((v->slot == 0 || v->slot == s->step.graph + 1) && strcmp(v->name, name) == 0)
            return r->vars[k];
    }
    char names[256] = "";
    for (int64_t k = 0; k < r->inputs->n_values; k++)
        gnn__append_name(names, sizeof names, ", ", r->inputs->values[k].name);
    gnn_tape_fail(r->tape, gnn__error(GNN_ENOTFOUND,
                                      "%s reads \"%s\": no input and no earlier step has this name; "
                                      "inputs that are given: %s",
                                      s->where, name, *names ? names : "none"));
    return GNN_NONE;
}

int gnn__no_graph(const char *where, int slot, int64_t given)
{
    if (slot < given)
        return gnn__error(GNN_EINVALID, "%s runs on graph slot %d, whose graph is NULL", where, slot);
    return gnn__error(GNN_EINVALID, "%s runs on graph slot %d, but %lld graphs were given", where,
                      slot, (long long)given);
}

const gnn_graph_t *gnn__step_graph(const gnn__recording_t *r, const gnn__model_step_t *s)
{
    const int slot = s->step.graph;
    if (gnn_tape_status(r->tape) != GNN_OK)
        return NULL;
    if (slot < r->inputs->n_graphs && r->inputs->graphs[slot])
        return r->inputs->graphs[slot];
    gnn_tape_fail(r->tape, gnn__no_graph(s->where, slot, r->inputs->n_graphs));
    return NULL;
}

void gnn__record_inputs(const gnn__recording_t *r)
{
    for (int64_t k = 0; k < r->inputs->n_values; k++)
        r->vars[k] = record_input(r->tape, &r->inputs->values[k]);
}

gnn_var_t gnn__record_step(gnn__recording_t *r, int64_t k, const gnn_var_t *in)
{
    const gnn__model_step_t *s = &r->model->steps[k];
    const int64_t place = k + 1 + r->round * (r->model->n_steps + 1);
    gnn__tape_set_place(r->tape, (uint32_t)place, s->where);
    return gnn_tape_status(r->tape) == GNN_OK ? s->row->record(r, s, in) : GNN_NONE;
}

gnn_var_t gnn__record_again(gnn__recording_t *r, int64_t k)
{
    const gnn__model_step_t *s = &r->model->steps[k];
    const int64_t steps = r->model->n_steps;
    gnn_var_t in[GNN__STEP_INPUTS];
    for (int i = 0; i < s->row->n_inputs; i++)
        in[i] = s->in[i] == GNN__NOT_READ ? GNN_NONE
                : s->in[i] < steps        ? r->outputs[s->in[i]]
                                   : gnn__record_named(r, s, r->model->inputs[s->in[i] - steps]);
    return gnn__record_step(r, k, in);
}

void gnn__model_needs(const gnn_model_t *model, int64_t last, bool *needed)
{
    needed[last] = true;
    for (int64_t k = last; k >= 0; k--)
        for (int i = 0; needed[k] && i < model->steps[k].row->n_inputs; i++)
            if (model->steps[k].in[i] >= 0 && model->steps[k].in[i] < model->n_steps)
                needed[model->steps[k].in[i]] = true;
}

gnn__hop_extras_t gnn__step_extras(const gnn__recording_t *r, const gnn_graph_t *graph)
{
    gnn__hop_extras_t extras = r->extras;
    extras.edge_mask = graph && graph == r->masked ? &r->edge_mask : NULL;
    return extras;
}

static void record_steps(gnn__recording_t *r, const gnn__record_how_t *how, const bool *needed)
{
    const int64_t last = how->last;
    int64_t segment = 0;
    gnn__record_inputs(r);
    for (int64_t k = 0; k <= last; k++) {
        if (segment < r->model->n_segments && k == (segment ? r->model->borders[segment - 1] : 0))
            gnn_tape_recompute(r->tape, ++segment < r->model->n_segments);
        r->extras = k == last ? how->extras : (gnn__hop_extras_t){0};
        r->outputs[k] = needed[k] ? gnn__record_again(r, k) : GNN_NONE;
    }
    if (r->model->n_segments > 0)
        gnn_tape_recompute(r->tape, 0);
    gnn__tape_set_place(r->tape, (uint32_t)last + 2, "");
}

gnn_var_t gnn__model_record_to(const gnn_model_t *model, gnn_tape_t *tape,
                               const gnn_model_inputs_t *inputs, gnn_var_t *vars,
                               gnn_var_t *outputs, const gnn__record_how_t *how)
{
    enum { SMALL = 96 }; /* count of steps and inputs up to which nothing is allocated */
    gnn_var_t few[SMALL], *many = NULL, *own = few;
    bool few_needed[SMALL], *many_needed = NULL, *needed = few_needed;
    const int64_t count = model->n_steps + inputs->n_values;
    int rc = GNN_OK;
    if (count > SMALL) {
        GNN_CHECK(gnn__new(&many, count, sizeof *many, "a model's recording"));
        GNN_CHECK(gnn__new(&many_needed, count, sizeof *many_needed, "a model's recording"));
        own = many;
        needed = many_needed;
    }
    gnn__recording_t r = {.model = model,
                          .tape = tape,
                          .inputs = inputs,
                          .vars = vars ? vars : own + model->n_steps,
                          .outputs = outputs ? outputs : own,
                          .masked = how->masked,
                          .edge_mask = how->edge_mask};
    for (int64_t k = 0; k <= how->last; k++)
        needed[k] = how->all;
    gnn__model_needs(model, how->last, needed);
    record_steps(&r, how, needed);
    own = r.outputs + how->last;
done:
    gnn_tape_fail(tape, rc);
    const gnn_var_t result = rc == GNN_OK ? *own : GNN_NONE;
    gnn_free(many);
    gnn_free(many_needed);
    return result;
}

gnn_var_t gnn_model_record(const gnn_model_t *model, gnn_tape_t *tape,
                           const gnn_model_inputs_t *inputs, gnn_var_t *vars)
{
    GNN__NEED_ON(tape, model);
    GNN__NEED_OR(tape, GNN_NONE);
    GNN__NEED_ON(tape, inputs);
    return gnn_model_record_all(model, tape, inputs, vars, NULL);
}

gnn_var_t gnn_model_record_all(const gnn_model_t *model, gnn_tape_t *tape,
                               const gnn_model_inputs_t *inputs, gnn_var_t *vars, gnn_var_t *outputs)
{
    GNN__NEED_ON(tape, model);
    GNN__NEED_OR(tape, GNN_NONE);
    GNN__NEED_ON(tape, inputs);
    const gnn_var_t y =
        gnn__model_record_to(model, tape, inputs, vars, outputs,
                             &(gnn__record_how_t){.last = model->n_steps - 1, .all = true});
    const gnn__value_t *v = y == GNN_NONE ? NULL : gnn__tape_at(tape, y);
    if (!v)
        return y;
    if (!v->sparse && !v->ids) /* A root of backward is an op's output, not an input or a view. */
        return tape->recording && v->kind != GNN__VALUE_OUTPUT ? gnn_tape_concat(tape, &y, 1) : y;
    gnn_tape_fail(tape, gnn__error(GNN_EUNSUPPORTED, "the model's output is its input, which is %s",
                                   v->sparse ? "sparse" : "ids"));
    return GNN_NONE;
}

void gnn__record_into(gnn_tape_t *tape, gnn_var_t x, const gnn_tensor_t *out)
{
    const gnn__value_t *v = x == GNN_NONE ? NULL : gnn__tape_at(tape, x);
    if (v && (v->kind != GNN__VALUE_OUTPUT || v->bound))
        x = gnn_tape_concat(tape, &x, 1);
    gnn_tape_bind(tape, x, out);
}

int gnn_model_forward(const gnn_model_t *model, gnn_context_t *context,
                      const gnn_model_inputs_t *inputs, const gnn_tensor_t *out)
{
    GNN__NEED(model);
    GNN__NEED(context);
    GNN__NEED(inputs);
    GNN__NEED(out);
    gnn_tape_t *tape;
    GNN_TRY(gnn__context_tape(context, &tape));
    gnn__record_into(tape, gnn_model_record(model, tape, inputs, NULL), out);
    return gnn_tape_forward(tape);
}

int gnn_model_value(const gnn_model_t *model, gnn_context_t *context,
                    const gnn_model_inputs_t *inputs, const char *name, const gnn_tensor_t *out)
{
    GNN__NEED(model);
    GNN__NEED(context);
    GNN__NEED(inputs);
    GNN__NEED(name);
    GNN__NEED(out);
    gnn_tape_t *tape;
    const int64_t step = gnn_model_find(model, name);
    if (step < 0)
        return gnn__error(GNN_ENOTFOUND, "the model has no step \"%s\"", name);
    GNN_TRY(gnn__context_tape(context, &tape));
    gnn__record_into(
        tape,
        gnn__model_record_to(model, tape, inputs, NULL, NULL, &(gnn__record_how_t){.last = step}),
        out);
    return gnn_tape_forward(tape);
}

int gnn_model_predict(const gnn_model_t *model, gnn_context_t *context, const gnn_graph_t *graph,
                      const gnn_tensor_t *x, const gnn_sparse_t *sparse, const gnn_tensor_t *out)
{
    GNN__NEED(model);
    GNN__NEED(context);
    GNN__NEED(out);
    gnn_named_t value = {.name = "x", .dense = x, .sparse = sparse};
    gnn_model_inputs_t inputs = {.graphs = &graph, .n_graphs = 1, .values = &value, .n_values = 1};
    return gnn_model_forward(model, context, &inputs, out);
}

int gnn_model_attention(const gnn_model_t *model, gnn_context_t *context,
                        const gnn_model_inputs_t *inputs, int64_t step,
                        const gnn_tensor_t *per_edge, gnn_real_t *per_segment)
{
    GNN__NEED(model);
    GNN__NEED(context);
    GNN__NEED(inputs);
    gnn_tape_t *tape;
    const gnn__model_step_t *s = step >= 0 && step < model->n_steps ? &model->steps[step] : NULL;
    const gnn_layer_config_t *c = s ? &s->step.layer : NULL;
    if (!s || !s->row->attends || !gnn__scored(c))
        return gnn__error(
            GNN_EUNSUPPORTED,
            "step %lld (%s) computes no attention weights, expected a layer or an aggregation with scores",
            (long long)step, s ? s->where : "not in the model");
    GNN_TRY(gnn__context_tape(context, &tape));
    gnn__model_record_to(
        model, tape, inputs, NULL, NULL,
        &(gnn__record_how_t){.last = step,
                             .extras = {.per_edge = per_edge, .per_segment = per_segment}});
    return gnn_tape_forward(tape);
}
