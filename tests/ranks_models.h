/* Models with batch norm and dropout that are compared on many counts of ranks: shared by the suite
 * ranks_models and tests/ranks_program.c. */
#ifndef GNN_TESTS_RANKS_MODELS_H
#define GNN_TESTS_RANKS_MODELS_H

#include "ranks_trial.h"

/* Thirteen slices and a part of one. */
enum { MODEL_NODES = 13 * GNN_SLICE + 100, HIDDEN = 16 };

#define THIRD ((gnn_real_t)0.3)
#define NORMED .norm = GNN_NORM_BATCH, .dropout_in = THIRD, .activation = GNN_RELU

static inline void add_layer(gnn_steps_t *steps, const char *edges, gnn_layer_config_t layer)
{
    trial_must(gnn_steps_add(
        steps, &(gnn_step_t){.kind = GNN_STEP_LAYER, .edge_features = edges, .layer = layer}));
}

static inline void gcn(gnn_steps_t *steps)
{
    add_layer(steps, NULL, GNN_GCN(.in = TRIAL_IN, .out = HIDDEN, NORMED));
    add_layer(steps, NULL, GNN_GCN(.in = HIDDEN, .out = TRIAL_CLASSES));
}

static inline void sage(gnn_steps_t *steps)
{
    add_layer(steps, NULL, GNN_SAGE(.in = TRIAL_IN, .out = HIDDEN, NORMED));
    add_layer(steps, NULL, GNN_SAGE(.in = HIDDEN, .out = TRIAL_CLASSES));
}

static inline void gat(gnn_steps_t *steps)
{
    add_layer(steps, NULL,
              GNN_GAT(.in = TRIAL_IN, .out = 8, .heads = 2, .dropout_attention = THIRD, NORMED));
    add_layer(steps, NULL, GNN_GAT(.in = HIDDEN, .out = TRIAL_CLASSES));
}

static inline void gin(gnn_steps_t *steps)
{
    add_layer(steps, NULL, GNN_GIN(.in = TRIAL_IN, .out = HIDDEN, NORMED));
    add_layer(steps, NULL, GNN_GIN(.in = HIDDEN, .out = TRIAL_CLASSES));
}

static inline void gatv2(gnn_steps_t *steps)
{
    add_layer(steps, "e",
              GNN_GATV2(.in = TRIAL_IN, .out = 8, .heads = 2, .edge_dim = TRIAL_EDGE,
                        .dropout_attention = THIRD, NORMED));
    add_layer(steps, NULL, GNN_GATV2(.in = HIDDEN, .out = TRIAL_CLASSES));
}

static inline void pna(gnn_steps_t *steps)
{
    trial_must(
        gnn_steps_block(steps, "pna",
                        &(gnn_block_t){.name = "pna",
                                       .input = "x",
                                       .width = TRIAL_IN,
                                       .out = HIDDEN,
                                       .theta = (gnn_real_t)2.3,
                                       .aggregators = {&gnn_aggregator_mean, &gnn_aggregator_min,
                                                       &gnn_aggregator_max, &gnn_aggregator_std}}));
    add_layer(steps, NULL, GNN_GCN(.in = HIDDEN, .out = HIDDEN, NORMED));
    add_layer(steps, NULL, GNN_GCN(.in = HIDDEN, .out = TRIAL_CLASSES));
}

static inline void rgcn(gnn_steps_t *steps)
{
    trial_must(gnn_steps_block(
        steps, "rgcn",
        &(gnn_block_t){
            .name = "first", .input = "x", .width = TRIAL_IN, .out = HIDDEN, .hops = 3, .rows = 2}));
    add_layer(steps, NULL, GNN_SAGE(.in = HIDDEN, .out = HIDDEN, NORMED));
    trial_must(gnn_steps_block(
        steps, "rgcn",
        &(gnn_block_t){.name = "second", .width = HIDDEN, .out = TRIAL_CLASSES, .hops = 3}));
}

/* Attention along edges, whose features it reads, and a block with a feed-forward network. */
static inline void transformer(gnn_steps_t *steps)
{
    add_layer(steps, "e",
              GNN_PRESET_CONFIG(TRANSFORMER_CONV, .in = TRIAL_IN, .out = 8, .heads = 2,
                                .edge_dim = TRIAL_EDGE, .dropout_attention = THIRD, NORMED));
    add_layer(
        steps, NULL,
        GNN_TRANSFORMER(.in = HIDDEN, .heads = 2, .feed_forward = 32, .dropout_attention = THIRD));
    add_layer(steps, NULL, GNN_GCN(.in = HIDDEN, .out = TRIAL_CLASSES));
}

enum { MODELS = 8, MODEL_EPOCHS = 4 };

/* Model m on a drawn set, with a checkpoint. */
static inline trial_case_t model_case(int m, const char *checkpoint)
{
    static const struct {
        const char *name;
        void (*steps)(gnn_steps_t *steps);
    } models[MODELS] = {
        {"gcn", gcn},     {"sage", sage}, {"gat", gat},   {"gin", gin},
        {"gatv2", gatv2}, {"pna", pna},   {"rgcn", rgcn}, {"transformer", transformer}};
    return (trial_case_t){.name = models[m].name,
                          .steps = models[m].steps,
                          .relations = models[m].steps == rgcn ? 3 : 0,
                          .nodes = MODEL_NODES,
                          .train = {.epochs = MODEL_EPOCHS,
                                    .watch = GNN_WATCH_NONE,
                                    .checkpoint = checkpoint,
                                    .optimizer.lr = (gnn_real_t)0.02}};
}

#endif
