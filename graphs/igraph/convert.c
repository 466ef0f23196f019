/* Conversion from igraph and to igraph, edge attributes, and igraph's named graphs. */
#include <graphs/igraph/call.h>

/* ---- from igraph ---- */

typedef struct edges {
    int64_t m;
    int64_t *src, *dst, *edge; /* edge: igraph's edge id */
} edges_t;

static void edges_free(edges_t *t)
{
    gnn_free(t->src);
    gnn_free(t->dst);
    gnn_free(t->edge);
}

static int edges_new(edges_t *t, const igraph_t *igraph)
{
    int64_t m = igraph_ecount(igraph), all = m;
    for (int64_t e = 0; e < m && !igraph_is_directed(igraph); e++)
        all += IGRAPH_FROM(igraph, e) != IGRAPH_TO(igraph, e);
    GNN_TRY(gnn__igraph_new(&t->src, all, sizeof(int64_t), "edges from igraph"));
    GNN_TRY(gnn__igraph_new(&t->dst, all, sizeof(int64_t), "edges from igraph"));
    return gnn__igraph_new(&t->edge, all, sizeof(int64_t), "igraph's edge ids");
}

static void add_edge(edges_t *t, int64_t src, int64_t dst, int64_t edge)
{
    t->src[t->m] = src;
    t->dst[t->m] = dst;
    t->edge[t->m++] = edge;
}

int gnn__igraph_to_graph(gnn_graph_t **graph, const igraph_t *igraph, int64_t **igraph_edge)
{
    int rc;
    edges_t t = {0};
    int64_t n = igraph_vcount(igraph);
    GNN_CHECK(edges_new(&t, igraph));
    for (int64_t e = 0; e < igraph_ecount(igraph); e++) {
        int64_t from = IGRAPH_FROM(igraph, e), to = IGRAPH_TO(igraph, e);
        add_edge(&t, from, to, e);
        if (!igraph_is_directed(igraph) && from != to)
            add_edge(&t, to, from, e);
    }
    GNN_CHECK(gnn_graph_from_edges(graph, n, n, t.m, t.src, t.dst));
    if (igraph_edge) {
        *igraph_edge = t.edge;
        t.edge = NULL;
    }
done:
    edges_free(&t);
    return rc;
}

int gnn_graph_from_igraph(gnn_graph_t **graph, const void *igraph, int64_t **igraph_edge)
{
    gnn__igraph_call_t call;
    if (igraph_edge)
        *igraph_edge = NULL;
    if (graph)
        *graph = NULL;
    GNN_TRY(gnn_igraph_use());
    GNN__IGRAPH_NEED(graph);
    GNN__IGRAPH_NEED(igraph);
    gnn__igraph_enter(&call);
    return gnn__igraph_leave(&call, gnn__igraph_to_graph(graph, igraph, igraph_edge));
}

int gnn_graph_famous(gnn_graph_t **graph, const char *name)
{
    gnn__igraph_call_t call;
    igraph_t igraph;
    if (graph)
        *graph = NULL;
    GNN_TRY(gnn_igraph_use());
    GNN__IGRAPH_NEED(graph);
    GNN__IGRAPH_NEED(name);
    gnn__igraph_enter(&call);
    int rc = igraph_famous(&igraph, name);
    if (rc == IGRAPH_SUCCESS) {
        rc = igraph_to_undirected(&igraph, IGRAPH_TO_UNDIRECTED_COLLAPSE, NULL);
        if (rc == IGRAPH_SUCCESS)
            rc = gnn__igraph_to_graph(graph, &igraph, NULL);
        igraph_destroy(&igraph);
    }
    return gnn__igraph_leave(&call, rc);
}

/* ---- attributes ---- */

/* Only igraph's C attribute handler can be read and written; others store attributes in a form of
 * their own. */
static int check_handler(void)
{
    const igraph_attribute_table_t *before = igraph_set_attribute_table(&igraph_cattribute_table);
    igraph_set_attribute_table(before);
    if (before == &igraph_cattribute_table)
        return GNN_OK;
    return gnn__igraph_error(
        GNN_EUNSUPPORTED,
        "edge attributes need igraph's C attribute handler: call igraph_set_attribute_table(&igraph_cattribute_table) "
        "before the graph is made");
}

int gnn__igraph_check_numeric(const igraph_t *igraph, const char *name)
{
    igraph_strvector_t names;
    igraph_vector_int_t types;
    bool found = false;
    int rc = igraph_strvector_init(&names, 0);
    if (rc != IGRAPH_SUCCESS)
        return rc;
    rc = igraph_vector_int_init(&types, 0);
    if (rc == IGRAPH_SUCCESS) {
        rc = igraph_cattribute_list(igraph, NULL, NULL, NULL, NULL, &names, &types);
        for (int64_t a = 0; rc == IGRAPH_SUCCESS && a < igraph_strvector_size(&names); a++)
            found = found || (strcmp(igraph_strvector_get(&names, a), name) == 0 &&
                              VECTOR(types)[a] == IGRAPH_ATTRIBUTE_NUMERIC);
        igraph_vector_int_destroy(&types);
    }
    igraph_strvector_destroy(&names);
    if (rc == IGRAPH_SUCCESS && !found)
        return gnn__igraph_error(GNN_ENOTFOUND, "the igraph has no numeric edge attribute \"%s\"",
                                 name);
    return rc;
}

static int pick_values(const igraph_vector_t *all, const int64_t *igraph_edge, int64_t m,
                       gnn_real_t *values)
{
    int64_t count = igraph_vector_size(all);
    for (int64_t k = 0; k < m; k++) {
        int64_t e = igraph_edge ? igraph_edge[k] : k;
        if (e < 0 || e >= count)
            return gnn__igraph_error(GNN_EINVALID,
                                     "edge %lld is igraph's edge %lld, the igraph has %lld edges",
                                     (long long)k, (long long)e, (long long)count);
        values[k] = (gnn_real_t)VECTOR(*all)[e];
    }
    return GNN_OK;
}

static int read_attribute(const igraph_t *igraph, const char *name, const int64_t *igraph_edge,
                          int64_t m, gnn_real_t *values)
{
    igraph_vector_t all;
    GNN_TRY(check_handler());
    if (!igraph->attr)
        return gnn__igraph_error(
            GNN_ENOTFOUND,
            "the igraph has no numeric edge attribute \"%s\": it was made without an attribute handler",
            name);
    GNN_TRY(gnn__igraph_check_numeric(igraph, name));
    int rc = igraph_vector_init(&all, 0);
    if (rc != IGRAPH_SUCCESS)
        return rc;
    rc = igraph_cattribute_EANV(igraph, name, igraph_ess_all(IGRAPH_EDGEORDER_ID), &all);
    if (rc == IGRAPH_SUCCESS)
        rc = pick_values(&all, igraph_edge, m, values);
    igraph_vector_destroy(&all);
    return rc;
}

int gnn_igraph_edge_attribute(const void *igraph, const char *name, const int64_t *igraph_edge,
                              int64_t m, gnn_real_t *values)
{
    gnn__igraph_call_t call;
    GNN_TRY(gnn_igraph_use());
    GNN__IGRAPH_NEED(igraph);
    GNN__IGRAPH_NEED(name);
    if (m > 0)
        GNN__IGRAPH_NEED(values);
    if (m < 0)
        return gnn__igraph_error(GNN_EINVALID, "m: expected a count >= 0, got %lld", (long long)m);
    gnn__igraph_enter(&call);
    return gnn__igraph_leave(&call, read_attribute(igraph, name, igraph_edge, m, values));
}

/* ---- to igraph ---- */

int gnn__igraph_from_graph(const gnn_graph_t *graph, igraph_t *igraph)
{
    int rc;
    int64_t m = gnn_graph_n_pairs(graph), both, *pairs = NULL;
    igraph_integer_t *ends = NULL;
    igraph_vector_int_t view;
    if (!gnn__mul(2, m, &both))
        GNN_CHECK(gnn__igraph_error(GNN_EOVERFLOW, "igraph: the size of %lld pairs overflows",
                                    (long long)m));
    GNN_CHECK(gnn__igraph_new(&pairs, both, sizeof *pairs, "pairs for igraph"));
    GNN_CHECK(gnn__igraph_new(&ends, both, sizeof *ends, "edges for igraph"));
    GNN_CHECK(gnn_graph_pairs(graph, pairs, pairs + m, NULL));
    for (int64_t k = 0; k < m; k++) {
        ends[2 * k] = (igraph_integer_t)pairs[k];
        ends[2 * k + 1] = (igraph_integer_t)pairs[m + k];
    }
    view = gnn__igraph_view(ends, both);
    GNN_CHECK(igraph_create(igraph, &view, (igraph_integer_t)gnn_graph_n_dst(graph), IGRAPH_DIRECTED));
done:
    gnn_free(pairs);
    gnn_free(ends);
    return rc;
}

int gnn__igraph_weigh_edges(igraph_t *igraph, const gnn_real_t *weight)
{
    igraph_vector_t values;
    int64_t m = igraph_ecount(igraph);
    int rc = igraph_vector_init(&values, (igraph_integer_t)m);
    if (rc != IGRAPH_SUCCESS)
        return rc;
    for (int64_t k = 0; k < m; k++)
        VECTOR(values)[k] = (igraph_real_t)weight[k];
    rc = igraph_cattribute_EAN_setv(igraph, "weight", &values);
    igraph_vector_destroy(&values);
    return rc;
}

static int write_igraph(const gnn_graph_t *graph, const gnn_real_t *weight, igraph_t *igraph)
{
    if (weight)
        GNN_TRY(check_handler());
    GNN_TRY(gnn__igraph_from_graph(graph, igraph));
    if (!weight)
        return GNN_OK;
    int rc = gnn__igraph_weigh_edges(igraph, weight);
    if (rc != GNN_OK)
        igraph_destroy(igraph);
    return rc;
}

int gnn_graph_to_igraph(const gnn_graph_t *graph, const gnn_real_t *weight, void *igraph)
{
    gnn__igraph_call_t call;
    GNN_TRY(gnn_igraph_use());
    GNN__IGRAPH_NEED(graph);
    GNN__IGRAPH_NEED(igraph);
    const int64_t n = gnn_graph_n_dst(graph), n_src = gnn_graph_n_src(graph);
    if (n != n_src)
        return gnn__igraph_error(
            GNN_ETOPOLOGY,
            "an igraph needs the same nodes on both sides, but the graph has %lld receivers and %lld senders",
            (long long)n, (long long)n_src);
    gnn__igraph_enter(&call);
    return gnn__igraph_leave(&call, write_igraph(graph, weight, igraph));
}
