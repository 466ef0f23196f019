/* Rows of the program's own in a layer: what they declare, the layer learns. */
#include "layer_run.h"

enum { N = 9, IN = 4, OUT = 6 };

static size_t declare(const gnn_aggregate_shape_t *shape, gnn_piece_t *pieces)
{
    pieces[0] =
        (gnn_piece_t){.name = "sum.factor", .rows = 1, .cols = shape->width, .init = GNN_INIT_ONES};
    return 1;
}

static size_t state(const gnn_aggregate_shape_t *shape)
{
    return (size_t)shape->width;
}

static void accumulate(const gnn_aggregate_shape_t *shape, gnn_real_t *s, const gnn_edge_t *edge)
{
    for (int64_t c = 0; c < shape->width; c++)
        s[c] += shape->parameters.data[c] * edge->message[c];
}

static void finish(const gnn_aggregate_shape_t *shape, gnn_real_t *s, gnn_real_t *out)
{
    memcpy(out, s, sizeof *out * (size_t)shape->width);
}

static void finish_grad(const gnn_aggregate_shape_t *shape, gnn_real_t *s, const gnn_real_t *out,
                        const gnn_real_t *d_out)
{
    (void)out;
    memcpy(s, d_out, sizeof *s * (size_t)shape->width);
}

static void accumulate_grad(const gnn_aggregate_shape_t *shape, const gnn_real_t *s,
                            const gnn_edge_t *edge, gnn_edge_grad_t *grad)
{
    for (int64_t c = 0; c < shape->width; c++) {
        if (grad->message)
            grad->message[c] += s[c] * shape->parameters.data[c];
        if (grad->parameters.data)
            grad->parameters.data[c] += s[c] * edge->message[c];
    }
}

/* A sum whose columns have a learned factor each. */
static const gnn_aggregator_t scaled_sum = {.name = "scaled_sum",
                                            .declare = declare,
                                            .state = state,
                                            .accumulate = accumulate,
                                            .finish = finish,
                                            .finish_grad = finish_grad,
                                            .accumulate_grad = accumulate_grad};

static result_t run(const gnn_layer_t *layer, gnn_context_t *context, const gnn_graph_t *graph,
                    const gnn_tensor_t *x)
{
    gnn_tape_t *tape;
    ck_ok(gnn_tape_new(&tape, context));
    result_t r = run_layer(layer, tape, graph, &(features_t){.x = x, .training = 1});
    ck_ok(gnn_tape_status(tape));
    gnn_tape_free(tape);
    return r;
}

START_TEST(an_aggregator_owns_parameters_in_a_layer)
{
    const int64_t n = N;
    gnn_context_t *context;
    gnn_graph_t *graph;
    gnn_layer_t *layers[2];
    gnn_real_t *features = test_reals(N * IN, 3);
    const gnn_tensor_t x = gnn_tensor(features, N, IN);
    ck_ok(gnn_context_new(&context, &(gnn_context_config_t){.threads = 2, .seed = 4}));
    ck_ok(gnn_graph_causal(&graph, 1, &n));
    const gnn_aggregator_t *rows[2] = {&gnn_aggregator_sum, &scaled_sum};
    result_t r[2];
    for (int k = 0; k < 2; k++) {
        ck_ok(gnn_layer_new(
            &layers[k], context,
            &(gnn_layer_config_t){
                .in = IN, .out = OUT, .message = &gnn_message_linear, .aggregator = rows[k]}));
        ck_ok(gnn_layer_prepare(layers[k], graph, GNN_ON));
    }
    gnn_tensor_t weight[2], factor, d_factor;
    for (int k = 0; k < 2; k++)
        ck_ok(gnn_layer_field(layers[k], "value.weight", &weight[k], NULL));
    memcpy(weight[1].data, weight[0].data, sizeof *weight[0].data * IN * OUT);
    ck_ok(gnn_layer_field(layers[1], "sum.factor", &factor, &d_factor));
    ck_assert_int_eq(factor.rows, 1);
    ck_assert_int_eq(factor.cols, OUT);
    for (int64_t c = 0; c < OUT; c++) {
        ck_assert(factor.data[c] == 1);
        factor.data[c] = (gnn_real_t)(c + 2);
    }
    for (int k = 0; k < 2; k++)
        r[k] = run(layers[k], context, graph, &x);
    for (int64_t i = 0; i < N; i++)
        for (int64_t c = 0; c < OUT; c++)
            ck_assert_msg(fabs((double)r[1].y[i * OUT + c] -
                               (double)(c + 2) * (double)r[0].y[i * OUT + c]) < 1e-4,
                          "row %lld, column %lld", (long long)i, (long long)c);
    double moved = 0;
    for (int64_t c = 0; c < OUT; c++)
        moved += fabs((double)d_factor.data[c]);
    ck_assert_double_gt(moved, 0);
    for (int k = 0; k < 2; k++) {
        free_result(&r[k]);
        gnn_layer_free(layers[k]);
    }
    gnn_graph_free(graph);
    gnn_context_free(context);
    free(features);
}
END_TEST

static size_t too_many(const gnn_aggregate_shape_t *shape, gnn_piece_t *pieces)
{
    (void)declare(shape, pieces);
    return GNN_ROW_PIECES + 1;
}

static void lose_function(gnn_aggregator_t *row, int which)
{
    switch (which) {
    case 0: row->state = NULL; break;
    case 1: row->accumulate = NULL; break;
    case 2: row->finish = NULL; break;
    case 3: row->finish_grad = NULL; break;
    case 4: row->accumulate_grad = NULL; break;
    case 5: row->name = NULL; break;
    case 6: row->n_options = 1; break;
    case 7: row->declare = too_many; break;
    default: row->flags = GNN_AGGREGATOR_SCORED; break;
    }
}

/* A row that lacks something is refused when the layer is made, not called later. */
START_TEST(an_aggregator_that_lacks_something_is_refused)
{
    static const char *const words[] = {
        "aggregator scaled_sum has no function .state",
        "aggregator scaled_sum has no function .accumulate",
        "aggregator scaled_sum has no function .finish",
        "aggregator scaled_sum has no function .finish_grad",
        "aggregator scaled_sum has no function .accumulate_grad",
        "aggregator without a name",
        "aggregator scaled_sum: .n_options is 1 and .options NULL",
        "aggregator scaled_sum: a row declares 9 pieces, at most 8",
        "aggregator scaled_sum has no function .scores",
    };
    gnn_context_t *context;
    gnn_layer_t *layer;
    gnn_aggregator_t row = scaled_sum;
    ck_ok(gnn_context_new(&context, NULL));
    lose_function(&row, _i);
    ck_fails(gnn_layer_new(&layer, context, &GNN_CONFIG(.in = IN, .out = OUT, .aggregator = &row)),
             GNN_EINVALID, words[_i]);
    gnn_context_free(context);
}
END_TEST

START_TEST(a_message_that_lacks_something_is_refused)
{
    gnn_context_t *context;
    gnn_layer_t *layer;
    gnn_message_t row = gnn_message_linear;
    ck_ok(gnn_context_new(&context, NULL));
    row.message_grad = NULL;
    ck_fails(gnn_layer_new(&layer, context, &GNN_CONFIG(.in = IN, .out = OUT, .message = &row)),
             GNN_EINVALID, "message linear has no function .message_grad");
    gnn_context_free(context);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("user_rows");
    TCase *c = tcase_create("user_rows");
    tcase_add_test(c, an_aggregator_owns_parameters_in_a_layer);
    tcase_add_loop_test(c, an_aggregator_that_lacks_something_is_refused, 0, 9);
    tcase_add_test(c, a_message_that_lacks_something_is_refused);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
