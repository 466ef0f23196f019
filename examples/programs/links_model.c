/* The network of links: hops over the training links, and a decoder that scores pairs of nodes. */
#include "links.h"

#include <string.h>

const char *const decoders[5] = {"dot", "bilinear", "distance", "product", "mlp"};

static gnn_layer_config_t hop(const options_t *o, int64_t k, int64_t in, int64_t out)
{
    const gnn_preset_t preset = gnn_preset_find(o->layer);
    const int last = k + 1 == o->layers;
    return (gnn_layer_config_t){.preset = preset,
                                .in = in,
                                .out = last ? out : out / o->heads,
                                .heads = last ? 1 : o->heads,
                                .activation = last           ? GNN_IDENTITY
                                              : o->heads > 1 ? GNN_ELU
                                                             : GNN_RELU,
                                .dropout = (gnn_real_t)o->dropout};
}

/* Transformer layers keep their width, so linear maps precede and follow them. */
static void add_transformer(gnn_steps_t *steps, const options_t *o, int64_t features)
{
    gnn_steps_add(
        steps,
        &(gnn_step_t){.kind = GNN_STEP_LINEAR, .inputs = {"x"}, .in = features, .out = o->hidden});
    for (int64_t k = 0; k < o->layers; k++)
        gnn_steps_add(steps, &(gnn_step_t){.layer = {.preset = GNN_PRESET_TRANSFORMER,
                                                     .in = o->hidden,
                                                     .heads = o->heads,
                                                     .feed_forward = 2 * o->hidden,
                                                     .self_loops = GNN_ON,
                                                     .dropout = (gnn_real_t)o->dropout}});
    gnn_steps_add(
        steps,
        &(gnn_step_t){.kind = GNN_STEP_LINEAR, .name = "rows", .in = o->hidden, .out = o->out});
}

static void add_hops(gnn_steps_t *steps, const options_t *o, int64_t features)
{
    for (int64_t k = 0; k < o->layers; k++) {
        const int last = k + 1 == o->layers;
        gnn_steps_add(steps, &(gnn_step_t){.name = last ? "rows" : NULL,
                                           .inputs = {k == 0 ? "x" : NULL},
                                           .layer = hop(o, k, k == 0 ? features : o->hidden,
                                                        last ? o->out : o->hidden)});
    }
}

/* The others have no layer to which it applies. */
static int decoder_reads_dropout(const char *name)
{
    return strcmp(name, "product") == 0 || strcmp(name, "mlp") == 0;
}

int links_build_model(gnn_model_t **model, gnn_context_t *context, const options_t *o,
                      const gnn_data_t *data)
{
    char decoder[32];
    gnn_steps_t *steps;
    if (gnn_preset_find(o->layer) == GNN_PRESET_NONE)
        return GNN_ENOTFOUND;
    GNN_TRY(gnn_steps_new(&steps));
    if (gnn_preset_find(o->layer) == GNN_PRESET_TRANSFORMER)
        add_transformer(steps, o, gnn_data_features(data));
    else
        add_hops(steps, o, gnn_data_features(data));
    snprintf(decoder, sizeof decoder, "link_%s", decoders[o->decoder]);
    gnn_steps_block(steps, decoder,
                    &(gnn_block_t){.name = "score",
                                   .input = "rows",
                                   .width = o->out,
                                   .dropout = decoder_reads_dropout(decoders[o->decoder])
                                                  ? (gnn_real_t)o->dropout
                                                  : 0});
    int rc = gnn_model_build(model, context, steps);
    gnn_steps_free(steps);
    return rc;
}
