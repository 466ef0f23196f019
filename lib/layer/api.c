/* The calls of a layer: making one, preparing graphs, running it, attention weights. */
#include <lib/base/settings.h>
#include <lib/layer/score_config.h>
#include <lib/ops/ops.h>

const gnn_layer_config_t *gnn_layer_config(const gnn_layer_t *layer)
{
    GNN__NEED_OR(layer, NULL);
    return layer->config;
}

gnn_parameters_t *gnn_layer_parameters(const gnn_layer_t *layer)
{
    GNN__NEED_OR(layer, NULL);
    return layer->parameters;
}

int gnn__layer_create(gnn_layer_t **layer, const gnn_layer_config_t *resolved)
{
    GNN_TRY(gnn__new(layer, 1, sizeof **layer, "a layer"));
    (*layer)->config = resolved;
    gnn__layer_widths(resolved, &(*layer)->width);
    return GNN_OK;
}

/* Makes everything but the parameters, which the layer owns. */
static int create_alone(gnn_layer_t **layer, const gnn_layer_config_t *config)
{
    gnn_layer_config_t *own;
    GNN_TRY(gnn__new(&own, 1, sizeof *own, "a layer's config"));
    *own = *config;
    int rc = gnn__config_resolve(own);
    if (rc == GNN_OK)
        rc = gnn__layer_create(layer, own);
    if (rc == GNN_OK)
        (*layer)->own_config = own;
    else
        gnn_free(own);
    return rc;
}

int gnn_layer_new(gnn_layer_t **layer, gnn_context_t *context, const gnn_layer_config_t *config)
{
    GNN__NEED(layer);
    GNN__NEED(context);
    GNN__NEED(config);
    gnn_layer_t *made = NULL;
    gnn_parameters_t *parameters;
    int rc;
    GNN_TRY(create_alone(&made, config));
    GNN_CHECK(gnn_parameters_new(&parameters));
    made->parameters = parameters;
    made->owns_parameters = true;
    GNN_CHECK(gnn__layer_declare(made, parameters, "", NULL, NULL));
    GNN_CHECK(gnn_parameters_allocate(parameters, context));
    *layer = made;
    return GNN_OK;
done:
    gnn_layer_free(made);
    return rc;
}

void gnn_layer_free(gnn_layer_t *layer)
{
    if (!layer)
        return;
    if (layer->owns_parameters)
        gnn_parameters_free(layer->parameters);
    gnn_free(layer->own_config);
    for (int64_t k = 0; k < layer->n_buffers; k++)
        gnn_free(layer->buffers[k].values);
    gnn_free(layer->buffers);
    gnn_free(layer->fields);
    gnn_free(layer->matrices);
    gnn_free(layer);
}

int gnn_layer_prepare(const gnn_layer_t *layer, gnn_graph_t *graph, gnn_flag_t backward)
{
    GNN__NEED(layer);
    GNN__NEED(graph);
    GNN_TRY(gnn__check_flag(backward, "backward"));
    return gnn__scores_prepare(layer->config, graph, backward);
}

gnn_var_t gnn_layer_record(const gnn_layer_t *layer, gnn_tape_t *tape, const gnn_graph_t *graph,
                           const gnn_layer_vars_t *vars)
{
    GNN__NEED_ON(tape, layer);
    GNN__NEED_OR(tape, GNN_NONE);
    GNN__NEED_ON(tape, graph);
    GNN__NEED_ON(tape, vars);
    return gnn__layer_record_hop(layer, tape, graph, vars, NULL, NULL);
}

/* ---- inference ---- */

int gnn__context_tape(gnn_context_t *context, gnn_tape_t **tape)
{
    if (!context->tape) {
        GNN_TRY(gnn_tape_new(&context->tape, context));
        context->tape_free = gnn_tape_free;
    }
    gnn_tape_reset(context->tape, 0, 0);
    *tape = context->tape;
    return GNN_OK;
}

static int check_width(const char *what, int64_t expected, int64_t came)
{
    if (expected != came)
        return gnn__error(GNN_ESHAPE, "the layer expects %lld %s, the tensor has %lld",
                          (long long)expected, what, (long long)came);
    return GNN_OK;
}

static int check_rows(const char *what, int64_t expected, int64_t came)
{
    if (expected != came)
        return gnn__error(GNN_ESHAPE, "the graph has %lld %s, the tensor %lld rows",
                          (long long)expected, what, (long long)came);
    return GNN_OK;
}

static int check_inputs(const gnn_layer_t *layer, const gnn_graph_t *graph, const gnn_inputs_t *in)
{
    if (!in->x_src == !in->x_sparse)
        return gnn__error(GNN_EINVALID, "a layer takes either .x_src or .x_sparse, got %s",
                          in->x_src ? "both" : "neither");
    int64_t rows = in->x_src ? in->x_src->rows : in->x_sparse->rows,
            cols = in->x_src ? in->x_src->cols : in->x_sparse->cols;
    GNN_TRY(check_width("input features", layer->config->in, cols));
    GNN_TRY(check_rows("senders", gnn_graph_n_src(graph), rows));
    if (!in->x_dst) {
        if (gnn_graph_n_dst(graph) > gnn_graph_n_src(graph))
            return gnn__error(GNN_ESHAPE,
                              "the graph has %lld receivers and %lld senders: give .x_dst",
                              (long long)gnn_graph_n_dst(graph), (long long)gnn_graph_n_src(graph));
        return check_width("receiver features (give .x_dst)", layer->config->in_dst, cols);
    }
    GNN_TRY(check_width("receiver features", layer->config->in_dst, in->x_dst->cols));
    return check_rows("receivers", gnn_graph_n_dst(graph), in->x_dst->rows);
}

static gnn_var_t optional(gnn_tape_t *tape, const gnn_tensor_t *t)
{
    return t ? gnn_tape_input(tape, t, 0) : GNN_NONE;
}

static gnn_layer_vars_t variables(gnn_tape_t *tape, const gnn_inputs_t *in)
{
    return (gnn_layer_vars_t){.x_dst = optional(tape, in->x_dst),
                              .x_src = in->x_sparse ? gnn_tape_sparse(tape, in->x_sparse)
                                                    : optional(tape, in->x_src),
                              .edge_features = optional(tape, in->edge_features),
                              .edge_weight = optional(tape, in->edge_weight),
                              .edge_bias = optional(tape, in->edge_bias)};
}

int gnn_layer_forward(const gnn_layer_t *layer, gnn_context_t *context, const gnn_graph_t *graph,
                      const gnn_inputs_t *inputs, const gnn_tensor_t *out)
{
    GNN__NEED(layer);
    GNN__NEED(context);
    GNN__NEED(graph);
    GNN__NEED(inputs);
    GNN__NEED(out);
    gnn_tape_t *tape;
    GNN_TRY(check_inputs(layer, graph, inputs));
    GNN_TRY(gnn__context_tape(context, &tape));
    gnn_layer_vars_t vars = variables(tape, inputs);
    gnn_tape_bind(tape, gnn__layer_record_hop(layer, tape, graph, &vars, NULL, NULL), out);
    return gnn_tape_forward(tape);
}

int gnn_layer_attention(const gnn_layer_t *layer, gnn_context_t *context, const gnn_graph_t *graph,
                        const gnn_inputs_t *inputs, const gnn_tensor_t *per_edge,
                        gnn_real_t *per_segment)
{
    GNN__NEED(layer);
    GNN__NEED(context);
    GNN__NEED(graph);
    GNN__NEED(inputs);
    gnn_tape_t *tape;
    if (!gnn__scored(layer->config))
        return gnn__error(
            GNN_EUNSUPPORTED,
            "gnn_layer_attention: aggregator %s computes no attention weights, expected one with scores, such as attention",
            layer->config->aggregator->name);
    GNN_TRY(check_inputs(layer, graph, inputs));
    GNN_TRY(gnn__context_tape(context, &tape));
    gnn_layer_vars_t vars = variables(tape, inputs);
    gnn__layer_record_hop(layer, tape, graph, &vars, NULL,
                          &(gnn__hop_extras_t){.per_edge = per_edge, .per_segment = per_segment});
    return gnn_tape_forward(tape);
}
