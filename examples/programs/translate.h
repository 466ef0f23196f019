/* Shared by the files of translate. */
#ifndef EXAMPLES_TRANSLATE_H
#define EXAMPLES_TRANSLATE_H

#include "text_train.h"

enum { TRANSLATE_BEGIN = 0, TRANSLATE_END = 1 }; /* special tokens */

typedef struct {
    const char *source, *target, *validation_source, *validation_target, *test_source, *test_target;
    const char *input, *output, *save, *load;
    const char *pretrained, *language;     /* a published folder, and its output language */
    const char *sentence, *heatmap, *html; /* of one sentence: translate_look.c */
    int64_t layer, head;
    int64_t vocabulary, width, layers, heads, feed_forward, max_length, beams, at_once;
    double length_penalty;
    int keep_16_bits, keep_case, json, score; /* score: index in translate_scores.c */
    text_train_t train;
} translate_t;

/* A parallel corpus of two texts. */
typedef struct {
    int64_t count, words;
    const char *const *source, *const *target;
    gnn_text_lines_t *lines[2]; /* owns them if they were read */
    char **made;                /* owns generated lines: source and target alternate */
} pairs_t;

int pairs_read(pairs_t *pairs, const char *source, const char *target);
/* German numerals and their English translations, from index `first` of a random order. */
int pairs_numbers(pairs_t *pairs, int64_t first, int64_t count);
void pairs_free(pairs_t *pairs);

/* A model with its tokenizer. */
typedef struct {
    gnn_model_t *model;
    gnn_tokenizer_t *tokenizer;
    int64_t max_length;
    gnn_pretrained_t *pretrained; /* replaces the others; NULL: none */
} translator_t;

int translator_new(translator_t *t, gnn_context_t *context, const translate_t *o,
                   const pairs_t *train);
/* PATH, and PATH.tokenizer.json next to it. */
int translator_save(const translator_t *t, const char *path);
int translator_load(translator_t *t, gnn_context_t *context, const char *path);
/* A published encoder-decoder. */
int translator_open(translator_t *t, gnn_context_t *context, const translate_t *o);
void translator_free(translator_t *t);

/* Appends the steps NAME, causal self-attention (graph 1), and NAME:cross, attention to the value
 * "memory" (graph 2). */
void add_decoder_layer(gnn_steps_t *steps, const char *name, const gnn_layer_config_t *layer,
                       int score);

/* A source's tokens with the end token, and a target's between begin and end. `sequences` points
 * into both; encoded_free frees them. */
typedef struct {
    int64_t *lengths[2];
    int32_t *ids[2];
    gnn_sequences_t sequences;
} encoded_t;
int encode_lines(encoded_t *e, const translator_t *t, int64_t count, const char *const *source,
                 const char *const *target);
void encoded_free(encoded_t *e);

/* Stores translations of lines in `out` (count), each for free(). */
int translate_lines(const translator_t *t, gnn_context_t *context, const translate_t *o,
                    int64_t count, const char *const *source, char **out);

/* Prints the translation of o->sentence, and writes its pictures. */
/* PROGRAM_REFUSED after a message: the layer or head to show is not one of the model's. */
int translate_can_look(const translator_t *t, const translate_t *o);
int translate_look(const translator_t *t, gnn_context_t *context, const translate_t *o);

#endif
