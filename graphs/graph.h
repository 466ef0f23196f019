/* Internals of a graph. Shapes: n_dst receivers, n_src senders, m edges of a part. Read-only after
 * construction, except for prepared views. */
#ifndef GNN_GRAPHS_GRAPH_H
#define GNN_GRAPHS_GRAPH_H

#include <gnn/graph.h>
#include <lib/kernels/neighbours/pairs.h>

/* One part: its pairs by receiver, and scales. In a transposed part rows are senders and columns
 * receivers, and scale_row belongs to senders. */
typedef struct gnn__part {
    gnn__pairs_t pairs;
    const gnn_real_t *scale_row, *scale_col; /* per node, not per row; NULL: all 1 */
    /* row of each receiver, for parts of the plain view with a row_order; NULL: its index */
    const int32_t *row_of;
    /* (n_dst), (n_src): positions of the nodes for the distances of this part's pairs; NULL: those
     * of the graph. Not of transposed parts. */
    const int64_t *dst_position, *src_position;
} gnn__part_t;

/* One prepared view. Edge ids 0 .. n_edges - 1 are the user's; n_edges + i is the self-loop that
 * the view adds at node i (only missing ones are added): weight 1, features and bias 0. */
typedef struct gnn__built_view {
    gnn_view_t key;
    int64_t n_parts;
    gnn__part_t *parts;      /* by receiver */
    gnn__part_t *transposed; /* by sender, in the same order of parts; NULL if not prepared */
    /* 0, or n_dst if self-loops were added (ids n_edges .. n_edges + n_dst - 1 are reserved) */
    int64_t n_loops;
    const int64_t *degree; /* (n_dst): in-degrees over all parts of this view */
    int64_t mean_pairs;    /* of a rank's part: pairs per node of the whole graph; else 0 */
} gnn__built_view_t;

/* The graph that a block was sampled from: arrays by node of that graph, and the node of each of
 * the block's senders. */
typedef struct gnn__origin {
    const int32_t *nodes;   /* (senders of the block) */
    const int64_t *degree;  /* in-degrees, without added self-loops */
    const uint8_t *missing; /* 1 for nodes without a self-loop */
} gnn__origin_t;

struct gnn_graph {
    int64_t n_dst, n_src;
    int64_t n_edges;                      /* edge ids of the user */
    int64_t n_segments;                   /* 0: none */
    int64_t *dst_segments, *src_segments; /* (n_segments + 1): first node of each, and n */
    int64_t *dst_start, *src_start;       /* (n_segments): position of the first node */
    gnn__built_view_t base;    /* the plain graph: no added self-loops, norm or transpose */
    gnn__built_view_t **views; /* prepared ones; pointers stay valid until the graph is freed */
    int64_t n_views, views_room;
    void **owned; /* every array of the parts and views, freed with the graph */
    int64_t n_owned;
    size_t *room;   /* blocks: bytes allocated for each owned array; NULL for other graphs */
    int64_t n_kept; /* blocks: allocated arrays, those that are not in use included */
    const gnn__origin_t *origin; /* blocks, whose receivers are their first senders; NULL */
    gnn_owner_t owner;           /* of borrowed arrays */
    /* over ranks (halo.h), else NULL: of the graph of own rows; of the one with the halo's rows */
    struct gnn__halo *halo, *wide_of;
    /* functions of the halo, which is made of graphs itself */
    void (*halo_free)(struct gnn__halo *halo);
    int (*halo_prepare)(struct gnn__halo *halo, const gnn_view_t *view);
};
/* The view that a computation needs; NULL with GNN_EUNPREPARED's message ("the graph has no view
 * with self-loops, symmetric norm and transpose: call gnn_graph_prepare ..."). The plain view needs
 * no preparation. */
const gnn__built_view_t *gnn__graph_view(const gnn_graph_t *graph, const gnn_view_t *wanted);

/* Bytes of the prepared views that they do not share with the plain graph, plus those of its edges
 * unless `views_only`. */
size_t gnn__graph_bytes(const gnn_graph_t *graph, bool views_only);

/* Segment of a receiver or sender (binary search); -1 if the graph has no segments. */
int64_t gnn__graph_dst_segment(const gnn_graph_t *graph, int64_t i);
int64_t gnn__graph_src_segment(const gnn_graph_t *graph, int64_t j);
/* position(sender j) - position(receiver i), positions being offsets within their segments plus
 * the segments' starts. Without segments: j - i. */
int64_t gnn__graph_distance(const gnn_graph_t *graph, int64_t i, int64_t j);

/* Splits the rows into chunks of about `per` pairs (a row counts as one more); chunk k is
 * bounds[k] .. bounds[k + 1]. Returns the count. Depends on the pairs alone, so results do not
 * depend on threads. `bounds` has room for gnn__pairs_max_chunks(pairs, per) + 1. */
int64_t gnn__pairs_max_chunks(const gnn__pairs_t *pairs, int64_t per);
int64_t gnn__pairs_chunks(const gnn__pairs_t *pairs, int64_t per, int64_t *bounds);

/* Nodes by descending in-degree: order[r] is the node with the r-th largest in-degree over all
 * parts, without views; ties are broken by the lower id.
 *
 * @param[in] graph   n_dst == n_src == n
 * @param[out] order  (n), caller's
 * @return GNN_OK; GNN_EINVALID (a NULL); GNN_ETOPOLOGY (n_dst != n_src); GNN_EMEMORY. Cost: O(n +
 *         largest degree) time and memory. */
int gnn__graph_degree_order(const gnn_graph_t *graph, int64_t *order);

/* Sets the start position of a segment's receivers and senders (0 by default): distances are
 * sender's position minus receiver's.
 *
 * @param[in] segment    index of the segment
 * @param[in] dst_start  position of its first receiver
 * @param[in] src_start  position of its first sender
 * @return GNN_OK; GNN_EINVALID (a NULL, no such segment, a start of 2^31 or more); GNN_ETOPOLOGY:
 *         the graph has no segments */
int gnn__graph_set_start(gnn_graph_t *graph, int64_t segment, int64_t dst_start, int64_t src_start);

/* Copies positions of receivers (n_dst) and senders (n_src), below 2^31, into part p of a new
 * graph; a graph that it is merged into keeps them for this part. Both NULL: nothing to copy. */
int gnn__part_set_positions(gnn_graph_t *graph, int64_t p, const int64_t *dst, const int64_t *src);
/* The graph has a part with positions of its own. */
bool gnn__graph_has_positions(const gnn_graph_t *graph);

/* Part p stores spans. */
bool gnn__graph_part_is_spans(const gnn_graph_t *graph, int64_t p);
/* Checks every invariant of every part and view, transposes included, for tests: constructors check
 * what they are given. GNN_ETOPOLOGY with part and position. O(n + m) */
int gnn__graph_validate(const gnn_graph_t *graph);

#endif
