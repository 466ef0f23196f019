/* Edge features of self-loops, and missing ones. With .loop_features those of stored loops become
 * the mean of their node's other incoming edges, like those of added loops, so that a GAT gives the
 * same output with and without stored loops. */
#include "layer_run.h"

enum { N = 6, M = 10, LOOPS = 3, IN = 5, EDGE_DIM = 3 };

static const int64_t src[M + LOOPS] = {1, 2, 3, 0, 4, 5, 2, 1, 0, 3, 0, 3, 5};
static const int64_t dst[M + LOOPS] = {0, 0, 0, 1, 1, 2, 3, 3, 4, 4, 0, 3, 5};

static result_t run(const gnn_layer_t *layer, gnn_context_t *context, int64_t edges,
                    const gnn_tensor_t *x, gnn_real_t *edge_features)
{
    gnn_graph_t *graph;
    gnn_tape_t *tape;
    const gnn_tensor_t e = gnn_tensor(edge_features, edges, EDGE_DIM);
    ck_ok(gnn_graph_from_edges(&graph, N, N, edges, src, dst));
    ck_ok(gnn_layer_prepare(layer, graph, GNN_ON));
    ck_ok(gnn_tape_new(&tape, context));
    result_t r = run_layer(layer, tape, graph, &(features_t){.x = x, .edge = {&e}});
    ck_ok(gnn_tape_status(tape));
    gnn_tape_free(tape);
    gnn_graph_free(graph);
    return r;
}

static void ck_near(const char *what, const gnn_real_t *a, const gnn_real_t *b, int64_t n)
{
    for (int64_t k = 0; k < n; k++)
        ck_assert_msg(fabs((double)(a[k] - b[k])) < 1e-5, "%s, number %lld: %g, %g", what,
                      (long long)k, (double)a[k], (double)b[k]);
}

/* Entries of the preset: additive scores with one value per head, and with a vector per head. */
START_TEST(stored_and_added_loops_are_equal)
{
    const gnn_layer_config_t configs[] = {
        GNN_GAT(.in = IN, .out = 4, .heads = 2, .edge_dim = EDGE_DIM),
        GNN_GATV2(.in = IN, .out = 4, .heads = 2, .edge_dim = EDGE_DIM)};
    gnn_context_t *context;
    gnn_layer_t *layer;
    gnn_real_t *features = test_reals(N * IN, 3), *edges = test_reals((M + LOOPS) * EDGE_DIM, 4);
    const gnn_tensor_t x = gnn_tensor(features, N, IN);
    ck_ok(gnn_context_new(&context, &(gnn_context_config_t){.threads = 2, .seed = 4}));
    ck_ok(gnn_layer_new(&layer, context, &configs[_i]));
    result_t without = run(layer, context, M, &x, edges),
             with = run(layer, context, M + LOOPS, &x, edges);
    ck_near("output", without.y, with.y, without.n_y);
    ck_near("gradient of features", without.dx, with.dx, without.n_x);
    ck_near("gradient of parameters", without.parameters, with.parameters, without.n_parameters);
    ck_near("gradient of edge features", without.d_edge[0], with.d_edge[0], M * EDGE_DIM);
    for (int64_t k = M * EDGE_DIM; k < (M + LOOPS) * EDGE_DIM; k++)
        ck_assert_msg(with.d_edge[0][k] == 0, "features of a loop have a gradient");
    free_result(&without);
    free_result(&with);
    gnn_layer_free(layer);
    gnn_context_free(context);
    free(features);
    free(edges);
}
END_TEST

/* Edge features that a config wants and that are not given are named as the config names them. */
START_TEST(missing_edge_features_are_named)
{
    const gnn_layer_config_t configs[] = {
        GNN_GAT(.in = IN, .out = 4, .edge_dim = EDGE_DIM),
        GNN_TRANSFORMER_CONV(.in = IN, .out = 4, .edge_dim = EDGE_DIM),
        GNN_RESGATED(.in = IN, .out = 4, .edge_dim = EDGE_DIM),
        GNN_GAT(.in = IN, .out = 4, .edge_dim = EDGE_DIM, .self_loops = GNN_OFF)};
    gnn_context_t *context;
    gnn_model_t *model;
    gnn_graph_t *graph;
    gnn_real_t *features = test_reals(N * IN, 3), rows[N * 4];
    const gnn_tensor_t x = gnn_tensor(features, N, IN), out = gnn_tensor(rows, N, 4);
    ck_ok(gnn_context_new(&context, NULL));
    ck_ok(gnn_model_new(&model, context, 1, &configs[_i]));
    ck_ok(gnn_graph_from_edges(&graph, N, N, M, src, dst));
    ck_ok(gnn_model_prepare(model, 0, graph, GNN_OFF));
    ck_fails(gnn_model_predict(model, context, graph, &x, NULL, &out), GNN_EINVALID,
             "layer 0: config field .edge_dim = 3, but no edge features are given");
    gnn_graph_free(graph);
    gnn_model_free(model);
    gnn_context_free(context);
    free(features);
}
END_TEST

/* Unused edge features, or features of an unexpected width, are named when the model is made or
 * run. */
START_TEST(edge_features_of_wrong_width_are_named)
{
    gnn_step_t step = {.layer = GNN_GAT(.in = IN, .out = 4), .edge_features = "features"};
    gnn_context_t *context;
    gnn_model_t *model = NULL;
    gnn_layer_t *layer;
    gnn_graph_t *graph;
    gnn_real_t *x = test_reals(N * IN, 3), *e = test_reals(M * 2, 4), rows[N * 4];
    const gnn_tensor_t nodes = gnn_tensor(x, N, IN), edges = gnn_tensor(e, M, 2),
                       out = gnn_tensor(rows, N, 4);
    ck_ok(gnn_context_new(&context, NULL));
    ck_ok(gnn_graph_from_edges(&graph, N, N, M, src, dst));
    ck_fails(gnn_model_from_steps(&model, context, 1, &step), GNN_EINVALID,
             "step 0: .edge_features names \"features\", but .layer.edge_dim, their count, is 0");
    for (int64_t edge_dim = 0; edge_dim < 4; edge_dim++) {
        ck_ok(gnn_layer_new(&layer, context, &GNN_GAT(.in = IN, .out = 4, .edge_dim = edge_dim)));
        ck_ok(gnn_layer_prepare(layer, graph, GNN_OFF));
        const gnn_inputs_t inputs = {.x_src = &nodes, .edge_features = &edges};
        if (edge_dim == 2)
            ck_ok(gnn_layer_forward(layer, context, graph, &inputs, &out));
        else
            ck_fails(gnn_layer_forward(layer, context, graph, &inputs, &out), GNN_ESHAPE,
                     "but 2 edge features are given");
        gnn_layer_free(layer);
    }
    gnn_graph_free(graph);
    gnn_context_free(context);
    free(x);
    free(e);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("self_loops");
    TCase *c = tcase_create("self_loops");
    tcase_add_loop_test(c, stored_and_added_loops_are_equal, 0, 2);
    tcase_add_loop_test(c, missing_edge_features_are_named, 0, 4);
    tcase_add_test(c, edge_features_of_wrong_width_are_named);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
