/**
 * Two tables: messages (what sender j sends to receiver i) and aggregators (how a receiver combines
 * the messages that reach it).
 *
 *     h_i' = update( h_i , aggregate over j in N(i) of message(h_i, h_j, e_ij) )
 *
 * Attention is one of the aggregators, gnn_aggregator_attention: the weighted sum of messages. A
 * score, priors and a weigher compute the weight of each pair (score.h). Updates are part of the
 * layer (layer.h).
 *
 * An entry is a const struct whose functions must all be set. An aggregator is five small functions
 * and works on every graph, forward and backward; a program puts the address of its own into a
 * layer's config (examples/new_aggregator.c).
 */
#ifndef GNN_AGGREGATE_H
#define GNN_AGGREGATE_H

#include <gnn/op.h>
#include <gnn/score.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- aggregators ---- */

/** One edge as an aggregator sees it. */
typedef struct gnn_edge {
    /** (message_width); times the edge's weight, except under GNN_AGGREGATOR_SCORED, whose weights
     * contain it */
    const gnn_real_t *message;
    /** (heads) attention weights of the edge: the weigher's, times dropout and the edge's weight;
     * NULL without GNN_AGGREGATOR_SCORED */
    const gnn_real_t *weights;
} gnn_edge_t;

/** Targets of the derivatives of one edge; each is ADDED to; NULL where it is not wanted. */
typedef struct gnn_edge_grad {
    gnn_real_t *message, *weights;
    gnn_tensor_t parameters; /**< like shape->parameters; data NULL: not wanted */
} gnn_edge_grad_t;

/**
 * Messages are combined by attention weights: the driver walks the pairs of a receiver twice, once
 * to give all scores to the weigher, once to aggregate messages by the weights that follow. The
 * state of such an entry is the output row itself, which `accumulate` adds to: `state` returns
 * shape->width, `finish` copies the state to the output and `finish_grad` the output's gradient to
 * the state, both of which may be one row. The output has to be linear in the weights.
 */
#define GNN_AGGREGATOR_SCORED 1u
/** aggregate(W m) = W aggregate(m): a linear map may be moved to either side. */
#define GNN_AGGREGATOR_LINEAR 2u

/** An aggregator, which combines the messages of a receiver: an entry of the table, or one of the
 * program's own. */
typedef struct gnn_aggregator {
    const char *name, *paper, *help;
    unsigned flags; /**< GNN_AGGREGATOR_...; 0: none */
    const gnn_option_t *options;
    size_t n_options;
    /** Lists the parameters that the entry owns; its functions read them in shape->parameters.
     * NULL: none */
    gnn_row_declare_t *declare;
    /** Count of the values of state per receiver. The driver zeroes the state and carries it across
     * parts of the graph; the output row of a receiver without messages is 0. */
    size_t (*state)(const gnn_aggregate_shape_t *shape);
    /** Adds one edge to the state. */
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
} gnn_aggregator_t;

/* ---- messages ---- */

/** Rows that a message reads of one pair; NULL where the entry has no such part, and `edge` also in
 * a call without edge features and bias. */
typedef struct gnn_message_rows {
    const gnn_real_t *dst, *src, *edge;
    int64_t distance; /**< with GNN_MESSAGE_READS_DISTANCE: sender's position minus receiver's */
} gnn_message_rows_t;

/** Targets of the derivatives: they are ADDED; NULL, or data NULL, where they are not wanted. */
typedef struct gnn_message_grad {
    gnn_real_t *dst, *src, *edge;
    gnn_tensor_t parameters; /**< like shape->parameters */
} gnn_message_grad_t;

/** The message reads the distance of a pair. */
#define GNN_MESSAGE_READS_DISTANCE 1u

/**
 * The message of a pair, made of projected rows. It has shape->message_width values, `width` below:
 * the sender's row has src_parts * width of them, the receiver's dst_parts * width, the edge's
 * edge_parts * width (each 0 or more parts).
 */
typedef struct gnn_message {
    const char *name, *paper, *help;
    unsigned flags; /**< GNN_MESSAGE_...; 0: none */
    /** 1: the layer multiplies the sender's features by a weight first; 0: raw features */
    int projects;
    int src_parts, dst_parts, edge_parts;
    const gnn_option_t *options;
    size_t n_options;
    gnn_row_declare_t *declare; /**< NULL: the entry owns no parameters */
    void (*message)(const gnn_aggregate_shape_t *shape, const gnn_message_rows_t *rows,
                    gnn_real_t *message);
    void (*message_grad)(const gnn_aggregate_shape_t *shape, const gnn_message_rows_t *rows,
                         const gnn_real_t *d_message, gnn_message_grad_t *grad);
} gnn_message_t;

/* ---- the library's entries ---- */

#define GNN_AGGREGATOR(name) GNN_API extern const gnn_aggregator_t gnn_aggregator_##name;
#include <gnn/tables/aggregators.def>
#undef GNN_AGGREGATOR
#define GNN_MESSAGE(name) GNN_API extern const gnn_message_t gnn_message_##name;
#include <gnn/tables/messages.def>
#undef GNN_MESSAGE

/** The aggregator of a name; NULL if there is none, and gnn_error_message() then lists the names.
 * Check it: in a config, NULL means the preset's choice. gnn_layer_config_set sets a field by name
 * and refuses an unknown one. The same holds for the other functions `_find` of tables. */
GNN_API const gnn_aggregator_t *gnn_aggregator_find(const char *name);
/** The message of a name; NULL if there is none, and gnn_error_message() then lists the names.
 * Check it: in a config, NULL means the preset's choice (gnn_layer_config_set refuses a name). */
GNN_API const gnn_message_t *gnn_message_find(const char *name);

/* ---- the op ---- */

/** Settings of one call of gnn_tape_aggregate. */
typedef struct gnn_aggregate {
    const gnn_aggregator_t *aggregator;
    const gnn_message_t *message;
    const gnn_graph_t *graph;
    gnn_view_t view; /**< which prepared view; .backward is set by the tape when it records */
    /** heads, key_heads, value_heads, d_k, d_v, scale, slope, width; 0: 1, heads, heads, from the
     * inputs, from the inputs, 1 / sqrt(d_k), 0.2, from the inputs. Its options are the
     * aggregator's. */
    gnn_aggregate_shape_t shape;
    double message_options[GNN_ROW_OPTIONS];
    gnn_real_t dropout; /**< on the attention weights */
    /* The members below are for aggregators with scores only. */
    const gnn_score_t *score; /**< NULL: dot */
    double score_options[GNN_ROW_OPTIONS];
    const gnn_map_t *map; /**< NULL: none */
    double map_options[GNN_ROW_OPTIONS];
    gnn_prior_use_t priors[GNN_PRIORS];
    const gnn_weigher_t *weigher; /**< NULL: softmax */
    double weigher_options[GNN_ROW_OPTIONS];
    /* Attention weights on request, filled in forward (the weigher's, before dropout and edge
     * weights); NULL: not wanted. */
    /** (gnn_graph_n_edges x heads), caller's, by the user's edge ids */
    const gnn_tensor_t *edge_weights_out;
    /** per segment: heads x receivers x senders, flattened one after another; caller's,
     * overwritten */
    gnn_real_t *segment_weights_out;
    /**
     * Incremental linear attention: the sums over earlier rows of each segment, which the graph
     * does not contain; caller's, zeros at first, read and then extended by the call's rows. Per
     * segment and head (of keys; of queries where there are priors) d_k' x d_v values, d_k' the
     * width after the map, with one more column for the weigher ratio. Forward only. NULL: there
     * are none.
     */
    gnn_real_t *running;
} gnn_aggregate_t;

/** Inputs of the op `aggregate`, by position; absent ones are GNN_NONE. One value may be several
 * inputs. */
enum {
    /** (n_src x src_parts*width) what the message reads of the sender */
    GNN_AGGREGATE_SRC_MESSAGE = 0,
    GNN_AGGREGATE_DST_MESSAGE, /**< (n_dst x dst_parts*width) */
    GNN_AGGREGATE_QUERY,       /**< (n_dst x heads*d_k, or heads) */
    GNN_AGGREGATE_KEY,         /**< (n_src x key_heads*d_k, or heads) */
    /** (m x d_e), by the user's edge ids, or (m + n_dst x d_e): those of self-loops too */
    GNN_AGGREGATE_EDGE_FEATURES,
    GNN_AGGREGATE_EDGE_MESSAGE_WEIGHT, /**< (d_e x edge width) projects them for the message */
    GNN_AGGREGATE_EDGE_MESSAGE_BIAS,   /**< (1 x edge width) */
    /** (d_e x key width) projects them for the score; may be the same as for the message */
    GNN_AGGREGATE_EDGE_KEY_WEIGHT,
    GNN_AGGREGATE_EDGE_WEIGHT, /**< (m x 1), or (m + n loops x 1) from gcn_norm */
    GNN_AGGREGATE_EDGE_BIAS,   /**< (m x 1) or (m x heads) */
    GNN_AGGREGATE_PARAMETERS,  /**< the aggregator's own parameters (row.h: how pieces lie) */
    GNN_AGGREGATE_MESSAGE_PARAMETERS, /**< the message's */
    GNN_AGGREGATE_SCORE_PARAMETERS,   /**< the score's */
    GNN_AGGREGATE_WEIGHER_PARAMETERS, /**< the weigher's */
    GNN_AGGREGATE_PRIOR_0,            /**< values of priors[0] */
    GNN_AGGREGATE_PRIOR_1,
    GNN_AGGREGATE_PRIOR_2,
    /** (n_dst x heads*d_k) multiplied by priors in place of the query */
    GNN_AGGREGATE_PRIOR_QUERY,
    GNN_AGGREGATE_GATE,           /**< (n_dst x heads) multiplies each head's output */
    GNN_AGGREGATE_MAP_PARAMETERS, /**< the map's */
    GNN_AGGREGATE_INPUTS
};

#ifdef __cplusplus
}
#endif
#endif
