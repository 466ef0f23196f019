/* The parts of a model that programs see: steps, inputs, views of graphs; parameters by name,
 * "STEP.FIELD", and buffers, "STEP.norm.running". */
#include <lib/base/settings.h>
#include <lib/model/steps.h>
#include <lib/tape/tape.h>

static int add_field(gnn_model_t *model, const gnn__model_field_t *f, const char *field)
{
    GNN_TRY(gnn__asprintf(&model->fields[model->n_fields].name, "%s.%s", model->steps[f->step].name,
                          field));
    char *name = model->fields[model->n_fields].name;
    model->fields[model->n_fields] = *f;
    model->fields[model->n_fields++].name = name;
    return GNN_OK;
}

/* listed[id]: an earlier layer has the parameter, under which it is named. */
static int name_step(gnn_model_t *model, int64_t k, bool *listed)
{
    const gnn__model_step_t *s = &model->steps[k];
    const gnn_layer_t *layer = s->layer;
    for (int64_t i = 0; layer && i < layer->n_fields; i++)
        if (!listed[layer->fields[i].id])
            GNN_TRY(add_field(model, &(gnn__model_field_t){NULL, k, layer->fields[i].name, -1},
                              layer->fields[i].name));
    for (int64_t i = 0; layer && i < layer->n_matrices; i++)
        listed[layer->matrices[i].id] = true;
    for (int i = 0; i < s->n_own; i++)
        if (!s->own[i].shared)
            GNN_TRY(add_field(model, &(gnn__model_field_t){NULL, k, NULL, s->own[i].id},
                              s->own[i].field));
    return GNN_OK;
}

static int add_buffer(gnn_model_t *model, int64_t step, const char *field, gnn_real_t *values,
                      int64_t width)
{
    gnn__model_buffer_t *b = &model->buffers[model->n_buffers];
    GNN_TRY(gnn__asprintf(&b->name, "%s.%s", model->steps[step].name, field));
    b->value = gnn_tensor(values, 2, width);
    model->n_buffers++;
    return GNN_OK;
}

static int name_buffers(gnn_model_t *model, int64_t k)
{
    const gnn__model_step_t *s = &model->steps[k];
    if (s->running)
        GNN_TRY(add_buffer(model, k, "running", s->running, s->step.in));
    for (int64_t b = 0; s->layer && b < s->layer->n_buffers; b++)
        GNN_TRY(add_buffer(model, k, s->layer->buffers[b].name, s->layer->buffers[b].values,
                           s->layer->buffers[b].width));
    return GNN_OK;
}

int gnn__model_name_fields(gnn_model_t *model)
{
    int64_t most = 0, most_buffers = 0;
    bool *listed = NULL;
    int rc = GNN_OK;
    for (int64_t k = 0; k < model->n_steps; k++) {
        most += model->steps[k].layer ? model->steps[k].layer->n_fields : model->steps[k].n_own;
        most_buffers += model->steps[k].layer ? model->steps[k].layer->n_buffers : 1;
    }
    GNN_TRY(gnn__new(&model->fields, most, sizeof *model->fields, "a model's fields"));
    GNN_TRY(gnn__new(&model->buffers, most_buffers, sizeof *model->buffers, "a model's buffers"));
    GNN_TRY(gnn__new(&listed, gnn_parameters_count(model->parameters), sizeof *listed, "flags"));
    for (int64_t k = 0; k < model->n_steps; k++) {
        GNN_CHECK(name_step(model, k, listed));
        GNN_CHECK(name_buffers(model, k));
    }
    for (int64_t k = 0; k < model->n_fields; k++)
        GNN_CHECK(gnn__name_index_add(&model->field_ids, model->fields[k].name, k));
done:
    gnn_free(listed);
    return rc;
}

int64_t gnn_model_field_count(const gnn_model_t *model)
{
    GNN__NEED_OR(model, 0);
    return model->n_fields;
}

const char *gnn_model_field_name(const gnn_model_t *model, int64_t index)
{
    GNN__NEED_OR(model, NULL);
    return index >= 0 && index < model->n_fields ? model->fields[index].name : NULL;
}

static gnn__field_place_t place_of(const gnn_model_t *model, const gnn__model_field_t *f)
{
    const gnn__model_step_t *s = &model->steps[f->step];
    gnn__field_place_t place = {
        f->id, 0, f->field ? 0 : gnn_parameters_value(model->parameters, f->id).cols, s->step.kind};
    for (int64_t k = 0; f->field && k < s->layer->n_fields; k++)
        if (strcmp(s->layer->fields[k].name, f->field) == 0) {
            place.id = s->layer->fields[k].id;
            place.col = s->layer->fields[k].col;
            place.cols = s->layer->fields[k].cols;
        }
    return place;
}

int gnn__model_field_place(const gnn_model_t *model, const char *name, gnn__field_place_t *place)
{
    const int64_t k = gnn__name_index_find(&model->field_ids, name);
    if (k < 0)
        return gnn__error(GNN_ENOTFOUND, "the model has no field %s", name);
    *place = place_of(model, &model->fields[k]);
    return GNN_OK;
}

/* Values stored as fp16 or bf16 have no view. */
static int check_whole(const gnn_model_t *model, const gnn__model_field_t *f)
{
    if (gnn__parameters_halves(model->parameters, place_of(model, f).id))
        return gnn__error(GNN_EUNSUPPORTED,
                          "the field %s is stored as fp16 or bf16: it has no view", f->name);
    return GNN_OK;
}

int gnn_model_field(const gnn_model_t *model, const char *name, gnn_tensor_t *value,
                    gnn_tensor_t *gradient)
{
    GNN__NEED(model);
    GNN__NEED(name);
    const int64_t k = gnn__name_index_find(&model->field_ids, name);
    if (k < 0)
        return gnn__error(GNN_ENOTFOUND, "the model has no field %s", name);
    const gnn__model_field_t *f = &model->fields[k];
    GNN_TRY(check_whole(model, f));
    if (f->field)
        return gnn_layer_field(model->steps[f->step].layer, f->field, value, gradient);
    if (value)
        *value = gnn_parameters_value(model->parameters, f->id);
    if (gradient)
        *gradient = gnn_parameters_gradient(model->parameters, f->id);
    return GNN_OK;
}

int64_t gnn_model_buffer_count(const gnn_model_t *model)
{
    GNN__NEED_OR(model, 0);
    return model->n_buffers;
}

const char *gnn_model_buffer_name(const gnn_model_t *model, int64_t index)
{
    GNN__NEED_OR(model, NULL);
    return index >= 0 && index < model->n_buffers ? model->buffers[index].name : NULL;
}

int gnn_model_buffer(const gnn_model_t *model, const char *name, gnn_tensor_t *value)
{
    GNN__NEED(model);
    GNN__NEED(name);
    GNN__NEED(value);
    for (int64_t k = 0; k < model->n_buffers; k++)
        if (strcmp(model->buffers[k].name, name) == 0) {
            *value = model->buffers[k].value;
            return GNN_OK;
        }
    return gnn__error(GNN_ENOTFOUND, "the model has no buffer %s", name);
}

/* ---- steps, inputs, graphs ---- */

int64_t gnn_model_step_count(const gnn_model_t *model)
{
    GNN__NEED_OR(model, 0);
    return model->n_steps;
}

const gnn_step_t *gnn_model_step(const gnn_model_t *model, int64_t index)
{
    GNN__NEED_OR(model, NULL);
    return index >= 0 && index < model->n_steps ? &model->steps[index].step : NULL;
}

gnn_layer_t *gnn_model_layer(const gnn_model_t *model, int64_t index)
{
    GNN__NEED_OR(model, NULL);
    return index >= 0 && index < model->n_steps ? model->steps[index].layer : NULL;
}

int64_t gnn_model_find(const gnn_model_t *model, const char *name)
{
    GNN__NEED_OR(model, -1);
    GNN__NEED_OR(name, -1);
    return gnn__name_index_find(&model->step_ids, name);
}

int64_t gnn_model_width(const gnn_model_t *model, int64_t index)
{
    GNN__NEED_OR(model, 0);
    return index >= 0 && index < model->n_steps ? model->steps[index].width : -1;
}

int64_t gnn_model_input_count(const gnn_model_t *model)
{
    GNN__NEED_OR(model, 0);
    return model->n_inputs;
}

const char *gnn_model_input_name(const gnn_model_t *model, int64_t index)
{
    GNN__NEED_OR(model, NULL);
    return index >= 0 && index < model->n_inputs ? model->inputs[index] : NULL;
}

gnn_parameters_t *gnn_model_parameters(const gnn_model_t *model)
{
    GNN__NEED_OR(model, NULL);
    return model->parameters;
}

int gnn_model_graph_count(const gnn_model_t *model)
{
    GNN__NEED_OR(model, 0);
    return model->n_graphs;
}

int gnn_model_prepare(const gnn_model_t *model, int slot, gnn_graph_t *graph, gnn_flag_t backward)
{
    GNN__NEED(model);
    GNN__NEED(graph);
    GNN_TRY(gnn__check_flag(backward, "backward"));
    for (int64_t k = 0; k < model->n_steps; k++) {
        const gnn__model_step_t *s = &model->steps[k];
        if (s->row->prepare && s->uses_graph && s->step.graph == slot)
            GNN_TRY(s->row->prepare(s, graph, backward));
    }
    return GNN_OK;
}
