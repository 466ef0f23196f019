/* Products of few rows by a large matrix, by the kernels of every instruction set and by the seam
 * of dense products, against plain loops in double. */
#include "support.h"

#include <lib/kernels/dense/dense.h>
#include <lib/kernels/isa.h>

#if defined(__x86_64__)
extern const gnn__gemv_batch_kernels_t gnn__gemv_batch_kernels_baseline, gnn__gemv_batch_kernels_v3,
    gnn__gemv_batch_kernels_v4;
static const gnn__gemv_batch_kernels_t *const kernels[] = {
    &gnn__gemv_batch_kernels_baseline, &gnn__gemv_batch_kernels_v3, &gnn__gemv_batch_kernels_v4};
#else
extern const gnn__gemv_batch_kernels_t gnn__gemv_batch_kernels_baseline;
static const gnn__gemv_batch_kernels_t *const kernels[] = {&gnn__gemv_batch_kernels_baseline};
#endif

/* Initial values of y: zero, a bias, or its own. */
enum { FRESH, BIAS, ADD, STARTS };

/* A product whose operands have padding after their rows; `plain` is W in double, (k x outputs). */
typedef struct {
    gnn__gemv_batch_t p;
    uint16_t *halves;
    gnn_real_t *w, *x, *y, *old, *bias;
    double *plain;
} trial_t;

static void fill_halves(trial_t *t, bool bf16)
{
    const int64_t n = t->p.outputs * t->p.ldw;
    uint64_t seed = (uint64_t)n;
    for (int64_t i = 0; i < n; i++) /* sizes of 1/16 to 2 */
        t->halves[i] =
            (uint16_t)(((uint32_t)test_below(&seed, 2) << 15) + (bf16 ? 0x3d80u : 0x2c00u) +
                       (uint32_t)test_below(&seed, bf16 ? 0x280 : 0x1400));
    gnn__fp16_kernels()->widen(n, bf16, t->halves, t->w);
}

static void trial_new(trial_t *t, gnn__format_t numbers, bool turned, int64_t rows, int64_t outputs,
                      int64_t k, int start)
{
    const int64_t w_rows = turned ? outputs : k, ldw = (turned ? k : outputs) + 2;
    *t = (trial_t){.p = {.format = numbers,
                         .transposed = turned,
                         .rows = rows,
                         .outputs = outputs,
                         .k = k,
                         .ldx = k + 3,
                         .ldw = ldw,
                         .ldy = outputs + 2,
                         .add = start == ADD},
                   .halves = malloc(sizeof *t->halves * (size_t)(w_rows * ldw + 1)),
                   .w = test_reals(w_rows * ldw, 1),
                   .x = test_reals(rows * (k + 3), 2),
                   .y = test_reals(rows * (outputs + 2), 3),
                   .old = test_reals(rows * (outputs + 2), 3),
                   .bias = test_reals(outputs, 4),
                   .plain = malloc(sizeof(double) * (size_t)(k * outputs + 1))};
    if (numbers != GNN__FORMAT_REAL)
        fill_halves(t, numbers == GNN__FORMAT_BF16);
    for (int64_t i = 0; i < k; i++)
        for (int64_t o = 0; o < outputs; o++)
            t->plain[i * outputs + o] = (double)t->w[turned ? o * ldw + i : i * ldw + o];
    for (int64_t r = 0; start != ADD && r < rows; r++)
        for (int64_t o = 0; o < outputs; o++)
            t->y[r * t->p.ldy + o] = NAN;
    t->p.w = numbers == GNN__FORMAT_REAL ? (const void *)t->w : t->halves;
    t->p.x = t->x;
    t->p.y = t->y;
    t->p.bias = start == BIAS ? t->bias : NULL;
}

/* The padding after a row of y is unchanged. */
static void trial_check(const trial_t *t)
{
    const gnn__gemv_batch_t *p = &t->p;
    const double bound = (GNN_DOUBLE ? 1e-15 : 1e-6) * (4 + sqrt((double)p->k));
    for (int64_t r = 0; r < p->rows; r++)
        for (int64_t o = 0; o < p->ldy; o++) {
            const bool kept = o >= p->outputs || p->add;
            double sum = kept      ? (double)t->old[r * p->ldy + o]
                         : p->bias ? (double)p->bias[o]
                                   : 0,
                   size = 1;
            for (int64_t i = 0; o < p->outputs && i < p->k; i++) {
                const double part = (double)p->x[r * p->ldx + i] * t->plain[i * p->outputs + o];
                sum += part;
                size += fabs(part);
            }
            const double got = (double)p->y[r * p->ldy + o];
            ck_assert_msg(fabs(got - sum) <= bound * size,
                          "row %d, output %d of %d x %d x %d: %.9g, not %.9g", (int)r, (int)o,
                          (int)p->rows, (int)p->outputs, (int)p->k, got, sum);
        }
}

static void trial_free(const trial_t *t)
{
    free(t->halves);
    free(t->w);
    free(t->x);
    free(t->y);
    free(t->old);
    free(t->bias);
    free(t->plain);
}

/* Loop: element types of a transposed W, and reals of one that is not. */
START_TEST(kernels_equal_plain_loops)
{
    static const int64_t outputs[] = {1, 3, 4, 13, 101}, sizes[] = {0, 1, 15, 16, 17, 64, 101};
    const gnn__format_t numbers = _i < 3 ? (gnn__format_t)_i : GNN__FORMAT_REAL;
    const int64_t most = _i < 3 ? GNN__GEMV_ROWS : GNN__GEMV_ROWS_COLUMNS;
    for (int isa = 0; isa < test_instruction_sets(); isa++)
        for (int64_t rows = 0; rows <= most; rows++)
            for (int o = 0; o < 5; o++)
                for (int k = 0; k < 7; k++) {
                    trial_t t;
                    trial_new(&t, numbers, _i < 3, rows, outputs[o], sizes[k], (o + k) % STARTS);
                    kernels[isa]->product(&t.p, 0, outputs[o]);
                    trial_check(&t);
                    trial_free(&t);
                }
}
END_TEST

static void multiply(gnn_context_t *context, const trial_t *t)
{
    const gnn__gemv_batch_t *p = &t->p;
    ck_ok(gnn__dense(context, &(gnn__product_t){.transpose_b = p->transposed,
                                                .m = p->rows,
                                                .n = p->outputs,
                                                .k = p->k,
                                                .lda = p->ldx,
                                                .ldb = p->ldw,
                                                .ldc = p->ldy,
                                                .alpha = 1,
                                                .beta = p->add,
                                                .a = p->x,
                                                .b = t->w,
                                                .c = p->y,
                                                .bias = p->bias}));
}

/* Through the public interface, split over threads: the same bits on one and two threads, and for a
 * single row. */
START_TEST(threads_and_batch_size_change_no_bit)
{
    enum { OUTPUTS = 700, K = 203 };
    gnn_context_t *one, *two;
    ck_ok(gnn_context_new(&one, &(gnn_context_config_t){.threads = 1}));
    ck_ok(gnn_context_new(&two, &(gnn_context_config_t){.threads = 2}));
    for (int turned = 0; turned < 2; turned++)
        for (int start = 0; start < STARTS; start++) {
            const int64_t rows = turned ? GNN__GEMV_ROWS : GNN__GEMV_ROWS_COLUMNS;
            trial_t t, u, last;
            trial_new(&t, GNN__FORMAT_REAL, turned, rows, OUTPUTS, K, start);
            trial_new(&u, GNN__FORMAT_REAL, turned, rows, OUTPUTS, K, start);
            trial_new(&last, GNN__FORMAT_REAL, turned, rows, OUTPUTS, K, start);
            last.p.x += (rows - 1) * last.p.ldx;
            last.p.y += (rows - 1) * last.p.ldy;
            last.p.rows = 1;
            multiply(one, &t);
            multiply(two, &u);
            multiply(two, &last);
            trial_check(&t);
            ck_assert_mem_eq(t.y, u.y, sizeof *t.y * (size_t)(rows * t.p.ldy));
            ck_assert_mem_eq(t.y + (rows - 1) * t.p.ldy, last.p.y, sizeof *t.y * OUTPUTS);
            trial_free(&t);
            trial_free(&u);
            trial_free(&last);
        }
    gnn_context_free(one);
    gnn_context_free(two);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("few_rows");
    TCase *c = tcase_create("few_rows");
    tcase_add_loop_test(c, kernels_equal_plain_loops, 0, 4);
    tcase_add_test(c, threads_and_batch_size_change_no_bit);
    tcase_set_timeout(c, 300);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
