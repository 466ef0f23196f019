/* Memory: growth of the process's peak after the data is loaded. Attention keeps O(n h), never
 * anything of size edges x width or n x n. */
#include "peak.h"

START_TEST(a_gat_step_on_a_million_edges_stays_under_200_mb)
{
    const char *path = test_data("heterophilous/tolokers.npz");
    gnn_context_t *context;
    gnn_data_t *data;
    gnn_model_t *model;
    if (!measurable("gat on tolokers"))
        return;
    if (!path) {
        test_skip("memory: gat on tolokers", "tolokers.npz is absent");
        return;
    }
    ck_ok(gnn_context_new(&context, &(gnn_context_config_t){.threads = 2}));
    ck_ok(gnn_data_open(&data, path));
    forget_peak();
    double before = (double)status_bytes("VmHWM:") / (1 << 20);
    ck_ok(gnn_model_new(
        &model, context, 2,
        (gnn_layer_config_t[]){
            GNN_GAT(.in = gnn_data_features(data), .out = 8, .heads = 8, .activation = GNN_ELU,
                    .dropout = (gnn_real_t)0.6),
            GNN_GAT(.in = 64, .out = gnn_data_classes(data), .dropout = (gnn_real_t)0.6)}));
    ck_ok(gnn_train(model, context, data, &(gnn_train_config_t){.epochs = 2}, NULL));
    double growth = (double)status_bytes("VmHWM:") / (1 << 20) - before;
    printf("GAT 8x8 on %lld messages: %.0f MB over the data\n",
           (long long)gnn_graph_n_edges(gnn_data_graph(data)), growth);
    ck_assert_int_eq(gnn_graph_n_edges(gnn_data_graph(data)), 1038000);
    ck_assert_double_lt(growth, GNN_DOUBLE ? 400 : 200);
    gnn_model_free(model);
    gnn_data_free(data);
    gnn_context_free(context);
}
END_TEST

START_TEST(a_complete_graph_of_20000_nodes_stays_under_300_mb)
{
    enum { D = 64 };
    int64_t n = 20000;
    gnn_context_t *context;
    gnn_graph_t *graph;
    gnn_layer_t *layer;
    gnn_tape_t *tape;
    if (!measurable("transformer on 20,000 nodes"))
        return;
    gnn_real_t *memory = test_reals(n * D, 1);
    gnn_tensor_t x = gnn_tensor(memory, n, D);
    ck_ok(gnn_context_new(&context, &(gnn_context_config_t){.threads = 2}));
    forget_peak();
    double before = (double)status_bytes("VmHWM:") / (1 << 20);
    ck_ok(gnn_graph_complete(&graph, 1, &n));
    ck_ok(gnn_layer_new(&layer, context, &GNN_TRANSFORMER(.in = D, .heads = 4)));
    ck_ok(gnn_layer_prepare(layer, graph, GNN_ON));
    ck_ok(gnn_tape_new(&tape, context));
    gnn_tape_reset(tape, 1, 1);
    gnn_var_t input = gnn_tape_input(tape, &x, 1);
    gnn_var_t y = gnn_layer_record(
        layer, tape, graph, &(gnn_layer_vars_t){GNN_NONE, input, GNN_NONE, GNN_NONE, GNN_NONE});
    ck_ok(gnn_tape_forward(tape));
    ck_ok(gnn_tape_backward(tape, y, NULL));
    double growth = (double)status_bytes("VmHWM:") / (1 << 20) - before;
    printf("Transformer layer on %lld nodes, forward and backward: %.0f MB\n", (long long)n, growth);
    ck_assert_double_lt(growth, GNN_DOUBLE ? 600 : 300);
    gnn_tape_free(tape);
    gnn_layer_free(layer);
    gnn_graph_free(graph);
    gnn_context_free(context);
    free(memory);
}
END_TEST

/* Features of edges go once from the set as it was to the set as it is. */
START_TEST(reordering_copies_arrays_on_edges_once)
{
    enum { N = 1 << 14, COLS = GNN_DOUBLE ? 256 : 512 };
    const double array = 2.0 * N * COLS * sizeof(gnn_real_t) / (1 << 20);
    gnn_data_t *data;
    gnn_graph_t *ring;
    if (!measurable("reordering arrays on edges"))
        return;
    int64_t *src = calloc(4 * N, sizeof *src), *dst = src + 2 * N;
    gnn_real_t *features = calloc((size_t)2 * N * COLS, sizeof *features);
    for (int64_t k = 0; k < 2 * N; k++) {
        src[k] = k / 2;
        dst[k] = (k / 2 + (k % 2 ? 1 : N - 1)) % N;
        features[k * COLS] = (gnn_real_t)k;
    }
    ck_ok(gnn_graph_from_edges(&ring, N, N, 2 * N, src, dst));
    const gnn_tensor_t rows = gnn_tensor(features, 2 * N, COLS);
    ck_ok(gnn_data_new(&data, &(gnn_data_config_t){.graph = ring, .edge_features = &rows}));
    free(features);
    forget_peak();
    const double before = (double)status_bytes("VmHWM:") / (1 << 20);
    ck_ok(gnn_data_reorder(data));
    const double growth = (double)status_bytes("VmHWM:") / (1 << 20) - before;
    printf("an array of %.0f MB on edges: %.0f MB over the set\n", array, growth);
    ck_assert_double_lt(growth, 1.5 * array);
    const gnn_tensor_t *moved = gnn_data_rows(data, GNN_ON_EDGES, "features");
    for (int64_t k = 0; k < 2 * N; k++)
        ck_assert_int_eq((int64_t)moved->data[k * COLS], gnn_data_edge_order(data)[k]);
    gnn_data_free(data);
    free(src);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("memory");
    TCase *c = tcase_create("memory");
    tcase_set_timeout(c, 300);
    tcase_add_test(c, a_gat_step_on_a_million_edges_stays_under_200_mb);
    tcase_add_test(c, a_complete_graph_of_20000_nodes_stays_under_300_mb);
    tcase_add_test(c, reordering_copies_arrays_on_edges_once);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
