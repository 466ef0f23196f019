/* Who hears whom: one part of a graph as bare arrays, in one of two forms. Graphs keep their parts
 * so, and kernels read them so.
 *
 * Rows are receivers and columns senders; in a transposed part it is the other way round. A row's
 * pairs stand at the places gnn__pairs_from .. gnn__pairs_to - 1:
 *
 *     edges   place k holds column indices[k]; rows of nodes stand in the order of the nodes
 *     spans   places are columns in the order of col_order; row r is node row_order[r] and hears
 *             the run lo[r] .. hi[r] - 1 */
#ifndef GNN_KERNELS_PAIRS_H
#define GNN_KERNELS_PAIRS_H

#include <lib/base/base.h>

typedef enum { GNN__EDGES, GNN__SPANS } gnn__form_t;

typedef struct gnn__pairs {
    int64_t n_rows, n_cols;
    int64_t count; /* pairs in all: edges, or the sum of run lengths */
    /* edges */
    const int64_t *indptr;  /* n_rows + 1; NULL: spans */
    const int32_t *indices; /* count */
    const int64_t *edge;    /* number of the edge at each place; NULL: edge_base + place */
    int64_t edge_base;
    /* spans */
    const int32_t *row_order, *col_order; /* NULL: identity */
    const int32_t *lo, *hi;               /* n_rows; neither ever decreases */
} gnn__pairs_t;

static inline gnn__form_t gnn__pairs_form(const gnn__pairs_t *p)
{
    return p->indptr ? GNN__EDGES : GNN__SPANS;
}

/* Node of a row. */
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

/* Node at place `at`. */
static inline int64_t gnn__pairs_col(const gnn__pairs_t *p, int64_t at)
{
    return p->indptr ? p->indices[at] : p->col_order ? p->col_order[at] : at;
}

/* Number of the edge at place `at`; -1 on spans, which number none. */
static inline int64_t gnn__pairs_edge(const gnn__pairs_t *p, int64_t at)
{
    return !p->indptr ? -1 : p->edge ? p->edge[at] : p->edge_base + at;
}

#endif
