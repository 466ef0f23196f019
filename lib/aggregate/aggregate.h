/* Inside of the op `aggregate`: the plan (what follows from attributes and inputs) and the two ways to carry it out: the generic driver, which works for every
 * row of the tables on every graph, and the kernels that a row may bring for the combinations they take. */
#ifndef GNN_AGGREGATE_AGGREGATE_H
#define GNN_AGGREGATE_AGGREGATE_H

#include <gnn/aggregate.h>
#include <graphs/graph.h>
#include <lib/base/base.h>
#include <lib/ops/ops.h>

extern const gnn_op_t gnn__op_aggregate;

/* Inputs that a tape's plan gives to an aggregation whose forward makes dropout(f(y + summand + bias)) in place of y: a matrix like y, or none; a row, or none. */
enum { GNN__THEN_SUMMAND = GNN_AGGREGATE_INPUTS, GNN__THEN_BIAS, GNN__THEN_INPUTS };
/* What its node has for attributes then. */
typedef struct gnn__finished_aggregate {
    gnn_aggregate_t how;
    gnn__activation_t f;
    uint32_t stream; /* of the dropout */
} gnn__finished_aggregate_t;
/* Which of these the kernels that run this call can do: a set of 1 << GNN__THEN_SUMMAND, 1 << GNN__THEN_BIAS (with f), 1 << GNN__THEN_INPUTS (dropout). */
unsigned gnn__aggregate_finishes(const gnn_op_call_t *call);

typedef struct gnn__plan {
    const gnn_aggregate_t *how;
    const gnn_aggregator_t *row;
    const gnn_message_t *message;
    const gnn_graph_t *graph;
    const gnn__view_t *view;
    const struct gnn__aggregator_kernels *kernels; /* never NULL: the driver's if there are no better ones */
    gnn_aggregate_shape_t shape;                   /* defaults filled in */
    bool scored;
    int64_t message_width;          /* numbers in a message: kv_heads * d_v, or width */
    int64_t out_width;              /* heads * d_v, or width */
    int64_t query_width, key_width; /* 0 for rows without scores */
    int64_t edge_width; /* edge_parts * message_width where edges have a say in the message, else 0 */
    int64_t d_e;        /* edge features, 0 if there are none */
    bool edge_message, edge_key; /* features enter the message, the score */
    bool has[GNN_AGGREGATE_INPUTS];
    gnn_tensor_t in[GNN_AGGREGATE_INPUTS]; /* values: strides are never 0; data NULL where absent or while shapes are worked out */
    gnn_tensor_t d[GNN_AGGREGATE_INPUTS]; /* where gradients go: data NULL where nobody wants them */
    bool d_added[GNN_AGGREGATE_INPUTS];   /* 1: gradients are added to what is there */
    gnn_tensor_t out, d_out;
    bool dropping;
    gnn__dropout_t dropout;
    /* Joined by the tape's plan: see gnn__finished_aggregate_t; data NULL: there is none. */
    gnn_tensor_t summand;
    bool finishes; /* there is a bias, once shapes are worked out */
    const gnn_real_t *bias;
    gnn__activation_t f;
    gnn__dropout_t last_dropout; /* where f.rate > 0 */
    gnn_context_t *context;
    bool recording;
} gnn__plan_t;

/* Fills the plan and checks every input; nothing is allocated. plan.c, inputs.c */
int gnn__plan(gnn__plan_t *plan, const gnn_op_call_t *call);
int gnn__plan_inputs(gnn__plan_t *plan);

/* One way to run an aggregation. */
struct gnn__aggregator_kernels {
    bool (*takes)(const gnn__plan_t *plan);
    /* Sets saved_bytes, forward_scratch, backward_scratch, keep_in and keep_out. */
    int (*sizes)(const gnn__plan_t *plan, gnn_op_call_t *call);
    int (*forward)(const gnn__plan_t *plan, gnn_op_call_t *call);
    int (*backward)(const gnn__plan_t *plan, gnn_op_call_t *call);
    /* As gnn__aggregate_finishes; NULL: none. */
    unsigned (*finishes)(const gnn__plan_t *plan);
};
extern const struct gnn__aggregator_kernels gnn__driver;

/* ---- memory: the same function lays a block out, first without a base to learn its size, then for real ---- */

typedef struct gnn__carve {
    char *base;
    int64_t used;
    bool overflow;
} gnn__carve_t;

static inline void *gnn__carve(gnn__carve_t *c, int64_t count, size_t element)
{
    int64_t bytes, at = c->used;
    if (!gnn__mul(count, (int64_t)element, &bytes) || !gnn__pad(bytes, 64, &bytes) ||
        !gnn__add(at, bytes, &c->used)) {
        c->overflow = true;
        c->used = at;
    }
    return c->base ? c->base + at : NULL;
}

static inline int gnn__carved(const gnn__carve_t *c, size_t *bytes)
{
    *bytes = (size_t)c->used;
    return c->overflow
               ? gnn__error(GNN_EOVERFLOW, "aggregate: the memory it needs does not fit an address")
               : GNN_OK;
}

/* ---- gradients; grads.c ---- */

/* Zeroes every gradient that is not added to, in the order of the inputs: from then on everything only adds, so inputs may share memory. But not those of the inputs in
 * the set `but`. */
void gnn__zero_gradients(const gnn__plan_t *plan, unsigned but);
/* The inputs among messages, keys and queries whose gradients a kernel may write rather than add to: all of the graph is one part of this form, whose passes reach every row
 * once, nothing is there to be added to, and the rows share no memory with those of another input. */
unsigned gnn__written_gradients(const gnn__plan_t *plan, gnn__form_t form);
/* Threads for a pass that owns rows of gradients: 1 if two gradients overlap with their rows shifted against each other. */
int gnn__gradient_threads(const gnn__plan_t *plan, int64_t work);
/* target (1 row, or a block of rows of `cols`) += partial sums of the chunks, in order. */
void gnn__add_partials(const gnn_tensor_t *target, const gnn_real_t *partials, int64_t chunks,
                       int64_t stride);

/* Inputs' gradients that are wanted at all. */
static inline bool gnn__wants(const gnn__plan_t *plan, int input)
{
    return plan->d[input].data != NULL;
}

/* ---- chunks: fixed, whatever the number of threads ---- */

/* Pairs per chunk, for at most some 50 chunks a part. */
static inline int64_t gnn__per_chunk(const gnn__part_t *part)
{
    int64_t per = (part->pairs + part->n_rows) / 48 + 1;
    return per < 512 ? 512 : per;
}

/* The most chunks that any part of the view has, transposed ones included. */
int64_t gnn__most_chunks(const gnn__view_t *view);

/* Scales of a view belong to nodes: which of a part's two arrays is the receivers' depends on which way it lies. */
static inline const gnn_real_t *gnn__dst_scale(const gnn__part_t *part, bool transposed)
{
    return transposed ? part->scale_col : part->scale_row;
}

static inline const gnn_real_t *gnn__src_scale(const gnn__part_t *part, bool transposed)
{
    return transposed ? part->scale_row : part->scale_col;
}

#endif
