/* Graphs derived from graphs or values: edges to receivers, one part, k nearest
 * neighbours, segments. */
#include <graphs/build.h>

/* ---- incidence and parts ---- */

typedef struct {
    int64_t *src, *dst, count;
} list_t;

static int list_new(list_t *list, int64_t room)
{
    GNN_TRY(gnn__new(&list->src, room, sizeof *list->src, "a list of senders"));
    return gnn__new(&list->dst, room, sizeof *list->dst, "a list of receivers");
}

static void list_free(list_t *list)
{
    gnn_free(list->src);
    gnn_free(list->dst);
}

static void list_add(list_t *list, int64_t src, int64_t dst)
{
    list->src[list->count] = src;
    list->dst[list->count++] = dst;
}

int gnn_graph_incidence(gnn_graph_t **graph, const gnn_graph_t *of)
{
    GNN__NEED(graph);
    GNN__NEED(of);
    list_t list = {.count = 0};
    int rc;
    for (int64_t p = 0; p < of->base.n_parts; p++)
        if (gnn__pairs_form(&of->base.parts[p].pairs) != GNN__EDGES &&
            of->base.parts[p].pairs.count > 0)
            return gnn__error(GNN_EUNSUPPORTED,
                              "part %lld of the graph stores spans: see gnn_graph_to_edges",
                              (long long)p);
    GNN_CHECK(list_new(&list, of->n_edges));
    for (int64_t p = 0; p < of->base.n_parts; p++) {
        const gnn__pairs_t *pairs = &of->base.parts[p].pairs;
        for (int64_t r = 0; r < pairs->n_rows; r++)
            for (int64_t at = gnn__pairs_from(pairs, r); at < gnn__pairs_to(pairs, r); at++)
                list_add(&list, gnn__pairs_edge(pairs, at), gnn__pairs_node(pairs, r));
    }
    GNN_CHECK(gnn_graph_from_edges(graph, of->n_dst, of->n_edges, list.count, list.src, list.dst));
done:
    list_free(&list);
    return rc;
}

int gnn_graph_part(gnn_graph_t **graph, const gnn_graph_t *of, int64_t p)
{
    GNN__NEED(graph);
    GNN__NEED(of);
    list_t list = {.count = 0};
    int rc;
    if (p < 0 || p >= of->base.n_parts)
        return gnn__error(GNN_EINVALID, "gnn_graph_part: expected a part 0 to %lld, got %lld",
                          (long long)of->base.n_parts - 1, (long long)p);
    const gnn__pairs_t *pairs = &of->base.parts[p].pairs;
    GNN_CHECK(list_new(&list, pairs->count));
    for (int64_t r = 0; r < pairs->n_rows; r++)
        for (int64_t at = gnn__pairs_from(pairs, r); at < gnn__pairs_to(pairs, r); at++)
            list_add(&list, gnn__pairs_col(pairs, at), gnn__pairs_node(pairs, r));
    GNN_CHECK(gnn_graph_from_edges(graph, of->n_dst, of->n_src, list.count, list.src, list.dst));
done:
    list_free(&list);
    return rc;
}

/* ---- k nearest neighbours ---- */

static double distance(const gnn_tensor_t *x, int64_t i, int64_t j)
{
    double sum = 0;
    for (int64_t c = 0; c < x->cols; c++) {
        const double d = (double)gnn__row(x, i)[c] - (double)gnn__row(x, j)[c];
        sum += d * d;
    }
    return sum;
}

/* The k nearest of rows from .. end - 1 to row i, by insertion into a sorted list; returns their
 * count. */
static int64_t nearest(const gnn_tensor_t *x, int64_t i, int64_t from, int64_t end, int64_t k,
                       double *distances, int64_t *rows)
{
    int64_t count = 0;
    for (int64_t j = from; j < end; j++) {
        const double d = distance(x, i, j);
        int64_t at = count < k ? count++ : k - 1;
        if (at == k - 1 && count == k && j - from >= k && !(d < distances[at]))
            continue;
        for (; at > 0 && d < distances[at - 1]; at--) {
            distances[at] = distances[at - 1];
            rows[at] = rows[at - 1];
        }
        distances[at] = d;
        rows[at] = j;
    }
    return count;
}

static int check_nearest(const gnn_tensor_t *x, int64_t segments, const int64_t *lengths, int64_t k)
{
    int64_t n = 0;
    if (!x || segments < 0 || (segments > 0 && !lengths) || k < 1)
        return gnn__error(GNN_EINVALID,
                          "gnn_graph_nearest expects rows, lengths and k >= 1, got %lld segments and "
                          "k = %lld",
                          (long long)segments, (long long)k);
    for (int64_t s = 0; s < segments; s++)
        if (lengths[s] < 0 || !gnn__add(n, lengths[s], &n))
            return gnn__error(GNN_EINVALID,
                              "gnn_graph_nearest: segment %lld: expected a length >= 0, got %lld",
                              (long long)s, (long long)lengths[s]);
    return n == x->rows ? GNN_OK
                        : gnn__error(GNN_ESHAPE, "the segments have %lld rows, the tensor has %lld",
                                     (long long)n, (long long)x->rows);
}

int gnn_graph_nearest(gnn_graph_t **graph, const gnn_tensor_t *x, int64_t segments,
                      const int64_t *lengths, int64_t k)
{
    GNN__NEED(graph);
    GNN__NEED(x);
    GNN__NEED_LIST(lengths, segments);
    list_t list = {.count = 0};
    int64_t *rows = NULL, from = 0, room;
    double *distances = NULL;
    int rc;
    GNN_TRY(check_nearest(x, segments, lengths, k));
    k = k < x->rows ? k : x->rows;
    if (!gnn__mul(x->rows, k, &room))
        return gnn__error(GNN_EOVERFLOW, "gnn_graph_nearest: the size of %lld rows overflows",
                          (long long)x->rows);
    GNN_CHECK(list_new(&list, room));
    GNN_CHECK(gnn__new(&rows, k, sizeof *rows, "nearest rows"));
    GNN_CHECK(gnn__new(&distances, k, sizeof *distances, "distances"));
    for (int64_t s = 0; s < segments; from += lengths[s++])
        for (int64_t i = from; i < from + lengths[s]; i++) {
            const int64_t count = nearest(x, i, from, from + lengths[s], k, distances, rows);
            for (int64_t at = 0; at < count; at++)
                list_add(&list, rows[at], i);
        }
    GNN_CHECK(gnn_graph_from_edges(graph, x->rows, x->rows, list.count, list.src, list.dst));
done:
    gnn_free(rows);
    gnn_free(distances);
    list_free(&list);
    return rc;
}

/* ---- segments of a graph of edges ---- */

/* Splits the nodes of a graph of edges into segments. */

static int check_lengths(const gnn_graph_t *graph, int64_t segments, const int64_t *lengths)
{
    int64_t total = 0;
    if (segments < 1 || !lengths)
        return gnn__error(GNN_EINVALID,
                          "expected at least one segment and lengths, got %lld segments%s",
                          (long long)segments, lengths ? "" : " without lengths");
    if (graph->n_dst != graph->n_src || graph->n_segments > 0)
        return gnn__error(
            GNN_ETOPOLOGY,
            "expected the same nodes on both sides and no segments, got %lld receivers, %lld senders and %lld segments",
            (long long)graph->n_dst, (long long)graph->n_src, (long long)graph->n_segments);
    for (int64_t s = 0; s < segments; s++)
        if (lengths[s] < 0 || !gnn__add(total, lengths[s], &total))
            return gnn__error(GNN_EINVALID, "segment %lld: expected a length >= 0, got %lld",
                              (long long)s, (long long)lengths[s]);
    if (total != graph->n_dst)
        return gnn__error(GNN_ESHAPE, "%lld segments have %lld nodes in all, the graph has %lld",
                          (long long)segments, (long long)total, (long long)graph->n_dst);
    return GNN_OK;
}

/* Checks that receivers begin .. end - 1 have senders of their own segment only. */
static int check_edges(const gnn_graph_t *graph, int64_t p, int64_t begin, int64_t end)
{
    gnn_graph_row_t row;
    for (int64_t i = begin; i < end; i++) {
        GNN_TRY(gnn_graph_row(graph, p, i, &row));
        for (int64_t k = 0; k < row.count; k++) {
            const int64_t j = gnn_graph_row_sender(&row, k);
            if (j < begin || j >= end)
                return gnn__error(GNN_ETOPOLOGY,
                                  "edge from node %lld to node %lld leaves the segment %lld to %lld",
                                  (long long)j, (long long)i, (long long)begin, (long long)(end - 1));
        }
    }
    return GNN_OK;
}

int gnn_graph_cut(gnn_graph_t *graph, int64_t segments, const int64_t *lengths)
{
    GNN__NEED(graph);
    GNN__NEED_LIST(lengths, segments);
    GNN_TRY(check_lengths(graph, segments, lengths));
    for (int64_t p = 0; p < graph->base.n_parts; p++) {
        if (gnn__graph_part_is_spans(graph, p))
            return gnn__error(GNN_ETOPOLOGY,
                              "part %lld of the graph stores spans, which already have segments",
                              (long long)p);
        for (int64_t s = 0, begin = 0; s < segments; begin += lengths[s++])
            GNN_TRY(check_edges(graph, p, begin, begin + lengths[s]));
    }
    GNN_TRY(gnn__graph_add_segments(graph, segments));
    for (int64_t s = 0; s < segments; s++)
        graph->dst_segments[s + 1] = graph->src_segments[s + 1] = graph->dst_segments[s] + lengths[s];
    return GNN_OK;
}
