/* The additive score of GATv2: a . leaky_relu(q_i + k_j), a learned vector a per head. */
#include <lib/aggregate/aggregators/score_vector.h>
#include <lib/kernels/simd/real_math.h>

static void scores(const gnn_aggregate_shape_t *shape, const gnn_edge_t *edge, gnn_real_t *s)
{
    const int64_t d_k = shape->d_k;
    for (int64_t a = 0; a < shape->heads; a++) {
        const gnn_real_t *q = edge->query + a * d_k, *k = edge->key + gnn__key_head(shape, a) * d_k,
                         *weight = shape->parameters.data + a * d_k;
        gnn_real_t sum = 0;
        for (int64_t c = 0; c < d_k; c++)
            sum += weight[c] * gnn__leaky(q[c] + k[c], shape->slope);
        s[a] = sum;
    }
}

static void scores_grad(const gnn_aggregate_shape_t *shape, const gnn_edge_t *edge,
                        const gnn_real_t *d_scores, gnn_edge_grad_t *grad)
{
    const int64_t d_k = shape->d_k;
    for (int64_t at = 0; at < shape->heads * d_k; at++) {
        const int64_t a = at / d_k, at_k = gnn__key_head(shape, a) * d_k + at % d_k;
        const gnn_real_t x = edge->query[at] + edge->key[at_k],
                         d = d_scores[a] * shape->parameters.data[at] * (x > 0 ? 1 : shape->slope);
        if (grad->query)
            grad->query[at] += d;
        if (grad->key)
            grad->key[at_k] += d;
        if (grad->parameters.data)
            grad->parameters.data[at] += d_scores[a] * gnn__leaky(x, shape->slope);
    }
}

const gnn_aggregator_t gnn_aggregator_additive_v2 = {
    .name = "additive_v2",
    .paper = "Brody, Alon, Yahav 2022 (GATv2)",
    .help = "attention; the score is a . leaky_relu(q_i + k_j) with a vector a per head",
    .flags = GNN_AGGREGATOR_SCORED | GNN_AGGREGATOR_KEY_IS_MESSAGE,
    .score_width = GNN_SCORE_PER_KEY,
    .declare = score_vector_declare,
    .scores = scores,
    .scores_grad = scores_grad,
    .fast = GNN__FAST_ADDITIVE_V2,
};
