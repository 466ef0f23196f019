/* Attention for its kernels: which calls they can run, the description of a call, the operands
 * that it keeps for backward. */
#ifndef GNN_AGGREGATE_ATTENTION_CALL_H
#define GNN_AGGREGATE_ATTENTION_CALL_H

#include <lib/aggregate/aggregate.h>
#include <lib/kernels/attention/attention.h>

/* FORWARD; RECEIVE: backward by receiver (d_q, edges, parameters); SEND: backward by sender,
 * over the transposed part (d_k, d_v). */
typedef enum { GNN__FORWARD, GNN__RECEIVE, GNN__SEND } gnn__pass_t;

static inline gnn__matrix_t gnn__matrix_of(const gnn_tensor_t *t)
{
    return (gnn__matrix_t){t->data, t->stride};
}

/* True for scores that kernels know, on inputs that they read in place. A graph without parts
 * is left to the reference, and so are keys and values of width 0. */
bool gnn__attention_is_fast(const gnn__plan_t *plan);
/* Everything but the part. */
gnn__attention_t gnn__attention_describe(const gnn__plan_t *plan);
void gnn__attention_part(const gnn__plan_t *plan, int64_t p, gnn__pass_t pass, gnn__attention_t *a);
/* Adds the operands that backward reads and writes. */
void gnn__attention_gradients(const gnn__plan_t *plan, const gnn_op_call_t *call,
                              gnn__attention_t *a);
/* Backward reads every input and the output. */
void gnn__attention_keep(const gnn__plan_t *plan, gnn_op_call_t *call);
int64_t gnn__attention_work(const gnn__plan_t *plan);

#endif
