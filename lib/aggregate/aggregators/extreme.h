/* max and min. State: the extreme value of every column, then how many messages share it (0: no
 * sender was heard). Ties share the gradient equally; NaN wins and stays, and then no sender gets a
 * gradient. */
#ifndef GNN_AGGREGATE_AGGREGATORS_EXTREME_H
#define GNN_AGGREGATE_AGGREGATORS_EXTREME_H

#include <lib/aggregate/tables.h>
#include <lib/kernels/neighbours/pair_rows.h>
#include <stdbool.h>
#include <string.h>

static inline size_t extreme_state(const gnn_aggregate_shape_t *shape)
{
    return 2 * (size_t)shape->width;
}

static inline void extreme_accumulate(const gnn_aggregate_shape_t *shape, gnn_real_t *best,
                                      const gnn_real_t *message, bool largest)
{
    gnn__pair_kernels()->extreme(shape->width, largest, message, best, best + shape->width);
}

static inline void extreme_finish(const gnn_aggregate_shape_t *shape, gnn_real_t *best,
                                  gnn_real_t *out)
{
    memcpy(out, best, sizeof *out * (size_t)shape->width);
}

/* The count becomes the share of the gradient. */
static inline void extreme_finish_grad(const gnn_aggregate_shape_t *shape, gnn_real_t *best,
                                       const gnn_real_t *out, const gnn_real_t *d_out)
{
    (void)out;
    gnn_real_t *ties = best + shape->width;
    for (int64_t c = 0; c < shape->width; c++)
        ties[c] = ties[c] > 0 ? d_out[c] / ties[c] : 0;
}

static inline void extreme_accumulate_grad(const gnn_aggregate_shape_t *shape, const gnn_real_t *best,
                                           const gnn_edge_t *edge, gnn_edge_grad_t *grad)
{
    if (grad->message)
        gnn__pair_kernels()->extreme_grad(shape->width, edge->message, best, best + shape->width,
                                          grad->message);
}

#endif
