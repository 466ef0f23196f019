/* The implementations of linear that have files of their own: a sparse x (linear_sparse.c), and a
 * narrow y (linear_thin.c). */
#ifndef GNN_OPS_LINEAR_H
#define GNN_OPS_LINEAR_H

#include <lib/ops/support.h>

int gnn__linear_sparse_shape(gnn_op_call_t *call);
int gnn__linear_sparse_forward(gnn_op_call_t *call);
int gnn__linear_sparse_grad(const gnn_op_call_t *call);

/* True if dW and dx are computed by the narrow GEMM of linear_thin.c: a dense x of many rows and a
 * y of few columns. */
bool gnn__linear_is_thin(const gnn_op_call_t *call);
/* True if forward uses it, too: y needs enough columns to fill the vector registers. */
bool gnn__linear_has_thin_product(const gnn_op_call_t *call);
int gnn__linear_thin_shape(gnn_op_call_t *call);
int gnn__linear_thin_forward(gnn_op_call_t *call);
/* Call it only where dW is wanted. */
int gnn__linear_thin_grad(const gnn_op_call_t *call);

#endif
