/* Link prediction: splits, negative pairs, ranking metrics. */
#include "one_context.h"

#include <graphs/graph.h>

/* n nodes, each pair a link with chance `density`, both directions; edge ids in a mixed
 * order. */
static gnn_graph_t *drawn_graph(int64_t n, double density, bool directed, uint64_t seed)
{
    int64_t *src = calloc((size_t)(n * n), sizeof *src), *dst = calloc((size_t)(n * n), sizeof *dst);
    int64_t m = 0;
    gnn_graph_t *graph;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            if (i == j || (!directed && i > j) || test_uniform(&seed) >= 2 * density - 1)
                continue;
            src[m] = i;
            dst[m++] = j;
        }
    for (int64_t k = 0, links = m; k < links && !directed; k++, m++) {
        src[m] = dst[links - 1 - k];
        dst[m] = src[links - 1 - k];
    }
    ck_ok(gnn_graph_from_edges(&graph, n, n, m, src, dst));
    free(src);
    free(dst);
    return graph;
}

/* [i * n + j]: does a message go from i to j? */
static uint8_t *matrix_of(const gnn_graph_t *graph)
{
    const int64_t n = gnn_graph_n_dst(graph), m = gnn_graph_n_edges(graph);
    uint8_t *is = calloc((size_t)(n * n), 1);
    int64_t *src = calloc((size_t)m + 1, sizeof *src), *dst = calloc((size_t)m + 1, sizeof *dst);
    ck_ok(gnn_graph_pairs(graph, src, dst, NULL));
    for (int64_t k = 0; k < m; k++)
        is[src[k] * n + dst[k]] = 1;
    free(src);
    free(dst);
    return is;
}

/* ---- negative pairs ---- */

/* Every pair that may come does, about equally often; no other does. */
START_TEST(negatives_are_uniform_over_pairs_without_an_edge)
{
    enum { N = 9, DRAWS = 40000 };
    const bool directed = _i & 1, dense = _i & 2;
    gnn_graph_t *graph = drawn_graph(N, dense ? 0.9 : 0.3, directed, 3 + (uint64_t)_i);
    uint8_t *is = matrix_of(graph);
    int32_t *src = calloc(DRAWS, sizeof *src), *dst = calloc(DRAWS, sizeof *dst);
    int count[N * N] = {0}, allowed = 0;
    gnn_negatives_t *negatives;
    ck_ok(gnn_negatives_new(&negatives, graph, directed ? GNN_ON : GNN_OFF));
    ck_ok(gnn_negatives_draw(negatives, context, 7, 1, DRAWS, src, dst));
    for (int k = 0; k < DRAWS; k++)
        count[src[k] * N + dst[k]]++;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            allowed +=
                directed ? i != j && !is[i * N + j] : i < j && !is[i * N + j] && !is[j * N + i];
    ck_assert_int_gt(allowed, 0);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            const bool may =
                directed ? i != j && !is[i * N + j] : i < j && !is[i * N + j] && !is[j * N + i];
            const double expected = may ? (double)DRAWS / allowed : 0;
            ck_assert_msg(fabs(count[i * N + j] - expected) <= 6 * sqrt(expected),
                          "pair %d %d came %d times, expected %g", i, j, count[i * N + j], expected);
        }
    gnn_negatives_free(negatives);
    gnn_graph_free(graph);
    free(is);
    free(src);
    free(dst);
}
END_TEST

START_TEST(negatives_are_the_same_on_one_and_four_threads)
{
    enum { N = 60, DRAWS = 30000, EACH = 10 };
    gnn_graph_t *graph = drawn_graph(N, 0.1, false, 5);
    gnn_context_t *four;
    gnn_negatives_t *negatives;
    int32_t *at[2][3], sources[N];
    ck_ok(gnn_context_new(&four, &(gnn_context_config_t){.threads = 4}));
    ck_ok(gnn_negatives_new(&negatives, graph, GNN_OFF));
    for (int i = 0; i < N; i++)
        sources[i] = (N - i) % N;
    for (int k = 0; k < 2; k++) {
        for (int a = 0; a < 3; a++)
            at[k][a] = calloc(DRAWS, sizeof **at[k]);
        ck_ok(gnn_negatives_draw(negatives, k ? four : NULL, 7, 2, DRAWS, at[k][0], at[k][1]));
        ck_ok(gnn_negatives_of_sources(negatives, k ? four : NULL, 7, 2, N, sources, EACH, at[k][2]));
    }
    for (int a = 0; a < 3; a++)
        ck_assert_mem_eq(at[0][a], at[1][a], DRAWS * sizeof(int32_t));
    ck_ok(gnn_negatives_draw(negatives, NULL, 7, 3, DRAWS, at[1][0], at[1][1]));
    ck_assert_mem_ne(at[0][0], at[1][0], DRAWS * sizeof(int32_t));
    for (int k = 0; k < 2; k++)
        for (int a = 0; a < 3; a++)
            free(at[k][a]);
    gnn_negatives_free(negatives);
    gnn_context_free(four);
    gnn_graph_free(graph);
}
END_TEST

/* Negative targets of a source: all nodes except its neighbours and itself. */
START_TEST(negative_targets_are_not_neighbours)
{
    enum { N = 12, EACH = 400 };
    gnn_graph_t *graph = drawn_graph(N, 0.5, false, 11);
    uint8_t *is = matrix_of(graph);
    gnn_negatives_t *negatives;
    int32_t sources[N], targets[N * EACH];
    for (int i = 0; i < N; i++)
        sources[i] = i;
    ck_ok(gnn_negatives_new(&negatives, graph, GNN_OFF));
    ck_ok(gnn_negatives_of_sources(negatives, NULL, 1, 0, N, sources, EACH, targets));
    for (int i = 0; i < N; i++) {
        int came[N] = {0};
        for (int k = 0; k < EACH; k++)
            came[targets[i * EACH + k]]++;
        for (int j = 0; j < N; j++)
            ck_assert_int_eq(came[j] > 0, j != i && !is[i * N + j]);
    }
    sources[3] = N;
    ck_fails(gnn_negatives_of_sources(negatives, NULL, 1, 0, N, sources, EACH, targets),
             GNN_EINVALID, "source 3 is node 12");
    gnn_negatives_free(negatives);
    gnn_graph_free(graph);
    free(is);
}
END_TEST

START_TEST(a_source_that_is_linked_to_all_has_no_targets)
{
    const int64_t src[] = {0, 0, 1, 2}, dst[] = {1, 2, 0, 0};
    const int32_t sources[] = {0, 1};
    int32_t targets[4];
    gnn_graph_t *graph;
    gnn_negatives_t *negatives;
    ck_ok(gnn_graph_from_edges(&graph, 3, 3, 4, src, dst));
    ck_ok(gnn_negatives_new(&negatives, graph, GNN_OFF));
    ck_ok(gnn_negatives_of_sources(negatives, NULL, 1, 0, 2, sources, 2, targets));
    ck_assert(targets[0] == -1 && targets[1] == -1 && targets[2] == 2 && targets[3] == 2);
    gnn_negatives_free(negatives);
    gnn_graph_free(graph);
}
END_TEST

START_TEST(graphs_without_negatives_are_refused)
{
    const int64_t all_src[] = {0, 1}, all_dst[] = {1, 0};
    gnn_graph_t *graph;
    gnn_negatives_t *negatives = (gnn_negatives_t *)1;
    gnn_links_t *links = (gnn_links_t *)1;
    ck_ok(gnn_graph_from_edges(&graph, 2, 2, 2, all_src, all_dst));
    ck_fails(gnn_negatives_new(&negatives, graph, GNN_OFF), GNN_EINVALID,
             "every pair of the graph's 2 nodes");
    ck_assert_ptr_null(negatives);
    gnn_graph_free(graph);
    ck_ok(gnn_graph_complete(&graph, 1, (const int64_t[]){4}));
    ck_fails(gnn_negatives_new(&negatives, graph, GNN_OFF), GNN_EUNSUPPORTED, "spans");
    ck_fails(gnn_links_split(&links, graph, NULL), GNN_EUNSUPPORTED, "spans");
    ck_assert_ptr_null(links);
    gnn_graph_free(graph);
    ck_ok(gnn_graph_from_edges(&graph, 2, 3, 0, all_src, all_dst));
    ck_fails(gnn_negatives_new(&negatives, graph, GNN_OFF), GNN_ETOPOLOGY, "2 receivers and 3");
    ck_fails(gnn_links_split(&links, graph, NULL), GNN_ETOPOLOGY, "2 receivers and 3");
    gnn_graph_free(graph);
    ck_fails(gnn_negatives_new(NULL, graph, GNN_OFF), GNN_EINVALID, "negatives is NULL");
    ck_fails(gnn_links_split(&links, NULL, NULL), GNN_EINVALID, "graph is NULL");
}
END_TEST

/* ---- sharing out ---- */

/* Each link once, in one part; the training's graph has both directions of its own and no
 * others. */
START_TEST(both_directions_of_a_link_share_a_split)
{
    enum { N = 40 };
    const bool directed = _i;
    gnn_graph_t *graph = drawn_graph(N, 0.2, directed, 21);
    uint8_t *is = matrix_of(graph), seen[N * N] = {0};
    gnn_links_t *links, *again;
    const gnn_link_rule_t rule = {.validation_share = 0.1,
                                  .test_share = 0.25,
                                  .directed = directed ? GNN_ON : GNN_OFF,
                                  .seed = 4};
    ck_ok(gnn_links_split(&links, graph, &rule));
    ck_ok(gnn_links_split(&again, graph, &rule));
    uint8_t *left = matrix_of(gnn_links_graph(links));
    const int64_t all = gnn_graph_n_edges(graph) / (directed ? 1 : 2);
    ck_assert_int_eq(gnn_links_of(links, GNN_VALIDATION).count, all / 10);
    ck_assert_int_eq(gnn_links_of(links, GNN_TEST).count, all / 4);
    ck_assert_int_eq(gnn_links_of(links, 3).count, 0);
    for (int part = 0; part < 3; part++) {
        const gnn_node_pairs_t of = gnn_links_of(links, part), same = gnn_links_of(again, part),
                               without = gnn_links_without(links, part);
        ck_assert_mem_eq(of.src, same.src, sizeof *of.src * (size_t)of.count);
        for (int64_t k = 0; k < of.count; k++) {
            const int32_t i = of.src[k], j = of.dst[k];
            ck_assert(directed || i < j);
            ck_assert(is[i * N + j] && !seen[i * N + j]);
            seen[i * N + j] = 1;
            ck_assert_int_eq(left[i * N + j], part == GNN_TRAIN);
            ck_assert(directed || left[j * N + i] == (part == GNN_TRAIN));
        }
        ck_assert_int_eq(without.count, part == GNN_TRAIN ? 0 : of.count);
        for (int64_t k = 0; k < without.count; k++)
            ck_assert(!is[without.src[k] * N + without.dst[k]] &&
                      (directed || !is[without.dst[k] * N + without.src[k]]));
    }
    for (int i = 0; i < N * N; i++)
        ck_assert(!is[i] || seen[i] || (!directed && seen[i % N * N + i / N]));
    ck_ok(gnn__graph_validate(gnn_links_graph(links)));
    gnn_links_free(links);
    gnn_links_free(again);
    gnn_graph_free(graph);
    free(is);
    free(left);
}
END_TEST

/* Negative pairs of validation and test together: distinct if there are enough, else all of
 * them. */
START_TEST(pairs_of_validation_and_test_are_different)
{
    for (uint64_t seed = 0; seed < 30; seed++) {
        const bool dense = seed % 3 == 2, directed = seed & 1;
        const int n = dense ? 6 : 12;
        gnn_graph_t *graph = drawn_graph(n, dense ? 0.8 : 0.3, directed, 100 + seed);
        gnn_links_t *links;
        int64_t seen[144] = {0}, drawn = 0, different = 0, there = 0;
        uint8_t *is = matrix_of(graph);
        ck_ok(gnn_links_split(&links, graph,
                              &(gnn_link_rule_t){.validation_share = 0.4,
                                                 .test_share = 0.4,
                                                 .directed = directed ? GNN_ON : GNN_OFF,
                                                 .seed = seed}));
        for (int p = GNN_VALIDATION; p <= GNN_TEST; p++) {
            const gnn_node_pairs_t of = gnn_links_without(links, p);
            for (int64_t k = 0; k < of.count; k++, drawn++)
                different += seen[of.src[k] * n + of.dst[k]]++ == 0;
        }
        for (int i = 0; i < n; i++)
            for (int j = directed ? 0 : i + 1; j < n; j++)
                there += i != j && !is[i * n + j] && (directed || !is[j * n + i]);
        ck_assert_int_eq(different, drawn < there ? drawn : there);
        gnn_links_free(links);
        gnn_graph_free(graph);
        free(is);
    }
}
END_TEST

/* Edge ids lead back to the same ends; self-loops and parallel edges stay with their like. */
START_TEST(kept_edges_have_their_ids)
{
    const int64_t src[] = {0, 1, 2, 0, 3, 1, 2, 2, 4, 0}, dst[] = {1, 0, 0, 2, 3, 0, 1, 4, 2, 4};
    int64_t from[10], to[10], edge[10];
    gnn_graph_t *graph;
    gnn_links_t *links;
    ck_ok(gnn_graph_from_edges(&graph, 5, 5, 10, src, dst));
    ck_ok(gnn_links_split(
        &links, graph, &(gnn_link_rule_t){.validation_share = 0.2, .test_share = 0.4, .seed = 2}));
    const gnn_graph_t *left = gnn_links_graph(links);
    const int64_t m = gnn_graph_n_edges(left);
    bool loop = false;
    ck_assert_int_eq(gnn_links_of(links, GNN_TRAIN).count, 2);
    ck_ok(gnn_graph_pairs(left, from, to, edge));
    for (int64_t k = 0; k < m; k++) {
        const int64_t e = gnn_links_edges(links)[edge[k]];
        ck_assert(src[e] == from[k] && dst[e] == to[k]);
        loop = loop || e == 4;
    }
    ck_assert(loop);
    gnn_links_free(links);
    ck_fails(gnn_links_split(&links, graph,
                             &(gnn_link_rule_t){.validation_share = 0.5, .test_share = 0.5}),
             GNN_EINVALID, "a sum below 1");
    ck_fails(gnn_links_split(&links, graph, &(gnn_link_rule_t){.test_share = -1}), GNN_EINVALID,
             "-1");
    gnn_graph_free(graph);
}
END_TEST

/* ---- metrics ---- */

static const gnn_real_t tied[] = {(gnn_real_t)0.9, (gnn_real_t)0.8, (gnn_real_t)0.8,
                                  (gnn_real_t)0.7, (gnn_real_t)0.6, (gnn_real_t)0.6,
                                  (gnn_real_t)0.6, (gnn_real_t)0.5, (gnn_real_t)0.3,
                                  (gnn_real_t)0.3, (gnn_real_t)0.1, (gnn_real_t)-0.2};
static const int32_t tied_labels[] = {1, 0, 1, 1, 0, 1, 0, 0, 1, 0, 0, 0};

/* Figures of scikit-learn: average_precision_score, roc_auc_score. */
START_TEST(ties_are_counted_as_scikit_learn_does)
{
    const gnn_tensor_t scores = gnn_tensor((gnn_real_t *)tied, 12, 1),
                       four = gnn_tensor((gnn_real_t[]){1, 1, 1, 1}, 4, 1);
    ck_assert_double_eq_tol(gnn_metric(GNN_METRIC_AVERAGE_PRECISION, &scores, tied_labels, NULL),
                            0.6976190476190477, 1e-12);
    ck_assert_double_eq_tol(gnn_metric(GNN_METRIC_ROC_AUC, &scores, tied_labels, NULL),
                            0.7714285714285715, 1e-12);
    ck_assert_double_eq_tol(
        gnn_metric(GNN_METRIC_AVERAGE_PRECISION, &four, (const int32_t[]){1, 0, 0, 1}, NULL), 0.5,
        1e-12);
    ck_assert_double_eq_tol(gnn_metric(GNN_METRIC_AVERAGE_PRECISION, &four,
                                       (const int32_t[]){1, -1, 1, 0}, (const uint8_t[]){1, 1, 1, 0}),
                            1, 1e-12);
    ck_assert(
        isnan(gnn_metric(GNN_METRIC_AVERAGE_PRECISION, &four, (const int32_t[]){0, 0, 0, 0}, NULL)));
    ck_assert(isnan(gnn_metric(GNN_METRIC_AVERAGE_PRECISION, NULL, tied_labels, NULL)));
}
END_TEST

/* Precision at each distinct threshold, by counting. */
static double slow_precision(const gnn_real_t *s, const int32_t *y, int64_t n)
{
    double sum = 0, positives = 0;
    for (int64_t k = 0; k < n; k++)
        positives += y[k];
    for (int64_t k = 0; k < n; k++) {
        double above = 0, hits = 0;
        for (int64_t l = 0; l < n; l++) {
            above += s[l] >= s[k];
            hits += y[l] && s[l] >= s[k];
        }
        sum += y[k] ? hits / above / positives : 0;
    }
    return sum;
}

START_TEST(ranks_match_counting)
{
    enum { N = 80, K = 7 };
    uint64_t seed = 31 + (uint64_t)_i;
    gnn_real_t links[N], others[N * K], all[2 * N];
    int32_t labels[2 * N];
    double mrr = 0;
    for (int r = 0; r < N; r++) { /* few values: many ties */
        links[r] = (gnn_real_t)test_below(&seed, 9);
        for (int k = 0; k < K; k++)
            others[r * K + k] = (gnn_real_t)test_below(&seed, 8);
        double rank = 1;
        for (int k = 0; k < K; k++)
            rank += (others[r * K + k] > links[r]) + 0.5 * (others[r * K + k] == links[r]);
        mrr += 1 / rank / N;
    }
    for (int k = 0; k < 2 * N; k++) {
        all[k] = k < N ? links[k] : others[k];
        labels[k] = (int32_t)test_below(&seed, 2);
    }
    const gnn_tensor_t l = gnn_tensor(links, N, 1), o = gnn_tensor(others, N, K),
                       column = gnn_tensor(others, N * K, 1), both = gnn_tensor(all, 2 * N, 1);
    ck_assert_double_eq_tol(gnn_metric_mrr(&l, &o), mrr, 1e-12);
    ck_assert_double_eq_tol(gnn_metric(GNN_METRIC_AVERAGE_PRECISION, &both, labels, NULL),
                            slow_precision(all, labels, 2 * N), 1e-12);
    for (int64_t k = 1; k < N * K; k += 37) {
        int hits = 0;
        for (int r = 0; r < N; r++) { /* above the k-th: fewer than k others are as large */
            int64_t as_large = 0;
            for (int q = 0; q < N * K; q++)
                as_large += others[q] >= links[r];
            hits += as_large < k;
        }
        ck_assert_double_eq_tol(gnn_metric_hits(&l, &column, k), (double)hits / N, 1e-12);
    }
    ck_assert(gnn_metric_hits(&l, &column, N * K + 1) == 1);
    ck_assert(isnan(gnn_metric_hits(&l, &column, 0)) && isnan(gnn_metric_mrr(&l, &both)));
    links[3] = NAN;
    ck_assert(isnan(gnn_metric_mrr(&l, &o)) && isnan(gnn_metric_hits(&l, &column, 3)));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("links");
    TCase *tests = tcase_create("links");
    tcase_set_timeout(tests, 120);
    tcase_add_checked_fixture(tests, open_context, close_context);
    tcase_add_loop_test(tests, negatives_are_uniform_over_pairs_without_an_edge, 0, 4);
    tcase_add_test(tests, negatives_are_the_same_on_one_and_four_threads);
    tcase_add_test(tests, negative_targets_are_not_neighbours);
    tcase_add_test(tests, a_source_that_is_linked_to_all_has_no_targets);
    tcase_add_test(tests, graphs_without_negatives_are_refused);
    tcase_add_loop_test(tests, both_directions_of_a_link_share_a_split, 0, 2);
    tcase_add_test(tests, pairs_of_validation_and_test_are_different);
    tcase_add_test(tests, kept_edges_have_their_ids);
    tcase_add_test(tests, ties_are_counted_as_scikit_learn_does);
    tcase_add_loop_test(tests, ranks_match_counting, 0, 5);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
