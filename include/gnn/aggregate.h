/**
 * The three tables: messages (what j says to i), aggregators (how what is heard is combined), updates (what is made of it).
 *
 *     h_i' = update( h_i , aggregate over j in N(i) of message(h_i, h_j, e_ij) )
 *
 * A row is a const struct. An aggregator needs four small functions to work on every graph, forward and backward; write one of your own
 * outside the library and put its address into a layer's config (examples/new_aggregator.c).
 */
#ifndef GNN_AGGREGATE_H
#define GNN_AGGREGATE_H

#include <gnn/op.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A named setting of a row. */
typedef struct gnn_option {
    const char *name;
    double initial, min, max;
    const char *help;
} gnn_option_t;

/** Sizes and settings that every kernel of an aggregator gets. */
typedef struct gnn_aggregate_shape {
    int64_t width;    /**< of a message: heads * d_v for attention */
    int64_t heads;    /**< 1 where the row is not scored */
    int64_t kv_heads; /**< <= heads, divides it: head a hears key/value head a / (heads / kv_heads) */
    int64_t d_k,
        d_v; /**< width of one head's key and value (d_v * kv_heads is the stored width of a value row) */
    gnn_real_t scale;             /**< scores are multiplied by it (dot) */
    gnn_real_t slope;             /**< of the leaky ReLU in additive scores */
    const gnn_real_t *parameters; /**< the row's own parameters (additive_v2: heads * d_k), or NULL */
    double options[4];            /**< values of the row's options, in its order */
} gnn_aggregate_shape_t;

/** One edge as an aggregator's kernel sees it. Pointers not used by a row may be NULL. */
typedef struct gnn_edge {
    const gnn_real_t *query; /**< receiver's score row (dot, additive_v2: heads * d_k; additive: heads) */
    const gnn_real_t *key; /**< sender's score row, edge features already added (dot, additive_v2: kv_heads * d_k; additive: heads) */
    const gnn_real_t *message; /**< what is heard; for rows without scores already multiplied by the edge's weight */
    gnn_real_t weight; /**< scored rows: multiplies the message after the softmax; 1 otherwise */
    const gnn_real_t *bias; /**< (heads) added to the scores, or NULL */
    const gnn_real_t *keep; /**< (heads) dropout after the softmax: 0 or 1 / (1 - rate), or NULL */
} gnn_edge_t;

/** Where derivatives of one edge go; each is ADDED to; NULL where nobody wants it. */
typedef struct gnn_edge_grad {
    gnn_real_t *query, *key, *message;
    gnn_real_t *weight;     /**< one number */
    gnn_real_t *bias;       /**< (heads) */
    gnn_real_t *parameters; /**< like shape->parameters */
} gnn_edge_grad_t;

/** The row softmaxes scores: it uses query, key, weight, bias and keep. */
#define GNN_AGGREGATOR_SCORED 1u
/** aggregate(W m) = W aggregate(m): a linear map may be moved to either side. */
#define GNN_AGGREGATOR_LINEAR 2u

/** Width of the score rows of a scored aggregator. */
typedef enum { GNN_SCORE_NONE = 0, GNN_SCORE_PER_HEAD, GNN_SCORE_PER_KEY } gnn_score_width_t;

typedef struct gnn_aggregator {
    const char *name, *paper, *help;
    unsigned flags;
    gnn_score_width_t score_width; /**< PER_HEAD: query and key rows have `heads` numbers; PER_KEY: heads * d_k */
    int parameters_per_key; /**< 1: the row owns heads * d_k parameters */
    const gnn_option_t *options;
    size_t n_options;
    /** Numbers of state per receiver. The driver zeroes the state and carries it across parts; a receiver that hears nobody gets 0. */
    size_t (*state)(const gnn_aggregate_shape_t *shape);
    /** Takes one edge in. */
    void (*accumulate)(const gnn_aggregate_shape_t *shape, gnn_real_t *state, const gnn_edge_t *edge);
    /** State -> output row (heads * d_v for scored rows, width otherwise). The state is kept for the backward pass. */
    void (*finish)(const gnn_aggregate_shape_t *shape, gnn_real_t *state, gnn_real_t *out);
    /** Turns the kept state into what accumulate_grad needs, given the output and its gradient. */
    void (*finish_grad)(const gnn_aggregate_shape_t *shape, gnn_real_t *state,
                        const gnn_real_t *out, const gnn_real_t *d_out);
    /** Derivatives of one edge, from the finished state alone: the driver may walk by receiver or by sender. */
    void (*accumulate_grad)(const gnn_aggregate_shape_t *shape, const gnn_real_t *state,
                            const gnn_edge_t *edge, gnn_edge_grad_t *grad);
    /** What the library's fast kernels know the row as; 0 for rows of your own. A copy of a row whose functions are changed sets it to 0. */
    int fast;
} gnn_aggregator_t;

GNN_API size_t gnn_aggregator_count(void);
GNN_API const gnn_aggregator_t *gnn_aggregator_at(size_t index);
GNN_API const gnn_aggregator_t *gnn_aggregator_find(const char *name);

/** What j says to i, given projected rows. Widths: a message has `width` numbers; the sender's row src_parts * width, the receiver's
 *  dst_parts * width, the edge's edge_parts * width (each 0 or more parts). */
typedef struct gnn_message {
    const char *name, *paper, *help;
    int projects; /**< 1: the layer multiplies the sender's features by a weight first; 0: raw features */
    int src_parts, dst_parts, edge_parts;
    int is_sender; /**< 1: the message is the sender's row itself (fast kernels read it in place) */
    void (*message)(int64_t width, const gnn_real_t *dst, const gnn_real_t *src,
                    const gnn_real_t *edge, gnn_real_t *message);
    /** Adds the derivatives; any of d_dst, d_src, d_edge may be NULL. */
    void (*message_grad)(int64_t width, const gnn_real_t *dst, const gnn_real_t *src,
                         const gnn_real_t *edge, const gnn_real_t *d_message, gnn_real_t *d_dst,
                         gnn_real_t *d_src, gnn_real_t *d_edge);
} gnn_message_t;

GNN_API size_t gnn_message_count(void);
GNN_API const gnn_message_t *gnn_message_at(size_t index);
GNN_API const gnn_message_t *gnn_message_find(const char *name);

/** Score bias by distance (sender's position minus receiver's), the one edge input that spans can carry. */
typedef enum { GNN_DISTANCE_NONE = 0, GNN_DISTANCE_SLOPE, GNN_DISTANCE_TABLE } gnn_distance_bias_t;

/** Settings of one aggregation, the attributes of the op `aggregate`. */
typedef struct gnn_aggregate {
    const gnn_aggregator_t *aggregator;
    const gnn_message_t *message;
    const gnn_graph_t *graph;
    gnn_view_t view; /**< which prepared view; .backward is added by the tape when it records */
    gnn_aggregate_shape_t shape; /**< heads, kv_heads, d_k, d_v, scale, slope, width; 0: 1, heads, width/heads, width/heads, 1/sqrt(d_k), 0.2 */
    gnn_real_t dropout;          /**< on the attention weights */
    gnn_distance_bias_t distance;
    int64_t distance_buckets; /**< TABLE: heads x buckets; bucket of distance d is clamp(d + buckets / 2, 0, buckets - 1) */
    /* Attention weights on request, filled in forward (after the softmax, before dropout and edge weights); NULL: not wanted. */
    const gnn_tensor_t *edge_weights_out; /**< (gnn_graph_n_edges x heads), caller's, by the user's edge numbers */
    gnn_real_t *segment_weights_out; /**< per segment: heads x receivers x senders, flattened one after another; caller's, overwritten */
} gnn_aggregate_t;

/** Inputs of the op `aggregate`, by position; absent ones are GNN_NONE. The same value may stand in several places. */
enum {
    GNN_AGGREGATE_SRC_MESSAGE =
        0, /**< (n_src x src_parts*width) what the message row reads of the sender */
    GNN_AGGREGATE_DST_MESSAGE,         /**< (n_dst x dst_parts*width) */
    GNN_AGGREGATE_QUERY,               /**< (n_dst x heads*d_k, or heads) */
    GNN_AGGREGATE_KEY,                 /**< (n_src x kv_heads*d_k, or heads) */
    GNN_AGGREGATE_EDGE_FEATURES,       /**< (m x d_e), by the user's edge numbers */
    GNN_AGGREGATE_EDGE_MESSAGE_WEIGHT, /**< (d_e x edge width) projects them for the message */
    GNN_AGGREGATE_EDGE_MESSAGE_BIAS,   /**< (1 x edge width) */
    GNN_AGGREGATE_EDGE_KEY_WEIGHT, /**< (d_e x key width) projects them for the score; may be the same as for the message */
    GNN_AGGREGATE_EDGE_WEIGHT, /**< (m x 1), or (m + n loops x 1) from gcn_norm */
    GNN_AGGREGATE_EDGE_BIAS,   /**< (m x 1) or (m x heads) */
    GNN_AGGREGATE_PARAMETERS,  /**< (1 x heads*d_k) the aggregator's own parameters */
    GNN_AGGREGATE_DISTANCE,    /**< (heads x buckets) table, or (1 x heads) slopes */
    GNN_AGGREGATE_GATE,        /**< (n_dst x heads) multiplies each head's output */
    GNN_AGGREGATE_INPUTS
};

#ifdef __cplusplus
}
#endif
#endif
