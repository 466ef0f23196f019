/**
 * Sampling: steps on parts of a graph that is too large for a step on all of it.
 *
 * A sampler knows a graph and how to draw from it; a sample is what one batch drew. The batch's
 * seeds are the nodes that are learnt from; whom they hear is drawn hop by hop:
 *
 *     seeds  <---- hop 1: fan_outs[0] senders each ----  nodes  <---- hop 2: fan_outs[1] ----  ...
 *
 * Methods are of two kinds. Blocks: one bipartite graph for each hop, whose receivers are the first
 * of its senders, so that one list of nodes serves all blocks; a model's first layer runs on block
 * 0, which is the outermost. Subgraphs: one graph over the drawn nodes, on which every layer runs.
 *
 * What is drawn depends on the seed, epoch, batch, hop and node alone (Philox): the same batch
 * comes for any number of threads, before and after a resumed training. gnn_train does all of this
 * by itself when its config has a `.sampling` (gnn/train.h).
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

/** How to draw. Zero in a field means the default in brackets. Does not grow: gnn_sampling_t holds
 * it. */
typedef struct gnn_sampler_config {
    const char *method; /**< of gnn_sampler_method_at ["neighbours"] */
    int64_t hops;       /**< how many fan-outs there are; "walk" and "cluster" need none */
    /** (hops) senders that a node hears at most, the seeds' hop first; -1: all it has, 0: none.
     * "layerwise": draws with replacement for all nodes of the hop together */
    const int64_t *fan_outs;
    gnn_flag_t replace; /**< ON: with replacement, so that a sender may come twice [off] */
    /** (edges) by the graph's edge numbers, each >= 0: senders are drawn in proportion to it. NULL:
     * all alike. An edge of weight 0 is not drawn */
    const gnn_real_t *weight;
    int64_t walk_length; /**< "walk": steps from each seed [2] */
    int64_t rounds;      /**< "walk": batches drawn beforehand to count how often what comes [50] */
    /** "cluster": (nodes) the cluster of each node, from 0; NULL: METIS finds `clusters` of them,
     * where the library was built with it. A seed stands for its whole cluster */
    const int32_t *cluster_of;
    int64_t clusters; /**< "cluster": how many METIS is to find */
    uint64_t seed;    /**< 0 is a seed like any other */
    int64_t batch; /**< "walk": seeds of the batches that are counted [1024, at most all roots] */
    /** "walk": (n_roots) different nodes from which batches that are counted take their seeds, read
     * by gnn_sampler_new alone; NULL: all nodes. gnn_train gives its own for both */
    const int32_t *roots;
    int64_t n_roots;
} gnn_sampler_config_t;

/**
 * Makes a sampler over a graph.
 *
 * @param[in] graph   one part of edges, the same nodes on both sides; borrowed until
 *                    gnn_sampler_free
 * @param[in] config  NULL is an error; fan-outs and clusters are copied, `weight` is borrowed
 * @return GNN_OK; GNN_EINVALID (a setting, with its number); GNN_ENOTFOUND (no such method: the
 *         message lists them); GNN_ETOPOLOGY (two kinds of nodes); GNN_EUNSUPPORTED (spans, several
 *         parts; clusters without METIS); GNN_ENUMERIC (a weight); GNN_EMEMORY.
 *
 * Cost: O(n + m) time, O(n) memory; "walk" draws `rounds` batches and keeps a number per pair;
 * METIS needs O(n + m) memory while it runs. Threads: a sampler is only read by draws, and may be
 * shared.
 *
 * METIS runs once at a time in a process. Its errors travel as SIGABRT and SIGTERM: while it runs
 * both have handlers of its own, and a SIGTERM from outside ends the call, not the program.
 * Afterwards the program's handlers and the state of its rand are as they were. Numbers that others
 * take from rand meanwhile come from METIS. It says on standard error that it has no memory.
 */
GNN_API int gnn_sampler_new(gnn_sampler_t **sampler, const gnn_graph_t *graph,
                            const gnn_sampler_config_t *config);
/** Frees a sampler; NULL is fine. */
GNN_API void gnn_sampler_free(gnn_sampler_t *sampler);
/** Graphs that each sample of it has: the hops for blocks, 1 for subgraphs. */
GNN_API int64_t gnn_sampler_graphs(const gnn_sampler_t *sampler);

/** Makes room for one batch, which is drawn into it again and again; memory only grows. `sampler`
 * is borrowed until gnn_sample_free. O(nodes of the graph) memory. */
GNN_API int gnn_sample_new(gnn_sample_t **sample, const gnn_sampler_t *sampler);
/** Frees a sample; NULL is fine. */
GNN_API void gnn_sample_free(gnn_sample_t *sample);

/**
 * Draws a batch. What the sample handed out before is gone; once warm nothing is allocated but
 * for seeds of int64_t.
 *
 * @param[in] context       its threads draw; NULL: the calling thread alone. The same sample either
 *                          way
 * @param[in] n_seeds       at least 1
 * @param[in] seeds         (n_seeds) different nodes, of int32_t or int64_t
 * @param[in] epoch, batch  from 0 to 2^32 - 1: what makes this draw differ from others
 * @return GNN_OK; GNN_EINVALID (a number out of range, a seed that comes twice); GNN_EMEMORY.
 *
 * Cost: O(edges drawn) time; weights, and fan-outs over 64, read all edges of the nodes that are
 * reached. Papers: Hamilton et al. 2017 (neighbours), Efraimidis and Spirakis 2006 (weights), Zeng
 * et al. 2021 (around), Zeng et al. 2020 (walk), Zou et al. 2019 (layerwise), Chiang et al. 2019
 * (cluster).
 */
GNN_API int gnn_sample_draw(gnn_sample_t *sample, gnn_context_t *context, int64_t n_seeds,
                            gnn_ints_t seeds, int64_t epoch, int64_t batch);
#ifndef __cplusplus
#define gnn_sample_draw(sample, context, n_seeds, seeds, epoch, batch) \
    gnn_sample_draw(sample, context, n_seeds, gnn_ints(seeds), epoch, batch)
#endif

/** Graph l of the batch, for graph slot l of a model: the sample's own, until the next draw. It may
 * be prepared (gnn_model_prepare), also with self-loops; norms by degree take the degrees of the
 * whole graph, so that a sample of all senders gives what the whole graph gives. NULL: there is no
 * such graph. */
GNN_API gnn_graph_t *gnn_sample_graph(const gnn_sample_t *sample, int64_t l);
/** The whole graph's number of each sender of graph 0 (*count), the seeds first; those of graph l
 * are the first gnn_graph_n_src(graph l) of them. The sample's, until the next draw. */
GNN_API const int32_t *gnn_sample_nodes(const gnn_sample_t *sample, int64_t *count);
/** The whole graph's number of each edge (gnn_graph_n_edges of graph l): rows of edge features and
 * weights are gathered by it. NULL: there is no such graph. */
GNN_API const int64_t *gnn_sample_edges(const gnn_sample_t *sample, int64_t l);
/** The factors that make a sum of messages unbiased (edges of graph l), where the method has
 * such numbers ("walk", "layerwise"); NULL otherwise. */
GNN_API const gnn_real_t *gnn_sample_edge_scale(const gnn_sample_t *sample, int64_t l);
/** The factors that make a sum over nodes unbiased (nodes of the sample), for the loss, where the
 * method has such numbers ("walk"): one over the odds that the node is in a batch, so that sums
 * over the samples' nodes are unbiased for sums over all that walks can meet. NULL otherwise. */
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
