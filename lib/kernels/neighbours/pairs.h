/* The pairs of one part of a graph as bare arrays, in one of two forms. Graphs store their parts
 * so, and kernels read them so.
 *
 * Rows are receivers and columns senders; in a transposed part rows are senders. A row's pairs are
 * at the slots gnn__pairs_from .. gnn__pairs_to - 1:
 *
 *     edges   slot k holds column indices[k]; row r is node r
 *     spans   slots are columns in the order of col_order; row r is node row_order[r] and attends
 *             the run lo[r] .. hi[r] - 1 */
#ifndef GNN_KERNELS_PAIRS_H
#define GNN_KERNELS_PAIRS_H

#include <lib/base/base.h>

typedef enum { GNN__EDGES, GNN__SPANS } gnn__form_t;

/* Rows that a pass runs: all, or over ranks first those that are not late, then the others. */
typedef enum { GNN__ALL_ROWS, GNN__EARLY_ROWS, GNN__LATE_ROWS } gnn__phase_t;

typedef struct gnn__pairs {
    int64_t n_rows, n_cols;
    int64_t count; /* count of pairs: edges, or the sum of run lengths */
    /* edges */
    const int64_t *indptr;  /* n_rows + 1; NULL: spans */
    const int32_t *indices; /* `count` columns */
    const int64_t *edge;    /* edge id of each slot; NULL: edge_base + slot */
    int64_t edge_base;
    bool sliced;         /* over ranks: chunks are slices of the first own_rows rows */
    int64_t own_rows;    /* the others are empty */
    const uint8_t *late; /* over ranks: (n_rows) 1: a column is of the halo; NULL: one rank */
    gnn__phase_t phase;  /* of kernels that take several rows at a time */
    /* spans */
    const int32_t *row_order, *col_order; /* NULL: identity */
    const int32_t *lo, *hi;               /* n_rows each, non-decreasing */
} gnn__pairs_t;

static inline gnn__form_t gnn__pairs_form(const gnn__pairs_t *p)
{
    return p->indptr ? GNN__EDGES : GNN__SPANS;
}

/* True if rows that are taken together run in this phase: late if one of them is. */
static inline bool gnn__pairs_due(const gnn__pairs_t *p, int64_t row, int64_t rows)
{
    bool late = false;
    if (p->phase == GNN__ALL_ROWS)
        return true;
    for (int64_t r = row; r < row + rows; r++)
        late |= p->late[r] != 0;
    return late == (p->phase == GNN__LATE_ROWS);
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

/* Node at slot `at`. */
static inline int64_t gnn__pairs_col(const gnn__pairs_t *p, int64_t at)
{
    if (p->indptr)
        return p->indices[at];
    return p->col_order ? p->col_order[at] : at;
}

/* Edge id of slot `at`; -1 on spans, which have none. */
static inline int64_t gnn__pairs_edge(const gnn__pairs_t *p, int64_t at)
{
    if (!p->indptr)
        return -1;
    return p->edge ? p->edge[at] : p->edge_base + at;
}

#endif
