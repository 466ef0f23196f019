/* A .npz of scipy.sparse.save_npz: one square matrix, the graph of a set of links alone. Row i has
 * the senders of node i, as in every matrix. */
#include <lib/data/layouts.h>

typedef struct matrix {
    int64_t n, m;
    int32_t *row, *column;
} matrix_t;

static const char *format_of(const gnn_arrays_t *arrays)
{
    int64_t count;
    const gnn__left_out_t *unread = gnn__arrays_unread(arrays, &count);
    for (int64_t k = 0; k < count; k++)
        if (strcmp(unread[k].name, "format") == 0)
            return unread[k].text;
    return NULL;
}

/* Before the matrix' arrays are read, which have too common names to be wanted of every file. */
bool gnn__layout_is_scipy(const gnn_arrays_t *arrays)
{
    const char *format = format_of(arrays);
    return format && *format && gnn__arrays_left_out(arrays, "shape") && arrays->count == 0;
}

static int take(const gnn_array_t **array, const gnn_arrays_t *arrays, const char *name, int64_t count)
{
    *array = gnn_arrays_find(arrays, name);
    if (!*array)
        return gnn__layout_missing(arrays, name);
    GNN_TRY(gnn__layout_rank(*array, 1));
    GNN_TRY(gnn__layout_integer(*array));
    return count < 0 || (*array)->count == count
               ? GNN_OK
               : gnn__error(GNN_EFORMAT, "%s: %lld values, expected %lld", name,
                            (long long)(*array)->count, (long long)count);
}

static int take_indices(int32_t **out, const gnn_array_t *from, int64_t n)
{
    GNN_TRY(gnn__new(out, from->count, sizeof **out, from->name));
    for (int64_t k = 0; k < from->count; k++) {
        const int64_t index = gnn__array_int(from, k);
        if (index < 0 || index >= n)
            return gnn__error(GNN_EFORMAT, "%s: %lld at position %lld, there are %lld nodes",
                              from->name, (long long)index, (long long)k, (long long)n);
        (*out)[k] = (int32_t)index;
    }
    return GNN_OK;
}

/* The row of each entry of CSR, or the column of each one of CSC. */
static int spread(int32_t **out, const gnn_array_t *indptr, int64_t n, int64_t m)
{
    int64_t before = gnn__array_int(indptr, 0);
    GNN_TRY(gnn__new(out, m, sizeof **out, "edges"));
    for (int64_t r = 0; r < n; r++) {
        const int64_t end = gnn__array_int(indptr, r + 1);
        if ((r == 0 && before != 0) || end < before || end > m)
            return gnn__error(GNN_EFORMAT, "indptr: %lld after %lld at row %lld, of %lld entries",
                              (long long)end, (long long)before, (long long)r, (long long)m);
        for (int64_t k = before; k < end; k++)
            (*out)[k] = (int32_t)r;
        before = end;
    }
    return before == m ? GNN_OK
                       : gnn__error(GNN_EFORMAT, "indptr: ends at %lld, indices holds %lld",
                                    (long long)before, (long long)m);
}

static int read_matrix(matrix_t *x, const gnn_arrays_t *arrays, const char *format)
{
    const gnn_array_t *shape, *first, *second;
    const bool coo = strcmp(format, "coo") == 0, csr = strcmp(format, "csr") == 0;
    GNN_TRY(take(&shape, arrays, "shape", 2));
    x->n = gnn__array_int(shape, 0);
    if (x->n != gnn__array_int(shape, 1))
        return gnn__error(GNN_EUNSUPPORTED,
                          "a matrix of scipy of %lld x %lld: a square one is a graph; features "
                          "stand next to it, as attr_data, attr_indices, attr_indptr and "
                          "attr_shape next to adj_data and so on (docs/formats.md)",
                          (long long)x->n, (long long)gnn__array_int(shape, 1));
    if (!coo && !csr && strcmp(format, "csc") != 0)
        return gnn__error(GNN_EUNSUPPORTED,
                          "a matrix of scipy as \"%s\", expected \"csr\", \"csc\" or \"coo\": "
                          "scipy.sparse.save_npz(file, matrix.tocsr())",
                          format);
    GNN_TRY(take(&first, arrays, coo ? "row" : "indices", -1));
    x->m = first->count;
    if (x->n < 1 || x->n > INT32_MAX || (coo && x->n > GNN__MOST_CLASSES && x->n / 64 > x->m))
        return gnn__error(GNN_EFORMAT, "shape: %lld nodes of %lld entries", (long long)x->n,
                          (long long)x->m);
    if (coo) {
        GNN_TRY(take(&second, arrays, "col", x->m));
        GNN_TRY(take_indices(&x->row, first, x->n));
        return take_indices(&x->column, second, x->n);
    }
    GNN_TRY(take(&second, arrays, "indptr", x->n + 1));
    GNN_TRY(take_indices(csr ? &x->column : &x->row, first, x->n));
    return spread(csr ? &x->row : &x->column, second, x->n, x->m);
}

int gnn__layout_scipy(gnn_data_t *data, const gnn_arrays_t *arrays)
{
    matrix_t x = {0};
    int rc;
    GNN_CHECK(read_matrix(&x, arrays, format_of(arrays)));
    data->n = x.n;
    data->counted = true;
    GNN_CHECK(gnn__layout_links(data, arrays, gnn_arrays_find(arrays, "data"),
                                (gnn__data_links_t){.m = x.m, .a = x.column, .b = x.row}));
    GNN_CHECK(gnn__data_fill_rest(data));
done:
    gnn_free(x.row);
    gnn_free(x.column);
    return rc;
}
