/* Sets without labels; CSV files as pandas, numpy and spreadsheets write them. */
#include "data_tiny.h"
#include "readers.h"

#include <gnn/train.h>

/* ---- sets without labels ---- */

enum { WITHOUT = 5 };

static const char *without_labels(int more, const gnn_array_t *arrays)
{
    gnn_array_t changes[WITHOUT + 1] = {{.name = "labels", .ndim = -1},
                                        {.name = "train_mask", .ndim = -1},
                                        {.name = "val_mask", .ndim = -1},
                                        {.name = "test_mask", .ndim = -1}};
    for (int k = 0; k < more; k++)
        changes[WITHOUT - 1 + k] = arrays[k];
    return write_tiny(WITHOUT - 1 + more, changes);
}

START_TEST(a_set_without_labels_opens_and_is_saved)
{
    char text[400];
    gnn_data_t *data = opened(without_labels(0, NULL));
    for (int again = 0; again < 2; again++) {
        ck_assert_int_eq(gnn_data_nodes(data), 4);
        ck_assert_int_eq(gnn_data_features(data), 3);
        ck_assert_int_eq(gnn_graph_n_pairs(gnn_data_graph(data)), 6);
        ck_assert_int_eq(gnn_data_label_kind(data), GNN_LABELS_NONE);
        ck_assert_mem_eq(gnn_data_labels(data), ((const int32_t[]){-1, -1, -1, -1}), 16);
        gnn_data_describe(data, text, sizeof text);
        ck_assert_msg(strstr(text, "no labels; 1 split: 0 train") != NULL, "%s", text);
        ck_ok(gnn_data_save(data, in_folder("saved.npz")));
        gnn_data_free(data);
        data = opened(in_folder("saved.npz"));
    }
    ck_ok(gnn_data_add_csv(data, NULL, write_text("y.csv", "0\n1\n1\n0\n")));
    ck_assert_int_eq(gnn_data_classes(data), 2);
    gnn_data_free(data);
}
END_TEST

START_TEST(labels_under_another_name_are_not_passed_over)
{
    const gnn_array_t column = INT64("target", 4, 0, 1, 1, 0), scalar = INT64("num_nodes", 1, 4);
    gnn_data_t *data;
    ck_fails(gnn_data_open(&data, without_labels(1, &column)), GNN_EFORMAT,
             "there are no labels, and target (<i8), which has a row per node, is not read");
    data = opened(without_labels(1, &scalar));
    gnn_data_free(data);
}
END_TEST

/* ---- features and labels ---- */

static gnn_data_t *five_links(void)
{
    return opened(write_text("links.edges", "0 1\n1 2\n2 3\n3 4\n4 0\n"));
}

/* The same five nodes in every form: features 10 to 14, and 0 to -4. */
static const char *const features[] = {
    "10,0\n11,-1\n12,-2\n13,-3\n14,-4\n",
    "a,b\n10,0\n11,-1\n12,-2\n13,-3\n14,-4\n",
    "id,a,b\n4,14,-4\n0,10,0\n3,13,-3\n1,11,-1\n2,12,-2\n",
    "a,b,node_id\n14,-4,4\n10,0,0\n13,-3,3\n11,-1,1\n12,-2,2\n",
    ",0,1\n0,10,0\n1,11,-1\n2,12,-2\n3,13,-3\n4,14,-4\n",
    "\xef\xbb\xbf\"ID\";\"a\";\"b\"\r\n\"1\";11;-1\r\n0;10;0\r\n2;12;-2\r\n3;13;-3\r\n4;14;-4\r\n",
    "10 0\n11 -1\n12 -2\n13 -3\n14 -4\n",
    "# a b\n1.0e1\t-0\n11\t-1\n12\t-2\n13\t-3\n14\t-4\n",
    "paper_id,a,b\n4,14,-4\n0,10,0\n3,13,-3\n1,11,-1\n2,12,-2\n",
};

START_TEST(features_belong_to_the_nodes_that_lines_name)
{
    gnn_data_t *data = five_links();
    ck_ok(gnn_data_add_csv(data, write_text("x.csv", features[_i]), NULL));
    ck_assert_int_eq(gnn_data_nodes(data), 5);
    ck_assert_int_eq(gnn_data_features(data), 2);
    for (int r = 0; r < 5; r++) {
        ck_assert_double_eq(gnn_data_x(data)->data[2 * r], 10 + r);
        ck_assert_double_eq(gnn_data_x(data)->data[2 * r + 1], -r);
    }
    gnn_data_free(data);
}
END_TEST

START_TEST(a_column_whose_values_repeat_is_a_feature)
{
    gnn_data_t *data = five_links();
    ck_ok(gnn_data_add_csv(data, write_text("x.csv", "user_id,a\n1,0\n1,0\n2,0\n2,0\n3,0\n"), NULL));
    ck_assert_int_eq(gnn_data_features(data), 2);
    gnn_data_free(data);
}
END_TEST

static const struct {
    const char *text;
    int code;
    const char *words;
} bad_features[] = {
    {"0,1\n1,1\n2,1\n3,1\n4,1\n", GNN_EFORMAT, "the first column counts the lines from 0"},
    {"1,1\n2,1\n3,1\n4,1\n5,1\n", GNN_EFORMAT, "the first column counts the lines from 1"},
    {"id,a\nx,1\ny,1\nz,1\nu,1\nv,1\n", GNN_EFORMAT,
     "line 2, column 1: column \"id\" holds ids of nodes: the id of a node is expected, as the "
     "edges name it, got \"x\""},
    {"id,a\n0,1\n1,1\n2,1\n2,1\n4,1\n", GNN_EFORMAT, "column \"id\" names node 2 in two lines"},
    {"id,a\n1,1\n2,1\n3,1\n4,1\n5,1\n", GNN_EFORMAT, "of node 5, ids are 0 to 4"},
    {"id,a\n0,1\n1,1\n2,1\n3,1\n", GNN_ESHAPE, "x.csv: 4 nodes, links has 5"},
    {"0,1\n1,1\n1,1\n1,1\n1,1\n9,9\n", GNN_EFORMAT, "one line more than the 5 nodes"},
    {"NA,1\n1,1\n1,1\n1,1\n1,1\n9,9\n", GNN_EFORMAT, "line 1, column 1: a number is expected"},
    {"a,b\n1,\n1,1\n1,1\n1,1\n1,1\n", GNN_EFORMAT, "line 2, column 2: a number is expected"},
    {"a,b,label\n1,1,0\n1,1,0\n1,1,0\n1,1,0\n1,1,0\n", GNN_EFORMAT,
     "a column of features is called \"label\""},
    {"a,b\n0,1,1\n1,1,1\n2,1,1\n3,1,1\n4,1,1\n", GNN_EFORMAT, "the first line names 2 columns"},
    {"id,a\n", GNN_EFORMAT, "no values after"},
    {"1,5;2,5\n1,5;2,5\n", GNN_EFORMAT, "a number is expected, got \"1,5\""},
    {"id,a\n0,1\n1,1\n2,1\n3,1\n99999999999999999999,1\n", GNN_EFORMAT, "is too large"},
};

START_TEST(features_of_other_forms_are_refused)
{
    gnn_data_t *data = five_links();
    ck_fails(gnn_data_add_csv(data, write_text("x.csv", bad_features[_i].text), NULL),
             bad_features[_i].code, bad_features[_i].words);
    ck_assert_int_eq(gnn_data_nodes(data), 5);
    gnn_data_free(data);
}
END_TEST

static const struct {
    const char *text;
    int32_t want[5];
} labels[] = {
    {"id,label\n4,1\n0,2\n3,0\n1,1\n2,0\n", {2, 1, 0, 0, 1}},
    {"node\tclass\n4\tb\n0\tc\n3\ta\n1\tb\n2\ta\n", {2, 1, 0, 0, 1}},
    {",0\n0,2\n1,1\n2,0\n3,0\n4,1\n", {2, 1, 0, 0, 1}},
    {"id,label\n4,1\n0,0\n", {0, -1, -1, -1, 1}},
    {"id,a,b,c\n4,0,1,0\n0,0,0,1\n3,1,0,0\n1,0,1,0\n2,1,0,0\n", {2, 1, 0, 0, 1}},
};

START_TEST(labels_belong_to_the_nodes_that_lines_name)
{
    gnn_data_t *data = five_links();
    ck_ok(gnn_data_add_csv(data, NULL, write_text("y.csv", labels[_i].text)));
    ck_assert_int_eq(gnn_data_nodes(data), 5);
    ck_assert_mem_eq(gnn_data_labels(data), labels[_i].want, sizeof labels[_i].want);
    gnn_data_free(data);
}
END_TEST

START_TEST(real_labels_follow_their_ids)
{
    gnn_data_t *data = five_links();
    ck_ok(gnn_data_add_csv(data, NULL,
                           write_text("y.csv", "id,y\n4,0.5\n0,1.5\n3,2.5\n1,3.5\n2,4.5\n")));
    const gnn_tensor_t *targets = gnn_data_rows(data, GNN_ON_NODES, "targets");
    ck_assert_ptr_nonnull(targets);
    ck_assert_double_eq(targets->data[0], 1.5);
    ck_assert_double_eq(targets->data[4], 0.5);
    gnn_data_free(data);
}
END_TEST

static const struct {
    const char *text;
    int code;
    const char *words;
} bad_labels[] = {
    {"0 2\n1 1\n2 0\n3 0\n4 1\n", GNN_EFORMAT, "classes have one column"},
    {"0,2\n1,1\n2,0\n3,0\n4,1\n", GNN_EFORMAT, "the first column counts the lines from 0"},
    {"id,label\n5,1\n0,0\n1,1\n7,0\n-1,0\n", GNN_EFORMAT, "of node -1, ids are 0 to 7"},
    {"id,y\n4,0.5\n0,1.5\n", GNN_ESHAPE, "ids of 2 nodes, 5 are expected"},
    {"n0\nn1\nn2\nn3\nn4\nn5\nn6\nn7\nn8\n", GNN_EFORMAT, "each of its 9 lines names another class"},
};

START_TEST(labels_of_other_forms_are_refused)
{
    gnn_data_t *data = five_links();
    ck_fails(gnn_data_add_csv(data, NULL, write_text("y.csv", bad_labels[_i].text)),
             bad_labels[_i].code, bad_labels[_i].words);
    gnn_data_free(data);
}
END_TEST

/* Features and labels of these lines are refused. */
static void refused_pair(gnn_data_t *data, const char *x, const char *y, const char *words)
{
    char path[2][1024];
    snprintf(path[0], sizeof path[0], "%s", write_text("x.csv", x));
    snprintf(path[1], sizeof path[1], "%s", write_text("y.csv", y));
    ck_fails(gnn_data_add_csv(data, path[0], path[1]), GNN_ESHAPE, words);
    gnn_data_free(data);
}

START_TEST(the_file_of_the_wrong_length_is_named)
{
    refused_pair(opened(without_labels(0, NULL)), "7\n8\n9\n", "0\n1\n1\n0\n",
                 "x.csv: 3 nodes, tiny has 4");
    refused_pair(opened(without_labels(0, NULL)), "7\n8\n9\n6\n", "0\n1\n1\n",
                 "y.csv: 3 nodes, tiny has 4");
    refused_pair(five_links(), "7\n8\n9\n6\n5\n4\n", "0\n1\n1\n1\n1\n",
                 "y.csv: labels of 5 nodes, x.csv has features of 6, links links of 5");
}
END_TEST

#define COUNT(list) (int)(sizeof(list) / sizeof *(list))

int main(void)
{
    Suite *suite = suite_create("data csv");
    TCase *tests = tcase_create("csv");
    tcase_add_checked_fixture(tests, make_folder, remove_tree);
    tcase_add_test(tests, a_set_without_labels_opens_and_is_saved);
    tcase_add_test(tests, labels_under_another_name_are_not_passed_over);
    tcase_add_loop_test(tests, features_belong_to_the_nodes_that_lines_name, 0, COUNT(features));
    tcase_add_test(tests, a_column_whose_values_repeat_is_a_feature);
    tcase_add_loop_test(tests, features_of_other_forms_are_refused, 0, COUNT(bad_features));
    tcase_add_loop_test(tests, labels_belong_to_the_nodes_that_lines_name, 0, COUNT(labels));
    tcase_add_test(tests, real_labels_follow_their_ids);
    tcase_add_loop_test(tests, labels_of_other_forms_are_refused, 0, COUNT(bad_labels));
    tcase_add_test(tests, the_file_of_the_wrong_length_is_named);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
