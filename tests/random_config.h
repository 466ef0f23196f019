/* Random configs of the layer, and sentences for them, for test_configs.c. */
#ifndef GNN_TESTS_RANDOM_CONFIG_H
#define GNN_TESTS_RANDOM_CONFIG_H

#include "support.h"

enum { NODES = 31 };

/* Most fields at random; many such configs are refused. Without edge features. */
gnn_layer_config_t random_config(uint64_t *seed);
/* NODES words in sentences, with complete, causal, window and window-global graphs. */
gnn_graph_t *random_sentences(uint64_t *seed);

#endif
