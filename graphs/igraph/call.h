/* How libgnn calls igraph: under one process-wide lock, with errors that return. Only files of this
 * folder include igraph. */
#ifndef GNN_GRAPHS_IGRAPH_CALL_H
#define GNN_GRAPHS_IGRAPH_CALL_H

#include <graphs/build.h>
#include <igraph/igraph.h>

/* What gnn__igraph_enter found and gnn__igraph_leave puts back. */
typedef struct gnn__igraph_call {
    igraph_error_handler_t *error;
    igraph_warning_handler_t *warning;
} gnn__igraph_call_t;

/* Debian's igraph is not thread-safe and its default error handler aborts. Between these two calls,
 * errors and warnings return; igraph's stack of temporary objects has a level of its own, so that
 * an error frees what igraph allocated since and nothing of the caller's. */
void gnn__igraph_enter(gnn__igraph_call_t *call);
/* Returns `code`; one of igraph's (1-999) gets igraph's message. */
int gnn__igraph_leave(gnn__igraph_call_t *call, int code);

/* GNN_ENOTFOUND unless the graph has a numeric edge attribute of this name; inside a call. */
int gnn__igraph_check_numeric(const igraph_t *igraph, const char *name);

/* igraph_strerror for codes that igraph knows, else NULL. */
const char *gnn__igraph_strerror(int code);

/* To be called between enter and leave. */
int gnn__igraph_to_graph(gnn_graph_t **graph, const igraph_t *igraph, int64_t **igraph_edge);
int gnn__igraph_from_graph(const gnn_graph_t *graph, igraph_t *igraph);
/* The numeric edge attribute "weight", one number an edge; inside a call, too. Returns igraph's
 * code. */
int gnn__igraph_weigh_edges(igraph_t *igraph, const gnn_real_t *weight);
/* Edges of both directions and parallel ones become one undirected edge, whose "weight" is what the
 * rule makes of theirs. igraph's code; its C handler of attributes is set. */
int gnn__igraph_collapse(igraph_t *igraph, igraph_attribute_combination_type_t rule);

/* A finite weight for each pair of a graph of one kind of nodes; outside of a call. */
int gnn__igraph_check_weights(const gnn_graph_t *graph, const gnn_real_t *weight);

#endif
