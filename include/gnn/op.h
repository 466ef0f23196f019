/**
 * An op: one piece of differentiable maths, described once (shape, forward, backward) and used by the tape for training and inference.
 * Write a descriptor of your own to add new maths; gnn_tape_op puts it on a tape.
 */
#ifndef GNN_OP_H
#define GNN_OP_H

#include <gnn/graph.h>
#include <gnn/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GNN_OP_INPUTS 16
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
    gnn_tensor_t value; /**< dense value; data NULL while shapes are being worked out, and for absent or sparse inputs */
    const gnn_sparse_t *sparse; /**< a sparse input, or NULL */
    const int32_t *ids;         /**< an input of row numbers (rows x 1), or NULL */
    gnn_tensor_t grad; /**< outputs: gradient that comes in. Inputs: where it goes; data NULL if nobody wants it */
    int accumulate; /**< inputs in backward: 1 add to grad, 0 overwrite all of it */
    int present;    /**< 0: this optional input was not given */
    int wants_grad;
} gnn_operand_t;

/** One application of an op. */
typedef struct gnn_op_call {
    gnn_context_t *context;
    const void *attributes; /**< the op's own settings, copied onto the tape */
    int n_in, n_out;
    gnn_operand_t in[GNN_OP_INPUTS];
    gnn_operand_t out[GNN_OP_OUTPUTS];
    void *saved[GNN_OP_SAVED]; /**< filled by forward, read by backward; 64-byte aligned */
    void *scratch;             /**< valid within one call of forward or backward; 64-byte aligned */
    gnn_rng_t rng;
    int training;      /**< 1: dropout is on, running statistics move */
    int recording;     /**< 1: backward will come (saved[] are needed) */
    const char *where; /**< for messages: "layer 2", "" */

    /* set by `shape` */
    size_t saved_bytes[GNN_OP_SAVED];
    size_t forward_scratch, backward_scratch;
    unsigned keep_in, keep_out; /**< bit k: backward reads the value of input k / output k */
} gnn_op_call_t;

typedef struct gnn_op {
    const char *name;
    /** Checks inputs' shapes, sets out[].rows/cols, saved_bytes, scratch and keep masks. No values may be read. */
    int (*shape)(gnn_op_call_t *call);
    /** Fills out[].value. */
    int (*forward)(gnn_op_call_t *call);
    /** Reads out[].grad, writes every in[].grad whose data is not NULL. NULL: not differentiable. */
    int (*backward)(gnn_op_call_t *call);
} gnn_op_t;

#ifdef __cplusplus
}
#endif
#endif
