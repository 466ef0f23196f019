/* A .npz of scipy.sparse.save_npz: one square matrix, the graph of a set of links alone. Row i has
 * the senders of node i, as in every matrix. */
#include <lib/data/layouts.h>

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

/* The count of nodes. */
static int read_shape(gnn_data_t *data, const gnn_arrays_t *arrays)
{
    const gnn_array_t *shape = gnn_arrays_find(arrays, "shape");
    if (!shape)
        return gnn__layout_missing(arrays, "shape");
    GNN_TRY(gnn__layout_rank(shape, 1));
    GNN_TRY(gnn__layout_integer(shape));
    if (shape->count != 2)
        return gnn__error(GNN_EFORMAT, "shape: %lld values, expected 2", (long long)shape->count);
    data->n = gnn__array_int(shape, 0);
    if (data->n == gnn__array_int(shape, 1))
        return GNN_OK;
    return gnn__error(GNN_EUNSUPPORTED,
                      "a matrix of scipy of %lld x %lld: a square one is a graph; features "
                      "stand next to it, as attr_data, attr_indices, attr_indptr and "
                      "attr_shape next to adj_data and so on (docs/formats.md)",
                      (long long)data->n, (long long)gnn__array_int(shape, 1));
}

/* A list of entries bounds no count of nodes. */
static int read_list(gnn_data_t *data, const gnn_arrays_t *arrays)
{
    const gnn_array_t *row = gnn_arrays_find(arrays, "row"), *column = gnn_arrays_find(arrays, "col");
    if (!row || !column)
        return gnn__layout_missing(arrays, row ? "col" : "row");
    if (data->n > GNN__MOST_CLASSES && data->n / 64 > row->count)
        return gnn__error(GNN_EFORMAT, "shape: %lld nodes of %lld entries", (long long)data->n,
                          (long long)row->count);
    return gnn__layout_two_lists(data, arrays, column, row, gnn_arrays_find(arrays, "data"));
}

int gnn__layout_scipy(gnn_data_t *data, const gnn_arrays_t *arrays)
{
    const char *format = format_of(arrays);
    const bool coo = strcmp(format, "coo") == 0, csc = strcmp(format, "csc") == 0;
    GNN_TRY(read_shape(data, arrays));
    if (!coo && !csc && strcmp(format, "csr") != 0)
        return gnn__error(GNN_EUNSUPPORTED,
                          "a matrix of scipy as \"%s\", expected \"csr\", \"csc\" or \"coo\": "
                          "scipy.sparse.save_npz(file, matrix.tocsr())",
                          format);
    if (data->n < 1 || data->n > INT32_MAX)
        return gnn__error(GNN_EFORMAT, "shape: %lld nodes", (long long)data->n);
    data->counted = true;
    GNN_TRY(coo ? read_list(data, arrays) : gnn__layout_adjacency(data, arrays, "", csc));
    return gnn__data_fill_rest(data);
}
