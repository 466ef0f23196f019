/* max and min. State: the extreme value of every column, then how many messages share it (0: no
 * sender was heard). Ties share the gradient equally; NaN wins and stays, and then no sender gets a
 * gradient. */
#ifndef GNN_AGGREGATE_AGGREGATORS_EXTREME_H
#define GNN_AGGREGATE_AGGREGATORS_EXTREME_H

#include <lib/aggregate/tables.h>
#include <stdbool.h>
#include <string.h>

static inline size_t extreme_state(const gnn_aggregate_shape_t *shape)
{
    return 2 * (size_t)shape->width;
}

static inline void extreme_accumulate(const gnn_aggregate_shape_t *shape, gnn_real_t *best,
                                      const gnn_real_t *message, bool largest)
{
    gnn_real_t *ties = best + shape->width;
    for (int64_t c = 0; c < shape->width; c++) {
        gnn_real_t m = message[c];
        if (ties[c] == 0 || m != m || (largest ? m > best[c] : m < best[c])) {
            best[c] = m;
            ties[c] = 1;
        } else if (m == best[c]) {
            ties[c] += 1;
        }
    }
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
    const gnn_real_t *share = best + shape->width;
    for (int64_t c = 0; grad->message && c < shape->width; c++)
        if (edge->message[c] == best[c])
            grad->message[c] += share[c];
}

#endif
