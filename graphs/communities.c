/* An order of nodes by communities. Which nodes belong together is found as Louvain does (Blondel
 * et al. 2008): each joins the group that it has more links to than chance would give it, then
 * whole groups do, until none gains. What is drawn by chance there goes by node numbers here. */
#include <graphs/build.h>

enum { SWEEPS = 4, LEVELS = 3 };

/* The gain over chance, from 0 to 1, below which a graph does not fall into parts. */
static const double WORTH = 0.6;

/* Units move as wholes: nodes at first, then the groups of the level before. Every array has a
 * number for each node. */
typedef struct {
    const gnn__built_view_t *view;
    int64_t n, pairs, units, n_met;
    int64_t *unit;           /* of a node */
    int64_t *member, *start; /* nodes of unit u: member[start[u]] .. member[start[u + 1] - 1] */
    int64_t *weight, *total; /* pairs that a unit, a group hears */
    int64_t *group;          /* of a unit */
    /* of the unit at hand: pairs from each group, 0 but for the groups it met */
    int64_t *links, *met;
} towns_t;

static int towns_new(towns_t *t, const gnn_graph_t *graph)
{
    const int64_t n = graph->n_dst;
    int64_t **const arrays[] = {&t->unit,  &t->member, &t->weight, &t->total,
                                &t->group, &t->links,  &t->met,    &t->start};
    int64_t size, *room;
    *t = (towns_t){.view = &graph->base, .n = n, .units = n};
    if (!gnn__mul(n, 8, &size))
        return gnn__error(GNN_EOVERFLOW, "%lld nodes are too many", (long long)n);
    GNN_TRY(gnn__new(&room, size + 1, sizeof *room, "communities"));
    for (int k = 0; k < 8; k++)
        *arrays[k] = room + k * n;
    for (int64_t i = 0; i < n; i++) {
        t->unit[i] = i;
        t->pairs += graph->base.degree[i];
    }
    return GNN_OK;
}

/* List units' nodes; every unit is a group of its own. */
static void begin(towns_t *t)
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

/* Counts what node i of unit u hears from the groups around. */
static void meet(towns_t *t, int64_t u, int64_t i)
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

/* Links of unit u to group g beyond those that chance would give it. */
static double gain(const towns_t *t, int64_t u, int64_t g)
{
    return (double)t->links[g] - (double)t->weight[u] * (double)t->total[g] / (double)t->pairs;
}

/* Of groups that are as good the lowest number; did the unit move? */
static bool move(towns_t *t, int64_t u)
{
    const int64_t from = t->group[u];
    int64_t to = from;
    t->n_met = 0;
    for (int64_t k = t->start[u]; k < t->start[u + 1]; k++)
        meet(t, u, t->member[k]);
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

/* Groups become units, numbered as they come. */
static void merge(towns_t *t)
{
    int64_t named = 0;
    for (int64_t g = 0; g < t->units; g++)
        t->met[g] = -1;
    for (int64_t u = 0; u < t->units; u++)
        if (t->met[t->group[u]] < 0)
            t->met[t->group[u]] = named++;
    for (int64_t i = 0; i < t->n; i++)
        t->unit[i] = t->met[t->group[t->unit[i]]];
    t->units = named;
}

static void settle(towns_t *t)
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

/* The share of pairs inside units, less what chance would put there. */
static double modularity(towns_t *t)
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

/* Where each unit begins. Taken in the order of their first nodes, from the front while those
 * before hear less than their share of the pairs, else from the back: equal numbers of rows are
 * then nearly equal work, however many threads divide them. */
static void place_units(towns_t *t, const int64_t *order)
{
    int64_t *list = t->group, units = 0, at = 0, heard = 0;
    for (int64_t u = 0; u < t->units; u++)
        t->met[u] = -1;
    for (int64_t r = 0; r < t->n; r++) {
        const int64_t u = t->unit[order[r]];
        if (t->met[u] < 0)
            t->met[list[units++] = u] = 0;
    }
    for (int64_t first = 0, end = units; first < end;) {
        const bool few = (double)heard * (double)t->n <= (double)t->pairs * (double)at;
        const int64_t u = list[few ? first++ : --end];
        t->met[u] = at;
        at += t->start[u + 1] - t->start[u];
        heard += t->weight[u];
    }
}

/* Sorts by units; nodes of one keep their order. */
static void sort_by_unit(towns_t *t, int64_t *order)
{
    place_units(t, order);
    memcpy(t->member, order, (size_t)t->n * sizeof *order);
    for (int64_t r = 0; r < t->n; r++)
        order[t->met[t->unit[t->member[r]]]++] = t->member[r];
}

int gnn_graph_community_order(const gnn_graph_t *graph, int64_t *order)
{
    towns_t towns;
    GNN_TRY(gnn_graph_degree_order(graph, order));
    for (int64_t p = 0; p < graph->base.n_parts; p++)
        if (gnn__pairs_form(&graph->base.parts[p].pairs) != GNN__EDGES)
            return GNN_OK;
    GNN_TRY(towns_new(&towns, graph));
    if (towns.pairs > 0)
        settle(&towns);
    if (towns.pairs > 0 && modularity(&towns) > WORTH)
        sort_by_unit(&towns, order);
    gnn_free(towns.unit);
    return GNN_OK;
}
