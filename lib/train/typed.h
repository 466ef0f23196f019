/* Inside of training on typed samples. */
#ifndef GNN_TRAIN_TYPED_H
#define GNN_TRAIN_TYPED_H

#include <gnn/hetero_sample.h>
#include <lib/train/train.h>

/* Makes batches of config->typed, and hands them to `use`, whose error it returns. */
int gnn__train_typed(const gnn_model_t *model, gnn_context_t *context, const gnn_data_t *data,
                     const gnn_train_config_t *config, gnn__source_use_t *use, void *user);

#endif
