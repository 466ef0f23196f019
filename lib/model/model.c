/* Making a model: steps are copied, configs resolved, layers made, parameters declared in one block
 * and drawn. */
#include <lib/base/settings.h>
#include <lib/model/blocks.h>
#include <lib/tape/tape.h>

/* The steps that a model is made of: steps or layers' configs, the other list is NULL. */
typedef struct {
    const gnn_step_t *steps;
    const gnn_layer_config_t *layers;
    int64_t count;
    bool strict;  /* a field that the step's kind does not read must be 0 */
    bool outline; /* without memory of parameters */
} source_t;

static int read_step(gnn_step_t *step, const source_t *from, int64_t index)
{
    if (from->layers) {
        step->layer = from->layers[index];
        return GNN_OK;
    }
    *step = from->steps[index];
    const int rc = from->strict ? gnn__step_check_unread(step) : GNN_OK;
    if (rc == GNN_OK)
        return rc;
    return step->name ? gnn__error_prefix(rc, "step %s", step->name)
                      : gnn__error_prefix(rc, "step %lld", (long long)index);
}

/* Copies a step with its strings into the model. */
static int copy_step(gnn__model_step_t *to, const source_t *from, int64_t index)
{
    const int rc = read_step(&to->step, from, index);
    if (rc != GNN_OK) {
        to->step = (gnn_step_t){.kind = GNN_STEP_LAYER}; /* without borrowed strings */
        return rc;
    }
    GNN_TRY(gnn__step_copy_strings(&to->step));
    if (!to->step.name) {
        char *name = NULL;
        GNN_TRY(gnn__asprintf(&name, "%lld", (long long)index));
        to->step.name = name;
    }
    to->name = to->step.name;
    return gnn__asprintf(&to->where, "%s %s", from->layers ? "layer" : "step", to->name);
}

static void free_step(gnn__model_step_t *s)
{
    gnn__step_free_strings(&s->step);
    gnn_layer_free(s->layer);
    gnn_free(s->running);
    gnn_free(s->own);
    gnn_free(s->body);
    gnn_free(s->where);
}

void gnn_model_free(gnn_model_t *model)
{
    if (!model)
        return;
    for (int64_t k = 0; k < model->n_steps; k++)
        free_step(&model->steps[k]);
    for (int64_t k = 0; k < model->n_fields; k++)
        gnn_free(model->fields[k].name);
    for (int64_t k = 0; k < model->n_buffers; k++)
        gnn_free(model->buffers[k].name);
    gnn_free(model->steps);
    gnn_free(model->inputs);
    gnn_free(model->fields);
    gnn__name_index_free(&model->step_ids);
    gnn__name_index_free(&model->input_ids);
    gnn__name_index_free(&model->field_ids);
    gnn_free(model->buffers);
    gnn_parameters_free(model->parameters);
    gnn__model_free_slots(model);
    gnn_free(model->note);
    gnn_free(model->borders);
    gnn_free(model);
}

/* A prior whose values a step names is given them; one that is to be given them must name them. */
static int resolve_priors(gnn__model_step_t *s)
{
    for (int p = 0; p < GNN_PRIORS; p++) {
        gnn_flag_t *given = &s->step.layer.priors[p].given;
        if (*given == GNN_ON && !s->step.priors[p])
            return gnn__error(GNN_EINVALID,
                              "%s: .layer.priors[%d].given is on, but .priors[%d] names no value",
                              s->where, p, p);
        if (s->step.priors[p])
            *given = GNN_ON;
    }
    return GNN_OK;
}

/* Presets and defaults are filled in here, once: the step's layer, its views and its file read this
 * config. */
static int resolve_config(gnn__model_step_t *s)
{
    GNN_TRY(resolve_priors(s));
    if (s->row->set_defaults)
        s->row->set_defaults(&s->step.layer);
    const int rc = gnn__config_resolve(&s->step.layer);
    return rc == GNN_OK ? rc : gnn__error_prefix(rc, "%s", s->where);
}

static int check_step(const gnn_model_t *model, gnn__model_step_t *s)
{
    const gnn_step_t *t = &s->step;
    s->row = gnn__step_row(t->kind);
    if (!s->row)
        return gnn__error(GNN_EINVALID, "%s: .kind = %d, expected a gnn_step_kind_t", s->where,
                          (int)t->kind);
    if (t->in < 0 || t->out < 0)
        return gnn__error(GNN_EINVALID, "%s: .in = %lld and .out = %lld must be at least 0",
                          s->where, (long long)t->in, (long long)t->out);
    int rc = gnn__check_flag(t->bias, ".bias");
    rc = rc == GNN_OK ? gnn__check_flag(t->transposed, ".transposed") : rc;
    rc = rc == GNN_OK ? gnn__check_flag(t->each_segment, ".each_segment") : rc;
    if (rc != GNN_OK)
        return gnn__error_prefix(rc, "%s", s->where);
    if (s->row->has_config)
        GNN_TRY(resolve_config(s));
    s->uses_graph = s->row->uses_graph;
    s->incremental = s->row->incremental;
    if (s->uses_graph && (t->graph < 0 || t->graph > 1000))
        return gnn__error(GNN_EINVALID, "%s: graph slot %d lies outside 0..1000", s->where, t->graph);
    return s->row->check ? s->row->check(model, s) : GNN_OK;
}

static int make_step(gnn_model_t *model, gnn__model_step_t *s)
{
    if (gnn_model_find(model, s->name) >= 0)
        return gnn__error(GNN_EINVALID, "two steps have the name %s, expected different names",
                          s->name);
    GNN_TRY(check_step(model, s));
    if (s->row->declare)
        GNN_TRY(s->row->declare(model, s));
    GNN_TRY(gnn__model_connect(model, s));
    if (s->uses_graph && s->step.graph >= model->n_graphs)
        model->n_graphs = s->step.graph + 1;
    if (s->row->n_inputs > 0 && s->row->inputs[0].declared)
        model->declares_inputs = true;
    return gnn__name_index_add(&model->step_ids, s->name, model->n_made);
}

/* A file must hold as many values as its config has parameters. */
static int check_size(const gnn_parameters_t *parameters, int64_t most)
{
    int64_t total = 0;
    for (int32_t id = 0; id < gnn_parameters_count(parameters); id++) {
        gnn_tensor_t t = gnn_parameters_value(parameters, id);
        total += t.rows * t.cols;
    }
    if (most >= 0 && total > most)
        return gnn__error(GNN_ESHAPE, "the steps have %lld parameters, the file holds %lld values",
                          (long long)total, (long long)most);
    return GNN_OK;
}

static int build(gnn_model_t *model, gnn_context_t *context, const source_t *from)
{
    const int64_t count = from->count;
    GNN_TRY(gnn__new(&model->steps, count, sizeof *model->steps, "a model's steps"));
    GNN_TRY(gnn__new(&model->inputs, count * GNN__STEP_INPUTS, sizeof *model->inputs,
                     "a model's inputs"));
    GNN_TRY(gnn_parameters_new(&model->parameters));
    model->n_steps = count;
    for (int64_t k = 0; k < count; k++) {
        GNN_TRY(copy_step(&model->steps[k], from, k));
        GNN_TRY(make_step(model, &model->steps[k]));
        model->n_made = k + 1;
    }
    GNN_TRY(check_size(model->parameters, model->most));
    if (!from->outline)
        GNN_TRY(gnn__parameters_make_room(model->parameters, context, model->most < 0));
    return gnn__model_name_fields(model);
}

static int make(gnn_model_t **model, gnn_context_t *context, const source_t *from, int64_t most)
{
    gnn_model_t *made;
    if (from->count < 1 || from->count > 100000)
        return gnn__error(GNN_EINVALID, "a model has %lld steps, expected at least 1",
                          (long long)from->count);
    GNN_TRY(gnn__new(&made, 1, sizeof *made, "a model"));
    made->most = most;
    const int rc = build(made, context, from);
    if (rc != GNN_OK) {
        gnn_model_free(made);
        return rc;
    }
    *model = made;
    return GNN_OK;
}

int gnn__model_make(gnn_model_t **model, gnn_context_t *context, int64_t count,
                    const gnn_step_t *steps, int64_t most)
{
    const source_t from = {.steps = steps, .count = count};
    return make(model, context, &from, most);
}

int gnn__model_outline(gnn_model_t **model, gnn_context_t *context, int64_t count,
                       const gnn_step_t *steps, int64_t most)
{
    const source_t from = {.steps = steps, .count = count, .outline = true};
    return make(model, context, &from, most);
}

int gnn__model_allocate(gnn_model_t *model, gnn_context_t *context)
{
    return gnn__parameters_make_room(model->parameters, context, model->most < 0);
}

int gnn_model_from_steps(gnn_model_t **model, gnn_context_t *context, int64_t count,
                         const gnn_step_t *steps)
{
    GNN__NEED(model);
    GNN__NEED(context);
    if (count > 0)
        GNN__NEED(steps);
    const source_t from = {.steps = steps, .count = count, .strict = true};
    return make(model, context, &from, -1);
}

int gnn_model_new(gnn_model_t **model, gnn_context_t *context, int64_t count,
                  const gnn_layer_config_t *layers)
{
    GNN__NEED(model);
    GNN__NEED(context);
    if (count > 0)
        GNN__NEED(layers);
    const source_t from = {.layers = layers, .count = count};
    return make(model, context, &from, -1);
}
