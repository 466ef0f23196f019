/* Making a model: steps are copied, layers created, parameters declared in one block and drawn. */
#include <lib/model/model.h>

static int copy_string(const char **string)
{
    char *copy = NULL;
    if (!*string)
        return GNN_OK;
    int rc = gnn__strdup(&copy, *string);
    *string = copy;
    return rc;
}

/* The strings of a step, in one list for copying and freeing. */
static int strings(gnn_step_t *s, const char ***list)
{
    int n = 0;
    list[n++] = &s->input;
    list[n++] = &s->receivers;
    list[n++] = &s->second;
    list[n++] = &s->third;
    list[n++] = &s->edge_features;
    list[n++] = &s->edge_weight;
    list[n++] = &s->edge_bias;
    list[n++] = &s->share;
    list[n++] = &s->share_fields;
    return n;
}

static int copy_step(gnn__model_step_t *to, const gnn_step_t *from, int64_t index, bool named)
{
    const char **list[16];
    to->step = *from;
    to->weight = to->bias = -1;
    int n = strings(&to->step, list), rc = GNN_OK;
    /* Every borrowed pointer is replaced or cleared, so that freeing after a failure touches only copies. */
    for (int k = 0; k < n; k++)
        if (rc == GNN_OK)
            rc = copy_string(list[k]);
        else
            *list[k] = NULL;
    to->step.name = NULL;
    if (rc == GNN_OK)
        rc = from->name ? gnn__strdup(&to->name, from->name)
                        : gnn__asprintf(&to->name, "%lld", (long long)index);
    if (rc == GNN_OK)
        rc = gnn__asprintf(&to->where, "%s %s", named ? "step" : "layer", to->name);
    to->step.name = to->name;
    return rc;
}

static void free_step(gnn__model_step_t *s)
{
    const char **list[16];
    int n = strings(&s->step, list);
    for (int k = 0; k < n; k++)
        gnn_free((void *)(uintptr_t)*list[k]);
    gnn_layer_free(s->layer);
    gnn_free(s->running);
    gnn_free(s->name);
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
    gnn_free(model->fields);
    gnn_free(model->buffers);
    gnn_parameters_free(model->parameters);
    gnn_free(model);
}

static const gnn_layer_t *find_layer(const gnn_model_t *model, const char *name, int64_t before)
{
    for (int64_t k = 0; k < before; k++)
        if (strcmp(model->steps[k].name, name) == 0)
            return model->steps[k].layer;
    return NULL;
}

static int declare_parameter(gnn_model_t *model, const gnn__model_step_t *s, const char *field,
                             int64_t rows, int64_t cols, gnn_init_t init, double argument,
                             int32_t *id)
{
    char *name = NULL;
    GNN_TRY(gnn__asprintf(&name, "%s.%s", s->name, field));
    int rc = gnn_parameters_add(model->parameters, name, rows, cols, init, argument, 0, 0, id);
    gnn_free(name);
    return rc;
}

static int check_op(const gnn__model_step_t *s)
{
    const gnn_step_t *t = &s->step;
    bool sized = t->kind == GNN_STEP_LINEAR || t->kind == GNN_STEP_NORM || t->kind == GNN_STEP_EMBED;
    if (t->kind < GNN_STEP_LAYER || t->kind > GNN_STEP_EMBED)
        return gnn__error(GNN_EINVALID, "%s: unknown kind %d", s->where, (int)t->kind);
    if (t->in < sized || t->out < (sized && t->kind != GNN_STEP_NORM))
        return gnn__error(GNN_EINVALID, "%s: .in = %lld and .out = %lld must be at least %d",
                          s->where, (long long)t->in, (long long)t->out, sized);
    if (t->kind == GNN_STEP_NORM && (t->norm <= GNN_NORM_NONE || t->norm > GNN_NORM_RMS))
        return gnn__error(GNN_EINVALID, "%s: a norm step needs .norm", s->where);
    if (t->kind == GNN_STEP_DROPOUT && !(t->rate >= 0 && t->rate < 1))
        return gnn__error(GNN_EINVALID, "%s: .rate = %g lies outside [0, 1)", s->where,
                          (double)t->rate);
    if ((t->kind == GNN_STEP_ADD || t->kind == GNN_STEP_CONCAT) && !t->second)
        return gnn__error(GNN_EINVALID, "%s: needs .second", s->where);
    return GNN_OK;
}

static int declare_norm(gnn_model_t *model, gnn__model_step_t *s)
{
    const gnn_step_t *t = &s->step;
    GNN_TRY(declare_parameter(model, s, "gain", 1, t->in, GNN_INIT_ONES, 0, &s->weight));
    if (t->norm != GNN_NORM_RMS)
        GNN_TRY(declare_parameter(model, s, "shift", 1, t->in, GNN_INIT_ZEROS, 0, &s->bias));
    if (t->norm != GNN_NORM_BATCH)
        return GNN_OK;
    GNN_TRY(gnn__new(&s->running, 2 * t->in, sizeof *s->running, "running statistics"));
    for (int64_t k = 0; k < t->in; k++)
        s->running[t->in + k] = 1;
    return GNN_OK;
}

static int declare_op(gnn_model_t *model, gnn__model_step_t *s)
{
    const gnn_step_t *t = &s->step;
    GNN_TRY(check_op(s));
    switch (t->kind) {
    case GNN_STEP_LINEAR:
        GNN_TRY(declare_parameter(model, s, "weight", t->in, t->out, GNN_INIT_GLOROT, 0, &s->weight));
        return declare_parameter(model, s, "bias", 1, t->out, GNN_INIT_ZEROS, 0, &s->bias);
    case GNN_STEP_EMBED:
        return declare_parameter(model, s, "table", t->in, t->out, GNN_INIT_NORMAL, 1, &s->weight);
    case GNN_STEP_NORM: return declare_norm(model, s);
    default: return GNN_OK;
    }
}

static int declare_layer(gnn_model_t *model, gnn__model_step_t *s, int64_t index)
{
    const gnn_step_t *t = &s->step;
    char *prefix = NULL;
    const gnn_layer_t *share = t->share ? find_layer(model, t->share, index) : NULL;
    if (t->share && !share)
        return gnn__error(GNN_ENOTFOUND, "%s: no earlier layer step %s to share parameters with",
                          s->where, t->share);
    if (t->graph < 0 || t->graph > 1000)
        return gnn__error(GNN_EINVALID, "%s: graph slot %d lies outside 0..1000", s->where, t->graph);
    int rc = gnn__layer_create(&s->layer, &t->layer);
    if (rc != GNN_OK)
        return gnn__error_prefix(rc, "%s", s->where);
    GNN_TRY(gnn__asprintf(&prefix, "%s.", s->name));
    rc = gnn__layer_declare(s->layer, model->parameters, prefix, share, t->share_fields);
    gnn_free(prefix);
    if (t->graph >= model->n_graphs)
        model->n_graphs = t->graph + 1;
    return rc == GNN_OK ? rc : gnn__error_prefix(rc, "%s", s->where);
}

/* A file's config must not ask for more numbers than the file holds. */
static int check_size(const gnn_parameters_t *parameters, int64_t most)
{
    int64_t total = 0;
    for (int32_t id = 0; id < gnn_parameters_count(parameters); id++) {
        gnn_tensor_t t = gnn_parameters_value(parameters, id);
        total += t.rows * t.cols;
    }
    if (most >= 0 && total > most)
        return gnn__error(GNN_ESHAPE, "the steps have %lld parameters, the file holds %lld numbers",
                          (long long)total, (long long)most);
    return GNN_OK;
}

static int build(gnn_model_t *model, gnn_context_t *context, int64_t count, const gnn_step_t *steps,
                 bool named, int64_t most)
{
    GNN_TRY(gnn__new(&model->steps, count, sizeof *model->steps, "a model's steps"));
    GNN_TRY(gnn_parameters_new(&model->parameters));
    for (int64_t k = 0; k < count; k++) {
        gnn__model_step_t *s = &model->steps[k];
        model->n_steps = k + 1;
        GNN_TRY(copy_step(s, &steps[k], k, named));
        for (int64_t j = 0; j < k; j++)
            if (strcmp(model->steps[j].name, s->name) == 0)
                return gnn__error(GNN_EINVALID, "two steps of the name %s", s->name);
        GNN_TRY(s->step.kind == GNN_STEP_LAYER ? declare_layer(model, s, k) : declare_op(model, s));
    }
    GNN_TRY(check_size(model->parameters, most));
    GNN_TRY(gnn_parameters_allocate(model->parameters, context));
    return gnn__model_name_fields(model);
}

int gnn__model_make(gnn_model_t **model, gnn_context_t *context, int64_t count,
                    const gnn_step_t *steps, bool named, int64_t most)
{
    gnn_model_t *made;
    if (count < 1 || count > 100000)
        return gnn__error(GNN_EINVALID, "a model of %lld steps: at least 1 is needed",
                          (long long)count);
    GNN_TRY(gnn__new(&made, 1, sizeof *made, "a model"));
    int rc = build(made, context, count, steps, named, most);
    if (rc != GNN_OK) {
        gnn_model_free(made);
        return rc;
    }
    *model = made;
    return GNN_OK;
}

int gnn_model_from_steps(gnn_model_t **model, gnn_context_t *context, int64_t count,
                         const gnn_step_t *steps)
{
    return gnn__model_make(model, context, count, steps, true, -1);
}

int gnn_model_new(gnn_model_t **model, gnn_context_t *context, int64_t count,
                  const gnn_layer_config_t *layers)
{
    gnn_step_t *steps = NULL;
    GNN_TRY(gnn__new(&steps, count < 0 ? 0 : count, sizeof *steps, "a model's steps"));
    for (int64_t k = 0; k < count; k++)
        steps[k].layer = layers[k];
    int rc = gnn__model_make(model, context, count, steps, false, -1);
    gnn_free(steps);
    return rc;
}

int64_t gnn_model_step_count(const gnn_model_t *model)
{
    return model->n_steps;
}

const gnn_step_t *gnn_model_step(const gnn_model_t *model, int64_t index)
{
    return index >= 0 && index < model->n_steps ? &model->steps[index].step : NULL;
}

gnn_layer_t *gnn_model_layer(const gnn_model_t *model, int64_t index)
{
    return index >= 0 && index < model->n_steps ? model->steps[index].layer : NULL;
}

gnn_parameters_t *gnn_model_parameters(const gnn_model_t *model)
{
    return model->parameters;
}

int gnn_model_graph_count(const gnn_model_t *model)
{
    return model->n_graphs;
}
