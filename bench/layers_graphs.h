/* The graphs of bench/layers.c: tolokers, or the disjoint union of 256 graphs of PROTEINS, and the
 * graph of each slot. */
#ifndef BENCH_LAYERS_GRAPHS_H
#define BENCH_LAYERS_GRAPHS_H

#include "graph_data.h"

typedef struct {
    graph_data_t data;  /* of tolokers */
    gnn_graph_t *graph; /* owned, except tolokers' */
    int64_t n, segments;
    int64_t *lengths;      /* (segments) nodes of each graph */
    int32_t *labels;       /* (n) of nodes */
    int32_t *graph_labels; /* (segments) */
    const uint8_t *train;  /* (n) or NULL: all */
} layers_graphs_t;

int layers_graphs_open(layers_graphs_t *g, const char *name);
void layers_graphs_free(layers_graphs_t *g);
/* The graph of a letter of layers_row_t.slots; the caller's, for gnn_graph_free. */
int layers_graphs_slot(const layers_graphs_t *g, char letter, gnn_graph_t **slot);
/* The mean of log(degree + 1) over the nodes. */
double layers_graphs_log_degree(const layers_graphs_t *g);

#endif
