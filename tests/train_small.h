/* The small network that the suite of the training loop trains. Included by test_train.c only. */
#ifndef GNN_TESTS_TRAIN_SMALL_H
#define GNN_TESTS_TRAIN_SMALL_H

#include "support.h"

static gnn_context_t *context;

static void open_context(void)
{
    ck_ok(gnn_context_new(&context, &(gnn_context_config_t){.threads = 2, .seed = 3}));
}

static void close_context(void)
{
    gnn_context_free(context);
}

/* ---- a small network with batch norm and dropout and no graph ---- */

enum { ROWS = 24, IN = 4, CLASSES = 3, BATCHES = 2 };

typedef struct {
    gnn_model_t *model;
    gnn_real_t *numbers;
    gnn_tensor_t x[2][BATCHES];
    int32_t labels[2][BATCHES][ROWS];
    gnn_named_t named;
    gnn_loss_kind_t loss;
    gnn_tensor_t targets;
    gnn_real_t target_numbers[ROWS * CLASSES];
    volatile int stop;
    int stop_at_step, steps;
} small_t;

static int small_get(void *user, int part, int64_t epoch, int64_t index, gnn_batch_t *batch)
{
    small_t *s = user;
    ck_assert(epoch >= 1 && index < BATCHES);
    s->named = (gnn_named_t){.name = "x", .dense = &s->x[part][index]};
    batch->inputs = (gnn_model_inputs_t){.values = &s->named, .n_values = 1};
    batch->loss =
        (gnn_loss_t){.kind = s->loss,
                     .labels = s->loss == GNN_LOSS_CROSS_ENTROPY ? s->labels[part][index] : NULL,
                     .targets = &s->targets};
    if (part == GNN_TRAIN && ++s->steps == s->stop_at_step)
        s->stop = 1;
    return GNN_OK;
}

/* Labels follow the first features, with noise, so that validation first improves and then does not. */
static small_t *small_new(uint64_t seed)
{
    small_t *s = calloc(1, sizeof *s);
    uint64_t state = seed;
    s->numbers = test_reals((int64_t)2 * BATCHES * ROWS * IN, seed);
    for (int part = 0; part < 2; part++)
        for (int b = 0; b < BATCHES; b++) {
            s->x[part][b] = gnn_tensor(s->numbers + (part * BATCHES + b) * ROWS * IN, ROWS, IN);
            for (int r = 0; r < ROWS; r++) {
                const gnn_real_t *x = gnn__row(&s->x[part][b], r);
                s->labels[part][b][r] = test_uniform(&state) > 0.2 ? r % CLASSES
                                        : x[0] > x[1]              ? 0
                                        : x[2] > 0                 ? 1
                                                                   : 2;
            }
        }
    s->targets = gnn_tensor(s->target_numbers, ROWS, CLASSES);
    ck_ok(gnn_model_from_steps(
        &s->model, context, 5,
        (gnn_step_t[]){{.kind = GNN_STEP_LINEAR, .in = IN, .out = 16},
                       {.kind = GNN_STEP_NORM, .in = 16, .norm = GNN_NORM_BATCH},
                       {.kind = GNN_STEP_ACTIVATION, .activation = GNN_RELU},
                       {.kind = GNN_STEP_DROPOUT, .rate = (gnn_real_t)0.3},
                       {.kind = GNN_STEP_LINEAR, .in = 16, .out = CLASSES}}));
    ck_assert_int_gt(gnn_model_buffer_count(s->model), 0);
    return s;
}

static void small_free(small_t *s)
{
    gnn_model_free(s->model);
    free(s->numbers);
    free(s);
}

static gnn_source_t small_source(small_t *s)
{
    return (gnn_source_t){.get = small_get, .count = {BATCHES, BATCHES, 0}, .user = s};
}

/* Parameters and buffers one after another, malloc'd. */
static gnn_real_t *weights_of(const gnn_model_t *model, int64_t *count)
{
    int64_t length;
    const gnn_real_t *block = gnn_parameters_block(gnn_model_parameters(model), 0, &length);
    gnn_real_t *all = malloc(sizeof *all * (size_t)(length + 4096));
    memcpy(all, block, sizeof *all * (size_t)length);
    for (int64_t b = 0; b < gnn_model_buffer_count(model); b++) {
        gnn_tensor_t t;
        ck_ok(gnn_model_buffer(model, gnn_model_buffer_name(model, b), &t));
        for (int64_t r = 0; r < t.rows; r++, length += t.cols)
            memcpy(all + length, gnn__row(&t, r), sizeof *all * (size_t)t.cols);
    }
    *count = length;
    return all;
}

static bool weights_are(const gnn_model_t *model, const gnn_real_t *expected)
{
    int64_t count;
    gnn_real_t *now = weights_of(model, &count);
    bool same = memcmp(now, expected, sizeof *now * (size_t)count) == 0;
    free(now);
    return same;
}

enum { EPOCHS = 300 };

/* What a callback writes down. */
typedef struct {
    small_t *small;
    gnn_real_t *best;
    double loss[EPOCHS + 1], metric[EPOCHS + 1];
    int64_t epochs, stop_at, allocations[EPOCHS + 1];
    int set_stop;
} diary_t;

static int write_down(void *user, const gnn_progress_t *now)
{
    diary_t *d = user;
    int64_t count;
    d->epochs = now->epoch;
    d->loss[now->epoch] = now->validation_loss;
    d->metric[now->epoch] = now->validation_metric;
    if (now->improved) {
        free(d->best);
        d->best = weights_of(d->small->model, &count);
    }
    if (d->set_stop && now->epoch == d->stop_at)
        d->small->stop = 1;
    return !d->set_stop && now->epoch == d->stop_at;
}

/* The rule of each watch, written down again from the losses and metrics alone. */
static void expected_stop(const diary_t *d, gnn_watch_t watch, int64_t patience, int64_t *best,
                          int64_t *last)
{
    double loss = INFINITY, metric = -INFINITY, loss_of_best = INFINITY;
    int64_t stale = 0, epoch = 1;
    *best = 1;
    for (; epoch <= d->epochs; epoch++) {
        double l = d->loss[epoch], m = d->metric[epoch];
        bool l_up = l<loss, m_up = m> metric,
             better = watch == GNN_WATCH_LOSS ? l_up : m_up || (m == metric && l < loss_of_best);
        bool fresh = watch == GNN_WATCH_LOSS ? l_up : m_up;
        if (watch == GNN_WATCH_LOSS_OR_METRIC) {
            better = l <= loss && m >= metric;
            fresh = l <= loss || m >= metric;
        }
        if (better) {
            *best = epoch;
            loss_of_best = l;
        }
        loss = fmin(loss, l);
        metric = fmax(metric, m);
        stale = fresh ? 0 : stale + 1;
        if (stale == patience)
            break;
    }
    *last = epoch; /* one more than there were epochs if the rule has not stopped yet */
}

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
                                                  .lr = (gnn_real_t)0.05,
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

START_TEST(equal_metrics_are_decided_by_the_loss)
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

START_TEST(callback_stops_and_the_best_weights_stay)
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

/* The flag goes up while batch 1 of epoch 3 is fetched (_i 0) or in a callback (_i 1): the running step is finished, no other begins. */
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

START_TEST(bad_numbers_are_named_and_the_last_good_weights_kept)
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
    s->loss = GNN_LOSS_MEAN_SQUARED;
    for (int k = 0; k < ROWS * CLASSES; k++)
        s->target_numbers[k] = GNN_DOUBLE ? (gnn_real_t)1e200 : (gnn_real_t)1e30;
    bad_loss(s, "the first tensor that went bad is the loss");
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

START_TEST(loop_refuses_what_makes_no_sense)
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
             "no validation part");
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

#endif
