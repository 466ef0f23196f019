/**
 * Samples of graphs of several types of nodes and edges (gnn/hetero.h): whom the seeds hear, drawn
 * hop by hop along each relation.
 *
 * A batch begins with seeds of one type. In each hop every node that the hop before brought draws,
 * along each relation that leads to its type, so many of its senders; these are the nodes that the
 * next hop begins with. A node draws once. What comes is a graph for each slot of a model of block
 * "rgcn", "hetero_conv" or "hgt", over the drawn nodes of each type, on which every layer of the
 * model runs: a model of the whole graph runs on a sample as it is. With as many hops as layers and
 * fan-outs of -1, the seeds' rows are those of the whole graph.
 *
 * What is drawn depends on the seed, epoch, batch, hop, relation and node alone (Philox): the same
 * batch comes for any number of threads.
 */
#ifndef GNN_HETERO_SAMPLE_H
#define GNN_HETERO_SAMPLE_H

#include <gnn/hetero.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Draws samples of a graph of several types. */
typedef struct gnn_hetero_sampler gnn_hetero_sampler_t;
/** A drawn batch of nodes of several types, with its graphs. */
typedef struct gnn_hetero_sample gnn_hetero_sample_t;

/** How to draw; 0: the default in brackets. */
typedef struct gnn_hetero_sampler_config {
    const char *block; /**< whose slots the graphs are for: "rgcn", "hetero_conv" or "hgt" */
    int64_t hops;
    /** (hops x relations) row after row, the seeds' hop first: senders that a node hears at most
     * along each relation; -1: all it has, 0: none */
    const int64_t *fan_outs;
    gnn_flag_t replace; /**< ON: with replacement, so that a sender may come twice [off] */
    uint64_t seed;      /**< 0 is a seed like any other */
} gnn_hetero_sampler_config_t;

GNN_API int gnn_hetero_sampler_new_sized(gnn_hetero_sampler_t **sampler, const gnn_hetero_t *hetero,
                                         const gnn_hetero_sampler_config_t *config, size_t size);
/**
 * Makes a sampler over the description's relations, of which it keeps a copy.
 *
 * @param[out] sampler  the caller's, for gnn_hetero_sampler_free
 * @return as gnn_graph_hetero; GNN_ENOTFOUND: no such block, the message lists them; GNN_EINVALID
 *         (no hop, a fan-out below -1, with its place); GNN_EMEMORY. *sampler is NULL then. Inline.
 *
 * Cost: O(n relations + m) time and memory. Threads: only read by draws, and may be shared.
 */
static inline int gnn_hetero_sampler_new(gnn_hetero_sampler_t **sampler, const gnn_hetero_t *hetero,
                                         const gnn_hetero_sampler_config_t *config)
{
    return gnn_hetero_sampler_new_sized(sampler, hetero, config, sizeof *config);
}
/** Frees a sampler of typed nodes; NULL is fine. */
GNN_API void gnn_hetero_sampler_free(gnn_hetero_sampler_t *sampler);

/** Makes room for one batch, drawn into again and again. `sampler` is borrowed until
 * gnn_hetero_sample_free. O(nodes of all types) memory. */
GNN_API int gnn_hetero_sample_new(gnn_hetero_sample_t **sample, const gnn_hetero_sampler_t *sampler);
/** Frees a sample of typed nodes; NULL is fine. */
GNN_API void gnn_hetero_sample_free(gnn_hetero_sample_t *sample);

/**
 * Draws a batch. What the sample handed out before is gone.
 *
 * @param[in] context       its threads draw; NULL: the calling thread alone. The same sample either
 *                          way
 * @param[in] type          the seeds' type, by its number (gnn_hetero_type)
 * @param[in] seeds         (n_seeds) different nodes of it, of int32_t or int64_t
 * @param[in] epoch, batch  from 0 to 2^32 - 1: what makes this draw differ from others
 * @return GNN_OK; GNN_EINVALID (a number out of range, a seed that comes twice); GNN_EOVERFLOW;
 *         GNN_EMEMORY. The sample is empty then
 *
 * Cost: O(edges drawn + nodes drawn x relations), and the graphs' memory anew. Papers: Hamilton et
 * al. 2017; Hu et al. 2020 for the several types, whose budgets by degree it does not have.
 */
GNN_API int gnn_hetero_sample_draw(gnn_hetero_sample_t *sample, gnn_context_t *context, int64_t type,
                                   int64_t n_seeds, gnn_ints_t seeds, int64_t epoch, int64_t batch);
#ifndef __cplusplus
#define gnn_hetero_sample_draw(sample, context, type, n_seeds, seeds, epoch, batch) \
    gnn_hetero_sample_draw(sample, context, type, n_seeds, gnn_ints(seeds), epoch, batch)
#endif

/** The drawn nodes of a type by its own numbers (*count), seeds first: "x.TYPE" is gathered by it.
 * For "rgcn" the nodes of all types stand one type after another. NULL: no such type. The sample's,
 * until the next draw. */
GNN_API const int32_t *gnn_hetero_sample_nodes(const gnn_hetero_sample_t *sample, int64_t type,
                                               int64_t *count);
/** The drawn edges of a relation by its own numbers (*count), in the order of its edges in the
 * sample's graph. NULL: no such relation. The sample's, until the next draw. */
GNN_API const int64_t *gnn_hetero_sample_edges(const gnn_hetero_sample_t *sample, int64_t relation,
                                               int64_t *count);
/** The graph of a slot of the model, for gnn_model_prepare: the sample's own, until the next draw.
 * NULL: no such slot, or nothing is drawn. */
GNN_API gnn_graph_t *gnn_hetero_sample_graph(const gnn_hetero_sample_t *sample, int64_t slot);

/** Typed samples to train on, for gnn_train_config_t.typed: the seeds are the nodes of a type that
 * the split has. Zero means the default in brackets. Does not grow. */
typedef struct gnn_typed_sampling {
    const gnn_hetero_t *hetero;          /**< of which the set was made by gnn_data_hetero_for */
    const gnn_hetero_sampler_t *sampler; /**< of the same, for the model's block */
    const char *type;                    /**< whose nodes are classified */
    int64_t batch;                       /**< seeds of a step [1024] */
    uint64_t seed;                       /**< of the order of the seeds */
} gnn_typed_sampling_t;

#ifdef __cplusplus
}
#endif
#endif
