/* Generates texts in one batch: chooses a token for each running text, and advances all by one
 * row. */
#include <lib/generate/generate.h>

#include <lib/ops/support.h>

/* The state of one call. */
typedef struct {
    gnn__author_t author;
    gnn__beginnings_t begin;
    gnn__writing_t *texts; /* (n) */
    int64_t n;
    gnn__choice_t choice;
    gnn_real_t *numbers;
    int64_t *counts;
    int32_t *ids;
} writing_t;

/* ---- token by token ---- */

/* Only one token may be permitted at the last position. */
static bool is_forced(const writing_t *w, const gnn__writing_t *t)
{
    return w->author.last >= 0 && t->n == t->most - 1;
}

static int choose(writing_t *w, int64_t k, const gnn_real_t *logits)
{
    gnn__writing_t *t = &w->texts[k];
    int32_t id;
    GNN_TRY(gnn__choice_scores(&w->choice, &w->author.how, logits, false, t->ids, t->n_prompt + t->n));
    if (is_forced(w, t)) {
        id = w->author.last;
        return gnn__writing_push(t, &w->author, k, id);
    }
    gnn__constrain(
        &w->author, &w->choice,
        &(gnn__so_far_t){t->ids, t->n_prompt, t->n, w->begin.sources[k / w->author.how.samples]});
    GNN_TRY(gnn__choose(&w->choice, &w->author.how, k, t->n, &id));
    if (!gnn__author_forces(&w->author, t->n_prompt + t->n))
        t->score += (double)logits[id] - w->choice.log_sum;
    return gnn__writing_push(t, &w->author, k, id);
}

static bool caller_stopped(const writing_t *w)
{
    for (int64_t k = 0; k < w->n; k++)
        if (w->texts[k].ended == GNN_ENDED_CALLER)
            return true;
    return false;
}

/* Appends the last token of each running text; `logits` gets one row each. */
static int advance(writing_t *w, gnn_context_t *context, gnn_tensor_t *logits)
{
    int64_t rows = 0;
    for (int64_t k = 0; k < w->n; k++) {
        const gnn__writing_t *t = &w->texts[k];
        w->counts[k] = t->ended == GNN_ENDED_NOT;
        if (w->counts[k])
            w->ids[rows++] = t->ids[t->n_prompt + t->n - 1];
    }
    *logits = gnn_tensor(w->numbers, rows, w->author.words);
    return rows == 0
               ? GNN_OK
               : gnn__author_advance(&w->author, context, w->begin.state, w->counts, w->ids, logits);
}

/* Chooses the first tokens by the logits after the prompts. */
static int begin_texts(writing_t *w)
{
    const int64_t samples = w->author.how.samples;
    for (int64_t k = 0; k < w->n; k++)
        if (w->texts[k].most > 0 && !caller_stopped(w))
            GNN_TRY(choose(w, k, gnn__row(&w->begin.logits, k / samples)));
    return GNN_OK;
}

static int go_on(writing_t *w, gnn_context_t *context)
{
    gnn_tensor_t logits;
    GNN_TRY(begin_texts(w));
    while (!caller_stopped(w)) {
        GNN_TRY(advance(w, context, &logits));
        if (logits.rows == 0)
            break;
        for (int64_t k = 0, row = 0; k < w->n; k++)
            if (w->counts[k])
                GNN_TRY(choose(w, k, gnn__row(&logits, row++)));
    }
    for (int64_t k = 0; k < w->n; k++)
        if (!w->texts[k].ended && w->texts[k].n > 0) {
            w->texts[k].ended = GNN_ENDED_CALLER;
            GNN_TRY(gnn__writing_finish(&w->texts[k], &w->author, k));
        }
    return GNN_OK;
}

/* ---- the whole ---- */

/* One sequence of the state per text. */
static int copy_state(writing_t *w, int64_t copies)
{
    for (int64_t k = 0; k < w->n; k++)
        w->counts[k] = k / copies;
    return copies == 1 ? GNN_OK : gnn_state_select(w->begin.state, w->n, w->counts);
}

static int make_texts(writing_t *w)
{
    const int64_t samples = w->author.how.samples;
    const gnn__beginnings_t *b = &w->begin;
    const int32_t *ids = b->ids;
    int64_t numbers;
    if (!gnn__mul(b->count, samples, &w->n) || !gnn__mul(w->n, w->author.words, &numbers))
        return gnn__error(GNN_EOVERFLOW, "%lld texts for each of %lld prompts do not fit",
                          (long long)samples, (long long)b->count);
    GNN_TRY(gnn__new(&w->texts, w->n, sizeof *w->texts, "texts"));
    for (int64_t k = 0; k < w->n; k++) {
        const int64_t p = k / samples;
        GNN_TRY(gnn__writing_new(&w->texts[k], &w->author, b->lengths[p], ids, b->most[p]));
        ids += (k + 1) % samples == 0 ? b->lengths[p] : 0;
    }
    GNN_TRY(gnn__choice_new(&w->choice, w->author.words));
    w->choice.least = w->author.constraints.min_p;
    GNN_TRY(gnn__new(&w->numbers, numbers, sizeof *w->numbers, "logits"));
    GNN_TRY(gnn__new(&w->counts, w->n, sizeof *w->counts, "counts"));
    return gnn__new(&w->ids, w->n, sizeof *w->ids, "ids");
}

static void writing_free(writing_t *w)
{
    for (int64_t k = 0; w->texts && k < w->n; k++)
        gnn__writing_free(&w->texts[k]);
    gnn_free(w->texts);
    gnn__choice_free(&w->choice);
    gnn_free(w->numbers);
    gnn_free(w->counts);
    gnn_free(w->ids);
    gnn__beginnings_free(&w->begin);
    gnn__author_free(&w->author);
}

int gnn_generate(const gnn_writer_t *writer, gnn_context_t *context, const gnn_sequences_t *prompts,
                 const gnn_generation_t *how, gnn_written_t **written)
{
    writing_t w = {.n = 0};
    int rc;
    GNN__NEED(written);
    *written = NULL;
    GNN__NEED(writer);
    GNN__NEED(context);
    GNN__NEED(prompts);
    GNN_CHECK(gnn__author_new(&w.author, writer, how));
    GNN_CHECK(gnn__beginnings_new(&w.begin, &w.author, context, prompts));
    GNN_CHECK(make_texts(&w));
    if (w.author.how.beams > 1) {
        GNN_CHECK(gnn__beams(&w.author, context, &w.begin, w.texts));
    } else {
        GNN_CHECK(copy_state(&w, w.author.how.samples));
        GNN_CHECK(go_on(&w, context));
    }
    rc = gnn__written_new(written, w.texts, w.n, w.author.tokenizer != NULL);
done:
    writing_free(&w);
    return rc;
}

int gnn_generate_texts(const gnn_writer_t *writer, gnn_context_t *context, const gnn_texts_t *prompts,
                       const gnn_generation_t *how, gnn_written_t **written)
{
    gnn_tokens_t *tokens = NULL;
    GNN__NEED(written);
    *written = NULL;
    GNN__NEED(writer);
    GNN__NEED(context);
    GNN__NEED(prompts);
    const gnn_tokenizer_t *tokenizer =
        writer->pretrained ? gnn_pretrained_tokenizer(writer->pretrained) : writer->tokenizer;
    if (!tokenizer)
        return gnn__error(GNN_EUNSUPPORTED, "the writer has no tokenizer");
    GNN_TRY(gnn_tokenizer_encode(tokenizer, prompts, NULL, NULL, &tokens));
    const int rc = gnn_generate(
        writer, context,
        &(gnn_sequences_t){.count = tokens->sentences, .lengths = tokens->lengths, .ids = tokens->ids},
        how, written);
    gnn_tokens_free(tokens);
    return rc;
}
