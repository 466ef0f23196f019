/* The networks of citation that are more than two layers: hops without weights, hops that keep a
 * part of the first features, and many attention layers with residuals. */
#include "citation.h"

#include <math.h>

/* Appends a step; what the list lacks is told by gnn_model_build. */
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

static int build(gnn_model_t **model, gnn_context_t *context, gnn_steps_t *steps)
{
    int rc = gnn_model_build(model, context, steps);
    gnn_steps_free(steps);
    return rc;
}

/* A^K (X W) + b: the product goes first, since it is narrow. */
int build_sgc(gnn_model_t **model, gnn_context_t *context, const recipe_t *r, const gnn_data_t *data)
{
    const int64_t classes = gnn_data_classes(data);
    gnn_steps_t *steps;
    GNN_TRY(gnn_steps_new(&steps));
    add(steps,
        (gnn_step_t){
            .kind = GNN_STEP_LINEAR, .in = gnn_data_features(data), .out = classes, .bias = GNN_OFF});
    for (int64_t k = 0; k < r->layers; k++)
        add(steps,
            (gnn_step_t){.layer = GNN_GCN(.in = classes, .out = classes, .message = &gnn_message_none,
                                          .bias_out = k + 1 < r->layers ? GNN_OFF : GNN_ON)});
    return build(model, context, steps);
}

/* Two products, then hops that keep a part of what they began with. */
int build_appnp(gnn_model_t **model, gnn_context_t *context, const recipe_t *r, const gnn_data_t *data)
{
    gnn_steps_t *steps;
    GNN_TRY(gnn_steps_new(&steps));
    add_dropout(steps, r);
    add_linear(steps, "hidden", gnn_data_features(data), r->hidden);
    add_activation(steps, GNN_RELU);
    add_dropout(steps, r);
    add_linear(steps, "class", r->hidden, gnn_data_classes(data));
    gnn_steps_block(steps, "appnp",
                    &(gnn_block_t){.name = "hops",
                                   .width = gnn_data_classes(data),
                                   .hops = r->layers,
                                   .factor = (gnn_real_t)r->alpha});
    return build(model, context, steps);
}

/* Hops near the identity, each with its own product and a part of the first hidden features. */
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
                                       .factor = (gnn_real_t)r->alpha,
                                       .theta = (gnn_real_t)log(r->theta / (double)k + 1)});
        add_activation(steps, GNN_RELU);
    }
    add_dropout(steps, r);
    add_linear(steps, "out", r->hidden, gnn_data_classes(data));
    return build(model, context, steps);
}

/* A Transformer's layers with GAT's scores over the graph's links: norms, residuals, feed-forward
 * blocks. */
int build_residual(gnn_model_t **model, gnn_context_t *context, const recipe_t *r,
                   const gnn_data_t *data)
{
    const gnn_layer_config_t layer =
        GNN_TRANSFORMER(.in = r->hidden, .heads = r->heads, .aggregator = &gnn_aggregator_additive,
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
    add_linear(steps, "out", r->hidden, gnn_data_classes(data));
    return build(model, context, steps);
}
