/* Inside of a graph. Shapes: n_dst receivers, n_src senders, m edges of a part. Everything here is read-only after construction. */
#ifndef GNN_GRAPHS_GRAPH_H
#define GNN_GRAPHS_GRAPH_H

#include <gnn/graph.h>

typedef enum { GNN__EDGES, GNN__SPANS } gnn__form_t;

/* One part. Rows are receivers in row order: row r is node dst_order[r] (r if NULL). For edges dst_order is always NULL.
 * In a transposed part the roles are swapped: rows are senders, columns are receivers, and scale_row belongs to senders. */
typedef struct gnn__part {
    gnn__form_t form;
    int64_t n_rows, n_cols;
    int64_t pairs; /* edges, or the sum of run lengths */
    /* edges */
    const int64_t *indptr;  /* n_rows + 1 */
    const int32_t *indices; /* column of position k */
    const int64_t *edge;    /* edge number (see below) of position k; NULL: edge_base + k */
    int64_t edge_base;
    /* spans */
    const int32_t *row_order, *col_order; /* NULL: identity */
    const int32_t *lo, *hi;               /* per row; into col_order */
    /* per NODE (not per row), NULL: all 1 */
    const gnn_real_t *scale_row, *scale_col;
    int32_t parameter_set;
    int64_t own; /* bytes-owning list is kept by the graph, see graphs/graph.c */
} gnn__part_t;

/* One prepared view. Edge numbers 0..n_edges-1 are the user's; numbers from n_edges on are self-loops that the library added
 * (number n_edges + i belongs to node i; only the missing ones exist): weight 1, features and bias 0. */
typedef struct gnn__view {
    gnn_view_t key;
    int64_t n_parts;
    gnn__part_t *parts;      /* by receiver */
    gnn__part_t *transposed; /* by sender, same order of parts; NULL if not asked for */
    int64_t n_loops; /* 0, or n_dst if loops were added (numbers n_edges .. n_edges + n_dst - 1 are reserved) */
    const int64_t *degree; /* (n_dst) pairs heard over all parts of this view */
} gnn__view_t;

struct gnn_graph {
    int64_t n_dst, n_src;
    int64_t n_edges;                      /* the user's edge numbers */
    int64_t n_segments;                   /* 0: none */
    int64_t *dst_segments, *src_segments; /* n_segments + 1 */
    int64_t *dst_start, *src_start;       /* n_segments */
    gnn__view_t base;                     /* the plain graph: no loops, no norm, no transpose */
    gnn__view_t **views; /* prepared ones; pointers stay valid until the graph is freed */
    int64_t n_views;
    void **owned; /* every array behind the parts, freed with the graph */
    int64_t n_owned;
};

/* Finds the view that a computation needs, or NULL with GNN_EUNPREPARED's message that names the missing one ("graph has no view with
 * self-loops, symmetric norm and transpose: call gnn_graph_prepare or gnn_layer_prepare"). The plain view needs no preparation. */
const gnn__view_t *gnn__graph_view(const gnn_graph_t *graph, const gnn_view_t *wanted);

/* Segment of a receiver / sender (binary search), -1 if the graph has none. */
int64_t gnn__graph_dst_segment(const gnn_graph_t *graph, int64_t i);
int64_t gnn__graph_src_segment(const gnn_graph_t *graph, int64_t j);
/* position(sender j) - position(receiver i); 0-based offsets inside their segments plus the segments' starts. Without segments: j - i. */
int64_t gnn__graph_distance(const gnn_graph_t *graph, int64_t i, int64_t j);

/* Walks the pairs of one row, whichever form lies under it. */
typedef struct gnn__walk {
    const gnn__part_t *part;
    int64_t node; /* of the row */
    int64_t at, end;
} gnn__walk_t;

static inline gnn__walk_t gnn__walk_row(const gnn__part_t *part, int64_t row)
{
    gnn__walk_t w = {part, part->row_order ? part->row_order[row] : row, 0, 0};
    w.at = part->form == GNN__EDGES ? part->indptr[row] : part->lo[row];
    w.end = part->form == GNN__EDGES ? part->indptr[row + 1] : part->hi[row];
    return w;
}

/* The next column's node and edge number (-1 on spans); 0 at the end. */
static inline int gnn__walk_next(gnn__walk_t *w, int64_t *col, int64_t *edge)
{
    if (w->at >= w->end)
        return 0;
    const gnn__part_t *p = w->part;
    if (p->form == GNN__EDGES) {
        *col = p->indices[w->at];
        *edge = p->edge ? p->edge[w->at] : p->edge_base + w->at;
    } else {
        *col = p->col_order ? p->col_order[w->at] : w->at;
        *edge = -1;
    }
    w->at++;
    return 1;
}

/* Rows of a part cut into fixed chunks of about `per` pairs (rows count as one each): bounds[0..n], n chunks. Depends on the part only, never
 * on threads. `bounds` has room for gnn__part_max_chunks(part, per) + 1. */
int64_t gnn__part_max_chunks(const gnn__part_t *part, int64_t per);
int64_t gnn__part_chunks(const gnn__part_t *part, int64_t per, int64_t *bounds);

#endif
