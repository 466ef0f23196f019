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

/**
 * Makes a graph from an igraph_t: an undirected edge becomes two messages.
 *
 * @param[in]  igraph       an igraph_t
 * @param[out] igraph_edge  (gnn_graph_n_edges) igraph's edge id of each edge, for gnn_free; may be
 *                          NULL
 * @return GNN_OK; GNN_EINVALID (a NULL); GNN_EOVERFLOW: more than 2^31 - 1 nodes; GNN_EMEMORY; else
 *         igraph's code
 */
GNN_API int gnn_graph_from_igraph(gnn_graph_t **graph, const void *igraph, int64_t **igraph_edge);
/**
 * Reads a numeric edge attribute of igraph as one value per edge of `graph` (caller's,
 * gnn_graph_n_edges), by the map of gnn_graph_from_igraph.
 *
 * @param[in]  igraph       an igraph_t
 * @param[in]  name         of the attribute
 * @param[in]  igraph_edge  (m) of gnn_graph_from_igraph; NULL: edge k is igraph's edge k
 * @param[out] values       (m) caller's
 * @return GNN_OK; GNN_EINVALID (a NULL, m, an edge that igraph lacks); GNN_ENOTFOUND: no numeric
 *         attribute of that name; GNN_EUNSUPPORTED: not igraph's C attribute handler; else igraph's
 *         code
 */
GNN_API int gnn_igraph_edge_attribute(const void *igraph, const char *name,
                                      const int64_t *igraph_edge, int64_t m, gnn_real_t *values);
/**
 * Writes a graph into an uninitialised igraph_t: directed sender -> receiver, edge k = pair k of
 * gnn_graph_pairs; n_dst == n_src needed. If `weight` is not NULL it becomes the numeric edge
 * attribute "weight" (needs igraph's C attribute handler). Destroy with igraph_destroy.
 *
 * @param[in]  weight  (m) by pair; NULL: none
 * @param[out] igraph  an uninitialised igraph_t
 * @return GNN_OK; GNN_EINVALID (a NULL); GNN_ETOPOLOGY: n_dst != n_src; GNN_EUNSUPPORTED: a weight
 *         without igraph's C attribute handler; GNN_EOVERFLOW; GNN_EMEMORY; else igraph's code
 */
GNN_API int gnn_graph_to_igraph(const gnn_graph_t *graph, const gnn_real_t *weight, void *igraph);
/**
 * Makes one of igraph's named graphs ("Petersen"), with both directions of each edge.
 *
 * @return GNN_OK; GNN_EINVALID (a NULL); GNN_EMEMORY; else igraph's code: there is no graph of that
 *         name
 */
GNN_API int gnn_graph_famous(gnn_graph_t **graph, const char *name);

#ifdef __cplusplus
}
#endif
#endif
