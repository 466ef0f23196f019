/* Running a model: names are looked up, steps go onto a tape one after another. */
#include <lib/model/model.h>

/* What one recording knows. */
typedef struct {
    const gnn_model_t *model;
    gnn_tape_t *tape;
    const gnn_model_inputs_t *inputs;
    gnn_var_t *vars;    /* of the inputs; NONE until first read */
    gnn_var_t *outputs; /* of the steps so far */
    int64_t at;         /* the running step */
} recording_t;

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

static gnn_var_t look_up(recording_t *r, const char *name)
{
    for (int64_t k = r->at - 1; k >= 0; k--)
        if (strcmp(r->model->steps[k].name, name) == 0)
            return r->outputs[k];
    for (int64_t k = 0; k < r->inputs->n_values; k++)
        if (strcmp(r->inputs->values[k].name, name) == 0)
            return r->vars[k];
    gnn_tape_fail(r->tape, gnn__error(GNN_ENOTFOUND,
                                      "%s reads \"%s\": no input and no earlier step has this name",
                                      r->model->steps[r->at].where, name));
    return GNN_NONE;
}

static gnn_var_t optional(recording_t *r, const char *name)
{
    return name ? look_up(r, name) : GNN_NONE;
}

static gnn_var_t main_input(recording_t *r)
{
    const char *name = r->model->steps[r->at].step.input;
    return name ? look_up(r, name) : r->at > 0 ? r->outputs[r->at - 1] : look_up(r, "x");
}

static int check_layer(const gnn__model_step_t *s, const gnn_tape_t *tape, const gnn_graph_t *graph,
                       const gnn_layer_vars_t *vars)
{
    const gnn_layer_config_t *c = &s->layer->config;
    int64_t cols = gnn_tape_cols(tape, vars->x_src), rows = gnn_tape_rows(tape, vars->x_src),
            n_dst = gnn_graph_n_dst(graph);
    if (cols != c->in)
        return gnn__error(GNN_ESHAPE, "%s expects %lld input features, the tensor has %lld",
                          s->where, (long long)c->in, (long long)cols);
    if (rows != gnn_graph_n_src(graph))
        return gnn__error(GNN_ESHAPE, "%s: the graph has %lld senders, the tensor %lld rows",
                          s->where, (long long)gnn_graph_n_src(graph), (long long)rows);
    if (vars->x_dst == GNN_NONE) {
        if (n_dst > rows)
            return gnn__error(GNN_ESHAPE,
                              "%s: the graph has %lld receivers and %lld senders: name the receivers",
                              s->where, (long long)n_dst, (long long)rows);
        return GNN_OK;
    }
    if (gnn_tape_cols(tape, vars->x_dst) != c->in_dst)
        return gnn__error(GNN_ESHAPE, "%s expects %lld receiver features, the tensor has %lld",
                          s->where, (long long)c->in_dst,
                          (long long)gnn_tape_cols(tape, vars->x_dst));
    if (gnn_tape_rows(tape, vars->x_dst) != n_dst)
        return gnn__error(GNN_ESHAPE, "%s: the graph has %lld receivers, the tensor %lld rows",
                          s->where, (long long)n_dst, (long long)gnn_tape_rows(tape, vars->x_dst));
    return GNN_OK;
}

static gnn_var_t record_layer(recording_t *r, const gnn__model_step_t *s,
                              const gnn__attention_out_t *weights)
{
    const gnn_step_t *t = &s->step;
    gnn_layer_vars_t vars = {.x_dst = optional(r, t->receivers),
                             .x_src = main_input(r),
                             .edge_features = optional(r, t->edge_features),
                             .edge_weight = optional(r, t->edge_weight),
                             .edge_bias = optional(r, t->edge_bias)};
    if (gnn_tape_status(r->tape) != GNN_OK)
        return GNN_NONE;
    if (t->graph >= r->inputs->n_graphs || !r->inputs->graphs[t->graph]) {
        gnn_tape_fail(r->tape, gnn__error(GNN_EINVALID,
                                          "%s runs on graph slot %d, but %lld graphs were given",
                                          s->where, t->graph, (long long)r->inputs->n_graphs));
        return GNN_NONE;
    }
    const gnn_graph_t *graph = r->inputs->graphs[t->graph];
    if (gnn_tape_fail(r->tape, check_layer(s, r->tape, graph, &vars)) != GNN_OK)
        return GNN_NONE;
    return gnn__layer_record(s->layer, r->tape, graph, &vars, weights);
}

static gnn_var_t parameter(recording_t *r, int32_t id)
{
    return id < 0 ? GNN_NONE : gnn_tape_parameter(r->tape, r->model->parameters, id);
}

static gnn_var_t record_op(recording_t *r, const gnn__model_step_t *s)
{
    const gnn_step_t *t = &s->step;
    gnn_var_t x = main_input(r), second = optional(r, t->second), third = optional(r, t->third),
              list[3] = {x, second, third};
    gnn_tensor_t running = gnn_tensor(s->running, 2, t->in);
    switch (t->kind) {
    case GNN_STEP_LINEAR:
        return gnn_tape_linear(r->tape, x, parameter(r, s->weight), parameter(r, s->bias));
    case GNN_STEP_NORM:
        return gnn_tape_norm(r->tape, t->norm, x, parameter(r, s->weight), parameter(r, s->bias),
                             t->eps == 0 ? (gnn_real_t)1e-5 : t->eps, s->running ? &running : NULL,
                             (gnn_real_t)0.1);
    case GNN_STEP_ACTIVATION: return gnn_tape_activation(r->tape, x, t->activation, 0);
    case GNN_STEP_DROPOUT: return gnn_tape_dropout(r->tape, x, t->rate);
    case GNN_STEP_ADD: return gnn_tape_add(r->tape, x, second, 1);
    case GNN_STEP_CONCAT: return gnn_tape_concat(r->tape, list, t->third ? 3 : 2);
    default: return gnn_tape_gather(r->tape, parameter(r, s->weight), x);
    }
}

static gnn_var_t record_steps(recording_t *r, int64_t last, const gnn__attention_out_t *weights)
{
    for (int64_t k = 0; k < r->inputs->n_values; k++)
        r->vars[k] = record_input(r->tape, &r->inputs->values[k]);
    for (r->at = 0; r->at <= last; r->at++) {
        const gnn__model_step_t *s = &r->model->steps[r->at];
        gnn_tape_set_place(r->tape, (uint32_t)r->at + 1, s->where);
        r->outputs[r->at] =
            s->layer ? record_layer(r, s, r->at == last ? weights : NULL) : record_op(r, s);
    }
    gnn_tape_set_place(r->tape, (uint32_t)last + 2, "");
    return r->outputs[last];
}

gnn_var_t gnn__model_record(const gnn_model_t *model, gnn_tape_t *tape,
                            const gnn_model_inputs_t *inputs, gnn_var_t *vars, int64_t last,
                            const gnn__attention_out_t *weights)
{
    enum { SMALL = 64 };
    gnn_var_t few_vars[SMALL], few_outputs[SMALL], *many = NULL, result = GNN_NONE;
    recording_t r = {model, tape, inputs, vars ? vars : few_vars, few_outputs, 0};
    int rc = GNN_OK;
    if (model->n_steps > SMALL || inputs->n_values > SMALL) {
        rc = gnn__new(&many, model->n_steps + inputs->n_values, sizeof *many, "a model's recording");
        r.outputs = many;
        r.vars = vars || rc != GNN_OK ? vars : many + model->n_steps;
    }
    if (gnn_tape_fail(tape, rc) == GNN_OK)
        result = record_steps(&r, last, weights);
    gnn_free(many);
    return result;
}

gnn_var_t gnn_model_record(const gnn_model_t *model, gnn_tape_t *tape,
                           const gnn_model_inputs_t *inputs, gnn_var_t *vars)
{
    return gnn__model_record(model, tape, inputs, vars, model->n_steps - 1, NULL);
}

int gnn_model_prepare(const gnn_model_t *model, int slot, gnn_graph_t *graph, gnn_flag_t backward)
{
    for (int64_t k = 0; k < model->n_steps; k++)
        if (model->steps[k].layer && model->steps[k].step.graph == slot)
            GNN_TRY(gnn_layer_prepare(model->steps[k].layer, graph, backward));
    return GNN_OK;
}

int gnn_model_forward(const gnn_model_t *model, gnn_context_t *context,
                      const gnn_model_inputs_t *inputs, const gnn_tensor_t *out)
{
    gnn_tape_t *tape;
    GNN_TRY(gnn__context_tape(context, &tape));
    gnn_tape_bind(tape, gnn_model_record(model, tape, inputs, NULL), out);
    return gnn_tape_forward(tape);
}

int gnn_model_predict(const gnn_model_t *model, gnn_context_t *context, const gnn_graph_t *graph,
                      const gnn_tensor_t *x, const gnn_sparse_t *sparse, const gnn_tensor_t *out)
{
    gnn_named_t value = {.name = "x", .dense = x, .sparse = sparse};
    gnn_model_inputs_t inputs = {.graphs = &graph, .n_graphs = 1, .values = &value, .n_values = 1};
    return gnn_model_forward(model, context, &inputs, out);
}

int gnn_model_attention(const gnn_model_t *model, gnn_context_t *context,
                        const gnn_model_inputs_t *inputs, int64_t step,
                        const gnn_tensor_t *per_edge, gnn_real_t *per_segment)
{
    gnn_tape_t *tape;
    const gnn_layer_t *layer = gnn_model_layer(model, step);
    if (!layer || !gnn__scored(&layer->config))
        return gnn__error(GNN_EUNSUPPORTED, "step %lld is no layer that attends", (long long)step);
    GNN_TRY(gnn__context_tape(context, &tape));
    gnn__model_record(model, tape, inputs, NULL, step,
                      &(gnn__attention_out_t){per_edge, per_segment});
    return gnn_tape_forward(tape);
}
