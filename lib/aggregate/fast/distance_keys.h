/* Keys by distance, as the kernels of attention read them: for each distance the sum over all
 * tables, laid out before the scores are made, and the gradients by distance, folded into those of
 * the tables after. Row by row the tables are read where they are. */
#ifndef GNN_AGGREGATE_DISTANCE_KEYS_H
#define GNN_AGGREGATE_DISTANCE_KEYS_H

#include <lib/aggregate/fast/distance_prior.h>

typedef struct gnn__distance_keys {
    int64_t first, count, stride; /* of distances: as in gnn__distance_prior_t */
    int32_t *row[GNN_PRIORS];     /* of each place, in the table of a prior */
    int64_t *column[GNN_PRIORS];  /* of each head */
    gnn_real_t *rows, *blocks; /* in tiles: heads x stride x width, or once if heads share them */
    /* Backward, sums of the chunks of one part; NULL: not wanted. In tiles by place, chunks x heads
     * x stride x width; row by row of the tables. */
    gnn_real_t *partials, *row_partials;
    int64_t parameters; /* numbers of all tables */
} gnn__distance_keys_t;

/* How many chunks a part in tiles has at most, and one that goes row by row; 0: there is none. */
typedef struct gnn__key_chunks {
    int64_t tiles, rows;
} gnn__key_chunks_t;

bool gnn__has_keys(const gnn__plan_t *plan);
/* Are the keys of all distances, with their sums, few beside the nodes' rows? */
bool gnn__distance_keys_fit(const gnn__plan_t *plan, gnn__key_chunks_t chunks);

/* Memory; without keys none, and all of what follows does nothing. */
void gnn__distance_keys_carve(const gnn__plan_t *plan, gnn__carve_t *carve, bool backward,
                              gnn__key_chunks_t chunks, gnn__distance_keys_t *keys);
/* Lays the keys out and sets a->keys. After gnn__distance_prior_fill. */
void gnn__distance_keys_fill(const gnn__plan_t *plan, bool backward,
                             const gnn__distance_prior_t *prior, const gnn__distance_keys_t *keys,
                             int threads, gnn__attention_t *a);
/* The gradients of the tables += what the chunks of a part have summed up, in order. */
void gnn__distance_keys_grad(const gnn__plan_t *plan, const gnn__distance_keys_t *keys,
                             const gnn__attention_t *a, int64_t chunks, bool tiles, int threads);

#endif
