/* Sentences become vectors. */
#include <lib/text/pretrained/pretrained.h>
#include <lib/text/tokenizer/tokenizer.h>

/* Tokens that run at once: enough for large products, few enough that values stay in the caches. */
enum { AT_ONCE = 4096, LEAST = 256, MOST_VALUES = 1 << 24 };

/* What is made of texts: a step's value, its first columns, of rows from `skipped` on. */
typedef struct wanted {
    const char *step;
    int64_t width, skipped;
} wanted_t;

static int64_t full_width(const gnn_pretrained_t *p)
{
    const int64_t step = gnn_model_find(p->made.model, "embedding");
    return step < 0 ? -1 : gnn_model_width(p->made.model, step);
}

int64_t gnn_pretrained_embedding_width(const gnn_pretrained_t *pretrained)
{
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

/* ---- some texts at a time ---- */

static int value(const gnn_pretrained_t *p, gnn_context_t *context,
                 const gnn_pretrained_batch_t *batch, const wanted_t *w, const gnn_tensor_t *rows)
{
    gnn_real_t *whole = NULL;
    const gnn_model_inputs_t *inputs = gnn_pretrained_batch_inputs(batch);
    if (w->width == rows->cols)
        return gnn_model_value(p->made.model, context, inputs, w->step, rows);
    GNN_TRY(gnn__new(&whole, rows->rows * w->width, sizeof *whole, "vectors"));
    const gnn_tensor_t all = gnn_tensor(whole, rows->rows, w->width);
    const int rc = gnn_model_value(p->made.model, context, inputs, w->step, &all);
    for (int64_t k = 0; rc == GNN_OK && k < rows->rows; k++)
        memcpy(gnn__row(rows, k), gnn__row(&all, k), sizeof *whole * (size_t)rows->cols);
    gnn_free(whole);
    return rc;
}

static int run(const gnn_pretrained_t *p, gnn_context_t *context, const gnn_tokens_t *tokens,
               int64_t first, int64_t end, int64_t row, const wanted_t *w, const gnn_tensor_t *out)
{
    gnn_pretrained_batch_t *batch = NULL;
    const gnn_tensor_t rows = {gnn__row(out, first), end - first, out->cols, out->stride};
    const gnn_sequences_t some = {.count = end - first,
                                  .lengths = tokens->lengths + first,
                                  .ids = tokens->ids + row,
                                  .types = tokens->types + row};
    GNN_TRY(gnn__pretrained_batch_make(&batch, p, &some, NULL, w->skipped));
    const int rc = value(p, context, batch, w, &rows);
    gnn_pretrained_batch_free(batch);
    return rc;
}

/* Fewer tokens at once where a row of logits is wide. */
static int64_t at_once(const wanted_t *w)
{
    return gnn__max(gnn__min(AT_ONCE, MOST_VALUES / gnn__max(w->width, 1)), LEAST);
}

static int run_all(const gnn_pretrained_t *p, gnn_context_t *context, const gnn_tokens_t *tokens,
                   const wanted_t *w, const gnn_tensor_t *out)
{
    int64_t row = 0;
    for (int64_t first = 0, end = 0; first < tokens->sentences; first = end) {
        int64_t rows = 0;
        while (end < tokens->sentences && (rows == 0 || rows + tokens->lengths[end] <= at_once(w)))
            rows += tokens->lengths[end++];
        GNN_TRY(run(p, context, tokens, first, end, row, w, out));
        row += rows;
    }
    return GNN_OK;
}

static int check(const gnn_pretrained_t *p, const gnn_texts_t *texts, wanted_t *w,
                 const gnn_tensor_t *out)
{
    const bool embeds = strcmp(w->step, "embedding") == 0;
    const int64_t at = gnn_model_find(p->made.model, w->step);
    w->width = at < 0 ? -1 : gnn_model_width(p->made.model, at);
    const int64_t width = embeds ? gnn_pretrained_embedding_width(p) : w->width;
    if (!p->tokenizer)
        return gnn__error(GNN_EUNSUPPORTED, "the folder of this model has no tokenizer");
    if (at < 0)
        return gnn__error(GNN_EUNSUPPORTED, "the model has no step %s", w->step);
    GNN_TRY(gnn_tensor_check(out, "out"));
    if (out->rows != texts->count || out->cols != width)
        return gnn__error(GNN_ESHAPE, "out is %lld x %lld, %lld texts give %lld x %lld",
                          (long long)out->rows, (long long)out->cols, (long long)texts->count,
                          (long long)texts->count, (long long)width);
    return embeds ? gnn__prompts_skipped(p, &w->skipped) : GNN_OK;
}

int gnn__pretrained_texts(const gnn_pretrained_t *p, gnn_context_t *context, const gnn_texts_t *texts,
                          const gnn_texts_t *second, const char *step, const gnn_tensor_t *out)
{
    gnn_tokens_t *tokens = NULL;
    wanted_t wanted = {.step = step};
    const gnn_encoding_t how = {.max_length = gnn__pretrained_most(p),
                                .special = p->is_static ? GNN_OFF : GNN_ON};
    GNN_TRY(check(p, texts, &wanted, out));
    GNN_TRY(gnn_tokenizer_encode(p->tokenizer, texts, second, &how, &tokens));
    const int rc = run_all(p, context, tokens, &wanted, out);
    gnn_tokens_free(tokens);
    return rc;
}

int gnn_pretrained_embed(const gnn_pretrained_t *pretrained, gnn_context_t *context,
                         const gnn_texts_t *texts, const gnn_tensor_t *out)
{
    if (!pretrained || !context || !texts)
        return gnn__error(GNN_EINVALID, "no %s",
                          !pretrained ? "pretrained model"
                          : context   ? "texts"
                                      : "context");
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
