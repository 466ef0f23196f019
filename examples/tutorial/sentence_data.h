/* Tutorial 4 and 5: a small language. Each sentence has one marked word, and the class of every
 * word of the sentence is the marked word's symbol. */
#ifndef SENTENCE_DATA_H
#define SENTENCE_DATA_H

#include <gnn/gnn.h>

enum { SENTENCES = 64, WORDS = 12, SYMBOLS = 8, FEATURES = SYMBOLS + 1 };

/** Concatenated sentences: row r is word r % WORDS of sentence r / WORDS. */
typedef struct sentences {
    gnn_real_t features[SENTENCES * WORDS * FEATURES]; /**< one-hot symbol, then the mark */
    int32_t labels[SENTENCES * WORDS];
    int64_t lengths[SENTENCES];
} sentences_t;

/** Generates sentences; equal seeds give equal sentences. */
void sentences_draw(sentences_t *sentences, unsigned seed);

/** Trains `config` between two linear maps on the given topology ("complete", "causal", ...), and
 * returns its accuracy on the words of new sentences, in percent. */
int sentences_train(gnn_context_t *context, const gnn_layer_config_t *config, const char *topology,
                    const char *options, double *accuracy);

#endif
