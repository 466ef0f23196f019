/* Data sets from a program's arrays. */
#include <lib/base/settings.h>
#include <lib/data/data.h>

#include <gnn/graph.h>

/* ---- the graph ---- */

static int doubled(const gnn_data_config_t *c, int64_t m, gnn_graph_t **graph)
{
    int64_t *src = NULL, *dst = NULL;
    int rc;
    GNN_CHECK(gnn__new(&src, m, sizeof *src, "links"));
    GNN_CHECK(gnn__new(&dst, m, sizeof *dst, "links"));
    for (int64_t k = 0; k < c->edges; k++) {
        src[k] = dst[c->edges + k] = gnn__int(c->src, k);
        dst[k] = src[c->edges + k] = gnn__int(c->dst, k);
    }
    GNN_CHECK(gnn_graph_from_edges(graph, c->nodes, c->nodes, m, src, dst));
done:
    gnn_free(src);
    gnn_free(dst);
    return rc;
}

static int make_graph(gnn_data_t *data, const gnn_data_config_t *c)
{
    int64_t m;
    if (c->nodes < 1)
        return gnn__error(GNN_EINVALID,
                          ".graph is NULL and .nodes is %lld, expected a graph or at least 1 node",
                          (long long)c->nodes);
    data->n = c->nodes;
    if (c->both_ways != GNN_ON)
        return gnn_graph_from_edges(&data->graph, c->nodes, c->nodes, c->edges, c->src, c->dst);
    if (c->edges < 0 || (c->edges > 0 && (!c->src.data || !c->dst.data)))
        return gnn__error(GNN_EINVALID,
                          ".edges is %lld, expected at least 0, with .src and .dst where it is not 0",
                          (long long)c->edges);
    GNN_TRY(gnn__ints_check(".src", c->src, c->edges));
    GNN_TRY(gnn__ints_check(".dst", c->dst, c->edges));
    if (!gnn__add(c->edges, c->edges, &m))
        return gnn__error(GNN_EOVERFLOW, "%lld edges both ways do not fit", (long long)c->edges);
    return doubled(c, m, &data->graph);
}

static int take_graph(gnn_data_t *data, const gnn_data_config_t *c)
{
    if (!c->graph)
        return make_graph(data, c);
    data->n = gnn_graph_n_dst(c->graph);
    if (gnn_graph_n_src(c->graph) != data->n || data->n < 1)
        return gnn__error(
            GNN_ETOPOLOGY,
            "expected a graph whose receivers are its senders, got %lld receivers and %lld senders",
            (long long)data->n, (long long)gnn_graph_n_src(c->graph));
    if (c->src.data || c->dst.data || c->both_ways == GNN_ON || (c->nodes && c->nodes != data->n) ||
        (c->edges && c->edges != gnn_graph_n_edges(c->graph)))
        return gnn__error(GNN_EINVALID,
                          "expected either .graph (of %lld nodes, %lld edges) or .nodes, .edges, .src "
                          "and .dst, got both",
                          (long long)data->n, (long long)gnn_graph_n_edges(c->graph));
    data->graph = c->graph;
    return GNN_OK;
}

/* The edge array `name` from rows with a distance of `stride` elements. Rows of links that send
 * both ways are duplicated, like the edges. */
static int take_edge_rows(gnn_data_t *data, const gnn_data_config_t *c, const char *name,
                          const gnn_real_t *rows, int64_t cols, int64_t stride)
{
    const int64_t m = gnn_graph_n_edges(data->graph), half = c->both_ways == GNN_ON ? m / 2 : m;
    gnn_real_t *values;
    int64_t count;
    if (!gnn__mul(m, cols, &count))
        return gnn__error(GNN_EOVERFLOW, "%s: %lld x %lld numbers do not fit", name, (long long)m,
                          (long long)cols);
    GNN_TRY(gnn__new(&values, count, sizeof *values, name));
    for (int64_t k = 0; k < m; k++)
        memcpy(values + k * cols, rows + (k < half ? k : k - half) * stride,
               (size_t)cols * sizeof *values);
    int rc = gnn__data_edge_reals(data, name, cols, values);
    gnn_free(values);
    return rc;
}

static int take_edge_features(gnn_data_t *data, const gnn_data_config_t *c)
{
    const gnn_tensor_t *rows = c->edge_features;
    const int64_t m = gnn_graph_n_edges(data->graph), half = c->both_ways == GNN_ON ? m / 2 : m;
    if (!rows)
        return GNN_OK;
    GNN_TRY(gnn__tensor_check(rows, ".edge_features"));
    if (rows->rows != half || rows->cols < 1)
        return gnn__error(GNN_ESHAPE, ".edge_features is %lld x %lld, there are %lld edges",
                          (long long)rows->rows, (long long)rows->cols, (long long)half);
    return take_edge_rows(data, c, "features", rows->data, rows->cols,
                          rows->stride ? rows->stride : rows->cols);
}

/* ---- features ---- */

static int copy(void *out, const void *from, int64_t count, size_t element, const char *what)
{
    void *made;
    GNN_TRY(gnn__new(&made, count, element, what));
    if (count > 0)
        memcpy(made, from, (size_t)count * element);
    *(void **)out = made;
    return GNN_OK;
}

int gnn__data_new_rows(gnn_tensor_t *x, int64_t rows, int64_t cols)
{
    gnn_real_t *values;
    int64_t count;
    if (!gnn__mul(rows, cols, &count))
        return gnn__error(GNN_EOVERFLOW, "%lld x %lld features do not fit", (long long)rows,
                          (long long)cols);
    GNN_TRY(gnn__new(&values, count, sizeof *values, "features"));
    *x = gnn_tensor(values, rows, cols);
    return GNN_OK;
}

static int copy_dense(gnn_data_t *data, const gnn_tensor_t *x)
{
    GNN_TRY(gnn__data_new_rows(&data->x, x->rows, x->cols));
    for (int64_t r = 0; r < x->rows && x->cols > 0; r++)
        memcpy(gnn__row(&data->x, r), gnn__row(x, r), (size_t)x->cols * sizeof *x->data);
    return GNN_OK;
}

static int take_dense(gnn_data_t *data, const gnn_tensor_t *x, bool borrow)
{
    GNN_TRY(gnn__tensor_check(x, ".x"));
    GNN_TRY(gnn__tensor_check_finite(x, ".x"));
    data->features = x->cols;
    if (!borrow || (x->stride && x->stride != x->cols))
        return copy_dense(data, x);
    data->x = *x;
    data->borrowed_x = true;
    return GNN_OK;
}

static int copy_sparse(gnn_data_t *data, const gnn_sparse_t *s)
{
    const int64_t nnz = s->indptr[s->rows];
    gnn_real_t *values;
    data->sparse.rows = s->rows;
    data->sparse.cols = s->cols;
    GNN_TRY(copy(&data->sparse.indptr, s->indptr, s->rows + 1, sizeof *s->indptr, "features"));
    GNN_TRY(copy(&data->sparse.indices, s->indices, nnz, sizeof *s->indices, "features"));
    if (s->values)
        return copy(&data->sparse.values, s->values, nnz, sizeof *values, "features");
    GNN_TRY(gnn__new(&values, nnz, sizeof *values, "features"));
    data->sparse.values = values;
    for (int64_t k = 0; k < nnz; k++)
        values[k] = 1;
    return GNN_OK;
}

static int take_sparse(gnn_data_t *data, const gnn_sparse_t *s, bool borrow)
{
    GNN_TRY(gnn__sparse_validate(s, ".sparse"));
    data->features = s->cols;
    if (!borrow || !s->values)
        return copy_sparse(data, s);
    data->sparse = *s;
    data->borrowed_x = true;
    return GNN_OK;
}

int gnn__data_own_features(gnn_data_t *data)
{
    const gnn_tensor_t x = data->x;
    const gnn_sparse_t s = data->sparse;
    gnn_data_t made = {.n = data->n};
    if (!data->borrowed_x)
        return GNN_OK;
    int rc = s.indptr ? copy_sparse(&made, &s) : copy_dense(&made, &x);
    if (rc != GNN_OK) {
        gnn__data_free_rows(&made);
        return rc;
    }
    data->x = made.x;
    data->sparse = made.sparse;
    data->borrowed_x = false;
    return GNN_OK;
}

static int take_features(gnn_data_t *data, const gnn_data_config_t *c)
{
    gnn_tensor_t nothing = {NULL, data->n, 0, 0};
    if (c->x && c->sparse)
        return gnn__error(GNN_EINVALID, ".x and .sparse are both given, at most one is expected");
    if (!c->x && !c->sparse)
        return copy_dense(data, &nothing);
    int64_t rows = c->x ? c->x->rows : c->sparse->rows;
    if (rows != data->n)
        return gnn__error(GNN_ESHAPE, "the features have %lld rows, the graph has %lld nodes",
                          (long long)rows, (long long)data->n);
    return c->x ? take_dense(data, c->x, c->owner) : take_sparse(data, c->sparse, c->owner);
}

/* ---- labels and splits ---- */

static int count_classes(gnn_data_t *data, const gnn_data_config_t *c)
{
    int64_t most = c->classes                    ? c->classes
                   : data->n > GNN__MOST_CLASSES ? data->n
                                                 : GNN__MOST_CLASSES;
    if (c->classes < 0 || c->classes > INT32_MAX)
        return gnn__error(GNN_EINVALID, ".classes is %lld", (long long)c->classes);
    data->classes = c->classes;
    for (int64_t i = 0; c->labels.data && i < data->n; i++) {
        const int64_t label = gnn__int(c->labels, i);
        if (label >= most)
            return gnn__error(GNN_EINVALID,
                              ".labels: class %lld at node %lld, less than %lld is expected",
                              (long long)label, (long long)i, (long long)most);
        if (label >= data->classes)
            data->classes = label + 1;
    }
    return GNN_OK;
}

static int take_labels(gnn_data_t *data, const gnn_data_config_t *c)
{
    if (c->labels.data)
        GNN_TRY(gnn__ints_check(".labels", c->labels, data->n));
    GNN_TRY(count_classes(data, c));
    if (c->labels.data && c->labels.type == GNN_DTYPE_INT32 && c->owner) {
        data->labels = (int32_t *)(uintptr_t)c->labels.data; /* only read while it is borrowed */
        data->borrowed_labels = true;
        return GNN_OK;
    }
    GNN_TRY(gnn__new(&data->labels, data->n, sizeof *data->labels, "labels"));
    for (int64_t i = 0; i < data->n; i++)
        data->labels[i] =
            c->labels.data && gnn__int(c->labels, i) >= 0 ? (int32_t)gnn__int(c->labels, i) : -1;
    return GNN_OK;
}

int gnn__data_split_labelled(const gnn_data_t *data, const gnn_split_t *split)
{
    static const char *const names[] = {"training", "validation", "test"};
    for (int part = 0; part < 3 && data->classes > 0; part++)
        for (int64_t s = 0; s < split->count; s++)
            for (int64_t i = 0; i < data->n; i++)
                if (gnn__split_marks(split, part, s)[i] && data->labels[i] < 0)
                    return gnn__error(
                        GNN_EINVALID,
                        "split %lld has node %lld, whose label is %d, in its %s part; expected a class, 0 to %lld",
                        (long long)s, (long long)i, (int)data->labels[i], names[part],
                        (long long)data->classes - 1);
    return GNN_OK;
}

static int take_split(gnn_data_t *data, const gnn_data_config_t *c)
{
    if (!c->split)
        return c->labels.data ? gnn__data_default_split(data, 0)
                              : gnn_split_new(&data->split, data->n, 1);
    GNN_TRY(gnn__split_fits(c->split, data->n, "nodes", 0));
    GNN_TRY(gnn__data_split_labelled(data, c->split));
    return gnn__split_copy(&data->split, c->split);
}

int gnn_data_split_set(gnn_data_t *data, const gnn_split_t *split)
{
    gnn_split_t *own;
    GNN__NEED(data);
    GNN__NEED(split);
    GNN_TRY(gnn__split_fits(split, data->n, "nodes", 0));
    GNN_TRY(gnn__data_split_labelled(data, split));
    GNN_TRY(gnn__split_copy(&own, split));
    gnn_split_free(data->split);
    data->split = own;
    return GNN_OK;
}

/* ---- the set ---- */

static int fill(gnn_data_t *data, const gnn_data_config_t *c)
{
    GNN_TRY(gnn__strdup(&data->name, c->name ? c->name : "data"));
    GNN_TRY(take_graph(data, c));
    if (c->weight)
        GNN_TRY(take_edge_rows(data, c, "weight", c->weight, 1, 1));
    GNN_TRY(take_edge_features(data, c));
    GNN_TRY(take_features(data, c));
    GNN_TRY(take_labels(data, c));
    if (c->class_names && data->classes == 0)
        return gnn__error(GNN_EINVALID, ".class_names are given, and there are no classes: neither "
                                        ".labels nor .classes");
    if (c->class_names)
        GNN_TRY(gnn__data_copy_class_names(data, c->class_names));
    return take_split(data, c);
}

int gnn_data_new(gnn_data_t **data, const gnn_data_config_t *config)
{
    gnn_data_config_t own = config ? *config : (gnn_data_config_t){0};
    gnn_data_t *d;
    GNN__NEED(data);
    *data = NULL;
    GNN__NEED(config);
    GNN_TRY(gnn__check_flag(own.both_ways, "a data set's config: both_ways"));
    GNN_TRY(gnn__new(&d, 1, sizeof *d, "a data set"));
    int rc = fill(d, &own);
    if (rc == GNN_OK) {
        if (own.owner)
            d->owner = *own.owner;
        *data = d;
        return GNN_OK;
    }
    if (own.graph)
        d->graph = NULL; /* remains the caller's */
    gnn_data_free(d);
    return rc;
}
