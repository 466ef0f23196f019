/* Between the files of the generic driver: the memory of one run, and the walk over pairs. */
#ifndef GNN_AGGREGATE_DRIVER_H
#define GNN_AGGREGATE_DRIVER_H

#include <lib/aggregate/generic/pair.h>

/* Where the sums of a chunk stand for what all edges share; -1 stands for nothing. Offsets into one block per chunk. */
typedef struct gnn__shared_grads {
    int64_t parameters, message_weight, message_bias, key_weight, distance;
    int64_t size;
} gnn__shared_grads_t;

/* Which derivatives the pass by receiver has to compute. */
typedef struct gnn__wanted {
    bool message, edge, key, weight, bias;
} gnn__wanted_t;

typedef struct gnn__driver_run {
    int64_t *bounds; /* chunks of the part at hand */
    int64_t *positions;
    char *scratch; /* scratch_bytes per thread */
    int64_t scratch_bytes;
    gnn_real_t *states; /* n_dst x state_size */
    int64_t state_size;
    gnn_real_t *raw; /* output before the gate (n_dst x out_width), only with a gate in a recorded run */
    /* backward */
    gnn_real_t *partials; /* chunks x shared.size */
    gnn__shared_grads_t shared;
    gnn__wanted_t wanted;
} gnn__driver_run_t;

/* ---- driver_run.c ---- */

/* Arrays that forward and backward both need. */
void gnn__driver_common_memory(const gnn__plan_t *plan, gnn__carve_t *carve, gnn__driver_run_t *run);
/* Multiply-adds over all parts, roughly. */
int64_t gnn__driver_work(const gnn__plan_t *plan);
/* This thread's scratch, inside of a region. */
gnn__pair_scratch_t gnn__driver_scratch(const gnn__plan_t *plan, const gnn__driver_run_t *run);

/* What is done with one pair. `sums`: those of its chunk, for what all edges share. */
typedef void gnn__visit_t(const gnn__plan_t *plan, const gnn__driver_run_t *run,
                          const gnn__pair_scratch_t *scratch, const gnn__pair_t *pair,
                          gnn_real_t *sums);
/* Visits the pairs of part p, row by row, in fixed chunks that threads own; by receiver, or by sender. In backward by receiver the
 * sums of each chunk start at 0. Returns how many chunks there were. */
int64_t gnn__driver_visit(const gnn__plan_t *plan, const gnn__driver_run_t *run, int64_t p,
                          bool transposed, int threads, gnn__visit_t *visit);

static inline gnn_real_t *gnn__driver_state(const gnn__driver_run_t *run, int64_t i)
{
    return run->states + i * run->state_size;
}

/* ---- driver.c, driver_grad.c ---- */

int gnn__driver_forward(const gnn__plan_t *plan, gnn_op_call_t *call);
int gnn__driver_forward_memory(const gnn__plan_t *plan, void *scratch, gnn__driver_run_t *run,
                               size_t *bytes);
int gnn__driver_backward(const gnn__plan_t *plan, gnn_op_call_t *call);
int gnn__driver_backward_memory(const gnn__plan_t *plan, void *scratch, gnn__driver_run_t *run,
                                size_t *bytes);

/* ---- attention_weights.c ---- */

/* Fills edge_weights_out and segment_weights_out from the finished states. */
void gnn__attention_weights(const gnn__plan_t *plan, const gnn__driver_run_t *run);

#endif
