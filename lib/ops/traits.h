/* Traits of the library's ops, which fusion (lib/tape/fuse.c) reads: it never asks which op it
 * looks at. */
#ifndef GNN_OPS_TRAITS_H
#define GNN_OPS_TRAITS_H

#include <lib/kernels/dense/dense.h>
#include <lib/ops/ops.h>

/* Epilogue of a forward pass: the op stores dropout(f(y + summand + bias)) instead of y. Backward
 * runs as if the fused ops were on the tape. */
typedef struct gnn__finish {
    const gnn_operand_t *summand; /* y's shape; NULL: none */
    const gnn_operand_t *bias;    /* one row; NULL: none, and f is not applied */
    gnn__activation_settings_t f; /* its rate is that of the dropout */
    uint32_t stream;              /* random stream of the dropout */
} gnn__finish_t;

/* A call of an op of the library besides the public struct (gnn_op_call_t.companion). */
typedef struct gnn__companion {
    const gnn__finish_t *finish; /* NULL: no epilogue */
    const gnn__fp16_t *fp16;     /* the elements of input `input`, which an op reads; NULL: none */
    int input;
} gnn__companion_t;

static inline const gnn__finish_t *gnn__op_finish(const gnn_op_call_t *call)
{
    return call->companion ? call->companion->finish : NULL;
}
/* The elements of input k if it is an fp16 or bf16 parameter; else NULL. */
static inline const gnn__fp16_t *gnn__op_fp16(const gnn_op_call_t *call, int k)
{
    const gnn__companion_t *c = call->companion;
    return c && c->input == k ? c->fp16 : NULL;
}

/* The parts of an epilogue that an op supports. */
enum { GNN__FINISH_SUMMAND = 1, GNN__FINISH_BIAS = 2, GNN__FINISH_DROPOUT = 4 };

/* Dense product of inputs 0 and 1: none; overwrites its output; can add to its output. */
typedef enum { GNN__PRODUCT_NONE, GNN__PRODUCT_WRITES, GNN__PRODUCT_ADDS } gnn__product_kind_t;

/* Rows of a value over ranks: the same on all; those that this rank owns; these and its halo's. */
typedef enum { GNN__OVER_NONE, GNN__OVER_OWN, GNN__OVER_WIDE, GNN__OVER_SLICES } gnn__over_t;

/* Members are NULL or 0 where the op does not have the trait. */
typedef struct gnn__op_traits {
    /* Pointer to the dropout rate in the attributes, for an op that applies dropout to its output
     * in forward and backward, with masks of the call's own random stream. A rate of 0: no
     * dropout. */
    gnn_real_t *(*rate)(void *attributes);
    /* y = dropout(x) and nothing else: can be fused into the op before it if that one has a
     * rate. */
    bool is_dropout;
    /* For y = x + alpha z, with z of x's shape or one row: returns alpha. */
    gnn_real_t (*alpha)(const void *attributes);
    /* For y = dropout(f(x + z)) with z one row: returns f and its rate. */
    const gnn__activation_settings_t *(*f)(const void *attributes);
    /* For y = x + z with z one row: the op for f(x + z), whose attributes are
     * gnn__activation_settings_t. */
    const gnn_op_t *with_activation;
    /* The kind of dense product, from the call's shapes and attributes. `adds` points to the
     * attribute that makes the op add to its output. */
    gnn__product_kind_t (*product)(const gnn_op_call_t *call);
    bool *(*adds)(void *attributes);
    /* The set of GNN__FINISH_... that the op supports, from the call's shapes and attributes. */
    unsigned (*finishes)(const gnn_op_call_t *call);
    /* Applies the dropout of a sparse input (gnn__value_t.sparse_dropout) itself. */
    bool drops_sparse;
    /* True if the op reads input k, the fp16 or bf16 parameter `w`, directly; otherwise, and if it
     * reads another one, the tape widens it first. */
    bool (*reads_fp16)(const void *attributes, int k, const gnn__fp16_t *w);
    /* Over ranks: rows of the outputs of an op that makes its own collective calls, or
     * GNN__OVER_SLICES for a call that runs slice by slice. GNN_EUNSUPPORTED by `rc`. */
    gnn__over_t (*over)(const gnn_op_call_t *call, int *rc);
    /* With GNN_OP_BY_ROWS: the input without which rows are read by their index; 0: none. */
    int row_ids;
    /* With GNN_OP_BY_ROWS: the set of inputs that are read whole, such as weights (bit k: input k).
     * Rows of nodes are refused there over ranks, growing rows in incremental decoding. */
    unsigned whole;
    /* Over ranks: the op is refused unless input 0 has the rows of this rank's nodes. */
    bool of_nodes;
} gnn__op_traits_t;

/* True if the op, which has GNN_OP_BY_ROWS, reads all rows of input k. */
static inline bool gnn__op_reads_whole(const gnn_op_t *op, int k)
{
    return op->traits && k < 32 && (op->traits->whole >> k & 1);
}

/* True if row i of an op's outputs depends on rows i of its inputs alone, for calls on any run of
 * rows. `absent` is true for an input that the call does not have. */
static inline bool gnn__op_by_rows(const gnn_op_t *op, bool (*absent)(const void *user, int input),
                                   const void *user)
{
    const int ids = op->traits ? op->traits->row_ids : 0;
    return (op->flags & (GNN_OP_ELEMENTWISE | GNN_OP_BY_ROWS)) && !(ids && absent(user, ids));
}

#endif
