/* Training on token sequences: the loop and its progress. */
#include "text_train.h"

#include "program.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Wraps the source and counts its batches. */
typedef struct {
    const char *program;
    const gnn_source_t *inner;
    int64_t words, done;
    int terminal;
    double start, told, first; /* `first`: seconds of earlier runs */
} watcher_t;

double text_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int64_t text_words(const char *text)
{
    int64_t words = 0;
    for (const char *c = text; *c; c++)
        words += (unsigned char)*c > ' ' && (c == text || (unsigned char)c[-1] <= ' ');
    return words;
}

static double words_per_second(const watcher_t *w)
{
    const double seconds = text_seconds() - w->start;
    return seconds > 0
               ? (double)w->words * (double)w->done / (double)w->inner->count[GNN_TRAIN] / seconds
               : 0;
}

static int get(void *user, int part, int64_t epoch, int64_t index, gnn_batch_t *batch)
{
    watcher_t *w = user;
    if (part == GNN_TRAIN) {
        w->done++;
        if (w->terminal && text_seconds() > w->told + 0.5) {
            w->told = text_seconds();
            fprintf(stderr, "\repoch %lld, batch %lld of %lld, %.0f words/s ", (long long)epoch,
                    (long long)index + 1, (long long)w->inner->count[GNN_TRAIN], words_per_second(w));
        }
    }
    return w->inner->get(w->inner->user, part, epoch, index, batch);
}

static int tell_epoch(void *user, const gnn_progress_t *now)
{
    watcher_t *w = user;
    char held_out[128] = "";
    if (w->inner->count[GNN_VALIDATION] > 0)
        snprintf(held_out, sizeof held_out, "held out %.4f, %.1f%% of tokens right, ",
                 now->validation_loss, 100 * now->validation_metric);
    fprintf(stderr, "%s%s: epoch %lld of %lld: loss %.4f, %srate %.2g, %.0f words/s, %.0f s%s\n",
            w->terminal ? "\r" : "", w->program, (long long)now->epoch, (long long)now->epochs,
            now->train_loss, held_out, now->lr, words_per_second(w), now->seconds,
            *held_out && now->improved ? ", best so far" : "");
    return 0;
}

/* ---- main ---- */

int text_context(gnn_context_t **context, const text_train_t *t)
{
    static const gnn_precision_t levels[] = {GNN_PRECISION_HIGHEST, GNN_PRECISION_HIGH,
                                             GNN_PRECISION_MEDIUM};
    return gnn_context_new(context, &(gnn_context_config_t){.threads = (int)t->threads,
                                                            .seed = (uint64_t)t->seed,
                                                            .precision = levels[t->precision]});
}

int64_t text_weights(const gnn_model_t *model, const char *frozen)
{
    int64_t count = 0;
    for (int64_t k = 0; k < gnn_model_field_count(model); k++) {
        const char *name = gnn_model_field_name(model, k);
        gnn_tensor_t value;
        if (frozen && strncmp(name, frozen, strlen(frozen)) == 0)
            continue;
        if (gnn_model_field(model, name, &value, NULL) == GNN_OK)
            count += value.rows * value.cols;
    }
    return count;
}

static gnn_schedule_t schedule_of(const text_train_t *t, int64_t steps, int64_t width)
{
    if (t->schedule == 1)
        return (gnn_schedule_t){
            .kind = GNN_SCHEDULE_WARMUP, .warmup = t->warmup, .width = (double)width};
    const int64_t left = steps - t->warmup;
    return (gnn_schedule_t){.kind = GNN_SCHEDULE_COSINE,
                            .warmup = t->warmup,
                            .period = left > 1 ? left : 1,
                            .gamma = 0.01};
}

static int run(gnn_model_t *model, gnn_context_t *context, watcher_t *w, const text_train_t *t,
               const char *frozen, gnn_train_result_t *result)
{
    const gnn_parameter_group_t groups[] = {
        {.prefix = "words", .weight_decay = GNN_ZERO},
        {.prefix = frozen, .lr_scale = GNN_ZERO, .weight_decay = GNN_ZERO}};
    gnn_source_t source = *w->inner;
    source.get = get;
    source.user = w;
    const gnn_train_config_t how = {
        .epochs = t->epochs,
        .optimizer = {.kind = GNN_ADAMW,
                      .lr = (gnn_real_t)t->lr,
                      .beta1 = (gnn_real_t)0.9,
                      .beta2 = (gnn_real_t)0.98,
                      .eps = (gnn_real_t)1e-9,
                      .weight_decay = (gnn_real_t)t->decay,
                      .clip_norm = 1,
                      .groups = groups,
                      .n_groups = frozen ? 2 : 1},
        .schedule = schedule_of(t, t->epochs * source.count[GNN_TRAIN],
                                gnn_model_width(model, gnn_model_find(model, "words"))),
        .watch = source.count[GNN_VALIDATION] > 0 ? GNN_WATCH_LOSS : GNN_WATCH_NONE,
        .callback = tell_epoch,
        .user = w,
        .stop = &program_stopped,
        .checkpoint = t->checkpoint,
        .checkpoint_every = t->checkpoint ? 1 : 0,
        .resume = t->resume ? GNN_ON : GNN_OFF};
    return gnn_train_batches(model, context, &source, &how, result);
}

int text_train(const char *program, gnn_model_t *model, gnn_context_t *context,
               const gnn_source_t *source, const text_train_t *t, const char *frozen, int64_t words,
               text_trained_t *result)
{
    watcher_t w = {.program = program,
                   .inner = source,
                   .words = words,
                   .terminal = isatty(STDERR_FILENO),
                   .start = text_seconds()};
    gnn_train_result_t trained = {0};
    if (t->checkpoint && !t->resume && !t->overwrite && access(t->checkpoint, F_OK) == 0) {
        fprintf(stderr,
                "--checkpoint: %s holds a training; --resume goes on, --overwrite starts anew\n",
                t->checkpoint);
        return PROGRAM_REFUSED;
    }
    program_catch_interrupt();
    const int rc = run(model, context, &w, t, frozen, &trained);
    program_let_interrupt();
    if (rc == GNN_ESTOPPED)
        fprintf(stderr, "%s: stopped%s\n", program,
                t->checkpoint ? "; --resume continues from it" : "");
    *result = (text_trained_t){.train_loss = trained.train_loss,
                               .validation_loss = trained.validation_loss,
                               .seconds = trained.seconds,
                               .epochs = trained.epochs,
                               .best_epoch = trained.best_epoch,
                               .words_per_second = words_per_second(&w)};
    return rc;
}

void text_trained_json(FILE *file, const text_trained_t *trained)
{
    const struct {
        const char *name;
        double value;
    } all[] = {{"train_loss", trained->train_loss},
               {"validation_loss", trained->validation_loss},
               {"train_seconds", trained->seconds},
               {"train_words_per_second", trained->words_per_second}};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        fputs(k ? ", " : "", file);
        program_json_number(file, all[k].name, all[k].value);
    }
}

/* ---- files ---- */

static char *beside(const char *path)
{
    char *name = malloc(strlen(path) + sizeof ".tokenizer.json");
    if (name)
        sprintf(name, "%s.tokenizer.json", path);
    return name;
}

typedef struct {
    const gnn_model_t *model;
    const gnn_tokenizer_t *tokenizer;
} saved_t;

static int save(const void *what, const char *path)
{
    const saved_t *saved = what;
    char *name = beside(path);
    int rc = name ? gnn_model_save(saved->model, path) : GNN_EMEMORY;
    if (rc == GNN_OK)
        rc = gnn_tokenizer_save(saved->tokenizer, name);
    free(name);
    return rc;
}

int text_save(const char *program, const gnn_model_t *model, const gnn_tokenizer_t *tokenizer,
              const char *path)
{
    return program_save(program, path, save, &(saved_t){model, tokenizer});
}

int text_load(gnn_model_t **model, gnn_tokenizer_t **tokenizer, gnn_context_t *context,
              const char *path)
{
    char *name = beside(path);
    int rc = name ? gnn_model_load(model, context, path) : GNN_EMEMORY;
    if (rc == GNN_OK)
        rc = gnn_tokenizer_open(tokenizer, name);
    free(name);
    return rc;
}
