/* Logits of heads to tags, words, answers and classes, like the pipelines of the package
 * transformers. */
#include <gnn/heads.h>
#include <lib/base/settings.h>
#include <lib/base/room.h>
#include <lib/pretrained/pretrained.h>
#include <lib/text/tokenizer/tokenizer.h>

#include <math.h>
#include <stdlib.h>

/* ---- logits of all tokens, text by text ---- */

/* A text and the logits of its tokens. */
typedef struct piece {
    const gnn_tokens_t *tokens; /* of all texts */
    int64_t text, row;          /* the text, and its first token among all */
    int64_t length;             /* its tokens */
    gnn_tensor_t logits;        /* (length x width) */
} piece_t;
typedef int (*take_t)(void *user, const piece_t *piece);

typedef struct logits {
    const gnn_pretrained_t *p;
    gnn_context_t *context;
    int64_t width;
    gnn_real_t *values; /* (room x width) */
    int64_t room;
    take_t take;
    void *user;
} logits_t;

static int take_some(void *user, const gnn__some_texts_t *some)
{
    logits_t *l = user;
    const gnn_tokens_t *tokens = some->tokens;
    if (some->rows > l->room) {
        gnn_free(l->values);
        l->values = NULL;
        l->room = 0;
        GNN_TRY(gnn__new(&l->values, some->rows * l->width, sizeof *l->values, "logits"));
        l->room = some->rows;
    }
    const gnn_tensor_t logits = gnn_tensor(l->values, some->rows, l->width);
    GNN_TRY(gnn_model_value(l->p->made.model, l->context, gnn_pretrained_batch_inputs(some->batch),
                            "logits", &logits));
    for (int64_t text = some->first, at = 0; text < some->end; at += tokens->lengths[text++])
        GNN_TRY(l->take(l->user, &(piece_t){tokens, text, some->row + at, tokens->lengths[text],
                                            gnn_tensor(gnn__row(&logits, at), tokens->lengths[text],
                                                       l->width)}));
    return GNN_OK;
}

/* Does the model give logits of tokens for texts? `head`: suffix of the class in config.json. */
static int check_head(const gnn_pretrained_t *p, const char *head, const char *what, int64_t *width)
{
    const int64_t step = gnn_model_find(p->made.model, "logits");
    const char *task = gnn__pretrained_word(p, "task");
    if (!p->tokenizer)
        return gnn__pretrained_no_tokenizer();
    if (step < 0 || !task || !gnn__list_has(head, task))
        return gnn__error(GNN_EUNSUPPORTED,
                          "%s need a folder whose \"architectures\" names a class that ends in %s",
                          what, head);
    *width = gnn_model_width(p->made.model, step);
    return GNN_OK;
}

static int run_tokens(const gnn_pretrained_t *p, gnn_context_t *context, const gnn_tokens_t *tokens,
                      int64_t width, take_t take, void *user)
{
    logits_t logits = {p, context, width, NULL, 0, take, user};
    const int rc = gnn__pretrained_in_parts(p, tokens, width, 0, take_some, &logits);
    gnn_free(logits.values);
    return rc;
}

static int run_texts(const gnn_pretrained_t *p, gnn_context_t *context, const gnn_texts_t *texts,
                     const gnn_texts_t *second, int64_t width, take_t take, void *user)
{
    gnn_tokens_t *tokens = NULL;
    const gnn_encoding_t how = {.places = GNN_ON, .max_length = gnn__pretrained_most(p)};
    GNN_TRY(gnn_tokenizer_encode(p->tokenizer, texts, second, &how, &tokens));
    const int rc = run_tokens(p, context, tokens, width, take, user);
    gnn_tokens_free(tokens);
    return rc;
}

/* Replaces x by exp(x - max); returns their sum. */
static double exponentials(double *x, int64_t n)
{
    double most = -INFINITY, sum = 0;
    for (int64_t k = 0; k < n; k++)
        most = fmax(most, x[k]);
    for (int64_t k = 0; k < n; k++)
        sum += x[k] = exp(x[k] - most);
    return sum;
}

static double exponentials_of(const gnn_real_t *x, int64_t n, double *out)
{
    for (int64_t k = 0; k < n; k++)
        out[k] = (double)x[k];
    return exponentials(out, n);
}

/* Special tokens that the tokenizer adds cover no byte of the text. */
static bool is_around(const piece_t *piece, int64_t k)
{
    return piece->tokens->begin[piece->row + k] == 0 && piece->tokens->end[piece->row + k] == 0;
}

/* ---- tags ---- */

typedef struct tagger {
    const gnn_pretrained_t *p;
    double *shares; /* (width) */
    gnn_tag_t *tags;
    int64_t n_tags;
    bool open; /* the last tag may continue */
    int64_t tokens;
} tagger_t;

/* "B-PER" begins a tag PER. */
static const char *without_prefix(const char *label, bool *begins)
{
    *begins = strncmp(label, "B-", 2) == 0;
    return *begins || strncmp(label, "I-", 2) == 0 ? label + 2 : label;
}

static void close_tag(tagger_t *t)
{
    if (t->open)
        t->tags[t->n_tags - 1].score /= (double)t->tokens;
    if (t->open && strcmp(t->tags[t->n_tags - 1].label, "O") == 0)
        t->n_tags--;
    t->open = false;
}

static int tag_token(tagger_t *t, const piece_t *piece, int64_t k)
{
    const gnn_real_t *x = gnn__row(&piece->logits, k);
    const int64_t width = piece->logits.cols;
    int64_t best = 0;
    bool begins;
    for (int64_t c = 1; c < width; c++)
        best = x[c] > x[best] ? c : best;
    const double score = 1 / exponentials_of(x, width, t->shares);
    const char *name = gnn_pretrained_label(t->p, best);
    const char *label = without_prefix(name ? name : "O", &begins);
    if (!t->open || begins || strcmp(t->tags[t->n_tags - 1].label, label) != 0) {
        close_tag(t);
        GNN_TRY(gnn__one_more(&t->tags, t->n_tags, sizeof *t->tags, "tags"));
        t->tags[t->n_tags++] = (gnn_tag_t){
            .text = piece->text, .begin = piece->tokens->begin[piece->row + k], .label = label};
        t->open = true;
        t->tokens = 0;
    }
    t->tags[t->n_tags - 1].end = piece->tokens->end[piece->row + k];
    t->tags[t->n_tags - 1].score += score;
    t->tokens++;
    return GNN_OK;
}

static int tag_text(void *user, const piece_t *piece)
{
    tagger_t *t = user;
    for (int64_t k = 0; k < piece->length; k++)
        if (!is_around(piece, k))
            GNN_TRY(tag_token(t, piece, k));
    close_tag(t);
    return GNN_OK;
}

int gnn_pretrained_tags(const gnn_pretrained_t *pretrained, gnn_context_t *context,
                        const gnn_texts_t *texts, gnn_tags_t **tags)
{
    tagger_t t = {.p = pretrained};
    int64_t width = 0;
    int rc;
    GNN__NEED(tags);
    *tags = NULL;
    GNN__NEED(pretrained);
    GNN__NEED(context);
    GNN__NEED(texts);
    GNN_CHECK(check_head(pretrained, "ForTokenClassification", "tags", &width));
    GNN_CHECK(gnn__new(&t.shares, width, sizeof *t.shares, "probabilities"));
    GNN_CHECK(run_texts(pretrained, context, texts, NULL, width, tag_text, &t));
    GNN_CHECK(gnn__new(tags, 1, sizeof **tags, "tags"));
    **tags = (gnn_tags_t){t.n_tags, t.tags};
    t.tags = NULL;
done:
    gnn_free(t.tags);
    gnn_free(t.shares);
    return rc;
}

void gnn_tags_free(gnn_tags_t *tags)
{
    if (tags)
        gnn_free((void *)tags->at);
    gnn_free(tags);
}

/* ---- masks ---- */

typedef struct filler {
    const int32_t mask;
    const int64_t top;
    double *shares; /* (width) */
    gnn_fill_t *fills;
    int64_t n_fills;
} filler_t;

/* The most likely tokens of a row, one at a time in descending order. */
static int fill_mask(filler_t *f, const piece_t *piece, int64_t k, int64_t mask)
{
    const int64_t width = piece->logits.cols;
    const double sum = exponentials_of(gnn__row(&piece->logits, k), width, f->shares);
    for (int64_t n = 0; n < gnn__min(f->top, width); n++) {
        int64_t best = 0;
        for (int64_t c = 1; c < width; c++)
            best = f->shares[c] > f->shares[best] ? c : best;
        GNN_TRY(gnn__one_more(&f->fills, f->n_fills, sizeof *f->fills, "tokens for masks"));
        f->fills[f->n_fills++] =
            (gnn_fill_t){piece->text, mask, (int32_t)best, f->shares[best] / sum};
        f->shares[best] = -1;
    }
    return GNN_OK;
}

static int fill_text(void *user, const piece_t *piece)
{
    filler_t *f = user;
    int64_t masks = 0;
    for (int64_t k = 0; k < piece->length; k++)
        if (piece->tokens->ids[piece->row + k] == f->mask)
            GNN_TRY(fill_mask(f, piece, k, masks++));
    return masks > 0 ? GNN_OK
                     : gnn__error(GNN_EINVALID, "text %lld has no mask token, expected at least one",
                                  (long long)piece->text);
}

/* The mask token, by one of its usual names. */
static int find_mask(const gnn_pretrained_t *p, int32_t *id)
{
    static const char *const names[] = {"[MASK]", "<mask>", "<mask_1>"};
    *id = -1;
    for (size_t k = 0; k < sizeof names / sizeof *names && *id < 0; k++)
        *id = gnn_tokenizer_find(p->tokenizer, names[k]);
    return *id >= 0 ? GNN_OK
                    : gnn__error(GNN_EUNSUPPORTED, "the folder's tokenizer has no [MASK] or <mask>");
}

int gnn_pretrained_fill(const gnn_pretrained_t *pretrained, gnn_context_t *context,
                        const gnn_texts_t *texts, int64_t top, gnn_fills_t **fills)
{
    int64_t width = 0;
    int32_t mask = -1;
    GNN__NEED(fills);
    *fills = NULL;
    GNN__NEED(pretrained);
    GNN__NEED(context);
    GNN__NEED(texts);
    if (top < 1)
        return gnn__error(GNN_EINVALID, "top = %lld, expected at least 1 token per mask",
                          (long long)top);
    GNN_TRY(check_head(pretrained, "ForMaskedLM ForPreTraining", "masks", &width));
    GNN_TRY(find_mask(pretrained, &mask));
    filler_t f = {.mask = mask, .top = top};
    int rc;
    GNN_CHECK(gnn__new(&f.shares, width, sizeof *f.shares, "probabilities"));
    GNN_CHECK(run_texts(pretrained, context, texts, NULL, width, fill_text, &f));
    GNN_CHECK(gnn__new(fills, 1, sizeof **fills, "tokens for masks"));
    **fills = (gnn_fills_t){f.n_fills, f.fills};
    f.fills = NULL;
done:
    gnn_free(f.fills);
    gnn_free(f.shares);
    return rc;
}

void gnn_fills_free(gnn_fills_t *fills)
{
    if (fills)
        gnn_free((void *)fills->at);
    gnn_free(fills);
}

/* ---- contexts longer than the model's limit ---- */

enum { MOST_OVERLAP = 128 };

/* Pairs whose context does not fit are split into windows: the question, and tokens of the context
 * that overlap those of the previous window. */
typedef struct windows {
    const gnn_tokens_t *of;
    int64_t most; /* tokens of a window; 0: any */
    gnn_tokens_t tokens;
    int64_t *lengths, *pairs; /* (windows) */
    int32_t *ids, *types, *positions;
    int64_t *begin, *end;
} windows_t;

static void close_windows(windows_t *w)
{
    gnn_free(w->lengths);
    gnn_free(w->pairs);
    gnn_free(w->ids);
    gnn_free(w->types);
    gnn_free(w->positions);
    gnn_free(w->begin);
    gnn_free(w->end);
}

/* Appends the tokens from .. to of a pair that begins at `row` to the open window. */
static void copy_tokens(windows_t *w, int64_t row, int64_t from, int64_t to)
{
    const gnn_tokens_t *of = w->of;
    const int64_t at = w->tokens.rows, n = to - from;
    if (w->ids && n > 0) {
        memcpy(w->ids + at, of->ids + row + from, (size_t)n * sizeof *w->ids);
        memcpy(w->types + at, of->types + row + from, (size_t)n * sizeof *w->types);
        memcpy(w->begin + at, of->begin + row + from, (size_t)n * sizeof *w->begin);
        memcpy(w->end + at, of->end + row + from, (size_t)n * sizeof *w->end);
        for (int64_t k = 0; k < n; k++)
            w->positions[at + k] = (int32_t)(w->lengths[w->tokens.sentences] + k);
        w->lengths[w->tokens.sentences] += n;
    }
    w->tokens.rows += n;
}

/* Tokens first .. last of the pair's n are the context. Only counts windows if nothing is allocated
 * yet. */
static int cut_pair(windows_t *w, int64_t pair, int64_t row, int64_t first, int64_t last)
{
    const int64_t n = w->of->lengths[pair], room = w->most > 0 ? w->most - (n - (last - first)) : n,
                  overlap = gnn__min(gnn__min(w->most / 2, MOST_OVERLAP), room - 1);
    if (w->most > 0 && n > w->most && room < 1)
        return gnn__error(GNN_EINVALID,
                          "question %lld has %lld tokens, which leave none of the %lld that the "
                          "model takes to the context",
                          (long long)pair, (long long)(n - (last - first)), (long long)w->most);
    for (int64_t from = first, to = first;; from += room - overlap) {
        to = gnn__min(from + room, last);
        if (w->pairs)
            w->pairs[w->tokens.sentences] = pair;
        copy_tokens(w, row, 0, first);
        copy_tokens(w, row, from, to);
        copy_tokens(w, row, last, n);
        w->tokens.sentences++;
        if (to == last)
            return GNN_OK;
    }
}

static int cut_pairs(windows_t *w)
{
    const gnn_tokens_t *of = w->of;
    w->tokens.sentences = w->tokens.rows = 0;
    for (int64_t pair = 0, row = 0; pair < of->sentences; row += of->lengths[pair++]) {
        const piece_t piece = {of, pair, row, of->lengths[pair], {0}};
        int64_t first = piece.length, last = 0;
        for (int64_t k = 0, texts = 0, inside = 0; k < piece.length; k++) {
            const int64_t around = is_around(&piece, k);
            texts += !around && !inside;
            inside = !around;
            if (inside && texts == 2) {
                first = gnn__min(first, k);
                last = k + 1;
            }
        }
        GNN_TRY(cut_pair(w, pair, row, gnn__min(first, gnn__max(last, first)), gnn__max(last, first)));
    }
    return GNN_OK;
}

static int open_windows(windows_t *w)
{
    GNN_TRY(cut_pairs(w));
    const int64_t rows = w->tokens.rows, count = w->tokens.sentences;
    GNN_TRY(gnn__new(&w->lengths, count, sizeof *w->lengths, "windows"));
    GNN_TRY(gnn__new(&w->pairs, count, sizeof *w->pairs, "windows"));
    GNN_TRY(gnn__new(&w->types, rows, sizeof *w->types, "windows"));
    GNN_TRY(gnn__new(&w->positions, rows, sizeof *w->positions, "windows"));
    GNN_TRY(gnn__new(&w->begin, rows, sizeof *w->begin, "windows"));
    GNN_TRY(gnn__new(&w->end, rows, sizeof *w->end, "windows"));
    GNN_TRY(gnn__new(&w->ids, rows, sizeof *w->ids, "windows"));
    GNN_TRY(cut_pairs(w));
    w->tokens =
        (gnn_tokens_t){count, rows, w->lengths, w->ids, w->types, w->positions, w->begin, w->end};
    return GNN_OK;
}

/* ---- answers ---- */

typedef struct finder {
    const int64_t top, longest;
    const int64_t *pairs;  /* of windows */
    int64_t first;         /* answer of the pair */
    double *starts, *ends; /* (room) of the tokens of a pair */
    bool *taken;           /* (room) may an answer begin and end there? */
    int64_t room;
    gnn_answer_t *answers;
    int64_t n_answers;
} finder_t;

static int make_room(finder_t *f, int64_t tokens)
{
    if (tokens <= f->room)
        return GNN_OK;
    gnn_free(f->starts);
    gnn_free(f->ends);
    gnn_free(f->taken);
    f->starts = f->ends = NULL;
    f->taken = NULL;
    f->room = 0;
    GNN_TRY(gnn__new(&f->starts, tokens, sizeof *f->starts, "probabilities"));
    GNN_TRY(gnn__new(&f->ends, tokens, sizeof *f->ends, "probabilities"));
    GNN_TRY(gnn__new(&f->taken, tokens, sizeof *f->taken, "tokens of a context"));
    f->room = tokens;
    return GNN_OK;
}

/* Tokens of the context, i.e. of the second text, after the separators that follow the first. */
static void mark_context(finder_t *f, const piece_t *piece)
{
    int64_t texts = 0;
    bool inside = false;
    for (int64_t k = 0; k < piece->length; k++) {
        const bool around = is_around(piece, k);
        texts += !around && !inside;
        inside = !around;
        f->taken[k] = inside && texts == 2;
    }
}

/* Softmax over the context and the first token, which means "no answer". */
static void share(const piece_t *piece, int64_t column, const bool *taken, double *out)
{
    for (int64_t k = 0; k < piece->length; k++)
        out[k] = taken[k] || k == 0 ? (double)gnn__row(&piece->logits, k)[column] : -INFINITY;
    const double sum = exponentials(out, piece->length);
    for (int64_t k = 0; k < piece->length; k++)
        out[k] = k == 0 ? 0 : out[k] / sum;
}

/* Windows overlap: of an answer found in two, the better one counts. Returns true if it was already
 * found. */
static bool drop_same(finder_t *f, int64_t first, const gnn_answer_t *answer)
{
    for (int64_t k = first; k < f->n_answers; k++) {
        if (f->answers[k].begin != answer->begin || f->answers[k].end != answer->end)
            continue;
        if (f->answers[k].score >= answer->score)
            return true;
        memmove(f->answers + k, f->answers + k + 1,
                (size_t)(f->n_answers - k - 1) * sizeof *f->answers);
        f->n_answers--;
    }
    return false;
}

/* Inserts an answer into the best of its pair, which begin at `first`. */
static int put_answer(finder_t *f, int64_t first, const gnn_answer_t *answer)
{
    if (drop_same(f, first, answer))
        return GNN_OK;
    int64_t at = f->n_answers;
    if (f->n_answers - first < f->top) {
        GNN_TRY(gnn__one_more(&f->answers, f->n_answers, sizeof *f->answers, "answers"));
        f->n_answers++;
    } else if (answer->score <= f->answers[--at].score) {
        return GNN_OK;
    }
    for (; at > first && f->answers[at - 1].score < answer->score; at--)
        f->answers[at] = f->answers[at - 1];
    f->answers[at] = *answer;
    return GNN_OK;
}

static int find_answers(void *user, const piece_t *piece)
{
    finder_t *f = user;
    const int64_t pair = f->pairs[piece->text];
    if (piece->text == 0 || f->pairs[piece->text - 1] != pair)
        f->first = f->n_answers;
    GNN_TRY(make_room(f, piece->length));
    mark_context(f, piece);
    share(piece, 0, f->taken, f->starts);
    share(piece, 1, f->taken, f->ends);
    for (int64_t k = 0; k < piece->length; k++)
        for (int64_t e = k; f->taken[k] && e < gnn__min(k + f->longest, piece->length); e++) {
            if (!f->taken[e])
                break;
            GNN_TRY(put_answer(f, f->first,
                               &(gnn_answer_t){pair, piece->tokens->begin[piece->row + k],
                                               piece->tokens->end[piece->row + e],
                                               f->starts[k] * f->ends[e]}));
        }
    return GNN_OK;
}

int gnn_pretrained_answer(const gnn_pretrained_t *pretrained, gnn_context_t *context,
                          const gnn_texts_t *questions, const gnn_texts_t *contexts, int64_t top,
                          int64_t longest, gnn_answers_t **answers)
{
    int64_t width = 0;
    GNN__NEED(answers);
    *answers = NULL;
    GNN__NEED(pretrained);
    GNN__NEED(context);
    GNN__NEED(questions);
    GNN__NEED(contexts);
    if (top < 1 || longest < 0)
        return gnn__error(
            GNN_EINVALID,
            "top = %lld, expected at least 1 answer; longest = %lld tokens, expected at least 0",
            (long long)top, (long long)longest);
    GNN_TRY(check_head(pretrained, "ForQuestionAnswering", "answers", &width));
    finder_t f = {.top = top, .longest = longest ? longest : 15};
    windows_t windows = {.most = gnn__pretrained_most(pretrained)};
    gnn_tokens_t *tokens = NULL;
    int rc = width == 2
                 ? GNN_OK
                 : gnn__error(GNN_ESHAPE,
                              "the head puts out %lld logits per token, expected 2: start and end",
                              (long long)width);
    GNN_CHECK(rc);
    GNN_CHECK(gnn_tokenizer_encode(pretrained->tokenizer, questions, contexts,
                                   &(gnn_encoding_t){.places = GNN_ON}, &tokens));
    windows.of = tokens;
    GNN_CHECK(open_windows(&windows));
    f.pairs = windows.pairs;
    GNN_CHECK(run_tokens(pretrained, context, &windows.tokens, width, find_answers, &f));
    GNN_CHECK(gnn__new(answers, 1, sizeof **answers, "answers"));
    **answers = (gnn_answers_t){f.n_answers, f.answers};
    f.answers = NULL;
done:
    close_windows(&windows);
    gnn_tokens_free(tokens);
    gnn_free(f.answers);
    gnn_free(f.starts);
    gnn_free(f.ends);
    gnn_free(f.taken);
    return rc;
}

void gnn_answers_free(gnn_answers_t *answers)
{
    if (answers)
        gnn_free((void *)answers->at);
    gnn_free(answers);
}

/* ---- zero-shot classification ---- */

/* The entailment class, by name; the last class if none has such a name. */
static int64_t find_entailment(const gnn_pretrained_t *p)
{
    for (int64_t k = 0; k < p->n_labels; k++)
        if (strncasecmp(gnn_pretrained_label(p, k), "entail", 6) == 0)
            return k;
    return p->n_labels - 1;
}

/* The sentence with {} replaced by a class; release with gnn_free. */
static int make_hypothesis(char **text, const char *sentence, const gnn_texts_t *classes, int64_t k)
{
    const char *gap = strstr(sentence, "{}");
    if (!gap)
        return gnn__error(GNN_EINVALID, "the sentence \"%.80s\" has no {} for a class", sentence);
    return gnn__asprintf(text, "%.*s%.*s%s", (int)(gap - sentence), sentence,
                         (int)gnn__texts_bytes(classes, k), classes->at[k], gap + 2);
}

static void share_classes(gnn_real_t *row, int64_t n, const gnn_real_t *logits, int64_t width,
                          int64_t follows, bool independent)
{
    const int64_t against = follows == 0 ? width - 1 : 0;
    double most = -INFINITY, sum = 0;
    for (int64_t k = 0; k < n; k++)
        most = fmax(most, (double)logits[k * width + follows]);
    for (int64_t k = 0; k < n; k++) {
        const double x = (double)logits[k * width + follows];
        row[k] = (gnn_real_t)(independent ? 1 / (1 + exp((double)logits[k * width + against] - x))
                                          : exp(x - most));
        sum += (double)row[k];
    }
    for (int64_t k = 0; !independent && k < n; k++)
        row[k] = (gnn_real_t)((double)row[k] / sum);
}

typedef struct shots {
    const char **first, **second;
    int64_t *bytes;
    char **sentences;
    gnn_real_t *logits;
} shots_t;

static int make_shots(shots_t *s, const gnn_texts_t *texts, const gnn_texts_t *classes,
                      const char *hypothesis, int64_t width)
{
    const int64_t n = classes->count, pairs = texts->count * n;
    GNN_TRY(gnn__new(&s->first, pairs, sizeof *s->first, "texts"));
    GNN_TRY(gnn__new(&s->second, pairs, sizeof *s->second, "texts"));
    GNN_TRY(gnn__new(&s->bytes, pairs, sizeof *s->bytes, "texts"));
    GNN_TRY(gnn__new(&s->sentences, n, sizeof *s->sentences, "texts"));
    GNN_TRY(gnn__new(&s->logits, pairs * width, sizeof *s->logits, "logits"));
    for (int64_t k = 0; k < n; k++)
        GNN_TRY(make_hypothesis(&s->sentences[k], hypothesis, classes, k));
    for (int64_t k = 0; k < pairs; k++) {
        s->first[k] = texts->at[k / n];
        s->bytes[k] = gnn__texts_bytes(texts, k / n);
        s->second[k] = s->sentences[k % n];
    }
    return GNN_OK;
}

static int check_classes(const gnn_pretrained_t *p, const gnn_texts_t *texts,
                         const gnn_texts_t *classes, const gnn_tensor_t *out)
{
    int64_t pairs;
    GNN_TRY(gnn__texts_check(texts, "first"));
    GNN_TRY(gnn__texts_check(classes, "classes"));
    GNN_TRY(gnn__tensor_check(out, "out"));
    if (p->n_labels < 2)
        return gnn__error(GNN_EUNSUPPORTED, "the folder of this model names no classes of pairs");
    if (out->rows != texts->count || out->cols != classes->count)
        return gnn__error(GNN_ESHAPE, "out is %lld x %lld, %lld texts and %lld classes are given",
                          (long long)out->rows, (long long)out->cols, (long long)texts->count,
                          (long long)classes->count);
    return gnn__mul(texts->count, classes->count, &pairs)
               ? GNN_OK
               : gnn__error(GNN_EOVERFLOW, "texts times classes overflow");
}

int gnn_pretrained_zero_shot(const gnn_pretrained_t *pretrained, gnn_context_t *context,
                             const gnn_texts_t *texts, const gnn_texts_t *classes,
                             const gnn_zero_shot_config_t *config, const gnn_tensor_t *out)
{
    GNN__NEED(out);
    gnn_zero_shot_config_t own = config ? *config : (gnn_zero_shot_config_t){0};
    shots_t s = {.first = NULL};
    int rc;
    GNN__NEED(pretrained);
    GNN__NEED(context);
    GNN__NEED(texts);
    GNN__NEED(classes);
    GNN_TRY(check_classes(pretrained, texts, classes, out));
    GNN_TRY(gnn__check_flag(own.independent, "independent"));
    const int64_t n = classes->count, width = pretrained->n_labels, pairs = texts->count * n;
    GNN_CHECK(make_shots(&s, texts, classes,
                         own.hypothesis ? own.hypothesis : "This example is {}.", width));
    const gnn_tensor_t logits = gnn_tensor(s.logits, pairs, width);
    GNN_CHECK(gnn_pretrained_classify_pairs(pretrained, context,
                                            &(gnn_texts_t){pairs, s.first, s.bytes},
                                            &(gnn_texts_t){pairs, s.second, NULL}, &logits));
    for (int64_t k = 0; k < texts->count; k++)
        share_classes(gnn__row(out, k), n, s.logits + k * n * width, width,
                      find_entailment(pretrained), own.independent == GNN_ON || n == 1);
done:
    for (int64_t k = 0; s.sentences && k < classes->count; k++)
        gnn_free(s.sentences[k]);
    gnn_free(s.sentences);
    gnn_free(s.first);
    gnn_free(s.second);
    gnn_free(s.bytes);
    gnn_free(s.logits);
    return rc;
}
