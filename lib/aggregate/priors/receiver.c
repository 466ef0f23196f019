/* The prior that is a given number per receiver and head. */
#include <lib/aggregate/priors/node.h>

static void score(const gnn_aggregate_shape_t *shape, const gnn_prior_pair_t *pair, gnn_real_t *scores)
{
    node_score(shape, pair->i, scores);
}

static void score_grad(const gnn_aggregate_shape_t *shape, const gnn_prior_pair_t *pair,
                       const gnn_real_t *d_scores, gnn_prior_grad_t *grad)
{
    node_score_grad(shape, pair->i, d_scores, grad);
}

const gnn_prior_t gnn_prior_receiver = {
    .name = "receiver",
    .help = "a number per receiver and head, a value of the model",
    .numbers = GNN_PRIOR_PER_RECEIVER,
    .declare = node_declare,
    .score = score,
    .score_grad = score_grad,
};
