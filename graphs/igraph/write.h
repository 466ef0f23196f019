/* Files that igraph writes. Includes nothing of igraph's. */
#ifndef GNN_GRAPHS_IGRAPH_WRITE_H
#define GNN_GRAPHS_IGRAPH_WRITE_H

#include <gnn/graph.h>

/* A graph as GraphML: node attribute "name" and edge attribute "weight" where given. *text is
 * released with free. */
int gnn__igraph_write_graphml(const gnn_graph_t *graph, const char *const *names,
                              const gnn_real_t *weight, char **text, size_t *size);

#endif
