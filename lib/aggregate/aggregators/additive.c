/* The additive score of GAT: leaky_relu(q_i + k_j), a number per head on either side. */
#include <lib/aggregate/tables.h>
#include <lib/kernels/simd/real_math.h>

static void scores(const gnn_aggregate_shape_t *shape, const gnn_edge_t *edge, gnn_real_t *s)
{
    for (int64_t a = 0; a < shape->heads; a++)
        s[a] = gnn__leaky(edge->query[a] + edge->key[a], shape->slope);
}

static void scores_grad(const gnn_aggregate_shape_t *shape, const gnn_edge_t *edge,
                        const gnn_real_t *d_scores, gnn_edge_grad_t *grad)
{
    for (int64_t a = 0; a < shape->heads; a++) {
        const gnn_real_t d =
            edge->query[a] + edge->key[a] > 0 ? d_scores[a] : d_scores[a] * shape->slope;
        if (grad->query)
            grad->query[a] += d;
        if (grad->key)
            grad->key[a] += d;
    }
}

const gnn_aggregator_t gnn_aggregator_additive = {
    .name = "additive",
    .paper = "Velickovic et al. 2018 (GAT)",
    .help = "attention; the score is leaky_relu(q_i + k_j), one number per head on either side",
    .flags = GNN_AGGREGATOR_SCORED | GNN_AGGREGATOR_KEY_IS_MESSAGE,
    .score_width = GNN_SCORE_PER_HEAD,
    .scores = scores,
    .scores_grad = scores_grad,
    .fast = GNN__FAST_ADDITIVE,
};
