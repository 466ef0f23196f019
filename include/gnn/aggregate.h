/**
 * Two tables: messages (what j sends to i) and aggregators (how a receiver combines its messages).
 *
 *     h_i' = update( h_i , aggregate over j in N(i) of message(h_i, h_j, e_ij) )
 *
 * Updates belong to the layer (layer.h). The parts of attention weights are in score.h.
 *
 * An entry of a table is a const struct. An aggregator needs four small functions to work on every
 * graph, forward and backward; define one in your program and put its address into a layer's config
 * (examples/new_aggregator.c).
 */
#ifndef GNN_AGGREGATE_H
#define GNN_AGGREGATE_H

#include <gnn/op.h>
#include <gnn/score.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One pair as an aggregator sees it. Pointers that an aggregator does not use may be NULL. */
typedef struct gnn_edge {
    /** the receiver's score row (dot, additive_v2: heads * d_k; additive: heads) */
    const gnn_real_t *query;
    /** the sender's score row, edge features already added (dot, additive_v2: key_heads * d_k;
     * additive: heads) */
    const gnn_real_t *key;
    /** aggregators without scores: the message, already multiplied by the edge's weight */
    const gnn_real_t *message;
} gnn_edge_t;

/** Derivatives of one pair, to be added to; NULL if not wanted. */
typedef struct gnn_edge_grad {
    gnn_real_t *query, *key, *message;
    gnn_tensor_t parameters; /**< like shape->parameters, to be added to; data NULL: not wanted */
} gnn_edge_grad_t;

/** The aggregator has scores, which a weigher turns into weights: it has `scores` and `scores_grad`
 * in place of the five other functions. */
#define GNN_AGGREGATOR_SCORED 1u
/** aggregate(W m) = W aggregate(m): a linear map may be moved to either side. */
#define GNN_AGGREGATOR_LINEAR 2u
/** The sender's one projection serves as key and as message where their widths agree (GAT,
 * GATv2). */
#define GNN_AGGREGATOR_KEY_IS_MESSAGE 4u

/** Width of the score rows of a scored aggregator. */
typedef enum { GNN_SCORE_NONE = 0, GNN_SCORE_PER_HEAD, GNN_SCORE_PER_KEY } gnn_score_width_t;

/** An aggregator, which combines the messages of a receiver: an entry of the table, or one of the
 * program's own. */
typedef struct gnn_aggregator {
    const char *name, *paper, *help;
    unsigned flags;
    /** PER_HEAD: query and key rows have `heads` elements; PER_KEY: heads * d_k and key_heads *
     * d_k */
    gnn_score_width_t score_width;
    const gnn_option_t *options;
    size_t n_options;
    /** declares the parameters that it owns; its functions read them in shape->parameters. NULL:
     * none */
    gnn_row_declare_t *declare;
    /** Elements of state per receiver. The driver zeroes the state and carries it across parts; the
     * output of a receiver without senders is 0. */
    size_t (*state)(const gnn_aggregate_shape_t *shape);
    /** Adds the message of one edge to the state. */
    void (*accumulate)(const gnn_aggregate_shape_t *shape, gnn_real_t *state, const gnn_edge_t *edge);
    /** State -> output row (width). The state is kept for the backward pass. */
    void (*finish)(const gnn_aggregate_shape_t *shape, gnn_real_t *state, gnn_real_t *out);
    /** Prepares the kept state for accumulate_grad, given the output and its gradient. */
    void (*finish_grad)(const gnn_aggregate_shape_t *shape, gnn_real_t *state,
                        const gnn_real_t *out, const gnn_real_t *d_out);
    /** Derivatives of one edge, from the finished state alone, so that the driver may traverse by
     * receiver or by sender. */
    void (*accumulate_grad)(const gnn_aggregate_shape_t *shape, const gnn_real_t *state,
                            const gnn_edge_t *edge, gnn_edge_grad_t *grad);
    /** With scores: the scores (heads) of one pair, and their derivatives. */
    void (*scores)(const gnn_aggregate_shape_t *shape, const gnn_edge_t *edge, gnn_real_t *scores);
    void (*scores_grad)(const gnn_aggregate_shape_t *shape, const gnn_edge_t *edge,
                        const gnn_real_t *d_scores, gnn_edge_grad_t *grad);
    /** Id of the aggregator in the library's fast kernels; 0 for aggregators of your own, and for
     * copies with changed functions. */
    int fast;
} gnn_aggregator_t;

/** Inputs of a message for one pair; NULL if the message does not read them. */
typedef struct gnn_message_rows {
    const gnn_real_t *dst, *src, *edge;
    /** with GNN_MESSAGE_READS_DISTANCE: the sender's position minus the receiver's */
    int64_t distance;
} gnn_message_rows_t;

/** Derivatives, to be added to; NULL, or data NULL: not wanted. */
typedef struct gnn_message_grad {
    gnn_real_t *dst, *src, *edge;
    gnn_tensor_t parameters; /**< like shape->parameters */
} gnn_message_grad_t;

/** The message reads the distance of a pair. */
#define GNN_MESSAGE_READS_DISTANCE 1u

/** A message from j to i, computed from projected rows. Its width is shape->message_width, called
 * width below; the sender's row has src_parts * width elements, the receiver's dst_parts * width,
 * the edge's edge_parts * width (each 0 or more parts). */
typedef struct gnn_message {
    const char *name, *paper, *help;
    unsigned flags;
    /** 1: the layer multiplies the sender's features by a weight first; 0: raw features */
    int projects;
    int src_parts, dst_parts, edge_parts;
    int is_sender; /**< 1: the message equals the sender's row (fast kernels read it in place) */
    /** 1: the message is the sender's row plus the edge's (fast kernels sum both separately) */
    int adds_edge;
    const gnn_option_t *options;
    size_t n_options;
    gnn_row_declare_t *declare; /**< NULL: no parameters */
    void (*message)(const gnn_aggregate_shape_t *shape, const gnn_message_rows_t *rows,
                    gnn_real_t *message);
    void (*message_grad)(const gnn_aggregate_shape_t *shape, const gnn_message_rows_t *rows,
                         const gnn_real_t *d_message, gnn_message_grad_t *grad);
    /** For messages that are the sender's row plus a parameter row by distance: the index of that
     * parameter row, and the first column of a value head's d_v elements; fast kernels sum both
     * separately and do not call `message`. NULL for other messages. */
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
    gnn_view_t view; /**< which prepared view; .backward is set by the tape when it records */
    /** heads, key_heads, value_heads, d_k, d_v, scale, slope, width; 0: 1, heads, heads, from the
     * inputs, from the inputs,
     *  1 / sqrt(d_k), 0.2, from the inputs. Its options are those of the aggregator. */
    gnn_aggregate_shape_t shape;
    double message_options[GNN_ROW_OPTIONS];
    gnn_real_t dropout; /**< on the attention weights */
    /* The fields below are for aggregators with scores only. */
    const gnn_map_t *map; /**< NULL: none */
    double map_options[GNN_ROW_OPTIONS];
    gnn_prior_use_t priors[GNN_PRIORS];
    const gnn_weigher_t *weigher; /**< NULL: softmax */
    double weigher_options[GNN_ROW_OPTIONS];
    /* Attention weights on request, filled in forward (the weigher's output, before dropout and
     * edge weights); NULL: not wanted. */
    /** (gnn_graph_n_edges x heads), caller's, by edge id */
    const gnn_tensor_t *edge_weights_out;
    /** per segment: heads x receivers x senders, flattened one after another; caller's,
     * overwritten */
    gnn_real_t *segment_weights_out;
} gnn_aggregate_t;

/** Inputs of the op `aggregate`, by position; absent ones are GNN_NONE. One value may be several
 * inputs. */
enum {
    /** (n_src x src_parts*width) what the message reads of the sender */
    GNN_AGGREGATE_SRC_MESSAGE = 0,
    GNN_AGGREGATE_DST_MESSAGE, /**< (n_dst x dst_parts*width) */
    GNN_AGGREGATE_QUERY,       /**< (n_dst x heads*d_k, or heads) */
    GNN_AGGREGATE_KEY,         /**< (n_src x key_heads*d_k, or heads) */
    /** (m x d_e), by edge id, or (m + n_dst x d_e) with rows of self-loops too */
    GNN_AGGREGATE_EDGE_FEATURES,
    GNN_AGGREGATE_EDGE_MESSAGE_WEIGHT, /**< (d_e x edge width) projects them for the message */
    GNN_AGGREGATE_EDGE_MESSAGE_BIAS,   /**< (1 x edge width) */
    /** (d_e x key width) projects them for the score; may be the same as for the message */
    GNN_AGGREGATE_EDGE_KEY_WEIGHT,
    GNN_AGGREGATE_EDGE_WEIGHT,        /**< (m x 1), or (m + n loops x 1) from gcn_norm */
    GNN_AGGREGATE_EDGE_BIAS,          /**< (m x 1) or (m x heads) */
    GNN_AGGREGATE_PARAMETERS,         /**< the aggregator's own parameters (layout: row.h) */
    GNN_AGGREGATE_MESSAGE_PARAMETERS, /**< the message's */
    GNN_AGGREGATE_WEIGHER_PARAMETERS, /**< the weigher's */
    GNN_AGGREGATE_PRIOR_0,            /**< values of priors[0] */
    GNN_AGGREGATE_PRIOR_1,
    GNN_AGGREGATE_PRIOR_2,
    /** (n_dst x heads*d_k) multiplied by priors in place of the query */
    GNN_AGGREGATE_PRIOR_QUERY,
    GNN_AGGREGATE_GATE, /**< (n_dst x heads) multiplies each head's output */
    GNN_AGGREGATE_INPUTS
};

/** The name of an input in error messages, such as "src_message"; NULL if there is none. Constant
 * memory. */
GNN_API const char *gnn_aggregate_input_name(int input);

#ifdef __cplusplus
}
#endif
#endif
