/* Properties of the library's own entries that fast strategies use, found by their addresses.
 * A program's own entry, or a copy of the library's, is OTHER everywhere: the reference runs
 * it. */
#ifndef GNN_AGGREGATE_HINTS_H
#define GNN_AGGREGATE_HINTS_H

#include <gnn/aggregate.h>
#include <lib/kernels/attention/attention.h>

/* The kind of reduction. */
typedef enum {
    GNN__REDUCTION_OTHER,
    GNN__REDUCTION_SUM,
    GNN__REDUCTION_MEAN,
    GNN__REDUCTION_MAX,
    GNN__REDUCTION_MIN,
    GNN__REDUCTION_ATTENTION
} gnn__reduction_t;

/* A message that kernels need not make. */
typedef enum {
    GNN__MESSAGE_OTHER,
    GNN__MESSAGE_SENDER,       /* the sender's row itself, read in place */
    GNN__MESSAGE_PLUS_EDGE,    /* the sender's row plus the edge's, summed apart */
    GNN__MESSAGE_PLUS_DISTANCE /* the sender's row plus one by distance, summed apart */
} gnn__message_kind_t;

typedef enum {
    GNN__WEIGHER_OTHER,
    GNN__WEIGHER_SOFTMAX,
    GNN__WEIGHER_SOFTMAX_SINK,
    GNN__WEIGHER_LINEAR,
    GNN__WEIGHER_DECAY,
    GNN__WEIGHER_RATIO
} gnn__weigher_kind_t;

/* A prior; RECEIVER to SLOPE are sums of a term of the receiver and one of the sender. */
typedef enum {
    GNN__PRIOR_OTHER,
    GNN__PRIOR_NONE,
    GNN__PRIOR_RECEIVER,
    GNN__PRIOR_SENDER,
    GNN__PRIOR_DECAY,
    GNN__PRIOR_SLOPE,
    GNN__PRIOR_PLACE,      /* a value per receiver and position of the sender */
    GNN__PRIOR_SENDER_KEYS /* a key of the distance, which the sender's key multiplies */
} gnn__prior_kind_t;

typedef struct gnn__hints {
    gnn__reduction_t reduction;
    gnn__message_kind_t message;
    gnn__score_kind_t score; /* OTHER unless the reduction is attention */
    gnn__weigher_kind_t weigher;
    gnn__prior_kind_t prior[GNN_PRIORS];
} gnn__hints_t;

/* Kinds of the entries of a call; those that it leaves out are its defaults. */
gnn__hints_t gnn__hints_of(const gnn_aggregate_t *how);
/* The message is the sender's row itself. */
bool gnn__message_is_sender(const gnn_message_t *message);

/* Of the prior sender_keys: the row of its table for a distance, and the column where a head's d_k
 * values begin. priors.c */
int64_t gnn__sender_key_row(const gnn_aggregate_shape_t *shape, int64_t distance);
int64_t gnn__sender_key_column(const gnn_aggregate_shape_t *shape, int64_t head);

/* Of the message by_distance: the row of its table for a distance, and the column where a
 * value head's d_v values begin. messages.c */
int64_t gnn__message_distance_row(const gnn_aggregate_shape_t *shape, int64_t distance);
int64_t gnn__message_distance_column(const gnn_aggregate_shape_t *shape, int64_t head);

#endif
