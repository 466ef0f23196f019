/* A graph as a sparse matrix, for its spectrum. */
#ifndef GNN_GRAPHS_POSITIONS_H
#define GNN_GRAPHS_POSITIONS_H

#include <lib/base/base.h>

typedef struct gnn__adjacency {
    int64_t n, *indptr; /* (n + 1), one more behind it */
    int32_t *indices;
    double *weight;
} gnn__adjacency_t;

void gnn__adjacency_free(gnn__adjacency_t *a);

/* The `count` smallest eigenvalues of I - A, rising, and their vectors, one after another; A is symmetric with eigenvalues from -1 to 1. By igraph. */
int gnn__spectrum(const gnn__adjacency_t *a, int64_t count, double *values, double *vectors);

#endif
