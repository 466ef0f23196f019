/* The output of a layer in inference, from the formulas alone, in double precision, with the
 * aggregation by the contract's oracle. Products are neither reordered nor concatenated nor
 * shared. */
#ifndef GNN_TESTS_LAYER_ORACLE_H
#define GNN_TESTS_LAYER_ORACLE_H

#include <gnn/layer.h>

/* y: n_dst x gnn_layer_width(layer). Features are dense, receivers the first senders unless given;
 * batch norms go by mean 0 and variance 1. */
void layer_oracle(const gnn_layer_t *layer, const gnn_graph_t *graph, const gnn_inputs_t *inputs,
                  gnn_real_t *y);

#endif
