/* Buckets of distances: which row of a table a distance reads. Shared by the priors and messages
 * that own such tables. */
#ifndef GNN_AGGREGATE_BUCKETS_H
#define GNN_AGGREGATE_BUCKETS_H

#include <lib/aggregate/tables.h>

/* The options that every table by distance begins with. */
enum { GNN__BUCKET_COUNT, GNN__BUCKET_RULE, GNN__BUCKET_REACH };

/* clang-format off */
#define GNN__BUCKET_OPTIONS \
    {"buckets", 32, 1, 1 << 24, "rows of the table", GNN_OPTION_INTEGER}, \
    {"rule", GNN_BUCKET_CLIP, GNN_BUCKET_CLIP, GNN_BUCKETS - 1, "how a distance finds its row: a gnn_bucket_t", GNN_OPTION_INTEGER}, \
    {"reach", 128, 1, 1 << 30, "logarithmic rules: from this distance on there is one row", GNN_OPTION_REAL}
/* clang-format on */

/* The row that these options, with defaults filled in, give a distance. */
int64_t gnn__bucket(const double *options, int64_t distance);

#endif
