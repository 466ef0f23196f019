/* Diffused graphs against PyG's GDC (tests/pyg/gdc.py wrote the case), what is kept of them, and
 * what is refused. */
#include <gnn/diffuse.h>

#include "golden.h"

static const struct {
    const char *name;
    gnn_diffusion_t config;
} cases[] = {
    {"pagerank_top", {.top = 6}},
    {"pagerank_threshold",
     {.alpha = (gnn_real_t)0.3, .threshold = (gnn_real_t)0.01, .norm_out = GNN_GRAPH_NORM_SYMMETRIC}},
    {"pagerank_walk", {.top = 5, .norm_in = GNN_GRAPH_NORM_ROW, .norm_out = GNN_GRAPH_NORM_NONE}},
    {"heat_top", {.kind = GNN_DIFFUSION_HEAT, .top = 6}},
    {"heat_threshold",
     {.kind = GNN_DIFFUSION_HEAT,
      .threshold = (gnn_real_t)0.02,
      .loop_weight = GNN_ZERO,
      .norm_out = GNN_GRAPH_NORM_NONE}},
    {"pagerank_average", {.average = 5}},
    {"heat_average",
     {.kind = GNN_DIFFUSION_HEAT, .average = 11, .norm_out = GNN_GRAPH_NORM_SYMMETRIC}},
    {"heat_loops", {.kind = GNN_DIFFUSION_HEAT, .time = 5, .top = 40, .loop_weight = 2}}};

/* The case's graph, its parallel edges included. */
static gnn_graph_t *open_graph(golden_t *g, gnn_tensor_t *weight)
{
    int64_t m, *src, *dst;
    gnn_graph_t *graph;
    if (!golden_open(g, "pyg/gdc"))
        return NULL;
    src = golden_integers(g, "src", &m);
    dst = golden_integers(g, "dst", NULL);
    const int64_t n = golden_integers(g, "n", NULL)[0];
    *weight = golden_tensor(g, "weight");
    ck_ok(gnn_graph_from_edges(&graph, n, n, m, src, dst));
    return graph;
}

static void same_as_case(golden_t *g, const char *name, const gnn_graph_t *graph,
                         const gnn_real_t *weight)
{
    char array[64];
    int64_t m, *src, *dst, *a, *b;
    snprintf(array, sizeof array, "%s.src", name);
    src = golden_integers(g, array, &m);
    snprintf(array, sizeof array, "%s.dst", name);
    dst = golden_integers(g, array, NULL);
    ck_assert_int_eq(gnn_graph_n_edges(graph), m);
    a = malloc(sizeof *a * (size_t)m);
    b = malloc(sizeof *b * (size_t)m);
    ck_ok(gnn_graph_pairs(graph, a, b, NULL));
    ck_assert_mem_eq(a, src, sizeof *a * (size_t)m);
    ck_assert_mem_eq(b, dst, sizeof *b * (size_t)m);
    free(a);
    free(b);
    snprintf(array, sizeof array, "%s.weight", name);
    gnn_tensor_t ours = gnn_tensor(golden_reals(g, m), m, 1);
    memcpy(ours.data, weight, sizeof *weight * (size_t)m);
    golden_same(g, array, &ours, GOLDEN_OUT);
}

START_TEST(diffusion_matches_gdc_of_pyg)
{
    golden_t g;
    gnn_tensor_t edge_weight;
    gnn_real_t *weight, *again;
    gnn_graph_t *graph = open_graph(&g, &edge_weight), *out, *other;
    if (!graph)
        return;
    ck_ok(gnn_graph_diffuse(&out, &weight, graph, edge_weight.data, NULL, &cases[_i].config));
    same_as_case(&g, cases[_i].name, out, weight);
    /* Threads change no bit. */
    ck_ok(gnn_graph_diffuse(&other, &again, graph, edge_weight.data, g.context, &cases[_i].config));
    ck_assert_int_eq(gnn_graph_n_edges(other), gnn_graph_n_edges(out));
    ck_assert_mem_eq(again, weight, sizeof *weight * (size_t)gnn_graph_n_edges(out));
    gnn_graph_free(out);
    gnn_graph_free(other);
    gnn_graph_free(graph);
    gnn_free(weight);
    gnn_free(again);
    golden_close(&g);
}
END_TEST

/* A walk that ends at once stays where it is; one that a large tolerance cuts reaches neighbours
 * alone; and a complete graph of spans is the same graph as its edges. */
START_TEST(diffusion_is_sparsified_and_accepts_spans)
{
    const int64_t four = 4, src[] = {0, 1, 2, 3}, dst[] = {1, 2, 3, 4};
    gnn_graph_t *line, *spans, *edges, *out, *other;
    gnn_real_t *weight, *again;
    ck_ok(gnn_graph_from_edges(&line, 5, 5, 4, src, dst));
    ck_ok(gnn_graph_diffuse(&out, &weight, line, NULL, NULL, &(gnn_diffusion_t){.alpha = 1}));
    ck_assert_int_eq(gnn_graph_n_edges(out), 5);
    ck_assert_double_eq((double)weight[3], 1);
    gnn_graph_free(out);
    gnn_free(weight);
    ck_ok(gnn_graph_diffuse(&out, &weight, line, NULL, NULL,
                            &(gnn_diffusion_t){.alpha = (gnn_real_t)0.5,
                                               .norm_in = GNN_GRAPH_NORM_ROW,
                                               .tolerance = (gnn_real_t)0.3}));
    ck_assert_int_eq(gnn_graph_n_edges(out), 9);
    gnn_graph_free(out);
    gnn_free(weight);
    ck_ok(gnn_graph_complete(&spans, 1, &four));
    ck_ok(gnn_graph_to_edges(&edges, spans));
    ck_ok(gnn_graph_diffuse(&out, &weight, spans, NULL, NULL, NULL));
    ck_ok(gnn_graph_diffuse(&other, &again, edges, NULL, NULL, NULL));
    ck_assert_int_eq(gnn_graph_n_edges(out), 16);
    ck_assert_mem_eq(weight, again, 16 * sizeof *weight);
    gnn_graph_free(line);
    gnn_graph_free(spans);
    gnn_graph_free(edges);
    gnn_graph_free(out);
    gnn_graph_free(other);
    gnn_free(weight);
    gnn_free(again);
}
END_TEST

/* More nodes than are kept before weak pairs go: a ring of 3,000 keeps the 6,000 strongest of its
 * pairs, which are those of the threshold between them and the rest; a mean that the walks do not
 * reach keeps all; and a threshold and the strongest of a row hold beside the mean. */
START_TEST(average_degree_sets_the_threshold)
{
    enum { N = 3000 };
    int64_t src[N], dst[N], counts[4] = {0};
    gnn_real_t *weight, edge[N];
    gnn_graph_t *ring, *out;
    const gnn_diffusion_t how[] = {
        {.average = 2, .norm_out = GNN_GRAPH_NORM_NONE},
        {.average = N, .tolerance = (gnn_real_t)1e-3},
        {.average = 2, .top = 1},
        {.average = 2, .threshold = (gnn_real_t)0.2, .norm_out = GNN_GRAPH_NORM_NONE}};
    for (int64_t i = 0; i < N; i++) {
        src[i] = i;
        dst[i] = (i + 1) % N;
        edge[i] = (gnn_real_t)(1 + (double)(i * 7919 % N) / N);
    }
    ck_ok(gnn_graph_from_edges(&ring, N, N, N, src, dst));
    for (int k = 0; k < 4; k++) {
        ck_ok(gnn_graph_diffuse(&out, &weight, ring, edge, NULL, &how[k]));
        counts[k] = gnn_graph_n_edges(out);
        if (k == 0) {
            gnn_diffusion_t same = {.norm_out = GNN_GRAPH_NORM_NONE, .threshold = weight[0]};
            gnn_real_t *again;
            gnn_graph_t *other;
            for (int64_t e = 0; e < counts[0]; e++)
                same.threshold = weight[e] < same.threshold ? weight[e] : same.threshold;
            same.threshold *= (gnn_real_t)0.999999;
            ck_ok(gnn_graph_diffuse(&other, &again, ring, edge, NULL, &same));
            ck_assert_int_eq(gnn_graph_n_edges(other), counts[0]);
            ck_assert_mem_eq(again, weight, sizeof *weight * (size_t)counts[0]);
            gnn_graph_free(other);
            gnn_free(again);
        }
        gnn_graph_free(out);
        gnn_free(weight);
    }
    ck_assert_int_eq(counts[0], 2 * N);
    ck_assert_int_gt(counts[1], 5 * N);
    ck_assert_int_eq(counts[2], N);
    ck_assert_int_gt(counts[3], 0);
    ck_assert_int_lt(counts[3], 2 * N);
    gnn_graph_free(ring);
}
END_TEST

static const struct {
    gnn_diffusion_t config;
    gnn_real_t weight;
    int code;
    const char *words;
} wrong[] = {{{.alpha = 2}, 1, GNN_EINVALID, ".alpha 2 (0 to 1)"},
             {{.kind = GNN_DIFFUSION_HEAT, .time = -1}, 1, GNN_EINVALID, ".time -1"},
             {{.top = -3}, 1, GNN_EINVALID, ".top -3"},
             {{.average = -2}, 1, GNN_EINVALID, ".average -2 must be at least 0"},
             {{.kind = (gnn_diffusion_kind_t)7}, 1, GNN_EINVALID, "expected a known kind, got 7"},
             {{.norm_in = GNN_GRAPH_NORM_NONE}, 1, GNN_EINVALID, "expected .norm_in symmetric or row"},
             {{.top = 3}, -1, GNN_ENUMERIC, "weight[0]: expected a finite value >= 0, got -1"}};

START_TEST(invalid_settings_are_refused)
{
    const int64_t zero = 0, one = 1;
    gnn_graph_t *graph, *out;
    gnn_real_t *weight;
    ck_ok(gnn_graph_from_edges(&graph, 2, 2, 1, &zero, &one));
    ck_assert_int_eq(
        gnn_graph_diffuse(&out, &weight, graph, &wrong[_i].weight, NULL, &wrong[_i].config),
        wrong[_i].code);
    ck_assert_msg(strstr(gnn_error_message(), wrong[_i].words) != NULL, "%s", gnn_error_message());
    ck_assert_ptr_null(out);
    ck_assert_ptr_null(weight);
    gnn_graph_free(graph);
    ck_ok(gnn_graph_bipartite(&graph, 1, &one, (int64_t[]){2}));
    ck_assert_int_eq(gnn_graph_diffuse(&out, &weight, graph, NULL, NULL, NULL), GNN_ETOPOLOGY);
    ck_assert_int_eq(gnn_graph_diffuse(NULL, &weight, graph, NULL, NULL, NULL), GNN_EINVALID);
    gnn_graph_free(graph);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("diffuse");
    TCase *c = tcase_create("diffuse");
    tcase_set_timeout(c, 120);
    tcase_add_loop_test(c, diffusion_matches_gdc_of_pyg, 0, sizeof cases / sizeof *cases);
    tcase_add_test(c, diffusion_is_sparsified_and_accepts_spans);
    tcase_add_test(c, average_degree_sets_the_threshold);
    tcase_add_loop_test(c, invalid_settings_are_refused, 0, sizeof wrong / sizeof *wrong);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
