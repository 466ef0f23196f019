/**
 * The tape: a short program of coarse-grained ops that is planned once and run forward and
 * backward. Recording computes nothing; shapes are checked as ops are added. Errors are sticky:
 * after a failed call, later ones do nothing and gnn_tape_status returns the first error.
 *
 *     gnn_var_t x = gnn_tape_input(tape, &features, 0);
 *     gnn_var_t y = gnn_tape_linear(tape, x, weight, bias);
 *     GNN_TRY(gnn_tape_forward(tape));               plans memory if anything changed, then runs
 *     GNN_TRY(gnn_tape_backward(tape, y, &d_y));     only if recording
 *
 * Memory: values live in one arena that only grows; values that backward needs are kept, others are
 * recycled. Later runs of a program of the same size allocate nothing. A tape belongs to one
 * thread.
 */
#ifndef GNN_TAPE_H
#define GNN_TAPE_H

#include <gnn/aggregate.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A program of ops with the memory of its values; belongs to one thread. */
typedef struct gnn_tape gnn_tape_t;
/** A value on a tape. GNN_NONE is an absent optional input, and the result of a failed call. */
typedef int32_t gnn_var_t;
#define GNN_NONE ((gnn_var_t)-1)

/* ---- parameters: one block of memory with named matrices; gradients share its layout ---- */

/** A block of named parameters, with values and gradients of one layout. */
typedef struct gnn_parameters gnn_parameters_t;

/** An empty block of parameters, the caller's, for gnn_parameters_free. GNN_EMEMORY. */
GNN_API int gnn_parameters_new(gnn_parameters_t **parameters);
/** Frees values and gradients; may be NULL. Tapes that use them must not run afterwards. */
GNN_API void gnn_parameters_free(gnn_parameters_t *parameters);
/**
 * Declares a (rows x cols) parameter and returns its id. Only before gnn_parameters_allocate.
 *
 * @param[in]  name           copied
 * @param[in]  init_argument  the constant, or the standard deviation
 * @param[in]  fan_in         0: rows
 * @param[in]  fan_out        0: cols
 * @param[out] id             of the new parameter; may be NULL
 * @return GNN_OK; GNN_EINVALID (a NULL, a name twice, values are allocated); GNN_EOVERFLOW;
 *         GNN_EMEMORY
 */
GNN_API int gnn_parameters_add(gnn_parameters_t *parameters, const char *name, int64_t rows,
                               int64_t cols, gnn_init_t init, double init_argument, int64_t fan_in,
                               int64_t fan_out, int32_t *id);
/**
 * Allocates values and gradients (zero) and draws initial values, keyed by the context's seed and
 * the parameter's name.
 *
 * @return GNN_OK; GNN_EMEMORY
 */
GNN_API int gnn_parameters_allocate(gnn_parameters_t *parameters, gnn_context_t *context);
/** Count of the parameters. Their ids are 0 .. count - 1; a tape refuses others. */
GNN_API int32_t gnn_parameters_count(const gnn_parameters_t *parameters);
/** The name of a parameter, owned by the block; NULL if there is no such id. */
GNN_API const char *gnn_parameters_name(const gnn_parameters_t *parameters, int32_t id);
/** The id of the parameter of a name; -1 if there is none. */
GNN_API int32_t gnn_parameters_find(const gnn_parameters_t *parameters, const char *name);
/** A view (rows x cols) of a parameter's values; 0 x 0 and NULL if there is no such id. */
GNN_API gnn_tensor_t gnn_parameters_value(const gnn_parameters_t *parameters, int32_t id);
/** A view (rows x cols) of a parameter's gradient; 0 x 0 and NULL if there is no such id. */
GNN_API gnn_tensor_t gnn_parameters_gradient(const gnn_parameters_t *parameters, int32_t id);
/**
 * The whole block (values, or gradients); elements between parameters are padding and stay 0.
 *
 * @param[in]  gradients  0: values; 1: gradients
 * @param[out] length     count of the elements; may be NULL
 */
GNN_API gnn_real_t *gnn_parameters_block(const gnn_parameters_t *parameters, int gradients,
                                         int64_t *length);
/** Sets all gradients to 0, lazily: the next backward pass, gnn_parameters_gradient and
 * gnn_parameters_block see zeros. Pointers obtained earlier may show old values until one of these
 * has been called. */
GNN_API void gnn_parameters_zero_gradients(gnn_parameters_t *parameters);

/* ---- the tape ---- */

/** An empty tape, the caller's, for gnn_tape_free. The context must outlive it. GNN_EMEMORY. */
GNN_API int gnn_tape_new(gnn_tape_t **tape, gnn_context_t *context);
/** Frees the program and its memory; may be NULL. Inputs and parameters stay. */
GNN_API void gnn_tape_free(gnn_tape_t *tape);
/**
 * Clears the program, keeps the memory.
 *
 * @param[in] recording  1: backward will be called; else 0
 * @param[in] training   1: dropout on; else 0
 */
GNN_API void gnn_tape_reset(gnn_tape_t *tape, int recording, int training);
/**
 * The training step; may be changed between runs of one program.
 *
 * @param[in] step  key of dropout
 */
GNN_API void gnn_tape_set_step(gnn_tape_t *tape, uint32_t step);
/**
 * The first error since the last reset, or GNN_OK. gnn_error_message has its message.
 *
 * @return the first error since the last reset, or GNN_OK
 */
GNN_API int gnn_tape_status(const gnn_tape_t *tape);
/**
 * Records a failure (whose message is already set) unless there is one.
 *
 * @param[in] code  of the failure; GNN_OK: none
 * @return the first error since the last reset, or GNN_OK
 */
GNN_API int gnn_tape_fail(gnn_tape_t *tape, int code);

/**
 * Puts an input on the tape; its memory is borrowed until the last run.
 *
 * @param[in] wants_grad  1: gnn_tape_gradient will be called; else 0
 */
GNN_API gnn_var_t gnn_tape_input(gnn_tape_t *tape, const gnn_tensor_t *x, int wants_grad);
/** Puts a sparse input on the tape, for ops that support it: linear and dropout. The arrays are
 * borrowed. */
GNN_API gnn_var_t gnn_tape_sparse(gnn_tape_t *tape, const gnn_sparse_t *x);
/**
 * Puts row indices (count x 1) on the tape, for gnn_tape_gather. No gradient flows.
 *
 * @param[in] ids    (count) rows of what is gathered; borrowed
 * @param[in] count  count of the ids
 */
GNN_API gnn_var_t gnn_tape_ids(gnn_tape_t *tape, const int32_t *ids, int64_t count);
/** Puts a parameter on the tape: it must outlive the tape's runs; backward adds to its gradient in
 * the block. */
GNN_API gnn_var_t gnn_tape_parameter(gnn_tape_t *tape, gnn_parameters_t *parameters, int32_t id);
/**
 * A submatrix of a dense value: no copy, and gradients are written into that of x.
 *
 * @param[in] row   first row
 * @param[in] rows  count of the rows
 * @param[in] col   first column
 * @param[in] cols  count of the columns
 */
GNN_API gnn_var_t gnn_tape_view(gnn_tape_t *tape, gnn_var_t x, int64_t row, int64_t rows,
                                int64_t col, int64_t cols);
/**
 * The value without its gradient: gradients do not flow back to x. No copy is made.
 *
 * @return x itself if no gradient would flow anyway (not recording, x needs no gradient, or is
 *         sparse); else a view of x; GNN_NONE after an error
 */
GNN_API gnn_var_t gnn_tape_detach(gnn_tape_t *tape, gnn_var_t x);
/**
 * Puts any op on the tape.
 *
 * @param[in] inputs      n_inputs values, 0 to 4096; GNN_NONE for an absent optional one
 * @param[in] n_inputs    count of the inputs
 * @param[in] attributes  `bytes` bytes that the op's functions read as call->attributes, copied;
 *                        NULL if there are none
 * @param[in] bytes       size of the attributes
 * @return output 0; further outputs follow it. GNN_NONE after an error: one of the op, GNN_EINVALID
 *         (too many inputs, an invalid value), GNN_EUNSUPPORTED (a sparse input that the op does
 *         not support), GNN_EMEMORY
 *
 * Cost: nothing is computed; memory of the op is reused after gnn_tape_reset.
 */
GNN_API gnn_var_t gnn_tape_op(gnn_tape_t *tape, const gnn_op_t *op, const gnn_var_t *inputs,
                              int n_inputs, const void *attributes, size_t bytes);
/**
 * Starts a segment of ops whose values backward computes again instead of keeping them: those that
 * are not kept, bound, or read by ops outside the segment. Forward runs twice for these ops, with
 * the same draws, so that results have the same bits. A segment that ends where backward starts
 * saves nothing. Without recording, and in place of ops over ranks (GNN_EUNSUPPORTED), there are no
 * segments.
 *
 * @param[in] on  1: the following ops form another segment, until the next call; 0: none
 *
 * Memory: with s segments of equal size, values between segments and 1/s of the others. Paper: Chen
 * et al. 2016.
 */
GNN_API void gnn_tape_recompute(gnn_tape_t *tape, int on);
/** Stores a value in the caller's memory (same shape). */
GNN_API void gnn_tape_bind(gnn_tape_t *tape, gnn_var_t x, const gnn_tensor_t *memory);
/** Keeps a value readable after forward (others are recycled). */
GNN_API void gnn_tape_keep(gnn_tape_t *tape, gnn_var_t x);

/**
 * Plans the program if anything changed, then runs it.
 *
 * @return GNN_OK; the first error of the calls that built the tape, or of an op; GNN_EMEMORY
 */
GNN_API int gnn_tape_forward(gnn_tape_t *tape);
/**
 * Runs the tape backward from root to all inputs and parameters. Adds to the gradients of
 * parameters.
 *
 * @param[in] root    output of an op
 * @param[in] d_root  (shape of root); NULL: ones
 * @return GNN_OK; the first error since the last reset; GNN_EINVALID: the tape does not record, or
 *         forward did not run, or root depends on nothing with a gradient; GNN_ESHAPE: d_root;
 *         GNN_EMEMORY
 */
GNN_API int gnn_tape_backward(gnn_tape_t *tape, gnn_var_t root, const gnn_tensor_t *d_root);

/** Rows of a value, valid before the run; 0 if there is no such value. */
GNN_API int64_t gnn_tape_rows(const gnn_tape_t *tape, gnn_var_t x);
/** Columns of a value; 0 if there is no such value. */
GNN_API int64_t gnn_tape_cols(const gnn_tape_t *tape, gnn_var_t x);
/** A value after forward, of inputs, kept and bound values and roots; data NULL for others. */
GNN_API gnn_tensor_t gnn_tape_value(const gnn_tape_t *tape, gnn_var_t x);
/** A gradient after backward, of inputs that want one; data NULL for others. */
GNN_API gnn_tensor_t gnn_tape_gradient(const gnn_tape_t *tape, gnn_var_t x);
/** Bytes of the activation arena. */
GNN_API size_t gnn_tape_bytes(const gnn_tape_t *tape);

/* ---- ops ----
 *
 * A builder checks shapes and returns its result, or GNN_NONE after an error, which gnn_tape_status
 * then returns: GNN_ESHAPE for shapes that do not agree, GNN_EINVALID for settings out of their
 * range, GNN_EUNSUPPORTED for sparse values and lists of ids in place of dense values. Nothing is
 * computed before gnn_tape_forward. */

/** Activations: GNN_IDENTITY, GNN_RELU, GNN_LEAKY_RELU, GNN_ELU, GNN_GELU, GNN_GELU_TANH, GNN_SILU,
 * GNN_TANH, GNN_SIGMOID, GNN_SOFTPLUS. */
typedef enum {
    GNN_ACTIVATION_DEFAULT = 0,
#define GNN_ACTIVATION(id, name, from_output) GNN_##id,
#include <gnn/tables/activations.def>
#undef GNN_ACTIVATION
    GNN_ACTIVATION_COUNT
} gnn_activation_t;

/** Norms: of each row (layer, rms, L2), or over rows (batch). */
typedef enum {
    GNN_NORM_DEFAULT = 0,
    GNN_NORM_NONE,
    GNN_NORM_LAYER,
    GNN_NORM_BATCH,
    GNN_NORM_RMS,
    GNN_NORM_L2 /**< each row divided by its length, at least 1e-12; no gain, no shift */
} gnn_norm_t;

/** Losses. */
typedef enum {
    GNN_LOSS_CROSS_ENTROPY = 0,
    GNN_LOSS_BINARY_CROSS_ENTROPY,
    GNN_LOSS_MEAN_SQUARED
} gnn_loss_kind_t;

/** y = x W + b; x (n x in) dense or sparse, W (in x out), b (1 x out) or GNN_NONE. */
GNN_API gnn_var_t gnn_tape_linear(gnn_tape_t *tape, gnn_var_t x, gnn_var_t w, gnn_var_t b);
/**
 * y = x W' + b with a transposed weight, as for tied embeddings; the table's gradients from here
 * and from gnn_tape_gather add up.
 *
 * @param[in] x  (n x in), dense
 * @param[in] w  (out x in)
 * @param[in] b  (1 x out), or GNN_NONE
 * @return y (n x out)
 *
 * Cost: that of gnn_tape_linear. Paper: Press and Wolf 2017 (tied embeddings).
 */
GNN_API gnn_var_t gnn_tape_linear_transposed(gnn_tape_t *tape, gnn_var_t x, gnn_var_t w, gnn_var_t b);
/** y = x + alpha z; same shapes, or z (1 x cols) added to every row. */
GNN_API gnn_var_t gnn_tape_add(gnn_tape_t *tape, gnn_var_t x, gnn_var_t z, gnn_real_t alpha);
/** y = (1 + eps) x + z with a learned scalar eps (1 x 1). GIN: Xu et al. 2019, eq. 4.1. */
GNN_API gnn_var_t gnn_tape_add_scaled(gnn_tape_t *tape, gnn_var_t x, gnn_var_t z, gnn_var_t eps);
/**
 * y = alpha x.
 *
 * @param[in] alpha  a constant; 1 returns x itself
 * @return y, of x's shape
 */
GNN_API gnn_var_t gnn_tape_scale(gnn_tape_t *tape, gnn_var_t x, gnn_real_t alpha);
/**
 * y = x z, element by element.
 *
 * @param[in] x  (n x cols)
 * @param[in] z  (n x cols), or broadcast: (1 x cols), (n x 1) or (1 x 1). May be x itself
 * @return y (n x cols)
 *
 * Cost: O(n cols). Backward keeps x and z. Gradients of a broadcast z are summed in double, in an
 * order that depends on the shape alone.
 */
GNN_API gnn_var_t gnn_tape_multiply(gnn_tape_t *tape, gnn_var_t x, gnn_var_t z);
/**
 * y_rhk = g_rh x_rhk: scales the columns of each head, as gates of attention.
 *
 * @param[in] x  (n x h*d), head by head
 * @param[in] g  (n x h), or (1 x h) for all rows; its columns define h
 * @return y (n x h*d); GNN_ESHAPE if g's columns do not divide x's
 *
 * Cost: O(n h d). Backward keeps x and g.
 */
GNN_API gnn_var_t gnn_tape_scale_heads(gnn_tape_t *tape, gnn_var_t x, gnn_var_t g);
/**
 * y = max(x_0, x_1, ...), element by element. Ties share the gradient equally, as in the aggregator
 * max; a NaN propagates, without a gradient.
 *
 * @param[in] x      `count` values of one shape, 1 to 4096
 * @param[in] count  count of the values
 * @return y, of that shape
 *
 * Cost: O(count) passes in each direction. Backward keeps all x.
 */
GNN_API gnn_var_t gnn_tape_maximum(gnn_tape_t *tape, const gnn_var_t *x, int count);
/** y = f(x), an activation of each element; `slope` is that of leaky ReLU (0: 0.2); alpha of ELU is
 * 1. */
GNN_API gnn_var_t gnn_tape_activation(gnn_tape_t *tape, gnn_var_t x, gnn_activation_t kind,
                                      gnn_real_t slope);
/** Inverted dropout, off unless the tape is training; sparse x: on its stored values, with a sparse
 * result for linear. rate in [0, 1). */
GNN_API gnn_var_t gnn_tape_dropout(gnn_tape_t *tape, gnn_var_t x, gnn_real_t rate);
/** Normalises each row (layer, rms), or each column over all rows (batch norm). gain, shift (1 x
 * cols), GNN_NONE: none. `running`, the caller's or NULL, has batch norm's running statistics (2 x
 * cols: mean, variance): training updates them with `momentum`, inference normalises by them, or
 * without them by its own. */
GNN_API gnn_var_t gnn_tape_norm(gnn_tape_t *tape, gnn_norm_t kind, gnn_var_t x, gnn_var_t gain,
                                gnn_var_t shift, gnn_real_t eps, const gnn_tensor_t *running,
                                gnn_real_t momentum);
/**
 * The columns of 1 to 4096 values, concatenated.
 *
 * @param[in] x      (count)
 * @param[in] count  count of the values
 */
GNN_API gnn_var_t gnn_tape_concat(gnn_tape_t *tape, const gnn_var_t *x, int count);
/**
 * Concatenates rows.
 *
 * @param[in] x      `count` values with equal columns, 1 to 4096; any may have no rows
 * @param[in] count  count of the values
 * @return all rows, those of x[0] first
 */
GNN_API gnn_var_t gnn_tape_stack(gnn_tape_t *tape, const gnn_var_t *x, int count);
/**
 * Repeats the rows of x: row r of the result is row r mod k of x. Places k learned rows (seeds of a
 * Set Transformer, a class token) in each of `times` segments.
 *
 * @param[in] x      (k x cols)
 * @param[in] times  0 or more
 * @return (times*k x cols)
 *
 * Cost: O(times k cols). The gradient of a row is summed over its repetitions, in double, in an
 * order that depends on the shape alone. Paper: Lee et al. 2019 (Set Transformer).
 */
GNN_API gnn_var_t gnn_tape_repeat_rows(gnn_tape_t *tape, gnn_var_t x, int64_t times);
/** Gathers rows: row r of the result is row ids[r] of `table`, zeros for an id of -1. */
GNN_API gnn_var_t gnn_tape_gather(gnn_tape_t *tape, gnn_var_t table, gnn_var_t ids);
/** The ends of an edge. */
typedef enum { GNN_SIDE_RECEIVERS = 1, GNN_SIDE_SENDERS = 2, GNN_SIDE_BOTH = 3 } gnn_sides_t;
/**
 * Gathers rows for edges: row e of the result is the row of x of the receiver, or of the sender, of
 * edge e.
 *
 * @param[in] x      (n_dst x d) for receivers, (n_src x d) for senders
 * @param[in] graph  borrowed until the last run; stores edges, not spans. Gradients of senders need
 *                   its plain view with .backward (gnn_graph_prepare)
 * @param[in] side   GNN_SIDE_RECEIVERS or GNN_SIDE_SENDERS
 * @return (m x d), by edge id. GNN_EUNPREPARED: the view is missing; GNN_EUNSUPPORTED: a part of
 *         the graph stores spans (gnn_graph_to_edges)
 *
 * Cost: O(m d) time and memory. Backward sums over each node's edges in the order of the graph, or
 * of its transpose: each row is owned by one thread, so the bits do not depend on the thread count.
 */
GNN_API gnn_var_t gnn_tape_edge_rows(gnn_tape_t *tape, gnn_var_t x, const gnn_graph_t *graph,
                                     gnn_sides_t side);
/** One dot product per head: (n x heads*d) with (1 x heads*d) -> (n x heads). */
GNN_API gnn_var_t gnn_tape_head_dot(gnn_tape_t *tape, gnn_var_t x, gnn_var_t a, int64_t heads);
/** The mean over heads: (n x heads*d) -> (n x d). */
GNN_API gnn_var_t gnn_tape_head_mean(gnn_tape_t *tape, gnn_var_t x, int64_t heads);
/** GRU cell (Cho et al. 2014; PyTorch's form): gates_x (n x 3d) = x W_ih + b_ih, gates_h (n x 3d) =
 * h W_hh + b_hh in the order r, z, n. */
GNN_API gnn_var_t gnn_tape_gru(gnn_tape_t *tape, gnn_var_t gates_x, gnn_var_t gates_h, gnn_var_t h);
/** Differentiable GCN normalisation by edge weights: (m x 1) -> (m + n x 1): w_ij / sqrt(deg_i
 * deg_j) for edges and, where the view adds self-loops, 1 / deg_i at m + i. kind: symmetric or row.
 * Feed it to aggregate as edge weight on a view without norm. */
GNN_API gnn_var_t gnn_tape_weight_norm(gnn_tape_t *tape, gnn_var_t weight, const gnn_graph_t *graph,
                                       gnn_flag_t self_loops, gnn_graph_norm_t kind);
/** Aggregates over a graph by the settings in gnn_aggregate_t; `inputs` has GNN_AGGREGATE_INPUTS
 * values, in the order of GNN_AGGREGATE_... */
GNN_API gnn_var_t gnn_tape_aggregate(gnn_tape_t *tape, const gnn_aggregate_t *how,
                                     const gnn_var_t *inputs);

/** A loss and its targets. Arrays are borrowed. */
typedef struct gnn_loss {
    gnn_loss_kind_t kind;
    const int32_t *labels;       /**< (n) classes, for cross-entropy; rows with -1 are excluded */
    const gnn_tensor_t *targets; /**< (n x c), for binary cross-entropy and mean squared error */
    const uint8_t *mask;         /**< (n) rows that count; NULL: all */
    gnn_real_t label_smoothing;  /**< in [0, 1) */
    /** (c), or NULL; the mean is weighted, as in PyTorch */
    const gnn_real_t *class_weight;
    /** (n) non-negative weights of rows; NULL: 1. The mean is weighted by them too */
    const gnn_real_t *row_weight;
    /** count of the classes, which the logits' columns must equal; 0: it is not known */
    int64_t classes;
} gnn_loss_t;
/** Mean loss over the rows that count -> (1 x 1). Pointers in `loss` are borrowed. Without such
 * rows the loss and its gradient are 0. */
GNN_API gnn_var_t gnn_tape_loss(gnn_tape_t *tape, gnn_var_t logits, const gnn_loss_t *loss);

#ifdef __cplusplus
}
#endif
#endif
