/*
 * Sections of Debian packages from their one-line descriptions: each description is a complete
 * graph of its words. Names, sections and the packages held out for testing come from
 * graphs/data/debian.npz, the descriptions from the package index of the machine. If the index has
 * fewer than 90% of the packages, the generated language of language.c is used instead: is a
 * sentence's verb "is" or "are"?
 */
#include "descriptions.h"
#include "options.h"
#include "program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int train_and_test(run_t *r, const classify_t *o, const char *name)
{
    gnn_model_t *model = NULL;
    batches_t batches[3] = {{0}};
    shown_t shown = {0};
    double accuracy = 0;
    int rc = classifier_new(&model, r->context, o, r->vocabulary);
    for (int p = 0; p < 3 && rc == GNN_OK; p++)
        rc = batches_new(&batches[p], r->corpus[p], r->vocabulary, model, o);
    if (rc == GNN_OK)
        rc = shown_new(&shown, model, o, r->vocabulary);
    if (rc == GNN_OK)
        rc = classifier_train(model, r->context, o, &batches[0], &batches[1]);
    if (rc == GNN_OK)
        rc = classifier_test(model, r->context, &batches[2], &accuracy, NULL);
    if (rc == GNN_OK)
        printf("%s: test accuracy %.1f over %lld sentences\n", name, accuracy,
               (long long)r->corpus[2]->count);
    if (rc == GNN_OK)
        rc = show_sentence(model, r->context, o, r->vocabulary, &shown);
    shown_free(&shown);
    for (int p = 0; p < 3; p++)
        batches_free(&batches[p]);
    gnn_model_free(model);
    return rc;
}

static int run(run_t *r, classify_t *o, const char *index)
{
    GNN_TRY(read_names(r, o->data));
    int64_t found = find_descriptions(r, index);
    printf("%lld of %lld packages have a description in %s\n", (long long)found,
           (long long)gnn_data_nodes(r->data), index ? index : "this machine's package index");
    if (10 * found < 9 * gnn_data_nodes(r->data))
        printf("fewer than 90%%: a generated language takes their place\n");
    GNN_TRY(10 * found < 9 * gnn_data_nodes(r->data) ? take_language(r, o->seed)
                                                     : take_descriptions(r));
    printf("%lld sentences to learn from, %lld words known, %lld classes\n",
           (long long)r->corpus[0]->count, (long long)gnn_vocabulary_size(r->vocabulary) - 1,
           (long long)gnn_vocabulary_labels(r->vocabulary));
    GNN_TRY(gnn_context_new(&r->context, &(gnn_context_config_t){.seed = (uint64_t)o->seed,
                                                                 .threads = (int)o->threads}));
    classify_t bag = *o;
    bag.layers = 0;
    bag.epochs = 20; /* trains more slowly, with early stopping */
    bag.sentence = NULL;
    GNN_TRY(train_and_test(r, &bag, "bag-of-words MLP"));
    if (!o->sentence)
        o->sentence = r->corpus[2]->sentences[0];
    return train_and_test(r, o, "Transformer");
}

int descriptions_main(int argc, char **argv)
{
    classify_t o = {CLASSIFY_DEFAULTS};
    run_t r = {0};
    const char *index = NULL;
    int status;
    const option_t rows[] = {
        INPUT("data", &o.data, "packages as a graph, their sections as classes", "FILE.npz"),
        INPUT("index", &index, "Debian's package index [that of apt-cache]", "FILE"),
        TEXT("sentence", &o.sentence,
             "classifies this description, too [the first test description]", "TEXT"),
        OUTPUT("heatmap", &o.heatmap, "attention as a heat map", "FILE.svg"),
        OUTPUT("graphml", &o.graphml, "the sentence as a graph with attention as edge weights",
               "FILE.graphml"),
        SEED(&o.seed, "of weights, dropout and the generated language"),
        THREADS(&o.threads)};
    const program_t program = {.name = "descriptions",
                               .usage = "--data debian.npz [OPTION]...",
                               .options = rows,
                               .n_options = (int)(sizeof rows / sizeof *rows)};
    o.epochs = 6;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!options_read(&program, argc, argv, &status))
        return status;
    if (!o.data) {
        fprintf(stderr, "descriptions: --data FILE.npz is expected (graphs/data/debian.npz)\n");
        return 2;
    }
    int rc = run(&r, &o, index);
    if (rc == GNN_OK)
        rc = gnn_profile_write(r.context, stderr);
    program_fails("descriptions", rc);
    for (int64_t i = 0; r.packages && i < gnn_data_nodes(r.data); i++) {
        free(r.packages[i].name);
        free(r.packages[i].text);
    }
    free(r.packages);
    for (int p = 0; p < 3; p++)
        gnn_corpus_free(r.corpus[p]);
    gnn_vocabulary_free(r.vocabulary);
    gnn_data_free(r.data);
    gnn_context_free(r.context);
    return program_ends("descriptions", rc == GNN_OK ? EXIT_SUCCESS : EXIT_FAILURE);
}
