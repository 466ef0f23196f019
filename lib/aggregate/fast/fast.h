/* What the fast ways share. */
#ifndef GNN_AGGREGATE_FAST_H
#define GNN_AGGREGATE_FAST_H

#include <lib/aggregate/tables.h>
#include <lib/aggregate/ways.h>

/* Kernels read messages in place; edges projected for messages, gates and weights that are asked for are the generic driver's. */
static inline bool gnn__is_plain(const gnn__plan_t *plan)
{
    return plan->message->is_sender && plan->has[GNN_AGGREGATE_SRC_MESSAGE] &&
           plan->edge_width == 0 && !plan->has[GNN_AGGREGATE_GATE] &&
           !plan->how->edge_weights_out && !plan->how->segment_weights_out;
}

#endif
