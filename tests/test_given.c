/* Further inputs of scores: values of priors, the query that priors multiply, gates of heads. Each
 * is compared with the same model built in another way. */
#include "support.h"

#include <lib/layer/layer.h>

#include <string.h>

enum { N = 5, HEADS = 4, BUCKETS = 6 };

static gnn_context_t *context;
static gnn_graph_t *graph;
static gnn_real_t x_data[N * HEADS], r_data[N * HEADS], s_data[N * HEADS], bias_data[N * N * HEADS];
static gnn_tensor_t x, r, s, bias;
static gnn_named_t values[4];

static void draw(gnn_tensor_t *t, gnn_real_t *data, int64_t rows, uint64_t *state)
{
    for (int64_t k = 0; k < rows * HEADS; k++)
        data[k] = (gnn_real_t)(2 * test_uniform(state) - 1);
    *t = gnn_tensor(data, rows, HEADS);
}

/* Every pair of nodes is an edge, receiver by receiver. */
static void set_up(void)
{
    int64_t src[N * N], dst[N * N];
    uint64_t state = 11;
    ck_ok(gnn_context_new(&context, NULL));
    for (int64_t k = 0; k < (int64_t)N * N; k++) {
        dst[k] = k / N;
        src[k] = k % N;
    }
    ck_ok(gnn_graph_from_edges(&graph, N, N, (int64_t)N * N, src, dst));
    draw(&x, x_data, N, &state);
    draw(&r, r_data, N, &state);
    draw(&s, s_data, N, &state);
    for (int64_t k = 0; k < (int64_t)N * N * HEADS; k++)
        bias_data[k] =
            r_data[k / HEADS / N * HEADS + k % HEADS] + s_data[k / HEADS % N * HEADS + k % HEADS];
    bias = gnn_tensor(bias_data, (int64_t)N * N, HEADS);
    values[0] = (gnn_named_t){.name = "x", .dense = &x, .wants_grad = 1};
    values[1] = (gnn_named_t){.name = "r", .dense = &r};
    values[2] = (gnn_named_t){.name = "s", .dense = &s};
    values[3] = (gnn_named_t){.name = "bias", .dense = &bias};
}

static void tear_down(void)
{
    gnn_graph_free(graph);
    gnn_context_free(context);
}

static gnn_model_t *make(int64_t count, const gnn_step_t *steps)
{
    gnn_model_t *model = NULL;
    ck_ok(gnn_model_from_steps(&model, context, count, steps));
    ck_ok(gnn_model_prepare(model, 0, graph, GNN_ON));
    return model;
}

/* One attention step with as many heads as columns, without an update. */
static gnn_step_t attends(const char *name)
{
    return (gnn_step_t){.kind = GNN_STEP_LAYER,
                        .name = name,
                        .inputs = {"x"},
                        .layer = {.aggregator = &gnn_aggregator_attention,
                                  .in = HEADS,
                                  .heads = HEADS,
                                  .d_k = 2,
                                  .d_v = 1,
                                  .bias_out = GNN_OFF,
                                  .update = &gnn_update_none}};
}

/* Fields that both models have under the same name become those of the first; draws the rest. */
static void same_weights(const gnn_model_t *a, const gnn_model_t *b)
{
    uint64_t state = 5;
    for (int64_t k = 0; k < gnn_model_field_count(a); k++) {
        gnn_tensor_t from, to;
        const char *name = gnn_model_field_name(a, k);
        ck_ok(gnn_model_field(a, name, &from, NULL));
        const bool both = gnn_model_field(b, name, &to, NULL) == GNN_OK;
        for (int64_t i = 0; i < from.rows; i++)
            for (int64_t c = 0; c < from.cols; c++) {
                from.data[i * from.stride + c] = (gnn_real_t)(test_uniform(&state) - 0.5);
                if (both)
                    to.data[i * to.stride + c] = from.data[i * from.stride + c];
            }
    }
}

typedef struct {
    gnn_real_t y[N * HEADS], d_x[N * HEADS];
} result_t;

/* y, and the gradient of x where all of y have the gradients that are in r. Parameters' gradients
 * are left in the model. */
static result_t run(const gnn_model_t *model)
{
    result_t result;
    gnn_tape_t *tape;
    gnn_var_t vars[4];
    const gnn_model_inputs_t in = {(const gnn_graph_t *const *)&graph, 1, values, 4};
    ck_ok(gnn_tape_new(&tape, context));
    gnn_tape_reset(tape, 1, 0);
    const gnn_var_t y = gnn_model_record(model, tape, &in, vars);
    ck_ok(gnn_tape_forward(tape));
    ck_ok(gnn_tape_backward(tape, y, &r));
    const gnn_tensor_t out = gnn_tape_value(tape, y), d_x = gnn_tape_gradient(tape, vars[0]);
    for (int64_t k = 0; k < N * HEADS; k++) {
        result.y[k] = out.data[k / HEADS * out.stride + k % HEADS];
        result.d_x[k] = d_x.data[k / HEADS * d_x.stride + k % HEADS];
    }
    gnn_tape_free(tape);
    return result;
}

static void same(const result_t *a, const result_t *b)
{
    for (int k = 0; k < N * HEADS; k++) {
        ck_assert_double_eq_tol((double)a->y[k], (double)b->y[k], 1e-5);
        ck_assert_double_eq_tol((double)a->d_x[k], (double)b->d_x[k], 1e-5);
    }
}

/* Runs both models with the same weights, and frees them. */
static void same_models(gnn_model_t *a, gnn_model_t *b)
{
    same_weights(a, b);
    const result_t of_a = run(a), of_b = run(b);
    same(&of_a, &of_b);
    gnn_model_free(a);
    gnn_model_free(b);
}

/* ---- tests ---- */

/* A table of learned rows that two layers could share is as good as one that the layer owns, and is
 * learned as that is. */
START_TEST(a_table_may_be_the_value_of_a_step)
{
    gnn_step_t own = attends("y"), given = attends("y");
    own.layer.priors[0].prior = given.layer.priors[0].prior = &gnn_prior_table;
    own.layer.priors[0].options[0] = given.layer.priors[0].options[0] = BUCKETS;
    given.priors[0] = "t";
    gnn_model_t *a = make(1, &own),
                *b = make(
                    2, (gnn_step_t[]){
                           {.kind = GNN_STEP_PARAMETER, .name = "t", .rows = HEADS, .out = BUCKETS},
                           given});
    gnn_tensor_t table, rows, d_table, d_rows;
    same_weights(a, b);
    ck_ok(gnn_model_field(a, "y.prior_0.table", &table, &d_table));
    ck_ok(gnn_model_field(b, "t.rows", &rows, &d_rows));
    for (int k = 0; k < HEADS * BUCKETS; k++)
        rows.data[k] = table.data[k];
    const result_t of_a = run(a), of_b = run(b);
    same(&of_a, &of_b);
    double sum = 0;
    for (int k = 0; k < HEADS * BUCKETS; k++) {
        ck_assert_double_eq_tol((double)d_table.data[k], (double)d_rows.data[k], 1e-5);
        sum += fabs((double)d_rows.data[k]);
    }
    ck_assert_double_gt(sum, 1e-3);
    gnn_model_free(a);
    gnn_model_free(b);
}
END_TEST

/* A value per receiver and one per sender equal a bias on every edge; _i: their positions. */
START_TEST(node_values_are_a_bias_on_edges)
{
    gnn_step_t by_edge = attends("y"), by_node = attends("y");
    by_edge.edge_bias = "bias";
    by_node.layer.priors[0].prior = _i ? &gnn_prior_sender : &gnn_prior_receiver;
    by_node.layer.priors[2].prior = _i ? &gnn_prior_receiver : &gnn_prior_sender;
    by_node.priors[0] = _i ? "s" : "r";
    by_node.priors[2] = _i ? "r" : "s";
    same_models(make(1, &by_edge), make(1, &by_node));
}
END_TEST

START_TEST(a_gate_multiplies_each_head)
{
    gnn_step_t plain = attends("y"), gated = attends("y");
    gated.gate = "s";
    same_models(make(2, (gnn_step_t[]){plain, {.kind = GNN_STEP_MULTIPLY, .inputs = {"y", "s"}}}),
                make(1, &gated));
}
END_TEST

/* The same through the layer's own function, on a tape: a gate of 2 everywhere doubles what the
 * layer puts out. */
START_TEST(a_layer_reads_inputs_of_scores)
{
    const gnn_step_t step = attends("y");
    gnn_real_t twos[N * HEADS];
    gnn_layer_t *layer = NULL;
    gnn_tape_t *tape = NULL;
    for (int k = 0; k < N * HEADS; k++)
        twos[k] = 2;
    const gnn_tensor_t two = gnn_tensor(twos, N, HEADS);
    ck_ok(gnn_layer_new(&layer, context, &step.layer));
    ck_ok(gnn_layer_prepare(layer, graph, GNN_OFF));
    ck_ok(gnn_tape_new(&tape, context));
    const gnn_layer_vars_t vars = {.x_dst = GNN_NONE,
                                   .x_src = gnn_tape_input(tape, &x, 0),
                                   .edge_features = GNN_NONE,
                                   .edge_weight = GNN_NONE,
                                   .edge_bias = GNN_NONE};
    const gnn__score_vars_t scores = {.gate = gnn_tape_input(tape, &two, 0),
                                      .prior_query = GNN_NONE,
                                      .prior = {GNN_NONE, GNN_NONE, GNN_NONE}};
    const gnn_var_t plain = gnn_layer_record(layer, tape, graph, &vars),
                    gated = gnn__layer_record_hop(layer, tape, graph, &vars, &scores, NULL);
    gnn_real_t once[N * HEADS], twice[N * HEADS];
    const gnn_tensor_t of_plain = gnn_tensor(once, N, HEADS), of_gated = gnn_tensor(twice, N, HEADS);
    gnn_tape_bind(tape, plain, &of_plain);
    gnn_tape_bind(tape, gated, &of_gated);
    ck_ok(gnn_tape_forward(tape));
    for (int k = 0; k < N * HEADS; k++)
        ck_assert_double_eq_tol((double)twice[k], 2 * (double)once[k], 1e-5);
    gnn_tape_free(tape);
    gnn_layer_free(layer);
}
END_TEST

/* With a second query input, priors multiply that: here a copy of the layer's own query. */
START_TEST(priors_may_multiply_another_query)
{
    gnn_step_t own = attends("y"), other = attends("y");
    own.layer.priors[0].prior = other.layer.priors[0].prior = &gnn_prior_keys;
    own.layer.priors[0].options[0] = other.layer.priors[0].options[0] = BUCKETS;
    other.prior_query = "q";
    gnn_model_t *a = make(1, &own), *b = make(2, (gnn_step_t[]){{.kind = GNN_STEP_LINEAR,
                                                                 .name = "q",
                                                                 .in = HEADS,
                                                                 .out = 2 * HEADS,
                                                                 .inputs = {"x"}},
                                                                other});
    gnn_tensor_t from, to;
    same_weights(a, b);
    ck_ok(gnn_model_field(a, "y.query.weight", &from, NULL));
    ck_ok(gnn_model_field(b, "q.weight", &to, NULL));
    for (int64_t k = 0; k < from.rows * from.cols; k++)
        to.data[k / to.cols * to.stride + k % to.cols] =
            from.data[k / from.cols * from.stride + k % from.cols];
    if (gnn_model_field(a, "y.query.bias", &from, NULL) == GNN_OK) {
        ck_ok(gnn_model_field(b, "q.bias", &to, NULL));
        memcpy(to.data, from.data, sizeof *to.data * (size_t)to.cols);
    }
    const result_t of_a = run(a), of_b = run(b);
    same(&of_a, &of_b);
    gnn_model_free(a);
    gnn_model_free(b);
}
END_TEST

/* Edge weights are normalised where rows are given as where a layer makes them. */
START_TEST(edge_weights_are_normalised_on_given_rows)
{
    gnn_real_t weights[N * N];
    uint64_t state = 3;
    for (int k = 0; k < N * N; k++)
        weights[k] = (gnn_real_t)fabs(test_uniform(&state));
    const gnn_tensor_t w = gnn_tensor(weights, (int64_t)N * N, 1);
    values[3] = (gnn_named_t){.name = "bias", .dense = &w};
    const gnn_layer_config_t config = {.aggregator = &gnn_aggregator_sum,
                                       .message = &gnn_message_none,
                                       .in = HEADS,
                                       .update = &gnn_update_none,
                                       .self_loops = GNN_ON,
                                       .graph_norm = GNN_GRAPH_NORM_SYMMETRIC};
    gnn_step_t layer = {.kind = GNN_STEP_LAYER, .inputs = {"x"}, .edge_weight = "bias", .layer = config},
               rows = layer;
    rows.kind = GNN_STEP_AGGREGATE;
    layer.layer.bias_out = GNN_OFF;
    same_models(make(1, &layer), make(1, &rows));
}
END_TEST

static int refuse(const gnn_step_t *step)
{
    gnn_model_t *model = NULL;
    const int rc = gnn_model_from_steps(&model, context, 1, step);
    ck_assert_ptr_null(model);
    return rc;
}

START_TEST(missing_prior_values_are_refused)
{
    gnn_step_t step = attends("y");
    step.layer.priors[1].prior = &gnn_prior_sender;
    ck_fails(refuse(&step), GNN_EINVALID, "prior sender reads one row per node");
    step.layer.priors[1].given = GNN_ON;
    ck_fails(refuse(&step), GNN_EINVALID,
             ".layer.priors[1].given is on, but .priors[1] names no value");
}
END_TEST

/* A table of parameters, or from a step, works incrementally; values per sender do not. */
START_TEST(incremental_rows_support_tables_but_not_sender_values)
{
    gnn_state_t *state = NULL;
    gnn_step_t by_sender = attends("y"), by_table = attends("y");
    by_sender.layer.priors[0].prior = &gnn_prior_sender;
    by_sender.priors[0] = "s";
    by_table.layer.priors[0].prior = &gnn_prior_table;
    by_table.layer.priors[0].options[0] = BUCKETS;
    by_table.priors[0] = "t";
    gnn_model_t *a = make(1, &by_sender),
                *b = make(
                    2, (gnn_step_t[]){
                           {.kind = GNN_STEP_PARAMETER, .name = "t", .rows = HEADS, .out = BUCKETS},
                           by_table});
    const gnn_state_config_t one = {.segments = 1, .capacity = N};
    ck_fails(gnn_state_new(&state, a, context, &one), GNN_EUNSUPPORTED, "prior sender");
    ck_ok(gnn_state_new(&state, b, context, &one));
    gnn_state_free(state);
    gnn_model_free(a);
    gnn_model_free(b);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("given");
    TCase *c = tcase_create("given");
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_add_test(c, a_table_may_be_the_value_of_a_step);
    tcase_add_loop_test(c, node_values_are_a_bias_on_edges, 0, 2);
    tcase_add_test(c, a_gate_multiplies_each_head);
    tcase_add_test(c, a_layer_reads_inputs_of_scores);
    tcase_add_test(c, priors_may_multiply_another_query);
    tcase_add_test(c, edge_weights_are_normalised_on_given_rows);
    tcase_add_test(c, missing_prior_values_are_refused);
    tcase_add_test(c, incremental_rows_support_tables_but_not_sender_values);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
