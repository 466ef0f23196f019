#include <lib/aggregate/aggregators/softmax.h>

static inline gnn_real_t score(const gnn_aggregate_shape_t *shape, const gnn_edge_t *edge, int64_t a)
{
    const gnn_real_t *q = edge->query + a * shape->d_k,
                     *k = edge->key + kv_head(shape, a) * shape->d_k,
                     *weight = shape->parameters + a * shape->d_k;
    gnn_real_t sum = 0;
    for (int64_t c = 0; c < shape->d_k; c++)
        sum += weight[c] * gnn__leaky(q[c] + k[c], shape->slope);
    return sum;
}

static inline void score_grad(const gnn_aggregate_shape_t *shape, const gnn_edge_t *edge, int64_t a,
                              gnn_real_t d_score, gnn_edge_grad_t *grad)
{
    const int64_t at_q = a * shape->d_k, at_k = kv_head(shape, a) * shape->d_k;
    for (int64_t c = 0; c < shape->d_k; c++) {
        gnn_real_t x = edge->query[at_q + c] + edge->key[at_k + c];
        gnn_real_t d = d_score * shape->parameters[at_q + c] * (x > 0 ? 1 : shape->slope);
        if (grad->query)
            grad->query[at_q + c] += d;
        if (grad->key)
            grad->key[at_k + c] += d;
        if (grad->parameters)
            grad->parameters[at_q + c] += d_score * gnn__leaky(x, shape->slope);
    }
}

SOFTMAX_ROW(score, score_grad)

const gnn_aggregator_t gnn__aggregator_additive_v2 = {
    .name = "additive_v2",
    .paper = "Brody, Alon, Yahav 2022 (GATv2)",
    .help = "attention; the score is a . leaky_relu(q_i + k_j) with a vector a per head",
    .flags = GNN_AGGREGATOR_SCORED,
    .score_width = GNN_SCORE_PER_KEY,
    .parameters_per_key = 1,
    .state = softmax_state,
    .accumulate = accumulate,
    .finish = softmax_finish,
    .finish_grad = softmax_finish_grad,
    .accumulate_grad = accumulate_grad,
    .fast = GNN__FAST_ADDITIVE_V2,
};
