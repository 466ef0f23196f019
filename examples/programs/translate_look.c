/* Inspection of one sentence: its translation, and the cross-attention from source tokens to each
 * translated token. Tokens of both sides are nodes of one graph, with the encoder's self-attention
 * and the decoder's cross-attention as edges. */
#include "translate.h"

#include "program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const translator_t *t;
    const translate_t *o;
    const char *texts[2];
    encoded_t encoded;
    int64_t pieces[2], words[2]; /* tokens of source and target, each with the end token */
    int64_t *word;               /* (tokens) the word of each, source before target */
    char **names;                /* (words) */
    int32_t *positions;
    gnn_graph_t *graphs[3];
    gnn_real_t *weights, *square, *block, *heard;
    char **layer_names;
    gnn_attention_maps_t maps;
} look_t;

/* ---- words ---- */

static int64_t word_at(const char *text, int64_t byte)
{
    int64_t words = 0;
    for (int64_t k = 0; k <= byte; k++)
        words += text[k] != ' ' && (k == 0 || text[k - 1] == ' ');
    return words > 0 ? words - 1 : 0;
}

/* The whitespace-separated words of one side, and the end token as a word. */
static int name_words(look_t *l, int side)
{
    const char *text = l->texts[side];
    char **name = l->names + (side ? l->words[0] : 0);
    for (const char *c = text + strspn(text, " "); *c; c += strspn(c, " ")) {
        const size_t length = strcspn(c, " ");
        if (!(*name++ = strndup(c, length)))
            return GNN_EMEMORY;
        c += length;
    }
    return (*name = strdup("</s>")) ? GNN_OK : GNN_EMEMORY;
}

/* Row k of the decoder predicts token k + 1, and is assigned to the word of that token. */
static int place_pieces(look_t *l, int side)
{
    gnn_tokens_t *tokens;
    int64_t *word = l->word + (side ? l->pieces[0] : 0), first = side ? l->words[0] : 0;
    GNN_TRY(gnn_tokenizer_encode(
        l->t->tokenizer, &(gnn_texts_t){1, &l->texts[side], NULL}, NULL,
        &(gnn_encoding_t){.max_length = l->t->max_length - 2, .places = GNN_ON}, &tokens));
    for (int64_t k = 0; k < tokens->rows; k++)
        word[k] = first + word_at(l->texts[side], tokens->end[k] - 1);
    word[tokens->rows] = first + l->words[side] - 1;
    gnn_tokens_free(tokens);
    return GNN_OK;
}

static int find_words(look_t *l)
{
    GNN_TRY(encode_lines(&l->encoded, l->t, 1, &l->texts[0], &l->texts[1]));
    for (int side = 0; side < 2; side++) {
        l->pieces[side] = l->encoded.lengths[side][0] - side;
        l->words[side] = text_words(l->texts[side]) + 1;
    }
    const int64_t pieces = l->pieces[0] + l->pieces[1], words = l->words[0] + l->words[1];
    l->word = calloc((size_t)pieces, sizeof *l->word);
    l->names = calloc((size_t)words, sizeof *l->names);
    l->positions = calloc((size_t)pieces, sizeof *l->positions);
    if (!l->word || !l->names || !l->positions)
        return GNN_EMEMORY;
    for (int64_t k = 0; k < pieces; k++)
        l->positions[k] = (int32_t)k;
    for (int side = 0; side < 2; side++) {
        GNN_TRY(name_words(l, side));
        GNN_TRY(place_pieces(l, side));
    }
    return GNN_OK;
}

/* ---- attention ---- */

static int make_graphs(look_t *l)
{
    GNN_TRY(gnn_graph_complete(&l->graphs[0], 1, &l->pieces[0]));
    GNN_TRY(gnn_graph_causal(&l->graphs[1], 1, &l->pieces[1]));
    GNN_TRY(gnn_graph_bipartite(&l->graphs[2], 1, &l->pieces[1], &l->pieces[0]));
    for (int k = 0; k < 3; k++)
        GNN_TRY(gnn_model_prepare(l->t->model, k, l->graphs[k], GNN_OFF));
    return GNN_OK;
}

/* Cross-attention of a step to the source tokens, from row `first` on. */
static int take(look_t *l, gnn_context_t *context, const char *step, int64_t first, int64_t rows,
                gnn_real_t *heard)
{
    const gnn_named_t values[] = {
        {.name = "ids", .ids = l->encoded.ids[0], .count = l->pieces[0]},
        {.name = "positions", .ids = l->positions, .count = l->pieces[0]},
        {.name = "decoder_ids", .ids = l->encoded.ids[1], .count = l->pieces[1]},
        {.name = "decoder_positions", .ids = l->positions, .count = l->pieces[1]}};
    const gnn_model_inputs_t inputs = {(const gnn_graph_t *const *)l->graphs, 3, values, 4};
    const int64_t all = l->pieces[0] + l->pieces[1];
    GNN_TRY(gnn_model_attention(l->t->model, context, &inputs, gnn_model_find(l->t->model, step),
                                NULL, heard));
    for (int64_t h = 0; h < l->maps.heads; h++)
        for (int64_t r = 0; r < rows; r++)
            memcpy(l->square + (h * all + first + r) * all, heard + (h * rows + r) * l->pieces[0],
                   (size_t)l->pieces[0] * sizeof *heard);
    return GNN_OK;
}

static int take_layer(look_t *l, gnn_context_t *context, int64_t k)
{
    const int64_t all = l->pieces[0] + l->pieces[1], words = l->maps.words;
    char step[48];
    snprintf(step, sizeof step, "encoder.%lld", (long long)k);
    GNN_TRY(take(l, context, step, 0, l->pieces[0], l->heard));
    snprintf(step, sizeof step, "decoder.%lld:cross", (long long)k);
    GNN_TRY(take(l, context, step, l->pieces[0], l->pieces[1], l->heard));
    snprintf(step, sizeof step, "layer %lld", (long long)k);
    if (!(l->layer_names[k] = strdup(step)))
        return GNN_EMEMORY;
    for (int64_t h = 0; h < l->maps.heads; h++) {
        const gnn_tensor_t pieces = gnn_tensor(l->square + h * all * all, all, all),
                           out = gnn_tensor(l->weights + (k * l->maps.heads + h) * words * words,
                                            words, words);
        GNN_TRY(gnn_attention_of_words(&pieces, l->word, &out));
    }
    return GNN_OK;
}

static int count_heads(const gnn_model_t *model, int64_t *layers, int64_t *heads)
{
    const int64_t first = gnn_model_find(model, "encoder.0");
    char step[48] = "encoder.0";
    if (first < 0)
        return GNN_ENOTFOUND;
    *heads = gnn_model_step(model, first)->layer.heads;
    *layers = 0;
    while (gnn_model_find(model, step) >= 0)
        snprintf(step, sizeof step, "encoder.%lld", (long long)++*layers);
    return GNN_OK;
}

int translate_can_look(const translator_t *t, const translate_t *o)
{
    int64_t layers, heads;
    if (!o->heatmap && !o->html)
        return GNN_OK;
    GNN_TRY(count_heads(t->model, &layers, &heads));
    return program_can_show(o->layer, layers, o->head, heads);
}

static int find_attention(look_t *l, gnn_context_t *context)
{
    const int64_t all = l->pieces[0] + l->pieces[1], words = l->words[0] + l->words[1];
    int64_t layers, heads;
    GNN_TRY(count_heads(l->t->model, &layers, &heads));
    l->square = calloc((size_t)(heads * all * all), sizeof *l->square);
    l->heard = calloc((size_t)(heads * all * all), sizeof *l->heard);
    l->weights = calloc((size_t)(layers * heads * words * words), sizeof *l->weights);
    l->block = calloc((size_t)(words * words), sizeof *l->block);
    l->layer_names = calloc((size_t)layers, sizeof *l->layer_names);
    if (!l->square || !l->heard || !l->weights || !l->block || !l->layer_names)
        return GNN_EMEMORY;
    l->maps = (gnn_attention_maps_t){.layers = layers,
                                     .heads = heads,
                                     .words = words,
                                     .weights = l->weights,
                                     .names = (const char *const *)l->names,
                                     .layer_names = (const char *const *)l->layer_names};
    GNN_TRY(make_graphs(l));
    for (int64_t k = 0; k < layers; k++)
        GNN_TRY(take_layer(l, context, k));
    return GNN_OK;
}

/* ---- pictures ---- */

/* Rows are target words, columns source words. */
static int draw_heatmap(FILE *file, look_t *l)
{
    const int64_t read = l->words[0], layer = l->o->layer < 0 ? l->maps.layers - 1 : l->o->layer;
    const gnn_tensor_t whole = gnn_tensor(l->block, l->maps.words, l->maps.words);
    char head[32], subtitle[96];
    snprintf(head, sizeof head, "head %lld", (long long)l->o->head);
    snprintf(subtitle, sizeof subtitle, "decoder's layer %lld, %s", (long long)layer,
             l->o->head < 0 ? "mean of the heads" : head);
    GNN_TRY(gnn_attention_map(&l->maps, layer, l->o->head, &whole));
    const gnn_tensor_t cross = {whole.data + read * whole.stride, l->words[1], read, whole.stride};
    return gnn_svg_heatmap(file, &(gnn_heatmap_t){.values = cross,
                                                  .row_labels = (const char *const *)l->names + read,
                                                  .col_labels = (const char *const *)l->names,
                                                  .title = "What each word was written from",
                                                  .subtitle = subtitle,
                                                  .high = 1,
                                                  .row_axis = "written",
                                                  .col_axis = "read",
                                                  .mark_row = -1,
                                                  .mark_col = -1});
}

static int draw_page(FILE *file, look_t *l)
{
    return gnn_html_attention(file, &l->maps, "A sentence and its translation");
}

static int write_file(look_t *l, const char *path, int (*draw)(FILE *file, look_t *l))
{
    program_file_t to;
    if (!path)
        return GNN_OK;
    GNN_TRY(program_create(&to, path));
    return program_finish(&to, draw(to.file, l));
}

static void free_look(look_t *l)
{
    for (int64_t k = 0; l->names && k < l->words[0] + l->words[1]; k++)
        free(l->names[k]);
    for (int64_t k = 0; l->layer_names && k < l->maps.layers; k++)
        free(l->layer_names[k]);
    for (int k = 0; k < 3; k++)
        gnn_graph_free(l->graphs[k]);
    encoded_free(&l->encoded);
    free(l->names);
    free(l->layer_names);
    free(l->word);
    free(l->positions);
    free(l->weights);
    free(l->square);
    free(l->block);
    free(l->heard);
}

int translate_look(const translator_t *t, gnn_context_t *context, const translate_t *o)
{
    look_t l = {.t = t, .o = o, .texts = {o->sentence}};
    char *out = NULL;
    GNN_TRY(translate_lines(t, context, o, 1, &o->sentence, &out));
    printf("%s\n", out);
    l.texts[1] = out;
    int rc = o->heatmap || o->html ? find_words(&l) : GNN_OK;
    if (rc == GNN_OK && l.word)
        rc = find_attention(&l, context);
    if (rc == GNN_OK)
        rc = write_file(&l, o->heatmap, draw_heatmap);
    if (rc == GNN_OK)
        rc = write_file(&l, o->html, draw_page);
    free_look(&l);
    free(out);
    return rc;
}
