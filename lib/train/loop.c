/* The training loop: steps over batches, validation after each epoch, the best weights kept.
 * Nothing is allocated after the second epoch. */
#include <lib/base/settings.h>
#include <lib/data/arrays/arrays.h>
#include <lib/train/train.h>
#include <time.h>

typedef struct {
    gnn_model_t *model;
    gnn_context_t *context;
    gnn_parameters_t *parameters;
    const gnn_source_t *source;
    gnn_train_config_t config; /* with defaults resolved */
    bool fixed;
    gnn__ranks_t *ranks;   /* NULL: one process */
    bool divided;          /* ranks compute batches each, not rows of all */
    gnn__step_sums_t sums; /* of batches that are divided */
    gnn_optimizer_t *optimizer;
    gnn__run_t train, validate;
    gnn__best_t best;
    gnn__pool_t pool;
    int64_t step;
    /* batches of the running epoch that are done, with the sums of their losses */
    int64_t batch;
    double loss_sum, loss_rows;
    double start;
    char settings[320]; /* compared with that of a checkpoint */
    gnn_progress_t now;
    gnn_train_result_t kept; /* results of the epoch whose weights are kept */
} loop_t;

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- one batch on a tape ---- */

int gnn__run_forward(gnn__run_t *run, const gnn_model_t *model, const gnn_model_inputs_t *inputs,
                     const gnn_loss_t *loss, uint32_t step, bool fixed)
{
    if (!run->built || !fixed) {
        run->built = false;
        gnn_tape_reset(run->tape, run->training, run->training);
        run->logits = gnn_model_record_all(model, run->tape, inputs, NULL, run->outputs);
        gnn_tape_keep(run->tape, run->logits);
        run->loss = GNN_NONE;
        if (loss) {
            run->loss = gnn_tape_loss(run->tape, run->logits, loss);
            if (run->outputs)
                run->loss =
                    gnn__loss_terms_record(model, run->tape, run->loss, run->outputs, run->config);
            gnn_tape_keep(run->tape, run->loss);
        }
        GNN_TRY(gnn_tape_status(run->tape));
        run->built = true;
    }
    gnn_tape_set_step(run->tape, step);
    return gnn_tape_forward(run->tape);
}

static double loss_value(const gnn__run_t *run)
{
    gnn_tensor_t loss = gnn_tape_value(run->tape, run->loss);
    return loss.data ? (double)loss.data[0] : NAN;
}

static int64_t rows_that_count(const gnn_loss_t *loss, int64_t rows)
{
    const int32_t *labels = loss->kind == GNN_LOSS_CROSS_ENTROPY ? loss->labels : NULL;
    int64_t counted = 0;
    for (int64_t r = 0; r < rows; r++)
        counted += gnn__counts(labels, loss->mask, r);
    return counted;
}

/* The count of all ranks, or of a batch of this one. */
static int count_rows(const loop_t *l, const gnn_loss_t *loss, int64_t rows, double *counted)
{
    int64_t count = rows_that_count(loss, rows);
    if (l->ranks && !l->divided)
        GNN_TRY(gnn__ranks_total(l->ranks, &count));
    *counted = (double)count;
    return GNN_OK;
}

/* True if a rank wants to stop: then all do. */
static int any_stops(const loop_t *l, bool *stop)
{
    int64_t count = *stop;
    if (!l->ranks)
        return GNN_OK;
    GNN_TRY(gnn__ranks_total(l->ranks, &count));
    *stop = count > 0;
    return GNN_OK;
}

/* Rank 0 writes for all; without ranks every process does. */
static bool writes(const loop_t *l)
{
    return !l->ranks || l->ranks->transport->rank == 0;
}

/* The outcome of rank 0's writing. */
static int share(const loop_t *l, int rc)
{
    return l->ranks ? gnn__ranks_share(l->ranks, rc) : rc;
}

static int get_batch(const loop_t *l, int part, int64_t index, gnn_batch_t *batch)
{
    *batch = (gnn_batch_t){0};
    return l->source->get(l->source->user, part, l->now.epoch, index, batch);
}

/* ---- non-finite losses ---- */

static int blame(const loop_t *l, bool training, const gnn_model_inputs_t *inputs, double loss)
{
    return gnn__blame(&(gnn__blame_t){.model = l->model,
                                      .context = l->context,
                                      .part = training ? "training" : "validation",
                                      .training = training,
                                      .epoch = l->now.epoch,
                                      .step = l->step,
                                      .loss = loss},
                      inputs);
}

static int check_parameters(const loop_t *l)
{
    int64_t row, col;
    double value;
    int32_t id = gnn__first_not_finite(l->parameters, 0, &row, &col, &value);
    if (id < 0)
        return GNN_OK;
    return gnn__error(GNN_ENUMERIC,
                      "epoch %lld, step %lld: parameter \"%s\" is %g at row %lld, column %lld",
                      (long long)l->now.epoch, (long long)l->step,
                      gnn_parameters_name(l->parameters, id), value, (long long)row, (long long)col);
}

/* ---- an epoch ---- */

static int check_stop(const loop_t *l)
{
    bool stop = l->config.stop && *l->config.stop;
    GNN_TRY(any_stops(l, &stop));
    if (!stop)
        return GNN_OK;
    return gnn__error(GNN_ESTOPPED, "stopped by the caller after step %lld, in epoch %lld",
                      (long long)l->step, (long long)l->now.epoch);
}

/* The first batch of the step that batch `index` belongs to. */
static int64_t first_of_step(const loop_t *l, int64_t index)
{
    return index / l->config.accumulate * l->config.accumulate;
}

/* The batch after the last of that step. */
static int64_t after_step(const loop_t *l, int64_t index)
{
    return gnn__min(first_of_step(l, index) + l->config.accumulate, l->source->count[GNN_TRAIN]);
}

static bool is_own(const loop_t *l, int part, int64_t index)
{
    return !l->divided || gnn__rank_of_batch(l->ranks, l->config.accumulate, l->source->count[part],
                                             part, index) == l->ranks->transport->rank;
}

/* Forward and backward of one batch. */
static int train_batch(loop_t *l, int64_t index, double *loss, double *rows)
{
    gnn_batch_t batch;
    const int64_t first = first_of_step(l, index), next = after_step(l, index);
    GNN_TRY(get_batch(l, GNN_TRAIN, index, &batch));
    GNN_TRY(gnn__run_forward(&l->train, l->model, &batch.inputs, &batch.loss, (uint32_t)l->step,
                             l->fixed));
    *loss = loss_value(&l->train);
    GNN_TRY(count_rows(l, &batch.loss, gnn_tape_rows(l->train.tape, l->train.logits), rows));
    if (!isfinite(*loss))
        return blame(l, true, &batch.inputs, *loss);
    gnn_real_t share = (gnn_real_t)(1 / (double)(next - first));
    const gnn_tensor_t d_loss = gnn_tensor(&share, 1, 1);
    if (index == first && !l->divided)
        gnn_parameters_zero_gradients(l->parameters);
    return gnn_tape_backward(l->train.tape, l->train.loss, next - first > 1 ? &d_loss : NULL);
}

/* A batch of a step that ranks divide: sums of the step are complete after its last. */
static int divided_batch(loop_t *l, int64_t index)
{
    const int64_t first = first_of_step(l, index), next = after_step(l, index);
    double loss, rows;
    if (index == first)
        gnn__step_sums_begin(&l->sums, true);
    if (is_own(l, GNN_TRAIN, index)) {
        gnn__step_sums_before(&l->sums);
        GNN_TRY(train_batch(l, index, &loss, &rows));
        GNN_TRY(gnn__step_sums_add(&l->sums, index - first, loss, rows));
    }
    return index + 1 < next
               ? GNN_OK
               : gnn__step_sums_end(&l->sums, next - first, &l->loss_sum, &l->loss_rows);
}

static int train_step(loop_t *l, int64_t index)
{
    double loss, rows;
    l->step++;
    if (l->divided) {
        GNN_TRY(divided_batch(l, index));
    } else {
        GNN_TRY(train_batch(l, index, &loss, &rows));
        l->loss_sum += loss * rows;
        l->loss_rows += rows;
    }
    if (index + 1 < after_step(l, index))
        return GNN_OK;
    double factor = gnn_schedule_factor(&l->config.schedule, gnn_optimizer_steps(l->optimizer) + 1);
    l->now.lr = gnn__optimizer_lr(l->optimizer) * factor;
    int rc = gnn_optimizer_step(l->optimizer, factor);
    return rc == GNN_ENUMERIC ? gnn__error_prefix(rc, "epoch %lld, step %lld",
                                                  (long long)l->now.epoch, (long long)l->step)
                              : rc;
}

static int train_epoch(loop_t *l)
{
    for (; l->batch < l->source->count[GNN_TRAIN]; l->batch++) {
        if (first_of_step(l, l->batch) == l->batch)
            GNN_TRY(check_stop(l));
        GNN_TRY(train_step(l, l->batch));
    }
    l->now.train_loss = l->loss_rows > 0 ? l->loss_sum / l->loss_rows : 0;
    GNN_TRY(check_stop(l));
    return check_parameters(l);
}

/* The sums and rows of all ranks. */
static int gather_validation(loop_t *l, bool labelled, double *sum, double *total)
{
    if (l->divided)
        GNN_TRY(gnn__step_sums_end(&l->sums, 0, sum, total));
    return labelled && l->ranks ? gnn__pool_gather(&l->pool, l->ranks) : GNN_OK;
}

static int validate_epoch(loop_t *l)
{
    double sum = 0, total = 0;
    bool labelled = true;
    const bool numbers = gnn__takes_targets(l->config.metric);
    l->now.validation_loss = l->now.validation_metric = NAN;
    gnn__pool_reset(&l->pool, l->config.metric);
    if (l->divided)
        gnn__step_sums_begin(&l->sums, false);
    for (int64_t index = 0; index < l->source->count[GNN_VALIDATION]; index++) {
        gnn_batch_t batch;
        if (!is_own(l, GNN_VALIDATION, index))
            continue;
        GNN_TRY(get_batch(l, GNN_VALIDATION, index, &batch));
        GNN_TRY(gnn__run_forward(&l->validate, l->model, &batch.inputs, &batch.loss, 0, l->fixed));
        gnn_tensor_t logits = gnn_tape_value(l->validate.tape, l->validate.logits);
        double loss = loss_value(&l->validate), rows;
        GNN_TRY(count_rows(l, &batch.loss, logits.rows, &rows));
        if (!isfinite(loss))
            return blame(l, false, &batch.inputs, loss);
        if (l->divided) {
            GNN_TRY(gnn__step_sums_add(&l->sums, index, loss, rows));
        } else {
            sum += loss * rows;
            total += rows;
        }
        labelled = labelled && (numbers ? batch.loss.targets != NULL : batch.loss.labels != NULL);
        if (labelled)
            GNN_TRY(gnn__pool_add(&l->pool, &logits, numbers ? NULL : batch.loss.labels,
                                  batch.loss.targets, batch.loss.mask));
    }
    GNN_TRY(gather_validation(l, labelled, &sum, &total));
    if (total > 0)
        l->now.validation_loss = sum / total;
    if (!labelled && l->config.watch == GNN_WATCH_DEFAULT)
        l->config.watch = GNN_WATCH_LOSS;
    if (!labelled && l->config.watch != GNN_WATCH_LOSS && l->config.watch != GNN_WATCH_NONE)
        return gnn__error(
            GNN_EINVALID,
            "training watches a metric, but validation batches have no labels: watch GNN_WATCH_LOSS");
    return labelled ? gnn__pool_metric(&l->pool, &l->now.validation_metric) : GNN_OK;
}

/* Keeps the weights if they are the best; sets *stop at the end of the training. */
static int judge_epoch(loop_t *l, bool *stop)
{
    gnn_watch_t watch = l->config.watch == GNN_WATCH_DEFAULT ? GNN_WATCH_METRIC : l->config.watch;
    const double metric = l->now.validation_metric;
    l->now.improved = gnn__best_update(&l->best, watch, l->now.validation_loss,
                                       gnn__metric_is_error(l->config.metric) ? -metric : metric);
    l->now.seconds = seconds() - l->start;
    if (l->now.improved) {
        l->kept.best_epoch = l->now.epoch;
        l->kept.train_loss = l->now.train_loss;
        l->kept.validation_loss = l->now.validation_loss;
        l->kept.validation_metric = l->now.validation_metric;
    }
    l->kept.epochs = l->now.epoch;
    *stop = l->config.patience > 0 && l->best.stale >= l->config.patience;
    if (l->config.callback && l->config.callback(l->config.user, &l->now) != 0)
        *stop = true;
    return any_stops(l, stop);
}

/* ---- checkpoints ---- */

/* The state of the loop outside of model and optimiser; `best` is borrowed. */
static gnn_checkpoint_t state_of(loop_t *l)
{
    return (gnn_checkpoint_t){.epoch = l->now.epoch,
                              .batch = l->batch,
                              .loss_sum = l->loss_sum,
                              .loss_rows = l->loss_rows,
                              .step = l->step,
                              .seed = gnn_context_seed(l->context),
                              .seconds = seconds() - l->start,
                              .any_best = l->best.any,
                              .stale = l->best.stale,
                              .best_loss = l->best.loss,
                              .best_metric = l->best.metric,
                              .tie_loss = l->best.tie_loss,
                              .kept = l->kept,
                              .best = l->best.kept,
                              .n_best = gnn__best_count(&l->best),
                              .settings = l->settings};
}

static int save_state(loop_t *l)
{
    gnn_checkpoint_t state = state_of(l);
    if (!l->config.checkpoint)
        return GNN_OK;
    return share(l, writes(l)
                        ? gnn_checkpoint_save(l->config.checkpoint, l->model, l->optimizer, &state)
                        : GNN_OK);
}

/* The watch of the config; a source without labels may change it to GNN_WATCH_LOSS later, which
 * depends on the source alone. */
static int write_settings(loop_t *l)
{
    const gnn_train_config_t *c = &l->config;
    const gnn_schedule_t *s = &c->schedule;
    const int rc = gnn__snprintf_c(
        l->settings, sizeof l->settings,
        "data %016llx watch %d metric %d loss %d smoothing %.9g split %lld batches %lld and %lld schedule %d warmup %lld period %lld gamma %.17g width %.17g",
        (unsigned long long)l->source->identity, (int)c->watch, (int)c->metric, (int)c->loss,
        (double)c->label_smoothing, (long long)c->split, (long long)l->source->count[GNN_TRAIN],
        (long long)l->source->count[GNN_VALIDATION], (int)s->kind, (long long)s->warmup,
        (long long)s->period, s->gamma, s->width);
    const size_t used = strlen(l->settings);
    if (rc == GNN_OK && c->accumulate > 1)
        snprintf(l->settings + used, sizeof l->settings - used, " accumulate %lld",
                 (long long)c->accumulate);
    const size_t now = strlen(l->settings);
    if (rc == GNN_OK && c->n_terms > 0)
        snprintf(l->settings + now, sizeof l->settings - now, " terms %016llx",
                 (unsigned long long)gnn__loss_terms_hash(c));
    return rc;
}

/* Can it be written? Checked before the first epoch rather than after the last. */
static int try_checkpoint(const char *path)
{
    gnn__output_t output;
    int rc = gnn__output_open(&output, path);
    gnn__output_close(&output);
    return rc == GNN_OK ? rc : gnn__error_prefix(rc, "the checkpoint");
}

static int read_checkpoint(loop_t *l)
{
    gnn_checkpoint_t state = state_of(l);
    const char *path = l->config.checkpoint;
    bool there;
    GNN_TRY(gnn__file_there(&there, path));
    if (!there)
        return GNN_OK;
    GNN_TRY(gnn_checkpoint_load(path, l->model, l->optimizer, &state));
    if (state.batch > l->source->count[GNN_TRAIN])
        return gnn__error(
            GNN_EFORMAT, "%s: position %lld of epoch %lld, expected at most %lld batches", path,
            (long long)state.batch, (long long)state.epoch, (long long)l->source->count[GNN_TRAIN]);
    gnn_context_set_seed(l->context, state.seed);
    l->now.epoch = state.epoch;
    l->batch = state.batch;
    l->loss_sum = state.loss_sum;
    l->loss_rows = state.loss_rows;
    l->step = state.step;
    l->now.lr = gnn__optimizer_lr(l->optimizer) * gnn_schedule_factor(&l->config.schedule, l->step);
    l->start = seconds() - state.seconds;
    l->best.any = state.any_best;
    l->best.stale = state.stale;
    l->best.loss = state.best_loss;
    l->best.metric = state.best_metric;
    l->best.tie_loss = state.tie_loss;
    l->kept = state.kept;
    return GNN_OK;
}

/* All ranks resume from the same epoch: a folder may be another one on another machine. */
static int compare_checkpoints(const loop_t *l)
{
    const int64_t at[] = {l->now.epoch, l->batch, l->step};
    uint64_t sum = GNN__HASH_START;
    if (!l->ranks)
        return GNN_OK;
    gnn__hash_add(&sum, at, sizeof at);
    GNN_TRY(gnn__ranks_same(l->ranks, "checkpoints", sum));
    return gnn__ranks_same_weights(l->ranks, l->context, l->model);
}

static int resume(loop_t *l)
{
    const char *path = l->config.checkpoint;
    if (!path)
        return l->config.resume == GNN_ON
                   ? gnn__error(GNN_EINVALID,
                                "training: resume is on, expected the name of a checkpoint, got NULL")
                   : GNN_OK;
    if (writes(l))
        gnn__temporaries_sweep(path);
    GNN_TRY(share(l, writes(l) ? try_checkpoint(path) : GNN_OK));
    if (l->config.resume != GNN_ON)
        return GNN_OK;
    GNN_TRY(read_checkpoint(l));
    return compare_checkpoints(l);
}

/* Runs from the current epoch to the last, or until patience is exhausted. Checkpoints are written
 * at the start of an epoch, or after the step that `stop` ended. */
static int run_epochs(loop_t *l)
{
    bool stop = l->config.patience > 0 && l->best.stale >= l->config.patience;
    while (l->now.epoch <= l->config.epochs && !stop) {
        GNN_TRY(train_epoch(l));
        GNN_TRY(validate_epoch(l));
        GNN_TRY(judge_epoch(l, &stop));
        l->now.epoch++;
        l->batch = 0;
        l->loss_sum = l->loss_rows = 0;
        if ((l->now.epoch - 1) % l->config.checkpoint_every == 0 &&
            l->now.epoch <= l->config.epochs && !stop)
            GNN_TRY(save_state(l));
    }
    return GNN_OK;
}

/* ---- opening and closing ---- */

static int check_schedule(const gnn_schedule_t *s)
{
    if (s->kind > GNN_SCHEDULE_LINEAR || (int)s->kind < 0)
        return gnn__error(GNN_EINVALID, "schedule: kind is %d, expected a gnn_schedule_kind_t",
                          (int)s->kind);
    const bool falls = s->kind == GNN_SCHEDULE_STEP || s->kind == GNN_SCHEDULE_COSINE ||
                       s->kind == GNN_SCHEDULE_LINEAR;
    if (falls && s->period < 1)
        return gnn__error(GNN_EINVALID, "schedule: period is %lld, expected at least 1",
                          (long long)s->period);
    if (s->warmup < 0 || (s->kind == GNN_SCHEDULE_WARMUP && s->warmup < 1))
        return gnn__error(GNN_EINVALID, "schedule: warmup is %lld, expected at least %d",
                          (long long)s->warmup, s->kind == GNN_SCHEDULE_WARMUP);
    if (!(s->gamma >= 0) || isinf(s->gamma) || !(s->width >= 0))
        return gnn__error(GNN_EINVALID,
                          "schedule: gamma is %g, width %g, expected at least 0, gamma finite",
                          s->gamma, s->width);
    if (!falls && (s->period != 0 || s->gamma != 0))
        return gnn__error(GNN_EINVALID, "schedule: a %s one reads no %s",
                          s->kind == GNN_SCHEDULE_WARMUP ? "warm-up" : "constant",
                          s->period != 0 ? "period" : "gamma");
    if (s->kind != GNN_SCHEDULE_WARMUP && s->width != 0)
        return gnn__error(GNN_EINVALID, "schedule: only a warm-up one reads width");
    return GNN_OK;
}

/* Settings that are read together with another only. */
static int check_unread(const gnn_train_config_t *c)
{
    enum { WATCHES = 1, CHECKPOINT = 2 };
    const unsigned has =
        (c->watch != GNN_WATCH_NONE ? WATCHES : 0) | (c->checkpoint ? CHECKPOINT : 0);
    static const char *const needs[] = {"a .watch other than GNN_WATCH_NONE", "a .checkpoint"};
    const gnn__setting_use_t uses[] = {{"patience", c->patience > 0, WATCHES},
                                       {"checkpoint_every", c->checkpoint_every > 0, CHECKPOINT}};
    for (size_t k = 0; k < sizeof uses / sizeof *uses; k++)
        if (gnn__unread_setting(&uses[k], 1, has))
            return gnn__error(GNN_EINVALID, "training: .%s is read with %s only", uses[k].name,
                              needs[k]);
    return GNN_OK;
}

static int resolve(loop_t *l, const gnn_train_config_t *config)
{
    gnn_train_config_t *c = &l->config;
    *c = *config;
    if (c->epochs == 0)
        c->epochs = 200;
    if (c->checkpoint_every == 0)
        c->checkpoint_every = 10;
    if (c->accumulate == 0)
        c->accumulate = 1;
    GNN_TRY(gnn__check_flag(c->resume, "training: resume"));
    GNN_TRY(gnn__check_flag(l->source->fixed, "training: the source's fixed"));
    if (c->accumulate < 0)
        return gnn__error(GNN_EINVALID, "training: accumulate is %lld, expected a number >= 0",
                          (long long)c->accumulate);
    if (c->checkpoint_every < 0)
        return gnn__error(GNN_EINVALID, "training: checkpoint_every is %lld, expected a number >= 0",
                          (long long)c->checkpoint_every);
    if (c->epochs < 0 || c->patience < 0)
        return gnn__error(GNN_EINVALID,
                          "training: epochs is %lld, patience %lld, expected numbers >= 0",
                          (long long)c->epochs, (long long)c->patience);
    if (c->watch > GNN_WATCH_NONE || (int)c->watch < 0 || c->metric > GNN_METRIC_R2 ||
        (int)c->metric < 0)
        return gnn__error(GNN_EINVALID,
                          "training: watch is %d, metric %d, expected a gnn_watch_t and a gnn_metric_t",
                          (int)c->watch, (int)c->metric);
    if (!l->source->get || l->source->count[GNN_TRAIN] < 1 || l->source->count[GNN_VALIDATION] < 0)
        return gnn__error(
            GNN_EINVALID,
            "training: the source has %lld training and %lld validation batches, expected at least 1 and at least 0",
            (long long)l->source->count[GNN_TRAIN], (long long)l->source->count[GNN_VALIDATION]);
    if (l->source->count[GNN_VALIDATION] == 0) {
        if (c->patience > 0 || (c->watch != GNN_WATCH_DEFAULT && c->watch != GNN_WATCH_NONE))
            return gnn__error(
                GNN_EINVALID,
                "training: .watch or .patience (%lld) needs validation batches, the source has none",
                (long long)c->patience);
        c->watch = GNN_WATCH_NONE;
    }
    GNN_TRY(check_unread(config));
    return check_schedule(&c->schedule);
}

static int open_terms(loop_t *l)
{
    GNN_TRY(gnn__loss_terms_check(l->model, l->context, &l->config));
    if (l->config.n_terms == 0)
        return GNN_OK;
    l->train.config = &l->config;
    return gnn__new(&l->train.outputs, gnn_model_step_count(l->model), sizeof *l->train.outputs,
                    "the terms of a loss");
}

static int open_loop(loop_t *l, const gnn_train_config_t *config)
{
    GNN_TRY(resolve(l, config));
    GNN_TRY(open_terms(l));
    l->parameters = gnn_model_parameters(l->model);
    l->start = seconds();
    l->now.epochs = l->config.epochs;
    GNN_TRY(gnn_optimizer_new(&l->optimizer, l->context, l->parameters, &l->config.optimizer));
    GNN_TRY(gnn_tape_new(&l->train.tape, l->context));
    GNN_TRY(gnn_tape_new(&l->validate.tape, l->context));
    l->train.training = 1;
    l->now.epoch = 1;
    GNN_TRY(write_settings(l));
    if (l->divided)
        GNN_TRY(gnn__step_sums_open(&l->sums, l->ranks, l->model));
    GNN_TRY(gnn__best_open(&l->best, l->model));
    return resume(l);
}

static void close_loop(loop_t *l)
{
    gnn__best_close(&l->best);
    gnn__pool_free(&l->pool);
    gnn__step_sums_close(&l->sums);
    gnn_tape_free(l->train.tape);
    gnn_tape_free(l->validate.tape);
    gnn_free(l->train.outputs);
    gnn_optimizer_free(l->optimizer);
}

int gnn__train_loop(gnn_model_t *model, gnn_context_t *context, const gnn_source_t *source,
                    const gnn_train_config_t *config, gnn_train_result_t *result)
{
    loop_t l = {.model = model,
                .context = context,
                .source = source,
                .fixed = source && source->fixed == GNN_ON,
                .kept = {.train_loss = NAN, .validation_loss = NAN, .validation_metric = NAN}};
    int rc;
    if (!model || !context || !source)
        return gnn__error(GNN_EINVALID, "training: model, context and source must be given");
    l.ranks = context->ranks;
    l.divided = l.ranks && source->state && source->state->divided;
    if (l.ranks && !l.ranks->split && !l.divided)
        return gnn__error(GNN_EUNSUPPORTED,
                          "training over ranks is for nodes of a whole graph or of samples "
                          "(gnn_train), without links, typed samples, dropped edges and sources of "
                          "batches");
    GNN_CHECK(open_loop(&l, config));
    rc = run_epochs(&l);
    if (rc == GNN_OK || (rc == GNN_ESTOPPED && !(l.ranks && l.ranks->ended))) {
        int saved = save_state(&l);
        rc = saved == GNN_OK ? rc : saved;
    }
    /* After a non-finite loss, restores the weights that were kept: of the best epoch, or from
     * before the first step. */
    bool watching = l.config.watch != GNN_WATCH_NONE && l.best.any;
    /* GNN_EIO comes from a checkpoint. */
    const bool ended = rc == GNN_OK || rc == GNN_ESTOPPED || rc == GNN_EIO;
    if (rc == GNN_ENUMERIC || (ended && watching))
        gnn__best_restore(&l.best);
    l.kept.seconds = seconds() - l.start;
    *result = l.kept;
done:
    close_loop(&l);
    return rc;
}
