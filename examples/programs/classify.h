/* A classifier of sentences: words + positions, Transformer layers, one readout per sentence.
 * Shared by sentence.c (--data) and descriptions.c. */
#ifndef CLASSIFY_H
#define CLASSIFY_H

#include <gnn/gnn.h>
#include <stdio.h>

typedef struct {
    const char *data, *validation, *test, *save, *load, *sentence, *heatmap, *graphml;
    /* an entry of graphs/topologies.def, window=N, or edges: the complete graph stored as edges */
    const char *topology;
    int node, sinusoidal; /* attention readout; fixed positions */
    int64_t layers, width, heads, epochs, patience, max_length, min_count;
    double dropout, word_dropout, lr, weight_decay;
    int64_t seed, threads;
} classify_t;

#define CLASSIFY_DEFAULTS                                                                     \
    .topology = "complete", .layers = 1, .width = 64, .heads = 4, .epochs = 8, .patience = 4, \
    .max_length = 128, .min_count = 2, .dropout = 0.4, .word_dropout = 0.2, .lr = 0.003,      \
    .weight_decay = 0.01, .seed = 1

/* A pack of sentences with its two graphs: the topology over words (slot 0), and words -> readout
 * of their sentence (slot 1). */
typedef struct {
    const gnn_pack_t *pack;
    gnn_graph_t *graphs[2];
    int32_t *ids, *queries; /* words after word dropout; the readout nodes' only embedding */
    gnn_named_t values[3];
    const classify_t *options;
} batch_t;

typedef struct {
    gnn_packs_t *packs;
    batch_t *batch;
} batches_t;

int batches_new(batches_t *batches, const gnn_corpus_t *corpus, const gnn_vocabulary_t *vocabulary,
                const gnn_model_t *model, const classify_t *options);
void batches_free(batches_t *batches);
gnn_model_inputs_t batch_inputs(const batch_t *batch);

int classifier_new(gnn_model_t **model, gnn_context_t *context, const classify_t *options,
                   const gnn_vocabulary_t *vocabulary);
int classifier_train(gnn_model_t *model, gnn_context_t *context, const classify_t *options,
                     const batches_t *train, const batches_t *validation);
/* Accuracy in percent. With `edges`, also: the count of predictions whose two best logits are more
 * than 1e-4 apart [0], and of those among them that change when both graphs are stored as edges
 * [1]. */
int classifier_test(const gnn_model_t *model, gnn_context_t *context, const batches_t *test,
                    double *accuracy, int64_t edges[2]);
/* The step of this name, -1 if there is none. */
int64_t classifier_step(const gnn_model_t *model, const char *name);

/* options->sentence with its words and graphs; all members are empty without one. */
typedef struct {
    gnn_corpus_t *corpus;
    gnn_words_t *words;
    batches_t batches;
} shown_t;

int shown_new(shown_t *shown, const gnn_model_t *model, const classify_t *options,
              const gnn_vocabulary_t *vocabulary);
void shown_free(shown_t *shown);
/* Prints the sentence's class, draws its attention and writes it as a graph. */
int show_sentence(const gnn_model_t *model, gnn_context_t *context, const classify_t *options,
                  const gnn_vocabulary_t *vocabulary, const shown_t *shown);

/* sentence --data ... and --load ...; returns a code for program_ends_with. */
int classify(classify_t *options);

#endif
