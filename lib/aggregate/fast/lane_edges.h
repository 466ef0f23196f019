/* Edge features and biases in attention with heads in lanes: features and biases in additive
 * scores, features in the keys and values of dot scores, in the keys of additive-v2 scores.
 * Nothing of a feature's width is materialised per edge; by_lane.h has the formulas. */
#ifndef GNN_AGGREGATE_LANE_EDGES_H
#define GNN_AGGREGATE_LANE_EDGES_H

#include <lib/aggregate/fast/attention_call.h>
#include <lib/kernels/attention/by_lane/by_lane.h>

/* Weights and projections as kernels read them; NULL: features do not enter that term. */
typedef struct gnn__lane_edges {
    gnn_real_t *weights; /* additive: d_e rows of a register and more */
    gnn_real_t *logits;  /* additive: edges x width */
    /* dot, and of keys additive-v2: d_e rows as keys and as values lie */
    gnn_real_t *key_rows, *value_rows;
    gnn_real_t *queries, *outputs; /* dot: n_dst rows, projections of q and of dY */
    gnn_real_t *transposed;        /* dot: weights by column, while projections are made */
    gnn_real_t *pairs;             /* dot, additive-v2: edges x 2 width */
    gnn_real_t *partials;          /* gradients of weights, `size` values per chunk */
    int64_t size, stride;          /* of a row of projections */
} gnn__lane_edges_t;

/* Memory; `l` has its layout. */
void gnn__lane_edges_carve(const gnn__plan_t *plan, gnn__carve_t *carve, const gnn__lanes_t *l,
                           bool backward, gnn__lane_edges_t *edges);
/* Packs weights and computes projections, and points `l` to them. */
void gnn__lane_edges_fill(const gnn__plan_t *plan, bool backward, int threads,
                          gnn__lane_edges_t *edges, gnn__lanes_t *l);
/* Logits of the loops that a view adds. */
void gnn__lane_loop_logits(const gnn__plan_t *plan, const gnn__lanes_t *l, int threads);
/* Gradients of weights += the sums of the chunks, in order, over ranks of all slices. */
int gnn__lane_edges_add(const gnn__plan_t *plan, const gnn__lane_edges_t *edges,
                        const gnn__lanes_t *l, int64_t chunks);

#endif
