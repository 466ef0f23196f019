/* What data sets of several types need of graphs/hetero.c. */
#ifndef GNN_GRAPHS_HETERO_H
#define GNN_GRAPHS_HETERO_H

#include <gnn/hetero.h>

/* Types and relations are there, and types have names and sizes. O(types): whether a name stands
 * twice, and what a relation is, are questions of those who read them. */
int gnn__hetero_check_types(const gnn_hetero_t *h);
/* The type of each node and the relation of each edge of gnn_graph_hetero; either may be NULL. */
void gnn__hetero_classes(const gnn_hetero_t *h, int32_t *node_class, int32_t *edge_class);

#endif
