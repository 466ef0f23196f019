/* Helpers of the ops of ops.def: options, shapes, gradients that accumulate, lists of a receiver's
 * senders. */
#ifndef GNN_OPS_NAMED_NAMED_OPS_H
#define GNN_OPS_NAMED_NAMED_OPS_H

#include <graphs/graph.h>
#include <lib/ops/support.h>

#include <math.h>

static inline const gnn_op_options_t *gnn__op_options(const gnn_op_call_t *call)
{
    return call->attributes;
}

/* Option k; 0 stands for `initial`. */
static inline double gnn__op_option(const gnn_op_call_t *call, int k, double initial)
{
    const double value = gnn__op_options(call)->options[k];
    return value != 0 ? value : initial;
}

/* Option k as an integer in 1..most; 0 stands for 1. */
int gnn__op_integer(const gnn_op_call_t *call, const char *name, int k, int64_t most, int64_t *value);

/* Option 0 as a count of heads that divides the columns of input 0. */
int gnn__op_heads(const gnn_op_call_t *call, const char *name, int64_t *heads);

/* GNN_ESHAPE unless input k has this shape. */
int gnn__op_expect(const gnn_op_call_t *call, const char *name, int k, int64_t rows, int64_t cols);

/* Zeroes the gradient of input k unless it accumulates, so that backward may add to it. */
void gnn__op_begin(const gnn_op_call_t *call, int k);
/* Gradient of an operand += values, summed in double and row-major. */
void gnn__op_accumulate(const gnn_operand_t *to, const double *values);

/* ---- over a graph of one part ---- */

/* The pairs of the graph's only part; NULL after setting the message if there is no graph or it
 * has several. */
const gnn__pairs_t *gnn__op_pairs(const gnn_op_call_t *call, const char *name);
/* Checks that input 0 has one row per sender of the graph; *pairs is its only part. */
int gnn__op_senders(const gnn_op_call_t *call, const char *name, const gnn__pairs_t **pairs);
/* The same, and that no sender has more than one edge. */
int gnn__op_senders_once(const gnn_op_call_t *call, const char *name, const gnn__pairs_t **pairs);

/* A value of column c of input 0 and its sender. */
typedef struct gnn__sender_value {
    gnn_real_t value;
    int64_t sender;
} gnn__sender_value_t;

/* Bytes of a list that holds the in-neighbours of any receiver. */
int gnn__op_list_bytes(const gnn_op_call_t *call, const gnn__pairs_t *pairs, size_t *bytes);
/* Fills `list` with column c of input 0 over the in-neighbours of row r and returns their count.
 * Sorted by value, ties by sender: ascending, or descending if largest_first. */
int64_t gnn__op_sorted(const gnn_op_call_t *call, const gnn__pairs_t *pairs, int64_t r, int64_t c,
                       bool largest_first, gnn__sender_value_t *list);

#endif
