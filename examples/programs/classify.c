/*
 * gnn sentence --data FILE: trains a sentence classifier. FILE has label<TAB>sentence on each line,
 * or is one of the files stsa.binary.* of the Stanford Sentiment Treebank. The model is one layer
 * type, used three times: words attend to each other, then one node per sentence attends to its
 * words.
 */
#include "classify.h"
#include "program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The objects of a run. */
typedef struct {
    gnn_context_t *context;
    gnn_vocabulary_t *vocabulary;
    gnn_model_t *model;
    gnn_corpus_t *train, *validation, *test;
    batches_t tested; /* of `test` */
    shown_t shown;    /* --sentence */
} run_t;

/* Sentences of a class: how many, how many of the classes before it, and how many seen so far. */
typedef struct {
    int64_t count, before, seen;
} class_t;

/* held[k]: every tenth sentence in the order of classes, but never the first of a class, which
 * would then have nothing to learn from. Returns how many are held out. */
static int64_t mark_held(const gnn_corpus_t *all, class_t *classes, uint8_t *held)
{
    int64_t count = 0;
    for (int64_t k = 0; k < all->count; k++)
        classes[all->labels[k]].count++;
    for (int64_t c = 1; c < all->n_labels; c++)
        classes[c].before = classes[c - 1].before + classes[c - 1].count;
    for (int64_t k = 0; k < all->count; k++) {
        class_t *c = &classes[all->labels[k]];
        held[k] = c->seen > 0 && (c->before + c->seen) % 10 == 9;
        c->seen++;
        count += held[k];
    }
    return count;
}

/* The sentences of `all` that are held out, or the others. Both have all classes. */
static int take(gnn_corpus_t **part, const gnn_corpus_t *all, const gnn_vocabulary_t *classes,
                const uint8_t *held, int which)
{
    const size_t places = (size_t)all->count;
    const char **text = malloc(places * sizeof *text), **label = malloc(places * sizeof *label);
    int64_t count = 0;
    for (int64_t k = 0; text && label && k < all->count; k++)
        if (held[k] == which) {
            text[count] = all->sentences[k];
            label[count++] = all->label_names[all->labels[k]];
        }
    const int rc = text && label ? gnn_corpus_new(part, count, label, text, classes) : GNN_EMEMORY;
    free(text);
    free(label);
    return rc;
}

/* Without --validation a tenth of the sentences is held out. */
static int hold_out(run_t *r, const char *data)
{
    gnn_corpus_t *all = r->train;
    gnn_vocabulary_t *names = NULL;
    class_t *classes = calloc((size_t)all->n_labels, sizeof *classes);
    uint8_t *held = calloc((size_t)all->count, 1);
    int rc = classes && held ? gnn_vocabulary_new(&names, all, 1) : GNN_EMEMORY;
    r->train = NULL;
    if (rc == GNN_OK && mark_held(all, classes, held) == 0) {
        fprintf(stderr,
                "sentence: %s has too few sentences to hold out a tenth: --validation FILE "
                "is expected, too\n",
                data);
        rc = PROGRAM_REFUSED;
    }
    if (rc == GNN_OK)
        rc = take(&r->train, all, names, held, 0);
    if (rc == GNN_OK)
        rc = take(&r->validation, all, names, held, 1);
    gnn_vocabulary_free(names);
    gnn_corpus_free(all);
    free(classes);
    free(held);
    return rc;
}

static int read_training(run_t *r, const classify_t *o)
{
    GNN_TRY(gnn_corpus_read(&r->train, o->data, NULL));
    GNN_TRY(program_has_classes("sentence", o->data, r->train->n_labels));
    if (!o->validation)
        GNN_TRY(hold_out(r, o->data));
    GNN_TRY(gnn_vocabulary_new(&r->vocabulary, r->train, o->min_count));
    if (o->validation)
        GNN_TRY(gnn_corpus_read(&r->validation, o->validation, r->vocabulary));
    fprintf(
        stderr,
        "%lld sentences to learn from, %lld held out; %lld words in all, %lld of them known; %lld classes\n",
        (long long)r->train->count, (long long)r->validation->count, (long long)r->train->words,
        (long long)gnn_vocabulary_size(r->vocabulary) - 1, (long long)r->train->n_labels);
    return GNN_OK;
}

/* Reads what follows the training, so that its errors come first. */
static int read_rest(run_t *r, const classify_t *o)
{
    if (o->test) {
        GNN_TRY(gnn_corpus_read(&r->test, o->test, r->vocabulary));
        GNN_TRY(batches_new(&r->tested, r->test, r->vocabulary, r->model, o));
    }
    return shown_new(&r->shown, r->model, o, r->vocabulary);
}

static int train(run_t *r, const classify_t *o)
{
    batches_t train = {0}, validation = {0};
    int rc = batches_new(&train, r->train, r->vocabulary, r->model, o);
    if (rc == GNN_OK)
        rc = batches_new(&validation, r->validation, r->vocabulary, r->model, o);
    if (rc == GNN_OK)
        rc = classifier_train(r->model, r->context, o, &train, &validation);
    if (rc == GNN_ESTOPPED)
        fprintf(stderr, "sentence: stopped%s\n", o->save ? "; the best model so far is written" : "");
    batches_free(&train);
    batches_free(&validation);
    return rc;
}

/* The vocabulary is saved next to the weights: FILE.words. */
static int words_of(char words[4096], const char *path)
{
    return snprintf(words, 4096, "%s.words", path) < 4096 ? GNN_OK : GNN_EINVALID;
}

static int save(const void *what, const char *path)
{
    const run_t *r = what;
    char words[4096];
    GNN_TRY(words_of(words, path));
    GNN_TRY(gnn_model_save(r->model, path));
    return gnn_vocabulary_save(r->vocabulary, words);
}

static int load(run_t *r, const char *path)
{
    char words[4096];
    GNN_TRY(words_of(words, path));
    GNN_TRY(gnn_model_load(&r->model, r->context, path));
    return gnn_vocabulary_load(&r->vocabulary, words);
}

/* The sizes in the file are used; the check detects files of different models. */
static int fit_options(const run_t *r, classify_t *o)
{
    int64_t word = classifier_step(r->model, "word"), place = classifier_step(r->model, "place"),
            class = classifier_step(r->model, "class");
    if (word < 0 || place < 0 || class < 0 || classifier_step(r->model, "layer1") < 0 ||
        classifier_step(r->model, "readout") < 0 ||
        gnn_model_step(r->model, word)->in != gnn_vocabulary_size(r->vocabulary) ||
        gnn_model_step(r->model, class)->out != gnn_vocabulary_labels(r->vocabulary)) {
        fprintf(stderr, "%s: not this program's model, or not this vocabulary's\n", o->load);
        return PROGRAM_REFUSED;
    }
    o->max_length = gnn_model_step(r->model, place)->in;
    return GNN_OK;
}

static int test(run_t *r, const classify_t *o)
{
    double accuracy = 0;
    int64_t edges[2] = {0, 0};
    GNN_TRY(classifier_test(r->model, r->context, &r->tested, &accuracy, edges));
    printf("edges against spans, same weights: %lld of %lld predictions with a margin above 1e-4 differ\n",
           (long long)edges[1], (long long)edges[0]);
    printf("test accuracy %.1f over %lld sentences, topology %s\n", accuracy,
           (long long)r->test->count, o->topology);
    return GNN_OK;
}

static int run(run_t *r, classify_t *o)
{
    int trained = GNN_OK;
    GNN_TRY(gnn_context_new(&r->context, &(gnn_context_config_t){.seed = (uint64_t)o->seed,
                                                                 .threads = (int)o->threads}));
    if (o->load) {
        GNN_TRY(load(r, o->load));
        GNN_TRY(fit_options(r, o));
    } else {
        GNN_TRY(read_training(r, o));
        GNN_TRY(classifier_new(&r->model, r->context, o, r->vocabulary));
    }
    GNN_TRY(read_rest(r, o));
    if (!o->load)
        trained = train(r, o);
    if (o->save && (trained == GNN_OK || trained == GNN_ESTOPPED))
        GNN_TRY(program_save("sentence", o->save, save, r));
    GNN_TRY(trained);
    if (o->test)
        GNN_TRY(test(r, o));
    return show_sentence(r->model, r->context, o, r->vocabulary, &r->shown);
}

int classify(classify_t *options)
{
    run_t r = {0};
    setvbuf(stdout, NULL, _IOLBF, 0);
    int rc = run(&r, options);
    if (rc == GNN_OK)
        rc = gnn_profile_write(r.context, stderr);
    program_fails("sentence", rc);
    shown_free(&r.shown);
    batches_free(&r.tested);
    gnn_model_free(r.model);
    gnn_vocabulary_free(r.vocabulary);
    gnn_corpus_free(r.train);
    gnn_corpus_free(r.validation);
    gnn_corpus_free(r.test);
    gnn_context_free(r.context);
    return rc;
}
