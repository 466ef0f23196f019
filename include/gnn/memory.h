/** Memory of a training, said before it begins. */
#ifndef GNN_MEMORY_H
#define GNN_MEMORY_H

#include <gnn/train.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Bytes of a training, beside the data set, the model's weights and the process itself. */
typedef struct gnn_train_memory_s {
    size_t weights;     /**< gradients, the optimiser's moments, the best weights so far */
    size_t activations; /**< of a step and of validation, and what one op needs while it runs */
    size_t views;       /**< what the layers need of the graphs: transposes, self-loops, degrees */
    size_t batches;     /**< with `sampling`: two batches, one of which is filled meanwhile */
    size_t total;       /**< all of it */
} gnn_train_memory_t;

GNN_API int gnn_train_memory_sized(const gnn_model_t *model, gnn_context_t *context,
                                   gnn_data_t *data, const gnn_train_config_t *config, size_t size,
                                   gnn_train_memory_t *memory);
/**
 * What gnn_train with these settings will take at most. A step on the whole graph is planned as
 * training plans it, so its figure is that of the plan. With `config->sampling` the first batches
 * of the first epoch are drawn, at most 4, and the largest of them counts: with what grows
 * later, training was seen to take up to a quarter more.
 *
 * @param[in]  model, context, data  as for gnn_train. The graph's views are built, which training
 *                                   would do, and stay; nothing else is changed or kept
 * @param[in]  config                NULL: all defaults
 * @param[out] memory                caller's; overwritten
 * @return GNN_OK; GNN_EINVALID, GNN_EUNSUPPORTED, GNN_ESHAPE: as gnn_train; GNN_EMEMORY
 *
 * Not counted: buffers of the dense products' libraries, threads' stacks, what the C library keeps
 * free; of metrics other than accuracy, copies of the outputs that are judged. Cost: O(n + m) time,
 * the memory of the views, and for samples that of two batches. Threads: as gnn_train.
 */
static inline int gnn_train_memory(const gnn_model_t *model, gnn_context_t *context, gnn_data_t *data,
                                   const gnn_train_config_t *config, gnn_train_memory_t *memory)
{
    return gnn_train_memory_sized(model, context, data, config, sizeof *config, memory);
}

#ifdef __cplusplus
}
#endif
#endif
