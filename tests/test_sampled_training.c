/* Training on samples: the same bits on one and two threads, with and without prefetch, and after
 * resuming; with full fan-outs a step equals that on the whole graph; chunked inference equals one
 * pass. */
#include "peak.h"

#include <lib/model/model.h>

#include <sched.h>
#include <string.h>
#include <unistd.h>

enum { NODES = 240, DRAWN = 1000, IN = 6, CLASSES = 3, EPOCHS = 4 };

/* A set whose labels follow its features and neighbours; edges carry a weight and two features. */
static gnn_data_t *make_data(void)
{
    static int64_t src[DRAWN], dst[DRAWN];
    static int32_t labels[NODES];
    static uint8_t masks[3][NODES];
    uint64_t state = 8;
    gnn_data_t *data;
    gnn_real_t *x = test_reals((int64_t)NODES * IN, 3), *weight = test_reals(DRAWN, 4),
               *pairs = test_reals((int64_t)4 * DRAWN, 6);
    for (int64_t i = 0; i < NODES; i++) {
        labels[i] = (int32_t)(i % CLASSES);
        x[i * IN + labels[i]] += 1;
        for (int part = 0; part < 3; part++)
            masks[part][i] = i / CLASSES % 3 == part;
    }
    for (int64_t k = 0; k < DRAWN; k++) {
        src[k] = test_below(&state, NODES);
        dst[k] = test_uniform(&state) > 0.5 ? test_below(&state, NODES)
                                            : (src[k] + CLASSES * test_below(&state, 60)) % NODES;
        weight[k] = (gnn_real_t)fabs((double)weight[k]) + (gnn_real_t)0.1;
    }
    const gnn_tensor_t features = gnn_tensor(x, NODES, IN);
    gnn_split_t *split;
    ck_ok(gnn_split_from_masks(&split, NODES, 1, masks[0], masks[1], masks[2]));
    ck_ok(gnn_data_new(&data, &(gnn_data_config_t){.nodes = NODES,
                                                   .edges = DRAWN,
                                                   .src = gnn_ints(src),
                                                   .dst = gnn_ints(dst),
                                                   .both_ways = GNN_ON,
                                                   .weight = weight,
                                                   .x = &features,
                                                   .labels = gnn_ints(labels),
                                                   .split = split}));
    gnn_split_free(split);
    ck_ok(gnn_data_array_set(data, GNN_ON_EDGES,
                             &(gnn_array_t){.name = "pairs",
                                            .dtype = GNN_DOUBLE ? GNN_DTYPE_FLOAT64 : GNN_DTYPE_FLOAT32,
                                            .ndim = 2,
                                            .shape = {gnn_graph_n_edges(gnn_data_graph(data)), 2},
                                            .count = (int64_t)4 * DRAWN,
                                            .data = pairs}));
    free(x);
    free(weight);
    free(pairs);
    return data;
}

typedef struct {
    gnn_context_t *context;
    gnn_model_t *model;
} machine_t;

/* The kinds of networks that are trained: presets, one by edge weights, one by edge features. */
enum { GCN, SAGE, GAT, WEIGHTED, FEATURES, KINDS };

static machine_t machine(int kind, int threads, bool blocks, double dropout)
{
    static const char *const preset[KINDS] = {"gcn", "sage", "gat", "gcn", "transformer_conv"};
    machine_t m;
    gnn_step_t steps[4] = {{0}};
    ck_ok(gnn_context_new(&m.context, &(gnn_context_config_t){
                                          .threads = threads, .deterministic = GNN_ON, .seed = 7}));
    m.context->grain = 1;
    for (int k = 0; k < 2; k++)
        steps[3 * k] = (gnn_step_t){
            .layer = {.preset = gnn_preset_find(preset[kind]),
                      .in = k ? 8 : IN,
                      .out = k ? CLASSES : 8,
                      .dropout = (gnn_real_t)dropout,
                      .edge_dim = kind == FEATURES ? 2 : 0,
                      .graph_norm = kind == WEIGHTED ? GNN_GRAPH_NORM_ROW : GNN_GRAPH_NORM_DEFAULT},
            .edge_weight = kind == WEIGHTED ? "weight" : NULL,
            .edge_features = kind == FEATURES ? "pairs" : NULL,
            .graph = blocks ? k : 0};
    steps[1] = (gnn_step_t){.kind = GNN_STEP_NORM, .in = 8, .norm = GNN_NORM_LAYER};
    steps[2] = (gnn_step_t){.kind = GNN_STEP_ACTIVATION, .activation = GNN_RELU};
    ck_ok(gnn_model_from_steps(&m.model, m.context, 4, steps));
    return m;
}

static void free_machine(machine_t *m)
{
    gnn_model_free(m->model);
    gnn_context_free(m->context);
}

static void same_weights(const machine_t *a, const machine_t *b)
{
    for (int64_t k = 0; k < gnn_model_field_count(a->model); k++) {
        gnn_tensor_t x, y;
        const char *name = gnn_model_field_name(a->model, k);
        ck_ok(gnn_model_field(a->model, name, &x, NULL));
        ck_ok(gnn_model_field(b->model, name, &y, NULL));
        for (int64_t r = 0; r < x.rows; r++)
            ck_assert_msg(
                memcmp(gnn__row(&x, r), gnn__row(&y, r), (size_t)x.cols * sizeof *x.data) == 0,
                "%s differs in row %lld", name, (long long)r);
    }
}

static gnn_sampling_t sampling_of(const char *method, gnn_flag_t prefetch)
{
    static const int64_t fan_outs[] = {4, 3};
    static int32_t cluster_of[NODES];
    for (int32_t i = 0; i < NODES; i++)
        cluster_of[i] = i / 12;
    gnn_sampling_t sampling = {.sampler = {.method = method, .seed = 3},
                               .batch = strcmp(method, "cluster") == 0 ? 6 : 30,
                               .prefetch = prefetch};
    if (strcmp(method, "cluster") == 0) {
        sampling.sampler.cluster_of = cluster_of;
    } else if (strcmp(method, "walk") == 0) {
        sampling.sampler.rounds = 5;
    } else {
        sampling.sampler.hops = 2;
        sampling.sampler.fan_outs = fan_outs;
    }
    return sampling;
}

static bool makes_blocks(const char *method)
{
    return strcmp(method, "neighbours") == 0 || strcmp(method, "layerwise") == 0;
}

/* ---- the same bits ---- */

START_TEST(threads_and_prefetch_train_the_same_weights)
{
    const char *method = gnn_sampler_method_at((size_t)(_i / KINDS))->name;
    const int kind = _i % KINDS;
    gnn_data_t *data = make_data();
    machine_t m[3];
    gnn_train_result_t results[3];
    for (int k = 0; k < 3; k++) {
        const gnn_sampling_t sampling = sampling_of(method, k == 0 ? GNN_OFF : GNN_ON);
        m[k] = machine(kind, k == 2 ? 2 : 1, makes_blocks(method), 0.3);
        ck_ok(gnn_train(m[k].model, m[k].context, data,
                        &(gnn_train_config_t){.epochs = EPOCHS, .sampling = &sampling}, &results[k]));
    }
    same_weights(&m[0], &m[1]);
    same_weights(&m[0], &m[2]);
    ck_assert(results[0].validation_loss == results[1].validation_loss);
    ck_assert(results[0].validation_loss == results[2].validation_loss);
    for (int k = 0; k < 3; k++)
        free_machine(&m[k]);
    gnn_data_free(data);
}
END_TEST

/* Threads of the process while batches are open. */
static int64_t threads_with(const machine_t *m, gnn_data_t *data, gnn_flag_t prefetch)
{
    const gnn_sampling_t sampling = sampling_of("neighbours", prefetch);
    gnn_source_t *source;
    ck_ok(gnn_source_of_data(&source, m->model, m->context, data,
                             &(gnn_train_config_t){.sampling = &sampling}));
    const int64_t threads = (int64_t)(status_bytes("Threads:") / 1024);
    gnn_source_free(source);
    return threads;
}

/* Left open, a thread of its own draws where a processor is left for it. */
START_TEST(prefetch_is_on_with_a_free_processor)
{
    gnn_data_t *data = make_data();
    const int processors = gnn__processors();
    for (int threads = 1; threads <= processors && threads <= 64; threads += processors - 1) {
        machine_t m = machine(SAGE, threads, true, 0);
        const int64_t off = threads_with(&m, data, GNN_OFF), on = threads_with(&m, data, GNN_ON);
        ck_assert_int_eq(on, off + 1);
        ck_assert_int_eq(threads_with(&m, data, GNN_FLAG_DEFAULT), threads < processors ? on : off);
        free_machine(&m);
        if (processors == 1)
            break;
    }
    gnn_data_free(data);
}
END_TEST

/* One processor, granted or not: the context's own thread needs it. */
START_TEST(prefetch_is_off_on_one_processor)
{
    cpu_set_t all, one;
    gnn_data_t *data = make_data();
    machine_t m = machine(SAGE, 1, true, 0);
    int first = 0;
    ck_assert_int_eq(sched_getaffinity(0, sizeof all, &all), 0);
    while (!CPU_ISSET(first, &all))
        first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    ck_assert_int_eq(sched_setaffinity(0, sizeof one, &one), 0);
    const int64_t off = threads_with(&m, data, GNN_OFF);
    ck_assert_int_eq(threads_with(&m, data, GNN_FLAG_DEFAULT), off);
    ck_assert_int_eq(threads_with(&m, data, GNN_ON), off + 1);
    ck_assert_int_eq(sched_setaffinity(0, sizeof all, &all), 0);
    free_machine(&m);
    gnn_data_free(data);
}
END_TEST

static int stop_in_second_epoch(void *user, const gnn_progress_t *now)
{
    *(volatile int *)user = now->epoch == 2;
    return 0;
}

START_TEST(a_stopped_training_resumes_with_the_same_bits)
{
    char path[64] = "/tmp/gnn-sampled-XXXXXX";
    const gnn_sampling_t sampling = sampling_of("neighbours", GNN_ON);
    gnn_data_t *data = make_data();
    machine_t alone = machine(SAGE, 1, true, 0.3), first = machine(SAGE, 1, true, 0.3),
              second = machine(SAGE, 1, true, 0.3);
    volatile int stop = 0;
    close(mkstemp(path));
    unlink(path);
    gnn_train_config_t config = {.epochs = EPOCHS, .sampling = &sampling, .watch = GNN_WATCH_NONE};
    ck_ok(gnn_train(alone.model, alone.context, data, &config, NULL));
    config.checkpoint = path;
    config.stop = &stop;
    config.callback = stop_in_second_epoch;
    config.user = (void *)&stop;
    ck_assert_int_eq(gnn_train(first.model, first.context, data, &config, NULL), GNN_ESTOPPED);
    config.stop = NULL;
    config.callback = NULL;
    config.user = NULL;
    config.resume = GNN_ON;
    const gnn_sampling_t other = {.sampler = sampling.sampler, .batch = 31};
    config.sampling = &other;
    ck_assert_int_eq(gnn_train(second.model, second.context, data, &config, NULL), GNN_EINVALID);
    config.sampling = &sampling;
    ck_ok(gnn_train(second.model, second.context, data, &config, NULL));
    same_weights(&alone, &second);
    unlink(path);
    free_machine(&alone);
    free_machine(&first);
    free_machine(&second);
    gnn_data_free(data);
}
END_TEST

/* ---- all neighbours: the whole graph's step ---- */

START_TEST(full_neighbourhoods_train_like_the_whole_graph)
{
    static const int64_t all[] = {-1, -1};
    const int kind = _i % KINDS;
    const bool blocks = _i < KINDS;
    const gnn_sampling_t sampling = {
        .sampler = {.method = blocks ? "neighbours" : "around", .hops = 2, .fan_outs = all},
        .batch = NODES};
    gnn_data_t *data = make_data();
    machine_t a = machine(kind, 1, blocks, 0), b = machine(kind, 1, blocks, 0);
    gnn_train_result_t x, y;
    gnn_train_config_t config = {
        .epochs = 3, .optimizer.lr = (gnn_real_t)0.02, .watch = GNN_WATCH_LOSS};
    ck_ok(gnn_train(a.model, a.context, data, &config, &x));
    config.sampling = &sampling;
    ck_ok(gnn_train(b.model, b.context, data, &config, &y));
    ck_assert_double_le(fabs(x.train_loss - y.train_loss), 1e-5 * fabs(x.train_loss));
    ck_assert_double_le(fabs(x.validation_loss - y.validation_loss), 1e-5 * fabs(x.validation_loss));
    free_machine(&a);
    free_machine(&b);
    gnn_data_free(data);
}
END_TEST

START_TEST(training_on_samples_learns)
{
    const char *method = gnn_sampler_method_at((size_t)_i)->name;
    const gnn_sampling_t sampling = sampling_of(method, GNN_ON);
    gnn_data_t *data = make_data();
    machine_t m = machine(SAGE, 1, makes_blocks(method), 0);
    gnn_train_result_t result;
    ck_ok(gnn_train(
        m.model, m.context, data,
        &(gnn_train_config_t){.epochs = 40, .optimizer.lr = (gnn_real_t)0.01, .sampling = &sampling},
        &result));
    ck_assert_double_gt(result.validation_metric, 0.6);
    free_machine(&m);
    gnn_data_free(data);
}
END_TEST

/* ---- inference by chunks ---- */

START_TEST(chunked_inference_equals_one_pass)
{
    const int64_t rows_at_once = (int64_t[]){0, 1, 37}[_i % 3];
    gnn_data_t *data = make_data();
    machine_t m = machine(_i / 3, 2, true, 0.5);
    gnn_real_t one[NODES * CLASSES], chunks[NODES * CLASSES];
    const gnn_tensor_t a = gnn_tensor(one, NODES, CLASSES), b = gnn_tensor(chunks, NODES, CLASSES);
    ck_ok(gnn_predict_layers(m.model, m.context, data, rows_at_once, &b));
    for (int slot = 0; slot < 2; slot++)
        ck_ok(gnn_model_prepare(m.model, slot, gnn_data_graph(data), GNN_OFF));
    ck_ok(gnn_predict(m.model, m.context, data, &a));
    ck_assert_double_le(test_error(chunks, one, (int64_t)NODES * CLASSES), TOLERANCE_OUT);
    free_machine(&m);
    gnn_data_free(data);
}
END_TEST

START_TEST(invalid_chunks_are_refused)
{
    gnn_data_t *data = make_data();
    machine_t m = machine(SAGE, 1, true, 0);
    gnn_model_t *stacked;
    gnn_real_t numbers[2 * NODES * IN];
    const gnn_tensor_t out = gnn_tensor(numbers, NODES, CLASSES),
                       two = gnn_tensor(numbers, (int64_t)2 * NODES, IN);
    ck_ok(gnn_model_from_steps(
        &stacked, m.context, 1,
        (gnn_step_t[]){{.kind = GNN_STEP_STACK, .inputs = {"x", "x"}, .name = "both"}}));
    ck_fails(gnn_predict_layers(stacked, m.context, data, 0, &two), GNN_EUNSUPPORTED, "both");
    ck_fails(gnn_predict_layers(m.model, m.context, data, -1, &out), GNN_EINVALID, "rows_at_once");
    ck_fails(gnn_predict_layers(m.model, m.context, data, 0, &two), GNN_ESHAPE, "480");
    ck_fails(gnn_predict_layers(NULL, m.context, data, 0, &out), GNN_EINVALID, "model is NULL");
    ck_fails(gnn_predict_layers(m.model, NULL, data, 0, &out), GNN_EINVALID, "context is NULL");
    ck_fails(gnn_predict_layers(m.model, m.context, NULL, 0, &out), GNN_EINVALID, "data is NULL");
    ck_fails(gnn_predict_layers(m.model, m.context, data, 0, NULL), GNN_EINVALID, "out is NULL");
    ck_fails(gnn__model_infer_layers(NULL, m.context, &(gnn_model_inputs_t){0}, 0, &out),
             GNN_EINVALID, "model is NULL");
    ck_fails(gnn__model_infer_layers(m.model, m.context, NULL, 0, &out), GNN_EINVALID,
             "inputs is NULL");
    ck_fails(gnn__model_infer_layers(m.model, m.context, &(gnn_model_inputs_t){0}, 0, &out),
             GNN_EINVALID, "graph slot 0");
    gnn_model_free(stacked);
    free_machine(&m);
    gnn_data_free(data);
}
END_TEST

START_TEST(invalid_batches_are_refused)
{
    gnn_sampling_t sampling = sampling_of("neighbours", GNN_OFF);
    gnn_train_config_t config = {.sampling = &sampling};
    gnn_data_t *data = make_data();
    machine_t m = machine(SAGE, 1, true, 0), one = machine(SAGE, 1, false, 0);
    gnn_source_t *source = NULL;
    gnn_batch_t batch;
    ck_fails(gnn_source_of_data(NULL, m.model, m.context, data, &config), GNN_EINVALID, "source");
    ck_fails(gnn_source_of_data(&source, NULL, m.context, data, &config), GNN_EINVALID, "model");
    ck_fails(gnn_source_of_data(&source, m.model, NULL, data, &config), GNN_EINVALID, "context");
    ck_fails(gnn_source_of_data(&source, m.model, m.context, NULL, &config), GNN_EINVALID, "data");
    ck_fails(gnn_source_of_data(&source, one.model, one.context, data, &config), GNN_EINVALID,
             "1 graph slots, the sampler draws 2 blocks");
    sampling.batch = -1;
    ck_fails(gnn_source_of_data(&source, m.model, m.context, data, &config), GNN_EINVALID,
             "batch = -1");
    sampling.batch = 50;
    ck_ok(gnn_source_of_data(&source, m.model, m.context, data, &config));
    ck_assert_int_eq(source->count[GNN_TRAIN], 2);
    ck_assert_int_eq(source->count[GNN_VALIDATION], 2);
    ck_fails(source->get(source->user, GNN_TRAIN, 1, 2, &batch), GNN_EINVALID, "got batch 2");
    ck_ok(source->get(source->user, GNN_VALIDATION, 1, 1, &batch));
    ck_assert_int_eq(batch.inputs.n_graphs, 2);
    gnn_source_free(source);
    gnn_source_free(NULL);
    free_machine(&m);
    free_machine(&one);
    gnn_data_free(data);
}
END_TEST

/* ---- memory ---- */

static int count_allocations(void *user, const gnn_progress_t *now)
{
    const int64_t made = gnn__fail_allocation(0);
    if (now->epoch > 30)
        *(int64_t *)user += made;
    return 0;
}

START_TEST(warm_batches_allocate_nothing)
{
    const gnn_sampling_t sampling = sampling_of("neighbours", GNN_OFF);
    int64_t made = 0;
    gnn_data_t *data = make_data();
    machine_t m = machine(_i, 1, true, 0.3);
    ck_ok(gnn_train(
        m.model, m.context, data,
        &(gnn_train_config_t){
            .epochs = 40, .sampling = &sampling, .callback = count_allocations, .user = &made},
        NULL));
    ck_assert_int_le(made, 2); /* of 60: a batch may be larger than all before */
    free_machine(&m);
    gnn_data_free(data);
}
END_TEST

START_TEST(failed_allocations)
{
    const gnn_sampling_t sampling = sampling_of("neighbours", GNN_OFF);
    gnn_data_t *data = make_data();
    machine_t m = machine(WEIGHTED, 1, true, 0);
    gnn_real_t numbers[NODES * CLASSES];
    const gnn_tensor_t out = gnn_tensor(numbers, NODES, CLASSES);
    int rc = GNN_EMEMORY;
    for (int64_t n = 1; rc != GNN_OK; n += 3) {
        gnn__fail_allocation(n);
        rc = gnn_train(m.model, m.context, data,
                       &(gnn_train_config_t){.epochs = 1, .sampling = &sampling}, NULL);
        gnn__fail_allocation(0);
        ck_assert_msg(rc == GNN_OK || rc == GNN_EMEMORY, "%d: %s", rc, gnn_error_message());
    }
    rc = GNN_EMEMORY;
    for (int64_t n = 1; rc != GNN_OK; n++) {
        gnn__fail_allocation(n);
        rc = gnn_predict_layers(m.model, m.context, data, 100, &out);
        gnn__fail_allocation(0);
        ck_assert_msg(rc == GNN_OK || rc == GNN_EMEMORY, "%d: %s", rc, gnn_error_message());
    }
    free_machine(&m);
    gnn_data_free(data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sampled_training");
    TCase *tests = tcase_create("sampled_training");
    int methods = 0;
    while (gnn_sampler_method_at((size_t)methods))
        methods++;
    tcase_set_timeout(tests, 600);
    tcase_add_loop_test(tests, threads_and_prefetch_train_the_same_weights, 0, methods * KINDS);
    tcase_add_test(tests, prefetch_is_on_with_a_free_processor);
    tcase_add_test(tests, prefetch_is_off_on_one_processor);
    tcase_add_test(tests, a_stopped_training_resumes_with_the_same_bits);
    tcase_add_loop_test(tests, full_neighbourhoods_train_like_the_whole_graph, 0, 2 * KINDS);
    tcase_add_loop_test(tests, training_on_samples_learns, 0, methods);
    tcase_add_loop_test(tests, chunked_inference_equals_one_pass, 0, 3 * KINDS);
    tcase_add_test(tests, invalid_chunks_are_refused);
    tcase_add_test(tests, invalid_batches_are_refused);
    tcase_add_loop_test(tests, warm_batches_allocate_nothing, 0, KINDS);
    tcase_add_test(tests, failed_allocations);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
