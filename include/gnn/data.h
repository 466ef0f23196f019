/**
 * Data sets: a graph, what is known of its nodes and edges, and the splits that say who is learned
 * from and who is judged.
 *
 * A set is opaque and read by the functions below; it is made from a file (gnn_data_open) or from
 * arrays of the program's own (gnn_data_new). Rows on nodes are numbered as the graph's nodes, rows
 * on edges by the graph's edge numbers (gnn_graph_row, gnn_graph_pairs), rows on graphs by segment.
 * What a getter hands out belongs to the set, and stays valid until the set is changed or freed.
 * Getters take a set that is there.
 */
#ifndef GNN_DATA_H
#define GNN_DATA_H

#include <gnn/io.h>
#include <gnn/split.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A data set: graph, features, labels, splits and arrays by name. */
typedef struct gnn_data gnn_data_t;

/* ---- reading a set ---- */

/** The name of the set: that of its file without folder and ending, or gnn_data_config_t.name. */
GNN_API const char *gnn_data_name(const gnn_data_t *data);
/** The set's graph. From a file: messages both ways of each stored link, no self-loops, no
 * duplicates. Preparing views of it is allowed. */
GNN_API gnn_graph_t *gnn_data_graph(const gnn_data_t *data);
/** Count of the nodes. */
GNN_API int64_t gnn_data_nodes(const gnn_data_t *data);
/** Columns of the features, dense or sparse. */
GNN_API int64_t gnn_data_features(const gnn_data_t *data);
/** Count of the classes; 0 if no node has a label. */
GNN_API int64_t gnn_data_classes(const gnn_data_t *data);
/** Count of the splits, each of three masks. */
GNN_API int64_t gnn_data_splits(const gnn_data_t *data);
/** Dense features (nodes x features), or NULL if they are sparse. */
GNN_API const gnn_tensor_t *gnn_data_x(const gnn_data_t *data);
/** Sparse features, their values written out; or NULL if they are dense. */
GNN_API const gnn_sparse_t *gnn_data_sparse(const gnn_data_t *data);
/** The class of each node (nodes); -1: no label. */
GNN_API const int32_t *gnn_data_labels(const gnn_data_t *data);
/** What a set has to learn of its nodes. */
typedef enum {
    GNN_LABELS_NONE = 0,
    GNN_LABELS_CLASSES, /**< one class of each: gnn_data_labels */
    GNN_LABELS_SEVERAL, /**< 0 or 1 in several columns: the array "targets" on nodes */
    GNN_LABELS_REAL     /**< real values in one column or several: the array "targets" on nodes */
} gnn_label_kind_t;
/** Classes where the set has some, else what its array "targets" on nodes holds. Cost: reads that
 * array once. */
GNN_API gnn_label_kind_t gnn_data_label_kind(const gnn_data_t *data);
/** The splits of the nodes. */
GNN_API const gnn_split_t *gnn_data_split(const gnn_data_t *data);
/** The nodes of a part (GNN_TRAIN, GNN_VALIDATION, GNN_TEST) of a split, as gnn_split_mask:
 * (nodes), 1 where a node is in it; NULL if there is no such part or split. */
GNN_API const uint8_t *gnn_data_mask(const gnn_data_t *data, int part, int64_t split);
/** The names of the classes in UTF-8 (classes); NULL if the classes have indices only. */
GNN_API const char *const *gnn_data_class_names(const gnn_data_t *data);
/** The order of the nodes after gnn_data_reorder (nodes): row r is node order[r] of the file; NULL:
 * nodes stand as in the file. */
GNN_API const int64_t *gnn_data_order(const gnn_data_t *data);
/** The order of the edges after gnn_data_reorder (edges): edge k of now was edge edge_order[k]
 * before; NULL: edges stand as they were given. */
GNN_API const int64_t *gnn_data_edge_order(const gnn_data_t *data);
/** Links that were left out because they name a node that the set does not hold (LINQS' sets have
 * some). */
GNN_API int64_t gnn_data_skipped(const gnn_data_t *data);

/* ---- arrays by name: what else is known of nodes, edges and graphs ---- */

/** What the rows of an array belong to. */
typedef enum {
    GNN_ON_NODES,
    GNN_ON_EDGES,
    GNN_ON_GRAPHS,
    GNN_ON_TYPES /**< rows of its own, any number: the features of a type of nodes; never saved */
} gnn_data_place_t;

/**
 * Adds a copy of an array, in place of one that has its name there. Numbers of a floating type are
 * kept as gnn_real_t, others in their type. A step of a model that names the array reads it in
 * gnn_train and gnn_evaluate: `.edge_weight = "weight"`, `.edge_features = "features"`.
 *
 * @param[in] place  what a row belongs to: a node, an edge of the graph, a graph of a set of
 *                   several (a segment; else the set has one graph), or none of these
 * @param[in] array  one row for each; its name is not empty, and on nodes neither "x" nor "labels",
 *                   which are the set's own
 * @return GNN_OK; GNN_EINVALID (a NULL, a name, no such place); GNN_ESHAPE with both numbers of
 *         rows; GNN_ENUMERIC (a number is not finite); GNN_EMEMORY. On failure nothing is changed.
 */
GNN_API int gnn_data_array_set(gnn_data_t *data, gnn_data_place_t place, const gnn_array_t *array);
/** The array of a name on nodes, edges, graphs or types; NULL if there is none. */
GNN_API const gnn_array_t *gnn_data_array_find(const gnn_data_t *data, gnn_data_place_t place,
                                               const char *name);
/** Count of the arrays on nodes, edges, graphs and types. */
GNN_API int64_t gnn_data_array_count(const gnn_data_t *data);
/** The array of an index, NULL past the last; `*place` (may be NULL) receives what its rows belong
 * to. */
GNN_API const gnn_array_t *gnn_data_array_at(const gnn_data_t *data, int64_t index,
                                             gnn_data_place_t *place);
/** The array as rows of real numbers, all dimensions behind the first in one; NULL if there is
 * none, or its numbers are whole. */
GNN_API const gnn_tensor_t *gnn_data_rows(const gnn_data_t *data, gnn_data_place_t place,
                                          const char *name);

/* ---- graphs for models of several graph slots ---- */

/**
 * Gives the set a graph for each slot of models that run on several: block "rgcn" on a relation
 * each, "hetero_conv" too, "hgt" on a type of receivers each (gnn_data_hetero_for makes such sets).
 * gnn_train, gnn_evaluate, gnn_predict and gnn_train_memory run a model of `count` slots on them; a
 * model of one slot runs on gnn_data_graph, one of another number is refused. Without a call every
 * slot gets gnn_data_graph.
 *
 * @param[in] count   0: takes them away again
 * @param[in] graphs  (count) taken over on success, in place of those that were there
 * @return GNN_OK; GNN_EINVALID: a NULL, or `count` is negative; GNN_EMEMORY. Nothing is changed
 *         then
 *
 * Such a set is neither saved nor reordered (GNN_EUNSUPPORTED), and trained on whole: no samples,
 * no dropped edges.
 */
GNN_API int gnn_data_graphs_set(gnn_data_t *data, int64_t count, gnn_graph_t *const *graphs);
/** Count of the graphs that gnn_data_graphs_set gave the set; 0 without a call. */
GNN_API int64_t gnn_data_graph_count(const gnn_data_t *data);
/** The graph of a slot, for gnn_model_prepare; NULL past the last. */
GNN_API gnn_graph_t *gnn_data_graph_at(const gnn_data_t *data, int64_t slot);

/* ---- sets from arrays of the program's own ---- */

/** What gnn_data_new makes a set of. Zero: not there, or the default in brackets. */
typedef struct gnn_data_config {
    const char *name;     /**< ["data"] */
    gnn_graph_t *graph;   /**< taken over on success; NULL: made of the five below */
    int64_t nodes, edges; /**< how many nodes, and messages */
    /** (edges) message k goes from src[k] to dst[k], as PyG's edge_index[0], edge_index[1]; an
     * undirected link is two */
    gnn_ints_t src, dst;
    gnn_flag_t both_ways; /**< ON: each link is given once and heard at both ends: edge `edges` + k
                             is the reverse of edge k [off] */
    /** (edges) the edge array "weight"; with `graph`: one for each of its edges */
    const gnn_real_t *weight;
    const gnn_tensor_t *x; /**< (nodes x features); at most one of x and sparse */
    const gnn_sparse_t *sparse;
    gnn_ints_t labels; /**< (nodes) classes, negative: none; no array: no node has one */
    int64_t classes;   /**< [the largest label and one] */
    const char *const *class_names; /**< (classes) UTF-8 */
    /** of the nodes; copied. NULL: one split is drawn as gnn_data_open does */
    const gnn_split_t *split;
    /** NULL: x, sparse and labels are copied. Given: they are borrowed (labels of int32), must stay
     * as they are, and the owner is told once, when the set is freed */
    const gnn_owner_t *owner;
    /** (edges x any) the edge array "features"; with `graph`: a row for each of its edges. Copied,
     * and twice with .both_ways: a link's reverse has the same row */
    const gnn_tensor_t *edge_features;
} gnn_data_config_t;

GNN_API int gnn_data_new_sized(gnn_data_t **data, const gnn_data_config_t *config, size_t size);
/**
 * Makes a data set of arrays: what gnn_data_open makes of a file (examples/own_data.c). Edges stay
 * as they are given, with their numbers.
 *
 * @return GNN_OK; GNN_EINVALID (no graph and no nodes, both kinds of features, a label or class
 *         name that cannot be, a split that takes a node without a label where others have one);
 *         GNN_ETOPOLOGY (an end of an edge is no node); GNN_ESHAPE; GNN_ENUMERIC (a feature or
 *         weight is not finite, with its place); GNN_EMEMORY. On failure `*data` is NULL,
 *         `config->graph` stays the caller's and the owner is not told.
 *
 * Cost: O(size of the arrays) time; memory the same, or O(nodes + edges) if they are borrowed.
 */
static inline int gnn_data_new(gnn_data_t **data, const gnn_data_config_t *config)
{
    return gnn_data_new_sized(data, config, sizeof *config);
}

/**
 * Replaces the splits of the nodes.
 *
 * @param[in] split  of as many rows as there are nodes, by the set's numbers of nodes; copied
 * @return GNN_OK; GNN_ESHAPE; GNN_EINVALID: it takes a node without a label where others have one;
 *         GNN_EMEMORY. Nothing is changed then
 */
GNN_API int gnn_data_split_set(gnn_data_t *data, const gnn_split_t *split);
/**
 * Draws the splits of a set's nodes in place of those that it has. Draws go by the file's node
 * numbers: a set that was reordered gets the same nodes.
 *
 * @return GNN_OK; errors as of gnn_split_draw, and nothing is changed then
 */
GNN_API int gnn_data_split_draw(gnn_data_t *data, const gnn_split_rule_t *rule);

/* ---- sets from files ---- */

/**
 * Opens a data set, whatever `path` is (docs/formats.md): a .npz in the layouts planetoid,
 * heterophilous or plain; LINQS' NAME.content and NAME.cites, by either; a folder as OGB unpacks
 * it; an edge list; GraphML or GML (after gnn_igraph_use, gnn/igraph.h); a set of many graphs, as a
 * folder of TU Dortmund or OGB or a text of structure2vec. Text may be gzipped.
 * GNN_EIO; GNN_EFORMAT and GNN_ENUMERIC name file, line or array, what was expected and what came;
 * GNN_EUNSUPPORTED. A set without masks gets one split drawn by `seed` 0: 20 a class, 500, 1000
 * (fewer where there are not enough nodes). An edge list, GraphML or GML is links alone: no
 * features, no classes, labels -1, and a split that holds no node, until gnn_data_add_csv brings
 * them.
 */
GNN_API int gnn_data_open(gnn_data_t **data, const char *path);
/** gnn_data_open with limits of the caller's on what is unpacked (NULL, and 0 in a field: the
 * default). */
GNN_API int gnn_data_open_limits(gnn_data_t **data, const char *path, const gnn_limits_t *limits);
/** How a data set is opened. Zero means the default in brackets. */
typedef struct gnn_open_config {
    const gnn_limits_t *limits; /**< on what is unpacked [the defaults of gnn_limits_t] */
    /** OFF: messages go both ways along each stored link, whatever the form; self-loops and
     * duplicates are left out. ON: link k of the file is edge k, in its own direction [off; an
     * array `messages` is always read as with ON] */
    gnn_flag_t directed;
} gnn_open_config_t;
GNN_API int gnn_data_open_as_sized(gnn_data_t **data, const char *path,
                                   const gnn_open_config_t *config, size_t size);
/** gnn_data_open with settings; `config` NULL: all defaults. */
static inline int gnn_data_open_as(gnn_data_t **data, const char *path,
                                   const gnn_open_config_t *config)
{
    return gnn_data_open_as_sized(data, path, config, sizeof *config);
}
/** Makes the data set of Zachary's karate club, with the two clubs as labels and one-hot node
 * numbers as features; 2 labels a club for training. */
GNN_API int gnn_data_karate(gnn_data_t **data);
/** Frees a set with its graph and arrays, and releases what it borrowed; NULL is fine. */
GNN_API void gnn_data_free(gnn_data_t *data);
/** Divides every feature row by its sum (rows that add up to 0 stay). */
GNN_API int gnn_data_row_normalise(gnn_data_t *data);
/** Divides every feature row by its Euclidean length (rows of zeros stay). GNN_ENUMERIC: the
 * squares of a row add up to no finite number; rows before it are divided then. Cost: one pass. */
GNN_API int gnn_data_row_unit(gnn_data_t *data);
/** Keeps dense features sparsely: the values that are not 0, by row. A product with features of
 * words then costs what is stored. Sparse features stay as they are. GNN_EINVALID without a set;
 * GNN_EMEMORY: nothing is changed then. */
GNN_API int gnn_data_to_sparse(gnn_data_t *data);
/** Takes each column of the features to mean 0 and variance 1, measured over the training nodes of
 * `split`, or over all nodes if it is -1. A column that is constant there becomes 0 there (it is
 * divided by 1). GNN_EUNSUPPORTED: the features are sparse, and would not stay so; GNN_EINVALID: no
 * such split, or no training nodes; GNN_ENUMERIC: a column is too large to square. Nothing is
 * changed then. */
GNN_API int gnn_data_standardise(gnn_data_t *data, int64_t split);
/**
 * Renumbers the nodes by communities, and by falling degree within each or where there are none
 * (gnn_graph_community_order). Graph, features, labels and the masks of every split follow, and
 * `order` tells which node of the file a row is: what is written node by node goes to order[r].
 * Rows that are gathered together, and those that are gathered most often, then lie together: in
 * one core's cache where there are communities, in fewer lines where the rows of a layer outgrow
 * that cache. On two cores of an AMD EPYC (Zen 4) inference of GAT takes 7 to 18 in 100 less time,
 * its training step 2 to 8, one of GCN or SAGE 3; a small graph without communities gains nothing.
 *
 * Edges get numbers anew as well, receiver after receiver, so that a pass over receivers reads rows
 * of edges one after another; arrays on edges follow, and gnn_data_edge_order tells which edge was
 * which. A graph with spans keeps its edges' numbers.
 *
 * Nothing else changes: gnn_data_save writes, and gnn_data_add_csv reads, by the file's numbers; a
 * set that is in this order already stays as it is. Dropout is drawn by node number, so a training
 * takes other draws than in the file's order. The graph is made anew: pointers into the set and
 * views that were prepared are gone. On failure nothing is changed: GNN_EINVALID without a set;
 * GNN_EMEMORY. Cost: O(size of the set) time, and its memory a second time meanwhile.
 */
GNN_API int gnn_data_reorder(gnn_data_t *data);
/**
 * Replaces features and labels by those of CSV files, a line a node in the order of the file's
 * nodes; either path may be NULL. Fields are separated by tabs, semicolons or commas, whichever the
 * first line has, and may be quoted; a first line with words in it is a header (above class names:
 * if there is a line more than nodes). Features: numbers with a decimal point, whatever the locale.
 * Labels: one field a line: class numbers (negative or "": no label) or class names ("": no label).
 * New labels draw a new split as gnn_data_open does. A set that is links alone grows to the number
 * of lines: edge lists do not tell of nodes without links at the end. GNN_EIO; GNN_EFORMAT and
 * GNN_ENUMERIC (not finite) with line and column; GNN_ESHAPE. On failure nothing is changed.
 */
GNN_API int gnn_data_add_csv(gnn_data_t *data, const char *features, const char *labels);
/** Writes the set as .npz in libgnn's own layout (docs/formats.md), which gnn_data_open reads back
 * as it was, but for `name` and `skipped`; in the file's order if the nodes were reordered.
 * GNN_EINVALID: no node has a label. GNN_EIO. */
GNN_API int gnn_data_save(const gnn_data_t *data, const char *path);
/** Describes in words what a set holds, into `text` of `size` bytes (always terminated). */
GNN_API void gnn_data_describe(const gnn_data_t *data, char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
