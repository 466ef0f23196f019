/* Training on token sequences for translate and write: options, the loop with its progress, and
 * Ctrl-C. */
#ifndef EXAMPLES_TEXT_TRAIN_H
#define EXAMPLES_TEXT_TRAIN_H

#include "options.h"

#include <gnn/gnn.h>

typedef struct {
    int64_t epochs, tokens, window, warmup, seed, threads;
    double lr, dropout, smoothing, decay;
    int schedule, precision; /* 0: cosine, 1: noam; 0: highest, 1: high, 2: medium */
    const char *checkpoint;
    int resume, overwrite;
} text_train_t;

/* `when` is the `where` of all training options. */
#define TEXT_TRAIN_OPTIONS(t, when)                                                              \
    WHOLE("epochs", &(t).epochs, "passes over the training text", 1, 1000000, .where = (when)),  \
        WHOLE("tokens", &(t).tokens, "tokens of a batch", 1, 1000000000, .where = (when)),       \
        REAL("lr", &(t).lr, "highest learning rate; noam: its factor", 0, 1e9, .where = (when)), \
        CHOICE("schedule", &(t).schedule, "of the learning rate, after the warm-up",             \
               "cosine|noam", .where = (when)),                                                  \
        WHOLE("warmup", &(t).warmup, "steps until the highest rate", 1, 1000000000,              \
              .where = (when)),                                                                  \
        REAL("dropout", &(t).dropout, "of attention, updates and embeddings", 0, 0.99,           \
             .where = (when)),                                                                   \
        REAL("weight-decay", &(t).decay, "decoupled, of all but embeddings", 0, 1e9,             \
             .where = (when)),                                                                   \
        STORED("checkpoint", &(t).checkpoint, "keeps the state of the training", "FILE",         \
               .where = (when)),                                                                 \
        FLAG("resume", &(t).resume, "resumes from the checkpoint", .where = "checkpoint"),       \
        FLAG("overwrite", &(t).overwrite, "overwrites an existing checkpoint",                   \
             .where = "checkpoint !resume"),                                                     \
        PRECISION(&(t).precision), THREADS(&(t).threads),                                        \
        SEED(&(t).seed, "of weights, order, dropout and drawn tokens")

typedef struct {
    double train_loss, validation_loss, seconds; /* losses in nats per token */
    int64_t epochs, best_epoch;
    double words_per_second;
} text_trained_t;

/* Makes the context for these options. */
int text_context(gnn_context_t **context, const text_train_t *t);
/* Trains with one line per epoch on stderr, and a progress line on a terminal. `frozen`: prefix of
 * the parameters that are not trained (NULL: none); `words`: words per epoch. */
int text_train(const char *program, gnn_model_t *model, gnn_context_t *context,
               const gnn_source_t *source, const text_train_t *t, const char *frozen, int64_t words,
               text_trained_t *result);
/* Count of the learned scalars of a model. */
int64_t text_weights(const gnn_model_t *model, const char *frozen);
/* Loads a model from `path` and its tokenizer from PATH.tokenizer.json. After an error the caller
 * must free what was loaded. */
int text_save(const char *program, const gnn_model_t *model, const gnn_tokenizer_t *tokenizer,
              const char *path);
int text_load(gnn_model_t **model, gnn_tokenizer_t **tokenizer, gnn_context_t *context,
              const char *path);
/* Losses, seconds and words per second as members of a JSON object. */
void text_trained_json(FILE *file, const text_trained_t *trained);
double text_seconds(void);
/* Count of the words separated by whitespace. */
int64_t text_words(const char *text);

#endif
