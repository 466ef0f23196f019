/* One sentence: its class, and the attention of the last layer as a picture and as a graph. */
#include "classify.h"
#include "program.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int print_class(const gnn_model_t *model, gnn_context_t *context, const batch_t *b,
                       const gnn_vocabulary_t *vocabulary)
{
    static gnn_real_t logits[1000];
    int64_t classes = gnn_vocabulary_labels(vocabulary), best = 0;
    gnn_tensor_t out = gnn_tensor(logits, 1, classes);
    gnn_model_inputs_t inputs = batch_inputs(b);
    double sum = 0;
    GNN_TRY(gnn_model_forward(model, context, &inputs, &out));
    for (int64_t c = 1; c < classes; c++)
        if (logits[c] > logits[best])
            best = c;
    for (int64_t c = 0; c < classes; c++)
        sum += exp((double)(logits[c] - logits[best]));
    printf("class %s, probability %.3f\n", gnn_vocabulary_label(vocabulary, best), 1 / sum);
    return GNN_OK;
}

/* Attention weights of a step, averaged over heads: (receivers x n), for free(); NULL on
 * failure. */
static gnn_real_t *attention(const gnn_model_t *model, gnn_context_t *context, const batch_t *b,
                             const char *step, int64_t receivers, int *rc)
{
    int64_t at = classifier_step(model, step), heads = gnn_model_step(model, at)->layer.heads,
            size = receivers * b->pack->rows;
    gnn_real_t *all = calloc((size_t)(heads * size), sizeof *all);
    gnn_model_inputs_t inputs = batch_inputs(b);
    *rc = all ? gnn_model_attention(model, context, &inputs, at, NULL, all) : GNN_EMEMORY;
    for (int64_t k = 0; *rc == GNN_OK && k < size; k++) {
        double sum = 0;
        for (int64_t h = 0; h < heads; h++)
            sum += (double)all[h * size + k];
        all[k] = (gnn_real_t)(sum / (double)heads);
    }
    if (*rc != GNN_OK) {
        free(all);
        return NULL;
    }
    return all;
}

static int draw(const classify_t *o, const gnn_real_t *weights, int64_t n, const char *const *words)
{
    program_file_t to;
    GNN_TRY(program_create(&to, o->heatmap));
    int rc = gnn_svg_heatmap(
        to.file, &(gnn_heatmap_t){.values = gnn_tensor((gnn_real_t *)(uintptr_t)weights, n, n),
                                  .row_labels = words,
                                  .col_labels = words,
                                  .title = "Who listens to whom",
                                  .subtitle = "last layer, mean of the heads",
                                  .high = 1,
                                  .row_axis = "receiver",
                                  .col_axis = "sender",
                                  .mark_row = -1,
                                  .mark_col = -1});
    return program_finish(&to, rc);
}

/* One weight per pair of the graph, in its order. */
static int write_graph(const classify_t *o, const gnn_graph_t *graph, const gnn_real_t *weights,
                       int64_t n, const char *const *words)
{
    int64_t m = gnn_graph_n_pairs(graph), *src = malloc((size_t)(2 * m) * sizeof *src),
            *dst = src + m;
    gnn_real_t *weight = malloc((size_t)m * sizeof *weight);
    int rc = src && weight ? gnn_graph_pairs(graph, src, dst, NULL) : GNN_EMEMORY;
    for (int64_t k = 0; rc == GNN_OK && k < m; k++)
        weight[k] = weights[dst[k] * n + src[k]];
    if (rc == GNN_OK)
        rc = gnn_graph_write_graphml(graph, words, weight, o->graphml);
    free(src);
    free(weight);
    return rc;
}

static int show_attention(const gnn_model_t *model, gnn_context_t *context, const batch_t *b,
                          const classify_t *o, const char *const *words)
{
    char last[32];
    int64_t n = b->pack->rows, layers = 1;
    int rc = GNN_OK;
    do
        snprintf(last, sizeof last, "layer%lld", (long long)++layers);
    while (classifier_step(model, last) >= 0);
    snprintf(last, sizeof last, "layer%lld", (long long)layers - 1);
    gnn_real_t *weights = attention(model, context, b, last, n, &rc);
    if (rc == GNN_OK && o->heatmap)
        rc = draw(o, weights, n, words);
    if (rc == GNN_OK && o->graphml)
        rc = write_graph(o, b->graphs[0], weights, n, words);
    free(weights);
    if (rc != GNN_OK || classifier_step(model, "query") < 0)
        return rc;
    gnn_real_t *heard = attention(model, context, b, "readout", 1, &rc);
    for (int64_t k = 0; rc == GNN_OK && k < n; k++)
        printf("    %5.1f%% %s\n", 100 * (double)heard[k], words[k]);
    free(heard);
    return rc;
}

static int show(const gnn_model_t *model, gnn_context_t *context, const classify_t *o,
                const gnn_vocabulary_t *vocabulary, const batch_t *b, const gnn_words_t *words)
{
    for (int64_t k = 0; k < b->pack->rows; k++)
        printf("%s%s%s", k ? " " : "", words->at[k], b->pack->ids[k] ? "" : "(?)");
    printf("%s\n", words->count > b->pack->rows ? " ..." : "");
    GNN_TRY(print_class(model, context, b, vocabulary));
    return show_attention(model, context, b, o, words->at);
}

int shown_new(shown_t *s, const gnn_model_t *model, const classify_t *options,
              const gnn_vocabulary_t *vocabulary)
{
    if (!options->sentence)
        return GNN_OK;
    GNN_TRY(gnn_corpus_new(&s->corpus, 1, NULL, &options->sentence, vocabulary));
    GNN_TRY(gnn_words_split(&s->words, options->sentence));
    return batches_new(&s->batches, s->corpus, vocabulary, model, options);
}

void shown_free(shown_t *s)
{
    batches_free(&s->batches);
    gnn_words_free(s->words);
    gnn_corpus_free(s->corpus);
}

int show_sentence(const gnn_model_t *model, gnn_context_t *context, const classify_t *options,
                  const gnn_vocabulary_t *vocabulary, const shown_t *s)
{
    return s->corpus ? show(model, context, options, vocabulary, s->batches.batch, s->words) : GNN_OK;
}
