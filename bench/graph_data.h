/* The graphs of bench/graph and bench/spmm: a file, a data set by its name, or rmat. As load() in
 * bench/peers/common.py. */
#ifndef BENCH_GRAPH_DATA_H
#define BENCH_GRAPH_DATA_H

#include "bench.h"

typedef struct {
    const char *name;   /* as requested */
    const char *order;  /* order of the nodes: "renumbered" or "file" */
    gnn_data_t *opened; /* of a file, or NULL */
    gnn_graph_t *graph;
    int64_t n, features, classes;
    gnn_tensor_t x;      /* data NULL if features are sparse */
    gnn_sparse_t sparse; /* indptr NULL if they are dense */
    const int32_t *labels;
    const uint8_t *train; /* (n) */
    void *own[8];         /* memory of generated arrays */
    int n_own;
} graph_data_t;

/* `name`: "rmat", a path, or the name of a data set under $GNN_DATA. `order`: "renumbered" takes
 * gnn_graph_community_order, "file" does not. */
int graph_data_open(graph_data_t *data, const char *name, const char *order);
void graph_data_free(graph_data_t *data);

/* A synthetic power-law graph of ogbn-arxiv's size: 169,343 nodes, about 2.3 million edges, 128
 * features, 40 classes. */
int graph_data_rmat(graph_data_t *data);
/* Memory for graph_data_free; NULL without memory. */
void *graph_data_own(graph_data_t *data, size_t bytes);

#endif
