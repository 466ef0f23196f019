/* Priors and messages by distance, as the kernels of attention read them: values, keys and rows
 * of all distances that a graph has, laid out before the scores are made, and their gradients,
 * folded into those of slopes and tables after. */
#ifndef GNN_AGGREGATE_DISTANCES_H
#define GNN_AGGREGATE_DISTANCES_H

#include <lib/aggregate/fast/attention_call.h>

/* ---- values that are added to scores ---- */

/* Strips of the distances first .. first + count - 1; a head has `stride` values,
 * GNN__PRIOR_MARGIN of them before the first. Parts share one set of strips, or, where a prior is
 * of one part or a part has positions of its own, have one each. */
typedef struct gnn__distance_prior {
    int64_t first, count, stride, sets;
    int64_t *positions;   /* of receivers, then of senders */
    int64_t *shift;       /* of the rows of the current part */
    gnn_real_t *up;       /* sets x heads x stride */
    gnn_real_t *down;     /* the same, the longest distance first; backward */
    gnn_real_t *sums;     /* as `up`: gradients; backward, NULL: they are not wanted */
    gnn_real_t *partials; /* sums of the chunks of one part; backward */
} gnn__distance_prior_t;

/* True if the values of all distances, and their sums by chunks, are few compared with nodes and
 * pairs, or if no prior depends on distances. */
bool gnn__distance_prior_fits(const gnn__plan_t *plan);
/* True if the distance of a pair is a value of its row plus its offset in the row's span, by
 * receiver and by sender: not if nodes are permuted, a span crosses the border of a segment, or the
 * part has positions of its own. */
bool gnn__distances_are_straight(const gnn__plan_t *plan, int64_t p);
/* The stride of a head in arrays of all distances (gnn__distance_prior_t), with *first and
 * *count. */
int64_t gnn__distance_places(const gnn__plan_t *plan, int64_t *first, int64_t *count);

/* Lays out the memory of `prior`; `chunks` is the largest count of chunks of a part. If no prior
 * depends on distances, there is none, and the functions below do nothing. */
void gnn__distance_prior_carve(const gnn__plan_t *plan, gnn__carve_t *carve, bool backward,
                               int64_t chunks, gnn__distance_prior_t *prior);
/* Fills the values of all distances; in backward also zeroes their sums. */
void gnn__distance_prior_fill(const gnn__plan_t *plan, bool backward, gnn__distance_prior_t *prior);
/* Sets a->prior for part p, in tiles or row by row. */
void gnn__distance_prior_part(const gnn__plan_t *plan, const gnn__distance_prior_t *prior,
                              int64_t p, bool tiles, gnn__attention_t *a);
/* Adds the sums of the chunks of part p, in order, to `sums`. Tiles store theirs with the longest
 * distance first. */
void gnn__distance_prior_add(const gnn__plan_t *plan, const gnn__distance_prior_t *prior, int64_t p,
                             int64_t chunks, bool tiles);
/* Adds the gradients that follow from the sums to those of slopes and tables. */
void gnn__distance_prior_grad(const gnn__plan_t *plan, const gnn__distance_prior_t *prior);

/* ---- keys ---- */

typedef struct gnn__distance_keys {
    int64_t first, count, stride; /* of distances: as in gnn__distance_prior_t */
    int32_t *row[GNN_PRIORS];     /* of each slot, in the table of a prior */
    int64_t *column[GNN_PRIORS];  /* of each head */
    gnn_real_t *rows, *blocks; /* in tiles: heads x stride x width, or once if heads share them */
    /* Backward, sums of the chunks of one part; NULL: not wanted. In tiles by slot, chunks x
     * heads x stride x width; row by row of the tables. */
    gnn_real_t *partials, *row_partials;
    int64_t parameters; /* values of all tables */
} gnn__distance_keys_t;

/* The most chunks of a part in tiles, and of one that goes row by row; 0: there is none. */
typedef struct gnn__key_chunks {
    int64_t tiles, rows;
} gnn__key_chunks_t;

bool gnn__has_keys(const gnn__plan_t *plan);
/* True if the keys of all distances, with their sums, are few compared with the nodes' rows. */
bool gnn__distance_keys_fit(const gnn__plan_t *plan, gnn__key_chunks_t chunks);

/* Memory; none without keys: the functions below then do nothing. */
void gnn__distance_keys_carve(const gnn__plan_t *plan, gnn__carve_t *carve, bool backward,
                              gnn__key_chunks_t chunks, gnn__distance_keys_t *keys);
/* Lays the keys out and sets a->keys. After gnn__distance_prior_fill. */
void gnn__distance_keys_fill(const gnn__plan_t *plan, bool backward,
                             const gnn__distance_prior_t *prior, const gnn__distance_keys_t *keys,
                             int threads, gnn__attention_t *a);
/* The gradients of the tables += the sums of the chunks of a part, in order. */
void gnn__distance_keys_grad(const gnn__plan_t *plan, const gnn__distance_keys_t *keys,
                             const gnn__attention_t *a, int64_t chunks, bool tiles, int threads);

/* ---- rows that are added to values ---- */

typedef struct gnn__distance_values {
    int32_t *row;         /* of each slot; NULL: values do not depend on distances */
    int64_t *column;      /* of each value head */
    gnn_real_t *partials; /* chunks x the table; backward, NULL: not wanted */
    int64_t parameters;
} gnn__distance_values_t;

/* Memory; `chunks`: the most of any part. */
void gnn__distance_values_carve(const gnn__plan_t *plan, gnn__carve_t *carve, bool backward,
                                int64_t chunks, gnn__distance_values_t *values);
/* Sets a->values. */
void gnn__distance_values_fill(const gnn__plan_t *plan, const gnn__distance_values_t *values,
                               gnn__attention_t *a);
/* The table's gradient += the sums of the chunks of a part, in order. */
void gnn__distance_values_grad(const gnn__plan_t *plan, const gnn__distance_values_t *values,
                               int64_t chunks);

#endif
