/* Texts during generation: tokens, output of pieces, and the result. */
#include <lib/generate/generate.h>

/* ---- one text ---- */

/* Makes a decoder that has processed the prompt, so that a space after it is not taken for a
 * leading one. */
static int hear_beginning(gnn__writing_t *t, const gnn__author_t *a)
{
    const char *piece;
    if (!a->tokenizer)
        return GNN_OK;
    GNN_TRY(gnn_decoder_new(&t->decoder, a->tokenizer, GNN_OFF));
    for (int64_t k = 0; k < t->n_prompt; k++)
        if (gnn_tokenizer_token(a->tokenizer, t->ids[k]))
            GNN_TRY(gnn_decoder_push(t->decoder, t->ids[k], &piece, NULL));
    return gnn__grow(&t->text, 0, 1, 1, "a text");
}

int gnn__writing_new(gnn__writing_t *text, const gnn__author_t *author, int64_t n_prompt,
                     const int32_t *prompt, int64_t most)
{
    *text = (gnn__writing_t){.n_prompt = n_prompt, .most = most};
    GNN_TRY(gnn__new(&text->ids, n_prompt + most, sizeof *text->ids, "tokens of a text"));
    memcpy(text->ids, prompt, (size_t)n_prompt * sizeof *prompt);
    return hear_beginning(text, author);
}

void gnn__writing_free(gnn__writing_t *text)
{
    gnn_free(text->ids);
    gnn_free(text->text);
    gnn_decoder_free(text->decoder);
}

static int append(gnn__writing_t *t, const char *piece, int64_t bytes)
{
    if (t->bytes + bytes + 1 > t->room) {
        const int64_t room = gnn__max(2 * t->room, t->bytes + bytes + 64);
        GNN_TRY(gnn__grow(&t->text, t->bytes, room, 1, "a text"));
        t->room = room;
    }
    memcpy(t->text + t->bytes, piece, (size_t)bytes);
    t->bytes += bytes;
    t->text[t->bytes] = '\0';
    return GNN_OK;
}

/* Ends the text before the first of `stop` found from byte `from` on. */
static void cut_at_stop(gnn__writing_t *t, const gnn_generation_t *how, int64_t from)
{
    for (int64_t k = 0; k < how->n_stop; k++) {
        const int64_t n = (int64_t)strlen(how->stop[k]), last = t->bytes - n;
        for (int64_t at = gnn__max(from - n + 1, 0); at <= last; at++)
            if (memcmp(t->text + at, how->stop[k], (size_t)n) == 0) {
                t->bytes = at;
                t->text[at] = '\0';
                t->ended = GNN_ENDED_STOP;
                break;
            }
    }
}

/* Length of the suffix that may still become one of `stop`. */
static int64_t waiting(const gnn__writing_t *t, const gnn_generation_t *how)
{
    int64_t most = 0;
    for (int64_t k = 0; k < how->n_stop; k++) {
        const int64_t length = (int64_t)strlen(how->stop[k]);
        for (int64_t n = gnn__min(length - 1, t->bytes - t->shown); n > most; n--)
            if (memcmp(t->text + t->bytes - n, how->stop[k], (size_t)n) == 0)
                most = n;
    }
    return most;
}

static void show(gnn__writing_t *t, const gnn_generation_t *how, int64_t number, int64_t end)
{
    if (how->on_text && end > t->shown &&
        how->on_text(how->user, number, t->text + t->shown, end - t->shown) != 0)
        t->ended = GNN_ENDED_CALLER;
    t->shown = gnn__max(end, t->shown);
}

int gnn__writing_push(gnn__writing_t *text, const gnn__author_t *author, int64_t number, int32_t id)
{
    const gnn_generation_t *how = &author->how;
    const char *piece;
    int64_t bytes;
    text->ids[text->n_prompt + text->n++] = id;
    if (how->on_token && how->on_token(how->user, number, id) != 0)
        text->ended = GNN_ENDED_CALLER;
    if (gnn__author_ends(author, id))
        text->ended = GNN_ENDED_TOKEN;
    else if (text->decoder && gnn_tokenizer_token(author->tokenizer, id)) {
        const int64_t before = text->bytes;
        GNN_TRY(gnn_decoder_push(text->decoder, id, &piece, &bytes));
        GNN_TRY(append(text, piece, bytes));
        cut_at_stop(text, how, before);
        if (text->ended != GNN_ENDED_STOP)
            show(text, how, number, text->bytes - waiting(text, how));
    }
    if (!text->ended && text->n == text->most)
        text->ended = GNN_ENDED_LENGTH;
    return text->ended ? gnn__writing_finish(text, author, number) : GNN_OK;
}

int gnn__writing_finish(gnn__writing_t *text, const gnn__author_t *author, int64_t number)
{
    const char *piece;
    int64_t bytes;
    if (!text->decoder)
        return GNN_OK;
    if (text->ended != GNN_ENDED_STOP) {
        GNN_TRY(gnn_decoder_finish(text->decoder, &piece, &bytes));
        GNN_TRY(append(text, piece, bytes));
    }
    show(text, &author->how, number, text->bytes);
    return GNN_OK;
}

/* ---- the result ---- */

typedef struct {
    gnn_written_t written;
    int64_t *lengths, *bytes;
    int32_t *ids;
    double *scores;
    gnn_ended_t *ended;
    char **texts;
} result_t;

static int make_lists(result_t *r, int64_t count, int64_t tokens, bool has_texts)
{
    GNN_TRY(gnn__new(&r->lengths, count, sizeof *r->lengths, "what was written"));
    GNN_TRY(gnn__new(&r->ids, tokens, sizeof *r->ids, "what was written"));
    GNN_TRY(gnn__new(&r->scores, count, sizeof *r->scores, "what was written"));
    GNN_TRY(gnn__new(&r->ended, count, sizeof *r->ended, "what was written"));
    if (has_texts) {
        GNN_TRY(gnn__new(&r->texts, count, sizeof *r->texts, "what was written"));
        GNN_TRY(gnn__new(&r->bytes, count, sizeof *r->bytes, "what was written"));
    }
    r->written = (gnn_written_t){.count = count,
                                 .lengths = r->lengths,
                                 .ids = r->ids,
                                 .scores = r->scores,
                                 .ended = r->ended,
                                 .texts = (const char *const *)r->texts,
                                 .text_bytes = r->bytes};
    return GNN_OK;
}

static int copy_text(result_t *r, int64_t k, const gnn__writing_t *t, int64_t at)
{
    r->lengths[k] = t->n;
    r->scores[k] = t->score;
    r->ended[k] = t->ended;
    memcpy(r->ids + at, t->ids + t->n_prompt, (size_t)t->n * sizeof *r->ids);
    if (!r->texts)
        return GNN_OK;
    r->bytes[k] = t->bytes;
    GNN_TRY(gnn__new(&r->texts[k], t->bytes + 1, 1, "a text"));
    memcpy(r->texts[k], t->text, (size_t)t->bytes);
    return GNN_OK;
}

int gnn__written_new(gnn_written_t **written, const gnn__writing_t *texts, int64_t count,
                     bool has_texts)
{
    result_t *r = NULL;
    int64_t tokens = 0, at = 0;
    int rc;
    for (int64_t k = 0; k < count; k++)
        tokens += texts[k].n;
    GNN_TRY(gnn__new(&r, 1, sizeof *r, "what was written"));
    GNN_CHECK(make_lists(r, count, tokens, has_texts));
    for (int64_t k = 0; k < count; at += texts[k++].n)
        GNN_CHECK(copy_text(r, k, &texts[k], at));
    *written = &r->written;
    return GNN_OK;
done:
    gnn_written_free(&r->written);
    return rc;
}

void gnn_written_free(gnn_written_t *written)
{
    result_t *r = (result_t *)written; /* which starts with it */
    if (!written)
        return;
    for (int64_t k = 0; r->texts && k < written->count; k++)
        gnn_free(r->texts[k]);
    gnn_free(r->texts);
    gnn_free(r->lengths);
    gnn_free(r->bytes);
    gnn_free(r->ids);
    gnn_free(r->scores);
    gnn_free(r->ended);
    gnn_free(r);
}
