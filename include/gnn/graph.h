/**
 * Graphs: which receivers aggregate from which senders. A graph is a list of parts over the same
 * n_dst receivers and n_src senders; a part stores either edges (CSR by receiver) or spans (one
 * range of senders per receiver, nothing per edge). A complete graph over n tokens takes O(n)
 * memory.
 *
 *       receivers i          senders j
 *          0  <------------  0 1 2
 *
 *     edges: senders of i are indices[indptr[i]] .. indices[indptr[i + 1] - 1]
 *     spans: senders of i are src_order[lo[i]] .. src_order[hi[i] - 1]
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

/* ---- constructors: explicit edges. All arrays are copied; those of type gnn_ints_t are int32 or
 * int64 and are passed as pointers (gnn/tensor.h) ---- */

/**
 * Makes a graph from CSR by receiver: the senders of receiver i are indices[k] for indptr[i] <= k <
 * indptr[i+1], and k is the edge id. Parallel edges are allowed.
 *
 *     gnn_graph_from_csr(&graph, n, n, indptr, indices);
 *
 * @param[in] indptr   (n_dst + 1)
 * @param[in] indices  (indptr[n_dst]) senders; may be NULL if there are none
 * @return GNN_OK; GNN_ETOPOLOGY (indptr not monotone or not starting at 0, index out of range: the
 *         message gives its position); GNN_EOVERFLOW: an index does not fit in 32 bits;
 *         GNN_EINVALID (negative sizes); GNN_EMEMORY. O(n + m)
 */
GNN_API int gnn_graph_from_csr(gnn_graph_t **graph, int64_t n_dst, int64_t n_src, gnn_ints_t indptr,
                               gnn_ints_t indices);

/**
 * Like gnn_graph_from_csr, but borrows arrays of the graph's own types (int64 `indptr`, int32
 * `indices`): they must not change, and `owner` (NULL: they outlive the graph) is released once,
 * when the graph is freed; not if this call fails. The arrays are checked here, which reads them
 * once; an array of the other type is copied. Views that are prepared later allocate memory of
 * their own. O(n + m) time, O(n) memory.
 *
 * @param[in] indptr   (n_dst + 1)
 * @param[in] indices  (indptr[n_dst]) senders
 * @param[in] owner    released with the graph; NULL: the arrays outlive it
 * @return as gnn_graph_from_csr
 */
GNN_API int gnn_graph_borrow_csr(gnn_graph_t **graph, int64_t n_dst, int64_t n_src,
                                 gnn_ints_t indptr, gnn_ints_t indices, const gnn_owner_t *owner);

/** Makes a graph from edge arrays: edge k goes from src[k] to dst[k], and k is the edge
 * id. Errors: as gnn_graph_from_csr. O(n + m). */
GNN_API int gnn_graph_from_edges(gnn_graph_t **graph, int64_t n_dst, int64_t n_src, int64_t m,
                                 gnn_ints_t src, gnn_ints_t dst);

/**
 * Makes a graph from spans: the senders of receiver dst_order[r] (r if NULL) are src_order[k] (k if
 * NULL) for lo[r] <= k < hi[r]. lo and hi must be non-decreasing with lo <= hi; an empty span is
 * allowed.
 *
 * @param[in] dst_order  (n_dst) a permutation; NULL: r
 * @param[in] src_order  (n_src) a permutation; NULL: k
 * @param[in] lo, hi     (n_dst)
 * @return GNN_OK; GNN_EINVALID (a NULL, a negative size); GNN_ETOPOLOGY (lo, hi, not a
 *         permutation), with the position; GNN_EOVERFLOW: a size or index does not fit in 32 bits;
 *         GNN_EMEMORY
 */
GNN_API int gnn_graph_from_spans(gnn_graph_t **graph, int64_t n_dst, int64_t n_src,
                                 gnn_ints_t dst_order, gnn_ints_t src_order, gnn_ints_t lo,
                                 gnn_ints_t hi);

/* ---- constructors: topologies over lists of segments (a batch of sentences is one graph; rows are
 * concatenated without padding) ---- */

/**
 * Complete graphs: every node receives from every node of its segment. O(n) time and memory.
 *
 * @param[in] lengths  (segments) nodes of each segment, at least 0
 * @return GNN_OK; GNN_EINVALID (a NULL, a negative length); GNN_EOVERFLOW: more than 2^31 - 1
 *         nodes; GNN_EMEMORY
 */
GNN_API int gnn_graph_complete(gnn_graph_t **graph, int64_t segments, const int64_t *lengths);
/**
 * Causal graphs: position p receives from positions 0..p of its segment.
 *
 * @param[in] lengths  (segments) nodes of each segment, at least 0
 * @return as gnn_graph_complete
 */
GNN_API int gnn_graph_causal(gnn_graph_t **graph, int64_t segments, const int64_t *lengths);
/**
 * Sliding windows: position p receives from p + k*dilation for k in -width..width (-width..0 if
 * causal) inside its segment.
 *
 * @param[in] lengths   (segments) nodes of each segment, at least 0
 * @param[in] width     at least 0
 * @param[in] dilation  at least 1
 * @param[in] causal    GNN_ON: only earlier positions
 * @return as gnn_graph_complete; GNN_EINVALID (width, dilation, causal)
 */
GNN_API int gnn_graph_window(gnn_graph_t **graph, int64_t segments, const int64_t *lengths,
                             int64_t width, int64_t dilation, gnn_flag_t causal);
/**
 * Bipartite graphs: every receiver of segment s (dst_lengths[s] of them) receives from every sender
 * of segment s (src_lengths[s]): cross-attention, readouts.
 *
 * @param[in] dst_lengths  (segments) receivers of each segment, at least 0
 * @param[in] src_lengths  (segments) senders of each segment, at least 0
 * @return GNN_OK; GNN_EINVALID (a NULL, a negative length); GNN_EOVERFLOW: more than 2^31 - 1
 *         nodes; GNN_EMEMORY
 */
GNN_API int gnn_graph_bipartite(gnn_graph_t **graph, int64_t segments, const int64_t *dst_lengths,
                                const int64_t *src_lengths);
/**
 * Longformer's pattern: a window, and `globals` (m distinct node ids) that receive from and send to
 * their whole segment. Three disjoint parts. Paper: Beltagy et al. 2020.
 *
 * @param[in] lengths  (segments) nodes of each segment, at least 0
 * @param[in] width    of the window, at least 0
 * @param[in] m        count of the global nodes
 * @param[in] globals  (m) distinct node ids
 * @return as gnn_graph_complete; GNN_EINVALID (width, m); GNN_ETOPOLOGY: a global node is not a
 *         node, or a duplicate
 */
GNN_API int gnn_graph_window_global(gnn_graph_t **graph, int64_t segments, const int64_t *lengths,
                                    int64_t width, int64_t m, gnn_ints_t globals);

/* ---- unions ---- */

/**
 * The disjoint union of graphs: ids of nodes and edges are offset graph by graph.
 *
 * @param[in] count   count of the graphs, at least 1
 * @param[in] graphs  (count) they stay the caller's
 * @return GNN_OK; GNN_EINVALID (a NULL, count); GNN_EOVERFLOW: too many nodes or edges; GNN_EMEMORY
 */
GNN_API int gnn_graph_batch(gnn_graph_t **graph, int64_t count, const gnn_graph_t *const *graphs);
/**
 * The union of graphs over the same nodes, whose parts become the parts of one graph: all must have
 * the same n_dst and n_src. Edge ids are offset part by part.
 *
 * @param[in] count   count of the graphs, at least 1
 * @param[in] graphs  (count) they stay the caller's
 * @return GNN_OK; GNN_EINVALID (a NULL, count); GNN_ESHAPE: n_dst or n_src differs; GNN_EMEMORY
 */
GNN_API int gnn_graph_merge(gnn_graph_t **graph, int64_t count, const gnn_graph_t *const *graphs);
/**
 * A graph with the same pairs, all stored as edges (spans are expanded; edge ids ascend by receiver
 * in each part). O(m) memory.
 *
 * @return GNN_OK; GNN_EINVALID (a NULL); GNN_EMEMORY
 */
GNN_API int gnn_graph_to_edges(gnn_graph_t **graph, const gnn_graph_t *of);

/**
 * Divides a graph into segments: segment s holds lengths[s] consecutive nodes, as if the graph were
 * a gnn_graph_batch.
 *
 * @param[in,out] graph  stores edges, not spans; n_dst == n_src; without segments and prepared
 *                       views
 * @param[in] lengths    (segments), each >= 0, n in all
 * @return GNN_OK; GNN_EINVALID; GNN_ETOPOLOGY: an edge connects two segments, or the graph has
 *         spans, segments or n_dst != n_src; GNN_ESHAPE: the lengths do not add up to n;
 *         GNN_EMEMORY. O(n + m)
 */
GNN_API int gnn_graph_cut(gnn_graph_t *graph, int64_t segments, const int64_t *lengths);

/* ---- derived graphs ---- */

/**
 * The incidence graph: its senders are the edges of `of`, and receiver i receives from its incoming
 * edges. Values on edges (gnn_tape_edge_rows) are aggregated over it.
 *
 * @param[in] of  stores edges, not spans
 * @return GNN_OK; GNN_EUNSUPPORTED: a part of it stores spans (gnn_graph_to_edges); GNN_EMEMORY.
 *         O(n + m) time and memory
 */
GNN_API int gnn_graph_incidence(gnn_graph_t **graph, const gnn_graph_t *of);
/**
 * The pairs of part p alone, as edges, with edge ids ascending by receiver: one relation of a graph
 * whose parts are relations. GNN_EINVALID: there is no such part. O(n + m).
 *
 * @param[in] p  index of the part
 */
GNN_API int gnn_graph_part(gnn_graph_t **graph, const gnn_graph_t *of, int64_t p);
/**
 * The k-nearest-neighbour graph: each row receives from the k nearest rows of its segment, itself
 * included, nearest first; ties are broken by the lower index. In a segment of fewer than k rows it
 * receives from all.
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
 * Nodes by community, and by descending in-degree within each: neighbours get close ids, so that a
 * thread, which owns a range of rows, finds its neighbours' rows in its own cache. The community of
 * the node with the largest in-degree comes first; then communities of high and low degree
 * alternate, so that ranges of equal length are nearly equal work. If the modularity is at most
 * 0.6, or the graph has spans, nodes are ordered by descending in-degree.
 *
 * @param[in] graph   n_dst == n_src == n
 * @param[out] order  (n), caller's
 * @return GNN_OK; GNN_EINVALID (a NULL); GNN_ETOPOLOGY (n_dst != n_src); GNN_EMEMORY. Cost: O(n)
 *         memory, at most 13 passes over the edges: 14 ms for 88,648, 0.3 s for 2.3 million.
 *         Deterministic for a given node numbering.
 * Paper: Blondel et al. 2008 (Louvain).
 */
GNN_API int gnn_graph_community_order(const gnn_graph_t *graph, int64_t *order);
/**
 * A graph with permuted node ids: node order[r] becomes node r. A layer's output has the same rows
 * in the new order, up to rounding; dropout and distances between nodes follow the new ids.
 *
 * Edges keep their ids, so edge inputs need no permutation; the senders of a receiver are sorted.
 * Spans stay spans, with both permutations stored. Prepared views are not copied.
 *
 * @param[out] graph  the new graph; `of` stays the caller's
 * @param[in] of      n_dst == n_src == n, without segments
 * @param[in] order   (n) a permutation of the nodes
 * @return GNN_OK; GNN_EINVALID (a NULL; not a permutation: the message gives the index);
 *         GNN_ETOPOLOGY (n_dst != n_src); GNN_EUNSUPPORTED (the graph has segments, whose nodes
 *         must stay consecutive); GNN_EMEMORY. Cost: O(n + m).
 */
GNN_API int gnn_graph_renumber(gnn_graph_t **graph, const gnn_graph_t *of, gnn_ints_t order);

/* The constructors above, for plain pointers. */
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

/** Frees a graph with its views; may be NULL. */
GNN_API void gnn_graph_free(gnn_graph_t *graph);

/* ---- views ---- */

/** Scaling of messages by degrees: none, D^-1/2 A D^-1/2 with in-degrees (GCN), or D^-1 A (rows add
 * up to 1). */
typedef enum {
    GNN_GRAPH_NORM_DEFAULT = 0,
    GNN_GRAPH_NORM_NONE,
    GNN_GRAPH_NORM_SYMMETRIC,
    GNN_GRAPH_NORM_ROW
} gnn_graph_norm_t;

/** A view of a graph: with self-loops, scaled by degrees, with its transpose. All zero: the graph
 * as it was made. */
typedef struct gnn_view {
    /** ON: i -> i is added where it is missing (weight 1, features and bias 0); needs n_dst ==
     * n_src */
    gnn_flag_t self_loops;
    gnn_graph_norm_t norm;
    gnn_flag_t backward; /**< ON: with the transpose, which gradients need */
} gnn_view_t;

/**
 * Builds a view of a graph and caches it in the graph; repeated calls for the same view do nothing,
 * and a view with `backward` also serves as the one without. Not thread-safe on the same graph.
 * Errors: GNN_ETOPOLOGY (self-loops or symmetric norm on n_dst != n_src), GNN_EMEMORY.
 */
GNN_API int gnn_graph_prepare(gnn_graph_t *graph, const gnn_view_t *view);

/* ---- queries ---- */

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
/** Count of the segments (sentences, graphs of a batch); 0 if the graph has none. */
GNN_API int64_t gnn_graph_n_segments(const gnn_graph_t *graph);
/** segments + 1 offsets into receivers, owned by the graph. NULL if the graph has no segments. */
GNN_API const int64_t *gnn_graph_dst_segments(const gnn_graph_t *graph);
/** segments + 1 offsets into senders, owned by the graph. NULL if the graph has no segments. */
GNN_API const int64_t *gnn_graph_src_segments(const gnn_graph_t *graph);

/**
 * Writes all pairs as edge arrays (m = gnn_graph_n_pairs each, caller's), part after part, receiver
 * after receiver. edge[k] is the edge id, or -1 for a pair of a span.
 *
 * @param[out] src   (m) the senders; may be NULL
 * @param[out] dst   (m) the receivers; may be NULL
 * @param[out] edge  (m) the edge ids; may be NULL
 * @return GNN_OK; GNN_EINVALID (a NULL); GNN_EMEMORY
 */
GNN_API int gnn_graph_pairs(const gnn_graph_t *graph, int64_t *src, int64_t *dst, int64_t *edge);

/** The senders of one receiver in one part; the two functions below read pairs 0 .. count - 1.
 * Pointers are the graph's. */
typedef struct gnn_graph_row_s {
    int64_t count;
    const int32_t *senders; /**< (count); NULL: first, first + 1, ... */
    int64_t first;
    /** (count) edge ids; NULL: first_edge, first_edge + 1, ... */
    const int64_t *edges;
    int64_t first_edge; /**< -1: pairs of a span, which have no edge ids */
} gnn_graph_row_t;

/**
 * The senders of receiver i in part p, for edges and spans alike, without a copy. Self-loops that
 * views add are not included.
 *
 * @param[in]  p    index of the part
 * @param[in]  i    the receiver
 * @param[out] row  valid as long as the graph
 * @return GNN_OK; GNN_EINVALID (a NULL, no such part or receiver). O(1). Threads: only reads the
 *         graph.
 */
GNN_API int gnn_graph_row(const gnn_graph_t *graph, int64_t p, int64_t i, gnn_graph_row_t *row);
/**
 * The k-th sender of this row, 0 <= k < count.
 *
 * @param[in] k  from 0 to row->count less 1; not checked
 */
static inline int64_t gnn_graph_row_sender(const gnn_graph_row_t *row, int64_t k)
{
    return row->senders ? row->senders[k] : row->first + k;
}
/**
 * The edge id of the k-th pair of this row, or -1 for a pair of a span.
 *
 * @param[in] k  from 0 to row->count less 1; not checked
 */
static inline int64_t gnn_graph_row_edge(const gnn_graph_row_t *row, int64_t k)
{
    return row->edges ? row->edges[k] : row->first_edge < 0 ? -1 : row->first_edge + k;
}

/* ---- the table of topologies (graphs/topologies.def): for option parsers and tests ---- */

/** A topology over segments: an entry of the table of topologies. */
typedef struct gnn_topology {
    const char *name, *help;
    /** Builds the topology over segments from "name=value" options (NULL: defaults), e.g.
     * "width=4,dilation=2". */
    int (*build)(gnn_graph_t **graph, int64_t segments, const int64_t *lengths, const char *options);
} gnn_topology_t;

/** Entry `index` of the table of topologies, from 0; NULL past the last. */
GNN_API const gnn_topology_t *gnn_topology_at(size_t index);
/** The topology of a name; NULL if there is none. */
GNN_API const gnn_topology_t *gnn_topology_find(const char *name);
/**
 * Makes a graph of an entry of the table by its name: gnn_graph_topology(&graph, "strided", 1, &n,
 * "stride=16"). GNN_ENOTFOUND lists the names, GNN_EINVALID the options. Patterns of spans take
 * O(n) memory per part (docs/graphs.md).
 *
 * @param[in] options  "name=value,..."; NULL: defaults
 */
GNN_API int gnn_graph_topology(gnn_graph_t **graph, const char *name, int64_t segments,
                               const int64_t *lengths, const char *options);

/** Combination of the weights of i -> j and j -> i into that of an undirected edge. */
typedef enum { GNN_BOTH_SUM = 0, GNN_BOTH_MAX } gnn_both_ways_t;

/**
 * A force-directed layout of a graph in the plane, in which edges attract in proportion to their
 * weight. The same seed gives the same positions.
 *
 * @param[in]  weight     one per pair of gnn_graph_pairs, finite; those of both directions add up,
 *                        and sums below 1e-6 count as 1e-6; NULL: equal weights
 * @param[out] positions  (n x 2), caller's; overwritten
 * @return GNN_OK; GNN_EINVALID; GNN_ETOPOLOGY; GNN_ESHAPE; GNN_ENUMERIC: a weight is not finite;
 *         GNN_EMEMORY. O(500 (n^2 + m)) time up to 300 nodes, O(500 (n log n + m)) of more, O(n +
 *         m) memory. Papers: Fruchterman and Reingold 1991; Barnes and Hut 1986.
 */
GNN_API int gnn_graph_layout_weighted(const gnn_graph_t *graph, const gnn_real_t *weight,
                                      uint64_t seed, const gnn_tensor_t *positions);

/**
 * Laplacian eigenvectors as positional features: column c is the eigenvector of I - D^-1/2 A D^-1/2
 * with the (c + 2)-th smallest eigenvalue; the first one, which depends on degrees only, is
 * skipped. A is the symmetrised adjacency without self-loops. With several components the
 * eigenvalue 0 is repeated, and any basis of its eigenvectors may be returned.
 *
 * Sign: the element of the largest magnitude (the first of several) is positive. Vectors have
 * length 1. A graph of n nodes has n - 1 such vectors; further columns are 0.
 *
 * @param[in]  graph      n_dst == n_src
 * @param[out] positions  (n x k), caller's
 * @param[out] values     (k) eigenvalues, from 0 to 2; may be NULL
 * @return GNN_OK; GNN_EINVALID; GNN_ETOPOLOGY; GNN_ESHAPE; GNN_ENUMERIC: no convergence;
 *         GNN_EUNSUPPORTED: over 20,000 nodes without gnn_igraph_use; GNN_EMEMORY.
 *
 * Cost: O(n^3), by LAPACK; after gnn_igraph_use (gnn/igraph.h), above 400 nodes with k < n / 4,
 * O(iterations (m + n k)), by ARPACK. Paper: Dwivedi and Bresson 2021.
 */
GNN_API int gnn_graph_laplacian_positions(const gnn_graph_t *graph, const gnn_tensor_t *positions,
                                          gnn_real_t *values);
/**
 * Random-walk positional features: column c is the probability that a walk of c + 1 uniform steps
 * along edges returns to its start, the diagonal of (D^-1 A)^(c+1). A walk ends at a node without
 * outgoing edges.
 *
 * @param[out] positions  (n x k), caller's
 * @return GNN_OK; GNN_EINVALID; GNN_ETOPOLOGY; GNN_ESHAPE; GNN_EMEMORY. O(n m k) time, O(n + m)
 *         memory. Paper: Dwivedi et al. 2022.
 */
GNN_API int gnn_graph_walk_positions(const gnn_graph_t *graph, const gnn_tensor_t *positions);

/**
 * Frees an array that libgnn returned; may be NULL.
 *
 * @param[in] memory  the array; may be NULL
 */
GNN_API void gnn_free(void *memory);

#ifdef __cplusplus
}
#endif
#endif
