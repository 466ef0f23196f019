/* What the training loop promises: stopping, the best weights, bad numbers, memory, the same bits. */
#include "train_small.h"

#include <lib/train/train.h>

/* ---- node classification ---- */

/* A graph of four blocks whose nodes mostly hear their own block, large enough that kernels use all threads. */
static gnn_data_t *blocks(int64_t n, int64_t features)
{
    gnn_data_t *d = calloc(1, sizeof *d);
    uint64_t state = 23;
    int64_t m = 6 * n, *src = malloc(sizeof *src * (size_t)m), *dst = malloc(sizeof *dst * (size_t)m);
    *d = (gnn_data_t){.n = n,
                      .features = features,
                      .classes = 4,
                      .n_splits = 1,
                      .labels = malloc(sizeof(int32_t) * (size_t)n)};
    for (int64_t k = 0; k < m; k++) {
        dst[k] = k % n;
        src[k] = (int64_t)(fabs(test_uniform(&state)) * (double)n) % n;
        if (test_uniform(&state) < 0.4)
            src[k] = (src[k] / 4 * 4 + dst[k] % 4) % n;
    }
    ck_ok(gnn_graph_from_edges(&d->graph, n, n, m, src, dst));
    d->x = gnn_tensor(test_reals(n * features, 31), n, features);
    for (int64_t i = 0; i < n; i++)
        d->labels[i] = (int32_t)(i % 4);
    for (int64_t i = 0; i < n; i += 3)
        gnn__row(&d->x, i)[i % 4] += 1;
    for (int part = 0; part < 3; part++) {
        d->masks[part] = malloc(sizeof(uint8_t *));
        d->masks[part][0] = calloc((size_t)n, 1);
        for (int64_t i = 0; i < n; i++)
            d->masks[part][0][i] = i / 4 % 3 == part;
    }
    free(src);
    free(dst);
    return d;
}

static void blocks_free(gnn_data_t *d)
{
    gnn_graph_free(d->graph);
    free(d->x.data);
    free(d->labels);
    for (int part = 0; part < 3; part++) {
        free(d->masks[part][0]);
        free(d->masks[part]);
    }
    free(d);
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

/* Trains a GAT with dropout from a seed on some threads and returns all its numbers. */
static gnn_real_t *trained(gnn_data_t *data, int threads, uint64_t seed, int64_t *count,
                           double *accuracy)
{
    gnn_context_t *with;
    ck_ok(gnn_context_new(
        &with, &(gnn_context_config_t){.threads = threads, .seed = seed, .deterministic = GNN_ON}));
    gnn_model_t *gat = new_gat(with, data->features, data->classes);
    ck_ok(gnn_train(gat, with, data,
                    &(gnn_train_config_t){.epochs = 12, .weight_decay = (gnn_real_t)5e-4}, NULL));
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
    blocks_free(data);
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
    blocks_free(data);
}
END_TEST

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
    ck_ok(gnn_model_predict(gat, context, data->graph, &data->x, NULL, &out));
    ck_ok(gnn_evaluate(gat, context, data, 0, GNN_TEST, GNN_METRIC_ACCURACY, &value));
    ck_assert_double_eq(value, gnn_metric_accuracy(&out, data->labels, data->masks[GNN_TEST][0]));
    ck_ok(gnn_evaluate(gat, context, data, 0, GNN_TRAIN, GNN_METRIC_MACRO_F1, &value));
    ck_assert_double_eq(value, gnn_metric_macro_f1(&out, data->labels, data->masks[GNN_TRAIN][0]));
    ck_fails(gnn_evaluate(gat, context, data, 1, GNN_TEST, GNN_METRIC_ACCURACY, &value),
             GNN_EINVALID, "split 1");
    const gnn_train_config_t c = {.split = -1};
    ck_fails(gnn_train(gat, context, data, &c, NULL), GNN_EINVALID, "split -1");
    free(out.data);
    gnn_model_free(gat);
    blocks_free(data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("train");
    TCase *c = tcase_create("train");
    tcase_set_timeout(c, 300);
    tcase_add_checked_fixture(c, open_context, close_context);
    tcase_add_loop_test(c, early_stopping_restores_the_best_weights, 0, 30);
    tcase_add_test(c, equal_metrics_are_decided_by_the_loss);
    tcase_add_test(c, callback_stops_and_the_best_weights_stay);
    tcase_add_loop_test(c, stop_flag_finishes_the_step, 0, 2);
    tcase_add_test(c, bad_numbers_are_named_and_the_last_good_weights_kept);
    tcase_add_test(c, nothing_is_allocated_after_the_second_epoch);
    tcase_add_test(c, loop_refuses_what_makes_no_sense);
    tcase_add_test(c, same_seed_same_bits_on_one_two_and_four_threads);
    tcase_add_loop_test(c, node_training_allocates_nothing_after_the_second_epoch, 0, 2);
    tcase_add_test(c, evaluate_is_the_metric_of_predict);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
