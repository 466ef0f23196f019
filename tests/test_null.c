/* NULL arguments: an error that names the function and the argument, and no crash.
 */
#include "support.h"

#include <string.h>

/* The last call failed with GNN_EINVALID and named what is missing. */
#define MISSING(call, argument)                                                                   \
    do {                                                                                          \
        ck_assert_int_eq(call, GNN_EINVALID);                                                     \
        ck_assert_msg(strstr(gnn_error_message(), argument " is NULL") != NULL, "%s says \"%s\"", \
                      #call, gnn_error_message());                                                \
    } while (0)

static gnn_context_t *context;
static gnn_graph_t *graph;
static gnn_model_t *model;
static gnn_layer_t *layer;

static void set_up(void)
{
    const int64_t lengths[] = {2};
    ck_ok(gnn_context_new(&context, NULL));
    ck_ok(gnn_graph_complete(&graph, 1, lengths));
    ck_ok(gnn_layer_new(&layer, context, &GNN_GCN(.in = 2, .out = 2)));
    ck_ok(gnn_model_new(&model, context, 1, &GNN_GCN(.in = 2, .out = 2)));
}

static void tear_down(void)
{
    gnn_model_free(model);
    gnn_layer_free(layer);
    gnn_graph_free(graph);
    gnn_context_free(context);
}

START_TEST(layers)
{
    gnn_real_t numbers[4] = {0};
    const gnn_tensor_t x = gnn_tensor(numbers, 2, 2);
    const gnn_inputs_t inputs = {.x_src = &x};
    gnn_layer_t *made = NULL;
    MISSING(gnn_layer_new(NULL, context, &GNN_GCN(.in = 2, .out = 2)), "layer");
    MISSING(gnn_layer_new(&made, NULL, &GNN_GCN(.in = 2, .out = 2)), "context");
    MISSING(gnn_layer_new(&made, context, NULL), "config");
    MISSING(gnn_model_new(NULL, context, 1, &GNN_GCN(.in = 2, .out = 2)), "gnn_model_new: model");
    MISSING(gnn_layer_forward(NULL, context, graph, &inputs, &x), "layer");
    MISSING(gnn_layer_forward(layer, NULL, graph, &inputs, &x), "context");
    MISSING(gnn_layer_forward(layer, context, NULL, &inputs, &x), "graph");
    MISSING(gnn_layer_forward(layer, context, graph, NULL, &x), "inputs");
    MISSING(gnn_layer_forward(layer, context, graph, &inputs, NULL), "out");
    MISSING(gnn_layer_prepare(layer, NULL, GNN_ON), "graph");
    ck_assert_ptr_null(made);
}
END_TEST

START_TEST(models)
{
    gnn_real_t numbers[4] = {0};
    const gnn_tensor_t x = gnn_tensor(numbers, 2, 2);
    const gnn_model_inputs_t inputs = {0};
    const gnn_step_t step = {0};
    gnn_model_t *made = NULL;
    gnn_state_t *state = NULL;
    MISSING(gnn_model_new(&made, context, 1, NULL), "layers");
    MISSING(gnn_model_new(&made, NULL, 1, &GNN_GCN(.in = 2, .out = 2)), "context");
    MISSING(gnn_model_from_steps(NULL, context, 1, &step), "model");
    MISSING(gnn_model_from_steps(&made, context, 1, NULL), "steps");
    MISSING(gnn_model_prepare(NULL, 0, graph, GNN_ON), "model");
    MISSING(gnn_model_prepare(model, 0, NULL, GNN_ON), "graph");
    MISSING(gnn_model_forward(model, context, NULL, &x), "inputs");
    MISSING(gnn_model_forward(model, NULL, &inputs, &x), "context");
    MISSING(gnn_model_forward(model, context, &inputs, NULL), "out");
    MISSING(gnn_model_value(model, context, &inputs, NULL, &x), "name");
    MISSING(gnn_model_graphs(NULL, &(gnn_slot_sources_t){0}, GNN_OFF, &graph), "model");
    MISSING(gnn_model_graphs(model, NULL, GNN_OFF, &graph), "sources");
    MISSING(gnn_model_graphs(model, &(gnn_slot_sources_t){0}, GNN_OFF, NULL), "graphs");
    ck_assert_ptr_null(gnn_model_slot(NULL, 0, NULL, NULL));
    MISSING(gnn_model_save(NULL, "none"), "model");
    MISSING(gnn_model_save(model, NULL), "path");
    MISSING(gnn_state_new(&state, model, context, NULL), "config");
    MISSING(gnn_train(NULL, context, NULL, NULL, NULL), "model");
    MISSING(gnn_predict(model, context, NULL, &x), "data");
    MISSING(gnn_graph_prepare(NULL, &(gnn_view_t){0}), "graph");
    ck_assert_ptr_null(made);
}
END_TEST

START_TEST(tapes)
{
    gnn_tape_t *tape = NULL;
    gnn_parameters_t *parameters = NULL;
    gnn_real_t number = 1;
    const gnn_tensor_t x = gnn_tensor(&number, 1, 1);
    MISSING(gnn_context_new(NULL, NULL), "context");
    MISSING(gnn_tape_new(NULL, context), "tape");
    MISSING(gnn_tape_new(&tape, NULL), "context");
    MISSING(gnn_tape_forward(NULL), "tape");
    MISSING(gnn_tape_backward(NULL, 0, NULL), "tape");
    gnn_tape_reset(NULL, 1, 1);
    ck_assert_int_eq(gnn_tape_input(NULL, &x, 0), GNN_NONE);
    ck_ok(gnn_tape_new(&tape, context));
    ck_assert_int_eq(gnn_tape_input(tape, NULL, 0), GNN_NONE);
    MISSING(gnn_tape_forward(tape), "x");
    gnn_tape_reset(tape, 0, 0);
    ck_assert_int_eq(gnn_tape_parameter(tape, NULL, 0), GNN_NONE);
    MISSING(gnn_tape_forward(tape), "parameters");
    gnn_tape_free(tape);
    MISSING(gnn_parameters_new(NULL), "parameters");
    ck_ok(gnn_parameters_new(&parameters));
    MISSING(gnn_parameters_add(parameters, NULL, 1, 1, GNN_INIT_ZEROS, 0, 0, 0, NULL), "name");
    MISSING(gnn_clip_gradients(NULL, 1, NULL), "parameters");
    MISSING(gnn_optimizer_step(NULL, 1), "optimizer");
    gnn_parameters_free(parameters);
}
END_TEST

START_TEST(metrics)
{
    gnn_real_t number = 1;
    const int32_t label = 0;
    const gnn_tensor_t x = gnn_tensor(&number, 1, 1);
    ck_assert_double_nan(gnn_metric(GNN_METRIC_ACCURACY, NULL, &label, NULL));
    ck_assert_double_nan(gnn_metric(GNN_METRIC_ACCURACY, &x, NULL, NULL));
    ck_assert_double_nan(gnn_metric(GNN_METRIC_MACRO_F1, NULL, &label, NULL));
    ck_assert_double_nan(gnn_metric(GNN_METRIC_ROC_AUC, &x, NULL, NULL));
    ck_assert_int_eq(gnn_preset_find(NULL), GNN_PRESET_NONE);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("null");
    TCase *c = tcase_create("null");
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_add_test(c, layers);
    tcase_add_test(c, models);
    tcase_add_test(c, tapes);
    tcase_add_test(c, metrics);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
