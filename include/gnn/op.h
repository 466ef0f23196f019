/**
 * An op: one piece of differentiable maths, described once (shape, forward, backward) and used by
 * the tape for training and inference. Write a descriptor of your own to add new maths; gnn_tape_op
 * puts it on a tape. What the descriptor says of the op (it is elementwise, an input may be sparse,
 * so much work it does) the tape makes use of, for ops of yours as for the library's.
 */
#ifndef GNN_OP_H
#define GNN_OP_H

#include <gnn/graph.h>
#include <gnn/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The compiler checks arguments from number `arguments` on against the format, argument
 * `format`. */
#if defined(__GNUC__)
#define GNN_PRINTF(format, arguments) __attribute__((__format__(__printf__, format, arguments)))
#else
#define GNN_PRINTF(format, arguments)
#endif

#define GNN_OP_OUTPUTS 3
#define GNN_OP_SAVED 4

/** What random numbers are keyed by: never by a position in memory. */
typedef struct gnn_rng {
    uint64_t seed;
    uint32_t step;   /**< training step */
    uint32_t stream; /**< which use: model step and op, unique within one step of training */
} gnn_rng_t;

/** One input or output of an op as its functions see it. */
typedef struct gnn_operand {
    int64_t rows, cols;
    /** dense value; data NULL while shapes are being worked out, and for absent or sparse inputs */
    gnn_tensor_t value;
    const gnn_sparse_t *sparse; /**< a sparse input, or NULL */
    const int32_t *ids;         /**< an input of row numbers (rows x 1), or NULL */
    /** outputs: gradient that comes in. Inputs: where it goes; data NULL if it is not wanted */
    gnn_tensor_t grad;
    int accumulate; /**< inputs in backward: 1 add to grad, 0 overwrite all of it */
    /** a parameter kept in 16 bits, for ops of the library that read such; NULL elsewhere */
    const struct gnn__halves *halves;
    int present; /**< 0: this optional input was not given */
    int wants_grad;
    int keep; /**< set by `shape`: backward reads the value */
} gnn_operand_t;

/** One application of an op. */
typedef struct gnn_op_call {
    gnn_context_t *context;
    int threads;            /**< at most so many of the context's; 0: all of them */
    const void *attributes; /**< the op's own settings, copied onto the tape; 16-byte aligned */
    int n_in, n_out;
    gnn_operand_t *in; /**< n_in operands; on a tape, the op's place there owns them */
    gnn_operand_t out[GNN_OP_OUTPUTS];
    void *saved[GNN_OP_SAVED]; /**< filled by forward, read by backward; 64-byte aligned */
    void *scratch;             /**< valid within one call of forward or backward; 64-byte aligned */
    gnn_rng_t rng;
    int training;                     /**< 1: dropout is on, running statistics move */
    int recording;                    /**< 1: backward will come (saved[] are needed) */
    const struct gnn__finish *finish; /**< for the library's own ops; NULL elsewhere */
    const char *where;                /**< for messages: "layer 2", "" */

    /* set by `shape` */
    size_t saved_bytes[GNN_OP_SAVED];
    size_t forward_scratch, backward_scratch;
} gnn_op_call_t;

/** What a call does at least: operations (a multiply-add is two), and bytes that it reads and
 * writes. */
typedef struct gnn_op_work {
    double flops, bytes;
} gnn_op_work_t;

/**
 * gnn_op_t.flags: output 0 has the shape of input 0, and forward writes an element of it after it
 * has read what it makes it of, element (r, c) of input 0 and of every other input of that shape.
 * Then a tape may give both the same memory: it does so where no other op and no backward pass
 * reads input 0.
 */
#define GNN_OP_ELEMENTWISE 1u
/**
 * gnn_op_t.flags: the op runs over a graph. Its attributes are gnn_op_options_t, and a step of kind
 * `op` gives it the graph of its slot, as the user made it: without self-loops and norm.
 */
#define GNN_OP_READS_GRAPH 2u

/** What the library's named ops, and those of steps that read a graph, have as attributes. */
typedef struct gnn_op_options {
    double options[4];        /**< the step's; 0: as the op says */
    const gnn_graph_t *graph; /**< with GNN_OP_READS_GRAPH; borrowed until the last run */
} gnn_op_options_t;

/** An op: how shapes, values and gradients of its outputs follow from its inputs. */
typedef struct gnn_op {
    const char *name;
    /** Checks inputs' shapes, sets out[].rows/cols, saved_bytes, scratch and `keep` of operands. No
     * values may be read. May be called again for the same call. */
    int (*shape)(gnn_op_call_t *call);
    /** Fills out[].value. */
    int (*forward)(gnn_op_call_t *call);
    /** Reads out[].grad, writes every in[].grad whose data is not NULL. NULL: not
     * differentiable. */
    int (*backward)(gnn_op_call_t *call);
    unsigned flags; /**< GNN_OP_...; 0: none */
    /** bit k: input k may be sparse; the tape refuses other sparse inputs */
    unsigned sparse_inputs;
    /** For profiles: adjusts what one pass does. `work` comes with no flops and the bytes of all
     * operands, passed once in forward and twice in backward. NULL: that is all that is known. */
    void (*work)(const gnn_op_call_t *call, int backward, gnn_op_work_t *work);
    /** What plans may join to ops of the library; NULL elsewhere. */
    const struct gnn__op_traits *traits;
} gnn_op_t;

/* ---- the library's named ops: rows of lib/ops/ops.def, for steps and for gnn_tape_op ---- */

/* clang-format off */
#define GNN_OP(name) GNN_API extern const gnn_op_t gnn_op_##name;
#include <gnn/tables/ops.def>
#undef GNN_OP
/* clang-format on */

/** Count of the named ops. */
GNN_API size_t gnn_op_count(void);
/** The op of an index, 0 to gnn_op_count() - 1; NULL past the last. */
GNN_API const gnn_op_t *gnn_op_at(size_t index);
/** The op of a name; NULL if there is none, and gnn_error_message() then lists the names. */
GNN_API const gnn_op_t *gnn_op_find(const char *name);

/**
 * Fails with words, for the functions of an op: the message is "WHERE: " (if the call has one) and
 * the formatted text.
 *
 * @param[in] code    GNN_ESHAPE, GNN_EINVALID ...
 * @param[in] format  as printf's, what was expected and what came
 * @return `code`
 */
GNN_API int gnn_op_fail(const gnn_op_call_t *call, int code, const char *format, ...)
    GNN_PRINTF(3, 4);

#ifdef __cplusplus
}
#endif
#endif
