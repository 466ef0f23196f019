/* Failing allocations: every public call is repeated with 0, 1, 2, ... successful allocations. Each
 * time it must return GNN_EMEMORY with a message, leak nothing (checked by the address sanitizer
 * and valgrind) and succeed the next time. After LAGraph's LG_BRUTAL. */
#include "block_case.h"
#include "support.h"

#include <unistd.h>

static char path[] = "/tmp/gnn_allocation_XXXXXX";

/* Runs a scenario, which cleans up after itself, until it succeeds. Returns how many failures it
 * met. */
static int64_t brutal(const char *name, int (*scenario)(void))
{
    for (int64_t n = 1;; n++) {
        gnn__set_message("%s", "");
        gnn__fail_allocation(n);
        int rc = scenario();
        gnn__fail_allocation(0);
        if (rc == GNN_OK)
            return n - 1;
        ck_assert_msg(rc == GNN_EMEMORY, "%s, allocation %lld: %d, %s", name, (long long)n, rc,
                      gnn_error_message());
        ck_assert_msg(strstr(gnn_error_message(), "memory") != NULL,
                      "%s, allocation %lld says \"%s\"", name, (long long)n, gnn_error_message());
        ck_assert_int_lt(n, 100000);
    }
}

static int in_context(int (*body)(gnn_context_t *))
{
    gnn_context_t *context = NULL;
    GNN_TRY(gnn_context_new(&context, &(gnn_context_config_t){.threads = 2, .deterministic = GNN_ON}));
    int rc = body(context);
    gnn_context_free(context);
    return rc;
}

static gnn_layer_config_t config_of(gnn_preset_t preset)
{
    gnn_layer_config_t c = {.preset = preset,
                            .in = 6,
                            .out = 6,
                            .edge_dim = preset == GNN_PRESET_GINE ? 2 : 0,
                            .learn_eps = GNN_ON};
    if (preset == GNN_PRESET_TRANSFORMER)
        c.heads = 2;
    return c;
}

static gnn_preset_t preset;

static int small_graph(gnn_graph_t **graph)
{
    static const int64_t src[] = {0, 1, 2, 3, 4, 0, 2}, dst[] = {1, 2, 3, 4, 0, 0, 4};
    return gnn_graph_from_edges(graph, 5, 5, 7, src, dst);
}

static int run_layer(gnn_context_t *context, const gnn_layer_t *layer, gnn_graph_t *graph)
{
    gnn_real_t memory[5 * 6] = {1, 2, 3}, e[7 * 2] = {1}, w[7] = {1, 2, 3, 4, 5, 6, 7}, y[5 * 6];
    gnn_tensor_t x = gnn_tensor(memory, 5, 6), features = gnn_tensor(e, 7, 2),
                 weight = gnn_tensor(w, 7, 1), out = gnn_tensor(y, 5, 6);
    gnn_inputs_t inputs = {.x_src = &x,
                           .edge_features = preset == GNN_PRESET_GINE ? &features : NULL,
                           .edge_weight = &weight};
    GNN_TRY(gnn_layer_prepare(layer, graph, GNN_ON));
    return gnn_layer_forward(layer, context, graph, &inputs, &out);
}

static int layer_body(gnn_context_t *context)
{
    gnn_layer_t *layer = NULL;
    gnn_graph_t *graph = NULL;
    gnn_layer_config_t c = config_of(preset);
    int rc = gnn_layer_new(&layer, context, &c);
    if (rc == GNN_OK)
        rc = small_graph(&graph);
    if (rc == GNN_OK)
        rc = run_layer(context, layer, graph);
    gnn_layer_free(layer);
    gnn_graph_free(graph);
    return rc;
}

static int layer_scenario(void)
{
    return in_context(layer_body);
}

START_TEST(layers_of_every_preset)
{
    for (preset = GNN_PRESET_NONE + 1; preset < GNN_PRESET_COUNT; preset++)
        ck_assert_int_gt(brutal(gnn_preset_name(preset), layer_scenario), 10);
}
END_TEST

static int attention_body(gnn_context_t *context)
{
    gnn_layer_t *layer = NULL;
    gnn_graph_t *graph = NULL;
    int64_t n = 4;
    gnn_real_t memory[4 * 6] = {1}, y[4 * 6], weights[2 * 16];
    gnn_tensor_t x = gnn_tensor(memory, 4, 6), out = gnn_tensor(y, 4, 6);
    gnn_inputs_t inputs = {.x_src = &x};
    int rc = gnn_layer_new(&layer, context,
                           &GNN_TRANSFORMER(.in = 6, .heads = 2, .norm_position = GNN_NORM_BEFORE,
                                            .norm = GNN_NORM_BATCH));
    if (rc == GNN_OK)
        rc = gnn_graph_causal(&graph, 1, &n);
    if (rc == GNN_OK)
        rc = gnn_layer_forward(layer, context, graph, &inputs, &out);
    if (rc == GNN_OK)
        rc = gnn_layer_attention(layer, context, graph, &inputs, NULL, weights);
    gnn_layer_free(layer);
    gnn_graph_free(graph);
    return rc;
}

static int attention_scenario(void)
{
    return in_context(attention_body);
}

START_TEST(attention_weights)
{
    ck_assert_int_gt(brutal("attention", attention_scenario), 10);
}
END_TEST

/* A data set small enough to train again some hundred times. */
static int train_on(gnn_context_t *context, gnn_model_t *model)
{
    enum { N = 5 };
    static int64_t indptr[N + 1] = {0, 1, 2, 3, 4, 5};
    static int32_t indices[N] = {0, 1, 2, 3, 4}, labels[N] = {0, 1, 0, 1, 0};
    static uint8_t all[N] = {1, 1, 1, 1, 1};
    const gnn_sparse_t x = {N, 6, indptr, indices, NULL};
    gnn_graph_t *graph;
    gnn_data_t *data;
    gnn_split_t *split;
    GNN_TRY(gnn_split_from_masks(&split, N, 1, all, all, all));
    int rc = small_graph(&graph);
    if (rc != GNN_OK) {
        gnn_split_free(split);
        return rc;
    }
    rc = gnn_data_new(&data,
                      &(gnn_data_config_t){
                          .graph = graph, .sparse = &x, .labels = gnn_ints(labels), .split = split});
    gnn_split_free(split);
    if (rc != GNN_OK) {
        gnn_graph_free(graph);
        return rc;
    }
    gnn_parameter_group_t group = {"1.", 0, GNN_ZERO};
    gnn_train_config_t config = {
        .epochs = 3, .patience = 2, .optimizer = {.groups = &group, .n_groups = 1, .clip_norm = 1}};
    rc = gnn_train(model, context, data, &config, NULL);
    double value;
    if (rc == GNN_OK)
        rc = gnn_evaluate(model, context, data, 0, GNN_TEST, GNN_METRIC_MACRO_F1, &value);
    gnn_data_free(data);
    return rc;
}

static int train_body(gnn_context_t *context)
{
    gnn_model_t *model = NULL;
    GNN_TRY(gnn_model_new(
        &model, context, 2,
        (gnn_layer_config_t[]){
            GNN_GCN(.in = 6, .out = 4, .activation = GNN_RELU, .dropout = (gnn_real_t)0.5),
            GNN_GAT(.in = 4, .out = 2, .dropout = (gnn_real_t)0.5)}));
    int rc = train_on(context, model);
    gnn_model_free(model);
    return rc;
}

static int train_scenario(void)
{
    return in_context(train_body);
}

START_TEST(models_and_training)
{
    ck_assert_int_gt(brutal("training", train_scenario), 50);
}
END_TEST

static int steps_body(gnn_context_t *context)
{
    gnn_model_t *model = NULL;
    gnn_graph_t *graph = NULL;
    int64_t n = 4;
    static const int32_t ids[4] = {0, 1, 2, 1};
    gnn_real_t y[4 * 2];
    gnn_tensor_t out = gnn_tensor(y, 4, 2);
    gnn_named_t value = {.name = "words", .ids = ids, .count = 4};
    const gnn_step_t steps[] = {
        {.kind = GNN_STEP_EMBED, .name = "embed", .inputs = {"words"}, .in = 3, .out = 4},
        {.name = "hop", .layer = GNN_TRANSFORMER(.in = 4, .heads = 2)},
        {.name = "again",
         .layer = GNN_TRANSFORMER(.in = 4, .heads = 2),
         .share = "hop",
         .share_fields = "ffn"},
        {.kind = GNN_STEP_NORM, .name = "norm", .norm = GNN_NORM_BATCH, .in = 4},
        {.kind = GNN_STEP_ADD, .name = "sum", .inputs = {NULL, "embed"}},
        {.kind = GNN_STEP_LINEAR, .name = "top", .in = 4, .out = 2},
    };
    int rc = gnn_model_from_steps(&model, context, 6, steps);
    if (rc == GNN_OK)
        rc = gnn_graph_complete(&graph, 1, &n);
    if (rc == GNN_OK)
        rc = gnn_model_prepare(model, 0, graph, GNN_ON);
    const gnn_graph_t *graphs[] = {graph};
    if (rc == GNN_OK)
        rc = gnn_model_forward(model, context, &(gnn_model_inputs_t){graphs, 1, &value, 1}, &out);
    if (rc == GNN_OK)
        rc = gnn_model_save(model, path);
    gnn_model_free(model);
    model = NULL;
    if (rc == GNN_OK)
        rc = gnn_model_load(&model, context, path);
    gnn_model_free(model);
    gnn_graph_free(graph);
    return rc;
}

static int steps_scenario(void)
{
    return in_context(steps_body);
}

START_TEST(steps_saving_and_loading)
{
    int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    close(file);
    ck_assert_int_gt(brutal("steps", steps_scenario), 50);
    unlink(path);
}
END_TEST

/* A list of steps with a block, a KV cache of an encoder-decoder, two tokens. */
static int go_on_body(gnn_context_t *context)
{
    static const int32_t ids[2] = {2, 1};
    const int64_t two[] = {2, 2};
    gnn_real_t numbers[4 * 4] = {1, 2, 3}, y[2 * 4];
    gnn_tensor_t out = gnn_tensor(y, 2, 4), rows = gnn_tensor(numbers, 4, 4);
    const gnn_named_t word = {.name = "word", .ids = ids, .count = 2},
                      source = {.name = "source", .dense = &rows};
    const gnn_layer_config_t layer = GNN_TRANSFORMER(.in = 4, .heads = 2);
    gnn_steps_t *steps = NULL;
    gnn_model_t *model = NULL;
    gnn_state_t *state = NULL;
    gnn_graph_t *graphs[3] = {NULL, NULL, NULL};
    int rc = gnn_steps_new(&steps);
    if (rc == GNN_OK) {
        gnn_steps_add(steps, &(gnn_step_t){.name = "memory", .inputs = {"source"}, .layer = layer});
        gnn_steps_add(steps,
                      &(gnn_step_t){.kind = GNN_STEP_EMBED, .inputs = {"word"}, .in = 3, .out = 4});
        gnn_steps_block(steps, "decoder_layer",
                        &(gnn_block_t){.name = "y", .memory = "memory", .graph = 1, .layer = layer});
        rc = gnn_model_build(&model, context, steps);
    }
    gnn_steps_free(steps);
    if (rc == GNN_OK)
        rc = gnn_graph_complete(&graphs[0], 2, two);
    if (rc == GNN_OK)
        rc = gnn_graph_bipartite(&graphs[2], 2, two, two);
    const gnn_model_inputs_t fixed = {(const gnn_graph_t *const *)graphs, 3, &source, 1};
    if (rc == GNN_OK)
        rc = gnn_state_new(&state, model, context,
                           &(gnn_state_config_t){.segments = 2, .capacity = 3, .fixed = &fixed});
    for (int k = 0; rc == GNN_OK && k < 2; k++) {
        rc = gnn_model_advance(model, context, state, NULL,
                               &(gnn_model_inputs_t){.values = &word, .n_values = 1}, &out);
        if (rc == GNN_OK) /* they are swapped; then one of three is dropped */
            rc = gnn_state_select(state, 3, (const int64_t[]){1, 0, 0});
        if (rc == GNN_OK)
            rc = gnn_state_select(state, 2, (const int64_t[]){1, 2});
    }
    gnn_state_free(state);
    gnn_model_free(model);
    gnn_graph_free(graphs[0]);
    gnn_graph_free(graphs[2]);
    return rc;
}

static int go_on_scenario(void)
{
    return in_context(go_on_body);
}

START_TEST(blocks_and_states)
{
    ck_assert_int_gt(brutal("going on", go_on_scenario), 80);
}
END_TEST

static int karate_scenario(void)
{
    gnn_data_t *data = NULL;
    GNN_TRY(gnn_data_karate(&data));
    int rc = gnn_data_row_normalise(data);
    gnn_data_free(data);
    return rc;
}

/* ---- every block, with the settings that it reads ---- */

static size_t block_number;
static gnn_block_t block;

static int block_body(gnn_context_t *context)
{
    gnn_steps_t *steps = NULL;
    gnn_model_t *model = NULL;
    int rc = gnn_steps_new(&steps);
    if (rc == GNN_OK)
        rc = gnn_steps_block(steps, gnn_block_name(block_number), &block);
    if (rc == GNN_OK)
        rc = gnn_model_build(&model, context, steps);
    gnn_model_free(model);
    gnn_steps_free(steps);
    return rc;
}

static int block_scenario(void)
{
    return in_context(block_body);
}

START_TEST(every_block)
{
    bool read[BLOCK_MEMBERS];
    for (block_number = 0; block_number < block_count(); block_number++) {
        block = block_base(gnn_block_name(block_number), read);
        ck_assert_int_gt(brutal(gnn_block_name(block_number), block_scenario), 5);
    }
}
END_TEST

/* ---- graphs made from others ---- */

static int derived_scenario(void)
{
    static gnn_real_t numbers[] = {3, 1, 2, 5, 4};
    const gnn_tensor_t x = gnn_tensor(numbers, 5, 1);
    const int64_t lengths[] = {3, 2};
    gnn_graph_t *graph = NULL, *made[3] = {NULL};
    int rc = small_graph(&graph);
    if (rc == GNN_OK)
        rc = gnn_graph_incidence(&made[0], graph);
    if (rc == GNN_OK)
        rc = gnn_graph_part(&made[1], graph, 0);
    if (rc == GNN_OK)
        rc = gnn_graph_nearest(&made[2], &x, 2, lengths, 2);
    for (int k = 0; k < 3; k++)
        gnn_graph_free(made[k]);
    gnn_graph_free(graph);
    return rc;
}

START_TEST(derived_graphs)
{
    ck_assert_int_gt(brutal("derived graphs", derived_scenario), 8);
}
END_TEST

START_TEST(data_sets)
{
    ck_assert_int_gt(brutal("karate", karate_scenario), 5);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("allocation");
    TCase *c = tcase_create("allocation");
    tcase_set_timeout(c, 300);
    tcase_add_test(c, layers_of_every_preset);
    tcase_add_test(c, attention_weights);
    tcase_add_test(c, models_and_training);
    tcase_add_test(c, steps_saving_and_loading);
    tcase_add_test(c, blocks_and_states);
    tcase_add_test(c, every_block);
    tcase_add_test(c, derived_graphs);
    tcase_add_test(c, data_sets);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
