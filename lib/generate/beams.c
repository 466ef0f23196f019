/* Beam search, as in the package transformers: per prompt the best `beams` running texts, and the
 * best `beams` finished ones. */
#include <lib/generate/generate.h>

#include <lib/ops/support.h>
#include <math.h>

/* A running or finished text. */
typedef struct {
    int32_t *ids; /* (longest prompt + most) */
    int64_t n;    /* new tokens */
    double score; /* log p, or the penalised score */
} beam_t;

/* A candidate continuation. */
typedef struct {
    int64_t parent;
    int32_t id;
    double score;
} way_t;

/* The search of one prompt. */
typedef struct {
    int64_t n_prompt, most;
    gnn__prompt_ids_t source;
    beam_t *running, *next, *ended; /* (beams) each, with their counts: */
    int64_t n_running, n_ended;
    bool done;
} search_t;

typedef struct {
    const gnn__author_t *author;
    gnn__beginnings_t *begin;
    search_t *searches; /* (count) */
    beam_t *beams;      /* of all of them */
    int32_t *ids;       /* of all beams */
    int64_t wide, keep; /* beams; candidates considered */
    gnn__choice_t choice;
    way_t *ways; /* (keep) the best so far */
    int64_t n_ways;
    int64_t *from, *counts; /* (count * wide) for the state */
    int32_t *tokens;
    gnn_real_t *numbers;
} beams_t;

/* ---- ways to go on ---- */

/* Candidates are sorted by score; ties keep their order. */
static void offer(beams_t *b, way_t way)
{
    if (b->n_ways == b->keep && way.score <= b->ways[b->keep - 1].score)
        return;
    int64_t at = b->n_ways < b->keep ? b->n_ways++ : b->keep - 1;
    for (; at > 0 && b->ways[at - 1].score < way.score; at--)
        b->ways[at] = b->ways[at - 1];
    b->ways[at] = way;
}

/* All candidates of one running text. At its last position only one token may be permitted. */
static int offer_all(beams_t *b, const search_t *s, int64_t parent, const gnn_real_t *logits)
{
    const beam_t *beam = &s->running[parent];
    if (b->author->last >= 0 && beam->n == s->most - 1) {
        offer(b, (way_t){parent, b->author->last, beam->score});
        return GNN_OK;
    }
    GNN_TRY(gnn__choice_scores(&b->choice, &b->author->how, logits, true, beam->ids,
                               s->n_prompt + beam->n));
    gnn__constrain(b->author, &b->choice,
                   &(gnn__so_far_t){beam->ids, s->n_prompt, beam->n, s->source});
    if (b->author->constraints.renormalises)
        gnn__choice_normalise(&b->choice);
    for (int64_t id = 0; id < b->choice.n; id++)
        if (b->choice.p[id] > -INFINITY)
            offer(b, (way_t){parent, (int32_t)id, beam->score + b->choice.p[id]});
    return GNN_OK;
}

/* ---- a step of one search ---- */

static void extend(const search_t *s, const way_t *way, beam_t *to, double score)
{
    const beam_t *parent = &s->running[way->parent];
    const int64_t n = s->n_prompt + parent->n;
    memcpy(to->ids, parent->ids, (size_t)n * sizeof *to->ids);
    to->ids[n] = way->id;
    to->n = parent->n + 1;
    to->score = score;
}

/* Inserts a finished text into the sorted list. */
static void add_ended(const beams_t *b, search_t *s, const way_t *way, double worth)
{
    const bool full = s->n_ended == b->wide;
    if (full && worth <= s->ended[b->wide - 1].score)
        return;
    int64_t at = full ? b->wide - 1 : s->n_ended++;
    const beam_t place = s->ended[at];
    for (; at > 0 && s->ended[at - 1].score < worth; at--)
        s->ended[at] = s->ended[at - 1];
    s->ended[at] = place;
    extend(s, way, &s->ended[at], worth);
}

/* Can a running text still beat the worst finished one? */
static bool goes_on(const beams_t *b, const search_t *s, double share)
{
    const bool full = s->n_ended == b->wide;
    if (s->n_running == 0 || (full && b->author->how.early_stopping == GNN_ON))
        return false;
    return !full || s->running[0].score / share > s->ended[b->wide - 1].score;
}

static void change_running(search_t *s)
{
    beam_t *next = s->next;
    s->next = s->running;
    s->running = next;
}

/* Candidates that end a text are used only among the first `wide`; the others ensure enough running
 * texts. from: the running text that each of the next ones continues. */
static void step(beams_t *b, search_t *s, int64_t *from)
{
    const int64_t length = s->running[0].n + 1;
    const double share = pow((double)length, gnn__setting(b->author->how.length_penalty, 1));
    int64_t running = 0;
    for (int64_t k = 0; k < b->n_ways; k++) {
        const way_t *way = &b->ways[k];
        const bool ends = gnn__author_ends(b->author, way->id) || length == s->most;
        if (ends && k < b->wide)
            add_ended(b, s, way, way->score / share);
        if (!ends && running < b->wide) {
            from[running] = way->parent;
            extend(s, way, &s->next[running++], way->score);
        }
    }
    change_running(s);
    s->n_running = running;
    s->done = !goes_on(b, s, share);
}

/* ---- all searches together ---- */

/* One step of every search, with one row of logits per running text. */
static int step_all(beams_t *b, const gnn_tensor_t *logits)
{
    int64_t row = 0;
    for (int64_t p = 0; p < b->begin->count; p++) {
        search_t *s = &b->searches[p];
        int64_t *from = b->from + p * b->wide;
        for (int64_t k = 0; k < b->wide; k++)
            from[k] = k;
        b->n_ways = 0;
        for (int64_t k = 0; !s->done && k < s->n_running; k++)
            GNN_TRY(offer_all(b, s, k, gnn__row(logits, row++)));
        if (!s->done)
            step(b, s, from);
        for (int64_t k = 0; k < b->wide; k++)
            from[k] += p * b->wide;
    }
    return GNN_OK;
}

/* Reorders the state and appends the new tokens. */
static int advance(beams_t *b, gnn_context_t *context, gnn_tensor_t *logits)
{
    const int64_t all = b->begin->count * b->wide;
    int64_t rows = 0;
    for (int64_t k = 0; k < all; k++) {
        const search_t *s = &b->searches[k / b->wide];
        const beam_t *beam = &s->running[k % b->wide];
        b->counts[k] = !s->done && k % b->wide < s->n_running;
        if (b->counts[k])
            b->tokens[rows++] = beam->ids[s->n_prompt + beam->n - 1];
    }
    *logits = gnn_tensor(b->numbers, rows, b->author->words);
    if (rows == 0)
        return GNN_OK;
    GNN_TRY(gnn_state_select(b->begin->state, all, b->from));
    return gnn__author_advance(b->author, context, b->begin->state, b->counts, b->tokens, logits);
}

static int search(beams_t *b, gnn_context_t *context)
{
    gnn_tensor_t logits = b->begin->logits;
    bool first = true;
    while (logits.rows > 0) {
        GNN_TRY(step_all(b, &logits));
        for (int64_t k = 0; first && k < b->begin->count * b->wide; k++)
            b->from[k] = k / b->wide; /* the state has one sequence per prompt */
        first = false;
        GNN_TRY(advance(b, context, &logits));
    }
    return GNN_OK;
}

/* ---- memory ---- */

static void begin_search(beams_t *b, int64_t p, const int32_t *prompt, int64_t room)
{
    search_t *s = &b->searches[p];
    *s = (search_t){.n_prompt = b->begin->lengths[p],
                    .most = b->begin->most[p],
                    .source = b->begin->sources[p],
                    .n_running = 1,
                    .running = b->beams + 3 * p * b->wide};
    s->next = s->running + b->wide;
    s->ended = s->next + b->wide;
    for (int64_t k = 0; k < 3 * b->wide; k++)
        s->running[k].ids = b->ids + (3 * p * b->wide + k) * room;
    memcpy(s->running[0].ids, prompt, (size_t)s->n_prompt * sizeof *prompt);
    s->done = s->most < 1;
}

static int make(beams_t *b)
{
    const int64_t count = b->begin->count, room = b->begin->capacity;
    const int32_t *prompt = b->begin->ids;
    int64_t all, places, numbers;
    if (!gnn__mul(count, b->wide, &all) || !gnn__mul(3 * all, room, &places) ||
        !gnn__mul(all, b->author->words, &numbers))
        return gnn__error(GNN_EOVERFLOW, "%lld beams for each of %lld prompts do not fit",
                          (long long)b->wide, (long long)count);
    GNN_TRY(gnn__new(&b->searches, count, sizeof *b->searches, "beams"));
    GNN_TRY(gnn__new(&b->beams, 3 * all, sizeof *b->beams, "beams"));
    GNN_TRY(gnn__new(&b->ids, places, sizeof *b->ids, "tokens of beams"));
    GNN_TRY(gnn__new(&b->ways, b->keep, sizeof *b->ways, "beams"));
    GNN_TRY(gnn__new(&b->from, all, sizeof *b->from, "beams"));
    GNN_TRY(gnn__new(&b->counts, all, sizeof *b->counts, "beams"));
    GNN_TRY(gnn__new(&b->tokens, all, sizeof *b->tokens, "beams"));
    GNN_TRY(gnn__new(&b->numbers, numbers, sizeof *b->numbers, "logits"));
    for (int64_t p = 0; p < count; prompt += b->begin->lengths[p++])
        begin_search(b, p, prompt, room);
    return gnn__choice_new(&b->choice, b->author->words);
}

static void beams_free(beams_t *b)
{
    gnn_free(b->searches);
    gnn_free(b->beams);
    gnn_free(b->ids);
    gnn_free(b->ways);
    gnn_free(b->from);
    gnn_free(b->counts);
    gnn_free(b->tokens);
    gnn_free(b->numbers);
    gnn__choice_free(&b->choice);
}

/* ---- the result ---- */

/* Passes the tokens to the texts one by one, so that callbacks are as in sampling. */
static int tell(const beams_t *b, gnn__writing_t *texts)
{
    const int64_t samples = b->author->how.samples;
    bool stopped = false;
    for (int64_t k = 0; k < b->begin->count * samples; k++) {
        const search_t *s = &b->searches[k / samples];
        gnn__writing_t *t = &texts[k];
        const beam_t *beam = &s->ended[k % samples];
        if (k % samples >= s->n_ended)
            continue;
        for (int64_t i = 0; i < beam->n && !stopped && !t->ended; i++)
            GNN_TRY(gnn__writing_push(t, b->author, k, beam->ids[s->n_prompt + i]));
        t->score = beam->score;
        stopped = stopped || t->ended == GNN_ENDED_CALLER;
    }
    return GNN_OK;
}

int gnn__beams(const gnn__author_t *author, gnn_context_t *context, gnn__beginnings_t *begin,
               gnn__writing_t *texts)
{
    beams_t b = {.author = author, .begin = begin, .wide = author->how.beams};
    int rc;
    b.keep = gnn__max(2, 1 + author->how.n_end) * b.wide;
    GNN_CHECK(make(&b));
    GNN_CHECK(search(&b, context));
    rc = tell(&b, texts);
done:
    beams_free(&b);
    return rc;
}
