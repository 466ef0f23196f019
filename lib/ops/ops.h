/* The ops: their descriptors (gnn_op_t) and attributes. The builders gnn_tape_... put them on a
 * tape.
 *
 * Inputs by position and attributes, as the builders in gnn/tape.h take them:
 *   linear        x (dense or sparse), w (in x out), [b]                gnn__linear_settings_t
 *   add           x, z (same shape or 1 x cols)                         gnn__add_settings_t
 *   add_scaled    x, z, eps (1 x 1)
 *   scale         x                                                     gnn__scale_settings_t
 *   multiply      x, z (1 or rows x 1 or cols)                          gnn__multiply_settings_t
 *   scale_heads   x (n x h*d), g (n or 1 x h)                           gnn__multiply_settings_t
 *   maximum       x0 .. xk
 *   bias          x, z (1 x cols)                                       gnn__activation_settings_t
 *   activation    x                                                     gnn__activation_settings_t
 *   dropout       x (dense; a sparse one is linear's to drop)           gnn__dropout_settings_t
 *   norm          x, [gain], [shift], [residual, added to x; not batch] gnn__norm_settings_t
 *   concat        x0 .. xk
 *   stack         x0 .. xk
 *   repeat_rows   x                                                     gnn__repeat_settings_t
 *   gather        table, ids
 *   edge_rows     x (receivers or senders x d)                          gnn__edge_rows_settings_t
 *   head_dot      x (n x h*d), a_0 .. a_k (1 x h*d) -> (k*n x h)     gnn__heads_settings_t
 *   head_norm     x (n x h*d), gain (1 x d)                           gnn__head_norm_settings_t
 *   head_mean     x (n x h*d)                                           gnn__heads_settings_t
 *   gru           gates_x (n x 3d), gates_h (n x 3d), h (n x d)
 *   weight_norm   [weight] (m x 1)                                      gnn__weight_norm_settings_t
 *   unit_rows     x (n x h*d)                                           gnn__heads_settings_t
 *   loop_rows     x (m x d)                                             gnn__loop_rows_settings_t
 *   widen         an fp16 or bf16 parameter
 *   loss          logits                                                gnn_loss_t (gnn/tape.h)
 *   aggregate     see GNN_AGGREGATE_... in gnn/aggregate.h              gnn_aggregate_t
 */
#ifndef GNN_OPS_OPS_H
#define GNN_OPS_OPS_H

#include <gnn/tape.h>
#include <lib/base/base.h>

/* In functions that put values on a tape: it fails unless the pointer `argument` is given. */
#define GNN__NEED_ON(tape, argument)                             \
    do {                                                         \
        if (!(argument))                                         \
            return gnn__null_on_tape(tape, __func__, #argument); \
    } while (0)
static inline gnn_var_t gnn__null_on_tape(gnn_tape_t *tape, const char *function, const char *argument)
{
    const int rc = gnn__error(GNN_EINVALID, "%s: %s is NULL", function, argument);
    if (tape)
        gnn_tape_fail(tape, rc);
    return GNN_NONE;
}

typedef struct {
    gnn_real_t sparse_dropout; /* dropout rate on the stored values of a sparse x; 0: none */
    bool adds;                 /* forward: y += x W instead of y = x W; x dense, no b */
    bool transposed;           /* w is (out x in); x dense */
} gnn__linear_settings_t;
typedef struct {
    gnn_real_t alpha;
} gnn__add_settings_t;
typedef struct {
    gnn_real_t alpha;
    gnn_real_t rate; /* of the dropout that follows, y = dropout(alpha x); 0: none */
} gnn__scale_settings_t;
typedef struct {
    gnn_real_t rate; /* of the dropout that follows; 0: none */
} gnn__multiply_settings_t;
typedef struct {
    int64_t times;
} gnn__repeat_settings_t;
typedef struct {
    const gnn_graph_t *graph;
    gnn_sides_t side; /* the rows of receivers, or of senders */
} gnn__edge_rows_settings_t;
typedef struct {
    gnn_activation_t kind;
    gnn_real_t slope;
    gnn_real_t rate; /* of the dropout that follows, for an f whose derivative needs x; 0: none */
} gnn__activation_settings_t;
typedef struct {
    gnn_real_t rate;
} gnn__dropout_settings_t;
typedef struct {
    gnn_norm_t kind;
    gnn_real_t eps, momentum;
    gnn_tensor_t running; /* (2 x cols): running mean and variance of batch norm; data NULL: none */
    gnn_real_t rate;      /* of the dropout on the residual */
} gnn__norm_settings_t;
typedef struct {
    int64_t heads;
} gnn__heads_settings_t;
typedef struct {
    int64_t heads;
    gnn_real_t eps;
} gnn__head_norm_settings_t;
typedef struct {
    const gnn_graph_t *graph;
    gnn_flag_t self_loops;
    gnn_graph_norm_t kind;
    gnn_real_t loop_weight; /* weight of the self-loops that the view adds */
} gnn__weight_norm_settings_t;
typedef struct {
    const gnn_graph_t *graph;
} gnn__loop_rows_settings_t;

typedef struct {
    const gnn_graph_t *graph; /* of a rank, with a halo */
    bool senders;             /* inference reads them, too */
} gnn__halo_settings_t;

extern const gnn_op_t gnn__op_linear, gnn__op_add, gnn__op_add_scaled, gnn__op_scale,
    gnn__op_multiply, gnn__op_scale_heads, gnn__op_maximum, gnn__op_bias, gnn__op_activation,
    gnn__op_dropout, gnn__op_norm, gnn__op_concat, gnn__op_stack, gnn__op_repeat_rows,
    gnn__op_edge_rows, gnn__op_head_dot, gnn__op_head_mean, gnn__op_head_norm, gnn__op_gru,
    gnn__op_weight_norm, gnn__op_loss, gnn__op_unit_rows, gnn__op_loop_rows, gnn__op_widen,
    gnn__op_halo_rows, gnn__op_own_rows;

/* Sets output 0 to this shape and clears keep flags, saved and scratch sizes. */
void gnn__op_output(gnn_op_call_t *call, int64_t rows, int64_t cols);

/* Rows of `cols` elements that an op of several passes works on at once, so that a block stays in
 * the L1 cache between the passes. */
static inline int64_t gnn__rows_at_once(int64_t cols)
{
    enum { ELEMENTS = 2048 };
    return cols > 0 && cols < ELEMENTS ? ELEMENTS / cols : 1;
}

/* y = dropout(f(x + b)) for y->rows rows from row `from` on; b is one row. x and y are views of
 * these rows and may be the same. */
void gnn__bias_rows(const gnn__activation_settings_t *f, const gnn__dropout_t *dropout,
                    const gnn_tensor_t *x, const gnn_real_t *b, int64_t from, const gnn_tensor_t *y);

/* Names as configs write them: "gelu_tanh"; "unknown" for other values. */
const char *gnn__activation_name(gnn_activation_t kind);
const char *gnn__norm_name(gnn_norm_t kind);

#endif
