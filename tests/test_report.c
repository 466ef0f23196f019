/* Reports: what is drawn and written, and what is refused. */
#include "svg_check.h"

/* ---- heat maps ---- */

START_TEST(cells_have_colour_and_text_of_their_value)
{
    gnn_real_t values[] = {0, (gnn_real_t)0.25, (gnn_real_t)0.5, 1, 1, (gnn_real_t)-0.001};
    gnn_heatmap_t map = plain(values, 2, 3);
    map.low = 0;
    map.high = 1;
    char *text = heat(&map);
    check_xml(text);
    /* 0 is viridis' first colour, 1 its last; the two ones touch and are one rectangle. */
    ck_assert_int_eq(count(text, "fill=\"#440154\""), 2);
    ck_assert_int_eq(count(text, "fill=\"#fde725\""), 1);
    ck_assert_int_eq(count(text, ">0.25</text>"), 1);
    ck_assert_int_eq(count(text, ">1.00</text>"), 2);
    ck_assert_int_eq(count(text, ">0.00</text>"), 2);
    free(text);
}
END_TEST

START_TEST(neighbours_of_one_value_are_one_rectangle)
{
    gnn_real_t values[] = {0, 0, 0, 1, 1, 0};
    gnn_heatmap_t map = plain(values, 1, 6);
    char *text = heat(&map);
    ck_assert_int_eq(count(text, "fill=\"#440154\""), 2);
    ck_assert_int_eq(count(text, "fill=\"#fde725\""), 1);
    ck_assert_int_eq(count(text, "width=\"120.00\""), 1); /* three cells of 40 */
    free(text);
}
END_TEST

START_TEST(rows_are_a_stride_apart)
{
    gnn_real_t values[] = {0, 0, 77, 77, 1, 1};
    gnn_heatmap_t map = plain(values, 2, 2);
    map.values.stride = 4;
    char *text = heat(&map);
    ck_assert_int_eq(count(text, "fill=\"#440154\""), 1);
    ck_assert_int_eq(count(text, "fill=\"#fde725\""), 1);
    ck_assert_ptr_null(strstr(text, ">77<"));
    free(text);
}
END_TEST

START_TEST(a_given_scale_holds_and_clamps)
{
    gnn_real_t values[] = {-5, (gnn_real_t)0.5, 5};
    gnn_heatmap_t map = plain(values, 1, 3);
    map.low = 0;
    map.high = 1;
    char *text = heat(&map);
    ck_assert_int_eq(count(text, "fill=\"#440154\""), 1);
    ck_assert_int_eq(count(text, "fill=\"#fde725\""), 1);
    ck_assert_ptr_nonnull(strstr(text, ">0.2</text>")); /* ticks of the bar */
    ck_assert_ptr_nonnull(strstr(text, ">1.0</text>"));
    free(text);
}
END_TEST

START_TEST(values_that_are_not_finite_are_hatched)
{
    gnn_real_t values[] = {0, (gnn_real_t)NAN, 1, (gnn_real_t)INFINITY, 2, (gnn_real_t)-INFINITY};
    gnn_heatmap_t map = plain(values, 1, 6);
    char *text = heat(&map);
    check_xml(text);
    check_numbers(text);
    ck_assert_int_eq(count(text, "url(#hole)"), 4); /* three cells and the key */
    ck_assert_int_eq(count(text, ">not finite</text>"), 1);
    ck_assert_int_eq(count(text, "fill=\"#fde725\""), 1);
    free(text);
    for (int k = 0; k < 6; k++)
        values[k] = (gnn_real_t)NAN;
    text = heat(&map);
    check_xml(text);
    check_numbers(text);
    free(text);
}
END_TEST

START_TEST(extreme_and_constant_values_keep_finite_coordinates)
{
    const gnn_real_t big = GNN_DOUBLE ? (gnn_real_t)1.7e308 : (gnn_real_t)3.4e38f;
    const gnn_real_t pairs[][2] = {
        {big, -big}, {0, 0}, {3, 3}, {-big, -big}, {big, big}, {0, big}, {(gnn_real_t)1e-37, 0}};
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
        gnn_real_t values[2] = {pairs[k][0], pairs[k][1]};
        gnn_heatmap_t map = plain(values, 1, 2);
        char *text = heat(&map);
        check_xml(text);
        check_numbers(text);
        free(text);
        gnn_scatter_t plot = {.points = gnn_tensor(values, 1, 2)};
        text = scatter(&plot);
        check_xml(text);
        check_numbers(text);
        free(text);
    }
}
END_TEST

START_TEST(empty_matrices_are_pictures_too)
{
    const int64_t shapes[][2] = {{0, 0}, {0, 3}, {3, 0}};
    const char *labels[] = {"a", "b", "c"};
    gnn_real_t none[1] = {0};
    for (size_t k = 0; k < 3; k++) {
        gnn_heatmap_t map = plain(none, shapes[k][0], shapes[k][1]);
        map.row_labels = map.col_labels = labels;
        map.title = "empty";
        map.mark_row = map.mark_col = 0;
        char *text = heat(&map);
        check_xml(text);
        check_numbers(text);
        ck_assert_ptr_nonnull(strstr(text, "nothing to show"));
        free(text);
    }
}
END_TEST

START_TEST(labels_are_escaped)
{
    const char *rows[] = {"<b> & \"x\" </b>", "caf\xc3\xa9 \xe6\xbc\xa2"};
    gnn_real_t values[] = {1, 2, 3, 4};
    gnn_heatmap_t map = plain(values, 2, 2);
    map.row_labels = map.col_labels = rows;
    map.title = "a < b & c";
    map.row_axis = map.col_axis = "<axis>";
    char *text = heat(&map);
    check_xml(text);
    ck_assert_int_eq(count(text, "&lt;b&gt; &amp; &quot;x&quot; &lt;/b&gt;</text>"), 2);
    ck_assert_int_eq(count(text, "caf\xc3\xa9 \xe6\xbc\xa2</text>"), 2);
    ck_assert_int_eq(count(text, "a &lt; b &amp; c"), 2); /* <title> and the line on top */
    ck_assert_int_eq(count(text, "&lt;axis&gt;"), 2);
    free(text);
}
END_TEST

/* After each "x": the count of replacement characters expected for it. */
START_TEST(invalid_xml_characters_are_replaced)
{
    static const struct {
        const char *text;
        int marks;
    } cases[] = {
        {"x\x01y", 1},
        {"x\x1b[0m", 1},
        {"x\x7f", 1},
        {"x\xff\xfe", 2},
        {"x\xc3", 1},
        {"x\xc3(", 1},
        {"x\xe2\x82", 2},
        {"x\xc0\xaf", 2},
        {"x\xed\xa0\x80", 3},
        {"x\xf4\x90\x80\x80", 4},
        {"x\xef\xbf\xbe", 1},
        {"x\xc2\x85", 1},
        {"x\xf0\x9f\x98\x80", 0},
        {"x\tb\nc", 0},
        {"x\x80\x80", 2},
        {"x\xf8\x88\x80\x80\x80", 5},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        gnn_real_t value = 1;
        gnn_heatmap_t map = plain(&value, 1, 1);
        map.row_labels = &cases[k].text;
        char *text = heat(&map);
        check_xml(text);
        ck_assert_msg(count(text, "\xef\xbf\xbd") == cases[k].marks, "case %d: %d marks", (int)k,
                      count(text, "\xef\xbf\xbd"));
        free(text);
    }
}
END_TEST

START_TEST(long_labels_are_truncated_and_subtitles_wrapped)
{
    char word[2001];
    memset(word, 'w', 2000);
    word[2000] = 0;
    const char *labels[] = {word};
    gnn_real_t value = 1;
    gnn_heatmap_t map = plain(&value, 1, 1);
    map.row_labels = map.col_labels = labels;
    map.subtitle =
        "many words that do not fit on one line of a page with a single cell, so that they are broken at spaces";
    char *text = heat(&map);
    check_xml(text);
    ck_assert_int_eq(count(text, "w\xe2\x80\xa6</text>"), 2);
    ck_assert_ptr_null(strstr(text, "wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww"));
    ck_assert_int_ge(count(text, "font-size=\"12.5\""), 2);
    free(text);
}
END_TEST

START_TEST(heatmap_frames_marked_cell)
{
    gnn_real_t values[4] = {1, 2, 3, 4};
    gnn_heatmap_t map = plain(values, 2, 2);
    char *without = heat(&map);
    map.mark_row = 1;
    map.mark_col = 0;
    char *with = heat(&map);
    ck_assert_int_eq(count(without, "stroke=\"#d62728\""), 0);
    ck_assert_int_eq(count(with, "stroke=\"#d62728\""), 1);
    /* The frame is on the cell with value 3. */
    double fx, fy, x, y;
    const char *frame = strstr(with, "stroke=\"#d62728\"");
    while (strncmp(frame, "<rect", 5) != 0)
        frame--;
    ck_assert_int_eq(sscanf(frame, "<rect x=\"%lf\" y=\"%lf\"", &fx, &fy), 2);
    const char *cell = strstr(with, "crispEdges");
    for (int k = 0; k < 3; k++)
        cell = strstr(cell + 1, "<rect");
    ck_assert_int_eq(sscanf(cell, "<rect x=\"%lf\" y=\"%lf\"", &x, &y), 2);
    ck_assert(fx == x && fy == y);
    free(without);
    free(with);
}
END_TEST

START_TEST(cell_values_are_omitted_if_too_wide)
{
    gnn_real_t *values = test_reals(100 * 100, 1);
    gnn_heatmap_t map = plain(values, 100, 100);
    char *text = heat(&map);
    check_xml(text);
    ck_assert_int_lt(count(text, "</text>"), 15); /* the bar's ticks */
    free(text);
    free(values);
}
END_TEST

START_TEST(wrong_heat_maps_are_refused)
{
    gnn_real_t values[4] = {1, 2, 3, 4};
    FILE *file = tmpfile();
    gnn_heatmap_t good = plain(values, 2, 2), map = good;
    ck_fails(gnn_svg_heatmap(NULL, &map), GNN_EINVALID, "file is NULL");
    ck_fails(gnn_svg_heatmap(file, NULL), GNN_EINVALID, "map is NULL");
    map.values.data = NULL;
    ck_assert_int_eq(gnn_svg_heatmap(file, &map), GNN_ESHAPE);
    map = good;
    map.low = 2, map.high = 1;
    ck_fails(gnn_svg_heatmap(file, &map), GNN_EINVALID, "low <= high, got 2 and 1");
    map.high = NAN;
    ck_fails(gnn_svg_heatmap(file, &map), GNN_EINVALID, "colour scale");
    map = good;
    map.mark_row = 2, map.mark_col = 0;
    ck_fails(gnn_svg_heatmap(file, &map), GNN_EINVALID, "marked cell (2, 0) is outside of 2 x 2");
    map = good;
    map.values.rows = 1001, map.values.cols = map.values.stride = 1000;
    ck_fails(gnn_svg_heatmap(file, &map), GNN_EINVALID, "at most 1000000 cells, got 1001 x 1000");
    ck_assert_int_eq(ftell(file), 0); /* nothing was written */
    fclose(file);
}
END_TEST

/* ---- scatter plots ---- */

START_TEST(points_and_legend_have_the_colours_of_their_classes)
{
    gnn_real_t points[] = {0, 0, 1, 1, 2, 0, 3, 1};
    const int32_t classes[] = {0, 1, 1, -1};
    const char *names[] = {"Mr <Hi>", "Officer"}, *labels[] = {"1", "a long label", NULL, "&"};
    const uint8_t emphasis[] = {1, 0, 0, 1};
    gnn_scatter_t plot = {.points = gnn_tensor(points, 4, 2),
                          .classes = classes,
                          .class_names = names,
                          .n_classes = 2,
                          .point_labels = labels,
                          .emphasis = emphasis,
                          .title = "t",
                          .subtitle = "s"};
    char *text = scatter(&plot);
    check_xml(text);
    ck_assert_int_eq(count(text, "fill=\"#0072b2\""), 2); /* one point and the legend's */
    ck_assert_int_eq(count(text, "fill=\"#e69f00\""), 3);
    ck_assert_int_eq(count(text, "fill=\"#b8b8b8\""), 2);
    ck_assert_ptr_nonnull(strstr(text, ">Mr &lt;Hi&gt;</text>"));
    ck_assert_ptr_nonnull(strstr(text, ">no class</text>"));
    ck_assert_int_eq(count(text, "<circle"), 4 + 3 + 2);
    ck_assert_int_eq(count(text, ">a long label</text>"), 1);
    free(text);
}
END_TEST

START_TEST(classes_beyond_the_palette_change_shape_and_the_legend_ends)
{
    enum { CLASSES = 100 };
    gnn_real_t points[2 * CLASSES];
    int32_t classes[CLASSES];
    for (int k = 0; k < CLASSES; k++) {
        points[2 * k] = (gnn_real_t)k;
        points[2 * k + 1] = (gnn_real_t)(k % 7);
        classes[k] = k;
    }
    gnn_scatter_t plot = {
        .points = gnn_tensor(points, CLASSES, 2), .classes = classes, .n_classes = CLASSES};
    char *text = scatter(&plot);
    check_xml(text);
    ck_assert_ptr_nonnull(strstr(text, ">class 39</text>"));
    ck_assert_ptr_null(strstr(text, ">class 40</text>"));
    ck_assert_ptr_nonnull(strstr(text, ">and 60 more</text>"));
    ck_assert_int_gt(count(text, "z\" fill=\"#0072b2\""), 4); /* triangles and diamonds */
    free(text);
}
END_TEST

START_TEST(lines_connect_points_on_one_scale)
{
    /* A right angle: with one scale for both axes its two sides of length 10 and 1 keep their
     * ratio. */
    gnn_real_t points[] = {0, 0, 10, 0, 10, 1};
    const int64_t from[] = {0, 1, 2}, to[] = {1, 2, 2};
    gnn_scatter_t plot = {
        .points = gnn_tensor(points, 3, 2), .line_from = from, .line_to = to, .n_lines = 3};
    char *text = scatter(&plot);
    check_xml(text);
    double a[4], b[4];
    const char *at = strstr(text, "<path d=\"M");
    ck_assert_int_eq(sscanf(at, "<path d=\"M%lf %lfL%lf %lf\"", a, a + 1, a + 2, a + 3), 4);
    at = strstr(at + 1, "<path d=\"M");
    ck_assert_int_eq(sscanf(at, "<path d=\"M%lf %lfL%lf %lf\"", b, b + 1, b + 2, b + 3), 4);
    ck_assert_double_eq_tol((a[2] - a[0]) / (b[1] - b[3]), 10, 0.01);
    ck_assert_int_eq(count(text, "<path"), 2); /* the loop from 2 to 2 is not a line */
    free(text);
}
END_TEST

START_TEST(non_finite_points_are_skipped_and_counted)
{
    gnn_real_t points[] = {0, 0, (gnn_real_t)NAN, 1, 1, (gnn_real_t)INFINITY, 1, 1};
    const int64_t from[] = {0, 0}, to[] = {1, 3};
    const uint8_t emphasis[] = {1, 1, 1, 1};
    gnn_scatter_t plot = {.points = gnn_tensor(points, 4, 2),
                          .line_from = from,
                          .line_to = to,
                          .n_lines = 2,
                          .emphasis = emphasis};
    char *text = scatter(&plot);
    check_xml(text);
    check_numbers(text);
    ck_assert_int_eq(count(text, "<path"), 1);
    ck_assert_int_eq(count(text, "<circle"), 4); /* two points, two rings */
    ck_assert_ptr_nonnull(strstr(text, "left out, not finite: 2 of 4 points"));
    free(text);
}
END_TEST

START_TEST(an_empty_scatter_is_valid)
{
    gnn_real_t none[1] = {0};
    gnn_scatter_t plot = {.points = gnn_tensor(none, 0, 2), .title = "nothing"};
    char *text = scatter(&plot);
    check_xml(text);
    check_numbers(text);
    ck_assert_int_eq(count(text, "<circle"), 0);
    free(text);
}
END_TEST

START_TEST(wrong_scatters_are_refused)
{
    gnn_real_t points[] = {0, 0, 1, 1};
    const int32_t classes[] = {0, 2};
    const int64_t from[] = {0}, to[] = {2};
    FILE *file = tmpfile();
    gnn_scatter_t good = {.points = gnn_tensor(points, 2, 2)}, plot = good;
    ck_fails(gnn_svg_scatter(NULL, &plot), GNN_EINVALID, "file is NULL");
    ck_fails(gnn_svg_scatter(file, NULL), GNN_EINVALID, "scatter is NULL");
    plot.points = gnn_tensor(points, 1, 4);
    ck_fails(gnn_svg_scatter(file, &plot), GNN_ESHAPE, "n x 2, got 1 x 4");
    plot = good;
    plot.classes = classes;
    ck_fails(gnn_svg_scatter(file, &plot), GNN_EINVALID, "n_classes > 0, got 0");
    plot.n_classes = 2;
    ck_fails(gnn_svg_scatter(file, &plot), GNN_EINVALID, "class 2 of point 1, there are 2 classes");
    plot = good;
    plot.n_lines = 1;
    ck_fails(gnn_svg_scatter(file, &plot), GNN_EINVALID, "line_from or line_to is NULL");
    plot.line_from = from, plot.line_to = to;
    ck_fails(gnn_svg_scatter(file, &plot), GNN_EINVALID, "from 0 to 2, there are 2 points");
    ck_assert_int_eq(ftell(file), 0);
    fclose(file);
}
END_TEST

/* ---- both: writing ---- */

static int write_at_most(size_t bytes, const gnn_heatmap_t *map, const gnn_scatter_t *plot)
{
    FILE *file = fopencookie(&bytes, "w", (cookie_io_functions_t){.write = short_write});
    setvbuf(file, NULL, _IOFBF, 64);
    int code = map ? gnn_svg_heatmap(file, map) : gnn_svg_scatter(file, plot);
    fclose(file);
    return code;
}

START_TEST(failed_writes_are_reported_at_every_position)
{
    gnn_real_t values[] = {1, 2, 3, 4};
    gnn_heatmap_t map = plain(values, 2, 2);
    gnn_scatter_t plot = {.points = gnn_tensor(values, 2, 2)};
    char *text = heat(&map);
    size_t size = strlen(text);
    free(text);
    for (size_t bytes = 0; bytes < size; bytes += 37)
        ck_fails(write_at_most(bytes, &map, NULL), GNN_EIO, "writing failed");
    ck_ok(write_at_most(size, &map, NULL));
    text = scatter(&plot);
    size = strlen(text);
    free(text);
    for (size_t bytes = 0; bytes < size; bytes += 37)
        ck_fails(write_at_most(bytes, NULL, &plot), GNN_EIO, "writing failed");
    ck_ok(write_at_most(size, NULL, &plot));
}
END_TEST

START_TEST(a_full_disk_and_a_closed_file_are_reported)
{
    gnn_real_t values[] = {1, 2, 3, 4};
    gnn_heatmap_t map = plain(values, 2, 2);
    locale_t before = uselocale((locale_t)0);
    FILE *file = fopen("/dev/full", "w");
    if (file) {
        ck_fails(gnn_svg_heatmap(file, &map), GNN_EIO, strerror(ENOSPC));
        fclose(file);
    }
    file = fopen("/dev/null", "r");
    ck_fails(gnn_svg_heatmap(file, &map), GNN_EIO, "writing failed");
    fclose(file);
    ck_assert(uselocale((locale_t)0) == before);
}
END_TEST

START_TEST(output_does_not_depend_on_the_locale)
{
    gnn_real_t values[] = {(gnn_real_t)0.125, (gnn_real_t)0.5, (gnn_real_t)0.75, 1};
    gnn_heatmap_t map = plain(values, 2, 2);
    gnn_scatter_t plot = {.points = gnn_tensor(values, 2, 2)};
    char *heat_c = heat(&map), *scatter_c = scatter(&plot);
    if (!comma_locale()) {
        setlocale(LC_NUMERIC,
                  "C"); /* then this test only checks that the same call gives the same bytes */
        test_skip("output_does_not_depend_on_the_locale",
                  "no locale with a decimal comma could be made");
    }
    char *heat_comma = heat(&map), *scatter_comma = scatter(&plot);
    ck_assert_str_eq(heat_c, heat_comma);
    ck_assert_str_eq(scatter_c, scatter_comma);
    setlocale(LC_NUMERIC, "C");
    free(heat_c);
    free(heat_comma);
    free(scatter_c);
    free(scatter_comma);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {cells_have_colour_and_text_of_their_value,
                                  neighbours_of_one_value_are_one_rectangle,
                                  rows_are_a_stride_apart,
                                  a_given_scale_holds_and_clamps,
                                  values_that_are_not_finite_are_hatched,
                                  extreme_and_constant_values_keep_finite_coordinates,
                                  empty_matrices_are_pictures_too,
                                  labels_are_escaped,
                                  invalid_xml_characters_are_replaced,
                                  long_labels_are_truncated_and_subtitles_wrapped,
                                  heatmap_frames_marked_cell,
                                  cell_values_are_omitted_if_too_wide,
                                  wrong_heat_maps_are_refused,
                                  points_and_legend_have_the_colours_of_their_classes,
                                  classes_beyond_the_palette_change_shape_and_the_legend_ends,
                                  lines_connect_points_on_one_scale,
                                  non_finite_points_are_skipped_and_counted,
                                  an_empty_scatter_is_valid,
                                  wrong_scatters_are_refused,
                                  failed_writes_are_reported_at_every_position,
                                  a_full_disk_and_a_closed_file_are_reported,
                                  output_does_not_depend_on_the_locale};
    TCase *pictures = tcase_create("pictures");
    for (size_t k = 0; k < sizeof tests / sizeof *tests; k++)
        tcase_add_test(pictures, tests[k]);
    Suite *suite = suite_create("report");
    suite_add_tcase(suite, pictures);
    return test_main(suite);
}
