/* Internals of a tape of N nodes. Forward of node k runs at time k; backward follows in reverse
 * order, and runs a segment forward again before it enters it from its end. plan.c places buffers
 * whose lifetimes do not overlap in the same memory. */
#ifndef GNN_LIB_TAPE_TAPE_H
#define GNN_LIB_TAPE_TAPE_H

#include <gnn/tape.h>
#include <lib/base/base.h>
#include <lib/kernels/dense/dense.h>
#include <lib/ops/traits.h>

/* Operands that fusion may append to those of an op: a summand and a bias. */
enum { GNN__FUSED_INPUTS = 2 };

typedef enum {
    GNN__VALUE_INPUT,
    GNN__VALUE_SPARSE,
    GNN__VALUE_IDS,
    GNN__VALUE_PARAMETER,
    GNN__VALUE_VIEW,
    GNN__VALUE_OUTPUT
} gnn__value_kind_t;

/* One value of a tape. Views share the memory of their base; only outputs are planned. */
typedef struct gnn__value {
    gnn__value_kind_t kind;
    int64_t rows, cols;
    gnn_tensor_t data, grad;      /* memory, once planned; grad.data NULL: no gradient */
    gnn_tensor_t external;        /* inputs and bound outputs: the caller's memory */
    const gnn_sparse_t *sparse;   /* sparse inputs: the caller's matrix, otherwise NULL */
    const int32_t *ids;           /* inputs of ids: the caller's array, otherwise NULL */
    gnn_parameters_t *parameters; /* parameters: their block, otherwise NULL */
    int32_t parameter;            /* id in that block; -1 */
    const gnn__fp16_t *halves;    /* fp16 or bf16 parameters: their elements, otherwise NULL */
    gnn_var_t base;               /* views: the value that owns the memory; otherwise itself */
    int64_t row, col;             /* views: offset within the base */
    int32_t node;                 /* index of the node that produces it; -1: none */
    bool wants_grad;              /* a gradient flows through it */
    bool leaf_grad;               /* inputs: the caller reads its gradient */
    bool kept;                    /* readable after forward, so its memory is not reused */
    bool bound;                   /* outputs: written to `external` */
    gnn_real_t sparse_dropout;    /* rate of the dropout of a sparse input; 0: none */
    uint32_t stream;              /* random stream of that dropout */
    bool consumed;                /* plan: a node reads it directly, not through a view */
    bool tiled;                   /* plan: views cover it exactly, each written as a value */
    bool fused_away;              /* plan: neither value nor gradient is materialised */
    bool has_views;               /* plan: a node reads a view of it */
    bool inner;                   /* plan: recomputed: only its segment reads it */
    bool again;                   /* plan: ops that write its memory run again */
    bool written;                 /* backward: its gradient has been written to */
    gnn__over_t over;             /* over ranks: the rows that this rank has */
    int32_t first_use, last_use;  /* plan: nodes that read it or a view of it; last -1: none */
    int32_t last_time;            /* plan: the time until which its data is needed; inner: before it
                                     is recomputed */
    int32_t again_from, again_to; /* plan: lifetime once it is recomputed; from > to: none */
    int32_t grad_from, grad_to;   /* plan: lifetime of its gradient */
    int32_t born;                 /* plan: the first node that writes to its memory */
    gnn_var_t data_of;            /* plan: a later value in whose memory it is; GNN_NONE */
    gnn_var_t grad_of;            /* plan: a value whose gradient equals its own; GNN_NONE */
    int64_t offset, grad_offset;  /* plan: bytes from the arena's start; -1: no memory */
} gnn__value_t;

/* One op of a tape. The operands, input ids and attributes follow it in one block of memory, which
 * is kept when the tape is reset. */
typedef struct gnn__node {
    int64_t bytes; /* size of the block */
    const gnn_op_t *op;
    gnn_op_call_t call;
    gnn_var_t *in;        /* ids of the inputs, as many as call.n_in */
    void *attributes;     /* call.attributes, writable */
    int n_own;            /* inputs of the op; those of nodes fused into its forward follow */
    gnn__finish_t finish; /* companion.finish points here if nodes are fused into its forward */
    gnn__companion_t companion;       /* of the call */
    gnn_var_t out;                    /* id of the first of n_out outputs */
    bool backward;                    /* some input wants a gradient */
    bool fused;                       /* another node does its forward and its backward */
    bool forward_fused;               /* another node does its forward, it does its backward */
    bool sliced;                      /* over ranks: it runs slice by slice */
    bool reads_own;                   /* over ranks: an input has rows of this rank's nodes */
    gnn__over_t over;                 /* over ranks: rows of its outputs */
    size_t slice_saved[GNN_OP_SAVED]; /* over ranks: saved bytes of one slice */
    bool crossed;                     /* its inputs overlap so that backward must use one thread */
    int32_t segment;                  /* of gnn_tape_recompute; 0: none */
    bool runs_again;                  /* plan: forward runs again before backward of the segment */
    int32_t again, back;              /* plan: times of that and of its backward; again -1: none */
    gnn_var_t result;                 /* first output: `out`, or that of a fused dropout */
    int64_t saved_offset[GNN_OP_SAVED]; /* bytes from the arena's start */
} gnn__node_t;

/* A buffer to place, alive in [from, to] and, if its content is recomputed, in [again_from,
 * again_to]; from > to: never. */
typedef struct gnn__buffer {
    int64_t bytes, offset;
    int32_t from, to, again_from, again_to;
    int64_t *where; /* receives the offset */
} gnn__buffer_t;

struct gnn_tape {
    gnn_context_t *context;
    bool recording;                 /* backward will run */
    bool training;                  /* dropout and batch statistics are on */
    bool planned;                   /* memory is laid out and bound */
    bool ran;                       /* forward ran since the last reset */
    bool frozen;                    /* parameters added from now on want no gradient; until reset */
    bool recomputes;                /* ops are added to a segment */
    int32_t segments;               /* count of segments so far */
    int32_t end;                    /* plan: the time after the last pass */
    gnn__prepacked_t *prepacked;    /* of constant parameters that ops read; until reset */
    int status;                     /* the first error since the last reset; GNN_OK */
    char message[512];              /* of that error */
    uint32_t step;                  /* training step, a key of random numbers */
    uint32_t model_step, op_number; /* place in the model and op within it, keys as well */
    const char *where;              /* the model step's name, for messages; "" */
    gnn__value_t *values;
    int32_t n_values, values_capacity;
    gnn__node_t **nodes; /* blocks of earlier runs are reused; NULL where there is none yet */
    int32_t n_nodes, nodes_capacity;
    gnn__buffer_t *buffers, **placed; /* of the plan: all, and sorted by offset */
    int64_t n_buffers, buffers_capacity;
    gnn__arena_t arena; /* values, gradients, saved memory */
    size_t scratch;     /* bytes: the largest need of any node */
};

/* Fuses adjacent ops whose intermediate value has a single reader, and lets ops write in place.
 * Runs once per plan, when the readers of each value are known. */
int gnn__tape_fuse(gnn_tape_t *tape);
/* Over ranks: refuses rows of nodes, of which a rank has some, as an input that is read whole. */
int gnn__slices_check(const gnn_tape_t *tape, const gnn__node_t *node);
/* Over ranks: decides how a new node runs, and refuses ops that cannot; slices.c. */
int gnn__slices_describe(gnn_tape_t *tape, gnn__node_t *node);
/* Runs a sliced node. Gradients of inputs that all ranks have are summed over all slices. */
int gnn__slices_run(const gnn_tape_t *tape, gnn__node_t *node, bool backward);
/* Undoes the fusions of an earlier plan. */
int gnn__tape_unfuse(gnn_tape_t *tape);
/* Lets a gradient use another's buffer: if x is read only by y = x + z, then d_x equals d_y. */
void gnn__tape_share_gradients(gnn_tape_t *tape);
/* True if two values, or views of one value, share an element. */
bool gnn__tape_overlap(const gnn__value_t *v, const gnn__value_t *w);
/* Computes lifetimes and offsets, reserves memory, binds pointers. */
int gnn__tape_plan(gnn_tape_t *tape);
/* Bytes of a plan's values, and the largest scratch of an op; reserves nothing. */
int gnn__tape_size(gnn_tape_t *tape, size_t *values, size_t *scratch);
/* Key of the random numbers that the op which produces x draws. */
gnn_rng_t gnn__tape_rng(const gnn_tape_t *tape, gnn_var_t x);
/* gnn_tape_op with one input, for an op that draws nothing: returns the output of an earlier node
 * if it has the same op, input and attributes. */
gnn_var_t gnn__tape_op_once(gnn_tape_t *tape, const gnn_op_t *op, gnn_var_t input,
                            const void *attributes, size_t bytes);
/* The op which produces x draws from this stream instead of its own: several products of one
 * dropped input use the same mask. */
void gnn__tape_set_stream(gnn_tape_t *tape, gnn_var_t x, uint32_t stream);
/* Layer or RMS norm of x + dropout(residual) as one op. */
gnn_var_t gnn__tape_add_norm(gnn_tape_t *tape, const gnn__norm_settings_t *how, gnn_var_t x,
                             gnn_var_t residual, gnn_var_t gain, gnn_var_t shift);
uint32_t gnn__tape_next_stream(gnn_tape_t *tape);
/* gnn_tape_weight_norm with a weight of the self-loops that the view adds. `weight` GNN_NONE:
 * every weight is 1. */
gnn_var_t gnn__tape_weigh_edges(gnn_tape_t *tape, gnn_var_t weight, const gnn_graph_t *graph,
                                gnn_flag_t self_loops, gnn_graph_norm_t kind, gnn_real_t loop_weight);
/* gnn_tape_activation of a value without other readers: if it is a sum with a bias that was just
 * added, that op applies the activation. */
gnn_var_t gnn__tape_activate(gnn_tape_t *tape, gnn_var_t x, gnn_activation_t kind, gnn_real_t slope);
/* Appends an empty value; NULL after an error. */
gnn__value_t *gnn__tape_append(gnn_tape_t *tape, gnn__value_kind_t kind, int64_t rows, int64_t cols);
/* gnn_parameters_allocate; without `draws`, memory of randomly initialised parameters is left for
 * the caller to fill. */
int gnn__parameters_make_room(gnn_parameters_t *parameters, gnn_context_t *context, bool draws);
/* Stores a parameter as fp16 or bf16 from now on; its value has no data. The caller fills
 * `elements` (rows x cols, or cols x rows if transposed). */
int gnn__parameters_keep(gnn_parameters_t *parameters, int32_t id, bool bf16, bool transposed,
                         uint16_t **elements);
/* Converts a parameter back to full precision. */
void gnn__parameters_widen(gnn_parameters_t *parameters, const gnn_context_t *context, int32_t id);
/* Zeroes a parameter that gnn__parameters_make_room without `draws` left uninitialised. */
void gnn__parameters_clear(gnn_parameters_t *parameters, int32_t id);
/* Training records no gradient of a frozen parameter. */
void gnn__parameters_freeze(gnn_parameters_t *parameters, int32_t id, bool frozen);
/* False for parameters that are frozen or stored as fp16 or bf16, whose gradient stays 0. */
bool gnn__parameters_learns(const gnn_parameters_t *parameters, int32_t id);
/* NULL if the parameter is stored in full precision. */
const gnn__fp16_t *gnn__parameters_halves(const gnn_parameters_t *parameters, int32_t id);
/* GNN_EUNSUPPORTED, naming the first fp16 or bf16 parameter: `what` needs all of them in full
 * precision. */
int gnn__parameters_check_whole(const gnn_parameters_t *parameters, const char *what);
/* Marks the values constant, so that GEMM back ends may cache packed copies. */
int gnn__parameters_keep_packed(gnn_parameters_t *parameters);
gnn__prepacked_t *gnn__parameters_prepacked(const gnn_parameters_t *parameters);
/* GNN_EUNSUPPORTED if the values are marked constant. */
int gnn__parameters_check_free(const gnn_parameters_t *parameters, const char *what);
/* The memory of a gradient; may hold stale values: see gnn__gradient_is_new. */
gnn_tensor_t gnn__gradient_memory(const gnn_parameters_t *parameters, int32_t id);
/* True if the gradient counts as 0 whatever its memory holds; the caller must then overwrite all
 * of it, since from now on the memory counts. */
bool gnn__gradient_is_new(const gnn_parameters_t *parameters, int32_t id);
/* Zeroes one gradient, or all, that no op has written. */
void gnn__gradient_settle(const gnn_parameters_t *parameters, int32_t id);
void gnn__gradients_settle(const gnn_parameters_t *parameters);
/* Index of the first node of node k's segment, if k is its last; -1 otherwise. */
int32_t gnn__tape_segment_start(const gnn_tape_t *tape, int32_t k);
/* A value by id; NULL, with the tape in error, if there is none. */
gnn__value_t *gnn__tape_at(gnn_tape_t *tape, gnn_var_t x);

/* Sets the model step of the following ops and a name for error messages.
 *
 * @param[in] model_step  key of dropout
 * @param[in] where       a name such as "layer 2", borrowed until reset; may be NULL */
void gnn__tape_set_place(gnn_tape_t *tape, uint32_t model_step, const char *where);

/* 1 if a value is a sparse input, 0 if not. */
int gnn__tape_is_sparse(const gnn_tape_t *tape, gnn_var_t x);
/* 1 if a value is a dense input without a gradient, 0 if not. */
int gnn__tape_is_constant(const gnn_tape_t *tape, gnn_var_t x);

/* Offset of a parameter in the block. */
int64_t gnn__parameters_offset(const gnn_parameters_t *parameters, int32_t id);

#endif
