/* What the parts of write share. */
#ifndef EXAMPLES_WRITE_H
#define EXAMPLES_WRITE_H

#include "text_train.h"

typedef struct {
    const char *text, *save, *load, *pretrained, *prompt;
    int64_t vocabulary, width, layers, heads, feed_forward, window;
    int64_t length, samples, top_k;
    double held_out, temperature, top_p;
    int json;
    text_train_t train;
} write_t;

/* A model with its tokenizer. */
typedef struct {
    gnn_model_t *model;
    gnn_tokenizer_t *tokenizer;
} language_model_t;

int language_model_new(language_model_t *m, gnn_context_t *context, const write_t *o,
                       const char *text, int64_t bytes);
/* PATH, and PATH.tokenizer.json beside it. */
int language_model_save(const language_model_t *m, const char *path);
int language_model_load(language_model_t *m, gnn_context_t *context, const char *path);
void language_model_free(language_model_t *m);

#endif
