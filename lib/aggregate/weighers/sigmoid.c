/* State: how many scores came in; once it is settled, what is taken off every score. */
#include <lib/aggregate/tables.h>
#include <lib/kernels/simd/real_math.h>
#include <math.h>

static const gnn_option_t options[] = {
    {"log_count", 0, 0, 1, "1: the logarithm of the number of senders is taken off every score"}};

static void enter(const gnn_aggregate_shape_t *shape, int64_t head, gnn_real_t *state,
                  gnn_real_t score)
{
    (void)shape, (void)head, (void)score;
    state[0] += 1;
}

static void settle(const gnn_aggregate_shape_t *shape, int64_t head, gnn_real_t *state)
{
    (void)head;
    state[0] = shape->options[0] > 0 && state[0] > 0 ? (gnn_real_t)log((double)state[0]) : 0;
}

static gnn_real_t weight(const gnn_aggregate_shape_t *shape, int64_t head, const gnn_real_t *state,
                         gnn_real_t score)
{
    (void)shape, (void)head;
    return gnn__sigmoid(score - state[0]);
}

static gnn_real_t weight_grad(const gnn_aggregate_shape_t *shape, int64_t head,
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
    .options = options,
    .n_options = 1,
    .state = 1,
    .enter = enter,
    .settle = settle,
    .weight = weight,
    .weight_grad = weight_grad,
};
