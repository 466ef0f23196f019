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

/* The maximum spanning tree of the undirected graph; a forest if it has several components.
 *
 * @param[in]  weight    one for each pair of gnn_graph_pairs, finite, of either sign
 * @param[in]  both      how weights of parallel pairs and of both directions are combined
 * @param[out] from, to  (n - 1 each) the ends of the edges, the smaller one in `from`; caller's
 * @param[out] count     count of the edges written: n minus the count of components
 * @return GNN_OK; GNN_EINVALID; GNN_ETOPOLOGY: n_dst != n_src; GNN_ENUMERIC: a weight is not
 *         finite; GNN_EMEMORY. O(m log m) time, O(n + m) memory. Ties are broken by the smaller
 *         ends. Paper: Kruskal 1956. */
int gnn__graph_spanning_tree(const gnn_graph_t *graph, const gnn_real_t *weight,
                             gnn_both_ways_t both, int64_t *from, int64_t *to, int64_t *count);

#endif
