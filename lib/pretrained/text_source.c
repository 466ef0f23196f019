/* A batch source of labelled texts for the training loop. */
#include <lib/data/data.h>
#include <lib/pretrained/pretrained.h>
#include <lib/train/train.h>

/* Tokenized texts of one split. */
typedef struct half {
    gnn_tokens_t *tokens;
    int64_t *rows; /* where each begins */
    int32_t *labels, *order;
    int64_t epoch; /* whose order that is */
    gnn_pretrained_batch_t *batch;
    int32_t *ids, *types, *batch_labels;
    int64_t *lengths;
} half_t;

typedef struct {
    gnn__source_state_t base;
    const gnn_pretrained_t *of;
    gnn_text_source_config_t config;
    half_t halves[2]; /* GNN_TRAIN, GNN_VALIDATION */
} texts_t;

/* ---- a batch ---- */

static void order_texts(half_t *h, uint64_t seed, int64_t epoch)
{
    for (int64_t k = 0; k < h->tokens->sentences; k++)
        h->order[k] = (int32_t)k;
    gnn__data_shuffle(h->order, h->tokens->sentences, seed + (uint64_t)epoch * 0x9E3779B97F4A7C15u);
    h->epoch = epoch;
}

static int64_t gather(half_t *h, int64_t first, int64_t count)
{
    int64_t rows = 0;
    for (int64_t k = 0; k < count; k++) {
        const int64_t text = h->order[first + k], length = h->tokens->lengths[text];
        memcpy(h->ids + rows, h->tokens->ids + h->rows[text], (size_t)length * sizeof *h->ids);
        memcpy(h->types + rows, h->tokens->types + h->rows[text], (size_t)length * sizeof *h->types);
        h->lengths[k] = length;
        h->batch_labels[k] = h->labels[text];
        rows += length;
    }
    return rows;
}

static int make_batch(const texts_t *s, half_t *h, int64_t first, int64_t count, bool backward)
{
    gnn_pretrained_batch_free(h->batch);
    h->batch = NULL;
    gather(h, first, count);
    GNN_TRY(gnn_pretrained_batch_new(
        &h->batch, s->of,
        &(gnn_sequences_t){.count = count, .lengths = h->lengths, .ids = h->ids, .types = h->types}));
    return backward ? gnn__pretrained_batch_prepare(h->batch) : GNN_OK;
}

static int get(void *user, int part, int64_t epoch, int64_t index, gnn_batch_t *batch)
{
    texts_t *s = user;
    half_t *h = &s->halves[part];
    const int64_t first = index * s->config.sentences,
                  count = gnn__min(s->config.sentences, h->tokens->sentences - first);
    if (part == GNN_TRAIN && h->epoch != epoch)
        order_texts(h, s->config.seed, epoch);
    GNN_TRY(make_batch(s, h, first, count, part == GNN_TRAIN));
    batch->inputs = *gnn_pretrained_batch_inputs(h->batch);
    batch->loss = (gnn_loss_t){.labels = h->batch_labels};
    return GNN_OK;
}

/* ---- texts ---- */

static int check_labels(const gnn_labelled_texts_t *from, int64_t classes)
{
    if (!from->labels && from->texts.count > 0)
        return gnn__error(GNN_EINVALID, "texts without labels");
    for (int64_t k = 0; k < from->texts.count; k++)
        if (from->labels[k] < -1 || from->labels[k] >= classes)
            return gnn__error(GNN_EINVALID, "text %lld has label %d, the model has %lld classes",
                              (long long)k, (int)from->labels[k], (long long)classes);
    return GNN_OK;
}

/* Bounds the tokens of any `sentences` texts together by `rows`. */
static int allocate(half_t *h, int64_t sentences)
{
    const gnn_tokens_t *t = h->tokens;
    int64_t longest = 0, rows = 0;
    GNN_TRY(gnn__new(&h->rows, t->sentences, sizeof *h->rows, "places of texts"));
    for (int64_t k = 0, at = 0; k < t->sentences; at += t->lengths[k++]) {
        h->rows[k] = at;
        longest = gnn__max(longest, t->lengths[k]);
    }
    if (!gnn__mul(longest, gnn__min(sentences, t->sentences), &rows))
        return gnn__error(GNN_EOVERFLOW, "a batch of %lld texts", (long long)sentences);
    const int64_t count = gnn__min(sentences, t->sentences);
    GNN_TRY(gnn__new(&h->ids, rows, sizeof *h->ids, "tokens of a batch"));
    GNN_TRY(gnn__new(&h->types, rows, sizeof *h->types, "types of a batch"));
    GNN_TRY(gnn__new(&h->lengths, count, sizeof *h->lengths, "lengths of a batch"));
    GNN_TRY(gnn__new(&h->batch_labels, count, sizeof *h->batch_labels, "labels of a batch"));
    return gnn__new(&h->order, t->sentences, sizeof *h->order, "an order of texts");
}

static int take_texts(texts_t *s, int part, const gnn_labelled_texts_t *from)
{
    half_t *h = &s->halves[part];
    const gnn_model_t *model = s->of->made.model;
    const int64_t last = gnn_model_step_count(model) - 1;
    GNN_TRY(check_labels(from, gnn_model_width(model, last)));
    GNN_TRY(gnn_tokenizer_encode(s->of->tokenizer, &from->texts, NULL,
                                 &(gnn_encoding_t){.max_length = s->config.max_length}, &h->tokens));
    const int64_t count = h->tokens->sentences;
    GNN_TRY(allocate(h, s->config.sentences));
    GNN_TRY(gnn__new(&h->labels, count, sizeof *h->labels, "labels of texts"));
    for (int64_t k = 0; k < count; k++) {
        h->labels[k] = from->labels[k];
        h->order[k] = (int32_t)k;
    }
    s->base.source.count[part] = (count + s->config.sentences - 1) / s->config.sentences;
    return GNN_OK;
}

/* ---- opening and closing ---- */

static int fill(texts_t *s, const gnn_labelled_texts_t *train,
                const gnn_labelled_texts_t *validation, const gnn_text_source_config_t *config)
{
    const int64_t most = s->of->max_length;
    s->config = *config;
    if (!s->of->tokenizer)
        return gnn__pretrained_no_tokenizer();
    if (s->config.sentences < 0 || s->config.max_length < 0)
        return gnn__error(GNN_EINVALID,
                          ".sentences = %lld and .max_length = %lld, expected at least 0",
                          (long long)s->config.sentences, (long long)s->config.max_length);
    s->config.sentences = s->config.sentences ? s->config.sentences : 32;
    s->config.seed = s->config.seed ? s->config.seed : 1;
    if (s->config.max_length == 0 || (most > 0 && s->config.max_length > most))
        s->config.max_length = most;
    GNN_TRY(take_texts(s, GNN_TRAIN, train));
    return validation ? take_texts(s, GNN_VALIDATION, validation) : GNN_OK;
}

static void free_texts(gnn__source_state_t *state)
{
    texts_t *s = (texts_t *)state;
    for (int part = 0; part < 2; part++) {
        half_t *h = &s->halves[part];
        gnn_pretrained_batch_free(h->batch);
        gnn_tokens_free(h->tokens);
        gnn_free(h->rows);
        gnn_free(h->labels);
        gnn_free(h->order);
        gnn_free(h->ids);
        gnn_free(h->types);
        gnn_free(h->lengths);
        gnn_free(h->batch_labels);
    }
    gnn_free(s);
}

static const gnn__source_kind_t of_texts = {"gnn_source_of_texts", free_texts};

int gnn_source_of_texts(gnn_source_t **source, const gnn_pretrained_t *pretrained,
                        const gnn_labelled_texts_t *train, const gnn_labelled_texts_t *validation,
                        const gnn_text_source_config_t *config)
{
    const gnn_text_source_config_t own = config ? *config : (gnn_text_source_config_t){0};
    texts_t *s;
    GNN__NEED(source);
    *source = NULL;
    GNN__NEED(pretrained);
    GNN__NEED(train);
    GNN_TRY(gnn__new(&s, 1, sizeof *s, "a source of batches"));
    s->base = gnn__source_state(&of_texts, &s->base, get);
    s->of = pretrained;
    return gnn__source_finish(source, &s->base, fill(s, train, validation, &own));
}
