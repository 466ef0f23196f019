/* Negative pairs, drawn without rejection: the neighbours of each node are sorted, so that the q-th
 * non-neighbour is found by bisection. */
#include <graphs/graph.h>
#include <lib/base/settings.h>
#include <lib/train/links.h>
#include <stdlib.h>

struct gnn_negatives {
    int64_t n;
    bool directed;
    int64_t *begin; /* (n + 1) into `taken` */
    int32_t *taken; /* per node, itself and its neighbours, ascending */
    int64_t *after; /* (n) position of the node itself in `taken`, plus one */
    int64_t *below; /* (n + 1) count of negative pairs of earlier nodes */
};

/* ---- the lists ---- */

static int compare(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* For each edge i -> j of the graph: counts it, or inserts it into the lists. */
static int list_edges(gnn_negatives_t *g, const gnn_graph_t *graph, int64_t *at, bool put)
{
    for (int64_t p = 0; p < gnn_graph_n_parts(graph); p++)
        for (int64_t dst = 0; dst < g->n; dst++) {
            gnn_graph_row_t row;
            GNN_TRY(gnn_graph_row(graph, p, dst, &row));
            for (int64_t k = 0; k < row.count; k++) {
                const int64_t src = gnn_graph_row_sender(&row, k);
                if (src == dst)
                    continue;
                if (put) {
                    g->taken[at[src]] = (int32_t)dst;
                    if (!g->directed)
                        g->taken[at[dst]] = (int32_t)src;
                }
                at[src]++;
                at[dst] += !g->directed;
            }
        }
    return GNN_OK;
}

/* Sorts each list, removes duplicates, and compacts the lists. */
static void sort_lists(gnn_negatives_t *g)
{
    int64_t to = 0;
    for (int64_t i = 0; i < g->n; i++) {
        const int64_t from = g->begin[i], end = g->begin[i + 1];
        qsort(g->taken + from, (size_t)(end - from), sizeof *g->taken, compare);
        g->begin[i] = to;
        for (int64_t k = from; k < end; k++) {
            if (k > from && g->taken[k] == g->taken[k - 1])
                continue;
            const int32_t j = g->taken[k];
            g->taken[to++] = j;
            if (j == i)
                g->after[i] = to;
        }
    }
    g->begin[g->n] = to;
}

static void count_pairs(gnn_negatives_t *g)
{
    for (int64_t i = 0; i < g->n; i++) {
        const int64_t all = g->directed ? g->n : g->n - 1 - i,
                      first = g->directed ? g->begin[i] : g->after[i];
        g->below[i + 1] = g->below[i] + all - (g->begin[i + 1] - first);
    }
}

static int make_lists(gnn_negatives_t *g, const gnn_graph_t *graph)
{
    int64_t *at;
    GNN_TRY(gnn__new(&g->begin, g->n + 1, sizeof *g->begin, "lists of links"));
    GNN_TRY(gnn__new(&g->after, g->n, sizeof *g->after, "lists of links"));
    GNN_TRY(gnn__new(&g->below, g->n + 1, sizeof *g->below, "pairs without a link"));
    GNN_TRY(list_edges(g, graph, g->after, false));
    for (int64_t i = 0; i < g->n; i++)
        g->begin[i + 1] = g->begin[i] + g->after[i] + 1;
    GNN_TRY(gnn__new(&g->taken, g->begin[g->n], sizeof *g->taken, "lists of links"));
    at = g->after;
    for (int64_t i = 0; i < g->n; i++) {
        g->taken[g->begin[i]] = (int32_t)i;
        at[i] = g->begin[i] + 1;
    }
    GNN_TRY(list_edges(g, graph, at, true));
    sort_lists(g);
    count_pairs(g);
    return GNN_OK;
}

static int check_graph(const gnn_graph_t *graph)
{
    const int64_t n = gnn_graph_n_dst(graph);
    if (n != gnn_graph_n_src(graph))
        return gnn__error(GNN_ETOPOLOGY,
                          "links join nodes of one kind, the graph has %lld receivers and %lld senders",
                          (long long)n, (long long)gnn_graph_n_src(graph));
    if (n < 2 || n > INT32_MAX)
        return gnn__error(GNN_EINVALID, "the graph has %lld nodes, expected 2 to 2^31 - 1",
                          (long long)n);
    for (int64_t p = 0; p < gnn_graph_n_parts(graph); p++)
        if (gnn__graph_part_is_spans(graph, p))
            return gnn__error(
                GNN_EUNSUPPORTED,
                "part %lld of the graph stores spans, whose pairs are all edges; expected a graph of edges",
                (long long)p);
    return GNN_OK;
}

int gnn_negatives_new(gnn_negatives_t **negatives, const gnn_graph_t *graph, gnn_flag_t directed)
{
    GNN__NEED(negatives);
    *negatives = NULL;
    GNN__NEED(graph);
    GNN_TRY(check_graph(graph));
    GNN_TRY(gnn__check_flag(directed, "directed"));
    gnn_negatives_t *g;
    GNN_TRY(gnn__new(&g, 1, sizeof *g, "pairs without a link"));
    g->n = gnn_graph_n_dst(graph);
    g->directed = directed == GNN_ON;
    int rc = make_lists(g, graph);
    if (rc == GNN_OK && g->below[g->n] == 0)
        rc = gnn__error(
            GNN_EINVALID,
            "every pair of the graph's %lld nodes is an edge; expected pairs without one to draw from",
            (long long)g->n);
    if (rc != GNN_OK) {
        gnn_negatives_free(g);
        return rc;
    }
    *negatives = g;
    return GNN_OK;
}

void gnn_negatives_free(gnn_negatives_t *g)
{
    if (!g)
        return;
    gnn_free(g->begin);
    gnn_free(g->taken);
    gnn_free(g->after);
    gnn_free(g->below);
    gnn_free(g);
}

/* ---- draws ---- */

/* The q-th integer >= `base` that is not among `count` ascending integers >= `base`. */
static int32_t missing(const int32_t *taken, int64_t count, int64_t base, int64_t q)
{
    int64_t low = 0, high = count;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (taken[middle] - base - middle <= q)
            low = middle + 1;
        else
            high = middle;
    }
    return (int32_t)(base + q + low);
}

static int64_t below(uint64_t seed, uint64_t round, uint64_t k, int64_t n)
{
    return gnn__min(
        (int64_t)(gnn__uniform(seed, gnn__hash_string("negatives") + round, k) * (double)n), n - 1);
}

/* Negative pair r, in the order of nodes. */
static void pair_at(const gnn_negatives_t *g, int64_t r, int32_t *src, int32_t *dst)
{
    int64_t low = 0, high = g->n;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (g->below[middle] <= r)
            low = middle;
        else
            high = middle;
    }
    const int64_t from = g->directed ? g->begin[low] : g->after[low];
    *src = (int32_t)low;
    *dst = missing(g->taken + from, g->begin[low + 1] - from, g->directed ? 0 : low + 1,
                   r - g->below[low]);
}

static void draw_pair(const gnn_negatives_t *g, uint64_t seed, uint64_t round, int64_t k,
                      int32_t *src, int32_t *dst)
{
    pair_at(g, below(seed, round, (uint64_t)k, g->below[g->n]), src, dst);
}

/* ---- draws without replacement ---- */

/* A hash set of integers with open addressing; its size is a power of two above twice their count;
 * -1: free. */
static bool remember(int64_t *table, int64_t size, int64_t number)
{
    int64_t at = (int64_t)((uint64_t)number * 0x9e3779b97f4a7c15u >> 1) & (size - 1);
    for (; table[at] >= 0; at = (at + 1) & (size - 1))
        if (table[at] == number)
            return false;
    table[at] = number;
    return true;
}

/* `count` distinct integers below n in random order. Floyd's algorithm (Bentley and Floyd 1987). */
static int draw_different(uint64_t seed, int64_t n, int64_t count, int64_t *numbers)
{
    int64_t size = 16, *table;
    while (size < 2 * count + 2)
        size *= 2;
    GNN_TRY(gnn__new(&table, size, sizeof *table, "pairs that are drawn"));
    for (int64_t k = 0; k < size; k++)
        table[k] = -1;
    for (int64_t k = 0; k < count; k++) {
        const int64_t last = n - count + k, one = below(seed, 0, (uint64_t)k, last + 1);
        numbers[k] = remember(table, size, one) ? one : last;
        if (numbers[k] == last)
            remember(table, size, last);
    }
    for (int64_t k = count - 1; k > 0; k--) {
        const int64_t other = below(seed, 1, (uint64_t)k, k + 1), swap = numbers[k];
        numbers[k] = numbers[other];
        numbers[other] = swap;
    }
    gnn_free(table);
    return GNN_OK;
}

int gnn__negatives_different(const gnn_negatives_t *g, uint64_t seed, int64_t count, int32_t *src,
                             int32_t *dst)
{
    const int64_t there = g->below[g->n], different = gnn__min(count, there);
    int64_t *numbers;
    GNN_TRY(gnn__new(&numbers, different, sizeof *numbers, "pairs that are drawn"));
    int rc = draw_different(seed, there, different, numbers);
    for (int64_t k = 0; rc == GNN_OK && k < count; k++)
        pair_at(g, numbers[k % different], &src[k], &dst[k]);
    gnn_free(numbers);
    return rc;
}

enum { WORK = 200 }; /* cost of one draw, in elementary operations */

int gnn_negatives_draw(const gnn_negatives_t *negatives, gnn_context_t *context, uint64_t seed,
                       uint64_t round, int64_t count, int32_t *src, int32_t *dst)
{
    GNN__NEED(negatives);
    if (count < 0)
        return gnn__error(GNN_EINVALID, "gnn_negatives_draw: count = %lld, expected at least 0",
                          (long long)count);
    if (count > 0) {
        GNN__NEED(src);
        GNN__NEED(dst);
    }
    const int threads = gnn__threads(context, WORK * count);
    GNN__PARALLEL_FOR (threads, int64_t k = 0; k < count; k++)
        draw_pair(negatives, seed, round, k, &src[k], &dst[k]);
    return GNN_OK;
}

int gnn_negatives_of_sources(const gnn_negatives_t *negatives, gnn_context_t *context,
                             uint64_t seed, uint64_t round, int64_t count, const int32_t *src,
                             int64_t each, int32_t *dst)
{
    GNN__NEED(negatives);
    if (count < 0 || each < 1)
        return gnn__error(GNN_EINVALID,
                          "gnn_negatives_of_sources: count = %lld, expected at least 0; each = %lld, "
                          "expected at least 1",
                          (long long)count, (long long)each);
    if (count > 0) {
        GNN__NEED(src);
        GNN__NEED(dst);
    }
    for (int64_t k = 0; k < count; k++)
        if (src[k] < 0 || src[k] >= negatives->n)
            return gnn__error(GNN_EINVALID, "source %lld is node %d, expected 0 to %lld",
                              (long long)k, src[k], (long long)negatives->n - 1);
    const int threads = gnn__threads(context, WORK * count * each);
    GNN__PARALLEL_FOR (threads, int64_t k = 0; k < count; k++) {
        const int64_t begin = negatives->begin[src[k]], taken = negatives->begin[src[k] + 1] - begin;
        for (int64_t e = 0; e < each; e++)
            dst[k * each + e] =
                taken == negatives->n
                    ? -1
                    : missing(negatives->taken + begin, taken, 0,
                              below(seed, round, (uint64_t)(k * each + e), negatives->n - taken));
    }
    return GNN_OK;
}
