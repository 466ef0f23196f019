/* libFuzzer: bytes as the settings of a sampler, and of batches. A sample's nodes, edges and scales
 * are those of the whole graph; refusals set a message. */
#include "fuzz.h"

#include <gnn/gnn.h>
#include <graphs/graph.h>
#include <math.h>

enum { NODES = 11, EDGES = 24, MOST_HOPS = 3, BATCHES = 3, MOST_PAIRS = 1024 };

/* Mostly 0 .. n, sometimes far outside. */
static int64_t draw_size(fuzz_bytes_t *b, int n)
{
    static const int64_t far[] = {-1, -2, 100, 1000, INT64_MAX, INT64_MIN};
    const int k = fuzz_draw(b, 48);
    return k >= 42 ? far[k - 42] : k % (n + 1);
}

static const char *draw_method(fuzz_bytes_t *b)
{
    static const char *const methods[] = {NULL,   "neighbours", "around", "layerwise",
                                          "walk", "cluster",    "nosuch"};
    return methods[fuzz_draw(b, 7)];
}

typedef struct {
    int64_t fan_outs[MOST_HOPS], src[EDGES], dst[EDGES];
    gnn_real_t weight[EDGES];
    int32_t cluster_of[NODES], roots[NODES];
} arrays_t;

/* Mostly whether the method is the one that reads a setting. */
static bool sets(fuzz_bytes_t *b, bool read)
{
    return (fuzz_draw(b, 24) == 23) != read;
}

static void draw_walks(fuzz_bytes_t *b, arrays_t *a, gnn_sampler_config_t *c)
{
    c->walk_length = fuzz_draw(b, 2) ? 0 : draw_size(b, 5);
    c->rounds = 1 + fuzz_draw(b, 3);
    c->batch = fuzz_draw(b, 2) ? 0 : draw_size(b, 8);
    if (fuzz_draw(b, 3) > 0)
        return;
    c->n_roots = draw_size(b, NODES) % (NODES + 1);
    for (int k = 0; k < NODES; k++)
        a->roots[k] = (int32_t)(fuzz_draw(b, 32) == 31 ? draw_size(b, NODES) : k);
    c->roots = a->roots;
}

static void draw_clusters(fuzz_bytes_t *b, arrays_t *a, gnn_sampler_config_t *c)
{
    if (fuzz_draw(b, 8) == 7)
        c->clusters = draw_size(b, 4);
    if (fuzz_draw(b, 8) == 7)
        return;
    for (int k = 0; k < NODES; k++)
        a->cluster_of[k] = (int32_t)(fuzz_draw(b, 32) == 31 ? draw_size(b, 4) : k % 4);
    c->cluster_of = a->cluster_of;
}

static gnn_sampler_config_t draw_config(fuzz_bytes_t *b, arrays_t *a, int m)
{
    static const gnn_real_t weights[] = {1, 0, (gnn_real_t)0.5, 100, -1, (gnn_real_t)NAN};
    gnn_sampler_config_t c = {.method = draw_method(b), .seed = (uint64_t)fuzz_draw(b, 256)};
    const bool walks = c.method && strcmp(c.method, "walk") == 0,
               clusters = c.method && strcmp(c.method, "cluster") == 0;
    for (int k = 0; k < MOST_HOPS; k++)
        a->fan_outs[k] = draw_size(b, 4);
    if (sets(b, !walks && !clusters)) {
        c.hops = fuzz_draw(b, MOST_HOPS + 1);
        c.fan_outs = fuzz_draw(b, 16) ? a->fan_outs : NULL;
    }
    c.replace = (gnn_flag_t)fuzz_draw(b, 4);
    if (fuzz_draw(b, 3) == 0) {
        for (int k = 0; k < m; k++) {
            const int w = fuzz_draw(b, 64);
            a->weight[k] = weights[w >= 62 ? w - 58 : w % 4];
        }
        c.weight = a->weight;
    }
    if (sets(b, walks))
        draw_walks(b, a, &c);
    if (sets(b, clusters))
        draw_clusters(b, a, &c);
    return c;
}

static void check_words(int rc)
{
    if (rc != GNN_OK && !*gnn_error_message())
        abort();
}

/* Every edge of a sample's graph is one of the whole graph, between the same nodes. */
static void look(const gnn_sampler_t *sampler, const gnn_sample_t *sample, const gnn_graph_t *whole,
                 const arrays_t *a)
{
    int64_t count;
    const int32_t *nodes = gnn_sample_nodes(sample, &count);
    const gnn_real_t *scale = gnn_sample_node_scale(sample);
    bool seen[NODES] = {false};
    for (int64_t k = 0; k < count; k++) {
        if (nodes[k] < 0 || nodes[k] >= NODES || seen[nodes[k]] || (scale && !(scale[k] >= 0)))
            abort();
        seen[nodes[k]] = true;
    }
    for (int64_t l = 0; l < gnn_sampler_graphs(sampler); l++) {
        const gnn_graph_t *g = gnn_sample_graph(sample, l);
        const int64_t *edges = gnn_sample_edges(sample, l);
        const gnn_real_t *factors = gnn_sample_edge_scale(sample, l);
        int64_t src[MOST_PAIRS], dst[MOST_PAIRS], edge[MOST_PAIRS];
        const int64_t m = gnn_graph_n_pairs(g);
        fuzz_must(gnn__graph_validate(g));
        if (m > MOST_PAIRS || gnn_graph_n_src(g) > count)
            abort();
        fuzz_must(gnn_graph_pairs(g, src, dst, edge));
        for (int64_t k = 0; k < m; k++) {
            const int64_t id = edges[edge[k]];
            if (id < 0 || id >= gnn_graph_n_edges(whole) || a->src[id] != nodes[src[k]] ||
                a->dst[id] != nodes[dst[k]] || (factors && !(factors[edge[k]] >= 0)))
                abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static gnn_context_t *context;
    static arrays_t a;
    fuzz_bytes_t b = {data, size};
    gnn_graph_t *graph = NULL;
    gnn_sampler_t *sampler = NULL;
    gnn_sample_t *sample = NULL;
    int32_t seeds[NODES];
    if (!context)
        fuzz_must(gnn_context_new(&context, &(gnn_context_config_t){.threads = 1}));
    const int m = fuzz_draw(&b, EDGES + 1);
    for (int k = 0; k < m; k++) {
        a.src[k] = fuzz_draw(&b, NODES);
        a.dst[k] = fuzz_draw(&b, NODES);
    }
    fuzz_must(gnn_graph_from_edges(&graph, NODES, NODES, m, a.src, a.dst));
    const gnn_sampler_config_t config = draw_config(&b, &a, m);
    const int rc = gnn_sampler_new(&sampler, graph, &config);
    check_words(rc);
    if ((rc != GNN_OK) != (sampler == NULL))
        abort();
    if (sampler)
        fuzz_must(gnn_sample_new(&sample, sampler));
    for (int k = 0; sampler && k < BATCHES; k++) {
        const int64_t count = 1 + fuzz_draw(&b, NODES);
        const int first = fuzz_draw(&b, NODES);
        for (int i = 0; i < count; i++)
            seeds[i] = (int32_t)((first + i) % NODES);
        if (fuzz_draw(&b, 16) == 15)
            seeds[fuzz_draw(&b, (int)count)] = (int32_t)draw_size(&b, NODES);
        const int drawn = gnn_sample_draw(sample, fuzz_draw(&b, 2) ? context : NULL, count, seeds,
                                          fuzz_draw(&b, 3), k);
        check_words(drawn);
        if (drawn == GNN_OK)
            look(sampler, sample, graph, &a);
    }
    gnn_sample_free(sample);
    gnn_sampler_free(sampler);
    gnn_graph_free(graph);
    return 0;
}
