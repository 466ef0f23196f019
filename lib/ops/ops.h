/* The ops: descriptors (lib/ops/NAME.c, forward and backward side by side) and their attributes. The builders gnn_tape_... put them on a tape.
 *
 * Inputs by position, as the builders in gnn/tape.h take them:
 *   linear        x (dense or sparse), w (in x out), [b]                     gnn__linear_t
 *   add           x, z (same shape or 1 x cols)                              gnn__add_t
 *   bias          x, z (1 x cols)                                            gnn__activation_t
 *   add_scaled    x, z, eps (1 x 1)
 *   activation    x                                                          gnn__activation_t
 *   dropout       x (dense only; sparse dropout is an attribute of linear)   gnn__rate_t
 *   norm          x, [gain], [shift], [residual, added to x; not batch]      gnn__norm_t
 *   concat        x0 .. xk
 *   gather        table, ids
 *   head_dot      x (n x h*d), a (1 x h*d), [more such; rows below]         gnn__heads_t
 *   head_mean     x (n x h*d)                                                gnn__heads_t
 *   gru           gates_x (n x 3d), gates_h (n x 3d), h (n x d)
 *   weight_norm   weight (m x 1)                                             gnn__weight_norm_t
 *   loss          logits                                                     gnn_loss_t (gnn/tape.h)
 *   aggregate     see GNN_AGGREGATE_... in gnn/aggregate.h                   gnn_aggregate_t (lib/aggregate)
 */
#ifndef GNN_OPS_OPS_H
#define GNN_OPS_OPS_H

#include <gnn/tape.h>
#include <lib/base/base.h>

typedef struct {
    gnn_real_t sparse_dropout; /* rate on the stored numbers of a sparse x; 0: none */
    bool adds;                 /* forward: to what y holds; x dense, no b */
} gnn__linear_t;
typedef struct {
    gnn_real_t alpha;
} gnn__add_t;
typedef struct {
    gnn_activation_t kind;
    gnn_real_t slope;
    gnn_real_t rate; /* of dropout behind it; 0: none. For those whose derivative needs x. */
} gnn__activation_t;
typedef struct {
    gnn_real_t rate;
} gnn__rate_t;
typedef struct {
    gnn_norm_t kind;
    gnn_real_t eps, momentum;
    gnn_tensor_t running; /* data NULL: none */
    gnn_real_t rate;      /* of dropout on the residual */
} gnn__norm_t;
typedef struct {
    int64_t heads;
} gnn__heads_t;
typedef struct {
    const gnn_graph_t *graph;
    gnn_flag_t self_loops;
    gnn_graph_norm_t kind;
} gnn__weight_norm_t;

extern const gnn_op_t gnn__op_linear, gnn__op_add, gnn__op_bias, gnn__op_add_scaled,
    gnn__op_activation, gnn__op_dropout, gnn__op_norm, gnn__op_concat, gnn__op_gather,
    gnn__op_head_dot, gnn__op_head_mean, gnn__op_gru, gnn__op_weight_norm, gnn__op_loss;

/* Rows of `cols` numbers that an op with more than one step does at once, so that they stay in the nearest cache meanwhile. */
static inline int64_t gnn__rows_at_once(int64_t cols)
{
    enum { NUMBERS = 2048 };
    return cols > 0 && cols < NUMBERS ? NUMBERS / cols : 1;
}

/* Rows from .. of y = dropout(f(x + b)), b one row; x and y are those rows, and may be the same. */
void gnn__bias_rows(const gnn__activation_t *f, const gnn__dropout_t *dropout,
                    const gnn_tensor_t *x, const gnn_real_t *b, int64_t from, const gnn_tensor_t *y);

/* Names and formulas of activations, for configs and tests: "gelu_tanh". */
const char *gnn__activation_name(gnn_activation_t kind);
const char *gnn__norm_name(gnn_norm_t kind);

#endif
