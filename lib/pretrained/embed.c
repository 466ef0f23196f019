/* Sentence embeddings. */
#include <lib/pretrained/pretrained.h>
#include <lib/text/tokenizer/tokenizer.h>

/* Tokens per batch: enough for large products, few enough that values stay in the caches. */
enum { AT_ONCE = 4096, LEAST = 256, MOST_VALUES = 1 << 24 };

/* One row per text: the first columns of a step's value, pooled over tokens from `skipped` on. */
typedef struct wanted {
    const gnn_pretrained_t *p;
    gnn_context_t *context;
    const char *step;
    int64_t width, skipped;
    const gnn_tensor_t *out;
} wanted_t;

static int64_t full_width(const gnn_pretrained_t *p)
{
    const int64_t step = gnn_model_find(p->made.model, "embedding");
    return step < 0 ? -1 : gnn_model_width(p->made.model, step);
}

int64_t gnn_pretrained_embedding_width(const gnn_pretrained_t *pretrained)
{
    GNN__NEED_OR(pretrained, 0);
    const int64_t width = full_width(pretrained);
    return pretrained->columns > 0 ? gnn__min(width, pretrained->columns) : width;
}

int gnn_pretrained_choose_width(gnn_pretrained_t *pretrained, int64_t width)
{
    GNN__NEED(pretrained);
    if (width < 0)
        return gnn__error(GNN_EINVALID, "vectors of %lld columns", (long long)width);
    pretrained->columns = width;
    return GNN_OK;
}

/* ---- batches of texts ---- */

static int run_some(const gnn_pretrained_t *p, gnn__some_texts_t *some, int64_t skipped,
                    gnn__some_texts_use_t *use, void *user)
{
    gnn_pretrained_batch_t *batch = NULL;
    const gnn_sequences_t sequences = {.count = some->end - some->first,
                                       .lengths = some->tokens->lengths + some->first,
                                       .ids = some->tokens->ids + some->row,
                                       .types = some->tokens->types + some->row};
    GNN_TRY(gnn__pretrained_batch_make(&batch, p, &sequences, NULL, skipped));
    some->batch = batch;
    const int rc = use(user, some);
    gnn_pretrained_batch_free(batch);
    return rc;
}

int gnn__pretrained_in_parts(const gnn_pretrained_t *p, const gnn_tokens_t *tokens, int64_t width,
                             int64_t skipped, gnn__some_texts_use_t *use, void *user)
{
    const int64_t most = gnn__max(gnn__min(AT_ONCE, MOST_VALUES / gnn__max(width, 1)), LEAST);
    gnn__some_texts_t some = {.tokens = tokens};
    for (; some.first < tokens->sentences; some.first = some.end, some.row += some.rows) {
        some.rows = 0;
        while (some.end < tokens->sentences &&
               (some.rows == 0 || some.rows + tokens->lengths[some.end] <= most))
            some.rows += tokens->lengths[some.end++];
        GNN_TRY(run_some(p, &some, skipped, use, user));
    }
    return GNN_OK;
}

/* ---- rows of texts ---- */

static int make_rows(void *user, const gnn__some_texts_t *some)
{
    const wanted_t *w = user;
    const gnn_model_t *model = w->p->made.model;
    const gnn_model_inputs_t *inputs = gnn_pretrained_batch_inputs(some->batch);
    const gnn_tensor_t rows = {gnn__row(w->out, some->first), some->end - some->first, w->out->cols,
                               w->out->stride};
    gnn_real_t *whole = NULL;
    if (w->width == rows.cols)
        return gnn_model_value(model, w->context, inputs, w->step, &rows);
    GNN_TRY(gnn__new(&whole, rows.rows * w->width, sizeof *whole, "vectors"));
    const gnn_tensor_t all = gnn_tensor(whole, rows.rows, w->width);
    const int rc = gnn_model_value(model, w->context, inputs, w->step, &all);
    for (int64_t k = 0; rc == GNN_OK && k < rows.rows; k++)
        memcpy(gnn__row(&rows, k), gnn__row(&all, k), sizeof *whole * (size_t)rows.cols);
    gnn_free(whole);
    return rc;
}

static int check(wanted_t *w, const gnn_texts_t *texts)
{
    const gnn_pretrained_t *p = w->p;
    const gnn_tensor_t *out = w->out;
    const bool embeds = strcmp(w->step, "embedding") == 0;
    const int64_t at = gnn_model_find(p->made.model, w->step);
    w->width = at < 0 ? -1 : gnn_model_width(p->made.model, at);
    const int64_t width = embeds ? gnn_pretrained_embedding_width(p) : w->width;
    if (!p->tokenizer)
        return gnn__pretrained_no_tokenizer();
    if (at < 0)
        return gnn__error(GNN_EUNSUPPORTED, "the model has no step %s", w->step);
    GNN_TRY(gnn__tensor_check(out, "out"));
    if (out->rows != texts->count || out->cols != width)
        return gnn__error(GNN_ESHAPE, "out is %lld x %lld, expected %lld x %lld: a row per text",
                          (long long)out->rows, (long long)out->cols, (long long)texts->count,
                          (long long)width);
    return embeds ? gnn__prompts_skipped(p, &w->skipped) : GNN_OK;
}

int gnn__pretrained_texts(const gnn_pretrained_t *p, gnn_context_t *context, const gnn_texts_t *texts,
                          const gnn_texts_t *second, const char *step, const gnn_tensor_t *out)
{
    gnn_tokens_t *tokens = NULL;
    wanted_t wanted = {.p = p, .context = context, .step = step, .out = out};
    const gnn_encoding_t how = {.max_length = gnn__pretrained_most(p),
                                .special = p->is_static ? GNN_OFF : GNN_ON};
    GNN_TRY(check(&wanted, texts));
    GNN_TRY(gnn_tokenizer_encode(p->tokenizer, texts, second, &how, &tokens));
    const int rc =
        gnn__pretrained_in_parts(p, tokens, wanted.width, wanted.skipped, make_rows, &wanted);
    gnn_tokens_free(tokens);
    return rc;
}

int gnn_pretrained_embed(const gnn_pretrained_t *pretrained, gnn_context_t *context,
                         const gnn_texts_t *texts, const gnn_tensor_t *out)
{
    GNN__NEED(pretrained);
    GNN__NEED(context);
    GNN__NEED(texts);
    GNN__NEED(out);
    if (pretrained->tokenizer && gnn_pretrained_embedding_width(pretrained) < 0)
        return gnn__error(GNN_EUNSUPPORTED, "the folder of this model has no modules.json that "
                                            "says how sentences become vectors");
    gnn__prompted_t prompted;
    int rc = gnn__prompted_make(&prompted, pretrained, texts);
    if (rc == GNN_OK)
        rc = gnn__pretrained_texts(pretrained, context, &prompted.texts, NULL, "embedding", out);
    gnn__prompted_free(&prompted);
    return rc;
}
