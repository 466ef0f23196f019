/* The part of linear that reads a sparse x. */
#ifndef GNN_OPS_LINEAR_H
#define GNN_OPS_LINEAR_H

#include <lib/ops/support.h>

int gnn__linear_sparse_shape(gnn_op_call_t *call);
int gnn__linear_sparse_forward(gnn_op_call_t *call);
int gnn__linear_sparse_grad(const gnn_op_call_t *call);

#endif
