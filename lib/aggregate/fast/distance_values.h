/* Values by distance, as the kernels that go row by row read them: the table where it is, with its
 * row for each distance, and the table's gradient. */
#ifndef GNN_AGGREGATE_DISTANCE_VALUES_H
#define GNN_AGGREGATE_DISTANCE_VALUES_H

#include <lib/aggregate/fast/distance_prior.h>

typedef struct gnn__distance_values {
    int32_t *row;         /* of each place; NULL: values do not depend on distances */
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
/* The table's gradient += what the chunks of a part have summed up, in order. */
void gnn__distance_values_grad(const gnn__plan_t *plan, const gnn__distance_values_t *values,
                               int64_t chunks);

#endif
