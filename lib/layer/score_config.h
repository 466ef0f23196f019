/* What of a config says how pairs are weighed: the settings of an aggregation, and the parameters
 * that its rows own. */
#ifndef GNN_LIB_LAYER_SCORE_CONFIG_H
#define GNN_LIB_LAYER_SCORE_CONFIG_H

#include <lib/aggregate/hints.h>
#include <lib/aggregate/tables.h>
#include <lib/layer/layer.h>

/* A parameter that a row owns, or a piece of one. */
typedef struct gnn__row_piece {
    char name[GNN__NAME]; /* "attention.vector", "prior_1.table" */
    int input;            /* of the aggregation: those of one input lie one after another */
    gnn_piece_t piece;
} gnn__row_piece_t;

enum { GNN__MOST_PIECES = (4 + GNN_PRIORS) * GNN_ROW_PIECES };

/* Settings that do not go together, options out of range. */
int gnn__scores_check(const gnn_layer_config_t *c);
/* The attributes of the op; `extras` is NULL or says where attention weights go. */
gnn_aggregate_t gnn__scores_settings(const gnn_layer_config_t *c, const gnn_graph_t *graph,
                                     const gnn__hop_extras_t *extras);
/* What the rows of this config own; returns how many there are. */
int gnn__scores_pieces(const gnn_layer_config_t *c, gnn__row_piece_t owned[GNN__MOST_PIECES]);

/* Builds the views of the graph that the op reads. */
int gnn__scores_prepare(const gnn_layer_config_t *c, gnn_graph_t *graph, gnn_flag_t backward);

/* Finds a parameter as a value of the tape. */
typedef gnn_var_t gnn__scores_value_t(const void *from, const char *name);
/* Puts what the rows own into the inputs of an aggregation. */
void gnn__scores_inputs(const gnn_layer_config_t *c, gnn_tape_t *tape, gnn__scores_value_t *value,
                        const void *from, gnn_var_t in[GNN_AGGREGATE_INPUTS]);
/* What scores are given beside, into the inputs; NULL: nothing. */
void gnn__scores_given(const gnn_score_vars_t *given, gnn_var_t in[GNN_AGGREGATE_INPUTS]);
/* Records the op: weights of edges are normalised before it, then masked; heads that are averaged
 * come together after it. `extras` may be NULL. */
gnn_var_t gnn__scores_record(const gnn_layer_config_t *c, gnn_tape_t *tape, gnn_aggregate_t *how,
                             gnn_var_t in[GNN_AGGREGATE_INPUTS], const gnn__hop_extras_t *extras);

#endif
