/* gnn_train with multi-label and regression targets, their metrics, and dropped edges and nodes. */
#include "one_context.h"

#include <lib/train/drop_edges.h>

enum { N = 80, FEATURES = 6 };

/* A ring with chords; targets are sums of a node's own features: their signs, or the values. */
static gnn_data_t *ring_set(bool numbers)
{
    int64_t src[2 * N], dst[2 * N];
    gnn_real_t *x = test_reals(N * FEATURES, 3), y[N * 2];
    gnn_data_t *data;
    for (int64_t i = 0; i < N; i++) {
        src[i] = src[N + i] = i;
        dst[i] = (i + 1) % N;
        dst[N + i] = (i + 7) % N;
        for (int c = 0; c < 2; c++) {
            const gnn_real_t sum = x[i * FEATURES + c] + x[i * FEATURES + 2 + c];
            y[i * 2 + c] = numbers ? sum : (gnn_real_t)(sum > 0);
        }
    }
    const gnn_tensor_t features = gnn_tensor(x, N, FEATURES);
    ck_ok(gnn_data_new(&data, &(gnn_data_config_t){.nodes = N,
                                                   .edges = 2 * N,
                                                   .src = gnn_ints(src),
                                                   .dst = gnn_ints(dst),
                                                   .both_ways = GNN_ON,
                                                   .x = &features}));
    ck_ok(gnn_data_array_set(
        data, GNN_ON_NODES,
        &(gnn_array_t){"y", GNN_DOUBLE ? GNN_DTYPE_FLOAT64 : GNN_DTYPE_FLOAT32, 2, {N, 2}, N * 2, y}));
    free(x);
    return data;
}

static gnn_model_t *new_model(void)
{
    gnn_model_t *model;
    ck_ok(gnn_model_new(
        &model, context, 2,
        (gnn_layer_config_t[]){GNN_SAGE(.in = FEATURES, .out = 16, .activation = GNN_RELU),
                               GNN_SAGE(.in = 16, .out = 2)}));
    return model;
}

static gnn_split_t *new_split(void)
{
    gnn_split_t *split;
    int8_t part[N];
    for (int i = 0; i < N; i++)
        part[i] = (int8_t)(i % 5 == 4 ? GNN_TEST : i % 5 == 3 ? GNN_VALIDATION : GNN_TRAIN);
    ck_ok(gnn_split_from_parts(&split, N, 1, part));
    return split;
}

/* Trains, and returns the validation metrics of the loop and of gnn_evaluate_targets. */
static double learn(gnn_data_t *data, gnn_model_t *model, gnn_train_config_t *config)
{
    gnn_train_result_t result;
    gnn_split_t *split = new_split();
    double value;
    config->targets = "y";
    config->splits = split;
    config->epochs = 150;
    config->optimizer.lr = (gnn_real_t)0.02;
    ck_ok(gnn_train(model, context, data, config, &result));
    ck_ok(gnn_evaluate_targets(model, context, data, "y", split, 0, GNN_VALIDATION, config->metric,
                               &value));
    ck_assert_double_eq_tol(value, result.validation_metric, 1e-5);
    ck_ok(gnn_evaluate_targets(model, context, data, "y", split, 0, GNN_TEST, config->metric, &value));
    gnn_split_free(split);
    return value;
}

START_TEST(several_labels_of_a_node_are_learned)
{
    gnn_data_t *data = ring_set(false);
    for (int kind = 0; kind < 2; kind++) {
        gnn_model_t *model = new_model();
        const double value =
            learn(data, model,
                  &(gnn_train_config_t){.loss = GNN_LOSS_BINARY_CROSS_ENTROPY,
                                        .metric = kind ? GNN_METRIC_MEAN_AUC : GNN_METRIC_MICRO_F1});
        ck_assert_msg(value > (kind ? 0.9 : 0.8), "%g", value);
        gnn_model_free(model);
    }
    gnn_data_free(data);
}
END_TEST

/* Of an error the smallest is kept: patience that took the largest would end at once. */
START_TEST(regression_targets_are_learned)
{
    gnn_data_t *data = ring_set(true);
    for (int kind = 0; kind < 2; kind++) {
        gnn_model_t *model = new_model();
        const double value =
            learn(data, model,
                  &(gnn_train_config_t){.loss = GNN_LOSS_MEAN_SQUARED,
                                        .metric = kind ? GNN_METRIC_RMSE : GNN_METRIC_MAE});
        ck_assert_msg(value < 0.4, "%g", value); /* the targets' own spread is 0.8 */
        gnn_model_free(model);
    }
    gnn_data_free(data);
}
END_TEST

/* All neighbours and all nodes at once are the whole graph's step, for an array as for one-hot
 * classes. */
START_TEST(samples_read_the_same_targets)
{
    static const int64_t all[] = {-1, -1};
    const gnn_sampling_t sampling = {.sampler = {.method = "around", .hops = 2, .fan_outs = all},
                                     .batch = N};
    gnn_data_t *data = ring_set(_i == 0);
    gnn_split_t *split = new_split();
    gnn_train_result_t result[2];
    for (int sampled = 0; sampled < 2; sampled++) {
        gnn_model_t *model;
        gnn_context_set_seed(context, 3);
        model = new_model();
        ck_ok(gnn_train(model, context, data,
                        &(gnn_train_config_t){.epochs = 5,
                                              .targets = "y",
                                              .splits = split,
                                              .watch = GNN_WATCH_LOSS,
                                              .loss = _i ? GNN_LOSS_BINARY_CROSS_ENTROPY
                                                         : GNN_LOSS_MEAN_SQUARED,
                                              .metric = _i ? GNN_METRIC_MICRO_F1 : GNN_METRIC_RMSE,
                                              .optimizer.lr = (gnn_real_t)0.02,
                                              .sampling = sampled ? &sampling : NULL},
                        &result[sampled]));
        gnn_model_free(model);
    }
    ck_assert_double_eq_tol(result[0].train_loss, result[1].train_loss, 1e-5);
    ck_assert_double_eq_tol(result[0].validation_loss, result[1].validation_loss, 1e-5);
    ck_assert_double_eq_tol(result[0].validation_metric, result[1].validation_metric, 1e-5);
    gnn_split_free(split);
    gnn_data_free(data);
}
END_TEST

START_TEST(careless_targets_are_refused)
{
    gnn_data_t *data = ring_set(true);
    gnn_model_t *model = new_model();
    gnn_split_t *split = new_split(), *fewer;
    double value;
    const struct {
        gnn_train_config_t config;
        int code;
        const char *words;
    } refused[] = {
        {{.targets = "z", .splits = split, .loss = GNN_LOSS_MEAN_SQUARED}, GNN_EINVALID, "\"z\""},
        {{.targets = "y", .splits = split}, GNN_EUNSUPPORTED, "not cross-entropy"},
        {{.targets = "y", .loss = GNN_LOSS_MEAN_SQUARED}, GNN_EINVALID, "no training nodes"},
        {{.drop_edge = 1, .targets = "y", .splits = split, .loss = GNN_LOSS_MEAN_SQUARED},
         GNN_EINVALID,
         "drop_edge = 1"},
    };
    for (size_t k = 0; k < sizeof refused / sizeof *refused; k++)
        ck_fails(gnn_train(model, context, data, &refused[k].config, NULL), refused[k].code,
                 refused[k].words);
    ck_fails(gnn_evaluate_targets(model, context, data, "y", NULL, 0, -1, GNN_METRIC_ACCURACY, &value),
             GNN_EINVALID, "got 0");
    ck_ok(gnn_split_new(&fewer, N - 1, 1));
    ck_fails(gnn_train(model, context, data,
                       &(gnn_train_config_t){
                           .targets = "y", .splits = fewer, .loss = GNN_LOSS_MEAN_SQUARED},
                       NULL),
             GNN_ESHAPE, "rows for");
    gnn_split_free(fewer);
    gnn_split_free(split);
    gnn_model_free(model);
    gnn_data_free(data);
}
END_TEST

/* ---- dropping ---- */

/* The fraction of kept edges is as expected; both directions are dropped together; draws are the
 * same for the same epoch. */
START_TEST(edges_are_dropped_in_both_directions)
{
    gnn_data_t *data = ring_set(true);
    const gnn_graph_t *whole = gnn_data_graph(data);
    gnn__drop_t drop, again;
    int64_t src[4 * N], dst[4 * N], total = 0;
    const double rates[2][2] = {{0.3, 0}, {0, 0.2}};
    ck_ok(gnn__drop_open(&drop, whole, rates[_i][0], rates[_i][1], 5));
    ck_ok(gnn__drop_open(&again, whole, rates[_i][0], rates[_i][1], 5));
    for (int epoch = 1; epoch <= 20; epoch++) {
        uint8_t is[N][N] = {{0}};
        ck_ok(gnn__drop_draw(&drop, epoch));
        ck_ok(gnn__drop_draw(&again, epoch));
        ck_assert_int_eq(drop.count, again.count);
        ck_assert_mem_eq(drop.kept, again.kept, sizeof *drop.kept * (size_t)drop.count);
        ck_ok(gnn_graph_pairs(drop.graph, src, dst, NULL));
        for (int64_t k = 0; k < drop.count; k++)
            is[src[k]][dst[k]] = 1;
        for (int64_t k = 0; k < drop.count; k++)
            ck_assert(is[dst[k]][src[k]]);
        ck_ok(gnn_graph_pairs(whole, src, dst, NULL));
        total += drop.count;
    }
    const double share = (double)total / (20.0 * 4 * N), expected = _i ? 0.64 : 0.7;
    ck_assert_msg(fabs(share - expected) < 0.04, "%g of the edges stay, expected %g", share,
                  expected);
    gnn__drop_close(&drop);
    gnn__drop_close(&again);
    gnn_data_free(data);
}
END_TEST

/* With rows on edges, which must follow the remaining edges; results differ from those without
 * dropping. */
START_TEST(training_without_some_edges)
{
    gnn_data_t *data = ring_set(true);
    double values[3];
    gnn_real_t *weight = test_reals(4 * N, 8);
    for (int k = 0; k < 4 * N; k++)
        weight[k] += 2;
    ck_ok(gnn_data_array_set(
        data, GNN_ON_EDGES,
        &(gnn_array_t){
            "weight", GNN_DOUBLE ? GNN_DTYPE_FLOAT64 : GNN_DTYPE_FLOAT32, 1, {4 * N}, 4 * N, weight}));
    for (int kind = 0; kind < 3; kind++) {
        gnn_model_t *model;
        gnn_context_set_seed(context, 4);
        ck_ok(gnn_model_from_steps(
            &model, context, 3,
            (gnn_step_t[]){{.name = "heard",
                            .layer = GNN_GCN(.in = FEATURES, .out = 16, .activation = GNN_RELU),
                            .edge_weight = "weight"},
                           {.kind = GNN_STEP_CONCAT, .inputs = {NULL, "x"}},
                           {.kind = GNN_STEP_LINEAR, .in = 16 + FEATURES, .out = 2}}));
        values[kind] = learn(data, model,
                             &(gnn_train_config_t){.loss = GNN_LOSS_MEAN_SQUARED,
                                                   .metric = GNN_METRIC_MAE,
                                                   .drop_edge = kind ? (gnn_real_t)0.3 : 0,
                                                   .drop_node = kind ? (gnn_real_t)0.1 : 0});
        ck_assert_msg(values[kind] < 0.4, "%g", values[kind]);
        gnn_model_free(model);
    }
    ck_assert(values[1] == values[2] && values[0] != values[1]);
    gnn_data_free(data);
    free(weight);
}
END_TEST

/* ---- metrics: figures of scikit-learn ---- */

START_TEST(metrics_of_targets_match_scikit_learn)
{
    const gnn_tensor_t
        logits = gnn_tensor((gnn_real_t[]){(gnn_real_t)0.5, -1, 2, (gnn_real_t)-0.2,
                                           (gnn_real_t)0.3, 1, (gnn_real_t)1.5, (gnn_real_t)0.25,
                                           -2, (gnn_real_t)-0.7, (gnn_real_t)-0.1, (gnn_real_t)0.4,
                                           (gnn_real_t)0.1, (gnn_real_t)0.9, (gnn_real_t)-0.3},
                            5, 3),
        labels = gnn_tensor((gnn_real_t[]){1, 0, 1, 0, 0, 1, 1, 1, 0, 1, 0, 0, 0, 1, 1}, 5, 3),
        y = gnn_tensor(
            (gnn_real_t[]){(gnn_real_t)0.5, (gnn_real_t)1.25, -1, 2, 3, (gnn_real_t)-0.75}, 3, 2),
        t = gnn_tensor((gnn_real_t[]){(gnn_real_t)0.25, 1, 1, (gnn_real_t)2.5, 2, -1}, 3, 2);
    const uint8_t first[] = {1, 0, 0}, none[] = {0, 0, 0};
    ck_assert_double_eq_tol(gnn_metric_of_targets(GNN_METRIC_MICRO_F1, &logits, &labels, NULL),
                            0.7058823529411765, 1e-12);
    ck_assert_double_eq_tol(gnn_metric_of_targets(GNN_METRIC_MEAN_AUC, &logits, &labels, NULL),
                            0.7777777777777777, 1e-12);
    ck_assert_double_eq_tol(gnn_metric_of_targets(GNN_METRIC_MAE, &y, &t, NULL), 0.7083333333333333,
                            1e-12);
    ck_assert_double_eq_tol(gnn_metric_of_targets(GNN_METRIC_RMSE, &y, &t, NULL),
                            0.9519716382329886, 1e-12);
    ck_assert_double_eq_tol(gnn_metric_of_targets(GNN_METRIC_MAE, &y, &t, first), 0.25, 1e-12);
    ck_assert(isnan(gnn_metric_of_targets(GNN_METRIC_MAE, &y, &t, none)) &&
              isnan(gnn_metric_of_targets(GNN_METRIC_RMSE, &y, &logits, NULL)));
    ck_assert_double_eq_tol(gnn_metric_of_targets(GNN_METRIC_R2, &y, &t, NULL), -0.6722972972972976,
                            1e-12);
    ck_assert(isnan(gnn_metric_of_targets(GNN_METRIC_R2, &y, &t, first)) &&
              isnan(gnn_metric_of_targets(GNN_METRIC_R2, &y, &logits, NULL)));
    ck_assert(isnan(gnn_metric_of_targets(GNN_METRIC_MICRO_F1, &y, &logits, NULL)));
    ck_assert(isnan(gnn_metric_of_targets(GNN_METRIC_MEAN_AUC, &y, NULL, NULL)));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("targets");
    TCase *tests = tcase_create("targets");
    tcase_set_timeout(tests, 120);
    tcase_add_checked_fixture(tests, open_context, close_context);
    tcase_add_test(tests, several_labels_of_a_node_are_learned);
    tcase_add_test(tests, regression_targets_are_learned);
    tcase_add_loop_test(tests, samples_read_the_same_targets, 0, 2);
    tcase_add_test(tests, careless_targets_are_refused);
    tcase_add_loop_test(tests, edges_are_dropped_in_both_directions, 0, 2);
    tcase_add_test(tests, training_without_some_edges);
    tcase_add_test(tests, metrics_of_targets_match_scikit_learn);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
