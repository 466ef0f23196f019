/* Attention with heads in lanes: what attention.c hands over. */
#ifndef GNN_AGGREGATE_ATTENTION_LANES_H
#define GNN_AGGREGATE_ATTENTION_LANES_H

#include <lib/aggregate/aggregate.h>

bool gnn__lanes_take(const gnn__plan_t *plan);
int gnn__lanes_sizes(const gnn__plan_t *plan, gnn_op_call_t *call);
int gnn__lanes_forward(const gnn__plan_t *plan, gnn_op_call_t *call);
int gnn__lanes_backward(const gnn__plan_t *plan, gnn_op_call_t *call);

#endif
