/* A graph's memory, segments, accessors and blocks. The two forms of a part are drawn in
 * <gnn/graph.h>. */
#include <graphs/build.h>
#include <graphs/graph.h>
#include <lib/base/ranks.h>

/* Grows the list of owned arrays, whose capacity is a power of two. */
static int grow_owned(gnn_graph_t *graph, int64_t n)
{
    if ((n & (n - 1)) != 0)
        return GNN_OK;
    const int64_t room = n ? 2 * n : 1;
    if (graph->room)
        GNN_TRY(gnn__grow(&graph->room, n, room, sizeof *graph->room, "sizes of a graph's arrays"));
    return gnn__grow(&graph->owned, n, room, sizeof *graph->owned, "list of a graph's arrays");
}

/* Blocks: reuses the array that had this index before, zeroed, or replaces it by a larger one. */
static int reuse_owned(gnn_graph_t *graph, void **array, int64_t count, size_t element,
                       const char *what)
{
    const int64_t k = graph->n_owned;
    size_t bytes;
    GNN_TRY(gnn__bytes(count, element, what, &bytes));
    if (k == graph->n_kept) {
        GNN_TRY(grow_owned(graph, k));
        graph->n_kept++;
    }
    *array = graph->owned[k];
    if (*array && bytes <= graph->room[k]) {
        memset(*array, 0, bytes);
        return GNN_OK;
    }
    gnn_free(graph->owned[k]);
    graph->owned[k] = NULL;
    graph->room[k] = 0;
    GNN_TRY(gnn__new(array, (int64_t)(bytes + bytes / 8), 1, what));
    graph->owned[k] = *array;
    graph->room[k] = bytes + bytes / 8;
    return GNN_OK;
}

int gnn__graph_own(gnn_graph_t *graph, void *out, int64_t count, size_t element, const char *what)
{
    void *array;
    if (graph->room)
        GNN_TRY(reuse_owned(graph, &array, count, element, what));
    else {
        GNN_TRY(grow_owned(graph, graph->n_owned));
        GNN_TRY(gnn__new(&array, count, element, what));
    }
    graph->owned[graph->n_owned++] = array;
    memcpy(out, &array, sizeof array);
    return GNN_OK;
}

int gnn__graph_own_copy(gnn_graph_t *graph, void *out, const void *from, int64_t count,
                        size_t element, const char *what)
{
    void *array = NULL;
    if (from) {
        GNN_TRY(gnn__graph_own(graph, &array, count, element, what));
        memcpy(array, from, (size_t)count * element);
    }
    memcpy(out, &array, sizeof array);
    return GNN_OK;
}

void gnn__graph_forget(gnn_graph_t *graph, int64_t mark)
{
    if (graph->room)
        graph->n_owned = mark;
    while (graph->n_owned > mark)
        gnn_free(graph->owned[--graph->n_owned]);
}

int gnn__graph_check_size(const char *name, int64_t n)
{
    if (n < 0)
        return gnn__error(GNN_EINVALID, "%s = %lld is negative", name, (long long)n);
    if (n > INT32_MAX)
        return gnn__error(GNN_EOVERFLOW, "%s = %lld nodes, a graph has at most %d", name,
                          (long long)n, INT32_MAX);
    return GNN_OK;
}

int gnn__graph_new(gnn_graph_t **graph, int64_t n_dst, int64_t n_src, int64_t n_parts)
{
    *graph = NULL;
    GNN_TRY(gnn__graph_check_size("n_dst", n_dst));
    GNN_TRY(gnn__graph_check_size("n_src", n_src));
    int rc;
    gnn_graph_t *g;
    GNN_TRY(gnn__new(&g, 1, sizeof *g, "graph"));
    g->n_dst = n_dst;
    g->n_src = n_src;
    g->base.key =
        (gnn_view_t){.self_loops = GNN_OFF, .norm = GNN_GRAPH_NORM_NONE, .backward = GNN_OFF};
    GNN_CHECK(gnn__graph_own(g, &g->base.parts, n_parts, sizeof *g->base.parts, "parts of a graph"));
    g->base.n_parts = n_parts;
    for (int64_t p = 0; p < n_parts; p++)
        g->base.parts[p].pairs = (gnn__pairs_t){.n_rows = n_dst, .n_cols = n_src};
    *graph = g;
    return GNN_OK;
done:
    gnn_graph_free(g);
    return rc;
}

void gnn_graph_free(gnn_graph_t *graph)
{
    if (!graph)
        return;
    if (graph->room) {
        graph->n_owned = graph->n_kept;
        gnn_free(graph->room);
        graph->room = NULL;
    }
    gnn__graph_forget(graph, 0);
    gnn_free(graph->owned);
    gnn_free(graph->views);
    if (graph->halo)
        graph->halo_free(graph->halo);
    if (graph->owner.release)
        graph->owner.release(graph->owner.user);
    gnn_free(graph);
}

int gnn__graph_add_segments(gnn_graph_t *graph, int64_t segments)
{
    if (segments == 0)
        return GNN_OK;
    GNN_TRY(gnn__graph_own(graph, &graph->dst_segments, segments + 1, sizeof(int64_t),
                           "segment offsets"));
    GNN_TRY(gnn__graph_own(graph, &graph->src_segments, segments + 1, sizeof(int64_t),
                           "segment offsets"));
    GNN_TRY(gnn__graph_own(graph, &graph->dst_start, segments, sizeof(int64_t), "segment starts"));
    GNN_TRY(gnn__graph_own(graph, &graph->src_start, segments, sizeof(int64_t), "segment starts"));
    graph->n_segments = segments;
    return GNN_OK;
}

int gnn__graph_copy_segments(gnn_graph_t *graph, const gnn_graph_t *from)
{
    size_t bytes = (size_t)from->n_segments * sizeof(int64_t);
    if (from->n_segments == 0)
        return GNN_OK;
    GNN_TRY(gnn__graph_add_segments(graph, from->n_segments));
    memcpy(graph->dst_segments, from->dst_segments, bytes + sizeof(int64_t));
    memcpy(graph->src_segments, from->src_segments, bytes + sizeof(int64_t));
    memcpy(graph->dst_start, from->dst_start, bytes);
    memcpy(graph->src_start, from->src_start, bytes);
    return GNN_OK;
}

static int sum_lengths(const char *name, int64_t segments, const int64_t *lengths, int64_t *total)
{
    *total = 0;
    if (segments < 0)
        return gnn__error(GNN_EINVALID, "segments = %lld is negative", (long long)segments);
    if (segments > 0 && !lengths)
        return gnn__error(GNN_EINVALID, "%s is NULL for %lld segments", name, (long long)segments);
    for (int64_t s = 0; s < segments; s++) {
        if (lengths[s] < 0)
            return gnn__error(GNN_EINVALID, "%s[%lld] = %lld is negative", name, (long long)s,
                              (long long)lengths[s]);
        if (!gnn__add(*total, lengths[s], total) || *total > INT32_MAX)
            return gnn__error(GNN_EOVERFLOW, "%s[0..%lld] add up to more than %d nodes", name,
                              (long long)s, INT32_MAX);
    }
    return GNN_OK;
}

int gnn__graph_new_segments(gnn_graph_t **graph, int64_t segments, const int64_t *dst_lengths,
                            const int64_t *src_lengths, int64_t n_parts)
{
    *graph = NULL;
    int64_t n_dst, n_src;
    bool same = dst_lengths == src_lengths;
    GNN_TRY(sum_lengths(same ? "lengths" : "dst_lengths", segments, dst_lengths, &n_dst));
    GNN_TRY(sum_lengths(same ? "lengths" : "src_lengths", segments, src_lengths, &n_src));
    int rc;
    gnn_graph_t *g;
    GNN_TRY(gnn__graph_new(&g, n_dst, n_src, n_parts));
    GNN_CHECK(gnn__graph_add_segments(g, segments));
    for (int64_t s = 0; s < segments; s++) {
        g->dst_segments[s + 1] = g->dst_segments[s] + dst_lengths[s];
        g->src_segments[s + 1] = g->src_segments[s] + src_lengths[s];
    }
    *graph = g;
    return GNN_OK;
done:
    gnn_graph_free(g);
    return rc;
}

void gnn__pairs_count_degrees(const gnn__pairs_t *pairs, int64_t *degree)
{
    for (int64_t r = 0; r < pairs->n_rows; r++)
        degree[gnn__pairs_node(pairs, r)] += gnn__pairs_to(pairs, r) - gnn__pairs_from(pairs, r);
}

/* Finds the row of each receiver, for gnn_graph_row, in parts with a row order. */
static int index_rows(gnn_graph_t *graph, gnn__part_t *part)
{
    const gnn__pairs_t *pairs = &part->pairs;
    int32_t *row_of;
    part->row_of = NULL; /* of another graph, if the part was copied */
    if (!pairs->row_order)
        return GNN_OK;
    GNN_TRY(gnn__graph_own(graph, &row_of, pairs->n_rows, sizeof *row_of, "rows of receivers"));
    for (int64_t r = 0; r < pairs->n_rows; r++)
        row_of[pairs->row_order[r]] = (int32_t)r;
    part->row_of = row_of;
    return GNN_OK;
}

int gnn__graph_deliver(gnn_graph_t **graph, gnn_graph_t *built, int rc)
{
    int64_t *degree;
    if (!graph && rc == GNN_OK)
        rc = gnn__error(GNN_EINVALID, "the pointer to the new graph is NULL");
    GNN_CHECK(rc);
    GNN_CHECK(gnn__graph_own(built, &degree, built->n_dst, sizeof *degree, "degrees"));
    for (int64_t p = 0; p < built->base.n_parts; p++)
        gnn__pairs_count_degrees(&built->base.parts[p].pairs, degree);
    built->base.degree = degree;
    for (int64_t p = 0; p < built->base.n_parts; p++)
        GNN_CHECK(index_rows(built, &built->base.parts[p]));
    *graph = built;
    return GNN_OK;
done:
    gnn_graph_free(built);
    if (graph)
        *graph = NULL;
    return rc;
}

int64_t gnn_graph_n_dst(const gnn_graph_t *graph)
{
    GNN__NEED_OR(graph, 0);
    return graph->n_dst;
}

int64_t gnn_graph_n_src(const gnn_graph_t *graph)
{
    GNN__NEED_OR(graph, 0);
    return graph->n_src;
}

int64_t gnn_graph_n_edges(const gnn_graph_t *graph)
{
    GNN__NEED_OR(graph, 0);
    return graph->n_edges;
}

int64_t gnn_graph_n_pairs(const gnn_graph_t *graph)
{
    GNN__NEED_OR(graph, 0);
    int64_t pairs = 0;
    for (int64_t p = 0; p < graph->base.n_parts; p++)
        pairs += graph->base.parts[p].pairs.count;
    return pairs;
}

int64_t gnn_graph_n_parts(const gnn_graph_t *graph)
{
    GNN__NEED_OR(graph, 0);
    return graph->base.n_parts;
}

bool gnn__graph_part_is_spans(const gnn_graph_t *graph, int64_t p)
{
    return p >= 0 && p < graph->base.n_parts &&
           gnn__pairs_form(&graph->base.parts[p].pairs) == GNN__SPANS;
}

int64_t gnn_graph_n_segments(const gnn_graph_t *graph)
{
    GNN__NEED_OR(graph, 0);
    return graph->n_segments;
}

const int64_t *gnn_graph_dst_segments(const gnn_graph_t *graph)
{
    GNN__NEED_OR(graph, NULL);
    return graph->dst_segments;
}

const int64_t *gnn_graph_src_segments(const gnn_graph_t *graph)
{
    GNN__NEED_OR(graph, NULL);
    return graph->src_segments;
}

int gnn__graph_set_start(gnn_graph_t *graph, int64_t segment, int64_t dst_start, int64_t src_start)
{
    const int64_t most = INT32_MAX;
    GNN__NEED(graph);
    if (graph->n_segments == 0)
        return gnn__error(GNN_ETOPOLOGY, "the start of a segment: the graph has no segments");
    if (segment < 0 || segment >= graph->n_segments)
        return gnn__error(GNN_EINVALID,
                          "the start of a segment: expected a segment 0 to %lld, got %lld",
                          (long long)graph->n_segments - 1, (long long)segment);
    if (dst_start < -most || dst_start > most || src_start < -most || src_start > most)
        return gnn__error(GNN_EINVALID,
                          "starts %lld and %lld of segment %lld: positions must be below 2^31",
                          (long long)dst_start, (long long)src_start, (long long)segment);
    graph->dst_start[segment] = dst_start;
    graph->src_start[segment] = src_start;
    return GNN_OK;
}

int gnn__part_set_positions(gnn_graph_t *graph, int64_t p, const int64_t *dst, const int64_t *src)
{
    gnn__part_t *part = &graph->base.parts[p];
    GNN_TRY(gnn__graph_own_copy(graph, &part->dst_position, dst, graph->n_dst, sizeof *dst,
                                "positions of receivers"));
    return gnn__graph_own_copy(graph, &part->src_position, src, graph->n_src, sizeof *src,
                               "positions of senders");
}

bool gnn__graph_has_positions(const gnn_graph_t *graph)
{
    bool has = false;
    for (int64_t p = 0; p < graph->base.n_parts; p++)
        has |= graph->base.parts[p].dst_position != NULL;
    return has;
}

/* The segment s with offsets[s] <= at < offsets[s + 1]; empty segments are skipped. */
static int64_t find_segment(const int64_t *offsets, int64_t segments, int64_t at)
{
    if (segments == 0)
        return -1;
    int64_t low = 0, high = segments;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (offsets[middle] <= at)
            low = middle;
        else
            high = middle;
    }
    return low;
}

int64_t gnn__graph_dst_segment(const gnn_graph_t *graph, int64_t i)
{
    return find_segment(graph->dst_segments, graph->n_segments, i);
}

int64_t gnn__graph_src_segment(const gnn_graph_t *graph, int64_t j)
{
    return find_segment(graph->src_segments, graph->n_segments, j);
}

int64_t gnn__graph_distance(const gnn_graph_t *graph, int64_t i, int64_t j)
{
    if (graph->n_segments == 0)
        return j - i;
    int64_t a = gnn__graph_dst_segment(graph, i), b = gnn__graph_src_segment(graph, j);
    return (j - graph->src_segments[b] + graph->src_start[b]) -
           (i - graph->dst_segments[a] + graph->dst_start[a]);
}

int64_t gnn__pairs_max_chunks(const gnn__pairs_t *p, int64_t per)
{
    if (p->sliced)
        return p->n_rows / GNN_SLICE + 2;
    return p->n_rows == 0 ? 0 : (p->count + p->n_rows) / (per > 0 ? per : 1) + 1;
}

/* The first row after `from` at which rows and edges since `from` reach `per`. */
static int64_t chunk_end(const gnn__pairs_t *p, int64_t from, int64_t per)
{
    int64_t low = from + 1, high = p->n_rows;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (p->indptr[middle] - p->indptr[from] + middle - from >= per)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Over ranks a chunk is a slice of own rows; the halo's rows, which are empty, are the last. */
static int64_t slice_end(const gnn__pairs_t *p, int64_t from)
{
    return from < p->own_rows ? gnn__min(from + GNN_SLICE, p->own_rows) : p->n_rows;
}

/* A chunk ends as soon as it reaches `per`, so all but the last have at least that:
 * gnn__pairs_max_chunks suffices. */
int64_t gnn__pairs_chunks(const gnn__pairs_t *p, int64_t per, int64_t *bounds)
{
    int64_t chunks = 0, sum = 0;
    bounds[0] = 0;
    if (gnn__pairs_form(p) == GNN__EDGES) {
        while (bounds[chunks] < p->n_rows) {
            bounds[chunks + 1] =
                p->sliced ? slice_end(p, bounds[chunks]) : chunk_end(p, bounds[chunks], per);
            chunks++;
        }
        return chunks;
    }
    for (int64_t r = 0; r < p->n_rows; r++) {
        sum += p->hi[r] - p->lo[r] + 1;
        if (sum >= per || r + 1 == p->n_rows) {
            bounds[++chunks] = r + 1;
            sum = 0;
        }
    }
    return chunks;
}

/* ---- bytes of views ---- */

/* Bytes of one direction of a part that it does not share with `base` (NULL: all). */
static size_t side_bytes(const gnn__pairs_t *p, const gnn__pairs_t *base)
{
    const size_t rows = (size_t)p->n_rows, count = (size_t)p->count;
    size_t bytes = 0;
    if (p->indptr) {
        bytes += base && p->indptr == base->indptr ? 0 : (rows + 1) * sizeof *p->indptr;
        bytes += base && p->indices == base->indices ? 0 : count * sizeof *p->indices;
        bytes += !p->edge || (base && p->edge == base->edge) ? 0 : count * sizeof *p->edge;
    } else {
        bytes += base && p->lo == base->lo ? 0 : 2 * rows * sizeof *p->lo;
    }
    return bytes;
}

static size_t scale_bytes(const gnn__part_t *part)
{
    return ((part->scale_row ? (size_t)part->pairs.n_rows : 0) +
            (part->scale_col ? (size_t)part->pairs.n_cols : 0)) *
           sizeof(gnn_real_t);
}

size_t gnn__graph_bytes(const gnn_graph_t *graph, bool views_only)
{
    size_t bytes = 0;
    for (int64_t p = 0; !views_only && p < graph->base.n_parts; p++)
        bytes += side_bytes(&graph->base.parts[p].pairs, NULL);
    for (int64_t v = 0; v < graph->n_views; v++) {
        const gnn__built_view_t *view = graph->views[v];
        bytes += view->degree != graph->base.degree ? (size_t)graph->n_dst * sizeof *view->degree : 0;
        for (int64_t p = 0; p < view->n_parts; p++) {
            bytes += side_bytes(&view->parts[p].pairs, &graph->base.parts[p].pairs) +
                     scale_bytes(&view->parts[p]);
            if (view->transposed)
                bytes += side_bytes(&view->transposed[p].pairs, &graph->base.parts[p].pairs);
        }
    }
    return bytes;
}

/* ---- blocks of samples ---- */

/* Bipartite graphs whose receivers are their first senders. Each batch rebuilds
 * them, views included, in the memory of the previous one; only what exceeds it is allocated. */

int gnn__block_new(gnn_graph_t **block, const gnn__origin_t *origin)
{
    gnn_graph_t *g;
    *block = NULL;
    GNN_TRY(gnn__new(&g, 1, sizeof *g, "a block"));
    const int rc = gnn__new(&g->room, 1, sizeof *g->room, "a block");
    if (rc != GNN_OK) {
        gnn_free(g);
        return rc;
    }
    g->origin = origin;
    *block = g;
    return GNN_OK;
}

int gnn__block_begin(gnn_graph_t *g, int64_t n_dst, int64_t **indptr)
{
    g->n_views = 0;
    gnn__graph_forget(g, 0);
    g->n_dst = g->n_src = n_dst;
    g->n_edges = 0;
    g->base = (gnn__built_view_t){
        .key = {.self_loops = GNN_OFF, .norm = GNN_GRAPH_NORM_NONE, .backward = GNN_OFF}};
    GNN_TRY(gnn__graph_own(g, &g->base.parts, 1, sizeof *g->base.parts, "parts of a block"));
    GNN_TRY(gnn__graph_own(g, indptr, n_dst + 1, sizeof **indptr, "row pointers of a block"));
    g->base.parts[0].pairs = (gnn__pairs_t){.n_rows = n_dst, .n_cols = n_dst, .indptr = *indptr};
    g->base.n_parts = 1;
    return GNN_OK;
}

int gnn__block_edges(gnn_graph_t *g, int32_t **indices)
{
    gnn__pairs_t *pairs = &g->base.parts[0].pairs;
    g->n_edges = pairs->count = pairs->indptr[g->n_dst];
    GNN_TRY(gnn__graph_own(g, indices, g->n_edges, sizeof **indices, "edges of a block"));
    pairs->indices = *indices;
    return GNN_OK;
}

int gnn__block_end(gnn_graph_t *g, int64_t n_src)
{
    int64_t *degree;
    g->n_src = g->base.parts[0].pairs.n_cols = n_src;
    GNN_TRY(gnn__graph_own(g, &degree, g->n_dst, sizeof *degree, "degrees of a block"));
    gnn__pairs_count_degrees(&g->base.parts[0].pairs, degree);
    g->base.degree = degree;
    return GNN_OK;
}
