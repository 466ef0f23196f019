/* What the ways to run attention share (rows and tiles in attention.c, heads in lanes in attention_lanes.c): the description of a call, and what it keeps. */
#ifndef GNN_AGGREGATE_ATTENTION_H
#define GNN_AGGREGATE_ATTENTION_H

#include <lib/aggregate/aggregate.h>
#include <lib/kernels/attention.h>

/* Forward; d_q and the gradients of edges and parameters; d_k and d_v, over the transposed part. */
typedef enum { GNN__FORWARD, GNN__RECEIVE, GNN__SEND } gnn__pass_t;

/* Everything but the part. */
gnn__attention_t gnn__attention_describe(const gnn__plan_t *plan);
void gnn__attention_part(const gnn__plan_t *plan, int64_t p, gnn__pass_t pass, gnn__attention_t *a);
/* What backward reads and writes. */
void gnn__attention_gradients(const gnn__plan_t *plan, const gnn_op_call_t *call,
                              gnn__attention_t *a);
/* Backward reads every input and the output. */
void gnn__attention_keep(const gnn__plan_t *plan, gnn_op_call_t *call);
int64_t gnn__attention_work(const gnn__plan_t *plan);

#endif
