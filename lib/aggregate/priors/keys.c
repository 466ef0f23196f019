/* The prior q_i . a, with a learned key a per bucket of distances. */
#include <lib/aggregate/priors/bucket.h>
#include <lib/base/base.h>

enum { SHARED = REACH + 1 };

static const gnn_option_t options[] = {GNN__BUCKET_OPTIONS,
                                       {"shared", 0, 0, 1, "1: all heads share one key per bucket"}};

/* Where the key of head a begins in its row. */
static int64_t column(const gnn_aggregate_shape_t *shape, int64_t a)
{
    return shape->options[SHARED] > 0 ? 0 : a * shape->d_k;
}

static size_t declare(const gnn_aggregate_shape_t *shape, gnn_piece_t *pieces)
{
    pieces[0] = (gnn_piece_t){.name = "keys",
                              .rows = (int64_t)shape->options[BUCKETS],
                              .cols = column(shape, shape->heads - 1) + shape->d_k,
                              .init = GNN_INIT_GLOROT,
                              .fan_in = (int64_t)shape->options[BUCKETS],
                              .fan_out = shape->d_k};
    return 1;
}

static void score(const gnn_aggregate_shape_t *shape, const gnn_prior_pair_t *pair, gnn_real_t *scores)
{
    const gnn_real_t *row = gnn__row(&shape->parameters, gnn__bucket(shape->options, pair->distance));
    for (int64_t a = 0; a < shape->heads; a++) {
        const gnn_real_t *key = row + column(shape, a), *q = pair->query + a * shape->d_k;
        gnn_real_t sum = 0;
        for (int64_t c = 0; c < shape->d_k; c++)
            sum += q[c] * key[c];
        scores[a] += shape->scale * sum;
    }
}

static void score_grad(const gnn_aggregate_shape_t *shape, const gnn_prior_pair_t *pair,
                       const gnn_real_t *d_scores, gnn_prior_grad_t *grad)
{
    const int64_t bucket = gnn__bucket(shape->options, pair->distance);
    const gnn_real_t *row = gnn__row(&shape->parameters, bucket);
    gnn_real_t *d_row = grad->parameters.data ? gnn__row(&grad->parameters, bucket) : NULL;
    for (int64_t a = 0; a < shape->heads; a++) {
        const int64_t at = column(shape, a), at_q = a * shape->d_k;
        const gnn_real_t d = d_scores[a] * shape->scale;
        for (int64_t c = 0; grad->query && c < shape->d_k; c++)
            grad->query[at_q + c] += d * row[at + c];
        for (int64_t c = 0; d_row && c < shape->d_k; c++)
            d_row[at + c] += d * pair->query[at_q + c];
    }
}

const gnn_prior_t gnn_prior_keys = {
    .name = "keys",
    .paper = "Shaw, Uszkoreit, Vaswani 2018, eq. 4; Dai et al. 2019 (Transformer-XL)",
    .help = "scale * q_i . a, a learned key a per bucket of distances",
    .flags = GNN_PRIOR_READS_DISTANCE | GNN_PRIOR_READS_QUERY,
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .declare = declare,
    .score = score,
    .score_grad = score_grad,
};
