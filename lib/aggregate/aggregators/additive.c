#include <lib/aggregate/aggregators/softmax.h>

static inline gnn_real_t score(const gnn_aggregate_shape_t *shape, const gnn_edge_t *edge, int64_t a)
{
    return gnn__leaky(edge->query[a] + edge->key[a], shape->slope);
}

static inline void score_grad(const gnn_aggregate_shape_t *shape, const gnn_edge_t *edge, int64_t a,
                              gnn_real_t d_score, gnn_edge_grad_t *grad)
{
    gnn_real_t d = edge->query[a] + edge->key[a] > 0 ? d_score : d_score * shape->slope;
    if (grad->query)
        grad->query[a] += d;
    if (grad->key)
        grad->key[a] += d;
}

SOFTMAX_ROW(score, score_grad)

const gnn_aggregator_t gnn__aggregator_additive = {
    .name = "additive",
    .paper = "Velickovic et al. 2018 (GAT)",
    .help = "attention; the score is leaky_relu(q_i + k_j), one number per head on either side",
    .flags = GNN_AGGREGATOR_SCORED,
    .score_width = GNN_SCORE_PER_HEAD,
    .state = softmax_state,
    .accumulate = accumulate,
    .finish = softmax_finish,
    .finish_grad = softmax_finish_grad,
    .accumulate_grad = accumulate_grad,
    .fast = GNN__FAST_ADDITIVE,
};
