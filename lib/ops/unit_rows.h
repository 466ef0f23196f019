/* L2 normalisation per head, shared by the ops unit_rows and unit_heads and the map l2. */
#ifndef GNN_OPS_UNIT_ROWS_H
#define GNN_OPS_UNIT_ROWS_H

#include <lib/ops/support.h>

int gnn__unit_shape(gnn_op_call_t *call, const char *name, int64_t heads);
int gnn__unit_forward(gnn_op_call_t *call, int64_t heads);
int gnn__unit_backward(gnn_op_call_t *call, int64_t heads);

/* One head of d elements; the gradient is added to dx if `add`. */
void gnn__unit_head(const gnn_real_t *x, int64_t d, gnn_real_t *y);
void gnn__unit_head_grad(const gnn_real_t *x, const gnn_real_t *dy, int64_t d, bool add,
                         gnn_real_t *dx);

#endif
