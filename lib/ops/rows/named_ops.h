/* What the rows of ops.def share: options, gradients that are added to, walks over a graph. */
#ifndef GNN_OPS_ROWS_NAMED_OPS_H
#define GNN_OPS_ROWS_NAMED_OPS_H

#include <graphs/graph.h>
#include <lib/ops/support.h>

#include <math.h>

static inline const gnn_op_options_t *gnn__op_options(const gnn_op_call_t *call)
{
    return call->attributes;
}

/* Option k, where 0 stands for `initial`. */
static inline double gnn__op_option(const gnn_op_call_t *call, int k, double initial)
{
    const double value = gnn__op_options(call)->options[k];
    return value != 0 ? value : initial;
}

/* A whole number from 1 to `most` as option k. */
int gnn__op_whole(const gnn_op_call_t *call, const char *name, int k, int64_t most, int64_t *value);

/* Input k has this shape. */
int gnn__op_expect(const gnn_op_call_t *call, const char *name, int k, int64_t rows, int64_t cols);

/* Zeroes a gradient that is wanted and not added to: after it, everything is added. */
void gnn__op_begin(const gnn_op_call_t *call, int k);
/* d_input (+)= numbers, row by row, that were summed up in double. */
void gnn__op_add_numbers(const gnn_operand_t *to, const double *numbers);

/* ---- element by element: y = f(options, x), and dy f'(options, x) ---- */

typedef double gnn__element_map_t(const double *options, double x);
int gnn__map_shape(gnn_op_call_t *call, const char *name);
int gnn__map_forward(gnn_op_call_t *call, gnn__element_map_t *f);
int gnn__map_backward(gnn_op_call_t *call, gnn__element_map_t *slope);

/* ---- over a graph of one part ---- */

/* The pairs of the graph's only part, or NULL with GNN_EUNSUPPORTED in words. */
const gnn__pairs_t *gnn__op_pairs(const gnn_op_call_t *call, const char *name);
/* Input 0 has a row for each sender of the graph; *pairs is its only part. */
int gnn__op_senders(const gnn_op_call_t *call, const char *name, const gnn__pairs_t **pairs);

#endif
