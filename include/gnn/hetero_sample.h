/**
 * Neighbour sampling of heterogeneous graphs (gnn/hetero.h): senders of the seeds, drawn hop by hop
 * along each relation.
 *
 * A batch starts with seeds of one type. In each hop every node that is new since the last hop
 * draws up to a fan-out of its senders along each relation to its type. A node draws once. The
 * result is one graph per slot of a model with block "rgcn", "hetero_conv" or "hgt", over the drawn
 * nodes of each type, on which every layer runs: a full-graph model runs on samples unchanged. With
 * as many hops as layers and fan-outs of -1, the seeds' rows are those of the whole graph.
 *
 * Draws depend on seed, epoch, batch, hop, relation and node alone (Philox): a batch is the same
 * with any thread count.
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

/** Settings of a sampler; 0: the default in brackets. */
typedef struct gnn_hetero_sampler_config {
    /** the block whose slots the graphs are for: "rgcn", "hetero_conv" or "hgt" */
    const char *block;
    int64_t hops;
    /** (hops x relations) row-major, the seeds' hop first: maximum senders per node and relation;
     * -1: all, 0: none */
    const int64_t *fan_outs;
    uint64_t seed;      /**< of the draws; 0 is valid */
    gnn_flag_t replace; /**< ON: with replacement, so that a sender may be drawn twice [off] */
} gnn_hetero_sampler_config_t;

/**
 * Makes a sampler over the description's relations, which it copies.
 *
 * @param[out] sampler  the caller's, for gnn_hetero_sampler_free
 * @return as gnn_graph_hetero; GNN_ENOTFOUND: no such block, the message lists them; GNN_EINVALID
 *         (no hop, a fan-out below -1, with its index); GNN_EMEMORY. *sampler is NULL then.
 *
 * Cost: O(n relations + m) time and memory. Threads: draws only read it, so it may be shared.
 */
GNN_API int gnn_hetero_sampler_new(gnn_hetero_sampler_t **sampler, const gnn_hetero_t *hetero,
                                   const gnn_hetero_sampler_config_t *config);
/** Frees a sampler of typed nodes; may be NULL. */
GNN_API void gnn_hetero_sampler_free(gnn_hetero_sampler_t *sampler);

/**
 * Allocates one sample, which is reused for all batches. `sampler` is borrowed until
 * gnn_hetero_sample_free. O(nodes of all types) memory.
 *
 * @return GNN_OK; GNN_EINVALID (a NULL); GNN_EMEMORY
 */
GNN_API int gnn_hetero_sample_new(gnn_hetero_sample_t **sample, const gnn_hetero_sampler_t *sampler);
/** Frees a sample of typed nodes; may be NULL. */
GNN_API void gnn_hetero_sample_free(gnn_hetero_sample_t *sample);

/**
 * Draws a batch. Pointers into the previous batch become invalid.
 *
 * @param[in] context       its threads draw; NULL: the calling thread alone, with the same result
 * @param[in] type          index of the seeds' type in the list of types
 * @param[in] n_seeds       count of the seeds
 * @param[in] seeds         (n_seeds) different nodes of it, of int32_t or int64_t
 * @param[in] epoch, batch  from 0 to 2^32 - 1: keys of the draw
 * @return GNN_OK; GNN_EINVALID (a value out of range, a duplicate seed); GNN_EOVERFLOW;
 *         GNN_EMEMORY. The sample is empty then
 *
 * Cost: O(edges drawn + nodes drawn x relations); graphs are allocated per batch. Papers: Hamilton
 * et al. 2017; Hu et al. 2020 (several types; its degree-based budgets are not implemented).
 */
GNN_API int gnn_hetero_sample_draw(gnn_hetero_sample_t *sample, gnn_context_t *context, int64_t type,
                                   int64_t n_seeds, gnn_ints_t seeds, int64_t epoch, int64_t batch);
#ifndef __cplusplus
#define gnn_hetero_sample_draw(sample, context, type, n_seeds, seeds, epoch, batch) \
    gnn_hetero_sample_draw(sample, context, type, n_seeds, gnn_ints(seeds), epoch, batch)
#endif

/**
 * The drawn nodes of a type as its node ids (*count), seeds first: rows to gather for "x.TYPE". For
 * "rgcn" the nodes of all types are concatenated by type. NULL: no such type. Owned by the sample,
 * valid until the next draw.
 *
 * @param[in]  type   index of the type
 * @param[out] count  count of the nodes; may be NULL
 */
GNN_API const int32_t *gnn_hetero_sample_nodes(const gnn_hetero_sample_t *sample, int64_t type,
                                               int64_t *count);
/**
 * The drawn edges of a relation as its edge ids (*count), in the order of its edges in the sample's
 * graph. NULL: no such relation. Owned by the sample, valid until the next draw.
 *
 * @param[in]  relation  index of the relation
 * @param[out] count     count of the edges; may be NULL
 */
GNN_API const int64_t *gnn_hetero_sample_edges(const gnn_hetero_sample_t *sample, int64_t relation,
                                               int64_t *count);
/** The graph of a slot of the model, for gnn_model_prepare; owned by the sample, valid until the
 * next draw. NULL: no such slot, or no batch has been drawn. */
GNN_API gnn_graph_t *gnn_hetero_sample_graph(const gnn_hetero_sample_t *sample, int64_t slot);

/** Training on heterogeneous samples, for gnn_train_config_t.typed: the seeds are the nodes of a
 * type in the split. Zero means the default in brackets. Fixed layout: fields are never added. */
typedef struct gnn_typed_sampling {
    /** the description that gnn_data_hetero_for made the set of */
    const gnn_hetero_t *hetero;
    const gnn_hetero_sampler_t *sampler; /**< of the same description, for the model's block */
    const char *type;                    /**< the type whose nodes are classified */
    int64_t batch;                       /**< seeds of a step [1024] */
    uint64_t seed;                       /**< of the order of the seeds */
} gnn_typed_sampling_t;

#ifdef __cplusplus
}
#endif
#endif
