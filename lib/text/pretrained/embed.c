/* Sentences become vectors. */
#include <lib/text/pretrained/pretrained.h>
#include <lib/text/tokenizer/tokenizer.h>

/* Tokens that run at once: enough for large products, few enough that values stay in the caches. */
enum { AT_ONCE = 4096 };

int64_t gnn_pretrained_embedding_width(const gnn_pretrained_t *pretrained)
{
    const int64_t step = gnn_model_find(pretrained->made.model, "embedding");
    return step < 0 ? -1 : gnn_model_width(pretrained->made.model, step);
}

int gnn__pretrained_some(gnn_pretrained_batch_t **batch, const gnn_pretrained_t *p,
                         const gnn_tokens_t *tokens, int64_t first, int64_t end, int64_t row)
{
    return gnn_pretrained_batch_new(batch, p,
                                    &(gnn_sequences_t){.count = end - first,
                                                       .lengths = tokens->lengths + first,
                                                       .ids = tokens->ids + row,
                                                       .types = tokens->types + row});
}

static int run(const gnn_pretrained_t *p, gnn_context_t *context, const gnn_tokens_t *tokens,
               int64_t first, int64_t end, int64_t row, const char *step, const gnn_tensor_t *out)
{
    gnn_pretrained_batch_t *batch = NULL;
    const gnn_tensor_t rows = {gnn__row(out, first), end - first, out->cols, out->stride};
    GNN_TRY(gnn__pretrained_some(&batch, p, tokens, first, end, row));
    const int rc =
        gnn_model_value(p->made.model, context, gnn_pretrained_batch_inputs(batch), step, &rows);
    gnn_pretrained_batch_free(batch);
    return rc;
}

static int run_all(const gnn_pretrained_t *p, gnn_context_t *context, const gnn_tokens_t *tokens,
                   const char *step, const gnn_tensor_t *out)
{
    int64_t row = 0;
    for (int64_t first = 0, end = 0; first < tokens->sentences; first = end) {
        int64_t rows = 0;
        while (end < tokens->sentences && (rows == 0 || rows + tokens->lengths[end] <= AT_ONCE))
            rows += tokens->lengths[end++];
        GNN_TRY(run(p, context, tokens, first, end, row, step, out));
        row += rows;
    }
    return GNN_OK;
}

static int check(const gnn_pretrained_t *p, const gnn_texts_t *texts, const char *step,
                 const gnn_tensor_t *out)
{
    const int64_t at = gnn_model_find(p->made.model, step),
                  width = at < 0 ? -1 : gnn_model_width(p->made.model, at);
    if (!p->tokenizer)
        return gnn__error(GNN_EUNSUPPORTED, "the folder of this model has no tokenizer");
    if (at < 0)
        return gnn__error(GNN_EUNSUPPORTED, "the model has no step %s", step);
    GNN_TRY(gnn_tensor_check(out, "out"));
    if (out->rows != texts->count || out->cols != width)
        return gnn__error(GNN_ESHAPE, "out is %lld x %lld, %lld texts give %lld x %lld",
                          (long long)out->rows, (long long)out->cols, (long long)texts->count,
                          (long long)texts->count, (long long)width);
    return GNN_OK;
}

int64_t gnn__pretrained_most(const gnn_pretrained_t *p)
{
    const int64_t own = p->tokenizer ? p->tokenizer->max_length : 0;
    return own > 0 && p->max_length > 0 ? gnn__min(own, p->max_length) : gnn__max(own, p->max_length);
}

int gnn__pretrained_texts(const gnn_pretrained_t *p, gnn_context_t *context, const gnn_texts_t *texts,
                          const gnn_texts_t *second, const char *step, const gnn_tensor_t *out)
{
    gnn_tokens_t *tokens = NULL;
    GNN_TRY(check(p, texts, step, out));
    GNN_TRY(gnn_tokenizer_encode(p->tokenizer, texts, second,
                                 &(gnn_encoding_t){.max_length = gnn__pretrained_most(p)}, &tokens));
    const int rc = run_all(p, context, tokens, step, out);
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
