/* Inside of a graph. Shapes: n_dst receivers, n_src senders, m edges of a part. Everything here is
 * read-only after construction. */
#ifndef GNN_GRAPHS_GRAPH_H
#define GNN_GRAPHS_GRAPH_H

#include <gnn/graph.h>
#include <lib/kernels/neighbours/pairs.h>

/* One part: its pairs by receiver, and what scales them. In a transposed part rows are senders,
 * columns are receivers, and scale_row belongs to senders. */
typedef struct gnn__part {
    gnn__pairs_t pairs;
    const gnn_real_t *scale_row, *scale_col; /* per node (not per row); NULL: all 1 */
    /* row of each receiver, in parts of the plain view that have a row_order; NULL: its number */
    const int32_t *row_of;
} gnn__part_t;

/* One prepared view. Edge numbers 0..n_edges-1 are the user's; numbers from n_edges on are
 * self-loops that the library added (number n_edges + i belongs to node i; only the missing ones
 * exist): weight 1, features and bias 0. */
typedef struct gnn__built_view {
    gnn_view_t key;
    int64_t n_parts;
    gnn__part_t *parts;      /* by receiver */
    gnn__part_t *transposed; /* by sender, same order of parts; NULL if not asked for */
    /* 0, or n_dst if loops were added (numbers n_edges .. n_edges + n_dst - 1 are reserved) */
    int64_t n_loops;
    const int64_t *degree; /* (n_dst) pairs heard over all parts of this view */
} gnn__built_view_t;

/* What a block of a sample knows of the graph that it was drawn from: arrays by that graph's node
 * numbers, and the number of each of the block's senders. */
typedef struct gnn__whole {
    const int32_t *nodes;
    const int64_t *degree;  /* pairs heard, without loops that a view adds */
    const uint8_t *missing; /* 1 where a node does not hear itself */
} gnn__whole_t;

struct gnn_graph {
    int64_t n_dst, n_src;
    int64_t n_edges;                      /* the user's edge numbers */
    int64_t n_segments;                   /* 0: none */
    int64_t *dst_segments, *src_segments; /* n_segments + 1 */
    int64_t *dst_start, *src_start;       /* n_segments */
    gnn__built_view_t base;               /* the plain graph: no loops, no norm, no transpose */
    gnn__built_view_t **views; /* prepared ones; pointers stay valid until the graph is freed */
    int64_t n_views, views_room;
    void **owned; /* every array behind the parts, freed with the graph */
    int64_t n_owned;
    /* of a block, which is built again and again in the same memory: bytes that each of the
     * `n_kept` arrays has room for, forgotten ones included; NULL: an array that is forgotten is
     * freed */
    size_t *room;
    int64_t n_kept;
    const gnn__whole_t *whole; /* of a block; its receivers are its first senders */
    gnn_owner_t owner;         /* of arrays that were borrowed */
};

/* Finds the view that a computation needs, or NULL with GNN_EUNPREPARED's message that names the
 * missing one ("graph has no view with self-loops, symmetric norm and transpose: call
 * gnn_graph_prepare or gnn_layer_prepare"). The plain view needs no preparation. */
const gnn__built_view_t *gnn__graph_view(const gnn_graph_t *graph, const gnn_view_t *wanted);

/* Bytes of the prepared views, as far as they are not the plain graph's own; and of that one's
 * edges unless `views_only`. graph_bytes.c */
size_t gnn__graph_bytes(const gnn_graph_t *graph, bool views_only);

/* Segment of a receiver / sender (binary search), -1 if the graph has none. */
int64_t gnn__graph_dst_segment(const gnn_graph_t *graph, int64_t i);
int64_t gnn__graph_src_segment(const gnn_graph_t *graph, int64_t j);
/* position(sender j) - position(receiver i); 0-based offsets inside their segments plus the
 * segments' starts. Without segments: j - i. */
int64_t gnn__graph_distance(const gnn_graph_t *graph, int64_t i, int64_t j);

/* Rows cut into fixed chunks of about `per` pairs (rows count as one each): bounds[0..n], n chunks.
 * Depends on the pairs alone, never on threads. `bounds` has room for gnn__pairs_max_chunks(pairs,
 * per) + 1. */
int64_t gnn__pairs_max_chunks(const gnn__pairs_t *pairs, int64_t per);
int64_t gnn__pairs_chunks(const gnn__pairs_t *pairs, int64_t per, int64_t *bounds);

#endif
