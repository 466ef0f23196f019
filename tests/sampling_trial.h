/* A graph that is drawn, a sampler over it, and checks that what it drew is in the graph. */
#ifndef GNN_TESTS_SAMPLING_TRIAL_H
#define GNN_TESTS_SAMPLING_TRIAL_H

#include "graph_zoo.h"

#include <graphs/graph.h>

enum { NODES = 300, EDGES = 3000, SEEDS = 20 };

/* Shuffled edges, so that ids are not positions; low node ids send more. */
typedef struct {
    int64_t src[EDGES], dst[EDGES];
    gnn_real_t weight[EDGES];
    gnn_graph_t *graph;
} drawn_t;

static inline void draw_graph(drawn_t *d, uint64_t state)
{
    for (int64_t k = 0; k < EDGES; k++) {
        const double u = fabs(test_uniform(&state));
        d->src[k] = (int64_t)(u * u * NODES);
        d->dst[k] = test_below(&state, NODES);
        d->weight[k] = k % 3 == 0 ? 0 : (gnn_real_t)(1 + k % 5);
    }
    ck_ok(gnn_graph_from_edges(&d->graph, NODES, NODES, EDGES, d->src, d->dst));
}

static inline void draw_seeds(int32_t seeds[SEEDS], int64_t first)
{
    for (int64_t k = 0; k < SEEDS; k++)
        seeds[k] = (int32_t)((first + 7 * k) % NODES);
}

typedef struct {
    drawn_t data;
    gnn_sampler_t *sampler;
    gnn_sample_t *sample;
    int32_t seeds[SEEDS];
} trial_t;

static inline trial_t *open_trial(const gnn_sampler_config_t *config, bool weighted)
{
    trial_t *t = calloc(1, sizeof *t);
    gnn_sampler_config_t own = *config;
    draw_graph(&t->data, 5);
    own.weight = weighted ? t->data.weight : NULL;
    draw_seeds(t->seeds, 3);
    ck_ok(gnn_sampler_new(&t->sampler, t->data.graph, &own));
    ck_ok(gnn_sample_new(&t->sample, t->sampler));
    return t;
}

static inline void close_trial(trial_t *t)
{
    gnn_sample_free(t->sample);
    gnn_sampler_free(t->sampler);
    gnn_graph_free(t->data.graph);
    free(t);
}

/* Edges of the whole graph that a node may get: those of weight above 0, where weights count. */
static inline int64_t may_hear(const trial_t *t, int64_t node, bool weighted)
{
    int64_t count = 0;
    for (int64_t k = 0; k < EDGES; k++)
        count += t->data.dst[k] == node && (!weighted || t->data.weight[k] > 0);
    return count;
}

static inline void check_nodes(const trial_t *t)
{
    int64_t count;
    bool seen[NODES] = {0};
    const int32_t *nodes = gnn_sample_nodes(t->sample, &count);
    ck_assert_int_eq(count, gnn_graph_n_src(gnn_sample_graph(t->sample, 0)));
    for (int64_t k = 0; k < SEEDS; k++)
        ck_assert_int_eq(nodes[k], t->seeds[k]);
    for (int64_t k = 0; k < count; k++) {
        ck_assert(!seen[nodes[k]]);
        seen[nodes[k]] = true;
    }
}

/* Every edge of a block equals the edge of the whole graph with its id. */
static inline void check_edges(const trial_t *t, int64_t l)
{
    const gnn_graph_t *g = gnn_sample_graph(t->sample, l);
    const int32_t *nodes = gnn_sample_nodes(t->sample, NULL);
    const int64_t *edges = gnn_sample_edges(t->sample, l), m = gnn_graph_n_edges(g);
    int64_t *src = zeros(m, sizeof *src), *dst = zeros(m, sizeof *dst);
    ck_ok(gnn__graph_validate(g));
    ck_ok(gnn_graph_pairs(g, src, dst, NULL));
    for (int64_t k = 0; k < m; k++) {
        ck_assert_int_eq(t->data.src[edges[k]], nodes[src[k]]);
        ck_assert_int_eq(t->data.dst[edges[k]], nodes[dst[k]]);
    }
    free(src);
    free(dst);
}

static inline void check_counts(const trial_t *t, int64_t l, int64_t fan_out, bool replace,
                                bool weighted)
{
    const gnn_graph_t *g = gnn_sample_graph(t->sample, l);
    const int64_t *edges = gnn_sample_edges(t->sample, l);
    for (int64_t i = 0; i < gnn_graph_n_dst(g); i++) {
        gnn_graph_row_t row;
        ck_ok(gnn_graph_row(g, 0, i, &row));
        const int64_t all = may_hear(t, gnn_sample_nodes(t->sample, NULL)[i], weighted);
        const int64_t expected = fan_out < 0          ? all
                                 : replace && all > 0 ? fan_out
                                 : all < fan_out      ? all
                                                      : fan_out;
        ck_assert_int_eq(row.count, expected);
        for (int64_t k = 0; k < row.count; k++) {
            const int64_t edge = edges[gnn_graph_row_edge(&row, k)];
            ck_assert(!weighted || t->data.weight[edge] > 0);
            for (int64_t j = 0; j < k && !replace; j++)
                ck_assert_int_ne(edge, edges[gnn_graph_row_edge(&row, j)]);
        }
    }
}

#endif
