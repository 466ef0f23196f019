/* A golden file of the zoo whose attention weights are read from the model, too; the systems
 * themselves are entries of the gallery (test_gallery.c). */
#include "zoo_case.h"

/* ---- aggregation on given rows ---- */

static gnn_step_t hears(zoo_t *z, const char *query, const char *memory)
{
    return (gnn_step_t){.kind = GNN_STEP_AGGREGATE,
                        .query = query,
                        .key = memory,
                        .inputs = {memory},
                        .layer = {.in = zoo_cols(z, "x"), .aggregator = &gnn_aggregator_attention}};
}

/* A value by name, and its weights as an attention map. */
START_TEST(luong_weights)
{
    zoo_t z;
    if (!zoo_open(&z, "luong_dot"))
        return;
    zoo_input(&z, "x");
    zoo_input(&z, "mem");
    zoo_lengths(&z, "lengths", "lengths_mem");
    gnn_step_t attention = hears(&z, "x", "mem");
    attention.layer.scale = 1;
    attention.name = "heard";
    zoo_add(&z, attention);
    zoo_add(&z, (gnn_step_t){.kind = GNN_STEP_VIEW, .columns = 2});
    ck_ok(gnn_model_build(&z.model, z.g.context, z.steps));
    gnn_model_inputs_t inputs = {(const gnn_graph_t *const *)z.graphs, 1, z.values, 2};
    const gnn_array_t *y = golden_array(&z.g, "y"), *w = golden_array(&z.g, "weights");
    gnn_tensor_t out = gnn_tensor(golden_reals(&z.g, y->count), y->shape[0], y->shape[1]),
                 weights = gnn_tensor(golden_reals(&z.g, w->count), 1, w->count);
    ck_ok(gnn_model_value(z.model, z.g.context, &inputs, "heard", &out));
    golden_same(&z.g, "y", &out, GOLDEN_OUT);
    ck_ok(gnn_model_attention(z.model, z.g.context, &inputs, 0, NULL, weights.data));
    golden_same(&z.g, "weights", &weights, GOLDEN_OUT);
    zoo_close(&z);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("zoo_model");
    TCase *c = tcase_create("zoo_model");
    tcase_set_timeout(c, 600);
    tcase_add_test(c, luong_weights);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
