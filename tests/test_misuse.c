/* Wrong use: code and message, one test per class. */
#include "support.h"

#include <lib/base/base.h>
#include <lib/model/steps.h>

static gnn_context_t *context;

static void set_up(void)
{
    ck_ok(gnn_context_new(&context, &(gnn_context_config_t){.threads = 1}));
}

static void tear_down(void)
{
    gnn_context_free(context);
}

static gnn_graph_t *triangle(void)
{
    gnn_graph_t *g;
    ck_ok(gnn_graph_from_edges(&g, 3, 3, 3, ((int64_t[]){0, 1, 2}), ((int64_t[]){1, 2, 0})));
    return g;
}

START_TEST(shapes_that_do_not_agree)
{
    gnn_layer_t *layer;
    gnn_graph_t *g = triangle();
    gnn_real_t x[3 * 32] = {0}, y[3 * 8];
    gnn_tensor_t wide = gnn_tensor(x, 3, 32), short_x = gnn_tensor(x, 2, 64 / 2),
                 out = gnn_tensor(y, 3, 8), narrow_out = gnn_tensor(y, 3, 7);
    ck_ok(gnn_layer_new(&layer, context, &GNN_GCN(.in = 64, .out = 8)));
    ck_ok(gnn_layer_prepare(layer, g, GNN_OFF));
    ck_fails(gnn_layer_forward(layer, context, g, &(gnn_inputs_t){.x_src = &wide}, &out),
             GNN_ESHAPE, "expects 64 input features, the tensor has 32");
    gnn_layer_free(layer);
    ck_ok(gnn_layer_new(&layer, context, &GNN_GCN(.in = 32, .out = 8)));
    ck_fails(gnn_layer_forward(layer, context, g, &(gnn_inputs_t){.x_src = &short_x}, &out),
             GNN_ESHAPE, "the graph has 3 senders, the tensor 2 rows");
    ck_fails(gnn_layer_forward(layer, context, g, &(gnn_inputs_t){.x_src = &wide}, &narrow_out),
             GNN_ESHAPE, "memory of an output: expected 3 x 8, got 3 x 7");
    ck_fails(gnn_layer_forward(layer, context, g, &(gnn_inputs_t){0}, &out), GNN_EINVALID,
             "either .x_src or .x_sparse, got neither");
    gnn_layer_free(layer);
    gnn_graph_free(g);
}
END_TEST

START_TEST(a_model_names_the_layer)
{
    gnn_model_t *model;
    gnn_graph_t *g = triangle();
    gnn_real_t x[3 * 5] = {0}, y[3 * 2];
    gnn_tensor_t in = gnn_tensor(x, 3, 5), out = gnn_tensor(y, 3, 2);
    ck_fails(gnn_model_new(&model, context, 3,
                           (gnn_layer_config_t[]){GNN_SAGE(.in = 5, .out = 4),
                                                  GNN_SAGE(.in = 4, .out = 32),
                                                  GNN_SAGE(.in = 64, .out = 2)}),
             GNN_ESHAPE, "layer 2 expects 64 input features, layer 1 puts out 32");
    ck_fails(gnn_model_new(&model, context, 2,
                           (gnn_layer_config_t[]){GNN_GAT(.in = 5, .out = 8, .heads = 8),
                                                  GNN_GAT(.in = 8, .out = 2)}),
             GNN_ESHAPE, "layer 1 expects 8 input features, layer 0 puts out 64 (8 heads of 8)");
    ck_ok(gnn_model_new(&model, context, 1, &GNN_SAGE(.in = 6, .out = 2)));
    ck_ok(gnn_model_prepare(model, 0, g, GNN_OFF));
    ck_fails(gnn_model_predict(model, context, g, &in, NULL, &out), GNN_ESHAPE,
             "layer 0 expects 6 input features, the tensor has 5");
    gnn_model_free(model);
    gnn_graph_free(g);
    ck_fails(gnn_model_new(&model, context, 2,
                           (gnn_layer_config_t[]){GNN_SAGE(.in = 5, .out = 4),
                                                  GNN_GAT(.in = 4, .out = 8, .heads = -3)}),
             GNN_EINVALID, "layer 1: config field .heads = -3 lies outside 0..65536");
    ck_fails(gnn_model_new(&model, context, 0, NULL), GNN_EINVALID,
             "a model has 0 steps, expected at least 1");
}
END_TEST

START_TEST(steps_that_do_not_fit)
{
    gnn_model_t *model;
    gnn_graph_t *g = triangle();
    const gnn_graph_t *graphs[] = {g};
    gnn_real_t x[3 * 4] = {0}, y[3 * 4];
    gnn_tensor_t in = gnn_tensor(x, 3, 4), out = gnn_tensor(y, 3, 4), t;
    gnn_named_t value = {.name = "x", .dense = &in};
    gnn_model_inputs_t inputs = {graphs, 1, &value, 1};
    ck_fails(gnn_model_from_steps(&model, context, 2,
                                  (gnn_step_t[]){{.name = "a", .layer = GNN_GCN(.in = 4)},
                                                 {.name = "a", .layer = GNN_GCN(.in = 4)}}),
             GNN_EINVALID, "two steps have the name a");
    ck_fails(gnn_model_from_steps(&model, context, 1,
                                  (gnn_step_t[]){{.kind = GNN_STEP_LINEAR, .name = "top", .in = 4}}),
             GNN_EINVALID, "step top: .in = 4 and .out = 0");
    gnn_step_t twice[] = {
        {.name = "a", .layer = GNN_TRANSFORMER_CONV(.in = 4)},
        {.layer = GNN_TRANSFORMER_CONV(.in = 4), .share = "a", .share_fields = "value"}};
    ck_fails(gnn_model_from_steps(&model, context, 2, twice), GNN_EUNSUPPORTED,
             "\"value\" would share a part of source.weight");
    twice[1].share_fields = "vlaue";
    ck_fails(gnn_model_from_steps(&model, context, 2, twice), GNN_ENOTFOUND,
             "no field to share begins with \"vlaue\"");
    twice[1].share_fields = "query";
    ck_ok(gnn_model_from_steps(&model, context, 2, twice));
    ck_fails(gnn_model_field(model, "1.query.weight", &t, NULL), GNN_ENOTFOUND, "1.query.weight");
    ck_ok(gnn_model_field(model, "1.value.weight", &t, NULL));
    gnn_model_free(model);
    ck_fails(gnn_model_from_steps(&model, context, 1,
                                  (gnn_step_t[]){{.layer = GNN_GCN(.in = 4), .share = "nobody"}}),
             GNN_ENOTFOUND, "no earlier layer step nobody");
    ck_ok(gnn_model_from_steps(
        &model, context, 1,
        (gnn_step_t[]){{.name = "hop", .layer = GNN_GCN(.in = 4), .inputs = {"memory"}}}));
    ck_fails(gnn_model_forward(model, context, &inputs, &out), GNN_ENOTFOUND,
             "step hop reads \"memory\": no input and no earlier step");
    gnn_model_free(model);
    ck_ok(gnn_model_from_steps(
        &model, context, 1, (gnn_step_t[]){{.name = "hop", .layer = GNN_GCN(.in = 4), .graph = 2}}));
    ck_fails(gnn_model_forward(model, context, &inputs, &out), GNN_EINVALID,
             "step hop runs on graph slot 2, but 1 graphs were given");
    gnn_model_free(model);
    ck_ok(gnn_model_new(&model, context, 1, &GNN_GCN(.in = 4)));
    ck_fails(gnn_model_predict(model, context, NULL, &in, NULL, &out), GNN_EINVALID,
             "layer 0 runs on graph slot 0, whose graph is NULL");
    gnn_model_free(model);
    gnn_graph_free(g);
}
END_TEST

/* The only step of a model has a field that its kind does not read. */
static void refuses_unread(gnn_step_t step, const char *words)
{
    gnn_model_t *model = NULL;
    char expected[120];
    step.name = "odd";
    snprintf(expected, sizeof expected, "step odd: a step of kind %s reads no .%s",
             gnn__step_kind_name(step.kind), words);
    ck_fails(gnn_model_from_steps(&model, context, 1, &step), GNN_EINVALID, expected);
    ck_assert_ptr_null(model);
}

START_TEST(fields_that_a_step_does_not_read)
{
    const gnn_op_t *op = &gnn_op_log;
    gnn_model_t *model;
    refuses_unread((gnn_step_t){.kind = GNN_STEP_DROPOUT, .layer.heads = 4}, "layer.heads");
    refuses_unread((gnn_step_t){.kind = GNN_STEP_DROPOUT, .in = 4}, "in");
    refuses_unread((gnn_step_t){.kind = GNN_STEP_DROPOUT, .inputs = {NULL, "y"}}, "inputs[1]");
    refuses_unread((gnn_step_t){.kind = GNN_STEP_DROPOUT, .graph = 1}, "graph");
    refuses_unread((gnn_step_t){.kind = GNN_STEP_LINEAR, .in = 4, .out = 4, .rate = (gnn_real_t)0.5},
                   "rate");
    refuses_unread((gnn_step_t){.layer = GNN_GCN(.in = 4), .out = 4}, "out");
    refuses_unread((gnn_step_t){.layer = GNN_GCN(.in = 4), .query = "x"}, "query");
    refuses_unread((gnn_step_t){.kind = GNN_STEP_SCALE, .share = "a"}, "share");
    refuses_unread((gnn_step_t){.kind = GNN_STEP_PARAMETER, .rows = 1, .out = 4, .op = op}, "op");
    refuses_unread((gnn_step_t){.kind = GNN_STEP_VIEW, .options = {0, 0, 0, 1}}, "options");
    refuses_unread((gnn_step_t){.kind = GNN_STEP_AGGREGATE, .layer = {.in = 4, .hidden = 8}},
                   "layer.hidden");
    ck_fails(gnn_model_from_steps(
                 &model, context, 2,
                 (gnn_step_t[]){{.kind = GNN_STEP_DETACH}, {.kind = GNN_STEP_DETACH, .eps = 1}}),
             GNN_EINVALID, "step 1: a step of kind detach reads no .eps");
}
END_TEST

/* The steps of a model make a model again: resolved configs hold all fields. */
START_TEST(steps_of_a_model_make_another)
{
    const gnn_step_t steps[] = {
        {.kind = GNN_STEP_AGGREGATE, .layer = {.in = 4, .aggregator = &gnn_aggregator_mean}},
        {.layer = GNN_GAT(.in = 4, .out = 2, .heads = 2)}};
    gnn_step_t told[2];
    gnn_model_t *first, *second;
    ck_ok(gnn_model_from_steps(&first, context, 2, steps));
    for (int k = 0; k < 2; k++)
        told[k] = *gnn_model_step(first, k);
    ck_assert_int_eq(told[0].layer.bias_out, GNN_ON);
    ck_ok(gnn_model_from_steps(&second, context, 2, told));
    gnn_model_free(second);
    told[0].layer.bias_out = GNN_OFF;
    ck_fails(gnn_model_from_steps(&second, context, 2, told), GNN_EINVALID,
             "step 0: a step of kind aggregate reads no .layer.bias_out");
    gnn_model_free(first);
}
END_TEST

START_TEST(unprepared_graphs)
{
    gnn_layer_t *gcn, *gat;
    gnn_graph_t *g = triangle();
    gnn_real_t x[3 * 4] = {0}, y[3 * 4];
    gnn_tensor_t in = gnn_tensor(x, 3, 4), out = gnn_tensor(y, 3, 4);
    ck_ok(gnn_layer_new(&gcn, context, &GNN_GCN(.in = 4)));
    ck_fails(gnn_layer_forward(gcn, context, g, &(gnn_inputs_t){.x_src = &in}, &out),
             GNN_EUNPREPARED, "self-loops");
    ck_assert_msg(strstr(gnn_error_message(), "symmetric") &&
                      strstr(gnn_error_message(), "gnn_graph_prepare"),
                  "%s", gnn_error_message());
    ck_ok(gnn_layer_new(&gat, context, &GNN_GAT(.in = 4)));
    ck_fails(gnn_layer_forward(gat, context, g, &(gnn_inputs_t){.x_src = &in}, &out),
             GNN_EUNPREPARED, "self-loops");
    ck_ok(gnn_layer_prepare(gat, g, GNN_OFF));
    ck_ok(gnn_layer_forward(gat, context, g, &(gnn_inputs_t){.x_src = &in}, &out));
    ck_fails(gnn_layer_forward(gcn, context, g, &(gnn_inputs_t){.x_src = &in}, &out),
             GNN_EUNPREPARED, "symmetric");
    gnn_layer_free(gcn);
    gnn_layer_free(gat);
    gnn_graph_free(g);
}
END_TEST

START_TEST(training_needs_the_transpose)
{
    gnn_layer_t *layer;
    gnn_graph_t *g = triangle();
    gnn_tape_t *tape;
    gnn_real_t x[3 * 4] = {0};
    gnn_tensor_t in = gnn_tensor(x, 3, 4);
    ck_ok(gnn_tape_new(&tape, context));
    ck_ok(gnn_layer_new(&layer, context, &GNN_TRANSFORMER(.in = 4, .heads = 2)));
    gnn_tape_reset(tape, 1, 1);
    gnn_layer_record(
        layer, tape, g,
        &(gnn_layer_vars_t){GNN_NONE, gnn_tape_input(tape, &in, 0), GNN_NONE, GNN_NONE, GNN_NONE});
    ck_fails(gnn_tape_forward(tape), GNN_EUNPREPARED, "transpose");
    gnn_layer_free(layer);
    gnn_tape_free(tape);
    gnn_graph_free(g);
}
END_TEST

START_TEST(heads_that_do_not_divide)
{
    gnn_layer_t *layer;
    ck_fails(gnn_layer_new(&layer, context, &GNN_TRANSFORMER(.in = 64, .heads = 12)), GNN_ESHAPE,
             "12 heads do not divide 64 output features");
    ck_fails(gnn_layer_new(&layer, context, &GNN_TRANSFORMER(.in = 64, .heads = 8, .key_heads = 3)),
             GNN_ESHAPE, "8 heads cannot share 3 key heads");
    ck_fails(gnn_layer_new(&layer, context, &GNN_GCN(.in = 64, .heads = 2)), GNN_EINVALID,
             ".heads = 2 needs an attention aggregator; sum has no heads");
    ck_fails(gnn_layer_new(&layer, context, &GNN_GAT(.in = 64, .heads = 4, .key_heads = 2)),
             GNN_EUNSUPPORTED, "one key per head");
}
END_TEST

/* Every head count divides 0 columns: no loop over heads may run. */
START_TEST(heads_without_columns)
{
    gnn_tape_t *tape;
    gnn_graph_t *g = triangle();
    gnn_real_t none[1];
    const gnn_tensor_t empty = gnn_tensor(none, 3, 0);
    gnn_aggregate_t how = {.aggregator = &gnn_aggregator_attention,
                           .message = gnn_message_find("linear"),
                           .graph = g,
                           .shape = {.heads = INT32_MAX, .key_heads = 1, .value_heads = 1}};
    gnn_var_t in[GNN_AGGREGATE_INPUTS];
    ck_ok(gnn_tape_new(&tape, context));
    gnn_tape_reset(tape, 0, 0);
    gnn_tape_head_mean(tape, gnn_tape_input(tape, &empty, 0), INT64_MAX);
    ck_fails(gnn_tape_status(tape), GNN_ESHAPE, "head_mean: 0 columns do not divide");
    gnn_tape_reset(tape, 0, 0);
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++)
        in[k] = GNN_NONE;
    in[GNN_AGGREGATE_SRC_MESSAGE] = in[GNN_AGGREGATE_QUERY] = in[GNN_AGGREGATE_KEY] =
        gnn_tape_input(tape, &empty, 0);
    gnn_tape_aggregate(tape, &how, in);
    ck_fails(gnn_tape_status(tape), GNN_ESHAPE,
             "messages of width 0 cannot be split into 2147483647 heads");
    gnn_tape_reset(tape, 0, 0);
    how.shape = (gnn_aggregate_shape_t){.d_k = INT64_MAX};
    in[GNN_AGGREGATE_SRC_MESSAGE] = in[GNN_AGGREGATE_QUERY] = in[GNN_AGGREGATE_KEY] =
        gnn_tape_input(tape, &empty, 0);
    gnn_tape_aggregate(tape, &how, in);
    ck_fails(gnn_tape_status(tape), GNN_EINVALID, "heads and widths lie in 0..2147483647");
    gnn_tape_free(tape);
    gnn_graph_free(g);
}
END_TEST

START_TEST(unknown_options)
{
    gnn_layer_t *layer;
    gnn_graph_t *g;
    int64_t n = 4;
    ck_assert_ptr_null(gnn_aggregator_find("summ"));
    ck_assert_ptr_null(gnn_message_find(""));
    ck_assert_ptr_null(gnn_topology_find("circle"));
    ck_assert_int_eq(gnn_preset_find("resnet"), GNN_PRESET_NONE);
    ck_fails(gnn_topology_find("window")->build(&g, 1, &n, "widht=3"), GNN_EINVALID, "widht");
    ck_fails(gnn_layer_new(&layer, context, &GNN_GCN(.in = 4, .activation = (gnn_activation_t)77)),
             GNN_EINVALID, ".activation = 77");
    ck_fails(gnn_layer_new(&layer, context, &GNN_GCN(.in = 4, .dropout = 1)), GNN_EINVALID,
             ".dropout = 1 lies outside [0, 1)");
    ck_fails(gnn_layer_new(&layer, context, &GNN_GCN(.in = 4, .dropout_in = (gnn_real_t)NAN)),
             GNN_EINVALID, ".dropout_in");
    ck_fails(gnn_layer_new(&layer, context, &GNN_GCN(.out = 4)), GNN_EINVALID, ".in = 0");
    ck_fails(gnn_layer_new(&layer, context, &GNN_GCN(.in = 4, .edge_dim = 2)), GNN_EUNSUPPORTED,
             ".edge_dim = 2");
    ck_fails(gnn_layer_new(&layer, context, &GNN_GCN(.in = 4, .out = 8, .residual = GNN_ON)),
             GNN_ESHAPE, "a residual adds x_i (4 features) to 8");
    ck_fails(gnn_layer_new(&layer, context,
                           &GNN_TRANSFORMER_CONV(.in = 4, .heads = 4, .key_heads = 2,
                                                 .share_weights = GNN_ON)),
             GNN_ESHAPE, "shared weights need 4 keys, got .key_heads = 2");
    ck_fails(
        gnn_layer_new(&layer, context,
                      &GNN_TRANSFORMER_CONV(.in = 4, .heads = 2, .d_k = 3, .d_v = 5, .edge_dim = 2)),
        GNN_ESHAPE, "edge features are projected once for messages (10 columns) and keys (6)");
    ck_fails(gnn_layer_new(&layer, context, &GNN_GATED_GRAPH(.in = 4, .out = 8)), GNN_ESHAPE,
             "update gru keeps its state's width");
}
END_TEST

/* Unknown parameters, and missing operands. */
START_TEST(missing_operands)
{
    gnn_tape_t *tape;
    gnn_layer_t *layer;
    ck_ok(gnn_tape_new(&tape, context));
    ck_ok(gnn_layer_new(&layer, context, &GNN_GCN(.in = 4)));
    gnn_parameters_t *parameters = gnn_layer_parameters(layer);
    ck_assert_ptr_null(gnn_parameters_name(parameters, -1));
    ck_assert_ptr_null(gnn_parameters_value(parameters, 99).data);
    ck_assert_ptr_null(gnn_parameters_gradient(parameters, 99).data);
    gnn_tape_reset(tape, 0, 0);
    gnn_tape_parameter(tape, parameters, gnn_parameters_find(parameters, "nobody"));
    ck_fails(gnn_tape_status(tape), GNN_EINVALID, "there is no parameter -1");
    gnn_tape_reset(tape, 0, 0);
    gnn_tape_add(tape, gnn_tape_parameter(tape, parameters, 0), GNN_NONE, 1);
    ck_fails(gnn_tape_status(tape), GNN_EINVALID, "add: input 1 is missing");
    gnn_tape_reset(tape, 0, 0);
    gnn_tape_concat(tape, NULL, 0);
    ck_assert_int_ne(gnn_tape_status(tape), GNN_OK);
    gnn_tape_free(tape);
    gnn_layer_free(layer);
}
END_TEST

START_TEST(missing_graphs)
{
    gnn_graph_t *g;
    ck_fails(gnn_graph_from_csr(&g, 3, 3, ((int64_t[]){0, 2, 1, 3}), ((int32_t[]){0, 1, 2})),
             GNN_ETOPOLOGY, "indptr[2] = 1");
    ck_fails(gnn_graph_from_csr(&g, 2, 2, ((int64_t[]){1, 1, 2}), ((int32_t[]){0, 1})),
             GNN_ETOPOLOGY, "indptr[0] = 1");
    ck_fails(gnn_graph_from_csr(&g, 2, 2, ((int64_t[]){0, 1, 2}), ((int32_t[]){0, 2})),
             GNN_ETOPOLOGY, "indices[1] = 2");
    ck_fails(gnn_graph_from_csr(&g, 2, 2, ((int64_t[]){0, 1, 2}), ((int32_t[]){-1, 1})),
             GNN_ETOPOLOGY, "indices[0] = -1");
    ck_fails(gnn_graph_from_edges(&g, 2, 2, 1, ((int64_t[]){5}), ((int64_t[]){0})), GNN_ETOPOLOGY,
             "5");
    ck_fails(gnn_graph_from_spans(&g, 2, 2, NULL, NULL, ((int32_t[]){1, 0}), ((int32_t[]){2, 2})),
             GNN_ETOPOLOGY, "lo");
    ck_fails(gnn_graph_complete(&g, 1, (int64_t[]){-2}), GNN_EINVALID, "-2");
}
END_TEST

START_TEST(edge_inputs_on_spans)
{
    gnn_layer_t *layer;
    gnn_graph_t *g;
    int64_t n = 3;
    gnn_real_t x[3 * 4] = {0}, y[3 * 4], w[9] = {0};
    gnn_tensor_t in = gnn_tensor(x, 3, 4), out = gnn_tensor(y, 3, 4), weight = gnn_tensor(w, 9, 1);
    ck_ok(gnn_graph_complete(&g, 1, &n));
    ck_ok(gnn_layer_new(&layer, context, &GNN_TRANSFORMER_CONV(.in = 4)));
    ck_fails(gnn_layer_forward(layer, context, g,
                               &(gnn_inputs_t){.x_src = &in, .edge_weight = &weight}, &out),
             GNN_EUNSUPPORTED, "part 0");
    gnn_layer_free(layer);
    gnn_graph_free(g);
}
END_TEST

START_TEST(non_finite_features)
{
    gnn_real_t x[6] = {1, 2, 3, 4, (gnn_real_t)NAN, 6};
    gnn_tensor_t t = gnn_tensor(x, 2, 3);
    const int64_t indptr[] = {0, 1, 2};
    const int32_t indices[] = {0, 2};
    gnn_sparse_t s = {2, 3, indptr, indices, x + 3};
    ck_fails(gnn__tensor_check_finite(&t, "features"), GNN_ENUMERIC, "features");
    ck_assert_msg(strstr(gnn_error_message(), "row 1") && strstr(gnn_error_message(), "column 1"),
                  "%s", gnn_error_message());
    ck_fails(gnn__sparse_validate(&s, "bag of words"), GNN_ENUMERIC, "bag of words");
}
END_TEST

START_TEST(attention_needs_attention_layers)
{
    gnn_layer_t *layer;
    gnn_graph_t *g = triangle();
    gnn_real_t x[12] = {0}, w[3];
    gnn_tensor_t in = gnn_tensor(x, 3, 4), out = gnn_tensor(w, 3, 1);
    ck_ok(gnn_layer_new(&layer, context, &GNN_SAGE(.in = 4)));
    ck_fails(gnn_layer_attention(layer, context, g, &(gnn_inputs_t){.x_src = &in}, &out, NULL),
             GNN_EUNSUPPORTED, "mean computes no attention weights");
    gnn_layer_free(layer);
    gnn_graph_free(g);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("misuse");
    TCase *c = tcase_create("misuse");
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_add_test(c, shapes_that_do_not_agree);
    tcase_add_test(c, a_model_names_the_layer);
    tcase_add_test(c, steps_that_do_not_fit);
    tcase_add_test(c, fields_that_a_step_does_not_read);
    tcase_add_test(c, steps_of_a_model_make_another);
    tcase_add_test(c, unprepared_graphs);
    tcase_add_test(c, training_needs_the_transpose);
    tcase_add_test(c, heads_that_do_not_divide);
    tcase_add_test(c, heads_without_columns);
    tcase_add_test(c, unknown_options);
    tcase_add_test(c, missing_operands);
    tcase_add_test(c, missing_graphs);
    tcase_add_test(c, edge_inputs_on_spans);
    tcase_add_test(c, non_finite_features);
    tcase_add_test(c, attention_needs_attention_layers);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
