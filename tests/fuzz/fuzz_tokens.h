/* Shared by the fuzz targets of tokenizers: encodes a text, and decodes the tokens at once and
 * incrementally. */
#ifndef GNN_TESTS_FUZZ_TOKENS_H
#define GNN_TESTS_FUZZ_TOKENS_H

#include "fuzz.h"

#include <gnn/tokenizer.h>

static void stream(const gnn_tokenizer_t *t, const gnn_tokens_t *tokens)
{
    gnn_decoder_t *d;
    const char *part;
    fuzz_must(gnn_decoder_new(&d, t, GNN_ON));
    for (int64_t k = 0; k < tokens->rows; k++)
        fuzz_must(gnn_decoder_push(d, tokens->ids[k], &part, NULL));
    fuzz_must(gnn_decoder_finish(d, &part, NULL));
    gnn_decoder_free(d);
}

/* Offsets are inside the text, ids in the vocabulary, and lengths add up. */
static void look(const gnn_tokenizer_t *t, const gnn_tokens_t *tokens, int64_t longest)
{
    int64_t rows = 0;
    for (int64_t s = 0; s < tokens->sentences; s++)
        rows += tokens->lengths[s];
    if (rows != tokens->rows)
        abort();
    for (int64_t k = 0; k < rows; k++)
        if (!gnn_tokenizer_token(t, tokens->ids[k]) || tokens->begin[k] < 0 ||
            tokens->begin[k] > tokens->end[k] || tokens->end[k] > longest)
            abort();
}

static void fuzz_encode(const gnn_tokenizer_t *t, const uint8_t *text, size_t size)
{
    const char *texts[2] = {(const char *)text, (const char *)text};
    const int64_t bytes[2] = {(int64_t)size, (int64_t)(size / 2)};
    const gnn_texts_t both = {2, texts, bytes};
    gnn_tokens_t *tokens;
    char *decoded;
    const int rc = gnn_tokenizer_encode(t, &both, NULL, &(gnn_encoding_t){.places = GNN_ON}, &tokens);
    if (rc == GNN_EOVERFLOW) /* steps that make too much of a text */
        return;
    fuzz_must(rc);
    look(t, tokens, (int64_t)size);
    fuzz_must(gnn_tokenizer_decode(t, tokens->rows, tokens->ids, GNN_OFF, &decoded, NULL));
    gnn_free(decoded);
    stream(t, tokens);
    gnn_tokens_free(tokens);
    fuzz_must(gnn_tokenizer_encode(t, &both, &both, &(gnn_encoding_t){.max_length = 7}, &tokens));
    gnn_tokens_free(tokens);
}

/* Opens the file, and has the text encoded by what was read. */
static void fuzz_open(const char *path, const uint8_t *text, size_t size)
{
    gnn_tokenizer_t *t = NULL;
    const int rc = gnn_tokenizer_open(&t, path);
    if ((rc != GNN_OK) != (t == NULL) || (rc != GNN_OK && !*gnn_error_message()))
        abort();
    if (t)
        fuzz_encode(t, text, size);
    gnn_tokenizer_free(t);
}

#endif
