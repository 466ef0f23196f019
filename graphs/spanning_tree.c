/* The spanning tree of the heaviest edges: edges are taken by falling weight unless their ends are
 * joined already. Kruskal 1956. */
#include <graphs/undirected.h>

#include <stdlib.h>

/* Of equal weights the smaller ends are first, so that a tree depends on the graph alone. */
static int by_weight(const void *x, const void *y)
{
    const gnn__undirected_edge_t *p = x, *q = y;
    if (p->weight != q->weight)
        return p->weight > q->weight ? -1 : 1;
    if (p->a != q->a)
        return p->a < q->a ? -1 : 1;
    return p->b < q->b ? -1 : p->b > q->b;
}

static int find_tree(const gnn_graph_t *graph, const gnn_real_t *weight, gnn_both_ways_t both,
                     int64_t *from, int64_t *to, int64_t *count)
{
    int rc;
    int64_t m, *parent = NULL;
    gnn__undirected_edge_t *edges = NULL;
    GNN_CHECK(gnn__components_new(&parent, graph->n_dst));
    GNN_CHECK(gnn__undirected_edges(graph, weight, both, &edges, &m));
    qsort(edges, (size_t)m, sizeof *edges, by_weight);
    for (int64_t k = 0; k < m; k++)
        if (gnn__components_join(parent, edges[k].a, edges[k].b)) {
            from[*count] = edges[k].a;
            to[(*count)++] = edges[k].b;
        }
done:
    gnn_free(parent);
    gnn_free(edges);
    return rc;
}

int gnn_graph_spanning_tree(const gnn_graph_t *graph, const gnn_real_t *weight,
                            gnn_both_ways_t both, int64_t *from, int64_t *to, int64_t *count)
{
    if (count)
        *count = 0;
    GNN__NEED(graph);
    if (gnn_graph_n_pairs(graph) > 0)
        GNN__NEED(weight);
    GNN_TRY(gnn__undirected_check(graph, weight, "spanning tree"));
    GNN__NEED(count);
    if (graph->n_dst > 1 && (!from || !to))
        return gnn__error(GNN_EINVALID, "gnn_graph_spanning_tree: %s is NULL", from ? "to" : "from");
    if (both != GNN_BOTH_SUM && both != GNN_BOTH_MAX)
        return gnn__error(GNN_EINVALID,
                          "both directions of an edge make one by GNN_BOTH_SUM or "
                          "GNN_BOTH_MAX, not by %d",
                          (int)both);
    return find_tree(graph, weight, both, from, to, count);
}
