/* Settings that a method, a kind or a mode does not read are refused by name: one test per call
 * whose settings are one struct for several modes. Blocks, generation, samplers and optimisers have
 * suites of their own. */
#include "explain_bed.h"

#include <gnn/diffuse.h>
#include <gnn/links.h>
#include <gnn/partition.h>
#include <gnn/report.h>
#include <gnn/text.h>
#include <gnn/train.h>

/* ---- explanations ---- */

START_TEST(methods_of_explanation)
{
    static const struct {
        const char *reads, *name;
        gnn_explain_config_t config;
    } all[] = {{"gnn_explainer", "features", {.features = GNN_EXPLAIN_COMMON}},
               {"gnn_explainer", "epochs", {.epochs = 3}},
               {"gnn_explainer", "lr", {.lr = (gnn_real_t)0.1}},
               {"gnn_explainer", "edge_size", {.edge_size = GNN_ZERO}},
               {"gnn_explainer", "edge_entropy", {.edge_entropy = (gnn_real_t)0.1}},
               {"gnn_explainer", "feature_size", {.feature_size = (gnn_real_t)0.1}},
               {"gnn_explainer", "feature_entropy", {.feature_entropy = (gnn_real_t)0.1}},
               {"gnn_explainer", "seed", {.seed = 4}},
               {"integrated_gradients", "steps", {.steps = 7}}};
    const gnn_explain_method_t *method;
    gnn_explanation_t *why;
    bed_t b;
    open(&b, 2, gat);
    for (size_t m = 0; (method = gnn_explain_method_at(m)); m++)
        for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
            gnn_explain_config_t config = all[k].config;
            char text[80];
            config.method = method->name;
            const int rc = gnn_explain(&why, b.model, b.context, &b.inputs, 0, &config);
            snprintf(text, sizeof text, "method \"%s\" reads no %s", method->name, all[k].name);
            if (strcmp(method->name, all[k].reads) == 0)
                ck_ok(rc);
            else
                ck_fails(rc, GNN_EINVALID, text);
            gnn_explanation_free(why);
        }
    const gnn_explain_config_t none = {.features = GNN_EXPLAIN_NONE, .feature_size = 1};
    ck_fails(gnn_explain(&why, b.model, b.context, &b.inputs, 0, &none), GNN_EINVALID,
             "no mask of features");
    close(&b);
}
END_TEST

/* ---- graphs ---- */

START_TEST(kinds_of_diffusion)
{
    const int64_t edges[] = {0, 1, 1, 2}, others[] = {1, 0, 2, 1};
    gnn_graph_t *graph, *out;
    gnn_real_t *weight;
    ck_ok(gnn_graph_from_edges(&graph, 3, 3, 4, edges, others));
    ck_fails(gnn_graph_diffuse(&out, &weight, graph, NULL, NULL, &(gnn_diffusion_t){.time = 2}),
             GNN_EINVALID, "personalised PageRank reads no .time");
    ck_fails(
        gnn_graph_diffuse(&out, &weight, graph, NULL, NULL,
                          &(gnn_diffusion_t){.kind = GNN_DIFFUSION_HEAT, .alpha = (gnn_real_t)0.2}),
        GNN_EINVALID, "the heat kernel reads no .alpha");
    gnn_graph_free(graph);
}
END_TEST

START_TEST(methods_of_partition)
{
    static const int32_t zeros[64];
    const struct {
        const char *method, *words;
        gnn_partition_config_t config;
    } all[] = {{"range", "method \"range\" reads no seed", {.seed = 1}},
               {"hash", "method \"hash\" reads no node_cost", {.node_cost = 2}},
               {NULL, "given parts (part_of) read no seed", {.seed = 1}},
               {NULL, "given parts (part_of) read no node_cost", {.node_cost = 2}}};
    gnn_partition_t *p;
    gnn_data_t *data;
    ck_ok(gnn_data_karate(&data));
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        gnn_partition_config_t config = all[k].config;
        config.parts = 1;
        config.method = all[k].method;
        if (!config.method)
            config.part_of = gnn_ints(zeros);
        ck_fails(gnn_partition_new(&p, data, &config), GNN_EINVALID, all[k].words);
        config.seed = 0, config.node_cost = 0;
        ck_ok(gnn_partition_new(&p, data, &config));
        gnn_partition_free(p);
    }
    gnn_data_free(data);
}
END_TEST

START_TEST(rules_of_splits)
{
    const int32_t labels[] = {0, 1, 0, 1, 0, 1};
    gnn_split_t *split;
    ck_fails(
        gnn_split_draw(&split, labels, 6, &(gnn_split_rule_t){.train_share = 0.5, .train_each = 1}),
        GNN_EINVALID, ".train_each and .train_share are both given");
    ck_fails(gnn_split_draw(&split, labels, 6,
                            &(gnn_split_rule_t){.validation_share = 0.5, .validation_each = 1}),
             GNN_EINVALID, ".validation_each and .validation_share are both given");
}
END_TEST

/* ---- training ---- */

START_TEST(modes_of_training)
{
    const struct {
        const char *words;
        gnn_train_config_t refused, taken;
    } all[] = {{".patience is read with a .watch other than GNN_WATCH_NONE only",
                {.watch = GNN_WATCH_NONE, .patience = 3},
                {.watch = GNN_WATCH_LOSS, .patience = 3}},
               {".checkpoint_every is read with a .checkpoint only", {.checkpoint_every = 2}, {0}}};
    gnn_context_t *context;
    gnn_model_t *model;
    gnn_data_t *data;
    ck_ok(gnn_context_new(&context, NULL));
    ck_ok(gnn_data_karate(&data));
    ck_ok(gnn_model_new(&model, context, 1,
                        &(gnn_layer_config_t){.preset = GNN_PRESET_GCN,
                                              .in = gnn_data_features(data),
                                              .out = gnn_data_classes(data)}));
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        gnn_train_config_t config = all[k].refused;
        config.epochs = 1;
        ck_fails(gnn_train(model, context, data, &config, NULL), GNN_EINVALID, all[k].words);
        config = all[k].taken;
        config.epochs = 1;
        ck_ok(gnn_train(model, context, data, &config, NULL));
    }
    gnn_model_free(model);
    gnn_data_free(data);
    gnn_context_free(context);
}
END_TEST

START_TEST(training_on_links)
{
    const struct {
        const char *words;
        gnn_train_config_t config;
    } all[] = {{"takes no loss other than", {.loss = GNN_LOSS_MEAN_SQUARED}},
               {"takes no label_smoothing", {.label_smoothing = (gnn_real_t)0.1}},
               {"takes no split", {.split = 1}}};
    gnn_context_t *context;
    gnn_source_t *source;
    gnn_model_t *model;
    gnn_links_t *links;
    gnn_split_t *split;
    gnn_data_t *data;
    ck_ok(gnn_context_new(&context, NULL));
    ck_ok(gnn_data_karate(&data));
    ck_ok(gnn_links_split(&links, gnn_data_graph(data), NULL));
    const int64_t m = gnn_graph_n_edges(gnn_data_graph(data)), width = gnn_data_features(data);
    int32_t *labels = calloc((size_t)m, sizeof *labels);
    for (int64_t e = 0; e < m / 2; e++)
        labels[e] = 1;
    ck_ok(gnn_split_draw(&split, labels, m, &(gnn_split_rule_t){.train_share = 0.5}));
    gnn_steps_t *steps;
    ck_ok(gnn_steps_new(&steps));
    gnn_steps_add(steps, &(gnn_step_t){.layer = GNN_GCN(.in = width, .out = 8)});
    gnn_steps_block(steps, "link_mlp",
                    &(gnn_block_t){.name = "score", .width = 8, .hidden = 4, .out = 2});
    ck_ok(gnn_model_build(&model, context, steps));
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        gnn_train_config_t config = all[k].config;
        config.epochs = 1;
        config.links = links;
        ck_fails(gnn_train(model, context, data, &config, NULL), GNN_EUNSUPPORTED, all[k].words);
    }
    ck_fails(gnn_source_of_links(&source, model, data, links, &(gnn_link_source_config_t){.split = 1}),
             GNN_EINVALID, "batches of links read no .split");
    ck_fails(gnn_source_of_edges(&source, model, data, labels, split,
                                 &(gnn_link_source_config_t){.drawn = 2}),
             GNN_EINVALID, "batches of classes of edges read no .drawn");
    ck_fails(gnn_source_of_edges(&source, model, data, labels, split,
                                 &(gnn_link_source_config_t){.avoid_all = GNN_ON}),
             GNN_EINVALID, "batches of classes of edges read no .avoid_all");
    gnn_steps_free(steps);
    free(labels);
    gnn_split_free(split);
    gnn_model_free(model);
    gnn_links_free(links);
    gnn_data_free(data);
    gnn_context_free(context);
}
END_TEST

/* ---- texts and pictures ---- */

START_TEST(packs_and_pictures)
{
    static gnn_real_t points[4];
    const double y[] = {1, 2}, weight[1] = {1};
    const char *const names[] = {"a"};
    const gnn_curve_t curve = {.name = "loss", .y = y, .count = 2};
    gnn_scatter_t plot = {.points = gnn_tensor(points, 2, 2), .class_names = names};
    char *page;
    size_t bytes;
    FILE *file = open_memstream(&page, &bytes);
    ck_fails(gnn_svg_scatter(file, &plot), GNN_EINVALID,
             "class_names are given, but classes is NULL");
    plot = (gnn_scatter_t){.points = plot.points, .n_classes = 2};
    ck_fails(gnn_svg_scatter(file, &plot), GNN_EINVALID, "n_classes is given, but classes is NULL");
    plot = (gnn_scatter_t){.points = plot.points, .line_weight = weight};
    ck_fails(gnn_svg_scatter(file, &plot), GNN_EINVALID, "line_weight is given, but n_lines is 0");
    ck_fails(gnn_svg_curves(file, &(gnn_curves_t){.curves = &curve, .n_curves = 1, .mark_name = "x"}),
             GNN_EINVALID, "mark_name is given, but mark is 0");
    fclose(file);
    free(page);
    char path[] = "/tmp/gnn-corpus-XXXXXX";
    gnn_vocabulary_t *words;
    gnn_corpus_t *corpus;
    gnn_packs_t *packs;
    file = fdopen(mkstemp(path), "w");
    fputs("b\tthe cat\na\tcat\n", file);
    fclose(file);
    ck_ok(gnn_corpus_read(&corpus, path, NULL));
    ck_ok(gnn_vocabulary_new(&words, corpus, 1));
    ck_fails(gnn_packs_new(&packs, corpus, words, &(gnn_packing_t){.seed = 2}), GNN_EINVALID,
             ".seed is read with .shuffle on only");
    remove(path);
    gnn_corpus_free(corpus);
    gnn_vocabulary_free(words);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("unread_settings");
    TCase *c = tcase_create("unread_settings");
    tcase_set_timeout(c, 120);
    tcase_add_test(c, methods_of_explanation);
    tcase_add_test(c, kinds_of_diffusion);
    tcase_add_test(c, methods_of_partition);
    tcase_add_test(c, rules_of_splits);
    tcase_add_test(c, modes_of_training);
    tcase_add_test(c, training_on_links);
    tcase_add_test(c, packs_and_pictures);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
