/**
 * Links: which pairs of nodes belong together. Links of a graph are shared out among training,
 * validation and test; a model hears messages along the training's alone, and scores pairs of
 * nodes, of which some are links and the others are drawn at random.
 *
 *     gnn_links_split(&links, gnn_data_graph(data), NULL);
 *     gnn_steps_block(steps, "link_dot", &(gnn_block_t){.name = "score", .width = 16});
 *     ...
 *     gnn_link_batches_new(&batches, data, links, model, NULL);
 *     source = gnn_link_batches_source(batches);
 *     gnn_train_batches(model, context, &source, &config, &result);
 *     gnn_link_batches_measure(batches, model, context, GNN_TEST, &metrics);
 *
 * Decoders are blocks of a model (docs/blocks.md): link_dot, link_bilinear, link_distance,
 * link_product, link_mlp. They read the model's inputs "sources" and "targets", the node numbers of
 * the pairs.
 */
#ifndef GNN_LINKS_H
#define GNN_LINKS_H

#include <gnn/split.h>
#include <gnn/train.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Pairs of nodes: pair k goes from src[k] to dst[k]. */
typedef struct gnn_pairs {
    int64_t count;
    const int32_t *src, *dst;
} gnn_node_pairs_t;

/* ---- pairs that are no links ---- */

/** Draws pairs of different nodes that a graph has no edge between. */
typedef struct gnn_negatives gnn_negatives_t;
/**
 * Prepares draws of pairs that a graph has no edge between.
 *
 * @param[in] graph     stores edges, the same nodes on both sides, at least 2; read here alone
 * @param[in] directed  ON: the pair (i, j) is drawn where no message goes from i to j; else, and by
 *                      default, i < j, and no message goes either way
 * @return GNN_OK; GNN_ETOPOLOGY: two kinds of nodes; GNN_EUNSUPPORTED: a part stores spans;
 *         GNN_EINVALID: every pair is an edge, or there are fewer than 2 nodes; GNN_EMEMORY
 *
 * Cost: O(n + m log(largest degree)) time, O(n + m) memory.
 */
GNN_API int gnn_negatives_new(gnn_negatives_t **negatives, const gnn_graph_t *graph,
                              gnn_flag_t directed);
/** Frees negatives; NULL is fine. */
GNN_API void gnn_negatives_free(gnn_negatives_t *negatives);
/**
 * Draws `count` pairs, each uniformly among all that are no edges, independently: a pair may come
 * twice. Pair k depends on seed, round and k alone (Philox), not on threads.
 *
 * @param[in]  context   its threads draw; NULL: the calling thread alone
 * @param[in]  round     what makes this draw differ from others of the same seed: an epoch
 * @param[out] src, dst  (count), caller's
 * @return GNN_OK; GNN_EINVALID. Cost: O(count log n); no pair is rejected, however dense the
 *         graph is.
 */
GNN_API int gnn_negatives_draw(const gnn_negatives_t *negatives, gnn_context_t *context,
                               uint64_t seed, uint64_t round, int64_t count, int32_t *src,
                               int32_t *dst);
/**
 * For each source `each` targets that it has no edge to, uniformly, each other than the source:
 * what a reciprocal rank is measured against. With an undirected graph edges of either direction
 * count.
 *
 * @param[in]  src  (count) nodes
 * @param[out] dst  (count x each), caller's, source by source; -1 where a source is linked to all
 * @return GNN_OK; GNN_EINVALID: a number that is no node's. Cost: O(count each log n).
 */
GNN_API int gnn_negatives_of_sources(const gnn_negatives_t *negatives, gnn_context_t *context,
                                     uint64_t seed, uint64_t round, int64_t count,
                                     const int32_t *src, int64_t each, int32_t *dst);

/* ---- sharing links out ---- */

/** How links are shared out. Zero means the default in brackets. */
typedef struct gnn_link_rule {
    double validation_share, test_share; /**< of the links [0.05, 0.1]; GNN_ZERO: none */
    /** OFF: messages i -> j and j -> i are one link and stay together; ON: each is a link of its
     * own [off] */
    gnn_flag_t directed;
    uint64_t seed; /**< of the order in which links are dealt out, and of the pairs that are none */
} gnn_link_rule_t;

/** Links of three parts, the graph of the training's messages, and for validation and test as many
 * pairs that are no links. */
typedef struct gnn_links gnn_links_t;
/**
 * Deals the links of a graph out by a rule. Self-loops are no links: they stay in the training's
 * graph. So do parallel edges with their like.
 *
 * @param[in] graph  stores edges in one part, the same nodes on both sides; read here alone
 * @param[in] rule   NULL: all defaults. Numbers of links are rounded down
 * @return GNN_OK; GNN_EINVALID (a share, no link for the training, no pair without an edge);
 *         GNN_ETOPOLOGY; GNN_EUNSUPPORTED: spans, several parts; GNN_EMEMORY. O(n + m log m)
 *
 * Paper: Kipf and Welling 2016 (variational graph auto-encoders: 85, 5 and 10 in 100).
 */
GNN_API int gnn_links_split(gnn_links_t **links, const gnn_graph_t *graph,
                            const gnn_link_rule_t *rule);
/** Frees links; NULL is fine. */
GNN_API void gnn_links_free(gnn_links_t *links);
/** The training's messages, both directions of an undirected link, and self-loops that were there:
 * graph slot 0 of a model. Preparing views of it is allowed. */
GNN_API gnn_graph_t *gnn_links_graph(const gnn_links_t *links);
/** (edges of gnn_links_graph) the number of each edge in the graph that was split: rows of edge
 * features are gathered by it. */
GNN_API const int64_t *gnn_links_edges(const gnn_links_t *links);
/** Links of a part (GNN_TRAIN, GNN_VALIDATION, GNN_TEST), each undirected one once, with src < dst;
 * none if there is no such part. */
GNN_API gnn_node_pairs_t gnn_links_of(const gnn_links_t *links, int part);
/** Pairs of validation or test that are no links of any part, as many as the part has links; none
 * for the training, whose pairs are drawn anew in each epoch. */
GNN_API gnn_node_pairs_t gnn_links_without(const gnn_links_t *links, int part);

/* ---- batches ---- */

/** How pairs become batches. Zero means the default in brackets. */
typedef struct gnn_link_batches_config {
    int64_t size; /**< links of a batch, beside which the drawn pairs stand [all at once] */
    /** pairs that are no links for each link of the training [1]; the link stands there as often,
     * so that both kinds weigh alike */
    int64_t drawn;
    uint64_t seed; /**< of the links' order and of the pairs drawn */
    /** the pairs of the training that are drawn avoid the training's links alone, as if no others
     * were known [off]; ON: all links */
    gnn_flag_t avoid_all;
    int64_t split; /**< of edges with classes: which of the splits [0] */
    /** the model runs on a sample around the pairs of each batch, drawn from the training's links
     * by method "neighbours" or "around"; `size` is by default its `batch` then, also of validation
     * [NULL: on the whole graph] */
    const gnn_sampling_t *sampling;
} gnn_link_batches_config_t;

/** Batches of pairs, as a source for gnn_train_batches: slot 0 is the graph of the training's
 * links, "x" the features of all nodes, "sources" and "targets" the pairs, and the set's arrays on
 * nodes, edges and graphs come by their names. The loss is binary cross-entropy of one score a
 * pair; labels are 1 for links. */
typedef struct gnn_link_batches gnn_link_batches_t;
GNN_API int gnn_link_batches_new_sized(gnn_link_batches_t **batches, const gnn_data_t *data,
                                       gnn_links_t *links, const gnn_model_t *model,
                                       const gnn_link_batches_config_t *config, size_t size);
/**
 * Makes batches of pairs from links and from pairs that are none.
 *
 * @param[in] data   features and arrays; borrowed
 * @param[in] links  of gnn_data_graph(data), borrowed; its graph is prepared for the model
 * @param[in] model  borrowed; every slot that it has gets the same graph
 * @param[in] config NULL: all defaults
 * @return GNN_OK; GNN_EINVALID; GNN_ESHAPE: the set has another number of nodes or edges than the
 *         graph that was split; GNN_EMEMORY
 *
 * Memory: the pairs of a batch. A batch depends on seed, part, epoch and index alone. Every batch
 * runs the model on the whole graph, but for `config->sampling`; gnn_link_batches_predict and
 * gnn_link_batches_measure always do.
 */
static inline int gnn_link_batches_new(gnn_link_batches_t **batches, const gnn_data_t *data,
                                       gnn_links_t *links, const gnn_model_t *model,
                                       const gnn_link_batches_config_t *config)
{
    return gnn_link_batches_new_sized(batches, data, links, model, config, sizeof *config);
}
GNN_API int gnn_link_batches_classes_sized(gnn_link_batches_t **batches, const gnn_data_t *data,
                                           const gnn_model_t *model, gnn_ints_t labels,
                                           const gnn_split_t *splits,
                                           const gnn_link_batches_config_t *config, size_t size);
/**
 * Makes batches of the set's own edges that have classes, for models that tell edges apart: every
 * edge is a pair, messages go along all edges, and the loss is cross-entropy over the model's
 * columns.
 *
 * @param[in] labels  (edges, by the graph's edge numbers) classes, of int32_t or int64_t; negative:
 *                    none; copied
 * @param[in] splits  of the edges; read here alone. gnn_split_edges draws such
 * @param[in] config  `drawn` and `avoid_all` are not read
 * @return as gnn_link_batches_new; GNN_EUNSUPPORTED: the graph has spans or several parts
 */
static inline int gnn_link_batches_classes(gnn_link_batches_t **batches, const gnn_data_t *data,
                                           const gnn_model_t *model, gnn_ints_t labels,
                                           const gnn_split_t *splits,
                                           const gnn_link_batches_config_t *config)
{
    return gnn_link_batches_classes_sized(batches, data, model, labels, splits, config,
                                          sizeof *config);
}
/** Frees link batches; NULL is fine. */
GNN_API void gnn_link_batches_free(gnn_link_batches_t *batches);
/** The source of link batches, for gnn_train_batches; lives as long as the batches. */
GNN_API gnn_source_t gnn_link_batches_source(gnn_link_batches_t *batches);
/**
 * A model's output for pairs of the caller's, on the batches' graph.
 *
 * @param[in]  src, dst  (count) the ends of each pair, node numbers from 0 of int32_t or int64_t
 * @param[out] out       (count x the model's width), caller's; overwritten
 * @return GNN_OK; GNN_EINVALID: a number that is no node's; GNN_EOVERFLOW: one that does not fit in
 *         32 bits; GNN_ESHAPE; GNN_EMEMORY
 */
GNN_API int gnn_link_batches_predict(gnn_link_batches_t *batches, const gnn_model_t *model,
                                     gnn_context_t *context, int64_t count, gnn_ints_t src,
                                     gnn_ints_t dst, const gnn_tensor_t *out);
#ifndef __cplusplus
#define gnn_link_batches_predict(batches, model, context, count, src, dst, ...)            \
    gnn_link_batches_predict(batches, model, context, count, gnn_ints(src), gnn_ints(dst), \
                             __VA_ARGS__)
#endif
/** What links of a part are told from pairs by. */
typedef struct gnn_link_metrics {
    double auc, average_precision;     /**< against as many pairs that are no links */
    double mrr;                        /**< each link against targets drawn for its source */
    double hits_10, hits_50, hits_100; /**< share of links that score above the k-th other pair */
} gnn_link_metrics_t;
/**
 * Measures a model on validation or test: AUC, average precision and hits among the first k against
 * gnn_links_without, MRR against 100 targets drawn for each link's source.
 *
 * @return GNN_OK; GNN_EINVALID: a part without links, batches of classes; GNN_ESHAPE: the model
 *         puts out more than one score; GNN_EMEMORY
 */
GNN_API int gnn_link_batches_measure(gnn_link_batches_t *batches, const gnn_model_t *model,
                                     gnn_context_t *context, int part, gnn_link_metrics_t *metrics);

/**
 * Draws a split of a graph's edges that have classes: gnn_split_draw over links, so that both
 * directions of one, where they have the same label, are in the same part.
 *
 * @param[in]  graph   stores edges in one part
 * @param[in]  labels  (edges) by the graph's edge numbers, of int32_t or int64_t
 * @param[out] split   of the edges, the caller's
 * @return as gnn_split_draw; GNN_EUNSUPPORTED: spans, several parts
 */
GNN_API int gnn_split_edges(gnn_split_t **split, const gnn_graph_t *graph, gnn_ints_t labels,
                            const gnn_split_rule_t *rule);
#ifndef __cplusplus
#define gnn_link_batches_classes(batches, data, model, labels, splits, ...) \
    gnn_link_batches_classes(batches, data, model, gnn_ints(labels), splits, __VA_ARGS__)
#define gnn_split_edges(split, graph, labels, ...) \
    gnn_split_edges(split, graph, gnn_ints(labels), __VA_ARGS__)
#endif

/* ---- metrics of ranks ---- */

/** Area under the curve of precision over recall as a sum of steps, of two classes by the score of
 * class 1 as gnn_metric_roc_auc takes it: sum over thresholds of (R_t - R_t-1) P_t. Equal scores
 * are one threshold (scikit-learn's average_precision_score). Rows with mask 0 or label -1 do not
 * count; NaN without a row of class 1. */
GNN_API double gnn_metric_average_precision(const gnn_tensor_t *logits, const int32_t *labels,
                                            const uint8_t *mask);
/**
 * Mean reciprocal rank: mean of 1 / r, r the rank of a link's score among those of its own other
 * pairs; of equal scores half stand before it (OGB's).
 *
 * @param[in] links   (n x 1) scores
 * @param[in] others  (n x k) those of the pairs that link r is held against
 * @return NaN if n is 0, the shapes do not agree, or a score is NaN
 */
GNN_API double gnn_metric_mrr(const gnn_tensor_t *links, const gnn_tensor_t *others);
/**
 * Hits among the first k: the share of links that score above the k-th largest score of the other
 * pairs; equal ones are no hits (OGB's hits). 1 if there are fewer than k others.
 *
 * @param[in] links, others  (n x 1) and (m x 1) scores
 * @return NaN if n is 0, k below 1, or a score is NaN. O(n + m log m)
 */
GNN_API double gnn_metric_hits(const gnn_tensor_t *links, const gnn_tensor_t *others, int64_t k);

#ifdef __cplusplus
}
#endif
#endif
