/* What the glue of sum.c, extreme.c and attention.c shares. */
#ifndef GNN_AGGREGATE_OWN_H
#define GNN_AGGREGATE_OWN_H

#include <lib/aggregate/aggregate.h>
#include <lib/kernels/pairs.h>

static inline gnn__pairs_t gnn__pairs_of(const gnn__part_t *part)
{
    gnn__pairs_t p = {.n_rows = part->n_rows};
    if (part->form == GNN__EDGES) {
        p.indptr = part->indptr;
        p.indices = part->indices;
        p.edge = part->edge;
        p.edge_base = part->edge_base;
    } else {
        p.row_order = part->row_order;
        p.col_order = part->col_order;
        p.lo = part->lo;
        p.hi = part->hi;
    }
    return p;
}

/* Kernels read messages in place and know nothing of projected edges, gates, distances and weights that somebody wants to see: the driver does those. */
static inline bool gnn__is_plain(const gnn__plan_t *plan)
{
    return plan->message->is_sender && plan->has[GNN_AGGREGATE_SRC_MESSAGE] &&
           plan->edge_width == 0 && !plan->edge_key && !plan->has[GNN_AGGREGATE_GATE] &&
           !plan->has[GNN_AGGREGATE_DISTANCE] && !plan->how->edge_weights_out &&
           !plan->how->segment_weights_out;
}

#endif
