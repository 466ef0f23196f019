/* The model of write: a causal Transformer with rotary positions, RMS norms and gated feed-forward
 * blocks, as in Llama; and its files. */
#include "write.h"

#include <math.h>
#include <stdio.h>

static gnn_layer_config_t layer_of(const write_t *o)
{
    return GNN_TRANSFORMER(.in = o->width, .heads = o->heads, .feed_forward = o->feed_forward,
                           .update = &gnn_update_gated, .hidden_activation = GNN_SILU,
                           .map = &gnn_map_rope, .norm = GNN_NORM_RMS,
                           .norm_position = GNN_NORM_BEFORE, .bias_project = GNN_OFF,
                           .bias_out = GNN_OFF, .bias_update = GNN_OFF,
                           .dropout = (gnn_real_t)o->train.dropout);
}

static int make_model(gnn_model_t **model, gnn_context_t *context, const write_t *o,
                      int64_t vocabulary)
{
    gnn_steps_t *steps;
    char name[32];
    GNN_TRY(gnn_steps_new(&steps));
    gnn_steps_add(steps, &(gnn_step_t){.kind = GNN_STEP_EMBED,
                                       .name = "words",
                                       .inputs = {"ids"},
                                       .in = vocabulary,
                                       .out = o->width});
    gnn_steps_add(
        steps, &(gnn_step_t){.kind = GNN_STEP_SCALE, .factor = (gnn_real_t)sqrt((double)o->width)});
    gnn_steps_add(steps,
                  &(gnn_step_t){.kind = GNN_STEP_DROPOUT, .rate = (gnn_real_t)o->train.dropout});
    for (int64_t k = 0; k < o->layers; k++) {
        snprintf(name, sizeof name, "layer.%lld", (long long)k);
        gnn_steps_add(steps, &(gnn_step_t){.name = name, .layer = layer_of(o)});
    }
    gnn_steps_add(
        steps,
        &(gnn_step_t){.kind = GNN_STEP_NORM, .name = "hidden", .in = o->width, .norm = GNN_NORM_RMS});
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

/* Embeddings start with variance 1 / width, so that scaled ones and logits have variance 1. */
static int start_words(const gnn_model_t *model)
{
    gnn_tensor_t words;
    GNN_TRY(gnn_model_field(model, "words.table", &words, NULL));
    const gnn_real_t factor = (gnn_real_t)(1 / sqrt((double)words.cols));
    for (int64_t k = 0; k < words.rows * words.cols; k++)
        words.data[k] *= factor;
    return GNN_OK;
}

int language_model_new(language_model_t *m, gnn_context_t *context, const write_t *o,
                       const char *text, int64_t bytes)
{
    GNN_TRY(gnn_tokenizer_learn(&m->tokenizer, &(gnn_texts_t){1, &text, &bytes},
                                &(gnn_learning_t){.size = o->vocabulary, .min_count = 2}));
    GNN_TRY(make_model(&m->model, context, o, gnn_tokenizer_size(m->tokenizer)));
    return start_words(m->model);
}

/* ---- files ---- */

int language_model_save(const language_model_t *m, const char *path)
{
    return text_save("write", m->model, m->tokenizer, path);
}

int language_model_load(language_model_t *m, gnn_context_t *context, const char *path)
{
    return text_load(&m->model, &m->tokenizer, context, path);
}

void language_model_free(language_model_t *m)
{
    gnn_model_free(m->model);
    gnn_tokenizer_free(m->tokenizer);
}
