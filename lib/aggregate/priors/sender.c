/* The prior that is a given number per sender and head. */
#include <lib/aggregate/priors/node.h>

static void score(const gnn_aggregate_shape_t *shape, const gnn_prior_pair_t *pair, gnn_real_t *scores)
{
    node_score(shape, pair->j, scores);
}

static void score_grad(const gnn_aggregate_shape_t *shape, const gnn_prior_pair_t *pair,
                       const gnn_real_t *d_scores, gnn_prior_grad_t *grad)
{
    node_score_grad(shape, pair->j, d_scores, grad);
}

const gnn_prior_t gnn_prior_sender = {
    .name = "sender",
    .help = "a number per sender and head, a value of the model",
    .numbers = GNN_PRIOR_PER_SENDER,
    .declare = node_declare,
    .score = score,
    .score_grad = score_grad,
};
