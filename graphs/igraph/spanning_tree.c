/* The spanning tree of the heaviest edges: igraph's minimum spanning tree of negative weights. */
#include <graphs/igraph/call.h>

static int find_tree(const igraph_t *igraph, igraph_vector_t *weights, igraph_vector_int_t *edges)
{
    GNN_TRY(igraph_cattribute_EANV(igraph, "weight", igraph_ess_all(IGRAPH_EDGEORDER_ID), weights));
    igraph_vector_scale(weights, -1);
    return igraph_minimum_spanning_tree(igraph, edges, weights);
}

static int take_tree(const igraph_t *igraph, int64_t *from, int64_t *to, int64_t *count)
{
    igraph_vector_t weights;
    igraph_vector_int_t edges;
    int rc = igraph_vector_init(&weights, 0);
    if (rc != IGRAPH_SUCCESS)
        return rc;
    rc = igraph_vector_int_init(&edges, 0);
    if (rc == IGRAPH_SUCCESS) {
        rc = find_tree(igraph, &weights, &edges);
        *count = rc == IGRAPH_SUCCESS ? igraph_vector_int_size(&edges) : 0;
        for (int64_t k = 0; k < *count; k++) {
            const int64_t a = IGRAPH_FROM(igraph, VECTOR(edges)[k]),
                          b = IGRAPH_TO(igraph, VECTOR(edges)[k]);
            from[k] = gnn__min(a, b);
            to[k] = gnn__max(a, b);
        }
        igraph_vector_int_destroy(&edges);
    }
    igraph_vector_destroy(&weights);
    return rc;
}

static int spanning_tree(const gnn_graph_t *graph, const gnn_real_t *weight, gnn_both_ways_t both,
                         int64_t *from, int64_t *to, int64_t *count)
{
    igraph_t igraph;
    GNN_TRY(gnn__igraph_from_graph(graph, &igraph));
    int rc = gnn__igraph_weigh_edges(&igraph, weight);
    if (rc == IGRAPH_SUCCESS)
        rc = gnn__igraph_collapse(&igraph, both == GNN_BOTH_MAX ? IGRAPH_ATTRIBUTE_COMBINE_MAX
                                                                : IGRAPH_ATTRIBUTE_COMBINE_SUM);
    if (rc == IGRAPH_SUCCESS)
        rc = take_tree(&igraph, from, to, count);
    igraph_destroy(&igraph);
    return rc;
}

int gnn_graph_spanning_tree(const gnn_graph_t *graph, const gnn_real_t *weight,
                            gnn_both_ways_t both, int64_t *from, int64_t *to, int64_t *count)
{
    gnn__igraph_call_t call;
    if (count)
        *count = 0;
    GNN_TRY(gnn__igraph_check_weights(graph, weight));
    if (!from || !to || !count)
        return gnn__error(GNN_EINVALID, "no place for the edges of the tree, or for their number");
    if (both != GNN_BOTH_SUM && both != GNN_BOTH_MAX)
        return gnn__error(GNN_EINVALID,
                          "both directions of an edge make one by GNN_BOTH_SUM or "
                          "GNN_BOTH_MAX, not by %d",
                          (int)both);
    gnn__igraph_enter(&call);
    /* Weights are an attribute, which igraph's C handler keeps, whichever the program has. */
    const igraph_attribute_table_t *before = igraph_set_attribute_table(&igraph_cattribute_table);
    const int rc = spanning_tree(graph, weight, both, from, to, count);
    igraph_set_attribute_table(before);
    return gnn__igraph_leave(&call, rc);
}
