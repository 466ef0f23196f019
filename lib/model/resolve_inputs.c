/* The inputs of a step: from names to earlier steps or inputs of the model, and whether their
 * widths fit. Found when a model is made. */
#include <lib/model/steps.h>

static const char *input_name(const gnn__model_step_t *s, int k)
{
    return *(const char *const *)((const char *)&s->step + s->row->inputs[k].offset);
}

static bool is_main(const gnn__model_step_t *s, int k)
{
    return s->row->inputs[k].offset == offsetof(gnn_step_t, inputs[0]);
}

/* The index of the input of this name, after all steps; adds it if it is new. */
static int input_index(gnn_model_t *model, const char *name, int64_t *index)
{
    int64_t k = gnn__name_index_find(&model->input_ids, name);
    if (k < 0) {
        k = model->n_inputs;
        GNN_TRY(gnn__name_index_add(&model->input_ids, name, k));
        model->inputs[model->n_inputs++] = name;
    }
    *index = model->n_steps + k;
    return GNN_OK;
}

static int find_value(gnn_model_t *model, const gnn__model_step_t *s, const char *name, int64_t *found)
{
    *found = gnn_model_find(model, name);
    if (*found >= 0)
        return GNN_OK;
    if (model->declares_inputs)
        return gnn__error(GNN_ENOTFOUND,
                          "%s reads \"%s\": no input is declared and no earlier step has this name",
                          s->where, name);
    return input_index(model, name, found);
}

static int connect_input(gnn_model_t *model, gnn__model_step_t *s, int k)
{
    const char *name = input_name(s, k);
    if (s->row->inputs[k].declared)
        return input_index(model, name, &s->in[k]);
    if (!name && is_main(s, k)) {
        if (model->n_made == 0)
            return find_value(model, s, "x", &s->in[k]);
        s->in[k] = model->n_made - 1;
        return GNN_OK;
    }
    if (!name && s->row->inputs[k].needed)
        return gnn__error(GNN_EINVALID, "%s: needs .%s", s->where, s->row->inputs[k].name);
    return name ? find_value(model, s, name, &s->in[k]) : GNN_OK;
}

int gnn__step_expect(const gnn_model_t *model, const gnn__model_step_t *s, const int64_t *in, int k,
                     int64_t expected, const char *what)
{
    if (in[k] < 0 || in[k] == expected)
        return GNN_OK;
    const gnn__model_step_t *from = &model->steps[s->in[k]];
    const gnn_layer_config_t *c = from->layer ? from->layer->config : NULL;
    if (c && c->heads > 1 && in[k] == c->heads * c->out)
        return gnn__error(GNN_ESHAPE, "%s expects %lld %s, %s puts out %lld (%lld heads of %lld)",
                          s->where, (long long)expected, what, from->where, (long long)in[k],
                          (long long)c->heads, (long long)c->out);
    return gnn__error(GNN_ESHAPE, "%s expects %lld %s, %s puts out %lld", s->where,
                      (long long)expected, what, from->where, (long long)in[k]);
}

int gnn__step_same_widths(const gnn_model_t *model, gnn__model_step_t *s, const int64_t *in)
{
    s->width = -1;
    for (int k = 0; k < s->row->n_inputs; k++) {
        if (s->width < 0)
            s->width = in[k];
        else
            GNN_TRY(gnn__step_expect(model, s, in, k, s->width, "columns as in its other inputs"));
    }
    return GNN_OK;
}

int gnn__model_connect(gnn_model_t *model, gnn__model_step_t *s)
{
    int64_t in[GNN__STEP_INPUTS];
    for (int k = 0; k < GNN__STEP_INPUTS; k++) {
        s->in[k] = GNN__NOT_READ;
        in[k] = -1;
    }
    for (int k = 0; k < s->row->n_inputs; k++) {
        GNN_TRY(connect_input(model, s, k));
        if (s->in[k] >= 0 && s->in[k] < model->n_made)
            in[k] = model->steps[s->in[k]].width;
    }
    if (s->row->width)
        return s->row->width(model, s, in);
    s->width = in[0];
    return GNN_OK;
}
