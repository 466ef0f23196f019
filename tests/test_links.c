/* Links: sharing out, pairs that are none, decoders, training, metrics of ranks; edges with
 * classes. */
#include "support.h"

static gnn_context_t *context;

/* n nodes, each pair a link with chance `density`, both directions; edge numbers in a mixed order. */
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

/* ---- pairs that are no links ---- */

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
                          "pair %d %d came %d times, expected are %g", i, j, count[i * N + j],
                          expected);
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

/* Targets of a source: none that it is linked to, none that it is itself, every other one. */
START_TEST(targets_of_a_source_are_no_neighbours)
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

START_TEST(graphs_without_such_pairs_are_refused)
{
    const int64_t all_src[] = {0, 1}, all_dst[] = {1, 0};
    gnn_graph_t *graph;
    gnn_negatives_t *negatives = (gnn_negatives_t *)1;
    gnn_links_t *links = (gnn_links_t *)1;
    ck_ok(gnn_graph_from_edges(&graph, 2, 2, 2, all_src, all_dst));
    ck_fails(gnn_negatives_new(&negatives, graph, GNN_OFF), GNN_EINVALID, "every pair of 2 nodes");
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

/* Each link once, in one part; the training's graph has both directions of its own and no others. */
START_TEST(links_are_shared_out_whole)
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
        const gnn_pairs_t of = gnn_links_of(links, part), same = gnn_links_of(again, part),
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
    ck_ok(gnn_graph_validate(gnn_links_graph(links)));
    gnn_links_free(links);
    gnn_links_free(again);
    gnn_graph_free(graph);
    free(is);
    free(left);
}
END_TEST

/* Edge numbers lead back to the same ends; self-loops and parallel edges stay with their like. */
START_TEST(kept_edges_have_their_numbers)
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
             GNN_EINVALID, "add up to less than 1");
    ck_fails(gnn_links_split(&links, graph, &(gnn_link_rule_t){.test_share = -1}), GNN_EINVALID,
             "-1");
    gnn_graph_free(graph);
}
END_TEST

/* ---- decoders ---- */

enum { NODES = 5, WIDTH = 4, PAIRS = 3 };
static const int32_t sources[PAIRS] = {0, 3, 2}, targets[PAIRS] = {1, 2, 2};

static gnn_model_t *decoder_model(const char *block, gnn_block_t b)
{
    gnn_steps_t *steps;
    gnn_model_t *model;
    b.name = "score";
    b.input = "x";
    b.width = WIDTH;
    ck_ok(gnn_steps_new(&steps));
    ck_ok(gnn_steps_block(steps, block, &b));
    ck_ok(gnn_model_build(&model, context, steps));
    gnn_steps_free(steps);
    return model;
}

static void decode(const gnn_model_t *model, const gnn_real_t *x, const gnn_tensor_t *e,
                   gnn_real_t *out, int64_t cols)
{
    const gnn_tensor_t rows = gnn_tensor((gnn_real_t *)x, NODES, WIDTH),
                       y = gnn_tensor(out, PAIRS, cols);
    const gnn_named_t values[] = {{.name = "x", .dense = &rows},
                                  {.name = "sources", .ids = sources, .count = PAIRS},
                                  {.name = "targets", .ids = targets, .count = PAIRS},
                                  {.name = "e", .dense = e}};
    ck_ok(gnn_model_forward(model, context,
                            &(gnn_model_inputs_t){.values = values, .n_values = e ? 4 : 3}, &y));
}

static gnn_tensor_t field(const gnn_model_t *model, const char *name)
{
    gnn_tensor_t value;
    ck_ok(gnn_model_field(model, name, &value, NULL));
    return value;
}

START_TEST(decoders_follow_their_formulas)
{
    gnn_real_t *x = test_reals(NODES * WIDTH, 3), out[PAIRS];
    gnn_model_t *dot = decoder_model("link_dot", (gnn_block_t){0}),
                *bilinear = decoder_model("link_bilinear", (gnn_block_t){0}),
                *distance = decoder_model("link_distance", (gnn_block_t){0});
    const gnn_tensor_t w = field(bilinear, "score.turned.weight");
    for (int kind = 0; kind < 3; kind++) {
        decode(kind == 0 ? dot : kind == 1 ? bilinear : distance, x, NULL, out, 1);
        for (int p = 0; p < PAIRS; p++) {
            const gnn_real_t *u = x + sources[p] * WIDTH, *v = x + targets[p] * WIDTH;
            double expected = kind == 2 ? 1 : 0;
            for (int a = 0; a < WIDTH; a++) {
                if (kind == 0)
                    expected += (double)u[a] * (double)v[a];
                if (kind == 2)
                    expected -= ((double)u[a] - (double)v[a]) * ((double)u[a] - (double)v[a]);
                for (int b = 0; kind == 1 && b < WIDTH; b++)
                    expected += (double)u[a] * (double)w.data[a * WIDTH + b] * (double)v[b];
            }
            ck_assert_double_eq_tol((double)out[p], expected, 10 * TOLERANCE_OUT);
        }
    }
    gnn_model_free(dot);
    gnn_model_free(bilinear);
    gnn_model_free(distance);
    free(x);
}
END_TEST

/* Of both mlps: pair rows u v, or [u, v, e]. */
START_TEST(mlp_decoders_follow_their_formulas)
{
    enum { HIDDEN = 3, OUT = 2, E = 2 };
    gnn_real_t *x = test_reals(NODES * WIDTH, 3), *e = test_reals(PAIRS * E, 5), out[PAIRS * OUT];
    const gnn_tensor_t edges = gnn_tensor(e, PAIRS, E);
    for (int kind = 0; kind < 2; kind++) {
        gnn_model_t *model = decoder_model(kind ? "link_mlp" : "link_product",
                                           (gnn_block_t){.hidden = HIDDEN,
                                                         .out = OUT,
                                                         .edges = kind ? "e" : NULL,
                                                         .edge_width = kind ? E : 0});
        const gnn_tensor_t w = field(model, "score.hidden.weight"),
                           b = field(model, "score.hidden.bias"), v = field(model, "score.weight"),
                           c = field(model, "score.bias");
        for (int h = 0; h < HIDDEN; h++)
            b.data[h] = (gnn_real_t)0.1 * (gnn_real_t)h;
        decode(model, x, kind ? &edges : NULL, out, OUT);
        for (int p = 0; p < PAIRS * OUT; p++) {
            const int r = p / OUT, o = p % OUT;
            double expected = (double)c.data[o];
            for (int h = 0; h < HIDDEN; h++) {
                double z = (double)b.data[h];
                for (int a = 0; a < WIDTH; a++) {
                    const double s = (double)x[sources[r] * WIDTH + a],
                                 t = (double)x[targets[r] * WIDTH + a];
                    z += kind ? s * (double)w.data[a * HIDDEN + h] +
                                    t * (double)w.data[(WIDTH + a) * HIDDEN + h]
                              : s * t * (double)w.data[a * HIDDEN + h];
                }
                for (int a = 0; kind && a < E; a++)
                    z += (double)e[r * E + a] * (double)w.data[(2 * WIDTH + a) * HIDDEN + h];
                expected += z > 0 ? z * (double)v.data[h * OUT + o] : 0;
            }
            ck_assert_double_eq_tol((double)out[p], expected, 10 * TOLERANCE_OUT);
        }
        gnn_model_free(model);
    }
    free(x);
    free(e);
}
END_TEST

/* ---- training ---- */

/* Nodes of `groups` groups, linked within them; features say the group with noise. */
static gnn_data_t *groups_set(int64_t n, int groups, const char *edge_array)
{
    uint64_t seed = 9;
    int64_t *src = calloc((size_t)(n * n), sizeof *src),
            *dst = calloc((size_t)(n * n), sizeof *dst), m = 0;
    gnn_real_t *x = test_reals(n * 8, 2);
    gnn_data_t *data;
    for (int64_t i = 0; i < n; i++) {
        x[i * 8 + i % groups] += 3;
        for (int64_t j = i + 1; j < n; j++)
            if (test_uniform(&seed) < (i % groups == j % groups ? 0 : -0.98)) {
                src[m] = i;
                dst[m++] = j;
            }
    }
    const gnn_tensor_t features = gnn_tensor(x, n, 8);
    ck_ok(gnn_data_new(
        &data,
        &(gnn_data_config_t){
            .nodes = n, .edges = m, .src = src, .dst = dst, .both_ways = GNN_ON, .x = &features}));
    if (edge_array) {
        gnn_real_t *rows = test_reals(2 * m, 4);
        ck_ok(gnn_data_array_set(data, GNN_ON_EDGES,
                                 &(gnn_array_t){edge_array,
                                                GNN_DOUBLE ? GNN_DTYPE_FLOAT64 : GNN_DTYPE_FLOAT32,
                                                1,
                                                {2 * m},
                                                2 * m,
                                                rows}));
        free(rows);
    }
    free(src);
    free(dst);
    free(x);
    return data;
}

static gnn_model_t *encoder(const char *block, gnn_block_t b)
{
    gnn_steps_t *steps;
    gnn_model_t *model;
    b.name = "score";
    b.width = 8;
    ck_ok(gnn_steps_new(&steps));
    gnn_steps_add(steps, &(gnn_step_t){.layer = GNN_GCN(.in = 8, .out = 16, .activation = GNN_RELU)});
    gnn_steps_add(steps, &(gnn_step_t){.layer = GNN_GCN(.in = 16, .out = 8)});
    gnn_steps_block(steps, block, &b);
    ck_ok(gnn_model_build(&model, context, steps));
    gnn_steps_free(steps);
    return model;
}

START_TEST(links_are_learned)
{
    const char *const blocks[] = {"link_dot", "link_bilinear", "link_distance", "link_product",
                                  "link_mlp"};
    gnn_data_t *data = groups_set(60, 3, NULL);
    gnn_links_t *links;
    gnn_link_batches_t *batches;
    gnn_link_metrics_t metrics;
    gnn_train_result_t result;
    const gnn_link_batches_config_t how = {
        .size = _i % 2 ? 100 : 0, .drawn = _i % 2 ? 2 : 1, .seed = 3};
    ck_ok(gnn_links_split(&links, gnn_data_graph(data),
                          &(gnn_link_rule_t){.validation_share = 0.1, .test_share = 0.2}));
    gnn_model_t *model = encoder(blocks[_i], (gnn_block_t){0});
    ck_ok(gnn_link_batches_new(&batches, data, links, model, &how));
    gnn_source_t source = gnn_link_batches_source(batches);
    ck_ok(gnn_train_batches(model, context, &source,
                            &(gnn_train_config_t){.epochs = _i % 2 ? 30 : 90,
                                                  .lr = (gnn_real_t)0.02,
                                                  .metric = _i == 2 ? GNN_METRIC_AVERAGE_PRECISION
                                                                    : GNN_METRIC_ROC_AUC},
                            &result));
    ck_ok(gnn_link_batches_measure(batches, model, context, GNN_VALIDATION, &metrics));
    ck_assert_double_eq_tol(_i == 2 ? metrics.average_precision : metrics.auc,
                            result.validation_metric, 1e-9);
    ck_ok(gnn_link_batches_measure(batches, model, context, GNN_TEST, &metrics));
    ck_assert_msg(metrics.auc > 0.8, "%s: AUC %g", blocks[_i], metrics.auc);
    ck_assert(metrics.average_precision > 0.7 && metrics.mrr > 0.02 &&
              metrics.hits_100 >= metrics.hits_50);
    ck_fails(gnn_link_batches_measure(batches, model, context, GNN_TRAIN, &metrics), GNN_EINVALID,
             "part 0");
    gnn_link_batches_free(batches);
    gnn_links_free(links);
    gnn_model_free(model);
    gnn_data_free(data);
}
END_TEST

/* Batches of an epoch hold each link of the training once, beside as many pairs that are none of
 * them; another epoch draws others, the same epoch the same. */
START_TEST(an_epoch_holds_each_link_once)
{
    gnn_data_t *data = groups_set(40, 2, NULL);
    gnn_links_t *links;
    gnn_link_batches_t *batches;
    gnn_batch_t batch;
    ck_ok(gnn_links_split(&links, gnn_data_graph(data), NULL));
    gnn_model_t *model = encoder("link_dot", (gnn_block_t){0});
    ck_ok(gnn_link_batches_new(&batches, data, links, model,
                               &(gnn_link_batches_config_t){.size = 32}));
    gnn_source_t source = gnn_link_batches_source(batches);
    uint8_t *left = matrix_of(gnn_links_graph(links));
    const int64_t all = gnn_links_of(links, GNN_TRAIN).count;
    int32_t first[2][64] = {{0}};
    ck_assert_int_eq(source.count[GNN_TRAIN], (all + 31) / 32);
    for (int epoch = 1; epoch <= 3; epoch++) {
        uint8_t seen[40 * 40] = {0};
        int64_t count = 0;
        for (int64_t b = 0; b < source.count[GNN_TRAIN]; b++) {
            ck_ok(source.get(source.user, GNN_TRAIN, epoch == 3 ? 1 : epoch, b, &batch));
            const int32_t *s = batch.inputs.values[0].ids, *t = batch.inputs.values[1].ids;
            const int64_t n = batch.inputs.values[0].count;
            for (int64_t k = 0; k < n; k++) {
                ck_assert_int_eq(left[s[k] * 40 + t[k]], batch.loss.labels[k]);
                ck_assert_int_eq(batch.loss.labels[k], k < n / 2);
                ck_assert(!batch.loss.labels[k] || !seen[s[k] * 40 + t[k]]++);
                count += batch.loss.labels[k];
            }
            if (b == 0 && epoch == 1)
                memcpy(first[0], s, sizeof first[0]);
            if (b == 0 && epoch > 1)
                ck_assert((memcmp(first[0], s, sizeof first[0]) == 0) == (epoch == 3));
        }
        ck_assert_int_eq(count, all);
    }
    gnn_link_batches_free(batches);
    gnn_links_free(links);
    gnn_model_free(model);
    gnn_data_free(data);
    free(left);
}
END_TEST

START_TEST(careless_use_of_links_is_refused)
{
    gnn_data_t *data = groups_set(30, 2, NULL), *other = groups_set(31, 2, NULL);
    gnn_links_t *links;
    gnn_link_batches_t *batches;
    gnn_real_t scores[2];
    const gnn_tensor_t out = gnn_tensor(scores, 2, 1);
    const int32_t bad[] = {0, 30}, good[] = {1, 2};
    ck_ok(gnn_links_split(&links, gnn_data_graph(data), NULL));
    gnn_model_t *model = encoder("link_dot", (gnn_block_t){0});
    ck_fails(gnn_link_batches_new(&batches, other, links, model, NULL), GNN_ESHAPE, "30 nodes");
    ck_fails(gnn_link_batches_new(&batches, data, links, model,
                                  &(gnn_link_batches_config_t){.size = -1}),
             GNN_EINVALID, "batches of -1 links");
    ck_ok(gnn_link_batches_new(&batches, data, links, model, NULL));
    ck_fails(gnn_link_batches_predict(batches, model, context, &(gnn_pairs_t){2, bad, good}, &out),
             GNN_EINVALID, "pair 1 is of nodes 30 and 2");
    ck_ok(gnn_link_batches_predict(batches, model, context, &(gnn_pairs_t){2, good, good}, &out));
    gnn_link_batches_free(batches);
    gnn_links_free(links);
    gnn_model_free(model);
    gnn_data_free(data);
    gnn_data_free(other);
}
END_TEST

/* ---- edges with classes ---- */

/* The class of an edge: do its ends belong together? Learned from ends and the edge's number. */
START_TEST(classes_of_edges_are_learned)
{
    gnn_data_t *data = groups_set(60, 3, "far");
    const gnn_graph_t *graph = gnn_data_graph(data);
    const int64_t m = gnn_graph_n_edges(graph);
    int64_t *src = calloc((size_t)m, sizeof *src), *dst = calloc((size_t)m, sizeof *dst),
            *edge = calloc((size_t)m, sizeof *edge);
    int32_t *labels = calloc((size_t)m, sizeof *labels);
    int8_t *part = calloc((size_t)m, 1);
    gnn_link_batches_t *batches;
    gnn_train_result_t result;
    gnn_link_metrics_t metrics;
    gnn_real_t score[2];
    ck_ok(gnn_graph_pairs(graph, src, dst, edge));
    for (int64_t k = 0; k < m; k++)
        labels[edge[k]] = src[k] % 3 == dst[k] % 3;
    ck_ok(gnn_split_edges(
        graph, labels, &(gnn_split_rule_t){.train_share = 0.6, .validation_share = 0.4}, 0, part));
    for (int64_t k = 0; k < m; k++)
        for (int64_t l = 0; l < m; l++)
            if (src[k] == dst[l] && dst[k] == src[l])
                ck_assert_int_eq(part[edge[k]], part[edge[l]]);
    gnn_model_t *model = encoder(
        "link_mlp", (gnn_block_t){.out = 2, .hidden = 16, .edges = "pairs.far", .edge_width = 1});
    ck_ok(gnn_link_batches_classes(&batches, data, model, labels, part, NULL));
    gnn_source_t source = gnn_link_batches_source(batches);
    ck_ok(gnn_train_batches(model, context, &source,
                            &(gnn_train_config_t){.epochs = 100, .lr = (gnn_real_t)0.02}, &result));
    int64_t together = 0, counted = 0;
    for (int64_t k = 0; k < m; k++)
        if (part[k] == GNN_VALIDATION) {
            counted++;
            together += labels[k];
        }
    ck_assert_msg(result.validation_metric > (double)together / (double)counted + 0.02,
                  "%g, the more frequent class has %g", result.validation_metric,
                  (double)together / (double)counted);
    ck_fails(gnn_link_batches_measure(batches, model, context, GNN_TEST, &metrics), GNN_EINVALID,
             "batches of classes");
    ck_fails(gnn_link_batches_predict(batches, model, context, &(gnn_pairs_t){1, sources, targets},
                                      &(gnn_tensor_t){score, 1, 2, 2}),
             GNN_EUNSUPPORTED, "pairs.far");
    gnn_link_batches_free(batches);
    part[0] = 4;
    ck_fails(gnn_link_batches_classes(&batches, data, model, labels, part, NULL), GNN_EINVALID,
             "in part 4");
    gnn_model_free(model);
    gnn_data_free(data);
    free(src);
    free(dst);
    free(edge);
    free(labels);
    free(part);
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
    ck_assert_double_eq_tol(gnn_metric_average_precision(&scores, tied_labels, NULL),
                            0.6976190476190477, 1e-12);
    ck_assert_double_eq_tol(gnn_metric_roc_auc(&scores, tied_labels, NULL), 0.7714285714285715,
                            1e-12);
    ck_assert_double_eq_tol(gnn_metric_average_precision(&four, (const int32_t[]){1, 0, 0, 1}, NULL),
                            0.5, 1e-12);
    ck_assert_double_eq_tol(gnn_metric_average_precision(&four, (const int32_t[]){1, -1, 1, 0},
                                                         (const uint8_t[]){1, 1, 1, 0}),
                            1, 1e-12);
    ck_assert(isnan(gnn_metric_average_precision(&four, (const int32_t[]){0, 0, 0, 0}, NULL)));
    ck_assert(isnan(gnn_metric_average_precision(NULL, tied_labels, NULL)));
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

START_TEST(ranks_agree_with_counting)
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
    ck_assert_double_eq_tol(gnn_metric_average_precision(&both, labels, NULL),
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

static void open_context(void)
{
    ck_ok(gnn_context_new(&context, &(gnn_context_config_t){.threads = 2, .seed = 1}));
}

static void close_context(void)
{
    gnn_context_free(context);
}

int main(void)
{
    Suite *suite = suite_create("links");
    TCase *tests = tcase_create("links");
    tcase_set_timeout(tests, 120);
    tcase_add_checked_fixture(tests, open_context, close_context);
    tcase_add_loop_test(tests, negatives_are_uniform_over_pairs_without_an_edge, 0, 4);
    tcase_add_test(tests, negatives_are_the_same_on_one_and_four_threads);
    tcase_add_test(tests, targets_of_a_source_are_no_neighbours);
    tcase_add_test(tests, a_source_that_is_linked_to_all_has_no_targets);
    tcase_add_test(tests, graphs_without_such_pairs_are_refused);
    tcase_add_loop_test(tests, links_are_shared_out_whole, 0, 2);
    tcase_add_test(tests, kept_edges_have_their_numbers);
    tcase_add_test(tests, decoders_follow_their_formulas);
    tcase_add_test(tests, mlp_decoders_follow_their_formulas);
    tcase_add_loop_test(tests, links_are_learned, 0, 5);
    tcase_add_test(tests, an_epoch_holds_each_link_once);
    tcase_add_test(tests, careless_use_of_links_is_refused);
    tcase_add_test(tests, classes_of_edges_are_learned);
    tcase_add_test(tests, ties_are_counted_as_scikit_learn_does);
    tcase_add_loop_test(tests, ranks_agree_with_counting, 0, 5);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
