/* Sets of many graphs: reading, generation, splits, and batches that equal the whole. */
#include "readers.h"

#include <graphs/graph.h>

/* A triangle with a tail of one, two nodes with a link each way, a node alone. */
#define DAI "3\n4 1\n7 2 1 2\n7 2 0 2\n9 3 0 1 3\n9 1 2\n2 -1\n7 1 1\n7 1 0\n1 1\n3 0\n"

static void ck_dai_set(const gnn_data_t *data)
{
    ck_assert_str_eq(messages(data), "0<1 0<2 1<0 1<2 2<0 2<1 2<3 3<2 4<5 5<4");
    ck_assert_int_eq(gnn_data_graphs(data), 3);
    ck_assert_int_eq(gnn_data_classes(data), 2);
    const int32_t *labels = gnn_data_graph_labels(data);
    ck_assert(labels[0] == 1 && labels[1] == 0 && labels[2] == 1);
    const int64_t *segments = gnn_graph_dst_segments(gnn_data_graph(data));
    ck_assert(segments[1] == 4 && segments[2] == 6 && segments[3] == 7);
}

START_TEST(a_text_of_many_graphs)
{
    write_text("many.txt", DAI);
    gnn_data_t *data = opened(in_folder("many.txt"));
    ck_dai_set(data);
    ck_assert_int_eq(gnn_data_features(data), 3); /* tags 3, 7, 9 */
    ck_assert(feature(data, 0, 1) == 1 && feature(data, 2, 2) == 1 && feature(data, 6, 0) == 1);
    ck_assert(feature(data, 0, 0) == 0 && gnn_data_labels(data)[0] == -1);
    ck_ok(gnn_data_degree_features(data, 0));
    ck_assert_int_eq(gnn_data_features(data), 4);
    ck_assert(feature(data, 2, 3) == 1 && feature(data, 6, 0) == 1 && feature(data, 4, 1) == 1);
    ck_ok(gnn_data_degree_features(data, 1));
    ck_assert(gnn_data_features(data) == 2 && feature(data, 2, 1) == 1);
    gnn_data_free(data);
}
END_TEST

START_TEST(a_text_with_attributes)
{
    write_text("many.txt", "1\n2 0\n5 1 1 0.5 -1\n6 1 0 2 3\n");
    gnn_data_t *data = opened(in_folder("many.txt"));
    ck_assert_int_eq(gnn_data_features(data), 4);
    ck_assert(feature(data, 0, 0) == 0.5 && feature(data, 0, 1) == -1 && feature(data, 0, 2) == 1 &&
              feature(data, 1, 3) == 1 && feature(data, 1, 2) == 0);
    gnn_data_free(data);
}
END_TEST

static const struct {
    const char *text, *words;
} bad_texts[] = {
    {"2\n1 0\n0 0\n", "ends where the count of a graph"},
    {"1\n2 0\n0 1 1\n", "ends where a node"},
    {"1\n2 0\n0 1 2\n0 0\n", "line 3, column 3: a neighbour id is 2, expected 0 to 1"},
    {"1\n2 0\n0 2 1\n0 0\n", "ends where a neighbour"},
    {"1\n1 0\n0 0\n1 1\n", "a line after the last of 1 graphs"},
    {"1\n0 0\n", "a count of nodes is 0"},
    {"1\n2 0\n0 0 1.5\n0 0\n", "0 attributes, the nodes before have 1"},
    {"1\n2 0\n0 0\n0 0 1.5\n", "the nodes before have 0 attributes"},
    {"1\n1 0 5\n0 0\n", "more than is expected"},
};

START_TEST(wrong_texts_are_refused)
{
    gnn_data_t *data = (gnn_data_t *)1;
    write_text("bad.txt", bad_texts[_i].text);
    ck_fails(gnn_data_open(&data, in_folder("bad.txt")), GNN_EFORMAT, bad_texts[_i].words);
    ck_assert_ptr_null(data);
}
END_TEST

/* The same set as a folder: one link of graph 2 in one direction only, and other class ids. */
static const char *write_tu(const char *name, const char *text)
{
    static const char *const parts[][2] = {
        {"A", "1, 2\n2, 1\n1, 3\n3, 1\n2, 3\n3, 2\n3, 4\n4, 3\n5, 6\n"},
        {"graph_indicator", "1\n1\n1\n1\n2\n2\n3\n"},
        {"graph_labels", "5\n-3\n5\n"},
        {"node_labels", "7\n7\n9\n9\n7\n7\n3\n"},
        {"edge_labels", "0\n0\n1\n1\n0\n0\n0\n0\n2\n"},
        {"node_attributes", "1, 2.5\n3, 4\n5, 6\n7, 8\n9, 10\n11, 12\n13, 14\n"},
        {"graph_attributes", "0.5\n1.5\n2.5\n"}};
    char path[64];
    mkdir(in_folder("tu"), 0700);
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        snprintf(path, sizeof path, "tu/T_%s.txt", parts[k][0]);
        write_text(path, name && strcmp(name, parts[k][0]) == 0 ? text : parts[k][1]);
    }
    return in_folder("tu");
}

START_TEST(a_tu_folder)
{
    gnn_data_t *data = opened(write_tu(NULL, NULL));
    ck_dai_set(data);
    ck_assert_int_eq(gnn_data_features(data), 5);
    ck_assert(feature(data, 0, 1) == 2.5 && feature(data, 3, 4) == 1 && feature(data, 6, 2) == 1);
    const gnn_tensor_t *edges = gnn_data_rows(data, GNN_ON_EDGES, "features"),
                       *targets = gnn_data_rows(data, GNN_ON_GRAPHS, "targets");
    ck_assert(edges->cols == 3 && edges->rows == 10);
    ck_assert(edges->data[0 * 3 + 0] == 1 && edges->data[1 * 3 + 1] == 1 &&
              edges->data[8 * 3 + 2] == 1 && edges->data[9 * 3 + 2] == 1);
    ck_assert(targets->cols == 1 && targets->data[1] == 1.5);
    gnn_data_free(data);
}
END_TEST

static const struct {
    const char *part, *text, *words;
} bad_folders[] = {
    {"A", "1, 8\n", "node 8, there are 1 to 7"},
    {"A", "1, 5\n1, 5\n1, 5\n1, 5\n1, 5\n1, 5\n1, 5\n1, 5\n1, 5\n", "leaves the segment"},
    {"A", "1\n", "A: line 1"},
    {"A", "1, 2, 0.5\n", "A: line 1, column 3: two nodes are expected, got \"0.5\" too"},
    {"graph_labels", "1, 2\n1, 2\n1, 2\n", "graph_labels: line 1: one value is expected, got 2"},
    {"node_labels", "1, 2\n1\n", "node_labels: line 2: 1 values, the lines before have 2"},
    {"graph_indicator", "1\n3\n", "node 2 is of graph 3, expected 1 or 2"},
    {"graph_indicator", "0\n1\n", "numbered from 1"},
    {"graph_labels", "1\n2\n", "graph_labels: 2 lines, expected 3"},
    {"node_attributes", "1\n2\n", "node_attributes: 2 lines, expected 7"},
};

START_TEST(wrong_tu_folders_are_refused)
{
    gnn_data_t *data = NULL;
    const char *path = write_tu(bad_folders[_i].part, bad_folders[_i].text);
    ck_assert_int_ne(gnn_data_open(&data, path), GNN_OK);
    ck_assert_msg(strstr(gnn_error_message(), bad_folders[_i].words), "%s", gnn_error_message());
    ck_assert_ptr_null(data);
}
END_TEST

/* Each column of labels is one-hot: two kinds and three; a constant one is left out. */
START_TEST(several_labels_of_a_tu_node)
{
    gnn_data_t *data = opened(
        write_tu("node_labels", "7, 1, 0\n7, 2, 0\n9, 3, 0\n9, 1, 0\n7, 2, 0\n7, 3, 0\n7, 1, 0\n"));
    static const double rows[2][7] = {{5, 6, 0, 1, 0, 0, 1}, {13, 14, 1, 0, 1, 0, 0}};
    ck_assert_int_eq(gnn_data_features(data), 7);
    for (int c = 0; c < 7; c++)
        ck_assert(feature(data, 2, c) == rows[0][c] && feature(data, 6, c) == rows[1][c]);
    gnn_data_free(data);
    remove(in_folder("tu/T_node_attributes.txt"));
    data = opened(in_folder("tu"));
    ck_assert_int_eq(gnn_data_features(data), 5);
    ck_assert(feature(data, 2, 1) == 1 && feature(data, 2, 4) == 1 && feature(data, 2, 0) == 0);
    gnn_data_free(data);
    write_text("tu/U_A.txt", "1, 2\n");
    ck_fails(gnn_data_open(&data, in_folder("tu")), GNN_EFORMAT,
             "a folder has one set of TU Dortmund");
    ck_assert_ptr_null(data);
    remove(in_folder("tu/U_A.txt"));
}
END_TEST

START_TEST(a_description_counts_the_graphs)
{
    char text[256];
    gnn_data_t *data = opened(write_tu(NULL, NULL));
    gnn_data_describe(data, text, sizeof text);
    ck_assert_msg(strstr(text, ": 3 graphs, 7 nodes, ") != NULL, "%s", text);
    gnn_data_free(data);
}
END_TEST

START_TEST(readers_survive_failing_allocations)
{
    write_text("many.txt", DAI);
    for (int kind = 0; kind < 3; kind++)
        for (int64_t n = 1, failed = 1; failed; n++) {
            gnn_data_t *data = NULL;
            const char *path = kind == 0 ? in_folder("many.txt") : write_tu(NULL, NULL);
            gnn__fail_allocation(n);
            int rc = kind == 2 ? gnn_data_motifs(&data, 6, 1) : gnn_data_open(&data, path);
            gnn__fail_allocation(0);
            failed = rc != GNN_OK;
            ck_assert(!failed || (rc == GNN_EMEMORY && !data));
            gnn_data_free(data);
        }
}
END_TEST

START_TEST(graphs_are_cut_where_no_edge_passes)
{
    const int64_t src[] = {0, 1, 2}, dst[] = {1, 0, 2}, good[] = {2, 0, 1}, bad[] = {1, 2},
                  few[] = {1, 1}, negative[] = {4, -1};
    gnn_graph_t *graph;
    ck_ok(gnn_graph_from_edges(&graph, 3, 3, 3, src, dst));
    ck_fails(gnn_graph_cut(graph, 2, bad), GNN_ETOPOLOGY,
             "edge from node 1 to node 0 leaves the segment");
    ck_fails(gnn_graph_cut(graph, 2, few), GNN_ESHAPE, "2 nodes in all, the graph has 3");
    ck_fails(gnn_graph_cut(graph, 2, negative), GNN_EINVALID,
             "segment 1: expected a length >= 0, got -1");
    ck_fails(gnn_graph_cut(graph, 0, good), GNN_EINVALID, "at least one");
    ck_fails(gnn_graph_cut(NULL, 0, good), GNN_EINVALID, "graph is NULL");
    ck_ok(gnn_graph_cut(graph, 3, good));
    ck_assert_int_eq(gnn_graph_n_segments(graph), 3);
    ck_fails(gnn_graph_cut(graph, 3, good), GNN_ETOPOLOGY, "3 segments");
    ck_ok(gnn__graph_validate(graph));
    gnn_graph_free(graph);
    ck_ok(gnn_graph_complete(&graph, 1, (int64_t[]){3}));
    ck_fails(gnn_graph_cut(graph, 3, good), GNN_ETOPOLOGY, "and no segments, got");
    gnn_graph_free(graph);
}
END_TEST

/* ---- batches ---- */

static gnn_context_t *context;

static gnn_model_t *new_model(const gnn_data_t *data)
{
    gnn_model_t *model;
    const gnn_layer_config_t sum = {
        .in = 8, .aggregator = &gnn_aggregator_sum, .message = &gnn_message_none};
    ck_ok(gnn_model_from_steps(
        &model, context, 5,
        (gnn_step_t[]){
            {.layer = GNN_GIN(.in = gnn_data_features(data), .out = 8, .activation = GNN_RELU)},
            {.name = "gin", .layer = GNN_GIN(.in = 8, .out = 8)},
            {.kind = GNN_STEP_AGGREGATE, .graph = 1, .layer = sum},
            {.kind = GNN_STEP_LINEAR, .in = 8, .out = gnn_data_classes(data)},
            {.kind = GNN_STEP_ADD, .inputs = {NULL, "extra"}}}));
    return model;
}

static void add_extra(gnn_data_t *data)
{
    const int64_t n = gnn_data_graphs(data), cols = gnn_data_classes(data);
    gnn_real_t *extra = test_reals(n * cols, 5);
    ck_ok(gnn_data_array_set(
        data, GNN_ON_GRAPHS,
        &(gnn_array_t){
            "extra", GNN_DOUBLE ? GNN_DTYPE_FLOAT64 : GNN_DTYPE_FLOAT32, 2, {n, cols}, n * cols, extra}));
    free(extra);
}

static gnn_split_t *split_of(const int8_t *part, int64_t graphs)
{
    gnn_split_t *split;
    ck_ok(gnn_split_from_parts(&split, graphs, 1, part));
    return split;
}

START_TEST(batches_equal_the_whole)
{
    enum { GRAPHS = 25, CLASSES = 3 };
    gnn_data_t *data;
    gnn_source_t *source;
    gnn_real_t *outs[2];
    int8_t part[GRAPHS];
    ck_ok(gnn_data_motifs(&data, GRAPHS, 3));
    add_extra(data);
    gnn_model_t *model = new_model(data);
    for (int k = 0; k < GRAPHS; k++)
        part[k] = (int8_t)(k % 4 - 1);
    gnn_split_t *split = split_of(part, GRAPHS);
    for (int k = 0; k < 2; k++) {
        outs[k] = calloc(GRAPHS * CLASSES, sizeof **outs);
        const gnn_tensor_t out = gnn_tensor(outs[k], GRAPHS, CLASSES);
        ck_ok(gnn_source_of_graphs(&source, model, data, split,
                                   &(gnn_graph_source_config_t){.size = k ? 7 : GRAPHS}));
        ck_ok(gnn_source_predict_graphs(source, model, context, &out));
        gnn_source_free(source);
    }
    ck_assert(test_error(outs[0], outs[1], GRAPHS * CLASSES) < TOLERANCE_OUT);
    free(outs[0]);
    free(outs[1]);
    gnn_split_free(split);
    gnn_model_free(model);
    gnn_data_free(data);
}
END_TEST

/* The array `number` identifies the graphs of a batch. */
START_TEST(an_epoch_holds_each_graph_once)
{
    enum { GRAPHS = 30 };
    gnn_data_t *data;
    gnn_source_t *source;
    gnn_batch_t batch;
    int8_t part[GRAPHS];
    gnn_real_t number[GRAPHS];
    int first[GRAPHS], same = 1;
    ck_ok(gnn_data_motifs(&data, GRAPHS, 3));
    for (int k = 0; k < GRAPHS; k++)
        number[k] = (gnn_real_t)k;
    ck_ok(gnn_data_array_set(
        data, GNN_ON_GRAPHS,
        &(gnn_array_t){
            "extra", GNN_DOUBLE ? GNN_DTYPE_FLOAT64 : GNN_DTYPE_FLOAT32, 1, {GRAPHS}, GRAPHS, number}));
    gnn_model_t *model = new_model(data);
    for (int k = 0; k < GRAPHS; k++)
        part[k] = k % 3 == 0 ? GNN_VALIDATION : GNN_TRAIN;
    gnn_split_t *split = split_of(part, GRAPHS);
    ck_ok(gnn_source_of_graphs(&source, model, data, split, &(gnn_graph_source_config_t){.size = 6}));
    ck_assert(source->count[GNN_TRAIN] == 4 && source->count[GNN_VALIDATION] == 2);
    for (int epoch = 1; epoch <= 2; epoch++) {
        int seen[GRAPHS] = {0};
        for (int64_t b = 0, at = 0; b < 4; b++) {
            ck_ok(source->get(source->user, GNN_TRAIN, epoch, b, &batch));
            ck_ok(gnn__graph_validate(batch.inputs.graphs[0]));
            for (int64_t r = 0; r < batch.inputs.values[1].dense->rows; r++, at++) {
                const int g = (int)batch.inputs.values[1].dense->data[r];
                ck_assert_int_eq(batch.loss.labels[r], g % 3);
                seen[g]++;
                if (epoch == 1)
                    first[at] = g;
                else
                    same = same && first[at] == g;
            }
        }
        for (int k = 0; k < GRAPHS; k++)
            ck_assert_int_eq(seen[k], k % 3 != 0);
    }
    ck_assert(!same);
    gnn_source_free(source);
    ck_ok(gnn_source_of_graphs(&source, model, data, split,
                               &(gnn_graph_source_config_t){.size = 8, .per_epoch = 9}));
    ck_assert_int_eq(source->count[GNN_TRAIN], 9);
    for (int64_t b = 0; b < 9; b++) {
        ck_ok(source->get(source->user, GNN_TRAIN, 1, b, &batch));
        ck_assert_int_eq(batch.inputs.values[1].dense->rows, 8);
    }
    gnn_source_free(source);
    gnn_split_free(split);
    gnn_model_free(model);
    gnn_data_free(data);
}
END_TEST

START_TEST(motifs_are_learned)
{
    enum { GRAPHS = 150 };
    gnn_data_t *data;
    gnn_source_t *source;
    gnn_train_result_t result;
    gnn_split_t *split;
    ck_ok(gnn_data_motifs(&data, GRAPHS, 3));
    const int64_t n = gnn_data_graphs(data), cols = gnn_data_classes(data);
    gnn_real_t *zero = calloc((size_t)(n * cols), sizeof *zero);
    ck_ok(gnn_data_array_set(
        data, GNN_ON_GRAPHS,
        &(gnn_array_t){
            "extra", GNN_DOUBLE ? GNN_DTYPE_FLOAT64 : GNN_DTYPE_FLOAT32, 2, {n, cols}, n * cols, zero}));
    gnn_model_t *model = new_model(data);
    ck_ok(gnn_split_draw(&split, gnn_data_graph_labels(data), n,
                         &(gnn_split_rule_t){.train_share = 0.7, .validation_share = 0.3}));
    for (int kind = 0; kind < 2; kind++) {
        ck_ok(gnn_source_of_graphs(
            &source, model, data, split,
            &(gnn_graph_source_config_t){.loss = kind ? GNN_LOSS_BINARY_CROSS_ENTROPY
                                                      : GNN_LOSS_CROSS_ENTROPY}));
        ck_ok(gnn_train_batches(
            model, context, source,
            &(gnn_train_config_t){.epochs = 100, .optimizer.lr = (gnn_real_t)0.02}, &result));
        ck_assert_msg(result.validation_metric > 0.9, "%g", result.validation_metric);
        gnn_source_free(source);
    }
    free(zero);
    gnn_split_free(split);
    gnn_model_free(model);
    gnn_data_free(data);
}
END_TEST

/* Functions of one kind of source refuse the others by the names of their makers, a program's own
 * included; a training on a source refuses what describes batches of a data set. */
START_TEST(sources_of_another_kind_are_refused)
{
    gnn_source_t *graphs, *nodes;
    const gnn_source_t own = {.count = {1}};
    gnn_tensor_t out = {0};
    gnn_link_metrics_t metrics;
    gnn_data_t *karate;
    const gnn_train_config_t config = {.label_smoothing = (gnn_real_t)0.1, .epochs = 1};
    gnn_data_t *data;
    gnn_split_t *split = split_of((int8_t[6]){0}, 6);
    ck_ok(gnn_data_motifs(&data, 6, 3));
    gnn_model_t *model = new_model(data), *flat;
    ck_ok(gnn_data_karate(&karate));
    ck_ok(gnn_model_new(&flat, context, 1,
                        (gnn_layer_config_t[]){GNN_GCN(.in = gnn_data_features(karate),
                                                       .out = gnn_data_classes(karate))}));
    ck_ok(gnn_source_of_graphs(&graphs, model, data, split, NULL));
    ck_ok(gnn_source_of_data(&nodes, flat, context, karate, &config));
    ck_assert_int_eq(nodes->fixed, GNN_ON);
    ck_fails(gnn_source_predict_graphs(&own, model, context, &out), GNN_EINVALID,
             "a program's own, expected one of gnn_source_of_graphs");
    ck_fails(gnn_source_predict_graphs(nodes, model, context, &out), GNN_EINVALID,
             "gnn_source_of_data, expected one of gnn_source_of_graphs");
    ck_fails(gnn_source_measure_links(graphs, model, context, GNN_TEST, &metrics), GNN_EINVALID,
             "gnn_source_of_links");
    ck_fails(
        gnn_source_predict_pairs(NULL, model, context, 0, ((int32_t[]){0}), ((int32_t[]){0}), &out),
        GNN_EINVALID, "source is NULL");
    ck_fails(gnn_train_batches(model, context, graphs, &config, NULL), GNN_EINVALID,
             ".label_smoothing is for batches of a data set");
    ck_ok(gnn_train_batches(flat, context, nodes, &config, NULL));
    gnn_source_free(graphs);
    gnn_source_free(nodes);
    gnn_source_free((gnn_source_t *)&own);
    gnn_model_free(flat);
    gnn_data_free(karate);
    gnn_model_free(model);
    gnn_split_free(split);
    gnn_data_free(data);
}
END_TEST

START_TEST(unsupported_batches_are_refused)
{
    gnn_data_t *data;
    gnn_source_t *source = NULL;
    gnn_split_t *split = split_of((int8_t[6]){0}, 6), *fewer = split_of((int8_t[5]){0}, 5);
    ck_ok(gnn_data_motifs(&data, 6, 3));
    gnn_model_t *model = new_model(data);
    ck_fails(gnn_source_of_graphs(&source, model, data, fewer, NULL), GNN_ESHAPE,
             "a split of 5 rows for 6 graphs");
    ck_fails(
        gnn_source_of_graphs(&source, model, data, split, &(gnn_graph_source_config_t){.split = 1}),
        GNN_EINVALID, "there is no split 1 of 1");
    ck_fails(gnn_source_of_graphs(&source, model, data, split,
                                  &(gnn_graph_source_config_t){.targets = "none"}),
             GNN_EINVALID, "is called \"none\"");
    ck_fails(gnn_source_of_graphs(&source, model, data, split,
                                  &(gnn_graph_source_config_t){.loss = GNN_LOSS_MEAN_SQUARED}),
             GNN_EINVALID, "needs .targets");
    ck_fails(
        gnn_source_of_graphs(&source, model, data, split,
                             &(gnn_graph_source_config_t){.class_weight = (gnn_real_t[16]){1, -1}}),
        GNN_EINVALID, "class_weight[1] is -1");
    gnn_split_t *tests = split_of((int8_t[6]){2, 2, 2, 2, 2, 2}, 6);
    ck_ok(gnn_source_of_graphs(&source, model, data, tests, NULL)); /* to predict */
    ck_fails(gnn_train_batches(model, context, source, NULL, NULL), GNN_EINVALID, "batches");
    gnn_source_free(source);
    gnn_split_free(tests);
    source = NULL;
    ck_fails(gnn_source_of_graphs(&source, model, NULL, split, NULL), GNN_EINVALID, "data is NULL");
    ck_fails(gnn_source_of_graphs(&source, NULL, data, split, NULL), GNN_EINVALID, "model is NULL");
    ck_fails(gnn_source_of_graphs(&source, model, data, NULL, NULL), GNN_EINVALID, "splits is NULL");
    ck_fails(gnn_source_of_graphs(NULL, model, data, split, NULL), GNN_EINVALID, "source is NULL");
    gnn_split_free(split);
    gnn_split_free(fewer);
    gnn_data_free(data);
    ck_fails(gnn_data_motifs(&data, 2, 3), GNN_EINVALID, "2 graphs");
    ck_fails(gnn_data_degree_features(NULL, 0), GNN_EINVALID, "data is NULL");
    ck_assert_ptr_null(source);
    gnn_model_free(model);
}
END_TEST

static const struct {
    const char *file;
    int64_t graphs, nodes, messages, features;
} sets[] = {{"graph-classification/MUTAG.txt", 188, 3371, 7442, 7},
            {"graph-classification/PROTEINS.txt", 1113, 43471, 162088, 3},
            {"graph-classification/IMDBBINARY.txt", 1000, 19773, 193062, 136}};

START_TEST(common_sets_open)
{
    const char *path = test_data(sets[_i].file);
    if (!path) {
        test_skip("common_sets_open", sets[_i].file);
        return;
    }
    gnn_data_t *data = opened(path);
    ck_assert_int_eq(gnn_data_graphs(data), sets[_i].graphs);
    ck_assert_int_eq(gnn_data_nodes(data), sets[_i].nodes);
    ck_assert_int_eq(gnn_graph_n_pairs(gnn_data_graph(data)), sets[_i].messages);
    ck_assert_int_eq(gnn_data_features(data), sets[_i].features);
    ck_assert_int_eq(gnn_data_classes(data), 2);
    gnn_data_free(data);
}
END_TEST

static void open_context(void)
{
    make_folder();
    ck_ok(gnn_context_new(&context, &(gnn_context_config_t){.threads = 2, .seed = 3}));
}

static void close_context(void)
{
    static const char *const parts[] = {
        "A",           "graph_indicator", "graph_labels",    "node_labels",
        "edge_labels", "node_attributes", "graph_attributes"};
    char path[64];
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        snprintf(path, sizeof path, "tu/T_%s.txt", parts[k]);
        remove(in_folder(path));
    }
    remove_folder();
    gnn_context_free(context);
}

int main(void)
{
    Suite *suite = suite_create("collection");
    TCase *tests = tcase_create("collection");
    tcase_set_timeout(tests, 120);
    tcase_add_checked_fixture(tests, open_context, close_context);
    tcase_add_test(tests, a_text_of_many_graphs);
    tcase_add_test(tests, a_text_with_attributes);
    tcase_add_loop_test(tests, wrong_texts_are_refused, 0, sizeof bad_texts / sizeof *bad_texts);
    tcase_add_test(tests, a_tu_folder);
    tcase_add_loop_test(tests, wrong_tu_folders_are_refused, 0,
                        sizeof bad_folders / sizeof *bad_folders);
    tcase_add_test(tests, several_labels_of_a_tu_node);
    tcase_add_test(tests, a_description_counts_the_graphs);
    tcase_add_test(tests, readers_survive_failing_allocations);
    tcase_add_test(tests, graphs_are_cut_where_no_edge_passes);
    tcase_add_test(tests, batches_equal_the_whole);
    tcase_add_test(tests, an_epoch_holds_each_graph_once);
    tcase_add_test(tests, motifs_are_learned);
    tcase_add_test(tests, sources_of_another_kind_are_refused);
    tcase_add_test(tests, unsupported_batches_are_refused);
    tcase_add_loop_test(tests, common_sets_open, 0, sizeof sets / sizeof *sets);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
