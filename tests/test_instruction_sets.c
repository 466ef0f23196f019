/* Kernels of all instruction sets that the processor has: sweeps to rounding, draws of dropout bit
 * by bit. */
#include "draws.h"
#include "support.h"

#include <lib/kernels/rowwise/rowwise.h>

/* GNN__ISA_BASELINE, .._V3, .._V4 in this order; other processors have the baseline alone. */
#if defined(__x86_64__)
#define TABLE(type, name)                                                          \
    extern const type gnn__##name##_baseline, gnn__##name##_v3, gnn__##name##_v4;  \
    static const type *const name[] = {&gnn__##name##_baseline, &gnn__##name##_v3, \
                                       &gnn__##name##_v4};
#else
#define TABLE(type, name)                     \
    extern const type gnn__##name##_baseline; \
    static const type *const name[] = {&gnn__##name##_baseline};
#endif
TABLE(gnn__elementwise_kernels_t, elementwise_kernels)
TABLE(gnn__row_kernels_t, row_kernels)
TABLE(gnn__dropout_kernels_t, dropout_kernels)
TABLE(draws_t, draws)

enum { WIDTH = 77 };

static void compare_sweeps(int isa, const gnn_real_t *x)
{
    const gnn__elementwise_kernels_t *base = elementwise_kernels[0], *e = elementwise_kernels[isa];
    gnn_real_t a[WIDTH], b[WIDTH], stats[2];
    for (gnn_activation_t kind = GNN_IDENTITY; kind < GNN_ACTIVATION_COUNT; kind++) {
        base->activate(kind, 1, WIDTH, x, a);
        e->activate(kind, 1, WIDTH, x, b);
        ck_assert_double_lt(test_error(a, b, WIDTH), TOLERANCE_OUT);
        base->activate_grad(kind, 1, WIDTH, x, x, false, a);
        e->activate_grad(kind, 1, WIDTH, x, x, false, b);
        ck_assert_double_lt(test_error(a, b, WIDTH), TOLERANCE_OUT);
    }
    ck_assert_double_eq_tol(base->exp_sum(WIDTH, x, 0, a), e->exp_sum(WIDTH, x, 0, b),
                            100 * TOLERANCE_OUT);
    ck_assert(base->max(WIDTH, x) == e->max(WIDTH, x));
    row_kernels[0]->norm(false, WIDTH, x, NULL, NULL, (gnn_real_t)1e-5, a, stats);
    row_kernels[isa]->norm(false, WIDTH, x, NULL, NULL, (gnn_real_t)1e-5, b, stats);
    ck_assert_double_lt(test_error(a, b, WIDTH), TOLERANCE_OUT);
}

START_TEST(optimizer_sweeps_agree)
{
    gnn_real_t *x = test_reals(WIDTH, 9);
    for (int isa = 0; isa < test_instruction_sets(); isa++)
        compare_sweeps(isa, x);
    free(x);
}
END_TEST

static gnn__dropout_t dropout_at(double rate)
{
    return gnn__dropout((gnn_rng_t){1, 2, 3, 0}, (gnn_real_t)rate);
}

/* Rows of `cols` elements with padding `gap`, against single draws. */
static void compare_matrix(int isa, int64_t rows, int64_t cols, int64_t gap, bool add)
{
    const gnn__dropout_t d = dropout_at(rows % 2 ? 0.3 : 0.9);
    const int64_t row = (1LL << 32) - 7, ld = cols + gap, n = rows * ld;
    gnn_real_t *x = test_reals(n, 3), *y = test_reals(n, 4), *expected = test_reals(n, 4);
    for (int64_t k = 0; k < n; k += 5)
        x[k] = k % 2 ? (gnn_real_t)INFINITY : (gnn_real_t)-0.0;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < cols; c++) {
            gnn_real_t keep[8], *const e = &expected[r * ld + c];
            gnn__dropout_draw(&d, (uint32_t)(row + r), (uint32_t)(c / 8), 0, keep);
            const gnn_real_t left = keep[c % 8] > 0 ? x[r * ld + c] * d.scale + 0 : (gnn_real_t)-0.0;
            *e = add ? *e + left : left;
        }
    dropout_kernels[isa]->matrix(&d, row, rows, cols, x, ld, add, y, ld);
    ck_assert_msg(memcmp(y, expected, (size_t)n * sizeof *y) == 0,
                  "%s: other numbers in a matrix of %d x %d, gap %d", gnn__isa_name(isa), (int)rows,
                  (int)cols, (int)gap);
    free(x);
    free(y);
    free(expected);
}

START_TEST(dropout_of_a_matrix_is_the_same_with_all)
{
    for (int isa = 0; isa < test_instruction_sets(); isa++)
        for (int64_t cols = 1; cols < 300; cols += cols < 20 ? 1 : 61)
            for (int64_t rows = 1; rows < 80; rows = 3 * rows + 1)
                for (int k = 0; k < 4; k++)
                    compare_matrix(isa, rows, cols, k % 2 * 3, k / 2);
}
END_TEST

/* Rows of 0 to `most` stored values. */
static gnn_sparse_t stored_numbers(int64_t rows, int64_t most, bool ones)
{
    int64_t *indptr = calloc((size_t)rows + 1, sizeof *indptr);
    for (int64_t r = 0; r < rows; r++)
        indptr[r + 1] = indptr[r] + r * 7919 % (most + 1);
    const int64_t n = indptr[rows];
    int32_t *indices = calloc((size_t)n + 1, sizeof *indices);
    for (int64_t e = 0; e < n; e++)
        indices[e] = (int32_t)(e * 31 % most);
    return (gnn_sparse_t){rows, most, indptr, indices, ones ? NULL : test_reals(n, 5)};
}

static void stored_numbers_free(gnn_sparse_t *x)
{
    free((void *)x->indptr);
    free((void *)x->indices);
    free((void *)x->values);
}

static void compare_sparse(int isa, const gnn_sparse_t *x, double rate)
{
    const gnn__dropout_t d = dropout_at(rate);
    const int64_t n = x->indptr[x->rows];
    int32_t *indices[2], *counts[2];
    gnn_real_t *values[2];
    for (int k = 0; k < 2; k++) {
        indices[k] = calloc((size_t)n + 1, sizeof **indices);
        counts[k] = calloc((size_t)x->rows, sizeof **counts);
        values[k] = calloc((size_t)n + 1, sizeof **values);
    }
    for (int64_t r = 0; r < x->rows; r++) {
        const int64_t begin = x->indptr[r];
        for (int64_t e = begin; e < x->indptr[r + 1]; e++) {
            gnn_real_t keep[8];
            gnn__dropout_draw(&d, (uint32_t)r, (uint32_t)((e - begin) / 8), 0, keep);
            if (keep[(e - begin) % 8] > 0) {
                indices[0][begin + counts[0][r]] = x->indices[e];
                values[0][begin + counts[0][r]++] = (x->values ? x->values[e] : 1) * d.scale;
            }
        }
    }
    /* In two pieces, as threads do. */
    dropout_kernels[isa]->sparse(&d, x->rows / 3, x->rows, x, indices[1], values[1], counts[1]);
    dropout_kernels[isa]->sparse(&d, 0, x->rows / 3, x, indices[1], values[1], counts[1]);
    for (int64_t r = 0; r < x->rows; r++) {
        const int64_t begin = x->indptr[r];
        const size_t left = (size_t)counts[0][r];
        ck_assert_int_eq(counts[0][r], counts[1][r]);
        ck_assert_mem_eq(indices[0] + begin, indices[1] + begin, left * sizeof **indices);
        ck_assert_mem_eq(values[0] + begin, values[1] + begin, left * sizeof **values);
    }
    for (int k = 0; k < 2; k++) {
        free(indices[k]);
        free(counts[k]);
        free(values[k]);
    }
}

START_TEST(dropout_of_sparse_values_is_the_same_with_all)
{
    for (int ones = 0; ones < 2; ones++) {
        gnn_sparse_t few = stored_numbers(90, 43, ones), many = stored_numbers(8, 1700, ones);
        for (int isa = 0; isa < test_instruction_sets(); isa++)
            for (int rate = 1; rate < 10; rate += 4) {
                compare_sparse(isa, &few, 0.1 * rate);
                compare_sparse(isa, &many, 0.1 * rate);
            }
        stored_numbers_free(&few);
        stored_numbers_free(&many);
    }
}
END_TEST

enum { PAIRS = 64 };

static void compare_pairs(int isa, int n, int width, bool patterns)
{
    const gnn__dropout_t d = dropout_at(0.4);
    uint32_t i[PAIRS], j[PAIRS];
    gnn_real_t keep[PAIRS * 24];
    for (uint32_t e = 0; e < PAIRS; e++) {
        i[e] = e * 0x9E3779B9u;
        j[e] = e / 3;
    }
    (patterns ? draws[isa]->patterns : draws[isa]->pairs)(&d, n, i, j, width, keep);
    for (int e = 0; e < n; e++)
        for (int h = 0; h < width; h++) {
            gnn_real_t expected[8];
            gnn__dropout_draw(&d, i[e], j[e], (uint32_t)(h / 8), expected);
            ck_assert_msg(keep[e * width + h] == expected[h % 8],
                          "%s: pair %d of %d, head %d of %d", gnn__isa_name(isa), e, n, h, width);
        }
}

START_TEST(dropout_of_pairs_is_the_same_with_all)
{
    for (int isa = 0; isa < test_instruction_sets(); isa++)
        for (int n = 1; n <= PAIRS; n++) {
            for (int width = 1; width <= 8; width *= width == 1 ? 4 : 2)
                compare_pairs(isa, n, width, true);
            for (int heads = 1; heads <= 24; heads += 5)
                compare_pairs(isa, n, heads, false);
        }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("instruction_sets");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 300);
    tcase_add_test(all, optimizer_sweeps_agree);
    tcase_add_test(all, dropout_of_a_matrix_is_the_same_with_all);
    tcase_add_test(all, dropout_of_sparse_values_is_the_same_with_all);
    tcase_add_test(all, dropout_of_pairs_is_the_same_with_all);
    suite_add_tcase(suite, all);
    return test_main(suite);
}
