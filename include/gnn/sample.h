/**
 * Sampling: mini-batches of graphs that are too large for full-batch training steps.
 *
 * A sampler holds a graph and a method; a sample holds one batch. The seeds of a batch are its
 * target nodes; their senders are drawn hop by hop:
 *
 *     seeds  <---- hop 1: fan_outs[0] senders each ----  nodes  <---- hop 2: fan_outs[1] ----  ...
 *
 * Methods are of two kinds. Blocks: one bipartite graph per hop, whose receivers are a prefix of
 * its senders, so that one list of nodes serves all blocks; a model's first layer runs on block 0,
 * the outermost hop. Subgraphs: one graph over the drawn nodes, on which every layer runs.
 *
 * Draws depend on seed, epoch, batch, hop and node alone (Philox): a batch is the same with any
 * thread count and in a resumed training. gnn_train with `.sampling` does all of this
 * (gnn/train.h).
 */
#ifndef GNN_SAMPLE_H
#define GNN_SAMPLE_H

#include <gnn/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Draws samples of a graph by one method. */
typedef struct gnn_sampler gnn_sampler_t;
/** A drawn batch: its nodes, and a graph per slot. */
typedef struct gnn_sample gnn_sample_t;

/** Settings of a sampler. Zero in a field means the default in brackets. Fixed layout: fields are
 * never added, since gnn_sampling_t contains it. */
typedef struct gnn_sampler_config {
    const char *method; /**< a name of gnn_sampler_method_at ["neighbours"] */
    int64_t hops;       /**< count of fan-outs; 0 for "walk" and "cluster" */
    /** (hops) maximum senders per node, the seeds' hop first; -1: all, 0: none. "layerwise": draws
     * with replacement for all nodes of the hop together */
    const int64_t *fan_outs;
    gnn_flag_t replace; /**< ON: with replacement, so that a sender may be drawn twice [off] */
    /** (edges) by edge id, each >= 0: senders are drawn in proportion to it, never with weight 0.
     * NULL: uniformly */
    const gnn_real_t *weight;
    int64_t walk_length; /**< "walk": steps from each seed [2] */
    /** "walk": batches drawn in advance to estimate inclusion probabilities [50] */
    int64_t rounds;
    /** "cluster": (nodes) the cluster of each node, from 0; NULL: METIS computes `clusters` of
     * them, if the library was built with it. A seed selects its whole cluster */
    const int32_t *cluster_of;
    int64_t clusters; /**< "cluster": count of the clusters for METIS */
    int64_t batch;    /**< "walk": seeds per batch drawn in advance [1024, at most all roots] */
    uint64_t seed;    /**< of the draws; 0 is valid */
    /** "walk": (n_roots) distinct nodes, the seeds of the batches drawn in advance; read by
     * gnn_sampler_new only; NULL: all nodes. gnn_train sets both fields */
    const int32_t *roots;
    int64_t n_roots;
} gnn_sampler_config_t;

/**
 * Makes a sampler over a graph.
 *
 * @param[in] graph   one part of edges, n_dst == n_src; borrowed until gnn_sampler_free
 * @param[in] config  must not be NULL; fan-outs and clusters are copied, `weight` is borrowed
 * @return GNN_OK; GNN_EINVALID (a setting, with its value); GNN_ENOTFOUND (no such method: the
 *         message lists them); GNN_ETOPOLOGY (n_dst != n_src); GNN_EUNSUPPORTED (spans, several
 *         parts; clusters without METIS); GNN_ENUMERIC (a weight); GNN_EMEMORY.
 *
 * Cost: O(n + m) time, O(n) memory; "walk" draws `rounds` batches and keeps one value per pair;
 * METIS needs O(n + m) memory while it runs. Threads: draws only read the sampler, so it may be
 * shared.
 *
 * Calls of METIS are serialised. METIS reports errors as SIGABRT and SIGTERM: while it runs it
 * handles both, and a SIGTERM from outside ends the call, not the program. Afterwards the program's
 * handlers and the state of rand() are restored. Calls of rand() by other threads meanwhile draw
 * from METIS's state. It prints to standard error if it runs out of memory.
 */
GNN_API int gnn_sampler_new(gnn_sampler_t **sampler, const gnn_graph_t *graph,
                            const gnn_sampler_config_t *config);
/** Frees a sampler; may be NULL. */
GNN_API void gnn_sampler_free(gnn_sampler_t *sampler);
/** Count of the graphs of its samples: one per hop for blocks, 1 for subgraphs. */
GNN_API int64_t gnn_sampler_graphs(const gnn_sampler_t *sampler);

/**
 * Allocates one sample, which is reused for all batches; its memory only grows. `sampler` is
 * borrowed until gnn_sample_free. O(nodes of the graph) memory.
 *
 * @return GNN_OK; GNN_EINVALID (a NULL); GNN_EMEMORY
 */
GNN_API int gnn_sample_new(gnn_sample_t **sample, const gnn_sampler_t *sampler);
/** Frees a sample; may be NULL. */
GNN_API void gnn_sample_free(gnn_sample_t *sample);

/**
 * Draws a batch. Pointers into the previous batch become invalid. After the first batches nothing
 * is allocated, except with int64_t seeds.
 *
 * @param[in] context       its threads draw; NULL: the calling thread alone, with the same result
 * @param[in] n_seeds       at least 1
 * @param[in] seeds         (n_seeds) distinct nodes, of int32_t or int64_t
 * @param[in] epoch, batch  from 0 to 2^32 - 1: keys of the draw
 * @return GNN_OK; GNN_EINVALID (a value out of range, a duplicate seed); GNN_EMEMORY.
 *
 * Cost: O(edges drawn) time; with weights, or fan-outs over 64, all edges of the reached nodes are
 * read. Papers: Hamilton et al. 2017 (neighbours), Efraimidis and Spirakis 2006 (weights), Zeng et
 * al. 2021 (around), Zeng et al. 2020 (walk), Zou et al. 2019 (layerwise), Chiang et al. 2019
 * (cluster).
 */
GNN_API int gnn_sample_draw(gnn_sample_t *sample, gnn_context_t *context, int64_t n_seeds,
                            gnn_ints_t seeds, int64_t epoch, int64_t batch);
#ifndef __cplusplus
#define gnn_sample_draw(sample, context, n_seeds, seeds, epoch, batch) \
    gnn_sample_draw(sample, context, n_seeds, gnn_ints(seeds), epoch, batch)
#endif

/**
 * Graph l of the batch, for graph slot l of a model; owned by the sample, valid until the next
 * draw. It may be prepared (gnn_model_prepare), also with self-loops; norms use the degrees of the
 * whole graph, so that a sample with all senders equals the whole graph. NULL: there is no such
 * graph.
 *
 * @param[in] l  index of the graph, from 0
 */
GNN_API gnn_graph_t *gnn_sample_graph(const gnn_sample_t *sample, int64_t l);
/**
 * Node ids in the whole graph of the senders of graph 0 (*count), seeds first; those of graph l are
 * the first gnn_graph_n_src(graph l) of them. Owned by the sample, valid until the next draw.
 *
 * @param[out] count  count of the nodes; may be NULL
 */
GNN_API const int32_t *gnn_sample_nodes(const gnn_sample_t *sample, int64_t *count);
/**
 * Edge ids in the whole graph (gnn_graph_n_edges of graph l), to gather edge features and weights.
 * NULL: there is no such graph.
 *
 * @param[in] l  index of the graph, from 0
 */
GNN_API const int64_t *gnn_sample_edges(const gnn_sample_t *sample, int64_t l);
/**
 * The factors that make a sum of messages unbiased (edges of graph l), for methods that have them
 * ("walk", "layerwise"); else NULL.
 *
 * @param[in] l  index of the graph, from 0
 */
GNN_API const gnn_real_t *gnn_sample_edge_scale(const gnn_sample_t *sample, int64_t l);
/** The factors that make a sum over nodes unbiased (nodes of the sample), for the loss, for methods
 * that have them ("walk"): the inverse of the probability that the node is in a batch, so that sums
 * over sampled nodes are unbiased estimates of sums over all nodes that walks can reach. Else
 * NULL. */
GNN_API const gnn_real_t *gnn_sample_node_scale(const gnn_sample_t *sample);

/* ---- the table of methods (graphs/sample/samplers.def) ---- */

/** A sampling method: an entry of the table of methods. */
typedef struct gnn_sampler_method {
    const char *name, *help;
} gnn_sampler_method_t;

/** The sampling method of an index; NULL past the last. */
GNN_API const gnn_sampler_method_t *gnn_sampler_method_at(size_t index);

#ifdef __cplusplus
}
#endif
#endif
