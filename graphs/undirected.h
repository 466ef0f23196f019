/* Weighted undirected edges of a graph, and connected components: for layouts and spanning
 * trees. */
#ifndef GNN_GRAPHS_UNDIRECTED_H
#define GNN_GRAPHS_UNDIRECTED_H

#include <graphs/graph.h>
#include <lib/base/base.h>

typedef struct gnn__undirected_edge {
    int64_t a, b; /* a < b */
    double weight;
    int64_t pair; /* index in gnn_graph_pairs of its first pair */
} gnn__undirected_edge_t;

/* Checks that receivers and senders are the same nodes and weights (NULL: all 1) are finite, one
 * per pair. `what` names the caller's subject in messages. */
int gnn__undirected_check(const gnn_graph_t *graph, const gnn_real_t *weight, const char *what);
/* *edges: each unordered pair of adjacent nodes once, by a, then b, without self-loops. Weights of
 * parallel edges and of both directions are summed, or the maximum is taken; without weights each
 * is 1. The caller frees *edges. */
int gnn__undirected_edges(const gnn_graph_t *graph, const gnn_real_t *weight, gnn_both_ways_t both,
                          gnn__undirected_edge_t **edges, int64_t *count);

/* Connected components by union-find: *parent (n), each node its own at first; the caller frees
 * it. The root identifies the component; look-ups halve paths. */
int gnn__components_new(int64_t **parent, int64_t n);
static inline int64_t gnn__component_root(int64_t *parent, int64_t node)
{
    while (parent[node] != node)
        node = parent[node] = parent[parent[node]];
    return node;
}
/* Merges the components of two nodes; false if they were the same. */
bool gnn__components_join(int64_t *parent, int64_t a, int64_t b);

#endif
