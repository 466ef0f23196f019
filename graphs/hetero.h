/* Parts of graphs/hetero.c that data sets of several node types use. */
#ifndef GNN_GRAPHS_HETERO_H
#define GNN_GRAPHS_HETERO_H

#include <gnn/hetero_sample.h>

/* Checks that types and relations are present and types have names and sizes. O(types): duplicates
 * and relation ends are checked by the callers. */
int gnn__hetero_check_types(const gnn_hetero_t *h);
/* Type of each node and relation of each edge of gnn_graph_hetero; either may be NULL. */
void gnn__hetero_classes(const gnn_hetero_t *h, int32_t *node_class, int32_t *edge_class);

/* The index of the type of a name; -1 if there is none, and gnn_error_message() then lists the
 * names. */
int64_t gnn__hetero_type(const gnn_hetero_t *hetero, const char *name);

/* GNN_EINVALID: the sampler was made of a description with other counts of nodes or edges, or with
 * relations between other types. */
int gnn__hetero_sampler_fits(const gnn_hetero_sampler_t *sampler, const gnn_hetero_t *hetero);

#endif
