/* A number per head: what slope and slope_absolute own. */
#ifndef GNN_AGGREGATE_PRIORS_SLOPE_H
#define GNN_AGGREGATE_PRIORS_SLOPE_H

#include <lib/aggregate/tables.h>

static inline size_t slope_declare(const gnn_aggregate_shape_t *shape, gnn_piece_t *pieces)
{
    pieces[0] =
        (gnn_piece_t){.name = "slopes", .rows = 1, .cols = shape->heads, .init = GNN_INIT_ZEROS};
    return 1;
}

#endif
