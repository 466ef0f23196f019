/* Running a model again and again for one row of its output: on features and edge masks that change
 * from run to run, with its weights as constants. */
#ifndef GNN_LIB_EXPLAIN_PROBE_H
#define GNN_LIB_EXPLAIN_PROBE_H

#include <gnn/explain.h>
#include <gnn/sample.h>
#include <lib/model/part_rows.h>

/* What is run for a row, and how much of it. */
typedef struct gnn__probe {
    const gnn_model_t *model;
    gnn_context_t *context;
    const gnn_model_inputs_t *given;
    gnn_sampler_t *sampler; /* of the row's neighbourhood; NULL: the whole graph is run */
    gnn_sample_t *sample;
    const gnn_graph_t *graph;   /* whose messages are masked, as it is run */
    const gnn_graph_t **graphs; /* by slot */
    gnn_named_t *values;
    gnn__part_rows_t *parts;
    gnn_model_inputs_t inputs; /* what is run: `graphs` and `values` */
    int64_t row;               /* of the output, as it is run */
    int64_t hops;              /* -1: the whole graph */
    int64_t n_nodes, n_edges;
    int64_t *nodes, *edges; /* the caller's numbers of what is run */
    int32_t *distance; /* (n_nodes) hops from a node to the row; the whole graph: 0 everywhere */
    int32_t *after;    /* by step: hops between its output and the model's; -1: not needed */
    int64_t features;  /* which of the values holds them; -1: there are none */
    gnn_tensor_t x;    /* (n_nodes x d) the features as they are; 0 x 0 without */
    gnn_tensor_t x_run, mask; /* what the next run reads: features, (n_edges x 1) */
    gnn_tape_t *tape;
    gnn_var_t x_var, mask_var, out;
    gnn_tensor_t d_out;  /* of all rows, 0 but for one */
    gnn_tensor_t logits; /* (1 x c) of the last run */
} gnn__probe_t;

typedef struct gnn__probe_config {
    int64_t row;
    const char *input; /* NULL: "x", which need not be there */
    int slot;
    bool gradients;
} gnn__probe_config_t;

/* Errors: as gnn_explain. gnn__probe_close in either case. */
int gnn__probe_open(gnn__probe_t *probe, const gnn_model_t *model, gnn_context_t *context,
                    const gnn_model_inputs_t *inputs, const gnn__probe_config_t *config);
void gnn__probe_close(gnn__probe_t *probe);
/* The features as they are, and a mask of 1. */
void gnn__probe_reset(gnn__probe_t *probe);
/* Runs on x_run and mask, into logits. */
int gnn__probe_run(gnn__probe_t *probe);
/* After a run: from d_row (c) to the gradients of x_run (data NULL without features) and mask, which
 * are the tape's until the next run. */
int gnn__probe_gradients(gnn__probe_t *probe, const gnn_real_t *d_row, gnn_tensor_t *d_x,
                         gnn_tensor_t *d_mask);

/* ---- reach.c: what the row depends on ---- */

/* Fills hops, after, and what is run: graphs, values, nodes, edges, row, distance. */
int gnn__probe_reach(gnn__probe_t *probe, const gnn__probe_config_t *config);

#endif
