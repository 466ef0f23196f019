/* Helpers that the constructors of graphs share: memory owned by a graph, segments, spans,
 * transposes. */
#ifndef GNN_GRAPHS_BUILD_H
#define GNN_GRAPHS_BUILD_H

#include <graphs/graph.h>
#include <lib/base/base.h>

/* ---- graph.c ---- */

/* Checks that a count of nodes fits int32: GNN_EINVALID if negative, GNN_EOVERFLOW above 2^31 -
 * 1. */
int gnn__graph_check_size(const char *name, int64_t n);
/* An empty graph with `n_parts` parts whose n_rows and n_cols are set. */
int gnn__graph_new(gnn_graph_t **graph, int64_t n_dst, int64_t n_src, int64_t n_parts);
/* The same with segments; checks the lengths. */
int gnn__graph_new_segments(gnn_graph_t **graph, int64_t segments, const int64_t *dst_lengths,
                            const int64_t *src_lengths, int64_t n_parts);
/* Allocates offsets and starts for `segments` segments, all 0. */
int gnn__graph_add_segments(gnn_graph_t *graph, int64_t segments);
int gnn__graph_copy_segments(gnn_graph_t *graph, const gnn_graph_t *from);
/* Ends every constructor: on success counts the degrees and sets *graph; on failure frees `built`
 * and sets *graph to NULL. Returns rc or its own error. */
int gnn__graph_deliver(gnn_graph_t **graph, gnn_graph_t *built, int rc);

/* *out = a zeroed array that is freed with the graph. */
int gnn__graph_own(gnn_graph_t *graph, void *out, int64_t count, size_t element, const char *what);
/* *out = a copy of an array, owned by the graph; NULL stays NULL. */
int gnn__graph_own_copy(gnn_graph_t *graph, void *out, const void *from, int64_t count,
                        size_t element, const char *what);
/* Frees arrays that were added since graph->n_owned was `mark`. */
void gnn__graph_forget(gnn_graph_t *graph, int64_t mark);

/* degree[i] += in-degree of receiver i. */
void gnn__pairs_count_degrees(const gnn__pairs_t *pairs, int64_t *degree);

/* ---- graph.c: blocks of samples, bipartite graphs that are rebuilt in the memory that they
 * have ---- */

int gnn__block_new(gnn_graph_t **block, const gnn__origin_t *origin);
/* Clears the block. *indptr: (n_dst + 1) zeros, for the caller to fill. */
int gnn__block_begin(gnn_graph_t *block, int64_t n_dst, int64_t **indptr);
/* *indices: room for the indptr[n_dst] senders, for the caller to fill. */
int gnn__block_edges(gnn_graph_t *block, int32_t **indices);
/* Ends the block; all senders are below n_src >= n_dst. */
int gnn__block_end(gnn_graph_t *block, int64_t n_src);

/* ---- edges.c, spans.c, pairs.c ---- */

/* Checks of gnn__graph_validate for every part. */
int gnn__check_csr(int64_t n_dst, int64_t n_src, const int64_t *indptr, const int32_t *indices);
int gnn__check_spans(int64_t n_dst, int64_t n_src, const int32_t *dst_order,
                     const int32_t *src_order, const int32_t *lo, const int32_t *hi);
/* Makes `pairs` the spans of complete segments: every receiver gets all senders of its segment. */
int gnn__spans_whole_segments(gnn_graph_t *graph, gnn__pairs_t *pairs);
/* Makes `pairs` spans from runs in the order of receivers, in which empty runs (lo == hi) may have
 * any value. A receiver with an empty run keeps its row if lo and hi can stay monotone; otherwise
 * it moves to the end of the permutation with lo = hi = n_cols. The graph owns both arrays. */
int gnn__spans_settle(gnn_graph_t *graph, gnn__pairs_t *pairs, int32_t *lo, int32_t *hi);
/* Runs in the order of the rows; pairs->count becomes the sum of their lengths. */
void gnn__spans_set(gnn__pairs_t *pairs, const int32_t *lo, const int32_t *hi);

/* The part with receivers and senders exchanged, scales included; the graph owns the arrays. */
int gnn__part_transpose(gnn_graph_t *graph, const gnn__part_t *part, gnn__part_t *out);

/* starts[i] .. starts[i + 1]: positions of receiver i's pairs in a list ordered by receiver
 * (n_rows + 1 values). */
void gnn__pairs_starts(const gnn__pairs_t *pairs, int64_t *starts);

/* ---- topologies.c, patterns.c ---- */

/* An option of a topology, "name=value" with a value from `least` to `most`; most 0: 18 digits. At
 * most 32 options. */
typedef struct gnn__topology_option {
    const char *name;
    int64_t *value, least, most;
} gnn__topology_option_t;
/* Reads the options; *graph becomes NULL, as on every failure of a constructor. GNN_EINVALID names
 * the topology, the text and the options that exist. */
int gnn__topology_options(gnn_graph_t **graph, const char *topology, const char *text,
                          int64_t count, const gnn__topology_option_t *options);

/* The entries of topologies.def. */
#define GNN_TOPOLOGY(name, help)                                                            \
    int gnn__topology_##name(gnn_graph_t **graph, int64_t segments, const int64_t *lengths, \
                             const char *options);
#include <graphs/topologies.def>
#undef GNN_TOPOLOGY

/* Incremental decoding: segment s has before[s] rows already (kept in its start) and gets
 * counts[s] new ones; every segment has `capacity` senders. */
int gnn__graph_continued(gnn_graph_t **graph, int64_t segments, const int64_t *before,
                         const int64_t *counts, int64_t capacity, int64_t window);

/* ---- order.c ---- */

/* *rank[order[r]] = r; the caller frees it. GNN_EINVALID, and *rank NULL, if `order` is not a
 * permutation of n. */
int gnn__order_invert(int64_t n, const int64_t *order, int64_t **rank);
/* Renumbers the edges of a new graph without spans by position, part after part; old[k] receives
 * the previous id of edge k. */
void gnn__graph_number_edges(gnn_graph_t *graph, int64_t *old);
/* Gives edge k the id ids[k]. */
int gnn__graph_rename_edges(gnn_graph_t *graph, const int64_t *ids);

/* ---- view.c ---- */

/* Describes a view: "self-loops, symmetric norm and transpose". */
void gnn__view_name(const gnn_view_t *key, char *text, size_t size);
/* (*missing)[i] is 1 for the `count` nodes without a self-loop. The caller frees `missing`. */
int gnn__view_missing_loops(const gnn__built_view_t *view, int64_t n, uint8_t **missing,
                            int64_t *count);
/* Factor of a degree under a norm: degree^-1/2 or 1/degree; 0 for degree 0. */
gnn_real_t gnn__norm_factor(gnn_graph_norm_t norm, int64_t degree);

#endif
