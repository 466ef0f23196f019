/* Tokenizes a text: cuts out added tokens and passes the rest through the steps and the model. */
#include <lib/text/tokenizer/tokenizer.h>

/* Tokens past the limit are cut. */
static bool has_enough(const gnn__work_t *work)
{
    return work->enough > 0 && work->tokens.n >= work->enough;
}

/* ---- words ---- */

/* The characters of a span of the whole text. As in the package, one that ends after the text has
 * two. */
static void set_place_of_text(const gnn__work_t *work, gnn__token_t *t)
{
    const gnn__flow_t *text = &work->raw;
    const int64_t n = text->n, whole = n > 0 ? text->to[n - 1] : 0;
    const int64_t begin = t->begin, end = t->end;
    int64_t next = begin + 1;
    while (next < n && ((unsigned char)text->at[next] & 0xc0) == 0x80)
        next++;
    t->begin = begin < n ? text->from[begin] : whole;
    t->end = end < n ? text->from[end] : end > n && next < n ? text->to[next] : whole;
}

/* Maps offsets in the word to offsets in the input. */
static void set_places(gnn__work_t *work, int64_t first, gnn__span_t span)
{
    for (int64_t k = first; work->keeps_normal && k < work->tokens.n; k++) {
        work->tokens.at[k].begin += span.begin;
        work->tokens.at[k].end += span.begin;
    }
    for (int64_t k = first; work->places && !work->keeps_normal && k < work->tokens.n; k++) {
        gnn__token_t *t = &work->tokens.at[k];
        if (t->end > span.end - span.begin) {
            set_place_of_text(work, t);
            continue;
        }
        const int64_t begin = span.begin + t->begin,
                      last = span.begin + gnn__max(t->end, t->begin + 1) - 1;
        t->begin = work->text.from[begin];
        t->end = work->text.to[last];
    }
}

/* Merges an unknown token with one at the end of the previous word. */
static void join_unknown(gnn__work_t *work, int64_t first)
{
    gnn__token_list_t *t = &work->tokens;
    const int32_t unknown = work->tokenizer->rules.unknown;
    if (first == 0 || first >= t->n || t->at[first].id != unknown || t->at[first - 1].id != unknown)
        return;
    t->at[first - 1].end = t->at[first].end;
    t->n--;
    memmove(&t->at[first], &t->at[first + 1], (size_t)(t->n - first) * sizeof *t->at);
}

static void encode_word(gnn__work_t *work, gnn__span_t span)
{
    const gnn_tokenizer_t *t = work->tokenizer;
    const char *word = work->text.at + span.begin;
    const int64_t first = work->tokens.n, n = span.end - span.begin;
    int64_t count = 0;
    const gnn__token_t *known = t->rules.never_cached ? NULL : gnn__cache_get(work, word, n, &count);
    for (int64_t k = 0; k < count && work->rc == GNN_OK; k++) {
        gnn__add_token(work, known[k].id, known[k].begin, known[k].end);
        if (work->rc == GNN_OK)
            work->tokens.at[work->tokens.n - 1] = known[k];
    }
    if (!known) {
        t->kind->encode(t, work, word, n);
        if (!t->rules.never_cached)
            gnn__cache_put(work, word, n, first);
    }
    set_places(work, first, span);
    if (t->rules.join_unknown)
        join_unknown(work, first);
}

/* ---- segments ---- */

/* The current text becomes a range of another flow, which steps read in place. */
static void take_range(gnn__work_t *work, const gnn__flow_t *from, gnn__span_t range)
{
    work->spans.n = work->next_spans.n = 0;
    work->text.at = from->at + range.begin;
    work->text.n = range.end - range.begin;
    if (work->places) {
        work->text.from = from->from + range.begin;
        work->text.to = from->to + range.begin;
    }
    gnn__add_span(work, 0, work->text.n);
    const gnn__spans_t spans = work->next_spans;
    work->next_spans = work->spans;
    work->spans = spans;
}

static void encode_plain(gnn__work_t *work)
{
    gnn__pipeline_run(&work->tokenizer->splitters, work);
    for (int64_t k = 0; k < work->spans.n && work->rc == GNN_OK && !has_enough(work); k++)
        encode_word(work, work->spans.at[k]);
}

/* ---- added tokens ---- */

static bool stands_alone(const gnn__flow_t *text, gnn__span_t match)
{
    int64_t behind = match.end;
    const bool before = match.begin > 0 && gnn__is_word(gnn__utf8_before(text->at, match.begin));
    return !before && (match.end == text->n || !gnn__is_word(gnn__utf8_next(text->at, &behind)));
}

static gnn__span_t with_blanks(const gnn__added_t *token, const gnn__flow_t *text,
                               gnn__span_t match, int64_t start)
{
    if (token->strip_left && match.begin < start)
        match.begin = start; /* in what a token before has stripped */
    while (token->strip_left && match.begin > start &&
           gnn__is_space(gnn__utf8_before(text->at, match.begin))) {
        do
            match.begin--;
        while (match.begin > start && ((unsigned char)text->at[match.begin] & 0xc0) == 0x80);
    }
    for (int64_t next = match.end; token->strip_right && next < text->n; match.end = next)
        if (!gnn__is_space(gnn__utf8_next(text->at, &next)))
            break;
    return match;
}

/* The next added token at or after *at: its index, -1 if there is none. Text from `start` on is not
 * consumed yet. */
static int32_t next_added(const gnn__work_t *work, const gnn__trie_t *trie, const gnn__flow_t *text,
                          int64_t *at, int64_t start, gnn__span_t *match)
{
    for (int64_t k = *at, length; k < text->n && trie->nodes > 0; k++) {
        const int32_t found = gnn__trie_longest(trie, text->at + k, text->n - k, &length);
        if (found < 0)
            continue;
        const gnn__added_t *token = &work->tokenizer->added[found];
        *match = (gnn__span_t){k, k + length};
        *at = k + length;
        if (!token->single_word || stands_alone(text, *match)) {
            *match = with_blanks(token, text, *match, start);
            return found;
        }
        k += length - 1;
    }
    *match = (gnn__span_t){text->n, text->n};
    return -1;
}

static void add_added(gnn__work_t *work, const gnn__flow_t *text, int32_t which, gnn__span_t match)
{
    const gnn_tokenizer_t *t = work->tokenizer;
    const int64_t begin = work->places ? text->from[match.begin] : 0,
                  end = work->places ? text->to[match.end - 1] : 0;
    gnn__add_token(work, t->added[which].id, begin, end);
    if (t->n_trims > 0)
        gnn__note_text(work, (gnn__string_t){text->at + match.begin, match.end - match.begin});
}

/* Calls `plain` for each range between the added tokens of a text. */
static void cut(gnn__work_t *work, const gnn__trie_t *trie, const gnn__flow_t *text,
                void (*plain)(gnn__work_t *work, gnn__span_t range))
{
    int64_t start = 0, at = 0;
    while (work->rc == GNN_OK && !has_enough(work)) {
        gnn__span_t match = {text->n, text->n};
        const int32_t found = next_added(work, trie, text, &at, start, &match);
        if (start < match.begin)
            plain(work, (gnn__span_t){start, match.begin});
        if (found < 0)
            return;
        if (match.begin < match.end)
            add_added(work, text, found, match);
        start = match.end; /* as in the package, the stripped part may contain another token */
    }
}

static void encode_held(gnn__work_t *work, gnn__span_t range)
{
    const bool first = work->first;
    work->first = first && range.begin == 0;
    take_range(work, &work->held, range);
    encode_plain(work);
    work->first = first;
}

static void encode_raw(gnn__work_t *work, gnn__span_t range)
{
    const gnn_tokenizer_t *t = work->tokenizer;
    work->first = range.begin == 0;
    work->start = work->places ? work->raw.from[range.begin] : 0;
    take_range(work, &work->raw, range);
    gnn__pipeline_run(&t->normalisers, work);
    if (t->normalised_added.nodes == 0) {
        encode_plain(work);
        return;
    }
    const gnn__flow_t held = work->text;
    work->text = work->held;
    work->held = held;
    cut(work, &t->normalised_added, &work->held, encode_held);
}

/* ---- the whole text ---- */

/* The whole text, with a replacement character for bytes that are not UTF-8. A text without any is
 * not copied, unless offsets are kept. */
static void load(gnn__work_t *work, const char *text, int64_t bytes)
{
    gnn__flow_clear(&work->next);
    for (int64_t k = 0, plain = 0; k < bytes || plain < k;) {
        bool whole = true, open;
        const bool ascii = k < bytes && (unsigned char)text[k] < 0x80;
        int64_t n = 0;
        if (ascii && !work->places) {
            k++;
            continue;
        }
        if (k < bytes)
            n = ascii ? 1 : gnn__utf8_part((const unsigned char *)text + k, bytes - k, &whole, &open);
        if (whole && n > 0 && !work->places) {
            k += n;
            continue;
        }
        if (plain == 0 && k == bytes && !work->places) {
            work->next.at = text;
            work->next.n = bytes;
            break;
        }
        gnn__put_bytes(work, text + plain, k - plain, (gnn__span_t){plain, k});
        if (n > 0 && whole)
            gnn__put_bytes(work, text + k, n, (gnn__span_t){k, k + n});
        else if (n > 0)
            gnn__put(work, GNN__REPLACEMENT, (gnn__span_t){k, k + n});
        k += n;
        plain = k;
    }
    const gnn__flow_t made = work->next;
    work->next = work->raw;
    work->raw = made;
}

void gnn__encode_text(gnn__work_t *work, const char *text, int64_t bytes)
{
    gnn__work_begin(work, bytes);
    load(work, text, bytes);
    if (work->rc == GNN_OK)
        cut(work, &work->tokenizer->raw_added, &work->raw, encode_raw);
}
