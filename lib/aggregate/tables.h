/* The tables as the library sees them: options, checks and declared parameters of entries. */
#ifndef GNN_AGGREGATE_TABLES_H
#define GNN_AGGREGATE_TABLES_H

#include <gnn/aggregate.h>
#include <lib/base/options.h>
#include <stdbool.h>

/* The key head, and the value head, of head a. */
static inline int64_t gnn__key_head(const gnn_aggregate_shape_t *shape, int64_t a)
{
    return a / (shape->heads / shape->key_heads);
}

static inline int64_t gnn__value_head(const gnn_aggregate_shape_t *shape, int64_t a)
{
    return a / (shape->heads / shape->value_heads);
}

/* Entries may come from a program: the message of GNN_EINVALID names the function, name, flag or
 * list of options that is missing or wrong in the entries of a call. Of the aggregator and the
 * message none may be NULL. */
int gnn__check_entries(const gnn_aggregate_t *how);

/* GNN_EUNSUPPORTED: the score compares no rows of d_k values; GNN_EINVALID: the map's own
 * words for what is wrong with these sizes and options. A map that changes nothing fits
 * everything. */
int gnn__check_map(const gnn_map_t *map, const gnn_score_t *score,
                   const gnn_aggregate_shape_t *shape);

/* Values of a head after the map. The map was checked. */
static inline int64_t gnn__map_width(const gnn_map_t *map, const gnn_aggregate_shape_t *shape)
{
    return map && map->apply && map->width ? map->width(shape) : shape->d_k;
}

/* Linear attention whose sums may go on from call to call (gnn_aggregate_t.running). */
bool gnn__keeps_sums(const gnn_aggregate_t *how);
/* Count of these sums per segment, of a call whose heads and widths are given. */
int gnn__sums_size(const gnn_aggregate_t *how, int64_t *size);

/* The score compares rows of d_k values; one value per head. `score` NULL: neither. */
static inline bool gnn__scores_keys(const gnn_score_t *score)
{
    return score && score->width == GNN_SCORE_PER_KEY;
}

static inline bool gnn__scores_heads(const gnn_score_t *score)
{
    return score && score->width == GNN_SCORE_PER_HEAD;
}

/* Rows and columns of the parameters of an entry with these sizes and options; 0 x 0 if it
 * owns none. GNN_EOVERFLOW. */
int gnn__declared_size(gnn_row_declare_t *declare, const gnn_aggregate_shape_t *shape,
                       int64_t *rows, int64_t *cols);

/* Entry `index` of a table, from 0; NULL past the last. */
const gnn_aggregator_t *gnn__aggregator_at(size_t index);
const gnn_message_t *gnn__message_at(size_t index);
const gnn_score_t *gnn__score_at(size_t index);
const gnn_map_t *gnn__map_at(size_t index);
const gnn_prior_t *gnn__prior_at(size_t index);
const gnn_weigher_t *gnn__weigher_at(size_t index);

/* ---- a weigher over a whole row of scores of one head ---- */

typedef struct gnn__weigher_call {
    const gnn_weigher_t *weigher;
    const gnn_aggregate_shape_t *shape;
    int64_t head;
} gnn__weigher_call_t;

typedef struct gnn__weigher_rows {
    /* w (n) = the weights of the scores s. state: GNN_WEIGHER_STATE values, overwritten. */
    void (*weigh)(const gnn__weigher_call_t *call, const gnn_real_t *s, int64_t n,
                  gnn_real_t *state, gnn_real_t *w);
    /* Turns d (n), derivatives with respect to the weights, into those with respect to the scores.
     * w: weights, overwritten. */
    void (*grad)(const gnn__weigher_call_t *call, const gnn_real_t *s, int64_t n,
                 const gnn_real_t *state, gnn_real_t *w, gnn_real_t *d);
} gnn__weigher_rows_t;
/* By a kernel, where the entry has one (weighers.c), else by its functions, score after score. */
gnn__weigher_rows_t gnn__weigher_rows_of(const gnn_weigher_t *weigher);

#endif
