/* d_k numbers per bucket of distances and head: what keys and sender_keys own. */
#ifndef GNN_AGGREGATE_PRIORS_BY_BUCKET_H
#define GNN_AGGREGATE_PRIORS_BY_BUCKET_H

#include <lib/aggregate/priors/bucket.h>
#include <lib/base/base.h>

enum { SHARED = REACH + 1 };

static const gnn_option_t by_bucket_options[] = {
    GNN__BUCKET_OPTIONS, {"shared", 0, 0, 1, "1: all heads share one row per bucket"}};

static inline int64_t by_bucket_row(const gnn_aggregate_shape_t *shape, int64_t distance)
{
    return gnn__bucket(shape->options, distance);
}

static inline int64_t by_bucket_column(const gnn_aggregate_shape_t *shape, int64_t head)
{
    return shape->options[SHARED] > 0 ? 0 : head * shape->d_k;
}

static inline size_t by_bucket_declare(const gnn_aggregate_shape_t *shape, const char *name,
                                       gnn_piece_t *pieces)
{
    pieces[0] = (gnn_piece_t){.name = name,
                              .rows = (int64_t)shape->options[BUCKETS],
                              .cols = by_bucket_column(shape, shape->heads - 1) + shape->d_k,
                              .init = GNN_INIT_GLOROT,
                              .fan_in = (int64_t)shape->options[BUCKETS],
                              .fan_out = shape->d_k};
    return 1;
}

#endif
