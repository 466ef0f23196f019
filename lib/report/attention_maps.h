/* What reports on attention share. */
#ifndef GNN_LIB_REPORT_ATTENTION_MAPS_H
#define GNN_LIB_REPORT_ATTENTION_MAPS_H

#include <gnn/inspect.h>
#include <lib/base/base.h>

/* The first step from `from` on that attends to its own rows, on the graph slot of the first such
 * step of the model; -1: there is none. */
int64_t gnn__attending(const gnn_model_t *model, int64_t from);
/* How many there are, and the heads of each. GNN_EUNSUPPORTED: none; GNN_ESHAPE: heads differ. */
int gnn__attending_sizes(const gnn_model_t *model, int64_t *layers, int64_t *heads);

#endif
