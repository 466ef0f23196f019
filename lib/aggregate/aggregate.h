/* Inside of the op `aggregate`: the plan (what follows from attributes and inputs), and what
 * the strategies share (strategies.h): the reference, which takes every entry of the tables on
 * every graph, and faster ones for some calls. */
#ifndef GNN_AGGREGATE_AGGREGATE_H
#define GNN_AGGREGATE_AGGREGATE_H

#include <gnn/aggregate.h>
#include <graphs/graph.h>
#include <lib/aggregate/hints.h>
#include <lib/base/base.h>
#include <lib/kernels/attention/by_lane/by_lane.h>
#include <lib/ops/traits.h>

extern const gnn_op_t gnn__op_aggregate;

/* Choices of the strategy by_lane for one call. They follow from the plan and the processor
 * alone. */
typedef struct gnn__lane_choices {
    gnn__score_kind_t score;
    int width; /* of a pattern of heads: 1, 4 or 8 */
    gnn__layout_t layout;
    int64_t value_numbers, key_numbers; /* values in a row of values, of keys */
    bool one_matrix;                    /* keys are values */
    bool copies_keys, copies_values;    /* with heads fastest; copies_values: of dY too */
    /* exponentials per sender, from which forward makes weights: 4, 8, 16; 0: from scores */
    int factors;
    /* of receivers, each with a matrix for the gradients of senders; 0: receivers and senders
     * have a pass each */
    int64_t groups;
    bool edge_terms;         /* additive: features or a bias of edges are added to scores */
    bool edge_rows;          /* dot: features enter keys or values */
    bool edge_keys;          /* additive-v2: features enter keys */
    bool edge_products;      /* dot, additive-v2: features or a bias enter */
    bool wants_edges;        /* gradients of features, of their weights or of the bias are wanted */
    bool wants_edge_weights; /* those of the weights */
} gnn__lane_choices_t;

typedef struct gnn__plan {
    const gnn_aggregate_t *how;
    const gnn_aggregator_t *aggregator;
    const gnn_message_t *message;
    const gnn_score_t *score; /* NULL: the aggregator has no scores */
    const gnn_weigher_t *weigher;
    gnn__hints_t hints; /* what fast strategies know of the entries */
    const gnn_graph_t *graph;
    /* Over ranks: each row's node of the whole graph, the key of draws; NULL: rows are nodes. */
    const int32_t *nodes;
    const gnn__built_view_t *view;
    const struct gnn__strategy *strategy; /* that runs it */
    gnn__lane_choices_t lanes;            /* how strategy by_lane runs it, where it does */
    /* The same sizes, with defaults filled in, and each entry's own options and parameters. */
    gnn_aggregate_shape_t shape, message_shape, score_shape, weigher_shape, map_shape,
        prior_shape[GNN_PRIORS];
    const gnn_map_t *map;                 /* NULL: rows of queries and keys stay as they are */
    const gnn_prior_t *prior[GNN_PRIORS]; /* NULL: none */
    int64_t prior_part[GNN_PRIORS]; /* the part that the prior is of, from 1; 0: all of them */
    /* Rows of gates of a prior with GNN_PRIOR_RUNNING, whose input becomes their running sums; data
     * NULL for others, and before. */
    gnn_tensor_t gates[GNN_PRIORS];
    bool has_priors;
    bool by_distance; /* the message or a prior reads the distances of pairs */
    bool scored;
    int64_t message_width;          /* values in a message: value_heads * d_v, or width */
    int64_t out_width;              /* heads * d_v, or width */
    int64_t query_width, key_width; /* 0 without scores */
    /* edge_parts * message_width where edge features or a bias enter the message, else 0 */
    int64_t edge_width;
    int64_t d_e;                 /* edge features, 0 if there are none */
    bool edge_message, edge_key; /* features enter the message, the score */
    bool has[GNN_AGGREGATE_INPUTS];
    /* values: strides are never 0; data NULL where absent or while shapes are worked out */
    gnn_tensor_t in[GNN_AGGREGATE_INPUTS];
    /* where gradients go: data NULL where they are not wanted */
    gnn_tensor_t d[GNN_AGGREGATE_INPUTS];
    bool d_added[GNN_AGGREGATE_INPUTS]; /* 1: gradients are added to what is there */
    gnn_tensor_t out, d_out;
    bool dropping;
    gnn__dropout_t dropout;
    /* The call's gnn__finish_t; data NULL: there is none. */
    gnn_tensor_t summand;
    bool finishes; /* there is a bias, once shapes are worked out */
    const gnn_real_t *bias;
    gnn__activation_settings_t f;
    gnn__dropout_t last_dropout; /* where f.rate > 0 */
    gnn_context_t *context;
    int threads; /* that the call may use at most */
    bool recording;
} gnn__plan_t;

/* Features of self-loops follow those of the user's edges. */
static inline bool gnn__has_loop_features(const gnn__plan_t *plan)
{
    const int64_t more = plan->in[GNN_AGGREGATE_EDGE_FEATURES].rows - plan->graph->n_edges;
    return plan->has[GNN_AGGREGATE_EDGE_FEATURES] && more > 0 && more == plan->graph->n_dst;
}

/* Fills the plan and checks every input; nothing is allocated. */
int gnn__plan(gnn__plan_t *plan, const gnn_op_call_t *call);
/* One position per receiver, or per sender: its offset in its segment plus the segment's
 * start; in a graph without segments the index of the node. */
void gnn__positions(const gnn_graph_t *graph, bool receivers, int64_t *positions);

/* Priors and the edge bias are logarithms of factors. */
static inline bool gnn__multiplies(const gnn__plan_t *plan)
{
    return plan->scored && (plan->weigher->flags & GNN_WEIGHER_FACTORS) != 0;
}

/* Prior p is there, and is one of the pairs of part `part` of the view. Self-loops that a view adds
 * are of a graph's only part, or of none. */
static inline bool gnn__has_prior(const gnn__plan_t *plan, int p, int64_t part)
{
    return plan->prior[p] && (plan->prior_part[p] == 0 || plan->graph->base.n_parts == 1 ||
                              plan->prior_part[p] == part + 1);
}

/* The prior reads running sums of its input. */
static inline bool gnn__runs(const gnn__plan_t *plan, int p)
{
    return plan->prior[p] && (plan->prior[p]->flags & GNN_PRIOR_RUNNING) != 0;
}

/* Threads worth using for `work` multiply-adds. */
static inline int gnn__plan_threads(const gnn__plan_t *plan, int64_t work)
{
    return gnn__threads_within(plan->context, plan->threads, work);
}

/* ---- memory ---- */

static inline int gnn__carved(const gnn__carve_t *c, size_t *bytes)
{
    *bytes = (size_t)c->used;
    return c->overflow
               ? gnn__error(GNN_EOVERFLOW, "aggregate: the memory it needs does not fit an address")
               : GNN_OK;
}

/* ---- gradients ---- */

/* Zeroes every gradient that is not added to, in the order of the inputs: after that
 * everything only adds, so inputs may share memory. Those of the inputs in the set `but` are
 * left alone. */
void gnn__zero_gradients(const gnn__plan_t *plan, unsigned but);
/* True if two gradients share no memory; different columns of one matrix share none. */
bool gnn__gradients_apart(const gnn_tensor_t *a, const gnn_tensor_t *b);
/* The inputs among messages, keys and queries whose gradients a kernel may write rather than
 * add to: all of the graph is one part of this form, whose passes reach every row once,
 * nothing is there to be added to, and the rows share no memory with those of another input. */
unsigned gnn__written_gradients(const gnn__plan_t *plan, gnn__form_t form);
/* Threads for a pass that owns rows of gradients: 1 if two gradients overlap with their rows
 * shifted against each other. */
int gnn__gradient_threads(const gnn__plan_t *plan, int64_t work);
/* True if a row of one gradient shares memory with another row of another, whichever passes
 * write them. */
bool gnn__gradients_cross(const gnn__plan_t *plan);
/* Over ranks, where chunks are slices: the first `size` partial sums become those of all slices of
 * all ranks, as of one chunk. A collective call; elsewhere it does nothing. */
int gnn__sum_slices(const gnn__plan_t *plan, gnn_real_t *partials, int64_t *chunks, int64_t size);
/* target (1 row, or a block of rows of `cols`) += partial sums of the chunks, in order; over ranks
 * of all slices, which the partial sums are overwritten with. */
int gnn__add_partials(const gnn__plan_t *plan, const gnn_tensor_t *target, gnn_real_t *partials,
                      int64_t chunks, int64_t stride);
/* The same for the chunks of this rank alone. */
void gnn__add_chunks(const gnn_tensor_t *target, const gnn_real_t *partials, int64_t chunks,
                     int64_t stride);

/* The gradient of this input is wanted. */
static inline bool gnn__wants_gradient(const gnn__plan_t *plan, int input)
{
    return plan->d[input].data != NULL;
}

/* The owner of the values of this input's prior; GNN_PRIOR_SHARED for other inputs. */
static inline gnn_prior_numbers_t gnn__prior_numbers(const gnn__plan_t *plan, int input)
{
    const int p = input - GNN_AGGREGATE_PRIOR_0;
    return p >= 0 && p < GNN_PRIORS && plan->prior[p] ? plan->prior[p]->numbers : GNN_PRIOR_SHARED;
}

/* ---- chunks: fixed, independent of the count of threads ---- */

/* Pairs per chunk, for at most some 50 chunks a part. */
static inline int64_t gnn__per_chunk(const gnn__pairs_t *pairs)
{
    return gnn__max((pairs->count + pairs->n_rows) / 48 + 1, 512);
}

/* Cuts rows into chunks of that size; `bounds` has room for those of gnn__most_chunks, and one
 * more. */
static inline int64_t gnn__chunks(const gnn__pairs_t *pairs, int64_t *bounds)
{
    return gnn__pairs_chunks(pairs, gnn__per_chunk(pairs), bounds);
}

/* The most chunks that any part of the view has, transposed ones included; at least 1. */
int64_t gnn__most_chunks(const gnn__built_view_t *view);

/* Part p by receiver, or by sender. */
static inline const gnn__part_t *gnn__part_of(const gnn__plan_t *plan, int64_t p, bool transposed)
{
    return transposed ? &plan->view->transposed[p] : &plan->view->parts[p];
}

/* Scales of a view belong to nodes: in a transposed part rows are senders. */
static inline const gnn_real_t *gnn__dst_scale(const gnn__part_t *part, bool transposed)
{
    return transposed ? part->scale_col : part->scale_row;
}

static inline const gnn_real_t *gnn__src_scale(const gnn__part_t *part, bool transposed)
{
    return transposed ? part->scale_row : part->scale_col;
}

/* ---- passes over rows ---- */

/* A pass whose results do not depend on how rows are cut, as opposed to sums of chunks. */
typedef struct gnn__row_pass {
    /* runs rows row0 to row1 - 1, by any thread */
    void (*rows)(const void *user, int64_t row0, int64_t row1);
    /* over ranks: prepares the rows of the halo, of which `rows` may read nothing before; NULL:
     * there is nothing to prepare */
    void (*arrived)(void *user);
    /* for kernels whose bits depend on the rows that they take together: sets pairs->phase, in
     * which they skip rows of the other phase, and calls have whole slices. NULL: others */
    void (*phase)(void *user, gnn__phase_t phase);
    void *user;
} gnn__row_pass_t;

/* Runs a pass over all rows, chunk by chunk. Over ranks, while rows of the halo travel: first the
 * rows that read none of them, then, when they have arrived, the others. */
int gnn__pass_rows(const gnn__plan_t *plan, const gnn__pairs_t *pairs, int64_t *bounds, int threads,
                   const gnn__row_pass_t *pass);
/* Over ranks: returns when the rows of the halo have arrived. */
int gnn__await_halo(const gnn__plan_t *plan);
/* Rows of nodes that need no rows of other ranks: all of `rows` where there are no ranks. */
int64_t gnn__rows_at_hand(const gnn__plan_t *plan, int64_t rows);

/* ---- running sums of gates: once before a strategy runs and, in backward, their derivatives after
 * it; running_sums.c ---- */

/* Bytes of scratch that the sums need in front of the strategy's; 0 without such a prior. */
int gnn__running_scratch(const gnn__plan_t *plan, bool backward, size_t *bytes);
/* Makes the sums in `scratch` and puts them into the plan, in backward with room for their
 * gradients. */
int gnn__running_rows(gnn__plan_t *plan, void *scratch, bool backward);
/* After the strategy's backward: from the gradients of `summed` to those of `plan`, the same call
 * before. */
void gnn__running_rows_grad(const gnn__plan_t *plan, const gnn__plan_t *summed);
/* The end of the segment of senders that begins with node `begin`; without segments all nodes are
 * one. *segment, 0 before the first call, moves on. */
int64_t gnn__segment_end(const gnn_graph_t *graph, int64_t *segment, int64_t begin);

/* ---- maps of queries and keys: once before a strategy runs and, in backward, their derivatives
 * after it; map_rows.c ---- */

/* Receivers' queries and senders' keys. */
enum { GNN__MAP_SIDES = 2 };

typedef struct gnn__map_run {
    int64_t *positions[GNN__MAP_SIDES];
    gnn_real_t *rows[GNN__MAP_SIDES], *d_rows[GNN__MAP_SIDES];
    /* Values of the positions low .. low + count - 1, `numbers` each; count 0: positions are
     * spread too wide, and their values are computed row by row. */
    gnn_real_t *table;
    int64_t numbers, low, count;
    const gnn_real_t *kept; /* those of the positions from 0 on, where the context has them */
    gnn_real_t *own;        /* `numbers` per thread */
} gnn__map_run_t;

/* Bytes of scratch that a plan with a map needs in front of its strategy's; 0 without a map. */
int gnn__map_scratch(const gnn__plan_t *plan, bool backward, size_t *bytes);
/* Makes the mapped rows in `scratch` and puts them into the plan, in backward with room for
 * their gradients. */
int gnn__map_rows(gnn__plan_t *plan, void *scratch, bool backward, gnn__map_run_t *run);
/* After the strategy's backward: from the gradients of `mapped` to those of `plan`, the same
 * call without a map. */
int gnn__map_rows_grad(const gnn__plan_t *plan, const gnn__plan_t *mapped, const gnn__map_run_t *run);

#endif
