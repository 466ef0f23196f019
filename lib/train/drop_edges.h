/* DropEdge and DropNode: each training step runs on a graph with randomly dropped edges. */
#ifndef GNN_TRAIN_DROP_EDGES_H
#define GNN_TRAIN_DROP_EDGES_H

#include <gnn/train.h>
#include <stdbool.h>

typedef struct gnn__drop {
    const gnn_graph_t *whole;
    double edge, node; /* probabilities */
    uint64_t seed;
    gnn_graph_t *graph; /* the remaining graph */
    int64_t count;      /* its edges */
    int64_t *kept;      /* (count) their ids in the whole graph */
    int64_t *indptr;
    int32_t *indices;
    bool *fallen; /* (nodes) */
} gnn__drop_t;

/* GNN_EINVALID for a probability outside [0, 1); GNN_EUNSUPPORTED for graphs of several parts, of
 * spans or of two kinds of nodes. The whole graph is borrowed. */
int gnn__drop_open(gnn__drop_t *drop, const gnn_graph_t *whole, double edge, double node,
                   uint64_t seed);
void gnn__drop_close(gnn__drop_t *drop);
/* Replaces drop->graph; it depends on seed and epoch alone. */
int gnn__drop_draw(gnn__drop_t *drop, int64_t epoch);

#endif
