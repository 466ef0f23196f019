/* The prior q_i . a, with a learned key a per bucket of distances. */
#include <lib/aggregate/priors/bucket.h>
#include <lib/base/base.h>

enum { SHARED = REACH + 1 };

static const gnn_option_t options[] = {GNN__BUCKET_OPTIONS,
                                       {"shared", 0, 0, 1, "1: all heads share one key per bucket"}};

static int64_t key_row(const gnn_aggregate_shape_t *shape, int64_t distance)
{
    return gnn__bucket(shape->options, distance);
}

static int64_t key_column(const gnn_aggregate_shape_t *shape, int64_t head)
{
    return shape->options[SHARED] > 0 ? 0 : head * shape->d_k;
}

static size_t declare(const gnn_aggregate_shape_t *shape, gnn_piece_t *pieces)
{
    pieces[0] = (gnn_piece_t){.name = "keys",
                              .rows = (int64_t)shape->options[BUCKETS],
                              .cols = key_column(shape, shape->heads - 1) + shape->d_k,
                              .init = GNN_INIT_GLOROT,
                              .fan_in = (int64_t)shape->options[BUCKETS],
                              .fan_out = shape->d_k};
    return 1;
}

const gnn_prior_t gnn_prior_keys = {
    .name = "keys",
    .paper = "Shaw, Uszkoreit, Vaswani 2018, eq. 4; Dai et al. 2019 (Transformer-XL)",
    .help = "scale * q_i . a, a learned key a per bucket of distances",
    .flags = GNN_PRIOR_READS_DISTANCE | GNN_PRIOR_READS_QUERY,
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .declare = declare,
    .key_row = key_row,
    .key_column = key_column,
};
