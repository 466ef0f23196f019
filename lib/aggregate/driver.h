/* Between the files of the generic driver: the memory of one run. */
#ifndef GNN_AGGREGATE_DRIVER_H
#define GNN_AGGREGATE_DRIVER_H

#include <lib/aggregate/edge.h>

/* Where the sums of a chunk stand for what all edges share; -1 stands for nothing. Offsets into one block per chunk. */
typedef struct gnn__shared_grads {
    int64_t parameters, message_weight, message_bias, key_weight, distance;
    int64_t size;
} gnn__shared_grads_t;

typedef struct gnn__run {
    int64_t *bounds; /* chunks of the part at hand */
    int64_t *positions;
    gnn_real_t *lanes; /* one per thread */
    int64_t lane_size;
    gnn_real_t *states; /* n_dst x state_size */
    int64_t state_size;
    gnn_real_t *raw; /* output before the gate (n_dst x out_width), only with a gate in a recorded run */
    gnn_real_t *partials; /* chunks x shared.size, backward only */
    gnn__shared_grads_t shared;
} gnn__run_t;

/* driver_grad.c */
int gnn__driver_backward(const gnn__plan_t *plan, gnn_op_call_t *call);
int gnn__driver_backward_memory(const gnn__plan_t *plan, void *scratch, gnn__run_t *run,
                                size_t *bytes);

/* Arrays that forward and backward both need. */
void gnn__run_common(const gnn__plan_t *plan, gnn__carve_t *carve, gnn__run_t *run);
/* Multiply-adds over all parts, roughly. */
int64_t gnn__work(const gnn__plan_t *plan);

/* Fills edge_weights_out and segment_weights_out from the finished states; weights.c */
void gnn__weights_out(const gnn__plan_t *plan, const gnn__run_t *run);

static inline gnn_real_t *gnn__state(const gnn__run_t *run, int64_t i)
{
    return run->states + i * run->state_size;
}

#endif
