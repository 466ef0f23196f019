/* The ops that steps are composed of: products, stacked and repeated rows, rows on edges, maxima.
 * Values and gradients against their formulas in double, the same bits with any thread count, and
 * refusals. */
#include "trial.h"

/* Of the first input. */
#define ROWS (t->call.in[0].rows)
#define COLS (t->call.in[0].cols)

/* ---- the formulas ---- */

static double dropped(const trial_t *t, double rate, int64_t e)
{
    return rate > 0 ? multiplier(t, (gnn_real_t)rate, e / COLS, e % COLS) : 1;
}

static void reference_scale(const trial_t *t, double *const in[], double *out)
{
    const gnn__scale_settings_t *how = t->call.attributes;
    for (int64_t e = 0; e < ROWS * COLS; e++)
        out[e] = (double)how->alpha * in[0][e] * dropped(t, (double)how->rate, e);
}

/* The second input has the first one's rows or one, and one value per block of columns. */
static void reference_multiply(const trial_t *t, double *const in[], double *out)
{
    const gnn__multiply_settings_t *how = t->call.attributes;
    const gnn_operand_t *z = &t->call.in[1];
    for (int64_t e = 0; e < ROWS * COLS; e++) {
        const int64_t row = z->rows == 1 ? 0 : e / COLS, col = e % COLS / (COLS / z->cols);
        out[e] = in[0][e] * in[1][row * z->cols + col] * dropped(t, how ? (double)how->rate : 0, e);
    }
}

static void reference_maximum(const trial_t *t, double *const in[], double *out)
{
    for (int64_t e = 0; e < ROWS * COLS; e++) {
        out[e] = in[0][e];
        for (int k = 1; k < t->call.n_in; k++)
            out[e] = fmax(out[e], in[k][e]);
    }
}

static void reference_stack(const trial_t *t, double *const in[], double *out)
{
    for (int k = 0; k < t->call.n_in; k++)
        for (int64_t e = 0; e < t->call.in[k].rows * COLS; e++)
            *out++ = in[k][e];
}

static void reference_repeat_rows(const trial_t *t, double *const in[], double *out)
{
    const int64_t times = ((const gnn__repeat_settings_t *)t->call.attributes)->times;
    for (int64_t e = 0; e < times * ROWS * COLS; e++)
        out[e] = in[0][e % (ROWS * COLS)];
}

static void reference_transposed(const trial_t *t, double *const in[], double *out)
{
    const int64_t n = t->call.in[1].rows;
    for (int64_t r = 0; r < ROWS; r++)
        for (int64_t c = 0; c < n; c++) {
            double sum = t->call.n_in > 2 ? in[2][c] : 0;
            for (int64_t k = 0; k < COLS; k++)
                sum += in[0][r * COLS + k] * in[1][c * COLS + k];
            out[r * n + c] = sum;
        }
}

/* Two parts over the same nodes, whose edges are numbered one after another; the last node is
 * alone. Two edges are the same. */
enum { DST = 6, SRC = 5, FIRST = 7, SECOND = 4, EDGES = FIRST + SECOND };
static const int64_t edge_src[EDGES] = {4, 0, 2, 2, 1, 0, 3, 2, 2, 0, 4},
                     edge_dst[EDGES] = {0, 3, 1, 1, 4, 0, 2, 0, 4, 0, 1};

static void reference_edge_rows(const trial_t *t, double *const in[], double *out)
{
    const gnn__edge_rows_settings_t *how = t->call.attributes;
    for (int e = 0; e < EDGES; e++)
        for (int64_t c = 0; c < COLS; c++)
            out[e * COLS + c] =
                in[0][(how->side == GNN_SIDE_SENDERS ? edge_src[e] : edge_dst[e]) * COLS + c];
}

static gnn_graph_t *two_parts(bool prepared)
{
    gnn_graph_t *parts[2], *graph;
    ck_ok(gnn_graph_from_edges(&parts[0], DST, SRC, FIRST, edge_src, edge_dst));
    ck_ok(gnn_graph_from_edges(&parts[1], DST, SRC, SECOND, edge_src + FIRST, edge_dst + FIRST));
    ck_ok(gnn_graph_merge(&graph, 2, (const gnn_graph_t *const *)parts));
    for (int k = 0; k < 2; k++)
        gnn_graph_free(parts[k]);
    if (prepared)
        ck_ok(gnn_graph_prepare(graph, &(gnn_view_t){.backward = GNN_ON}));
    return graph;
}

/* ---- values and gradients ---- */

#define SHAPES(...)                                                            \
    (sizeof((int64_t[][2]){__VA_ARGS__}) / sizeof(int64_t[2])), (int64_t[][2]) \
    {                                                                          \
        __VA_ARGS__                                                            \
    }

static void check(const gnn_op_t *op, reference_t reference, const void *attributes, size_t count,
                  const int64_t shapes[][2])
{
    gnn_context_t *c = context_new(2, false);
    check_shapes(op, reference, c, attributes, (int)count, shapes);
    gnn_context_free(c);
}

START_TEST(scaled_values)
{
    for (int drops = 0; drops < 2; drops++) {
        const gnn__scale_settings_t how = {.alpha = (gnn_real_t)-1.5,
                                           .rate = (gnn_real_t)(0.4 * drops)};
        check(&gnn__op_scale, reference_scale, &how, SHAPES({70, 9}));
        check(&gnn__op_scale, reference_scale, &how, SHAPES({3, 2500}));
        check(&gnn__op_scale, reference_scale, &how, SHAPES({0, 9}));
    }
}
END_TEST

START_TEST(products_of_elements)
{
    for (int drops = 0; drops < 2; drops++) {
        const gnn__multiply_settings_t how = {.rate = (gnn_real_t)(0.4 * drops)};
        const gnn_op_t *op = &gnn__op_multiply;
        check(op, reference_multiply, &how, SHAPES({40, 5}, {40, 5}));
        check(op, reference_multiply, &how, SHAPES({40, 5}, {1, 5}));
        check(op, reference_multiply, &how, SHAPES({40, 5}, {40, 1}));
        check(op, reference_multiply, &how, SHAPES({40, 5}, {1, 1}));
        check(op, reference_multiply, &how, SHAPES({1, 5}, {1, 5}));
        check(op, reference_multiply, &how, SHAPES({1, 5}, {1, 1}));
        check(op, reference_multiply, &how, SHAPES({7, 1}, {7, 1}));
        check(op, reference_multiply, &how, SHAPES({0, 5}, {1, 5}));
        check(op, reference_multiply, &how, SHAPES({0, 5}, {0, 1}));
        check(op, reference_multiply, &how, SHAPES({1300, 2}, {1, 2})); /* sums in several chunks */
        check(op, reference_multiply, &how, SHAPES({1300, 2}, {1, 1}));
        check(op, reference_multiply, &how, SHAPES({2, 2500}, {2, 1}));
    }
    check(&gnn__op_multiply, reference_multiply, NULL, SHAPES({4, 5}, {4, 5}));
}
END_TEST

START_TEST(products_of_heads)
{
    for (int drops = 0; drops < 2; drops++) {
        const gnn__multiply_settings_t how = {.rate = (gnn_real_t)(0.4 * drops)};
        const gnn_op_t *op = &gnn__op_scale_heads;
        check(op, reference_multiply, &how, SHAPES({70, 24}, {70, 3}));
        check(op, reference_multiply, &how, SHAPES({300, 24}, {1, 3}));
        check(op, reference_multiply, &how, SHAPES({5, 12}, {5, 12}));
        check(op, reference_multiply, &how, SHAPES({5, 12}, {1, 1}));
        check(op, reference_multiply, &how, SHAPES({0, 12}, {1, 3}));
    }
}
END_TEST

START_TEST(largest_values)
{
    const gnn_op_t *op = &gnn__op_maximum;
    check(op, reference_maximum, NULL, SHAPES({40, 5}, {40, 5}));
    check(op, reference_maximum, NULL, SHAPES({40, 5}, {40, 5}, {40, 5}, {40, 5}));
    check(op, reference_maximum, NULL, SHAPES({3, 700}, {3, 700}));
    check(op, reference_maximum, NULL, SHAPES({40, 5}));
    check(op, reference_maximum, NULL, SHAPES({0, 5}, {0, 5}));
}
END_TEST

START_TEST(rows_stacked_and_repeated)
{
    check(&gnn__op_stack, reference_stack, NULL, SHAPES({4, 5}, {0, 5}, {3, 5}));
    check(&gnn__op_stack, reference_stack, NULL, SHAPES({4, 5}));
    check(&gnn__op_stack, reference_stack, NULL, SHAPES({2, 0}, {3, 0}));
    for (int64_t times = 0; times <= 700; times = 7 * times + 1) {
        const gnn__repeat_settings_t how = {times};
        check(&gnn__op_repeat_rows, reference_repeat_rows, &how, SHAPES({3, 4}));
        check(&gnn__op_repeat_rows, reference_repeat_rows, &how, SHAPES({1, 9}));
        check(&gnn__op_repeat_rows, reference_repeat_rows, &how, SHAPES({0, 4}));
        check(&gnn__op_repeat_rows, reference_repeat_rows, &how, SHAPES({2, 0}));
    }
}
END_TEST

START_TEST(products_with_a_transposed_weight)
{
    const gnn__linear_settings_t how = {.transposed = true};
    const gnn_op_t *op = &gnn__op_linear;
    check(op, reference_transposed, &how, SHAPES({5, 7}, {3, 7}, {1, 3}));
    check(op, reference_transposed, &how, SHAPES({1, 9}, {17, 9}));
    check(op, reference_transposed, &how, SHAPES({0, 7}, {3, 7}, {1, 3}));
    check(op, reference_transposed, &how, SHAPES({5, 0}, {3, 0}, {1, 3}));
    check(op, reference_transposed, &how, SHAPES({1100, 16}, {2, 16})); /* few columns, many rows */
}
END_TEST

START_TEST(rows_of_both_ends_of_edges)
{
    gnn_graph_t *graph = two_parts(true);
    const gnn__edge_rows_settings_t receivers = {graph, GNN_SIDE_RECEIVERS},
                                    senders = {graph, GNN_SIDE_SENDERS};
    check(&gnn__op_edge_rows, reference_edge_rows, &receivers, SHAPES({DST, 4}));
    check(&gnn__op_edge_rows, reference_edge_rows, &senders, SHAPES({SRC, 4}));
    check(&gnn__op_edge_rows, reference_edge_rows, &senders, SHAPES({SRC, 0}));
    gnn_graph_free(graph);
}
END_TEST

START_TEST(ties_of_the_maximum_share_its_gradient)
{
    const gnn_real_t values[3][4] = {{1, 2, 5, 0}, {1, 3, 5, (gnn_real_t)NAN}, {0, 3, 5, 1}},
                     expected[3][4] = {{0.5, 0, 0, 0}, {0.5, 0.5, 0, 0}, {0, 0.5, 0, 0}};
    gnn_context_t *c = context_new(1, false);
    trial_t t = trial_new(&gnn__op_maximum, NULL, c, NULL, 0);
    for (int k = 0; k < 3; k++)
        memcpy(trial_input(&t, 1, 4)->value.data, values[k], sizeof values[k]);
    ck_ok(trial_forward(&t));
    ck_assert_double_eq((double)t.call.out[0].value.data[1], 3);
    ck_assert(isnan(t.call.out[0].value.data[3]));
    for (int e = 0; e < 4; e++)
        t.call.out[0].grad.data[e] = e == 2 ? 3 : 1;
    ck_ok(trial_backward(&t, 0));
    for (int k = 0; k < 3; k++)
        for (int e = 0; e < 4; e++)
            ck_assert_double_eq((double)t.call.in[k].grad.data[e],
                                e == 2 ? 1 : (double)expected[k][e]);
    trial_free(&t);
    gnn_context_free(c);
}
END_TEST

/* ---- threads ---- */

/* Large enough that threads share it. */
static const struct {
    const gnn_op_t *op;
    int64_t in[2][2];
} large[] = {{&gnn__op_scale, {{3000, 40}}},
             {&gnn__op_multiply, {{3000, 40}, {3000, 40}}},
             {&gnn__op_multiply, {{3000, 40}, {1, 40}}},
             {&gnn__op_multiply, {{3000, 40}, {1, 1}}},
             {&gnn__op_scale_heads, {{3000, 40}, {3000, 8}}},
             {&gnn__op_scale_heads, {{3000, 40}, {1, 8}}},
             {&gnn__op_maximum, {{3000, 40}, {3000, 40}}},
             {&gnn__op_stack, {{1500, 40}, {3000, 40}}},
             {&gnn__op_repeat_rows, {{3, 40}}},
             {&gnn__op_edge_rows, {{3000, 40}}}};
enum { LARGE = sizeof large / sizeof *large };

static trial_t run_large(int k, gnn_context_t *c, const void *attributes)
{
    trial_t t = trial_new(large[k].op, NULL, c, attributes, 0);
    for (int i = 0; i < 2 && large[k].in[i][1] > 0; i++)
        trial_input(&t, large[k].in[i][0], large[k].in[i][1]);
    ck_ok(trial_forward(&t));
    ck_ok(trial_backward(&t, 0));
    return t;
}

static gnn_graph_t *large_graph(void)
{
    enum { NODES = 3000, MANY = 20000 };
    int64_t *src = calloc(2 * MANY, sizeof *src), *dst = src + MANY;
    uint64_t seed = 3;
    gnn_graph_t *graph;
    for (int e = 0; e < MANY; e++) {
        src[e] = test_below(&seed, e % 3 ? NODES : 5);
        dst[e] = test_below(&seed, NODES);
    }
    ck_ok(gnn_graph_from_edges(&graph, NODES, NODES, MANY, src, dst));
    ck_ok(gnn_graph_prepare(graph, &(gnn_view_t){.backward = GNN_ON}));
    free(src);
    return graph;
}

START_TEST(small_ops_have_the_same_bits_on_any_threads)
{
    gnn_context_t *one = context_new(1, true), *many = context_new(_i, true);
    gnn_graph_t *graph = large_graph();
    const gnn__scale_settings_t scale = {(gnn_real_t)0.3, (gnn_real_t)0.5};
    const gnn__multiply_settings_t drops = {(gnn_real_t)0.5};
    const gnn__repeat_settings_t often = {2000};
    const gnn__edge_rows_settings_t senders = {graph, GNN_SIDE_SENDERS};
    for (int k = 0; k < LARGE; k++) {
        const gnn_op_t *op = large[k].op;
        const void *attributes = op == &gnn__op_scale         ? (const void *)&scale
                                 : op == &gnn__op_repeat_rows ? (const void *)&often
                                 : op == &gnn__op_edge_rows   ? (const void *)&senders
                                                              : (const void *)&drops;
        trial_t a = run_large(k, one, attributes), b = run_large(k, many, attributes);
        ck_assert_msg(tensor_same_bits(&a.call.out[0].value, &b.call.out[0].value),
                      "%s: another value on %d threads", op->name, _i);
        for (int i = 0; i < a.call.n_in; i++)
            ck_assert_msg(tensor_same_bits(&a.call.in[i].grad, &b.call.in[i].grad),
                          "%s: another gradient %d on %d threads", op->name, i, _i);
        trial_free(&a);
        trial_free(&b);
    }
    gnn_graph_free(graph);
    gnn_context_free(one);
    gnn_context_free(many);
}
END_TEST

/* ---- refusals ---- */

static void refuse(const gnn_op_t *op, const void *attributes, size_t count,
                   const int64_t shapes[][2], int code, const char *words)
{
    gnn_context_t *c = context_new(1, false);
    trial_t t = trial_new(op, NULL, c, attributes, 0);
    for (size_t k = 0; k < count; k++)
        trial_input(&t, shapes[k][0], shapes[k][1]);
    ck_fails(trial_shape(&t), code, words);
    trial_free(&t);
    gnn_context_free(c);
}

START_TEST(shapes_that_do_not_fit_are_named)
{
    const gnn__repeat_settings_t back = {-2}, far = {INT64_MAX};
    const gnn__linear_settings_t turned = {.transposed = true};
    refuse(&gnn__op_multiply, NULL, SHAPES({4, 5}, {3, 5}), GNN_ESHAPE,
           "layer 2: multiply expects a factor of 4 or 1 rows and 5 or 1 columns, got 3 x 5");
    refuse(&gnn__op_multiply, NULL, SHAPES({4, 5}), GNN_EINVALID, "multiply: input 1 is missing");
    refuse(&gnn__op_scale_heads, NULL, SHAPES({4, 6}, {3, 2}), GNN_ESHAPE,
           "expects factors of 4 or 1 rows, got 3 x 2");
    refuse(&gnn__op_scale_heads, NULL, SHAPES({4, 6}, {4, 4}), GNN_ESHAPE,
           "6 columns do not divide into 4 heads");
    refuse(&gnn__op_scale_heads, NULL, SHAPES({4, 6}, {4, 0}), GNN_ESHAPE, "into 0 heads");
    refuse(&gnn__op_maximum, NULL, SHAPES({4, 5}, {4, 5}, {5, 4}), GNN_ESHAPE,
           "maximum expects 4 x 5 as in its first tensor, tensor 2 is 5 x 4");
    refuse(&gnn__op_maximum, NULL, 0, NULL, GNN_ESHAPE, "at least one tensor");
    refuse(&gnn__op_stack, NULL, SHAPES({4, 5}, {4, 6}), GNN_ESHAPE,
           "stack expects 5 columns as in its first tensor, tensor 1 has 6");
    refuse(&gnn__op_stack, NULL, 0, NULL, GNN_ESHAPE, "at least one tensor");
    refuse(&gnn__op_repeat_rows, &back, SHAPES({4, 5}), GNN_EINVALID, "got -2");
    refuse(&gnn__op_repeat_rows, &far, SHAPES({4, 5}), GNN_EOVERFLOW, "overflow");
    refuse(&gnn__op_linear, &turned, SHAPES({4, 5}, {5, 6}), GNN_ESHAPE,
           "linear expects 6 input features, the tensor has 5");
    refuse(&gnn__op_linear, &turned, SHAPES({4, 5}, {6, 5}, {1, 5}), GNN_ESHAPE,
           "a bias of 1 x 6, got 1 x 5");
}
END_TEST

START_TEST(missing_edges_are_named)
{
    gnn_graph_t *graph = two_parts(false), *spans;
    ck_ok(gnn_graph_complete(&spans, 1, (int64_t[]){3}));
    gnn__edge_rows_settings_t how = {graph, GNN_SIDE_BOTH};
    refuse(&gnn__op_edge_rows, &how, SHAPES({DST, 2}), GNN_EINVALID, "got side 3");
    how.side = GNN_SIDE_RECEIVERS;
    refuse(&gnn__op_edge_rows, &how, SHAPES({SRC, 2}), GNN_ESHAPE, "each of 6 receivers, got 5");
    how.side = GNN_SIDE_SENDERS;
    refuse(&gnn__op_edge_rows, &how, SHAPES({DST, 2}), GNN_ESHAPE, "each of 5 senders, got 6");
    refuse(&gnn__op_edge_rows, &how, SHAPES({SRC, 2}), GNN_EUNPREPARED, "layer 2");
    how.graph = spans;
    how.side = GNN_SIDE_RECEIVERS;
    refuse(&gnn__op_edge_rows, &how, SHAPES({3, 2}), GNN_EUNSUPPORTED,
           "part 0 of the graph stores spans");
    how.graph = NULL;
    refuse(&gnn__op_edge_rows, &how, SHAPES({3, 2}), GNN_EINVALID, "needs a graph");
    gnn_graph_free(graph);
    gnn_graph_free(spans);
}
END_TEST

START_TEST(lists_of_ids_are_refused)
{
    static const gnn_op_t *const ops[] = {
        &gnn__op_scale, &gnn__op_multiply,    &gnn__op_scale_heads, &gnn__op_maximum,
        &gnn__op_stack, &gnn__op_repeat_rows, &gnn__op_edge_rows};
    const int32_t ids[] = {0, 1};
    gnn_context_t *c = context_new(1, false);
    for (size_t k = 0; k < sizeof ops / sizeof *ops; k++) {
        trial_t t = trial_new(ops[k], NULL, c, NULL, 0);
        trial_ids(&t, ids, 2);
        trial_input(&t, 2, 1);
        ck_fails(trial_shape(&t), GNN_EUNSUPPORTED, "input 0 is a list of ids");
        trial_free(&t);
    }
    gnn_context_free(c);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ops_small");
    TCase *values = tcase_create("values"), *others = tcase_create("others");
    tcase_set_timeout(values, 300);
    tcase_add_test(values, scaled_values);
    tcase_add_test(values, products_of_elements);
    tcase_add_test(values, products_of_heads);
    tcase_add_test(values, largest_values);
    tcase_add_test(values, rows_stacked_and_repeated);
    tcase_add_test(values, products_with_a_transposed_weight);
    tcase_add_test(values, rows_of_both_ends_of_edges);
    tcase_add_test(values, ties_of_the_maximum_share_its_gradient);
    tcase_add_loop_test(others, small_ops_have_the_same_bits_on_any_threads, 2, 5);
    tcase_add_test(others, shapes_that_do_not_fit_are_named);
    tcase_add_test(others, missing_edges_are_named);
    tcase_add_test(others, lists_of_ids_are_refused);
    suite_add_tcase(suite, values);
    suite_add_tcase(suite, others);
    return test_main(suite);
}
