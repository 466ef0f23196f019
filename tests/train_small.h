/* The small network that the suite of the training loop trains. Included by test_train.c only. */
#ifndef GNN_TESTS_TRAIN_SMALL_H
#define GNN_TESTS_TRAIN_SMALL_H

#include "support.h"

#include <lib/train/train.h>

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

/* Labels follow the first features, with noise, so that validation first improves and then does
 * not. */
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

/* Parameters and buffers concatenated, for free(). */
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

/* Records of a callback. */
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

#endif
