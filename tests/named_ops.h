/* Shared by the suites about named ops: a small graph from SENDERS nodes. */
#ifndef GNN_TESTS_NAMED_OPS_H
#define GNN_TESTS_NAMED_OPS_H

#include "tape_fixture.h"

enum { SENDERS = 9 };

/* Three receivers, one without senders. */
static inline gnn_graph_t *three_receivers(void)
{
    gnn_graph_t *graph = NULL;
    ck_ok(gnn_graph_bipartite(&graph, 3, (const int64_t[]){1, 1, 1}, (const int64_t[]){4, 0, 5}));
    return graph;
}

#endif
