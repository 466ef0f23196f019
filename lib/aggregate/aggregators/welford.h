/* Welford's recurrence, which var and std share. State: count, then means, then sums of squared
 * differences; `finish_grad` of either puts a factor in their place, which times (message - mean)
 * is the message's gradient. */
#ifndef GNN_AGGREGATE_AGGREGATORS_WELFORD_H
#define GNN_AGGREGATE_AGGREGATORS_WELFORD_H

#include <lib/aggregate/tables.h>

static inline size_t welford_state(const gnn_aggregate_shape_t *shape)
{
    return 1 + 2 * (size_t)shape->width;
}

static inline void welford_accumulate(const gnn_aggregate_shape_t *shape, gnn_real_t *s,
                                      const gnn_edge_t *edge)
{
    gnn_real_t *mean = s + 1, *squares = mean + shape->width;
    s[0] += 1;
    for (int64_t c = 0; c < shape->width; c++) {
        gnn_real_t difference = edge->message[c] - mean[c];
        mean[c] += difference / s[0];
        squares[c] += difference * (edge->message[c] - mean[c]);
    }
}

static inline void welford_accumulate_grad(const gnn_aggregate_shape_t *shape, const gnn_real_t *s,
                                           const gnn_edge_t *edge, gnn_edge_grad_t *grad)
{
    const gnn_real_t *mean = s + 1, *factor = mean + shape->width;
    for (int64_t c = 0; grad->message && c < shape->width; c++)
        grad->message[c] += factor[c] * (edge->message[c] - mean[c]);
}

#endif
