/* The classifier: its steps. */
#include "classify.h"

#include <string.h>

enum { MOST_LAYERS = 8 };

/* Embeddings are initialised with standard deviation 1; smaller ones train faster. */
static int scale_table(const gnn_model_t *model, const char *name, int sinusoidal)
{
    gnn_tensor_t table;
    GNN_TRY(gnn_model_field(model, name, &table, NULL));
    if (sinusoidal)
        GNN_TRY(gnn_positions_sinusoidal(&table));
    for (int64_t k = 0; k < table.rows * table.cols; k++)
        table.data[k] *= (gnn_real_t)0.1;
    return GNN_OK;
}

static gnn_layer_config_t mean_layer(int64_t width)
{
    return (gnn_layer_config_t){.in = width,
                                .aggregator = &gnn_aggregator_mean,
                                .message = &gnn_message_none,
                                .update = &gnn_update_none};
}

static gnn_layer_config_t attention_layer(int64_t width, int64_t heads)
{
    return (gnn_layer_config_t){.in = width,
                                .out = width,
                                .heads = heads,
                                .aggregator = &gnn_aggregator_attention,
                                .message = &gnn_message_linear,
                                .update = &gnn_update_linear,
                                .bias_project = GNN_ON};
}

/* No layers: words -> mean over the words -> relu -> classes, which is an MLP with one hidden layer
 * on bags of words. */
static int new_bag(gnn_model_t **model, gnn_context_t *context, const classify_t *o,
                   const gnn_vocabulary_t *vocabulary)
{
    const gnn_step_t steps[] = {
        {.kind = GNN_STEP_EMBED,
         .name = "word",
         .inputs = {"words"},
         .in = gnn_vocabulary_size(vocabulary),
         .out = o->width},
        {.name = "readout", .graph = 1, .layer = mean_layer(o->width)},
        {.kind = GNN_STEP_ACTIVATION, .name = "relu", .activation = GNN_RELU},
        {.kind = GNN_STEP_DROPOUT, .name = "drop", .rate = (gnn_real_t)o->dropout},
        {.kind = GNN_STEP_LINEAR,
         .name = "class",
         .in = o->width,
         .out = gnn_vocabulary_labels(vocabulary)}};
    GNN_TRY(gnn_model_from_steps(model, context, sizeof steps / sizeof *steps, steps));
    return scale_table(*model, "word.table", 0);
}

/* Words + positions -> Transformer layers -> mean over the words, or attention of an extra node
 * with a learned query -> classes. */
int classifier_new(gnn_model_t **model, gnn_context_t *context, const classify_t *o,
                   const gnn_vocabulary_t *vocabulary)
{
    static const char *const names[MOST_LAYERS] = {"layer1", "layer2", "layer3", "layer4",
                                                   "layer5", "layer6", "layer7", "layer8"};
    gnn_step_t steps[MOST_LAYERS + 8] = {
        {.kind = GNN_STEP_EMBED,
         .name = "word",
         .inputs = {"words"},
         .in = gnn_vocabulary_size(vocabulary),
         .out = o->width},
        {.kind = GNN_STEP_EMBED,
         .name = "place",
         .inputs = {"places"},
         .in = o->max_length,
         .out = o->width},
        {.kind = GNN_STEP_ADD, .name = "sum", .inputs = {"word", "place"}},
        {.kind = GNN_STEP_DROPOUT, .name = "drop", .rate = (gnn_real_t)o->dropout}};
    int64_t n = 4;
    if (o->layers == 0)
        return new_bag(model, context, o, vocabulary);
    for (int64_t k = 0; k < o->layers && k < MOST_LAYERS; k++)
        steps[n++] = (gnn_step_t){.name = names[k],
                                  .layer = GNN_TRANSFORMER(.in = o->width, .heads = o->heads,
                                                           .feed_forward = 2 * o->width,
                                                           .dropout = (gnn_real_t)0.1)};
    const char *words = steps[n - 1].name;
    if (o->node)
        steps[n++] = (gnn_step_t){
            .kind = GNN_STEP_EMBED, .name = "query", .inputs = {"queries"}, .in = 1, .out = o->width};
    steps[n++] =
        (gnn_step_t){.name = "readout",
                     .graph = 1,
                     .inputs = {words},
                     .receivers = o->node ? "query" : NULL,
                     .layer = o->node ? attention_layer(o->width, o->heads) : mean_layer(o->width)};
    steps[n++] =
        (gnn_step_t){.kind = GNN_STEP_DROPOUT, .name = "drop2", .rate = (gnn_real_t)o->dropout};
    steps[n++] = (gnn_step_t){.kind = GNN_STEP_LINEAR,
                              .name = "class",
                              .in = o->width,
                              .out = gnn_vocabulary_labels(vocabulary)};
    GNN_TRY(gnn_model_from_steps(model, context, n, steps));
    GNN_TRY(scale_table(*model, "word.table", 0));
    return scale_table(*model, "place.table", o->sinusoidal);
}

int64_t classifier_step(const gnn_model_t *model, const char *name)
{
    for (int64_t k = gnn_model_step_count(model) - 1; k >= 0; k--)
        if (strcmp(gnn_model_step(model, k)->name, name) == 0)
            return k;
    return -1;
}
