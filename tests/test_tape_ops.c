/* Ops on a tape: factors take a dropout over, there may be thousands of inputs, a detached value
 * passes no gradient, a table may be read twice. */
#include "tape_fixture.h"

enum { ROWS = 30, COLS = 7, NUMBERS = ROWS * COLS };

/* ---- dropout ---- */

typedef gnn_var_t (*builder_t)(gnn_tape_t *tape, gnn_var_t x, gnn_var_t z);

static gnn_var_t scaled(gnn_tape_t *tape, gnn_var_t x, gnn_var_t z)
{
    (void)z;
    return gnn_tape_scale(tape, x, (gnn_real_t)-0.75);
}

/* An op of the test, whose descriptor defines the permitted optimisations. */
static gnn_real_t *rate_of(void *attributes)
{
    return &((gnn__scale_settings_t *)attributes)->rate;
}

static gnn_var_t planted(gnn_tape_t *tape, gnn_var_t x, gnn_var_t z)
{
    static const gnn__op_traits_t traits = {.rate = rate_of};
    static gnn_op_t op;
    op = gnn__op_scale;
    op.traits = &traits;
    (void)z;
    return gnn_tape_op(tape, &op, &x, 1, &(gnn__scale_settings_t){.alpha = 2},
                       sizeof(gnn__scale_settings_t));
}

/* dropout(op(x, z)) of all rows of x and the first ones of z; y, dx and dz into `out`. */
static void run_dropped(builder_t build, bool joined, int64_t z_rows, int64_t z_cols,
                        gnn_real_t *memory, gnn_real_t *out)
{
    const gnn_tensor_t x = gnn_tensor(memory, ROWS, COLS),
                       z = gnn_tensor(memory + NUMBERS, z_rows, z_cols);
    fixture_t f = set_up();
    gnn_tape_reset(f.tape, 1, 1);
    const gnn_var_t a = gnn_tape_input(f.tape, &x, 1), b = gnn_tape_input(f.tape, &z, 1),
                    between = build(f.tape, a, b);
    if (!joined)
        gnn_tape_keep(f.tape, between);
    gnn_var_t y = gnn_tape_dropout(f.tape, between, (gnn_real_t)0.4);
    y = gnn_tape_add(f.tape, gnn_tape_add(f.tape, y, a, 1), gnn_tape_add(f.tape, a, a, 1), 1);
    ck_ok(gnn_tape_forward(f.tape));
    ck_ok(gnn_tape_backward(f.tape, y, NULL));
    ck_assert_int_eq(f.tape->nodes[1]->fused, joined);
    memcpy(out, gnn_tape_value(f.tape, y).data, NUMBERS * sizeof *out);
    memcpy(out + NUMBERS, gnn_tape_gradient(f.tape, a).data, NUMBERS * sizeof *out);
    memcpy(out + 2 * NUMBERS, gnn_tape_gradient(f.tape, b).data,
           (size_t)(z_rows * z_cols) * sizeof *out);
    tear_down(&f);
}

START_TEST(factors_apply_a_fused_dropout)
{
    static const struct {
        builder_t build;
        int64_t rows, cols;
    } all[] = {{scaled, 1, 1},
               {planted, 1, 1},
               {gnn_tape_multiply, ROWS, COLS},
               {gnn_tape_multiply, 1, COLS},
               {gnn_tape_multiply, ROWS, 1},
               {gnn_tape_scale_heads, ROWS, 1},
               {gnn_tape_scale_heads, 1, COLS}};
    gnn_real_t *memory = test_reals(2 * NUMBERS, 4), out[2][3 * NUMBERS];
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        for (int joined = 0; joined < 2; joined++)
            run_dropped(all[k].build, joined, all[k].rows, all[k].cols, memory, out[joined]);
        const int64_t numbers = 2 * NUMBERS + all[k].rows * all[k].cols;
        ck_assert_double_lt(test_error(out[0], out[1], numbers), TOLERANCE_OUT);
    }
    free(memory);
}
END_TEST

/* ---- many inputs ---- */

START_TEST(an_op_takes_thousands_of_inputs)
{
    enum { MANY = 4096 };
    gnn_real_t *memory = test_reals(MANY, 4);
    gnn_var_t x[MANY + 1];
    fixture_t f = set_up();
    for (int run = 0; run < 3; run++) {
        gnn__fail_allocation(0);
        gnn_tape_reset(f.tape, 1, 0);
        const gnn_var_t in = gnn_tape_input(f.tape, &(gnn_tensor_t){memory, 1, MANY, MANY}, 1);
        for (int k = 0; k < MANY; k++) /* from the last to the first */
            x[k] = gnn_tape_view(f.tape, in, 0, 1, MANY - 1 - k, 1);
        const gnn_var_t side = gnn_tape_concat(f.tape, x, MANY),
                        under = gnn_tape_stack(f.tape, x, MANY);
        gnn_tape_keep(f.tape, under);
        ck_ok(gnn_tape_forward(f.tape));
        ck_assert_int_eq(gnn_tape_rows(f.tape, under), MANY);
        ck_ok(gnn_tape_backward(f.tape, side, &(gnn_tensor_t){memory, 1, MANY, MANY}));
        for (int k = 0; k < MANY; k++) {
            ck_assert(gnn_tape_value(f.tape, side).data[k] == memory[MANY - 1 - k]);
            ck_assert(gnn_tape_value(f.tape, under).data[k] == memory[MANY - 1 - k]);
            ck_assert(gnn_tape_gradient(f.tape, in).data[k] == memory[MANY - 1 - k]);
        }
        if (run > 0)
            ck_assert_int_eq(gnn__fail_allocation(0), 0);
    }
    x[MANY] = x[0];
    gnn_tape_concat(f.tape, x, MANY + 1);
    ck_fails(gnn_tape_status(f.tape), GNN_EINVALID, "op concat: expected 0 to 4096 inputs, got 4097");
    free(memory);
    tear_down(&f);
}
END_TEST

/* ---- values without gradients, tables read twice ---- */

START_TEST(detached_values_pass_no_gradient)
{
    gnn_real_t *memory = test_reals(NUMBERS, 4);
    const gnn_tensor_t x = gnn_tensor(memory, ROWS, COLS);
    fixture_t f = set_up();
    gnn_tape_reset(f.tape, 1, 0);
    const gnn_var_t in = gnn_tape_input(f.tape, &x, 1), s = gnn_tape_scale(f.tape, in, 3),
                    d = gnn_tape_detach(f.tape, s), y = gnn_tape_multiply(f.tape, s, d);
    ck_assert_int_ne(d, s);
    ck_assert_int_eq(gnn_tape_detach(f.tape, d), d);
    ck_assert_int_eq(f.tape->n_nodes, 2); /* nothing is copied */
    for (int again = 0; again < 2; again++) {
        ck_ok(gnn_tape_forward(f.tape));
        ck_ok(gnn_tape_backward(f.tape, y, NULL));
        for (int k = 0; k < NUMBERS; k++) {
            const double v = (double)memory[k];
            ck_assert_double_eq_tol((double)gnn_tape_value(f.tape, y).data[k], 9 * v * v, 1e-5);
            ck_assert_double_eq_tol((double)gnn_tape_gradient(f.tape, in).data[k], 9 * v, 1e-5);
        }
        ck_assert_ptr_null(gnn_tape_gradient(f.tape, d).data);
        gnn_tape_keep(f.tape, d);
    }
    const gnn_var_t alone = gnn_tape_scale(f.tape, d, 2);
    ck_ok(gnn_tape_forward(f.tape));
    ck_fails(gnn_tape_backward(f.tape, alone, NULL), GNN_EINVALID, "depends on a parameter");
    gnn_tape_reset(f.tape, 0, 0);
    const gnn_var_t plain = gnn_tape_input(f.tape, &x, 1);
    ck_assert_int_eq(gnn_tape_detach(f.tape, plain), plain);
    gnn_tape_detach(f.tape, 77);
    ck_fails(gnn_tape_status(f.tape), GNN_EINVALID, "one of the tape's 1 values, got 77");
    free(memory);
    tear_down(&f);
}
END_TEST

/* logits = E[ids] E': the gradient of the table comes from both. */
static double tied(fixture_t *f, const int32_t *ids, int64_t count, bool recording)
{
    gnn_tape_reset(f->tape, recording, 0);
    const gnn_var_t table = gnn_tape_parameter(f->tape, f->parameters, 0),
                    words = gnn_tape_gather(f->tape, table, gnn_tape_ids(f->tape, ids, count)),
                    y = gnn_tape_activation(
                        f->tape, gnn_tape_linear_transposed(f->tape, words, table, GNN_NONE),
                        GNN_TANH, 0);
    gnn_tape_keep(f->tape, y);
    ck_ok(gnn_tape_forward(f->tape));
    if (recording)
        ck_ok(gnn_tape_backward(f->tape, y, NULL));
    const gnn_tensor_t v = gnn_tape_value(f->tape, y);
    double sum = 0;
    for (int64_t k = 0; k < v.rows * v.cols; k++)
        sum += (double)v.data[k];
    return sum;
}

START_TEST(tied_embeddings_get_both_gradients)
{
    enum { WORDS = 5, WIDTH = 3 };
    const int32_t ids[] = {4, 0, 0, 2};
    const double eps = GNN_DOUBLE ? 1e-6 : 1e-2, tolerance = GNN_DOUBLE ? 1e-7 : 5e-3;
    fixture_t f = set_up();
    int32_t id;
    gnn_real_t expected[WORDS * WIDTH];
    ck_ok(gnn_parameters_add(f.parameters, "table", WORDS, WIDTH, GNN_INIT_NORMAL, 0.5, 0, 0, &id));
    ck_ok(gnn_parameters_allocate(f.parameters, f.context));
    tied(&f, ids, 4, true);
    memcpy(expected, gnn_parameters_gradient(f.parameters, 0).data, sizeof expected);
    for (int k = 0; k < WORDS * WIDTH; k++) {
        gnn_real_t *at = gnn_parameters_value(f.parameters, 0).data + k, old = *at;
        *at = (gnn_real_t)((double)old + eps);
        const double high = tied(&f, ids, 4, false);
        *at = (gnn_real_t)((double)old - eps);
        const double low = tied(&f, ids, 4, false);
        *at = old;
        ck_assert_double_eq_tol((double)expected[k], (high - low) / (2 * eps), tolerance);
    }
    tear_down(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tape_ops");
    TCase *c = tcase_create("tape_ops");
    tcase_add_test(c, factors_apply_a_fused_dropout);
    tcase_add_test(c, an_op_takes_thousands_of_inputs);
    tcase_add_test(c, detached_values_pass_no_gradient);
    tcase_add_test(c, tied_embeddings_get_both_gradients);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
