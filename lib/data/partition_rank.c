/* The rows of one rank of a folder as a set. Arrays on nodes are mapped, and only their own rows
 * are read; checksums are read by all ranks, each some of the files, whose pages are dropped. */
#include <lib/data/partition.h>
#include <math.h>

/* The arrays that a set or its graph borrows. */
typedef struct {
    gnn_partition_folder_t *folder;
    int64_t *indptr; /* that of the folder from the first own row on, as offsets from it */
} held_t;

static void release(void *user)
{
    held_t *held = user;
    gnn_partition_folder_free(held->folder);
    gnn_free(held->indptr);
    gnn_free(held);
}

/* *owner holds the folder, and own offsets (NULL: none). */
static int hold(gnn_partition_folder_t *f, const int64_t *indptr, int64_t rows, gnn_owner_t *owner)
{
    held_t *held;
    GNN_TRY(gnn__new(&held, 1, sizeof *held, "a folder"));
    const int rc = gnn__new(&held->indptr, rows + 1, sizeof *held->indptr, "row pointers");
    if (rc != GNN_OK) {
        gnn_free(held);
        return rc;
    }
    for (int64_t r = 0; indptr && r <= rows; r++)
        held->indptr[r] = indptr[r] - indptr[0];
    held->folder = f;
    atomic_fetch_add(&f->users, 1);
    *owner = (gnn_owner_t){release, held};
    return GNN_OK;
}

static const int64_t *held_indptr(const gnn_owner_t *owner)
{
    return ((const held_t *)owner->user)->indptr;
}

/* ---- arrays ---- */

static int take_features(gnn_data_t *data, gnn_partition_folder_t *f,
                         const gnn_partition_folder_rows_t *rows)
{
    int rc;
    GNN_TRY(hold(f, rows->x_indptr, data->n, &data->owner));
    data->borrowed_x = data->borrowed_labels = true;
    data->features = f->sizes.features;
    if (rows->x_indptr) {
        const int64_t first = rows->x_indptr[0];
        data->sparse = (gnn_sparse_t){data->n, data->features, held_indptr(&data->owner),
                                      rows->x_indices + first, rows->x_values + first};
        rc = gnn__sparse_validate(&data->sparse, "x_indices.npy, x_values.npy");
    } else {
        data->x = rows->x;
        rc = gnn__tensor_check_finite(&data->x, "x.npy");
    }
    return rc == GNN_OK ? rc : gnn__error_prefix(rc, "rows from %lld on", (long long)rows->lo);
}

static int take_labels(gnn_data_t *data, const gnn_partition_folder_t *f,
                       const gnn_partition_folder_rows_t *rows)
{
    data->classes = f->sizes.classes;
    data->labels = (int32_t *)(uintptr_t)rows->labels;
    for (int64_t i = 0; i < data->n; i++)
        if (data->labels[i] < -1 || data->labels[i] >= data->classes)
            return gnn__error(GNN_EFORMAT, "labels.npy: [%lld]: expected -1 to %lld, got %d",
                              (long long)(rows->lo + i), (long long)data->classes - 1,
                              (int)data->labels[i]);
    return GNN_OK;
}

static int take_masks(gnn_data_t *data, const gnn_partition_folder_t *f,
                      const gnn_partition_folder_rows_t *rows)
{
    const uint8_t *const from[3] = {rows->train, rows->validation, rows->test};
    const int64_t n = data->n, splits = f->sizes.splits;
    uint8_t *own;
    GNN_TRY(gnn__new(&own, 3 * splits * n, 1, "masks"));
    for (int part = 0; part < 3; part++)
        for (int64_t s = 0; s < splits && n > 0; s++)
            memcpy(own + (part * splits + s) * n, from[part] + s * f->sizes.nodes, (size_t)n);
    int rc =
        gnn_split_from_masks(&data->split, n, splits, own, own + splits * n, own + 2 * splits * n);
    gnn_free(own);
    GNN_TRY(rc);
    rc = gnn__data_split_labelled(data, data->split);
    return rc == GNN_OK
               ? rc
               : gnn__error_prefix(rc, "labels.npy, rows from %lld on", (long long)rows->lo);
}

static int take_graph(gnn_data_t *data, gnn_partition_folder_t *f,
                      const gnn_partition_folder_rows_t *rows)
{
    gnn_owner_t owner;
    GNN_TRY(hold(f, rows->indptr, data->n, &owner));
    const int rc = gnn_graph_borrow_csr(&data->graph, data->n, f->sizes.nodes, held_indptr(&owner),
                                        rows->indices + rows->indptr[0], &owner);
    if (rc != GNN_OK)
        release(owner.user);
    return rc;
}

/* Reals of own edges; other ranks check theirs. */
static int check_edges(const gnn_data_t *data, const gnn_array_t *array)
{
    const int64_t cols = array->count / gnn__max(array->shape[0], 1), from = data->rank->first_edge;
    const gnn_real_t *values = array->data;
    for (int64_t k = from * cols; k < (from + gnn_graph_n_edges(data->graph)) * cols; k++)
        if (!isfinite(values[k]))
            return gnn__error(GNN_ENUMERIC, "array %.80s: %g at row %lld, column %lld", array->name,
                              (double)values[k], (long long)(k / cols), (long long)(k % cols));
    return GNN_OK;
}

/* Models read the rows of own edges alone, so that the others' pages stay on disk. */
static int take_edges(gnn_data_t *data, const gnn_array_t *array)
{
    if (gnn__element(array->dtype)->integer)
        return gnn__data_array_borrow(data, GNN_ON_EDGES, array);
    if (array->dtype != GNN__REAL_DTYPE) /* written in another precision */
        return gnn_data_array_set(data, GNN_ON_EDGES, array);
    GNN_TRY(check_edges(data, array));
    return gnn__data_array_borrow(data, GNN_ON_EDGES, array);
}

/* Own rows of an array on nodes; other arrays are whole. */
static int take_array(gnn_data_t *data, const gnn_partition_folder_t *f,
                      const gnn__folder_item_t *item)
{
    gnn_array_t array = item->array;
    const char *file = array.name, *name = strchr(item->name, '.');
    const bool nodes = strncmp(item->name, "node.", 5) == 0,
               edges = strncmp(item->name, "edge.", 5) == 0;
    if (!name)
        return GNN_OK;
    array.name = name + 1;
    if (nodes) {
        const int64_t row = array.count / f->sizes.nodes;
        array.data = (const char *)array.data +
                     data->rank->lo * row * (int64_t)gnn__element(array.dtype)->size;
        array.shape[0] = data->n;
        array.count = data->n * row;
    }
    const int rc = edges ? take_edges(data, &array)
                         : gnn_data_array_set(data, nodes ? GNN_ON_NODES : GNN_ON_GRAPHS, &array);
    return rc == GNN_OK ? rc : gnn__error_prefix(rc, "%s", file);
}

static int take_arrays(gnn_data_t *data, const gnn_partition_folder_t *f)
{
    for (int64_t k = 0; k < f->count; k++)
        GNN_TRY(take_array(data, f, &f->items[k]));
    return GNN_OK;
}

/* ---- the set ---- */

/* Reads the checksums of this rank's share of the files. */
static int verify(gnn__ranks_t *ranks, const gnn_partition_folder_t *f)
{
    const int size = ranks->transport->ranks, rank = ranks->transport->rank;
    GNN_TRY(gnn__ranks_same(ranks, "partition folders", f->sum));
    for (int64_t k = rank; k < f->count; k += size)
        GNN_TRY(gnn__folder_verify(&f->items[k]));
    return gnn__ranks_share(ranks, GNN_OK);
}

static int make_rank(gnn_data_t *data, const gnn__ranks_t *ranks, const gnn_partition_folder_t *f)
{
    const int size = ranks->transport->ranks, rank = ranks->transport->rank;
    GNN_TRY(gnn__new(&data->rank, 1, sizeof *data->rank, "rows of a rank"));
    GNN_TRY(gnn__new(&data->rank->book, size + 1, sizeof *data->rank->book, "rows of ranks"));
    GNN_TRY(gnn_partition_folder_book(f, size, data->rank->book));
    data->rank->n = f->sizes.nodes;
    data->rank->m = f->sizes.edges;
    data->rank->identity = f->sum;
    data->rank->ranks = size;
    data->rank->lo = data->rank->book[rank];
    data->n = data->rank->book[rank + 1] - data->rank->lo;
    return gnn__strdup(&data->name, json_string_value(json_object_get(f->root, "name")));
}

static int read_rows(gnn_data_t *data, gnn__ranks_t *ranks, const char *path)
{
    gnn_partition_folder_t *f = NULL;
    gnn_partition_folder_rows_t rows;
    int rc;
    GNN_CHECK(gnn_partition_folder_open(&f, path, 0));
    GNN_CHECK(verify(ranks, f));
    GNN_CHECK(make_rank(data, ranks, f));
    GNN_CHECK(gnn_partition_folder_rows(f, data->rank->lo, data->rank->lo + data->n, &rows));
    GNN_CHECK(take_features(data, f, &rows));
    GNN_CHECK(take_labels(data, f, &rows));
    GNN_CHECK(take_masks(data, f, &rows));
    GNN_CHECK(gnn__folder_classes(data, f));
    data->rank->first_edge = rows.indptr[0];
    GNN_CHECK(take_graph(data, f, &rows));
    GNN_CHECK(take_arrays(data, f));
done:
    gnn_partition_folder_free(f);
    return rc == GNN_OK || ranks->ended ? rc : gnn__error_prefix(rc, "%s", gnn__file_name(path));
}

int gnn_data_open_rank(gnn_data_t **data, gnn_context_t *context, const char *folder)
{
    gnn_data_t *made = NULL;
    GNN__NEED(data);
    *data = NULL;
    GNN__NEED(context);
    GNN__NEED(folder);
    if (!context->ranks)
        return gnn__error(GNN_EINVALID, "gnn_data_open_rank: expected a context with ranks: see "
                                        "gnn_context_set_ranks");
    gnn__ranks_outer_t outer;
    int rc = gnn__ranks_open(context, &outer);
    if (rc == GNN_OK)
        rc = gnn__new(&made, 1, sizeof *made, "a data set");
    if (rc == GNN_OK)
        rc = read_rows(made, context->ranks, folder);
    rc = gnn__ranks_close(context, &outer, rc);
    if (rc == GNN_OK)
        *data = made;
    else
        gnn_data_free(made);
    return rc;
}
