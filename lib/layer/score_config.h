/* Scores and aggregation of a config: the settings of the op, and the parameters that its entries
 * own. */
#ifndef GNN_LIB_LAYER_SCORE_CONFIG_H
#define GNN_LIB_LAYER_SCORE_CONFIG_H

#include <lib/aggregate/hints.h>
#include <lib/aggregate/tables.h>
#include <lib/layer/layer.h>

/* A parameter of an aggregator, message, weigher or prior. */
typedef struct gnn__row_piece {
    char name[GNN__NAME]; /* "attention.vector", "prior_1.table" */
    int input;            /* of the aggregation; parameters of one input follow one another */
    gnn_piece_t piece;
} gnn__row_piece_t;

enum { GNN__MOST_PIECES = (5 + GNN_PRIORS) * GNN_ROW_PIECES };

/* Checks settings that exclude each other, and options. */
int gnn__scores_check(const gnn_layer_config_t *c);
/* The attributes of the op; `extras` may be NULL. */
gnn_aggregate_t gnn__scores_settings(const gnn_layer_config_t *c, const gnn_graph_t *graph,
                                     const gnn__hop_extras_t *extras);
/* The owned parameters of a config; returns their count. */
int gnn__scores_pieces(const gnn_layer_config_t *c, gnn__row_piece_t owned[GNN__MOST_PIECES]);

/* Builds the views of the graph that the op reads. */
int gnn__scores_prepare(const gnn_layer_config_t *c, gnn_graph_t *graph, gnn_flag_t backward);

/* The value of a parameter on the tape, by its name. */
typedef gnn_var_t gnn__scores_value_t(const void *from, const char *name);
/* Sets the inputs of an aggregation that are owned parameters. */
void gnn__scores_inputs(const gnn_layer_config_t *c, gnn_tape_t *tape, gnn__scores_value_t *value,
                        const void *from, gnn_var_t in[GNN_AGGREGATE_INPUTS]);
/* Sets the inputs of an aggregation that are given to the scores; NULL: none. */
void gnn__scores_given(const gnn__score_vars_t *given, gnn_var_t in[GNN_AGGREGATE_INPUTS]);
/* Records the op: edge weights are normalised and masked before it, heads averaged after it.
 * `extras` may be NULL. */
gnn_var_t gnn__scores_record(const gnn_layer_config_t *c, gnn_tape_t *tape, gnn_aggregate_t *how,
                             gnn_var_t in[GNN_AGGREGATE_INPUTS], const gnn__hop_extras_t *extras);

#endif
