/* Helpers that reports on attention share. */
#ifndef GNN_LIB_REPORT_ATTENTION_MAPS_H
#define GNN_LIB_REPORT_ATTENTION_MAPS_H

#include <gnn/inspect.h>
#include <lib/base/base.h>

/* The first attention layer from step `from` on whose receivers are its senders, on the graph slot
 * of the model's first such step; -1: none. */
int64_t gnn__attending(const gnn_model_t *model, int64_t from);
/* Count of such layers, and heads per layer. GNN_EUNSUPPORTED: no such layer; GNN_ESHAPE: layers
 * of different heads. */
int gnn__attending_sizes(const gnn_model_t *model, int64_t *layers, int64_t *heads);

#endif
