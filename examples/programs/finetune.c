/* Fine-tunes a pretrained encoder to classify sentences: trained on labelled lines, tested, and
 * saved as a folder that opens like any other.
 *
 *     gnn finetune --model all-MiniLM-L6-v2 --data stsa.binary.train \
 *         --validation stsa.binary.dev --test stsa.binary.test --save sst2-minilm
 */
#include "options.h"
#include "program.h"

#include <gnn/gnn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

typedef struct {
    const char *folder, *data, *validation, *test, *save;
    int64_t epochs, sentences, accumulate, frozen, max_length, seed, threads, limit;
    double lr, weight_decay, warmup_share, layer_decay, dropout;
    int first, json, keep_16_bits;
} options_t;

/* The objects of a run. */
typedef struct {
    const options_t *o;
    gnn_context_t *context;
    gnn_pretrained_t *p;
    gnn_vocabulary_t *labels;
    gnn_corpus_t *train, *validation, *test;
    gnn_source_t *source;
    int64_t steps; /* steps of an epoch */
    double accuracy;
    gnn_train_result_t result;
} run_t;

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- texts ---- */

static gnn_labelled_texts_t texts_of(const gnn_corpus_t *c, int64_t limit)
{
    return (gnn_labelled_texts_t){
        {limit == 0 || c->count < limit ? c->count : limit, c->sentences, NULL}, c->labels};
}

/* The training file defines the classes; other files must not have others. */
static int read_texts(run_t *r)
{
    GNN_TRY(gnn_corpus_read(&r->train, r->o->data, NULL));
    GNN_TRY(program_has_classes("finetune", r->o->data, r->train->n_labels));
    GNN_TRY(gnn_vocabulary_new(&r->labels, r->train, 1));
    if (r->o->validation)
        GNN_TRY(gnn_corpus_read(&r->validation, r->o->validation, r->labels));
    return r->o->test ? gnn_corpus_read(&r->test, r->o->test, r->labels) : GNN_OK;
}

/* ---- training ---- */

static int show_progress(void *user, const gnn_progress_t *now)
{
    const run_t *r = user;
    fprintf(stderr, "epoch %lld of %lld: loss %.4f", (long long)now->epoch, (long long)now->epochs,
            now->train_loss);
    if (r->validation)
        fprintf(stderr, ", validation accuracy %.2f%%%s", 100 * now->validation_metric,
                now->improved ? " (the best so far)" : "");
    fprintf(stderr, ", %.0f s\n", now->seconds);
    return 0;
}

/* A source that counts the steps of an epoch on a terminal. */
static int get_batch(void *user, int part, int64_t epoch, int64_t index, gnn_batch_t *batch)
{
    const run_t *r = user;
    const gnn_source_t *s = r->source;
    if (part == GNN_TRAIN && isatty(STDERR_FILENO))
        fprintf(stderr, "\repoch %lld: batch %lld of %lld%s", (long long)epoch,
                (long long)index + 1, (long long)s->count[part],
                index + 1 == s->count[part] ? "\r                                        \r" : "");
    return s->get(s->user, part, epoch, index, batch);
}

static int train(run_t *r)
{
    const options_t *o = r->o;
    const gnn_labelled_texts_t texts = texts_of(r->train, o->limit),
                               validation = r->validation ? texts_of(r->validation, 0)
                                                          : (gnn_labelled_texts_t){.labels = NULL};
    GNN_TRY(gnn_source_of_texts(&r->source, r->p, &texts, r->validation ? &validation : NULL,
                                &(gnn_text_source_config_t){.sentences = o->sentences,
                                                            .max_length = o->max_length,
                                                            .seed = (uint64_t)o->seed}));
    gnn_source_t source = *r->source;
    source.get = get_batch;
    source.user = r;
    r->steps = (source.count[GNN_TRAIN] + o->accumulate - 1) / o->accumulate;
    /* at least one step of decay, for a training run of one step */
    const int64_t all = o->epochs * r->steps, most = all > 0 ? all - 1 : 0,
                  rising = (int64_t)ceil(o->warmup_share * (double)all),
                  warmup = rising < most ? rising : most;
    gnn_train_config_t how = {
        .epochs = o->epochs,
        .optimizer = {.kind = GNN_ADAMW,
                      .lr = (gnn_real_t)o->lr,
                      .weight_decay = o->weight_decay > 0 ? (gnn_real_t)o->weight_decay : GNN_ZERO,
                      .clip_norm = 1},
        .schedule = {.kind = GNN_SCHEDULE_LINEAR, .warmup = warmup, .period = all - warmup},
        .watch = r->validation ? GNN_WATCH_METRIC : GNN_WATCH_NONE,
        .accumulate = o->accumulate,
        .callback = show_progress,
        .user = r,
        .stop = &program_stopped};
    GNN_TRY(gnn_pretrained_groups(r->p, o->layer_decay, o->frozen, &how.optimizer.groups,
                                  &how.optimizer.n_groups));
    program_catch_interrupt();
    const int rc =
        gnn_train_batches(gnn_pretrained_model(r->p), r->context, &source, &how, &r->result);
    program_let_interrupt();
    return rc;
}

static int test(run_t *r)
{
    const gnn_labelled_texts_t texts = texts_of(r->test, 0);
    const int64_t classes = gnn_pretrained_label_count(r->p);
    gnn_real_t *numbers = calloc((size_t)(texts.texts.count * classes), sizeof *numbers);
    const gnn_tensor_t logits = gnn_tensor(numbers, texts.texts.count, classes);
    int rc = numbers ? gnn_pretrained_classify(r->p, r->context, &texts.texts, &logits) : GNN_EMEMORY;
    if (rc == GNN_OK)
        r->accuracy = gnn_metric(GNN_METRIC_ACCURACY, &logits, texts.labels, NULL);
    free(numbers);
    return rc;
}

/* ---- main ---- */

static void tell(const run_t *r, double took)
{
    struct rusage used;
    const double all = (double)(r->result.epochs * r->steps);
    getrusage(RUSAGE_SELF, &used);
    if (r->o->json) {
        printf("{\"architecture\": ");
        program_json_string(stdout, gnn_pretrained_architecture(r->p));
        printf(", \"classes\": %lld, \"sentences\": %lld, \"epochs\": %lld, \"best_epoch\": %lld, "
               "\"steps\": %.0f, \"seed\": %lld, ",
               (long long)gnn_pretrained_label_count(r->p),
               (long long)texts_of(r->train, r->o->limit).texts.count, (long long)r->result.epochs,
               (long long)r->result.best_epoch, all, (long long)r->o->seed);
        program_json_number(stdout, "train_loss", r->result.train_loss);
        printf(", ");
        program_json_number(stdout, "validation_accuracy",
                            r->validation ? r->result.validation_metric : NAN);
        printf(", ");
        program_json_number(stdout, "test_accuracy", r->accuracy);
        printf(", \"seconds\": %.3f, \"training_seconds\": %.3f, \"peak_megabytes\": %.1f}\n", took,
               r->result.seconds, (double)used.ru_maxrss / 1024);
        return;
    }
    printf("%.0f steps in %.1f s, peak %.0f MB\n", all, r->result.seconds,
           (double)used.ru_maxrss / 1024);
    if (r->test)
        printf("test accuracy %.2f over %lld sentences\n", 100 * r->accuracy,
               (long long)r->test->count);
}

static int save(const void *what, const char *path)
{
    return gnn_pretrained_save(what, path);
}

static int run(run_t *r)
{
    const double start = seconds();
    const char *names[1000];
    GNN_TRY(gnn_context_new(&r->context, &(gnn_context_config_t){.seed = (uint64_t)r->o->seed,
                                                                 .threads = (int)r->o->threads}));
    GNN_TRY(read_texts(r));
    const int64_t classes = gnn_vocabulary_labels(r->labels);
    for (int64_t k = 0; k < classes; k++)
        names[k] = gnn_vocabulary_label(r->labels, k);
    GNN_TRY(gnn_pretrained_open_classes(
        &r->p, r->context, r->o->folder,
        &(gnn_classes_config_t){.count = classes,
                                .names = names,
                                .first = r->o->first ? GNN_ON : GNN_OFF,
                                .dropout = r->o->dropout > 0 ? (gnn_real_t)r->o->dropout : GNN_ZERO,
                                .frozen_16_bits = r->o->keep_16_bits ? r->o->frozen : 0}));
    r->accuracy = NAN;
    const int trained = train(r);
    if (trained == GNN_OK && r->test)
        GNN_TRY(test(r));
    if (r->o->save && (trained == GNN_OK || trained == GNN_ESTOPPED))
        GNN_TRY(program_save("finetune", r->o->save, save, r->p));
    GNN_TRY(trained);
    tell(r, seconds() - start);
    return gnn_profile_write(r->context, stderr);
}

static int read_options(options_t *o, int argc, char **argv, int *status)
{
    const option_t rows[] = {
        INPUT("model", &o->folder, "the pretrained encoder", "FOLDER"),
        INPUT("data", &o->data, "training lines: class, tab, sentence; or 0 or 1, space, sentence",
              "FILE"),
        INPUT("validation", &o->validation, "validation sentences [none: keeps the last epoch]",
              "FILE"),
        INPUT("test", &o->test, "test sentences", "FILE"),
        STORED("save", &o->save, "writes the model as a folder", "FOLDER"),
        WHOLE("epochs", &o->epochs, "passes over the sentences", 1, 1000000),
        WHOLE("batch", &o->sentences, "sentences of a batch", 1, 1000000),
        WHOLE("accumulate", &o->accumulate, "batches per step (gradient accumulation)", 1, 1000000),
        REAL("lr", &o->lr, "highest learning rate of AdamW", 0, 1000),
        REAL("warmup-share", &o->warmup_share,
             "fraction of the steps for the warm-up, before a linear decay to 0", 0, 1),
        REAL("layer-decay", &o->layer_decay,
             "factor of the learning rate from each layer to the one below", 0.01, 1),
        WHOLE("frozen", &o->frozen,
              "frozen depths: 1 the embeddings, 2 also the first layer, ... [0]", 0, 1000),
        FLAG("keep-16-bits", &o->keep_16_bits,
             "keeps bf16 and fp16 weights of frozen depths in 16 bits", .where = "frozen"),
        REAL("weight-decay", &o->weight_decay, "of AdamW", 0, 1000),
        REAL("dropout", &o->dropout, "before the classification head", 0, 0.99),
        CHOICE("readout", &o->first, "pooling of a sentence: mean of its rows, or the first row",
               "mean|first"),
        WHOLE("max-length", &o->max_length, "uses the first N tokens of a sentence", 2, 1000000),
        WHOLE("limit", &o->limit, "trains on the first N sentences only; 0: all", 0, 1e18),
        SEED(&o->seed, "of the order of sentences and of dropout"),
        THREADS(&o->threads),
        JSON(&o->json),
    };
    const program_t program = {
        .name = "finetune",
        .usage = "--model FOLDER --data FILE [OPTION]...",
        .notes =
            "sh examples/fetch-minilm.sh fetches a small encoder and prints its folder. Ctrl-C ends after the "
            "running step, writes the model (with --validation the best) and exits with 130.",
        .options = rows,
        .n_options = (int)(sizeof rows / sizeof *rows)};
    if (!options_read(&program, argc, argv, status))
        return 0;
    *status = 2;
    if (!o->folder)
        fprintf(stderr, "finetune: --model is expected, the folder of a pretrained encoder\n");
    else if (!o->data)
        fprintf(stderr, "finetune: --data is expected\n");
    return o->folder && o->data;
}

int finetune_main(int argc, char **argv)
{
    options_t options = {.epochs = 3,
                         .sentences = 32,
                         .accumulate = 1,
                         .lr = 5e-5,
                         .warmup_share = 0.1,
                         .layer_decay = 1,
                         .weight_decay = 0.01,
                         .dropout = 0.1,
                         .max_length = 128,
                         .seed = 1};
    run_t r = {.o = &options};
    int status;
    if (!read_options(&options, argc, argv, &status))
        return status;
    const int rc = run(&r);
    program_fails("finetune", rc);
    gnn_source_free(r.source);
    gnn_pretrained_free(r.p);
    gnn_vocabulary_free(r.labels);
    gnn_corpus_free(r.train);
    gnn_corpus_free(r.validation);
    gnn_corpus_free(r.test);
    gnn_context_free(r.context);
    return program_ends_with("finetune", rc);
}
