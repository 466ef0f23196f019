/* Where nodes stand in their segments: what distances are differences of, and what maps turn rows
 * by. */
#ifndef GNN_AGGREGATE_POSITIONS_H
#define GNN_AGGREGATE_POSITIONS_H

#include <graphs/graph.h>

/* One number per receiver, or per sender: its place in its segment plus the segment's start; in a
 * graph without segments the number of the node. */
void gnn__positions(const gnn_graph_t *graph, bool receivers, int64_t *positions);

#endif
