/* Sets of many graphs: one graph with a segment per graph, node features, classes of graphs. */
#include <lib/data/many.h>

#include <gnn/graph.h>
#include <lib/data/arrays/arrays.h>
#include <stdlib.h>

void gnn__many_free(gnn__many_t *m)
{
    gnn_free(m->lengths);
    gnn_free(m->labels);
    gnn_free(m->tags);
    gnn_free(m->a);
    gnn_free(m->b);
    gnn_free(m->kinds);
    gnn_free(m->nodes_x);
    gnn_free(m->links_x);
    gnn_free(m->targets);
}

int64_t gnn_data_graphs(const gnn_data_t *data)
{
    GNN__NEED_OR(data, 0);
    return gnn__data_rows_on(data, GNN_ON_GRAPHS);
}

const int32_t *gnn_data_graph_labels(const gnn_data_t *data)
{
    GNN__NEED_OR(data, NULL);
    const gnn_array_t *labels = gnn_data_array_find(data, GNN_ON_GRAPHS, "labels");
    return labels && labels->dtype == GNN_DTYPE_INT32 && labels->ndim == 1 ? labels->data : NULL;
}

/* ---- kinds by any integers ---- */

static int compare(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* rank[k]: the rank of values[k] among the `kinds` distinct ones. */
static int rank_values(const int64_t *values, int64_t n, const char *what, int32_t *rank,
                       int64_t *kinds)
{
    int64_t *sorted;
    *kinds = 0;
    GNN_TRY(gnn__new(&sorted, n, sizeof *sorted, what));
    if (n > 0)
        memcpy(sorted, values, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, compare);
    for (int64_t k = 0; k < n; k++)
        if (*kinds == 0 || sorted[*kinds - 1] != sorted[k])
            sorted[(*kinds)++] = sorted[k];
    for (int64_t k = 0; k < n; k++) {
        const int64_t *found = bsearch(&values[k], sorted, (size_t)*kinds, sizeof *sorted, compare);
        rank[k] = (int32_t)(found - sorted);
    }
    gnn_free(sorted);
    return *kinds <= GNN__MOST_CLASSES
               ? GNN_OK
               : gnn__error(GNN_EFORMAT, "%lld different %s, at most %d are read",
                            (long long)*kinds, what, GNN__MOST_CLASSES);
}

/* ---- features of nodes ---- */

/* Attributes, and a one-hot column per kind; either may be missing. */
static int beside(gnn_real_t **out, int64_t rows, const gnn_real_t *x, int64_t cols,
                  const int32_t *rank, int64_t kinds)
{
    const int64_t width = cols + kinds;
    int64_t count;
    if (!gnn__mul(rows, width, &count))
        return gnn__error(GNN_EOVERFLOW, "%lld x %lld features do not fit", (long long)rows,
                          (long long)width);
    GNN_TRY(gnn__new(out, count, sizeof **out, "features"));
    for (int64_t r = 0; r < rows; r++) {
        gnn_real_t *row = *out + r * width;
        if (cols > 0)
            memcpy(row, x + r * cols, (size_t)cols * sizeof *row);
        if (kinds > 0)
            row[cols + rank[r]] = 1;
    }
    return GNN_OK;
}

int gnn_data_degree_features(gnn_data_t *data, int64_t most)
{
    enum { ENOUGH = 255 };
    gnn_data_t made = {0};
    gnn_graph_row_t row;
    int32_t *degree;
    int64_t largest = 0;
    GNN__NEED(data);
    GNN_TRY(gnn__data_whole(data, "given degrees as features"));
    if (most < 0 || most >= GNN__MOST_CLASSES)
        return gnn__error(GNN_EINVALID,
                          "degrees up to %lld as features, expected at least 0 and below %d",
                          (long long)most, GNN__MOST_CLASSES);
    made.n = data->n;
    GNN_TRY(gnn__new(&degree, data->n, sizeof *degree, "degrees"));
    for (int64_t i = 0; i < data->n; i++) {
        for (int64_t p = 0; p < gnn_graph_n_parts(data->graph); p++)
            if (gnn_graph_row(data->graph, p, i, &row) == GNN_OK)
                degree[i] += (int32_t)row.count;
        largest = gnn__max(largest, degree[i]);
    }
    most = most > 0 ? most : gnn__min(largest, ENOUGH);
    for (int64_t i = 0; i < data->n; i++)
        degree[i] = (int32_t)gnn__min(degree[i], most);
    int rc = gnn__data_one_hot(&made, degree, most + 1);
    gnn_free(degree);
    if (rc == GNN_OK) {
        gnn_data_t old = *data;
        gnn__data_changed(data);
        data->x = made.x;
        data->sparse = made.sparse;
        data->features = made.features;
        data->borrowed_x = false;
        gnn__data_free_features(&old);
    } else {
        gnn__data_free_features(&made);
    }
    return rc;
}

/* One-hot columns after those of *x for each column of integers with at least `least` kinds. */
static int append_kinds(gnn_real_t **x, int64_t *cols, int64_t rows, const int64_t *values,
                        int64_t n_values, const char *what, int64_t least)
{
    int64_t *column = NULL, kinds;
    int32_t *rank = NULL;
    gnn_real_t *wider = NULL;
    int rc;
    GNN_CHECK(gnn__new(&column, rows, sizeof *column, what));
    GNN_CHECK(gnn__new(&rank, rows, sizeof *rank, what));
    for (int64_t c = 0; c < n_values; c++) {
        for (int64_t r = 0; r < rows; r++)
            column[r] = values[r * n_values + c];
        GNN_CHECK(rank_values(column, rows, what, rank, &kinds));
        if (kinds < least)
            continue;
        GNN_CHECK(beside(&wider, rows, *x, *cols, rank, kinds));
        gnn_free(*x);
        *x = wider;
        *cols += kinds;
    }
    rc = GNN_OK;
done:
    gnn_free(column);
    gnn_free(rank);
    return rc;
}

/* A single column of tags without attributes. */
static int tag_features(gnn_data_t *data, const gnn__many_t *m)
{
    int32_t *rank;
    int64_t kinds;
    GNN_TRY(gnn__new(&rank, m->nodes, sizeof *rank, "tags of nodes"));
    int rc = rank_values(m->tags, m->nodes, "tags of nodes", rank, &kinds);
    if (rc == GNN_OK)
        rc = kinds > 1 ? gnn__data_one_hot(data, rank, kinds) : gnn_data_degree_features(data, 0);
    gnn_free(rank);
    return rc;
}

static int node_features(gnn_data_t *data, const gnn__many_t *m)
{
    const int64_t tags = !m->tags ? 0 : m->tag_cols ? m->tag_cols : 1;
    gnn_real_t *x = NULL;
    int64_t cols = m->node_cols;
    int rc;
    if (cols == 0 && tags == 1)
        return tag_features(data, m);
    GNN_CHECK(beside(&x, m->nodes, m->nodes_x, cols, NULL, 0));
    GNN_CHECK(append_kinds(&x, &cols, m->nodes, m->tags, tags, "tags of nodes", 2));
    if (cols > 0) {
        data->features = cols;
        data->x = gnn_tensor(x, m->nodes, cols);
        return GNN_OK;
    }
    rc = gnn_data_degree_features(data, 0);
done:
    gnn_free(x);
    return rc;
}

/* ---- links, classes ---- */

static int make_graph(gnn_data_t *data, const gnn__many_t *m)
{
    const int64_t kinds = !m->kinds ? 0 : m->kind_cols ? m->kind_cols : 1;
    gnn_real_t *x = NULL;
    int64_t cols = m->link_cols;
    int rc;
    GNN_CHECK(beside(&x, m->links, m->links_x, cols, NULL, 0));
    GNN_CHECK(append_kinds(&x, &cols, m->links, m->kinds, kinds, "kinds of edges", 0));
    const gnn_array_t features = {"features",       GNN__REAL_DTYPE, 2,
                                  {m->links, cols}, m->links * cols, x};
    GNN_CHECK(gnn__data_links(data, &(gnn__data_links_t){.n = m->nodes,
                                                         .m = m->links,
                                                         .a = m->a,
                                                         .b = m->b,
                                                         .n_arrays = cols > 0 && m->links > 0,
                                                         .arrays = &features}));
    GNN_CHECK(gnn_graph_cut(data->graph, m->graphs, m->lengths));
done:
    gnn_free(x);
    return rc;
}

int gnn__data_graph_classes(gnn_data_t *data, const int32_t *labels, int64_t classes)
{
    const int64_t graphs = gnn_data_graphs(data);
    data->classes = classes;
    return gnn_data_array_set(
        data, GNN_ON_GRAPHS, &(gnn_array_t){"labels", GNN_DTYPE_INT32, 1, {graphs}, graphs, labels});
}

static int graph_classes(gnn_data_t *data, const gnn__many_t *m)
{
    int32_t *rank;
    int64_t classes;
    if (!m->labels)
        return GNN_OK;
    GNN_TRY(gnn__new(&rank, m->graphs, sizeof *rank, "labels"));
    int rc = rank_values(m->labels, m->graphs, "classes", rank, &classes);
    if (rc == GNN_OK)
        rc = gnn__data_graph_classes(data, rank, classes);
    gnn_free(rank);
    return rc;
}

int gnn__data_many(gnn_data_t *data, const gnn__many_t *m)
{
    data->n = m->nodes;
    GNN_TRY(make_graph(data, m));
    GNN_TRY(node_features(data, m));
    GNN_TRY(graph_classes(data, m));
    if (m->target_cols > 0)
        GNN_TRY(gnn_data_array_set(data, GNN_ON_GRAPHS,
                                   &(gnn_array_t){"targets",
                                                  GNN__REAL_DTYPE,
                                                  2,
                                                  {m->graphs, m->target_cols},
                                                  m->graphs * m->target_cols,
                                                  m->targets}));
    return gnn__data_fill_rest(data);
}
