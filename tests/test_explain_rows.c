/* Explanations of graphs and edges, of sparse features, and their errors. */
#include "explain_bed.h"

/* A readout makes one row of the graph: the whole graph is run, edges of the first slot are
 * explained, weights that are normalised stay as they are under the mask. */
START_TEST(a_graph_is_explained)
{
    bed_t b;
    open(&b, 2, gcn);
    gnn_model_free(b.model);
    const gnn_step_t steps[] = {
        {.layer = {.preset = GNN_PRESET_GCN, .in = WIDE, .out = 4, .activation = GNN_TANH},
         .edge_weight = "w"},
        {.kind = GNN_STEP_AGGREGATE,
         .graph = 1,
         .layer = {.aggregator = &gnn_aggregator_mean, .in = 4}},
        {.kind = GNN_STEP_LINEAR, .in = 4, .out = 1}};
    ck_ok(gnn_model_from_steps(&b.model, b.context, 3, steps));
    gnn_graph_t *readout;
    ck_ok(gnn_graph_bipartite(&readout, 1, (const int64_t[]){1}, (const int64_t[]){NODES}));
    ck_ok(gnn_model_prepare(b.model, 0, b.graph, GNN_ON));
    ck_ok(gnn_model_prepare(b.model, 1, readout, GNN_ON));
    const gnn_graph_t *graphs[] = {b.graph, readout};
    gnn_real_t w[EDGES];
    for (int e = 0; e < EDGES; e++)
        w[e] = (gnn_real_t)(0.5 + 0.1 * e);
    const gnn_tensor_t weight = gnn_tensor(w, EDGES, 1);
    const gnn_named_t values[] = {b.value, {.name = "w", .dense = &weight}};
    b.inputs = (gnn_model_inputs_t){graphs, 2, values, 2};
    gnn_explanation_t *why =
        explained(&b, 0, &(gnn_explain_config_t){.method = "integrated_gradients", .steps = 500});
    double edges = 0;
    for (int e = 0; e < EDGES; e++)
        edges += (double)why->edges.data[e];
    ck_assert(why->hops == -1 && why->n_nodes == NODES && why->probability >= 0.5);
    ck_assert(why->output == (why->logits.data[0] > 0));
    ck_assert_double_eq_tol(edges, why->value - why->value_without_edges, 1e-3);
    ck_assert(fabs(edges) > 1e-4);
    gnn_explanation_t *learned = explained(&b, 0, &(gnn_explain_config_t){.epochs = 20});
    gnn_fidelity_t f;
    ck_ok(gnn_explain_fidelity(b.model, b.context, &b.inputs, learned, NULL, &f));
    ck_assert(f.sparsity > 0 && f.sparsity < 1);
    gnn_explanation_free(why);
    gnn_explanation_free(learned);
    gnn_graph_free(readout);
    close(&b);
}
END_TEST

/* An output with a row for each edge: an edge is explained. */
START_TEST(an_edge_is_explained)
{
    bed_t b;
    open(&b, 2, gcn);
    gnn_model_free(b.model);
    const gnn_step_t steps[] = {
        {.name = "h", .layer = {.preset = GNN_PRESET_GCN, .in = WIDE, .out = 4}},
        {.name = "ends", .kind = GNN_STEP_EDGE_ROWS, .side = GNN_SIDE_SENDERS},
        {.name = "heads", .kind = GNN_STEP_EDGE_ROWS, .side = GNN_SIDE_RECEIVERS, .inputs = {"h"}},
        {.kind = GNN_STEP_CONCAT, .inputs = {"ends", "heads"}},
        {.kind = GNN_STEP_LINEAR, .in = 8, .out = 2}};
    ck_ok(gnn_model_from_steps(&b.model, b.context, 5, steps));
    ck_ok(gnn_model_prepare(b.model, 0, b.graph, GNN_ON));
    ck_ok(gnn_graph_prepare(b.graph, &(gnn_view_t){.backward = GNN_ON}));
    gnn_explanation_t *why = explained(&b, 7, &(gnn_explain_config_t){.method = "saliency"});
    /* edge 7 goes from 5 to 3: the incoming edges of these two only */
    for (int e = 0; e < EDGES; e++)
        ck_assert((why->edges.data[e] > 0) == (to[e] == 5 || to[e] == 3));
    gnn_explanation_free(why);
    close(&b);
}
END_TEST

START_TEST(sparse_features_and_common_masks)
{
    static const int64_t indptr[NODES + 1] = {0, 1, 2, 3, 3, 4, 5, 6};
    static const int32_t indices[] = {0, 1, 2, 0, 1, 2};
    const gnn_sparse_t sparse = {.rows = NODES, .cols = WIDE, .indptr = indptr, .indices = indices};
    bed_t b;
    open(&b, 2, gcn);
    b.value = (gnn_named_t){.name = "x", .sparse = &sparse};
    gnn_explanation_t *why =
        explained(&b, 0, &(gnn_explain_config_t){.features = GNN_EXPLAIN_COMMON, .epochs = 5});
    ck_assert(why->features.rows == 1 && why->features.cols == WIDE);
    for (int c = 0; c < WIDE; c++)
        ck_assert(why->features.data[c] > 0 && why->features.data[c] < 1);
    gnn_explanation_free(why);
    why = explained(&b, 0, &(gnn_explain_config_t){.features = GNN_EXPLAIN_EACH, .epochs = 5});
    for (int64_t k = 0; k < why->n_nodes; k++)
        for (int c = 0; c < WIDE; c++) {
            const int64_t r = why->nodes[k];
            const bool there = indptr[r + 1] > indptr[r] && indices[indptr[r]] == c;
            ck_assert(there == (why->features.data[k * WIDE + c] > 0));
        }
    gnn_explanation_free(why);
    close(&b);
}
END_TEST

START_TEST(errors_name_the_fault)
{
    gnn_explanation_t *why = (gnn_explanation_t *)1;
    gnn_fidelity_t f;
    bed_t b;
    open(&b, 2, gcn);
#define FAILS(row, code, words, ...)                               \
    ck_fails(gnn_explain(&why, b.model, b.context, &b.inputs, row, \
                         &(gnn_explain_config_t){__VA_ARGS__}),    \
             code, words)
    FAILS(NODES, GNN_EINVALID, "row to explain: got 7, the output has 7", .slot = 0);
    FAILS(-1, GNN_EINVALID, "got -1", .slot = 0);
    FAILS(0, GNN_ENOTFOUND, "gnn_explainer, integrated_gradients", .method = "guess");
    FAILS(0, GNN_EUNSUPPORTED, "no step of the model attends", .method = "attention");
    FAILS(0, GNN_ENOTFOUND, "no real-valued input \"y\"", .input = "y");
    FAILS(0, GNN_EINVALID, "output to explain: expected 1 to 3, or 0, got 4", .output = 4);
    FAILS(0, GNN_EINVALID, "slot to explain: got 1", .slot = 1);
    FAILS(0, GNN_EINVALID, "epochs: expected 1 to 1000000, got -3", .epochs = -3);
    FAILS(0, GNN_EINVALID, "steps: expected", .method = "integrated_gradients", .steps = 2000000);
    FAILS(0, GNN_EINVALID, "lr: expected", .lr = -1);
    FAILS(0, GNN_EINVALID, "loss: expected 0 to 2, got 9", .loss = (gnn_loss_kind_t)9);
    ck_assert_ptr_null(why);
    ck_fails(gnn_explain(NULL, b.model, b.context, &b.inputs, 0, NULL), GNN_EINVALID,
             "explanation is NULL");
    ck_fails(gnn_explain(&why, NULL, b.context, &b.inputs, 0, NULL), GNN_EINVALID, "model is NULL");
    ck_fails(gnn_explain(&why, b.model, NULL, &b.inputs, 0, NULL), GNN_EINVALID, "context is NULL");
    ck_fails(gnn_explain(&why, b.model, b.context, NULL, 0, NULL), GNN_EINVALID, "inputs is NULL");
    why = explained(&b, 0, &(gnn_explain_config_t){.method = "occlusion"});
    ck_fails(gnn_explain_fidelity(b.model, b.context, &b.inputs, NULL, NULL, &f), GNN_EINVALID,
             "explanation is NULL");
    ck_fails(gnn_explain_fidelity(b.model, b.context, &b.inputs, why, NULL, NULL), GNN_EINVALID,
             "fidelity is NULL");
    ck_fails(gnn_explain_fidelity(b.model, b.context, &b.inputs, why,
                                  &(gnn_fidelity_config_t){.edges = -2}, &f),
             GNN_EINVALID, "expected counts of edges and features >= -1, got -2 and 0");
    why->row = 3;
    ck_fails(gnn_explain_fidelity(b.model, b.context, &b.inputs, why,
                                  &(gnn_fidelity_config_t){.edges = 1}, &f),
             GNN_EINVALID, "expected the explained inputs");
    gnn_explanation_free(why);
    gnn_explanation_free(NULL);
    ck_assert_str_eq(gnn_explain_method_at(0)->name, "gnn_explainer");
    ck_assert_ptr_null(gnn_explain_method_at(5));
    close(&b);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("explain_rows");
    TCase *t = tcase_create("rows");
    tcase_add_test(t, a_graph_is_explained);
    tcase_add_test(t, an_edge_is_explained);
    tcase_add_test(t, sparse_features_and_common_masks);
    tcase_add_test(t, errors_name_the_fault);
    tcase_set_timeout(t, 60);
    suite_add_tcase(suite, t);
    return test_main(suite);
}
