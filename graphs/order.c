/* Orders of nodes, and graphs under other node indices. */
#include <graphs/build.h>

/* ---- renumbering, and the order by degree ---- */

/* The same graph under other node indices, and orders of nodes. With nodes of high degree first,
 * the rows that are read most are adjacent, and so are rows of similar length. */

static int check_graph(const gnn_graph_t *graph)
{
    if (graph->n_dst != graph->n_src)
        return gnn__error(
            GNN_ETOPOLOGY,
            "an order needs the same nodes on both sides, but the graph has %lld receivers and %lld senders",
            (long long)graph->n_dst, (long long)graph->n_src);
    return GNN_OK;
}

/* Counting sort: position[d] is the next row of a node with degree most - d. */
int gnn__graph_degree_order(const gnn_graph_t *graph, int64_t *order)
{
    int64_t most = 0, *position;
    GNN_TRY(check_graph(graph));
    const int64_t *degree = graph->base.degree;
    for (int64_t i = 0; i < graph->n_dst; i++)
        most = degree[i] > most ? degree[i] : most;
    GNN_TRY(gnn__new(&position, most + 2, sizeof *position, "offsets of degrees"));
    for (int64_t i = 0; i < graph->n_dst; i++)
        position[most - degree[i] + 1]++;
    for (int64_t d = 0; d < most; d++)
        position[d + 1] += position[d];
    for (int64_t i = 0; i < graph->n_dst; i++)
        order[position[most - degree[i]]++] = i;
    gnn_free(position);
    return GNN_OK;
}

int gnn__order_invert(int64_t n, const int64_t *order, int64_t **rank)
{
    int64_t *at;
    GNN_TRY(gnn__new(rank, n, sizeof **rank, "ranks of nodes"));
    for (int64_t r = 0; r < n; r++) {
        bool known = order[r] >= 0 && order[r] < n;
        at = *rank + (known ? order[r] : 0);
        if (!known || *at) {
            gnn_free(*rank);
            *rank = NULL;
            return gnn__error(GNN_EINVALID, "order[%lld] = %lld %s", (long long)r,
                              (long long)order[r], known ? "is a duplicate" : "is not a node");
        }
        *at = r + 1;
    }
    for (int64_t i = 0; i < n; i++)
        (*rank)[i]--;
    return GNN_OK;
}

/* Rows and columns under new indices; the columns of a row keep their order. */
static int relabel(gnn_graph_t *graph, const gnn__pairs_t *from, const int64_t *order,
                   const int64_t *rank, gnn__pairs_t *to)
{
    int64_t *indptr, *edge, at = 0;
    int32_t *indices;
    GNN_TRY(gnn__graph_own(graph, &indptr, from->n_rows + 1, sizeof *indptr, "row pointers"));
    GNN_TRY(gnn__graph_own(graph, &indices, from->count, sizeof *indices, "edges"));
    GNN_TRY(gnn__graph_own(graph, &edge, from->count, sizeof *edge, "edge ids"));
    for (int64_t r = 0; r < from->n_rows; r++) {
        for (int64_t k = from->indptr[order[r]]; k < from->indptr[order[r] + 1]; k++, at++) {
            indices[at] = (int32_t)rank[from->indices[k]];
            edge[at] = gnn__pairs_edge(from, k);
        }
        indptr[r + 1] = at;
    }
    *to = *from;
    to->indptr = indptr;
    to->indices = indices;
    to->edge = edge;
    return GNN_OK;
}

/* Two transposes sort the senders of every receiver. The intermediate ones belong to a temporary
 * graph. */
static int renumber_edges(gnn_graph_t *graph, const gnn__part_t *from, const int64_t *order,
                          const int64_t *rank, gnn__part_t *to)
{
    gnn_graph_t *temporary;
    gnn__part_t mixed = {0}, by_sender;
    int rc;
    GNN_TRY(gnn__graph_new(&temporary, 0, 0, 0));
    GNN_CHECK(relabel(temporary, &from->pairs, order, rank, &mixed.pairs));
    GNN_CHECK(gnn__part_transpose(temporary, &mixed, &by_sender));
    GNN_CHECK(gnn__part_transpose(graph, &by_sender, to));
done:
    gnn_graph_free(temporary);
    return rc;
}

static int renumber_nodes(gnn_graph_t *graph, const int32_t *from, int64_t n, const int64_t *rank,
                          const int32_t **to)
{
    int32_t *order;
    GNN_TRY(gnn__graph_own(graph, &order, n, sizeof *order, "order of nodes"));
    for (int64_t r = 0; r < n; r++)
        order[r] = (int32_t)rank[from ? from[r] : r];
    *to = order;
    return GNN_OK;
}

/* Rows keep their order; only the nodes that they belong to change. */
static int renumber_spans(gnn_graph_t *graph, const gnn__pairs_t *from, const int64_t *rank,
                          gnn__pairs_t *to)
{
    const int64_t n = from->n_rows;
    *to = *from;
    GNN_TRY(renumber_nodes(graph, from->row_order, n, rank, &to->row_order));
    GNN_TRY(renumber_nodes(graph, from->col_order, n, rank, &to->col_order));
    GNN_TRY(gnn__graph_own_copy(graph, &to->lo, from->lo, n, sizeof *from->lo, "spans"));
    return gnn__graph_own_copy(graph, &to->hi, from->hi, n, sizeof *from->hi, "spans");
}

int(gnn_graph_renumber)(gnn_graph_t **graph, const gnn_graph_t *of, gnn_ints_t new_order)
{
    GNN__NEED(graph);
    int rc;
    gnn_graph_t *g = NULL;
    const int64_t *order = new_order.data;
    int64_t *rank = NULL, *made = NULL;
    GNN__NEED(of);
    GNN__NEED(order);
    GNN_CHECK(check_graph(of));
    GNN_CHECK(gnn__ints_64("order", new_order, of->n_dst, &order, &made));
    if (of->n_segments > 0)
        GNN_CHECK(gnn__error(GNN_EUNSUPPORTED,
                             "cannot renumber a graph with segments, whose nodes are contiguous"));
    GNN_CHECK(gnn__order_invert(of->n_dst, order, &rank));
    GNN_CHECK(gnn__graph_new(&g, of->n_dst, of->n_src, of->base.n_parts));
    g->n_edges = of->n_edges;
    for (int64_t p = 0; p < of->base.n_parts; p++) {
        const gnn__part_t *from = &of->base.parts[p];
        gnn__part_t *to = &g->base.parts[p];
        GNN_CHECK(gnn__pairs_form(&from->pairs) == GNN__EDGES
                      ? renumber_edges(g, from, order, rank, to)
                      : renumber_spans(g, &from->pairs, rank, &to->pairs));
    }
done:
    gnn_free(rank);
    gnn_free(made);
    return gnn__graph_deliver(graph, g, rc);
}

void gnn__graph_number_edges(gnn_graph_t *graph, int64_t *old)
{
    int64_t at = 0;
    for (int64_t p = 0; p < graph->base.n_parts; p++) {
        gnn__pairs_t *pairs = &graph->base.parts[p].pairs;
        for (int64_t k = 0; k < pairs->count; k++)
            old[at + k] = gnn__pairs_edge(pairs, k);
        pairs->edge = NULL;
        pairs->edge_base = at;
        at += pairs->count;
    }
}

int gnn__graph_rename_edges(gnn_graph_t *graph, const int64_t *ids)
{
    for (int64_t p = 0; p < graph->base.n_parts; p++) {
        gnn__pairs_t *pairs = &graph->base.parts[p].pairs;
        int64_t *edge;
        GNN_TRY(gnn__graph_own(graph, &edge, pairs->count, sizeof *edge, "edge ids"));
        for (int64_t k = 0; k < pairs->count; k++)
            edge[k] = ids[gnn__pairs_edge(pairs, k)];
        pairs->edge = edge;
    }
    return GNN_OK;
}

/* ---- the order by communities ---- */

/* A node order by communities, found as Louvain does (Blondel et al. 2008): each node joins the
 * group with the largest modularity gain, then whole groups do, until none gains. Ties are broken
 * by node index rather than randomly. */

enum { SWEEPS = 4, LEVELS = 3 };

/* Minimum modularity for the community order to be used. */
static const double MODULARITY_LEAST = 0.6;

/* Units move as a whole: nodes at first, later the groups of the previous level. Arrays have one
 * element per node. */
typedef struct {
    const gnn__built_view_t *view;
    int64_t n;               /* nodes */
    int64_t pairs;           /* edges of all parts */
    int64_t units;           /* count of units */
    int64_t n_met;           /* used elements of `met` */
    int64_t *unit;           /* of a node */
    int64_t *member, *start; /* nodes of unit u: member[start[u]] .. member[start[u + 1] - 1] */
    int64_t *weight, *total; /* sum of in-degrees of a unit; of a group */
    int64_t *group;          /* of a unit */
    int64_t *links;          /* of the unit that moves: edges from each group; 0 between moves */
    int64_t *met;            /* the groups whose `links` are not 0 */
} communities_t;

static int communities_new(communities_t *t, const gnn_graph_t *graph)
{
    const int64_t n = graph->n_dst;
    int64_t **const arrays[] = {&t->unit,  &t->member, &t->weight, &t->total,
                                &t->group, &t->links,  &t->met,    &t->start};
    int64_t size, *room;
    *t = (communities_t){.view = &graph->base, .n = n, .units = n};
    if (!gnn__mul(n, 8, &size))
        return gnn__error(GNN_EOVERFLOW, "communities: the size for %lld nodes overflows",
                          (long long)n);
    GNN_TRY(gnn__new(&room, size + 1, sizeof *room, "communities"));
    for (int k = 0; k < 8; k++)
        *arrays[k] = room + k * n;
    for (int64_t i = 0; i < n; i++) {
        t->unit[i] = i;
        t->pairs += graph->base.degree[i];
    }
    return GNN_OK;
}

/* Lists the units' nodes; every unit becomes a group of its own. */
static void begin(communities_t *t)
{
    memset(t->start, 0, (size_t)(t->units + 1) * sizeof *t->start);
    memset(t->weight, 0, (size_t)t->units * sizeof *t->weight);
    for (int64_t i = 0; i < t->n; i++) {
        t->start[t->unit[i] + 1]++;
        t->weight[t->unit[i]] += t->view->degree[i];
    }
    for (int64_t u = 0; u < t->units; u++) {
        t->start[u + 1] += t->start[u];
        t->group[u] = u;
        t->total[u] = t->weight[u];
    }
    for (int64_t i = 0; i < t->n; i++)
        t->member[t->start[t->unit[i]]++] = i;
    memmove(t->start + 1, t->start, (size_t)t->units * sizeof *t->start);
    t->start[0] = 0;
}

/* Counts the edges of node i of unit u from each group. */
static void count_links(communities_t *t, int64_t u, int64_t i)
{
    for (int64_t p = 0; p < t->view->n_parts; p++) {
        const gnn__pairs_t *pairs = &t->view->parts[p].pairs;
        for (int64_t k = pairs->indptr[i]; k < pairs->indptr[i + 1]; k++) {
            const int64_t other = t->unit[pairs->indices[k]], g = t->group[other];
            if (other != u && t->links[g]++ == 0)
                t->met[t->n_met++] = g;
        }
    }
}

/* Modularity gain of unit u in group g, times the count of pairs: its links less their expected
 * count. */
static double gain(const communities_t *t, int64_t u, int64_t g)
{
    return (double)t->links[g] - (double)t->weight[u] * (double)t->total[g] / (double)t->pairs;
}

/* Moves unit u to the best group, the lowest index of equal ones; returns true if it changed. */
static bool move(communities_t *t, int64_t u)
{
    const int64_t from = t->group[u];
    int64_t to = from;
    t->n_met = 0;
    for (int64_t k = t->start[u]; k < t->start[u + 1]; k++)
        count_links(t, u, t->member[k]);
    t->total[from] -= t->weight[u];
    double best = gain(t, u, from);
    for (int64_t k = 0; k < t->n_met; k++) {
        const int64_t g = t->met[k];
        const double own = gain(t, u, g);
        if (own > best || (own == best && g < to)) {
            best = own;
            to = g;
        }
    }
    for (int64_t k = 0; k < t->n_met; k++)
        t->links[t->met[k]] = 0;
    t->total[to] += t->weight[u];
    t->group[u] = to;
    return to != from;
}

/* Groups become units, numbered in order of appearance. */
static void merge(communities_t *t)
{
    int64_t count = 0;
    for (int64_t g = 0; g < t->units; g++)
        t->met[g] = -1;
    for (int64_t u = 0; u < t->units; u++)
        if (t->met[t->group[u]] < 0)
            t->met[t->group[u]] = count++;
    for (int64_t i = 0; i < t->n; i++)
        t->unit[i] = t->met[t->group[t->unit[i]]];
    t->units = count;
}

static void find_communities(communities_t *t)
{
    for (int64_t level = 0, before = 0; level < LEVELS && t->units != before; level++) {
        before = t->units;
        begin(t);
        for (int64_t sweep = 0, moves = t->units; sweep < SWEEPS && 32 * moves > t->units; sweep++) {
            moves = 0;
            for (int64_t u = 0; u < t->units; u++)
                moves += move(t, u);
        }
        merge(t);
    }
}

/* Fraction of pairs within units, less its expectation. */
static double modularity(communities_t *t)
{
    int64_t within = 0;
    double chance = 0;
    begin(t);
    for (int64_t i = 0; i < t->n; i++)
        for (int64_t p = 0; p < t->view->n_parts; p++) {
            const gnn__pairs_t *pairs = &t->view->parts[p].pairs;
            for (int64_t k = pairs->indptr[i]; k < pairs->indptr[i + 1]; k++)
                within += t->unit[pairs->indices[k]] == t->unit[i];
        }
    for (int64_t u = 0; u < t->units; u++)
        chance += (double)t->weight[u] / (double)t->pairs * (double)t->weight[u];
    return ((double)within - chance) / (double)t->pairs;
}

/* First row of each unit. Units are taken in the order of their first nodes: from the front while
 * the rows so far have less than their share of the pairs, otherwise from the back. Equal counts of
 * rows are then about equal work for any count of threads. */
static void place_units(communities_t *t, const int64_t *order)
{
    int64_t *list = t->group, units = 0;
    int64_t at = 0, pairs = 0; /* placed rows, and their pairs */
    for (int64_t u = 0; u < t->units; u++)
        t->met[u] = -1;
    for (int64_t r = 0; r < t->n; r++) {
        const int64_t u = t->unit[order[r]];
        if (t->met[u] < 0)
            t->met[list[units++] = u] = 0;
    }
    for (int64_t first = 0, end = units; first < end;) {
        const bool few = (double)pairs * (double)t->n <= (double)t->pairs * (double)at;
        const int64_t u = list[few ? first++ : --end];
        t->met[u] = at;
        at += t->start[u + 1] - t->start[u];
        pairs += t->weight[u];
    }
}

/* Stable sort by unit. */
static void sort_by_unit(communities_t *t, int64_t *order)
{
    place_units(t, order);
    memcpy(t->member, order, (size_t)t->n * sizeof *order);
    for (int64_t r = 0; r < t->n; r++)
        order[t->met[t->unit[t->member[r]]]++] = t->member[r];
}

int gnn_graph_community_order(const gnn_graph_t *graph, int64_t *order)
{
    communities_t communities;
    GNN__NEED(graph);
    GNN__NEED(order);
    GNN_TRY(gnn__graph_degree_order(graph, order));
    for (int64_t p = 0; p < graph->base.n_parts; p++)
        if (gnn__pairs_form(&graph->base.parts[p].pairs) != GNN__EDGES)
            return GNN_OK;
    GNN_TRY(communities_new(&communities, graph));
    if (communities.pairs > 0)
        find_communities(&communities);
    if (communities.pairs > 0 && modularity(&communities) > MODULARITY_LEAST)
        sort_by_unit(&communities, order);
    gnn_free(communities.unit);
    return GNN_OK;
}
