/**
 * Graphs: who hears whom. A graph is a list of parts over the same n_dst receivers and n_src
 * senders; a part stores either edges (CSR by receiver) or spans (for each receiver one run of
 * senders, nothing per edge). A complete graph over n words is O(n) memory.
 *
 *       receivers i          senders j
 *          0  <------------  0 1 2
 *
 *     edges: i hears indices[indptr[i]] .. indices[indptr[i + 1] - 1]
 *     spans: i hears src_order[lo[i]] .. src_order[hi[i] - 1]
 *
 * Graphs are immutable once built, except for the views that gnn_graph_prepare adds; a graph may
 * then be read by many threads.
 */
#ifndef GNN_GRAPH_H
#define GNN_GRAPH_H

#include <gnn/context.h>
#include <gnn/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A graph: edges or spans between receivers and senders, in parts, with the views prepared so far.
 * */
typedef struct gnn_graph gnn_graph_t;

/* ---- constructors: explicit edges. All arrays are copied; those of gnn_ints_t are of int32 or
 * int64, each by itself, and are passed as pointers (gnn/tensor.h) ---- */

/**
 * Makes a graph from CSR by receiver: receiver i hears indices[k] for indptr[i] <= k < indptr[i+1].
 * Edge k of the user is position k. Parallel edges are legal.
 *
 *     gnn_graph_from_csr(&graph, n, n, indptr, indices);
 *
 * @param[in] indptr   (n_dst + 1)
 * @param[in] indices  (indptr[n_dst]) senders; NULL where there are none
 * @return GNN_OK; GNN_ETOPOLOGY (indptr not monotone or not starting at 0, index out of range: the
 *         message names the place); GNN_EOVERFLOW: an index does not fit in 32 bits; GNN_EINVALID
 *         (negative sizes); GNN_EMEMORY. O(n + m)
 */
GNN_API int gnn_graph_from_csr(gnn_graph_t **graph, int64_t n_dst, int64_t n_src, gnn_ints_t indptr,
                               gnn_ints_t indices);

/**
 * gnn_graph_from_csr, but arrays of the graph's own types, int64 in `indptr` and int32 in
 * `indices`, stay where they are: they must not change, and `owner` (NULL: they outlive the graph)
 * is told once, when the graph is freed; not if this call fails. They are checked here, which reads
 * them once; an array of the other type is copied. Views that are prepared later take memory of
 * their own. O(n + m) time, O(n) memory.
 */
GNN_API int gnn_graph_borrow_csr(gnn_graph_t **graph, int64_t n_dst, int64_t n_src,
                                 gnn_ints_t indptr, gnn_ints_t indices, const gnn_owner_t *owner);

/** Makes a graph from edge arrays: message k goes from src[k] to dst[k]; k is the user's edge
 * number. Errors: as gnn_graph_from_csr. O(n + m). */
GNN_API int gnn_graph_from_edges(gnn_graph_t **graph, int64_t n_dst, int64_t n_src, int64_t m,
                                 gnn_ints_t src, gnn_ints_t dst);

/**
 * Makes a graph from spans: receiver dst_order[r] (r if NULL) hears senders src_order[k] (k if
 * NULL) for lo[r] <= k < hi[r]. Neither lo nor hi may decrease from one r to the next, and lo <=
 * hi; an empty run is legal wherever that holds. GNN_ETOPOLOGY otherwise.
 */
GNN_API int gnn_graph_from_spans(gnn_graph_t **graph, int64_t n_dst, int64_t n_src,
                                 gnn_ints_t dst_order, gnn_ints_t src_order, gnn_ints_t lo,
                                 gnn_ints_t hi);

/* ---- constructors: topologies over lists of segments (a batch of sentences is one graph; rows are
 * packed one after another) ---- */

/** Complete graphs: every node hears every node of its segment. `lengths` has `segments` numbers,
 * each >= 0. O(n) time and memory. */
GNN_API int gnn_graph_complete(gnn_graph_t **graph, int64_t segments, const int64_t *lengths);
/** Causal graphs: position p hears positions 0..p of its segment. */
GNN_API int gnn_graph_causal(gnn_graph_t **graph, int64_t segments, const int64_t *lengths);
/** Windows: position p hears p + k*dilation for k in -width..width (-width..0 if causal) inside its
 * segment. width >= 0, dilation >= 1. */
GNN_API int gnn_graph_window(gnn_graph_t **graph, int64_t segments, const int64_t *lengths,
                             int64_t width, int64_t dilation, gnn_flag_t causal);
/** Bipartite graphs: every receiver of segment s (dst_lengths[s] of them) hears every sender of
 * segment s (src_lengths[s]): cross-attention, readouts. */
GNN_API int gnn_graph_bipartite(gnn_graph_t **graph, int64_t segments, const int64_t *dst_lengths,
                                const int64_t *src_lengths);
/** Longformer's pattern: a window, and `globals` (m node numbers, distinct) that hear and are heard
 * by their whole segment. Three parts that do not overlap. Paper: Beltagy et al. 2020. */
GNN_API int gnn_graph_window_global(gnn_graph_t **graph, int64_t segments, const int64_t *lengths,
                                    int64_t width, int64_t m, gnn_ints_t globals);

/* ---- joining ---- */

/** Joins disjoint graphs: nodes and edges are numbered one graph after another. The inputs
 * stay the caller's. */
GNN_API int gnn_graph_batch(gnn_graph_t **graph, int64_t count, const gnn_graph_t *const *graphs);
/** Joins graphs over the same nodes as parts of one: all graphs must have the same n_dst and n_src.
 * Edges are numbered parts one after another. */
GNN_API int gnn_graph_merge(gnn_graph_t **graph, int64_t count, const gnn_graph_t *const *graphs);
/** A graph of the same edges, all of them stored explicitly (every span becomes edges, numbered
 * receiver by receiver in each part). O(m) memory. */
GNN_API int gnn_graph_to_edges(gnn_graph_t **graph, const gnn_graph_t *of);

/**
 * Says that a graph is several side by side, one after another: segment s holds lengths[s] nodes,
 * as if the graph were gnn_graph_batch of as many.
 *
 * @param[in,out] graph  stores edges, no spans; as many receivers as senders, no segments yet, no
 *                       views yet
 * @param[in] lengths    (segments), each >= 0, n in all
 * @return GNN_OK; GNN_EINVALID; GNN_ETOPOLOGY: an edge joins two segments, or the graph has spans,
 *         segments or two kinds of nodes; GNN_ESHAPE: the lengths add up to another number;
 *         GNN_EMEMORY. O(n + m)
 */
GNN_API int gnn_graph_cut(gnn_graph_t *graph, int64_t segments, const int64_t *lengths);

/* ---- made from others ---- */

/**
 * The graph from edges to their receivers: the senders are the edges of `of` by their numbers, and
 * receiver i hears those that it hears a message along. Values on edges (gnn_tape_edge_rows) are
 * combined over it.
 *
 * @param[in] of  stores edges, no spans
 * @return GNN_OK; GNN_EUNSUPPORTED: a part of it stores spans (gnn_graph_to_edges); GNN_EMEMORY.
 *         O(n + m) time and memory
 */
GNN_API int gnn_graph_incidence(gnn_graph_t **graph, const gnn_graph_t *of);
/** The pairs of part p alone, as edges, numbered receiver by receiver: a relation of a graph whose
 * parts are relations. GNN_EINVALID: there is no such part. O(n + m). */
GNN_API int gnn_graph_part(gnn_graph_t **graph, const gnn_graph_t *of, int64_t p);
/**
 * The graph of nearest rows: each row hears the k rows of its segment that are nearest to it,
 * itself included, the nearest first; of rows equally far the ones with lower numbers. A segment of
 * fewer than k rows is heard whole.
 *
 * @param[in] x        (n x d), n the sum of the lengths
 * @param[in] lengths  (segments), each >= 0
 * @param[in] k        at least 1
 * @return GNN_OK; GNN_EINVALID; GNN_ESHAPE; GNN_EMEMORY. O(sum of lengths^2 (d + k)) time
 *
 * Paper: Wang et al. 2019 (DGCNN).
 */
GNN_API int gnn_graph_nearest(gnn_graph_t **graph, const gnn_tensor_t *x, int64_t segments,
                              const int64_t *lengths, int64_t k);

/* ---- renumbering ---- */

/**
 * Node numbers by falling degree: order[r] is the node that hears the r-th most pairs, over all
 * parts and before any view; of equals the one with the lower number comes first. (What a node
 * sends is not counted: on a symmetric graph that is the same.)
 *
 * @param[in] graph   n nodes that both hear and are heard
 * @param[out] order  (n), caller's
 * @return GNN_OK; GNN_EINVALID (a NULL); GNN_ETOPOLOGY (n_dst != n_src); GNN_EMEMORY. Cost: O(n +
 *         largest degree) time and memory.
 */
GNN_API int gnn_graph_degree_order(const gnn_graph_t *graph, int64_t *order);
/**
 * Node numbers by communities, nodes of one by falling degree: those that hear one another stand
 * together, so that threads, each of which works on a share of the rows, find their neighbours'
 * rows in their own cache. The community of the node that hears the most comes first; communities
 * that hear much and little then take turns, so that equal numbers of rows are nearly equal work.
 * Where a graph does not fall into communities (modularity up to 0.6), or has spans, the order is
 * gnn_graph_degree_order's.
 *
 * @param[in] graph   n nodes that both hear and are heard
 * @param[out] order  (n), caller's
 * @return GNN_OK; GNN_EINVALID (a NULL); GNN_ETOPOLOGY (n_dst != n_src); GNN_EMEMORY. Cost: O(n)
 *         memory, at most 13 passes over the edges: 14 ms for 88,648, 0.3 s for 2.3 million.
 *         Deterministic: yes, but by the numbers that nodes have.
 * Paper: Blondel et al. 2008 (Louvain).
 */
GNN_API int gnn_graph_community_order(const gnn_graph_t *graph, int64_t *order);
/**
 * A graph under other node numbers: node order[r] becomes node r. A layer's output is the same
 * rows in the new order, but for rounding; dropout is drawn by the new numbers, and distances
 * between nodes are those of the new numbers.
 *
 * Edges keep the user's numbers, so that edge inputs fit as they are; the senders of a receiver
 * stand in ascending order. Spans stay spans, with both permutations written out. Views are not
 * taken over.
 *
 * @param[out] graph  the new graph; `of` stays the caller's
 * @param[in] of      n nodes that both hear and are heard, without segments
 * @param[in] order   (n) every node once, borrowed
 * @return GNN_OK; GNN_EINVALID (a NULL; no permutation: the message names the place); GNN_ETOPOLOGY
 *         (n_dst != n_src); GNN_EUNSUPPORTED (the graph has segments: their nodes stand together,
 *         and a node's position in one is told by its number); GNN_EMEMORY. Cost: O(n + m).
 */
GNN_API int gnn_graph_renumber(gnn_graph_t **graph, const gnn_graph_t *of, gnn_ints_t order);

/* The constructors above on pointers. */
#ifndef __cplusplus
#define gnn_graph_from_csr(graph, n_dst, n_src, indptr, indices) \
    gnn_graph_from_csr(graph, n_dst, n_src, gnn_ints(indptr), gnn_ints(indices))
#define gnn_graph_borrow_csr(graph, n_dst, n_src, indptr, indices, owner) \
    gnn_graph_borrow_csr(graph, n_dst, n_src, gnn_ints(indptr), gnn_ints(indices), owner)
#define gnn_graph_from_edges(graph, n_dst, n_src, m, src, dst) \
    gnn_graph_from_edges(graph, n_dst, n_src, m, gnn_ints(src), gnn_ints(dst))
#define gnn_graph_from_spans(graph, n_dst, n_src, dst_order, src_order, lo, hi)         \
    gnn_graph_from_spans(graph, n_dst, n_src, gnn_ints(dst_order), gnn_ints(src_order), \
                         gnn_ints(lo), gnn_ints(hi))
#define gnn_graph_window_global(graph, segments, lengths, width, m, ...) \
    gnn_graph_window_global(graph, segments, lengths, width, m, gnn_ints(__VA_ARGS__))
#define gnn_graph_renumber(graph, of, ...) gnn_graph_renumber(graph, of, gnn_ints(__VA_ARGS__))
#endif

/** Frees a graph with its views; NULL is fine. */
GNN_API void gnn_graph_free(gnn_graph_t *graph);

/* ---- views ---- */

/** How messages are scaled by degrees: not, by D^-1/2 (A) D^-1/2 with in-degrees (GCN), or by D^-1
 * (rows add up to 1). */
typedef enum {
    GNN_GRAPH_NORM_DEFAULT = 0,
    GNN_GRAPH_NORM_NONE,
    GNN_GRAPH_NORM_SYMMETRIC,
    GNN_GRAPH_NORM_ROW
} gnn_graph_norm_t;

/** One way to read a graph: with self-loops, scaled by degrees, with its transpose. Zero is the
 * graph as it was made. */
typedef struct gnn_view {
    /** ON: i -> i is added where it is missing (weight 1, features and bias 0); needs n_dst ==
     * n_src */
    gnn_flag_t self_loops;
    gnn_graph_norm_t norm;
    gnn_flag_t backward; /**< ON: with the transpose that gradients need */
} gnn_view_t;

/**
 * Builds one view of a graph and keeps it inside; asking again for the same view does nothing, and
 * a view with `backward` serves those without. Not thread-safe on the same graph. Errors:
 * GNN_ETOPOLOGY (self-loops or symmetric norm on n_dst != n_src), GNN_EMEMORY.
 */
GNN_API int gnn_graph_prepare(gnn_graph_t *graph, const gnn_view_t *view);

/* ---- looking at a graph ---- */

/** Count of the receivers. */
GNN_API int64_t gnn_graph_n_dst(const gnn_graph_t *graph);
/** Count of the senders. */
GNN_API int64_t gnn_graph_n_src(const gnn_graph_t *graph);
/** Count of the explicit edges over all parts (spans have none): the rows that edge inputs must
 * have. */
GNN_API int64_t gnn_graph_n_edges(const gnn_graph_t *graph);
/** Count of the pairs (i, j) over all parts, spans included. */
GNN_API int64_t gnn_graph_n_pairs(const gnn_graph_t *graph);
/** Count of the parts, before any view. */
GNN_API int64_t gnn_graph_n_parts(const gnn_graph_t *graph);
/** 1 if part p stores spans, 0 if edges. */
GNN_API int gnn_graph_part_is_spans(const gnn_graph_t *graph, int64_t p);
/** Count of the segments (sentences, graphs of a batch); 0 if the graph has none. */
GNN_API int64_t gnn_graph_n_segments(const gnn_graph_t *graph);
/** segments + 1 offsets into receivers, owned by the graph. NULL if the graph has no segments. */
GNN_API const int64_t *gnn_graph_dst_segments(const gnn_graph_t *graph);
/** segments + 1 offsets into senders, owned by the graph. NULL if the graph has no segments. */
GNN_API const int64_t *gnn_graph_src_segments(const gnn_graph_t *graph);

/** Sets the start position of a segment's receivers and senders (0 by default): distances are
 * sender's position minus receiver's. */
GNN_API int gnn_graph_set_start(gnn_graph_t *graph, int64_t segment, int64_t dst_start,
                                int64_t src_start);

/** Writes all pairs as edge arrays (m = gnn_graph_n_pairs each, caller's), part after part,
 * receiver after receiver. edge[k] is the user's edge number, or -1 for a pair of a span. Any of
 * the three may be NULL. */
GNN_API int gnn_graph_pairs(const gnn_graph_t *graph, int64_t *src, int64_t *dst, int64_t *edge);

/** Whom one receiver hears in one part: read its pairs 0 .. count - 1 by the two functions below.
 * Pointers are the graph's. */
typedef struct gnn_graph_row_s {
    int64_t count;
    const int32_t *senders; /**< (count); NULL: first, first + 1, ... */
    int64_t first;
    /** (count) the user's edge numbers; NULL: first_edge, first_edge + 1, ... */
    const int64_t *edges;
    int64_t first_edge; /**< -1: pairs of a span, which have no edge numbers */
} gnn_graph_row_t;

/**
 * The row of receiver i in part p, in both forms, without writing anything out. Self-loops that
 * views add are not in it.
 *
 * @return GNN_OK; GNN_EINVALID (a NULL, no such part or receiver: the message has the numbers).
 *         O(1). Threads: only reads the graph.
 */
GNN_API int gnn_graph_row(const gnn_graph_t *graph, int64_t p, int64_t i, gnn_graph_row_t *row);
/** The k-th sender that the receiver of this row hears, 0 <= k < count. */
static inline int64_t gnn_graph_row_sender(const gnn_graph_row_t *row, int64_t k)
{
    return row->senders ? row->senders[k] : row->first + k;
}
/** The user's number of the k-th edge of this row, or -1 for a pair of a span. */
static inline int64_t gnn_graph_row_edge(const gnn_graph_row_t *row, int64_t k)
{
    return row->edges ? row->edges[k] : row->first_edge < 0 ? -1 : row->first_edge + k;
}

/** Checks every invariant of every part and view, transposes included. GNN_ETOPOLOGY with part and
 * place. O(n + m). */
GNN_API int gnn_graph_validate(const gnn_graph_t *graph);

/* ---- the table of topologies (graphs/topologies.def): for option parsers and tests ---- */

/** A topology over segments: an entry of the table of topologies. */
typedef struct gnn_topology {
    const char *name, *help;
    /** Builds the topology over segments from "name=value" options (NULL: defaults), e.g.
     * "width=4,dilation=2". */
    int (*build)(gnn_graph_t **graph, int64_t segments, const int64_t *lengths, const char *options);
} gnn_topology_t;

/** Count of the topologies in the library's table. */
GNN_API size_t gnn_topology_count(void);
/** The topology of an index, 0 to gnn_topology_count() - 1; NULL past the last. */
GNN_API const gnn_topology_t *gnn_topology_at(size_t index);
/** The topology of a name; NULL if there is none. */
GNN_API const gnn_topology_t *gnn_topology_find(const char *name);

/** What becomes of the weights of i -> j and j -> i where an edge has no direction. */
typedef enum { GNN_BOTH_SUM = 0, GNN_BOTH_MAX } gnn_both_ways_t;

/** Positions of nodes in the plane, where joined nodes come to lie close together: (n x 2),
 * caller's. As gnn_graph_layout_weighted with edges that pull alike. */
GNN_API int gnn_graph_layout(const gnn_graph_t *graph, uint64_t seed, const gnn_tensor_t *positions);
/**
 * Positions of nodes in the plane, where edges pull as strongly as they weigh: nodes of heavy edges
 * come to lie close together. A force-directed layout from a seed: the same seed gives the same
 * positions.
 *
 * @param[in]  weight     one for each pair of gnn_graph_pairs, finite; those of both directions add
 *                        up, and no sum pulls less than 1e-6; NULL: all pull alike
 * @param[out] positions  (n x 2), caller's; overwritten
 * @return GNN_OK; GNN_EINVALID; GNN_ETOPOLOGY; GNN_ESHAPE; GNN_ENUMERIC: a weight is not finite;
 *         GNN_EMEMORY. O(500 (n^2 + m)) time up to 300 nodes, O(500 (n log n + m)) of more, O(n +
 *         m) memory. Papers: Fruchterman and Reingold 1991; Barnes and Hut 1986.
 */
GNN_API int gnn_graph_layout_weighted(const gnn_graph_t *graph, const gnn_real_t *weight,
                                      uint64_t seed, const gnn_tensor_t *positions);

/**
 * The spanning tree whose edges weigh most, directions left aside; a forest where the graph is in
 * several components.
 *
 * @param[in]  weight    one for each pair of gnn_graph_pairs, finite, of either sign
 * @param[in]  both      what parallel pairs and those of both directions weigh together
 * @param[out] from, to  (n - 1 each) the ends of the edges, the smaller one in `from`; caller's
 * @param[out] count     how many edges were written: n less the number of components
 * @return GNN_OK; GNN_EINVALID; GNN_ETOPOLOGY: two kinds of nodes; GNN_ENUMERIC: a weight is not
 *         finite; GNN_EMEMORY. O(m log m) time, O(n + m) memory. Of equal weights the smaller ends
 *         are first. Paper: Kruskal 1956.
 */
GNN_API int gnn_graph_spanning_tree(const gnn_graph_t *graph, const gnn_real_t *weight,
                                    gnn_both_ways_t both, int64_t *from, int64_t *to, int64_t *count);

/**
 * Positions of nodes from the graph alone: column c is the eigenvector of the Laplacian I - D^-1/2
 * A D^-1/2 with the (c + 2)-smallest eigenvalue; the first one, which says nothing but degrees, is
 * left out. A counts messages in both directions, so that a graph of both directions of each edge
 * is itself; messages i -> i do not count. A graph of several components has as many eigenvalues 0,
 * and any basis of their vectors may come.
 *
 * Sign: the entry of the largest size is positive (of several the first). Vectors have length 1. A
 * graph of n nodes has n - 1 such vectors; further columns are 0.
 *
 * @param[in]  graph      one kind of nodes
 * @param[out] positions  (n x k), caller's
 * @param[out] values     (k) eigenvalues, from 0 to 2; NULL: not wanted
 * @return GNN_OK; GNN_EINVALID; GNN_ETOPOLOGY; GNN_ESHAPE; GNN_ENUMERIC: the iterations did not
 *         end; GNN_EUNSUPPORTED: over 20,000 nodes without gnn_igraph_use; GNN_EMEMORY.
 *
 * Cost: O(n^3), by LAPACK; after gnn_igraph_use (gnn/igraph.h), above 400 nodes and where k is less
 * than n / 4, O(iterations (m + n k)), by ARPACK. Paper: Dwivedi and Bresson 2021.
 */
GNN_API int gnn_graph_laplacian_positions(const gnn_graph_t *graph, const gnn_tensor_t *positions,
                                          gnn_real_t *values);
/**
 * Column c is the probability that a walk of c + 1 steps, which goes to any receiver of its node's
 * messages alike, ends where it began: the diagonals of powers of D^-1 A. A walk ends at a node
 * that sends nothing.
 *
 * @param[out] positions  (n x k), caller's
 * @return GNN_OK; GNN_EINVALID; GNN_ETOPOLOGY; GNN_ESHAPE; GNN_EMEMORY. O(n m k) time, O(n + m)
 *         memory. Paper: Dwivedi et al. 2022.
 */
GNN_API int gnn_graph_walk_positions(const gnn_graph_t *graph, const gnn_tensor_t *positions);

/** Releases an array that libgnn handed out. */
GNN_API void gnn_free(void *memory);

#ifdef __cplusplus
}
#endif
#endif
