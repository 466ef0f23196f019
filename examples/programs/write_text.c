/* The text of write: training and held-out parts, and the evaluation. */
#include "write.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char rhyme[] =
    "A node hears a node and a node hears a word, a word hears a word and a word can be heard.\n"
    "The edge of a graph is the way of a word, from one that has spoken to one that has heard.\n";

/* ---- the text ---- */

/* The end of the text is held out; the cut is between two characters. */
static void cut_text(write_run_t *r, double held_out)
{
    r->text[r->bytes] = '\0';
    r->cut = (int64_t)((double)r->bytes * (1 - held_out));
    while (r->cut > 0 && r->cut < r->bytes && ((unsigned char)r->text[r->cut] & 0xc0) == 0x80)
        r->cut--;
}

int write_take_text(write_run_t *r, const write_t *o)
{
    enum { TIMES = 60 };
    gnn_text_lines_t *lines = NULL;
    if (o->data)
        GNN_TRY(gnn_text_lines_read(&lines, o->data));
    for (int64_t k = 0; lines && k < lines->count; k++)
        r->bytes += lines->bytes[k] + 1;
    r->bytes = lines ? r->bytes : (int64_t)(TIMES * (sizeof rhyme - 1));
    r->text = malloc((size_t)r->bytes + 1);
    if (r->text && !lines)
        for (int64_t k = 0; k < r->bytes; k++)
            r->text[k] = rhyme[k % (int64_t)(sizeof rhyme - 1)];
    for (int64_t k = 0, at = 0; r->text && lines && k < lines->count; at += lines->bytes[k++] + 1) {
        memcpy(r->text + at, lines->at[k], (size_t)lines->bytes[k]);
        r->text[at + lines->bytes[k]] = '\n';
    }
    gnn_text_lines_free(lines);
    if (r->text)
        cut_text(r, o->validation_share);
    return r->text ? GNN_OK : GNN_EMEMORY;
}

int64_t write_characters(const char *text, int64_t bytes)
{
    int64_t count = 0;
    for (int64_t k = 0; k < bytes; k++)
        count += ((unsigned char)text[k] & 0xc0) != 0x80;
    return count;
}

int write_encode(const language_model_t *m, const char *text, int64_t bytes, gnn_tokens_t **tokens)
{
    return gnn_tokenizer_encode(m->tokenizer, &(gnn_texts_t){1, &text, &bytes}, NULL, NULL, tokens);
}

/* ---- evaluation ---- */

/* Logits after each token of a sequence. */
static int logits_of(const gnn_model_t *model, gnn_context_t *context, const int32_t *ids,
                     int64_t rows, const gnn_tensor_t *out)
{
    gnn_graph_t *graph;
    GNN_TRY(gnn_graph_causal(&graph, 1, &rows));
    const gnn_graph_t *graphs[] = {graph};
    const gnn_named_t values[] = {{.name = "ids", .ids = ids, .count = rows}};
    int rc = gnn_model_prepare(model, 0, graph, GNN_OFF);
    if (rc == GNN_OK)
        rc = gnn_model_forward(model, context, &(gnn_model_inputs_t){graphs, 1, values, 1}, out);
    gnn_graph_free(graph);
    return rc;
}

/* -log p of a token. */
static double surprise(const gnn_real_t *logits, int64_t n, int32_t id)
{
    double most = (double)logits[0], sum = 0;
    for (int64_t k = 1; k < n; k++)
        most = (double)logits[k] > most ? (double)logits[k] : most;
    for (int64_t k = 0; k < n; k++)
        sum += exp((double)logits[k] - most);
    return most + log(sum) - (double)logits[id];
}

/* Nats per character of the held-out text, in windows of which only the second half is scored, so
 * that each token has at least half a window of context. */
int write_measure(write_run_t *r, const write_t *o)
{
    const language_model_t *m = &r->own;
    gnn_tokens_t *tokens;
    double nats = 0;
    int rc = GNN_OK;
    GNN_TRY(write_encode(m, r->text + r->cut, r->bytes - r->cut, &tokens));
    const int64_t n = tokens->rows - 1, step = o->window / 2,
                  words = gnn_tokenizer_size(m->tokenizer);
    gnn_real_t *numbers = calloc((size_t)(o->window * words), sizeof *numbers);
    if (!numbers)
        rc = GNN_EMEMORY;
    for (int64_t from = 0; rc == GNN_OK && from < n; from += step) {
        const int64_t begin = from - step > 0 ? from - step : 0;
        const int64_t end = from + step < n ? from + step : n, rows = end - begin;
        const gnn_tensor_t out = gnn_tensor(numbers, rows, words);
        rc = logits_of(m->model, r->context, tokens->ids + begin, rows, &out);
        for (int64_t k = from - begin; rc == GNN_OK && k < rows; k++)
            nats += surprise(out.data + k * words, words, tokens->ids[begin + k + 1]);
    }
    r->nats = nats / (double)write_characters(r->text + r->cut, r->bytes - r->cut);
    r->measured = rc == GNN_OK;
    free(numbers);
    gnn_tokens_free(tokens);
    return rc;
}
