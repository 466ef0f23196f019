/* Inside of a tape. N nodes; forward of node k runs at time k, its backward at 2N - 1 - k; plan.c
 * packs buffers whose times do not meet into the same memory. */
#ifndef GNN_LIB_TAPE_TAPE_H
#define GNN_LIB_TAPE_TAPE_H

#include <gnn/tape.h>
#include <lib/base/base.h>
#include <lib/kernels/dense/dense.h>
#include <lib/kernels/dense/halves.h>
#include <lib/ops/traits.h>

/* Operands that joining may add to those of an op: a summand and a bias. */
enum { GNN__JOINED_INPUTS = 2 };

typedef enum {
    GNN__VALUE_INPUT,
    GNN__VALUE_SPARSE,
    GNN__VALUE_IDS,
    GNN__VALUE_PARAMETER,
    GNN__VALUE_VIEW,
    GNN__VALUE_OUTPUT
} gnn__value_kind_t;

/* One value. Views share the memory of their base; only outputs are planned. */
typedef struct gnn__value {
    gnn__value_kind_t kind;
    int64_t rows, cols;
    gnn_tensor_t data, grad; /* where they are; bound by the plan */
    gnn_tensor_t external;   /* the caller's memory of an input or bound value */
    const gnn_sparse_t *sparse;
    const int32_t *ids;
    gnn_parameters_t *parameters;
    int32_t parameter;
    const gnn__halves_t *halves; /* of a parameter that is kept in 16 bits, else NULL */
    gnn_var_t base;              /* of a view; itself otherwise */
    int64_t row, col;            /* of a view inside its base */
    int32_t node;                /* that makes it, -1 */
    bool wants_grad, leaf_grad, kept, bound;
    gnn_real_t sparse_dropout; /* of a dropped sparse input */
    uint32_t stream;           /* of that dropout */
    /* while planning and running backward */
    bool consumed; /* directly, not through a view */
    bool tiled;    /* views cover it exactly: each view is written like a value of its own */
    bool absent;   /* neither it nor its gradient comes into being: see gnn__tape_join */
    bool has_views, written;
    int32_t first_use, last_use; /* nodes that read it or one of its views */
    int32_t last_time;           /* its data is needed until then */
    int32_t grad_from, grad_to;  /* its gradient is alive in between */
    int32_t born;                /* the node that first writes to its memory */
    gnn_var_t data_of;           /* in whose memory it lies, which is written later; GNN_NONE */
    gnn_var_t grad_of;           /* whose gradient is its own too, GNN_NONE */
    int64_t offset, grad_offset;
} gnn__value_t;

/* One op. What its call points to lies behind it in a block of memory that stays when the tape is
 * reset: operands, their numbers, attributes. */
typedef struct gnn__node {
    int64_t bytes; /* of the block */
    const gnn_op_t *op;
    gnn_op_call_t call;
    gnn_var_t *in;    /* as many as operands */
    void *attributes; /* the call's */
    int n_own; /* inputs of its own; behind them, those of the nodes whose forward it does too */
    gnn__finish_t finish; /* the call's, where there are such */
    gnn_var_t out;        /* the first of n_out numbers */
    bool backward;        /* some input wants a gradient */
    bool absorbed;        /* another node does its forward and its backward */
    bool crossed;         /* inputs overlap so that its backward has one thread */
    bool joined;          /* another node does its forward, not its backward */
    /* where its outputs begin: `out`, or those of the node whose work it does too */
    gnn_var_t result;
    int64_t saved_offset[GNN_OP_SAVED];
} gnn__node_t;

/* A buffer to place: alive in [from, to]. */
typedef struct gnn__buffer {
    int64_t bytes, offset;
    int32_t from, to;
    int64_t *where; /* receives the offset */
} gnn__buffer_t;

struct gnn_tape {
    gnn_context_t *context;
    bool recording, training, planned, ran;
    bool frozen;                 /* parameters that come now want no gradient; until the reset */
    gnn__prepacked_t *prepacked; /* of the parameters that are read; until the reset */
    int status;
    char message[512];
    uint32_t step, model_step, op_number;
    const char *where;
    gnn__value_t *values;
    int32_t n_values, values_capacity;
    gnn__node_t **nodes; /* NULL until an op takes the place */
    int32_t n_nodes, nodes_capacity;
    gnn__buffer_t *buffers, **placed;
    int64_t n_buffers, buffers_capacity;
    gnn__arena_t arena;
    size_t scratch; /* largest need of any node */
};

/* Fuses neighbouring ops whose intermediate value has a single reader, and lets ops write in place.
 * Runs once per plan, after it is known who reads each value. */
int gnn__tape_join(gnn_tape_t *tape);
/* Takes back what an earlier plan joined. */
int gnn__tape_separate(gnn_tape_t *tape);
/* If x is read only by y = x + z, then d_x equals d_y: both use one buffer. */
void gnn__tape_share_gradients(gnn_tape_t *tape);
/* Are some numbers in both? Of a value and its views. */
bool gnn__tape_overlap(const gnn__value_t *v, const gnn__value_t *w);
/* Works out lifetimes and offsets, reserves memory, binds pointers. */
int gnn__tape_plan(gnn_tape_t *tape);
/* Bytes that a plan would take for values, and the most that one op needs beside; nothing is
 * reserved. */
int gnn__tape_size(gnn_tape_t *tape, size_t *values, size_t *scratch);
/* The random numbers that the op behind a value draws from. */
gnn_rng_t gnn__tape_rng(const gnn_tape_t *tape, gnn_var_t x);
/* As gnn_tape_op of one input, for an op that draws nothing: where the tape has the same op on the
 * same input with the same attributes already, its value serves once more. */
gnn_var_t gnn__tape_op_once(gnn_tape_t *tape, const gnn_op_t *op, gnn_var_t input,
                            const void *attributes, size_t bytes);
/* The op behind a value reads this stream instead of its own: several products of one dropped input
 * see one mask. */
void gnn__tape_set_stream(gnn_tape_t *tape, gnn_var_t x, uint32_t stream);
/* Layer or rms norm of x + dropout(residual) in one op. */
gnn_var_t gnn__tape_add_norm(gnn_tape_t *tape, const gnn__norm_settings_t *how, gnn_var_t x,
                             gnn_var_t residual, gnn_var_t gain, gnn_var_t shift);
uint32_t gnn__tape_next_stream(gnn_tape_t *tape);
/* As gnn_tape_activation, of a value that has no other reader: where it is a sum with a bias made
 * just before, that op takes the activation over. */
/* gnn_tape_weight_norm with a weight of self-loops that the view adds. `weight` GNN_NONE: edges
 * weigh 1. */
gnn_var_t gnn__tape_weigh_edges(gnn_tape_t *tape, gnn_var_t weight, const gnn_graph_t *graph,
                                gnn_flag_t self_loops, gnn_graph_norm_t kind, gnn_real_t loop_weight);
gnn_var_t gnn__tape_activate(gnn_tape_t *tape, gnn_var_t x, gnn_activation_t kind, gnn_real_t slope);
/* Appends an empty value; NULL after an error. */
gnn__value_t *gnn__tape_append(gnn_tape_t *tape, gnn__value_kind_t kind, int64_t rows, int64_t cols);
/* gnn_parameters_allocate; without `draws` the memory of those that start with random numbers is
 * not touched: the caller fills it. */
int gnn__parameters_make_room(gnn_parameters_t *parameters, gnn_context_t *context, bool draws);
/* From now on the parameter's numbers are of 16 bits, its value has no data: `numbers` (caller's
 * to fill) are (rows x cols), or where it is turned (cols x rows). */
int gnn__parameters_keep(gnn_parameters_t *parameters, int32_t id, bool bf16, bool turned,
                         uint16_t **numbers);
/* Takes that back: the numbers are widened. */
void gnn__parameters_widen(gnn_parameters_t *parameters, const gnn_context_t *context, int32_t id);
/* Sets to 0 what gnn__parameters_make_room without `draws` has left untouched. */
void gnn__parameters_clear(gnn_parameters_t *parameters, int32_t id);
/* NULL: it is not kept in 16 bits. */
const gnn__halves_t *gnn__parameters_halves(const gnn_parameters_t *parameters, int32_t id);
/* GNN_EUNSUPPORTED with the first that is kept in 16 bits: what is to be done needs all numbers. */
int gnn__parameters_check_whole(const gnn_parameters_t *parameters, const char *what);
/* From now on the values do not change, and products may keep what they have laid out of them. */
int gnn__parameters_keep_packed(gnn_parameters_t *parameters);
gnn__prepacked_t *gnn__parameters_prepacked(const gnn_parameters_t *parameters);
/* GNN_EUNSUPPORTED if they may not change. */
int gnn__parameters_check_free(const gnn_parameters_t *parameters, const char *what);
/* The memory of a gradient. It may hold old numbers: see gnn__gradient_is_new. */
gnn_tensor_t gnn__gradient_memory(const gnn_parameters_t *parameters, int32_t id);
/* Is a gradient 0, whatever its memory holds? From now on it is what its memory holds: the caller
 * writes all of it. */
bool gnn__gradient_is_new(const gnn_parameters_t *parameters, int32_t id);
/* Sets one gradient, or all of them, to 0 where no op has written it. */
void gnn__gradient_settle(const gnn_parameters_t *parameters, int32_t id);
void gnn__gradients_settle(const gnn_parameters_t *parameters);
/* The least work of a node's pass, for profiles. */
gnn_op_work_t gnn__node_work(const gnn__node_t *node, bool backward);
/* A value, or NULL with a sticky error if the number is not one. */
gnn__value_t *gnn__tape_at(gnn_tape_t *tape, gnn_var_t x);

#endif
