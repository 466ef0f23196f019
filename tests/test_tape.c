/* The tape: memory that is recycled never changes a result, gradients meet in views and shared
 * values, errors stick, nothing is allocated after the first run. */
#include "tape_fixture.h"

#include <lib/tape/tape.h>

/* A program with views (tiling and not), a shared parameter, a value read three times, and a branch
 * that leads nowhere. */
static gnn_var_t record(fixture_t *f, const gnn_tensor_t *x, gnn_var_t *input, bool keep_all)
{
    gnn_tape_t *t = f->tape;
    gnn_var_t w = gnn_tape_parameter(t, f->parameters, 0),
              b = gnn_tape_parameter(t, f->parameters, 1), all[12];
    int n = 0;
    *input = gnn_tape_input(t, x, 1);
    gnn_var_t y = all[n++] = gnn_tape_linear(t, *input, w, b); /* 7 x 6 */
    gnn_var_t left = gnn_tape_view(t, y, 0, 7, 0, 2),
              right = gnn_tape_view(t, y, 0, 7, 2, 4); /* tile y */
    gnn_var_t a = all[n++] = gnn_tape_activation(t, left, GNN_TANH, 0),
              c = all[n++] = gnn_tape_activation(t, right, GNN_SIGMOID, 0);
    gnn_var_t z = all[n++] = gnn_tape_concat(t, (gnn_var_t[]){c, a}, 2); /* 7 x 6 */
    gnn_var_t part = gnn_tape_view(t, z, 1, 5, 1, 3);                    /* does not cover z */
    gnn_var_t more = all[n++] = gnn_tape_activation(t, part, GNN_ELU, 0);
    gnn_var_t again = all[n++] = gnn_tape_linear(t, z, w, b); /* the same weights twice */
    gnn_var_t top = gnn_tape_view(t, again, 0, 5, 0, 3);
    all[n++] = gnn_tape_activation(t, z, GNN_RELU, 0); /* it is not read */
    gnn_var_t sum = all[n++] = gnn_tape_add(t, top, more, (gnn_real_t)0.5);
    for (int k = 0; keep_all && k < n; k++)
        gnn_tape_keep(t, all[k]);
    return gnn_tape_add(t, sum, part, 2);
}

static void declare(fixture_t *f)
{
    int32_t id;
    ck_ok(gnn_parameters_add(f->parameters, "w", 6, 6, GNN_INIT_GLOROT, 0, 0, 0, &id));
    ck_ok(gnn_parameters_add(f->parameters, "b", 1, 6, GNN_INIT_NORMAL, 0.5, 0, 0, &id));
    ck_ok(gnn_parameters_allocate(f->parameters, f->context));
}

static double loss_at(fixture_t *f, const gnn_tensor_t *x, const gnn_real_t *weights)
{
    gnn_var_t input, y;
    double loss = 0;
    gnn_tape_reset(f->tape, 0, 0);
    y = record(f, x, &input, false);
    gnn_tape_keep(f->tape, y);
    ck_ok(gnn_tape_forward(f->tape));
    gnn_tensor_t v = gnn_tape_value(f->tape, y);
    for (int64_t k = 0; k < v.rows * v.cols; k++)
        loss += (double)v.data[k] * (double)weights[k];
    return loss;
}

static void check_slopes(fixture_t *f, const gnn_tensor_t *x, const gnn_real_t *weights,
                         gnn_real_t *at, const gnn_real_t *gradient, int64_t n)
{
    const double eps = GNN_DOUBLE ? 1e-6 : 1e-2, tolerance = GNN_DOUBLE ? 1e-7 : 5e-3;
    for (int64_t k = 0; k < n; k++) {
        gnn_real_t old = at[k];
        at[k] = (gnn_real_t)((double)old + eps);
        double high = loss_at(f, x, weights);
        at[k] = (gnn_real_t)((double)old - eps);
        double low = loss_at(f, x, weights);
        at[k] = old;
        ck_assert_double_eq_tol((double)gradient[k], (high - low) / (2 * eps), tolerance);
    }
}

START_TEST(gradients_add_up_in_views_and_shared_values)
{
    fixture_t f = set_up();
    gnn_real_t *memory = test_reals(7 * 6, 1), *seed = test_reals(5 * 3, 2), dx[7 * 6], dw[6 * 6];
    gnn_tensor_t x = gnn_tensor(memory, 7, 6), d = gnn_tensor(seed, 5, 3);
    gnn_var_t input, y;
    declare(&f);
    gnn_tape_reset(f.tape, 1, 0);
    y = record(&f, &x, &input, false);
    ck_ok(gnn_tape_forward(f.tape));
    ck_ok(gnn_tape_backward(f.tape, y, &d));
    memcpy(dx, gnn_tape_gradient(f.tape, input).data, sizeof dx);
    memcpy(dw, gnn_parameters_gradient(f.parameters, 0).data, sizeof dw);
    check_slopes(&f, &x, seed, memory, dx, 7 * 6);
    check_slopes(&f, &x, seed, gnn_parameters_value(f.parameters, 0).data, dw, 6 * 6);
    free(memory);
    free(seed);
    tear_down(&f);
}
END_TEST

START_TEST(recycled_memory_gives_the_same_bits)
{
    fixture_t f = set_up();
    gnn_real_t *memory = test_reals(7 * 6, 3), values[2][5 * 3], dx[2][7 * 6];
    gnn_tensor_t x = gnn_tensor(memory, 7, 6);
    declare(&f);
    for (int keep = 0; keep < 2; keep++) {
        gnn_var_t input, y;
        gnn_tape_reset(f.tape, 1, 0);
        gnn_parameters_zero_gradients(f.parameters);
        y = record(&f, &x, &input, keep);
        ck_ok(gnn_tape_forward(f.tape));
        memcpy(values[keep], gnn_tape_value(f.tape, y).data, sizeof values[keep]);
        ck_ok(gnn_tape_backward(f.tape, y, NULL));
        memcpy(dx[keep], gnn_tape_gradient(f.tape, input).data, sizeof dx[keep]);
    }
    ck_assert_mem_eq(values[0], values[1], sizeof values[0]);
    ck_assert_mem_eq(dx[0], dx[1], sizeof dx[0]);
    free(memory);
    tear_down(&f);
}
END_TEST

START_TEST(nothing_is_allocated_after_the_first_run)
{
    fixture_t f = set_up();
    gnn_real_t *memory = test_reals(7 * 6, 4);
    gnn_tensor_t x = gnn_tensor(memory, 7, 6);
    declare(&f);
    for (int run = 0; run < 4; run++) {
        gnn_var_t input, y;
        gnn__fail_allocation(0);
        gnn_tape_reset(f.tape, 1, 1);
        y = record(&f, &x, &input, false);
        ck_ok(gnn_tape_forward(f.tape));
        ck_ok(gnn_tape_backward(f.tape, y, NULL));
        if (run > 0)
            ck_assert_int_eq(gnn__fail_allocation(0), 0);
    }
    free(memory);
    tear_down(&f);
}
END_TEST

START_TEST(the_first_error_sticks)
{
    fixture_t f = set_up();
    gnn_real_t *memory = test_reals(7 * 6, 5);
    gnn_tensor_t x = gnn_tensor(memory, 7, 6), narrow = gnn_tensor(memory, 7, 5);
    declare(&f);
    gnn_tape_reset(f.tape, 0, 0);
    gnn__tape_set_place(f.tape, 1, "layer 2");
    gnn_var_t bad = gnn_tape_linear(f.tape, gnn_tape_input(f.tape, &narrow, 0),
                                    gnn_tape_parameter(f.tape, f.parameters, 0), GNN_NONE);
    ck_assert_int_eq(bad, GNN_NONE);
    gnn_tape_add(f.tape, bad, gnn_tape_input(f.tape, &x, 0), 1);
    gnn__set_message("something else");
    ck_fails(gnn_tape_forward(f.tape), GNN_ESHAPE,
             "layer 2: linear expects 6 input features, the tensor has 5");
    gnn_tape_reset(f.tape, 0, 0);
    ck_ok(gnn_tape_status(f.tape));
    gnn_var_t v = gnn_tape_input(f.tape, &x, 0);
    gnn_tape_view(f.tape, v, 3, 5, 0, 6);
    ck_fails(gnn_tape_status(f.tape), GNN_ESHAPE, "from row 3 (5 rows)");
    gnn_tape_reset(f.tape, 1, 0);
    v = gnn_tape_activation(f.tape, gnn_tape_input(f.tape, &x, 0), GNN_RELU, 0);
    ck_ok(gnn_tape_forward(f.tape));
    ck_fails(gnn_tape_backward(f.tape, v, NULL), GNN_EINVALID,
             "depends on a parameter or a wanted input");
    gnn_tape_reset(f.tape, 1, 0);
    gnn_tape_dropout(f.tape, gnn_tape_input(f.tape, &x, 0), 1);
    ck_fails(gnn_tape_status(f.tape), GNN_EINVALID, "[0, 1), got 1");
    free(memory);
    tear_down(&f);
}
END_TEST

START_TEST(sparse_values_go_into_linear_only)
{
    fixture_t f = set_up();
    const int64_t indptr[] = {0, 1, 2};
    const int32_t indices[] = {0, 3};
    gnn_sparse_t s = {2, 6, indptr, indices, NULL};
    declare(&f);
    gnn_tape_reset(f.tape, 0, 0);
    gnn_tape_activation(f.tape, gnn_tape_sparse(f.tape, &s), GNN_RELU, 0);
    ck_fails(gnn_tape_status(f.tape), GNN_EUNSUPPORTED, "dense input 0, got a sparse one");
    tear_down(&f);
}
END_TEST

START_TEST(products_of_one_dropped_sparse_input_share_a_mask)
{
    fixture_t f = set_up();
    int64_t indptr[41];
    int32_t indices[40 * 6];
    for (int r = 0; r <= 40; r++)
        indptr[r] = 6 * r;
    for (int k = 0; k < 40 * 6; k++)
        indices[k] = k % 6;
    gnn_sparse_t s = {40, 6, indptr, indices, NULL};
    declare(&f);
    gnn_tape_reset(f.tape, 0, 1);
    gnn_var_t x = gnn_tape_dropout(f.tape, gnn_tape_sparse(f.tape, &s), (gnn_real_t)0.5),
              w = gnn_tape_parameter(f.tape, f.parameters, 0);
    gnn_var_t a = gnn_tape_linear(f.tape, x, w, GNN_NONE),
              b = gnn_tape_linear(f.tape, x, w, GNN_NONE);
    gnn_tape_keep(f.tape, a);
    gnn_tape_keep(f.tape, b);
    ck_ok(gnn_tape_forward(f.tape));
    ck_assert_mem_eq(gnn_tape_value(f.tape, a).data, gnn_tape_value(f.tape, b).data,
                     sizeof(gnn_real_t) * 40 * 6);
    gnn_real_t first[6];
    memcpy(first, gnn_tape_value(f.tape, a).data, sizeof first);
    gnn_tape_set_step(f.tape, 1);
    ck_ok(gnn_tape_forward(f.tape));
    ck_assert_mem_ne(gnn_tape_value(f.tape, a).data, first, sizeof first);
    tear_down(&f);
}
END_TEST

START_TEST(a_failing_allocation_leaves_a_usable_tape)
{
    fixture_t f = set_up();
    gnn_real_t *memory = test_reals(7 * 6, 4);
    gnn_tensor_t x = gnn_tensor(memory, 7, 6);
    declare(&f);
    for (int64_t n = 1;; n++) {
        gnn_tape_t *tape = NULL;
        gnn__fail_allocation(n);
        int rc = gnn_tape_new(&tape, f.context);
        if (rc == GNN_OK) {
            gnn_var_t input;
            fixture_t g = {f.context, tape, f.parameters};
            gnn_tape_reset(tape, 1, 0);
            record(&g, &x, &input, false);
            rc = gnn_tape_forward(tape);
        }
        gnn__fail_allocation(0);
        gnn_tape_free(tape);
        if (rc == GNN_OK)
            break;
        ck_assert_int_eq(rc, GNN_EMEMORY);
        ck_assert_int_lt(n, 1000);
    }
    free(memory);
    tear_down(&f);
}
END_TEST

/* A bias fuses the activation if backward does not need the intermediate value. */
START_TEST(a_bias_and_its_activation_are_one_op)
{
    static const gnn_activation_t kinds[] = {GNN_RELU, GNN_ELU, GNN_GELU, GNN_LEAKY_RELU};
    gnn_real_t *memory = test_reals(40 * 6, 4), *d = test_reals(40 * 6, 5);
    gnn_tensor_t x = gnn_tensor(memory, 40, 6), dy = gnn_tensor(d, 40, 6);
    for (int k = 0; k < 8; k++) {
        gnn_real_t value[2][240], gradient[2][240], db[2][6];
        const int recording = k / 4;
        for (int fused = 0; fused < 2; fused++) {
            fixture_t f = set_up();
            declare(&f);
            gnn_tape_reset(f.tape, recording, 0);
            gnn_var_t in = gnn_tape_input(f.tape, &x, 1),
                      b = gnn_tape_parameter(f.tape, f.parameters, 1);
            gnn_var_t y = gnn_tape_add(f.tape, in, b, 1);
            y = fused ? gnn__tape_activate(f.tape, y, kinds[k % 4], 0)
                      : gnn_tape_activation(f.tape, y, kinds[k % 4], 0);
            gnn_tape_keep(f.tape, y);
            ck_assert_int_eq(f.tape->n_nodes,
                             fused && !(recording && kinds[k % 4] == GNN_GELU) ? 1 : 2);
            ck_ok(gnn_tape_forward(f.tape));
            memcpy(value[fused], gnn_tape_value(f.tape, y).data, sizeof *value);
            if (recording) {
                ck_ok(gnn_tape_backward(f.tape, y, &dy));
                memcpy(gradient[fused], gnn_tape_gradient(f.tape, in).data, sizeof *gradient);
                memcpy(db[fused], gnn_parameters_gradient(f.parameters, 1).data, sizeof *db);
            }
            tear_down(&f);
        }
        ck_assert_double_lt(test_error(value[0], value[1], 240), TOLERANCE_OUT);
        ck_assert(!recording || test_error(gradient[0], gradient[1], 240) < TOLERANCE_OUT);
        ck_assert(!recording || test_error(db[0], db[1], 6) < TOLERANCE_OUT);
    }
    free(memory);
    free(d);
}
END_TEST

/* The table, in a buffer of the test's own; one blank stands between two words. */
static void profile_of(const fixture_t *f, char *text, size_t size)
{
    FILE *file = tmpfile();
    ck_ok(gnn_profile_write(f->context, file));
    rewind(file);
    char *end = text;
    for (int c; (c = fgetc(file)) != EOF && end < text + size - 1;)
        if (c != ' ' || end == text || end[-1] != ' ')
            *end++ = (char)c;
    *end = 0;
    fclose(file);
}

/* A line for each op and pass, with its calls; nothing unless it was asked for. */
START_TEST(a_profile_counts_ops)
{
    gnn_real_t *memory = test_reals(7 * 6, 4);
    gnn_tensor_t x = gnn_tensor(memory, 7, 6);
    for (int wanted = 0; wanted < 2; wanted++) {
        setenv("GNN_PROFILE", wanted ? "1" : "0", 1);
        fixture_t f = set_up();
        gnn_var_t input;
        declare(&f);
        gnn_tape_reset(f.tape, 1, 0);
        gnn__tape_set_place(f.tape, 0, "layer 3");
        gnn_var_t root = record(&f, &x, &input, false);
        for (int k = 0; k < 3; k++)
            ck_ok(gnn_tape_forward(f.tape));
        ck_ok(gnn_tape_backward(f.tape, root, NULL));
        static char text[4096];
        profile_of(&f, text, sizeof text);
        const char *forward = strstr(text, "linear layer 3 forward "),
                   *backward = strstr(text, "linear layer 3 backward ");
        ck_assert_int_eq(forward && backward && strstr(text, "\nthe machine"), wanted);
        ck_assert_int_eq(*text != 0, wanted);
        if (wanted) {
            long long forward_calls = atoll(forward + strlen("linear layer 3 forward ")),
                      backward_calls = atoll(backward + strlen("linear layer 3 backward "));
            ck_assert_int_gt(backward_calls, 0);
            ck_assert_int_eq(forward_calls, 3 * backward_calls);
        }
        tear_down(&f);
    }
    unsetenv("GNN_PROFILE");
    free(memory);
}
END_TEST

START_TEST(an_unread_half_of_an_input_has_gradient_0)
{
    enum { ROWS = 5, COLS = 4 };
    gnn_real_t *memory = test_reals(ROWS * 2 * COLS, 4);
    const gnn_tensor_t x = gnn_tensor(memory, ROWS, 2 * COLS);
    fixture_t f = set_up();
    gnn_tape_reset(f.tape, 1, 0);
    const gnn_var_t in = gnn_tape_input(f.tape, &x, 1),
                    left = gnn_tape_view(f.tape, in, 0, ROWS, 0, COLS),
                    right = gnn_tape_view(f.tape, in, 0, ROWS, COLS, COLS),
                    y = gnn_tape_add(f.tape, left, left, 2);
    gnn_tape_activation(f.tape, right, GNN_TANH, 0);
    ck_ok(gnn_tape_forward(f.tape));
    memset(f.tape->arena.base, 0xff, f.tape->arena.used);
    ck_ok(gnn_tape_forward(f.tape));
    ck_ok(gnn_tape_backward(f.tape, y, NULL));
    const gnn_tensor_t d = gnn_tape_gradient(f.tape, in);
    for (int64_t r = 0; r < ROWS; r++)
        for (int64_t c = 0; c < 2 * COLS; c++)
            ck_assert_double_eq((double)gnn__row(&d, r)[c], c < COLS ? 3 : 0);
    tear_down(&f);
    free(memory);
}
END_TEST

enum { WORDS = 200, SOME = 8 };

/* Attention whose keys are the last SOME columns of the values x, or k. Returns the gradient of x,
 * to be freed; that of k in `d_k`. */
static gnn_real_t *attend(const gnn_graph_t *sentence, const gnn_tensor_t *q, const gnn_tensor_t *x,
                          const gnn_tensor_t *k, gnn_real_t *d_k)
{
    fixture_t f = set_up();
    gnn_var_t in[GNN_AGGREGATE_INPUTS];
    for (int i = 0; i < GNN_AGGREGATE_INPUTS; i++)
        in[i] = GNN_NONE;
    gnn_tape_reset(f.tape, 1, 0);
    const gnn_var_t values = gnn_tape_input(f.tape, x, 1),
                    keys = k ? gnn_tape_input(f.tape, k, 1)
                             : gnn_tape_view(f.tape, values, 0, WORDS, SOME, SOME);
    in[GNN_AGGREGATE_QUERY] = gnn_tape_input(f.tape, q, 1);
    in[GNN_AGGREGATE_KEY] = keys;
    in[GNN_AGGREGATE_SRC_MESSAGE] = values;
    const gnn_aggregate_t how = {.aggregator = &gnn_aggregator_attention,
                                 .message = gnn_message_find("none"),
                                 .graph = sentence,
                                 .shape = {.heads = 4}};
    const gnn_var_t y = gnn_tape_aggregate(f.tape, &how, in);
    ck_ok(gnn_tape_forward(f.tape));
    ck_ok(gnn_tape_backward(f.tape, y, NULL));
    gnn_real_t *d = malloc(sizeof *d * WORDS * 2 * SOME);
    memcpy(d, gnn_tape_gradient(f.tape, values).data, sizeof *d * WORDS * 2 * SOME);
    if (k)
        memcpy(d_k, gnn_tape_gradient(f.tape, keys).data, sizeof *d_k * WORDS * SOME);
    tear_down(&f);
    return d;
}

/* Two heads, on two threads, add to the same elements. */
START_TEST(parts_that_overlap_add_up_their_gradients)
{
    gnn_real_t *memory = test_reals(WORDS * 3 * SOME, 4), keys[WORDS * SOME], d_k[WORDS * SOME];
    const gnn_tensor_t q = gnn_tensor(memory, WORDS, SOME),
                       x = gnn_tensor(memory + WORDS * SOME, WORDS, 2 * SOME),
                       k = gnn_tensor(keys, WORDS, SOME);
    gnn_graph_t *sentence = NULL;
    ck_ok(gnn_graph_complete(&sentence, 1, (const int64_t[]){WORDS}));
    ck_ok(gnn_graph_prepare(sentence, &(gnn_view_t){.backward = GNN_ON}));
    for (int64_t r = 0; r < WORDS; r++)
        memcpy(gnn__row(&k, r), gnn__row(&x, r) + SOME, sizeof *keys * SOME);
    gnn_real_t *expected = attend(sentence, &q, &x, &k, d_k);
    for (int64_t r = 0; r < WORDS; r++)
        for (int64_t c = 0; c < SOME; c++)
            expected[(2 * r + 1) * SOME + c] += d_k[r * SOME + c];
    for (int again = 0; again < (test_small() ? 2 : 100); again++) {
        gnn_real_t *d = attend(sentence, &q, &x, NULL, NULL);
        ck_assert_double_lt(test_error(d, expected, WORDS * 2 * SOME), TOLERANCE_GRAD);
        free(d);
    }
    gnn_graph_free(sentence);
    free(expected);
    free(memory);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tape");
    TCase *c = tcase_create("tape");
    tcase_add_test(c, gradients_add_up_in_views_and_shared_values);
    tcase_add_test(c, recycled_memory_gives_the_same_bits);
    tcase_add_test(c, nothing_is_allocated_after_the_first_run);
    tcase_add_test(c, the_first_error_sticks);
    tcase_add_test(c, sparse_values_go_into_linear_only);
    tcase_add_test(c, products_of_one_dropped_sparse_input_share_a_mask);
    tcase_add_test(c, a_failing_allocation_leaves_a_usable_tape);
    tcase_add_test(c, a_profile_counts_ops);
    tcase_add_test(c, a_bias_and_its_activation_are_one_op);
    tcase_add_test(c, an_unread_half_of_an_input_has_gradient_0);
    tcase_add_test(c, parts_that_overlap_add_up_their_gradients);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
