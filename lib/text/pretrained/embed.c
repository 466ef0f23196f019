/* Sentences become vectors. */
#include <lib/text/pretrained/pretrained.h>

/* Tokens that run at once: enough for large products, few enough that values stay in the caches. */
enum { AT_ONCE = 4096 };

int64_t gnn_pretrained_embedding_width(const gnn_pretrained_t *pretrained)
{
    const int64_t step = gnn_model_find(pretrained->made.model, "embedding");
    return step < 0 ? -1 : gnn_model_width(pretrained->made.model, step);
}

/* Sentences `first` .. `end` - 1, whose tokens begin at `row`. */
static int run(const gnn_pretrained_t *p, gnn_context_t *context, const gnn_tokens_t *tokens,
               int64_t first, int64_t end, int64_t row, const gnn_tensor_t *out)
{
    gnn_batch_t *batch = NULL;
    const gnn_tensor_t rows = {gnn__row(out, first), end - first, out->cols, out->stride};
    GNN_TRY(gnn_batch_new(&batch, p,
                          &(gnn_sequences_t){.count = end - first,
                                             .lengths = tokens->lengths + first,
                                             .ids = tokens->ids + row,
                                             .types = tokens->types + row}));
    const int rc =
        gnn_model_value(p->made.model, context, gnn_batch_inputs(batch), "embedding", &rows);
    gnn_batch_free(batch);
    return rc;
}

static int run_all(const gnn_pretrained_t *p, gnn_context_t *context, const gnn_tokens_t *tokens,
                   const gnn_tensor_t *out)
{
    int64_t row = 0;
    for (int64_t first = 0, end = 0; first < tokens->sentences; first = end) {
        int64_t rows = 0;
        while (end < tokens->sentences && (rows == 0 || rows + tokens->lengths[end] <= AT_ONCE))
            rows += tokens->lengths[end++];
        GNN_TRY(run(p, context, tokens, first, end, row, out));
        row += rows;
    }
    return GNN_OK;
}

static int check(const gnn_pretrained_t *p, const gnn_texts_t *texts, const gnn_tensor_t *out)
{
    const int64_t width = gnn_pretrained_embedding_width(p);
    if (!p->tokenizer)
        return gnn__error(GNN_EUNSUPPORTED, "the folder of this model has no tokenizer");
    if (width < 0)
        return gnn__error(GNN_EUNSUPPORTED, "the folder of this model has no modules.json, which "
                                            "says how sentences become vectors");
    GNN_TRY(gnn_tensor_check(out, "out"));
    if (out->rows != texts->count || out->cols != width)
        return gnn__error(GNN_ESHAPE, "out is %lld x %lld, %lld texts give %lld x %lld",
                          (long long)out->rows, (long long)out->cols, (long long)texts->count,
                          (long long)texts->count, (long long)width);
    return GNN_OK;
}

int gnn_pretrained_embed(const gnn_pretrained_t *pretrained, gnn_context_t *context,
                         const gnn_texts_t *texts, const gnn_tensor_t *out)
{
    gnn_tokens_t *tokens = NULL;
    if (!pretrained || !context || !texts)
        return gnn__error(GNN_EINVALID, "no %s",
                          !pretrained ? "pretrained model"
                          : context   ? "texts"
                                      : "context");
    GNN_TRY(check(pretrained, texts, out));
    GNN_TRY(gnn_tokenizer_encode(pretrained->tokenizer, texts, NULL,
                                 &(gnn_encoding_t){.max_length = pretrained->max_length}, &tokens));
    const int rc = run_all(pretrained, context, tokens, out);
    gnn_tokens_free(tokens);
    return rc;
}
