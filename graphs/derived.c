/* Graphs that are made from others, or from values: edges to their receivers, one part alone,
 * nearest rows. */
#include <graphs/build.h>

/* ---- pairs of a graph as arrays ---- */

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
    list_t list = {.count = 0};
    int rc;
    if (!of)
        return gnn__error(GNN_EINVALID, "gnn_graph_incidence: the graph is NULL");
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
    list_t list = {.count = 0};
    int rc;
    if (!of || p < 0 || p >= of->base.n_parts)
        return gnn__error(GNN_EINVALID, "gnn_graph_part: there is no part %lld of %lld",
                          (long long)p, (long long)(of ? of->base.n_parts : 0));
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

/* ---- nearest rows ---- */

static double distance(const gnn_tensor_t *x, int64_t i, int64_t j)
{
    double sum = 0;
    for (int64_t c = 0; c < x->cols; c++) {
        const double d = (double)gnn__row(x, i)[c] - (double)gnn__row(x, j)[c];
        sum += d * d;
    }
    return sum;
}

/* The k nearest to row i of rows from .. end - 1, by insertion into a sorted list; returns how many
 * there are. */
static int64_t nearest(const gnn_tensor_t *x, int64_t i, int64_t from, int64_t end, int64_t k,
                       double *far, int64_t *who)
{
    int64_t count = 0;
    for (int64_t j = from; j < end; j++) {
        const double d = distance(x, i, j);
        int64_t at = count < k ? count++ : k - 1;
        if (at == k - 1 && count == k && j - from >= k && !(d < far[at]))
            continue;
        for (; at > 0 && d < far[at - 1]; at--) {
            far[at] = far[at - 1];
            who[at] = who[at - 1];
        }
        far[at] = d;
        who[at] = j;
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
            return gnn__error(GNN_EINVALID, "gnn_graph_nearest: segment %lld has length %lld",
                              (long long)s, (long long)lengths[s]);
    return n == x->rows ? GNN_OK
                        : gnn__error(GNN_ESHAPE, "the segments have %lld rows, the tensor has %lld",
                                     (long long)n, (long long)x->rows);
}

int gnn_graph_nearest(gnn_graph_t **graph, const gnn_tensor_t *x, int64_t segments,
                      const int64_t *lengths, int64_t k)
{
    list_t list = {.count = 0};
    int64_t *who = NULL, from = 0, room;
    double *far = NULL;
    int rc;
    GNN_TRY(check_nearest(x, segments, lengths, k));
    k = k < x->rows ? k : x->rows;
    if (!gnn__mul(x->rows, k, &room))
        return gnn__error(GNN_EOVERFLOW, "gnn_graph_nearest: too many neighbours");
    GNN_CHECK(list_new(&list, room));
    GNN_CHECK(gnn__new(&who, k, sizeof *who, "nearest rows"));
    GNN_CHECK(gnn__new(&far, k, sizeof *far, "their distances"));
    for (int64_t s = 0; s < segments; from += lengths[s++])
        for (int64_t i = from; i < from + lengths[s]; i++) {
            const int64_t count = nearest(x, i, from, from + lengths[s], k, far, who);
            for (int64_t at = 0; at < count; at++)
                list_add(&list, who[at], i);
        }
    GNN_CHECK(gnn_graph_from_edges(graph, x->rows, x->rows, list.count, list.src, list.dst));
done:
    gnn_free(who);
    gnn_free(far);
    list_free(&list);
    return rc;
}
