/* Repeated runs of a model for one row of its output, with features and edge masks that change
 * from run to run and constant weights. */
#ifndef GNN_LIB_EXPLAIN_PROBE_H
#define GNN_LIB_EXPLAIN_PROBE_H

#include <gnn/explain.h>
#include <gnn/sample.h>
#include <lib/model/part_rows.h>

typedef struct gnn__probe {
    const gnn_model_t *model;
    gnn_context_t *context;
    const gnn_model_inputs_t *given; /* the caller's inputs */
    gnn_sampler_t *sampler;          /* of the row's neighbourhood; NULL: the whole graph is run */
    gnn_sample_t *sample;            /* that neighbourhood; NULL without a sampler */
    const gnn_graph_t *graph;        /* the graph that is run, whose messages are masked */
    const gnn_graph_t **graphs;      /* by slot, as run */
    gnn_named_t *values;             /* by input, as run */
    gnn__part_rows_t *parts;         /* owners of cut values; NULL: the whole graph is run */
    gnn_model_inputs_t inputs;       /* `graphs` and `values` */
    int64_t row;                     /* of the output, as run */
    int64_t hops;                    /* radius of the neighbourhood; -1: the whole graph */
    int64_t n_nodes, n_edges;        /* of the graph that is run */
    int64_t *nodes, *edges;          /* (n_nodes), (n_edges): the caller's ids */
    int32_t *distance;               /* (n_nodes): hops from a node to the row; whole graph: 0 */
    int32_t *after;     /* by step: hops between its output and the model's; -1: not needed */
    int64_t features;   /* index in `values` of the explained features; -1: none */
    gnn_tensor_t x;     /* (n_nodes x d): the features; 0 x 0 if there are none */
    gnn_tensor_t x_run; /* (n_nodes x d): the features that the next run reads */
    gnn_tensor_t mask;  /* (n_edges x 1): factors of messages that the next run reads */
    gnn_tape_t *tape;
    gnn_var_t x_var, mask_var, out; /* on the tape; x_var GNN_NONE if there are no features */
    gnn_tensor_t d_out;             /* (rows of the output x c): 0 except in `row` */
    gnn_tensor_t logits;            /* (1 x c): of the last run */
} gnn__probe_t;

typedef struct gnn__probe_config {
    int64_t row;
    const char *input; /* NULL: "x" if the model reads it */
    int slot;
    bool gradients;
} gnn__probe_config_t;

/* Errors as of gnn_explain; gnn__probe_close is needed in either case. */
int gnn__probe_open(gnn__probe_t *probe, const gnn_model_t *model, gnn_context_t *context,
                    const gnn_model_inputs_t *inputs, const gnn__probe_config_t *config);
void gnn__probe_close(gnn__probe_t *probe);
/* Sets x_run to the features and the mask to 1. */
void gnn__probe_reset(gnn__probe_t *probe);
/* Runs on x_run and mask; fills `logits`. */
int gnn__probe_run(gnn__probe_t *probe);
/* Backward from d_row (c). The gradients of x_run (data NULL if there are no features) and of the
 * mask belong to the tape until the next run. */
int gnn__probe_gradients(gnn__probe_t *probe, const gnn_real_t *d_row, gnn_tensor_t *d_x,
                         gnn_tensor_t *d_mask);

#endif
