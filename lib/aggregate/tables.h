/* What the rows of the tables and their users inside the library share. */
#ifndef GNN_AGGREGATE_TABLES_H
#define GNN_AGGREGATE_TABLES_H

#include <gnn/aggregate.h>

/* What a row is to the ways of lib/aggregate/fast: the value of its field `fast`. */
typedef enum {
    GNN__FAST_NONE, /* they do not know it */
    GNN__FAST_SUM,
    GNN__FAST_MEAN,
    GNN__FAST_MAX,
    GNN__FAST_MIN,
    GNN__FAST_DOT,
    GNN__FAST_ADDITIVE,
    GNN__FAST_ADDITIVE_V2,
    GNN__FAST_SOFTMAX,
    GNN__FAST_SOFTMAX_SINK,
    GNN__FAST_LINEAR
} gnn__fast_t;

/* The key head that head a reads, and the value head that it hears. */
static inline int64_t gnn__key_head(const gnn_aggregate_shape_t *shape, int64_t a)
{
    return a / (shape->heads / shape->key_heads);
}

static inline int64_t gnn__value_head(const gnn_aggregate_shape_t *shape, int64_t a)
{
    return a / (shape->heads / shape->value_heads);
}

/* Options as they count: initial values where 0 was given. GNN_EINVALID for one that is out of
 * range, or not finite. */
int gnn__resolve_options(const char *row, const gnn_option_t *options, size_t n_options,
                         const double given[GNN_ROW_OPTIONS], double resolved[GNN_ROW_OPTIONS]);

/* Rows may come from a program: GNN_EINVALID says which function, name or list of options they
 * lack. */
int gnn__check_aggregator(const gnn_aggregator_t *aggregator);
int gnn__check_message(const gnn_message_t *message);

/* GNN_EUNSUPPORTED: the aggregator's scores have no rows for the map; GNN_EINVALID: it says itself
 * what is wrong with these sizes and options. A map that changes nothing fits everything. */
int gnn__check_map(const gnn_map_t *map, const gnn_aggregator_t *aggregator,
                   const gnn_aggregate_shape_t *shape);

/* Rows and columns of what a row with these sizes and options owns; 0 x 0 if it owns nothing.
 * GNN_EOVERFLOW. */
int gnn__declared_size(gnn_row_declare_t *declare, const gnn_aggregate_shape_t *shape,
                       int64_t *rows, int64_t *cols);

#endif
