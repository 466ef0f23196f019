/* Linear maps of many rows to few columns, which kernels of the library's own multiply, both ways,
 * against plain loops in double. */
#include "support.h"

#include <lib/kernels/dense/dense.h>

/* y = 3 x W of many rows and few columns. */
static void check_thin_product(const gnn_tensor_t *x, const gnn_tensor_t *w, const gnn_tensor_t *y)
{
    double worst = 0;
    for (int64_t r = 0; r < x->rows; r += test_small() && r < x->rows - 14 ? 13 : 1)
        for (int64_t k = 0; k < w->cols; k++) {
            double sum = 0;
            for (int64_t c = 0; c < x->cols; c++)
                sum += 3 * (double)gnn__row(x, r)[c] * (double)gnn__row(w, c)[k];
            const double e = fabs((double)gnn__row(y, r)[k] - sum);
            if (!(e <= worst))
                worst = e >= 0 ? e : INFINITY;
        }
    ck_assert_double_le(worst, GNN_DOUBLE ? 1e-13 : 1e-5);
}

/* Many rows times few columns: forward, and backward of y + 2 y against plain loops, so that
 * gradients are written and added to. */
static void check_thin(gnn_context_t *context, int64_t out, bool wants)
{
    enum { ROWS = 8300, COLS = 32 };
    int32_t id;
    gnn_tape_t *tape;
    gnn_parameters_t *parameters;
    gnn_real_t *memory = test_reals(ROWS * (COLS + out), 7);
    const gnn_tensor_t x = gnn_tensor(memory, ROWS, COLS),
                       dy = gnn_tensor(memory + ROWS * COLS, ROWS, out);
    ck_ok(gnn_parameters_new(&parameters));
    ck_ok(gnn_parameters_add(parameters, "w", COLS, out, GNN_INIT_GLOROT, 0, 0, 0, &id));
    ck_ok(gnn_parameters_allocate(parameters, context));
    ck_ok(gnn_tape_new(&tape, context));
    gnn_tape_reset(tape, 1, 0);
    const gnn_var_t in = gnn_tape_input(tape, &x, wants),
                    w = gnn_tape_parameter(tape, parameters, id),
                    first = gnn_tape_linear(tape, in, w, GNN_NONE),
                    second = gnn_tape_linear(tape, in, w, GNN_NONE),
                    y = gnn_tape_add(tape, first, second, 2);
    ck_ok(gnn_tape_forward(tape));
    ck_ok(gnn_tape_backward(tape, y, &dy));
    const gnn_tensor_t value = gnn_parameters_value(parameters, id),
                       forward = gnn_tape_value(tape, y),
                       dw = gnn_parameters_gradient(parameters, id),
                       dx = gnn_tape_gradient(tape, in);
    check_thin_product(&x, &value, &forward);
    for (int64_t c = 0; c < COLS; c++)
        for (int64_t k = 0; k < out; k++) {
            double sum = 0;
            for (int64_t r = 0; r < ROWS; r++)
                sum += 3 * (double)gnn__row(&x, r)[c] * (double)gnn__row(&dy, r)[k];
            ck_assert_double_eq_tol((double)gnn__row(&dw, c)[k], sum, GNN_DOUBLE ? 1e-10 : 5e-3);
        }
    double worst = 0;
    for (int64_t r = 0; wants && r < ROWS; r += test_small() && r < ROWS - 14 ? 13 : 1)
        for (int64_t c = 0; c < COLS; c++) {
            double sum = 0;
            for (int64_t k = 0; k < out; k++)
                sum += 3 * (double)gnn__row(&dy, r)[k] * (double)gnn__row(&value, c)[k];
            const double e = fabs((double)gnn__row(&dx, r)[c] - sum);
            if (!(e <= worst))
                worst = e >= 0 ? e : INFINITY;
        }
    ck_assert_double_le(worst, GNN_DOUBLE ? 1e-13 : 1e-5);
    gnn_tape_free(tape);
    gnn_parameters_free(parameters);
    free(memory);
}

START_TEST(few_columns_get_both_gradients_in_one_sweep)
{
    gnn_context_t *context;
    ck_ok(gnn_context_new(
        &context, &(gnn_context_config_t){.threads = 2, .precision = GNN_PRECISION_HIGHEST}));
    for (int64_t out = 1; out <= 17; out += 1 + (out > 8))
        for (int wants = 0; wants < 2; wants++)
            check_thin(context, out, wants);
    gnn_context_free(context);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("dense_thin");
    TCase *tc = tcase_create("products");
    tcase_set_timeout(tc, 600);
    tcase_add_test(tc, few_columns_get_both_gradients_in_one_sweep);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
