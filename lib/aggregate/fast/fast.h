/* What the fast ways share. */
#ifndef GNN_AGGREGATE_FAST_H
#define GNN_AGGREGATE_FAST_H

#include <lib/aggregate/tables.h>
#include <lib/aggregate/ways.h>

/* Kernels add priors by distance, as strips and as keys; other priors are the generic driver's. */
static inline bool gnn__priors_by_distance(const gnn__plan_t *plan)
{
    bool known = true;
    for (int p = 0; p < GNN_PRIORS; p++)
        known &= !plan->prior[p] || plan->prior[p]->strip || plan->prior[p]->key_row;
    return known;
}

/* Is the message the sender's row plus one by distance? */
static inline bool gnn__values_by_distance(const gnn__plan_t *plan)
{
    return plan->hints.message == GNN__MESSAGE_PLUS_DISTANCE;
}

/* Kernels read senders' rows in place, and may sum edges' rows, and those of distances, apart;
 * weighers other than softmax, unequal numbers of key and value heads, and weights that are asked
 * for are the generic driver's. */
static inline bool gnn__reads_rows(const gnn__plan_t *plan)
{
    return plan->hints.message != GNN__MESSAGE_OTHER && plan->has[GNN_AGGREGATE_SRC_MESSAGE] &&
           gnn__priors_by_distance(plan) &&
           (plan->hints.weigher == GNN__WEIGHER_SOFTMAX ||
            plan->hints.weigher == GNN__WEIGHER_SOFTMAX_SINK) &&
           plan->shape.key_heads == plan->shape.value_heads && !plan->how->edge_weights_out &&
           !plan->how->segment_weights_out;
}

/* The same where nothing is added to messages and keys. */
static inline bool gnn__is_plain(const gnn__plan_t *plan)
{
    return gnn__reads_rows(plan) && !gnn__values_by_distance(plan) && plan->edge_width == 0 &&
           !plan->edge_key;
}

#endif
