/* Rows of length 1, head by head: what the op of norms and the row unit_heads share. */
#ifndef GNN_OPS_UNIT_ROWS_H
#define GNN_OPS_UNIT_ROWS_H

#include <lib/ops/support.h>

int gnn__unit_shape(gnn_op_call_t *call, const char *name, int64_t heads);
int gnn__unit_forward(gnn_op_call_t *call, int64_t heads);
int gnn__unit_backward(gnn_op_call_t *call, int64_t heads);

#endif
