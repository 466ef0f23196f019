/* Graphs: what every constructor means; views, norms and transposes against brute force. */
#include "graph_zoo.h"

#include <graphs/graph.h>

/* ---- topologies against their definitions ---- */

typedef struct definition {
    enum { COMPLETE, CAUSAL, WINDOW, WINDOW_CAUSAL, WINDOW_GLOBAL } kind;
    int64_t width, dilation;
} definition_t;

static bool global(int64_t i)
{
    return i % 5 == 2;
}

static int hears(definition_t d, int64_t i, int64_t j)
{
    int64_t away = i > j ? i - j : j - i;
    switch (d.kind) {
    case COMPLETE: return 1;
    case CAUSAL: return j <= i;
    case WINDOW: return away % d.dilation == 0 && away / d.dilation <= d.width;
    case WINDOW_CAUSAL: return j <= i && away % d.dilation == 0 && away / d.dilation <= d.width;
    default: return global(i) || global(j) || away <= d.width;
    }
}

static int build(gnn_graph_t **g, definition_t d, int64_t segments, const int64_t *lengths)
{
    int64_t globals[512], m = 0, n = 0;
    for (int64_t s = 0; s < segments; s++)
        n += lengths[s];
    for (int64_t i = n - 1; i >= 0; i--)
        if (global(i))
            globals[m++] = i;
    switch (d.kind) {
    case COMPLETE: return gnn_graph_complete(g, segments, lengths);
    case CAUSAL: return gnn_graph_causal(g, segments, lengths);
    case WINDOW_GLOBAL: return gnn_graph_window_global(g, segments, lengths, d.width, m, globals);
    default:
        return gnn_graph_window(g, segments, lengths, d.width, d.dilation,
                                d.kind == WINDOW_CAUSAL ? GNN_ON : GNN_FLAG_DEFAULT);
    }
}

static void check_definition(definition_t d, int64_t segments, const int64_t *lengths)
{
    gnn_graph_t *g;
    ck_ok(build(&g, d, segments, lengths));
    ck_ok(gnn__graph_validate(g));
    int *count = table(g);
    for (int64_t i = 0; i < g->n_dst; i++)
        for (int64_t j = 0; j < g->n_src; j++) {
            bool together = gnn__graph_dst_segment(g, i) == gnn__graph_src_segment(g, j);
            if (count[i * g->n_src + j] != (together && hears(d, i, j)))
                ck_abort_msg("kind %d width %ld dilation %ld: %ld of %ld hears %ld %d times",
                             d.kind, (long)d.width, (long)d.dilation, (long)i, (long)g->n_dst,
                             (long)j, count[i * g->n_src + j]);
        }
    ck_assert_int_eq(gnn_graph_n_edges(g), 0);
    free(count);
    gnn_graph_free(g);
}

START_TEST(topologies_equal_their_definitions)
{
    const int64_t sizes[] = {0, 1, 2, 15, 16, 17, 63, 64, 65}, widths[] = {0, 1, 3, INT64_MAX},
                  dilations[] = {1, 2, INT64_MAX};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int shape = 0; shape < 2; shape++) {
            const int64_t lengths[] = {sizes[s], 0, sizes[s] / 2, 1}, segments = shape ? 4 : 1;
            check_definition((definition_t){COMPLETE, 0, 1}, segments, lengths);
            check_definition((definition_t){CAUSAL, 0, 1}, segments, lengths);
            for (int w = 0; w < 4; w++) {
                check_definition((definition_t){WINDOW_GLOBAL, widths[w], 1}, segments, lengths);
                for (int k = 0; k < 3; k++) {
                    check_definition((definition_t){WINDOW, widths[w], dilations[k]}, segments,
                                     lengths);
                    check_definition((definition_t){WINDOW_CAUSAL, widths[w], dilations[k]},
                                     segments, lengths);
                }
            }
        }
}
END_TEST

START_TEST(receivers_without_senders_keep_the_order_of_spans)
{
    gnn_graph_t *g;
    const int64_t length = 5;
    ck_ok(gnn_graph_window_global(&g, 1, &length, 1, 1, ((int64_t[]){0})));
    for (int p = 0; p < 3; p++)
        ck_assert_ptr_null(g->base.parts[p].pairs.row_order);
    gnn_graph_free(g);
    ck_ok(gnn_graph_window_global(&g, 1, &length, 1, 1, ((int64_t[]){2})));
    const gnn__part_t *to_others = &g->base.parts[1];
    ck_assert_ptr_null(g->base.parts[0].pairs.row_order); /* 2 is between the spans of 1 and 3 */
    ck_assert(memcmp(to_others->pairs.row_order, (int32_t[]){0, 1, 3, 4, 2}, 5 * sizeof(int32_t)) ==
              0);
    ck_assert(to_others->pairs.lo[4] == 5 && to_others->pairs.hi[4] == 5 &&
              to_others->pairs.hi[3] == 5);
    gnn_graph_free(g);
}
END_TEST

START_TEST(bipartite_connects_segments)
{
    gnn_graph_t *g;
    ck_ok(make_bipartite(&g));
    ck_ok(gnn__graph_validate(g));
    ck_assert(g->n_dst == 5 && g->n_src == 6 && gnn_graph_n_pairs(g) == 8 &&
              gnn_graph_n_segments(g) == 3);
    int *count = table(g);
    for (int64_t i = 0; i < 5; i++)
        for (int64_t j = 0; j < 6; j++)
            ck_assert_int_eq(count[i * 6 + j], i < 2 && j < 4);
    free(count);
    gnn_graph_free(g);
}
END_TEST

START_TEST(every_topology_builds_and_reads_its_options)
{
    const int64_t lengths[] = {6, 0, 3};
    gnn_graph_t *g, *same;
    ck_assert_int_eq(topology_count(), 18);
    for (size_t t = 0; t < topology_count(); t++) {
        const gnn_topology_t *row = gnn_topology_at(t);
        ck_assert_ptr_eq(gnn_topology_find(row->name), row);
        ck_assert(strlen(row->help) > 10);
        ck_ok(row->build(&g, 3, lengths, NULL));
        ck_assert_int_eq(g->n_dst, strcmp(row->name, "tree") ? 9 : 6 + 3 + 2 + 1 + 3 + 2 + 1);
        ck_ok(gnn__graph_validate(g));
        gnn_graph_free(g);
        ck_fails(row->build(&g, 3, lengths, "colour=3"), GNN_EINVALID, "has no option \"colour\"");
        ck_assert_ptr_null(g);
        ck_fails(row->build(&g, 2, (int64_t[]){3, -4}, NULL), GNN_EINVALID,
                 "lengths[1] = -4 is negative");
    }
    const gnn_topology_t *window = gnn_topology_find("window");
    ck_ok(window->build(&g, 3, lengths, "width=2,dilation=2,causal=1"));
    ck_ok(gnn_graph_window(&same, 3, lengths, 2, 2, GNN_ON));
    same_tables(g, same);
    gnn_graph_free(g);
    gnn_graph_free(same);
    ck_ok(gnn_topology_find("bipartite")->build(&g, 3, lengths, "receivers=1"));
    ck_assert(g->n_dst == 3 && g->n_src == 9);
    gnn_graph_free(g);
    const char *bad[] = {
        "dilation=0", "width", "width=", "width=-1", "width=1x", "width=9999999999999999999"};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        ck_fails(window->build(&g, 3, lengths, bad[k]), GNN_EINVALID, "=integer, ");
    ck_fails(window->build(&g, 3, lengths, "widht=1"), GNN_EINVALID,
             "it has width, dilation, causal");
    ck_assert_ptr_null(gnn_topology_find("ring"));
    ck_assert_ptr_null(gnn_topology_find(NULL));
    ck_assert_ptr_null(gnn_topology_at(99));
}
END_TEST

/* ---- edges ---- */

START_TEST(edges_are_sorted_stably_and_keep_their_ids)
{
    gnn_graph_t *g;
    int64_t src[7], dst[7], edge[7];
    ck_ok(make_edges(&g));
    ck_ok(gnn_graph_pairs(g, src, dst, edge));
    ck_assert(memcmp(dst, (int64_t[]){0, 0, 0, 1, 2, 2, 3}, sizeof dst) == 0);
    ck_assert(memcmp(src, (int64_t[]){1, 1, 3, 0, 3, 2, 0}, sizeof src) == 0);
    ck_assert(memcmp(edge, (int64_t[]){2, 5, 6, 1, 0, 3, 4}, sizeof edge) == 0);
    gnn_graph_free(g);
    ck_ok(gnn_graph_from_edges(&g, 3, 3, 3, ((int64_t[]){2, 1, 0}), ((int64_t[]){0, 0, 2})));
    ck_assert_ptr_null(g->base.parts[0].pairs.edge);
    ck_ok(gnn__graph_validate(g));
    gnn_graph_free(g);
}
END_TEST

START_TEST(to_edges_holds_the_same_multiset_of_pairs)
{
    for (int k = 0; k < ZOO; k++) {
        gnn_graph_t *g, *e;
        ck_ok(zoo[k](&g));
        ck_ok(gnn_graph_to_edges(&e, g));
        ck_ok(gnn__graph_validate(e));
        same_tables(g, e);
        ck_assert_int_eq(gnn_graph_n_edges(e), gnn_graph_n_pairs(g));
        ck_assert_int_eq(gnn_graph_n_segments(e), gnn_graph_n_segments(g));
        int64_t m = gnn_graph_n_pairs(g), *a = zeros(4 * m, sizeof *a);
        ck_ok(gnn_graph_pairs(g, a, a + m, NULL));
        ck_ok(gnn_graph_pairs(e, a + 2 * m, a + 3 * m, NULL));
        ck_assert(memcmp(a, a + 2 * m, (size_t)(2 * m) * sizeof *a) == 0);
        for (int64_t p = 0; p < gnn_graph_n_parts(e); p++)
            ck_assert(!gnn__graph_part_is_spans(e, p));
        free(a);
        gnn_graph_free(e);
        gnn_graph_free(g);
    }
}
END_TEST

/* ---- views ---- */

/* Pairs of a view, walked by receiver or by sender, as a table; every edge id must mean the
 * same pair as in the base. */
static int *view_table(const gnn_graph_t *g, const gnn__part_t *parts, int64_t n_parts,
                       bool swapped, const int64_t *ends)
{
    int *count = zeros(g->n_dst * g->n_src, sizeof *count);
    for (int64_t p = 0; p < n_parts; p++)
        for (int64_t r = 0; r < parts[p].pairs.n_rows; r++) {
            const gnn__pairs_t *pairs = &parts[p].pairs;
            const int64_t node = gnn__pairs_node(pairs, r);
            for (int64_t at = gnn__pairs_from(pairs, r); at < gnn__pairs_to(pairs, r); at++) {
                const int64_t c = gnn__pairs_col(pairs, at), e = gnn__pairs_edge(pairs, at),
                              i = swapped ? c : node, j = swapped ? node : c;
                count[i * g->n_src + j]++;
                bool loop = e >= g->n_edges,
                     right = loop ? i == j && e == g->n_edges + i
                                  : e < 0 || (ends[2 * e] == i && ends[2 * e + 1] == j);
                if (!right)
                    ck_abort_msg("edge %ld cannot go from %ld to %ld", (long)e, (long)j, (long)i);
            }
        }
    return count;
}

static int64_t *edge_ends(const gnn_graph_t *g)
{
    int64_t m = gnn_graph_n_pairs(g), *a = zeros(3 * m, sizeof *a),
            *ends = zeros(2 * g->n_edges, sizeof *ends);
    ck_ok(gnn_graph_pairs(g, a, a + m, a + 2 * m));
    for (int64_t k = 0; k < m; k++)
        if (a[2 * m + k] >= 0) {
            ends[2 * a[2 * m + k]] = a[m + k];
            ends[2 * a[2 * m + k] + 1] = a[k];
        }
    free(a);
    return ends;
}

static double scale(const gnn_real_t *s, int64_t node)
{
    return s ? (double)s[node] : 1;
}

static void check_factors(const gnn_graph_t *g, const gnn__built_view_t *v, const int64_t *degree)
{
    for (int64_t p = 0; p < v->n_parts; p++)
        for (int64_t i = 0; i < g->n_dst; i++)
            for (int64_t j = 0; j < g->n_src; j++) {
                const gnn__part_t *a = &v->parts[p], *t = v->transposed ? &v->transposed[p] : NULL;
                double expected = v->key.norm == GNN_GRAPH_NORM_ROW
                                      ? (degree[i] ? 1.0 / (double)degree[i] : 0)
                                      : 1;
                if (v->key.norm == GNN_GRAPH_NORM_SYMMETRIC)
                    expected =
                        degree[i] && degree[j] ? 1 / sqrt((double)degree[i] * (double)degree[j]) : 0;
                double got = scale(a->scale_row, i) * scale(a->scale_col, j);
                if (!(fabs(got - expected) <= 1e-6 * expected) ||
                    (t && scale(t->scale_col, i) * scale(t->scale_row, j) != got))
                    ck_abort_msg("factor %g of %ld and %ld, expected %g", got, (long)i, (long)j,
                                 expected);
            }
}

/* Everything about one view, from the base graph's table alone. */
static void check_view(const gnn_graph_t *g, const gnn__built_view_t *v)
{
    int64_t *ends = edge_ends(g), *degree = zeros(g->n_dst, sizeof *degree);
    int *expected = table(g), *forward = view_table(g, v->parts, v->n_parts, false, ends);
    size_t bytes = (size_t)(g->n_dst * g->n_src) * sizeof *expected;
    for (int64_t i = 0; i < g->n_dst; i++) {
        if (v->key.self_loops == GNN_ON && expected[i * g->n_src + i] == 0)
            expected[i * g->n_src + i] = 1;
        for (int64_t j = 0; j < g->n_src; j++)
            degree[i] += expected[i * g->n_src + j];
        ck_assert_int_eq(v->degree[i], degree[i]);
    }
    ck_assert(memcmp(expected, forward, bytes) == 0);
    ck_assert((v->transposed != NULL) == (v->key.backward == GNN_ON));
    if (v->transposed) {
        int *back = view_table(g, v->transposed, v->n_parts, true, ends);
        ck_assert(memcmp(expected, back, bytes) == 0);
        free(back);
    }
    check_factors(g, v, degree);
    free(ends);
    free(degree);
    free(expected);
    free(forward);
}

START_TEST(views_equal_brute_force)
{
    for (int k = 0; k < ZOO; k++)
        for (int order = 0; order < 12; order++) {
            gnn_graph_t *g;
            ck_ok(zoo[k](&g));
            for (int step = 0; step < 12;
                 step++) { /* from another start, other views lend their arrays */
                int which = (order + 5 * step) % 12;
                gnn_view_t key = {which % 2 ? GNN_ON : GNN_OFF, (gnn_graph_norm_t)(1 + which / 2 % 3),
                                  which / 6 ? GNN_ON : GNN_OFF};
                if (g->n_dst != g->n_src &&
                    (key.self_loops == GNN_ON || key.norm == GNN_GRAPH_NORM_SYMMETRIC))
                    continue;
                ck_ok(gnn_graph_prepare(g, &key));
                const gnn__built_view_t *v = gnn__graph_view(g, &key);
                ck_assert_ptr_nonnull(v);
                check_view(g, v);
            }
            ck_ok(gnn__graph_validate(g));
            int64_t n_views = g->n_views;
            ck_ok(gnn_graph_prepare(g, &(gnn_view_t){.norm = GNN_GRAPH_NORM_ROW, .backward = GNN_ON}));
            ck_assert_int_eq(g->n_views, n_views);
            gnn_graph_free(g);
        }
}
END_TEST

START_TEST(transpose_of_random_monotone_spans_equals_brute_force)
{
    uint64_t seed = 11;
    int64_t silent_rows = 0, silent_cols = 0;
    for (int round = 0; round < 400; round++) {
        gnn_graph_t *g;
        const gnn_view_t key = {.backward = GNN_ON};
        ck_ok(random_spans(&g, test_below(&seed, 20), test_below(&seed, 20), (uint64_t)round * 7919));
        ck_ok(gnn_graph_prepare(g, &key));
        const gnn__built_view_t *v = gnn__graph_view(g, &key);
        check_view(g, v);
        ck_ok(gnn__graph_validate(g));
        ck_assert(gnn__pairs_form(&v->transposed[0].pairs) == GNN__SPANS);
        for (int64_t i = 0; i < g->n_dst; i++)
            silent_rows += v->parts[0].pairs.lo[i] == v->parts[0].pairs.hi[i];
        for (int64_t j = 0; j < g->n_src; j++)
            silent_cols += v->transposed[0].pairs.lo[j] == v->transposed[0].pairs.hi[j];
        gnn_graph_free(g);
    }
    ck_assert(silent_rows > 100 && silent_cols > 100);
}
END_TEST

START_TEST(prepare_adds_only_missing_loops)
{
    gnn_graph_t *g;
    const gnn_view_t loops = {.self_loops = GNN_ON};
    ck_ok(make_csr(&g)); /* 1 and 3 have no self-loop, 4 has two */
    ck_ok(gnn_graph_prepare(g, &loops));
    const gnn__built_view_t *v = gnn__graph_view(g, &loops);
    ck_assert(v->n_parts == 1 && v->parts[0].pairs.count == 9 + 2 && v->n_loops == 5);
    ck_assert(v->parts[0].pairs.edge[3] == 9 + 1 && v->parts[0].pairs.indices[3] == 1);
    gnn_graph_free(g);

    const maker_t complete[] = {make_causal, make_window, make_window_global};
    for (int k = 0; k < 3; k++) {
        ck_ok(complete[k](&g));
        ck_ok(gnn_graph_prepare(g, &loops));
        v = gnn__graph_view(g, &loops);
        ck_assert(v->n_loops == 0 && v->n_parts == g->base.n_parts &&
                  v->parts[0].pairs.lo == g->base.parts[0].pairs.lo && v->degree == g->base.degree);
        gnn_graph_free(g);
    }

    ck_ok(gnn_graph_from_spans(&g, 3, 3, NULL, NULL, ((int32_t[]){0, 2, 2}), ((int32_t[]){1, 2, 3})));
    ck_ok(gnn_graph_prepare(g, &loops));
    v = gnn__graph_view(g, &loops);
    ck_assert(v->n_parts == 2 && v->parts[1].pairs.count == 1 && v->parts[1].pairs.edge[0] == 1 &&
              v->parts[0].pairs.lo == g->base.parts[0].pairs.lo);
    gnn_graph_free(g);
}
END_TEST

START_TEST(a_view_with_backward_serves_without_and_pointers_stay)
{
    gnn_graph_t *g;
    const gnn_view_t forward = {.norm = GNN_GRAPH_NORM_ROW},
                     backward = {.norm = GNN_GRAPH_NORM_ROW, .backward = GNN_ON};
    ck_ok(make_edges(&g));
    ck_ok(gnn_graph_prepare(g, &forward));
    const gnn__built_view_t *first = gnn__graph_view(g, &forward);
    ck_ok(gnn_graph_prepare(g, &backward));
    ck_ok(gnn_graph_prepare(g, &(gnn_view_t){.norm = GNN_GRAPH_NORM_SYMMETRIC, .backward = GNN_ON}));
    ck_assert_ptr_eq(gnn__graph_view(g, &forward), first);
    ck_assert(first->parts[0].pairs.indptr == g->base.parts[0].pairs.indptr &&
              g->views[1]->transposed[0].pairs.indptr == g->views[2]->transposed[0].pairs.indptr);
    gnn_graph_free(g);

    ck_ok(make_edges(&g));
    ck_ok(gnn_graph_prepare(g, &backward));
    ck_ok(gnn_graph_prepare(g, &forward));
    ck_assert(g->n_views == 1 && gnn__graph_view(g, &forward) == g->views[0]);
    ck_assert_ptr_eq(gnn__graph_view(g, &(gnn_view_t){0}), &g->base);
    gnn_graph_free(g);
}
END_TEST

START_TEST(unprepared_views_are_named)
{
    gnn_graph_t *g;
    ck_ok(make_edges(&g));
    const struct {
        gnn_view_t key;
        const char *words;
    } cases[] = {
        {{GNN_ON, GNN_GRAPH_NORM_SYMMETRIC, GNN_ON},
         "the graph has no view with self-loops, symmetric norm and transpose: call gnn_graph_prepare, "
         "gnn_layer_prepare or gnn_model_prepare"},
        {{GNN_OFF, GNN_GRAPH_NORM_ROW, GNN_FLAG_DEFAULT}, "no view with row norm: call"},
        {{GNN_ON, GNN_GRAPH_NORM_DEFAULT, GNN_ON}, "no view with self-loops and transpose: call"},
        {{GNN_FLAG_DEFAULT, GNN_GRAPH_NORM_DEFAULT, GNN_ON}, "no view with transpose: call"}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        ck_assert_ptr_null(gnn__graph_view(g, &cases[k].key));
        ck_assert_msg(strstr(gnn_error_message(), cases[k].words) != NULL, "%s", gnn_error_message());
    }
    gnn_graph_free(g);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("graph");
    TCase *tests = tcase_create("graph");
    tcase_set_timeout(tests, 600);
    tcase_add_test(tests, topologies_equal_their_definitions);
    tcase_add_test(tests, receivers_without_senders_keep_the_order_of_spans);
    tcase_add_test(tests, bipartite_connects_segments);
    tcase_add_test(tests, every_topology_builds_and_reads_its_options);
    tcase_add_test(tests, edges_are_sorted_stably_and_keep_their_ids);
    tcase_add_test(tests, to_edges_holds_the_same_multiset_of_pairs);
    tcase_add_test(tests, views_equal_brute_force);
    tcase_add_test(tests, transpose_of_random_monotone_spans_equals_brute_force);
    tcase_add_test(tests, prepare_adds_only_missing_loops);
    tcase_add_test(tests, a_view_with_backward_serves_without_and_pointers_stay);
    tcase_add_test(tests, unprepared_views_are_named);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
