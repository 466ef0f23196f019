/* The weigher whose weight is the score itself. */
#include <lib/aggregate/tables.h>

static gnn_real_t weight(const gnn_aggregate_shape_t *shape, int64_t head, const gnn_real_t *state,
                         gnn_real_t score)
{
    (void)shape, (void)head, (void)state;
    return score;
}

static gnn_real_t weight_grad(const gnn_aggregate_shape_t *shape, int64_t head,
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
    .weight = weight,
    .weight_grad = weight_grad,
    .fast = GNN__FAST_LINEAR,
};
