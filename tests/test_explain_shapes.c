/* Explanations where the answer is known: the houses of BA-Shapes. */
#include "support.h"

static gnn_model_t *trained(gnn_context_t *context, gnn_data_t *data, double *accuracy)
{
    gnn_model_t *model;
    ck_ok(gnn_model_new(&model, context, 3,
                        (gnn_layer_config_t[]){GNN_GCN(.in = gnn_data_features(data), .out = 20,
                                                       .activation = GNN_RELU),
                                               GNN_GCN(.in = 20, .out = 20, .activation = GNN_RELU),
                                               GNN_GCN(.in = 20, .out = 4)}));
    ck_ok(gnn_train(model, context, data,
                    &(gnn_train_config_t){.epochs = test_small() ? 20 : 2000, .optimizer.lr = 0.01f},
                    NULL));
    ck_ok(gnn_evaluate(model, context, data, 0, GNN_TEST, GNN_METRIC_ACCURACY, accuracy));
    return model;
}

/* Edge k + m of the set is the reverse of edge k: a link weighs what both weigh. What should be
 * found are the links of the node's own house. */
static double auc_of(const gnn_explanation_t *why, const gnn_data_t *data, const int64_t *src)
{
    const gnn_tensor_t *motif = gnn_data_rows(data, GNN_ON_EDGES, "motif");
    const int64_t n = why->n_edges, m = why->edges.rows / 2;
    gnn_real_t *scores = calloc((size_t)n, sizeof *scores);
    int32_t *labels = calloc((size_t)n, sizeof *labels);
    for (int64_t k = 0; k < n; k++) {
        const int64_t e = why->edge_numbers[k];
        scores[k] = why->edges.data[e] + why->edges.data[e < m ? e + m : e - m];
        labels[k] = motif->data[e] > 0 && (src[e] - 300) / 5 == (why->row - 300) / 5;
    }
    const gnn_tensor_t logits = gnn_tensor(scores, n, 1);
    const double auc = gnn_metric(GNN_METRIC_ROC_AUC, &logits, labels, NULL);
    free(scores);
    free(labels);
    return auc;
}

/* Senders by edge id. */
static int64_t *senders(const gnn_graph_t *graph)
{
    const size_t m = (size_t)gnn_graph_n_edges(graph);
    int64_t *src = calloc(m, sizeof *src), *edge = calloc(m, sizeof *edge),
            *by_edge = calloc(m, sizeof *by_edge);
    ck_ok(gnn_graph_pairs(graph, src, NULL, edge));
    for (size_t k = 0; k < m; k++)
        by_edge[edge[k]] = src[k];
    free(src);
    free(edge);
    return by_edge;
}

START_TEST(gnn_explainer_finds_the_houses)
{
    gnn_context_t *context;
    gnn_data_t *data;
    double accuracy, sum = 0;
    int64_t count = 0;
    ck_ok(gnn_context_new(&context, NULL));
    ck_ok(gnn_data_ba_shapes(&data, &(gnn_ba_shapes_t){.seed = 1}));
    gnn_model_t *model = trained(context, data, &accuracy);
    const gnn_named_t x = {.name = "x", .dense = gnn_data_x(data)};
    const gnn_graph_t *graph = gnn_data_graph(data);
    const gnn_model_inputs_t inputs = {&graph, 1, &x, 1};
    int64_t *src = senders(graph);
    for (int64_t node = 300; node < gnn_data_nodes(data); node += test_small() ? 101 : 13) {
        gnn_explanation_t *why;
        ck_ok(gnn_explain(&why, model, context, &inputs, node,
                          &(gnn_explain_config_t){.lr = 0.1f,
                                                  .edge_size = 0.05f,
                                                  .edge_entropy = GNN_ZERO,
                                                  .epochs = test_small() ? 2 : 100,
                                                  .features = GNN_EXPLAIN_NONE}));
        ck_assert(why->hops == 3 && why->nodes[0] == node && why->n_nodes < gnn_data_nodes(data));
        sum += auc_of(why, data, src);
        count++;
        gnn_explanation_free(why);
    }
    if (!test_small())
        ck_assert_msg(accuracy > 0.85 && sum / (double)count >= 0.95, "accuracy %.3f, AUC %.4f",
                      accuracy, sum / (double)count);
    free(src);
    gnn_model_free(model);
    gnn_data_free(data);
    gnn_context_free(context);
}
END_TEST

START_TEST(ba_shapes_match_their_definition)
{
    gnn_data_t *data, *same;
    ck_ok(gnn_data_ba_shapes(&data, &(gnn_ba_shapes_t){.nodes = 20, .houses = 3, .seed = 7}));
    ck_ok(gnn_data_ba_shapes(&same, &(gnn_ba_shapes_t){.nodes = 20, .houses = 3, .seed = 7}));
    /* 5 links of each node after the fifth, 7 of each house, 3 random ones */
    const int64_t m = 2 * (5 + 5 * 14 + 3 * 7 + 3);
    ck_assert_int_eq(gnn_data_nodes(data), 35);
    ck_assert_int_eq(gnn_graph_n_edges(gnn_data_graph(data)), m);
    const gnn_tensor_t *motif = gnn_data_rows(data, GNN_ON_EDGES, "motif");
    double marked = 0;
    for (int64_t e = 0; e < m; e++)
        marked += (double)motif->data[e];
    ck_assert(marked == 2 * 3 * 6);
    const int32_t *labels = gnn_data_labels(data);
    ck_assert(labels[19] == 0 && labels[20] == 1 && labels[21] == 2 && labels[24] == 3);
    int64_t *a = senders(gnn_data_graph(data)), *b = senders(gnn_data_graph(same));
    ck_assert(memcmp(a, b, (size_t)m * sizeof *a) == 0);
    free(a);
    free(b);
    gnn_data_free(data);
    gnn_data_free(same);
    ck_fails(gnn_data_ba_shapes(&data, &(gnn_ba_shapes_t){.nodes = 5}), GNN_EINVALID, ".nodes = 5");
    ck_fails(gnn_data_ba_shapes(NULL, NULL), GNN_EINVALID, "data is NULL");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("explain_shapes");
    TCase *t = tcase_create("shapes");
    tcase_add_test(t, gnn_explainer_finds_the_houses);
    tcase_add_test(t, ba_shapes_match_their_definition);
    tcase_set_timeout(t, 600);
    suite_add_tcase(suite, t);
    return test_main(suite);
}
