/* What the library's ops let the plan of a tape do with them (lib/tape/fuse.c). A plan reads these
 * and never asks which op it has before it. */
#ifndef GNN_OPS_TRAITS_H
#define GNN_OPS_TRAITS_H

#include <lib/ops/ops.h>

/* What forward is to make of its rows before it stores them: dropout(f(y + summand + bias)). The op
 * reads it as call->finish. Backward runs as if the ops that did so before stood on the tape. */
typedef struct gnn__finish {
    const gnn_operand_t *summand; /* a matrix like y, or NULL */
    const gnn_operand_t *bias;    /* a row, or NULL: then f is not applied */
    gnn__activation_settings_t f; /* with the rate of the dropout */
    uint32_t stream;              /* of that dropout */
} gnn__finish_t;

/* Which parts of it an op can do. */
enum { GNN__FINISH_SUMMAND = 1, GNN__FINISH_BIAS = 2, GNN__FINISH_DROPOUT = 4 };

/* A dense product of inputs 0 and 1: none; one that overwrites its output; one that can be told to
 * add to it instead. */
typedef enum { GNN__PRODUCT_NONE, GNN__PRODUCT_WRITES, GNN__PRODUCT_ADDS } gnn__product_kind_t;

/* Every member may be NULL or 0: the op is not of that kind. */
typedef struct gnn__op_traits {
    /* The rate, among the op's attributes, of a dropout that it does to its output, forward and
     * backward, by a mask of the call's own stream. 0 drops nothing. */
    gnn_real_t *(*rate)(void *attributes);
    /* y = dropout(x), and no more: the op before it may do this, if it has a rate. */
    bool is_dropout;
    /* y = x + alpha z; z has x's shape or is one row. Returns alpha. */
    gnn_real_t (*alpha)(const void *attributes);
    /* y = f(x + z) with z one row, and perhaps a dropout behind it. Returns f. */
    const gnn__activation_settings_t *(*f)(const void *attributes);
    /* Of y = x + z: the op that makes f(x + z) of a row z and has gnn__activation_settings_t. */
    const gnn_op_t *with_activation;
    /* Reads the call: what kind of product it is. With it goes `adds`: the flag that tells it to
     * add to what its output holds. */
    gnn__product_kind_t (*product)(const gnn_op_call_t *call);
    bool *(*adds)(void *attributes);
    /* Reads the call, shapes and attributes: a set of GNN__FINISH_... */
    unsigned (*finishes)(const gnn_op_call_t *call);
    /* Draws the dropout of a sparse input (gnn__value_t.sparse_dropout) itself. */
    bool drops_sparse;
    /* Does the op read `w`, its input k that is kept in 16 bits, as it is? Else an op before it
     * widens it. */
    bool (*halves)(const void *attributes, int k, const struct gnn__halves *w);
} gnn__op_traits_t;

#endif
