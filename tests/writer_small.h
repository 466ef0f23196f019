/* A small model that writes, and its logits without a state: what the suites of writing share. */
#ifndef GNN_TESTS_WRITER_SMALL_H
#define GNN_TESTS_WRITER_SMALL_H

#include "support.h"

#include <gnn/generate.h>

enum { SMALL_WIDTH = 16, SMALL_PLACES = 40 };

/* A decoder over `words` tokens: inputs "letters" and "places". Its logits are far apart. */
static inline gnn_model_t *small_writer(gnn_context_t *context, int64_t words)
{
    const gnn_layer_config_t layer =
        GNN_TRANSFORMER(.in = SMALL_WIDTH, .heads = 4, .norm_position = GNN_NORM_BEFORE);
    gnn_model_t *model = NULL;
    ck_ok(gnn_model_from_steps(
        &model, context, 7,
        (gnn_step_t[]){
            {.kind = GNN_STEP_EMBED, .name = "word", .inputs = {"letters"}, .in = words, .out = SMALL_WIDTH},
            {.kind = GNN_STEP_EMBED,
             .name = "place",
             .inputs = {"places"},
             .in = SMALL_PLACES,
             .out = SMALL_WIDTH},
            {.kind = GNN_STEP_ADD, .inputs = {"word", "place"}},
            {.layer = layer},
            {.layer = layer},
            {.kind = GNN_STEP_NORM, .in = SMALL_WIDTH, .norm = GNN_NORM_LAYER},
            {.kind = GNN_STEP_LINEAR, .name = "logits", .in = SMALL_WIDTH, .out = words}}));
    gnn_parameters_t *parameters = gnn_model_parameters(model);
    for (int32_t id = 0; id < gnn_parameters_count(parameters); id++) {
        const gnn_tensor_t value = gnn_parameters_value(parameters, id);
        for (int64_t k = 0; k < value.rows * value.cols; k++)
            value.data[k] *= 2;
    }
    return model;
}

/* The logits after the last of n tokens, by a forward pass over all of them. */
static inline void small_logits(const gnn_model_t *model, gnn_context_t *context,
                                const int32_t *ids, int64_t n, int64_t words, gnn_real_t *out)
{
    int32_t places[SMALL_PLACES];
    gnn_real_t *all = calloc((size_t)(n * words), sizeof *all);
    const gnn_tensor_t y = gnn_tensor(all, n, words);
    gnn_graph_t *graph;
    for (int32_t k = 0; k < n; k++)
        places[k] = k;
    const gnn_named_t values[] = {{.name = "letters", .ids = ids, .count = n},
                                  {.name = "places", .ids = places, .count = n}};
    ck_ok(gnn_graph_causal(&graph, 1, &n));
    ck_ok(gnn_model_prepare(model, 0, graph, GNN_OFF));
    const gnn_graph_t *graphs[] = {graph};
    ck_ok(gnn_model_forward(model, context, &(gnn_model_inputs_t){graphs, 1, values, 2}, &y));
    memcpy(out, all + (n - 1) * words, (size_t)words * sizeof *out);
    gnn_graph_free(graph);
    free(all);
}

#endif
