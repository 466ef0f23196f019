/* Ranks that hold their own rows of a partition folder, and ranks that divide the batches of
 * samples: weights, outputs, metrics and checkpoints have the same bits on any count of ranks;
 * damaged folders end all ranks with the file's name. */
#include "ranks_threads.h"
#include "readers.h"

#include <sys/stat.h>
#include <unistd.h>

enum { NODES = 2900 };

static char folder[300], checkpoint[300];

/* Writes the trial's set in parts, once per process. */
static void write_folder(bool sparse)
{
    const trial_case_t c = {.nodes = NODES, .sparse = sparse};
    gnn_data_t *data = trial_data(&c);
    gnn_partition_t *partition;
    gnn_real_t *targets = test_reals(NODES * 2, 8);
    snprintf(folder, sizeof folder, "%s/rows%d", test_folder, sparse);
    snprintf(checkpoint, sizeof checkpoint, "%s/checkpoint", test_folder);
    ck_ok(gnn_data_array_set(
        data, GNN_ON_NODES,
        &(gnn_array_t){.name = "more",
                       .dtype = sizeof(gnn_real_t) == 4 ? GNN_DTYPE_FLOAT32 : GNN_DTYPE_FLOAT64,
                       .ndim = 2,
                       .shape = {NODES, 2},
                       .count = NODES * 2,
                       .data = targets}));
    ck_ok(gnn_partition_new(&partition, data,
                            &(gnn_partition_config_t){.parts = 4, .method = "hash"}));
    ck_ok(gnn_partition_write(partition, data, folder));
    gnn_partition_free(partition);
    gnn_data_free(data);
    free(targets);
}

static void add_layer(gnn_steps_t *steps, int64_t graph, gnn_layer_config_t layer)
{
    trial_must(gnn_steps_add(
        steps, &(gnn_step_t){.kind = GNN_STEP_LAYER, .graph = (int)graph, .layer = layer}));
}

static void plain(gnn_steps_t *steps)
{
    add_layer(steps, 0, GNN_SAGE(.in = TRIAL_IN, .out = 16, .activation = GNN_RELU));
    add_layer(steps, 1, GNN_SAGE(.in = 16, .out = TRIAL_CLASSES));
}

/* Running statistics, and draws of a batch. */
static void normed(gnn_steps_t *steps)
{
    add_layer(steps, 0,
              GNN_SAGE(.in = TRIAL_IN, .out = 16, .activation = GNN_RELU, .norm = GNN_NORM_BATCH,
                       .dropout_in = (gnn_real_t)0.2));
    add_layer(steps, 1, GNN_SAGE(.in = 16, .out = TRIAL_CLASSES));
}

static const int64_t fan_outs[] = {5, 5};
static const gnn_sampling_t sampling = {
    .batch = 9, .sampler = {.method = "neighbours", .hops = 2, .fan_outs = fan_outs}};

/* ---- own rows ---- */

static void check_rows(const trial_case_t *given)
{
    static const int counts[] = {1, 2, 3, 4, 7};
    trial_case_t c = *given;
    size_t size;
    c.nodes = NODES;
    c.folder = folder;
    c.train.checkpoint = checkpoint;
    trial_result_t one = run_one(&c, 1);
    ck_assert_msg(one.rc == GNN_OK, "%s: %s", c.name, one.message);
    char *bytes = read_checkpoint(checkpoint, &size);
    c.own_rows = true;
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        check_equal(&c, counts[k], 1, 0, &one);
        check_checkpoint(checkpoint, bytes, size);
    }
    free(bytes);
    trial_free(&one);
}

static void with_more(gnn_steps_t *steps)
{
    trial_must(gnn_steps_add(
        steps, &(gnn_step_t){
                   .kind = GNN_STEP_LINEAR, .name = "a", .inputs = {"x"}, .in = TRIAL_IN, .out = 8}));
    trial_must(gnn_steps_add(
        steps,
        &(gnn_step_t){.kind = GNN_STEP_LINEAR, .name = "b", .inputs = {"more"}, .in = 2, .out = 8}));
    trial_must(gnn_steps_add(
        steps, &(gnn_step_t){.kind = GNN_STEP_ADD, .name = "c", .inputs = {"a", "b"}}));
    trial_must(gnn_steps_add(steps, &(gnn_step_t){.kind = GNN_STEP_LAYER,
                                                  .inputs = {"c"},
                                                  .layer = GNN_SAGE(.in = 8, .out = TRIAL_CLASSES,
                                                                    .norm = GNN_NORM_BATCH)}));
}

/* Arrays on edges: features of a layer, learned ones, and a learned weight. */
static void with_edges(gnn_steps_t *steps)
{
    trial_must(gnn_steps_add(
        steps,
        &(gnn_step_t){
            .kind = GNN_STEP_LINEAR, .name = "edges", .inputs = {"e"}, .in = TRIAL_EDGE, .out = 6}));
    trial_must(gnn_steps_add(
        steps,
        &(gnn_step_t){
            .kind = GNN_STEP_LINEAR, .name = "weight", .inputs = {"e"}, .in = TRIAL_EDGE, .out = 1}));
    trial_must(gnn_steps_add(
        steps, &(gnn_step_t){.kind = GNN_STEP_LAYER,
                             .name = "first",
                             .inputs = {"x"},
                             .edge_features = "edges",
                             .layer = GNN_GATV2(.in = TRIAL_IN, .out = 8, .heads = 2, .edge_dim = 6,
                                                .self_loops = GNN_OFF)}));
    trial_must(gnn_steps_add(
        steps, &(gnn_step_t){.kind = GNN_STEP_LAYER,
                             .edge_features = "e",
                             .layer = GNN_GINE(.in = 16, .out = 8, .edge_dim = TRIAL_EDGE)}));
    trial_must(gnn_steps_add(steps, &(gnn_step_t){.kind = GNN_STEP_LAYER,
                                                  .edge_weight = "weight",
                                                  .layer = GNN_SAGE(.in = 8, .out = 8)}));
    trial_must(gnn_steps_add(steps, &(gnn_step_t){.kind = GNN_STEP_LAYER,
                                                  .edge_weight = "w",
                                                  .layer = GNN_SAGE(.in = 8, .out = TRIAL_CLASSES)}));
}

START_TEST(own_rows_have_the_bits_of_the_whole_set)
{
    const trial_case_t cases[] = {
        {TRIAL("gcn", GNN_GCN(.in = TRIAL_IN, .out = 16, .activation = GNN_RELU),
               GNN_GCN(.in = 16, .out = TRIAL_CLASSES))},
        {TRIAL("gat",
               GNN_GAT(.in = TRIAL_IN, .out = 4, .heads = 4, .activation = GNN_ELU,
                       .dropout_attention = (gnn_real_t)0.3),
               GNN_GAT(.in = 16, .out = TRIAL_CLASSES))},
        {.name = "an array on nodes", .steps = with_more},
        {.name = "arrays on edges", .steps = with_edges},
    };
    write_folder(false);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        trial_case_t c = cases[k];
        c.train = few;
        check_rows(&c);
    }
}
END_TEST

START_TEST(own_rows_of_sparse_features_have_the_bits_of_the_whole_set)
{
    trial_case_t c = {TRIAL("sparse",
                            GNN_GCN(.in = TRIAL_IN, .out = 16, .activation = GNN_RELU,
                                    .dropout_in = (gnn_real_t)0.3),
                            GNN_GCN(.in = 16, .out = TRIAL_CLASSES)),
                      .train = few};
    write_folder(true);
    c.train.loss = GNN_LOSS_BINARY_CROSS_ENTROPY;
    check_rows(&c);
}
END_TEST

/* ---- predicted bytes and messages ---- */

/* A transport that counts what the exchanges of halo rows send. */
typedef struct {
    gnn_transport_t transport, *inner;
    const trial_case_t *c;
    bool rows; /* the next exchange is one */
    int64_t bytes, messages;
    trial_result_t result;
} counted_t;

static int exchange_counted(gnn_transport_t *t, const gnn_bytes_t *send, const gnn_bytes_t *receive)
{
    counted_t *counted = t->user;
    const gnn_bytes_t *own = &send[t->rank];
    for (int r = 0; counted->rows && r < t->ranks; r++)
        if (r != t->rank && send[r].size) {
            counted->bytes += (int64_t)send[r].size;
            counted->messages++;
        }
    /* a meeting: a code and the name of the call that follows */
    counted->rows = own->size == 32 && strcmp((const char *)own->data + 8, "rows") == 0;
    return counted->inner->exchange(counted->inner, send, receive);
}

static void *run_counted(void *user)
{
    counted_t *counted = user;
    counted->result = trial_run(counted->c, &counted->transport, 1);
    return NULL;
}

static void run_all_counted(const trial_case_t *c, counted_t *ranks, int count)
{
    gnn_transport_t *transports[MOST_RANKS];
    pthread_t running[MOST_RANKS];
    ck_ok(gnn_transport_threads(transports, count, 0));
    for (int r = 0; r < count; r++) {
        ranks[r] = (counted_t){.inner = transports[r], .c = c};
        ranks[r].transport = (gnn_transport_t){.name = "counted",
                                               .rank = r,
                                               .ranks = count,
                                               .exchange = exchange_counted,
                                               .user = &ranks[r]};
        ck_assert_int_eq(pthread_create(&running[r], NULL, run_counted, &ranks[r]), 0);
    }
    for (int r = 0; r < count; r++) {
        pthread_join(running[r], NULL);
        gnn_transport_free(transports[r]);
        ck_assert_msg(ranks[r].result.rc == GNN_OK, "%s", ranks[r].result.message);
        trial_free(&ranks[r].result);
    }
}

enum { COUNTED_RANKS = 4 };

/* Runs a case on a folder of COUNTED_RANKS parts by range, whose partition is the result. */
static gnn_partition_t *run_on_partition(trial_case_t *c, int64_t epochs, counted_t *ranks)
{
    const trial_case_t whole = {.nodes = NODES};
    gnn_data_t *data = trial_data(&whole);
    gnn_partition_t *partition;
    gnn_split_t *split;
    uint8_t *all = malloc(NODES), *none = calloc(NODES, 1);
    memset(all, 1, NODES);
    ck_ok(gnn_split_from_masks(&split, NODES, 1, all, none, none));
    ck_ok(gnn_data_split_set(data, split));
    snprintf(folder, sizeof folder, "%s/counted", test_folder);
    ck_ok(gnn_partition_new(&partition, data,
                            &(gnn_partition_config_t){.parts = COUNTED_RANKS, .method = "range"}));
    ck_ok(gnn_partition_write(partition, data, folder));
    c->nodes = NODES;
    c->folder = folder;
    c->own_rows = true;
    c->train = few;
    c->train.epochs = epochs;
    run_all_counted(c, ranks, COUNTED_RANKS);
    gnn_split_free(split);
    gnn_data_free(data);
    free(all);
    free(none);
    return partition;
}

/* One step of training per epoch, then two passes forward (evaluation, prediction); the first of
 * the three calls exchanges degrees (8 bytes) and marks of self-loops (1 byte), the others use its
 * graph. */
START_TEST(bytes_and_messages_are_those_that_a_partition_predicts)
{
    enum { GRAPHS = 1, PASSES = 2 };
    const int64_t widths[] = {16, TRIAL_CLASSES}, epochs = 3, w = 16 + TRIAL_CLASSES;
    trial_case_t c = {TRIAL("gcn", GNN_GCN(.in = TRIAL_IN, .out = 16, .activation = GNN_RELU),
                            GNN_GCN(.in = 16, .out = TRIAL_CLASSES))};
    counted_t ranks[COUNTED_RANKS];
    gnn_partition_t *partition = run_on_partition(&c, epochs, ranks);
    for (int r = 0; r < COUNTED_RANKS; r++) {
        gnn_partition_step_t step;
        gnn_partition_part_t part;
        ck_ok(gnn_partition_step(partition, r, 2, widths, &step));
        ck_ok(gnn_partition_part(partition, r, &part));
        const int64_t forward = (int64_t)sizeof(gnn_real_t) * w * part.sent;
        ck_assert_int_gt(step.bytes_sent, 0);
        ck_assert_int_eq(ranks[r].bytes,
                         epochs * step.bytes_sent + PASSES * forward + GRAPHS * 9 * part.sent);
        ck_assert_int_eq(ranks[r].messages, epochs * step.messages_sent + PASSES * 2 * part.peers +
                                                GRAPHS * 2 * part.peers);
    }
    gnn_partition_free(partition);
}
END_TEST

/* The layer sums the features before its product: each of three calls pulls their rows once, and
 * there is nothing to pull in backward. The first call exchanges degrees, too. */
START_TEST(rows_of_inputs_are_pulled_once_a_call)
{
    trial_case_t c = {TRIAL(
        "sage", GNN_SAGE(.in = TRIAL_IN, .out = TRIAL_CLASSES, .aggregator = &gnn_aggregator_max))};
    counted_t ranks[COUNTED_RANKS];
    gnn_partition_t *partition = run_on_partition(&c, 3, ranks);
    for (int r = 0; r < COUNTED_RANKS; r++) {
        gnn_partition_part_t part;
        ck_ok(gnn_partition_part(partition, r, &part));
        ck_assert_int_gt(part.sent, 0);
        ck_assert_int_eq(ranks[r].bytes,
                         (3 * TRIAL_IN * (int64_t)sizeof(gnn_real_t) + 8) * part.sent);
    }
    gnn_partition_free(partition);
}
END_TEST

/* ---- what a set of own rows refuses ---- */

START_TEST(a_set_of_own_rows_refuses_what_needs_all)
{
    const gnn_layer_config_t layer = GNN_GCN(.in = TRIAL_IN, .out = TRIAL_CLASSES);
    gnn_train_config_t samples = few;
    gnn_transport_t *one;
    gnn_context_t *context, *alone;
    gnn_model_t *model;
    gnn_data_t *data;
    double value;
    char text[2000];
    write_folder(false);
    ck_ok(gnn_transport_threads(&one, 1, 0));
    ck_ok(gnn_context_new(&context, NULL));
    ck_ok(gnn_context_new(&alone, NULL));
    ck_fails(gnn_data_open_rank(&data, context, folder), GNN_EINVALID, "a context with ranks");
    ck_ok(gnn_context_set_ranks(context, one));
    ck_fails(gnn_data_open_rank(NULL, context, folder), GNN_EINVALID, "data");
    ck_fails(gnn_data_open_rank(&data, context, NULL), GNN_EINVALID, "folder");
    ck_fails(gnn_data_open_rank(&data, context, "/nowhere"), GNN_EIO, "partition.json");
    ck_ok(gnn_data_open_rank(&data, context, folder));
    ck_ok(gnn_model_new(&model, context, 1, &layer));
    gnn_data_describe(data, text, sizeof text);
    ck_assert_msg(strstr(text, "e on edges") != NULL, "%s", text);
    const char *const words = "a set of one rank's rows (0 to 2899 of 2900)";
    ck_fails(gnn_data_save(data, checkpoint), GNN_EUNSUPPORTED, words);
    ck_fails(gnn_data_reorder(data), GNN_EUNSUPPORTED, words);
    ck_fails(gnn_data_standardise(data, 0), GNN_EUNSUPPORTED, words);
    ck_fails(gnn_data_split_draw(data, &(gnn_split_rule_t){0}), GNN_EUNSUPPORTED, words);
    ck_fails(gnn_data_add_csv(data, "features.csv", NULL), GNN_EUNSUPPORTED, words);
    ck_fails(gnn_data_degree_features(data, 5), GNN_EUNSUPPORTED, words);
    ck_fails(gnn_data_graphs_set(data, 0, NULL), GNN_EUNSUPPORTED, words);
    samples.sampling = &sampling;
    ck_fails(gnn_train(model, context, data, &samples, NULL), GNN_EUNSUPPORTED, words);
    ck_fails(gnn_train(model, alone, data, &few, NULL), GNN_EUNSUPPORTED, words);
    ck_fails(gnn_evaluate(model, alone, data, 0, GNN_TEST, GNN_METRIC_ACCURACY, &value),
             GNN_EUNSUPPORTED, words);
    gnn_model_free(model);
    gnn_data_free(data);
    gnn_context_free(context);
    gnn_context_free(alone);
    gnn_transport_free(one);
}
END_TEST

/* ---- damaged folders ---- */

/* Flips a bit of the byte at this share of a file; share 1: cuts the last byte off. */
static void damage(const char *file, double share)
{
    char path[600];
    struct stat s;
    snprintf(path, sizeof path, "%s/%s", folder, file);
    ck_assert_int_eq(stat(path, &s), 0);
    if (share >= 1) {
        ck_assert_int_eq(truncate(path, s.st_size - 1), 0);
        return;
    }
    FILE *f = fopen(path, "r+b");
    ck_assert_ptr_nonnull(f);
    const long at = (long)(share * (double)s.st_size);
    fseek(f, at, SEEK_SET);
    const int byte = fgetc(f);
    fseek(f, at, SEEK_SET);
    fputc(byte ^ 4, f);
    fclose(f);
}

START_TEST(damaged_folders_end_all_ranks_with_the_file)
{
    static const char *const files[] = {"indptr",     "indices", "edges", "labels", "train",
                                        "validation", "test",    "x",     "order",  "node.2"};
    const trial_case_t c = {TRIAL("gcn", GNN_GCN(.in = TRIAL_IN, .out = TRIAL_CLASSES)),
                            .nodes = NODES, .train = few, .own_rows = true, .folder = folder};
    const trial_case_t *cases[] = {&c, &c, &c};
    write_folder(false);
    for (size_t k = 0; k < 2 * sizeof files / sizeof *files; k++) {
        trial_result_t results[3];
        char file[40], command[1000];
        const char *name = files[k / 2];
        snprintf(file, sizeof file, "%s.npy", name);
        snprintf(command, sizeof command, "cp %s/%s %s/kept", folder, file, test_folder);
        ck_assert_int_eq(system(command), 0);
        damage(file, k % 2 ? 1 : 0.7);
        run_ranks(cases, 3, 1, 0, results);
        for (int r = 0; r < 3; r++) {
            ck_assert_msg(results[r].rc == GNN_EFORMAT && strstr(results[r].message, name),
                          "%s, rank %d: %d, %s", file, r, results[r].rc, results[r].message);
            trial_free(&results[r]);
        }
        snprintf(command, sizeof command, "mv %s/kept %s/%s", test_folder, folder, file);
        ck_assert_int_eq(system(command), 0);
    }
    trial_result_t good = run_all(&c, 3);
    trial_free(&good);
}
END_TEST

/* ---- samples ---- */

static trial_case_t sampled_case(void (*steps)(gnn_steps_t *steps))
{
    trial_case_t c = {.name = "sampled", .steps = steps, .nodes = NODES};
    c.train = few;
    c.train.sampling = &sampling;
    c.train.accumulate = 4;
    return c;
}

START_TEST(batches_divided_among_ranks_have_the_same_bits)
{
    static const int counts[] = {2, 3, 4, 7};
    trial_case_t c = sampled_case(normed);
    for (int metric = 0; metric < 2; metric++) {
        c.train.metric = metric ? GNN_METRIC_MACRO_F1 : GNN_METRIC_ACCURACY;
        trial_result_t one = run_one(&c, 1);
        ck_assert_msg(one.rc == GNN_OK, "%s", one.message);
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
            check_equal(&c, counts[k], 1, k, &one);
        trial_free(&one);
    }
}
END_TEST

/* R ranks with batches of B learn what one process learns with R of them per step. */
START_TEST(divided_batches_learn_what_one_process_accumulates)
{
    trial_case_t c = sampled_case(plain);
    trial_result_t one = run_one(&c, 1), none = trial_run(&c, NULL, 1);
    ck_assert_int_eq(none.rc, GNN_OK);
    ck_assert_double_lt(test_error(one.weights, none.weights, one.n_weights), 1e-3);
    trial_free(&one);
    trial_free(&none);
}
END_TEST

START_TEST(sampled_trainings_resume_on_another_count_of_ranks)
{
    trial_case_t c = sampled_case(normed);
    snprintf(checkpoint, sizeof checkpoint, "%s/checkpoint", test_folder);
    c.train.watch = GNN_WATCH_NONE;
    trial_result_t straight = run_one(&c, 1);
    c.train.checkpoint = checkpoint;
    c.train.epochs = 1;
    trial_result_t first = run_all(&c, 4);
    c.train.resume = GNN_ON;
    c.train.epochs = 3;
    trial_result_t second = run_all(&c, 2);
    c.train.epochs = 4;
    trial_result_t third = run_all(&c, 1);
    ck_assert(memcmp(straight.weights, third.weights,
                     sizeof *first.weights * (size_t)first.n_weights) == 0);
    trial_free(&straight);
    trial_free(&first);
    trial_free(&second);
    trial_free(&third);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ranks_rows");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, make_folder, remove_tree);
    tcase_set_timeout(tests, 300);
    tcase_add_test(tests, own_rows_have_the_bits_of_the_whole_set);
    tcase_add_test(tests, own_rows_of_sparse_features_have_the_bits_of_the_whole_set);
    tcase_add_test(tests, bytes_and_messages_are_those_that_a_partition_predicts);
    tcase_add_test(tests, rows_of_inputs_are_pulled_once_a_call);
    tcase_add_test(tests, a_set_of_own_rows_refuses_what_needs_all);
    tcase_add_test(tests, damaged_folders_end_all_ranks_with_the_file);
    tcase_add_test(tests, batches_divided_among_ranks_have_the_same_bits);
    tcase_add_test(tests, divided_batches_learn_what_one_process_accumulates);
    tcase_add_test(tests, sampled_trainings_resume_on_another_count_of_ranks);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
