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

int gnn__check_csr(int64_t n_dst, int64_t n_src, const int64_t *indptr, const int32_t *indices)
{
    GNN_TRY(gnn__graph_check_size("n_dst", n_dst));
    GNN_TRY(gnn__graph_check_size("n_src", n_src));
    if (!indptr)
        return gnn__error(GNN_EINVALID, "indptr is NULL");
    GNN_TRY(check_row_pointers(n_dst, indptr));
    if (!indices && indptr[n_dst] > 0)
        return gnn__error(GNN_EINVALID, "indices is NULL for %lld edges", (long long)indptr[n_dst]);
    for (int64_t i = 0; i < n_dst; i++)
        for (int64_t k = indptr[i]; k < indptr[i + 1]; k++)
            if (indices[k] < 0 || indices[k] >= n_src)
                return gnn__error(GNN_ETOPOLOGY,
                                  "indices[%lld] = %d of receiver %lld, but there are %lld senders",
                                  (long long)k, indices[k], (long long)i, (long long)n_src);
    return GNN_OK;
}

/* Arrays of the caller's that are copied, or borrowed. */
static int take_csr(gnn_graph_t *g, const int64_t *indptr, const int32_t *indices, bool borrow)
{
    gnn__pairs_t *pairs = &g->base.parts[0].pairs;
    const int64_t m = pairs->count = g->n_edges = indptr[g->n_dst];
    pairs->indptr = indptr;
    pairs->indices = indices;
    if (m == 0)
        GNN_TRY(gnn__graph_own(g, &pairs->indices, 0, sizeof *indices, "edges"));
    if (borrow)
        return GNN_OK;
    GNN_TRY(gnn__graph_own_copy(g, &pairs->indptr, indptr, g->n_dst + 1, sizeof *indptr,
                                "row pointers"));
    return m == 0 ? GNN_OK
                  : gnn__graph_own_copy(g, &pairs->indices, indices, m, sizeof *indices, "edges");
}

int gnn_graph_from_csr(gnn_graph_t **graph, int64_t n_dst, int64_t n_src, const int64_t *indptr,
                       const int32_t *indices)
{
    int rc;
    gnn_graph_t *g = NULL;
    GNN_CHECK(gnn__check_csr(n_dst, n_src, indptr, indices));
    GNN_CHECK(gnn__graph_new(&g, n_dst, n_src, 1));
    GNN_CHECK(take_csr(g, indptr, indices, false));
done:
    return gnn__graph_deliver(graph, g, rc);
}

int gnn_graph_borrow_csr(gnn_graph_t **graph, int64_t n_dst, int64_t n_src, const int64_t *indptr,
                         const int32_t *indices, const gnn_owner_t *owner)
{
    int rc;
    gnn_graph_t *g = NULL;
    GNN_CHECK(gnn__check_csr(n_dst, n_src, indptr, indices));
    GNN_CHECK(gnn__graph_new(&g, n_dst, n_src, 1));
    GNN_CHECK(take_csr(g, indptr, indices, true));
done:
    rc = gnn__graph_deliver(graph, g, rc);
    if (rc == GNN_OK && owner)
        g->owner = *owner;
    return rc;
}

static int check_edge(const char *array, int64_t k, int64_t node, int64_t n, const char *side)
{
    if (node >= 0 && node < n)
        return GNN_OK;
    return gnn__error(GNN_ETOPOLOGY, "%s[%lld] = %lld, but there are %lld %s", array, (long long)k,
                      (long long)node, (long long)n, side);
}

/* Checks all edges; *sorted tells whether they already stand receiver by receiver. */
static int check_edges(int64_t n_dst, int64_t n_src, int64_t m, const int64_t *src,
                       const int64_t *dst, bool *sorted)
{
    *sorted = true;
    GNN_TRY(gnn__graph_check_size("n_dst", n_dst));
    GNN_TRY(gnn__graph_check_size("n_src", n_src));
    if (m < 0)
        return gnn__error(GNN_EINVALID, "m = %lld is negative", (long long)m);
    if (m > 0 && (!src || !dst))
        return gnn__error(GNN_EINVALID, "%s is NULL for %lld edges", src ? "dst" : "src",
                          (long long)m);
    for (int64_t k = 0; k < m; k++) {
        GNN_TRY(check_edge("src", k, src[k], n_src, "senders"));
        GNN_TRY(check_edge("dst", k, dst[k], n_dst, "receivers"));
        *sorted = *sorted && (k == 0 || dst[k - 1] <= dst[k]);
    }
    return GNN_OK;
}

/* Stable counting sort by receiver. While edges are placed, indptr[i] is the next free place of
 * receiver i; at the end it has become the start of receiver i + 1, hence the shift. */
static void sort_by_receiver(int64_t n_dst, int64_t m, const int64_t *src, const int64_t *dst,
                             int64_t *indptr, int32_t *indices, int64_t *edge)
{
    for (int64_t k = 0; k < m; k++)
        indptr[dst[k] + 1]++;
    for (int64_t i = 0; i < n_dst; i++)
        indptr[i + 1] += indptr[i];
    for (int64_t k = 0; k < m; k++) {
        int64_t place = indptr[dst[k]]++;
        indices[place] = (int32_t)src[k];
        if (edge)
            edge[place] = k;
    }
    memmove(indptr + 1, indptr, (size_t)n_dst * sizeof *indptr);
    indptr[0] = 0;
}

int gnn_graph_from_edges(gnn_graph_t **graph, int64_t n_dst, int64_t n_src, int64_t m,
                         const int64_t *src, const int64_t *dst)
{
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
        GNN_CHECK(gnn__graph_own(g, &edge, m, sizeof *edge, "edge numbers"));
    sort_by_receiver(n_dst, m, src, dst, indptr, indices, edge);
    gnn__pairs_t *pairs = &g->base.parts[0].pairs;
    pairs->count = g->n_edges = m;
    pairs->indptr = indptr;
    pairs->indices = indices;
    pairs->edge = edge;
done:
    return gnn__graph_deliver(graph, g, rc);
}
