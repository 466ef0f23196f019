/* The two-layer networks of citation. Every layer is a gnn_layer_t; they differ in preset and
 * sizes. */
#include "citation.h"

/* x -> dropout -> linear -> relu -> dropout -> linear: the baseline without the graph. */
int build_mlp(gnn_model_t **model, gnn_context_t *context, const recipe_t *r, const gnn_data_t *data)
{
    const gnn_step_t steps[] = {
        {.kind = GNN_STEP_DROPOUT, .rate = (gnn_real_t)r->dropout},
        {.kind = GNN_STEP_LINEAR, .in = gnn_data_features(data), .out = r->hidden},
        {.kind = GNN_STEP_ACTIVATION, .activation = GNN_RELU},
        {.kind = GNN_STEP_DROPOUT, .rate = (gnn_real_t)r->dropout},
        {.kind = GNN_STEP_LINEAR, .in = r->hidden, .out = r->outputs}};
    return recipe_build(model, context, r, 5, steps);
}

/* A Transformer encoder layer over neighbours instead of all nodes: only the graph differs from
 * sentence.c. */
int build_transformer(gnn_model_t **model, gnn_context_t *context, const recipe_t *r,
                      const gnn_data_t *data)
{
    gnn_layer_config_t encoder =
        GNN_TRANSFORMER(.in = r->hidden, .heads = r->heads, .feed_forward = 2 * r->hidden,
                        .self_loops = GNN_ON, .dropout = (gnn_real_t)r->dropout);
    const gnn_step_t steps[] = {
        {.kind = GNN_STEP_DROPOUT, .rate = (gnn_real_t)r->dropout},
        {.kind = GNN_STEP_LINEAR, .in = gnn_data_features(data), .out = r->hidden},
        {.kind = GNN_STEP_LAYER, .layer = encoder},
        {.kind = GNN_STEP_LAYER, .layer = encoder},
        {.kind = GNN_STEP_DROPOUT, .rate = (gnn_real_t)r->dropout},
        {.kind = GNN_STEP_LINEAR, .in = r->hidden, .out = r->outputs}};
    return recipe_build(model, context, r, 6, steps);
}

const char *weight_of(const gnn_data_t *data)
{
    return gnn_data_rows(data, GNN_ON_EDGES, "weight") ? "weight" : NULL;
}

void leave_diffused(gnn_layer_config_t *layer, const recipe_t *r)
{
    if (!r->diffused)
        return;
    layer->self_loops = GNN_OFF;
    layer->graph_norm = GNN_GRAPH_NORM_NONE;
}

/* Only a GCN reads weights on edges. */
static int build_two(gnn_model_t **model, gnn_context_t *context, const recipe_t *r,
                     gnn_layer_config_t *two, const gnn_data_t *data)
{
    const char *weight = two->preset == GNN_PRESET_GCN ? weight_of(data) : NULL;
    for (int k = 0; k < 2; k++)
        leave_diffused(&two[k], r);
    return recipe_build(model, context, r, 2,
                        (gnn_step_t[]){{.layer = two[0], .edge_weight = weight},
                                       {.layer = two[1], .edge_weight = weight}});
}

int build_layers(gnn_model_t **model, gnn_context_t *context, const recipe_t *r,
                 const gnn_data_t *data)
{
    const gnn_preset_t preset = gnn_preset_find(r->name);
    const int attends = r->heads > 1, average = r->last_heads > 1;
    return build_two(model, context, r,
                     (gnn_layer_config_t[]){{.preset = preset,
                                             .in = gnn_data_features(data),
                                             .out = r->hidden,
                                             .heads = r->heads,
                                             .activation = attends ? GNN_ELU : GNN_RELU,
                                             .dropout = (gnn_real_t)r->dropout},
                                            {.preset = preset,
                                             .in = r->hidden * r->heads,
                                             .out = r->outputs,
                                             .heads = average ? r->last_heads : 1,
                                             .combine = average ? GNN_HEADS_AVERAGE : GNN_HEADS_DEFAULT,
                                             .dropout = (gnn_real_t)r->dropout}},
                     data);
}
