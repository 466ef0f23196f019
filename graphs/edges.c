/* Graphs from explicit edges: CSR by receiver, and arrays of senders and receivers. */
#include <graphs/build.h>

static int check_row_pointers(int64_t n, const int64_t *indptr)
{
    if (indptr[0] != 0)
        return gnn__error(GNN_ETOPOLOGY, "indptr[0] = %lld, but it must be 0", (long long)indptr[0]);
    for (int64_t i = 0; i < n; i++)
        if (indptr[i + 1] < indptr[i])
            return gnn__error(GNN_ETOPOLOGY, "indptr[%lld] = %lld is below indptr[%lld] = %lld",
                              (long long)(i + 1), (long long)indptr[i + 1], (long long)i,
                              (long long)indptr[i]);
    return GNN_OK;
}

static int check_senders(int64_t n_dst, int64_t n_src, const int64_t *indptr, const int32_t *indices)
{
    for (int64_t i = 0; i < n_dst; i++)
        for (int64_t k = indptr[i]; k < indptr[i + 1]; k++)
            if (indices[k] < 0 || indices[k] >= n_src)
                return gnn__error(GNN_ETOPOLOGY,
                                  "indices[%lld] = %d of receiver %lld, but there are %lld senders",
                                  (long long)k, indices[k], (long long)i, (long long)n_src);
    return GNN_OK;
}

int gnn__check_csr(int64_t n_dst, int64_t n_src, const int64_t *indptr, const int32_t *indices)
{
    GNN_TRY(check_row_pointers(n_dst, indptr));
    return check_senders(n_dst, n_src, indptr, indices);
}

/* The caller's row pointers: borrowed as they are if their type is the graph's, copied
 * otherwise. */
static int take_row_pointers(gnn_graph_t *g, gnn_ints_t indptr, bool borrow)
{
    gnn__pairs_t *pairs = &g->base.parts[0].pairs;
    int64_t *own;
    GNN_TRY(gnn__ints_check("indptr", indptr, g->n_dst + 1));
    pairs->indptr = indptr.data;
    if (!borrow || indptr.type != GNN_DTYPE_INT64) {
        GNN_TRY(gnn__graph_own(g, &own, g->n_dst + 1, sizeof *own, "row pointers"));
        gnn__ints_copy_64(own, indptr, g->n_dst + 1);
        pairs->indptr = own;
    }
    return check_row_pointers(g->n_dst, pairs->indptr);
}

static int take_senders(gnn_graph_t *g, gnn_ints_t indices, bool borrow)
{
    gnn__pairs_t *pairs = &g->base.parts[0].pairs;
    const int64_t m = pairs->count = g->n_edges = pairs->indptr[g->n_dst];
    int32_t *own;
    if (!indices.data && m > 0)
        return gnn__error(GNN_EINVALID, "indices is NULL for %lld edges", (long long)m);
    GNN_TRY(gnn__ints_check("indices", indices, m));
    pairs->indices = indices.data;
    if (!borrow || m == 0 || indices.type != GNN_DTYPE_INT32) {
        GNN_TRY(gnn__graph_own(g, &own, m, sizeof *own, "edges"));
        GNN_TRY(gnn__ints_copy_32("indices", own, indices, m));
        pairs->indices = own;
    }
    return check_senders(g->n_dst, g->n_src, pairs->indptr, pairs->indices);
}

static int from_csr(gnn_graph_t **graph, int64_t n_dst, int64_t n_src, gnn_ints_t indptr,
                    gnn_ints_t indices, bool borrow)
{
    int rc;
    gnn_graph_t *g = NULL;
    GNN_CHECK(gnn__graph_check_size("n_dst", n_dst));
    GNN_CHECK(gnn__graph_check_size("n_src", n_src));
    GNN_CHECK(gnn__graph_new(&g, n_dst, n_src, 1));
    GNN_CHECK(take_row_pointers(g, indptr, borrow));
    GNN_CHECK(take_senders(g, indices, borrow));
done:
    return gnn__graph_deliver(graph, g, rc);
}

int(gnn_graph_from_csr)(gnn_graph_t **graph, int64_t n_dst, int64_t n_src, gnn_ints_t indptr,
                        gnn_ints_t indices)
{
    GNN__NEED(graph);
    GNN__NEED_INTS(indptr, 1);
    return from_csr(graph, n_dst, n_src, indptr, indices, false);
}

int(gnn_graph_borrow_csr)(gnn_graph_t **graph, int64_t n_dst, int64_t n_src, gnn_ints_t indptr,
                          gnn_ints_t indices, const gnn_owner_t *owner)
{
    GNN__NEED(graph);
    GNN__NEED_INTS(indptr, 1);
    GNN_TRY(from_csr(graph, n_dst, n_src, indptr, indices, true));
    if (owner)
        (*graph)->owner = *owner;
    return GNN_OK;
}

static int check_edge(const char *array, int64_t k, int64_t node, int64_t n, const char *side)
{
    if (node >= 0 && node < n)
        return GNN_OK;
    return gnn__error(GNN_ETOPOLOGY, "%s[%lld] = %lld, but there are %lld %s", array, (long long)k,
                      (long long)node, (long long)n, side);
}

/* Checks all edges; *sorted is true if they are already ordered by receiver. */
static int check_edges(int64_t n_dst, int64_t n_src, int64_t m, gnn_ints_t src, gnn_ints_t dst,
                       bool *sorted)
{
    *sorted = true;
    GNN_TRY(gnn__graph_check_size("n_dst", n_dst));
    GNN_TRY(gnn__graph_check_size("n_src", n_src));
    if (m < 0)
        return gnn__error(GNN_EINVALID, "m: expected a count >= 0, got %lld", (long long)m);
    if (m > 0 && (!src.data || !dst.data))
        return gnn__error(GNN_EINVALID, "%s is NULL for %lld edges", src.data ? "dst" : "src",
                          (long long)m);
    GNN_TRY(gnn__ints_check("src", src, m));
    GNN_TRY(gnn__ints_check("dst", dst, m));
    int64_t before = 0;
    for (int64_t k = 0; k < m; k++) {
        const int64_t receiver = gnn__int(dst, k);
        GNN_TRY(check_edge("src", k, gnn__int(src, k), n_src, "senders"));
        GNN_TRY(check_edge("dst", k, receiver, n_dst, "receivers"));
        *sorted = *sorted && before <= receiver;
        before = receiver;
    }
    return GNN_OK;
}

/* Stable counting sort by receiver. While edges are placed, indptr[i] is the next free position of
 * receiver i; at the end it is the start of receiver i + 1, hence the shift. */
static void sort_by_receiver(int64_t n_dst, int64_t m, gnn_ints_t src, gnn_ints_t dst,
                             int64_t *indptr, int32_t *indices, int64_t *edge)
{
    for (int64_t k = 0; k < m; k++)
        indptr[gnn__int(dst, k) + 1]++;
    for (int64_t i = 0; i < n_dst; i++)
        indptr[i + 1] += indptr[i];
    for (int64_t k = 0; k < m; k++) {
        const int64_t position = indptr[gnn__int(dst, k)]++;
        indices[position] = (int32_t)gnn__int(src, k);
        if (edge)
            edge[position] = k;
    }
    memmove(indptr + 1, indptr, (size_t)n_dst * sizeof *indptr);
    indptr[0] = 0;
}

int(gnn_graph_from_edges)(gnn_graph_t **graph, int64_t n_dst, int64_t n_src, int64_t m,
                          gnn_ints_t src, gnn_ints_t dst)
{
    GNN__NEED(graph);
    GNN__NEED_INTS(src, m);
    GNN__NEED_INTS(dst, m);
    int rc;
    bool sorted;
    gnn_graph_t *g = NULL;
    int64_t *indptr, *edge = NULL;
    int32_t *indices;
    GNN_CHECK(check_edges(n_dst, n_src, m, src, dst, &sorted));
    GNN_CHECK(gnn__graph_new(&g, n_dst, n_src, 1));
    GNN_CHECK(gnn__graph_own(g, &indptr, n_dst + 1, sizeof *indptr, "row pointers"));
    GNN_CHECK(gnn__graph_own(g, &indices, m, sizeof *indices, "edges"));
    if (!sorted)
        GNN_CHECK(gnn__graph_own(g, &edge, m, sizeof *edge, "edge ids"));
    sort_by_receiver(n_dst, m, src, dst, indptr, indices, edge);
    gnn__pairs_t *pairs = &g->base.parts[0].pairs;
    pairs->count = g->n_edges = m;
    pairs->indptr = indptr;
    pairs->indices = indices;
    pairs->edge = edge;
done:
    return gnn__graph_deliver(graph, g, rc);
}
