/* The prior q_i . a, with a learned key a per bucket of distances. */
#include <lib/aggregate/priors/by_bucket.h>

static size_t declare(const gnn_aggregate_shape_t *shape, gnn_piece_t *pieces)
{
    return by_bucket_declare(shape, "keys", pieces);
}

const gnn_prior_t gnn_prior_keys = {
    .name = "keys",
    .paper = "Shaw, Uszkoreit, Vaswani 2018, eq. 4; Dai et al. 2019 (Transformer-XL)",
    .help = "scale * q_i . a, a learned key a per bucket of distances",
    .flags = GNN_PRIOR_READS_DISTANCE | GNN_PRIOR_READS_QUERY,
    .options = by_bucket_options,
    .n_options = sizeof by_bucket_options / sizeof *by_bucket_options,
    .declare = declare,
    .key_row = by_bucket_row,
    .key_column = by_bucket_column,
};
