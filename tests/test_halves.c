/* Matrices in 16 bits: widening by the kernels of every instruction set, and products, against
 * plain loops in double. */
#include "support.h"

#include <lib/kernels/dense/dense.h>
#include <lib/kernels/isa.h>

#if defined(__x86_64__)
extern const gnn__fp16_kernels_t gnn__fp16_kernels_baseline, gnn__fp16_kernels_v3,
    gnn__fp16_kernels_v4;
static const gnn__fp16_kernels_t *const kernels[] = {&gnn__fp16_kernels_baseline,
                                                     &gnn__fp16_kernels_v3, &gnn__fp16_kernels_v4};
#else
extern const gnn__fp16_kernels_t gnn__fp16_kernels_baseline;
static const gnn__fp16_kernels_t *const kernels[] = {&gnn__fp16_kernels_baseline};
#endif

/* The value of 16 bits, by the definitions of fp16 and bf16. */
static double value_of(uint16_t h, bool bf16)
{
    const int bits = bf16 ? 7 : 10, bias = bf16 ? 127 : 15,
              exponent = h >> bits & (bf16 ? 255 : 31), fraction = h & ((1 << bits) - 1);
    const double size = exponent ? ldexp(1 + ldexp(fraction, -bits), exponent - bias)
                                 : ldexp(fraction, 1 - bias - bits);
    return h & 0x8000 ? -size : size;
}

/* All finite values of a type, in chunks that are not multiples of a register. */
START_TEST(every_16_bit_value_converts_exactly)
{
    enum { PIECE = 1021 };
    const bool bf16 = _i;
    static uint16_t from[1 << 16];
    static gnn_real_t to[1 << 16];
    int64_t n = 0;
    for (uint32_t h = 0; h < 1 << 16; h++)
        if ((h & (bf16 ? 0x7f80u : 0x7c00u)) != (bf16 ? 0x7f80u : 0x7c00u))
            from[n++] = (uint16_t)h;
    for (int isa = 0; isa < test_instruction_sets(); isa++) {
        for (int64_t k = 0; k < n; k += PIECE)
            kernels[isa]->widen(gnn__min(PIECE, n - k), bf16, from + k, to + k);
        for (int64_t k = 0; k < n; k++)
            ck_assert_msg(
                (double)to[k] == value_of(from[k], bf16) && !signbit(to[k]) == !(from[k] & 0x8000),
                "set %d: %04x is %g, not %g", isa, from[k], (double)to[k], value_of(from[k], bf16));
    }
}
END_TEST

/* A product; y holds old values, and more columns than there are outputs. */
typedef struct {
    gnn__fp16_t w;
    gnn__fp16_product_t p;
    uint16_t *at;
    gnn_real_t *x, *y, *bias, *old;
} trial_t;

static void trial_new(trial_t *t, int64_t rows, int64_t outputs, int64_t k, int kind)
{
    const bool bf16 = kind & 1;
    uint64_t seed = (uint64_t)(rows * 10007 + outputs * 101 + k);
    *t = (trial_t){.at = malloc(sizeof *t->at * (size_t)(outputs * k + 1)),
                   .x = test_reals(rows * (k + 3), 1),
                   .y = test_reals(rows * (outputs + 2), 2),
                   .old = test_reals(rows * (outputs + 2), 2),
                   .bias = test_reals(outputs, 3)};
    for (int64_t i = 0; i < outputs * k; i++) /* sizes of 1/16 to 2 */
        t->at[i] = (uint16_t)(((uint32_t)test_below(&seed, 2) << 15) + (bf16 ? 0x3d80u : 0x2c00u) +
                              (uint32_t)test_below(&seed, bf16 ? 0x280 : 0x1400));
    t->w = (gnn__fp16_t){t->at, outputs, k, bf16, true};
    t->p = (gnn__fp16_product_t){.w = &t->w,
                                 .x = t->x,
                                 .bias = kind & 4 ? t->bias : NULL,
                                 .y = t->y,
                                 .rows = rows,
                                 .ldx = k + 3,
                                 .ldy = outputs + 2,
                                 .add = (kind & 6) == 2};
}

static void trial_check(const trial_t *t)
{
    const gnn__fp16_product_t *p = &t->p;
    const double bound = (GNN_DOUBLE ? 1e-15 : 1e-6) * (4 + sqrt((double)t->w.cols));
    for (int64_t r = 0; r < p->rows; r++)
        for (int64_t o = 0; o < p->ldy; o++) {
            const double got = (double)p->y[r * p->ldy + o], old = (double)t->old[r * p->ldy + o];
            double sum = p->add || o >= t->w.rows ? old
                         : p->bias                ? (double)p->bias[o]
                                                  : 0,
                   size = 1;
            for (int64_t i = 0; o < t->w.rows && i < t->w.cols; i++) {
                const double part =
                    (double)p->x[r * p->ldx + i] * value_of(t->at[o * t->w.cols + i], t->w.bf16);
                sum += part;
                size += fabs(part);
            }
            ck_assert_msg(fabs(got - sum) <= bound * size,
                          "row %d, output %d of %d x %d x %d: %.9g, not %.9g", (int)r, (int)o,
                          (int)p->rows, (int)t->w.rows, (int)t->w.cols, got, sum);
        }
}

static void trial_free(const trial_t *t)
{
    free(t->at);
    free(t->x);
    free(t->y);
    free(t->old);
    free(t->bias);
}

/* Few rows and many, outputs of more than one panel; the bits of few rows do not depend on
 * threads. */
START_TEST(products_equal_plain_loops)
{
    static const int64_t rows[] = {1, 8, 9, 40};
    gnn_context_t *one, *two;
    ck_ok(gnn_context_new(&one, &(gnn_context_config_t){.threads = 1}));
    ck_ok(gnn_context_new(&two, &(gnn_context_config_t){.threads = 2}));
    for (int k = 0; k < 4; k++) {
        trial_t t, u;
        trial_new(&t, rows[k], 530, 203, _i);
        trial_new(&u, rows[k], 530, 203, _i);
        gnn_real_t *scratch = test_reals(gnn__fp16_scratch(&t.w, rows[k]), 5);
        ck_ok(gnn__fp16_multiply(one, &t.p, 0, scratch));
        ck_ok(gnn__fp16_multiply(two, &u.p, 0, scratch));
        trial_check(&t);
        trial_check(&u);
        if (rows[k] <= GNN__GEMV_ROWS)
            ck_assert_mem_eq(t.y, u.y, sizeof *t.y * (size_t)(rows[k] * t.p.ldy));
        free(scratch);
        trial_free(&t);
        trial_free(&u);
    }
    gnn_context_free(one);
    gnn_context_free(two);
}
END_TEST

START_TEST(transposed_matrices_are_converted)
{
    enum { ROWS = 37, COLS = 70, STRIDE = 75 };
    gnn_context_t *context;
    gnn_real_t to[COLS * STRIDE];
    trial_t t;
    ck_ok(gnn_context_new(&context, NULL));
    trial_new(&t, 1, ROWS, COLS, _i);
    for (int turned = 0; turned < 2; turned++) {
        t.w.transposed = turned;
        gnn__fp16_widen(context, &t.w, 0, to, STRIDE);
        for (int r = 0; r < ROWS; r++)
            for (int c = 0; c < COLS; c++)
                ck_assert_double_eq((double)to[turned ? c * STRIDE + r : r * STRIDE + c],
                                    value_of(t.at[r * COLS + c], _i & 1));
    }
    trial_free(&t);
    gnn_context_free(context);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("halves");
    TCase *c = tcase_create("halves");
    tcase_add_loop_test(c, every_16_bit_value_converts_exactly, 0, 2);
    tcase_add_loop_test(c, products_equal_plain_loops, 0, 8);
    tcase_add_loop_test(c, transposed_matrices_are_converted, 0, 2);
    tcase_set_timeout(c, 300);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
