/**
 * What an attention weight is made of:
 *
 *     w_ij = weigher( cap( score(map(q_i), map(k_j)) ) + sum of priors(i, j) + edge bias )
 *     y_i  = sum over j of w_ij m_ij
 *
 * The score is an aggregator's (aggregate.h). This header has the other three tables. maps: what
 * the rows of queries and keys become before they meet. priors: what the places of i and j add to
 * the score. weighers: what a score is worth. A row of yours works in every graph, forward and
 * backward, like the library's.
 */
#ifndef GNN_SCORE_H
#define GNN_SCORE_H

#include <gnn/row.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- maps ---- */

/** What a row of queries or keys becomes: each head's part of it by itself. */
typedef struct gnn_map {
    const char *name, *paper, *help;
    const gnn_option_t *options;
    size_t n_options;
    /** What is wrong with these widths and options, in words, or NULL. The member may be NULL. */
    const char *(*wrong)(const gnn_aggregate_shape_t *shape);
    /** Numbers that a position has (angles, say): all rows at one position share them. NULL: the
     * row reads no positions. */
    int64_t (*numbers)(const gnn_aggregate_shape_t *shape);
    void (*prepare)(const gnn_aggregate_shape_t *shape, int64_t position, gnn_real_t *numbers);
    /** x (heads * d_k) -> y. NULL: rows stay as they are. */
    void (*apply)(const gnn_aggregate_shape_t *shape, int64_t heads, const gnn_real_t *numbers,
                  const gnn_real_t *x, gnn_real_t *y);
    /** d_x += what d_y gives. */
    void (*apply_grad)(const gnn_aggregate_shape_t *shape, int64_t heads, const gnn_real_t *numbers,
                       const gnn_real_t *x, const gnn_real_t *d_y, gnn_real_t *d_x);
} gnn_map_t;

/* ---- priors ---- */

/** Whose numbers a prior reads. */
typedef enum {
    GNN_PRIOR_SHARED = 0,   /**< all pairs share them: parameters, or a value of that shape */
    GNN_PRIOR_PER_RECEIVER, /**< a row per receiver, a value (n_dst x cols) */
    GNN_PRIOR_PER_SENDER    /**< a row per sender, a value (n_src x cols) */
} gnn_prior_numbers_t;

/** The row multiplies the query (n_dst x heads * d_k): the score's own, as the map leaves it, or
 * the input prior_query. */
#define GNN_PRIOR_READS_QUERY 1u
/** The row needs the distance of a pair (the position of the sender in its segment minus the
 * receiver's) or the sender's position. */
#define GNN_PRIOR_READS_DISTANCE 2u
/** The row multiplies the key (n_src x key_heads * d_k), as the map leaves it. */
#define GNN_PRIOR_READS_KEY 4u

/** One pair as a prior sees it. */
typedef struct gnn_prior_pair {
    int64_t i, j, distance;
    const gnn_real_t *query; /**< (heads * d_k), or NULL */
    const gnn_real_t *key;   /**< (key_heads * d_k), or NULL */
    int64_t place;           /**< the sender's position in its segment */
} gnn_prior_pair_t;

/** Where derivatives go: they are ADDED. `parameters` is like shape->parameters; data NULL, or
 * NULL: not wanted. */
typedef struct gnn_prior_grad {
    gnn_tensor_t parameters;
    gnn_real_t *query, *key;
} gnn_prior_grad_t;

/**
 * What the places of a pair add to its score. A row has either `score` and `score_grad`, or, if
 * distance and head alone decide, `strip` and `strip_grad`, or, if the query times a key of the
 * distance does, `key_row` and `key_column`: fast kernels add strips to whole tiles of scores, and
 * multiply whole tiles of queries with the keys.
 */
typedef struct gnn_prior {
    const char *name, *paper, *help;
    unsigned flags;
    gnn_prior_numbers_t numbers;
    const gnn_option_t *options;
    size_t n_options;
    /** Exactly one piece; of the rows per node only the columns count. */
    gnn_row_declare_t *declare;
    /** scores (heads) += what the prior says of this pair. */
    void (*score)(const gnn_aggregate_shape_t *shape, const gnn_prior_pair_t *pair,
                  gnn_real_t *scores);
    void (*score_grad)(const gnn_aggregate_shape_t *shape, const gnn_prior_pair_t *pair,
                       const gnn_real_t *d_scores, gnn_prior_grad_t *grad);
    /** out[c] += what the prior says of head `head` at distance first + c, for c = 0 .. count -
     * 1. */
    void (*strip)(const gnn_aggregate_shape_t *shape, int64_t head, int64_t first, int64_t count,
                  gnn_real_t *out);
    /** d_parameters += what the derivatives of such a strip give. */
    void (*strip_grad)(const gnn_aggregate_shape_t *shape, int64_t head, int64_t first,
                       int64_t count, const gnn_real_t *d_strip, const gnn_tensor_t *d_parameters);
    /** The prior is shape->scale * query . key, both of shape->d_k numbers: the row of the
     * parameters that holds the keys of a distance, and the column where a head's key begins. Such
     * a row has the flags READS_QUERY and READS_DISTANCE, and its numbers are SHARED. */
    int64_t (*key_row)(const gnn_aggregate_shape_t *shape, int64_t distance);
    int64_t (*key_column)(const gnn_aggregate_shape_t *shape, int64_t head);
} gnn_prior_t;

/** A prior at work: a row and the values of its options (0: initial ones). Row NULL: none. */
typedef struct gnn_prior_use {
    const gnn_prior_t *row;
    double options[GNN_ROW_OPTIONS];
} gnn_prior_use_t;

/** Most priors of one aggregation. */
#define GNN_PRIORS 3

/** How a table finds the row of a distance d among n (the option `rule`). */
typedef enum {
    GNN_BUCKET_CLIP = 0, /**< clamp(d + n / 2, 0, n - 1) */
    /** clamp(d + n - 1, 0, n - 1): the last one is the receiver itself and all after it */
    GNN_BUCKET_CLIP_CAUSAL,
    GNN_BUCKET_LOG, /**< T5's, both directions: the later half is for senders after the receiver */
    /** T5's, senders before the receiver: 0 is the receiver itself and all after it */
    GNN_BUCKET_LOG_CAUSAL,
    /** clamp(n / 2 - d, 0, n - 1): DeBERTa's, which counts from the sender */
    GNN_BUCKET_CLIP_BACK,
    /** the same with steps of equal ratio from n / 4 on, up to `reach`: DeBERTa-v2's */
    GNN_BUCKET_LOG_BACK,
    GNN_BUCKETS
} gnn_bucket_t;

/* ---- weighers ---- */

/** Most numbers that a weigher keeps per receiver and head. */
#define GNN_WEIGHER_STATE 12

/**
 * What a score is worth. Scores of a receiver enter its state one after another, whatever part of
 * the graph they are from; then the state settles, and every weight follows from it and the pair's
 * score.
 */
typedef struct gnn_weigher {
    const char *name, *paper, *help;
    const gnn_option_t *options;
    size_t n_options;
    gnn_row_declare_t *declare; /**< NULL: the row owns no parameters */
    int64_t state; /**< numbers per receiver and head, 0 .. GNN_WEIGHER_STATE; they start at 0 */
    /** Takes one score in. NULL: a weight follows from its score alone. */
    void (*enter)(const gnn_aggregate_shape_t *shape, int64_t head, gnn_real_t *state,
                  gnn_real_t score);
    /** All scores are in. May be NULL. */
    void (*settle)(const gnn_aggregate_shape_t *shape, int64_t head, gnn_real_t *state);
    /** The weight of one score, from the settled state. */
    gnn_real_t (*weight)(const gnn_aggregate_shape_t *shape, int64_t head, const gnn_real_t *state,
                         gnn_real_t score);
    /** The derivative of the loss by one score: d_weight is that by the weight, and delta is the
     * sum of weight * d_weight
     *  over everything that the receiver hears. */
    gnn_real_t (*weight_grad)(const gnn_aggregate_shape_t *shape, int64_t head,
                              const gnn_real_t *state, gnn_real_t score, gnn_real_t weight,
                              gnn_real_t d_weight, gnn_real_t delta);
    /** d_parameters += what one receiver gives. NULL for rows without parameters. */
    void (*settle_grad)(const gnn_aggregate_shape_t *shape, int64_t head, const gnn_real_t *state,
                        gnn_real_t delta, const gnn_tensor_t *d_parameters);
    /** What the library's fast kernels know the row as; 0 for rows of your own. */
    int fast;
    /** The weight that the derivatives by scores believe in, where it is another than `weight`
     * (straight-through): weight_grad gets this one, and delta is the sum over it. NULL: `weight`.
     */
    gnn_real_t (*weight_backward)(const gnn_aggregate_shape_t *shape, int64_t head,
                                  const gnn_real_t *state, gnn_real_t score);
} gnn_weigher_t;

/* ---- the library's rows ---- */

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
