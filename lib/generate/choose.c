/* The choice of the next token: filters, probabilities, sampling. */
#include <lib/base/settings.h>
#include <lib/generate/generate.h>

#include <math.h>

int gnn__choice_new(gnn__choice_t *choice, int64_t n)
{
    *choice = (gnn__choice_t){.n = n};
    GNN_TRY(gnn__new(&choice->p, n, sizeof *choice->p, "probabilities"));
    return gnn__new(&choice->order, n, sizeof *choice->order, "an order of tokens");
}

void gnn__choice_free(gnn__choice_t *choice)
{
    gnn_free(choice->p);
    gnn_free(choice->order);
}

int gnn__generation_check(const gnn_generation_t *how)
{
    const double top_p = gnn__setting(how->top_p, 1), repetition = gnn__setting(how->repetition, 1);
    if (!(gnn__setting(how->temperature, 0) >= 0 && isfinite(how->temperature)))
        return gnn__error(GNN_EINVALID, ".temperature = %g, expected a finite value of at least 0",
                          (double)how->temperature);
    if (!(top_p >= 0 && top_p <= 1))
        return gnn__error(GNN_EINVALID, ".top_p = %g, expected [0, 1]", top_p);
    if (!(repetition > 0 && isfinite(repetition)))
        return gnn__error(GNN_EINVALID, ".repetition = %g, expected a finite value above 0",
                          repetition);
    if (how->top_k < 0 || how->n_never < 0 || (how->n_never > 0 && !how->never))
        return gnn__error(GNN_EINVALID, ".top_k = %lld and .n_never = %lld, expected at least 0%s",
                          (long long)how->top_k, (long long)how->n_never,
                          how->n_never > 0 && !how->never ? "; .never is NULL" : "");
    return GNN_OK;
}

/* ---- settings that only some ways of generation read ---- */

enum { GREEDY = 1, SAMPLING = 2, BEAMS = 4 };

int gnn__generation_check_unread(const gnn_generation_t *how, const gnn_generation_t *set)
{
    const bool draws = gnn__setting(how->temperature, 0) > 0;
    const unsigned way = how->beams > 1 ? BEAMS : draws ? SAMPLING : GREEDY;
    const gnn__setting_use_t uses[] = {
        {"temperature", gnn__setting(set->temperature, 0) > 0, SAMPLING},
        {"top_k", set->top_k != 0, SAMPLING},
        {"top_p", set->top_p != 0, SAMPLING},
        {"seed", set->seed != 0, SAMPLING},
        {"length_penalty", set->length_penalty != 0, BEAMS},
        {"early_stopping", set->early_stopping != GNN_FLAG_DEFAULT, BEAMS},
        {"stop", set->n_stop > 0, GREEDY | SAMPLING}};
    const char *unread = gnn__unread_setting(uses, sizeof uses / sizeof *uses, way);
    if (!unread)
        return GNN_OK;
    if (way == BEAMS)
        return gnn__error(GNN_EINVALID,
                          "a beam search (%lld beams) reads no .%s; .beams = 1 turns it off",
                          (long long)how->beams, unread);
    return gnn__error(GNN_EINVALID, "%s reads no .%s; %s", draws ? "sampling" : "greedy decoding",
                      unread,
                      strcmp(unread, "length_penalty") == 0 || strcmp(unread, "early_stopping") == 0
                          ? ".beams above 1 selects a beam search"
                          : ".temperature above 0 selects sampling");
}

/* ---- scores ---- */

/* A token that occurs repeatedly in the history is penalised once. */
static void repeat_less(const gnn__choice_t *c, double repetition, const int32_t *history, int64_t n)
{
    if (repetition == 1)
        return;
    memset(c->order, 0, (size_t)c->n * sizeof *c->order);
    for (int64_t k = 0; k < n; k++) {
        if (history[k] < 0 || history[k] >= c->n || c->order[history[k]])
            continue;
        double *z = &c->p[history[k]];
        *z = *z > 0 ? *z / repetition : *z * repetition;
        c->order[history[k]] = 1;
    }
}

static int take_scores(const gnn__choice_t *c, const gnn_real_t *logits, double *largest)
{
    *largest = -INFINITY;
    for (int64_t k = 0; k < c->n; k++) {
        c->p[k] = (double)logits[k];
        if (isnan(c->p[k]))
            return gnn__error(GNN_ENUMERIC, "the logit of token %lld is not a number", (long long)k);
        *largest = c->p[k] > *largest ? c->p[k] : *largest;
    }
    return isfinite(*largest)
               ? GNN_OK
               : gnn__error(GNN_ENUMERIC, "no logit is the largest: it is %g", *largest);
}

static double logarithm_of_sum(const gnn__choice_t *c, double largest)
{
    double sum = 0;
    for (int64_t k = 0; k < c->n; k++)
        sum += exp(c->p[k] - largest);
    return largest + log(sum);
}

int gnn__choice_scores(gnn__choice_t *c, const gnn_generation_t *how, const gnn_real_t *logits,
                       bool as_logarithms, const int32_t *history, int64_t n_history)
{
    double largest;
    GNN_TRY(take_scores(c, logits, &largest));
    c->log_sum = logarithm_of_sum(c, largest);
    for (int64_t k = 0; as_logarithms && k < c->n; k++)
        c->p[k] -= c->log_sum;
    repeat_less(c, gnn__setting(how->repetition, 1), history, n_history);
    for (int64_t k = 0; k < how->n_never; k++)
        if (how->never[k] >= 0 && how->never[k] < c->n)
            c->p[how->never[k]] = -INFINITY;
    return GNN_OK;
}

static int64_t largest_of(const gnn__choice_t *c)
{
    int64_t best = 0;
    for (int64_t k = 1; k < c->n; k++)
        if (c->p[k] > c->p[best])
            best = k;
    return best;
}

void gnn__choice_normalise(gnn__choice_t *c)
{
    const double largest = c->p[largest_of(c)];
    if (!isfinite(largest))
        return;
    const double sum = logarithm_of_sum(c, largest);
    for (int64_t k = 0; k < c->n; k++)
        c->p[k] -= sum;
}

/* ---- the likeliest tokens, by a heap ---- */

static bool before(const gnn__choice_t *c, int32_t a, int32_t b)
{
    return c->p[a] != c->p[b] ? c->p[a] > c->p[b] : a < b;
}

static void sink(const gnn__choice_t *c, int64_t at, int64_t n)
{
    int32_t *heap = c->order;
    for (int64_t child = 2 * at + 1; child < n; child = 2 * at + 1) {
        if (child + 1 < n && before(c, heap[child + 1], heap[child]))
            child++;
        if (!before(c, heap[child], heap[at]))
            return;
        const int32_t moved = heap[at];
        heap[at] = heap[child];
        heap[child] = moved;
        at = child;
    }
}

/* Moves the most probable of the first n tokens of the heap to its end, and returns its
 * probability. */
static double pop(const gnn__choice_t *c, int64_t n)
{
    const int32_t best = c->order[0];
    c->order[0] = c->order[n - 1];
    c->order[n - 1] = best;
    sink(c, 0, n - 1);
    return c->p[best];
}

/* Count of the tokens kept; they are at the end of `order`, most probable last. */
static int64_t keep_likeliest(const gnn__choice_t *c, int64_t most, double top_p)
{
    double whole = 0, sum = 0;
    int64_t kept = 0;
    for (int64_t k = 0; k < c->n; k++)
        c->order[k] = (int32_t)k;
    for (int64_t k = c->n / 2; k-- > 0;)
        sink(c, k, c->n);
    for (int64_t k = 0; k < (most < c->n ? most : 0); k++)
        whole += pop(c, c->n - k);
    for (int64_t k = 0; most == c->n && k < c->n; k++)
        whole += c->p[k];
    while (kept < most && (kept == 0 || sum < top_p * whole)) {
        sum += most < c->n ? c->p[c->order[c->n - 1 - kept]] : pop(c, c->n - kept);
        kept++;
    }
    return kept;
}

/* ---- probabilities ---- */

static void soften(const gnn__choice_t *c, double temperature)
{
    const double largest = c->p[largest_of(c)];
    for (int64_t k = 0; k < c->n; k++)
        c->p[k] = exp((c->p[k] - largest) / temperature);
}

static void normalise(const gnn__choice_t *c)
{
    double sum = 0;
    for (int64_t k = 0; k < c->n; k++)
        sum += c->p[k];
    for (int64_t k = 0; k < c->n; k++)
        c->p[k] /= sum;
}

/* Softmax of the scores. */
static int make_probabilities(const gnn__choice_t *c, const gnn_generation_t *how)
{
    const double top_p = gnn__setting(how->top_p, 1);
    const int64_t most = how->top_k > 0 ? gnn__min(how->top_k, c->n) : c->n;
    if (!isfinite(c->p[largest_of(c)]))
        return gnn__error(GNN_EINVALID, "all %lld tokens are excluded", (long long)c->n);
    if (gnn__setting(how->temperature, 0) > 0) {
        soften(c, (double)how->temperature);
        if (most < c->n || top_p < 1)
            for (int64_t k = c->n - keep_likeliest(c, most, top_p); k-- > 0;)
                c->p[c->order[k]] = 0;
        for (int64_t k = 0; k < c->n; k++) /* the likeliest is 1 */
            c->p[k] = c->p[k] < c->least ? 0 : c->p[k];
    } else {
        const int64_t best = largest_of(c);
        memset(c->p, 0, (size_t)c->n * sizeof *c->p);
        c->p[best] = 1;
    }
    normalise(c);
    return GNN_OK;
}

/* The token at which the cumulative probability exceeds u. */
static int32_t draw(const gnn__choice_t *c, double u)
{
    double sum = 0;
    int64_t last = 0;
    for (int64_t k = 0; k < c->n; k++) {
        sum += c->p[k];
        last = c->p[k] > 0 ? k : last;
        if (u < sum)
            return (int32_t)k;
    }
    return (int32_t)last;
}

int gnn__choose(gnn__choice_t *c, const gnn_generation_t *how, int64_t text, int64_t place,
                int32_t *id)
{
    GNN_TRY(make_probabilities(c, how));
    *id = draw(c, gnn__uniform(how->seed, (uint64_t)text, (uint64_t)place));
    return GNN_OK;
}

/* ---- the public interface ---- */

static int check(const gnn_generation_t *how, const int32_t *history, int64_t n, int64_t n_history)
{
    GNN_TRY(gnn__generation_check(how));
    GNN_TRY(gnn__check_flag(how->early_stopping, ".early_stopping"));
    if (how->beams < 0 || how->beams > 1)
        return gnn__error(GNN_EINVALID,
                          ".beams = %lld, expected 0 or 1: a beam search chooses whole texts",
                          (long long)how->beams);
    GNN_TRY(gnn__generation_check_unread(how, how));
    if (n < 1 || n > INT32_MAX || n_history < 0 || (n_history > 0 && !history))
        return gnn__error(
            GNN_EINVALID,
            "%lld logits, expected 1 to 2^31 - 1; a history of %lld tokens, expected at least 0%s",
            (long long)n, (long long)n_history, n_history > 0 && !history ? ", which is NULL" : "");
    return GNN_OK;
}

/* The scores of the next token; `choice` is the caller's to free, after an error too. */
static int score(gnn__choice_t *choice, const gnn_generation_t *how, const gnn_real_t *logits,
                 int64_t n, const int32_t *history, int64_t n_history)
{
    GNN_TRY(check(how, history, n, n_history));
    GNN_TRY(gnn__choice_new(choice, n));
    return gnn__choice_scores(choice, how, logits, false, history, n_history);
}

int gnn_next_probabilities(const gnn_generation_t *how, const gnn_real_t *logits, int64_t n,
                           const int32_t *history, int64_t n_history, gnn_real_t *probabilities)
{
    const gnn_generation_t plain = {0};
    gnn__choice_t choice = {0};
    int rc;
    GNN__NEED(logits);
    GNN__NEED(probabilities);
    how = how ? how : &plain;
    GNN_CHECK(score(&choice, how, logits, n, history, n_history));
    GNN_CHECK(make_probabilities(&choice, how));
    for (int64_t k = 0; k < n; k++)
        probabilities[k] = (gnn_real_t)choice.p[k];
done:
    gnn__choice_free(&choice);
    return rc;
}

int gnn_next_token(const gnn_generation_t *how, const gnn_real_t *logits, int64_t n,
                   const int32_t *history, int64_t n_history, int64_t text, int64_t place,
                   int32_t *id)
{
    const gnn_generation_t plain = {0};
    gnn__choice_t choice = {0};
    int rc;
    GNN__NEED(logits);
    GNN__NEED(id);
    how = how ? how : &plain;
    GNN_CHECK(score(&choice, how, logits, n, history, n_history));
    GNN_CHECK(gnn__choose(&choice, how, text, place, id));
done:
    gnn__choice_free(&choice);
    return rc;
}
