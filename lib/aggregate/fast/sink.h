/* A learned sink per head, for the kernels of softmax: what is left of a receiver's weights once
 * one score more is in the sum. */
#ifndef GNN_AGGREGATE_SINK_H
#define GNN_AGGREGATE_SINK_H

#include <lib/aggregate/aggregate.h>

/* Does the weigher have one? */
bool gnn__has_sink(const gnn__plan_t *plan);
/* After the last part: outputs are scaled, and the log-sum-exp (n_dst x heads) takes the sink in.
 * Backward reads nothing else. */
void gnn__sink_rows(const gnn__plan_t *plan, gnn_real_t *lse, int threads);
/* The sink's gradient, from that log-sum-exp and delta = dY . Y (n_dst x heads). */
void gnn__sink_grad(const gnn__plan_t *plan, const gnn_real_t *lse, const gnn_real_t *delta);

#endif
