/**
 * Graphs of several types of nodes and edges: authors write papers, papers cite papers.
 *
 * Each type of nodes numbers its nodes from 0 and has features of its own width; each relation
 * leads from one type to one type. From this description come graphs that the one layer runs on:
 *
 *     gnn_graph_hetero     one graph of all nodes, type after type; a part is a relation
 *     gnn_graph_relation   one relation alone: from the nodes of one type to those of another
 *     gnn_graph_towards    all that one type hears: what block "hgt" attends over
 *     gnn_data_hetero      one data set, its features side by side
 *     gnn_data_hetero_for  one data set with the graphs and features that a block reads
 *
 * Models of several types read one value for each type, "x.paper" and "x.author"; blocks "hgt",
 * "hetero_conv" and "hetero_linear" (gnn/model.h) make "NAME.paper" and "NAME.author" of them.
 */
#ifndef GNN_HETERO_H
#define GNN_HETERO_H

#include <gnn/data.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A type of nodes. */
typedef struct gnn_node_type {
    const char *name; /**< "paper" */
    int64_t count;    /**< its nodes */
    /** (count x any width) features; NULL: none. What data sets read, as what follows */
    const gnn_tensor_t *x;
    gnn_ints_t labels;        /**< (count) classes, -1: none; no array: no node has one */
    const gnn_split_t *split; /**< of its nodes; NULL: no node is in a part */
} gnn_node_type_t;

/** A type of edges: edge k goes from node src[k] of type `from` to node dst[k] of type `to`. */
typedef struct gnn_relation {
    const char *from, *name, *to; /**< "author", "writes", "paper" */
    int64_t edges;
    gnn_ints_t src, dst; /**< (edges) each by its own type's numbers */
} gnn_relation_t;

/** PyG's HeteroData. Everything is borrowed. */
typedef struct gnn_hetero {
    const gnn_node_type_t *types;
    int64_t n_types;
    const gnn_relation_t *relations;
    int64_t n_relations;
} gnn_hetero_t;

/** The number of the type of this name. -1 if there is none; gnn_error_message() then lists those
 * that there are. */
GNN_API int64_t gnn_hetero_type(const gnn_hetero_t *hetero, const char *name);

/**
 * One graph of all types: the nodes one after another, the edges of all relations one after
 * another; part r is relation r (gnn_graph_part takes it alone).
 *
 * @param[out] graph       the caller's, for gnn_graph_free
 * @param[out] node_class  (nodes) the type of each node; NULL: not wanted
 * @param[out] edge_class  (edges) the relation of each edge; NULL: not wanted
 * @return GNN_OK; GNN_EINVALID (a NULL, a name twice, no relation); GNN_ENOTFOUND: a relation names
 *         a type that is not there; GNN_ETOPOLOGY: an end of an edge is no node of its type;
 *         GNN_EOVERFLOW; GNN_EMEMORY. O(n relations + m)
 *
 * Paper: Schlichtkrull et al. 2018.
 */
GNN_API int gnn_graph_hetero(gnn_graph_t **graph, const gnn_hetero_t *hetero, int32_t *node_class,
                             int32_t *edge_class);
/** The graph of relation r: its receivers are the nodes of its type `to`, its senders those of
 * `from`. Errors: as gnn_graph_hetero, of types and of this relation: others are not looked at.
 * O(types + its nodes + its edges).
 */
GNN_API int gnn_graph_relation(gnn_graph_t **graph, const gnn_hetero_t *hetero, int64_t r);
/**
 * The graph of all that the nodes of one type hear: for each relation that leads to it, in their
 * order, the nodes of its type `from` are senders anew (gnn_graph_beside). A type that no relation
 * leads to has a graph without senders. Errors: as gnn_graph_hetero; edges of other relations are
 * not looked at. O(relations types + nodes and edges of those that lead to it).
 *
 * Paper: Hu et al. 2020, where what is sent depends on the relation.
 */
GNN_API int gnn_graph_towards(gnn_graph_t **graph, const gnn_hetero_t *hetero, int64_t type);
/**
 * Graphs over the same receivers, each with senders of its own: senders and edges are numbered one
 * graph after another.
 *
 * @param[in] graphs  (count) of edges, no spans, with as many receivers each
 * @return GNN_OK; GNN_EINVALID; GNN_ESHAPE: receivers differ in number; GNN_EUNSUPPORTED: a graph
 *         stores spans (gnn_graph_to_edges); GNN_EOVERFLOW; GNN_EMEMORY. O(count n + m)
 */
GNN_API int gnn_graph_beside(gnn_graph_t **graph, int64_t count, const gnn_graph_t *const *graphs);

/**
 * One data set of all types, for gnn_train and all else that takes a set. Columns of features are
 * those of the types side by side, and behind those of each type one column that is 1 for its
 * nodes: a linear map of them is one of each type, with a bias of its own. Node array "type" and
 * edge array "relation" say what each is.
 *
 * Labels are those of the types, which number their classes together. A set in which no node has a
 * part gets a split as gnn_data_open draws it.
 *
 * @param[out] data  the caller's, for gnn_data_free; features are kept sparse
 * @return as gnn_graph_hetero and gnn_data_new; GNN_ESHAPE: features of other than `count` rows.
 *         O(size of the features + n relations + m)
 */
GNN_API int gnn_data_hetero(gnn_data_t **data, const gnn_hetero_t *hetero);
/**
 * One data set on which models of a block of types are trained by gnn_train, measured and run, as
 * any other model on any other set:
 *
 *     block          nodes of the set     model reads          slot k of its graphs
 *     "rgcn"         those of all types   "x"                  relation k among all nodes
 *     "hetero_conv"  those of `type`      "x.TYPE" of each     gnn_graph_relation of k
 *     "hgt"          those of `type`      "x.TYPE" of each     gnn_graph_towards type k
 *
 * Labels and parts are those of the set's nodes; the model's output has a row for each of them
 * ("out.paper" of block "out" for type "paper"). Types without features have no "x.TYPE".
 *
 * @param[out] data   the caller's, for gnn_data_free; for "rgcn" what gnn_data_hetero makes
 * @param[in]  block  by name; GNN_ENOTFOUND lists them
 * @param[in]  type   whose nodes are classified; NULL for "rgcn"
 * @return as gnn_data_hetero; GNN_ENOTFOUND: no such type; GNN_EINVALID: a type for "rgcn", none
 *         for the others
 */
GNN_API int gnn_data_hetero_for(gnn_data_t **data, const gnn_hetero_t *hetero, const char *block,
                                const char *type);

#ifdef __cplusplus
}
#endif
#endif
