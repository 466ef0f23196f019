/* Layers over ranks that are threads: those of papers, with learned edges, blocks, and layers drawn
 * at random have the same bits for any count of ranks. */
#include "ranks_threads.h"

enum { DRAWN = 24 };

/* ---- layers ---- */

START_TEST(layers_have_the_same_bits_on_any_count_of_ranks)
{
    const trial_case_t cases[] = {
        {TRIAL("sage", GNN_SAGE(.in = TRIAL_IN, .out = 16, .activation = GNN_RELU),
               GNN_SAGE(.in = 16, .out = TRIAL_CLASSES))},
        {TRIAL("gin", GNN_GIN(.in = TRIAL_IN, .out = 16, .activation = GNN_RELU),
               GNN_GIN(.in = 16, .out = TRIAL_CLASSES))},
        {TRIAL("gat", GNN_GAT(.in = TRIAL_IN, .out = 4, .heads = 4, .activation = GNN_ELU),
               GNN_GAT(.in = 16, .out = TRIAL_CLASSES))},
        {TRIAL("gat of eight heads",
               GNN_GAT(.in = TRIAL_IN, .out = 8, .heads = 8, .activation = GNN_ELU),
               GNN_GAT(.in = 64, .out = TRIAL_CLASSES))},
        {TRIAL("transformer",
               GNN_PRESET_CONFIG(TRANSFORMER_CONV, .in = TRIAL_IN, .out = 8, .heads = 2,
                                 .activation = GNN_RELU),
               GNN_GCN(.in = 16, .out = TRIAL_CLASSES))},
        {TRIAL("max",
               GNN_SAGE(.in = TRIAL_IN, .out = 16, .aggregator = &gnn_aggregator_max,
                        .activation = GNN_RELU),
               GNN_SAGE(.in = 16, .out = TRIAL_CLASSES, .aggregator = &gnn_aggregator_std))},
        {TRIAL("layer norm and residuals",
               GNN_GCN(.in = TRIAL_IN, .out = TRIAL_IN, .norm = GNN_NORM_LAYER, .residual = GNN_ON,
                       .activation = GNN_GELU),
               GNN_GCN(.in = TRIAL_IN, .out = TRIAL_CLASSES))},
        {TRIAL("dropout",
               GNN_GCN(.in = TRIAL_IN, .out = 16, .activation = GNN_RELU,
                       .dropout_in = (gnn_real_t)0.5),
               GNN_GCN(.in = 16, .out = TRIAL_CLASSES, .dropout_in = (gnn_real_t)0.5))},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        trial_case_t c = cases[k];
        c.nodes = 1700;
        c.train = few;
        c.directed = k % 2;
        check_case(&c);
    }
}
END_TEST

static void gatv2_with_edges(gnn_steps_t *steps)
{
    trial_must(gnn_steps_add(
        steps,
        &(gnn_step_t){
            .kind = GNN_STEP_LINEAR, .name = "edges", .inputs = {"e"}, .in = TRIAL_EDGE, .out = 6}));
    trial_must(gnn_steps_add(
        steps, &(gnn_step_t){.kind = GNN_STEP_LAYER,
                             .name = "first",
                             .inputs = {"x"},
                             .edge_features = "edges",
                             .layer = GNN_GATV2(.in = TRIAL_IN, .out = 8, .heads = 2, .edge_dim = 6,
                                                .self_loops = GNN_OFF)}));
    trial_must(gnn_steps_add(
        steps,
        &(gnn_step_t){.kind = GNN_STEP_LAYER,
                      .edge_features = "e",
                      .layer = GNN_PRESET_CONFIG(TRANSFORMER_CONV, .in = 16, .out = TRIAL_CLASSES,
                                                 .edge_dim = TRIAL_EDGE)}));
}

static void gat_with_edges(gnn_steps_t *steps)
{
    trial_must(gnn_steps_add(
        steps, &(gnn_step_t){.kind = GNN_STEP_LAYER,
                             .edge_features = "e",
                             .layer = GNN_GAT(.in = TRIAL_IN, .out = 8, .edge_dim = TRIAL_EDGE,
                                              .loop_features = GNN_OFF)}));
    trial_must(gnn_steps_add(steps, &(gnn_step_t){.kind = GNN_STEP_LAYER,
                                                  .edge_features = "e",
                                                  .layer = GNN_GINE(.in = 8, .out = TRIAL_CLASSES,
                                                                    .edge_dim = TRIAL_EDGE)}));
}

/* Those of self-loops are means, of learned features of edges in the first layer; the graph has
 * some self-loops of its own. */
static void gat_with_loop_features(gnn_steps_t *steps)
{
    trial_must(gnn_steps_add(
        steps,
        &(gnn_step_t){
            .kind = GNN_STEP_LINEAR, .name = "edges", .inputs = {"e"}, .in = TRIAL_EDGE, .out = 4}));
    trial_must(gnn_steps_add(steps, &(gnn_step_t){.kind = GNN_STEP_LAYER,
                                                  .name = "first",
                                                  .inputs = {"x"},
                                                  .edge_features = "edges",
                                                  .layer = GNN_GAT(.in = TRIAL_IN, .out = 8,
                                                                   .heads = 2, .edge_dim = 4)}));
    trial_must(gnn_steps_add(steps, &(gnn_step_t){.kind = GNN_STEP_LAYER,
                                                  .edge_features = "e",
                                                  .layer = GNN_GATV2(.in = 16, .out = TRIAL_CLASSES,
                                                                     .edge_dim = TRIAL_EDGE)}));
}

/* The weight of an edge is learned from its features. */
static void learned_weights(gnn_steps_t *steps)
{
    trial_must(gnn_steps_add(
        steps,
        &(gnn_step_t){
            .kind = GNN_STEP_LINEAR, .name = "weight", .inputs = {"e"}, .in = TRIAL_EDGE, .out = 1}));
    trial_must(gnn_steps_add(steps, &(gnn_step_t){.kind = GNN_STEP_LAYER,
                                                  .inputs = {"x"},
                                                  .edge_weight = "weight",
                                                  .layer = GNN_SAGE(.in = TRIAL_IN, .out = 16)}));
    trial_must(gnn_steps_add(steps, &(gnn_step_t){.kind = GNN_STEP_LAYER,
                                                  .edge_bias = "weight",
                                                  .layer = GNN_GATV2(.in = 16, .out = TRIAL_CLASSES,
                                                                     .self_loops = GNN_OFF)}));
}

static void pna(gnn_steps_t *steps)
{
    trial_must(
        gnn_steps_block(steps, "pna",
                        &(gnn_block_t){.name = "pna",
                                       .input = "x",
                                       .width = TRIAL_IN,
                                       .out = TRIAL_CLASSES,
                                       .theta = (gnn_real_t)2.3,
                                       .aggregators = {&gnn_aggregator_mean, &gnn_aggregator_min,
                                                       &gnn_aggregator_max, &gnn_aggregator_std}}));
}

static void rgcn_of(gnn_steps_t *steps, int64_t bases, int64_t blocks)
{
    trial_must(gnn_steps_block(steps, "rgcn",
                               &(gnn_block_t){.name = "first",
                                              .input = "x",
                                              .width = TRIAL_IN,
                                              .out = 16,
                                              .hops = 3,
                                              .rows = bases,
                                              .heads = blocks}));
    trial_must(gnn_steps_block(
        steps, "rgcn",
        &(gnn_block_t){.name = "second", .width = 16, .out = TRIAL_CLASSES, .hops = 3}));
}

static void rgcn(gnn_steps_t *steps)
{
    rgcn_of(steps, 2, 0);
}

static void rgcn_of_blocks(gnn_steps_t *steps)
{
    rgcn_of(steps, 0, 4);
}

START_TEST(learned_edges_and_blocks_have_the_same_bits)
{
    const trial_case_t cases[] = {
        {.name = "gatv2 with edges", .steps = gatv2_with_edges},
        {.name = "gat and gine with edges", .steps = gat_with_edges},
        {.name = "features of self-loops", .steps = gat_with_loop_features},
        {.name = "features of self-loops, directed", .steps = gat_with_loop_features},
        {.name = "learned weights and biases", .steps = learned_weights},
        {.name = "pna", .steps = pna},
        {.name = "rgcn", .steps = rgcn, .relations = 3},
        {.name = "rgcn of blocks", .steps = rgcn_of_blocks, .relations = 3},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        trial_case_t c = cases[k];
        c.nodes = 1700;
        c.train = few;
        c.directed = k % 2;
        check_case(&c);
    }
}
END_TEST

START_TEST(attention_norms_and_priors_have_the_same_bits)
{
    const gnn_real_t half = (gnn_real_t)0.5;
    const trial_case_t cases[] = {
        {TRIAL("gatv2", GNN_GATV2(.in = TRIAL_IN, .out = 8, .heads = 4, .activation = GNN_ELU),
               GNN_GATV2(.in = 32, .out = TRIAL_CLASSES))},
        {TRIAL("gatv2 of shared weights and twelve heads",
               GNN_GATV2(.in = TRIAL_IN, .out = 4, .heads = 12, .share_weights = GNN_ON),
               GNN_GATV2(.in = 48, .out = TRIAL_CLASSES, .share_weights = GNN_ON))},
        {TRIAL("batch norm",
               GNN_GCN(.in = TRIAL_IN, .out = 16, .norm = GNN_NORM_BATCH, .activation = GNN_RELU),
               GNN_GIN(.in = 16, .out = TRIAL_CLASSES, .norm = GNN_NORM_BATCH))},
        {TRIAL("gat with dropouts",
               GNN_GAT(.in = TRIAL_IN, .out = 8, .heads = 8, .dropout_attention = half,
                       .activation = GNN_ELU),
               GNN_GAT(.in = 64, .out = TRIAL_CLASSES, .dropout_attention = half))},
        {TRIAL("gatv2 with dropouts",
               GNN_GATV2(.in = TRIAL_IN, .out = 8, .heads = 2, .dropout_attention = half),
               GNN_GATV2(.in = 16, .out = TRIAL_CLASSES, .heads = 9, .combine = GNN_HEADS_AVERAGE,
                         .dropout_attention = half))},
        {TRIAL("dropout of messages", GNN_SAGE(.in = TRIAL_IN, .out = 16, .dropout_message = half),
               GNN_PRESET_CONFIG(TRANSFORMER_CONV, .in = 16, .out = TRIAL_CLASSES,
                                 .dropout_attention = half, .dropout_message = half))},
        {TRIAL("learned maps",
               GNN_PRESET_CONFIG(TRANSFORMER_CONV, .in = TRIAL_IN, .out = 8, .heads = 2,
                                 .map = &gnn_map_rfa),
               GNN_PRESET_CONFIG(TRANSFORMER_CONV, .in = 16, .out = TRIAL_CLASSES,
                                 .map = &gnn_map_favor))},
        {TRIAL("graph transformer",
               GNN_TRANSFORMER(.in = TRIAL_IN, .heads = 4, .feed_forward = 32,
                               .dropout_attention = (gnn_real_t)0.1,
                               .priors = {{.prior = &gnn_prior_table}}),
               GNN_GCN(.in = TRIAL_IN, .out = TRIAL_CLASSES))},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        trial_case_t c = cases[k];
        c.nodes = 1700;
        c.train = few;
        c.directed = k % 2;
        check_case(&c);
    }
}
END_TEST

/* ---- layers drawn at random ---- */

/* A choice of a field, drawn among all; false: the layer does not take it. */
static bool draw_choice(gnn_layer_config_t *config, const char *field, uint64_t *state)
{
    int64_t count = 0;
    while (gnn_layer_config_choice(field, (size_t)count))
        count++;
    const char *choice = gnn_layer_config_choice(field, (size_t)test_below(state, count));
    return gnn_layer_config_set(config, field, choice) == GNN_OK;
}

/* A layer of drawn fields that resolves. */
static gnn_layer_config_t draw_layer(uint64_t *state, int64_t in, int64_t out)
{
    static const char *const always[] = {"message", "aggregator", "update"},
                             *const at_times[] = {"score",      "weigher",    "prior_0",
                                                  "map",        "norm",       "activation",
                                                  "self_loops", "graph_norm", "residual"};
    for (;;) {
        gnn_layer_config_t c = {.in = in, .out = out, .heads = 1 + test_below(state, 4)}, resolved;
        bool fits = true;
        for (size_t k = 0; k < sizeof always / sizeof *always; k++)
            fits &= draw_choice(&c, always[k], state);
        for (size_t k = 0; k < sizeof at_times / sizeof *at_times; k++)
            if (test_below(state, 3) == 0)
                fits &= draw_choice(&c, at_times[k], state);
        if (test_below(state, 2))
            c.aggregator = &gnn_aggregator_attention;
        if (test_below(state, 2))
            c.dropout_attention = (gnn_real_t)0.3;
        if (test_below(state, 3) == 0)
            c.dropout_message = (gnn_real_t)0.3;
        if (fits && gnn_layer_config_resolve(&resolved, &c) == GNN_OK)
            return c;
    }
}

/* Columns of a layer's output. */
static int64_t width_of(const gnn_layer_config_t *config)
{
    gnn_context_t *context;
    gnn_layer_t *layer;
    ck_ok(gnn_context_new(&context, NULL));
    ck_ok(gnn_layer_new(&layer, context, config));
    const int64_t width = gnn_layer_width(layer);
    gnn_layer_free(layer);
    gnn_context_free(context);
    return width;
}

static void describe(const gnn_layer_config_t *config, uint64_t seed, char *text, size_t size)
{
    static const char *const fields[] = {
        "message",        "aggregator", "update", "heads",      "score",      "weigher",
        "prior_0",        "map",        "norm",   "self_loops", "graph_norm", "dropout_attention",
        "dropout_message"};
    size_t used = (size_t)snprintf(text, size, "seed %llu:", (unsigned long long)seed);
    char value[64];
    for (size_t k = 0; k < sizeof fields / sizeof *fields && used < size; k++)
        if (gnn_layer_config_get(config, fields[k], value, sizeof value) == GNN_OK &&
            strcmp(value, "default") != 0)
            used += (size_t)snprintf(text + used, size - used, " %s %s", fields[k], value);
}

/* Layers that run on one rank run on others with the same bits, or are refused by name. */
static bool check_drawn(uint64_t seed)
{
    uint64_t state = seed * 0x9E3779B97F4A7C15u + 1;
    gnn_layer_config_t layers[] = {draw_layer(&state, TRIAL_IN, TRIAL_IN),
                                   GNN_GCN(.out = TRIAL_CLASSES)};
    layers[1].in = width_of(&layers[0]);
    char name[512];
    describe(&layers[0], seed, name, sizeof name);
    const int ranks = (int[]){2, 3, 5, 7}[test_below(&state, 4)];
    const trial_case_t c = {.name = name,
                            .nodes = 520 + test_below(&state, 1200),
                            .layers = layers,
                            .n_layers = 2,
                            .directed = test_below(&state, 2),
                            .train = {.epochs = 2, .optimizer = {.lr = (gnn_real_t)0.01}}};
    trial_result_t one = run_one(&c, 1);
    const bool runs = one.rc == GNN_OK;
    ck_assert_msg(runs || strstr(one.message, "ranks: ") || one.rc == GNN_EUNSUPPORTED ||
                      one.rc == GNN_ENUMERIC || one.rc == GNN_EINVALID || one.rc == GNN_ESHAPE,
                  "%s: %d, %s", name, one.rc, one.message);
    if (runs)
        check_equal(&c, ranks, 1, 0, &one);
    else if (getenv("GNN_TEST_SEED"))
        printf("    %s: %s\n", name, one.message);
    trial_free(&one);
    return runs;
}

START_TEST(drawn_layers_have_the_same_bits)
{
    const char *given = getenv("GNN_TEST_SEED");
    const uint64_t first = given ? strtoull(given, NULL, 10) : 1;
    int ran = 0;
    for (uint64_t k = 0; k < DRAWN; k++)
        ran += check_drawn(first + k);
    ck_assert_msg(ran > DRAWN / 3, "%d of %d drawn layers ran", ran, DRAWN);
}
END_TEST

START_TEST(sparse_features_with_dropout_have_the_same_bits)
{
    const trial_case_t c = {TRIAL("sparse",
                                  GNN_GCN(.in = TRIAL_IN, .out = 16, .activation = GNN_RELU,
                                          .dropout_in = (gnn_real_t)0.3),
                                  GNN_GCN(.in = 16, .out = TRIAL_CLASSES)),
                            .nodes = 1700, .sparse = true, .train = few};
    check_case(&c);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ranks_layers");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 300);
    tcase_add_test(tests, layers_have_the_same_bits_on_any_count_of_ranks);
    tcase_add_test(tests, attention_norms_and_priors_have_the_same_bits);
    tcase_add_test(tests, learned_edges_and_blocks_have_the_same_bits);
    tcase_add_test(tests, drawn_layers_have_the_same_bits);
    tcase_add_test(tests, sparse_features_with_dropout_have_the_same_bits);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
