/* Builds a simple undirected graph from stored links by counting sorts, independent of the file's
 * order. Arrays on links are carried along. */
#include <lib/data/data.h>

#include <gnn/graph.h>
#include <lib/data/arrays/arrays.h>

/* `stored` is 2 k if link k is stored in this direction, 2 k + 1 if only its reverse is; NULL if
 * links have no arrays. */
typedef struct csr {
    int64_t *indptr;
    int32_t *indices;
    int64_t *stored;
} csr_t;

static void free_csr(csr_t *csr)
{
    gnn_free(csr->indptr);
    gnn_free(csr->indices);
    gnn_free(csr->stored);
}

static int new_csr(csr_t *csr, int64_t n, int64_t m, bool stored)
{
    GNN_TRY(gnn__new(&csr->indptr, n + 2, sizeof *csr->indptr, "rows of edges"));
    if (stored)
        GNN_TRY(gnn__new(&csr->stored, m, sizeof *csr->stored, "edges"));
    return gnn__new(&csr->indices, m, sizeof *csr->indices, "edges");
}

static void put(const csr_t *csr, int32_t row, int32_t column, int64_t stored)
{
    int64_t at = csr->indptr[row + 1]++;
    csr->indices[at] = column;
    if (csr->stored)
        csr->stored[at] = stored;
}

/* CSR by sender, in the order of the file. indptr[r + 2] is first a count, then the write position
 * of row r + 1, finally its end. */
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
            put(csr, a[k], b[k], 2 * k);
            put(csr, b[k], a[k], 2 * k + 1);
        }
}

/* Transposes to CSR by receiver, senders ascending; same size, since each link goes both ways. */
static void transpose(const csr_t *to, const csr_t *from, int64_t n)
{
    memcpy(to->indptr + 1, from->indptr, (size_t)(n + 1) * sizeof *to->indptr);
    for (int64_t r = 0; r < n; r++)
        for (int64_t k = from->indptr[r]; k < from->indptr[r + 1]; k++)
            put(to, from->indices[k], (int32_t)r, from->stored ? from->stored[k] : 0);
}

/* Keeps the first link in this direction, else the first in the other. */
static void remove_duplicates(const csr_t *csr, int64_t n)
{
    int64_t kept = 0, begin = 0;
    for (int64_t r = 0; r < n; r++) {
        int64_t end = csr->indptr[r + 1], first = kept;
        for (int64_t k = begin; k < end; k++) {
            bool again = kept > first && csr->indices[kept - 1] == csr->indices[k];
            int64_t place = again ? kept - 1 : kept++;
            csr->indices[place] = csr->indices[k];
            if (csr->stored && (!again || (csr->stored[place] % 2 && csr->stored[k] % 2 == 0)))
                csr->stored[place] = csr->stored[k];
        }
        begin = end;
        csr->indptr[r + 1] = kept;
    }
}

/* Maps one array of the file's links to the graph's edges. */
static int take_array(gnn_data_t *data, const gnn_array_t *array, const gnn__data_links_t *links,
                      const int64_t *stored)
{
    const int64_t edges = gnn_graph_n_edges(data->graph),
                  cols = links->m ? array->count / links->m : 0;
    const size_t bytes = (size_t)cols * gnn__element(array->dtype)->size;
    gnn_array_t made = *array;
    char *rows;
    GNN_TRY(gnn__new(&rows, edges, bytes, array->name));
    for (int64_t e = 0; e < edges; e++)
        memcpy(rows + (size_t)e * bytes,
               (const char *)array->data + (size_t)(stored[e] / 2) * bytes, bytes);
    made.shape[0] = edges;
    made.count = edges * cols;
    made.data = rows;
    int rc = gnn__data_array_copy(data, GNN_ON_EDGES, &made, links->finite);
    gnn_free(rows);
    return rc;
}

/* Link k is edge k. */
static int as_stored(gnn_data_t *data, const gnn__data_links_t *links)
{
    GNN_TRY(gnn_graph_from_edges(&data->graph, links->n, links->n, links->m, links->a, links->b));
    for (int64_t k = 0; k < links->n_arrays; k++)
        GNN_TRY(gnn__data_array_copy(data, GNN_ON_EDGES, &links->arrays[k], links->finite));
    return GNN_OK;
}

int gnn__data_as_stored(const gnn_data_t *data, const char *what)
{
    return data->undirected
               ? gnn__error(GNN_EUNSUPPORTED,
                            "%s: edges are read as stored, and .directed is GNN_OFF", what)
               : GNN_OK;
}

int gnn__data_links(gnn_data_t *data, const gnn__data_links_t *links)
{
    csr_t rows = {0}, sorted = {0};
    const int64_t n = links->n, m = links->m;
    int64_t twice;
    int rc = GNN_OK;
    data->of_links = true;
    if (data->directed)
        return as_stored(data, links);
    if (!gnn__add(m, m, &twice))
        return gnn__error(GNN_EOVERFLOW, "%lld edges do not fit", (long long)m);
    GNN_CHECK(new_csr(&rows, n, twice, links->n_arrays > 0));
    GNN_CHECK(new_csr(&sorted, n, twice, links->n_arrays > 0));
    both_ways(&rows, n, m, links->a, links->b);
    transpose(&sorted, &rows, n);
    remove_duplicates(&sorted, n);
    GNN_CHECK(gnn_graph_from_csr(&data->graph, n, n, sorted.indptr, sorted.indices));
    for (int64_t k = 0; k < links->n_arrays; k++)
        GNN_CHECK(take_array(data, &links->arrays[k], links, sorted.stored));
done:
    free_csr(&rows);
    free_csr(&sorted);
    return rc;
}

gnn_array_t gnn__data_weights(const gnn_real_t *weight, int64_t m)
{
    return (gnn_array_t){"weight", GNN__REAL_DTYPE, 1, {m}, m, weight};
}

bool gnn__data_all_one(const gnn_real_t *weight, int64_t m)
{
    for (int64_t k = 0; k < m; k++)
        if (weight[k] != 1)
            return false;
    return true;
}
