/* The prior k_j . a, with a learned query a per bucket of distances. */
#include <lib/aggregate/priors/by_bucket.h>

/* Where the query that head a's keys meet stands at this distance, in a matrix like the
 * parameters. */
static gnn_real_t *met(const gnn_aggregate_shape_t *shape, const gnn_tensor_t *queries,
                       int64_t distance, int64_t a)
{
    return gnn__row(queries, by_bucket_row(shape, distance)) + by_bucket_column(shape, a);
}

static void score(const gnn_aggregate_shape_t *shape, const gnn_prior_pair_t *pair, gnn_real_t *scores)
{
    const int64_t d = shape->d_k;
    for (int64_t a = 0; a < shape->heads; a++) {
        const gnn_real_t *q = met(shape, &shape->parameters, pair->distance, a),
                         *k = pair->key + gnn__key_head(shape, a) * d;
        gnn_real_t sum = 0;
        for (int64_t c = 0; c < d; c++)
            sum += q[c] * k[c];
        scores[a] += shape->scale * sum;
    }
}

static void score_grad(const gnn_aggregate_shape_t *shape, const gnn_prior_pair_t *pair,
                       const gnn_real_t *d_scores, gnn_prior_grad_t *grad)
{
    const int64_t d = shape->d_k;
    for (int64_t a = 0; a < shape->heads; a++) {
        const int64_t at = gnn__key_head(shape, a) * d;
        const gnn_real_t *q = met(shape, &shape->parameters, pair->distance, a),
                         g = d_scores[a] * shape->scale;
        gnn_real_t *d_q =
            grad->parameters.data ? met(shape, &grad->parameters, pair->distance, a) : NULL;
        for (int64_t c = 0; grad->key && c < d; c++)
            grad->key[at + c] += g * q[c];
        for (int64_t c = 0; d_q && c < d; c++)
            d_q[c] += g * pair->key[at + c];
    }
}

static size_t declare(const gnn_aggregate_shape_t *shape, gnn_piece_t *pieces)
{
    return by_bucket_declare(shape, "queries", pieces);
}

const gnn_prior_t gnn_prior_sender_keys = {
    .name = "sender_keys",
    .paper = "He, Liu, Gao, Chen 2021 (DeBERTa), eq. 4: position to content",
    .help = "scale * k_j . a, a learned query a per bucket of distances",
    .flags = GNN_PRIOR_READS_DISTANCE | GNN_PRIOR_READS_KEY,
    .options = by_bucket_options,
    .n_options = sizeof by_bucket_options / sizeof *by_bucket_options,
    .declare = declare,
    .score = score,
    .score_grad = score_grad,
};
