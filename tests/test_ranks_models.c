/* Models with batch norm and dropout on 1, 2, 3, 4, 7 and 13 ranks, each of which owns rows:
 * weights, outputs, metrics and checkpoints are equal byte for byte, also of trainings that are
 * resumed on another count. */
#include "ranks_threads.h"

#include <unistd.h>

/* Thirteen slices and a part of one. */
enum { NODES = 13 * GNN_SLICE + 100, HIDDEN = 16 };

#define THIRD ((gnn_real_t)0.3)
#define NORMED .norm = GNN_NORM_BATCH, .dropout_in = THIRD, .activation = GNN_RELU

static const int counts[] = {2, 3, 4, 7, 13};

static void add_layer(gnn_steps_t *steps, const char *edges, gnn_layer_config_t layer)
{
    trial_must(gnn_steps_add(
        steps, &(gnn_step_t){.kind = GNN_STEP_LAYER, .edge_features = edges, .layer = layer}));
}

static void gatv2(gnn_steps_t *steps)
{
    add_layer(steps, "e",
              GNN_GATV2(.in = TRIAL_IN, .out = 8, .heads = 2, .edge_dim = TRIAL_EDGE,
                        .dropout_attention = THIRD, NORMED));
    add_layer(steps, NULL, GNN_GATV2(.in = HIDDEN, .out = TRIAL_CLASSES));
}

static void pna(gnn_steps_t *steps)
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

static void rgcn(gnn_steps_t *steps)
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
static void transformer(gnn_steps_t *steps)
{
    add_layer(steps, "e",
              GNN_PRESET_CONFIG(TRANSFORMER_CONV, .in = TRIAL_IN, .out = 8, .heads = 2,
                                .edge_dim = TRIAL_EDGE, .dropout_attention = THIRD, NORMED));
    add_layer(
        steps, NULL,
        GNN_TRANSFORMER(.in = HIDDEN, .heads = 2, .feed_forward = 32, .dropout_attention = THIRD));
    add_layer(steps, NULL, GNN_GCN(.in = HIDDEN, .out = TRIAL_CLASSES));
}

/* Half of the epochs on two ranks, the others on seven. */
static void check_resumed(const trial_case_t *given, const char *path, const char *bytes, size_t size)
{
    trial_case_t c = *given;
    c.train.epochs = given->train.epochs / 2;
    trial_result_t half = run_all(&c, 2);
    trial_free(&half);
    c.train.epochs = given->train.epochs;
    c.train.resume = GNN_ON;
    trial_result_t whole = run_all(&c, 7);
    trial_free(&whole);
    check_checkpoint(path, bytes, size);
}

static void check_model(const trial_case_t *given)
{
    char path[] = "/tmp/gnn_ranks_XXXXXX";
    trial_case_t c = *given;
    size_t size;
    const int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    close(file);
    remove(path);
    c.nodes = NODES;
    c.train = (gnn_train_config_t){
        .epochs = 4, .watch = GNN_WATCH_NONE, .checkpoint = path, .optimizer.lr = (gnn_real_t)0.02};
    trial_result_t one = run_one(&c, 1);
    ck_assert_msg(one.rc == GNN_OK, "%s: %s", c.name, one.message);
    char *bytes = read_checkpoint(path, &size);
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        check_equal(&c, counts[k], 1, 0, &one);
        check_checkpoint(path, bytes, size);
    }
    check_resumed(&c, path, bytes, size);
    trial_free(&one);
    free(bytes);
}

#define MODEL(name, ...)                                  \
    START_TEST(name##_is_equal_byte_for_byte_on_13_ranks) \
    {                                                     \
        const trial_case_t c = {__VA_ARGS__};             \
        check_model(&c);                                  \
    }                                                     \
    END_TEST

MODEL(gcn, TRIAL("gcn", GNN_GCN(.in = TRIAL_IN, .out = HIDDEN, NORMED),
                 GNN_GCN(.in = HIDDEN, .out = TRIAL_CLASSES)))
MODEL(sage, TRIAL("sage", GNN_SAGE(.in = TRIAL_IN, .out = HIDDEN, NORMED),
                  GNN_SAGE(.in = HIDDEN, .out = TRIAL_CLASSES)))
MODEL(gat, TRIAL("gat",
                 GNN_GAT(.in = TRIAL_IN, .out = 8, .heads = 2, .dropout_attention = THIRD, NORMED),
                 GNN_GAT(.in = HIDDEN, .out = TRIAL_CLASSES)))
MODEL(gin, TRIAL("gin", GNN_GIN(.in = TRIAL_IN, .out = HIDDEN, NORMED),
                 GNN_GIN(.in = HIDDEN, .out = TRIAL_CLASSES)))
MODEL(gatv2, .name = "gatv2", .steps = gatv2)
MODEL(pna, .name = "pna", .steps = pna)
MODEL(rgcn, .name = "rgcn", .steps = rgcn, .relations = 3)
MODEL(transformer, .name = "transformer", .steps = transformer)

int main(void)
{
    Suite *suite = suite_create("ranks_models");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 900);
    tcase_add_test(tests, gcn_is_equal_byte_for_byte_on_13_ranks);
    tcase_add_test(tests, sage_is_equal_byte_for_byte_on_13_ranks);
    tcase_add_test(tests, gat_is_equal_byte_for_byte_on_13_ranks);
    tcase_add_test(tests, gin_is_equal_byte_for_byte_on_13_ranks);
    tcase_add_test(tests, gatv2_is_equal_byte_for_byte_on_13_ranks);
    tcase_add_test(tests, pna_is_equal_byte_for_byte_on_13_ranks);
    tcase_add_test(tests, rgcn_is_equal_byte_for_byte_on_13_ranks);
    tcase_add_test(tests, transformer_is_equal_byte_for_byte_on_13_ranks);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
