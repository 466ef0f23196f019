/* Models of links: decoders by their formulas, training, batches, edges with classes. */
#include "one_context.h"

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

/* Nodes in `groups` groups, with half of the pairs inside linked; pairs between groups are linked
 * if a draw from [-1, 1) is below `between`. Features are noisy one-hot groups. */
static gnn_data_t *groups_set(int64_t n, int groups, double between, const char *edge_array)
{
    uint64_t seed = 9;
    int64_t *src = calloc((size_t)(n * n), sizeof *src),
            *dst = calloc((size_t)(n * n), sizeof *dst), m = 0;
    gnn_real_t *x = test_reals(n * 8, 2);
    gnn_data_t *data;
    for (int64_t i = 0; i < n; i++) {
        x[i * 8 + i % groups] += 3;
        for (int64_t j = i + 1; j < n; j++)
            if (test_uniform(&seed) < (i % groups == j % groups ? 0 : between)) {
                src[m] = i;
                dst[m++] = j;
            }
    }
    const gnn_tensor_t features = gnn_tensor(x, n, 8);
    ck_ok(gnn_data_new(&data, &(gnn_data_config_t){.nodes = n,
                                                   .edges = m,
                                                   .src = gnn_ints(src),
                                                   .dst = gnn_ints(dst),
                                                   .both_ways = GNN_ON,
                                                   .x = &features}));
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
    gnn_data_t *data = groups_set(60, 3, -0.98, NULL);
    gnn_links_t *links;
    gnn_source_t *source;
    gnn_link_metrics_t metrics;
    gnn_train_result_t result;
    const gnn_link_source_config_t how = {
        .size = _i % 2 ? 100 : 0, .drawn = _i % 2 ? 2 : 1, .seed = 3};
    ck_ok(gnn_links_split(&links, gnn_data_graph(data),
                          &(gnn_link_rule_t){.validation_share = 0.1, .test_share = 0.2}));
    gnn_model_t *model = encoder(blocks[_i], (gnn_block_t){0});
    ck_ok(gnn_source_of_links(&source, model, data, links, &how));
    ck_ok(gnn_train_batches(model, context, source,
                            &(gnn_train_config_t){.epochs = _i % 2 ? 30 : 90,
                                                  .optimizer.lr = (gnn_real_t)0.02,
                                                  .metric = _i == 2 ? GNN_METRIC_AVERAGE_PRECISION
                                                                    : GNN_METRIC_ROC_AUC},
                            &result));
    ck_ok(gnn_source_measure_links(source, model, context, GNN_VALIDATION, &metrics));
    ck_assert_double_eq_tol(_i == 2 ? metrics.average_precision : metrics.auc,
                            result.validation_metric, 1e-9);
    ck_ok(gnn_source_measure_links(source, model, context, GNN_TEST, &metrics));
    ck_assert_msg(metrics.auc > 0.8, "%s: AUC %g", blocks[_i], metrics.auc);
    ck_assert(metrics.average_precision > 0.7 && metrics.mrr > 0.02 &&
              metrics.hits_100 >= metrics.hits_50);
    ck_fails(gnn_source_measure_links(source, model, context, GNN_TRAIN, &metrics), GNN_EINVALID,
             "part = 0, expected GNN_VALIDATION");
    gnn_source_free(source);
    gnn_links_free(links);
    gnn_model_free(model);
    gnn_data_free(data);
}
END_TEST

/* Batches of an epoch hold each training link once, and as many negative pairs; another epoch draws
 * others, the same epoch the same. */
START_TEST(an_epoch_holds_each_link_once)
{
    gnn_data_t *data = groups_set(40, 2, -0.9, NULL);
    gnn_links_t *links;
    gnn_source_t *source;
    gnn_batch_t batch;
    ck_ok(gnn_links_split(&links, gnn_data_graph(data), NULL));
    gnn_model_t *model = encoder("link_dot", (gnn_block_t){0});
    ck_ok(gnn_source_of_links(&source, model, data, links, &(gnn_link_source_config_t){.size = 32}));
    uint8_t *left = matrix_of(gnn_links_graph(links));
    const int64_t all = gnn_links_of(links, GNN_TRAIN).count;
    int32_t first[2][64] = {{0}};
    ck_assert_int_eq(source->count[GNN_TRAIN], (all + 31) / 32);
    for (int epoch = 1; epoch <= 3; epoch++) {
        uint8_t seen[40 * 40] = {0};
        int64_t count = 0;
        for (int64_t b = 0; b < source->count[GNN_TRAIN]; b++) {
            ck_ok(source->get(source->user, GNN_TRAIN, epoch == 3 ? 1 : epoch, b, &batch));
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
    gnn_source_free(source);
    gnn_links_free(links);
    gnn_model_free(model);
    gnn_data_free(data);
    free(left);
}
END_TEST

/* The same encoder with a graph slot for each of its two layers, as blocks want it. */
static gnn_model_t *encoder_on_blocks(void)
{
    gnn_steps_t *steps;
    gnn_model_t *model;
    ck_ok(gnn_steps_new(&steps));
    gnn_steps_add(steps, &(gnn_step_t){.layer = GNN_GCN(.in = 8, .out = 16, .activation = GNN_RELU)});
    gnn_steps_add(steps, &(gnn_step_t){.layer = GNN_GCN(.in = 16, .out = 8), .graph = 1});
    gnn_steps_block(steps, "link_bilinear", &(gnn_block_t){.name = "score", .width = 8});
    ck_ok(gnn_model_build(&model, context, steps));
    gnn_steps_free(steps);
    return model;
}

/* One call: on the whole graph; on samples that hold every sender of two hops, which learn the
 * same; on small samples of both methods, which learn, too. */
START_TEST(links_are_learnt_on_samples_in_one_call)
{
    static const int64_t all[2] = {-1, -1}, few[2] = {4, 3};
    static const char *const methods[] = {NULL, "around", "neighbours", "around", "neighbours"};
    gnn_data_t *data = groups_set(60, 3, -0.98, NULL);
    gnn_links_t *links;
    double loss[5];
    ck_ok(gnn_links_split(&links, gnn_data_graph(data),
                          &(gnn_link_rule_t){.validation_share = 0.1, .test_share = 0.2}));
    for (int kind = 0; kind < 5; kind++) {
        const bool small = kind > 2, blocks = kind % 2 == 0;
        const gnn_sampling_t sampling = {
            .sampler = {.method = methods[kind], .hops = 2, .fan_outs = small ? few : all},
            .batch = small ? 64 : 100000};
        gnn_source_t *source;
        gnn_link_metrics_t metrics;
        gnn_train_result_t result;
        gnn_context_set_seed(context, 9);
        gnn_model_t *model =
            blocks ? encoder_on_blocks() : encoder("link_bilinear", (gnn_block_t){0});
        ck_ok(gnn_train(model, context, data,
                        &(gnn_train_config_t){.epochs = small ? 20 : 60,
                                              .optimizer.lr = (gnn_real_t)0.02,
                                              .metric = GNN_METRIC_ROC_AUC,
                                              .links = links,
                                              .sampling = kind ? &sampling : NULL},
                        &result));
        loss[kind] = result.validation_loss;
        ck_ok(gnn_source_of_links(&source, model, data, links, NULL));
        ck_ok(gnn_source_measure_links(source, model, context, GNN_TEST, &metrics));
        ck_assert_msg(metrics.auc > 0.8, "kind %d: AUC %g", kind, metrics.auc);
        if (kind == 1 || kind == 2)
            ck_assert_double_eq_tol(loss[kind], loss[0], 0.02);
        gnn_source_free(source);
        gnn_model_free(model);
    }
    gnn_links_free(links);
    gnn_data_free(data);
}
END_TEST

START_TEST(samples_of_links_that_cannot_be_drawn)
{
    static const int64_t all[3] = {-1, -1, -1};
    gnn_data_t *data = groups_set(30, 2, -0.9, NULL);
    gnn_links_t *links;
    ck_ok(gnn_links_split(&links, gnn_data_graph(data), NULL));
    gnn_model_t *model = encoder("link_dot", (gnn_block_t){0});
    gnn_sampling_t sampling = {.sampler = {.method = "walk"}};
    gnn_train_config_t config = {.links = links, .sampling = &sampling};
    ck_fails(gnn_train(model, context, data, &config, NULL), GNN_EUNSUPPORTED,
             "method \"neighbours\" or \"around\", not \"walk\"");
    sampling.sampler = (gnn_sampler_config_t){.hops = 3, .fan_outs = all};
    ck_fails(gnn_train(model, context, data, &config, NULL), GNN_EINVALID,
             "the model runs on 1 graph slots, the sampler draws 3 blocks");
    config.targets = "x";
    ck_fails(gnn_train(model, context, data, &config, NULL), GNN_EUNSUPPORTED,
             "training on links takes no targets");
    gnn_links_free(links);
    gnn_model_free(model);
    gnn_data_free(data);
}
END_TEST

START_TEST(careless_use_of_links_is_refused)
{
    gnn_data_t *data = groups_set(30, 2, -0.9, NULL), *other = groups_set(31, 2, -0.9, NULL);
    gnn_links_t *links;
    gnn_source_t *source;
    gnn_real_t scores[2];
    const gnn_tensor_t out = gnn_tensor(scores, 2, 1);
    const int32_t bad[] = {0, 30}, good[] = {1, 2};
    ck_ok(gnn_links_split(&links, gnn_data_graph(data), NULL));
    gnn_model_t *model = encoder("link_dot", (gnn_block_t){0});
    ck_fails(gnn_source_of_links(&source, model, other, links, NULL), GNN_ESHAPE, "30 nodes");
    ck_fails(gnn_source_of_links(&source, model, data, links, &(gnn_link_source_config_t){.size = -1}),
             GNN_EINVALID, ".size = -1");
    ck_ok(gnn_source_of_links(&source, model, data, links, NULL));
    ck_fails(gnn_source_predict_pairs(source, model, context, 2, bad, good, &out), GNN_EINVALID,
             "pair 1 has the nodes 30 and 2");
    ck_ok(gnn_source_predict_pairs(source, model, context, 2, good, good, &out));
    const gnn_real_t before[] = {scores[0], scores[1]};
    ck_ok(gnn_source_predict_pairs(source, model, context, 2, ((int64_t[]){1, 2}), good, &out));
    ck_assert_mem_eq(scores, before, sizeof scores);
    ck_fails(gnn_source_predict_pairs(source, model, context, 2, good, ((int64_t[]){1, 4294967297}),
                                      &out),
             GNN_EOVERFLOW, "dst[1] = 4294967297");
    gnn_source_free(source);
    gnn_links_free(links);
    gnn_model_free(model);
    gnn_data_free(data);
    gnn_data_free(other);
}
END_TEST

/* ---- edges with classes ---- */

/* The class of an edge: are its ends in one group? Learned from ends and edge features. */
START_TEST(classes_of_edges_are_learned)
{
    gnn_data_t *data = groups_set(60, 3, -0.7, "far");
    const gnn_graph_t *graph = gnn_data_graph(data);
    const int64_t m = gnn_graph_n_edges(graph);
    int64_t *src = calloc((size_t)m, sizeof *src), *dst = calloc((size_t)m, sizeof *dst),
            *edge = calloc((size_t)m, sizeof *edge);
    int32_t *labels = calloc((size_t)m, sizeof *labels);
    gnn_split_t *split, *fewer;
    gnn_source_t *source;
    gnn_train_result_t result;
    gnn_link_metrics_t metrics;
    gnn_real_t score[2];
    ck_ok(gnn_graph_pairs(graph, src, dst, edge));
    for (int64_t k = 0; k < m; k++)
        labels[edge[k]] = src[k] % 3 == dst[k] % 3;
    ck_ok(gnn_split_edges(&split, graph, labels,
                          &(gnn_split_rule_t){.train_share = 0.6, .validation_share = 0.4}));
    const uint8_t *chosen = gnn_split_mask(split, GNN_VALIDATION, 0),
                  *learned = gnn_split_mask(split, GNN_TRAIN, 0);
    for (int64_t k = 0; k < m; k++)
        for (int64_t l = 0; l < m; l++)
            if (src[k] == dst[l] && dst[k] == src[l])
                ck_assert(learned[edge[k]] == learned[edge[l]] && chosen[edge[k]] == chosen[edge[l]]);
    gnn_model_t *model = encoder(
        "link_mlp", (gnn_block_t){.out = 2, .hidden = 16, .edges = "pairs.far", .edge_width = 1});
    ck_ok(gnn_source_of_edges(&source, model, data, labels, split, NULL));
    ck_ok(gnn_train_batches(model, context, source,
                            &(gnn_train_config_t){.epochs = 100, .optimizer.lr = (gnn_real_t)0.02},
                            &result));
    int64_t together = 0, counted = 0;
    for (int64_t k = 0; k < m; k++)
        if (chosen[k]) {
            counted++;
            together += labels[k];
        }
    ck_assert_msg(result.validation_metric > (double)together / (double)counted + 0.02,
                  "%g, the more frequent class has %g", result.validation_metric,
                  (double)together / (double)counted);
    ck_fails(gnn_source_measure_links(source, model, context, GNN_TEST, &metrics), GNN_EINVALID,
             "links with classes");
    ck_fails(gnn_source_predict_pairs(source, model, context, 1, sources, targets,
                                      &(gnn_tensor_t){score, 1, 2, 2}),
             GNN_EUNSUPPORTED, "pairs.far");
    gnn_source_free(source);
    ck_ok(gnn_split_new(&fewer, m - 1, 1));
    ck_fails(gnn_source_of_edges(&source, model, data, labels, fewer, NULL), GNN_ESHAPE, "edges");
    gnn_split_free(fewer);
    gnn_split_free(split);
    gnn_model_free(model);
    gnn_data_free(data);
    free(src);
    free(dst);
    free(edge);
    free(labels);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("link_models");
    TCase *tests = tcase_create("link_models");
    tcase_set_timeout(tests, 120);
    tcase_add_checked_fixture(tests, open_context, close_context);
    tcase_add_test(tests, decoders_follow_their_formulas);
    tcase_add_test(tests, mlp_decoders_follow_their_formulas);
    tcase_add_loop_test(tests, links_are_learned, 0, 5);
    tcase_add_test(tests, an_epoch_holds_each_link_once);
    tcase_add_test(tests, links_are_learnt_on_samples_in_one_call);
    tcase_add_test(tests, samples_of_links_that_cannot_be_drawn);
    tcase_add_test(tests, careless_use_of_links_is_refused);
    tcase_add_test(tests, classes_of_edges_are_learned);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
