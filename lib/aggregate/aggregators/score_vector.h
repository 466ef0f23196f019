/* The vector per head that additive_v2 and additive_tanh multiply with what query and key make. */
#ifndef GNN_AGGREGATE_SCORE_VECTOR_H
#define GNN_AGGREGATE_SCORE_VECTOR_H

#include <lib/aggregate/tables.h>

static inline size_t score_vector_declare(const gnn_aggregate_shape_t *shape, gnn_piece_t *pieces)
{
    pieces[0] = (gnn_piece_t){.name = "attention.vector",
                              .rows = 1,
                              .cols = shape->heads * shape->d_k,
                              .init = GNN_INIT_GLOROT,
                              .fan_in = shape->heads,
                              .fan_out = shape->d_k};
    return 1;
}

#endif
