/* Batch norm beside the norms of rows: one op, two files. */
#ifndef GNN_OPS_NORM_H
#define GNN_OPS_NORM_H

#include <lib/ops/support.h>

static inline gnn_real_t gnn__norm_eps(const gnn_op_call_t *call)
{
    const gnn__norm_settings_t *how = call->attributes;
    return how->eps == 0 ? (gnn_real_t)1e-5 : how->eps;
}

int gnn__batch_norm_shape(gnn_op_call_t *call);
int gnn__batch_norm_forward(gnn_op_call_t *call);
int gnn__batch_norm_backward(gnn_op_call_t *call);

#endif
