/* Line charts, and the plane of the principal components. */
#include "svg_check.h"

#include <omp.h>

static char *chart(const gnn_curves_t *curves)
{
    static char *text;
    static size_t size;
    FILE *file = open_memstream(&text, &size);
    ck_ok(gnn_svg_curves(file, curves));
    fclose(file);
    check_xml(text);
    check_numbers(text);
    return text;
}

START_TEST(a_curve_goes_through_its_points)
{
    const double y[] = {0, 1, 0.5};
    gnn_curve_t curve = {.name = "loss <&>", .y = y, .count = 3};
    char *text = chart(&(gnn_curves_t){.curves = &curve,
                                       .n_curves = 1,
                                       .title = "t",
                                       .x_axis = "epoch",
                                       .mark = 2,
                                       .mark_name = "best epoch 2"});
    double x[3], at[3];
    const char *path =
        strstr(text, "d=\"M"); /* the grid's paths begin so too: the curve's has a line join */
    path = strstr(strstr(text, "stroke-linejoin"), "d=\"M");
    ck_assert_int_eq(sscanf(path, "d=\"M%lf %lfh0L%lf %lfL%lf %lf\"", &x[0], &at[0], &x[1], &at[1],
                            &x[2], &at[2]),
                     6);
    ck_assert(fabs(x[1] - x[0] - 320) < 0.02 &&
              fabs(x[2] - x[1] - 320) < 0.02); /* half of the plot's width each */
    ck_assert(at[0] > at[2] && at[2] > at[1]);
    ck_assert(fabs(at[0] - at[2] - (at[2] - at[1])) < 0.02);
    /* the range and 5% on both sides fill the height */
    ck_assert(fabs(at[0] - at[1] - 420 / 1.1) < 0.1);
    ck_assert_int_eq(count(text, "<circle"), 1);
    ck_assert_int_eq(count(text, ">best epoch 2</text>"), 1);
    ck_assert_int_eq(count(text, ">loss &lt;&amp;&gt;</text>"), 1);
    ck_assert_int_eq(count(text, ">epoch</text>"), 1);
    char circle[64];
    snprintf(circle, sizeof circle, "<circle cx=\"%.2f\" cy=\"%.2f\"", x[1], at[1]);
    ck_assert_int_eq(count(text, circle), 1);
    free(text);
}
END_TEST

START_TEST(gaps_panels_and_empty_curves)
{
    const double y[] = {1, NAN, 3, 4, INFINITY}, high[] = {1e300, -1e300}, x[] = {10, 20};
    const char *const names[] = {"loss", "accuracy"};
    gnn_curve_t curves[] = {{.name = "a", .y = y, .count = 5},
                            {.y = high, .x = x, .count = 2, .panel = 1},
                            {.name = "none", .panel = 1}};
    char *text = chart(&(gnn_curves_t){
        .curves = curves, .n_curves = 3, .panel_names = names, .n_panels = 2, .mark = 3});
    ck_assert_int_eq(count(text, "fill=\"#fafafa\""), 2);
    ck_assert_int_eq(count(text, ">accuracy</text>"), 1);
    ck_assert_int_eq(count(text, "h0"), 3); /* two pieces of the first curve, one of the second */
    free(text);
    text = chart(&(gnn_curves_t){0});
    ck_assert_int_eq(count(text, "fill=\"#fafafa\""), 1);
    free(text);
}
END_TEST

START_TEST(a_long_curve_does_not_make_a_long_page)
{
    enum { N = 200000 };
    double *y = malloc(sizeof *y * N);
    for (int k = 0; k < N; k++)
        y[k] = 1.0 / (k + 1);
    gnn_curve_t curve = {.y = y, .count = N};
    char *text = chart(&(gnn_curves_t){.curves = &curve, .n_curves = 1});
    ck_assert_uint_lt(strlen(text), 100000);
    free(text);
    free(y);
}
END_TEST

START_TEST(wrong_curves_are_refused)
{
    const double y[] = {1, 2}, falling[] = {2, 1};
    gnn_curve_t curve = {.y = y, .count = 2, .panel = 1};
    gnn_curves_t all = {.curves = &curve, .n_curves = 1};
    FILE *file = tmpfile();
    ck_fails(gnn_svg_curves(file, &all), GNN_EINVALID, "has panel 1, expected 0 to 0");
    curve.panel = 0;
    curve.x = falling;
    ck_fails(gnn_svg_curves(file, &all), GNN_EINVALID, "expected increasing x");
    curve.x = NULL;
    curve.y = NULL;
    ck_fails(gnn_svg_curves(file, &all), GNN_EINVALID, "y is NULL");
    all.n_panels = 9;
    ck_fails(gnn_svg_curves(file, &all), GNN_EINVALID, "n_panels");
    all.n_panels = 0;
    all.n_curves = -1;
    ck_fails(gnn_svg_curves(file, &all), GNN_EINVALID, "-1");
    all.mark = NAN;
    all.n_curves = 0;
    ck_fails(gnn_svg_curves(file, &all), GNN_EINVALID, "mark");
    ck_fails(gnn_svg_curves(NULL, &all), GNN_EINVALID, "file");
    fclose(file);
}
END_TEST

START_TEST(a_full_disk_is_reported)
{
    FILE *file = fopen("/dev/full", "w");
    ck_assert_ptr_nonnull(file);
    ck_fails(gnn_svg_curves(file, &(gnn_curves_t){0}), GNN_EIO, "svg");
    fclose(file);
}
END_TEST

/* ---- principal components ---- */

enum { N = 400, D = 40 };

/* Rows spread by 5 along one direction, 2 along another, 0.5 along all, away from the origin. The
 * directions are orthogonal. */
static gnn_real_t *cloud(double directions[2][D], double spread[2])
{
    gnn_real_t *x = malloc(sizeof *x * N * D);
    for (int c = 0; c < D; c++) {
        directions[0][c] = (c % 2 ? -1 : 1) / sqrt(D);
        directions[1][c] = (c < D / 2 ? 1 : -1) / sqrt(D);
    }
    for (int i = 0; i < N; i++)
        for (int c = 0; c < D; c++) {
            double sum = 3 + 0.5 * gnn__normal(1, 1, (uint64_t)(i * D + c));
            for (int a = 0; a < 2; a++)
                sum += spread[a] * directions[a][c] * gnn__normal(2, 2, (uint64_t)(i * 2 + a));
            x[i * D + c] = (gnn_real_t)sum;
        }
    return x;
}

START_TEST(pca_matches_the_covariance_eigenvectors)
{
    double directions[2][D], spread[2] = {5, 2}, share[2];
    gnn_real_t *x = cloud(directions, spread), points[2 * N];
    gnn_tensor_t out = gnn_tensor(points, N, 2), in = gnn_tensor(x, N, D);
    ck_ok(gnn_pca_2d(&in, &out, share));
    for (int a = 0; a < 2; a++) {
        /* Correlation of the coordinate with the projection on the known direction. */
        double xy = 0, xx = 0, yy = 0, mean = 0, own = 0;
        for (int i = 0; i < N; i++)
            own += (double)points[2 * i + a] / N;
        for (int c = 0; c < D; c++)
            for (int i = 0; i < N; i++)
                mean += directions[a][c] * (double)x[i * D + c] / N;
        for (int i = 0; i < N; i++) {
            double along = -mean;
            for (int c = 0; c < D; c++)
                along += directions[a][c] * (double)x[i * D + c];
            xy += along * (double)points[2 * i + a];
            xx += along * along;
            yy += (double)points[2 * i + a] * (double)points[2 * i + a];
        }
        ck_assert_msg(fabs(own) < 1e-3, "coordinate %d has the mean %g", a, own);
        ck_assert_msg(fabs(xy) / sqrt(xx * yy) > 0.99, "coordinate %d: correlation %g", a,
                      xy / sqrt(xx * yy));
    }
    /* 25 and 4 of 25 + 4 + 40 / 4, within what 400 samples tell. */
    ck_assert_msg(fabs(share[0] - 25.0 / 39) < 0.06 && fabs(share[1] - 4.0 / 39) < 0.04, "%g %g",
                  share[0], share[1]);
    free(x);
}
END_TEST

/* Independent check: the coordinates' variances are the covariance's largest eigenvalues, so no
 * direction beats them. */
START_TEST(no_direction_has_more_variance)
{
    double directions[2][D], spread[2] = {1, 1.01}, share[2], first = 0, second = 0, total = 0,
                             mean[D] = {0};
    gnn_real_t *x = cloud(directions, spread), points[2 * N];
    gnn_tensor_t out = gnn_tensor(points, N, 2), in = gnn_tensor(x, N, D);
    ck_ok(gnn_pca_2d(&in, &out, share));
    for (int i = 0; i < N; i++) {
        first += (double)points[2 * i] * (double)points[2 * i];
        second += (double)points[2 * i + 1] * (double)points[2 * i + 1];
        for (int c = 0; c < D; c++)
            mean[c] += (double)x[i * D + c] / N;
    }
    for (int trial = 0; trial < 200; trial++) {
        double v[D], norm = 0, variance = 0;
        for (int c = 0; c < D; c++) {
            v[c] = trial % 2 ? gnn__normal(5, 5, (uint64_t)(trial * D + c))
                             : directions[0][c] * trial + directions[1][c] * (100 - trial);
            norm += v[c] * v[c];
        }
        for (int i = 0; i < N; i++) {
            double along = 0;
            for (int c = 0; c < D; c++)
                along += ((double)x[i * D + c] - mean[c]) * v[c] / sqrt(norm);
            variance += along * along;
        }
        ck_assert_msg(variance <= first * (1 + 1e-6), "trial %d: %g > %g", trial, variance, first);
    }
    for (int k = 0; k < N * D; k++)
        total += ((double)x[k] - mean[k % D]) * ((double)x[k] - mean[k % D]);
    ck_assert(first >= second && fabs(share[0] - first / total) < 1e-5 &&
              fabs(share[1] - second / total) < 1e-5);
    free(x);
}
END_TEST

/* With fewer rows than columns the vectors come from products of rows. Each row twice gives the
 * same directions by products of columns; a component is the same whatever count of threads. */
START_TEST(fewer_rows_than_columns)
{
    enum { ROWS = 30 };
    double directions[2][D], spread[2] = {5, 2}, share[2], twice_share[2];
    gnn_real_t *x = cloud(directions, spread), twice[2 * ROWS * D], points[2 * ROWS],
               twice_points[4 * ROWS], again[2 * ROWS];
    memcpy(twice, x, sizeof twice / 2);
    memcpy(twice + ROWS * D, x, sizeof twice / 2);
    const gnn_tensor_t wide = gnn_tensor(x, ROWS, D), tall = gnn_tensor(twice, 2 * ROWS, D),
                       out = gnn_tensor(points, ROWS, 2),
                       twice_out = gnn_tensor(twice_points, 2 * ROWS, 2),
                       other = gnn_tensor(again, ROWS, 2);
    ck_ok(gnn_pca_2d(&wide, &out, share));
    ck_ok(gnn_pca_2d(&tall, &twice_out, twice_share));
    for (int k = 0; k < 2 * ROWS; k++) {
        ck_assert_double_eq_tol((double)points[k], (double)twice_points[k], 1e-4);
        ck_assert(twice_points[k] == twice_points[k + 2 * ROWS]);
    }
    ck_assert(fabs(share[0] - twice_share[0]) < 1e-9 && fabs(share[1] - twice_share[1]) < 1e-9);
    omp_set_num_threads(omp_get_max_threads() == 1 ? 2 : 1);
    ck_ok(gnn_pca_2d(&wide, &other, share));
    ck_assert_mem_eq(again, points, sizeof points);
    free(x);
}
END_TEST

START_TEST(small_and_flat_and_wrong_matrices)
{
    gnn_real_t one[3] = {1, 2, 4}, flat[6] = {7, 7, 7, 7, 7, 7}, points[6] = {9, 9, 9, 9, 9, 9};
    gnn_tensor_t out = gnn_tensor(points, 3, 2), column = gnn_tensor(one, 3, 1),
                 same = gnn_tensor(flat, 3, 2), row = gnn_tensor(one, 1, 3);
    double share[2];
    ck_ok(gnn_pca_2d(&column, &out, share));
    ck_assert(fabs((double)points[4] - (double)points[0] - 3) < 1e-5 && points[1] == 0 &&
              points[5] == 0);
    ck_assert(fabs(share[0] - 1) < 1e-12 && share[1] == 0);
    ck_ok(gnn_pca_2d(&same, &out, share));
    for (int k = 0; k < 6; k++)
        ck_assert(points[k] == 0);
    ck_assert(share[0] == 0 && share[1] == 0);
    ck_fails(gnn_pca_2d(&row, &out, share), GNN_ESHAPE, "1 x 2");
    one[1] = NAN;
    ck_fails(gnn_pca_2d(&column, &out, share), GNN_ENUMERIC, "x");
    ck_fails(gnn_pca_2d(NULL, &out, share), GNN_EINVALID, "is NULL");
    one[1] = 2;
    for (int64_t n = 1; n <= 9; n++) {
        gnn__fail_allocation(n);
        ck_fails(gnn_pca_2d(&column, &out, share), GNN_EMEMORY, "memory");
        gnn__fail_allocation(0);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("curves");
    TCase *tests = tcase_create("curves");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, a_curve_goes_through_its_points);
    tcase_add_test(tests, gaps_panels_and_empty_curves);
    tcase_add_test(tests, a_long_curve_does_not_make_a_long_page);
    tcase_add_test(tests, wrong_curves_are_refused);
    tcase_add_test(tests, a_full_disk_is_reported);
    tcase_add_test(tests, pca_matches_the_covariance_eigenvectors);
    tcase_add_test(tests, no_direction_has_more_variance);
    tcase_add_test(tests, fewer_rows_than_columns);
    tcase_add_test(tests, small_and_flat_and_wrong_matrices);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
