/* The score of the Transformer: scale q_i . k_j. */
#include <lib/aggregate/tables.h>

static void scores(const gnn_aggregate_shape_t *shape, const gnn_edge_t *edge, gnn_real_t *s)
{
    const int64_t d_k = shape->d_k;
    for (int64_t a = 0; a < shape->heads; a++) {
        const gnn_real_t *q = edge->query + a * d_k, *k = edge->key + gnn__key_head(shape, a) * d_k;
        gnn_real_t sum = 0;
        for (int64_t c = 0; c < d_k; c++)
            sum += q[c] * k[c];
        s[a] = shape->scale * sum;
    }
}

static void scores_grad(const gnn_aggregate_shape_t *shape, const gnn_edge_t *edge,
                        const gnn_real_t *d_scores, gnn_edge_grad_t *grad)
{
    const int64_t d_k = shape->d_k;
    for (int64_t a = 0; a < shape->heads; a++) {
        const int64_t at_q = a * d_k, at_k = gnn__key_head(shape, a) * d_k;
        const gnn_real_t d = d_scores[a] * shape->scale;
        for (int64_t c = 0; grad->query && c < d_k; c++)
            grad->query[at_q + c] += d * edge->key[at_k + c];
        for (int64_t c = 0; grad->key && c < d_k; c++)
            grad->key[at_k + c] += d * edge->query[at_q + c];
    }
}

const gnn_aggregator_t gnn_aggregator_dot = {
    .name = "dot",
    .paper = "Vaswani et al. 2017, eq. 1",
    .help = "attention; the score is scale * q_i . k_j",
    .flags = GNN_AGGREGATOR_SCORED,
    .score_width = GNN_SCORE_PER_KEY,
    .scores = scores,
    .scores_grad = scores_grad,
    .fast = GNN__FAST_DOT,
};
