/**
 * Sets of many graphs: molecules, proteins, networks of people, of which each has a class or a
 * number to be predicted. Such a set is a gnn_data_t whose graph has a segment for each of them,
 * and arrays on graphs. A batch of graphs is one graph, and a readout is a hop from its nodes to
 * one row a graph.
 */
#ifndef GNN_COLLECTION_H
#define GNN_COLLECTION_H

#include <gnn/split.h>
#include <gnn/train.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the set ---- */

/** How many graphs a set has; 1 if it is no set of many. */
GNN_API int64_t gnn_data_graphs(const gnn_data_t *data);
/** (graphs) the class of each, below gnn_data_classes, the array "labels" on graphs; NULL if graphs
 * have no classes. */
GNN_API const int32_t *gnn_data_graph_labels(const gnn_data_t *data);
/**
 * Replaces the features of the nodes by a 1 in the column of their degree, as sets are read whose
 * nodes are not told apart.
 *
 * @param[in] most  columns are most + 1; nodes of a higher degree share the last one. 0: the
 *                  largest degree there is, at most 255
 * @return GNN_OK; GNN_EINVALID; GNN_EMEMORY. O(n + m)
 */
GNN_API int gnn_data_degree_features(gnn_data_t *data, int64_t most);
/**
 * A set that is drawn: trees of 8 to 20 nodes, to each of which a house (5 nodes), a ring (6) or a
 * wheel (6) is tied by one edge; which of the three is the graph's class.
 *
 * @param[in] graphs  at least 3
 * @return GNN_OK; GNN_EINVALID; GNN_EMEMORY. The same set for the same seed
 */
GNN_API int gnn_data_motifs(gnn_data_t **data, int64_t graphs, uint64_t seed);

/* ---- batches ---- */

/** How the graphs of a set become batches. Zero means the default in brackets. */
typedef struct gnn_graph_batches_config {
    int64_t size;       /**< graphs of a batch [32] */
    int64_t per_epoch;  /**< training batches of an epoch [as many as hold each graph once] */
    gnn_flag_t shuffle; /**< the training graphs in another order in each epoch [on] */
    uint64_t seed;      /**< of that order */
    gnn_loss_kind_t loss;
    /** an array of reals on graphs that losses other than cross-entropy compare with; NULL for
     * binary cross-entropy of classes: a column a class, 1 in the graph's own */
    const char *targets;
    const gnn_real_t *class_weight; /**< (classes) or NULL; borrowed */
    int64_t split;                  /**< which of the splits [0] */
} gnn_graph_batches_config_t;

/** Batches of the graphs of a set, as a source for gnn_train_batches. */
typedef struct gnn_graph_batches gnn_graph_batches_t;
GNN_API int gnn_graph_batches_new_sized(gnn_graph_batches_t **batches, const gnn_data_t *data,
                                        const gnn_model_t *model, const gnn_split_t *splits,
                                        const gnn_graph_batches_config_t *config, size_t size);
/**
 * Makes batches of the graphs of a set for a model, which meets a batch in these slots, as many as
 * it has:
 *
 *     0  the graphs side by side, with a segment each
 *     1  from the nodes to one row a graph: the readout
 *     2  each graph complete: every node hears all nodes of its graph
 *     3  from one row a graph back to its nodes
 *
 * and reads "x", and the set's arrays on nodes, edges and graphs by their names, the rows of the
 * batch's own.
 *
 * @param[in] data   borrowed, with all that is in it; must not change
 * @param[in] model  borrowed: batches are prepared for it, and for others of the same layers
 * @param[in] splits of the set's graphs; read here alone. gnn_split_draw draws such
 * @param[in] config NULL: all defaults
 * @return GNN_OK; GNN_EINVALID; GNN_EUNSUPPORTED: the model has more slots; GNN_EMEMORY
 *
 * Memory: that of one batch. A batch is the same whatever came before it: it depends on part, epoch
 * and index alone.
 */
static inline int gnn_graph_batches_new(gnn_graph_batches_t **batches, const gnn_data_t *data,
                                        const gnn_model_t *model, const gnn_split_t *splits,
                                        const gnn_graph_batches_config_t *config)
{
    return gnn_graph_batches_new_sized(batches, data, model, splits, config, sizeof *config);
}
/** Frees graph batches; NULL is fine. */
GNN_API void gnn_graph_batches_free(gnn_graph_batches_t *batches);
/** The source of graph batches, for gnn_train_batches; lives as long as the batches. */
GNN_API gnn_source_t gnn_graph_batches_source(gnn_graph_batches_t *batches);
/**
 * The model's output for all graphs of the set, in their order, batch by batch.
 *
 * @param[in]  model  has the layers of that which the batches were made for
 * @param[out] out    (graphs x the model's width), caller's; overwritten
 * @return GNN_OK; GNN_EINVALID; GNN_ESHAPE; GNN_EMEMORY
 */
GNN_API int gnn_graph_batches_predict(gnn_graph_batches_t *batches, const gnn_model_t *model,
                                      gnn_context_t *context, const gnn_tensor_t *out);
/** Puts the inputs of a model for graphs that the caller lists into `inputs`; they stay until the
 * next call on these batches. */
GNN_API int gnn_graph_batches_inputs(gnn_graph_batches_t *batches, int64_t count,
                                     const int64_t *graphs, gnn_model_inputs_t *inputs);

#ifdef __cplusplus
}
#endif
#endif
