/**
 * Two tables: messages (what j says to i) and aggregators (how what is heard is combined).
 *
 *     h_i' = update( h_i , aggregate over j in N(i) of message(h_i, h_j, e_ij) )
 *
 * Updates, what is made of it, are the layer's (layer.h). What attention weights are made of is in
 * score.h.
 *
 * A row is a const struct. An aggregator needs four small functions to work on every graph, forward
 * and backward; write one of your own outside the library and put its address into a layer's config
 * (examples/new_aggregator.c).
 */
#ifndef GNN_AGGREGATE_H
#define GNN_AGGREGATE_H

#include <gnn/op.h>
#include <gnn/score.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One pair as an aggregator sees it. Pointers that a row does not use may be NULL. */
typedef struct gnn_edge {
    /** receiver's score row (dot, additive_v2: heads * d_k; additive: heads) */
    const gnn_real_t *query;
    /** sender's score row, edge features already added (dot, additive_v2: key_heads * d_k;
     * additive: heads) */
    const gnn_real_t *key;
    /** rows without scores: what is heard, already multiplied by the edge's weight */
    const gnn_real_t *message;
} gnn_edge_t;

/** Where derivatives of one pair go; each is ADDED to; NULL where it is not wanted. */
typedef struct gnn_edge_grad {
    gnn_real_t *query, *key, *message;
    gnn_tensor_t parameters; /**< like shape->parameters, added to as well; data NULL: not wanted */
} gnn_edge_grad_t;

/** The row has scores, which a weigher turns into weights: it has `scores` and `scores_grad` in
 * place of the five other functions. */
#define GNN_AGGREGATOR_SCORED 1u
/** aggregate(W m) = W aggregate(m): a linear map may be moved to either side. */
#define GNN_AGGREGATOR_LINEAR 2u
/** The sender's one projection serves as key and as message where their widths agree (GAT,
 * GATv2). */
#define GNN_AGGREGATOR_KEY_IS_MESSAGE 4u

/** Width of the score rows of a scored aggregator. */
typedef enum { GNN_SCORE_NONE = 0, GNN_SCORE_PER_HEAD, GNN_SCORE_PER_KEY } gnn_score_width_t;

/** How messages are combined: an entry of the table of aggregators, or one of the program's own. */
typedef struct gnn_aggregator {
    const char *name, *paper, *help;
    unsigned flags;
    /** PER_HEAD: query and key rows have `heads` numbers; PER_KEY: heads * d_k and key_heads *
     * d_k */
    gnn_score_width_t score_width;
    const gnn_option_t *options;
    size_t n_options;
    /** Parameters that the row owns; its functions read them in shape->parameters. NULL: none */
    gnn_row_declare_t *declare;
    /** Numbers of state per receiver. The driver zeroes the state and carries it across parts; a
     * receiver that hears no sender gets 0. */
    size_t (*state)(const gnn_aggregate_shape_t *shape);
    /** Takes one edge in. */
    void (*accumulate)(const gnn_aggregate_shape_t *shape, gnn_real_t *state, const gnn_edge_t *edge);
    /** State -> output row (width). The state is kept for the backward pass. */
    void (*finish)(const gnn_aggregate_shape_t *shape, gnn_real_t *state, gnn_real_t *out);
    /** Turns the kept state into what accumulate_grad needs, given the output and its gradient. */
    void (*finish_grad)(const gnn_aggregate_shape_t *shape, gnn_real_t *state,
                        const gnn_real_t *out, const gnn_real_t *d_out);
    /** Derivatives of one edge, from the finished state alone: the driver may walk by receiver or
     * by sender. */
    void (*accumulate_grad)(const gnn_aggregate_shape_t *shape, const gnn_real_t *state,
                            const gnn_edge_t *edge, gnn_edge_grad_t *grad);
    /** Scored rows: the scores (heads) of one pair, and their derivatives. */
    void (*scores)(const gnn_aggregate_shape_t *shape, const gnn_edge_t *edge, gnn_real_t *scores);
    void (*scores_grad)(const gnn_aggregate_shape_t *shape, const gnn_edge_t *edge,
                        const gnn_real_t *d_scores, gnn_edge_grad_t *grad);
    /** What the library's fast kernels know the row as; 0 for rows of your own. A copy of a row
     * whose functions are changed sets it to 0. */
    int fast;
} gnn_aggregator_t;

/** What a message row reads of one pair; NULL where the row has no such part. */
typedef struct gnn_message_rows {
    const gnn_real_t *dst, *src, *edge;
    int64_t distance; /**< of rows that ask for it: sender's position minus receiver's */
} gnn_message_rows_t;

/** Where derivatives go: they are ADDED; NULL, or data NULL, where they are not wanted. */
typedef struct gnn_message_grad {
    gnn_real_t *dst, *src, *edge;
    gnn_tensor_t parameters; /**< like shape->parameters */
} gnn_message_grad_t;

/** The message row reads the distance of a pair. */
#define GNN_MESSAGE_READS_DISTANCE 1u

/** What j says to i, given projected rows. A message has shape->message_width numbers, the width
 * below; the sender's row
 *  src_parts * width, the receiver's dst_parts * width, the edge's edge_parts * width (each 0 or
 *  more parts). */
typedef struct gnn_message {
    const char *name, *paper, *help;
    unsigned flags;
    /** 1: the layer multiplies the sender's features by a weight first; 0: raw features */
    int projects;
    int src_parts, dst_parts, edge_parts;
    int is_sender; /**< 1: the message is the sender's row itself (fast kernels read it in place) */
    /** 1: the message is the sender's row plus the edge's (fast kernels sum both apart) */
    int adds_edge;
    const gnn_option_t *options;
    size_t n_options;
    gnn_row_declare_t *declare; /**< NULL: the row owns no parameters */
    void (*message)(const gnn_aggregate_shape_t *shape, const gnn_message_rows_t *rows,
                    gnn_real_t *message);
    void (*message_grad)(const gnn_aggregate_shape_t *shape, const gnn_message_rows_t *rows,
                         const gnn_real_t *d_message, gnn_message_grad_t *grad);
    /** The message is the sender's row plus one by distance: the row of the parameters that holds
     * those of a distance, and the column where a value head's d_v numbers begin; fast kernels sum
     * both apart and do not call `message`. NULL: it is not that. */
    int64_t (*value_row)(const gnn_aggregate_shape_t *shape, int64_t distance);
    int64_t (*value_column)(const gnn_aggregate_shape_t *shape, int64_t head);
} gnn_message_t;

#define GNN_AGGREGATOR(name) GNN_API extern const gnn_aggregator_t gnn_aggregator_##name;
#include <gnn/tables/aggregators.def>
#undef GNN_AGGREGATOR
#define GNN_MESSAGE(name) GNN_API extern const gnn_message_t gnn_message_##name;
#include <gnn/tables/messages.def>
#undef GNN_MESSAGE

/** Count of the aggregators in the library's table. */
GNN_API size_t gnn_aggregator_count(void);
/** The aggregator of an index, 0 to gnn_aggregator_count() - 1; NULL past the last. */
GNN_API const gnn_aggregator_t *gnn_aggregator_at(size_t index);
/** The aggregator of a name; NULL if there is none, and gnn_error_message() then lists the names.
 * */
GNN_API const gnn_aggregator_t *gnn_aggregator_find(const char *name);
/** Count of the messages in the library's table. */
GNN_API size_t gnn_message_count(void);
/** The message of an index, 0 to gnn_message_count() - 1; NULL past the last. */
GNN_API const gnn_message_t *gnn_message_at(size_t index);
/** The message of a name; NULL if there is none, and gnn_error_message() then lists the names. */
GNN_API const gnn_message_t *gnn_message_find(const char *name);

/** Settings of one aggregation, the attributes of the op `aggregate`. */
typedef struct gnn_aggregate {
    const gnn_aggregator_t *aggregator;
    const gnn_message_t *message;
    const gnn_graph_t *graph;
    gnn_view_t view; /**< which prepared view; .backward is added by the tape when it records */
    /** heads, key_heads, value_heads, d_k, d_v, scale, slope, width; 0: 1, heads, heads, from the
     * inputs, from the inputs,
     *  1 / sqrt(d_k), 0.2, from the inputs. Its options are the aggregator's. */
    gnn_aggregate_shape_t shape;
    double message_options[GNN_ROW_OPTIONS];
    gnn_real_t dropout; /**< on the attention weights */
    /* What follows is of scored aggregators only. */
    const gnn_map_t *map; /**< NULL: none */
    double map_options[GNN_ROW_OPTIONS];
    gnn_prior_use_t priors[GNN_PRIORS];
    const gnn_weigher_t *weigher; /**< NULL: softmax */
    double weigher_options[GNN_ROW_OPTIONS];
    /* Attention weights on request, filled in forward (what the weigher says, before dropout and
     * edge weights); NULL: not wanted. */
    /** (gnn_graph_n_edges x heads), caller's, by the user's edge numbers */
    const gnn_tensor_t *edge_weights_out;
    /** per segment: heads x receivers x senders, flattened one after another; caller's,
     * overwritten */
    gnn_real_t *segment_weights_out;
} gnn_aggregate_t;

/** Inputs of the op `aggregate`, by position; absent ones are GNN_NONE. The same value may stand in
 * several places. */
enum {
    GNN_AGGREGATE_SRC_MESSAGE =
        0, /**< (n_src x src_parts*width) what the message row reads of the sender */
    GNN_AGGREGATE_DST_MESSAGE, /**< (n_dst x dst_parts*width) */
    GNN_AGGREGATE_QUERY,       /**< (n_dst x heads*d_k, or heads) */
    GNN_AGGREGATE_KEY,         /**< (n_src x key_heads*d_k, or heads) */
    /** (m x d_e), by the user's edge numbers, or (m + n_dst x d_e): those of self-loops too */
    GNN_AGGREGATE_EDGE_FEATURES,
    GNN_AGGREGATE_EDGE_MESSAGE_WEIGHT, /**< (d_e x edge width) projects them for the message */
    GNN_AGGREGATE_EDGE_MESSAGE_BIAS,   /**< (1 x edge width) */
    /** (d_e x key width) projects them for the score; may be the same as for the message */
    GNN_AGGREGATE_EDGE_KEY_WEIGHT,
    GNN_AGGREGATE_EDGE_WEIGHT, /**< (m x 1), or (m + n loops x 1) from gcn_norm */
    GNN_AGGREGATE_EDGE_BIAS,   /**< (m x 1) or (m x heads) */
    GNN_AGGREGATE_PARAMETERS,  /**< the aggregator's own parameters (row.h says how pieces lie) */
    GNN_AGGREGATE_MESSAGE_PARAMETERS, /**< the message row's */
    GNN_AGGREGATE_WEIGHER_PARAMETERS, /**< the weigher's */
    GNN_AGGREGATE_PRIOR_0,            /**< numbers of priors[0] */
    GNN_AGGREGATE_PRIOR_1,
    GNN_AGGREGATE_PRIOR_2,
    /** (n_dst x heads*d_k) what priors multiply in place of the query */
    GNN_AGGREGATE_PRIOR_QUERY,
    GNN_AGGREGATE_GATE, /**< (n_dst x heads) multiplies each head's output */
    GNN_AGGREGATE_INPUTS
};

/** The name of an input as messages give it, such as "src_message"; NULL where there is none.
 * Constant memory. */
GNN_API const char *gnn_aggregate_input_name(int input);

#ifdef __cplusplus
}
#endif
#endif
