/**
 * The parts of an attention weight:
 *
 *     w_ij = weigher( cap( score(map(q_i), map(k_j)) ) + sum of priors(i, j) + edge bias )
 *     y_i  = sum over j of w_ij m_ij
 *
 * The score is an aggregator's (aggregate.h). This header has the other three tables. maps:
 * transforms of queries and keys before the score. priors: terms that the positions of i and j add
 * to the score. weighers: the weights of scores. An entry of your own works on every graph, forward
 * and backward, like those of the library.
 */
#ifndef GNN_SCORE_H
#define GNN_SCORE_H

#include <gnn/row.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- maps ---- */

/** A transform of queries and keys, applied to each head separately. */
typedef struct gnn_map {
    const char *name, *paper, *help;
    const gnn_option_t *options;
    size_t n_options;
    /** Returns what is wrong with these widths and options as text, or NULL. The member may be
     * NULL. */
    const char *(*wrong)(const gnn_aggregate_shape_t *shape);
    /** Count of the values that are precomputed per position (such as angles), which all rows of
     * one position share. NULL: the map reads no positions. */
    int64_t (*numbers)(const gnn_aggregate_shape_t *shape);
    void (*prepare)(const gnn_aggregate_shape_t *shape, int64_t position, gnn_real_t *numbers);
    /** x (heads * d_k) -> y. NULL: identity. */
    void (*apply)(const gnn_aggregate_shape_t *shape, int64_t heads, const gnn_real_t *numbers,
                  const gnn_real_t *x, gnn_real_t *y);
    /** Adds the gradient of d_y to d_x. */
    void (*apply_grad)(const gnn_aggregate_shape_t *shape, int64_t heads, const gnn_real_t *numbers,
                       const gnn_real_t *x, const gnn_real_t *d_y, gnn_real_t *d_x);
} gnn_map_t;

/* ---- priors ---- */

/** The sharing of a prior's values. */
typedef enum {
    GNN_PRIOR_SHARED = 0,   /**< shared by all pairs: parameters, or an input of that shape */
    GNN_PRIOR_PER_RECEIVER, /**< one row per receiver, an input (n_dst x cols) */
    GNN_PRIOR_PER_SENDER    /**< one row per sender, an input (n_src x cols) */
} gnn_prior_numbers_t;

/** The prior multiplies the query (n_dst x heads * d_k): that of the score, after the map, or the
 * input prior_query. */
#define GNN_PRIOR_READS_QUERY 1u
/** The prior needs the distance of a pair (the position of the sender in its segment minus the
 * receiver's) or the sender's position. */
#define GNN_PRIOR_READS_DISTANCE 2u
/** The prior multiplies the key (n_src x key_heads * d_k), after the map. */
#define GNN_PRIOR_READS_KEY 4u

/** One pair as a prior sees it. */
typedef struct gnn_prior_pair {
    int64_t i, j, distance;
    const gnn_real_t *query; /**< (heads * d_k), or NULL */
    const gnn_real_t *key;   /**< (key_heads * d_k), or NULL */
    int64_t place;           /**< the sender's position in its segment */
} gnn_prior_pair_t;

/** Derivatives, to be added to. `parameters` is like shape->parameters; data NULL, or NULL: not
 * wanted. */
typedef struct gnn_prior_grad {
    gnn_tensor_t parameters;
    gnn_real_t *query, *key;
} gnn_prior_grad_t;

/**
 * A term added to the score of a pair. A prior has either `score` and `score_grad`; or, if it
 * depends on distance and head alone, `strip` and `strip_grad`; or, if it is the query times a key
 * of the distance, `key_row` and `key_column`. Fast kernels add strips to whole tiles of scores,
 * and multiply whole tiles of queries with the keys.
 */
typedef struct gnn_prior {
    const char *name, *paper, *help;
    unsigned flags;
    gnn_prior_numbers_t numbers;
    const gnn_option_t *options;
    size_t n_options;
    /** Declares exactly one parameter; with values per node only its columns count. */
    gnn_row_declare_t *declare;
    /** Adds the prior of this pair to scores (heads). */
    void (*score)(const gnn_aggregate_shape_t *shape, const gnn_prior_pair_t *pair,
                  gnn_real_t *scores);
    void (*score_grad)(const gnn_aggregate_shape_t *shape, const gnn_prior_pair_t *pair,
                       const gnn_real_t *d_scores, gnn_prior_grad_t *grad);
    /** Adds the prior of head `head` at distance first + c to out[c], for c = 0 .. count - 1. */
    void (*strip)(const gnn_aggregate_shape_t *shape, int64_t head, int64_t first, int64_t count,
                  gnn_real_t *out);
    /** Adds the gradient of such a strip to d_parameters. */
    void (*strip_grad)(const gnn_aggregate_shape_t *shape, int64_t head, int64_t first,
                       int64_t count, const gnn_real_t *d_strip, const gnn_tensor_t *d_parameters);
    /** For priors of the form shape->scale * query . key, both of width shape->d_k: the parameter
     * row that holds the keys of a distance, and the first column of a head's key. Such a prior has
     * the flags READS_QUERY and READS_DISTANCE, and its values are SHARED. */
    int64_t (*key_row)(const gnn_aggregate_shape_t *shape, int64_t distance);
    int64_t (*key_column)(const gnn_aggregate_shape_t *shape, int64_t head);
} gnn_prior_t;

/** A prior with the values of its options (0: initial ones). Row NULL: none. */
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

/** Maximum elements of a weigher's state per receiver and head. */
#define GNN_WEIGHER_STATE 12

/**
 * Turns scores into weights. The scores of a receiver enter its state one after another, over all
 * parts of the graph; then the state is settled, and every weight is a function of it and the
 * pair's score.
 */
typedef struct gnn_weigher {
    const char *name, *paper, *help;
    const gnn_option_t *options;
    size_t n_options;
    gnn_row_declare_t *declare; /**< NULL: no parameters */
    int64_t state; /**< elements per receiver and head, 0 .. GNN_WEIGHER_STATE; they start at 0 */
    /** Adds one score to the state. NULL: a weight depends on its score alone. */
    void (*enter)(const gnn_aggregate_shape_t *shape, int64_t head, gnn_real_t *state,
                  gnn_real_t score);
    /** Called after the last score. May be NULL. */
    void (*settle)(const gnn_aggregate_shape_t *shape, int64_t head, gnn_real_t *state);
    /** The weight of one score, from the settled state. */
    gnn_real_t (*weight)(const gnn_aggregate_shape_t *shape, int64_t head, const gnn_real_t *state,
                         gnn_real_t score);
    /** The derivative of the loss by one score: d_weight is the derivative by the weight, and delta
     * the sum of weight * d_weight over all senders of the receiver. */
    gnn_real_t (*weight_grad)(const gnn_aggregate_shape_t *shape, int64_t head,
                              const gnn_real_t *state, gnn_real_t score, gnn_real_t weight,
                              gnn_real_t d_weight, gnn_real_t delta);
    /** Adds the gradient of one receiver to d_parameters. NULL without parameters. */
    void (*settle_grad)(const gnn_aggregate_shape_t *shape, int64_t head, const gnn_real_t *state,
                        gnn_real_t delta, const gnn_tensor_t *d_parameters);
    /** Id of the weigher in the library's fast kernels; 0 for weighers of your own. */
    int fast;
    /** The weight used in the backward pass, if it differs from `weight` (straight-through):
     * weight_grad gets this one, and delta is the sum over it. NULL: `weight`.
     */
    gnn_real_t (*weight_backward)(const gnn_aggregate_shape_t *shape, int64_t head,
                                  const gnn_real_t *state, gnn_real_t score);
} gnn_weigher_t;

/* ---- the library's entries ---- */

/* clang-format off */
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

/** Count of the maps in the library's table. */
GNN_API size_t gnn_map_count(void);
/** The map of an index, 0 to gnn_map_count() - 1; NULL past the last. */
GNN_API const gnn_map_t *gnn_map_at(size_t index);
/** The map of a name; NULL if there is none, and gnn_error_message() then lists the names. */
GNN_API const gnn_map_t *gnn_map_find(const char *name);
/** Count of the priors in the library's table. */
GNN_API size_t gnn_prior_count(void);
/** The prior of an index, 0 to gnn_prior_count() - 1; NULL past the last. */
GNN_API const gnn_prior_t *gnn_prior_at(size_t index);
/** The prior of a name; NULL if there is none, and gnn_error_message() then lists the names. */
GNN_API const gnn_prior_t *gnn_prior_find(const char *name);
/** Count of the weighers in the library's table. */
GNN_API size_t gnn_weigher_count(void);
/** The weigher of an index, 0 to gnn_weigher_count() - 1; NULL past the last. */
GNN_API const gnn_weigher_t *gnn_weigher_at(size_t index);
/** The weigher of a name; NULL if there is none, and gnn_error_message() then lists the names. */
GNN_API const gnn_weigher_t *gnn_weigher_find(const char *name);

#ifdef __cplusplus
}
#endif
#endif
