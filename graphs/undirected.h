/* A weighted graph whose directions are left aside: for layouts and spanning trees. */
#ifndef GNN_GRAPHS_UNDIRECTED_H
#define GNN_GRAPHS_UNDIRECTED_H

#include <graphs/graph.h>
#include <lib/base/base.h>

typedef struct gnn__undirected_edge {
    int64_t a, b; /* a < b */
    double weight;
    int64_t pair; /* the first pair of gnn_graph_pairs that is this edge */
} gnn__undirected_edge_t;

/* GNN_OK, or which of the arguments cannot be: one kind of nodes, and for each pair a finite
 * weight (NULL: all weigh 1). `what` is what needs one kind of nodes. */
int gnn__undirected_check(const gnn_graph_t *graph, const gnn_real_t *weight, const char *what);
/* *edges: each pair of nodes that is joined in either direction, once, rising by a, then b; loops
 * are left out. Parallel pairs and those of both directions add up or the largest counts; without
 * weights each edge weighs 1. The caller frees *edges. */
int gnn__undirected_edges(const gnn_graph_t *graph, const gnn_real_t *weight, gnn_both_ways_t both,
                          gnn__undirected_edge_t **edges, int64_t *count);

/* Components by union-find: *parent (n) begins with each node its own, to be freed by the caller.
 * The root of a node stands for its component; paths become shorter on the way. */
int gnn__components_new(int64_t **parent, int64_t n);
static inline int64_t gnn__component_root(int64_t *parent, int64_t node)
{
    while (parent[node] != node)
        node = parent[node] = parent[parent[node]];
    return node;
}
/* True if the two nodes were in different components, which are one now. */
bool gnn__components_join(int64_t *parent, int64_t a, int64_t b);

#endif
