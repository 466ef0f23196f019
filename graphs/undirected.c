/* Weighted undirected edges of a graph, and its connected components; maximum
 * spanning trees. */
#include <graphs/undirected.h>

#include <math.h>
#include <stdlib.h>

int gnn__undirected_check(const gnn_graph_t *graph, const gnn_real_t *weight, const char *what)
{
    if (!graph)
        return gnn__error(GNN_EINVALID, "the graph is NULL");
    if (graph->n_dst != graph->n_src)
        return gnn__error(
            GNN_ETOPOLOGY,
            "a %s needs the same nodes on both sides, but the graph has %lld receivers and %lld senders",
            what, (long long)graph->n_dst, (long long)graph->n_src);
    for (int64_t k = 0, m = weight ? gnn_graph_n_pairs(graph) : 0; k < m; k++)
        if (!isfinite(weight[k]))
            return gnn__error(GNN_ENUMERIC, "weight of pair %lld: expected a finite value, got %g",
                              (long long)k, (double)weight[k]);
    return GNN_OK;
}

static int by_ends(const void *x, const void *y)
{
    const gnn__undirected_edge_t *p = x, *q = y;
    if (p->a != q->a)
        return p->a < q->a ? -1 : 1;
    if (p->b != q->b)
        return p->b < q->b ? -1 : 1;
    return p->pair < q->pair ? -1 : p->pair > q->pair;
}

/* Merges edges with the same ends, which are adjacent, into the first of them. */
static int64_t merge(gnn__undirected_edge_t *edges, int64_t m, gnn_both_ways_t both)
{
    int64_t kept = 0;
    for (int64_t k = 0; k < m; k++) {
        gnn__undirected_edge_t *last = kept > 0 ? &edges[kept - 1] : NULL;
        if (!last || last->a != edges[k].a || last->b != edges[k].b)
            edges[kept++] = edges[k];
        else
            last->weight = both == GNN_BOTH_MAX ? fmax(last->weight, edges[k].weight)
                                                : last->weight + edges[k].weight;
    }
    return kept;
}

int gnn__undirected_edges(const gnn_graph_t *graph, const gnn_real_t *weight, gnn_both_ways_t both,
                          gnn__undirected_edge_t **edges, int64_t *count)
{
    int rc;
    int64_t m = gnn_graph_n_pairs(graph), ends, n = 0, *pairs = NULL;
    *edges = NULL;
    *count = 0;
    if (!gnn__mul(2, m, &ends))
        return gnn__error(GNN_EOVERFLOW, "undirected edges: the size of %lld pairs overflows",
                          (long long)m);
    GNN_CHECK(gnn__new(&pairs, ends, sizeof *pairs, "pairs of a graph"));
    GNN_CHECK(gnn__new(edges, m, sizeof **edges, "undirected edges"));
    GNN_CHECK(gnn_graph_pairs(graph, pairs, pairs + m, NULL));
    for (int64_t k = 0; k < m; k++)
        if (pairs[k] != pairs[m + k])
            (*edges)[n++] = (gnn__undirected_edge_t){.a = gnn__min(pairs[k], pairs[m + k]),
                                                     .b = gnn__max(pairs[k], pairs[m + k]),
                                                     .weight = weight ? (double)weight[k] : 1,
                                                     .pair = k};
    qsort(*edges, (size_t)n, sizeof **edges, by_ends);
    *count = merge(*edges, n, weight ? both : GNN_BOTH_MAX);
done:
    gnn_free(pairs);
    return rc;
}

int gnn__components_new(int64_t **parent, int64_t n)
{
    GNN_TRY(gnn__new(parent, n, sizeof **parent, "components of a graph"));
    for (int64_t i = 0; i < n; i++)
        (*parent)[i] = i;
    return GNN_OK;
}

bool gnn__components_join(int64_t *parent, int64_t a, int64_t b)
{
    const int64_t p = gnn__component_root(parent, a), q = gnn__component_root(parent, b);
    parent[gnn__max(p, q)] = gnn__min(p, q);
    return p != q;
}

/* ---- spanning trees ---- */

/* Maximum spanning tree, Kruskal 1956: edges in order of descending weight are added unless their
 * ends are already connected. */

/* By descending weight, ties by ends, so that the tree depends on the graph alone. */
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

int gnn__graph_spanning_tree(const gnn_graph_t *graph, const gnn_real_t *weight,
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
        return gnn__error(GNN_EINVALID, "a spanning tree: %s is NULL", from ? "to" : "from");
    if (both != GNN_BOTH_SUM && both != GNN_BOTH_MAX)
        return gnn__error(GNN_EINVALID,
                          "spanning tree: expected GNN_BOTH_SUM or GNN_BOTH_MAX, got %d", (int)both);
    return find_tree(graph, weight, both, from, to, count);
}
