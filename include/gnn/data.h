/**
 * Data sets: a graph, features and labels of its nodes and edges, and splits into training,
 * validation and test.
 *
 * A set is opaque and read by the functions below; it is made from a file (gnn_data_open) or from
 * the caller's arrays (gnn_data_new). Rows on nodes are indexed by node id, rows on edges by edge
 * id (gnn_graph_row, gnn_graph_pairs), rows on graphs by segment. What a getter returns belongs to
 * the set, and stays valid until the set is changed or freed. Getters do not accept NULL.
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

/** The name of the set: its file name without folder and extension, or gnn_data_config_t.name. */
GNN_API const char *gnn_data_name(const gnn_data_t *data);
/** The set's graph. That of a file has an edge in each direction for every stored link, without
 * self-loops and duplicates. gnn_graph_prepare may add views to it. */
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
/** Sparse features, with explicit values; or NULL if they are dense. */
GNN_API const gnn_sparse_t *gnn_data_sparse(const gnn_data_t *data);
/** The class of each node (nodes); -1: no label. */
GNN_API const int32_t *gnn_data_labels(const gnn_data_t *data);
/** The kind of labels of a set's nodes. */
typedef enum {
    GNN_LABELS_NONE = 0,
    GNN_LABELS_CLASSES, /**< one class per node: gnn_data_labels */
    GNN_LABELS_SEVERAL, /**< multi-label, 0 or 1 per column: the array "targets" on nodes */
    GNN_LABELS_REAL     /**< regression, one column or several: the array "targets" on nodes */
} gnn_label_kind_t;
/** Classes if the set has any, else the kind of its array "targets" on nodes. Cost: reads that
 * array once. */
GNN_API gnn_label_kind_t gnn_data_label_kind(const gnn_data_t *data);
/** The splits of the nodes. */
GNN_API const gnn_split_t *gnn_data_split(const gnn_data_t *data);
/** The mask (nodes) of part GNN_TRAIN, GNN_VALIDATION or GNN_TEST of a split, as gnn_split_mask: 1
 * if the node is in it; NULL if there is no such part or split. */
GNN_API const uint8_t *gnn_data_mask(const gnn_data_t *data, int part, int64_t split);
/** The names of the classes in UTF-8 (classes); NULL if the classes have indices only. */
GNN_API const char *const *gnn_data_class_names(const gnn_data_t *data);
/**
 * The name of the node in a row, in UTF-8: its id in an edge list of words or in LINQS' files, or
 * of the array `names` of a .npz; NULL if nodes have none, or the row does not exist.
 *
 * @param[in] row  index of the node in this set
 */
GNN_API const char *gnn_data_node_name(const gnn_data_t *data, int64_t row);
/** The order of the nodes after gnn_data_reorder (nodes): row r is node order[r] of the file; NULL:
 * the order of the file. */
GNN_API const int64_t *gnn_data_order(const gnn_data_t *data);
/** The order of the edges after gnn_data_reorder (edges): edge k was edge edge_order[k] before;
 * NULL: the original order. */
GNN_API const int64_t *gnn_data_edge_order(const gnn_data_t *data);
/** Count of the links that were skipped because they name a node that is not in the set (LINQS'
 * sets have some). */
GNN_API int64_t gnn_data_skipped(const gnn_data_t *data);

/* ---- further arrays on nodes, edges and graphs, by name ---- */

/** The kind of the rows of an array. */
typedef enum {
    GNN_ON_NODES,
    GNN_ON_EDGES,
    GNN_ON_GRAPHS,
    GNN_ON_TYPES /**< any count of rows: the features of another node type; never saved */
} gnn_data_place_t;

/**
 * Adds a copy of an array, replacing one of the same name and place. Floating-point elements are
 * converted to gnn_real_t, others keep their type. A model step that names the array reads it in
 * gnn_train and gnn_evaluate: `.edge_weight = "weight"`, `.edge_features = "features"`.
 *
 * @param[in] place  what a row is for: a node, an edge, a graph of a set of many (a segment; other
 *                   sets have one graph), or none of these
 * @param[in] array  one row for each; the name must not be empty, and on nodes neither "x" nor
 *                   "labels", which are reserved
 * @return GNN_OK; GNN_EINVALID (a NULL, a name, no such place); GNN_ESHAPE with both row counts;
 *         GNN_ENUMERIC (an element is not finite); GNN_EMEMORY. On failure nothing is changed.
 */
GNN_API int gnn_data_array_set(gnn_data_t *data, gnn_data_place_t place, const gnn_array_t *array);
/** The array of a name on nodes, edges, graphs or types; NULL if there is none. */
GNN_API const gnn_array_t *gnn_data_array_find(const gnn_data_t *data, gnn_data_place_t place,
                                               const char *name);
/** The array of an index, NULL past the last; `*place` (may be NULL) receives what its rows are
 * for. */
GNN_API const gnn_array_t *gnn_data_array_at(const gnn_data_t *data, int64_t index,
                                             gnn_data_place_t *place);
/** The array of a name as a matrix of reals, with all dimensions after the first flattened; NULL if
 * the set has no such array, or if it holds integers. */
GNN_API const gnn_tensor_t *gnn_data_rows(const gnn_data_t *data, gnn_data_place_t place,
                                          const char *name);

/* ---- graphs for models of several graph slots ---- */

/**
 * Sets one graph per slot, for models with several slots: blocks "rgcn" and "hetero_conv" have one
 * slot per relation, "hgt" one per receiver type (gnn_data_hetero_for makes such sets). gnn_train,
 * gnn_evaluate, gnn_predict and gnn_train_memory run a model of `count` slots on them and a model
 * of one slot on gnn_data_graph; other slot counts are refused. Without this call every slot gets
 * gnn_data_graph.
 *
 * @param[in] count   0: removes the graphs
 * @param[in] graphs  (count) owned by the set on success; earlier ones are freed
 * @return GNN_OK; GNN_EINVALID: a NULL, or `count` is negative; GNN_EMEMORY. Nothing is changed
 *         then
 *
 * Such a set cannot be saved or reordered (GNN_EUNSUPPORTED), and only full-batch training without
 * dropped edges is supported.
 */
GNN_API int gnn_data_graphs_set(gnn_data_t *data, int64_t count, gnn_graph_t *const *graphs);
/** The graph of a slot, for gnn_model_prepare; NULL past the last. */
GNN_API gnn_graph_t *gnn_data_graph_at(const gnn_data_t *data, int64_t slot);

/* ---- sets from the caller's arrays ---- */

/** The arrays of gnn_data_new. Zero: absent, or the default in brackets. */
typedef struct gnn_data_config {
    const char *name;     /**< ["data"] */
    gnn_graph_t *graph;   /**< owned by the set on success; NULL: made of the next five fields */
    int64_t nodes, edges; /**< counts of nodes and of edges */
    /** (edges) edge k goes from src[k] to dst[k], as PyG's edge_index[0], edge_index[1]; an
     * undirected link is two edges */
    gnn_ints_t src, dst;
    /** ON: each link is given once and sends messages both ways: edge `edges` + k is the reverse of
     * edge k [off] */
    gnn_flag_t both_ways;
    /** (edges) the edge array "weight"; with `graph`: one per edge of it */
    const gnn_real_t *weight;
    const gnn_tensor_t *x; /**< (nodes x features); at most one of x and sparse */
    const gnn_sparse_t *sparse;
    gnn_ints_t labels;              /**< (nodes) classes, negative: none; no array: no labels */
    int64_t classes;                /**< [the largest label + 1] */
    const char *const *class_names; /**< (classes) UTF-8 */
    /** of the nodes; copied. NULL: one split is drawn as in gnn_data_open */
    const gnn_split_t *split;
    /** NULL: x, sparse and labels are copied. Else they are borrowed (labels if int32) and must not
     * change; the owner is released once, when the set is freed */
    const gnn_owner_t *owner;
    /** (edges x any) the edge array "features"; with `graph`: one row per edge of it. Copied; with
     * .both_ways the reverse of a link gets the same row */
    const gnn_tensor_t *edge_features;
} gnn_data_config_t;

/**
 * Makes a data set of the caller's arrays (examples/own_data.c). Edges keep their order and ids.
 *
 * @return GNN_OK; GNN_EINVALID (no graph and no nodes, both kinds of features, an invalid label or
 *         class name, a split with an unlabelled node although others have labels); GNN_ETOPOLOGY
 *         (an end of an edge is not a node); GNN_ESHAPE; GNN_ENUMERIC (a feature or weight is not
 *         finite, with its position); GNN_EMEMORY. On failure `*data` is NULL, `config->graph`
 *         stays the caller's and the owner is not released.
 *
 * Cost: O(size of the arrays) time; memory the same, or O(nodes + edges) if they are borrowed.
 */
GNN_API int gnn_data_new(gnn_data_t **data, const gnn_data_config_t *config);

/**
 * Replaces the splits of the nodes.
 *
 * @param[in] split  one row per node, in the set's order; copied
 * @return GNN_OK; GNN_ESHAPE; GNN_EINVALID: it contains an unlabelled node although others have
 *         labels; GNN_EMEMORY. Nothing is changed then
 */
GNN_API int gnn_data_split_set(gnn_data_t *data, const gnn_split_t *split);
/**
 * Replaces the splits of a set's nodes by random ones. Draws depend on the file's node ids: a
 * reordered set gets the same nodes.
 *
 * @return GNN_OK; errors as of gnn_split_draw, and nothing is changed then
 */
GNN_API int gnn_data_split_draw(gnn_data_t *data, const gnn_split_rule_t *rule);

/* ---- sets from files ---- */

/**
 * Opens a data set; the format is detected (docs/formats.md): a .npz in the layouts planetoid,
 * heterophilous or plain; LINQS' NAME.content and NAME.cites (either path); an unpacked folder of
 * OGB; a folder of gnn_partition_write (gnn/partition.h); an edge list; GraphML or GML (after
 * gnn_igraph_use, gnn/igraph.h); a set of many graphs, as
 * a folder of TU Dortmund or OGB or a text file of structure2vec. Text may be gzipped. GNN_EIO;
 * GNN_EFORMAT and GNN_ENUMERIC name file, line or array, what was expected and what was found;
 * GNN_EUNSUPPORTED. A set without masks gets one split drawn with seed 0: 20 training nodes per
 * class, 500 for validation, 1000 for test (fewer if there are not enough nodes). A .npz may have
 * no labels: they are -1, and without masks the split is empty. An edge list,
 * GraphML or GML has links only: no features, no classes, labels -1, and an empty split, until
 * gnn_data_add_csv adds them. Nodes that an edge list names by words are numbered by first
 * appearance (gnn_data_node_name).
 */
GNN_API int gnn_data_open(gnn_data_t **data, const char *path);
/** Settings of gnn_data_open_as. Zero means the default in brackets. */
typedef struct gnn_open_config {
    const gnn_limits_t *limits; /**< on unpacked data [the defaults of gnn_limits_t] */
    /** OFF: each stored link becomes two edges, in every format; self-loops and duplicates are
     * removed. ON: link k of the file is edge k, in its direction [off; an array `messages` is
     * always read as with ON, and so are folders of gnn_partition_write: OFF refuses them] */
    gnn_flag_t directed;
} gnn_open_config_t;
/**
 * gnn_data_open with settings; `config` NULL: all defaults.
 *
 * @return as gnn_data_open
 */
GNN_API int gnn_data_open_as(gnn_data_t **data, const char *path, const gnn_open_config_t *config);
/**
 * Makes the data set of Zachary's karate club, with the two clubs as labels and one-hot node ids as
 * features; 2 training labels per club.
 *
 * @return GNN_OK; GNN_EINVALID (a NULL); GNN_EMEMORY
 */
GNN_API int gnn_data_karate(gnn_data_t **data);
/** Frees a set with its graph and arrays, and releases borrowed memory; may be NULL. */
GNN_API void gnn_data_free(gnn_data_t *data);
/**
 * Divides every feature row by its sum (rows with sum 0 are unchanged).
 *
 * @return GNN_OK; GNN_EINVALID (a NULL); GNN_ENUMERIC: the sum of a row is not finite; GNN_EMEMORY
 */
GNN_API int gnn_data_row_normalise(gnn_data_t *data);
/** Divides every feature row by its Euclidean norm (zero rows are unchanged). GNN_ENUMERIC: the
 * squared norm of a row is not finite; earlier rows have been divided then. Cost: one pass. */
GNN_API int gnn_data_row_unit(gnn_data_t *data);
/** Converts dense features to sparse ones (CSR of the non-zeros), so that products with
 * bag-of-words features cost O(nnz). Sparse features are unchanged. GNN_EINVALID: a NULL;
 * GNN_EMEMORY: nothing is changed then. */
GNN_API int gnn_data_to_sparse(gnn_data_t *data);
/** Standardises each feature column to mean 0 and variance 1, estimated on the training nodes of
 * `split`, or on all nodes if it is -1. A constant column is only centred. Sparse features become
 * dense ones of nodes x features values. GNN_EINVALID: no such split, or no training nodes;
 * GNN_ENUMERIC: squares of a column overflow; GNN_EMEMORY. Nothing is changed then. */
GNN_API int gnn_data_standardise(gnn_data_t *data, int64_t split);
/**
 * Reorders the nodes by community, and by descending degree within each or if there are none
 * (gnn_graph_community_order). Graph, features, labels and the masks of every split are permuted,
 * and row r is node order[r] of the file (gnn_data_order): outputs per node must be written to
 * order[r]. Rows that are gathered together, and those gathered most often, become neighbours in
 * memory, which improves cache locality. On two cores of an AMD EPYC (Zen 4) inference of GAT takes
 * 7 to 18% less time, its training step 2 to 8%, one of GCN or SAGE 3%; a small graph without
 * communities gains nothing.
 *
 * Edge ids are permuted as well, by receiver, so that a pass over receivers reads edge rows in
 * order; arrays on edges follow, and gnn_data_edge_order is the permutation. A graph with spans
 * keeps its edge ids.
 *
 * gnn_data_save and gnn_data_add_csv still use the file's order; a set that is in this order
 * already is unchanged. Dropout is keyed by node id, so its masks differ from those in the file's
 * order. The graph is replaced: pointers into the set and prepared views become invalid. Cost:
 * O(size of the set) time, and as much temporary memory.
 *
 * @return GNN_OK; GNN_EINVALID (a NULL); GNN_EUNSUPPORTED: the set has several graphs, or is the
 *         rows of one rank; GNN_EMEMORY. On failure nothing is changed
 */
GNN_API int gnn_data_reorder(gnn_data_t *data);
/**
 * A copy of a set, with graph, features, labels, splits, arrays and names of its own, such as for
 * features on another scale without reading the file again.
 *
 * @param[out] copy  for gnn_data_free; NULL on an error
 * @param[in]  data  with one graph
 * @return GNN_OK; GNN_EINVALID (a NULL); GNN_EUNSUPPORTED: the set has several graphs, or is the
 *         rows of one rank; GNN_EMEMORY. Cost: O(size of the set)
 */
GNN_API int gnn_data_copy(gnn_data_t **copy, const gnn_data_t *data);
/**
 * Replaces features and labels by those of CSV files with one line per node, in the file's order;
 * either path may be NULL. Fields are separated by tabs, semicolons or commas, as in the first
 * line, and may be quoted; a non-numeric first line is a header (with class names: if there is one
 * more line than nodes). A column of ids (docs/formats.md), integers or names, assigns the lines
 * to nodes; labels may then be of some nodes only. Features: decimal values with a point, in every
 * locale. Labels: one field per line, a class index (negative or "": no label) or a class name ("":
 * no label); or several numeric columns, or real values, which become targets as in a .npz. New
 * labels come with a new
 * split, drawn as in gnn_data_open. A set of links only grows to the count of lines, since an edge
 * list cannot name isolated nodes at the end. GNN_EIO; GNN_EFORMAT and GNN_ENUMERIC (not finite)
 * with line and column; GNN_ESHAPE. On failure nothing is changed.
 *
 * @param[in] features  path; NULL: features stay
 * @param[in] labels    path; NULL: labels stay
 */
GNN_API int gnn_data_add_csv(gnn_data_t *data, const char *features, const char *labels);
/** Writes the set as .npz in libgnn's own layout (docs/formats.md), which gnn_data_open reads back,
 * except for `name` and `skipped`; in the file's order if the nodes were reordered. A set without
 * labels is written without an array of them. GNN_EIO. */
GNN_API int gnn_data_save(const gnn_data_t *data, const char *path);
/**
 * Writes a one-paragraph description of a set into `text` of `size` bytes (always terminated).
 *
 * @param[out] text  (size) caller's; overwritten
 * @param[in]  size  bytes of `text`, with the terminating zero
 */
GNN_API void gnn_data_describe(const gnn_data_t *data, char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
