/**
 * libgnn-igraph: graphs from and to igraph, and the functions of libgnn that use igraph. It is a
 * separate library, since igraph is GPL-2-or-later and so is a program that links it; libgnn itself
 * is MIT.
 *
 *     #include <gnn/gnn.h>
 *     #include <gnn/igraph.h>
 *
 *     GNN_TRY(gnn_igraph_use());
 *     GNN_TRY(gnn_data_open(&data, "network.graphml"));
 *
 * Link with `pkg-config --cflags --libs gnn-igraph`, or gnn::igraph of CMake. A program that passes
 * an igraph_t includes <igraph/igraph.h> itself and links igraph. One process-wide lock guards all
 * calls of igraph; errors of igraph are returned as codes 1 to 999 with igraph's message.
 */
#ifndef GNN_IGRAPH_H
#define GNN_IGRAPH_H

#include <gnn/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Lets libgnn use igraph: gnn_data_open then reads GraphML and GML, gnn_graph_write_graphml writes,
 * and gnn_graph_laplacian_positions takes graphs of any size. Without it, these calls are
 * GNN_EUNSUPPORTED.
 *
 * @return GNN_OK; GNN_EUNSUPPORTED if this library and libgnn are of different versions or
 *         precisions
 *
 * With shared and static libraries alike, this call makes the linker keep the library. Repeated
 * calls do nothing. Threads: any. The functions below call it themselves.
 */
GNN_API int gnn_igraph_use(void);

/** Makes a graph from an igraph_t: an undirected edge becomes two messages. `igraph_edge` (may be
 * NULL; receives an array of gnn_graph_n_edges values, for gnn_free) maps the graph's edge ids to
 * igraph's edge ids. */
GNN_API int gnn_graph_from_igraph(gnn_graph_t **graph, const void *igraph, int64_t **igraph_edge);
/** Reads a numeric edge attribute of igraph as one value per edge of `graph` (caller's,
 * gnn_graph_n_edges), by the map of gnn_graph_from_igraph. */
GNN_API int gnn_igraph_edge_attribute(const void *igraph, const char *name,
                                      const int64_t *igraph_edge, int64_t m, gnn_real_t *values);
/** Writes a graph into an uninitialised igraph_t: directed sender -> receiver, edge k = pair k of
 * gnn_graph_pairs; n_dst == n_src needed. If `weight` is not NULL it becomes the numeric edge
 * attribute "weight" (needs igraph's C attribute handler). Destroy with igraph_destroy. */
GNN_API int gnn_graph_to_igraph(const gnn_graph_t *graph, const gnn_real_t *weight, void *igraph);
/** Makes one of igraph's named graphs ("Petersen"), with both directions of each edge. */
GNN_API int gnn_graph_famous(gnn_graph_t **graph, const char *name);

#ifdef __cplusplus
}
#endif
#endif
