/* What the distance from receiver to sender adds to scores, as kernels read it: for each head the
 * numbers of all distances that a graph has, made before the scores are, and the gradients of these
 * numbers, folded into those of slopes or tables after. */
#ifndef GNN_AGGREGATE_DISTANCE_PRIOR_H
#define GNN_AGGREGATE_DISTANCE_PRIOR_H

#include <lib/aggregate/fast/attention_call.h>

/* Distances first .. first + count - 1; a head has `stride` numbers, GNN__PRIOR_MARGIN of them
 * before the first. */
typedef struct gnn__distance_prior {
    int64_t first, count, stride;
    int64_t *positions;   /* of receivers, then of senders */
    int64_t *shift;       /* of the rows of the part at hand */
    gnn_real_t *up;       /* heads x stride */
    gnn_real_t *down;     /* the same, the longest distance first; backward */
    gnn_real_t *sums;     /* as `up`: gradients; backward, NULL: they are not wanted */
    gnn_real_t *partials; /* sums of the chunks of one part; backward */
} gnn__distance_prior_t;

/* Are the numbers of all distances, and their sums by chunks, few beside nodes and pairs? True
 * where distances add nothing. */
bool gnn__distance_prior_fits(const gnn__plan_t *plan);
/* Is the distance a number of the row plus the place, by receiver and by sender? Where nodes stand
 * in an order of their own, or a run crosses the border of a segment, it is not. */
bool gnn__distances_are_straight(const gnn__plan_t *plan, int64_t p);
/* Places for all distances, those of a head, whether it has numbers or keys; first: as in
 * gnn__distance_prior_t. */
int64_t gnn__distance_places(const gnn__plan_t *plan, int64_t *first, int64_t *count);

/* Memory; where distances add nothing none, and all of what follows does nothing. `chunks`: the
 * most of any part. */
void gnn__distance_prior_carve(const gnn__plan_t *plan, gnn__carve_t *carve, bool backward,
                               int64_t chunks, gnn__distance_prior_t *prior);
/* Numbers of all distances; in backward sums of 0. */
void gnn__distance_prior_fill(const gnn__plan_t *plan, bool backward, gnn__distance_prior_t *prior);
/* a->prior for the part at hand, in tiles or row by row. */
void gnn__distance_prior_part(const gnn__distance_prior_t *prior, bool tiles, gnn__attention_t *a);
/* sums += what the chunks of a part have summed up, in order; those of tiles stand in reverse. */
void gnn__distance_prior_add(const gnn__plan_t *plan, const gnn__distance_prior_t *prior,
                             int64_t chunks, bool tiles);
/* The gradient of slopes or table += what the sums give. */
void gnn__distance_prior_grad(const gnn__plan_t *plan, const gnn__distance_prior_t *prior);

#endif
