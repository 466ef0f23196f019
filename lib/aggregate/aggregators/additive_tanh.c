/* The additive score of Bahdanau et al. and Luong's concat: v . tanh(q_i + k_j), a learned vector v
 * per head. */
#include <lib/aggregate/aggregators/score_vector.h>
#include <lib/kernels/simd/real_math.h>

static void scores(const gnn_aggregate_shape_t *shape, const gnn_edge_t *edge, gnn_real_t *s)
{
    const int64_t d_k = shape->d_k;
    for (int64_t a = 0; a < shape->heads; a++) {
        const gnn_real_t *q = edge->query + a * d_k, *k = edge->key + gnn__key_head(shape, a) * d_k,
                         *vector = shape->parameters.data + a * d_k;
        gnn_real_t sum = 0;
        for (int64_t c = 0; c < d_k; c++)
            sum += vector[c] * gnn__tanh(q[c] + k[c]);
        s[a] = sum;
    }
}

/* 1 - tanh(x)^2, whose digits stay where tanh comes near 1. */
static gnn_real_t slope(gnn_real_t x)
{
    const gnn_real_t e = gnn__exp(x > 0 ? -2 * x : 2 * x);
    return 4 * e / ((1 + e) * (1 + e));
}

static void scores_grad(const gnn_aggregate_shape_t *shape, const gnn_edge_t *edge,
                        const gnn_real_t *d_scores, gnn_edge_grad_t *grad)
{
    const int64_t d_k = shape->d_k;
    for (int64_t at = 0; at < shape->heads * d_k; at++) {
        const int64_t a = at / d_k, at_k = gnn__key_head(shape, a) * d_k + at % d_k;
        const gnn_real_t x = edge->query[at] + edge->key[at_k],
                         d = d_scores[a] * shape->parameters.data[at] * slope(x);
        if (grad->query)
            grad->query[at] += d;
        if (grad->key)
            grad->key[at_k] += d;
        if (grad->parameters.data)
            grad->parameters.data[at] += d_scores[a] * gnn__tanh(x);
    }
}

const gnn_aggregator_t gnn_aggregator_additive_tanh = {
    .name = "additive_tanh",
    .paper = "Bahdanau, Cho, Bengio 2015; Luong, Pham, Manning 2015 (concat)",
    .help = "attention; the score is v . tanh(q_i + k_j) with a vector v per head",
    .flags = GNN_AGGREGATOR_SCORED,
    .score_width = GNN_SCORE_PER_KEY,
    .declare = score_vector_declare,
    .scores = scores,
    .scores_grad = scores_grad,
};
