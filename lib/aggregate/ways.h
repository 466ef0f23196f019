/* The ways to run an aggregation. A way says by a pure function which calls it takes; the first of
 * the list in ways.c that takes a call runs it. */
#ifndef GNN_AGGREGATE_WAYS_H
#define GNN_AGGREGATE_WAYS_H

#include <lib/aggregate/aggregate.h>

typedef struct gnn__way {
    /* Does it run this call? Reads the plan, and which kernels the processor has, and nothing else.
     * Asked once a plan. */
    bool (*takes)(const gnn__plan_t *plan);
    /* Sets saved_bytes, forward_scratch, backward_scratch and what is kept, all 0 before. */
    int (*sizes)(const gnn__plan_t *plan, gnn_op_call_t *call);
    int (*forward)(const gnn__plan_t *plan, gnn_op_call_t *call);
    int (*backward)(const gnn__plan_t *plan, gnn_op_call_t *call);
    /* As gnn__aggregate_finishes; NULL: it does none of it. */
    unsigned (*finishes)(const gnn__plan_t *plan);
    /* What runs, in a word or two ("by_lane/shared+factors"). Asked where there is a profile. */
    void (*describe)(const gnn__plan_t *plan, char *text, size_t size);
} gnn__way_t;

/* The first that takes the call. */
const gnn__way_t *gnn__way_of(const gnn__plan_t *plan);

extern const gnn__way_t gnn__way_sum, gnn__way_extreme, gnn__way_by_lane, gnn__way_attention,
    gnn__way_linear, gnn__way_generic;

#endif
