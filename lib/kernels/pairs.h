/* Who hears whom, as kernels see it: one part of a graph as bare arrays, rows being receivers or, transposed, senders (graphs/graph.h explains the two forms). */
#ifndef GNN_KERNELS_PAIRS_H
#define GNN_KERNELS_PAIRS_H

#include <lib/base/base.h>

typedef struct gnn__pairs {
    int64_t n_rows;
    /* edges */
    const int64_t *indptr; /* NULL: spans */
    const int32_t *indices;
    const int64_t *edge; /* NULL: edge_base + position */
    int64_t edge_base;
    /* spans */
    const int32_t *row_order, *col_order, *lo, *hi;
} gnn__pairs_t;

static inline int64_t gnn__pairs_node(const gnn__pairs_t *p, int64_t row)
{
    return p->row_order ? p->row_order[row] : row;
}

static inline int64_t gnn__pairs_from(const gnn__pairs_t *p, int64_t row)
{
    return p->indptr ? p->indptr[row] : p->lo[row];
}

static inline int64_t gnn__pairs_to(const gnn__pairs_t *p, int64_t row)
{
    return p->indptr ? p->indptr[row + 1] : p->hi[row];
}

/* Node at place `at` of a row. */
static inline int64_t gnn__pairs_col(const gnn__pairs_t *p, int64_t at)
{
    return p->indptr ? p->indices[at] : p->col_order ? p->col_order[at] : at;
}

/* Number of the edge at place `at`; spans have none. */
static inline int64_t gnn__pairs_edge(const gnn__pairs_t *p, int64_t at)
{
    return !p->indptr ? -1 : p->edge ? p->edge[at] : p->edge_base + at;
}

#endif
