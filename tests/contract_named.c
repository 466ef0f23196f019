/* Named cases: ties, scores of large range, standard deviations, receivers with no senders or all,
 * attention weights on request. */
#include "contract.h"

#include <lib/aggregate/tables.h>

static void each_row(void (*check)(size_t message, size_t aggregator))
{
    for (size_t m = 0; m < message_count(); m++)
        for (size_t a = 0; a < combination_count(); a++)
            check(m, a);
}

static void run_each_row(void (*check)(size_t message, size_t aggregator), const char *what)
{
    contract_open(1);
    each_row(check);
    contract_close();
    contract_assert(what);
}

/* The case on its graph and on the same graph as edges, compared with the oracle and with each
 * other. Frees the graph. */
static void check_both_forms(contract_case_t c)
{
    contract_case_t e = c;
    e.graph = contract_edges_of(c.graph);
    contract_run_t *one = contract_run(&c), *other = contract_run(&e);
    contract_compare_runs(one, other);
    contract_run_free(one);
    contract_run_free(other);
    gnn_graph_free(e.graph);
    gnn_graph_free(c.graph);
}

static gnn_graph_t *of_lengths(int (*build)(gnn_graph_t **, int64_t, const int64_t *), int64_t a,
                               int64_t b)
{
    gnn_graph_t *g = NULL;
    ck_ok(build(&g, 2, (const int64_t[]){a, b}));
    return g;
}

/* ---- ties ---- */

static void check_ties(size_t m, size_t a)
{
    uint64_t seed = test_seed() + 31 * m + 7 * a;
    for (size_t kind = 0; kind < contract_graph_count(); kind++) {
        contract_case_t c = contract_case(m, a, contract_graph(kind, 12, seed + kind),
                                          contract_graph_name(kind), seed + kind);
        c.values = VALUES_INTEGER;
        c.d_v = 4;
        check_both_forms(c);
    }
    contract_case_t c =
        contract_case(m, a, contract_random_edges(9, 9, 60, seed), "random edges", seed);
    c.values = VALUES_INTEGER;
    c.weight = c.features = c.message_bias = true;
    check_both_forms(c);
}

START_TEST(ties_share_the_gradient_equally)
{
    run_each_row(check_ties, "integers full of ties");
}
END_TEST

/* ---- scores over +-100 ---- */

static void check_wide(size_t m, size_t a)
{
    int (*const builds[])(gnn_graph_t **, int64_t, const int64_t *) = {gnn_graph_complete,
                                                                       gnn_graph_causal};
    for (int k = 0; k < 4 && combination_at(a).score; k++) {
        int64_t n = k < 2 ? 17 : test_small() && m > 0 ? 9 : 70;
        contract_case_t c = contract_case(m, a, of_lengths(builds[k % 2], n, 0), "one sentence",
                                          test_seed() + 3 * m + a + (uint64_t)k);
        c.values = VALUES_WIDE;
        check_both_forms(c);
    }
}

START_TEST(scores_over_a_hundred_with_one_dominant)
{
    run_each_row(check_wide, "scores over +-100");
}
END_TEST

/* ---- deviations ---- */

/* One receiver with two senders at +-x around `centre`: variance x^2. */
static void deviation_of(double centre, double x, double *out, double *grad)
{
    gnn_graph_t *g = NULL;
    ck_ok(gnn_graph_bipartite(&g, 1, (const int64_t[]){1}, (const int64_t[]){2}));
    size_t std = 0, none = 0;
    while (strcmp(combination_at(std).name, "std") != 0)
        std++;
    while (strcmp(gnn__message_at(none)->name, "none") != 0)
        none++;
    contract_case_t c = contract_case(none, std, g, "two senders", 1);
    c.d_v = 1;
    ck_ok(gnn_graph_prepare(g, &c.view));
    contract_run_t *r = contract_run_new(&c);
    r->in[GNN_AGGREGATE_SRC_MESSAGE].data[0] = (gnn_real_t)(centre + x);
    r->in[GNN_AGGREGATE_SRC_MESSAGE].data[1] = (gnn_real_t)(centre - x);
    r->d_out[0] = 1;
    contract_library(r);
    *out = (double)r->out[0];
    *grad = (double)r->grad[GNN_AGGREGATE_SRC_MESSAGE][0];
    contract_run_free(r);
    gnn_graph_free(g);
}

START_TEST(deviation_is_zero_below_its_clamp)
{
    double out, grad;
    contract_open(1);
    deviation_of(0.5, 0, &out, &grad);
    ck_assert(out == 0 && grad == 0);
    deviation_of(0, 0.0031, &out, &grad); /* variance 0.961e-5 */
    ck_assert(out == 0 && grad == 0);
    deviation_of(0, 0.0032, &out, &grad); /* variance 1.024e-5 */
    ck_assert_double_eq_tol(out, 0.0032, 1e-7);
    ck_assert_double_eq_tol(grad, 0.5, 1e-4);
    contract_close();
}
END_TEST

/* Constant columns: all messages are equal, in every storage. */
static void check_constant(size_t m, size_t a)
{
    const bool differs = gnn__message_at(m)->flags & GNN_MESSAGE_READS_DISTANCE;
    for (size_t kind = 0; !differs && kind < contract_graph_count(); kind++) {
        contract_case_t c =
            contract_case(m, a, contract_graph(kind, 11, kind + 5), contract_graph_name(kind), kind);
        ck_ok(gnn_graph_prepare(c.graph, &c.view));
        contract_run_t *r = contract_run_new(&c);
        gnn_tensor_t *x = &r->in[GNN_AGGREGATE_SRC_MESSAGE];
        for (int64_t k = 0; k < x->rows * x->cols; k++)
            x->data[k] = (gnn_real_t)(0.1 + 0.7 * (double)(k % x->cols));
        gnn_tensor_t *g = &r->in[GNN_AGGREGATE_DST_MESSAGE];
        for (int64_t k = 0; g->data && k < g->rows * g->cols; k++)
            g->data[k] = (gnn_real_t)0.3;
        contract_oracle(r, 1e-6);
        contract_library(r);
        contract_compare(r);
        for (int64_t k = 0; strcmp(c.aggregator->name, "std") == 0 && k < r->n_dst * r->out_width; k++)
            if (r->out[k] != 0)
                contract_failure(&c, "the deviation of equal numbers is %g", (double)r->out[k]);
        for (int64_t k = 0; strcmp(c.aggregator->name, "std") == 0 && k < x->rows * x->cols; k++)
            if (r->grad[GNN_AGGREGATE_SRC_MESSAGE][k] != 0)
                contract_failure(&c, "and its gradient %g",
                                 (double)r->grad[GNN_AGGREGATE_SRC_MESSAGE][k]);
        contract_run_free(r);
        gnn_graph_free(c.graph);
    }
}

START_TEST(equal_messages)
{
    run_each_row(check_constant, "equal messages");
}
END_TEST

/* ---- receivers without senders ---- */

/* Spans without senders for receivers 0, 1 and the last, edges without senders for 0 and the last,
 * and both in one graph, in which receiver 1 has edges only. */
static gnn_graph_t *silent_graph(int which)
{
    gnn_graph_t *spans = NULL, *edges = NULL, *both = NULL;
    ck_ok(gnn_graph_from_spans(&spans, 6, 5, NULL, NULL, ((const int32_t[]){0, 0, 0, 1, 2, 5}),
                               ((const int32_t[]){0, 0, 3, 3, 5, 5})));
    ck_ok(gnn_graph_from_edges(&edges, 6, 5, 6, ((const int64_t[]){4, 4, 0, 1, 3, 3}),
                               ((const int64_t[]){1, 1, 2, 2, 3, 4})));
    ck_ok(gnn_graph_merge(&both, 2, (const gnn_graph_t *const[]){spans, edges}));
    gnn_graph_t *const all[] = {spans, edges, both};
    for (int k = 0; k < 3; k++)
        if (k != which)
            gnn_graph_free(all[k]);
    return all[which];
}

static void expect_silence(const contract_run_t *r)
{
    static const int of_receivers[] = {GNN_AGGREGATE_DST_MESSAGE, GNN_AGGREGATE_QUERY,
                                       GNN_AGGREGATE_GATE};
    for (int64_t k = 0; k < r->n_dst * r->out_width; k++)
        if (!isfinite((double)r->out[k]) ||
            (r->oracle->first[k / r->out_width] == r->oracle->first[k / r->out_width + 1] &&
             r->out[k] != 0))
            contract_failure(&r->c, "receiver %lld hears nobody and gets %g",
                             (long long)(k / r->out_width), (double)r->out[k]);
    for (int which = 0; which < 3; which++) {
        int k = of_receivers[which];
        for (int64_t at = 0; r->grad[k] && at < r->in[k].rows * r->in[k].cols; at++) {
            int64_t i = at / r->in[k].cols;
            if (r->oracle->first[i] == r->oracle->first[i + 1] && r->grad[k][at] != 0)
                contract_failure(&r->c, "receiver %lld hears nobody, gradient of %s %g",
                                 (long long)i, contract_input_name(k), (double)r->grad[k][at]);
        }
    }
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++)
        for (int64_t at = 0; r->grad[k] && at < r->in[k].rows * r->in[k].cols; at++)
            if (!isfinite((double)r->grad[k][at]))
                contract_failure(&r->c, "gradient of %s is %g", contract_input_name(k),
                                 (double)r->grad[k][at]);
}

static void check_silence(size_t m, size_t a)
{
    for (int variant = 0; variant < 6; variant++) {
        int which = variant % 3;
        contract_case_t c = contract_case(m, a, silent_graph(which), "silent", 5 + m);
        c.gate = variant < 3;
        c.dropout = contract_scored(&c) ? 0.3 : 0;
        c.view.norm = which == 1 ? GNN_GRAPH_NORM_ROW : GNN_GRAPH_NORM_NONE;
        if (contract_scored(&c) && c.gate)
            c.priors[0] = (gnn_prior_use_t){&gnn_prior_table, {7}};
        c.features = which == 1 && c.gate;
        c.weight = which == 1;
        contract_run_t *r = contract_run(&c);
        expect_silence(r);
        contract_run_free(r);
        gnn_graph_free(c.graph);
    }
}

START_TEST(receivers_without_senders_give_zero)
{
    run_each_row(check_silence, "hearing nobody");
}
END_TEST

/* Edge biases of minus infinity: a third of all edges, and all edges of receiver 2. */
static void check_masked(size_t m, size_t a)
{
    for (uint64_t variant = 0; variant < 4; variant++) {
        uint64_t seed = test_seed() + 3 * m + 41 * a + variant;
        gnn_graph_t *g = contract_random_edges(9, 9, 40, seed);
        contract_case_t c = contract_case(m, a, g, "masked edges", seed);
        if (!contract_scored(&c)) {
            gnn_graph_free(g);
            continue;
        }
        c.bias = variant % 2 ? BIAS_PER_HEAD : BIAS_SHARED;
        c.gate = variant < 2;
        c.dropout = 0.2;
        ck_ok(gnn_graph_prepare(g, &c.view));
        contract_run_t *r = contract_run_new(&c);
        int64_t src[40], dst[40], edge[40];
        ck_ok(gnn_graph_pairs(g, src, dst, edge));
        for (int k = 0; k < 40; k++)
            if (dst[k] == 2 || edge[k] % 3 == 0)
                for (int64_t h = 0; h < r->in[GNN_AGGREGATE_EDGE_BIAS].cols; h++)
                    gnn__row(&r->in[GNN_AGGREGATE_EDGE_BIAS], edge[k])[h] = -(gnn_real_t)INFINITY;
        contract_oracle(r, 1e-6);
        contract_library(r);
        contract_compare(r);
        contract_run_free(r);
        gnn_graph_free(g);
    }
}

START_TEST(bias_of_minus_infinity_masks_an_edge)
{
    run_each_row(check_masked, "masked edges");
}
END_TEST

/* ---- a heavy receiver ---- */

/* Receiver 0 has every sender three times, the others one neighbour. */
static gnn_graph_t *heavy_graph(int64_t n)
{
    int64_t m = 4 * n, *src = malloc(sizeof *src * (size_t)m), *dst = malloc(sizeof *dst * (size_t)m);
    for (int64_t k = 0; k < m; k++) {
        src[k] = k < 3 * n ? k / 3 : (k + 1) % n;
        dst[k] = k < 3 * n ? 0 : k - 3 * n;
    }
    gnn_graph_t *g = NULL;
    ck_ok(gnn_graph_from_edges(&g, n, n, m, src, dst));
    free(src);
    free(dst);
    return g;
}

static void check_heavy(size_t m, size_t a)
{
    for (int variant = 0; variant < 3; variant++) {
        uint64_t seed = test_seed() + m + 11 * a + 1000 * (uint64_t)variant;
        int64_t n = variant < 2 ? 9 : test_small() ? 40 : 700;
        contract_case_t c = contract_case(m, a, heavy_graph(n), "heavy receiver", seed);
        contract_draw_switches(&c, variant > 0);
        c.dropout = contract_scored(&c) ? 0.5 : 0;
        contract_run_t *r = contract_run(&c);
        contract_run_free(r);
        gnn_graph_free(c.graph);
    }
}

START_TEST(parallel_edges_count_three_times)
{
    run_each_row(check_heavy, "a heavy receiver");
}
END_TEST

/* ---- rows too long for a handful, of eight heads ---- */

/* Values from -2 to 2 give scores of 0; large ones exceed the range in which kernels may keep
 * e^x. */
static void check_long_rows(size_t m, size_t a)
{
    const int64_t n = test_small() ? 3 : 12;
    for (int k = 0; k < 12 && combination_at(a).score; k++) {
        uint64_t seed = test_seed() + 5 * m + 17 * a + 100 * (uint64_t)k;
        contract_case_t c =
            contract_case(m, a, contract_random_edges(n, n, 150 * n + k, seed), "many edges", seed);
        c.heads = c.kv_heads = 8 - k % 2;
        c.d_v = k % 4 < 2 ? 8 : 3;
        c.values = (values_t)(k % 3);
        c.dropout = k < 6 ? 0 : 0.5;
        contract_check(&c);
        gnn_graph_free(c.graph);
    }
}

START_TEST(long_rows_of_many_heads)
{
    run_each_row(check_long_rows, "long rows");
}
END_TEST

/* ---- attention weights ---- */

static double largest_weight(const oracle_t *o)
{
    double largest = 1e-30;
    for (int64_t k = 0; k < o->n_pairs * o->heads; k++)
        largest = fmax(largest, fabs(o->weights[k]));
    return largest;
}

static void compare_edge_weights(const contract_run_t *r, const gnn_real_t *got)
{
    const oracle_t *o = r->oracle;
    double worst = 0;
    for (int64_t k = 0; k < o->n_pairs; k++) {
        const oracle_pair_t *p = &o->pairs[k];
        for (int64_t h = 0; p->edge >= 0 && p->edge < o->n_edges && h < o->heads; h++) {
            double d = fabs((double)got[p->edge * o->heads + h] - o->weights[k * o->heads + h]);
            worst = d <= worst ? worst : isnan(d) ? INFINITY : d;
        }
    }
    contract_judge(&r->c, "attention weights per edge", worst / largest_weight(o), TOLERANCE_OUT,
                   "against the oracle");
}

static void compare_segment_weights(const contract_run_t *r, const double *expected,
                                    const gnn_real_t *got, int64_t n)
{
    double worst = 0;
    for (int64_t k = 0; k < n; k++) {
        double d = fabs((double)got[k] - expected[k]);
        worst = d <= worst ? worst : isnan(d) ? INFINITY : d;
    }
    contract_judge(&r->c, "attention weights per segment", worst / largest_weight(r->oracle),
                   TOLERANCE_OUT, "against the oracle");
}

/* Weights over a sum that is near 0 are worth few digits: those of ratio are compared as outputs,
 * whose bounds know it. */
static void check_weights_of(contract_case_t c)
{
    if (c.weigher == &gnn_weigher_ratio)
        c.weigher = &gnn_weigher_decay;
    ck_ok(gnn_graph_prepare(c.graph, &c.view));
    contract_run_t *r = contract_run_new(&c);
    contract_oracle(r, 1e-6);
    int64_t n = 0, m = gnn_graph_n_edges(c.graph);
    double *expected = oracle_segment_weights(r->oracle, &n);
    gnn_real_t *segments = malloc(sizeof *segments * (size_t)(n + 1)),
               *edges = malloc(sizeof *edges * (size_t)(m * c.heads + 1));
    for (int64_t k = 0; k < n; k++)
        segments[k] = (gnn_real_t)NAN;
    for (int64_t k = 0; k < m * c.heads; k++)
        edges[k] = (gnn_real_t)NAN;
    gnn_tensor_t per_edge = gnn_tensor(edges, m, c.heads);
    r->how.edge_weights_out = m > 0 ? &per_edge : NULL;
    r->how.segment_weights_out = n > 0 ? segments : NULL;
    contract_library(r);
    contract_compare(r);
    compare_edge_weights(r, edges);
    compare_segment_weights(r, expected, segments, n);
    free(expected);
    free(segments);
    free(edges);
    contract_run_free(r);
}

static void check_weights(size_t m, size_t a)
{
    for (size_t kind = 0; kind < contract_graph_count() && combination_at(a).score; kind++)
        for (uint64_t variant = 0; variant < 2; variant++) {
            uint64_t seed = test_seed() + 5 * m + 17 * a + 100 * kind + variant;
            gnn_graph_t *g = contract_graph(kind, variant ? 14 : 6, seed),
                        *edges = contract_edges_of(g);
            contract_case_t c = contract_case(m, a, g, contract_graph_name(kind), seed);
            c.heads = variant ? 4 : 2;
            contract_draw_switches(&c, false);
            check_weights_of(c);
            c.graph = edges;
            contract_draw_switches(&c, true);
            check_weights_of(c);
            gnn_graph_free(edges);
            gnn_graph_free(g);
        }
}

START_TEST(attention_weights_match_oracle)
{
    run_each_row(check_weights, "attention weights");
}
END_TEST

TCase *contract_named_tests(void)
{
    TCase *t = tcase_create("named");
    tcase_set_timeout(t, 600);
    tcase_add_test(t, ties_share_the_gradient_equally);
    tcase_add_test(t, scores_over_a_hundred_with_one_dominant);
    tcase_add_test(t, deviation_is_zero_below_its_clamp);
    tcase_add_test(t, equal_messages);
    tcase_add_test(t, receivers_without_senders_give_zero);
    tcase_add_test(t, bias_of_minus_infinity_masks_an_edge);
    tcase_add_test(t, parallel_edges_count_three_times);
    tcase_add_test(t, long_rows_of_many_heads);
    tcase_add_test(t, attention_weights_match_oracle);
    return t;
}
