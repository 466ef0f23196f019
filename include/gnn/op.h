/**
 * An op: a differentiable function, described once (shape, forward, backward) and used by the tape
 * for training and inference. Define a descriptor of your own to add new maths; gnn_tape_op puts it
 * on a tape. The tape uses the properties of the descriptor (elementwise, sparse inputs, work) for
 * ops of your own as for those of the library.
 */
#ifndef GNN_OP_H
#define GNN_OP_H

#include <gnn/graph.h>
#include <gnn/row.h>
#include <gnn/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Compiler checks of printf-like arguments: `format` and `arguments` are positions from 1. */
#if defined(__GNUC__)
#define GNN_PRINTF(format, arguments) __attribute__((__format__(__printf__, format, arguments)))
#else
#define GNN_PRINTF(format, arguments)
#endif

#define GNN_OP_OUTPUTS 3
#define GNN_OP_SAVED 4

/** The key of random numbers; it never depends on addresses. */
typedef struct gnn_rng {
    uint64_t seed;
    uint32_t step;   /**< training step */
    uint32_t stream; /**< model step and op, unique within one training step */
    uint32_t row;    /**< row of the whole graph that is row 0 of the call; 0 without ranks */
} gnn_rng_t;

/** One input or output of an op as its functions see it. */
typedef struct gnn_operand {
    int64_t rows, cols;
    /** dense value; data NULL during shape inference, and for absent or sparse inputs */
    gnn_tensor_t value;
    const gnn_sparse_t *sparse; /**< a sparse input, or NULL */
    const int32_t *ids;         /**< an input of row indices (rows x 1), or NULL */
    /** outputs: the incoming gradient. Inputs: the gradient to write; data NULL if not wanted */
    gnn_tensor_t grad;
    int accumulate; /**< inputs in backward: 1: add to grad, 0: overwrite it */
    int present;    /**< 0: the optional input is absent */
    int wants_grad;
    int keep; /**< set by `shape`: backward needs the value */
} gnn_operand_t;

/** One application of an op. */
typedef struct gnn_op_call {
    gnn_context_t *context;
    int threads;            /**< maximum threads of this call; 0: all threads of the context */
    const void *attributes; /**< the op's own settings, copied onto the tape; 16-byte aligned */
    int n_in, n_out;
    gnn_operand_t *in; /**< (n_in) owned by the tape */
    gnn_operand_t out[GNN_OP_OUTPUTS];
    void *saved[GNN_OP_SAVED]; /**< filled by forward, read by backward; 64-byte aligned */
    void *scratch;             /**< valid within one call of forward or backward; 64-byte aligned */
    gnn_rng_t rng;
    int training;      /**< 1: dropout is on, running statistics are updated */
    int recording;     /**< 1: backward will follow (saved[] is needed) */
    const char *where; /**< for messages: "layer 2", "" */
    /** 1: forward runs a second time in one step (gnn_tape_recompute), on the same values and with
     * the same draws: it fills out[] and saved[] again, and must change nothing else */
    int again;
    /** the tape's, for ops of the library; NULL in calls that a program makes */
    const struct gnn__companion *companion;

    /* set by `shape` */
    size_t saved_bytes[GNN_OP_SAVED];
    size_t forward_scratch, backward_scratch;
} gnn_op_call_t;

/** The minimum work of a call: floating-point operations (a multiply-add is two), and bytes read
 * and written. */
typedef struct gnn_op_work {
    double flops, bytes;
} gnn_op_work_t;

/**
 * gnn_op_t.flags: output 0 has the shape of input 0, and element (r, c) of it depends on element
 * (r, c) of input 0 and of other inputs of that shape only, which forward reads before it writes. A
 * tape then runs the op in place if no other op and no backward pass reads input 0.
 */
#define GNN_OP_ELEMENTWISE 1u
/**
 * gnn_op_t.flags: the op runs over a graph. Its attributes are gnn_op_options_t, in which a step of
 * kind `op` passes the graph of its slot, without self-loops and norm.
 */
#define GNN_OP_READS_GRAPH 2u
/**
 * gnn_op_t.flags: row r of the outputs depends on row r of the inputs, and on whole inputs whose
 * rows are not those of a sequence (weights); draws are keyed by rng.row + r. Steps of the op then
 * run in incremental decoding, and calls over ranks (<gnn/ranks.h>) slice by slice, as those of
 * elementwise ops do.
 */
#define GNN_OP_BY_ROWS 4u

/** Attributes of the library's named ops, and of ops of steps that read a graph. */
typedef struct gnn_op_options {
    double options[4];        /**< those of the step; 0: the op's default */
    const gnn_graph_t *graph; /**< with GNN_OP_READS_GRAPH; borrowed until the last run */
} gnn_op_options_t;

/** An op: its functions for shapes, values and gradients. */
typedef struct gnn_op {
    const char *name;
    /** Checks the shapes of inputs, sets out[].rows and .cols, saved_bytes, scratch sizes and
     * `keep` of operands. Must not read values. May be called repeatedly for one call. */
    int (*shape)(gnn_op_call_t *call);
    /** Fills out[].value. */
    int (*forward)(gnn_op_call_t *call);
    /** Reads out[].grad, writes every in[].grad with non-NULL data. NULL: not differentiable. */
    int (*backward)(gnn_op_call_t *call);
    unsigned flags; /**< GNN_OP_...; 0: none */
    /** bit k: input k may be sparse; the tape refuses other sparse inputs */
    unsigned sparse_inputs;
    /** For profiles: adjusts the work of one pass, which is initialised to 0 flops and the bytes of
     * all operands, once in forward and twice in backward. NULL: no adjustment. */
    void (*work)(const gnn_op_call_t *call, int backward, gnn_op_work_t *work);
    /** Fusions of the library's own ops; else NULL. */
    const struct gnn__op_traits *traits;
    /** Options that the op reads, in the order of gnn_op_options_t.options, its attributes: the
     * tape refuses other values. NULL: the op checks its attributes itself. */
    const gnn_option_t *options;
    size_t n_options;
} gnn_op_t;

/* ---- the library's named ops (lib/ops/ops.def), for steps and for gnn_tape_op ---- */

/* clang-format off */
#define GNN_OP(name) GNN_API extern const gnn_op_t gnn_op_##name;
#include <gnn/tables/ops.def>
#undef GNN_OP
/* clang-format on */

/** Entry `index` of the table of ops, from 0; NULL past the last. */
GNN_API const gnn_op_t *gnn_op_at(size_t index);

/** The op of a name; NULL if there is none, and gnn_error_message() then lists the names. */
GNN_API const gnn_op_t *gnn_op_find(const char *name);

/**
 * Sets the error message in a function of an op: "WHERE: " (if the call has one) and the formatted
 * text.
 *
 * @param[in] code    GNN_ESHAPE, GNN_EINVALID ...
 * @param[in] format  as printf's; what was expected and what was found
 * @return `code`
 */
GNN_API int gnn_op_fail(const gnn_op_call_t *call, int code, const char *format, ...)
    GNN_PRINTF(3, 4);

#ifdef __cplusplus
}
#endif
#endif
