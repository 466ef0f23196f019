/* A recursive-matrix graph (Chakrabarti, Zhan, Faloutsos 2004): each edge descends log2 n times
 * into a quarter of the adjacency matrix, with probabilities .57, .19, .19, .05. Both directions,
 * no self-loops, no duplicates. */
#include "graph_data.h"

#include <stdlib.h>
#include <string.h>

enum { NODES = 169343, DRAWN = 1166243, BITS = 18, FEATURES = 128, CLASSES = 40 };
enum { SEED_EDGES = 1, SEED_NAMES, SEED_FEATURES, SEED_LABELS, SEED_TRAIN };

/* A permutation of 2^BITS ids, since raw R-MAT ids correlate with degrees. */
static int32_t *draw_names(void)
{
    const uint32_t n = 1u << BITS;
    int32_t *name = malloc(n * sizeof *name);
    for (uint32_t k = 0; name && k < n; k++) {
        uint32_t j = (uint32_t)(bench_random(SEED_NAMES, k) % (k + 1));
        name[k] = name[j];
        name[j] = (int32_t)k;
    }
    return name;
}

static void draw_edge(uint64_t k, const int32_t *name, int64_t *src, int64_t *dst)
{
    uint32_t s = 0, d = 0;
    for (uint64_t bit = 0; bit < BITS; bit++) {
        double r = bench_uniform(SEED_EDGES, k * BITS + bit);
        s = s * 2 + (r >= 0.76);
        d = d * 2 + ((r >= 0.57 && r < 0.76) || r >= 0.95);
    }
    *src = name[s] % NODES;
    *dst = name[d] % NODES;
}

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Receiver * NODES + sender of every edge, sorted, each once; returns how many. */
static int64_t draw_pairs(int64_t *pair, const int32_t *name)
{
    int64_t m = 0, kept = 0;
    for (uint64_t k = 0; k < DRAWN; k++) {
        int64_t s, d;
        draw_edge(k, name, &s, &d);
        if (s == d)
            continue;
        pair[m++] = s * NODES + d;
        pair[m++] = d * NODES + s;
    }
    qsort(pair, (size_t)m, sizeof *pair, ascending);
    for (int64_t k = 0; k < m; k++)
        if (k == 0 || pair[k] != pair[k - 1])
            pair[kept++] = pair[k];
    return kept;
}

static int build(gnn_graph_t **graph, int64_t *pair, const int32_t *name)
{
    int64_t m = draw_pairs(pair, name), *indptr = calloc(NODES + 1, sizeof *indptr);
    int32_t *indices = (int32_t *)pair; /* element k is read before it is written */
    if (!indptr)
        return GNN_EMEMORY;
    for (int64_t k = 0; k < m; k++) {
        int64_t p = pair[k];
        indptr[p / NODES + 1]++;
        indices[k] = (int32_t)(p % NODES);
    }
    for (int64_t i = 0; i < NODES; i++)
        indptr[i + 1] += indptr[i];
    int rc = gnn_graph_from_csr(graph, NODES, NODES, indptr, indices);
    free(indptr);
    return rc;
}

/* Features and labels are keyed by the new node ids. */
static int renumber(graph_data_t *d)
{
    gnn_graph_t *drawn = d->graph;
    int64_t *order = malloc(NODES * sizeof *order);
    int rc = order ? gnn_graph_community_order(drawn, order) : GNN_EMEMORY;
    if (rc == GNN_OK)
        rc = gnn_graph_renumber(&d->graph, drawn, order);
    if (rc == GNN_OK)
        gnn_graph_free(drawn);
    else
        d->graph = drawn;
    free(order);
    return rc;
}

int graph_data_rmat(graph_data_t *d)
{
    int32_t *name = draw_names();
    int64_t *pair = malloc(2 * DRAWN * sizeof *pair);
    int rc = name && pair ? build(&d->graph, pair, name) : GNN_EMEMORY;
    free(name);
    free(pair);
    d->n = NODES;
    if (rc == GNN_OK && !strcmp(d->order, "renumbered"))
        rc = renumber(d);
    if (rc != GNN_OK)
        return rc;
    gnn_real_t *x = graph_data_own(d, sizeof *x * FEATURES * NODES);
    int32_t *labels = graph_data_own(d, sizeof *labels * NODES);
    uint8_t *train = graph_data_own(d, NODES);
    d->labels = labels;
    d->train = train;
    if (!x || !labels || !train)
        return GNN_EMEMORY;
    d->features = FEATURES;
    d->classes = CLASSES;
    d->x = gnn_tensor(x, NODES, FEATURES);
    for (uint64_t k = 0; k < (uint64_t)NODES * FEATURES; k++)
        x[k] = bench_normal(SEED_FEATURES, k);
    for (uint64_t i = 0; i < NODES; i++) {
        labels[i] = (int32_t)(bench_random(SEED_LABELS, i) % CLASSES);
        train[i] = bench_uniform(SEED_TRAIN, i) < 0.5;
    }
    return GNN_OK;
}
