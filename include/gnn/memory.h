/** An estimate of the memory that a training run will use. */
#ifndef GNN_MEMORY_H
#define GNN_MEMORY_H

#include <gnn/train.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Bytes of a training run, in addition to the data set, the model's weights and the process. */
typedef struct gnn_train_memory_s {
    size_t weights;     /**< gradients, the optimiser's moments, the best weights so far */
    size_t activations; /**< of training and validation steps, and scratch of one op */
    size_t views;       /**< prepared views of the graphs: transposes, self-loops, degrees */
    size_t batches;     /**< with `sampling`: two batches, one of which is filled in advance */
    size_t total;       /**< sum of the above */
} gnn_train_memory_t;

/**
 * Estimates the peak memory of gnn_train with these settings. A full-graph step is planned as in
 * training, so that figure is exact. With `config->sampling` the first batches of the first epoch
 * are drawn, at most 4, and the largest one counts; training was measured to take up to a quarter
 * more, since buffers grow with later batches.
 *
 * @param[in]  model, context, data  as for gnn_train. The graph's views are built, as training
 *                                   would do, and kept; nothing else is changed
 * @param[in]  config                NULL: all defaults
 * @param[out] memory                caller's; overwritten
 * @return GNN_OK; GNN_EINVALID, GNN_EUNSUPPORTED, GNN_ESHAPE: as gnn_train; GNN_EMEMORY
 *
 * Not counted: buffers of the BLAS and oneDNN, stacks of threads, free memory that the C library
 * retains; with metrics other than accuracy, copies of the evaluated outputs. Cost: O(n + m) time,
 * the memory of the views, and with sampling that of two batches. Threads: as gnn_train.
 */
GNN_API int gnn_train_memory(const gnn_model_t *model, gnn_context_t *context, gnn_data_t *data,
                             const gnn_train_config_t *config, gnn_train_memory_t *memory);

#ifdef __cplusplus
}
#endif
#endif
