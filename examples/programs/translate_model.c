/* The model of translate: the Transformer of Vaswani et al. 2017 in pre-norm form, with embeddings
 * shared by both sides and the output; and its files. */
#include "program.h"
#include "translate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the model ---- */

/* Scaled embeddings plus positions with dropout, as the value NAME. The decoder shares both
 * tables. */
static void add_embedding(gnn_steps_t *steps, const translate_t *o, int64_t vocabulary, int decoder)
{
    const gnn_step_t words = {.kind = GNN_STEP_EMBED,
                              .name = decoder ? "decoder.words" : "words",
                              .inputs = {decoder ? "decoder_ids" : "ids"},
                              .in = vocabulary,
                              .out = o->width,
                              .share = decoder ? "words" : NULL};
    const gnn_step_t scaled = {.kind = GNN_STEP_SCALE,
                               .name = decoder ? "decoder.scaled" : "scaled",
                               .factor = (gnn_real_t)sqrt((double)o->width)};
    const gnn_step_t places = {.kind = GNN_STEP_EMBED,
                               .name = decoder ? "decoder.places" : "places",
                               .inputs = {decoder ? "decoder_positions" : "positions"},
                               .in = o->max_length,
                               .out = o->width,
                               .share = decoder ? "places" : NULL};
    const gnn_step_t sum = {.kind = GNN_STEP_ADD, .inputs = {scaled.name, places.name}};
    const gnn_step_t dropout = {.kind = GNN_STEP_DROPOUT,
                                .name = decoder ? "decoder.embedded" : "embedded",
                                .rate = (gnn_real_t)o->train.dropout};
    gnn_steps_add(steps, &words);
    gnn_steps_add(steps, &scaled);
    gnn_steps_add(steps, &places);
    gnn_steps_add(steps, &sum);
    gnn_steps_add(steps, &dropout);
}

static void add_norm(gnn_steps_t *steps, const char *name, int64_t width)
{
    gnn_steps_add(
        steps,
        &(gnn_step_t){.kind = GNN_STEP_NORM, .name = name, .in = width, .norm = GNN_NORM_LAYER});
}

/* Graph 0 is complete over source tokens, 1 causal over target tokens, 2 from source to target
 * (gnn_source_of_tokens). */
static int make_model(gnn_model_t **model, gnn_context_t *context, const translate_t *o,
                      int64_t vocabulary)
{
    const gnn_layer_config_t layer =
        GNN_TRANSFORMER(.in = o->width, .heads = o->heads, .feed_forward = o->feed_forward,
                        .norm_position = GNN_NORM_BEFORE, .dropout = (gnn_real_t)o->train.dropout);
    gnn_steps_t *steps;
    char name[32];
    GNN_TRY(gnn_steps_new(&steps));
    add_embedding(steps, o, vocabulary, 0);
    for (int64_t k = 0; k < o->layers; k++) {
        snprintf(name, sizeof name, "encoder.%lld", (long long)k);
        gnn_steps_add(steps, &(gnn_step_t){.name = name, .graph = 0, .layer = layer});
    }
    add_norm(steps, "memory", o->width);
    add_embedding(steps, o, vocabulary, 1);
    for (int64_t k = 0; k < o->layers; k++) {
        snprintf(name, sizeof name, "decoder.%lld", (long long)k);
        add_decoder_layer(steps, name, &layer, o->score);
    }
    add_norm(steps, "hidden", o->width);
    gnn_steps_add(steps, &(gnn_step_t){.kind = GNN_STEP_LINEAR,
                                       .name = "logits",
                                       .in = o->width,
                                       .out = vocabulary,
                                       .share = "words",
                                       .bias = GNN_OFF});
    const int rc = gnn_model_build(model, context, steps);
    gnn_steps_free(steps);
    return rc;
}

/* Embeddings start with variance 1 / width, so that scaled ones and logits have variance 1;
 * positions are sinusoidal and not trained. */
static int start_tables(const gnn_model_t *model)
{
    gnn_tensor_t words, places;
    GNN_TRY(gnn_model_field(model, "words.table", &words, NULL));
    GNN_TRY(gnn_model_field(model, "places.table", &places, NULL));
    const gnn_real_t factor = (gnn_real_t)(1 / sqrt((double)words.cols));
    for (int64_t k = 0; k < words.rows * words.cols; k++)
        words.data[k] *= factor;
    return gnn_positions_sinusoidal(&places);
}

static int learn_tokens(translator_t *t, const translate_t *o, const pairs_t *train)
{
    static const char *const special[] = {"<s>", "</s>"};
    const char **texts = calloc(2 * (size_t)train->count, sizeof *texts);
    if (!texts)
        return GNN_EMEMORY;
    for (int64_t k = 0; k < train->count; k++) {
        texts[2 * k] = train->source[k];
        texts[2 * k + 1] = train->target[k];
    }
    const int rc = gnn_tokenizer_learn(&t->tokenizer, &(gnn_texts_t){2 * train->count, texts, NULL},
                                       &(gnn_learning_t){.size = o->vocabulary,
                                                         .min_count = 2,
                                                         .special = special,
                                                         .n_special = 2,
                                                         .lower = o->keep_case ? GNN_OFF : GNN_ON});
    free(texts);
    return rc;
}

int translator_new(translator_t *t, gnn_context_t *context, const translate_t *o, const pairs_t *train)
{
    GNN_TRY(learn_tokens(t, o, train));
    t->max_length = o->max_length;
    GNN_TRY(make_model(&t->model, context, o, gnn_tokenizer_size(t->tokenizer)));
    return start_tables(t->model);
}

/* ---- files ---- */

int translator_save(const translator_t *t, const char *path)
{
    return text_save("translate", t->model, t->tokenizer, path);
}

int translator_load(translator_t *t, gnn_context_t *context, const char *path)
{
    gnn_tensor_t places;
    GNN_TRY(text_load(&t->model, &t->tokenizer, context, path));
    GNN_TRY(gnn_model_field(t->model, "places.table", &places, NULL));
    t->max_length = places.rows;
    return GNN_OK;
}

int translator_open(translator_t *t, gnn_context_t *context, const translate_t *o)
{
    GNN_TRY(gnn_pretrained_open_with(
        &t->pretrained, context, o->pretrained,
        &(gnn_pretrained_config_t){.keep_16_bits = o->keep_16_bits ? GNN_ON : GNN_OFF}));
    if (!gnn_pretrained_tokenizer(t->pretrained) ||
        gnn_model_find(gnn_pretrained_model(t->pretrained), "memory") < 0) {
        fprintf(stderr, "translate: %s is no encoder-decoder with a tokenizer\n", o->pretrained);
        return PROGRAM_REFUSED;
    }
    return o->language ? gnn_pretrained_choose_language(t->pretrained, o->language) : GNN_OK;
}

void translator_free(translator_t *t)
{
    gnn_pretrained_free(t->pretrained);
    gnn_model_free(t->model);
    gnn_tokenizer_free(t->tokenizer);
}
