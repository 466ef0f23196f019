/* A small training for the suites of checkpoints: batch norm, dropout, two batches an epoch, labels
 * that follow the features with noise. */
#ifndef GNN_TESTS_CHECKPOINT_TRIAL_H
#define GNN_TESTS_CHECKPOINT_TRIAL_H

#include "support.h"

enum { ROWS = 24, IN = 4, CLASSES = 3, BATCHES = 2, HIDDEN = 16 };

typedef struct {
    gnn_context_t *context;
    gnn_model_t *model;
    gnn_real_t *numbers;
    gnn_tensor_t x[2][BATCHES];
    int32_t labels[2][BATCHES][ROWS];
    gnn_named_t named;
    gnn_source_t source;
    volatile int stop;
    int steps, stop_at_step; /* the stop flag is set while this batch is fetched */
} trial_t;

static inline int trial_get(void *user, int part, int64_t epoch, int64_t index, gnn_batch_t *batch)
{
    trial_t *t = user;
    /* The order of batches changes per epoch, as with a shuffling source. */
    int64_t b = part == GNN_TRAIN ? (index + epoch) % BATCHES : index;
    t->named = (gnn_named_t){.name = "x", .dense = &t->x[part][b]};
    batch->inputs = (gnn_model_inputs_t){.values = &t->named, .n_values = 1};
    batch->loss = (gnn_loss_t){.labels = t->labels[part][b]};
    if (part == GNN_TRAIN && ++t->steps == t->stop_at_step)
        t->stop = 1;
    return GNN_OK;
}

static inline void trial_data(trial_t *t)
{
    uint64_t state = 5;
    t->numbers = test_reals((int64_t)2 * BATCHES * ROWS * IN, 11);
    for (int part = 0; part < 2; part++)
        for (int b = 0; b < BATCHES; b++) {
            t->x[part][b] = gnn_tensor(t->numbers + (part * BATCHES + b) * ROWS * IN, ROWS, IN);
            for (int r = 0; r < ROWS; r++) {
                const gnn_real_t *x = gnn__row(&t->x[part][b], r);
                t->labels[part][b][r] = test_uniform(&state) > 0.2 ? r % CLASSES
                                        : x[0] > x[1]              ? 0
                                        : x[2] > 0                 ? 1
                                                                   : 2;
            }
        }
    t->source = (gnn_source_t){.get = trial_get, .count = {BATCHES, BATCHES, 0}, .user = t};
}

/* `hidden` and `rate` are what other models differ in. */
static inline trial_t *trial_new(uint64_t seed, int64_t hidden, double rate)
{
    trial_t *t = calloc(1, sizeof *t);
    ck_ok(gnn_context_new(&t->context, &(gnn_context_config_t){.threads = 1, .seed = seed}));
    ck_ok(gnn_model_from_steps(
        &t->model, t->context, 5,
        (gnn_step_t[]){{.kind = GNN_STEP_LINEAR, .in = IN, .out = hidden},
                       {.kind = GNN_STEP_NORM, .in = hidden, .norm = GNN_NORM_BATCH},
                       {.kind = GNN_STEP_ACTIVATION, .activation = GNN_RELU},
                       {.kind = GNN_STEP_DROPOUT, .rate = (gnn_real_t)rate},
                       {.kind = GNN_STEP_LINEAR, .in = hidden, .out = CLASSES}}));
    trial_data(t);
    return t;
}

static inline void trial_free(trial_t *t)
{
    gnn_model_free(t->model);
    gnn_context_free(t->context);
    free(t->numbers);
    free(t);
}

/* The settings of one training; `kind` also chooses the schedule. */
static inline gnn_train_config_t trial_config(trial_t *t, int64_t epochs, gnn_optimizer_kind_t kind,
                                              const char *checkpoint)
{
    static const gnn_parameter_group_t last = {
        .prefix = "4.", .lr_scale = (gnn_real_t)0.5, .weight_decay = GNN_ZERO};
    gnn_train_config_t config = {.epochs = epochs,
                                 .checkpoint = checkpoint,
                                 .checkpoint_every = 3,
                                 .stop = &t->stop,
                                 .optimizer = {.kind = kind,
                                               .weight_decay = (gnn_real_t)1e-3,
                                               .groups = &last,
                                               .n_groups = 1,
                                               .lr = (gnn_real_t)0.02},
                                 .schedule = {.kind = GNN_SCHEDULE_COSINE, .warmup = 4, .period = 40}};
    if (kind == GNN_SGD) {
        config.optimizer.momentum = (gnn_real_t)0.9;
        config.optimizer.nesterov = GNN_ON;
        config.schedule = (gnn_schedule_t){.kind = GNN_SCHEDULE_STEP, .period = 5};
    } else if (kind == GNN_ADAMW) {
        config.optimizer.clip_norm = (gnn_real_t)0.7;
        config.watch = GNN_WATCH_LOSS_OR_METRIC;
    }
    return config;
}

#endif
