/* Hard attention: the k best scores share the weight as softmax shares it among them, and the
 * others weigh nothing; scores get the gradient of the softmax over all (straight-through). Scores
 * that are equal to the last of the best share its weight, so that no order of senders counts.
 *
 * State of a head: as softmax; how many scores came in, up to k; how many of all are equal to the
 * last of the best; and the best themselves, in falling order. */
#include <lib/aggregate/weighers/softmax.h>
#include <math.h>

enum { COUNT = 2, TIES, BEST };

static const gnn_option_t options[] = {
    {"count", 1, 1, GNN_WEIGHER_STATE - BEST, "so many of the best scores are heard"}};

static int64_t most(const gnn_aggregate_shape_t *shape)
{
    return (int64_t)shape->options[0];
}

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

static void enter(const gnn_aggregate_shape_t *shape, int64_t head, gnn_real_t *state,
                  gnn_real_t score)
{
    gnn_real_t *best = state + BEST;
    const int64_t held = (int64_t)state[COUNT], k = most(shape);
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

/* The share of the last of the best is that of all that are equal to it. */
static gnn_real_t weight(const gnn_aggregate_shape_t *shape, int64_t head, const gnn_real_t *state,
                         gnn_real_t score)
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
    const gnn_real_t share = gnn__exp(score - best[0]) / sum;
    return score > best[held - 1] ? share
                                  : share * (gnn_real_t)equal_to_last(best, held) / state[TIES];
}

const gnn_weigher_t gnn_weigher_best = {
    .name = "best",
    .paper = "Xu et al. 2015 (hard attention); Bengio, Leonard, Courville 2013 (straight-through)",
    .help = "softmax among the best scores alone; backward as softmax (straight-through)",
    .options = options,
    .n_options = 1,
    .state = GNN_WEIGHER_STATE,
    .enter = enter,
    .weight = weight,
    .weight_grad = softmax_weight_grad,
    .weight_backward = softmax_weight,
};
