/* Dense products by either provider: against plain loops in double, biases, levels of precision,
 * primitives that are kept. */
#include "peak.h"

#include <lib/kernels/dense/dense.h>
#if HAS_ONEDNN
#include <dnnl.h>
#include <sys/resource.h>
#endif

/* A product with operands of its own, rows apart, NaN in C where it is overwritten. */
typedef struct {
    gnn__product_t p;
    gnn_real_t *a, *b, *c, *bias;
    double *expected, largest;
} trial_t;

/* The plain loops are what takes time under valgrind, not the kernels: there every 13th row of C,
 * and the last, which fall on all places in blocks, are compared, and the others looked through for
 * NaN. */
static bool compared(const trial_t *t, int64_t row)
{
    return !test_small() || t->p.m * t->p.n * t->p.k < 100000 || row % 13 == 0 || row == t->p.m - 1;
}

/* The expected row r of C. */
static void expect_row(trial_t *t, int64_t r)
{
    const gnn__product_t *p = &t->p;
    const int64_t a_step = p->transpose_a ? p->lda : 1, b_step = p->transpose_b ? 1 : p->ldb;
    for (int64_t c = 0; c < p->n; c++) {
        const gnn_real_t *a = t->a + (p->transpose_a ? r : r * p->lda),
                         *b = t->b + (p->transpose_b ? c * p->ldb : c);
        double sum = p->bias ? (double)t->bias[c] : (double)(p->beta * t->c[r * p->ldc + c]);
        for (int64_t l = 0; l < p->k; l++)
            sum += (double)p->alpha * (double)a[l * a_step] * (double)b[l * b_step];
        t->expected[r * p->n + c] = sum;
        t->largest = fmax(t->largest, fabs(sum));
    }
}

static void trial_new(trial_t *t, int64_t m, int64_t n, int64_t k, int kind, gnn_real_t alpha,
                      gnn_real_t beta)
{
    const bool ta = kind & 1, tb = kind & 2, bias = kind & 4, apart = kind & 8;
    if (bias)
        beta = 0;
    const int64_t lda = (ta ? m : k) + 2 * apart, ldb = (tb ? k : n) + apart, ldc = n + 3 * apart;
    t->a = test_reals((ta ? k : m) * lda, 1);
    t->b = test_reals((tb ? n : k) * ldb, 2);
    t->c = test_reals(m * ldc, 3);
    t->bias = test_reals(n, 4);
    t->expected = malloc(sizeof(double) * (size_t)(m * n + 1));
    t->largest = 0;
    t->p = (gnn__product_t){
        ta, tb, m, n, k, lda, ldb, ldc, alpha, beta, t->a, t->b, t->c, bias ? t->bias : NULL, 0};
    for (int64_t r = 0; r < m; r++) {
        if (compared(t, r))
            expect_row(t, r);
        for (int64_t c = 0; beta == 0 && c < n; c++)
            t->c[r * ldc + c] = (gnn_real_t)NAN;
    }
}

static void trial_free(trial_t *t)
{
    free(t->a);
    free(t->b);
    free(t->c);
    free(t->bias);
    free(t->expected);
}

/* The largest error relative to the largest element; infinite for NaN. */
static double trial_error(const trial_t *t)
{
    double worst = 0;
    for (int64_t r = 0; r < t->p.m; r++)
        for (int64_t c = 0; c < t->p.n; c++) {
            const double x = (double)t->c[r * t->p.ldc + c],
                         e = fabs(x - (compared(t, r) ? t->expected[r * t->p.n + c] : x));
            if (!(e <= worst))
                worst = e >= 0 ? e : INFINITY;
        }
    return t->largest > 0 ? worst / t->largest : worst;
}

static gnn_context_t *context_at(gnn_precision_t level, bool forced)
{
    gnn_context_t *context;
    ck_ok(gnn_context_new(&context, &(gnn_context_config_t){.threads = 2, .precision = level}));
    context->forced = forced;
    return context;
}

/* Sizes around what OpenBLAS keeps for itself, and what blocks of rows and columns leave over. */
static const int64_t sizes[][3] = {{130, 90, 100}, {67, 333, 65}, {1000, 7, 150},
                                   {5, 500, 450},  {520, 4, 600}, {64, 128, 256}};
enum { SIZES = sizeof sizes / sizeof *sizes, KINDS = 32 /* the last bit: adds to C */ };

/* Bounds of the relative error, as stated in include/gnn/context.h; in double the plain loops have
 * errors of that size, also for long sums. */
static double bound(gnn_precision_t level, int64_t k)
{
    return GNN_DOUBLE                      ? 1e-14 * fmax(1, sqrt((double)k) / 30)
           : level == GNN_PRECISION_MEDIUM ? 6e-3
           : level == GNN_PRECISION_HIGH   ? 2e-5
                                           : 2e-6;
}

static void check_product(gnn_context_t *context, const int64_t size[3], int kind)
{
    const gnn_precision_t used = gnn_context_precision_used(context);
    trial_t t;
    trial_new(&t, size[0], size[1], size[2], kind & 15, 1, (gnn_real_t)(kind >> 4));
    ck_ok(gnn__dense(context, &t.p));
    const double error = trial_error(&t);
    ck_assert_msg(error < bound(used, t.p.k), "%d x %d x %d, kind %d, level %d: off by %g",
                  (int)t.p.m, (int)t.p.n, (int)t.p.k, kind, (int)used, error);
    trial_free(&t);
}

/* Without bf16 products in processor and build, each level is `highest`. */
START_TEST(products_equal_plain_loops)
{
    const gnn_precision_t level = (gnn_precision_t)_i;
    gnn_context_t *context = context_at(level, true);
    for (int s = 0; s < SIZES; s++)
        for (int kind = 0; kind < KINDS; kind += test_small() ? 5 : 1)
            check_product(context, sizes[s], kind);
    gnn_context_free(context);
}
END_TEST

/* B packed first, for many rows; X' Y by slices of rows, of which the last is longer. */
START_TEST(large_products_equal_plain_loops)
{
    static const int64_t large[][3] = {{800, 130, 150}, {330, 310, 1050}};
    const gnn_precision_t level = (gnn_precision_t)_i;
    gnn_context_t *context = context_at(level, true);
    for (int s = 0; s < 2; s++)
        for (int kind = s; kind < KINDS; kind += 2 + 2 * s)
            check_product(context, large[s], kind);
    gnn_context_free(context);
}
END_TEST

/* An A that no cache holds, times few columns; and X' Y of two such matrices. */
START_TEST(long_products_equal_plain_loops)
{
    static const int64_t size[] = {130000, 9, 66}, turned[] = {9, 66, 130000};
    static const int kinds[] = {0, 4, 10, 16, 26}, turned_kinds[] = {1, 11, 17};
    gnn_context_t *context = context_at(GNN_PRECISION_HIGHEST, false);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k += test_small() ? 4 : 1)
        check_product(context, size, kinds[k]);
    for (size_t k = 0; k < sizeof turned_kinds / sizeof *turned_kinds; k += test_small() ? 2 : 1)
        check_product(context, turned, turned_kinds[k]);
    gnn_context_free(context);
}
END_TEST

#if HAS_ONEDNN
/* The same product with one thread and with two, where oneDNN runs it. */
START_TEST(long_products_same_on_one_and_two_threads)
{
    static const int64_t sizes_of[][3] = {{130000, 9, 66}, {9, 66, 130000}};
    char info[200];
    gnn__dense_info(info, sizeof info);
    gnn_context_t *context = context_at(GNN_PRECISION_HIGHEST, false);
    for (int turned = 0; turned < 2 && !strstr(info, ", unused"); turned++) {
        trial_t one, two;
        trial_new(&one, sizes_of[turned][0], sizes_of[turned][1], sizes_of[turned][2], turned, 1, 0);
        trial_new(&two, sizes_of[turned][0], sizes_of[turned][1], sizes_of[turned][2], turned, 1, 0);
        one.p.threads = 1;
        two.p.threads = 2;
        ck_ok(gnn__dense(context, &one.p));
        ck_ok(gnn__dense(context, &two.p));
        ck_assert_mem_eq(one.c, two.c, sizeof *one.c * (size_t)(one.p.m * one.p.n));
        trial_free(&one);
        trial_free(&two);
    }
    gnn_context_free(context);
}
END_TEST
#endif

/* Products that OpenBLAS runs, in fixed blocks (a deterministic context) or not. */
START_TEST(small_products_equal_plain_loops)
{
    const int64_t small[][3] = {{1, 1, 1},    {3, 5, 7},       {65, 33, 17}, {130, 600, 9},
                                {64, 64, 64}, {200, 110, 120}, {1, 300, 40}, {300, 1, 40},
                                {5, 5, 0},    {0, 5, 3},       {5, 0, 3},    {150, 3, 500}};
    gnn_context_t *context = context_at(GNN_PRECISION_DEFAULT, false);
    context->deterministic = _i;
    for (size_t s = 0; s < sizeof small / sizeof *small; s++)
        for (int kind = 0; kind < 16; kind += test_small() ? 5 : 1)
            for (int beta = 0; beta < 3; beta++) {
                trial_t t;
                trial_new(&t, small[s][0], small[s][1], small[s][2], kind, (gnn_real_t)0.5,
                          (gnn_real_t)beta / 2);
                ck_ok(gnn__dense(context, &t.p));
                const double error = trial_error(&t);
                ck_assert_msg(error < bound(GNN_PRECISION_HIGHEST, t.p.k),
                              "%d x %d x %d, kind %d, beta %d / 2: off by %g", (int)t.p.m,
                              (int)t.p.n, (int)t.p.k, kind, beta, error);
                trial_free(&t);
            }
    gnn_context_free(context);
}
END_TEST

static double error_at(gnn_precision_t level)
{
    trial_t t;
    gnn_context_t *context = context_at(level, true);
    trial_new(&t, 128, 128, 384, 0, 1, 0);
    ck_ok(gnn__dense(context, &t.p));
    const double error = trial_error(&t);
    trial_free(&t);
    gnn_context_free(context);
    return error;
}

/* That a level is exact enough could also mean that it was not used. */
START_TEST(levels_differ)
{
    gnn_context_t *context = context_at(GNN_PRECISION_HIGH, true);
    const bool has = gnn_context_precision_used(context) == GNN_PRECISION_HIGH;
    gnn_context_free(context);
    if (!has)
        return;
    const double highest = error_at(GNN_PRECISION_HIGHEST), high = error_at(GNN_PRECISION_HIGH),
                 medium = error_at(GNN_PRECISION_MEDIUM);
    ck_assert_msg(highest < high && 30 * high < medium, "errors %g, %g, %g", highest, high, medium);
}
END_TEST

START_TEST(a_level_without_gain_runs_at_highest)
{
    gnn_context_t *context = context_at(GNN_PRECISION_DEFAULT, false);
    ck_assert_int_eq(gnn_context_precision_used(context), GNN_PRECISION_HIGHEST);
    gnn_context_free(context);
    for (gnn_precision_t level = GNN_PRECISION_HIGHEST; level <= GNN_PRECISION_MEDIUM; level++) {
        context = context_at(level, false);
        const gnn_precision_t used = gnn_context_precision_used(context);
        ck_assert(used == level || used == GNN_PRECISION_HIGHEST);
        trial_t t;
        trial_new(&t, 128, 128, 384, 0, 1, 0);
        ck_ok(gnn__dense(context, &t.p));
        ck_assert_double_lt(trial_error(&t), bound(used, t.p.k));
        context->deterministic = true;
        ck_assert_int_eq(gnn_context_precision_used(context), GNN_PRECISION_HIGHEST);
        gnn_context_free(context);
        trial_free(&t);
    }
}
END_TEST

/* A NaN in one row of A reaches that row of C, all of it, and nothing else. */
START_TEST(nan_stays_in_its_row)
{
    gnn_context_t *context = context_at((gnn_precision_t)_i, true);
    trial_t t;
    trial_new(&t, 130, 90, 100, 0, 1, 0);
    t.a[7 * t.p.lda + 3] = (gnn_real_t)NAN;
    ck_ok(gnn__dense(context, &t.p));
    for (int64_t r = 0; r < t.p.m; r++)
        for (int64_t c = 0; c < t.p.n; c++)
            ck_assert(isnan(t.c[r * t.p.ldc + c]) == (r == 7));
    trial_free(&t);
    gnn_context_free(context);
}
END_TEST

/* More shapes than are kept, twice: dropped primitives are made again, and give the same bits. Each
 * is compiled, for which valgrind takes a second: there at one level, and the first ones twice. */
START_TEST(alternating_shapes_give_the_same_results)
{
    enum { SHAPES = 70, N = 70, K = 200 };
    if (test_small() && _i != GNN_PRECISION_HIGH)
        return;
    gnn_context_t *context = context_at((gnn_precision_t)_i, true);
    gnn_real_t *a = test_reals(200 * K, 1), *b = test_reals(K * N, 2),
               *first = calloc(SHAPES * 200 * N, sizeof *first), *c = calloc(200 * N, sizeof *c);
    for (int round = 0; round < 2; round++)
        for (int s = 0; s < (round && test_small() ? 3 : SHAPES); s++) {
            gnn_real_t *to = round ? c : first + s * 200 * N;
            const int64_t m = 100 + s;
            const gnn__product_t p = {
                .m = m, .n = N, .k = K, .lda = K, .ldb = N, .ldc = N, .alpha = 1, .a = a, .b = b, .c = to};
            ck_ok(gnn__dense(context, &p));
            if (round)
                ck_assert_mem_eq(c, first + s * 200 * N, (size_t)(m * N) * sizeof *c);
        }
    free(a);
    free(b);
    free(c);
    free(first);
    gnn_context_free(context);
}
END_TEST

#if HAS_ONEDNN
extern const gnn__fp16_kernels_t gnn__fp16_kernels_baseline;

static float widened(uint16_t half)
{
    const uint32_t bits = (uint32_t)half << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* C = A B (+ bias) by gnn__dense, or where `direct` by oneDNN alone. */
static void multiply(gnn_context_t *context, const gnn__product_t *p, gnn_real_t *c, bool direct)
{
    gnn__product_t own = *p;
    own.c = c;
    memset(c, 0, (size_t)(p->m * p->n) * sizeof *c);
    ck_ok(direct ? gnn__onednn(context, &own, GNN_PRECISION_HIGHEST, 1) : gnn__dense(context, &own));
}

/* oneDNN's code is written to address space that it does not check for. */
START_TEST(products_without_address_space)
{
    enum { N = 90, K = 100, LARGEST = 400, STEP = 256 << 10, LEFT = 6 << 20 };
    gnn_context_t *context = context_at(GNN_PRECISION_HIGHEST, true);
    gnn_real_t *a = test_reals(LARGEST * K, 1), *b = test_reals(K * N, 2),
               *c = calloc(LARGEST * N, sizeof *c), *d = calloc(LARGEST * N, sizeof *d);
    for (int64_t left = 0, m = 100; left < LEFT && MEASURABLE && !test_small(); left += STEP, m += 8) {
        const gnn__product_t p = {
            .m = m, .n = N, .k = K, .lda = K, .ldb = N, .ldc = N, .alpha = 1, .a = a, .b = b, .c = c};
        const rlim_t limit = (rlim_t)(status_bytes("VmSize:") + (size_t)left);
        gnn__product_t own = p;
        setrlimit(RLIMIT_AS, &(struct rlimit){limit, RLIM_INFINITY});
        const int rc = gnn__onednn(context, &own, GNN_PRECISION_HIGHEST, 1);
        setrlimit(RLIMIT_AS, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY});
        ck_assert_msg(rc == GNN_EUNSUPPORTED || rc == GNN_EMEMORY || rc == GNN_OK, "%d", rc);
        own = p;
        own.c = d;
        ck_ok(gnn__dense(context, &own));
    }
    free(a);
    free(b);
    free(c);
    free(d);
    gnn_context_free(context);
}
END_TEST

/* The same bits as from oneDNN, others than from OpenBLAS, which alone runs in deterministic
 * contexts: both add K products in order, but in blocks of their own. */
START_TEST(onednn_takes_products_with_avx2)
{
    enum { M = 300, N = 70, K = 3000 };
    char text[200];
    gnn_context_t *context, *deterministic;
    gnn_real_t *a = test_reals(M * K, 1), *b = test_reals(K * N, 2), *bias = test_reals(N, 3),
               *c = calloc(3 * M * N, sizeof *c);
    /* It fails where oneDNN has run before, in tests that do not fork. */
    dnnl_set_max_cpu_isa(dnnl_cpu_isa_avx2);
    gnn__dense_info(text, sizeof text);
    if (!strstr(text, ", AVX2")) {
        printf("LEFT OUT dense: oneDNN with AVX2: %s\n", text);
        free(a);
        free(b);
        free(bias);
        free(c);
        return;
    }
    ck_ok(gnn_context_new(&context, &(gnn_context_config_t){.threads = 1}));
    ck_ok(gnn_context_new(&deterministic,
                          &(gnn_context_config_t){.threads = 1, .deterministic = GNN_ON}));
    for (int k = 0; k < 2; k++) {
        const gnn__product_t p = {.m = M,
                                  .n = N,
                                  .k = K,
                                  .lda = K,
                                  .ldb = N,
                                  .ldc = N,
                                  .alpha = 1,
                                  .a = a,
                                  .b = b,
                                  .bias = k ? bias : NULL};
        multiply(context, &p, c, false);
        multiply(context, &p, c + M * N, true);
        multiply(deterministic, &p, c + 2 * M * N, false);
        ck_assert_mem_eq(c, c + M * N, M * N * sizeof *c);
        ck_assert_int_ne(memcmp(c, c + 2 * M * N, M * N * sizeof *c), 0);
    }
    gnn_context_free(context);
    gnn_context_free(deterministic);
    free(a);
    free(b);
    free(bias);
    free(c);
}
END_TEST

START_TEST(bf16_rounds_to_nearest)
{
    /* 1 + 2^-8 lies half-way between 1 and 1 + 2^-7: to even. */
    const float x[] = {0,       -0.0f,    1,        1.00390625f, 1.01171875f, 1.0040f,
                       3.4e38f, -3.4e38f, INFINITY, 1e-40f,      NAN,         -1.00390625f};
    const float near[] = {0,         -0.0f,        1,        1,
                          1.015625f, 1.0078125f,   INFINITY, -INFINITY,
                          INFINITY,  9.18355e-41f, NAN,      -1};
    enum { N = sizeof x / sizeof *x };
    uint16_t high[N], low[N], base[N], base_low[N];
    gnn__fp16_kernels()->split(N, x, high, low);
    gnn__fp16_kernels_baseline.split(N, x, base, base_low);
    ck_assert_mem_eq(high, base, sizeof high);
    ck_assert_mem_eq(low, base_low, sizeof low);
    for (int k = 0; k < N; k++) {
        const float y = widened(high[k]), rest = widened(low[k]);
        ck_assert(isnan(x[k]) ? isnan(y) && isnan(rest)
                              : y == near[k] || fabsf(y - near[k]) < 1e-42f);
        if (isinf(y))
            ck_assert(rest == 0);
        else if (!isnan(x[k]))
            ck_assert(fabsf(x[k] - y - rest) <= fabsf(x[k]) / 65536 + 1e-40f);
    }
}
END_TEST
#endif

START_TEST(providers_are_named)
{
    char text[200];
    gnn__dense_info(text, sizeof text);
#if defined(GNN__OTHER_BLAS) /* OpenBLAS may still be what runs */
    const bool other = strncmp(text, "the system's BLAS; ", 19) == 0;
#else
    const bool other = false;
#endif
    ck_assert_msg((other || (strstr(text, "OpenBLAS") && strstr(text, "core "))) &&
                      strstr(text, HAS_ONEDNN ? "; oneDNN " : "; no oneDNN"),
                  "\"%s\"", text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("dense");
    TCase *tc = tcase_create("products");
    tcase_set_timeout(tc, 600);
    tcase_add_loop_test(tc, products_equal_plain_loops, GNN_PRECISION_HIGHEST,
                        GNN_PRECISION_MEDIUM + 1);
    tcase_add_loop_test(tc, large_products_equal_plain_loops, GNN_PRECISION_HIGHEST,
                        GNN_PRECISION_MEDIUM + 1);
    tcase_add_test(tc, long_products_equal_plain_loops);
#if HAS_ONEDNN
    tcase_add_test(tc, long_products_same_on_one_and_two_threads);
#endif
    tcase_add_loop_test(tc, small_products_equal_plain_loops, 0, 2);
    tcase_add_test(tc, levels_differ);
    tcase_add_test(tc, a_level_without_gain_runs_at_highest);
    tcase_add_loop_test(tc, nan_stays_in_its_row, GNN_PRECISION_HIGHEST, GNN_PRECISION_MEDIUM + 1);
    tcase_add_loop_test(tc, alternating_shapes_give_the_same_results, GNN_PRECISION_HIGHEST,
                        GNN_PRECISION_MEDIUM + 1);
#if HAS_ONEDNN
    tcase_add_test(tc, onednn_takes_products_with_avx2);
    tcase_add_test(tc, products_without_address_space);
    tcase_add_test(tc, bf16_rounds_to_nearest);
#endif
    tcase_add_test(tc, providers_are_named);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
