/* The network of graphs: hops over the graphs of a batch (slot 0), and readouts from nodes to one
 * row per graph (slot 1). */
#include "graphs.h"

#include <string.h>

/* The blocks that are readouts, with the settings that they read; `wider`: columns of a graph's row
 * over those of a node. */
static const struct {
    const char *name;
    gnn_block_t settings;
    int64_t wider;
} blocks[] = {
    {"attentional", {0}, 1}, {"set2set", {.hops = 3}, 2},         {"lstm_readout", {0}, 1},
    {"power_mean", {0}, 1},  {"pma", {.heads = 4, .rows = 1}, 1},
};
enum { BLOCKS = sizeof blocks / sizeof *blocks };

/* Aggregators of the library that need no scores. */
static const gnn_aggregator_t *aggregator_at(size_t index)
{
    const char *name;
    for (size_t k = 0; (name = gnn_layer_config_choice("aggregator", k)); k++) {
        const gnn_aggregator_t *a = gnn_aggregator_find(name);
        if (a && !(a->flags & GNN_AGGREGATOR_SCORED) && index-- == 0)
            return a;
    }
    return NULL;
}

const char *graphs_readout_at(size_t index)
{
    size_t aggregators = 0;
    while (aggregator_at(aggregators))
        aggregators++;
    if (index < aggregators)
        return aggregator_at(index)->name;
    return index - aggregators < BLOCKS ? blocks[index - aggregators].name : NULL;
}

/* The index of the option's readout among the blocks; BLOCKS: it is an aggregator. */
static size_t block_of(const options_t *o)
{
    size_t k = 0;
    while (k < BLOCKS && strcmp(blocks[k].name, o->readout) != 0)
        k++;
    return k;
}

/* The list of steps and its settings. */
typedef struct {
    gnn_steps_t *steps;
    const options_t *options;
    int64_t classes;
} builder_t;

static void add(const builder_t *b, gnn_step_t step)
{
    gnn_steps_add(b->steps, &step);
}

static void add_linear(const builder_t *b, const char *name, const char *input, int64_t out,
                       gnn_flag_t bias)
{
    add(b, (gnn_step_t){.kind = GNN_STEP_LINEAR,
                        .name = name,
                        .inputs = {input},
                        .in = b->options->hidden,
                        .out = out,
                        .bias = bias});
}

static void add_norm(const builder_t *b, const char *name)
{
    add(b, (gnn_step_t){.kind = GNN_STEP_NORM, .in = b->options->hidden, .norm = GNN_NORM_BATCH});
    add(b, (gnn_step_t){.kind = GNN_STEP_ACTIVATION, .name = name, .activation = GNN_RELU});
}

/* GIN-0 with batch norm inside its MLP and after it; the first linear map precedes the hop, which
 * is linear. */
static void add_gin(const builder_t *b, int64_t k, const char *name, const char *input)
{
    char hop[32];
    const int64_t width = b->options->hidden;
    snprintf(hop, sizeof hop, "hop.%lld", (long long)k);
    add(b, (gnn_step_t){.name = hop,
                        .inputs = {input},
                        .layer = {.in = width,
                                  .out = width,
                                  .message = &gnn_message_linear,
                                  .aggregator = &gnn_aggregator_sum,
                                  .update = &gnn_update_none,
                                  .self_loops = GNN_ON}});
    add_norm(b, NULL);
    add_linear(b, NULL, NULL, width, GNN_ON);
    add_norm(b, name);
}

static void add_preset(const builder_t *b, const char *name, const char *input)
{
    const options_t *o = b->options;
    const gnn_preset_t preset = gnn_preset_find(o->layer);
    const int transformer = preset == GNN_PRESET_TRANSFORMER;
    add(b, (gnn_step_t){.inputs = {input},
                        .layer = {.preset = preset,
                                  .in = o->hidden,
                                  .out = transformer ? o->hidden : o->hidden / o->heads,
                                  .heads = o->heads,
                                  .feed_forward = transformer ? 2 * o->hidden : 0}});
    add_norm(b, name);
}

/* Reads out one row per graph from the node rows `input`. */
static void add_readout(const builder_t *b, const char *name, const char *input)
{
    const options_t *o = b->options;
    const size_t k = block_of(o);
    if (k == BLOCKS) {
        add(b,
            (gnn_step_t){.kind = GNN_STEP_AGGREGATE,
                         .name = name,
                         .inputs = {input},
                         .graph = 1,
                         .layer = {.in = o->hidden, .aggregator = gnn_aggregator_find(o->readout)}});
        return;
    }
    gnn_block_t block = blocks[k].settings;
    block.name = name;
    block.input = input;
    block.graph = 1;
    block.width = o->hidden;
    gnn_steps_block(b->steps, blocks[k].name, &block);
}

/* Logits from the readout of layer k, added to those of earlier layers. */
static void add_score(const builder_t *b, int64_t k, int64_t first, const char *input)
{
    char readout[32], score[32], sum[32], before[32];
    const size_t block = block_of(b->options);
    const int64_t wider = block < BLOCKS ? blocks[block].wider : 1;
    snprintf(readout, sizeof readout, "readout.%lld", (long long)k);
    snprintf(score, sizeof score, "score.%lld", (long long)k);
    snprintf(sum, sizeof sum, "sum.%lld", (long long)k);
    snprintf(before, sizeof before, k - 1 == first ? "drop.%lld" : "sum.%lld", (long long)(k - 1));
    add_readout(b, readout, input);
    add(b, (gnn_step_t){.kind = GNN_STEP_LINEAR,
                        .name = score,
                        .inputs = {readout},
                        .in = wider * b->options->hidden,
                        .out = b->classes});
    snprintf(score, sizeof score, "drop.%lld", (long long)k);
    add(b, (gnn_step_t){
               .kind = GNN_STEP_DROPOUT, .name = score, .rate = (gnn_real_t)b->options->dropout});
    if (k > first)
        add(b, (gnn_step_t){.kind = GNN_STEP_ADD, .name = sum, .inputs = {NULL, before}});
}

static void add_steps(const builder_t *b, int64_t features)
{
    const options_t *o = b->options;
    const int64_t first = o->jump == JUMP_LAST ? o->layers : 0;
    char name[32], before[32] = "rows.0";
    add(b, (gnn_step_t){.kind = GNN_STEP_LINEAR,
                        .name = before,
                        .inputs = {"x"},
                        .in = features,
                        .out = o->hidden,
                        .bias = GNN_OFF});
    for (int64_t k = 1; k <= o->layers; k++) {
        snprintf(name, sizeof name, "rows.%lld", (long long)k);
        if (strcmp(o->layer, "gin") == 0)
            add_gin(b, k, name, before);
        else
            add_preset(b, name, before);
        memcpy(before, name, sizeof name);
    }
    for (int64_t k = first; k <= o->layers; k++) {
        snprintf(name, sizeof name, "rows.%lld", (long long)k);
        add_score(b, k, first, name);
    }
}

int graphs_build_model(gnn_model_t **model, gnn_context_t *context, const options_t *o,
                       const gnn_data_t *data)
{
    builder_t b = {.options = o, .classes = gnn_data_classes(data)};
    GNN_TRY(gnn_steps_new(&b.steps));
    add_steps(&b, gnn_data_features(data));
    int rc = gnn_model_build(model, context, b.steps);
    gnn_steps_free(b.steps);
    return rc;
}
