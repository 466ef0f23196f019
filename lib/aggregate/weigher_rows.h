/* A weigher over a whole row of scores of one head: by a kernel, where the entry has one
 * (weighers.c), else by its functions, score after score. */
#ifndef GNN_AGGREGATE_WEIGHER_ROWS_H
#define GNN_AGGREGATE_WEIGHER_ROWS_H

#include <lib/aggregate/tables.h>

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
gnn__weigher_rows_t gnn__weigher_rows_of(const gnn_weigher_t *weigher);

#endif
