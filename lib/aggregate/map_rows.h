/* Maps of queries and keys: once before a way runs and, in backward, their derivatives after it, so
 * that no way knows of them. */
#ifndef GNN_AGGREGATE_MAP_ROWS_H
#define GNN_AGGREGATE_MAP_ROWS_H

#include <lib/aggregate/aggregate.h>

/* Receivers' queries and senders' keys. */
enum { GNN__MAP_SIDES = 2 };

typedef struct gnn__map_run {
    int64_t *positions[GNN__MAP_SIDES];
    gnn_real_t *rows[GNN__MAP_SIDES], *d_rows[GNN__MAP_SIDES];
    /* Numbers of the positions low .. low + count - 1; count 0: they are spread too wide, and made
     * row by row. */
    gnn_real_t *table;
    int64_t numbers, low, count;
    const gnn_real_t *kept; /* those of the positions from 0 on, where the context has them */
    gnn_real_t *own;        /* numbers, per thread */
} gnn__map_run_t;

/* Bytes of scratch that a plan with a map needs in front of its way's; 0 without a map. */
int gnn__map_scratch(const gnn__plan_t *plan, bool backward, size_t *bytes);
/* Makes the mapped rows in `scratch` and puts them into the plan, in backward with room for their
 * gradients. */
int gnn__map_rows(gnn__plan_t *plan, void *scratch, bool backward, gnn__map_run_t *run);
/* After the way's backward: from the gradients of `mapped` to those of `plan`, the same call
 * without a map. */
void gnn__map_rows_grad(const gnn__plan_t *plan, const gnn__plan_t *mapped,
                        const gnn__map_run_t *run);

#endif
