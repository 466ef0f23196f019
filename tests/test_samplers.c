/* Sampling methods other than neighbours: sums over layer-wise samples and walks are unbiased,
 * clusters are complete, settings are checked, failed allocations are errors. */
#include "graph_zoo.h"

#include <graphs/graph.h>
#include <signal.h>
#include <string.h>

enum { NODES = 24, EDGES = 120, ROUNDS = 20000 };

typedef struct {
    gnn_graph_t *graph;
    int64_t src[EDGES], dst[EDGES];
    gnn_real_t weight[EDGES];
    double value[EDGES], node_value[NODES];
} town_t;

static int rounds(void)
{
    return getenv("GNN_TEST_SMALL") ? ROUNDS / 20 : ROUNDS;
}

static void open_town(town_t *t)
{
    uint64_t state = 11;
    for (int64_t k = 0; k < EDGES; k++) {
        const double u = fabs(test_uniform(&state));
        t->src[k] = (int64_t)(u * u * NODES);
        t->dst[k] = test_below(&state, NODES);
        t->weight[k] = (gnn_real_t)(1 + k % 4);
        t->value[k] = 1 + (double)(k % 7);
    }
    for (int64_t i = 0; i < NODES; i++)
        t->node_value[i] = 1 + (double)(i % 5);
    ck_ok(gnn_graph_from_edges(&t->graph, NODES, NODES, EDGES, t->src, t->dst));
}

/* A mean of draws, and how far from likely it may be. */
typedef struct {
    double sum, squares;
    int64_t count;
} mean_t;

static void add(mean_t *m, double x)
{
    m->sum += x;
    m->squares += x * x;
    m->count++;
}

static void check_mean(const mean_t *m, double expected, double slack)
{
    const double n = (double)m->count, mean = m->sum / n,
                 deviation = sqrt(fmax(m->squares / n - mean * mean, 0) / n);
    ck_assert_msg(fabs(mean - expected) <= 5 * deviation + slack * fabs(expected) + 1e-9,
                  "mean %g of %lld draws, %g is expected, deviation %g", mean, (long long)m->count,
                  expected, deviation);
}

/* The sum of edge values at receiver r of graph l. */
static double scaled_sum(const town_t *t, const gnn_sample_t *s, int64_t l, int64_t r)
{
    const gnn_real_t *scale = gnn_sample_edge_scale(s, l);
    const int64_t *edges = gnn_sample_edges(s, l);
    gnn_graph_row_t row;
    double sum = 0;
    ck_ok(gnn_graph_row(gnn_sample_graph(s, l), 0, r, &row));
    for (int64_t k = 0; k < row.count; k++) {
        const int64_t at = gnn_graph_row_edge(&row, k);
        sum += (double)scale[at] * t->value[edges[at]];
    }
    return sum;
}

static double whole_sum(const town_t *t, int64_t node)
{
    double sum = 0;
    for (int64_t k = 0; k < EDGES; k++)
        sum += t->dst[k] == node ? t->value[k] : 0;
    return sum;
}

START_TEST(layerwise_sums_are_unbiased)
{
    const int64_t fan_outs[] = {(int64_t[]){1, 4, 9, 4}[_i], 3}, seeds = 5;
    town_t t;
    gnn_sampler_t *sampler;
    gnn_sample_t *sample;
    mean_t mean[5] = {{0}};
    int64_t larger = 0;
    open_town(&t);
    ck_ok(gnn_sampler_new(&sampler, t.graph,
                          &(gnn_sampler_config_t){.method = "layerwise",
                                                  .hops = 2,
                                                  .fan_outs = fan_outs,
                                                  .weight = _i == 3 ? t.weight : NULL}));
    ck_ok(gnn_sample_new(&sample, sampler));
    for (int64_t batch = 0; batch < rounds(); batch++) {
        ck_ok(gnn_sample_draw(sample, NULL, seeds, ((int32_t[]){3, 9, 0, 17, 22}), 1, batch));
        for (int64_t r = 0; r < seeds; r++)
            add(&mean[r], scaled_sum(&t, sample, 1, r));
        larger += gnn_graph_n_src(gnn_sample_graph(sample, 1)) > seeds + fan_outs[0];
    }
    ck_assert_int_eq(larger, 0);
    for (int64_t r = 0; r < seeds; r++)
        check_mean(&mean[r], whole_sum(&t, (int64_t[]){3, 9, 0, 17, 22}[r]), 0);
    gnn_sample_free(sample);
    gnn_sampler_free(sampler);
    gnn_graph_free(t.graph);
}
END_TEST

/* All senders, or more draws than there are candidates: the whole neighbourhood, counted once. */
START_TEST(large_layers_are_exact)
{
    town_t t;
    gnn_sampler_t *sampler;
    gnn_sample_t *sample;
    open_town(&t);
    ck_ok(gnn_sampler_new(&sampler, t.graph,
                          &(gnn_sampler_config_t){.method = "layerwise",
                                                  .hops = 2,
                                                  .fan_outs = (int64_t[]){_i ? -1 : NODES, 0}}));
    ck_ok(gnn_sample_new(&sample, sampler));
    ck_ok(gnn_sample_draw(sample, NULL, 2, ((int32_t[]){8, 1}), 0, 0));
    ck_assert_double_eq(scaled_sum(&t, sample, 1, 0), whole_sum(&t, 8));
    ck_assert_double_eq(scaled_sum(&t, sample, 1, 1), whole_sum(&t, 1));
    ck_assert_int_eq(gnn_graph_n_edges(gnn_sample_graph(sample, 0)), 0);
    ck_ok(gnn__graph_validate(gnn_sample_graph(sample, 1)));
    gnn_sample_free(sample);
    gnn_sampler_free(sampler);
    gnn_graph_free(t.graph);
}
END_TEST

/* ---- walks ---- */

/* Over batches that were not counted: sums over nodes, and what nodes that came sum up. */
START_TEST(walk_sums_are_unbiased)
{
    enum { ROOTS = 12, BATCH = 4 };
    int32_t roots[ROOTS];
    town_t t;
    gnn_sampler_t *sampler;
    gnn_sample_t *sample;
    mean_t nodes = {0}, heard[NODES] = {{0}};
    bool met[NODES] = {0};
    double all = 0;
    uint64_t state = 3;
    open_town(&t);
    for (int32_t k = 0; k < ROOTS; k++)
        roots[k] = 2 * k;
    ck_ok(gnn_sampler_new(&sampler, t.graph,
                          &(gnn_sampler_config_t){.method = "walk",
                                                  .walk_length = 2,
                                                  .rounds = rounds(),
                                                  .batch = BATCH,
                                                  .roots = roots,
                                                  .n_roots = ROOTS,
                                                  .weight = _i ? t.weight : NULL}));
    ck_ok(gnn_sample_new(&sample, sampler));
    for (int64_t batch = 0; batch < rounds(); batch++) {
        int64_t n;
        double sum = 0;
        for (int64_t k = 0; k < BATCH; k++) {
            const int64_t other = k + test_below(&state, ROOTS - k);
            const int32_t root = roots[other];
            roots[other] = roots[k];
            roots[k] = root;
        }
        ck_ok(gnn_sample_draw(sample, NULL, BATCH, roots, 1, batch));
        const int32_t *node = gnn_sample_nodes(sample, &n);
        const gnn_real_t *scale = gnn_sample_node_scale(sample);
        for (int64_t r = 0; r < n; r++) {
            sum += (double)scale[r] * t.node_value[node[r]];
            met[node[r]] = true;
            add(&heard[node[r]], scaled_sum(&t, sample, 0, r));
        }
        add(&nodes, sum);
    }
    for (int64_t i = 0; i < NODES; i++)
        all += met[i] ? t.node_value[i] : 0;
    /* The counts themselves are drawn: their deviation is allowed for. */
    check_mean(&nodes, all, getenv("GNN_TEST_SMALL") ? 0.1 : 0.02);
    for (int64_t i = 0; i < NODES; i++)
        if (heard[i].count > rounds() / 20 && whole_sum(&t, i) > 0)
            check_mean(&heard[i], whole_sum(&t, i), getenv("GNN_TEST_SMALL") ? 0.4 : 0.1);
    gnn_sample_free(sample);
    gnn_sampler_free(sampler);
    gnn_graph_free(t.graph);
}
END_TEST

/* ---- clusters ---- */

START_TEST(clusters_are_complete)
{
    int32_t cluster_of[NODES];
    bool in[NODES] = {0};
    town_t t;
    gnn_sampler_t *sampler;
    gnn_sample_t *sample;
    int64_t n, between = 0;
    open_town(&t);
    for (int32_t i = 0; i < NODES; i++)
        cluster_of[i] = i % 5 == 4 ? 6 : i % 5; /* 4 and 5 are empty */
    ck_ok(gnn_sampler_new(&sampler, t.graph,
                          &(gnn_sampler_config_t){.method = "cluster", .cluster_of = cluster_of}));
    ck_ok(gnn_sample_new(&sample, sampler));
    ck_ok(gnn_sample_draw(sample, NULL, 3, ((int32_t[]){9, 1, 4}), 0, 0));
    const int32_t *node = gnn_sample_nodes(sample, &n);
    for (int64_t k = 0; k < n; k++) {
        ck_assert(!in[node[k]]);
        in[node[k]] = true;
    }
    for (int32_t i = 0; i < NODES; i++)
        ck_assert_int_eq(in[i], i % 5 == 1 || i % 5 == 4);
    for (int64_t k = 0; k < EDGES; k++)
        between += in[t.src[k]] && in[t.dst[k]];
    ck_assert_int_eq(gnn_graph_n_edges(gnn_sample_graph(sample, 0)), between);
    ck_assert_ptr_null(gnn_sample_edge_scale(sample, 0));
    gnn_sample_free(sample);
    gnn_sampler_free(sampler);
    gnn_graph_free(t.graph);
}
END_TEST

static void do_nothing(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
    (void)context;
}

/* METIS sets handlers, and the seed of rand: what a program has set itself stays. */
static void left_alone(const gnn_graph_t *graph)
{
    static const int signals[] = {SIGABRT, SIGTERM};
    struct sigaction before[2], now, mine = {.sa_flags = SA_SIGINFO | SA_RESTART};
    int expected[8];
    gnn_sampler_t *sampler;
    mine.sa_sigaction = do_nothing;
    sigaddset(&mine.sa_mask, SIGUSR1);
    for (int k = 0; k < 2; k++)
        ck_assert_int_eq(sigaction(signals[k], &mine, &before[k]), 0);
    srand(12345);
    for (int k = 0; k < 8; k++)
        expected[k] = rand();
    srand(12345);
    ck_assert_int_eq(rand(), expected[0]);
    ck_ok(gnn_sampler_new(&sampler, graph,
                          &(gnn_sampler_config_t){.method = "cluster", .clusters = 2}));
    gnn_sampler_free(sampler);
    for (int k = 1; k < 8; k++)
        ck_assert_int_eq(rand(), expected[k]);
    for (int k = 0; k < 2; k++) {
        ck_assert_int_eq(sigaction(signals[k], &before[k], &now), 0);
        ck_assert_int_eq(now.sa_flags & (SA_SIGINFO | SA_RESTART | (int)SA_RESETHAND),
                         SA_SIGINFO | SA_RESTART);
        ck_assert(now.sa_sigaction == do_nothing);
        ck_assert_int_eq(sigismember(&now.sa_mask, SIGUSR1), 1);
    }
}

/* METIS finds two rings with one link between them as two clusters; without METIS there is an
 * error. */
START_TEST(metis_finds_clusters)
{
    enum { RING = 20, ALL = 2 * RING + 1 };
    int64_t src[ALL], dst[ALL], n;
    gnn_graph_t *graph;
    gnn_sampler_t *sampler;
    gnn_sample_t *sample;
    for (int64_t k = 0; k < 2 * RING; k++) {
        src[k] = k;
        dst[k] = k / RING * RING + (k + 1) % RING;
    }
    src[2 * RING] = 5;
    dst[2 * RING] = RING + 3;
    ck_ok(gnn_graph_from_edges(&graph, 2 * RING, 2 * RING, ALL, src, dst));
    const int rc = gnn_sampler_new(&sampler, graph,
                                   &(gnn_sampler_config_t){.method = "cluster", .clusters = 2});
    if (rc == GNN_OK) {
        ck_ok(gnn_sample_new(&sample, sampler));
        ck_ok(gnn_sample_draw(sample, NULL, 1, ((int32_t[]){7}), 0, 0));
        const int32_t *node = gnn_sample_nodes(sample, &n);
        ck_assert_int_eq(n, RING);
        for (int64_t k = 0; k < n; k++)
            ck_assert_int_lt(node[k], RING);
        gnn_sample_free(sample);
        gnn_sampler_free(sampler);
        left_alone(graph);
    } else {
        ck_fails(rc, GNN_EUNSUPPORTED, "built without METIS");
    }
    ck_ok(gnn_sampler_new(&sampler, graph,
                          &(gnn_sampler_config_t){.method = "cluster", .clusters = 1}));
    gnn_sampler_free(sampler);
    gnn_graph_free(graph);
}
END_TEST

/* ---- refusals ---- */

START_TEST(settings_are_checked)
{
    int32_t cluster_of[NODES] = {0, -1};
    gnn_sampler_t *made = NULL;
    town_t t;
    open_town(&t);
    ck_fails(gnn_sampler_new(&made, t.graph,
                             &(gnn_sampler_config_t){.method = "cluster", .cluster_of = cluster_of}),
             GNN_EINVALID, "cluster_of[1] = -1");
    cluster_of[1] = NODES;
    ck_fails(gnn_sampler_new(&made, t.graph,
                             &(gnn_sampler_config_t){.method = "cluster", .cluster_of = cluster_of}),
             GNN_EINVALID, "cluster_of[1] = 24");
    ck_fails(gnn_sampler_new(&made, t.graph,
                             &(gnn_sampler_config_t){.method = "walk", .replace = GNN_ON}),
             GNN_EINVALID, "sampler \"walk\" reads no replace");
    ck_fails(gnn_sampler_new(&made, t.graph,
                             &(gnn_sampler_config_t){.method = "cluster", .walk_length = 3}),
             GNN_EINVALID, "sampler \"cluster\" reads no walk_length");
    ck_fails(gnn_sampler_new(&made, t.graph, &(gnn_sampler_config_t){.method = "cluster"}),
             GNN_EINVALID, "the count of nodes, got 0");
    ck_fails(gnn_sampler_new(&made, t.graph,
                             &(gnn_sampler_config_t){.method = "cluster", .clusters = NODES + 1}),
             GNN_EINVALID, "the count of nodes, got 25");
    ck_fails(gnn_sampler_new(&made, t.graph,
                             &(gnn_sampler_config_t){.method = "walk", .walk_length = -1}),
             GNN_EINVALID, "walk_length, rounds, clusters: expected >= 0, got -1");
    ck_fails(gnn_sampler_new(&made, t.graph, &(gnn_sampler_config_t){.method = "walk", .batch = -1}),
             GNN_EINVALID, "rounds below 2^31, got -1");
    ck_fails(gnn_sampler_new(
                 &made, t.graph,
                 &(gnn_sampler_config_t){.method = "walk", .roots = cluster_of, .n_roots = 0}),
             GNN_EINVALID, "the count of nodes, got 0");
    ck_fails(gnn_sampler_new(
                 &made, t.graph,
                 &(gnn_sampler_config_t){.method = "walk", .roots = cluster_of, .n_roots = 2}),
             GNN_EINVALID, "there are 24 nodes");
    ck_fails(gnn_sampler_new(&made, t.graph, &(gnn_sampler_config_t){.method = "layerwise"}),
             GNN_EINVALID, "hops");
    ck_assert_ptr_null(made);
    gnn_graph_free(t.graph);
}
END_TEST

START_TEST(failed_allocations)
{
    const gnn_sampler_config_t configs[] = {
        {.method = "layerwise", .hops = 2, .fan_outs = (int64_t[]){3, 2}},
        {.method = "walk", .rounds = 3, .batch = 4},
        {.method = "cluster", .cluster_of = (int32_t[NODES]){0, 1, 1}}};
    town_t t;
    open_town(&t);
    int rc = GNN_EMEMORY;
    for (int64_t n = 1; rc != GNN_OK; n++) {
        gnn_sampler_t *sampler = NULL;
        gnn_sample_t *sample = NULL;
        gnn__fail_allocation(n);
        rc = gnn_sampler_new(&sampler, t.graph, &configs[_i]);
        if (rc == GNN_OK)
            rc = gnn_sample_new(&sample, sampler);
        if (rc == GNN_OK)
            rc = gnn_sample_draw(sample, NULL, 2, ((int32_t[]){0, 1}), 0, 0);
        gnn__fail_allocation(0);
        ck_assert_msg(rc == GNN_OK || rc == GNN_EMEMORY, "%d: %s", rc, gnn_error_message());
        gnn_sample_free(sample);
        gnn_sampler_free(sampler);
    }
    gnn_graph_free(t.graph);
}
END_TEST

/* ---- weights of rows in a loss ---- */

static double loss_of(gnn_context_t *context, gnn_loss_t loss, gnn_real_t *gradient)
{
    gnn_real_t numbers[] = {1, 2, (gnn_real_t)0.5, -1, 0, 1, 2, 2, (gnn_real_t)-0.5};
    const gnn_tensor_t x = gnn_tensor(numbers, 3, 3);
    gnn_tape_t *tape;
    ck_ok(gnn_tape_new(&tape, context));
    gnn_tape_reset(tape, true, true);
    const gnn_var_t in = gnn_tape_input(tape, &x, true), out = gnn_tape_loss(tape, in, &loss);
    gnn_tape_keep(tape, out);
    ck_ok(gnn_tape_forward(tape));
    ck_ok(gnn_tape_backward(tape, out, NULL));
    const double value = (double)gnn_tape_value(tape, out).data[0];
    const gnn_tensor_t grad = gnn_tape_gradient(tape, in);
    memcpy(gradient, grad.data, 9 * sizeof *gradient);
    gnn_tape_free(tape);
    return value;
}

/* A row of weight 2 counts as two rows: so do the class's weights, where each row has a class of
 * its own; a weight of 0 leaves the row out. */
START_TEST(row_weights_scale_the_loss)
{
    gnn_context_t *context;
    gnn_real_t a[9], b[9];
    const int32_t labels[] = {2, 0, 1};
    const gnn_real_t rows[] = {2, 0, 1}, classes[] = {0, 1, 2};
    ck_ok(gnn_context_new(&context, NULL));
    const gnn_loss_t by_row = {.labels = labels, .row_weight = rows},
                     by_class = {.labels = labels, .class_weight = classes};
    ck_assert_double_eq_tol(loss_of(context, by_row, a), loss_of(context, by_class, b), 1e-6);
    ck_assert_double_le(test_error(a, b, 9), 1e-6);
    gnn_real_t targets[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    const gnn_tensor_t t = gnn_tensor(targets, 3, 3);
    const double both = loss_of(
                     context,
                     (gnn_loss_t){.kind = GNN_LOSS_MEAN_SQUARED, .targets = &t, .row_weight = rows},
                     a),
                 first = loss_of(context,
                                 (gnn_loss_t){.kind = GNN_LOSS_MEAN_SQUARED,
                                              .targets = &t,
                                              .mask = (uint8_t[]){1, 0, 0}},
                                 b),
                 last = loss_of(context,
                                (gnn_loss_t){.kind = GNN_LOSS_MEAN_SQUARED,
                                             .targets = &t,
                                             .mask = (uint8_t[]){0, 0, 1}},
                                b);
    ck_assert_double_eq_tol(both, (2 * first + last) / 3, 1e-6);
    ck_assert(a[3] == 0);
    gnn_context_free(context);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("samplers");
    TCase *tests = tcase_create("samplers");
    tcase_set_timeout(tests, 300);
    tcase_add_loop_test(tests, layerwise_sums_are_unbiased, 0, 4);
    tcase_add_loop_test(tests, large_layers_are_exact, 0, 2);
    tcase_add_loop_test(tests, walk_sums_are_unbiased, 0, 2);
    tcase_add_test(tests, clusters_are_complete);
    tcase_add_test(tests, metis_finds_clusters);
    tcase_add_test(tests, settings_are_checked);
    tcase_add_loop_test(tests, failed_allocations, 0, 3);
    tcase_add_test(tests, row_weights_scale_the_loss);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
