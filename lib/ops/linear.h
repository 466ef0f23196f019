/* Parts of linear that have files of their own: a sparse x, and few columns. */
#ifndef GNN_OPS_LINEAR_H
#define GNN_OPS_LINEAR_H

#include <lib/ops/support.h>

int gnn__linear_sparse_shape(gnn_op_call_t *call);
int gnn__linear_sparse_forward(gnn_op_call_t *call);
int gnn__linear_sparse_grad(const gnn_op_call_t *call);

/* A dense x of many rows and a y of a few columns have ways of their own: linear_thin.c. */
bool gnn__linear_is_thin(const gnn_op_call_t *call);
/* Forward too: not for so few columns that registers would be half empty. */
bool gnn__linear_has_thin_product(const gnn_op_call_t *call);
int gnn__linear_thin_shape(gnn_op_call_t *call);
int gnn__linear_thin_forward(gnn_op_call_t *call);
/* dW is wanted. */
int gnn__linear_thin_grad(const gnn_op_call_t *call);

#endif
