/* Arrays by name on nodes, edges and graphs. */
#include <lib/data/data.h>

#include <gnn/graph.h>
#include <lib/data/arrays/arrays.h>
#include <math.h>

static const char *const places[] = {
    [GNN_ON_NODES] = "nodes", [GNN_ON_EDGES] = "edges", [GNN_ON_GRAPHS] = "graphs"};

int64_t gnn__data_rows_on(const gnn_data_t *data, gnn_data_place_t place)
{
    if (place == GNN_ON_NODES)
        return data->n;
    if (place == GNN_ON_EDGES)
        return data->rank ? data->rank->m : gnn_graph_n_edges(data->graph);
    if (place == GNN_ON_TYPES)
        return -1;
    return gnn_graph_n_segments(data->graph) ? gnn_graph_n_segments(data->graph) : 1;
}

static void free_array(gnn__data_array_t *a)
{
    gnn_free((char *)a->array.name);
    if (!a->borrowed)
        gnn_free((void *)a->array.data);
}

void gnn__data_free_arrays(gnn_data_t *data)
{
    for (int64_t k = 0; k < data->n_arrays; k++)
        free_array(&data->arrays[k]);
    gnn_free(data->arrays);
    data->arrays = NULL;
    data->n_arrays = data->arrays_room = 0;
}

static gnn__data_array_t *find(const gnn_data_t *data, gnn_data_place_t place, const char *name)
{
    for (int64_t k = 0; name && k < data->n_arrays; k++)
        if (data->arrays[k].place == place && strcmp(data->arrays[k].array.name, name) == 0)
            return &data->arrays[k];
    return NULL;
}

const gnn_array_t *gnn_data_array_find(const gnn_data_t *data, gnn_data_place_t place,
                                       const char *name)
{
    GNN__NEED_OR(data, NULL);
    GNN__NEED_OR(name, NULL);
    const gnn__data_array_t *found = find(data, place, name);
    return found ? &found->array : NULL;
}

const gnn_tensor_t *gnn_data_rows(const gnn_data_t *data, gnn_data_place_t place, const char *name)
{
    GNN__NEED_OR(data, NULL);
    GNN__NEED_OR(name, NULL);
    const gnn__data_array_t *found = find(data, place, name);
    return found && found->rows.data ? &found->rows : NULL;
}

const gnn_array_t *gnn_data_array_at(const gnn_data_t *data, int64_t index, gnn_data_place_t *place)
{
    GNN__NEED_OR(data, NULL);
    if (index < 0 || index >= data->n_arrays)
        return NULL;
    if (place)
        *place = data->arrays[index].place;
    return &data->arrays[index].array;
}

/* ---- adding ---- */

static int check(const gnn_data_t *data, gnn_data_place_t place, const gnn_array_t *array)
{
    int64_t bytes;
    if ((unsigned)place > GNN_ON_TYPES)
        return gnn__error(GNN_EINVALID, "place = %d, expected a gnn_data_place_t, 0 to %d",
                          (int)place, (int)GNN_ON_TYPES);
    GNN_TRY(gnn__array_check(array, &bytes));
    if (place == GNN_ON_NODES && (strcmp(array->name, "x") == 0 || strcmp(array->name, "labels") == 0))
        return gnn__error(GNN_EINVALID, "\"%s\" on nodes is the set's own array", array->name);
    int64_t rows = array->ndim > 0 ? array->shape[0] : 1, expected = gnn__data_rows_on(data, place);
    if (expected >= 0 && rows != expected)
        return gnn__error(GNN_ESHAPE, "array %.80s: %lld rows, there are %lld %s", array->name,
                          (long long)rows, (long long)expected, places[place]);
    return GNN_OK;
}

static int copy_reals(gnn__data_array_t *to, const gnn_array_t *from, bool finite)
{
    const int64_t rows = from->ndim > 0 ? from->shape[0] : 1;
    int64_t cols = 1; /* also of no rows, which some ranks have */
    for (int d = 1; d < from->ndim; d++)
        if (!gnn__mul(cols, from->shape[d], &cols))
            return gnn__error(GNN_EOVERFLOW, "%s: its columns overflow", from->name);
    gnn_real_t *values;
    GNN_TRY(gnn__new(&values, from->count, sizeof *values, from->name));
    to->array.data = values;
    to->array.dtype = GNN__REAL_DTYPE;
    to->rows = gnn_tensor(values, rows, cols);
    gnn__array_reals(from, values);
    for (int64_t k = 0; !finite && k < from->count; k++)
        if (!isfinite(values[k]))
            return gnn__error(GNN_ENUMERIC, "array %.80s: %g at row %lld, column %lld", from->name,
                              gnn_array_get(from, k), (long long)(k / cols), (long long)(k % cols));
    return GNN_OK;
}

static int copy_array(gnn__data_array_t *to, const gnn_array_t *from, bool finite)
{
    const gnn__element_t *type = gnn__element(from->dtype);
    char *name;
    void *values;
    to->array = *from;
    to->array.name = NULL;
    to->array.data = NULL;
    GNN_TRY(gnn__strdup(&name, from->name));
    to->array.name = name;
    if (!type->integer)
        return copy_reals(to, from, finite);
    GNN_TRY(gnn__new(&values, from->count, type->size, from->name));
    to->array.data = values;
    if (from->count > 0)
        memcpy(values, from->data, (size_t)from->count * type->size);
    return GNN_OK;
}

/* Adds `made`, or frees it. */
static int put(gnn_data_t *data, gnn__data_array_t made, int rc)
{
    gnn__data_array_t *before = find(data, made.place, made.array.name);
    if (rc == GNN_OK && !before)
        rc = gnn__room(&data->arrays, data->n_arrays, &data->arrays_room, sizeof *data->arrays,
                       "a list of arrays");
    if (rc != GNN_OK) {
        free_array(&made);
        return rc;
    }
    gnn__data_changed(data);
    if (before)
        free_array(before);
    else
        before = &data->arrays[data->n_arrays++];
    *before = made;
    return GNN_OK;
}

int gnn__data_array_copy(gnn_data_t *data, gnn_data_place_t place, const gnn_array_t *array,
                         bool finite)
{
    gnn__data_array_t made = {.place = place};
    GNN_TRY(check(data, place, array));
    const int rc = copy_array(&made, array, finite);
    return put(data, made, rc);
}

int gnn_data_array_set(gnn_data_t *data, gnn_data_place_t place, const gnn_array_t *array)
{
    GNN__NEED(data);
    GNN__NEED(array);
    return gnn__data_array_copy(data, place, array, false);
}

int gnn__data_array_borrow(gnn_data_t *data, gnn_data_place_t place, const gnn_array_t *array)
{
    gnn__data_array_t made = {.place = place, .array = *array, .borrowed = true};
    char *name;
    GNN_TRY(check(data, place, array));
    GNN_TRY(gnn__strdup(&name, array->name));
    made.array.name = name;
    const int64_t rows = array->ndim > 0 ? array->shape[0] : 1;
    if (array->dtype == GNN__REAL_DTYPE)
        made.rows =
            gnn_tensor((gnn_real_t *)(uintptr_t)array->data, rows, array->count / gnn__max(rows, 1));
    return put(data, made, GNN_OK);
}

int gnn__data_edge_reals(gnn_data_t *data, const char *name, int64_t cols, const gnn_real_t *values)
{
    const int64_t m = gnn_graph_n_edges(data->graph);
    return gnn_data_array_set(data, GNN_ON_EDGES,
                              &(gnn_array_t){.name = name,
                                             .dtype = GNN__REAL_DTYPE,
                                             .ndim = cols == 1 ? 1 : 2,
                                             .shape = {m, cols},
                                             .count = m * cols,
                                             .data = values});
}
