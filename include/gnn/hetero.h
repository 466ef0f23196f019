/**
 * Heterogeneous graphs, with several types of nodes and edges: authors write papers, papers cite
 * papers.
 *
 * Node ids of each type start at 0, and each type has its own feature width; a relation leads from
 * one type to one type. This description is converted into graphs for the one layer type:
 *
 *     gnn_graph_hetero     one graph of all types; each part is a relation
 *     gnn_graph_relation   one relation, bipartite: nodes of one type to those of another
 *     gnn_graph_towards    all incoming edges of one type, for block "hgt"
 *     gnn_data_hetero      one data set, features concatenated
 *     gnn_data_hetero_for  one data set with the graphs and features of a block
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
    /** (count x any width) features; NULL: none. Read by data sets only, like the next two */
    const gnn_tensor_t *x;
    gnn_ints_t labels;        /**< (count) classes, -1: none; no array: no labels */
    const gnn_split_t *split; /**< of its nodes; NULL: all masks are empty */
} gnn_node_type_t;

/** A type of edges: edge k goes from node src[k] of type `from` to node dst[k] of type `to`. */
typedef struct gnn_relation {
    const char *from, *name, *to; /**< "author", "writes", "paper" */
    int64_t edges;
    gnn_ints_t src, dst; /**< (edges) node ids of the types `from` and `to` */
} gnn_relation_t;

/** A heterogeneous graph, like PyG's HeteroData. Everything is borrowed. */
typedef struct gnn_hetero {
    const gnn_node_type_t *types;
    int64_t n_types;
    const gnn_relation_t *relations;
    int64_t n_relations;
} gnn_hetero_t;

/**
 * One graph of all types: nodes of all types concatenated, edges of all relations concatenated;
 * part r is relation r (gnn_graph_part extracts it).
 *
 * @param[out] graph       the caller's, for gnn_graph_free
 * @param[out] node_class  (nodes) the type of each node; may be NULL
 * @param[out] edge_class  (edges) the relation of each edge; may be NULL
 * @return GNN_OK; GNN_EINVALID (a NULL, a name twice, no relation); GNN_ENOTFOUND: a relation names
 *         an unknown type; GNN_ETOPOLOGY: an end of an edge is not a node of its type;
 *         GNN_EOVERFLOW; GNN_EMEMORY. O(n relations + m)
 *
 * Paper: Schlichtkrull et al. 2018.
 */
GNN_API int gnn_graph_hetero(gnn_graph_t **graph, const gnn_hetero_t *hetero, int32_t *node_class,
                             int32_t *edge_class);
/**
 * The graph of relation r: its receivers are the nodes of its type `to`, its senders those of
 * `from`. Errors: as gnn_graph_hetero; only the types and this relation are checked. O(types + its
 * nodes + its edges).
 *
 * @param[in] r  index of the relation
 */
GNN_API int gnn_graph_relation(gnn_graph_t **graph, const gnn_hetero_t *hetero, int64_t r);
/**
 * The graph of all incoming edges of one type: for each relation to it, in order, the nodes of its
 * type `from` become a new block of senders (gnn_graph_beside). Without such relations the graph
 * has no senders. Errors: as gnn_graph_hetero; edges of other relations are not checked.
 * O(relations types + nodes and edges of the relations to it).
 *
 * Paper: Hu et al. 2020, whose messages depend on the relation.
 *
 * @param[in] type  index of the type
 */
GNN_API int gnn_graph_towards(gnn_graph_t **graph, const gnn_hetero_t *hetero, int64_t type);
/**
 * The union of graphs over the same receivers, with disjoint senders: ids of senders and edges are
 * offset graph by graph.
 *
 * @param[in] count   count of the graphs, at least 1
 * @param[in] graphs  (count) graphs of edges, not spans, with the same n_dst
 * @return GNN_OK; GNN_EINVALID; GNN_ESHAPE: n_dst differs; GNN_EUNSUPPORTED: a graph stores spans
 *         (gnn_graph_to_edges); GNN_EOVERFLOW; GNN_EMEMORY. O(count n + m)
 */
GNN_API int gnn_graph_beside(gnn_graph_t **graph, int64_t count, const gnn_graph_t *const *graphs);

/**
 * One data set of all types, for gnn_train and other functions of data sets. Feature columns of the
 * types are concatenated, with one indicator column after those of each type: one linear map of
 * them is a linear map per type, with its own bias. The node array "type" and the edge array
 * "relation" hold the types.
 *
 * Labels are those of the types, which share one set of class ids. If no type has a split, one is
 * drawn as in gnn_data_open.
 *
 * @param[out] data  the caller's, for gnn_data_free; features are kept sparse
 * @return as gnn_graph_hetero and gnn_data_new; GNN_ESHAPE: features without `count` rows. O(size
 *         of the features + n relations + m)
 */
GNN_API int gnn_data_hetero(gnn_data_t **data, const gnn_hetero_t *hetero);
/**
 * One data set for models with a heterogeneous block, which gnn_train, gnn_evaluate and gnn_predict
 * run like any other set:
 *
 *     block          nodes of the set     model reads          slot k of its graphs
 *     "rgcn"         those of all types   "x"                  relation k among all nodes
 *     "hetero_conv"  those of `type`      "x.TYPE" of each     gnn_graph_relation of k
 *     "hgt"          those of `type`      "x.TYPE" of each     gnn_graph_towards type k
 *
 * Labels and splits are those of the set's nodes; the model's output has one row per node
 * ("out.paper" of block "out" for type "paper"). Types without features have no "x.TYPE".
 *
 * @param[out] data   the caller's, for gnn_data_free; for "rgcn" the result of gnn_data_hetero
 * @param[in]  block  name of the block; GNN_ENOTFOUND lists them
 * @param[in]  type   the type whose nodes are classified; NULL for "rgcn"
 * @return as gnn_data_hetero; GNN_ENOTFOUND: no such type; GNN_EINVALID: a type for "rgcn", none
 *         for the others
 */
GNN_API int gnn_data_hetero_for(gnn_data_t **data, const gnn_hetero_t *hetero, const char *block,
                                const char *type);

#ifdef __cplusplus
}
#endif
#endif
