/* Estimates of memory: gnn_train_memory against the use of a training, and the components that
 * follow from a formula. */
#include "peak.h"

#include <lib/kernels/dense/dense.h>
#include <lib/train/train.h>

#include <malloc.h>

enum { NODES = 30000, LINKS = 300000, IN = 96, HIDDEN = 128, CLASSES = 5 };

/* A drawn graph; a third of the nodes in each part. */
static gnn_data_t *make_data(int64_t nodes, int64_t links)
{
    uint64_t state = 11;
    gnn_data_t *data;
    gnn_real_t *x = test_reals(nodes * IN, 3);
    int64_t *src = calloc((size_t)links, sizeof *src), *dst = calloc((size_t)links, sizeof *dst);
    int32_t *labels = calloc((size_t)nodes, sizeof *labels);
    uint8_t *masks = calloc((size_t)nodes, 3);
    for (int64_t k = 0; k < links; k++) {
        src[k] = test_below(&state, nodes);
        dst[k] = test_below(&state, nodes);
    }
    for (int64_t i = 0; i < nodes; i++) {
        labels[i] = (int32_t)(i % CLASSES);
        masks[i % 3 * nodes + i] = 1;
    }
    const gnn_tensor_t features = gnn_tensor(x, nodes, IN);
    gnn_split_t *split;
    ck_ok(gnn_split_from_masks(&split, nodes, 1, masks, masks + nodes, masks + 2 * nodes));
    ck_ok(gnn_data_new(&data, &(gnn_data_config_t){.nodes = nodes,
                                                   .edges = links,
                                                   .src = gnn_ints(src),
                                                   .dst = gnn_ints(dst),
                                                   .both_ways = GNN_ON,
                                                   .x = &features,
                                                   .labels = gnn_ints(labels),
                                                   .split = split}));
    gnn_split_free(split);
    free(x);
    free(src);
    free(dst);
    free(labels);
    free(masks);
    return data;
}

static gnn_model_t *make_model(gnn_context_t *context, const char *preset, bool blocks)
{
    gnn_model_t *model;
    gnn_step_t steps[2] = {{0}};
    for (int k = 0; k < 2; k++)
        steps[k] = (gnn_step_t){.layer = {.preset = gnn_preset_find(preset),
                                          .in = k ? HIDDEN : IN,
                                          .out = k ? CLASSES : HIDDEN,
                                          .activation = k ? GNN_IDENTITY : GNN_RELU,
                                          .dropout = (gnn_real_t)0.5},
                                .graph = blocks ? k : 0};
    ck_ok(gnn_model_from_steps(&model, context, 2, steps));
    return model;
}

/* ---- other properties ---- */

/* Buffers of the dense products' libraries are not counted, and touched only as far as a product
 * has rows: OpenBLAS lays out up to some 14,000 of them at once, 5 MB for each thread here. These
 * are the products of a training. */
static void warm_products(gnn_context_t *context)
{
    gnn_real_t *x = test_reals((int64_t)NODES * HIDDEN, 1),
               *y = test_reals((int64_t)NODES * HIDDEN, 2), *w = test_reals(HIDDEN * HIDDEN, 3);
    const gnn__product_t products[] = {
        {.m = NODES, .n = HIDDEN, .k = IN, .a = x, .lda = IN, .b = w, .ldb = HIDDEN, .c = y, .ldc = HIDDEN},
        {.m = NODES,
         .n = IN,
         .k = HIDDEN,
         .a = y,
         .lda = HIDDEN,
         .b = w,
         .ldb = HIDDEN,
         .transpose_b = true,
         .c = x,
         .ldc = IN},
        {.m = IN,
         .n = HIDDEN,
         .k = NODES,
         .a = x,
         .lda = IN,
         .transpose_a = true,
         .b = y,
         .ldb = HIDDEN,
         .c = w,
         .ldc = HIDDEN}};
    for (size_t k = 0; k < sizeof products / sizeof *products; k++) {
        gnn__product_t p = products[k];
        p.alpha = 1;
        ck_ok(gnn__dense(context, &p));
    }
    free(x);
    free(y);
    free(w);
}

/* The growth of the peak relative to the estimate, with views prepared. Samples differ, and growing
 * memory leaves holes. */
static void hold_against(const char *preset, const gnn_sampling_t *sampling)
{
    gnn_context_t *context;
    gnn_train_memory_t said;
    ck_ok(gnn_context_new(&context, &(gnn_context_config_t){.threads = 2}));
    gnn_data_t *data = make_data(NODES, LINKS);
    gnn_model_t *model = make_model(context, preset, sampling != NULL),
                *warm = make_model(context, preset, sampling != NULL);
    const gnn_train_config_t config = {.epochs = 2, .sampling = sampling};
    gnn_data_t *small = make_data(300, 600);
    ck_ok(gnn_train(warm, context, small, &config, NULL));
    warm_products(context);
    ck_ok(gnn_train_memory(model, context, data, &config, &said));
    malloc_trim(0);
    forget_peak();
    const size_t before = status_bytes("VmRSS:");
    ck_ok(gnn_train(model, context, data, &config, NULL));
    const size_t growth = status_bytes("VmHWM:") - before;
    const double share = (double)growth / (double)(said.total - said.views);
    printf("%s%s: said %zu kB (weights %zu, activations %zu, views %zu, batches %zu), grew by %zu kB\n",
           preset, sampling ? " on samples" : "", said.total / 1024, said.weights / 1024,
           said.activations / 1024, said.views / 1024, said.batches / 1024, growth / 1024);
    ck_assert_msg(sampling ? share > 0.7 && share < 1.4 : share > 0.9 && share < 1.1,
                  "%s took %.2f times what was said", preset, share);
    gnn_model_free(model);
    gnn_model_free(warm);
    gnn_data_free(small);
    gnn_data_free(data);
    gnn_context_free(context);
}

START_TEST(a_training_uses_the_estimated_memory)
{
    static const char *const presets[] = {"gcn", "sage", "gat"};
    static const int64_t fan_outs[] = {10, 5};
    const gnn_sampling_t sampling = {.sampler = {.hops = 2, .fan_outs = fan_outs}, .batch = 1024};
    if (!measurable("a_training_uses_the_estimated_memory"))
        return;
    hold_against(presets[_i % 3], _i < 3 ? NULL : &sampling);
}
END_TEST

/* ---- formulas ---- */

START_TEST(weights_follow_from_optimiser_and_parameters)
{
    gnn_context_t *context;
    gnn_train_memory_t said[3];
    int64_t length;
    ck_ok(gnn_context_new(&context, &(gnn_context_config_t){.threads = 1}));
    gnn_data_t *data = make_data(300, 600);
    gnn_model_t *model = make_model(context, "gcn", false);
    const gnn_optimizer_config_t kinds[] = {
        {.kind = GNN_SGD}, {.kind = GNN_SGD, .momentum = (gnn_real_t)0.9}, {.kind = GNN_ADAM}};
    gnn_parameters_block(gnn_model_parameters(model), 0, &length);
    for (int k = 0; k < 3; k++) {
        ck_ok(gnn_train_memory(model, context, data, &(gnn_train_config_t){.optimizer = kinds[k]},
                               &said[k]));
        ck_assert_uint_eq(said[k].weights, (size_t)(length * (2 + k)) * sizeof(gnn_real_t));
        ck_assert_uint_eq(said[k].total, said[k].weights + said[k].activations + said[k].views);
        ck_assert_uint_eq(said[k].activations, said[0].activations);
    }
    gnn_model_free(model);
    gnn_data_free(data);
    gnn_context_free(context);
}
END_TEST

/* A batch is drawn while another is learned from: the memory of two, features and graphs. */
START_TEST(samples_are_two_batches)
{
    static const int64_t fan_outs[] = {4, 3};
    enum { DRAWN = 4 }; /* batches that the estimate looks at */
    const gnn_sampling_t sampling = {.sampler = {.hops = 2, .fan_outs = fan_outs}, .batch = 32};
    const gnn_train_config_t config = {.sampling = &sampling};
    gnn_context_t *context;
    gnn_source_t *source;
    gnn_train_memory_t said;
    int64_t most_rows = 0;
    ck_ok(gnn_context_new(&context, &(gnn_context_config_t){.threads = 1}));
    gnn_data_t *data = make_data(600, 1200);
    gnn_model_t *model = make_model(context, "gcn", true);
    ck_ok(gnn_train_memory(model, context, data, &config, &said));
    ck_ok(gnn__batches_of_data(&source, model, context, data, &config));
    for (int part = GNN_TRAIN; part <= GNN_VALIDATION; part++)
        for (int64_t k = 0; k < DRAWN && k < source->count[part]; k++) {
            gnn_batch_t batch = {0};
            ck_ok(source->get(source->user, part, 1, k, &batch));
            const int64_t rows = batch.inputs.values[0].dense->rows;
            most_rows = rows > most_rows ? rows : most_rows;
        }
    ck_assert_uint_ge(said.batches, 2 * (size_t)(most_rows * IN) * sizeof(gnn_real_t));
    gnn_source_free(source);
    gnn_model_free(model);
    gnn_data_free(data);
    gnn_context_free(context);
}
END_TEST

START_TEST(nothing_is_changed_but_views)
{
    gnn_context_t *context;
    gnn_train_memory_t said;
    ck_ok(gnn_context_new(&context, &(gnn_context_config_t){.threads = 1, .seed = 3}));
    gnn_data_t *data = make_data(300, 600);
    gnn_model_t *a = make_model(context, "sage", false), *b = make_model(context, "sage", false);
    gnn_train_result_t one, two;
    ck_ok(gnn_train(a, context, data, &(gnn_train_config_t){.epochs = 3}, &one));
    ck_ok(gnn_train_memory(b, context, data, NULL, &said));
    ck_ok(gnn_train(b, context, data, &(gnn_train_config_t){.epochs = 3}, &two));
    ck_assert(one.train_loss == two.train_loss);
    gnn_model_free(a);
    gnn_model_free(b);
    gnn_data_free(data);
    gnn_context_free(context);
}
END_TEST

START_TEST(bad_inputs_are_errors)
{
    gnn_context_t *context;
    gnn_train_memory_t said = {.total = 7};
    ck_ok(gnn_context_new(&context, NULL));
    gnn_data_t *data = make_data(300, 600);
    gnn_model_t *model = make_model(context, "gcn", false);
    const gnn_sampling_t none = {.sampler = {.method = "no such"}};
    ck_assert_int_eq(gnn_train_memory(NULL, context, data, NULL, &said), GNN_EINVALID);
    ck_assert_int_eq(gnn_train_memory(model, NULL, data, NULL, &said), GNN_EINVALID);
    ck_assert_int_eq(gnn_train_memory(model, context, NULL, NULL, &said), GNN_EINVALID);
    ck_assert_int_eq(gnn_train_memory(model, context, data, NULL, NULL), GNN_EINVALID);
    ck_assert_int_eq(gnn_train_memory(model, context, data, &(gnn_train_config_t){.split = 4}, &said),
                     GNN_EINVALID);
    ck_assert_int_eq(
        gnn_train_memory(model, context, data, &(gnn_train_config_t){.sampling = &none}, &said),
        GNN_ENOTFOUND);
    ck_assert_uint_eq(said.total, 7);
    gnn_model_free(model);
    gnn_data_free(data);
    gnn_context_free(context);
}
END_TEST

/* ---- values that are computed again ---- */

enum { LAYERS = 16, WIDTH = 32, FEW = 300 };

static void add_sum(gnn_steps_t *steps, const char *name, const char *x, const char *y)
{
    ck_ok(gnn_steps_add(steps, &(gnn_step_t){.kind = GNN_STEP_ADD, .name = name, .inputs = {x, y}}));
}

/* Reversible layers (Kitaev et al. 2020): y1 = x1 + attention(x2), y2 = x2 + feed_forward(y1), with
 * dropout, batch norms and their running statistics. */
static gnn_model_t *make_deep(gnn_context_t *context)
{
    static char names[LAYERS + 1][6][16];
    gnn_steps_t *steps;
    gnn_model_t *model;
    ck_ok(gnn_steps_new(&steps));
    for (int k = 0; k < 2; k++) {
        snprintf(names[0][k], sizeof names[0][k], "x%d.0", k);
        ck_ok(gnn_steps_add(steps, &(gnn_step_t){.kind = GNN_STEP_LINEAR,
                                                 .name = names[0][k],
                                                 .inputs = {"x"},
                                                 .in = IN,
                                                 .out = WIDTH}));
    }
    for (int l = 1; l <= LAYERS; l++) {
        static const char *const kinds[] = {"x0", "x1", "a", "n", "g", "f"};
        for (int k = 0; k < 6; k++)
            snprintf(names[l][k], sizeof names[l][k], "%s.%d", kinds[k], l);
        ck_ok(gnn_steps_add(steps,
                            &(gnn_step_t){.name = names[l][2],
                                          .inputs = {names[l - 1][1]},
                                          .layer = GNN_TRANSFORMER(.in = WIDTH, .heads = 2,
                                                                   .feed_forward = 2 * WIDTH,
                                                                   .dropout = (gnn_real_t)0.2)}));
        add_sum(steps, names[l][0], names[l - 1][0], names[l][2]);
        ck_ok(gnn_steps_add(steps, &(gnn_step_t){.kind = GNN_STEP_NORM,
                                                 .name = names[l][3],
                                                 .norm = GNN_NORM_BATCH,
                                                 .in = WIDTH}));
        ck_ok(gnn_steps_add(
            steps, &(gnn_step_t){
                       .kind = GNN_STEP_LINEAR, .name = names[l][4], .in = WIDTH, .out = 2 * WIDTH}));
        ck_ok(gnn_steps_add(
            steps, &(gnn_step_t){
                       .kind = GNN_STEP_LINEAR, .name = names[l][5], .in = 2 * WIDTH, .out = WIDTH}));
        add_sum(steps, names[l][1], names[l - 1][1], names[l][5]);
    }
    add_sum(steps, "sum", names[LAYERS][0], names[LAYERS][1]);
    ck_ok(gnn_steps_add(steps, &(gnn_step_t){.kind = GNN_STEP_LINEAR, .in = WIDTH, .out = CLASSES}));
    ck_ok(gnn_model_build(&model, context, steps));
    gnn_steps_free(steps);
    return model;
}

typedef struct {
    gnn_real_t *weights;
    int64_t length;
    gnn_real_t running[2 * WIDTH];
    gnn_train_memory_t said;
    size_t used; /* bytes of a tape that trains */
} deep_t;

static size_t bytes_used(const gnn_model_t *model, gnn_context_t *context, gnn_data_t *data)
{
    gnn_tape_t *tape;
    const gnn_graph_t *graph = gnn_data_graph(data);
    gnn_real_t *rows = test_reals(FEW * IN, 3);
    const gnn_tensor_t features = gnn_tensor(rows, FEW, IN);
    const gnn_named_t x = {.name = "x", .dense = &features};
    const gnn_model_inputs_t inputs = {&graph, 1, &x, 1};
    ck_ok(gnn_tape_new(&tape, context));
    gnn_tape_reset(tape, 1, 1);
    const gnn_var_t y = gnn_model_record(model, tape, &inputs, NULL);
    gnn_tape_keep(tape, y);
    ck_ok(gnn_tape_forward(tape));
    ck_ok(gnn_tape_backward(tape, y, NULL));
    const size_t bytes = gnn_tape_bytes(tape);
    gnn_tape_free(tape);
    free(rows);
    return bytes;
}

static deep_t train_deep(int64_t segments)
{
    gnn_context_t *context;
    gnn_tensor_t running;
    deep_t d = {0};
    ck_ok(gnn_context_new(&context, &(gnn_context_config_t){.threads = 2, .seed = 3}));
    gnn_data_t *data = make_data(FEW, 4 * FEW);
    gnn_model_t *model = make_deep(context);
    const gnn_train_config_t config = {.epochs = 3, .watch = GNN_WATCH_NONE};
    ck_ok(gnn_model_set_recompute(model, segments));
    ck_ok(gnn_train_memory(model, context, data, &config, &d.said));
    ck_ok(gnn_train(model, context, data, &config, NULL));
    const gnn_real_t *block = gnn_parameters_block(gnn_model_parameters(model), 0, &d.length);
    d.weights = malloc((size_t)d.length * sizeof *block);
    memcpy(d.weights, block, (size_t)d.length * sizeof *block);
    ck_ok(gnn_model_buffer(model, gnn_model_buffer_name(model, 0), &running));
    memcpy(d.running, running.data, sizeof d.running);
    d.used = bytes_used(model, context, data);
    gnn_model_free(model);
    gnn_data_free(data);
    gnn_context_free(context);
    return d;
}

START_TEST(values_computed_again_take_less_memory_and_change_no_bit)
{
    static const int64_t segments[] = {2, 4, 8, 6 * LAYERS + 4};
    deep_t kept = train_deep(0);
    size_t before = kept.used;
    for (int k = 0; k < 4; k++) {
        deep_t again = train_deep(segments[k]);
        printf("%d layers, %d segments: said %zu kB of activations, a tape takes %zu kB (kept: %zu and %zu)\n",
               LAYERS, (int)segments[k], again.said.activations / 1024, again.used / 1024,
               kept.said.activations / 1024, kept.used / 1024);
        ck_assert_mem_eq(again.weights, kept.weights, (size_t)kept.length * sizeof *kept.weights);
        ck_assert_mem_eq(again.running, kept.running, sizeof kept.running);
        if (k < 2)
            ck_assert_uint_lt(again.used, before);
        ck_assert_double_eq_tol((double)(kept.said.activations - again.said.activations),
                                (double)(kept.used - again.used), 0.05 * (double)kept.used);
        before = again.used;
        free(again.weights);
    }
    free(kept.weights);
}
END_TEST

START_TEST(counts_of_segments_out_of_range_are_errors)
{
    gnn_context_t *context;
    ck_ok(gnn_context_new(&context, NULL));
    gnn_model_t *model = make_model(context, "gcn", false);
    ck_fails(gnn_model_set_recompute(model, 3), GNN_EINVALID, "3 segments of 2 steps");
    ck_fails(gnn_model_set_recompute(model, -1), GNN_EINVALID, "-1 segments");
    ck_fails(gnn_model_set_recompute(NULL, 0), GNN_EINVALID, "gnn_model_set_recompute");
    gnn_model_free(model);
    gnn_context_free(context);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("train_memory");
    TCase *measured = tcase_create("measured"), *formulas = tcase_create("formulas");
    tcase_set_timeout(measured, 300);
    tcase_add_loop_test(measured, a_training_uses_the_estimated_memory, 0, 6);
    tcase_add_test(formulas, weights_follow_from_optimiser_and_parameters);
    tcase_add_test(formulas, samples_are_two_batches);
    tcase_add_test(formulas, nothing_is_changed_but_views);
    tcase_add_test(formulas, values_computed_again_take_less_memory_and_change_no_bit);
    tcase_add_test(formulas, counts_of_segments_out_of_range_are_errors);
    tcase_add_test(formulas, bad_inputs_are_errors);
    suite_add_tcase(suite, measured);
    suite_add_tcase(suite, formulas);
    return test_main(suite);
}
