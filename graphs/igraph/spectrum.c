/* Extreme eigenvectors of a large sparse matrix: implicitly restarted Lanczos (Lehoucq, Sorensen
 * and Yang 1998) of ARPACK, through igraph. */
#include <graphs/igraph/call.h>

typedef struct matrix {
    int64_t n;
    const int64_t *indptr;
    const int32_t *indices;
    const double *weight;
} matrix_t;

/* y = (A + I) x: its largest eigenvalues are the smallest of I - A, and all are non-negative. */
static igraph_error_t multiply(igraph_real_t *to, const igraph_real_t *from, int n, void *extra)
{
    const matrix_t *a = extra;
    for (int i = 0; i < n; i++) {
        double sum = from[i];
        for (int64_t k = a->indptr[i]; k < a->indptr[i + 1]; k++)
            sum += a->weight[k] * from[a->indices[k]];
        to[i] = sum;
    }
    return IGRAPH_SUCCESS;
}

static void set_options(igraph_arpack_options_t *options, int64_t n, int64_t count)
{
    igraph_arpack_options_init(options);
    options->n = (int)n;
    options->nev = (int)count;
    options->ncv = (int)gnn__min(n, 2 * count + 32);
    options->which[0] = 'L';
    options->which[1] = 'A';
    options->mxiter = 30000;
    options->start = 0;
}

static void copy_result(const igraph_vector_t *values, const igraph_matrix_t *vectors, int64_t n,
                        int64_t count, double *to_values, double *to_vectors)
{
    for (int64_t c = 0; c < count; c++) {
        to_values[c] = 2 - VECTOR(*values)[c];
        for (int64_t i = 0; i < n; i++)
            to_vectors[c * n + i] = MATRIX(*vectors, i, c);
    }
}

static int solve(const matrix_t *a, int64_t count, double *to_values, double *to_vectors)
{
    igraph_arpack_options_t options;
    igraph_vector_t values;
    igraph_matrix_t vectors;
    set_options(&options, a->n, count);
    int rc = igraph_vector_init(&values, 0);
    if (rc != IGRAPH_SUCCESS)
        return rc;
    rc = igraph_matrix_init(&vectors, 0, 0);
    if (rc == IGRAPH_SUCCESS) {
        rc = igraph_arpack_rssolve(multiply, (void *)(uintptr_t)a, &options, NULL, &values, &vectors);
        if (rc == IGRAPH_SUCCESS && options.nconv < (int)count)
            rc = gnn__igraph_error(GNN_ENUMERIC, "ARPACK found %d of %lld eigenvectors",
                                   options.nconv, (long long)count);
        if (rc == IGRAPH_SUCCESS)
            copy_result(&values, &vectors, a->n, count, to_values, to_vectors);
        igraph_matrix_destroy(&vectors);
    }
    igraph_vector_destroy(&values);
    return rc;
}

int gnn__igraph_eigenvectors(int64_t n, const int64_t *indptr, const int32_t *indices,
                             const double *weight, int64_t count, double *values, double *vectors)
{
    const matrix_t a = {n, indptr, indices, weight};
    gnn__igraph_call_t call;
    if (n > INT32_MAX)
        return gnn__igraph_error(GNN_EOVERFLOW, "%lld nodes, ARPACK takes at most %d", (long long)n,
                                 INT32_MAX);
    gnn__igraph_enter(&call);
    return gnn__igraph_leave(&call, solve(&a, count, values, vectors));
}
