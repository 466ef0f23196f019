/* A small graph and models on it, for explanations. */
#ifndef GNN_TESTS_EXPLAIN_BED_H
#define GNN_TESTS_EXPLAIN_BED_H

#include "support.h"

enum { NODES = 7, EDGES = 16, WIDE = 3 };

/* A small directed graph in an order of its own; node 6 reaches node 0 in no two hops. */
static const int64_t from[EDGES] = {3, 1, 0, 2, 4, 1, 2, 5, 0, 3, 6, 5, 1, 2, 4, 6},
                     to[EDGES] = {1, 0, 1, 0, 2, 2, 1, 3, 4, 5, 5, 6, 3, 4, 5, 3};

typedef struct bed {
    gnn_context_t *context;
    gnn_graph_t *graph;
    gnn_model_t *model;
    gnn_real_t *x;
    gnn_tensor_t dense;
    gnn_named_t value;
    const gnn_graph_t *graphs[1];
    gnn_model_inputs_t inputs;
} bed_t;

static inline void open(bed_t *b, int64_t layers, const gnn_layer_config_t *configs)
{
    ck_ok(gnn_context_new(&b->context, NULL));
    ck_ok(gnn_graph_from_edges(&b->graph, NODES, NODES, EDGES, from, to));
    ck_ok(gnn_model_new(&b->model, b->context, layers, configs));
    ck_ok(gnn_model_prepare(b->model, 0, b->graph, GNN_ON));
    b->x = test_reals(NODES * WIDE, 5);
    b->dense = gnn_tensor(b->x, NODES, WIDE);
    b->value = (gnn_named_t){.name = "x", .dense = &b->dense};
    b->graphs[0] = b->graph;
    b->inputs = (gnn_model_inputs_t){b->graphs, 1, &b->value, 1};
}

static inline void close(bed_t *b)
{
    gnn_model_free(b->model);
    gnn_graph_free(b->graph);
    gnn_context_free(b->context);
    free(b->x);
}

static inline gnn_explanation_t *explained(bed_t *b, int64_t row, const gnn_explain_config_t *config)
{
    gnn_explanation_t *why;
    ck_ok(gnn_explain(&why, b->model, b->context, &b->inputs, row, config));
    return why;
}

static const gnn_layer_config_t gcn[] = {
    {.preset = GNN_PRESET_GCN, .in = WIDE, .out = 4, .activation = GNN_TANH},
    {.preset = GNN_PRESET_GCN, .in = 4, .out = 3}};
static const gnn_layer_config_t gat[] = {
    {.preset = GNN_PRESET_GAT, .in = WIDE, .out = 2, .heads = 2, .activation = GNN_ELU},
    {.preset = GNN_PRESET_GAT, .in = 4, .out = 3}};
static const gnn_layer_config_t sage[] = {
    {.preset = GNN_PRESET_SAGE, .in = WIDE, .out = 4, .activation = GNN_TANH},
    {.preset = GNN_PRESET_SAGE, .in = 4, .out = 3, .aggregator = &gnn_aggregator_max}};
static const gnn_layer_config_t *const models[] = {gcn, gat, sage};

#endif
