/* The networks of citation.c. Every layer is the same gnn_layer_t; the recipes differ in a preset
 * and in numbers. */
#include "citation.h"

#include <string.h>

static const recipe_t recipes[] = {
    {"gcn", 16, 1, 0.5, 0.01, 5e-4, 200, 0, GNN_WATCH_METRIC, 1},
    {"sage", 64, 1, 0.5, 0.01, 5e-4, 200, 0, GNN_WATCH_METRIC, 0},
    {"gin", 64, 1, 0.5, 0.005, 5e-4, 200, 0, GNN_WATCH_METRIC, 0},
    {"gat", 8, 8, 0.6, 0.005, 5e-4, 1000, 100, GNN_WATCH_LOSS, 0},
    {"gatv2", 8, 8, 0.6, 0.005, 5e-4, 1000, 100, GNN_WATCH_LOSS, 0},
    {"transformer", 64, 4, 0.5, 0.002, 5e-4, 200, 0, GNN_WATCH_METRIC, 0},
    {"mlp", 64, 1, 0.5, 0.01, 5e-4, 200, 0, GNN_WATCH_METRIC, 0},
};

const recipe_t *recipe_find(const char *name)
{
    for (size_t k = 0; k < sizeof recipes / sizeof *recipes; k++)
        if (strcmp(recipes[k].name, name) == 0)
            return &recipes[k];
    return NULL;
}

const char *recipe_names(void)
{
    static char names[128];
    size_t at = 0;
    for (size_t k = 0; k < sizeof recipes / sizeof *recipes; k++)
        at += (size_t)snprintf(names + at, sizeof names - at, "%s%s", k ? ", " : "", recipes[k].name);
    return names;
}

/* What the caller sets. */
static void take_own(recipe_t *r, const own_settings_t *own)
{
    r->hidden = own->hidden ? own->hidden : r->hidden;
    r->heads = own->heads ? own->heads : r->heads;
    r->patience = own->patience >= 0 ? own->patience : r->patience;
    r->dropout = own->dropout >= 0 ? own->dropout : r->dropout;
    r->lr = own->lr >= 0 ? own->lr : r->lr;
    r->weight_decay = own->weight_decay >= 0 ? own->weight_decay : r->weight_decay;
}

recipe_t recipe_for(const options_t *options, const gnn_data_t *data)
{
    recipe_t r = *options->recipe;
    if (strncmp(r.name, "gat", 3) == 0 && strcmp(gnn_data_name(data), "pubmed") == 0) {
        r.lr = 0.01; /* Velickovic et al. 2018 */
        r.weight_decay = 1e-3;
    }
    take_own(&r, &options->own);
    return r;
}

/* x -> dropout -> linear -> relu -> dropout -> linear: what the features alone can tell. */
static int build_mlp(gnn_model_t **model, gnn_context_t *context, const recipe_t *r,
                     const gnn_data_t *data)
{
    return gnn_model_from_steps(
        model, context, 5,
        (gnn_step_t[]){{.kind = GNN_STEP_DROPOUT, .rate = (gnn_real_t)r->dropout},
                       {.kind = GNN_STEP_LINEAR, .in = gnn_data_features(data), .out = r->hidden},
                       {.kind = GNN_STEP_ACTIVATION, .activation = GNN_RELU},
                       {.kind = GNN_STEP_DROPOUT, .rate = (gnn_real_t)r->dropout},
                       {.kind = GNN_STEP_LINEAR, .in = r->hidden, .out = gnn_data_classes(data)}});
}

/* A Transformer's encoder layer that hears its neighbours instead of every node: only the graph
 * differs from sentence.c. */
static int build_transformer(gnn_model_t **model, gnn_context_t *context, const recipe_t *r,
                             const gnn_data_t *data)
{
    gnn_layer_config_t encoder =
        GNN_TRANSFORMER(.in = r->hidden, .heads = r->heads, .feed_forward = 2 * r->hidden,
                        .self_loops = GNN_ON, .dropout = (gnn_real_t)r->dropout);
    return gnn_model_from_steps(
        model, context, 6,
        (gnn_step_t[]){{.kind = GNN_STEP_DROPOUT, .rate = (gnn_real_t)r->dropout},
                       {.kind = GNN_STEP_LINEAR, .in = gnn_data_features(data), .out = r->hidden},
                       {.kind = GNN_STEP_LAYER, .layer = encoder},
                       {.kind = GNN_STEP_LAYER, .layer = encoder},
                       {.kind = GNN_STEP_DROPOUT, .rate = (gnn_real_t)r->dropout},
                       {.kind = GNN_STEP_LINEAR, .in = r->hidden, .out = gnn_data_classes(data)}});
}

/* A GCN's sum is weighed by the set's edge weights, if it has some; the papers of the others know
 * of none. */
static int build_layers(gnn_model_t **model, gnn_context_t *context, const gnn_layer_config_t *two,
                        const gnn_data_t *data)
{
    const char *weight = "weight";
    if (two->preset != GNN_PRESET_GCN || !gnn_data_rows(data, GNN_ON_EDGES, weight))
        return gnn_model_new(model, context, 2, two);
    return gnn_model_from_steps(model, context, 2,
                                (gnn_step_t[]){{.layer = two[0], .edge_weight = weight},
                                               {.layer = two[1], .edge_weight = weight}});
}

int recipe_build(gnn_model_t **model, gnn_context_t *context, const recipe_t *r,
                 const gnn_data_t *data)
{
    gnn_preset_t preset = gnn_preset_find(r->name);
    if (preset == GNN_PRESET_NONE)
        return build_mlp(model, context, r, data);
    if (preset == GNN_PRESET_TRANSFORMER)
        return build_transformer(model, context, r, data);
    int attends = r->heads > 1, average = attends && strcmp(gnn_data_name(data), "pubmed") == 0;
    return build_layers(
        model, context,
        (gnn_layer_config_t[]){{.preset = preset,
                                .in = gnn_data_features(data),
                                .out = r->hidden,
                                .heads = r->heads,
                                .activation = attends ? GNN_ELU : GNN_RELU,
                                .dropout = (gnn_real_t)r->dropout},
                               {.preset = preset,
                                .in = r->hidden * r->heads,
                                .out = gnn_data_classes(data),
                                .heads = average ? 8 : 1,
                                .combine = average ? GNN_HEADS_AVERAGE : GNN_HEADS_DEFAULT,
                                .dropout = (gnn_real_t)r->dropout}},
        data);
}
