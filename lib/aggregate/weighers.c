/* The weighers: from scores to weights. One entry after another: enter, settle, weight and its
 * derivative, the struct. */
#include <lib/aggregate/tables.h>
#include <lib/kernels/attention/by_strip/by_strip.h>
#include <lib/kernels/simd/real_math.h>
#include <math.h>

/* ---- softmax. State of a head: the largest score, and the sum of exp(score - largest), which is 0
 * where no score was above minus infinity: then every weight is 0 ---- */

static void softmax_enter(const gnn_aggregate_shape_t *shape, int64_t head, gnn_real_t *state,
                          gnn_real_t score)
{
    (void)shape, (void)head;
    if (state[1] == 0) {
        state[0] = score;
        state[1] = score == -INFINITY ? (gnn_real_t)0 : (gnn_real_t)1;
    } else if (score > state[0]) {
        state[1] = state[1] * gnn__exp(state[0] - score) + 1;
        state[0] = score;
    } else {
        state[1] += gnn__exp(score - state[0]);
    }
}

static gnn_real_t softmax_weight(const gnn_aggregate_shape_t *shape, int64_t head,
                                 const gnn_real_t *state, gnn_real_t score)
{
    (void)shape, (void)head;
    return state[1] == 0 ? 0 : gnn__exp(score - state[0]) / state[1];
}

static gnn_real_t softmax_weight_grad(const gnn_aggregate_shape_t *shape, int64_t head,
                                      const gnn_real_t *state, gnn_real_t score, gnn_real_t weight,
                                      gnn_real_t d_weight, gnn_real_t delta)
{
    (void)shape, (void)head, (void)state, (void)score;
    return weight == 0 ? 0 : weight * (d_weight - delta);
}

const gnn_weigher_t gnn_weigher_softmax = {
    .name = "softmax",
    .paper = "Vaswani et al. 2017, eq. 1",
    .help = "exp(s) over the sum of exp(s) of all senders of the receiver",
    .state = 2,
    .enter = softmax_enter,
    .weight = softmax_weight,
    .weight_grad = softmax_weight_grad,
};

/* ---- softmax_sink: a learned score per head that has no message. State: as softmax, and the
 * sink's own weight ---- */

static size_t sink_declare(const gnn_aggregate_shape_t *shape, gnn_piece_t *pieces)
{
    pieces[0] = (gnn_piece_t){
        .name = "attention.sink", .rows = 1, .cols = shape->heads, .init = GNN_INIT_ZEROS};
    return 1;
}

static void sink_settle(const gnn_aggregate_shape_t *shape, int64_t head, gnn_real_t *state)
{
    const gnn_real_t sink = shape->parameters.data[head];
    softmax_enter(shape, head, state, sink);
    state[2] = softmax_weight(shape, head, state, sink);
}

static void sink_settle_grad(const gnn_aggregate_shape_t *shape, int64_t head,
                             const gnn_real_t *state, gnn_real_t delta,
                             const gnn_tensor_t *d_parameters)
{
    (void)shape;
    d_parameters->data[head] -= state[2] * delta;
}

const gnn_weigher_t gnn_weigher_softmax_sink = {
    .name = "softmax_sink",
    .paper = "Xiao et al. 2024 (attention sinks); learned: GPT-OSS 2025",
    .help = "as softmax, with a learned score per head in the denominator",
    .declare = sink_declare,
    .state = 3,
    .enter = softmax_enter,
    .settle = sink_settle,
    .weight = softmax_weight,
    .weight_grad = softmax_weight_grad,
    .settle_grad = sink_settle_grad,
};

/* ---- linear: w = s ---- */

static gnn_real_t linear_weight(const gnn_aggregate_shape_t *shape, int64_t head,
                                const gnn_real_t *state, gnn_real_t score)
{
    (void)shape, (void)head, (void)state;
    return score;
}

static gnn_real_t linear_weight_grad(const gnn_aggregate_shape_t *shape, int64_t head,
                                     const gnn_real_t *state, gnn_real_t score, gnn_real_t weight,
                                     gnn_real_t d_weight, gnn_real_t delta)
{
    (void)shape, (void)head, (void)state, (void)score, (void)weight, (void)delta;
    return d_weight;
}

const gnn_weigher_t gnn_weigher_linear = {
    .name = "linear",
    .paper = "Katharopoulos et al. 2020 (linear attention, without its denominator)",
    .help = "the score itself",
    .weight = linear_weight,
    .weight_grad = linear_weight_grad,
};

/* ---- decay: w = s exp(sum of priors). ratio: the same over the sum of w + eps. State of ratio:
 * the sum of scores, then 1 / (sum + eps) ---- */

const gnn_weigher_t gnn_weigher_decay = {
    .name = "decay",
    .paper = "Sun et al. 2023 (RetNet); Dao, Gu 2024 (Mamba-2)",
    .help = "the score times exp(sum of priors)",
    .flags = GNN_WEIGHER_FACTORS,
    .weight = linear_weight,
    .weight_grad = linear_weight_grad,
};

static const gnn_option_t ratio_options[] = {
    {"eps", 1e-6, 0, 1e6, "added to the sum of a receiver's weights", GNN_OPTION_REAL}};

static void ratio_enter(const gnn_aggregate_shape_t *shape, int64_t head, gnn_real_t *state,
                        gnn_real_t score)
{
    (void)shape, (void)head;
    state[0] += score;
}

static void ratio_settle(const gnn_aggregate_shape_t *shape, int64_t head, gnn_real_t *state)
{
    const gnn_real_t sum = state[0] + (gnn_real_t)shape->options[0];
    (void)head;
    state[0] = sum == 0 ? 0 : 1 / sum;
}

static gnn_real_t ratio_weight(const gnn_aggregate_shape_t *shape, int64_t head,
                               const gnn_real_t *state, gnn_real_t score)
{
    (void)shape, (void)head;
    return score * state[0];
}

static gnn_real_t ratio_weight_grad(const gnn_aggregate_shape_t *shape, int64_t head,
                                    const gnn_real_t *state, gnn_real_t score, gnn_real_t weight,
                                    gnn_real_t d_weight, gnn_real_t delta)
{
    (void)shape, (void)head, (void)score, (void)weight;
    return (d_weight - delta) * state[0];
}

const gnn_weigher_t gnn_weigher_ratio = {
    .name = "ratio",
    .paper = "Katharopoulos et al. 2020, eq. 9",
    .help = "the score times exp(sum of priors), over the sum of these of all senders of the receiver",
    .flags = GNN_WEIGHER_FACTORS,
    .options = ratio_options,
    .n_options = 1,
    .state = 1,
    .enter = ratio_enter,
    .settle = ratio_settle,
    .weight = ratio_weight,
    .weight_grad = ratio_weight_grad,
};

/* ---- sigmoid: w = sigmoid(s), or sigmoid(s - log n). State: n while scores come in, then 0 or
 * log n ---- */

static const gnn_option_t sigmoid_options[] = {
    {"log_count", 0, 0, 1,
     "1: the logarithm of the count of senders is subtracted from every score", GNN_OPTION_INTEGER}};

static void sigmoid_enter(const gnn_aggregate_shape_t *shape, int64_t head, gnn_real_t *state,
                          gnn_real_t score)
{
    (void)shape, (void)head, (void)score;
    state[0] += 1;
}

static void sigmoid_settle(const gnn_aggregate_shape_t *shape, int64_t head, gnn_real_t *state)
{
    (void)head;
    state[0] = shape->options[0] > 0 && state[0] > 0 ? (gnn_real_t)log((double)state[0]) : 0;
}

static gnn_real_t sigmoid_weight(const gnn_aggregate_shape_t *shape, int64_t head,
                                 const gnn_real_t *state, gnn_real_t score)
{
    (void)shape, (void)head;
    return gnn__sigmoid(score - state[0]);
}

static gnn_real_t sigmoid_weight_grad(const gnn_aggregate_shape_t *shape, int64_t head,
                                      const gnn_real_t *state, gnn_real_t score, gnn_real_t weight,
                                      gnn_real_t d_weight, gnn_real_t delta)
{
    (void)shape, (void)head, (void)state, (void)score, (void)delta;
    return weight == 0 ? 0 : weight * (1 - weight) * d_weight;
}

const gnn_weigher_t gnn_weigher_sigmoid = {
    .name = "sigmoid",
    .paper = "Ramapuram et al. 2025 (sigmoid self-attention)",
    .help = "1 / (1 + exp(-s))",
    .options = sigmoid_options,
    .n_options = 1,
    .state = 1,
    .enter = sigmoid_enter,
    .settle = sigmoid_settle,
    .weight = sigmoid_weight,
    .weight_grad = sigmoid_weight_grad,
};

/* ---- best: hard attention. The k best scores have the weights of a softmax among them, all others
 * 0; backward, scores get the gradient of the softmax over all (straight-through). Scores equal to
 * the last of the best share its weight, so that the order of senders does not matter. State: as
 * softmax; the count of scores that came in, up to k; the count of all that equal the last of the
 * best; the best, in falling order ---- */

enum { COUNT = 2, TIES, BEST, MOST_BEST = 8 };

static const gnn_option_t best_options[] = {
    {"count", 1, 1, MOST_BEST, "how many of the best scores have a weight", GNN_OPTION_INTEGER}};

/* The largest of the scores that came in, in falling order, and the count of all that equal the
 * last of them. */
typedef struct {
    gnn_real_t *values, *held, *ties;
    int64_t most;
} largest_t;

static void insert(gnn_real_t *best, int64_t held, gnn_real_t score)
{
    int64_t at = held;
    for (; at > 0 && best[at - 1] < score; at--)
        best[at] = best[at - 1];
    best[at] = score;
}

static int64_t equal_to_last(const gnn_real_t *best, int64_t held)
{
    int64_t equal = 0;
    for (int64_t k = 0; k < held; k++)
        equal += best[k] == best[held - 1];
    return equal;
}

static void hold(const largest_t *l, gnn_real_t score)
{
    const int64_t held = (int64_t)*l->held;
    if (!(score > -INFINITY))
        return;
    if (held < l->most) {
        insert(l->values, held, score);
        *l->held += 1;
        *l->ties = (gnn_real_t)equal_to_last(l->values, held + 1);
    } else if (score == l->values[held - 1]) {
        *l->ties += 1;
    } else if (score > l->values[held - 1]) {
        const gnn_real_t before = l->values[held - 1];
        insert(l->values, held - 1, score);
        if (l->values[held - 1] != before)
            *l->ties = (gnn_real_t)equal_to_last(l->values, held);
    }
}

static void best_enter(const gnn_aggregate_shape_t *shape, int64_t head, gnn_real_t *state,
                       gnn_real_t score)
{
    const largest_t largest = {state + BEST, state + COUNT, state + TIES, (int64_t)shape->options[0]};
    softmax_enter(shape, head, state, score);
    hold(&largest, score);
}

static gnn_real_t best_weight(const gnn_aggregate_shape_t *shape, int64_t head,
                              const gnn_real_t *state, gnn_real_t score)
{
    const gnn_real_t *best = state + BEST;
    const int64_t held = (int64_t)state[COUNT];
    (void)shape, (void)head;
    if (isnan(score))
        return score;
    if (held == 0 || !(score >= best[held - 1]))
        return 0;
    gnn_real_t sum = 0;
    for (int64_t k = 0; k < held; k++)
        sum += gnn__exp(best[k] - best[0]);
    const gnn_real_t own = gnn__exp(score - best[0]) / sum;
    return score > best[held - 1] ? own : own * (gnn_real_t)equal_to_last(best, held) / state[TIES];
}

const gnn_weigher_t gnn_weigher_best = {
    .name = "best",
    .paper = "Xu et al. 2015 (hard attention); Bengio, Leonard, Courville 2013 (straight-through)",
    .help = "softmax among the best scores alone; backward as softmax (straight-through)",
    .options = best_options,
    .n_options = 1,
    .state = BEST + MOST_BEST,
    .enter = best_enter,
    .weight = best_weight,
    .weight_grad = softmax_weight_grad,
    .weight_backward = softmax_weight,
};

/* ---- top: softmax among the k largest scores, and its own gradient: 0 for all others. Scores
 * equal to the last of the k share its weight, as above. A pass takes in the next SLOTS of them.
 * State: the largest score; the sum of exp(score - largest) over those taken in, and their
 * count; the last of them, and the share of its weight that each score equal to it has; 1 once
 * all are in; then the largest of this pass ---- */

enum {
    TOP_SUM = 1,
    TOP_COUNT,
    TOP_LAST,
    TOP_SHARE,
    TOP_DONE,
    TOP_HELD,
    TOP_TIES,
    TOP_SLOTS,
    SLOTS = GNN_WEIGHER_STATE - TOP_SLOTS
};

static const gnn_option_t top_options[] = {
    {"count", 1, 1, 1 << 24, "how many of the largest scores have a weight", GNN_OPTION_INTEGER}};

static void top_enter(const gnn_aggregate_shape_t *shape, int64_t head, gnn_real_t *state,
                      gnn_real_t score)
{
    const int64_t left = (int64_t)(shape->options[0] - (double)state[TOP_COUNT]);
    const largest_t largest = {state + TOP_SLOTS, state + TOP_HELD, state + TOP_TIES,
                               left < SLOTS ? left : SLOTS};
    (void)head;
    if (state[TOP_DONE] == 0 && (state[TOP_COUNT] == 0 || score < state[TOP_LAST]))
        hold(&largest, score);
}

static int top_again(const gnn_aggregate_shape_t *shape, int64_t head, gnn_real_t *state)
{
    const gnn_real_t *slots = state + TOP_SLOTS;
    const int64_t held = (int64_t)state[TOP_HELD], k = (int64_t)shape->options[0],
                  left = k - (int64_t)state[TOP_COUNT];
    (void)head;
    if (state[TOP_DONE] != 0 || held == 0) {
        state[TOP_DONE] = 1;
        return 0;
    }
    if (state[TOP_COUNT] == 0)
        state[0] = slots[0];
    const int64_t above = held - equal_to_last(slots, held), ties = (int64_t)state[TOP_TIES],
                  taken = ties < left - above ? ties : left - above;
    for (int64_t s = 0; s < above; s++)
        state[TOP_SUM] += gnn__exp(slots[s] - state[0]);
    state[TOP_LAST] = slots[held - 1];
    state[TOP_SUM] += (gnn_real_t)taken * gnn__exp(state[TOP_LAST] - state[0]);
    state[TOP_SHARE] = (gnn_real_t)taken / (gnn_real_t)ties;
    state[TOP_COUNT] += (gnn_real_t)(above + taken);
    state[TOP_DONE] = state[TOP_COUNT] >= (gnn_real_t)k || held < SLOTS;
    state[TOP_HELD] = state[TOP_TIES] = 0;
    return state[TOP_DONE] == 0;
}

static gnn_real_t top_weight(const gnn_aggregate_shape_t *shape, int64_t head,
                             const gnn_real_t *state, gnn_real_t score)
{
    (void)shape, (void)head;
    if (isnan(score))
        return score;
    if (state[TOP_COUNT] == 0 || !(score >= state[TOP_LAST]))
        return 0;
    const gnn_real_t own = gnn__exp(score - state[0]) / state[TOP_SUM];
    return score > state[TOP_LAST] ? own : own * state[TOP_SHARE];
}

const gnn_weigher_t gnn_weigher_top = {
    .name = "top",
    .paper = "Zhao et al. 2019 (explicit sparse Transformer)",
    .help = "softmax among the largest scores alone; the others have weight 0 and no gradient",
    .options = top_options,
    .n_options = 1,
    .state = GNN_WEIGHER_STATE,
    .enter = top_enter,
    .weight = top_weight,
    .weight_grad = softmax_weight_grad,
    .again = top_again,
};

/* ---- sparsemax, entmax15: w = u and u^2, of u = max(0, f (s - largest) - tau) with f 1 and 1/2
 * and the tau for which they sum to 1. The sum falls with tau and is convex, so Newton's steps
 * from tau = -1, where it is 1 or more, never pass the solution. State: the largest score; tau;
 * the sums of w and of u^(0 or 1), which is the derivative up to a factor, over the scores of a
 * pass; how far the passes are ---- */

enum { LARGEST, TAU, SUM_W, SLOPE, STAGE, THRESHOLD_STATE };
enum { EMPTY, SEEN, SOLVING, SOLVED }; /* of STAGE */

static void seek_largest(gnn_real_t *state, gnn_real_t score)
{
    if (score > -INFINITY && (state[STAGE] == EMPTY || score > state[LARGEST])) {
        state[LARGEST] = score;
        state[STAGE] = SEEN;
    }
}

/* Ends a pass: `slope` is the derivative of the sum of weights by -tau. */
static int newton(gnn_real_t *state, gnn_real_t slope)
{
    const gnn_real_t small = GNN_DOUBLE ? (gnn_real_t)1e-15 : (gnn_real_t)5e-7;
    if (state[STAGE] == SEEN) {
        state[TAU] = -1;
        state[STAGE] = SOLVING;
    } else if (state[STAGE] == SOLVING) {
        const gnn_real_t step = (state[SUM_W] - 1) / slope;
        state[TAU] += step > 0 ? step : 0;
        if (!(step > small))
            state[STAGE] = SOLVED;
    }
    if (state[STAGE] != SOLVING)
        return 0;
    state[SUM_W] = state[SLOPE] = 0;
    return 1;
}

/* u of a score; NaN of NaN. */
static gnn_real_t above(const gnn_real_t *state, gnn_real_t factor, gnn_real_t score)
{
    if (state[STAGE] == EMPTY && !isnan(score))
        return 0;
    const gnn_real_t u = factor * (score - state[LARGEST]) - state[TAU];
    return u <= 0 ? 0 : u;
}

static void sparsemax_enter(const gnn_aggregate_shape_t *shape, int64_t head, gnn_real_t *state,
                            gnn_real_t score)
{
    (void)shape, (void)head;
    if (state[STAGE] <= SEEN)
        seek_largest(state, score);
    if (state[STAGE] != SOLVING)
        return;
    const gnn_real_t u = above(state, 1, score);
    state[SUM_W] += u;
    state[SLOPE] += u > 0 ? 1 : 0;
}

static int sparsemax_again(const gnn_aggregate_shape_t *shape, int64_t head, gnn_real_t *state)
{
    (void)shape, (void)head;
    return newton(state, state[SLOPE]);
}

static gnn_real_t sparsemax_weight(const gnn_aggregate_shape_t *shape, int64_t head,
                                   const gnn_real_t *state, gnn_real_t score)
{
    (void)shape, (void)head;
    return above(state, 1, score);
}

/* The derivatives by scores: those by weights minus their mean, over the scores that have a
 * weight. */
static gnn_real_t sparsemax_weight_backward(const gnn_aggregate_shape_t *shape, int64_t head,
                                            const gnn_real_t *state, gnn_real_t score)
{
    (void)shape, (void)head;
    return above(state, 1, score) > 0 ? 1 / state[SLOPE] : 0;
}

static gnn_real_t threshold_weight_grad(const gnn_aggregate_shape_t *shape, int64_t head,
                                        const gnn_real_t *state, gnn_real_t score,
                                        gnn_real_t weight, gnn_real_t d_weight, gnn_real_t delta)
{
    (void)shape, (void)head, (void)score;
    return weight == 0 ? 0 : state[SLOPE] * weight * (d_weight - delta);
}

const gnn_weigher_t gnn_weigher_sparsemax = {
    .name = "sparsemax",
    .paper = "Martins, Astudillo 2016",
    .help = "the nearest point of the simplex: max(0, s - tau), which sums to 1",
    .state = THRESHOLD_STATE,
    .enter = sparsemax_enter,
    .weight = sparsemax_weight,
    .weight_grad = threshold_weight_grad,
    .weight_backward = sparsemax_weight_backward,
    .again = sparsemax_again,
};

static void entmax15_enter(const gnn_aggregate_shape_t *shape, int64_t head, gnn_real_t *state,
                           gnn_real_t score)
{
    (void)shape, (void)head;
    if (state[STAGE] <= SEEN)
        seek_largest(state, score);
    if (state[STAGE] != SOLVING)
        return;
    const gnn_real_t u = above(state, (gnn_real_t)0.5, score);
    state[SUM_W] += u * u;
    state[SLOPE] += u;
}

static int entmax15_again(const gnn_aggregate_shape_t *shape, int64_t head, gnn_real_t *state)
{
    (void)shape, (void)head;
    return newton(state, 2 * state[SLOPE]);
}

static gnn_real_t entmax15_weight(const gnn_aggregate_shape_t *shape, int64_t head,
                                  const gnn_real_t *state, gnn_real_t score)
{
    (void)shape, (void)head;
    const gnn_real_t u = above(state, (gnn_real_t)0.5, score);
    return u * u;
}

/* As of sparsemax, with a mean that is weighted by u. */
static gnn_real_t entmax15_weight_backward(const gnn_aggregate_shape_t *shape, int64_t head,
                                           const gnn_real_t *state, gnn_real_t score)
{
    const gnn_real_t u = above(state, (gnn_real_t)0.5, score);
    (void)shape, (void)head;
    return u > 0 ? u / state[SLOPE] : 0;
}

const gnn_weigher_t gnn_weigher_entmax15 = {
    .name = "entmax15",
    .paper = "Peters, Niculae, Martins 2019 (alpha = 1.5)",
    .help = "max(0, s / 2 - tau)^2, which sums to 1: between softmax and sparsemax",
    .state = THRESHOLD_STATE,
    .enter = entmax15_enter,
    .weight = entmax15_weight,
    .weight_grad = threshold_weight_grad,
    .weight_backward = entmax15_weight_backward,
    .again = entmax15_again,
};

/* ---- collision: w = (1 - acos(s) / pi)^n for a cosine s ---- */

static const gnn_option_t collision_options[] = {
    {"planes", 9, 1, 64, "the power: the count of random hyperplanes", GNN_OPTION_INTEGER}};

static gnn_real_t collision_weight(const gnn_aggregate_shape_t *shape, int64_t head,
                                   const gnn_real_t *state, gnn_real_t score)
{
    const double pi = 3.14159265358979323846, s = (double)score;
    (void)head, (void)state;
    if (isnan(s))
        return score;
    return (gnn_real_t)pow(1 - acos(fmax(fmin(s, 1), -1)) / pi, shape->options[0]);
}

static gnn_real_t collision_weight_grad(const gnn_aggregate_shape_t *shape, int64_t head,
                                        const gnn_real_t *state, gnn_real_t score,
                                        gnn_real_t weight, gnn_real_t d_weight, gnn_real_t delta)
{
    const double pi = 3.14159265358979323846, s = (double)score, across = 1 - s * s;
    (void)head, (void)state, (void)weight, (void)delta;
    if (!(across > 0))
        return 0;
    return (gnn_real_t)(shape->options[0] * pow(1 - acos(s) / pi, shape->options[0] - 1) /
                        (pi * sqrt(across)) * (double)d_weight);
}

const gnn_weigher_t gnn_weigher_collision = {
    .name = "collision",
    .paper = "Zeng et al. 2021 (YOSO, in expectation)",
    .help = "(1 - acos(s) / pi)^planes: the probability that random hyperplanes do not separate two "
            "vectors of this cosine; beyond -1 and 1 the score is clipped",
    .options = collision_options,
    .n_options = 1,
    .weight = collision_weight,
    .weight_grad = collision_weight_grad,
};

/* ---- whole rows of scores ---- */

/* By the functions of an entry, score after score. */
static void enter_row(const gnn__weigher_call_t *call, const gnn_real_t *s, int64_t n,
                      gnn_real_t *state)
{
    const gnn_weigher_t *w = call->weigher;
    bool again = w->enter != NULL;
    memset(state, 0, sizeof *state * GNN_WEIGHER_STATE);
    while (again) {
        for (int64_t c = 0; c < n; c++)
            w->enter(call->shape, call->head, state, s[c]);
        again = w->again && w->again(call->shape, call->head, state);
    }
    if (w->settle)
        w->settle(call->shape, call->head, state);
}

static void weigh_each(const gnn__weigher_call_t *call, const gnn_real_t *s, int64_t n,
                       gnn_real_t *state, gnn_real_t *w)
{
    enter_row(call, s, n, state);
    for (int64_t c = 0; c < n; c++)
        w[c] = call->weigher->weight(call->shape, call->head, state, s[c]);
}

static void grad_each(const gnn__weigher_call_t *call, const gnn_real_t *s, int64_t n,
                      const gnn_real_t *state, gnn_real_t *w, gnn_real_t *d)
{
    const gnn_weigher_t *weigher = call->weigher;
    for (int64_t c = 0; weigher->weight_backward && c < n; c++)
        w[c] = weigher->weight_backward(call->shape, call->head, state, s[c]);
    const gnn_real_t delta = gnn__attention_strips()->dot(n, w, d);
    for (int64_t c = 0; c < n; c++)
        d[c] = weigher->weight_grad(call->shape, call->head, state, s[c], w[c], d[c], delta);
}

static void weigh_softmax(const gnn__weigher_call_t *call, const gnn_real_t *s, int64_t n,
                          gnn_real_t *state, gnn_real_t *w)
{
    (void)call;
    gnn__attention_strips()->softmax(n, s, w, state);
}

static void grad_softmax(const gnn__weigher_call_t *call, const gnn_real_t *s, int64_t n,
                         const gnn_real_t *state, gnn_real_t *w, gnn_real_t *d)
{
    const gnn__attention_strips_t *kernels = gnn__attention_strips();
    (void)call, (void)s, (void)state;
    kernels->softmax_grad(n, w, kernels->dot(n, w, d), d);
}

static void weigh_sigmoid(const gnn__weigher_call_t *call, const gnn_real_t *s, int64_t n,
                          gnn_real_t *state, gnn_real_t *w)
{
    state[0] = (gnn_real_t)n;
    sigmoid_settle(call->shape, call->head, state);
    gnn__attention_strips()->sigmoid(n, state[0], s, w);
}

static void grad_sigmoid(const gnn__weigher_call_t *call, const gnn_real_t *s, int64_t n,
                         const gnn_real_t *state, gnn_real_t *w, gnn_real_t *d)
{
    (void)call, (void)s, (void)state;
    gnn__attention_strips()->sigmoid_grad(n, w, d);
}

/* Softmax of all, then of the few that reach the last of the best; the others become 0. */
static void weigh_best(const gnn__weigher_call_t *call, const gnn_real_t *s, int64_t n,
                       gnn_real_t *state, gnn_real_t *w)
{
    const largest_t largest = {state + BEST, state + COUNT, state + TIES,
                               (int64_t)call->shape->options[0]};
    memset(state, 0, sizeof *state * GNN_WEIGHER_STATE);
    gnn__attention_strips()->softmax(n, s, w, state);
    gnn_real_t last = -INFINITY;
    for (int64_t c = 0; c < n; c++) {
        if (s[c] < last)
            continue;
        hold(&largest, s[c]);
        last = (int64_t)state[COUNT] == largest.most ? state[BEST + largest.most - 1] : last;
    }
    last = state[COUNT] > 0 ? state[BEST + (int64_t)state[COUNT] - 1] : INFINITY;
    for (int64_t c = 0; c < n; c++)
        w[c] = s[c] < last ? 0 : best_weight(call->shape, call->head, state, s[c]);
}

static void grad_best(const gnn__weigher_call_t *call, const gnn_real_t *s, int64_t n,
                      const gnn_real_t *state, gnn_real_t *w, gnn_real_t *d)
{
    gnn_real_t all[2];
    (void)state;
    weigh_softmax(call, s, n, all, w);
    grad_softmax(call, s, n, all, w, d);
}

gnn__weigher_rows_t gnn__weigher_rows_of(const gnn_weigher_t *weigher)
{
    static const struct {
        const gnn_weigher_t *entry;
        gnn__weigher_rows_t rows;
    } known[] = {{&gnn_weigher_softmax, {weigh_softmax, grad_softmax}},
                 {&gnn_weigher_sigmoid, {weigh_sigmoid, grad_sigmoid}},
                 {&gnn_weigher_best, {weigh_best, grad_best}}};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (known[k].entry == weigher)
            return known[k].rows;
    return (gnn__weigher_rows_t){weigh_each, grad_each};
}
