/* Gates of heads: outputs are multiplied after a way has run and, in backward, their gradient
 * before, so that no way knows of them. */
#ifndef GNN_AGGREGATE_GATE_ROWS_H
#define GNN_AGGREGATE_GATE_ROWS_H

#include <lib/aggregate/aggregate.h>

/* Where outputs stand before they are multiplied: the last of what a call saves. */
enum { GNN__GATE_SAVED = GNN_OP_SAVED - 1 };

/* After the way's sizes: what a call with a gate saves, and *bytes of scratch that its backward
 * needs in front of the way's; 0 without a gate. */
int gnn__gate_sizes(const gnn__plan_t *plan, gnn_op_call_t *call, size_t *bytes);
/* A plan with a gate as its way sees it: the output is not gated yet. In backward `scratch`
 * receives the gradient of that output. */
gnn__plan_t gnn__gate_open(const gnn__plan_t *plan, const gnn_op_call_t *call, void *scratch);
/* After the way's forward: the output, from that of the plan `open`. */
void gnn__gate_rows(const gnn__plan_t *plan, const gnn__plan_t *open);
/* After the way's backward, which zeroes gradients: the gate's. */
void gnn__gate_rows_grad(const gnn__plan_t *plan, const gnn__plan_t *open);

#endif
