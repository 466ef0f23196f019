/* The graphs that bench/graph and bench/spmm run on: a file, a data set by its name, or rmat. As
 * load() in bench/peers/common.py. */
#ifndef BENCH_GRAPH_DATA_H
#define BENCH_GRAPH_DATA_H

#include "bench.h"

typedef struct {
    const char *name;   /* as asked for */
    const char *order;  /* of the nodes: "renumbered" or "file" */
    gnn_data_t *opened; /* what a file gave, or NULL */
    gnn_graph_t *graph;
    int64_t n, features, classes;
    gnn_tensor_t x;      /* data NULL if features are sparse */
    gnn_sparse_t sparse; /* indptr NULL if they are dense */
    const int32_t *labels;
    const uint8_t *train; /* (n) */
    void *own[8];         /* memory of what was not in the file */
    int n_own;
} graph_data_t;

/* `name`: "rmat", a path, or the name of a data set under $GNN_DATA. `order`: "renumbered" takes
 * gnn_graph_community_order, "file" does not. */
int graph_data_open(graph_data_t *data, const char *name, const char *order);
void graph_data_free(graph_data_t *data);

/* A synthetic graph of ogbn-arxiv's size: 169,343 nodes, some 2.3 million edges, power law, 128
 * features, 40 classes. */
int graph_data_rmat(graph_data_t *data);
/* malloc that graph_data_free releases; NULL sets nothing. */
void *graph_data_own(graph_data_t *data, size_t bytes);

#endif
