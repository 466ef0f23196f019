/* Positional encodings of nodes: eigenvectors of the Laplacian, and return probabilities of random
 * walks. */
#include <graphs/build.h>
#include <lib/base/igraph.h>
#include <lib/kernels/dense/lapack.h>

#include <math.h>

enum { DENSE = 400, MOST_DENSE = 20000, STARTS = 16 };

/* ---- the graph as a sparse matrix ---- */

typedef struct adjacency {
    int64_t n, *indptr; /* (n + 2); the last element is scratch */
    int32_t *indices;
    double *weight;
} adjacency_t;

static void adjacency_free(adjacency_t *a)
{
    gnn_free(a->indptr);
    gnn_free(a->indices);
    gnn_free(a->weight);
}

/* CSR by `row`, entries in the order of the pairs. */
static int fill_rows(adjacency_t *a, const int64_t *row, const int64_t *col, int64_t m)
{
    GNN_TRY(gnn__new(&a->indptr, a->n + 2, sizeof *a->indptr, "rows of a graph"));
    GNN_TRY(gnn__new(&a->indices, m, sizeof *a->indices, "columns of a graph"));
    GNN_TRY(gnn__new(&a->weight, m, sizeof *a->weight, "weights of a graph"));
    for (int64_t k = 0; k < m; k++)
        a->indptr[row[k] + 2]++;
    for (int64_t i = 0; i <= a->n; i++)
        a->indptr[i + 1] += a->indptr[i];
    for (int64_t k = 0; k < m; k++) {
        a->indices[a->indptr[row[k] + 1]] = (int32_t)col[k];
        a->weight[a->indptr[row[k] + 1]++] = 1;
    }
    return GNN_OK;
}

/* Both directions of every pair without self-loops; returns the count. */
static int64_t both_directions(int64_t *row, int64_t *col, int64_t m)
{
    int64_t kept = 0;
    for (int64_t k = 0; k < m; k++)
        if (row[k] != col[k]) {
            row[kept] = row[k];
            col[kept++] = col[k];
        }
    memcpy(row + kept, col, (size_t)kept * sizeof *row);
    memcpy(col + kept, row, (size_t)kept * sizeof *row);
    return 2 * kept;
}

static int read_pairs(const gnn_graph_t *graph, adjacency_t *a, bool symmetric)
{
    const int64_t m = gnn_graph_n_pairs(graph);
    int64_t both, *pairs = NULL;
    *a = (adjacency_t){.n = graph->n_dst};
    if (!gnn__mul(4, m, &both))
        return gnn__error(GNN_EOVERFLOW, "positions: the size of %lld pairs overflows", (long long)m);
    GNN_TRY(gnn__new(&pairs, both, sizeof *pairs, "pairs of a graph"));
    int rc = gnn_graph_pairs(graph, pairs, pairs + 2 * m, NULL);
    if (rc == GNN_OK)
        rc = fill_rows(a, pairs, pairs + 2 * m,
                       symmetric ? both_directions(pairs, pairs + 2 * m, m) : m);
    gnn_free(pairs);
    if (rc != GNN_OK)
        adjacency_free(a);
    return rc;
}

/* D^-1/2 A D^-1/2. */
static int normalise(adjacency_t *a)
{
    double *scale;
    GNN_TRY(gnn__new(&scale, a->n, sizeof *scale, "degrees"));
    for (int64_t i = 0; i < a->n; i++)
        scale[i] = 1 / sqrt((double)gnn__max(a->indptr[i + 1] - a->indptr[i], 1));
    for (int64_t i = 0; i < a->n; i++)
        for (int64_t k = a->indptr[i]; k < a->indptr[i + 1]; k++)
            a->weight[k] = scale[i] * scale[a->indices[k]];
    gnn_free(scale);
    return GNN_OK;
}

/* ---- small graphs: the dense matrix ---- */

static int solve_dense(const adjacency_t *a, int64_t count, double *values, double *vectors)
{
    double *matrix;
    GNN_TRY(gnn__new(&matrix, a->n * a->n, sizeof *matrix, "a Laplacian"));
    for (int64_t i = 0; i < a->n; i++) {
        matrix[i * a->n + i] = 1;
        for (int64_t k = a->indptr[i]; k < a->indptr[i + 1]; k++)
            matrix[i * a->n + a->indices[k]] -= a->weight[k];
    }
    const int rc = gnn__eigenvectors(matrix, a->n, 0, count, values, vectors);
    gnn_free(matrix);
    return rc;
}

static int solve(const adjacency_t *a, int64_t count, double *values, double *vectors)
{
    const gnn__igraph_functions_t *igraph = gnn__igraph();
    const bool few = 4 * count < a->n;
    char what[128];
    if (igraph && a->n > DENSE && few)
        return igraph->eigenvectors(a->n, a->indptr, a->indices, a->weight, count, values, vectors);
    if (a->n <= MOST_DENSE)
        return solve_dense(a, count, values, vectors);
    snprintf(what, sizeof what, "eigenvectors of %lld nodes, more than %d", (long long)a->n,
             MOST_DENSE);
    if (few)
        return gnn__igraph_need(&igraph, what);
    return gnn__error(GNN_EUNSUPPORTED,
                      "%s: expected fewer vectors than a quarter of the nodes, got %lld", what,
                      (long long)count);
}

/* ---- entry points ---- */

static int check(const gnn_graph_t *graph, const gnn_tensor_t *positions)
{
    if (graph->n_dst != graph->n_src)
        return gnn__error(
            GNN_ETOPOLOGY,
            "positions need the same nodes on both sides, but the graph has %lld receivers and %lld senders",
            (long long)graph->n_dst, (long long)graph->n_src);
    if (positions->rows != graph->n_dst || positions->cols < 1)
        return gnn__error(
            GNN_ESHAPE,
            "positions: got %lld x %lld, %lld nodes need as many rows and at least one column",
            (long long)positions->rows, (long long)positions->cols, (long long)graph->n_dst);
    if (positions->rows > 0 &&
        (!positions->data || (positions->stride != 0 && positions->stride < positions->cols)))
        return gnn__error(GNN_ESHAPE, "positions have %s",
                          positions->data ? "rows that overlap" : "no data");
    return GNN_OK;
}

/* 1 or -1, so that the element of the largest magnitude becomes positive; of several within
 * rounding, the first. */
static double sign_of(const double *vector, int64_t n)
{
    double most = 0;
    int64_t at = 0;
    for (int64_t i = 0; i < n; i++)
        most = fmax(most, fabs(vector[i]));
    while (at < n - 1 && fabs(vector[at]) < most * (1 - 1e-6))
        at++;
    return n > 0 && vector[at] < 0 ? -1 : 1;
}

static void put_vectors(const gnn_tensor_t *positions, int64_t found, const double *vectors)
{
    const int64_t n = positions->rows;
    for (int64_t c = 0; c < positions->cols; c++) {
        const double *vector = vectors + (c + 1) * n, sign = c < found ? sign_of(vector, n) : 0;
        for (int64_t i = 0; i < n; i++)
            gnn__row(positions, i)[c] = sign == 0 ? 0 : (gnn_real_t)(sign * vector[i]);
    }
}

int gnn_graph_laplacian_positions(const gnn_graph_t *graph, const gnn_tensor_t *positions,
                                  gnn_real_t *values)
{
    adjacency_t a;
    double *all = NULL;
    GNN__NEED(graph);
    GNN__NEED(positions);
    GNN_TRY(check(graph, positions));
    const int64_t n = graph->n_dst, found = gnn__max(gnn__min(positions->cols, n - 1), 0);
    if (n == 0)
        return GNN_OK;
    GNN_TRY(read_pairs(graph, &a, true));
    int rc = normalise(&a);
    if (rc == GNN_OK)
        rc = gnn__new(&all, (found + 1) * n + n, sizeof *all, "eigenvectors");
    if (rc == GNN_OK)
        rc = solve(&a, found + 1, all, all + n);
    if (rc == GNN_OK) {
        put_vectors(positions, found, all + n);
        for (int64_t c = 0; c < positions->cols && values; c++)
            values[c] = c < found ? (gnn_real_t)all[c + 1] : 0;
    }
    gnn_free(all);
    adjacency_free(&a);
    return rc;
}

/* ---- random walks ---- */

/* One step of STARTS walks: `next` = distribution after it. Rows of `a` are senders, each of which
 * distributes its probability. */
static void step(const adjacency_t *a, const double *at, double *next)
{
    memset(next, 0, (size_t)(a->n * STARTS) * sizeof *next);
    for (int64_t j = 0; j < a->n; j++) {
        const double share = 1 / (double)gnn__max(a->indptr[j + 1] - a->indptr[j], 1);
        for (int64_t k = a->indptr[j]; k < a->indptr[j + 1]; k++)
            for (int s = 0; s < STARTS; s++)
                next[(int64_t)a->indices[k] * STARTS + s] += share * at[j * STARTS + s];
    }
}

static void walk_from(const adjacency_t *a, int64_t first, double *at, double *next,
                      const gnn_tensor_t *positions)
{
    const int64_t starts = gnn__min(STARTS, a->n - first);
    memset(at, 0, (size_t)(a->n * STARTS) * sizeof *at);
    for (int64_t s = 0; s < starts; s++)
        at[(first + s) * STARTS + s] = 1;
    for (int64_t c = 0; c < positions->cols; c++) {
        step(a, at, next);
        for (int64_t s = 0; s < starts; s++)
            gnn__row(positions, first + s)[c] = (gnn_real_t)next[(first + s) * STARTS + s];
        double *before = at;
        at = next;
        next = before;
    }
}

int gnn_graph_walk_positions(const gnn_graph_t *graph, const gnn_tensor_t *positions)
{
    adjacency_t a;
    double *both = NULL;
    int64_t room;
    GNN__NEED(graph);
    GNN__NEED(positions);
    GNN_TRY(check(graph, positions));
    if (!gnn__mul(2 * STARTS, graph->n_dst, &room))
        return gnn__error(GNN_EOVERFLOW, "walks: the size for %lld nodes overflows",
                          (long long)graph->n_dst);
    GNN_TRY(read_pairs(graph, &a, false));
    int rc = gnn__new(&both, room, sizeof *both, "random walks");
    for (int64_t first = 0; rc == GNN_OK && first < a.n; first += STARTS)
        walk_from(&a, first, both, both + a.n * STARTS, positions);
    gnn_free(both);
    adjacency_free(&a);
    return rc;
}
