/**
 * Sets of many graphs (molecules, proteins, social networks), each with a class or a real target to
 * predict. Such a set is a gnn_data_t whose graph has one segment per member, with arrays on
 * graphs. A batch of graphs is one graph, and a readout aggregates its nodes to one row per graph.
 */
#ifndef GNN_COLLECTION_H
#define GNN_COLLECTION_H

#include <gnn/split.h>
#include <gnn/train.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the set ---- */

/** Count of the graphs of a set; 1 if it is not a set of many graphs. */
GNN_API int64_t gnn_data_graphs(const gnn_data_t *data);
/** (graphs) the class of each, below gnn_data_classes, the array "labels" on graphs; NULL if graphs
 * have no classes. */
GNN_API const int32_t *gnn_data_graph_labels(const gnn_data_t *data);
/**
 * Replaces the features of the nodes by a one-hot encoding of their degree, as is done for sets
 * without node features.
 *
 * @param[in] most  there are most + 1 columns; nodes of higher degrees share the last one. 0: the
 *                  largest degree, at most 255
 * @return GNN_OK; GNN_EINVALID; GNN_EMEMORY. O(n + m)
 */
GNN_API int gnn_data_degree_features(gnn_data_t *data, int64_t most);
/**
 * Generates a set: random trees of 8 to 20 nodes, to each of which a house (5 nodes), a ring (6) or
 * a wheel (6) is attached by one edge; the class is the kind of motif.
 *
 * @param[in] graphs  at least 3
 * @return GNN_OK; GNN_EINVALID; GNN_EMEMORY. The same set for the same seed
 */
GNN_API int gnn_data_motifs(gnn_data_t **data, int64_t graphs, uint64_t seed);

/* ---- batches ---- */

/** Settings of batches of graphs. Zero means the default in brackets. */
typedef struct gnn_graph_source_config {
    int64_t size;       /**< graphs of a batch [32] */
    int64_t per_epoch;  /**< training batches of an epoch [one pass over the graphs] */
    gnn_flag_t shuffle; /**< shuffle the training graphs in each epoch [on] */
    uint64_t seed;      /**< of that order; 0 without one */
    gnn_loss_kind_t loss;
    /** name of an array of reals on graphs, the targets of losses other than cross-entropy; NULL
     * with binary cross-entropy: the classes, one-hot */
    const char *targets;
    const gnn_real_t *class_weight; /**< (classes) or NULL; borrowed */
    int64_t split;                  /**< which of the splits [0] */
} gnn_graph_source_config_t;

/**
 * Makes a source of batches of the graphs of a set. The model's graph slots get, as far as it has
 * them:
 *
 *     0  the disjoint union of the graphs, one segment each
 *     1  nodes -> one row per graph: the readout
 *     2  complete graphs over the nodes of each graph
 *     3  one row per graph -> its nodes
 *
 * The model's inputs are "x" and the set's arrays on nodes, edges and graphs by name, restricted to
 * the rows of the batch.
 *
 * @param[out] source  the caller's, for gnn_source_free; NULL after an error
 * @param[in]  model   borrowed: batches are prepared for it, and for others of the same layers
 * @param[in]  data    borrowed; must not change
 * @param[in]  splits  of the set's graphs (gnn_split_draw); read during this call only
 * @param[in]  config  NULL: all defaults
 * @return GNN_OK; GNN_EINVALID; GNN_EUNSUPPORTED: the model has more slots; GNN_EMEMORY
 *
 * Memory: that of one batch. A batch depends on split, epoch and index alone, not on earlier
 * batches.
 */
GNN_API int gnn_source_of_graphs(gnn_source_t **source, const gnn_model_t *model,
                                 const gnn_data_t *data, const gnn_split_t *splits,
                                 const gnn_graph_source_config_t *config);
/**
 * The model's output for all graphs of the set, in their order, batch by batch.
 *
 * @param[in]  source  of gnn_source_of_graphs
 * @param[in]  model   with the layers of the model that the source was made for
 * @param[out] out     (graphs x the model's width), caller's; overwritten
 * @return GNN_OK; GNN_EINVALID: a NULL, another source; GNN_ESHAPE; GNN_EMEMORY
 */
GNN_API int gnn_source_predict_graphs(const gnn_source_t *source, const gnn_model_t *model,
                                      gnn_context_t *context, const gnn_tensor_t *out);

#ifdef __cplusplus
}
#endif
#endif
