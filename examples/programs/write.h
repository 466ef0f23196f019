/* Shared by the files of write. */
#ifndef EXAMPLES_WRITE_H
#define EXAMPLES_WRITE_H

#include "text_train.h"

typedef struct {
    const char *data, *save, *load, *pretrained, *prompt;
    int64_t vocabulary, width, layers, heads, feed_forward, window;
    int64_t length, samples, top_k;
    double validation_share, temperature, top_p;
    int json, keep_16_bits;
    text_train_t train;
} write_t;

/* A model with its tokenizer. */
typedef struct {
    gnn_model_t *model;
    gnn_tokenizer_t *tokenizer;
} language_model_t;

int language_model_new(language_model_t *m, gnn_context_t *context, const write_t *o,
                       const char *text, int64_t bytes);
/* PATH, and PATH.tokenizer.json next to it. */
int language_model_save(const language_model_t *m, const char *path);
int language_model_load(language_model_t *m, gnn_context_t *context, const char *path);
void language_model_free(language_model_t *m);

typedef struct {
    gnn_context_t *context;
    language_model_t own;
    gnn_pretrained_t *pretrained;
    char *text; /* the whole text; the held-out part starts at `cut` */
    int64_t bytes, cut;
    gnn_tokens_t *tokens[2]; /* tokens for training, and held out */
    gnn_source_t *source;
    text_trained_t trained;
    double nats; /* per character, on held-out text */
    int measured;
} write_run_t;

/* Reads the text of --data, or a built-in rhyme, and sets the start of the held-out part. */
int write_take_text(write_run_t *r, const write_t *o);
/* Count of the UTF-8 characters. */
int64_t write_characters(const char *text, int64_t bytes);
int write_encode(const language_model_t *m, const char *text, int64_t bytes, gnn_tokens_t **tokens);
/* Nats per character of the held-out text. */
int write_measure(write_run_t *r, const write_t *o);

#endif
