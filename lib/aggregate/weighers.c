/* The weighers: from scores to weights. One entry after another: enter, settle, weight and its
 * derivative, the struct. */
#include <lib/aggregate/tables.h>
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
    {"eps", 1e-6, 0, 1e6, "added to the sum of a receiver's weights"}};

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
    {"log_count", 0, 0, 1, "1: the logarithm of the count of senders is subtracted from every score"}};

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

enum { COUNT = 2, TIES, BEST };

static const gnn_option_t best_options[] = {
    {"count", 1, 1, GNN_WEIGHER_STATE - BEST, "how many of the best scores have a weight"}};

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

static void best_enter(const gnn_aggregate_shape_t *shape, int64_t head, gnn_real_t *state,
                       gnn_real_t score)
{
    gnn_real_t *best = state + BEST;
    const int64_t held = (int64_t)state[COUNT], k = (int64_t)shape->options[0];
    softmax_enter(shape, head, state, score);
    if (!(score > -INFINITY))
        return;
    if (held < k) {
        insert(best, held, score);
        state[COUNT] += 1;
        state[TIES] = (gnn_real_t)equal_to_last(best, held + 1);
    } else if (score == best[k - 1]) {
        state[TIES] += 1;
    } else if (score > best[k - 1]) {
        const gnn_real_t before = best[k - 1];
        insert(best, k - 1, score);
        if (best[k - 1] != before)
            state[TIES] = (gnn_real_t)equal_to_last(best, k);
    }
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
    .state = GNN_WEIGHER_STATE,
    .enter = best_enter,
    .weight = best_weight,
    .weight_grad = softmax_weight_grad,
    .weight_backward = softmax_weight,
};
