/* Rows of receivers that hear so many senders, apart from the others: what rows_of_degree and
 * place_by_degree share. */
#ifndef GNN_OPS_ROWS_ROWS_OF_DEGREE_H
#define GNN_OPS_ROWS_ROWS_OF_DEGREE_H

#include <lib/ops/rows/named_ops.h>

/* Least to most senders. */
typedef struct gnn__degrees {
    double least, most;
} gnn__degrees_t;

/* Options 0 and 1 of an op over a graph: GNN_EINVALID where they are no degrees. */
int gnn__degrees_check(const gnn_op_call_t *call, const char *name, gnn__degrees_t *degrees);
int64_t gnn__degrees_count(const gnn_op_call_t *call, gnn__degrees_t degrees);
/* Rows `apart`, in order, to their places among all receivers' rows, or from there. */
void gnn__degrees_move(const gnn_op_call_t *call, gnn__degrees_t degrees, const gnn_tensor_t *apart,
                       const gnn_tensor_t *all, bool to_all, bool add);

#endif
