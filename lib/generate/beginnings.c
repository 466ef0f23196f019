/* Prefill: the KV cache of the prompts, and the logits of their next tokens. */
#include <lib/base/settings.h>
#include <lib/generate/generate.h>

#include <lib/ops/support.h>
#include <lib/pretrained/pretrained.h>

/* Tokens per chunk, since logits are wide. */
enum { AT_ONCE = 256 };

/* ---- what the caller gives ---- */

/* Tokens of prompt k (in an encoder-decoder those of the decoder). */
static int64_t given(const gnn__author_t *a, const gnn_sequences_t *prompts, int64_t k)
{
    const int64_t *lengths = a->reads ? prompts->decoder_lengths : prompts->lengths;
    return lengths ? lengths[k] : 0;
}

/* Fields of the prompts that the model does not read. An encoder-decoder's are checked with its
 * batch. */
static int check_unread(const gnn__author_t *a, const gnn_sequences_t *s)
{
    enum { TOKENS = 1, ENCODER = 2 };
    const gnn__setting_use_t uses[] = {{"types", s->types, ENCODER},
                                       {"decoder_lengths", s->decoder_lengths, ENCODER},
                                       {"decoder_ids", s->decoder_ids, ENCODER},
                                       {"pixels", s->pixels, ENCODER},
                                       {"features", s->features, ENCODER},
                                       {"height", s->height != 0, ENCODER},
                                       {"width", s->width != 0, ENCODER}};
    const char *unread =
        gnn__unread_setting(uses, sizeof uses / sizeof *uses, a->reads ? ENCODER : TOKENS);
    return unread
               ? gnn__error(GNN_EINVALID, "prompts: a model without an encoder reads no .%s", unread)
               : GNN_OK;
}

static int check_prompts(const gnn__author_t *a, const gnn_sequences_t *prompts)
{
    const int32_t *ids = a->reads ? prompts->decoder_ids : prompts->ids;
    if (prompts->count < 1 || prompts->count > INT32_MAX)
        return gnn__error(GNN_EINVALID, "%lld prompts, expected 1 to %d", (long long)prompts->count,
                          INT32_MAX);
    GNN_TRY(check_unread(a, prompts));
    for (int64_t k = 0; k < prompts->count; k++) {
        const int64_t n = given(a, prompts, k);
        if (n < 0 || (n > 0 && !ids))
            return gnn__error(GNN_EINVALID, "prompt %lld has %lld tokens, %s", (long long)k,
                              (long long)n, n < 0 ? "expected at least 0" : "and ids is NULL");
        if (n == 0 && a->start < 0)
            return gnn__error(
                GNN_EINVALID,
                "prompt %lld has no tokens, expected at least one: the model names no token to start with (bos_token_id)",
                (long long)k);
        if (a->max_length > 0 && n >= a->max_length)
            return gnn__error(
                GNN_ESHAPE,
                "prompt %lld has %lld tokens, expected at most %lld: one fewer than the model's positions",
                (long long)k, (long long)n, (long long)a->max_length - 1);
    }
    return GNN_OK;
}

static int copy_prompts(gnn__beginnings_t *b, const gnn__author_t *a, const gnn_sequences_t *prompts)
{
    const int32_t *from = a->reads ? prompts->decoder_ids : prompts->ids;
    int64_t rows = 0, at = 0;
    b->count = prompts->count;
    GNN_TRY(gnn__new(&b->lengths, b->count, sizeof *b->lengths, "lengths"));
    GNN_TRY(gnn__new(&b->most, b->count, sizeof *b->most, "lengths"));
    for (int64_t k = 0; k < b->count; k++) {
        b->lengths[k] = gnn__max(given(a, prompts, k), 1);
        b->most[k] = a->whole > 0 ? gnn__max(a->whole - b->lengths[k], 1) : a->how.length;
        if (a->max_length > 0)
            b->most[k] = gnn__min(b->most[k], a->max_length - b->lengths[k]);
        b->capacity = gnn__max(b->capacity, b->lengths[k] + b->most[k]);
        if (!gnn__add(rows, b->lengths[k], &rows))
            return gnn__error(GNN_EOVERFLOW, "the prompts do not fit");
    }
    GNN_TRY(gnn__new(&b->ids, rows, sizeof *b->ids, "ids"));
    for (int64_t k = 0; k < b->count; k++) {
        const int64_t n = given(a, prompts, k);
        b->ids[at] = a->start;
        if (n > 0)
            memcpy(b->ids + at, from, (size_t)n * sizeof *from);
        from = n > 0 ? from + n : from;
        at += b->lengths[k];
    }
    return GNN_OK;
}

/* The encoder's ids are the caller's. */
static int find_sources(gnn__beginnings_t *b, const gnn__author_t *a, const gnn_sequences_t *prompts)
{
    const int32_t *ids = a->reads ? prompts->ids : b->ids;
    const int64_t *lengths = a->reads ? prompts->lengths : b->lengths;
    GNN_TRY(gnn__new(&b->sources, b->count, sizeof *b->sources, "prompts"));
    for (int64_t k = 0; ids && lengths && k < b->count; ids += lengths[k++])
        b->sources[k] = (gnn__prompt_ids_t){ids, lengths[k]};
    return GNN_OK;
}

static int make_state(gnn__beginnings_t *b, const gnn__author_t *a, gnn_context_t *context,
                      const gnn_sequences_t *prompts)
{
    const gnn_writer_t *w = a->writer;
    if (w->pretrained)
        return gnn__pretrained_make_state(&b->state, w->pretrained, context, prompts, b->capacity);
    gnn_state_config_t config = {0};
    if (w->state)
        config = *w->state;
    config.segments = b->count;
    config.capacity = b->capacity;
    return gnn_state_new(&b->state, w->model, context, &config);
}

/* ---- reading ---- */

/* The next chunk of each prompt, a share of AT_ONCE; false: all are done. */
static bool next_piece(const gnn__beginnings_t *b, int64_t *counts, int32_t *ids, int64_t *n)
{
    const int64_t share = gnn__max(AT_ONCE / b->count, 1);
    const int32_t *from = b->ids;
    *n = 0;
    for (int64_t k = 0; k < b->count; from += b->lengths[k++]) {
        const int64_t read = gnn_state_length(b->state, k);
        counts[k] = gnn__min(share, b->lengths[k] - read);
        memcpy(ids + *n, from + read, (size_t)counts[k] * sizeof *ids);
        *n += counts[k];
    }
    return *n > 0;
}

/* Keeps the last row of each prompt. */
static void keep_last(const gnn__beginnings_t *b, const int64_t *counts, const gnn_tensor_t *logits)
{
    int64_t row = 0;
    for (int64_t k = 0; k < b->count; row += counts[k++])
        if (counts[k] > 0)
            memcpy(gnn__row(&b->logits, k), gnn__row(logits, row + counts[k] - 1),
                   (size_t)logits->cols * sizeof *logits->data);
}

static int read(gnn__beginnings_t *b, const gnn__author_t *a, gnn_context_t *context)
{
    const int64_t most = gnn__max(AT_ONCE, b->count);
    gnn_tensor_t rows = {.data = NULL};
    int64_t *counts = NULL, numbers, n;
    int32_t *ids = NULL;
    int rc = GNN_OK;
    if (!gnn__mul(most, a->words, &numbers))
        return gnn__error(GNN_EOVERFLOW, "%lld x %lld logits do not fit", (long long)most,
                          (long long)a->words);
    GNN_CHECK(gnn__new(&b->logits.data, b->count * a->words, sizeof *b->logits.data, "logits"));
    b->logits = gnn_tensor(b->logits.data, b->count, a->words);
    GNN_CHECK(gnn__new(&rows.data, numbers, sizeof *rows.data, "logits"));
    GNN_CHECK(gnn__new(&counts, b->count, sizeof *counts, "counts"));
    GNN_CHECK(gnn__new(&ids, most, sizeof *ids, "ids"));
    while (next_piece(b, counts, ids, &n)) {
        const gnn_tensor_t logits = gnn_tensor(rows.data, n, a->words);
        GNN_CHECK(gnn__author_advance(a, context, b->state, counts, ids, &logits));
        keep_last(b, counts, &logits);
    }
done:
    gnn_free(rows.data);
    gnn_free(counts);
    gnn_free(ids);
    return rc;
}

int gnn__beginnings_new(gnn__beginnings_t *b, const gnn__author_t *author, gnn_context_t *context,
                        const gnn_sequences_t *prompts)
{
    GNN_TRY(check_prompts(author, prompts));
    GNN_TRY(copy_prompts(b, author, prompts));
    GNN_TRY(make_state(b, author, context, prompts));
    GNN_TRY(find_sources(b, author, prompts));
    return read(b, author, context);
}

void gnn__beginnings_free(gnn__beginnings_t *b)
{
    gnn_state_free(b->state);
    gnn_free(b->lengths);
    gnn_free(b->most);
    gnn_free(b->ids);
    gnn_free(b->sources);
    gnn_free(b->logits.data);
}
