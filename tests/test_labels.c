/* Labels by what they are, and links by the direction that they are read in. */
#include "data_tiny.h"
#include "readers.h"

#include <gnn/train.h>
#include <math.h>

static gnn_data_t *with_labels(const gnn_array_t *labels)
{
    return opened(write_tiny(1, labels));
}

static void says(const gnn_data_t *data, const char *words)
{
    char text[400];
    gnn_data_describe(data, text, sizeof text);
    ck_assert_msg(strstr(text, words) != NULL, "\"%s\" is not in \"%s\"", words, text);
}

/* ---- classes ---- */

START_TEST(one_column_of_classes_in_any_form)
{
    static const int32_t want[4] = {1, 0, 1, 0};
    const gnn_array_t forms[] = {
        INT64("labels", 4, 1, 0, 1, 0),
        BOOL("labels", 4, 1, 0, 1, 0),
        FLOAT32("labels", 4, 1, 0, 1, 0),
        MATRIX("labels", GNN_DTYPE_INT64, int64_t, 4, 1, 1, 0, 1, 0),
        MATRIX("labels", GNN_DTYPE_FLOAT64, double, 4, 1, 1, 0, 1, 0),
        MATRIX("labels", GNN_DTYPE_FLOAT32, float, 4, 2, 0, 1, 1, 0, 0, 1, 1, 0),
        MATRIX("labels", GNN_DTYPE_INT32, int32_t, 4, 2, 0, 1, 1, 0, 0, 1, 1, 0),
    };
    for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
        gnn_data_t *data = with_labels(&forms[k]);
        ck_assert_int_eq(gnn_data_label_kind(data), GNN_LABELS_CLASSES);
        ck_assert_int_eq(gnn_data_classes(data), 2);
        ck_assert_mem_eq(gnn_data_labels(data), want, sizeof want);
        says(data, "2 classes; ");
        gnn_data_free(data);
    }
}
END_TEST

START_TEST(a_row_of_zeros_among_one_hot_rows_has_no_class)
{
    const gnn_array_t labels =
        MATRIX("labels", GNN_DTYPE_UINT8, uint8_t, 4, 3, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 0);
    gnn_data_t *data = with_labels(&labels);
    ck_assert_int_eq(gnn_data_classes(data), 3);
    ck_assert_mem_eq(gnn_data_labels(data), ((const int32_t[]){2, 0, 1, -1}), 16);
    gnn_data_free(data);
}
END_TEST

/* ---- several labels, real values ---- */

START_TEST(several_labels_of_a_node)
{
    const gnn_array_t forms[] = {
        MATRIX("labels", GNN_DTYPE_BOOL, uint8_t, 4, 3, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1, 0, 1),
        MATRIX("labels", GNN_DTYPE_FLOAT32, float, 4, 3, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1, 0, 1),
    };
    for (int k = 0; k < 2; k++) {
        gnn_data_t *data = with_labels(&forms[k]);
        const gnn_tensor_t *targets = gnn_data_rows(data, GNN_ON_NODES, "targets");
        ck_assert_int_eq(gnn_data_label_kind(data), GNN_LABELS_SEVERAL);
        ck_assert(gnn_data_classes(data) == 0 && gnn_data_labels(data)[0] == -1);
        ck_assert(targets->rows == 4 && targets->cols == 3 && targets->data[4 * 3 - 1] == 1);
        ck_assert_int_eq(gnn_data_mask(data, GNN_TRAIN, 0)[0], 1);
        says(data, "3 labels of 0 or 1 per node; ");
        gnn_data_free(data);
    }
}
END_TEST

START_TEST(real_values_of_a_node)
{
    const gnn_array_t forms[] = {
        FLOAT64("labels", 4, 0.5, -2, 3, 1e6),
        MATRIX("labels", GNN_DTYPE_FLOAT32, float, 4, 1, 0.5f, -2, 3, 1e6f),
    };
    gnn_data_t *data, *again;
    for (int k = 0; k < 2; k++) {
        data = with_labels(&forms[k]);
        const gnn_tensor_t *targets = gnn_data_rows(data, GNN_ON_NODES, "targets");
        ck_assert_int_eq(gnn_data_label_kind(data), GNN_LABELS_REAL);
        ck_assert(targets->rows == 4 && targets->cols == 1 && targets->data[3] == (gnn_real_t)1e6);
        says(data, "1 real value per node to predict; ");
        ck_ok(gnn_data_save(data, in_folder("saved.npz")));
        gnn_data_free(data);
        again = opened(in_folder("saved.npz"));
        ck_assert_int_eq(gnn_data_label_kind(again), GNN_LABELS_REAL);
        ck_assert(gnn_data_rows(again, GNN_ON_NODES, "targets")->data[1] == -2);
        gnn_data_free(again);
    }
}
END_TEST

START_TEST(integer_valued_reals_are_regression_targets)
{
    const gnn_array_t labels = FLOAT32("labels", 4, 0, 2, 1, 3);
    gnn_data_t *data = with_labels(&labels);
    ck_assert_int_eq(gnn_data_label_kind(data), GNN_LABELS_REAL);
    says(data, "1 real value per node to predict (whole ones: integers would be classes); ");
    gnn_data_free(data);
}
END_TEST

START_TEST(splits_of_sets_without_classes_are_drawn)
{
    const gnn_array_t changes[] = {FLOAT64("labels", 4, 0.5, -2, 3, 7),
                                   {.name = "train_mask", .ndim = -1},
                                   {.name = "val_mask", .ndim = -1},
                                   {.name = "test_mask", .ndim = -1}};
    gnn_data_t *data = opened(write_tiny(4, changes));
    says(data, "1 split: 2 train, 0 validation, 2 test");
    ck_ok(gnn_data_split_draw(data, &(gnn_split_rule_t){.splits = 2, .train_share = 0.5}));
    says(data, "2 splits, the first: 2 train");
    gnn_data_free(data);
}
END_TEST

START_TEST(invalid_labels_are_refused)
{
    const struct {
        gnn_array_t labels;
        int code;
        const char *words;
    } bad[] = {
        {MATRIX("labels", GNN_DTYPE_INT64, int64_t, 4, 2, 0, 1, 5, 0, 1, 0, 0, 1), GNN_EFORMAT,
         "labels: 5 at row 1, column 0 of int64: several labels of a node are 0 or 1 each"},
        {MATRIX("labels", GNN_DTYPE_INT64, int64_t, 4, 2, 0, 1, 1, -1, 1, 1, 0, 1), GNN_EFORMAT,
         "labels: -1 at row 1, column 1"},
        {FLOAT64("labels", 4, 0.5, (double)NAN, 1, 2), GNN_ENUMERIC,
         "labels: nan at row 1, column 0: real values are finite"},
        {{"labels", GNN_DTYPE_INT64, 2, {4, 0}, 0, (const int64_t[]){0}},
         GNN_EFORMAT,
         "labels: expected 1 to 2147483647 rows, one per node, got the shape 4 x 0"},
        {{"labels", GNN_DTYPE_INT64, 3, {4, 1, 1}, 4, (const int64_t[]){0, 1, 0, 1}},
         GNN_EFORMAT,
         "labels: 3 dimensions, 1 or 2 are expected"},
    };
    gnn_data_t *data;
    ck_fails(gnn_data_open(&data, write_tiny(1, &bad[_i].labels)), bad[_i].code, bad[_i].words);
}
END_TEST

START_TEST(targets_are_stored_once)
{
    const gnn_array_t both[] = {FLOAT64("labels", 4, 0.5, 2, 3, 4),
                                FLOAT64("node.targets", 4, 1, 2, 3, 4)};
    gnn_data_t *data;
    ck_fails(gnn_data_open(&data, write_tiny(2, both)), GNN_EFORMAT,
             "the file has node.targets, too");
}
END_TEST

/* ---- texts ---- */

/* A label file of four nodes: as CSV beside a set, and as OGB's. */
static const struct {
    const char *text;
    gnn_label_kind_t kind;
    int cols; /* of the targets, or classes */
    gnn_real_t last;
} texts[] = {{"1,0,1\n0,1,1\n1,1,0\n0,0,1\n", GNN_LABELS_SEVERAL, 3, 1},
             {"1.0,0.0\n1.0,1.0\n0.0,0.0\n0.0,1.0\n", GNN_LABELS_SEVERAL, 2, 1},
             {"0.5\n-2\n3\n1e6\n", GNN_LABELS_REAL, 1, 1000000},
             {"0.5,1\n-2,2\n3,3\n7,-4.25\n", GNN_LABELS_REAL, 2, (gnn_real_t)-4.25},
             {"1,0\n0,1\n1,0\n0,1\n", GNN_LABELS_CLASSES, 2, 1},
             {"0\n2\n1\n1\n", GNN_LABELS_CLASSES, 3, 1}};

static void ck_read_as(const gnn_data_t *data, int which)
{
    ck_assert_int_eq(gnn_data_label_kind(data), texts[which].kind);
    if (texts[which].kind == GNN_LABELS_CLASSES) {
        ck_assert_int_eq(gnn_data_classes(data), texts[which].cols);
        ck_assert_int_eq(gnn_data_labels(data)[3], (int)texts[which].last);
        return;
    }
    const gnn_tensor_t *targets = gnn_data_rows(data, GNN_ON_NODES, "targets");
    ck_assert_int_eq(gnn_data_classes(data), 0);
    ck_assert_int_eq(gnn_data_labels(data)[3], -1);
    ck_assert(targets->rows == 4 && targets->cols == texts[which].cols);
    ck_assert(gnn__row(targets, 3)[targets->cols - 1] == texts[which].last);
}

START_TEST(labels_of_csv_by_what_they_are)
{
    gnn_data_t *data = opened(write_tiny(0, NULL));
    char headed[128];
    ck_ok(gnn_data_add_csv(data, NULL, write_text("y.csv", texts[_i].text)));
    ck_read_as(data, _i);
    /* again, above other labels, with a header, after the nodes have another order */
    ck_ok(gnn_data_reorder(data));
    snprintf(headed, sizeof headed, "%.*s\n%s", texts[_i].kind ? texts[_i].cols * 2 - 1 : 1,
             "a,b,c", texts[_i].text);
    if (texts[_i].kind == GNN_LABELS_CLASSES)
        snprintf(headed, sizeof headed, "%s", texts[_i].text);
    ck_ok(gnn_data_add_csv(data, NULL, write_text("y.csv", headed)));
    const gnn_tensor_t *targets = gnn_data_rows(data, GNN_ON_NODES, "targets");
    for (int64_t r = 0; r < 4 && texts[_i].kind != GNN_LABELS_CLASSES; r++)
        if (gnn_data_order(data) ? gnn_data_order(data)[r] == 3 : r == 3)
            ck_assert(gnn__row(targets, r)[targets->cols - 1] == texts[_i].last);
    gnn_data_free(data);
}
END_TEST

START_TEST(labels_of_ogb_by_what_they_are)
{
    gnn_data_t *data = opened(write_ogb("raw/node-label.csv.gz", texts[_i].text));
    ck_read_as(data, _i);
    ck_assert_int_eq(gnn_data_mask(data, GNN_TRAIN, 0)[0], 1);
    gnn_data_free(data);
}
END_TEST

START_TEST(labels_of_texts_that_are_none_of_these)
{
    static const struct {
        const char *text;
        int code;
        const char *words;
    } bad[] = {{"1,2\n0,1\n1,0\n1,1\n", GNN_EFORMAT, "2 at row 0, column 1 of integers"},
               {"1,0\n0,1\n1\n1,1\n", GNN_EFORMAT, "1 values, the lines before have 2"},
               {"0.5\nnan\n1\n2\n", GNN_ENUMERIC, "line 2, column 1"},
               {"0.5,1\n1,2\n", GNN_ESHAPE, "2 "}};
    gnn_data_t *data = opened(write_tiny(0, NULL));
    ck_fails(gnn_data_add_csv(data, NULL, write_text("y.csv", bad[_i].text)), bad[_i].code,
             bad[_i].words);
    ck_assert_int_eq(gnn_data_classes(data), 3);
    gnn_data_free(data);
}
END_TEST

/* ---- direction ---- */

/* Links 0 -> 1 (twice), 1 -> 2, 2 -> 1 and a loop, in three forms. */
static const char *write_links(int form)
{
    const gnn_array_t of_each[] = {
        MATRIX("edges", GNN_DTYPE_INT64, int64_t, 5, 2, 0, 1, 0, 1, 1, 2, 2, 1, 2, 2),
        MATRIX("edge_index", GNN_DTYPE_INT64, int64_t, 2, 5, 0, 0, 1, 2, 2, 1, 1, 2, 1, 2),
        MATRIX("messages", GNN_DTYPE_INT64, int64_t, 5, 2, 0, 1, 0, 1, 1, 2, 2, 1, 2, 2)};
    const gnn_array_t csr[] = {INT64("adj_indptr", 4, 0, 0, 3, 5),
                               INT64("adj_indices", 5, 0, 0, 2, 1, 2), INT64("adj_shape", 2, 3, 3)};
    gnn_array_t arrays[5] = {MATRIX("x", GNN_DTYPE_FLOAT32, float, 3, 1, 1, 2, 3),
                             INT64("labels", 3, 0, 1, 0)};
    const char *path = in_folder("links.npz");
    memcpy(arrays + 2, form == 3 ? csr : &of_each[form], form == 3 ? sizeof csr : sizeof *of_each);
    ck_ok(gnn_npz_write(path, form == 3 ? 5 : 3, arrays));
    return path;
}

START_TEST(one_rule_of_direction_for_all_forms)
{
    const gnn_open_config_t directed = {.directed = GNN_ON};
    const char *path = write_links(_i);
    const int as_stored = _i == 2; /* an array `messages` always is */
    gnn_data_t *data = opened(path);
    ck_assert_str_eq(messages(data), as_stored ? "1<0 1<0 1<2 2<1 2<2" : "0<1 1<0 1<2 2<1");
    says(data, as_stored ? "5 messages (links as stored), " : "4 messages (links both ways), ");
    gnn_data_free(data);
    ck_ok(gnn_data_open_as(&data, path, &directed));
    ck_assert_str_eq(messages(data), "1<0 1<0 1<2 2<1 2<2");
    says(data, "5 messages (links as stored), ");
    gnn_data_free(data);
    ck_ok(gnn_data_open_as(&data, path, NULL));
    gnn_data_free(data);
    ck_fails(gnn_data_open_as(&data, path,
                              &(gnn_open_config_t){.limits = &(gnn_limits_t){.max_entries = 1}}),
             GNN_EFORMAT, "the limit is 1");
}
END_TEST

START_TEST(edge_lists_keep_their_direction)
{
    gnn_data_t *data;
    ck_ok(gnn_data_open_as(&data, write_text("a.edges", "0 1 2\n2 1 3\n2 1 4\n"),
                           &(gnn_open_config_t){.directed = GNN_ON}));
    ck_assert_str_eq(messages(data), "1<0 1<2 1<2");
    const gnn_tensor_t *weight = gnn_data_rows(data, GNN_ON_EDGES, "weight");
    ck_assert(weight->data[0] == 2 && weight->data[1] == 3 && weight->data[2] == 4);
    gnn_data_free(data);
}
END_TEST

/* ---- MatrixMarket ---- */

#define HEAD "%%MatrixMarket matrix coordinate "

START_TEST(matrix_market)
{
    static const struct {
        const char *name, *text, *both, *directed;
        int n;
    } cases[] = {
        {"a.mtx", HEAD "pattern symmetric\n% a note\n3 3 2\n2 1\n3 2\n", "0<1 1<0 1<2 2<1",
         "0<1 1<0 1<2 2<1", 3},
        {"a.txt", HEAD "real general\n4 4 2\n1 2 0.5\n3 2 -1e1\n", "0<1 1<0 1<2 2<1", "0<1 2<1", 4},
        {"b.mtx", "%MatrixMarket matrix coordinate pattern symmetric\n3 3 1\n3 1\n", "0<2 2<0",
         "0<2 2<0", 3},
        {"diagonal.mtx", HEAD "pattern symmetric\n3 3 3\n1 1\n2 1\n3 3\n", "0<1 1<0",
         "0<0 0<1 1<0 2<2", 3},
        {"no ending", HEAD "Integer General\n2 2 1\n1 2 7\n", "0<1 1<0", "0<1", 2},
    };
    const char *path = write_text(cases[_i].name, cases[_i].text);
    gnn_data_t *data = opened(path);
    ck_assert_str_eq(messages(data), cases[_i].both);
    ck_assert_int_eq(gnn_data_nodes(data), cases[_i].n);
    gnn_data_free(data);
    ck_ok(gnn_data_open_as(&data, path, &(gnn_open_config_t){.directed = GNN_ON}));
    ck_assert_str_eq(messages(data), cases[_i].directed);
    gnn_data_free(data);
}
END_TEST

START_TEST(wrong_matrix_market_is_refused)
{
    static const struct {
        const char *text;
        int code;
        const char *words;
    } bad[] = {
        {"%%MatrixMarket matrix array real general\n2 2\n1\n0\n0\n1\n", GNN_EUNSUPPORTED,
         "a matrix in coordinates is expected of MatrixMarket"},
        {HEAD "complex general\n2 2 1\n1 2 1 0\n", GNN_EUNSUPPORTED, "complex"},
        {HEAD "real skew-symmetric\n2 2 1\n2 1 1\n", GNN_EUNSUPPORTED, "skew-symmetric"},
        {HEAD "pattern general\n2 3 1\n1 3\n", GNN_EFORMAT, "2 x 3"},
        {HEAD "pattern general\n2 2 1\n0 1\n", GNN_EFORMAT, "index 0, 1 to 2 are expected"},
        {HEAD "pattern general\n2 2 1\n1 3\n", GNN_EFORMAT, "index 3"},
        {HEAD "pattern general\n2 2 1\n1 2 5\n", GNN_EFORMAT, "row and column are expected"},
        {HEAD "pattern general\n2 2 3\n1 2\n", GNN_EFORMAT,
         "expected 3 entries, the count in the line of sizes, got 1"},
        {HEAD "pattern general\n2000000 2000000 1\n1 2\n", GNN_EFORMAT, "2000000 nodes"},
        {HEAD "pattern\n2 2 1\n1 2\n", GNN_EFORMAT, "five words"},
        {HEAD "pattern general more\n2 2 1\n1 2\n", GNN_EFORMAT, "got \"more\" too"},
        {HEAD "integer general\n2 2 1\n1 2 1.5\n", GNN_EFORMAT,
         "line 3, column 3: an integer is expected, as the first line declares, got \"1.5\""},
        {HEAD "real symmetric\n2 2 2\n2 1 1\n1 2 3\n", GNN_EFORMAT,
         "line 4, column 1: entries on one side of the diagonal are expected"},
        {"2 2 1\n1 2\n", GNN_EFORMAT, "bad.mtx: a first line \"%%MatrixMarket"},
    };
    gnn_data_t *data;
    ck_fails(gnn_data_open(&data, write_text("bad.mtx", bad[_i].text)), bad[_i].code, bad[_i].words);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("labels");
    TCase *tests = tcase_create("labels");
    tcase_add_checked_fixture(tests, make_folder, remove_tree);
    tcase_add_test(tests, one_column_of_classes_in_any_form);
    tcase_add_test(tests, a_row_of_zeros_among_one_hot_rows_has_no_class);
    tcase_add_test(tests, several_labels_of_a_node);
    tcase_add_test(tests, real_values_of_a_node);
    tcase_add_test(tests, integer_valued_reals_are_regression_targets);
    tcase_add_test(tests, splits_of_sets_without_classes_are_drawn);
    tcase_add_loop_test(tests, invalid_labels_are_refused, 0, 5);
    tcase_add_test(tests, targets_are_stored_once);
    tcase_add_loop_test(tests, labels_of_csv_by_what_they_are, 0, 6);
    tcase_add_loop_test(tests, labels_of_ogb_by_what_they_are, 0, 6);
    tcase_add_loop_test(tests, labels_of_texts_that_are_none_of_these, 0, 4);
    tcase_add_loop_test(tests, one_rule_of_direction_for_all_forms, 0, 4);
    tcase_add_test(tests, edge_lists_keep_their_direction);
    tcase_add_loop_test(tests, matrix_market, 0, 5);
    tcase_add_loop_test(tests, wrong_matrix_market_is_refused, 0, 14);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
