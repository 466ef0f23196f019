/* Shared by forward and backward of the reference: the memory of one run, and the walk over
 * pairs. The state per receiver is the aggregator's own, or the weigher's where there are
 * scores. */
#ifndef GNN_AGGREGATE_REFERENCE_H
#define GNN_AGGREGATE_REFERENCE_H

#include <lib/aggregate/reference/pair.h>

/* Derivatives that the pass by receiver has to compute. */
typedef struct gnn__wanted {
    bool message, edge, key, weight, score;
} gnn__wanted_t;

typedef struct gnn__driver_run {
    int64_t *bounds;    /* chunks of the current part */
    int64_t *positions; /* of receivers, then of senders; NULL where no entry reads distances */
    char *scratch;      /* scratch_bytes per thread */
    int64_t scratch_bytes;
    gnn_real_t *states; /* n_dst x state_size */
    int64_t state_size;
    /* backward */
    gnn_real_t *delta;    /* n_dst x heads: dY . Y, of scored rows */
    gnn_real_t *partials; /* chunks x shared_size */
    /* Offset of an input's sums in those of a chunk; -1: the input is not shared by all pairs. */
    int64_t shared[GNN_AGGREGATE_INPUTS], shared_size;
    gnn__wanted_t wanted;
    bool silent; /* backward needs no messages */
    /* over ranks, backward: prepares the rows of the halo, which have arrived; else NULL */
    void (*arrived)(void *user);
    void *user;
} gnn__driver_run_t;

/* ---- the walk ---- */

/* Arrays that forward and backward both need. */
void gnn__driver_common_memory(const gnn__plan_t *plan, gnn__carve_t *carve, gnn__driver_run_t *run);
void gnn__driver_positions(const gnn__plan_t *plan, const gnn__driver_run_t *run);
/* Multiply-adds over all parts, roughly. */
int64_t gnn__driver_work(const gnn__plan_t *plan);
/* This thread's scratch, inside a parallel region. */
gnn__pair_scratch_t gnn__driver_scratch(const gnn__plan_t *plan, const gnn__driver_run_t *run);

/* Processes one row of a part. `sums`: those of its chunk, for what all pairs share. */
typedef void gnn__visit_t(const gnn__walk_t *walk, const gnn__driver_run_t *run,
                          const gnn__pair_scratch_t *scratch, int64_t row, gnn_real_t *sums);
/* Visits the rows of part p, by receiver, or by sender: over ranks those that read the halo after
 * it has arrived. */
int gnn__driver_visit(const gnn__plan_t *plan, const gnn__driver_run_t *run, int64_t p,
                      bool transposed, int threads, gnn__visit_t *visit);
/* Backward by receiver, in fixed chunks that threads own, whose sums start at 0. It reads nothing
 * that travels. Returns how many chunks there were. */
int64_t gnn__driver_sum(const gnn__plan_t *plan, const gnn__driver_run_t *run, int64_t p,
                        int threads, gnn__visit_t *visit);

static inline gnn_real_t *gnn__driver_state(const gnn__driver_run_t *run, int64_t i)
{
    return run->states + i * run->state_size;
}

/* ---- forward, backward ---- */

int gnn__driver_forward(const gnn__plan_t *plan, gnn_op_call_t *call);
int gnn__driver_forward_memory(const gnn__plan_t *plan, void *scratch, gnn__driver_run_t *run,
                               size_t *bytes);
int gnn__driver_backward(const gnn__plan_t *plan, gnn_op_call_t *call);
int gnn__driver_backward_memory(const gnn__plan_t *plan, void *scratch, gnn__driver_run_t *run,
                                size_t *bytes);

/* Passes the message's gradient in scratch->d_message on to receiver, edge, and parameters
 * that all pairs share; without scores *d_weight gets that of the edge's weight. */
void gnn__driver_message_grad(const gnn__plan_t *plan, const gnn__driver_run_t *run,
                              const gnn__pair_scratch_t *scratch, const gnn__pair_t *pair,
                              gnn_real_t *d_weight, gnn_real_t *sums);
/* The same to the sender. */
void gnn__driver_send_message_grad(const gnn__plan_t *plan, const gnn__pair_scratch_t *scratch,
                                   const gnn__pair_t *pair);
/* The free row of `waiting` is the gradient of the projection by input `input`: adds it to the
 * gradient of the features, and keeps it for the sums of the weight. */
void gnn__driver_project_grad(const gnn__plan_t *plan, const gnn__driver_run_t *run, int input,
                              int64_t number, const gnn__waiting_t *waiting, gnn_real_t *sums);
/* At the end of a chunk: adds all that waits to the sums. */
void gnn__driver_end_waiting(const gnn__plan_t *plan, const gnn__driver_run_t *run,
                             const gnn__pair_scratch_t *scratch, gnn_real_t *sums);

/* The free row, of `cols` values. */
static inline gnn_real_t *gnn__driver_free_row(const gnn__waiting_t *waiting, int64_t cols)
{
    return waiting->d + *waiting->count * cols;
}

/* The sums of a chunk for an input, in its shape; data NULL where its gradient is not wanted. */
static inline gnn_tensor_t gnn__driver_sums(const gnn__plan_t *plan, const gnn__driver_run_t *run,
                                            int input, gnn_real_t *sums)
{
    const bool wanted = run->shared[input] >= 0 && gnn__wants_gradient(plan, input);
    return (gnn_tensor_t){wanted ? sums + run->shared[input] : NULL, plan->in[input].rows,
                          plan->in[input].cols, plan->in[input].cols};
}

/* ---- with scores ---- */

/* Scores enter the weigher, then messages and weights go to the aggregator. */
int gnn__driver_attend(const gnn__plan_t *plan, const gnn__driver_run_t *run, int threads);
/* Computes dY . Y of receivers `first` to `end` - 1 and every head, and the gradients of the
 * weigher's parameters. */
void gnn__driver_attend_prepare(const gnn__plan_t *plan, const gnn__driver_run_t *run,
                                int64_t first, int64_t end);
/* For a weigher with other weights backward: the sum of these times their derivatives in place
 * of dY . Y. */
int gnn__driver_attend_delta(const gnn__plan_t *plan, const gnn__driver_run_t *run, int threads);
/* Derivatives of a row of pairs: by receiver, or by sender over a transposed part. */
gnn__visit_t gnn__driver_attend_grad;

/* `row` with `count` zeros where it is wanted; else NULL. */
static inline gnn_real_t *gnn__zeroed(gnn_real_t *row, int64_t count, bool wanted)
{
    if (wanted)
        memset(row, 0, sizeof *row * (size_t)count);
    return wanted ? row : NULL;
}

#endif
