/* Edges that operations make of a list, as PyG's functions do before a layer aggregates. */
#ifndef GNN_LIB_MODEL_SLOT_EDGES_H
#define GNN_LIB_MODEL_SLOT_EDGES_H

#include <gnn/model.h>

/* What the operations made, and what the last one of them did. Zeros: no operation. */
typedef struct gnn__slot_edges {
    gnn_edge_list_t list; /* after all of them; reads the arrays below */
    int64_t n_src, n_dst, n_edges;
    int64_t *src, *dst, *type; /* (n_edges); type NULL: the list has none */
    int64_t n_before;          /* edges before the last operation */
    int64_t n_carried;         /* edge from[k] of those became edge to[k] */
    int64_t *from, *to;
    int64_t n_loops; /* loop_edges[k] is the self-loop of node loop_nodes[k] that was added */
    int64_t *loop_nodes, *loop_edges;
} gnn__slot_edges_t;

/* Applies operations, each after a colon, from left to right:
 *
 *     :reverse        senders and receivers change places
 *     :without_loops  self-loops are left out
 *     :add_loops      a self-loop for each node after the edges that are there
 *     :remaining      both; what a node's last self-loop carried, the new one carries
 *     :type=K         the edges of type K alone
 *
 * On an error nothing is owned. GNN_EFORMAT names an operation that is unknown. */
int gnn__slot_edges(gnn__slot_edges_t *made, const gnn_edge_list_t *edges, const char *operations);
void gnn__slot_edges_free(gnn__slot_edges_t *made);

#endif
