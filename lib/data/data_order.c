/* Reorders the nodes of a set, with everything that has a row per node; copies a set. */
#include <lib/data/data.h>

#include <graphs/build.h>
#include <lib/data/arrays/arrays.h>

/* Rows of `bytes`: row r of `to` is row order[r] of `from`. */
static void gather(void *to, const void *from, int64_t n, size_t bytes, const int64_t *order)
{
    for (int64_t r = 0; r < n; r++)
        memcpy((char *)to + (size_t)r * bytes, (const char *)from + (size_t)order[r] * bytes, bytes);
}

static int arrange_sparse(gnn_sparse_t *to, const gnn_sparse_t *from, const int64_t *order)
{
    int64_t *indptr, at = 0;
    int32_t *indices;
    gnn_real_t *values;
    GNN_TRY(gnn__new(&indptr, from->rows + 1, sizeof *indptr, "features"));
    to->indptr = indptr;
    GNN_TRY(gnn__new(&indices, from->indptr[from->rows], sizeof *indices, "features"));
    to->indices = indices;
    GNN_TRY(gnn__new(&values, from->indptr[from->rows], sizeof *values, "features"));
    to->values = values;
    for (int64_t r = 0; r < from->rows; r++) {
        for (int64_t k = from->indptr[order[r]]; k < from->indptr[order[r] + 1]; k++, at++) {
            indices[at] = from->indices[k];
            values[at] = from->values[k];
        }
        indptr[r + 1] = at;
    }
    return GNN_OK;
}

/* A copy of `from` in another order; NULL: the same order. `to` owns what was copied, also after a
 * failure. */
static int arrange_array(gnn__data_array_t *to, const gnn__data_array_t *from, const int64_t *order)
{
    const gnn_array_t *a = &from->array;
    const size_t size = gnn__element(a->dtype)->size;
    const int64_t rows = a->ndim > 0 ? a->shape[0] : 1;
    char *name;
    void *values;
    GNN_TRY(gnn__strdup(&name, a->name));
    to->array = *a;
    to->array.name = name;
    to->array.data = NULL;
    GNN_TRY(gnn__new(&values, a->count, size, a->name));
    to->array.data = values;
    if (order && rows > 0)
        gather(values, a->data, rows, (size_t)(a->count / rows) * size, order);
    else if (a->count > 0)
        memcpy(values, a->data, (size_t)a->count * size);
    if (from->rows.data)
        to->rows = gnn_tensor(values, from->rows.rows, from->rows.cols);
    return GNN_OK;
}

int gnn__data_arrange_arrays(gnn_data_t *to, const gnn_data_t *from, const int64_t *nodes,
                             const int64_t *edges)
{
    GNN_TRY(gnn__new(&to->arrays, from->n_arrays, sizeof *to->arrays, "a list of arrays"));
    to->arrays_room = from->n_arrays;
    for (int64_t k = 0; k < from->n_arrays; k++) {
        const gnn_data_place_t place = from->arrays[k].place;
        to->arrays[to->n_arrays++].place = place;
        GNN_TRY(arrange_array(&to->arrays[k], &from->arrays[k],
                              place == GNN_ON_NODES   ? nodes
                              : place == GNN_ON_EDGES ? edges
                                                      : NULL));
    }
    return GNN_OK;
}

int gnn__data_arrange(gnn_data_t *to, const gnn_data_t *from, const int64_t *order)
{
    const int64_t n = from->n;
    *to = *from;
    to->graph = NULL;
    to->x.data = NULL;
    to->sparse.indptr = NULL;
    to->sparse.indices = NULL;
    to->sparse.values = NULL;
    to->labels = NULL;
    to->split = NULL;
    to->borrowed_x = to->borrowed_labels = false;
    to->arrays = NULL;
    to->n_arrays = to->arrays_room = 0;
    to->slots = NULL;
    to->n_slots = 0;
    if (from->graph)
        GNN_TRY(gnn_graph_renumber(&to->graph, from->graph, order));
    if (from->x.data) {
        GNN_TRY(gnn__new(&to->x.data, n * from->features, sizeof *to->x.data, "features"));
        gather(to->x.data, from->x.data, n, (size_t)from->features * sizeof *to->x.data, order);
    }
    if (from->sparse.indptr)
        GNN_TRY(arrange_sparse(&to->sparse, &from->sparse, order));
    if (from->labels) {
        GNN_TRY(gnn__new(&to->labels, n, sizeof *to->labels, "labels"));
        gather(to->labels, from->labels, n, sizeof *to->labels, order);
    }
    if (from->split)
        GNN_TRY(gnn_split_new(&to->split, n, from->split->count));
    for (int k = 0; k < 3; k++)
        for (int64_t s = 0; from->split && s < from->split->count; s++)
            gather(gnn__split_marks(to->split, k, s), gnn__split_marks(from->split, k, s), n, 1,
                   order);
    return GNN_OK;
}

/* Edge ids become positions in CSR order: edge k was (*old)[k]. A graph with spans, whose pairs
 * have no ids, keeps its ids: NULL. */
static int place_edges(gnn_data_t *made, int64_t **old)
{
    *old = NULL;
    if (!made->graph || gnn_graph_n_pairs(made->graph) != gnn_graph_n_edges(made->graph))
        return GNN_OK;
    GNN_TRY(gnn__new(old, gnn_graph_n_edges(made->graph), sizeof **old, "an order of edges"));
    gnn__graph_number_edges(made->graph, *old);
    return GNN_OK;
}

int gnn_data_reorder(gnn_data_t *data)
{
    int64_t *order, *edges = NULL;
    gnn_data_t made = {0}, before;
    int rc;
    GNN__NEED(data);
    GNN_TRY(gnn__data_one_graph(data, "reordered"));
    /* CSV files read since then appended nodes without neighbours */
    if (data->order)
        return GNN_OK;
    GNN_TRY(gnn__new(&order, data->n, sizeof *order, "an order of nodes"));
    GNN_CHECK(gnn_graph_community_order(data->graph, order));
    GNN_CHECK(gnn__data_arrange(&made, data, order));
    GNN_CHECK(place_edges(&made, &edges));
    GNN_CHECK(gnn__data_arrange_arrays(&made, data, order, edges));
    before = *data;
    *data = made;
    made = before;
    gnn__data_changed(data);
    data->order = order;
    data->edge_order = edges;
    order = edges = NULL;
done:
    gnn__data_free_rows(&made);
    gnn_free(order);
    gnn_free(edges);
    return rc;
}

/* ---- copies ---- */

static int copy_names(char ***to, char *const *from, int64_t count)
{
    int64_t bytes = 0;
    char *at;
    if (!from)
        return GNN_OK;
    for (int64_t k = 0; k < count; k++)
        bytes += (int64_t)strlen(from[k]);
    GNN_TRY(gnn__new_names(to, count, bytes, &at));
    for (int64_t k = 0; k < count; k++) {
        const size_t length = strlen(from[k]) + 1;
        (*to)[k] = memcpy(at, from[k], length);
        at += length;
    }
    return GNN_OK;
}

static int copy_order(int64_t **to, const int64_t *from, int64_t count)
{
    if (!from)
        return GNN_OK;
    GNN_TRY(gnn__new(to, count, sizeof **to, "an order"));
    memcpy(*to, from, (size_t)count * sizeof **to);
    return GNN_OK;
}

static int copy_texts(gnn_data_t *to, const gnn_data_t *from)
{
    GNN_TRY(gnn__strdup(&to->name, from->name));
    if (from->unread)
        GNN_TRY(gnn__strdup(&to->unread, from->unread));
    GNN_TRY(copy_names(&to->class_names, from->class_names, from->classes));
    GNN_TRY(copy_names(&to->node_names, from->node_names, from->n));
    GNN_TRY(copy_order(&to->order, from->order, from->n));
    return copy_order(&to->edge_order, from->edge_order, gnn_graph_n_edges(from->graph));
}

int gnn_data_copy(gnn_data_t **copy, const gnn_data_t *data)
{
    gnn_data_t *made = NULL;
    int64_t *same = NULL;
    int rc;
    GNN__NEED(copy);
    *copy = NULL;
    GNN__NEED(data);
    GNN_TRY(gnn__data_one_graph(data, "copied"));
    GNN_CHECK(gnn__new(&same, data->n, sizeof *same, "an order of nodes"));
    for (int64_t i = 0; i < data->n; i++)
        same[i] = i;
    GNN_CHECK(gnn__new(&made, 1, sizeof *made, "a data set"));
    rc = gnn__data_arrange(made, data, same);
    /* borrowed so far */
    made->name = made->unread = NULL;
    made->class_names = made->node_names = NULL;
    made->order = made->edge_order = NULL;
    made->owner = (gnn_owner_t){0};
    GNN_CHECK(rc);
    GNN_CHECK(gnn__data_arrange_arrays(made, data, NULL, NULL));
    GNN_CHECK(copy_texts(made, data));
    gnn__data_changed(made);
done:
    gnn_free(same);
    if (rc == GNN_OK)
        *copy = made;
    else
        gnn_data_free(made);
    return rc;
}
