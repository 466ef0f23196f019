/* Arrays of a .npz by any of their names, and sparse matrices as three arrays. */
#include <lib/data/layouts.h>

/* ---- finding arrays ---- */

/* Of planetoid and gnn-benchmark, heterophilous-graphs, PyG, DGL and OGB. */
const char *const gnn__layout_names[GNN__PARTS][GNN__MOST_NAMES] = {
    [GNN__OF_LABELS] = {"labels", "node_labels", "y", "label", "node_label"},
    [GNN__OF_FEATURES] = {"node_features", "attr_matrix", "x", "feat", "features", "feature",
                          "node_feat"},
    [GNN__OF_SENDERS] = {"src", "senders"},
    [GNN__OF_RECEIVERS] = {"dst", "receivers"},
    [GNN__OF_WEIGHTS] = {"edge_weight", "edge_weights"},
    [GNN__OF_EDGE_FEATURES] = {"edge_attr", "edge_features", "edge_feat"},
};

const gnn_array_t *gnn__layout_find(const gnn_arrays_t *arrays, const char *const *names)
{
    const gnn_array_t *found = NULL;
    for (; *names && !found; names++)
        found = gnn_arrays_find(arrays, *names);
    return found;
}

int gnn__layout_missing(const gnn_arrays_t *arrays, const char *name)
{
    const char *type = gnn__arrays_left_out(arrays, name);
    if (type && strcmp(type, "|O") == 0)
        return gnn__error(GNN_EFORMAT,
                          "%s: holds no plain values (its type is '|O'): Python's objects are not "
                          "read; of scipy's matrices, save data, indices, indptr and shape as "
                          "adj_data, attr_data and so on",
                          name);
    if (type)
        return gnn__error(GNN_EFORMAT, "%s: holds no plain values (its type is '%s')", name, type);
    return gnn__error(GNN_EFORMAT, "the array %s is missing (docs/formats.md has the names)", name);
}

int gnn__layout_lacks(const gnn_arrays_t *arrays, const char *what)
{
    int64_t unread;
    const gnn__left_out_t *left_out = gnn__arrays_unread(arrays, &unread);
    const int64_t read = arrays->count;
    char list[240] = "";
    for (int64_t k = 0, used = 0; k < read + unread && used < 160; k++)
        used += snprintf(list + used, sizeof list - (size_t)used, "%s%.40s",
                         k > 0 ? ", " : "; the file has ",
                         k < read ? gnn_arrays_at(arrays, k)->name : left_out[k - read].name);
    return gnn__error(GNN_EFORMAT, "%s (docs/formats.md)%s%s", what, list,
                      gnn__arrays_left_out(arrays, "format")
                          ? ": one matrix of scipy.sparse.save_npz, a set has a graph, features "
                            "and labels"
                          : "");
}

int gnn__layout_rank(const gnn_array_t *array, int ndim)
{
    return array->ndim == ndim ? GNN_OK
                               : gnn__error(GNN_EFORMAT, "%s: %d dimensions, expected %d",
                                            array->name, array->ndim, ndim);
}

int gnn__layout_integer(const gnn_array_t *array)
{
    const gnn__element_t *type = gnn__element(array->dtype);
    return type->integer && array->dtype != GNN_DTYPE_BOOL
               ? GNN_OK
               : gnn__error(GNN_EFORMAT, "%s: integers are expected, its type is %s", array->name,
                            type->name);
}

/* ---- features ---- */

const gnn_array_t *gnn__layout_dense(const gnn_arrays_t *arrays)
{
    return gnn__layout_find(arrays, gnn__layout_names[GNN__OF_FEATURES]);
}

int gnn__layout_no_features(const gnn_arrays_t *arrays)
{
    for (const char *const *name = gnn__layout_names[GNN__OF_FEATURES]; *name; name++)
        if (gnn__arrays_left_out(arrays, *name))
            return gnn__layout_missing(arrays, *name);
    return gnn__layout_lacks(arrays, "there are no features: attr_indptr with its companions, "
                                     "node_features, attr_matrix, x or feat");
}

int gnn__layout_feature_rows(const gnn_arrays_t *arrays, int64_t *rows)
{
    const gnn_array_t *indptr = gnn__layout_indptr(arrays, "attr"), *x = gnn__layout_dense(arrays);
    if (!indptr && !x)
        return gnn__layout_no_features(arrays);
    *rows = indptr ? indptr->count - 1 : x->ndim > 0 ? x->shape[0] : 0;
    return GNN_OK;
}

/* ---- parts ---- */

static int need(const gnn_array_t **array, const gnn_arrays_t *arrays, const char *name, int ndim)
{
    *array = gnn_arrays_find(arrays, name);
    return *array ? gnn__layout_rank(*array, ndim) : gnn__layout_missing(arrays, name);
}

static int need_integers(const gnn_array_t **array, const gnn_arrays_t *arrays, const char *name)
{
    GNN_TRY(need(array, arrays, name, 1));
    return gnn__layout_integer(*array);
}

/* ---- sparse matrices: PREFIX_shape, PREFIX_indptr, PREFIX_indices ---- */

static int read_shape(gnn__layout_csr_t *csr, const gnn_arrays_t *arrays, const char *name, int64_t n)
{
    const gnn_array_t *shape;
    GNN_TRY(need_integers(&shape, arrays, name));
    if (shape->count != 2)
        return gnn__error(GNN_EFORMAT, "%s: %lld values, expected 2", name, (long long)shape->count);
    csr->rows = gnn__array_int(shape, 0);
    csr->cols = gnn__array_int(shape, 1);
    if (csr->cols < 0 || csr->cols > INT32_MAX)
        return gnn__error(GNN_EFORMAT, "%s: %lld columns, 0 to %d are possible", name,
                          (long long)csr->cols, INT32_MAX);
    if (csr->rows != n)
        return gnn__error(GNN_EFORMAT, "%s: %lld rows, the set has %lld nodes", name,
                          (long long)csr->rows, (long long)n);
    return GNN_OK;
}

static int read_indptr(gnn__layout_csr_t *csr, const gnn_arrays_t *arrays, const char *name)
{
    const gnn_array_t *indptr;
    GNN_TRY(need_integers(&indptr, arrays, name));
    if (indptr->count != csr->rows + 1)
        return gnn__error(GNN_EFORMAT, "%s: %lld values, expected %lld for %lld rows", name,
                          (long long)indptr->count, (long long)csr->rows + 1, (long long)csr->rows);
    GNN_TRY(gnn__new(&csr->indptr, csr->rows + 1, sizeof *csr->indptr, name));
    for (int64_t r = 0; r <= csr->rows; r++) {
        csr->indptr[r] = gnn__array_int(indptr, r);
        if (r == 0 && csr->indptr[0] != 0)
            return gnn__error(GNN_EFORMAT, "%s: starts at %lld, expected 0", name,
                              (long long)csr->indptr[0]);
        if (r > 0 && csr->indptr[r] < csr->indptr[r - 1])
            return gnn__error(GNN_EFORMAT, "%s: falls from %lld to %lld at row %lld", name,
                              (long long)csr->indptr[r - 1], (long long)csr->indptr[r],
                              (long long)r - 1);
    }
    return GNN_OK;
}

static int read_indices(gnn__layout_csr_t *csr, const gnn_arrays_t *arrays, const char *name,
                        const char *indptr_name)
{
    const gnn_array_t *indices;
    GNN_TRY(need_integers(&indices, arrays, name));
    csr->nnz = csr->indptr[csr->rows];
    if (csr->nnz != indices->count)
        return gnn__error(GNN_EFORMAT, "%s: ends at %lld, %s holds %lld", indptr_name,
                          (long long)csr->nnz, name, (long long)indices->count);
    GNN_TRY(gnn__new(&csr->indices, csr->nnz, sizeof *csr->indices, name));
    for (int64_t r = 0; r < csr->rows; r++)
        for (int64_t k = csr->indptr[r]; k < csr->indptr[r + 1]; k++) {
            int64_t column = gnn__array_int(indices, k);
            if (column < 0 || column >= csr->cols)
                return gnn__error(
                    GNN_EFORMAT,
                    "%s: column %lld at position %lld (row %lld), there are %lld columns", name,
                    (long long)column, (long long)k, (long long)r, (long long)csr->cols);
            csr->indices[k] = (int32_t)column;
        }
    return GNN_OK;
}

/* Names of the parts of a sparse matrix: planetoid's and gnn-benchmark's names, scipy's matrices as
 * PPNP keeps them. */
static const char *const between[] = {"_", "_matrix.", ".", NULL};

enum { NAME_ROOM = 40 };

/* ---- spellings ---- */

static void spell(char *name, const char *matrix, const char *by, const char *part)
{
    snprintf(name, NAME_ROOM, "%s%s%s", matrix, by, part);
}

const gnn_array_t *gnn__layout_indptr(const gnn_arrays_t *arrays, const char *matrix)
{
    char indptr[NAME_ROOM];
    const gnn_array_t *found = NULL;
    for (int k = 0; between[k] && !found; k++) {
        spell(indptr, matrix, between[k], "indptr");
        found = gnn_arrays_find(arrays, indptr);
    }
    return found;
}

const char *gnn__layout_spelling(const gnn_arrays_t *arrays, const char *matrix)
{
    char indptr[NAME_ROOM], shape[NAME_ROOM];
    for (int k = 0; between[k]; k++) {
        spell(indptr, matrix, between[k], "indptr");
        spell(shape, matrix, between[k], "shape");
        if (gnn_arrays_find(arrays, indptr) || gnn_arrays_find(arrays, shape))
            return between[k];
    }
    return NULL;
}

int gnn__layout_csr(gnn__layout_csr_t *csr, const gnn_array_t **data, const gnn_arrays_t *arrays,
                    const char *matrix, int64_t n)
{
    const char *by = *matrix ? gnn__layout_spelling(arrays, matrix) : "";
    char shape[NAME_ROOM], indptr[NAME_ROOM], indices[NAME_ROOM], numbers[NAME_ROOM];
    spell(shape, matrix, by, "shape");
    spell(indptr, matrix, by, "indptr");
    spell(indices, matrix, by, "indices");
    spell(numbers, matrix, by, "data");
    GNN_TRY(read_shape(csr, arrays, shape, n));
    GNN_TRY(read_indptr(csr, arrays, indptr));
    GNN_TRY(read_indices(csr, arrays, indices, indptr));
    *data = gnn_arrays_find(arrays, numbers);
    if (*data && (*data)->count != csr->nnz)
        return gnn__error(GNN_EFORMAT, "%s: %lld values, %s holds %lld", numbers,
                          (long long)(*data)->count, indices, (long long)csr->nnz);
    return GNN_OK;
}

int gnn__layout_csr_rows(const gnn__layout_csr_t *csr, int32_t **rows)
{
    GNN_TRY(gnn__new(rows, csr->nnz, sizeof **rows, "edges"));
    for (int64_t r = 0; r < csr->rows; r++)
        for (int64_t k = csr->indptr[r]; k < csr->indptr[r + 1]; k++)
            (*rows)[k] = (int32_t)r;
    return GNN_OK;
}
