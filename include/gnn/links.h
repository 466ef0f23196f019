/**
 * Link prediction. Links of a graph are split into training, validation and test; messages are
 * passed along training links only, and the model scores pairs of nodes: links, and random negative
 * pairs.
 *
 *     gnn_links_split(&links, gnn_data_graph(data), NULL);
 *     gnn_steps_block(steps, "link_dot", &(gnn_block_t){.name = "score", .width = 16});
 *     ...
 *     gnn_source_of_links(&source, model, data, links, NULL);
 *     gnn_train_batches(model, context, source, &config, &result);
 *     gnn_source_measure_links(source, model, context, GNN_TEST, &metrics);
 *
 * Decoders are blocks of a model (docs/blocks.md): link_dot, link_bilinear, link_distance,
 * link_product, link_mlp. They read the model inputs "sources" and "targets", the node ids of the
 * pairs.
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

/* ---- negative pairs ---- */

/** A sampler of negative pairs: pairs of distinct nodes without an edge. */
typedef struct gnn_negatives gnn_negatives_t;
/**
 * Makes a sampler of negative pairs of a graph.
 *
 * @param[in] graph     stores edges, n_dst == n_src >= 2; read during this call only
 * @param[in] directed  ON: pairs (i, j) without an edge i -> j; OFF (default): pairs i < j without
 *                      an edge in either direction
 * @return GNN_OK; GNN_ETOPOLOGY: n_dst != n_src; GNN_EUNSUPPORTED: a part stores spans;
 *         GNN_EINVALID: every pair is an edge, or there are fewer than 2 nodes; GNN_EMEMORY
 *
 * Cost: O(n + m log(largest degree)) time, O(n + m) memory.
 */
GNN_API int gnn_negatives_new(gnn_negatives_t **negatives, const gnn_graph_t *graph,
                              gnn_flag_t directed);
/** Frees negatives; may be NULL. */
GNN_API void gnn_negatives_free(gnn_negatives_t *negatives);
/**
 * Draws `count` negative pairs, uniformly and independently, so that duplicates are possible. Pair
 * k depends on seed, round and k alone (Philox), not on the thread count.
 *
 * @param[in]  context   its threads draw; NULL: the calling thread alone
 * @param[in]  seed      key of the draw
 * @param[in]  round     a second key of the draw, such as the epoch
 * @param[in]  count     count of the pairs
 * @param[out] src, dst  (count), caller's
 * @return GNN_OK; GNN_EINVALID. Cost: O(count log n) without rejection, for dense graphs too.
 */
GNN_API int gnn_negatives_draw(const gnn_negatives_t *negatives, gnn_context_t *context,
                               uint64_t seed, uint64_t round, int64_t count, int32_t *src,
                               int32_t *dst);
/**
 * Draws `each` negative targets per source, uniformly, for reciprocal ranks. In an undirected graph
 * edges of either direction are excluded.
 *
 * @param[in]  context      NULL: the calling thread alone
 * @param[in]  seed, round  keys of the draw
 * @param[in]  count        count of the sources
 * @param[in]  src          (count) nodes
 * @param[in]  each         targets per source
 * @param[out] dst          (count x each), caller's, row-major; -1 for a source that is linked to
 *                          all nodes
 * @return GNN_OK; GNN_EINVALID: a node id out of range. Cost: O(count each log n).
 */
GNN_API int gnn_negatives_of_sources(const gnn_negatives_t *negatives, gnn_context_t *context,
                                     uint64_t seed, uint64_t round, int64_t count,
                                     const int32_t *src, int64_t each, int32_t *dst);

/* ---- splits of links ---- */

/** Settings of gnn_links_split. Zero means the default in brackets. */
typedef struct gnn_link_rule {
    double validation_share, test_share; /**< fractions of the links [0.05, 0.1]; GNN_ZERO: none */
    /** OFF: edges i -> j and j -> i are one link; ON: each edge is a link [off] */
    gnn_flag_t directed;
    uint64_t seed; /**< of the shuffling of links, and of the negative pairs */
} gnn_link_rule_t;

/** Links split into training, validation and test, the message graph of the training links, and as
 * many negative pairs for validation and test. */
typedef struct gnn_links gnn_links_t;
/**
 * Splits the links of a graph. Self-loops are not links and stay in the training graph. Parallel
 * edges stay together.
 *
 * @param[in] graph  stores edges in one part, n_dst == n_src; read during this call only
 * @param[in] rule   NULL: all defaults. Counts of links are rounded down
 * @return GNN_OK; GNN_EINVALID (a fraction, no training link, no negative pair); GNN_ETOPOLOGY;
 *         GNN_EUNSUPPORTED: spans, several parts; GNN_EMEMORY. O(n + m log m)
 *
 * Paper: Kipf and Welling 2016 (variational graph auto-encoders: 85%, 5% and 10%).
 */
GNN_API int gnn_links_split(gnn_links_t **links, const gnn_graph_t *graph,
                            const gnn_link_rule_t *rule);
/** Frees links; may be NULL. */
GNN_API void gnn_links_free(gnn_links_t *links);
/** The message graph: training links, in both directions if undirected, and self-loops; graph slot
 * 0 of a model. Views of it may be prepared. */
GNN_API gnn_graph_t *gnn_links_graph(const gnn_links_t *links);
/** (edges of gnn_links_graph) edge ids in the original graph, to gather edge features. */
GNN_API const int64_t *gnn_links_edges(const gnn_links_t *links);
/** Links of part GNN_TRAIN, GNN_VALIDATION or GNN_TEST, each undirected one once, with src < dst;
 * count 0 if there is no such part. */
GNN_API gnn_node_pairs_t gnn_links_of(const gnn_links_t *links, int part);
/** Negative pairs of validation or test, as many as links; count 0 for training, whose negative
 * pairs are drawn in each epoch. */
GNN_API gnn_node_pairs_t gnn_links_without(const gnn_links_t *links, int part);

/* ---- batches ---- */

/** Settings of batches of pairs. Zero means the default in brackets. */
typedef struct gnn_link_source_config {
    int64_t size; /**< links per batch, in addition to the negative pairs [all] */
    /** negative pairs per training link [1]; the link is repeated as often, so that both classes
     * have equal weight */
    int64_t drawn;
    uint64_t seed; /**< of the shuffling and of the negative pairs */
    /** OFF: negative training pairs exclude training links only, as if others were unknown; ON: all
     * links [off] */
    gnn_flag_t avoid_all;
    int64_t split; /**< index of the split, for gnn_source_of_edges [0] */
    /** the model runs on a sample around the pairs of each batch, drawn along training links by
     * method "neighbours" or "around". Its `batch` is `size`, which must be 0 then, in validation
     * too; its weights are of the set's edges; it has no prefetch [NULL: the whole graph] */
    const gnn_sampling_t *sampling;
} gnn_link_source_config_t;

/**
 * Makes a source of links and negative pairs: slot 0 is the message graph, "x" the features of all
 * nodes, "sources" and "targets" the pairs; the set's arrays on nodes, edges and graphs have their
 * names. The loss is binary cross-entropy of one score per pair, with target 1 for links.
 *
 * @param[out] source  the caller's, for gnn_source_free; NULL after an error
 * @param[in]  model   borrowed; all of its slots get the same graph
 * @param[in]  data    features and arrays; borrowed
 * @param[in]  links   of gnn_data_graph(data), borrowed; its graph is prepared for the model
 * @param[in]  config  NULL: all defaults
 * @return GNN_OK; GNN_EINVALID; GNN_ESHAPE: counts of nodes or edges differ between the set and the
 *         graph that was split; GNN_EMEMORY
 *
 * Memory: the pairs of a batch. A batch depends on seed, split, epoch and index alone. Every batch
 * runs the model on the whole graph, except with `config->sampling`; gnn_source_predict_pairs and
 * gnn_source_measure_links always do.
 */
GNN_API int gnn_source_of_links(gnn_source_t **source, const gnn_model_t *model,
                                const gnn_data_t *data, gnn_links_t *links,
                                const gnn_link_source_config_t *config);
/**
 * Makes a source for edge classification: every edge of the set is a pair, messages are passed
 * along all edges, and the loss is cross-entropy over the model's columns.
 *
 * @param[in] labels  (edges) classes by edge id, of int32_t or int64_t; negative: none; copied
 * @param[in] splits  of the edges (gnn_split_edges); read during this call only
 * @param[in] config  NULL: all defaults; `drawn` and `avoid_all` are ignored
 * @return as gnn_source_of_links; GNN_EUNSUPPORTED: the graph has spans or several parts
 */
GNN_API int gnn_source_of_edges(gnn_source_t **source, const gnn_model_t *model,
                                const gnn_data_t *data, gnn_ints_t labels,
                                const gnn_split_t *splits, const gnn_link_source_config_t *config);
/**
 * A model's output for given pairs, on the source's graph.
 *
 * @param[in]  source    of gnn_source_of_links or gnn_source_of_edges
 * @param[in]  count     count of the pairs
 * @param[in]  src, dst  (count) node ids of the pairs, of int32_t or int64_t
 * @param[out] out       (count x the model's width), caller's; overwritten
 * @return GNN_OK; GNN_EINVALID: another source, a node id out of range; GNN_EOVERFLOW: one that
 *         does not fit in 32 bits; GNN_ESHAPE; GNN_EMEMORY
 */
GNN_API int gnn_source_predict_pairs(const gnn_source_t *source, const gnn_model_t *model,
                                     gnn_context_t *context, int64_t count, gnn_ints_t src,
                                     gnn_ints_t dst, const gnn_tensor_t *out);
#ifndef __cplusplus
#define gnn_source_predict_pairs(source, model, context, count, src, dst, ...)            \
    gnn_source_predict_pairs(source, model, context, count, gnn_ints(src), gnn_ints(dst), \
                             __VA_ARGS__)
#endif
/** Link-prediction metrics of a split. */
typedef struct gnn_link_metrics {
    double auc, average_precision; /**< against as many negative pairs */
    /** mean reciprocal rank of links among negative targets of their sources */
    double mrr;
    /** `Hits@k`: fraction of links that score above the k-th best negative pair */
    double hits_10, hits_50, hits_100;
} gnn_link_metrics_t;
/**
 * Evaluates a model on validation or test: AUC, average precision and `Hits@k` against
 * gnn_links_without, MRR against 100 negative targets per link.
 *
 * @param[in] part  GNN_VALIDATION or GNN_TEST
 * @return GNN_OK; GNN_EINVALID: a part without links, batches of classes; GNN_ESHAPE: the model's
 *         output has more than one column; GNN_EMEMORY
 */
GNN_API int gnn_source_measure_links(const gnn_source_t *source, const gnn_model_t *model,
                                     gnn_context_t *context, int part, gnn_link_metrics_t *metrics);

/**
 * Draws a split of a graph's labelled edges: gnn_split_draw over links, so that both directions of
 * a link, if they have the same label, are in the same part.
 *
 * @param[in]  graph   stores edges in one part
 * @param[in]  labels  (edges) by edge id, of int32_t or int64_t
 * @param[out] split   of the edges, the caller's
 * @return as gnn_split_draw; GNN_EUNSUPPORTED: spans, several parts
 */
GNN_API int gnn_split_edges(gnn_split_t **split, const gnn_graph_t *graph, gnn_ints_t labels,
                            const gnn_split_rule_t *rule);
#ifndef __cplusplus
#define gnn_source_of_edges(source, model, data, labels, splits, ...) \
    gnn_source_of_edges(source, model, data, gnn_ints(labels), splits, __VA_ARGS__)
#define gnn_split_edges(split, graph, labels, ...) \
    gnn_split_edges(split, graph, gnn_ints(labels), __VA_ARGS__)
#endif

/* ---- ranking metrics ---- */

/**
 * Mean reciprocal rank: the mean of 1 / r, with the rank r of a link's score among its negative
 * pairs; ties count half (as in OGB).
 *
 * @param[in] links   (n x 1) scores
 * @param[in] others  (n x k) scores of the negative pairs of each link
 * @return NaN if n is 0, the shapes do not agree, or a score is NaN
 */
GNN_API double gnn_metric_mrr(const gnn_tensor_t *links, const gnn_tensor_t *others);
/**
 * `Hits@k`: the fraction of links that score above the k-th best of the negative pairs; ties
 * are not hits (as in OGB). 1 with fewer than k negative pairs.
 *
 * @param[in] links, others  (n x 1) and (m x 1) scores
 * @param[in] k              at least 1
 * @return NaN if n is 0, k below 1, or a score is NaN. O(n + m log m)
 */
GNN_API double gnn_metric_hits(const gnn_tensor_t *links, const gnn_tensor_t *others, int64_t k);

#ifdef __cplusplus
}
#endif
#endif
