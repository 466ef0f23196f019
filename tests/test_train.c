/* The training loop: stopping, the best weights, non-finite losses, memory, the same bits. */
#include "train_small.h"

START_TEST(early_stopping_restores_the_best_weights)
{
    const gnn_watch_t watches[] = {GNN_WATCH_LOSS, GNN_WATCH_METRIC, GNN_WATCH_LOSS_OR_METRIC};
    gnn_watch_t watch = watches[_i % 3];
    small_t *s = small_new(11 + (uint64_t)_i);
    diary_t diary = {.small = s};
    gnn_train_result_t result;
    gnn_source_t source = small_source(s);
    ck_ok(gnn_train_batches(s->model, context, &source,
                            &(gnn_train_config_t){.epochs = EPOCHS,
                                                  .optimizer.lr = (gnn_real_t)0.05,
                                                  .patience = 12,
                                                  .watch = watch,
                                                  .callback = write_down,
                                                  .user = &diary},
                            &result));
    int64_t best, last;
    expected_stop(&diary, watch, 12, &best, &last);
    ck_assert_int_eq(result.best_epoch, best);
    ck_assert_int_eq(result.epochs, last);
    ck_assert_int_lt(result.epochs, EPOCHS);
    ck_assert_int_lt(result.best_epoch, result.epochs);
    ck_assert(weights_are(s->model, diary.best));
    ck_assert_double_eq(result.validation_loss, diary.loss[best]);
    ck_assert_double_eq(result.validation_metric, diary.metric[best]);
    free(diary.best);
    small_free(s);
}
END_TEST

START_TEST(ties_of_metrics_are_broken_by_the_loss)
{
    small_t *s = small_new(5);
    gnn__best_t best;
    ck_ok(gnn__best_open(&best, s->model));
    ck_assert(gnn__best_update(&best, GNN_WATCH_METRIC, 0.5, 0.8));
    ck_assert(!gnn__best_update(&best, GNN_WATCH_METRIC, 0.3, 0.7));
    ck_assert(gnn__best_update(&best, GNN_WATCH_METRIC, 0.4,
                               0.8)); /* below the loss of the kept epoch, not below the lowest */
    ck_assert_int_eq(best.stale, 2);  /* patience asks for a better metric */
    ck_assert(!gnn__best_update(&best, GNN_WATCH_METRIC, 0.45, 0.8));
    gnn__best_close(&best);
    small_free(s);
}
END_TEST

START_TEST(callback_stops_with_the_best_weights)
{
    small_t *s = small_new(5);
    diary_t diary = {.small = s, .stop_at = 7};
    gnn_train_result_t result;
    gnn_source_t source = small_source(s);
    ck_ok(gnn_train_batches(
        s->model, context, &source,
        &(gnn_train_config_t){.epochs = 20, .callback = write_down, .user = &diary}, &result));
    ck_assert_int_eq(result.epochs, 7);
    ck_assert_int_eq(s->steps, 7 * BATCHES);
    ck_assert(weights_are(s->model, diary.best));
    free(diary.best);
    small_free(s);
}
END_TEST

/* The stop flag is set while batch 1 of epoch 3 is fetched (_i 0) or in a callback (_i 1): the
 * running step is finished, no other starts. */
START_TEST(stop_flag_finishes_the_step)
{
    small_t *s = small_new(5);
    diary_t diary = {.small = s, .stop_at = _i ? 3 : -1, .set_stop = 1};
    gnn_train_result_t result;
    gnn_source_t source = small_source(s);
    s->stop_at_step = _i ? 0 : 2 * BATCHES + 1;
    gnn_train_config_t config = {.epochs = 20,
                                 .watch = _i ? GNN_WATCH_LOSS : GNN_WATCH_NONE,
                                 .callback = write_down,
                                 .user = &diary,
                                 .stop = &s->stop};
    ck_fails(gnn_train_batches(s->model, context, &source, &config, &result), GNN_ESTOPPED,
             _i ? "after step 6" : "after step 5");
    ck_assert_int_eq(s->steps, _i ? 3 * BATCHES : 2 * BATCHES + 1);
    ck_assert_int_eq(result.epochs, _i ? 3 : 2);
    ck_assert_int_eq(weights_are(s->model, diary.best),
                     _i); /* the fifth step moved the weights once more */
    free(diary.best);
    small_free(s);
}
END_TEST

static void bad_loss(small_t *s, const char *words)
{
    int64_t count;
    gnn_real_t *before = weights_of(s->model, &count);
    gnn_source_t source = small_source(s);
    ck_fails(gnn_train_batches(s->model, context, &source,
                               &(gnn_train_config_t){.epochs = 5, .watch = GNN_WATCH_LOSS}, NULL),
             GNN_ENUMERIC, words);
    ck_assert(weights_are(s->model, before));
    free(before);
}

START_TEST(nan_losses_are_named_and_the_best_weights_kept)
{
    small_t *s = small_new(5);
    gnn_tensor_t weight = gnn_parameters_value(gnn_model_parameters(s->model), 0);
    gnn_real_t good = weight.data[5];
    weight.data[5] = (gnn_real_t)INFINITY;
    char words[200];
    snprintf(words, sizeof words, "parameter \"%s\"",
             gnn_parameters_name(gnn_model_parameters(s->model), 0));
    bad_loss(s, words);
    weight.data[5] = good;
    gnn_real_t *x = s->x[GNN_TRAIN][1].data + 9;
    gnn_real_t was = *x;
    *x = (gnn_real_t)NAN;
    bad_loss(s, "input: x");
    *x = was;
    /* Finite weights whose product is not: the step of the model is named. */
    const gnn_tensor_t table = gnn_parameters_value(gnn_model_parameters(s->model), 0);
    gnn_real_t *kept = malloc(sizeof *kept * (size_t)(table.rows * table.cols));
    for (int64_t k = 0; k < table.rows * table.cols; k++) {
        kept[k] = gnn__row(&table, k / table.cols)[k % table.cols];
        gnn__row(&table, k / table.cols)[k % table.cols] =
            GNN_DOUBLE ? (gnn_real_t)1e308 : (gnn_real_t)3e38;
    }
    bad_loss(s, "epoch 1, step 1: the training loss is");
    bad_loss(s, "the first tensor that is not finite is the output of step \"0\" (");
    for (int64_t k = 0; k < table.rows * table.cols; k++)
        gnn__row(&table, k / table.cols)[k % table.cols] = kept[k];
    free(kept);
    s->loss = GNN_LOSS_MEAN_SQUARED;
    for (int k = 0; k < ROWS * CLASSES; k++)
        s->target_numbers[k] = GNN_DOUBLE ? (gnn_real_t)1e200 : (gnn_real_t)1e30;
    bad_loss(s, "the first tensor that is not finite is the loss");
    small_free(s);
}
END_TEST

static int count_allocations(void *user, const gnn_progress_t *now)
{
    ((diary_t *)user)->allocations[now->epoch] = gnn__fail_allocation(0);
    return 0;
}

START_TEST(nothing_is_allocated_after_the_second_epoch)
{
    small_t *s = small_new(5);
    gnn_source_t source = small_source(s);
    diary_t diary = {.small = s};
    gnn_train_config_t config = {
        .epochs = 12, .metric = GNN_METRIC_MACRO_F1, .callback = count_allocations, .user = &diary};
    ck_ok(gnn_train_batches(s->model, context, &source, &config, NULL));
    for (int epoch = 3; epoch <= 12; epoch++)
        ck_assert_int_eq(diary.allocations[epoch], 0);
    ck_assert_int_gt(diary.allocations[1], 0);
    small_free(s);
}
END_TEST

START_TEST(invalid_settings_of_the_loop_are_refused)
{
    small_t *s = small_new(5);
    gnn_source_t source = small_source(s), blind = source, empty = source;
    blind.count[GNN_VALIDATION] = 0;
    empty.count[GNN_TRAIN] = 0;
    ck_fails(gnn_train_batches(s->model, context, &empty, NULL, NULL), GNN_EINVALID, "0 training");
    const gnn_train_config_t patient = {.patience = 3}, backward = {.epochs = -1};
    const gnn_train_config_t stepless = {.schedule = {.kind = GNN_SCHEDULE_STEP}};
    const gnn_train_config_t watching = {.watch = GNN_WATCH_METRIC};
    ck_fails(gnn_train_batches(s->model, context, &blind, &patient, NULL), GNN_EINVALID,
             "needs validation batches");
    ck_fails(gnn_train_batches(s->model, context, &source, &backward, NULL), GNN_EINVALID,
             "epochs is -1");
    ck_fails(gnn_train_batches(s->model, context, &source, &stepless, NULL), GNN_EINVALID, "period");
    s->loss = GNN_LOSS_MEAN_SQUARED;
    ck_fails(gnn_train_batches(s->model, context, &source, &watching, NULL), GNN_EINVALID,
             "no labels");
    ck_ok(gnn_train_batches(s->model, context, &source, &(gnn_train_config_t){.epochs = 2}, NULL));
    gnn_train_result_t result;
    ck_ok(gnn_train_batches(s->model, context, &blind, &(gnn_train_config_t){.epochs = 4}, &result));
    ck_assert_int_eq(result.best_epoch, 4);
    ck_assert_double_nan(result.validation_loss);
    small_free(s);
}
END_TEST

/* ---- node classification ---- */

/* A graph of four blocks with mostly inner edges, large enough that kernels use all threads. */
static gnn_data_t *blocks(int64_t n, int64_t features)
{
    gnn_data_t *d = NULL;
    uint64_t state = 23;
    int64_t m = 6 * n, *src = malloc(sizeof *src * (size_t)m), *dst = malloc(sizeof *dst * (size_t)m);
    int32_t *labels = malloc(sizeof *labels * (size_t)n);
    uint8_t *masks = calloc(3, (size_t)n);
    gnn_tensor_t x = gnn_tensor(test_reals(n * features, 31), n, features);
    for (int64_t k = 0; k < m; k++) {
        dst[k] = k % n;
        src[k] = (int64_t)(fabs(test_uniform(&state)) * (double)n) % n;
        if (test_uniform(&state) < 0.4)
            src[k] = (src[k] / 4 * 4 + dst[k] % 4) % n;
    }
    for (int64_t i = 0; i < n; i++) {
        labels[i] = (int32_t)(i % 4);
        masks[i / 4 % 3 * n + i] = 1;
    }
    for (int64_t i = 0; i < n; i += 3)
        gnn__row(&x, i)[i % 4] += 1;
    gnn_split_t *split;
    ck_ok(gnn_split_from_masks(&split, n, 1, masks, masks + n, masks + 2 * n));
    ck_ok(gnn_data_new(&d, &(gnn_data_config_t){.nodes = n,
                                                .edges = m,
                                                .src = gnn_ints(src),
                                                .dst = gnn_ints(dst),
                                                .x = &x,
                                                .labels = gnn_ints(labels),
                                                .split = split}));
    gnn_split_free(split);
    free(x.data);
    free(src);
    free(dst);
    free(labels);
    free(masks);
    return d;
}

static gnn_model_t *new_gat(gnn_context_t *with, int64_t in, int64_t classes)
{
    gnn_model_t *gat;
    ck_ok(gnn_model_new(
        &gat, with, 2,
        (gnn_layer_config_t[]){GNN_GAT(.in = in, .out = 8, .heads = 4, .activation = GNN_ELU,
                                       .dropout = (gnn_real_t)0.4),
                               GNN_GAT(.in = 32, .out = classes, .dropout = (gnn_real_t)0.4)}));
    return gat;
}

/* Trains a GAT with dropout from a seed on some threads and returns all its weights. */
static gnn_real_t *trained(gnn_data_t *data, int threads, uint64_t seed, int64_t *count,
                           double *accuracy)
{
    gnn_context_t *with;
    ck_ok(gnn_context_new(
        &with, &(gnn_context_config_t){.threads = threads, .seed = seed, .deterministic = GNN_ON}));
    gnn_model_t *gat = new_gat(with, gnn_data_features(data), gnn_data_classes(data));
    ck_ok(gnn_train(gat, with, data,
                    &(gnn_train_config_t){.epochs = 12, .optimizer.weight_decay = (gnn_real_t)5e-4},
                    NULL));
    ck_ok(gnn_evaluate(gat, with, data, 0, GNN_TEST, GNN_METRIC_ACCURACY, accuracy));
    gnn_real_t *weights = weights_of(gat, count);
    gnn_model_free(gat);
    gnn_context_free(with);
    return weights;
}

START_TEST(same_seed_same_bits_on_one_two_and_four_threads)
{
    gnn_data_t *data = blocks(1500, 48);
    int64_t count;
    double accuracy, again;
    gnn_real_t *first = trained(data, 1, 7, &count, &accuracy);
    for (int k = 0; k < 3; k++) {
        gnn_real_t *other = trained(data, 1 << k, 7, &count, &again);
        ck_assert_msg(memcmp(first, other, sizeof *first * (size_t)count) == 0,
                      "%d threads differ from one", 1 << k);
        ck_assert_double_eq(accuracy, again);
        free(other);
    }
    gnn_real_t *other = trained(data, 1, 8, &count, &again);
    ck_assert(memcmp(first, other, sizeof *first * (size_t)count) != 0);
    ck_assert_double_gt(accuracy, 0.3); /* chance is 0.25 */
    free(other);
    free(first);
    gnn_data_free(data);
}
END_TEST

START_TEST(node_training_allocates_nothing_after_the_second_epoch)
{
    gnn_data_t *data = blocks(200, 12);
    gnn_model_t *gat = new_gat(context, 12, 4);
    diary_t diary = {0};
    ck_ok(gnn_train(gat, context, data,
                    &(gnn_train_config_t){.epochs = 8,
                                          .metric = _i ? GNN_METRIC_MACRO_F1 : GNN_METRIC_ACCURACY,
                                          .callback = count_allocations,
                                          .user = &diary},
                    NULL));
    for (int epoch = 3; epoch <= 8; epoch++)
        ck_assert_int_eq(diary.allocations[epoch], 0);
    gnn_model_free(gat);
    gnn_data_free(data);
}
END_TEST

/* The result of a program that was compiled with another version: fewer members, or more. */
START_TEST(evaluate_is_the_metric_of_predict)
{
    gnn_data_t *data = blocks(120, 12);
    gnn_model_t *gat = new_gat(context, 12, 4);
    gnn_tensor_t out = gnn_tensor(calloc(120 * 4, sizeof(gnn_real_t)), 120, 4);
    double value;
    ck_fails(gnn_evaluate(gat, context, data, 0, GNN_TEST, GNN_METRIC_ACCURACY, &value),
             GNN_EUNPREPARED, "");
    ck_ok(gnn_train(gat, context, data,
                    &(gnn_train_config_t){
                        .epochs = 20, .optimizer = {.clip_norm = 1}, .schedule = {.warmup = 5}},
                    NULL));
    ck_ok(gnn_model_predict(gat, context, gnn_data_graph(data), gnn_data_x(data), NULL, &out));
    ck_ok(gnn_evaluate(gat, context, data, 0, GNN_TEST, GNN_METRIC_ACCURACY, &value));
    ck_assert_double_eq(value, gnn_metric(GNN_METRIC_ACCURACY, &out, gnn_data_labels(data),
                                          gnn_data_mask(data, GNN_TEST, 0)));
    ck_ok(gnn_evaluate(gat, context, data, 0, GNN_TRAIN, GNN_METRIC_MACRO_F1, &value));
    ck_assert_double_eq(value, gnn_metric(GNN_METRIC_MACRO_F1, &out, gnn_data_labels(data),
                                          gnn_data_mask(data, GNN_TRAIN, 0)));
    ck_fails(gnn_evaluate(gat, context, data, 1, GNN_TEST, GNN_METRIC_ACCURACY, &value),
             GNN_EINVALID, "split 1");
    const gnn_train_config_t c = {.split = -1};
    ck_fails(gnn_train(gat, context, data, &c, NULL), GNN_EINVALID, "split -1");
    free(out.data);
    gnn_model_free(gat);
    gnn_data_free(data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("train");
    TCase *c = tcase_create("train");
    tcase_set_timeout(c, 300);
    tcase_add_checked_fixture(c, open_context, close_context);
    tcase_add_loop_test(c, early_stopping_restores_the_best_weights, 0, 30);
    tcase_add_test(c, ties_of_metrics_are_broken_by_the_loss);
    tcase_add_test(c, callback_stops_with_the_best_weights);
    tcase_add_loop_test(c, stop_flag_finishes_the_step, 0, 2);
    tcase_add_test(c, nan_losses_are_named_and_the_best_weights_kept);
    tcase_add_test(c, nothing_is_allocated_after_the_second_epoch);
    tcase_add_test(c, invalid_settings_of_the_loop_are_refused);
    tcase_add_test(c, same_seed_same_bits_on_one_two_and_four_threads);
    tcase_add_loop_test(c, node_training_allocates_nothing_after_the_second_epoch, 0, 2);
    tcase_add_test(c, evaluate_is_the_metric_of_predict);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
