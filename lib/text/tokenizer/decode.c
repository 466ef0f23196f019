/* Decodes tokens to text incrementally. Bytes of incomplete characters are held back. */
#include <lib/base/settings.h>
#include <lib/text/tokenizer/tokenizer.h>

typedef struct buffer {
    char *at;
    int64_t n, room;
} buffer_t;

struct gnn_decoder {
    const gnn_tokenizer_t *t;
    bool special;           /* special tokens are written */
    bool hold_runs;         /* a run of byte tokens is decoded as a whole */
    bool first;             /* no token came yet */
    bool owes_blank;        /* the last token ended a word: a space precedes the next one */
    int64_t to_strip;       /* leading spaces still to remove */
    int64_t blanks;         /* that are written only if something follows */
    gnn__string_t previous; /* text of the last token, for runs of one */
    buffer_t out;           /* text for the caller */
    buffer_t held;          /* text before clean-up */
    buffer_t bytes;         /* held back */
    buffer_t token;
};

static int append(buffer_t *b, const char *at, int64_t n)
{
    if (b->n + n + 1 > b->room) {
        const int64_t room = gnn__max(2 * b->room, b->n + n + 64);
        GNN_TRY(gnn__grow(&b->at, b->room, room, 1, "text of tokens"));
        b->room = room;
    }
    if (n > 0)
        memcpy(b->at + b->n, at, (size_t)n);
    b->n += n;
    b->at[b->n] = '\0';
    return GNN_OK;
}

/* ---- characters ---- */

/* Holds back trailing spaces, since they may be the end of the text. */
static int say_bare(gnn_decoder_t *d, const char *at, int64_t n)
{
    int64_t end = n;
    while (end > 0 && at[end - 1] == ' ')
        end--;
    for (; end > 0 && d->blanks > 0; d->blanks--)
        GNN_TRY(append(&d->held, " ", 1));
    d->blanks += n - end;
    return append(&d->held, at, end);
}

static int say(gnn_decoder_t *d, const char *at, int64_t n)
{
    while (d->to_strip > 0 && n > 0 && *at == ' ') {
        d->to_strip--;
        at++;
        n--;
    }
    d->to_strip = n > 0 ? 0 : d->to_strip;
    return d->t->speech.bare_ends ? say_bare(d, at, n) : append(&d->held, at, n);
}

static int say_replaced(gnn_decoder_t *d, int64_t times)
{
    for (int64_t k = 0; k < times; k++)
        GNN_TRY(say(d, "\xef\xbf\xbd", 3));
    return GNN_OK;
}

/* Emits the complete characters held back, with U+FFFD for invalid bytes; `last`: also for
 * incomplete ones. */
static int say_bytes(gnn_decoder_t *d, bool last)
{
    int64_t k = 0;
    for (int64_t n; k < d->bytes.n; k += n) {
        bool whole, open;
        n = gnn__utf8_part((const unsigned char *)d->bytes.at + k, d->bytes.n - k, &whole, &open);
        if (open && !last)
            break;
        GNN_TRY(whole ? say(d, d->bytes.at + k, n)
                      : say_replaced(d, d->t->speech.byte_tokens ? n : 1));
    }
    if (k == 0)
        return GNN_OK;
    memmove(d->bytes.at, d->bytes.at + k, (size_t)(d->bytes.n - k));
    d->bytes.n -= k;
    return GNN_OK;
}

static bool is_utf8(const buffer_t *b)
{
    bool whole = true, open;
    for (int64_t k = 0; k < b->n && whole;)
        k += gnn__utf8_part((const unsigned char *)b->at + k, b->n - k, &whole, &open);
    return whole;
}

/* Ends a run of byte tokens: if it is invalid, each of its bytes becomes U+FFFD. */
static int end_run(gnn_decoder_t *d)
{
    if (d->bytes.n == 0)
        return GNN_OK;
    const bool text = is_utf8(&d->bytes);
    GNN_TRY(text ? say(d, d->bytes.at, d->bytes.n) : say_replaced(d, d->bytes.n));
    d->bytes.n = 0;
    return GNN_OK;
}

/* ---- tokens ---- */

static bool begins(gnn__string_t text, const char *with)
{
    const int64_t n = (int64_t)strlen(with);
    return n > 0 && n <= text.length && memcmp(text.at, with, (size_t)n) == 0;
}

static bool ends(gnn__string_t text, const char *with)
{
    const int64_t n = (int64_t)strlen(with);
    return n > 0 && n <= text.length && memcmp(text.at + text.length - n, with, (size_t)n) == 0;
}

/* Copies text with all occurrences of `from` replaced by `to`. */
static int replace(buffer_t *out, gnn__string_t text, const char *from, const char *to)
{
    const int64_t n = (int64_t)strlen(from);
    for (int64_t k = 0; k < text.length;) {
        const bool found = begins((gnn__string_t){text.at + k, text.length - k}, from);
        GNN_TRY(found ? append(out, to, (int64_t)strlen(to)) : append(out, text.at + k, 1));
        k += found ? n : 1;
    }
    return GNN_OK;
}

/* Removes spaces before punctuation and contractions, in the order of BERT's clean-up. One of the
 * pairs applies to single tokens only. */
static const char *const pairs[][2] = {{" .", "."},     {" ?", "?"},           {" !", "!"},
                                       {" ,", ","},     {" ' ", "'"},          {" n't", "n't"},
                                       {" 'm", "'m"},   {" do not", " don't"}, {" 's", "'s"},
                                       {" 've", "'ve"}, {" 're", "'re"}};
enum { PAIRS = sizeof pairs / sizeof pairs[0], OF_TOKENS = 7 };

static int tidy(buffer_t *b, bool whole)
{
    for (size_t k = 0; k < PAIRS; k++) {
        buffer_t next = {0};
        if (whole && k == OF_TOKENS)
            continue;
        int rc = replace(&next, (gnn__string_t){b->at, b->n}, pairs[k][0], pairs[k][1]);
        if (rc == GNN_OK)
            rc = append(&next, "", 0);
        if (rc != GNN_OK) {
            gnn_free(next.at);
            return rc;
        }
        gnn_free(b->at);
        *b = next;
    }
    return GNN_OK;
}

static int push_bytewise(gnn_decoder_t *d, gnn__string_t text)
{
    d->token.n = 0;
    GNN_TRY(append(&d->token, text.at, text.length));
    const int64_t n = gnn__token_bytes(text, d->token.at);
    if (n >= 0)
        GNN_TRY(append(&d->bytes, d->token.at, n));
    else
        GNN_TRY(append(&d->bytes, text.at, text.length));
    return say_bytes(d, false);
}

/* The token's text with the spaces encoded in its spelling. */
static int spell(gnn_decoder_t *d, gnn__string_t text)
{
    const gnn__speech_t *s = &d->t->speech;
    const bool goes_on = begins(text, s->prefix);
    const int64_t cut = goes_on && !d->first ? (int64_t)strlen(s->prefix) : 0;
    if (s->spaced && !d->first && !goes_on)
        GNN_TRY(append(&d->token, " ", 1));
    text = (gnn__string_t){text.at + cut, text.length - cut};
    if (*s->suffix)
        return replace(&d->token, text, s->suffix, " ");
    if (*s->blank)
        return replace(&d->token, text, s->blank, s->bare_first && d->first ? "" : " ");
    return append(&d->token, text.at, text.length);
}

static bool is_same(gnn__string_t a, gnn__string_t b)
{
    return a.at && b.at && a.length == b.length && memcmp(a.at, b.at, (size_t)a.length) == 0;
}

/* The first token of a run. */
static int push_first(gnn_decoder_t *d, gnn__string_t text)
{
    const gnn__speech_t *s = &d->t->speech;
    const bool again = is_same(d->previous, text);
    buffer_t spaced = {0};
    d->previous = text;
    d->token.n = 0;
    if (again)
        return GNN_OK;
    GNN_TRY(replace(&d->token, text, s->pad, ""));
    GNN_TRY(append(&d->token, "", 0));
    if (s->tidy)
        GNN_TRY(tidy(&d->token, false));
    int rc =
        replace(&spaced, (gnn__string_t){d->token.at, d->token.n}, s->tidy ? s->delimiter : "", " ");
    if (rc == GNN_OK)
        rc = say(d, spaced.at, spaced.n);
    gnn_free(spaced.at);
    return rc;
}

static int push_spelled(gnn_decoder_t *d, gnn__string_t text)
{
    const char *suffix = d->t->speech.suffix;
    const int64_t cut = ends(text, suffix) ? (int64_t)strlen(suffix) : 0;
    if (d->owes_blank)
        GNN_TRY(say(d, " ", 1));
    d->owes_blank = cut > 0;
    text.length -= cut;
    d->token.n = 0;
    GNN_TRY(spell(d, text));
    GNN_TRY(append(&d->token, "", 0));
    if (d->t->speech.tidy)
        GNN_TRY(tidy(&d->token, false));
    return say(d, d->token.at, d->token.n);
}

/* After a special token a new text may start. */
static int end_special(gnn_decoder_t *d)
{
    if (d->t->speech.blank_after_special)
        GNN_TRY(say(d, " ", 1));
    if (d->t->speech.runs)
        d->to_strip = INT64_MAX;
    return GNN_OK;
}

/* As in the package, the text that is written decides: a token of the same text as a special token
 * is left out, too, and a special token that normalizers changed is written. */
static bool reads_as_special(const gnn_tokenizer_t *t, gnn__string_t text)
{
    const int32_t id = gnn__token_find(t, text, (gnn__string_t){"", 0});
    return id >= 0 && (t->flags[id] & GNN__TOKEN_SPECIAL);
}

static int push(gnn_decoder_t *d, int32_t id)
{
    const gnn_tokenizer_t *t = d->t;
    if (id < 0 || id >= t->size || !t->tokens[id].at)
        return gnn__error(GNN_EINVALID, "no token has the id %d: ids are 0 to %lld", id,
                          (long long)t->size - 1);
    const gnn__string_t text = t->written && t->written[id].at ? t->written[id] : t->tokens[id];
    const bool spoken_unknown = t->speech.unknown && id == t->rules.unknown;
    const int byte = t->speech.byte_tokens ? gnn__byte_token(text) : -1;
    if (!d->special && reads_as_special(t, text))
        return GNN_OK;
    if (byte >= 0) {
        GNN_TRY(append(&d->bytes, &(char){(char)byte}, 1));
        d->first = false;
        return d->hold_runs ? GNN_OK : say_bytes(d, false);
    }
    if (!t->speech.bytewise)
        GNN_TRY(d->hold_runs ? end_run(d) : say_bytes(d, true));
    if (spoken_unknown)
        d->to_strip = 0;
    if (spoken_unknown)
        GNN_TRY(say(d, t->speech.unknown, (int64_t)strlen(t->speech.unknown)));
    else
        GNN_TRY(t->speech.bytewise ? push_bytewise(d, text)
                : t->speech.pad    ? push_first(d, text)
                                   : push_spelled(d, text));
    d->first = false;
    return t->flags[id] & GNN__TOKEN_SPECIAL ? end_special(d) : GNN_OK;
}

/* The position from which the held text may still form one of the pairs. */
static int64_t settled(const buffer_t *b)
{
    for (int64_t from = gnn__max(b->n - 3, 0); from < b->n; from++)
        for (size_t k = 0; k < PAIRS; k++)
            if (strncmp(pairs[k][0], b->at + from, (size_t)(b->n - from)) == 0 &&
                (int64_t)strlen(pairs[k][0]) > b->n - from)
                return from;
    return b->n;
}

/* Returns the held text: all of it at the end. */
static int give(gnn_decoder_t *d, bool last)
{
    const bool tidies = d->t->speech.tidy_text;
    GNN_TRY(append(&d->held, "", 0));
    if (!tidies && d->out.n == 0) {
        const buffer_t empty = d->out;
        d->out = d->held;
        d->held = empty;
        return GNN_OK;
    }
    if (tidies)
        GNN_TRY(tidy(&d->held, true));
    const int64_t n = tidies && !last ? settled(&d->held) : d->held.n;
    GNN_TRY(append(&d->out, d->held.at, n));
    memmove(d->held.at, d->held.at + n, (size_t)(d->held.n - n));
    d->held.n -= n;
    return GNN_OK;
}

static int finish(gnn_decoder_t *d)
{
    GNN_TRY(d->hold_runs ? end_run(d) : say_bytes(d, true));
    return give(d, true);
}

static void start(gnn_decoder_t *d)
{
    d->first = true;
    d->to_strip = d->t->speech.strip_left;
    d->bytes.n = d->held.n = 0;
    d->blanks = 0;
    d->owes_blank = false;
    d->previous = (gnn__string_t){0};
}

/* ---- what the user calls ---- */

int gnn_decoder_new(gnn_decoder_t **decoder, const gnn_tokenizer_t *tokenizer, gnn_flag_t special)
{
    GNN__NEED(decoder);
    GNN__NEED(tokenizer);
    gnn_decoder_t *d;
    *decoder = NULL;
    GNN_TRY(gnn__check_flag(special, "special"));
    GNN_TRY(gnn__new(&d, 1, sizeof *d, "a decoder"));
    d->t = tokenizer;
    d->special = special != GNN_OFF;
    start(d);
    *decoder = d;
    return GNN_OK;
}

void gnn_decoder_free(gnn_decoder_t *decoder)
{
    if (!decoder)
        return;
    gnn_free(decoder->out.at);
    gnn_free(decoder->held.at);
    gnn_free(decoder->bytes.at);
    gnn_free(decoder->token.at);
    gnn_free(decoder);
}

int gnn_decoder_push(gnn_decoder_t *decoder, int32_t id, const char **text, int64_t *bytes)
{
    GNN__NEED(decoder);
    GNN__NEED(text);
    decoder->out.n = 0;
    GNN_TRY(append(&decoder->out, "", 0));
    GNN_TRY(push(decoder, id));
    GNN_TRY(give(decoder, false));
    *text = decoder->out.at;
    if (bytes)
        *bytes = decoder->out.n;
    return GNN_OK;
}

int gnn_decoder_finish(gnn_decoder_t *decoder, const char **text, int64_t *bytes)
{
    GNN__NEED(decoder);
    GNN__NEED(text);
    decoder->out.n = 0;
    GNN_TRY(finish(decoder));
    start(decoder);
    *text = decoder->out.at;
    if (bytes)
        *bytes = decoder->out.n;
    return GNN_OK;
}

int gnn_tokenizer_decode(const gnn_tokenizer_t *tokenizer, int64_t count, const int32_t *ids,
                         gnn_flag_t special, char **text, int64_t *bytes)
{
    GNN__NEED(tokenizer);
    gnn_decoder_t *d;
    GNN__NEED(text);
    if (count < 0)
        return gnn__error(GNN_EINVALID, "gnn_tokenizer_decode: count = %lld, expected at least 0",
                          (long long)count);
    if (count > 0)
        GNN__NEED(ids);
    *text = NULL;
    GNN_TRY(gnn_decoder_new(&d, tokenizer, special));
    d->hold_runs = tokenizer->speech.whole_runs;
    int rc = GNN_OK;
    for (int64_t k = 0; k < count && rc == GNN_OK; k++)
        rc = push(d, ids[k]);
    if (rc == GNN_OK)
        rc = finish(d);
    if (rc == GNN_OK) {
        *text = d->out.at;
        if (bytes)
            *bytes = d->out.n;
        d->out = (buffer_t){0};
    }
    gnn_decoder_free(d);
    return rc;
}
