/* Gates of attention heads: a copy of a model whose layers read gates, the importance of each head
 * (the gradient of the loss with respect to its gate), and metrics with some heads masked. */
#include <lib/base/settings.h>
#include <lib/model/model.h>
#include <lib/train/train.h>

#include <gnn/inspect.h>

typedef struct {
    int64_t step, heads, first; /* index of its first head among all */
    char *name;                 /* index of the input that is its gate */
    gnn_real_t *numbers;        /* (rows x heads) of the running batch */
    int64_t room;
    gnn_tensor_t gate;
} gated_t;

struct gnn_gates {
    gnn_model_t *model;
    gated_t *layers;
    int64_t n_layers, count;
    gnn_tape_t *tape;
    gnn__pool_t pool;
    gnn_named_t *values; /* of a batch, then the gates */
    gnn_var_t *vars;
    int64_t room[2];
};

/* ---- the copy ---- */

static bool attends(const gnn_model_t *model, int64_t k)
{
    const gnn_layer_t *layer = gnn_model_layer(model, k);
    return layer && gnn__scored(layer->config);
}

static int find_layers(gnn_gates_t *h, const gnn_model_t *model)
{
    const int64_t steps = gnn_model_step_count(model);
    GNN_TRY(gnn__new(&h->layers, steps, sizeof *h->layers, "layers with heads"));
    for (int64_t k = 0; k < steps; k++) {
        if (!attends(model, k))
            continue;
        gated_t *g = &h->layers[h->n_layers++];
        if (gnn_model_step(model, k)->gate)
            return gnn__error(GNN_EUNSUPPORTED, "%s has a gate already", model->steps[k].where);
        *g = (gated_t){
            .step = k, .heads = gnn_model_layer(model, k)->config->heads, .first = h->count};
        GNN_TRY(gnn__asprintf(&g->name, "%s:gate", model->steps[k].name));
        h->count += g->heads;
    }
    return h->n_layers > 0 ? GNN_OK : gnn__error(GNN_EUNSUPPORTED, "no layer of the model attends");
}

/* The same steps in the same order have the same block of parameters. */
static int copy_numbers(gnn_model_t *to, const gnn_model_t *from)
{
    int64_t length, other;
    gnn_real_t *x = gnn_parameters_block(to->parameters, 0, &length);
    const gnn_real_t *y = gnn_parameters_block(from->parameters, 0, &other);
    if (length != other || to->n_buffers != from->n_buffers)
        return gnn__error(GNN_EUNSUPPORTED, "the model cannot be copied step by step");
    memcpy(x, y, (size_t)length * sizeof *x);
    for (int64_t k = 0; k < to->n_buffers; k++)
        for (int64_t r = 0; r < to->buffers[k].value.rows; r++)
            memcpy(gnn__row(&to->buffers[k].value, r), gnn__row(&from->buffers[k].value, r),
                   (size_t)to->buffers[k].value.cols * sizeof *x);
    return GNN_OK;
}

static int copy_model(gnn_gates_t *h, gnn_context_t *context, const gnn_model_t *model)
{
    const int64_t n = gnn_model_step_count(model);
    gnn_step_t *steps = NULL;
    GNN_TRY(gnn__new(&steps, n, sizeof *steps, "steps"));
    for (int64_t k = 0; k < n; k++)
        steps[k] = *gnn_model_step(model, k);
    for (int64_t k = 0; k < h->n_layers; k++)
        steps[h->layers[k].step].gate = h->layers[k].name;
    int rc = gnn__model_make(&h->model, context, n, steps, -1);
    gnn_free(steps);
    return rc == GNN_OK ? copy_numbers(h->model, model) : rc;
}

static int open_heads(gnn_gates_t *h, gnn_context_t *context, const gnn_model_t *model)
{
    GNN_TRY(find_layers(h, model));
    GNN_TRY(copy_model(h, context, model));
    return gnn_tape_new(&h->tape, context);
}

int gnn_gates_new(gnn_gates_t **gates, gnn_context_t *context, const gnn_model_t *model)
{
    gnn_gates_t *h = NULL;
    GNN__NEED(gates);
    *gates = NULL;
    GNN__NEED(context);
    GNN__NEED(model);
    GNN_TRY(gnn__new(&h, 1, sizeof *h, "heads"));
    const int rc = open_heads(h, context, model);
    if (rc != GNN_OK) {
        gnn_gates_free(h);
        return rc;
    }
    *gates = h;
    return GNN_OK;
}

void gnn_gates_free(gnn_gates_t *gates)
{
    for (int64_t k = 0; gates && gates->layers && k < gates->n_layers; k++) {
        gnn_free(gates->layers[k].name);
        gnn_free(gates->layers[k].numbers);
    }
    if (!gates)
        return;
    gnn_free(gates->layers);
    gnn_free(gates->values);
    gnn_free(gates->vars);
    gnn__pool_free(&gates->pool);
    gnn_tape_free(gates->tape);
    gnn_model_free(gates->model);
    gnn_free(gates);
}

int64_t gnn_gates_count(const gnn_gates_t *gates)
{
    GNN__NEED_OR(gates, 0);
    return gates->count;
}

int gnn_gates_place(const gnn_gates_t *gates, int64_t index, int64_t *step, int64_t *head)
{
    GNN__NEED(gates);
    for (int64_t k = 0; k < gates->n_layers; k++) {
        const gated_t *g = &gates->layers[k];
        if (index < g->first || index >= g->first + g->heads)
            continue;
        if (step)
            *step = g->step;
        if (head)
            *head = index - g->first;
        return GNN_OK;
    }
    return gnn__error(GNN_EINVALID, "head %lld, expected 0 to %lld", (long long)index,
                      (long long)gates->count - 1);
}

/* ---- a batch ---- */

/* One row of gates per receiver. */
static int set_gate(gated_t *g, const gnn_graph_t *graph, const gnn_real_t *open)
{
    int64_t numbers;
    const int64_t rows = gnn_graph_n_dst(graph);
    if (!gnn__mul(rows, g->heads, &numbers))
        return gnn__error(GNN_EOVERFLOW, "gates: %lld rows of %lld heads overflow", (long long)rows,
                          (long long)g->heads);
    GNN_TRY(gnn__reserve(&g->numbers, &g->room, numbers, sizeof *g->numbers, "gates"));
    for (int64_t k = 0; k < numbers; k++)
        g->numbers[k] = open ? open[g->first + k % g->heads] : 1;
    g->gate = gnn_tensor(g->numbers, rows, g->heads);
    return GNN_OK;
}

/* The batch's values, followed by the gates. */
static int add_gates(gnn_gates_t *h, const gnn_model_inputs_t *from, const gnn_real_t *open,
                     int wants_grad, gnn_model_inputs_t *to)
{
    const int64_t n = from->n_values, all = n + h->n_layers;
    GNN_TRY(gnn__reserve(&h->values, &h->room[0], all, sizeof *h->values, "inputs"));
    GNN_TRY(gnn__reserve(&h->vars, &h->room[1], all, sizeof *h->vars, "inputs"));
    for (int64_t k = 0; k < n; k++)
        h->values[k] = from->values[k];
    for (int64_t k = 0; k < h->n_layers; k++) {
        gated_t *g = &h->layers[k];
        const int slot = gnn_model_step(h->model, g->step)->graph;
        if (slot >= from->n_graphs || !from->graphs[slot])
            return gnn__error(GNN_EINVALID, "the batch has no graph for slot %d", slot);
        GNN_TRY(set_gate(g, from->graphs[slot], open));
        h->values[n + k] =
            (gnn_named_t){.name = g->name, .dense = &g->gate, .wants_grad = wants_grad};
    }
    *to = *from;
    to->values = h->values;
    to->n_values = all;
    return GNN_OK;
}

static int check_part(int part)
{
    return part >= 0 && part < 3
               ? GNN_OK
               : gnn__error(GNN_EINVALID, "part = %d, expected GNN_TRAIN (%d) to GNN_TEST (%d)",
                            part, GNN_TRAIN, GNN_TEST);
}

/* ---- importance ---- */

/* The gradient of a sentence's loss with respect to the gate of one head: the sum over its
 * receivers. */
static double of_segment(const gnn_tensor_t *gradient, int64_t first, int64_t end, int64_t head)
{
    double sum = 0;
    for (int64_t r = first; r < end; r++)
        sum += (double)gnn__row(gradient, r)[head];
    return sum;
}

static void add_importance(const gated_t *g, const gnn_graph_t *graph, const gnn_tensor_t *gradient,
                           double rows, double *importance)
{
    const int64_t segments = gnn_graph_n_segments(graph), *at = gnn_graph_dst_segments(graph);
    for (int64_t s = 0; s < (segments > 0 ? segments : 1); s++) {
        const int64_t first = segments > 0 ? at[s] : 0,
                      end = segments > 0 ? at[s + 1] : gradient->rows;
        for (int64_t k = 0; k < g->heads; k++)
            importance[g->first + k] += fabs(rows * of_segment(gradient, first, end, k));
    }
}

/* The loss is a mean over all unmasked rows; multiplied by rows / rows of the sentence it is the
 * mean over a sentence. */
static int importance_of_batch(gnn_gates_t *h, const gnn_batch_t *batch, double *importance,
                               double *sentences)
{
    gnn_model_inputs_t inputs;
    GNN_TRY(add_gates(h, &batch->inputs, NULL, 1, &inputs));
    gnn_tape_reset(h->tape, 1, 0);
    const gnn_var_t logits = gnn_model_record(h->model, h->tape, &inputs, h->vars),
                    loss = gnn_tape_loss(h->tape, logits, &batch->loss);
    GNN_TRY(gnn_tape_forward(h->tape));
    gnn_parameters_zero_gradients(h->model->parameters);
    GNN_TRY(gnn_tape_backward(h->tape, loss, NULL));
    double rows = 0;
    for (int64_t r = 0; r < gnn_tape_rows(h->tape, logits); r++)
        rows += gnn__counts(batch->loss.labels, batch->loss.mask, r);
    for (int64_t k = 0; k < h->n_layers; k++) {
        const gated_t *g = &h->layers[k];
        const gnn_graph_t *graph = inputs.graphs[gnn_model_step(h->model, g->step)->graph];
        const gnn_tensor_t gradient = gnn_tape_gradient(h->tape, h->vars[batch->inputs.n_values + k]);
        add_importance(g, graph, &gradient, rows, importance);
    }
    *sentences += rows;
    return GNN_OK;
}

/* Divides the values of each layer by their L2 norm. */
static void normalise(const gnn_gates_t *h, double *importance)
{
    for (int64_t k = 0; k < h->n_layers; k++) {
        const gated_t *g = &h->layers[k];
        double squares = 0;
        for (int64_t i = g->first; i < g->first + g->heads; i++)
            squares += importance[i] * importance[i];
        for (int64_t i = g->first; squares > 0 && i < g->first + g->heads; i++)
            importance[i] /= sqrt(squares);
    }
}

int gnn_gates_importance(gnn_gates_t *gates, const gnn_source_t *source, int part,
                         gnn_flag_t by_layer, double *importance)
{
    GNN__NEED(gates);
    GNN__NEED(source);
    GNN__NEED(importance);
    double rows = 0;
    GNN_TRY(check_part(part));
    GNN_TRY(gnn__check_flag(by_layer, "by_layer"));
    memset(importance, 0, (size_t)gates->count * sizeof *importance);
    for (int64_t k = 0; k < source->count[part]; k++) {
        gnn_batch_t batch = {0};
        GNN_TRY(source->get(source->user, part, 1, k, &batch));
        GNN_TRY(importance_of_batch(gates, &batch, importance, &rows));
    }
    for (int64_t k = 0; rows > 0 && k < gates->count; k++)
        importance[k] /= rows;
    if (by_layer != GNN_OFF)
        normalise(gates, importance);
    for (int64_t k = 0; k < gates->count; k++)
        if (!isfinite(importance[k]))
            return gnn__error(GNN_ENUMERIC, "the gradient of head %lld is %g", (long long)k,
                              importance[k]);
    return GNN_OK;
}

/* ---- metrics with masked heads ---- */

static int add_answers(gnn_gates_t *h, const gnn_batch_t *batch, const gnn_real_t *open)
{
    gnn_model_inputs_t inputs;
    GNN_TRY(add_gates(h, &batch->inputs, open, 0, &inputs));
    gnn_tape_reset(h->tape, 0, 0);
    const gnn_var_t logits = gnn_model_record(h->model, h->tape, &inputs, h->vars);
    gnn_tape_keep(h->tape, logits);
    GNN_TRY(gnn_tape_forward(h->tape));
    const gnn_tensor_t value = gnn_tape_value(h->tape, logits);
    if (!batch->loss.labels)
        return gnn__error(GNN_EINVALID, "a batch without labels has no metric");
    return gnn__pool_add(&h->pool, &value, batch->loss.labels, NULL, batch->loss.mask);
}

int gnn_gates_metric(gnn_gates_t *gates, const gnn_source_t *source, int part, gnn_metric_t metric,
                     const gnn_real_t *open, double *value)
{
    GNN__NEED(gates);
    GNN__NEED(source);
    GNN__NEED(value);
    GNN_TRY(check_part(part));
    *value = NAN;
    gnn__pool_reset(&gates->pool, metric);
    for (int64_t k = 0; k < source->count[part]; k++) {
        gnn_batch_t batch = {0};
        GNN_TRY(source->get(source->user, part, 1, k, &batch));
        GNN_TRY(add_answers(gates, &batch, open));
    }
    return gnn__pool_metric(&gates->pool, value);
}
