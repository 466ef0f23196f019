/* Welford's recurrence, which var and std share. State: count, then means, then sums of squared
 * differences; `finish_grad` of either puts a factor in their place, which times (message - mean)
 * is the message's gradient. */
#ifndef GNN_AGGREGATE_AGGREGATORS_WELFORD_H
#define GNN_AGGREGATE_AGGREGATORS_WELFORD_H

#include <lib/aggregate/tables.h>
#include <lib/kernels/neighbours/pair_rows.h>

static inline size_t welford_state(const gnn_aggregate_shape_t *shape)
{
    return 1 + 2 * (size_t)shape->width;
}

static inline void welford_accumulate(const gnn_aggregate_shape_t *shape, gnn_real_t *s,
                                      const gnn_edge_t *edge)
{
    gnn_real_t *mean = s + 1;
    s[0] += 1;
    gnn__pair_kernels()->welford(shape->width, s[0], edge->message, mean, mean + shape->width);
}

static inline void welford_accumulate_grad(const gnn_aggregate_shape_t *shape, const gnn_real_t *s,
                                           const gnn_edge_t *edge, gnn_edge_grad_t *grad)
{
    const gnn_real_t *mean = s + 1, *factor = mean + shape->width;
    if (grad->message)
        gnn__pair_kernels()->welford_grad(shape->width, factor, edge->message, mean, grad->message);
}

#endif
