/* Stored edges into a simple undirected graph: counting sorts only, so the order is the same whatever the file's was. */
#include <lib/io/data/data.h>

#include <gnn/graph.h>

typedef struct csr {
    int64_t *indptr;
    int32_t *indices;
} csr_t;

static void free_csr(csr_t *csr)
{
    gnn_free(csr->indptr);
    gnn_free(csr->indices);
}

static int new_csr(csr_t *csr, int64_t n, int64_t m)
{
    GNN_TRY(gnn__new(&csr->indptr, n + 2, sizeof *csr->indptr, "rows of edges"));
    return gnn__new(&csr->indices, m, sizeof *csr->indices, "edges");
}

/* Rows in the order of the file. indptr[r + 2] counts, becomes where row r + 1 is written next, and ends as where it ends. */
static void both_ways(const csr_t *csr, int64_t n, int64_t m, const int32_t *a, const int32_t *b)
{
    for (int64_t k = 0; k < m; k++)
        if (a[k] != b[k]) {
            csr->indptr[a[k] + 2]++;
            csr->indptr[b[k] + 2]++;
        }
    for (int64_t r = 0; r < n; r++)
        csr->indptr[r + 2] += csr->indptr[r + 1];
    for (int64_t k = 0; k < m; k++)
        if (a[k] != b[k]) {
            csr->indices[csr->indptr[a[k] + 1]++] = b[k];
            csr->indices[csr->indptr[b[k] + 1]++] = a[k];
        }
}

/* The transpose of a symmetric matrix is itself, with its columns ascending. */
static void transpose(const csr_t *to, const csr_t *from, int64_t n)
{
    memcpy(to->indptr + 1, from->indptr, (size_t)(n + 1) * sizeof *to->indptr);
    for (int64_t r = 0; r < n; r++)
        for (int64_t k = from->indptr[r]; k < from->indptr[r + 1]; k++)
            to->indices[to->indptr[from->indices[k] + 1]++] = (int32_t)r;
}

static void remove_duplicates(const csr_t *csr, int64_t n)
{
    int64_t kept = 0, begin = 0;
    for (int64_t r = 0; r < n; r++) {
        int64_t end = csr->indptr[r + 1], first = kept;
        for (int64_t k = begin; k < end; k++)
            if (kept == first || csr->indices[kept - 1] != csr->indices[k])
                csr->indices[kept++] = csr->indices[k];
        begin = end;
        csr->indptr[r + 1] = kept;
    }
}

int gnn__data_links(gnn_graph_t **graph, int64_t n, int64_t m, const int32_t *a, const int32_t *b)
{
    csr_t rows = {NULL, NULL}, sorted = {NULL, NULL};
    int64_t twice;
    int rc = GNN_OK;
    if (!gnn__add(m, m, &twice))
        return gnn__error(GNN_EOVERFLOW, "%lld edges do not fit", (long long)m);
    GNN_CHECK(new_csr(&rows, n, twice));
    GNN_CHECK(new_csr(&sorted, n, twice));
    both_ways(&rows, n, m, a, b);
    transpose(&sorted, &rows, n);
    remove_duplicates(&sorted, n);
    GNN_CHECK(gnn_graph_from_csr(graph, n, n, sorted.indptr, sorted.indices));
done:
    free_csr(&rows);
    free_csr(&sorted);
    return rc;
}
