/* Samples of graphs: edges of the graph, within fan-outs, unbiased, the same with any thread count,
 * and in reused memory. */
#include "sampling_trial.h"

#include <graphs/graph.h>

START_TEST(blocks_are_parts_of_the_graph)
{
    const bool replace = _i & 1, weighted = _i & 2;
    const int64_t fan_outs[] = {5, 3, _i < 4 ? 70 : 1}, hops = 3;
    trial_t *t = open_trial(
        &(gnn_sampler_config_t){
            .hops = hops, .fan_outs = fan_outs, .replace = replace ? GNN_ON : GNN_OFF, .seed = 9},
        weighted);
    ck_assert_int_eq(gnn_sampler_graphs(t->sampler), hops);
    for (int64_t batch = 0; batch < 4; batch++) {
        draw_seeds(t->seeds, batch);
        ck_ok(gnn_sample_draw(t->sample, NULL, SEEDS, t->seeds, 1, batch));
        check_nodes(t);
        for (int64_t l = 0; l < hops; l++) {
            check_edges(t, l);
            check_counts(t, l, fan_outs[hops - 1 - l], replace, weighted);
            const gnn_graph_t *next = gnn_sample_graph(t->sample, l + 1);
            ck_assert_int_eq(gnn_graph_n_dst(gnn_sample_graph(t->sample, l)),
                             next ? gnn_graph_n_src(next) : SEEDS);
        }
    }
    ck_assert_ptr_null(gnn_sample_graph(t->sample, hops));
    close_trial(t);
}
END_TEST

START_TEST(a_neighbourhood_has_all_edges_between_its_nodes)
{
    trial_t *t = open_trial(
        &(gnn_sampler_config_t){.method = "around", .hops = 2, .fan_outs = (int64_t[]){2, 1}}, false);
    int64_t count, between = 0;
    bool in[NODES] = {0};
    ck_ok(gnn_sample_draw(t->sample, NULL, SEEDS, t->seeds, 0, 0));
    check_nodes(t);
    check_edges(t, 0);
    const int32_t *nodes = gnn_sample_nodes(t->sample, &count);
    for (int64_t k = 0; k < count; k++)
        in[nodes[k]] = true;
    for (int64_t k = 0; k < EDGES; k++)
        between += in[t->data.src[k]] && in[t->data.dst[k]];
    ck_assert_int_eq(gnn_graph_n_edges(gnn_sample_graph(t->sample, 0)), between);
    ck_assert_int_eq(gnn_graph_n_dst(gnn_sample_graph(t->sample, 0)), count);
    close_trial(t);
}
END_TEST

/* ---- bias ---- */

enum { STAR = 30, ROUNDS = 20000 };

/* Far from likely: the mean of chi-square is its freedom, its deviation sqrt(2 freedom). */
static void check_chi_square(double statistic, int freedom)
{
    ck_assert_msg(statistic < freedom + 5 * sqrt(2.0 * freedom), "chi-square %g of freedom %d",
                  statistic, freedom);
}

/* One node with STAR senders: the count of draws of each. */
static void count_draws(const gnn_sampler_config_t *config, int64_t count[STAR])
{
    int64_t src[STAR], dst[STAR] = {0};
    gnn_graph_t *graph;
    gnn_sampler_t *sampler;
    gnn_sample_t *sample;
    for (int64_t k = 0; k < STAR; k++)
        src[k] = k + 1;
    memset(count, 0, STAR * sizeof *count);
    ck_ok(gnn_graph_from_edges(&graph, STAR + 1, STAR + 1, STAR, src, dst));
    ck_ok(gnn_sampler_new(&sampler, graph, config));
    ck_ok(gnn_sample_new(&sample, sampler));
    for (int64_t batch = 0; batch < ROUNDS; batch++) {
        ck_ok(gnn_sample_draw(sample, NULL, 1, &(int32_t){0}, 3, batch));
        const int64_t m = gnn_graph_n_edges(gnn_sample_graph(sample, 0));
        for (int64_t k = 0; k < m; k++)
            count[gnn_sample_edges(sample, 0)[k]]++;
    }
    gnn_sample_free(sample);
    gnn_sampler_free(sampler);
    gnn_graph_free(graph);
}

START_TEST(neighbours_are_drawn_uniformly)
{
    const int64_t fan_out = (int64_t[]){1, 4, 29, 4}[_i];
    const bool replace = _i == 3;
    const double share = (double)fan_out / STAR, expected = ROUNDS * share;
    int64_t count[STAR];
    double statistic = 0;
    count_draws(&(gnn_sampler_config_t){.hops = 1,
                                        .fan_outs = &fan_out,
                                        .replace = replace ? GNN_ON : GNN_OFF},
                count);
    for (int k = 0; k < STAR; k++)
        statistic += ((double)count[k] - expected) * ((double)count[k] - expected) / expected;
    /* Draws without replacement hold one another off. */
    check_chi_square(replace ? statistic : statistic * (STAR - 1) / STAR / (1 - share), STAR - 1);
}
END_TEST

START_TEST(neighbours_are_drawn_by_weight)
{
    const int64_t fan_out = _i == 0 ? 1 : 6;
    gnn_real_t weight[STAR];
    int64_t count[STAR];
    double statistic = 0, total = 0;
    for (int k = 0; k < STAR; k++)
        total += (double)(weight[k] = (gnn_real_t)(k % 4));
    count_draws(
        &(gnn_sampler_config_t){
            .hops = 1, .fan_outs = &fan_out, .weight = weight, .replace = _i == 0 ? GNN_OFF : GNN_ON},
        count);
    int freedom = -1;
    for (int k = 0; k < STAR; k++) {
        const double expected = (double)ROUNDS * (double)fan_out * (double)weight[k] / total;
        ck_assert(expected > 0 || count[k] == 0);
        if (expected > 0) {
            statistic += ((double)count[k] - expected) * ((double)count[k] - expected) / expected;
            freedom++;
        }
    }
    check_chi_square(statistic, freedom);
}
END_TEST

/* Two of three with weights 1, 2, 3: exact inclusion probabilities. */
START_TEST(weights_without_replacement)
{
    const gnn_real_t weight[STAR] = {1, 2, 3};
    const double chance[3] = {1.0 / 6 + 2.0 / 6 * 1 / 4 + 3.0 / 6 * 1 / 3,
                              2.0 / 6 + 1.0 / 6 * 2 / 5 + 3.0 / 6 * 2 / 3,
                              3.0 / 6 + 1.0 / 6 * 3 / 5 + 2.0 / 6 * 3 / 4};
    int64_t count[STAR];
    count_draws(&(gnn_sampler_config_t){.hops = 1, .fan_outs = (int64_t[]){2}, .weight = weight},
                count);
    for (int k = 0; k < 3; k++)
        ck_assert_double_le(fabs((double)count[k] - ROUNDS * chance[k]),
                            5 * sqrt(ROUNDS * chance[k] * (1 - chance[k])));
    for (int k = 3; k < STAR; k++)
        ck_assert_int_eq(count[k], 0);
}
END_TEST

/* Sanitizers see that keys and places of no sender are not read or written. */
START_TEST(a_fan_out_of_0_draws_nothing)
{
    const gnn_real_t weight[STAR] = {1, 2, 3};
    int64_t count[STAR];
    count_draws(&(gnn_sampler_config_t){.hops = 1,
                                        .fan_outs = (int64_t[]){0},
                                        .weight = weight,
                                        .replace = _i == 0 ? GNN_OFF : GNN_ON},
                count);
    for (int k = 0; k < STAR; k++)
        ck_assert_int_eq(count[k], 0);
}
END_TEST

/* ---- equal for any thread count; different for another batch ---- */

static void same_samples(const gnn_sample_t *a, const gnn_sample_t *b, int64_t graphs, bool same)
{
    int64_t n, other;
    const int32_t *x = gnn_sample_nodes(a, &n), *y = gnn_sample_nodes(b, &other);
    bool equal = n == other && memcmp(x, y, (size_t)n * sizeof *x) == 0;
    for (int64_t l = 0; l < graphs && equal; l++) {
        const int64_t m = gnn_graph_n_edges(gnn_sample_graph(a, l));
        equal =
            m == gnn_graph_n_edges(gnn_sample_graph(b, l)) &&
            memcmp(gnn_sample_edges(a, l), gnn_sample_edges(b, l), (size_t)m * sizeof(int64_t)) == 0;
    }
    ck_assert_int_eq(equal, same);
}

START_TEST(draws_do_not_depend_on_threads)
{
    const char *method = gnn_sampler_method_at((size_t)_i)->name;
    static const int64_t fan_outs[] = {4, 3};
    static int32_t cluster_of[NODES];
    for (int32_t i = 0; i < NODES; i++)
        cluster_of[i] = i / 8;
    gnn_sampler_config_t config = {.method = method};
    if (strcmp(method, "cluster") == 0) {
        config.cluster_of = cluster_of;
    } else if (strcmp(method, "walk") != 0) {
        config.hops = 2;
        config.fan_outs = fan_outs;
    }
    trial_t *t = open_trial(&config, false);
    gnn_sample_t *other;
    gnn_context_t *two;
    const int64_t graphs = gnn_sampler_graphs(t->sampler);
    ck_ok(gnn_context_new(&two, &(gnn_context_config_t){.threads = 2}));
    ck_ok(gnn_sample_new(&other, t->sampler));
    two->grain = 1; /* small as it is, it is shared out */
    for (int64_t batch = 0; batch < 3; batch++) {
        ck_ok(gnn_sample_draw(t->sample, NULL, SEEDS, t->seeds, 2, batch));
        ck_ok(gnn_sample_draw(other, two, SEEDS, t->seeds, 2, batch));
        same_samples(t->sample, other, graphs, true);
    }
    if (strcmp(method, "cluster") != 0) {
        ck_ok(gnn_sample_draw(other, two, SEEDS, t->seeds, 2, 3));
        same_samples(t->sample, other, graphs, false);
        ck_ok(gnn_sample_draw(other, two, SEEDS, t->seeds, 3, 2));
        same_samples(t->sample, other, graphs, false);
    }
    gnn_sample_free(other);
    gnn_context_free(two);
    close_trial(t);
}
END_TEST

/* ---- layers on blocks ---- */

/* With full fan-outs a model on blocks equals the model on the whole graph. */
START_TEST(full_neighbourhoods_equal_the_whole_graph)
{
    static const char *const presets[] = {"gcn", "sage", "gin", "gat", "gatv2", "transformer"};
    const int64_t fan_outs[] = {-1, -1};
    trial_t *t = open_trial(&(gnn_sampler_config_t){.hops = 2, .fan_outs = fan_outs}, false);
    gnn_context_t *context;
    gnn_model_t *model;
    ck_ok(gnn_context_new(&context, &(gnn_context_config_t){.threads = 1, .seed = 4}));
    const gnn_layer_config_t layer = {
        .preset = gnn_preset_find(presets[_i]), .in = 8, .out = 8, .heads = _i > 2 ? 1 : 0};
    ck_ok(gnn_model_from_steps(&model, context, 2,
                               (gnn_step_t[]){{.layer = layer}, {.layer = layer, .graph = 1}}));
    gnn_real_t *numbers = test_reals(NODES * 8, 3), *rows = zeros(NODES * 8, sizeof *rows),
               whole[NODES * 8], some[SEEDS * 8];
    const gnn_tensor_t x = gnn_tensor(numbers, NODES, 8), all = gnn_tensor(whole, NODES, 8),
                       out = gnn_tensor(some, SEEDS, 8);
    for (int slot = 0; slot < 2; slot++)
        ck_ok(gnn_model_prepare(model, slot, t->data.graph, GNN_OFF));
    const gnn_named_t named = {.name = "x", .dense = &x};
    ck_ok(gnn_model_forward(
        model, context,
        &(gnn_model_inputs_t){.graphs = (const gnn_graph_t *[]){t->data.graph, t->data.graph},
                              .n_graphs = 2,
                              .values = &named,
                              .n_values = 1},
        &all));
    int64_t count;
    ck_ok(gnn_sample_draw(t->sample, NULL, SEEDS, t->seeds, 0, 0));
    const int32_t *nodes = gnn_sample_nodes(t->sample, &count);
    for (int64_t k = 0; k < count; k++)
        memcpy(rows + 8 * k, numbers + 8 * nodes[k], 8 * sizeof *rows);
    const gnn_tensor_t gathered = gnn_tensor(rows, count, 8);
    gnn_graph_t *blocks[2];
    for (int slot = 0; slot < 2; slot++) {
        blocks[slot] = gnn_sample_graph(t->sample, slot);
        ck_ok(gnn_model_prepare(model, slot, blocks[slot], GNN_ON));
        ck_ok(gnn__graph_validate(blocks[slot]));
    }
    const gnn_named_t drawn = {.name = "x", .dense = &gathered};
    ck_ok(gnn_model_forward(model, context,
                            &(gnn_model_inputs_t){.graphs = (const gnn_graph_t *const *)blocks,
                                                  .n_graphs = 2,
                                                  .values = &drawn,
                                                  .n_values = 1},
                            &out));
    for (int64_t k = 0; k < SEEDS; k++)
        ck_assert_double_le(test_error(some + 8 * k, whole + 8 * t->seeds[k], 8), TOLERANCE_OUT);
    free(numbers);
    free(rows);
    gnn_model_free(model);
    gnn_context_free(context);
    close_trial(t);
}
END_TEST

/* ---- memory ---- */

static void draw_and_prepare(trial_t *t, int64_t batch)
{
    ck_ok(gnn_sample_draw(t->sample, NULL, SEEDS, t->seeds, 0, batch));
    for (int64_t l = 0; l < gnn_sampler_graphs(t->sampler); l++) {
        gnn_graph_t *g = gnn_sample_graph(t->sample, l);
        ck_ok(gnn_graph_prepare(g, &(gnn_view_t){.self_loops = GNN_ON,
                                                 .norm = GNN_GRAPH_NORM_SYMMETRIC,
                                                 .backward = GNN_ON}));
        ck_ok(gnn_graph_prepare(g, &(gnn_view_t){.backward = GNN_ON}));
    }
}

START_TEST(warm_samples_allocate_nothing)
{
    const int64_t fan_outs[] = {4, 3};
    trial_t *t = open_trial(&(gnn_sampler_config_t){.hops = 2, .fan_outs = fan_outs}, true);
    for (int64_t batch = 0; batch < 60; batch++)
        draw_and_prepare(t, batch % 20);
    gnn__fail_allocation(0);
    for (int64_t batch = 0; batch < 20; batch++)
        draw_and_prepare(t, batch);
    ck_assert_int_eq(gnn__fail_allocation(0), 0);
    close_trial(t);
}
END_TEST

/* One allocation after another fails: an error, no leak, and the next draw is right. */
START_TEST(failed_allocations)
{
    trial_t *t = open_trial(&(gnn_sampler_config_t){.hops = 2, .fan_outs = (int64_t[]){4, 3}}, true);
    gnn_sampler_t *sampler = NULL;
    gnn_sample_t *sample = NULL;
    const gnn_sampler_config_t config = {
        .hops = 2, .fan_outs = (int64_t[]){4, 3}, .weight = t->data.weight};
    int rc = GNN_EMEMORY;
    for (int64_t n = 1; rc != GNN_OK; n++) {
        gnn__fail_allocation(n);
        rc = gnn_sampler_new(&sampler, t->data.graph, &config);
        gnn__fail_allocation(0);
        ck_assert(rc == GNN_OK || rc == GNN_EMEMORY);
        ck_assert(n < 100);
    }
    rc = GNN_EMEMORY;
    for (int64_t n = 1; rc != GNN_OK; n++) {
        gnn__fail_allocation(n);
        rc = gnn_sample_new(&sample, sampler);
        if (rc == GNN_OK)
            rc = gnn_sample_draw(sample, NULL, SEEDS, t->seeds, 0, 1);
        gnn__fail_allocation(0);
        ck_assert(rc == GNN_OK || rc == GNN_EMEMORY);
        ck_assert(n < 200);
        if (rc != GNN_OK) {
            gnn_sample_free(sample);
            sample = NULL;
        }
    }
    ck_ok(gnn_sample_draw(t->sample, NULL, SEEDS, t->seeds, 0, 1));
    same_samples(sample, t->sample, 2, true);
    gnn_sample_free(sample);
    gnn_sampler_free(sampler);
    close_trial(t);
}
END_TEST

START_TEST(refusals)
{
    const int64_t fan_outs[] = {4, -2};
    const gnn_sampler_config_t good = {.hops = 1, .fan_outs = fan_outs};
    trial_t *t = open_trial(&good, false);
    gnn_sampler_t *made = NULL;
    gnn_sample_t *sample = NULL;
    gnn_graph_t *spans, *uneven;
    gnn_real_t weight[EDGES] = {1, -1};
    ck_fails(gnn_sampler_new(NULL, t->data.graph, &good), GNN_EINVALID, "sampler is NULL");
    ck_fails(gnn_sampler_new(&made, NULL, &good), GNN_EINVALID, "graph is NULL");
    ck_fails(gnn_sampler_new(&made, t->data.graph, NULL), GNN_EINVALID, "config is NULL");
    ck_fails(gnn_sampler_new(&made, t->data.graph, &(gnn_sampler_config_t){.method = "none"}),
             GNN_ENOTFOUND, "neighbours");
    ck_fails(gnn_sampler_new(&made, t->data.graph, &(gnn_sampler_config_t){0}), GNN_EINVALID, "hops");
    ck_fails(gnn_sampler_new(&made, t->data.graph,
                             &(gnn_sampler_config_t){.hops = 2, .fan_outs = fan_outs}),
             GNN_EINVALID, "fan_outs[1] = -2");
    ck_fails(
        gnn_sampler_new(&made, t->data.graph,
                        &(gnn_sampler_config_t){.hops = 1, .fan_outs = fan_outs, .weight = weight}),
        GNN_ENUMERIC, "weight[1]: expected a finite value >= 0, got -1");
    ck_ok(gnn_graph_complete(&spans, 1, (int64_t[]){4}));
    ck_ok(make_sampled(&uneven));
    ck_fails(gnn_sampler_new(&made, spans, &good), GNN_EUNSUPPORTED, "spans");
    ck_fails(gnn_sampler_new(&made, uneven, &good), GNN_ETOPOLOGY, "3 receivers and 7 senders");
    ck_fails(gnn_sample_new(NULL, t->sampler), GNN_EINVALID, "sample is NULL");
    ck_fails(gnn_sample_new(&sample, NULL), GNN_EINVALID, "sampler is NULL");
    ck_fails(gnn_sample_draw(NULL, NULL, 1, t->seeds, 0, 0), GNN_EINVALID, "sample is NULL");
    ck_fails(gnn_sample_draw(t->sample, NULL, 1, NULL, 0, 0), GNN_EINVALID, "seeds is NULL");
    ck_fails(gnn_sample_draw(t->sample, NULL, 0, t->seeds, 0, 0), GNN_EINVALID,
             "the count of nodes, got 0");
    ck_fails(gnn_sample_draw(t->sample, NULL, 1, t->seeds, -1, 0), GNN_EINVALID,
             "2^32 - 1, got -1 and 0");
    ck_fails(gnn_sample_draw(t->sample, NULL, 2, ((int32_t[]){8, 8}), 0, 0), GNN_EINVALID,
             "seeds[1] = 8 is a duplicate");
    ck_fails(gnn_sample_draw(t->sample, NULL, 1, ((int32_t[]){NODES}), 0, 0), GNN_EINVALID,
             "there are 300 nodes");
    ck_assert_ptr_null(gnn_sample_graph(t->sample, 0));
    ck_assert_ptr_null(gnn_sample_graph(NULL, 0));
    ck_assert_ptr_null(gnn_sample_edges(NULL, 0));
    ck_assert_ptr_null(gnn_sample_nodes(NULL, NULL));
    ck_assert_ptr_null(gnn_sample_edge_scale(NULL, 0));
    ck_assert_ptr_null(gnn_sample_node_scale(NULL));
    ck_assert_int_eq(gnn_sampler_graphs(NULL), 0);
    gnn_sample_free(NULL);
    gnn_sampler_free(NULL);
    ck_assert_ptr_null(made);
    gnn_graph_free(spans);
    gnn_graph_free(uneven);
    close_trial(t);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sampling");
    TCase *tests = tcase_create("sampling");
    int methods = 0;
    while (gnn_sampler_method_at((size_t)methods))
        methods++;
    tcase_set_timeout(tests, 300);
    tcase_add_loop_test(tests, blocks_are_parts_of_the_graph, 0, 8);
    tcase_add_test(tests, a_neighbourhood_has_all_edges_between_its_nodes);
    tcase_add_loop_test(tests, neighbours_are_drawn_uniformly, 0, 4);
    tcase_add_loop_test(tests, neighbours_are_drawn_by_weight, 0, 2);
    tcase_add_test(tests, weights_without_replacement);
    tcase_add_loop_test(tests, a_fan_out_of_0_draws_nothing, 0, 2);
    tcase_add_loop_test(tests, draws_do_not_depend_on_threads, 0, methods);
    tcase_add_loop_test(tests, full_neighbourhoods_equal_the_whole_graph, 0, 6);
    tcase_add_test(tests, warm_samples_allocate_nothing);
    tcase_add_test(tests, failed_allocations);
    tcase_add_test(tests, refusals);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
