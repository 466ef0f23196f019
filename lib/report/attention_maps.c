/* Attention of every layer and head on one sentence, with tokens merged into words. */
#include <lib/base/settings.h>
#include <lib/layer/layer.h>
#include <lib/report/attention_maps.h>
#include <ctype.h>

/* ---- layers ---- */

int64_t gnn__attending(const gnn_model_t *model, int64_t from)
{
    int64_t slot = -1;
    for (int64_t k = 0; k < gnn_model_step_count(model); k++) {
        const gnn_layer_t *layer = gnn_model_layer(model, k);
        const gnn_step_t *step = gnn_model_step(model, k);
        if (!layer || !gnn__scored(layer->config) || step->receivers)
            continue;
        slot = slot < 0 ? step->graph : slot;
        if (k >= from && step->graph == slot)
            return k;
    }
    return -1;
}

int gnn__attending_sizes(const gnn_model_t *model, int64_t *layers, int64_t *heads)
{
    *layers = *heads = 0;
    for (int64_t k = gnn__attending(model, 0); k >= 0; k = gnn__attending(model, k + 1)) {
        const int64_t own = gnn_model_layer(model, k)->config->heads;
        if (*heads > 0 && own != *heads)
            return gnn__error(GNN_ESHAPE,
                              "expected the same count of heads in all layers, got %lld and %lld",
                              (long long)*heads, (long long)own);
        *heads = own;
        ++*layers;
    }
    return *layers > 0
               ? GNN_OK
               : gnn__error(GNN_EUNSUPPORTED,
                            "the model has no attention layer whose receivers are its senders");
}

/* ---- the object ---- */

typedef struct {
    gnn_attention_maps_t view;
    gnn_real_t *weights;
    char **names, **layers;
} attention_t;

static int copy_name(char **to, const char *name, int64_t index)
{
    return name ? gnn__asprintf(to, "%s", name) : gnn__asprintf(to, "%lld", (long long)index);
}

static int allocate(attention_t **made, int64_t layers, int64_t heads, int64_t words)
{
    attention_t *a = NULL;
    int64_t maps, cells, all;
    if (!gnn__mul(layers, heads, &maps) || !gnn__mul(words, words, &cells) ||
        !gnn__mul(maps, cells, &all))
        return gnn__error(GNN_EOVERFLOW, "attention: the size for %lld words overflows",
                          (long long)words);
    GNN_TRY(gnn__new(&a, 1, sizeof *a, "attention"));
    *made = a;
    a->view = (gnn_attention_maps_t){.layers = layers, .heads = heads, .words = words};
    GNN_TRY(gnn__new(&a->weights, all, sizeof *a->weights, "attention"));
    GNN_TRY(gnn__new(&a->names, words, sizeof *a->names, "words"));
    GNN_TRY(gnn__new(&a->layers, layers, sizeof *a->layers, "names of layers"));
    a->view.weights = a->weights;
    a->view.names = (const char *const *)a->names;
    a->view.layer_names = (const char *const *)a->layers;
    return GNN_OK;
}

void gnn_attention_free(gnn_attention_maps_t *attention)
{
    attention_t *a = (attention_t *)attention; /* its first member */
    if (!a)
        return;
    for (int64_t k = 0; a->names && k < a->view.words; k++)
        gnn_free(a->names[k]);
    for (int64_t k = 0; a->layers && k < a->view.layers; k++)
        gnn_free(a->layers[k]);
    gnn_free(a->names);
    gnn_free(a->layers);
    gnn_free(a->weights);
    gnn_free(a);
}

/* ---- from a model ---- */

static int fill(attention_t *a, const gnn_model_t *model, gnn_context_t *context,
                const gnn_model_inputs_t *inputs, const char *const *names)
{
    const int64_t size = a->view.heads * a->view.words * a->view.words;
    int64_t layer = 0;
    for (int64_t k = 0; k < a->view.words; k++)
        GNN_TRY(copy_name(&a->names[k], names ? names[k] : NULL, k));
    for (int64_t k = gnn__attending(model, 0); k >= 0; k = gnn__attending(model, k + 1), layer++) {
        GNN_TRY(copy_name(&a->layers[layer], gnn_model_step(model, k)->name, k));
        GNN_TRY(gnn_model_attention(model, context, inputs, k, NULL, a->weights + layer * size));
    }
    return GNN_OK;
}

int gnn_attention_of_model(gnn_attention_maps_t **attention, const gnn_model_t *model,
                           gnn_context_t *context, const gnn_model_inputs_t *inputs,
                           const char *const *names)
{
    int64_t layers, heads;
    attention_t *a = NULL;
    GNN__NEED(attention);
    *attention = NULL;
    GNN__NEED(model);
    GNN__NEED(context);
    GNN__NEED(inputs);
    GNN_TRY(gnn__attending_sizes(model, &layers, &heads));
    const int slot = gnn_model_step(model, gnn__attending(model, 0))->graph;
    const gnn_graph_t *graph = slot < inputs->n_graphs ? inputs->graphs[slot] : NULL;
    if (!graph)
        return gnn__error(GNN_EINVALID, "attention: the inputs have no graph for slot %d", slot);
    if (gnn_graph_n_segments(graph) > 1 || gnn_graph_n_dst(graph) != gnn_graph_n_src(graph))
        return gnn__error(GNN_ESHAPE, "attention: expected a graph of one segment, got %lld segments",
                          (long long)gnn_graph_n_segments(graph));
    int rc = allocate(&a, layers, heads, gnn_graph_n_dst(graph));
    if (rc == GNN_OK)
        rc = fill(a, model, context, inputs, names);
    if (rc != GNN_OK) {
        gnn_attention_free(a ? &a->view : NULL);
        return rc;
    }
    *attention = &a->view;
    return GNN_OK;
}

int gnn_attention_map(const gnn_attention_maps_t *attention, int64_t layer, int64_t head,
                      const gnn_tensor_t *out)
{
    GNN__NEED(attention);
    GNN__NEED(out);
    const gnn_attention_maps_t *a = attention;
    const int64_t n = a->words;
    if (layer < -1 || layer >= a->layers || head < -1 || head >= a->heads)
        return gnn__error(GNN_EINVALID, "attention map: got layer %lld of %lld, head %lld of %lld",
                          (long long)layer, (long long)a->layers, (long long)head,
                          (long long)a->heads);
    if (out->rows != n || out->cols != n)
        return gnn__error(GNN_ESHAPE, "attention map: expected %lld x %lld, got %lld x %lld",
                          (long long)n, (long long)n, (long long)out->rows, (long long)out->cols);
    const int64_t l0 = layer < 0 ? 0 : layer, l1 = layer < 0 ? a->layers : layer + 1;
    const int64_t h0 = head < 0 ? 0 : head, h1 = head < 0 ? a->heads : head + 1;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t l = l0; l < l1; l++)
                for (int64_t h = h0; h < h1; h++)
                    sum += (double)a->weights[((l * a->heads + h) * n + i) * n + j];
            gnn__row(out, i)[j] = (gnn_real_t)(sum / (double)((l1 - l0) * (h1 - h0)));
        }
    return GNN_OK;
}

/* ---- tokens to words ---- */

int gnn_attention_of_words(const gnn_tensor_t *pieces, const int64_t *word, const gnn_tensor_t *out)
{
    GNN__NEED(pieces);
    GNN__NEED(out);
    GNN__NEED(word);
    const int64_t n = pieces->rows, words = out->rows;
    if (pieces->cols != n || out->cols != words || (n > 0 && !word))
        return gnn__error(
            GNN_ESHAPE,
            "expected square matrices of tokens and words, got %lld x %lld and %lld x %lld",
            (long long)n, (long long)pieces->cols, (long long)words, (long long)out->cols);
    int64_t *count = NULL;
    for (int64_t k = 0; k < n; k++)
        if (word[k] < -1 || word[k] >= words)
            return gnn__error(GNN_EINVALID, "token %lld has word %lld, there are %lld words",
                              (long long)k, (long long)word[k], (long long)words);
    GNN_TRY(gnn__new(&count, words, sizeof *count, "counts of tokens"));
    for (int64_t w = 0; w < words; w++)
        memset(gnn__row(out, w), 0, (size_t)words * sizeof(gnn_real_t));
    for (int64_t k = 0; k < n; k++)
        if (word[k] >= 0)
            count[word[k]]++;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            if (word[i] >= 0 && word[j] >= 0)
                gnn__row(out, word[i])[word[j]] +=
                    gnn__row(pieces, i)[j] / (gnn_real_t)count[word[i]];
    gnn_free(count);
    return GNN_OK;
}

/* ---- from a text ---- */

static bool continues_word(const char *text, const gnn_tokens_t *t, int64_t k)
{
    int64_t b = t->begin[k];
    while (b < t->end[k] && text[b] == ' ')
        b++;
    const bool letter = isalnum((unsigned char)text[b]) || (unsigned char)text[b] >= 0x80,
               before = b > 0 &&
                        (isalnum((unsigned char)text[b - 1]) || (unsigned char)text[b - 1] >= 0x80);
    return k > 0 && t->end[k - 1] > 0 && b == t->end[k - 1] && letter && before;
}

static bool is_special(const gnn_tokens_t *t, int64_t k)
{
    return t->end[k] == 0;
}

/* Assigns each token to a word; returns the count of words. */
static int64_t find_words(const char *text, const gnn_tokens_t *t, const gnn_attention_config_t *c,
                          int64_t *word)
{
    int64_t words = 0;
    for (int64_t k = 0; k < t->rows; k++) {
        if (is_special(t, k))
            word[k] = c->special == GNN_OFF ? -1 : words++;
        else
            word[k] = words > 0 && c->whole_words != GNN_OFF && continues_word(text, t, k)
                          ? words - 1
                          : words++;
    }
    return words;
}

/* Names a word by its text, or by the token if it is a special token. */
static int name_words(attention_t *a, const char *text, const gnn_tokens_t *t,
                      const gnn_tokenizer_t *tokenizer, const int64_t *word)
{
    for (int64_t k = 0; k < t->rows; k++) {
        if (word[k] < 0 || a->names[word[k]])
            continue;
        int64_t begin = t->begin[k], last = k;
        while (last + 1 < t->rows && word[last + 1] == word[k])
            last++;
        while (begin < t->end[last] && text[begin] == ' ')
            begin++;
        GNN_TRY(is_special(t, k)
                    ? copy_name(&a->names[word[k]], gnn_tokenizer_token(tokenizer, t->ids[k]), k)
                    : gnn__asprintf(&a->names[word[k]], "%.*s", (int)(t->end[last] - begin),
                                    text + begin));
    }
    return GNN_OK;
}

static int merge_tokens(attention_t *a, const gnn_attention_maps_t *tokens, const int64_t *word)
{
    const int64_t n = tokens->words, words = a->view.words;
    for (int64_t l = 0; l < tokens->layers; l++)
        GNN_TRY(copy_name(&a->layers[l], tokens->layer_names[l], l));
    for (int64_t k = 0; k < tokens->layers * tokens->heads; k++) {
        const gnn_tensor_t from = gnn_tensor((gnn_real_t *)(uintptr_t)tokens->weights + k * n * n,
                                             n, n),
                           to = gnn_tensor(a->weights + k * words * words, words, words);
        GNN_TRY(gnn_attention_of_words(&from, word, &to));
    }
    return GNN_OK;
}

static int attention_of_tokens(attention_t **a, const gnn_pretrained_t *p, gnn_context_t *context,
                               const char *text, const gnn_tokens_t *t,
                               const gnn_attention_config_t *config)
{
    gnn_pretrained_batch_t *batch = NULL;
    gnn_attention_maps_t *tokens = NULL;
    int64_t *word = NULL;
    int rc;
    const gnn_sequences_t one = {.count = 1, .lengths = t->lengths, .ids = t->ids, .types = t->types};
    GNN_CHECK(gnn__new(&word, t->rows, sizeof *word, "words of tokens"));
    const int64_t words = find_words(text, t, config, word);
    if (words == 0)
        GNN_CHECK(gnn__error(GNN_EINVALID, "the text has no words"));
    GNN_CHECK(gnn_pretrained_batch_new(&batch, p, &one));
    GNN_CHECK(gnn_attention_of_model(&tokens, gnn_pretrained_model(p), context,
                                     gnn_pretrained_batch_inputs(batch), NULL));
    GNN_CHECK(allocate(a, tokens->layers, tokens->heads, words));
    GNN_CHECK(name_words(*a, text, t, gnn_pretrained_tokenizer(p), word));
    GNN_CHECK(merge_tokens(*a, tokens, word));
done:
    gnn_attention_free(tokens);
    gnn_pretrained_batch_free(batch);
    gnn_free(word);
    return rc;
}

int gnn_attention_of_text(gnn_attention_maps_t **attention, const gnn_pretrained_t *pretrained,
                          gnn_context_t *context, const char *text,
                          const gnn_attention_config_t *config)
{
    gnn_attention_config_t own = config ? *config : (gnn_attention_config_t){0};
    gnn_tokens_t *tokens = NULL;
    attention_t *a = NULL;
    GNN__NEED(attention);
    *attention = NULL;
    GNN__NEED(pretrained);
    GNN__NEED(context);
    GNN__NEED(text);
    GNN_TRY(gnn__check_flag(own.whole_words, "whole_words"));
    GNN_TRY(gnn__check_flag(own.special, "special"));
    if (!gnn_pretrained_tokenizer(pretrained))
        return gnn__error(GNN_EUNSUPPORTED,
                          "attention of a text needs a tokenizer; the model's folder has none");
    GNN_TRY(gnn_tokenizer_encode(
        gnn_pretrained_tokenizer(pretrained), &(gnn_texts_t){1, &text, NULL}, NULL,
        &(gnn_encoding_t){.places = GNN_ON, .max_length = gnn_pretrained_max_length(pretrained)},
        &tokens));
    const int rc = attention_of_tokens(&a, pretrained, context, text, tokens, &own);
    gnn_tokens_free(tokens);
    if (rc != GNN_OK) {
        gnn_attention_free(a ? &a->view : NULL);
        return rc;
    }
    *attention = &a->view;
    return GNN_OK;
}
