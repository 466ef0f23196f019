#include <lib/aggregate/aggregators/softmax.h>

static inline gnn_real_t score(const gnn_aggregate_shape_t *shape, const gnn_edge_t *edge, int64_t a)
{
    const gnn_real_t *q = edge->query + a * shape->d_k,
                     *k = edge->key + kv_head(shape, a) * shape->d_k;
    gnn_real_t sum = 0;
    for (int64_t c = 0; c < shape->d_k; c++)
        sum += q[c] * k[c];
    return shape->scale * sum;
}

static inline void score_grad(const gnn_aggregate_shape_t *shape, const gnn_edge_t *edge, int64_t a,
                              gnn_real_t d_score, gnn_edge_grad_t *grad)
{
    const int64_t d_k = shape->d_k, at_q = a * d_k, at_k = kv_head(shape, a) * d_k;
    for (int64_t c = 0; grad->query && c < d_k; c++)
        grad->query[at_q + c] += d_score * shape->scale * edge->key[at_k + c];
    for (int64_t c = 0; grad->key && c < d_k; c++)
        grad->key[at_k + c] += d_score * shape->scale * edge->query[at_q + c];
}

SOFTMAX_ROW(score, score_grad)

const gnn_aggregator_t gnn__aggregator_dot = {
    .name = "dot",
    .paper = "Vaswani et al. 2017, eq. 1",
    .help = "attention; the score is scale * q_i . k_j",
    .flags = GNN_AGGREGATOR_SCORED,
    .score_width = GNN_SCORE_PER_KEY,
    .state = softmax_state,
    .accumulate = accumulate,
    .finish = softmax_finish,
    .finish_grad = softmax_finish_grad,
    .accumulate_grad = accumulate_grad,
    .fast = GNN__FAST_DOT,
};
