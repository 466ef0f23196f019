/* Edges of a .npz: CSR or a list of pairs, their weights, features and other arrays. */
#include <lib/data/layouts.h>

#include <gnn/graph.h>
#include <math.h>

/* ---- edges ---- */

/* Errors name non-finite weights by their index in the file; weights that are all 1 are dropped. */
static int take_weights(gnn_array_t *to, int64_t *count, const gnn_array_t *from, int64_t m)
{
    bool ones = true;
    GNN_TRY(gnn__layout_rank(from, 1));
    if (from->count != m)
        return gnn__error(GNN_EFORMAT, "%s: %lld weights of %lld edges", from->name,
                          (long long)from->count, (long long)m);
    for (int64_t k = 0; k < m; k++) {
        double weight = gnn_array_get(from, k);
        if (!isfinite((gnn_real_t)weight))
            return gnn__error(GNN_ENUMERIC, "%s: %g at edge %lld", from->name, weight, (long long)k);
        ones = ones && weight == 1;
    }
    if (ones)
        return GNN_OK;
    to[*count] = *from;
    to[(*count)++].name = "weight";
    return GNN_OK;
}

/* Integer weights are converted to reals. The caller frees, on failure too. */
static int as_reals(gnn_array_t *array, gnn_real_t **values)
{
    GNN_TRY(gnn__new(values, array->count, sizeof **values, array->name));
    gnn__array_reals(array, *values);
    array->data = *values;
    array->dtype = GNN__REAL_DTYPE;
    return GNN_OK;
}

enum { MOST_EDGE_ARRAYS = 32 };
static const char edge_prefix[] = "edge.", node_prefix[] = "node.", graph_prefix[] = "graph.";

/* Errors name an array as the file does, and its row there. */
static int check_finite(const gnn_array_t *a)
{
    if (gnn__element(a->dtype)->integer || a->ndim < 1 || a->shape[0] < 1)
        return GNN_OK;
    const int64_t cols = a->count / a->shape[0];
    for (int64_t k = 0; k < a->count; k++)
        if (!isfinite((gnn_real_t)gnn_array_get(a, k)))
            return gnn__error(GNN_ENUMERIC, "%s: %g at edge %lld, column %lld", a->name,
                              gnn_array_get(a, k), (long long)(k / cols), (long long)(k % cols));
    return GNN_OK;
}

/* Arrays of the file's m edges: the weights `weight`, and "edge.NAME" as NAME. */
static int edge_arrays(const gnn_arrays_t *arrays, const gnn_array_t *weight, int64_t m,
                       gnn_array_t *to, int64_t *count, gnn_real_t **reals)
{
    const gnn_array_t *of = gnn__layout_find(arrays, gnn__layout_names[GNN__OF_EDGE_FEATURES]);
    if (weight)
        GNN_TRY(take_weights(to, count, weight, m));
    if (*count > 0)
        GNN_TRY(as_reals(&to[0], reals));
    if (of) {
        GNN_TRY(check_finite(of));
        to[*count] = *of;
        to[(*count)++].name = "features";
    }
    for (int64_t k = 0; k < arrays->count && *count < MOST_EDGE_ARRAYS; k++) {
        const gnn_array_t *a = gnn_arrays_at(arrays, k);
        if (strncmp(a->name, edge_prefix, sizeof edge_prefix - 1) != 0)
            continue;
        GNN_TRY(check_finite(a));
        to[*count] = *a;
        to[(*count)++].name = a->name + sizeof edge_prefix - 1;
    }
    for (int64_t k = 0; k < *count; k++)
        if (to[k].ndim < 1 || to[k].shape[0] != m)
            return gnn__error(GNN_EFORMAT, "%s of edges: its shape is %s, there are %lld edges",
                              to[k].name, gnn__shape_words(to[k].ndim, to[k].shape), (long long)m);
    return GNN_OK;
}

int gnn__layout_links(gnn_data_t *data, const gnn_arrays_t *arrays, const gnn_array_t *weight,
                      gnn__data_links_t links)
{
    gnn_array_t of_edges[MOST_EDGE_ARRAYS];
    gnn_real_t *reals = NULL;
    links.n = data->n;
    links.arrays = of_edges;
    links.finite = true; /* edge_arrays() names the values of the file that are not */
    int rc = edge_arrays(arrays, weight, links.m, of_edges, &links.n_arrays, &reals);
    if (rc == GNN_OK)
        rc = gnn__data_links(data, &links);
    gnn_free(reals);
    return rc;
}

/* Splits node ids, m x 2 or (`by_side`) 2 x m, into senders and receivers. */
static int read_ends(const gnn_data_t *data, const gnn_array_t *edges, bool by_side, int32_t *ends[2])
{
    GNN_TRY(gnn__layout_rank(edges, 2));
    GNN_TRY(gnn__layout_integer(edges));
    if (edges->shape[!by_side] != 2)
        return gnn__error(GNN_EFORMAT, "%s: its shape is %s, expected %s", edges->name,
                          gnn__shape_words(2, edges->shape), by_side ? "2 x m" : "m x 2");
    const int64_t m = edges->shape[by_side];
    for (int side = 0; side < 2; side++)
        GNN_TRY(gnn__new(&ends[side], m, sizeof *ends[side], "edges"));
    for (int64_t k = 0; k < 2 * m; k++) {
        int64_t node = gnn__array_int(edges, k);
        const int64_t edge = by_side ? k % m : k / 2;
        if (node < 0 || node >= data->n)
            return gnn__error(GNN_EFORMAT, "%s: node %lld in %s %lld, there are %lld nodes",
                              edges->name, (long long)node, by_side ? "column" : "row",
                              (long long)edge, (long long)data->n);
        ends[by_side ? k / m : k & 1][edge] = (int32_t)node;
    }
    return GNN_OK;
}

/* Pairs of nodes in rows, or (`by_side`) in columns. */
static int read_pairs(gnn_data_t *data, const gnn_arrays_t *arrays, const gnn_array_t *pairs,
                      bool by_side, const gnn_array_t *weight)
{
    int32_t *ends[2] = {NULL, NULL};
    int rc = read_ends(data, pairs, by_side, ends);
    if (rc == GNN_OK)
        rc = gnn__layout_links(
            data, arrays, weight,
            (gnn__data_links_t){.m = pairs->shape[by_side], .a = ends[0], .b = ends[1]});
    gnn_free(ends[0]);
    gnn_free(ends[1]);
    return rc;
}

static int read_nodes(const gnn_data_t *data, const gnn_array_t *nodes, int32_t **out)
{
    GNN_TRY(gnn__layout_rank(nodes, 1));
    GNN_TRY(gnn__layout_integer(nodes));
    GNN_TRY(gnn__new(out, nodes->count, sizeof **out, "edges"));
    for (int64_t k = 0; k < nodes->count; k++) {
        const int64_t node = gnn__array_int(nodes, k);
        if (node < 0 || node >= data->n)
            return gnn__error(GNN_EFORMAT, "%s: node %lld at edge %lld, there are %lld nodes",
                              nodes->name, (long long)node, (long long)k, (long long)data->n);
        (*out)[k] = (int32_t)node;
    }
    return GNN_OK;
}

int gnn__layout_two_lists(gnn_data_t *data, const gnn_arrays_t *arrays, const gnn_array_t *senders,
                          const gnn_array_t *receivers, const gnn_array_t *weight)
{
    int32_t *ends[2] = {NULL, NULL};
    int rc;
    GNN_CHECK(read_nodes(data, senders, &ends[0]));
    GNN_CHECK(read_nodes(data, receivers, &ends[1]));
    if (senders->count != receivers->count)
        GNN_CHECK(gnn__error(GNN_EFORMAT, "%s: %lld nodes, %s has %lld", senders->name,
                             (long long)senders->count, receivers->name, (long long)receivers->count));
    GNN_CHECK(gnn__layout_links(
        data, arrays, weight, (gnn__data_links_t){.m = senders->count, .a = ends[0], .b = ends[1]}));
done:
    gnn_free(ends[0]);
    gnn_free(ends[1]);
    return rc;
}

int gnn__layout_adjacency(gnn_data_t *data, const gnn_arrays_t *arrays, const char *matrix,
                          bool transposed)
{
    gnn__layout_csr_t csr = {0};
    int32_t *rows = NULL;
    const gnn_array_t *weights;
    int rc;
    GNN_CHECK(gnn__layout_csr(&csr, &weights, arrays, matrix, data->n));
    if (csr.rows != csr.cols)
        GNN_CHECK(gnn__error(GNN_EFORMAT, "%s_shape: %lld x %lld is not square", matrix,
                             (long long)csr.rows, (long long)csr.cols));
    GNN_CHECK(gnn__layout_csr_rows(&csr, &rows));
    GNN_CHECK(gnn__layout_links(data, arrays, weights,
                                (gnn__data_links_t){.m = csr.nnz,
                                                    .a = transposed ? rows : csr.indices,
                                                    .b = transposed ? csr.indices : rows}));
done:
    gnn_free(rows);
    gnn_free(csr.indptr);
    gnn_free(csr.indices);
    return rc;
}

/* Edges unchanged, however the set is opened: row k is edge k. */
static int read_messages(gnn_data_t *data, const gnn_arrays_t *arrays, const gnn_array_t *messages)
{
    GNN_TRY(gnn__data_as_stored(data, messages->name));
    data->directed = true;
    return read_pairs(data, arrays, messages, false, NULL);
}

int gnn__layout_edges(gnn_data_t *data, const gnn_arrays_t *arrays)
{
    const gnn_array_t *messages = gnn_arrays_find(arrays, "messages");
    const gnn_array_t *edges = gnn_arrays_find(arrays, "edges");
    const gnn_array_t *index = gnn_arrays_find(arrays, "edge_index");
    const gnn_array_t *weight = gnn__layout_find(arrays, gnn__layout_names[GNN__OF_WEIGHTS]);
    const gnn_array_t *senders = gnn__layout_find(arrays, gnn__layout_names[GNN__OF_SENDERS]);
    const gnn_array_t *receivers = gnn__layout_find(arrays, gnn__layout_names[GNN__OF_RECEIVERS]);
    if (messages)
        return read_messages(data, arrays, messages);
    if (edges)
        return read_pairs(data, arrays, edges, false, weight);
    if (index)
        return read_pairs(data, arrays, index, true, weight);
    if (senders && receivers)
        return gnn__layout_two_lists(data, arrays, senders, receivers, weight);
    if (!gnn__layout_spelling(arrays, "adj"))
        return gnn__layout_lacks(
            arrays,
            "there are neither adj_indptr, adj_indices and adj_shape nor edges, edge_index, src "
            "and dst");
    return gnn__layout_adjacency(data, arrays, "adj", false);
}

/* "node.NAME" and "graph.NAME" as arrays NAME. */
static int read_named(gnn_data_t *data, const gnn_arrays_t *arrays, const char *prefix,
                      gnn_data_place_t place)
{
    for (int64_t k = 0; k < arrays->count; k++) {
        gnn_array_t array = *gnn_arrays_at(arrays, k);
        if (strncmp(array.name, prefix, strlen(prefix)) != 0)
            continue;
        array.name += strlen(prefix);
        int rc = gnn_data_array_set(data, place, &array);
        if (rc != GNN_OK)
            return rc == GNN_EMEMORY || rc == GNN_ENUMERIC ? rc : GNN_EFORMAT;
    }
    return GNN_OK;
}

int gnn__layout_arrays(gnn_data_t *data, const gnn_arrays_t *arrays)
{
    GNN_TRY(read_named(data, arrays, node_prefix, GNN_ON_NODES));
    return read_named(data, arrays, graph_prefix, GNN_ON_GRAPHS);
}
