/* What the constructors of graphs/ share: memory that belongs to a graph, segments, spans,
 * transposes. */
#ifndef GNN_GRAPHS_BUILD_H
#define GNN_GRAPHS_BUILD_H

#include <graphs/graph.h>
#include <lib/base/base.h>

/* ---- graph.c ---- */

/* A number of nodes that fits int32: GNN_EINVALID if negative, GNN_EOVERFLOW if above 2^31 - 1. */
int gnn__graph_check_size(const char *name, int64_t n);
/* An empty graph with room for `n_parts` parts whose n_rows and n_cols are set. */
int gnn__graph_new(gnn_graph_t **graph, int64_t n_dst, int64_t n_src, int64_t n_parts);
/* The same over segments; the lengths are checked. */
int gnn__graph_new_segments(gnn_graph_t **graph, int64_t segments, const int64_t *dst_lengths,
                            const int64_t *src_lengths, int64_t n_parts);
/* Room for offsets and starts of `segments` segments, all 0. */
int gnn__graph_add_segments(gnn_graph_t *graph, int64_t segments);
int gnn__graph_copy_segments(gnn_graph_t *graph, const gnn_graph_t *from);
/* The end of every constructor: *graph = built with its degrees counted, or NULL and `built` freed
 * if rc says failure. */
int gnn__graph_deliver(gnn_graph_t **graph, gnn_graph_t *built, int rc);

/* *out = a zeroed array that is freed with the graph. */
int gnn__graph_own(gnn_graph_t *graph, void *out, int64_t count, size_t element, const char *what);
/* A copy of an array, owned by the graph; NULL stays NULL. */
int gnn__graph_own_copy(gnn_graph_t *graph, void *out, const void *from, int64_t count,
                        size_t element, const char *what);
/* Frees what was owned since graph->n_owned was `mark`. */
void gnn__graph_forget(gnn_graph_t *graph, int64_t mark);

/* Adds pairs to degree[i] of the nodes that hear them. */
void gnn__pairs_count_degrees(const gnn__pairs_t *pairs, int64_t *degree);

/* ---- block.c: a bipartite graph that is built again and again in the memory that it has; only
 * what outgrows that is allocated ---- */

int gnn__block_new(gnn_graph_t **block, const gnn__whole_t *whole);
/* Forgets what was there. *indptr: (n_dst + 1) zeros, to be filled. */
int gnn__block_begin(gnn_graph_t *block, int64_t n_dst, int64_t **indptr);
/* Room for the indptr[n_dst] senders, to be filled. */
int gnn__block_edges(gnn_graph_t *block, int32_t **indices);
/* All senders are below n_src >= n_dst. */
int gnn__block_end(gnn_graph_t *block, int64_t n_src);

/* ---- edges.c, spans.c, transpose.c, pairs.c ---- */

/* What gnn_graph_validate asks of every part. */
int gnn__check_csr(int64_t n_dst, int64_t n_src, const int64_t *indptr, const int32_t *indices);
int gnn__check_spans(int64_t n_dst, int64_t n_src, const int32_t *dst_order,
                     const int32_t *src_order, const int32_t *lo, const int32_t *hi);
/* Makes `pairs` the spans in which every receiver of a segment hears all its senders. */
int gnn__spans_whole_segments(gnn_graph_t *graph, gnn__pairs_t *pairs);
/* Makes `pairs` the spans of runs given in the receivers' own order, where silent receivers (lo
 * == hi) may stand anywhere: a silent receiver keeps its place if lo and hi can stay monotone, else
 * it moves to the end of the permutation with lo = hi = n_cols. Both arrays are the graph's. */
int gnn__spans_settle(gnn_graph_t *graph, gnn__pairs_t *pairs, int32_t *lo, int32_t *hi);
/* Runs given in the order of the rows; pairs->count becomes the sum of their lengths. */
void gnn__spans_set(gnn__pairs_t *pairs, const int32_t *lo, const int32_t *hi);

/* The part with receivers and senders swapped, scales included; arrays owned by the graph. */
int gnn__part_transpose(gnn_graph_t *graph, const gnn__part_t *part, gnn__part_t *out);

/* starts[i] .. starts[i + 1]: places of receiver i's pairs when they are listed receiver by
 * receiver (n_rows + 1 numbers). */
void gnn__pairs_starts(const gnn__pairs_t *pairs, int64_t *starts);

/* ---- continued.c ---- */

/* Rows after rows: segment s has before[s] (kept in its start) and gets counts[s], senders have
 * room for `capacity` each. */
int gnn__graph_continued(gnn_graph_t **graph, int64_t segments, const int64_t *before,
                         const int64_t *counts, int64_t capacity, int64_t window);

/* ---- renumber.c ---- */

/* *rank[order[r]] = r, the caller's to free. GNN_EINVALID, and *rank NULL, if `order` is no
 * permutation of n. */
int gnn__order_invert(int64_t n, const int64_t *order, int64_t **rank);
/* Edges of a new graph without spans get the numbers of their places, part after part; old[k] is
 * what edge k was before. */
void gnn__graph_place_edges(gnn_graph_t *graph, int64_t *old);
/* Edge k becomes edge number[k]. */
int gnn__graph_rename_edges(gnn_graph_t *graph, const int64_t *number);

/* ---- view.c ---- */

/* "self-loops, symmetric norm and transpose" into text. */
void gnn__view_name(const gnn_view_t *key, char *text, size_t size);
/* The `count` nodes that do not hear themselves: (*missing)[i] is 1. The caller frees `missing`. */
int gnn__view_missing_loops(const gnn__built_view_t *view, int64_t n, uint8_t **missing,
                            int64_t *count);
/* The factor that a degree gives under a norm: degree^-1/2 or 1/degree, 0 for degree 0. */
gnn_real_t gnn__norm_factor(gnn_graph_norm_t norm, int64_t degree);

/* ---- topology.c ---- */

/* One option of a topology, "name=value" with a value of at least `least`. */
typedef struct gnn__topology_option {
    const char *name;
    int64_t *value, least;
} gnn__topology_option_t;
/* Reads "a=1,b=2" into the options' values; *graph becomes NULL, as a builder that fails leaves it.
 * GNN_EINVALID names the topology, what was not understood and what there is. */
int gnn__options_parse(gnn_graph_t **graph, const char *topology, const char *text, int64_t count,
                       const gnn__topology_option_t *options);

#endif
