/* BLEU: n-grams that a translation shares with its reference. Papineni et al. 2002. */
#include <lib/base/settings.h>
#include <lib/text/bleu.h>
#include <math.h>
#include <stdlib.h>

enum { MOST = 4 }; /* longest n-gram */

/* An n-gram that starts at token `at` of the translation, or of the reference. Its key is the rank
 * of its prefix of n - 1 tokens, and the rank of the last token. */
typedef struct {
    uint64_t key;
    int32_t at, of_reference;
} run_t;

typedef struct {
    gnn__slice_t slice;
    int32_t at, of_reference;
} token_t;

typedef struct {
    gnn__bleu_line_t lines[2]; /* the translation, and the reference */
    token_t *tokens;
    run_t *runs;
    int32_t *ranks[2][2]; /* of each line: ranks of its tokens, and of the n-grams of one length */
    int64_t room;
} counter_t;

/* ---- ranks: equal ranks are equal runs ---- */

static int compare_tokens(const void *a, const void *b)
{
    const token_t *x = a, *y = b;
    return gnn__slice_compare(x->slice, y->slice, false);
}

static int compare_runs(const void *a, const void *b)
{
    const run_t *x = a, *y = b;
    return x->key < y->key ? -1 : x->key > y->key;
}

static void rank_tokens(counter_t *c)
{
    int64_t n = 0;
    int32_t rank = 0;
    for (int side = 0; side < 2; side++)
        for (int64_t k = 0; k < c->lines[side].count; k++)
            c->tokens[n++] = (token_t){c->lines[side].tokens[k], (int32_t)k, side};
    qsort(c->tokens, (size_t)n, sizeof *c->tokens, compare_tokens);
    for (int64_t k = 0; k < n; k++) {
        rank += k > 0 && compare_tokens(&c->tokens[k - 1], &c->tokens[k]) != 0;
        const token_t *t = &c->tokens[k];
        c->ranks[t->of_reference][0][t->at] = c->ranks[t->of_reference][1][t->at] = rank;
    }
}

/* Ranks n-grams from the ranks of (n-1)-grams; returns the count of matching n-grams of the
 * translation. */
static int64_t count_hits(counter_t *c, int64_t n)
{
    int64_t runs = 0, hits = 0;
    for (int32_t side = 0; side < 2; side++)
        for (int64_t k = 0; k + n <= c->lines[side].count; k++) {
            const uint64_t before = (uint64_t)c->ranks[side][1][k],
                           last = (uint64_t)c->ranks[side][0][k + n - 1];
            c->runs[runs++] = (run_t){n == 1 ? last : before << 32 | last, (int32_t)k, side};
        }
    qsort(c->runs, (size_t)runs, sizeof *c->runs, compare_runs);
    for (int64_t k = 0, next; k < runs; k = next) {
        int64_t counts[2] = {0, 0};
        for (next = k; next < runs && c->runs[next].key == c->runs[k].key; next++) {
            const run_t *r = &c->runs[next];
            counts[r->of_reference]++;
            c->ranks[r->of_reference][1][r->at] = (int32_t)k;
        }
        hits += gnn__min(counts[0], counts[1]);
    }
    return hits;
}

/* ---- a line ---- */

static int reserve(counter_t *c)
{
    const int64_t n = c->lines[0].count + c->lines[1].count;
    if (n <= c->room)
        return GNN_OK;
    if (n > INT32_MAX)
        return gnn__error(GNN_EOVERFLOW, "a line of %lld tokens does not fit", (long long)n);
    GNN_TRY(gnn__grow(&c->tokens, c->room, 2 * n, sizeof *c->tokens, "tokens"));
    GNN_TRY(gnn__grow(&c->runs, c->room, 2 * n, sizeof *c->runs, "runs of tokens"));
    for (int side = 0; side < 2; side++)
        for (int k = 0; k < 2; k++)
            GNN_TRY(gnn__grow(&c->ranks[side][k], c->room, 2 * n, sizeof *c->ranks[side][k],
                              "ranks of tokens"));
    c->room = 2 * n;
    return GNN_OK;
}

static int count_line(counter_t *c, gnn_bleu_t *bleu, const char *translation,
                      const char *reference, bool lower)
{
    GNN_TRY(gnn__bleu_split(&c->lines[0], translation, lower));
    GNN_TRY(gnn__bleu_split(&c->lines[1], reference, lower));
    GNN_TRY(reserve(c));
    bleu->length += c->lines[0].count;
    bleu->reference_length += c->lines[1].count;
    rank_tokens(c);
    for (int64_t n = 1; n <= MOST; n++) {
        bleu->hits[n - 1] += count_hits(c, n);
        bleu->totals[n - 1] += gnn__max(c->lines[0].count - n + 1, 0);
    }
    return GNN_OK;
}

static void counter_free(counter_t *c)
{
    for (int side = 0; side < 2; side++) {
        gnn__bleu_line_free(&c->lines[side]);
        gnn_free(c->ranks[side][0]);
        gnn_free(c->ranks[side][1]);
    }
    gnn_free(c->tokens);
    gnn_free(c->runs);
}

/* ---- the whole ---- */

/* Exponential smoothing: the first precision without a hit is half of that of one hit, the next one
 * a quarter, and so on. Without any hit the score is 0. */
static void finish(gnn_bleu_t *b)
{
    double smooth = 1, sum = 0;
    bool whole = b->hits[0] > 0;
    b->brevity = 1;
    if (b->length < b->reference_length)
        b->brevity = b->length > 0 ? exp(1 - (double)b->reference_length / (double)b->length) : 0;
    for (int n = 0; n < MOST && whole; n++) {
        if (b->totals[n] == 0) {
            whole = false;
            continue;
        }
        smooth *= b->hits[n] == 0 ? 2 : 1;
        b->precisions[n] = b->hits[n] == 0 ? 100 / (smooth * (double)b->totals[n])
                                           : 100 * (double)b->hits[n] / (double)b->totals[n];
        sum += log(b->precisions[n]);
    }
    b->score = whole ? b->brevity * exp(sum / MOST) : 0;
}

int gnn_bleu(gnn_bleu_t *bleu, int64_t count, const char *const *translations,
             const char *const *references, gnn_flag_t lower)
{
    counter_t c = {.room = 0};
    int rc = GNN_OK;
    GNN__NEED(bleu);
    *bleu = (gnn_bleu_t){0};
    if (count < 0)
        return gnn__error(GNN_EINVALID, "gnn_bleu: count = %lld, expected at least 0",
                          (long long)count);
    if (count > 0) {
        GNN__NEED(translations);
        GNN__NEED(references);
    }
    GNN_TRY(gnn__check_flag(lower, "lower"));
    for (int64_t k = 0; k < count; k++) {
        if (!translations[k] || !references[k]) {
            rc = gnn__error(GNN_EINVALID, "line %lld is NULL", (long long)k);
            goto done;
        }
        GNN_CHECK(count_line(&c, bleu, translations[k], references[k], lower == GNN_ON));
    }
    finish(bleu);
done:
    counter_free(&c);
    return rc;
}
