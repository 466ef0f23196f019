/* The networks of citation with more than two layers: propagation without weights (SGC, APPNP),
 * initial residuals (GCNII), and residual blocks. */
#include "citation.h"

#include <math.h>

/* Appends a step; gnn_model_build reports errors of the list. */
static void add(gnn_steps_t *steps, gnn_step_t step)
{
    gnn_steps_add(steps, &step);
}

static void add_linear(gnn_steps_t *steps, const char *name, int64_t in, int64_t out)
{
    add(steps, (gnn_step_t){.kind = GNN_STEP_LINEAR, .name = name, .in = in, .out = out});
}

static void add_dropout(gnn_steps_t *steps, const recipe_t *r)
{
    add(steps, (gnn_step_t){.kind = GNN_STEP_DROPOUT, .rate = (gnn_real_t)r->dropout});
}

static void add_activation(gnn_steps_t *steps, gnn_activation_t activation)
{
    add(steps, (gnn_step_t){.kind = GNN_STEP_ACTIVATION, .activation = activation});
}

/* Regression targets are standardised; the last step, which is not trained, restores their scale
 * (recipe_rescale) and is the identity until then. */
static int build(gnn_model_t **model, gnn_context_t *context, const recipe_t *r, gnn_steps_t *steps)
{
    if (r->rescaled)
        add_linear(steps, "scale", r->outputs, r->outputs);
    int rc = gnn_model_build(model, context, steps);
    gnn_steps_free(steps);
    return rc == GNN_OK && r->rescaled ? recipe_rescale(*model, NULL, NULL) : rc;
}

int recipe_build(gnn_model_t **model, gnn_context_t *context, const recipe_t *r, int64_t count,
                 const gnn_step_t *list)
{
    gnn_steps_t *steps;
    GNN_TRY(gnn_steps_new(&steps));
    for (int64_t k = 0; k < count; k++)
        gnn_steps_add(steps, &list[k]);
    return build(model, context, r, steps);
}

int recipe_rescale(gnn_model_t *model, const double *mean, const double *spread)
{
    gnn_parameters_t *all = gnn_model_parameters(model);
    const gnn_tensor_t weight = gnn_parameters_value(all, gnn_parameters_find(all, "scale.weight")),
                       bias = gnn_parameters_value(all, gnn_parameters_find(all, "scale.bias"));
    if (!weight.data || !bias.data)
        return GNN_ENOTFOUND;
    for (int64_t c = 0; c < weight.cols; c++) {
        for (int64_t k = 0; k < weight.rows; k++)
            weight.data[k * weight.stride + c] = 0;
        weight.data[c * weight.stride + c] = spread ? (gnn_real_t)spread[c] : 1;
        bias.data[c] = mean ? (gnn_real_t)mean[c] : 0;
    }
    return GNN_OK;
}

/* A^K (X W) + b: the product goes first, since it is narrow. */
int build_sgc(gnn_model_t **model, gnn_context_t *context, const recipe_t *r, const gnn_data_t *data)
{
    const int64_t classes = r->outputs;
    gnn_steps_t *steps;
    GNN_TRY(gnn_steps_new(&steps));
    add(steps,
        (gnn_step_t){
            .kind = GNN_STEP_LINEAR, .in = gnn_data_features(data), .out = classes, .bias = GNN_OFF});
    for (int64_t k = 0; k < r->layers; k++)
        add(steps, (gnn_step_t){.layer = GNN_GCN(.in = classes, .out = classes,
                                                 .message = &gnn_message_none,
                                                 .bias_out = k + 1 < r->layers ? GNN_OFF : GNN_ON),
                                .edge_weight = weight_of(data)});
    return build(model, context, r, steps);
}

/* Two linear maps, then hops that mix in their initial features (APPNP). */
int build_appnp(gnn_model_t **model, gnn_context_t *context, const recipe_t *r, const gnn_data_t *data)
{
    gnn_steps_t *steps;
    GNN_TRY(gnn_steps_new(&steps));
    add_dropout(steps, r);
    add_linear(steps, "hidden", gnn_data_features(data), r->hidden);
    add_activation(steps, GNN_RELU);
    add_dropout(steps, r);
    add_linear(steps, "class", r->hidden, r->outputs);
    gnn_steps_block(steps, "appnp",
                    &(gnn_block_t){.name = "hops",
                                   .width = r->outputs,
                                   .hops = r->layers,
                                   .factor = (gnn_real_t)r->alpha,
                                   .edge_weight = weight_of(data)});
    return build(model, context, r, steps);
}

/* Hops near the identity, each with its own weights and a fraction of the initial hidden features
 * (GCNII). */
int build_gcn2(gnn_model_t **model, gnn_context_t *context, const recipe_t *r, const gnn_data_t *data)
{
    gnn_steps_t *steps;
    char name[32];
    GNN_TRY(gnn_steps_new(&steps));
    add_dropout(steps, r);
    add_linear(steps, "in", gnn_data_features(data), r->hidden);
    add(steps, (gnn_step_t){.kind = GNN_STEP_ACTIVATION, .name = "first", .activation = GNN_RELU});
    for (int64_t k = 1; k <= r->layers; k++) {
        snprintf(name, sizeof name, "hop.%lld", (long long)k);
        add_dropout(steps, r);
        gnn_steps_block(steps, "gcn2",
                        &(gnn_block_t){.name = name,
                                       .memory = "first",
                                       .width = r->hidden,
                                       .edge_weight = weight_of(data),
                                       .factor = (gnn_real_t)r->alpha,
                                       .theta = (gnn_real_t)log(r->theta / (double)k + 1)});
        add_activation(steps, GNN_RELU);
    }
    add_dropout(steps, r);
    add_linear(steps, "out", r->hidden, r->outputs);
    return build(model, context, r, steps);
}

/* The hop of a residual block; without a preset a linear map. */
static void add_hop(gnn_steps_t *steps, const recipe_t *r, const gnn_data_t *data)
{
    gnn_layer_config_t hop = {.preset = gnn_preset_find(r->name),
                              .in = r->hidden,
                              .out = r->hidden / r->heads,
                              .heads = r->heads};
    if (hop.preset == GNN_PRESET_NONE) {
        add_linear(steps, NULL, r->hidden, r->hidden);
        return;
    }
    leave_diffused(&hop, r);
    add(steps, (gnn_step_t){.layer = hop,
                            .edge_weight = hop.preset == GNN_PRESET_GCN ? weight_of(data) : NULL});
}

/* One residual block: x + f(norm(x)) with f a hop, an activation and a linear map. */
static void add_block(gnn_steps_t *steps, const recipe_t *r, const gnn_data_t *data, int64_t k)
{
    char before[32], name[32];
    snprintf(before, sizeof before, "rows.%lld", (long long)k);
    snprintf(name, sizeof name, "rows.%lld", (long long)k + 1);
    add(steps,
        (gnn_step_t){
            .kind = GNN_STEP_NORM, .inputs = {before}, .in = r->hidden, .norm = GNN_NORM_LAYER});
    add_hop(steps, r, data);
    add_activation(steps, GNN_GELU);
    add_dropout(steps, r);
    add_linear(steps, NULL, r->hidden, r->hidden);
    add_dropout(steps, r);
    add(steps, (gnn_step_t){.kind = GNN_STEP_ADD, .name = name, .inputs = {NULL, before}});
}

/* Residual blocks between two linear maps, as in Platonov et al. 2023. */
int build_blocks(gnn_model_t **model, gnn_context_t *context, const recipe_t *r,
                 const gnn_data_t *data)
{
    gnn_steps_t *steps;
    GNN_TRY(gnn_steps_new(&steps));
    add_linear(steps, "in", gnn_data_features(data), r->hidden);
    add_dropout(steps, r);
    add(steps, (gnn_step_t){.kind = GNN_STEP_ACTIVATION, .name = "rows.0", .activation = GNN_GELU});
    for (int64_t k = 0; k < r->layers; k++)
        add_block(steps, r, data, k);
    add(steps, (gnn_step_t){.kind = GNN_STEP_NORM, .in = r->hidden, .norm = GNN_NORM_LAYER});
    add_linear(steps, "out", r->hidden, r->outputs);
    return build(model, context, r, steps);
}

/* Transformer layers with GAT's scores over the graph's edges: norms, residuals, feed-forward
 * blocks. */
int build_residual(gnn_model_t **model, gnn_context_t *context, const recipe_t *r,
                   const gnn_data_t *data)
{
    const gnn_layer_config_t layer =
        GNN_TRANSFORMER(.in = r->hidden, .heads = r->heads, .score = &gnn_score_additive,
                        .feed_forward = 2 * r->hidden, .hidden_activation = GNN_GELU,
                        .norm_position = GNN_NORM_BEFORE, .self_loops = GNN_ON,
                        .dropout_out = (gnn_real_t)r->dropout);
    gnn_steps_t *steps;
    GNN_TRY(gnn_steps_new(&steps));
    add_linear(steps, "in", gnn_data_features(data), r->hidden);
    add_dropout(steps, r);
    add_activation(steps, GNN_GELU);
    for (int64_t k = 0; k < r->layers; k++)
        add(steps, (gnn_step_t){.layer = layer});
    add(steps, (gnn_step_t){.kind = GNN_STEP_NORM, .in = r->hidden, .norm = GNN_NORM_LAYER});
    add_linear(steps, "out", r->hidden, r->outputs);
    return build(model, context, r, steps);
}
