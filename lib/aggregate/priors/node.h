/* A number per node and head: what receiver and sender read. */
#ifndef GNN_AGGREGATE_PRIORS_NODE_H
#define GNN_AGGREGATE_PRIORS_NODE_H

#include <lib/aggregate/tables.h>
#include <lib/base/base.h>

static inline size_t node_declare(const gnn_aggregate_shape_t *shape, gnn_piece_t *pieces)
{
    pieces[0] = (gnn_piece_t){.name = "numbers", .cols = shape->heads};
    return 1;
}

static inline void node_score(const gnn_aggregate_shape_t *shape, int64_t node, gnn_real_t *scores)
{
    const gnn_real_t *numbers = gnn__row(&shape->parameters, node);
    for (int64_t a = 0; a < shape->heads; a++)
        scores[a] += numbers[a];
}

static inline void node_score_grad(const gnn_aggregate_shape_t *shape, int64_t node,
                                   const gnn_real_t *d_scores, gnn_prior_grad_t *grad)
{
    if (!grad->parameters.data)
        return;
    gnn_real_t *d_numbers = gnn__row(&grad->parameters, node);
    for (int64_t a = 0; a < shape->heads; a++)
        d_numbers[a] += d_scores[a];
}

#endif
