/**
 * Four tables that attention weights are made of (gnn_aggregator_attention, aggregate.h):
 *
 *     w_ij = weigher( cap( score(map(q_i), map(k_j)) ) + sum of priors(i, j) + edge bias )
 *     y_i  = sum over j of w_ij m_ij
 *
 * where the weigher has the flag GNN_WEIGHER_FACTORS: cap(score) * exp(sum of priors + edge bias).
 *
 * scores: how a query and a key are compared. maps: what becomes of rows of queries and keys before
 * that. priors: terms by the positions of i and j. weighers: from scores to weights. A program's
 * own entry works on every graph, forward and backward, like the library's.
 */
#ifndef GNN_SCORE_H
#define GNN_SCORE_H

#include <gnn/row.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- scores ---- */

/** Width of the rows that a score compares. */
typedef enum {
    GNN_SCORE_PER_KEY = 0, /**< heads * d_k of the query, key_heads * d_k of the key */
    GNN_SCORE_PER_HEAD     /**< one value per head on either side */
} gnn_score_width_t;

/** Query and key of one pair, after the map of queries and keys. */
typedef struct gnn_score_rows {
    const gnn_real_t *query; /**< the receiver's */
    const gnn_real_t *key;   /**< the sender's, projected edge features added */
} gnn_score_rows_t;

/** Targets of the derivatives of one pair; each is ADDED to; NULL where it is not wanted. */
typedef struct gnn_score_grad {
    gnn_real_t *query, *key;
    gnn_tensor_t parameters; /**< like shape->parameters; data NULL: not wanted */
} gnn_score_grad_t;

/** The sender's one projection serves as key and as message where their widths agree (GAT,
 * GATv2). */
#define GNN_SCORE_KEY_IS_MESSAGE 1u

/** A comparison of a query and a key: one score per head. */
typedef struct gnn_score {
    const char *name, *paper, *help;
    unsigned flags; /**< GNN_SCORE_KEY_IS_MESSAGE; 0: none */
    gnn_score_width_t width;
    const gnn_option_t *options;
    size_t n_options;
    gnn_row_declare_t *declare; /**< NULL: the entry owns no parameters */
    /** The scores (heads) of one pair. */
    void (*score)(const gnn_aggregate_shape_t *shape, const gnn_score_rows_t *rows,
                  gnn_real_t *scores);
    void (*score_grad)(const gnn_aggregate_shape_t *shape, const gnn_score_rows_t *rows,
                       const gnn_real_t *d_scores, gnn_score_grad_t *grad);
} gnn_score_t;

/* ---- maps ---- */

/** Most values of a head after a map. */
#define GNN_MAP_WIDEST 4096

/** A function of a row of queries or keys, applied head by head. */
typedef struct gnn_map {
    const char *name, *paper, *help;
    const gnn_option_t *options;
    size_t n_options;
    /** Returns what is wrong with these widths and options as text, or NULL. The member may be
     * NULL. */
    const char *(*wrong)(const gnn_aggregate_shape_t *shape);
    /** Count of the values of a position, such as angles: all rows at one position share them.
     * NULL: the entry reads no positions. */
    int64_t (*numbers)(const gnn_aggregate_shape_t *shape);
    void (*prepare)(const gnn_aggregate_shape_t *shape, int64_t position, gnn_real_t *numbers);
    /** x (heads * d_k) -> y. NULL: identity. */
    void (*apply)(const gnn_aggregate_shape_t *shape, int64_t heads, const gnn_real_t *numbers,
                  const gnn_real_t *x, gnn_real_t *y);
    /** d_x += the derivatives of d_y. */
    void (*apply_grad)(const gnn_aggregate_shape_t *shape, int64_t heads, const gnn_real_t *numbers,
                       const gnn_real_t *x, const gnn_real_t *d_y, gnn_real_t *d_x);
    /** Values of a head after the map, 1 to GNN_MAP_WIDEST: the score compares rows of heads *
     * width(shape) values. NULL: d_k. */
    int64_t (*width)(const gnn_aggregate_shape_t *shape);
    /** NULL: the entry owns no parameters. */
    gnn_row_declare_t *declare;
    /** d_parameters += the derivatives of one row. NULL: there are no parameters, or they are given
     * and not trained, and their gradient is 0. */
    void (*parameters_grad)(const gnn_aggregate_shape_t *shape, int64_t heads, const gnn_real_t *x,
                            const gnn_real_t *d_y, const gnn_tensor_t *d_parameters);
} gnn_map_t;

/* ---- priors ---- */

/** The owner of the values that a prior reads. */
typedef enum {
    GNN_PRIOR_SHARED = 0,   /**< shared by all pairs: parameters, or an input of that shape */
    GNN_PRIOR_PER_RECEIVER, /**< one row per receiver, an input (n_dst x cols) */
    GNN_PRIOR_PER_SENDER    /**< one row per sender, an input (n_src x cols) */
} gnn_prior_numbers_t;

/** The prior multiplies the query (n_dst x heads * d_k): the score's own, as the map leaves it, or
 * the input prior_query. */
#define GNN_PRIOR_READS_QUERY 1u
/** The prior needs the distance of a pair (the position of the sender in its segment minus the
 * receiver's) or the sender's position. */
#define GNN_PRIOR_READS_DISTANCE 2u
/** The prior multiplies the key (n_src x key_heads * d_k), as the map leaves it. */
#define GNN_PRIOR_READS_KEY 4u
/** The prior's values are an input with one row per node (n x cols) of a graph whose receivers are
 * its senders, and the entry reads their running sums along each segment: rows i and j of
 * shape->parameters are the sums up to the receiver and up to the sender. */
#define GNN_PRIOR_RUNNING 8u

/** One pair as a prior sees it. */
typedef struct gnn_prior_pair {
    int64_t i, j, distance;
    const gnn_real_t *query; /**< (heads * d_k), or NULL */
    const gnn_real_t *key;   /**< (key_heads * d_k), or NULL */
    int64_t place;           /**< the sender's position in its segment */
} gnn_prior_pair_t;

/** Targets of derivatives: they are ADDED. `parameters` is like shape->parameters; data NULL, or
 * NULL: not wanted. */
typedef struct gnn_prior_grad {
    gnn_tensor_t parameters;
    gnn_real_t *query, *key;
} gnn_prior_grad_t;

/**
 * A term that the positions of a pair add to its score. An entry has either `score` and
 * `score_grad`, or, if distance and head alone decide, `strip` and `strip_grad`, with the flag
 * GNN_PRIOR_READS_DISTANCE and values that are SHARED, or, if the query times a key of the distance
 * does, `key_row` and `key_column`: fast kernels add strips to whole tiles of scores, and multiply
 * whole tiles of queries with the keys. Others are refused.
 *
 * An option of the name `part` limits the prior to the pairs of one part of the graph (a graph that
 * was merged has several), counted from 1; 0: all pairs. Self-loops that a view adds to a graph of
 * several parts are of none.
 */
typedef struct gnn_prior {
    const char *name, *paper, *help;
    unsigned flags;
    gnn_prior_numbers_t numbers;
    const gnn_option_t *options;
    size_t n_options;
    /** Exactly one piece; of a prior with a row per node only the columns count. */
    gnn_row_declare_t *declare;
    /** scores (heads) += the prior's terms for this pair. */
    void (*score)(const gnn_aggregate_shape_t *shape, const gnn_prior_pair_t *pair,
                  gnn_real_t *scores);
    void (*score_grad)(const gnn_aggregate_shape_t *shape, const gnn_prior_pair_t *pair,
                       const gnn_real_t *d_scores, gnn_prior_grad_t *grad);
    /** out[c] += the term of head `head` at distance first + c, for c = 0 .. count - 1. */
    void (*strip)(const gnn_aggregate_shape_t *shape, int64_t head, int64_t first, int64_t count,
                  gnn_real_t *out);
    /** d_parameters += the derivatives of such a strip. */
    void (*strip_grad)(const gnn_aggregate_shape_t *shape, int64_t head, int64_t first,
                       int64_t count, const gnn_real_t *d_strip, const gnn_tensor_t *d_parameters);
    /** For a prior of the form shape->scale * query . key, with keys of shape->d_k values that are
     * parameters: the row of the parameters with the keys of a distance, and the first column of a
     * head's key. The entry has the flags GNN_PRIOR_READS_QUERY and GNN_PRIOR_READS_DISTANCE, and
     * GNN_PRIOR_SHARED values. NULL for other priors. */
    int64_t (*key_row)(const gnn_aggregate_shape_t *shape, int64_t distance);
    int64_t (*key_column)(const gnn_aggregate_shape_t *shape, int64_t head);
} gnn_prior_t;

/** A prior at work: an entry and the values of its options (0: initial ones). Row NULL: none. */
typedef struct gnn_prior_use {
    const gnn_prior_t *row;
    double options[GNN_ROW_OPTIONS];
} gnn_prior_use_t;

/** Maximum count of priors of one aggregation. */
#define GNN_PRIORS 3

/** The row of a distance d in a table of n rows (the option `rule`). */
typedef enum {
    GNN_BUCKET_CLIP = 0, /**< clamp(d + n / 2, 0, n - 1) */
    /** clamp(d + n - 1, 0, n - 1): the last row is for the receiver itself and all later senders */
    GNN_BUCKET_CLIP_CAUSAL,
    GNN_BUCKET_LOG, /**< T5's, bidirectional: the second half is for senders after the receiver */
    /** T5's, causal: row 0 is for the receiver itself and all later senders */
    GNN_BUCKET_LOG_CAUSAL,
    /** clamp(n / 2 - d, 0, n - 1): DeBERTa's, receiver's position minus sender's */
    GNN_BUCKET_CLIP_BACK,
    /** the same with logarithmic steps from n / 4 on, up to `reach`: DeBERTa-v2's */
    GNN_BUCKET_LOG_BACK,
    GNN_BUCKETS
} gnn_bucket_t;

/* ---- weighers ---- */

/** Most values that a weigher keeps per receiver and head. */
#define GNN_WEIGHER_STATE 16

/** Priors and the edge bias are logarithms of factors: the score that enters is cap(score) *
 * exp(bias + sum of priors), not their sum. */
#define GNN_WEIGHER_FACTORS 1u

/**
 * From scores to weights. Scores of a receiver enter its state one after another, whatever part of
 * the graph they are from, in one pass or several; then the state settles, and every weight follows
 * from it and the pair's score.
 */
typedef struct gnn_weigher {
    const char *name, *paper, *help;
    const gnn_option_t *options;
    size_t n_options;
    gnn_row_declare_t *declare; /**< NULL: the entry owns no parameters */
    int64_t state; /**< values per receiver and head, 0 .. GNN_WEIGHER_STATE; they start at 0 */
    /** Adds one score to the state. NULL: a weight follows from its score alone. */
    void (*enter)(const gnn_aggregate_shape_t *shape, int64_t head, gnn_real_t *state,
                  gnn_real_t score);
    /** All scores are in. May be NULL: the state stays as it is. */
    void (*settle)(const gnn_aggregate_shape_t *shape, int64_t head, gnn_real_t *state);
    /** The weight of one score, from the settled state. */
    gnn_real_t (*weight)(const gnn_aggregate_shape_t *shape, int64_t head, const gnn_real_t *state,
                         gnn_real_t score);
    /** The derivative of the loss with respect to one score: d_weight is that with respect to the
     * weight, and delta is the sum of weight * d_weight over all senders of the receiver. */
    gnn_real_t (*weight_grad)(const gnn_aggregate_shape_t *shape, int64_t head,
                              const gnn_real_t *state, gnn_real_t score, gnn_real_t weight,
                              gnn_real_t d_weight, gnn_real_t delta);
    /** d_parameters += the derivatives of one receiver. NULL for entries without parameters. */
    void (*settle_grad)(const gnn_aggregate_shape_t *shape, int64_t head, const gnn_real_t *state,
                        gnn_real_t delta, const gnn_tensor_t *d_parameters);
    /** The weight that stands for `weight` in the derivatives by scores (straight-through):
     * weight_grad gets this one, and delta is the sum over it. NULL: `weight` itself. */
    gnn_real_t (*weight_backward)(const gnn_aggregate_shape_t *shape, int64_t head,
                                  const gnn_real_t *state, gnn_real_t score);
    unsigned flags; /**< GNN_WEIGHER_FACTORS; 0: none */
    /** A pass over the scores has ended: nonzero asks for another one, in which they all enter
     * again, in the same order. Passes go on until no head asks, of any receiver, so a state that
     * needs no more leaves further scores alone. NULL: one pass. */
    int (*again)(const gnn_aggregate_shape_t *shape, int64_t head, gnn_real_t *state);
} gnn_weigher_t;

/* ---- the library's entries ---- */

/* clang-format off */
#define GNN_SCORE(name) GNN_API extern const gnn_score_t gnn_score_##name;
#include <gnn/tables/scores.def>
#undef GNN_SCORE
#define GNN_MAP(name) GNN_API extern const gnn_map_t gnn_map_##name;
#include <gnn/tables/maps.def>
#undef GNN_MAP
#define GNN_PRIOR(name) GNN_API extern const gnn_prior_t gnn_prior_##name;
#include <gnn/tables/priors.def>
#undef GNN_PRIOR
#define GNN_WEIGHER(name) GNN_API extern const gnn_weigher_t gnn_weigher_##name;
#include <gnn/tables/weighers.def>
#undef GNN_WEIGHER
/* clang-format on */

/** The score of a name; NULL if there is none, and gnn_error_message() then lists the names.
 * Check it: in a config, NULL means the preset's choice (gnn_layer_config_set refuses a name). */
GNN_API const gnn_score_t *gnn_score_find(const char *name);
/** The map of a name; NULL if there is none, and gnn_error_message() then lists the names.
 * Check it: in a config, NULL means the preset's choice (gnn_layer_config_set refuses a name). */
GNN_API const gnn_map_t *gnn_map_find(const char *name);
/** The prior of a name; NULL if there is none, and gnn_error_message() then lists the names.
 * Check it: in a config, NULL means the end of the list (gnn_layer_config_set refuses a name). */
GNN_API const gnn_prior_t *gnn_prior_find(const char *name);
/** The weigher of a name; NULL if there is none, and gnn_error_message() then lists the names.
 * Check it: in a config, NULL means the preset's choice (gnn_layer_config_set refuses a name). */
GNN_API const gnn_weigher_t *gnn_weigher_find(const char *name);

#ifdef __cplusplus
}
#endif
#endif
