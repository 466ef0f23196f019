/* OGB's folders of many graphs: a valid one compared element by element, and each kind of fault. */
#include "readers.h"

#include <gnn/collection.h>

/* A path of three nodes, two nodes with one edge, one node alone, two nodes whose edge is there
 * both ways with other features. */
static const part_t good[] = {
    {"raw/num-node-list.csv.gz", "3\n2\n1\n2\n"},
    {"raw/num-edge-list.csv.gz", "2\n1\n0\n2\n"},
    {"raw/edge.csv.gz", "0,1\n1,2\n1,0\n0,1\n1,0\n"},
    {"raw/node-feat.csv.gz", "0,5\n1,6\n2,7\n3,8\n4,-9\n5,10\n0.5,11\n7,12\n"},
    {"raw/edge-feat.csv.gz", "1,0\n2,0.25\n3,0\n4,0\n5,0\n"},
    {"raw/graph-label.csv.gz", "1\n0\n0\n1\n"},
    {"split/scaffold/train.csv.gz", "3\n0\n"},
    {"split/scaffold/valid.csv.gz", "1\n"},
    {"split/scaffold/test.csv.gz", "2\n"},
};
enum { PARTS = sizeof good / sizeof good[0] };

static const char *write_graphs(const char *part, const char *text)
{
    return write_parts("many_ogb", "/split/scaffold", PARTS, good, part, text);
}

static void ck_numbers(const gnn_tensor_t *rows, int64_t n, int64_t cols, const double *expected)
{
    ck_assert_ptr_nonnull(rows);
    ck_assert_int_eq(rows->rows, n);
    ck_assert_int_eq(rows->cols, cols);
    for (int64_t k = 0; k < n * cols; k++)
        ck_assert_msg((double)rows->data[k] == expected[k], "number %d: %g, expected %g", (int)k,
                      (double)rows->data[k], expected[k]);
}

static void ck_parts(const gnn_data_t *data, const char *name, const char *expected)
{
    const gnn_array_t *split = gnn_data_array_find(data, GNN_ON_GRAPHS, name);
    ck_assert_ptr_nonnull(split);
    ck_assert_int_eq(split->dtype, GNN_DTYPE_INT8);
    ck_assert_int_eq(split->count, (int64_t)strlen(expected));
    for (int64_t g = 0; g < split->count; g++)
        ck_assert_int_eq((int)gnn_array_get(split, g), expected[g] == '-' ? -1 : expected[g] - '0');
}

START_TEST(a_folder_of_many_graphs)
{
    static const double x[] = {0, 5, 1, 6, 2, 7, 3, 8, 4, -9, 5, 10, 0.5, 11, 7, 12},
                        edges[] = {1, 0, 1, 0, 2, 0.25, 2, 0.25, 3, 0, 3, 0, 5, 0, 4, 0},
                        targets[] = {1, 0, 0, 1};
    gnn_data_t *data = opened(write_graphs(NULL, NULL));
    ck_assert_str_eq(gnn_data_name(data), "many_ogb");
    ck_assert_int_eq(gnn_data_graphs(data), 4);
    ck_assert_int_eq(gnn_data_nodes(data), 8);
    ck_assert_int_eq(gnn_data_classes(data), 2);
    ck_assert_str_eq(messages(data), "0<1 1<0 1<2 2<1 3<4 4<3 6<7 7<6");
    ck_numbers(gnn_data_x(data), 8, 2, x);
    ck_numbers(gnn_data_rows(data, GNN_ON_EDGES, "features"), 8, 2, edges);
    ck_numbers(gnn_data_rows(data, GNN_ON_GRAPHS, "targets"), 4, 1, targets);
    for (int g = 0; g < 4; g++)
        ck_assert_int_eq(gnn_data_graph_labels(data)[g], (int)targets[g]);
    ck_parts(data, "split.scaffold", "0120");
    gnn_data_free(data);
}
END_TEST

/* Degrees replace features then; classes of graphs are not labels of nodes. */
START_TEST(several_splits_unpacked_files_and_no_features)
{
    write_graphs("raw/node-feat.csv.gz", NULL);
    ck_assert_int_eq(unlink(in_folder("many_ogb/raw/edge-feat.csv.gz")), 0);
    ck_assert_int_eq(unlink(in_folder("many_ogb/raw/edge.csv.gz")), 0);
    write_text("many_ogb/raw/edge.csv", "0,1\n1,2\n1,0\n0,1\n1,0\n");
    mkdir(in_folder("many_ogb/split/again"), 0700);
    write_text("many_ogb/split/again/train.csv", "2\n");
    write_packed("many_ogb/split/again/valid.csv.gz", "");
    write_packed("many_ogb/split/again/test.csv.gz", "0\n");
    gnn_data_t *data = opened(in_folder("many_ogb"));
    ck_assert_int_eq(gnn_data_labels(data)[0], -1);
    ck_assert_int_eq(gnn_data_features(data), 3);
    ck_assert(feature(data, 1, 2) == 1 && feature(data, 5, 0) == 1 && feature(data, 6, 1) == 1);
    ck_assert_ptr_null(gnn_data_rows(data, GNN_ON_EDGES, "features"));
    ck_parts(data, "split.again", "2-0-");
    ck_parts(data, "split.scaffold", "0120");
    gnn_data_free(data);
}
END_TEST

START_TEST(non_class_labels_are_refused)
{
    static const struct {
        const char *text;
        int64_t cols, classes;
    } cases[] = {{"1,0\n0,1\n0,0\n1,1\n", 2, 0}, {"0.5\n-1\n2\n3\n", 1, 0},
                 {"0\n-1\n2\n3\n", 1, 0},        {"0\n1000\n2\n3\n", 1, 0},
                 {"0\n999\n2\n3\n", 1, 4},       {"0\n1.0\n2\n0\n", 1, 3}};
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        gnn_data_t *data = opened(write_graphs("raw/graph-label.csv.gz", cases[k].text));
        const gnn_tensor_t *targets = gnn_data_rows(data, GNN_ON_GRAPHS, "targets");
        ck_assert_int_eq(targets->rows, 4);
        ck_assert_int_eq(targets->cols, cases[k].cols);
        ck_assert_int_eq(gnn_data_graph_labels(data) != NULL, cases[k].classes > 0);
        ck_assert_int_eq(gnn_data_classes(data), cases[k].classes);
        gnn_data_free(data);
    }
}
END_TEST

static const struct {
    const char *part, *text;
    int code;
    const char *words;
} wrong[] = {
    {"raw/num-node-list.csv.gz", "3\n2\n1\n1\n", GNN_EFORMAT,
     "num-node-list: 7 nodes in all, node-feat has 8 lines"},
    {"raw/num-node-list.csv.gz", "3\n2\n1\n3\n", GNN_EFORMAT,
     "num-node-list: line 4, column 1: 3 nodes of graph 3 after 6 of those before, node-feat has 8 "
     "lines"},
    {"raw/num-node-list.csv.gz", "3\n0\n3\n2\n", GNN_EFORMAT,
     "num-node-list: line 2, column 1: 0 nodes of graph 1, at least 1 is expected"},
    {"raw/num-node-list.csv.gz", "9223372036854775807\n", GNN_EFORMAT,
     "line 1, column 1: 9223372036854775807 nodes of graph 0"},
    {"raw/num-node-list.csv.gz", "3\n2\n3\n", GNN_EFORMAT,
     "num-edge-list: 4 lines, num-node-list has 3"},
    {"raw/num-node-list.csv.gz", "3\nx\n", GNN_EFORMAT,
     "num-node-list: line 2, column 1: an integer is expected, got \"x\""},
    {"raw/num-node-list.csv.gz", "\n", GNN_EFORMAT, "num-node-list: 0 nodes in all"},
    {"raw/num-node-list.csv.gz", NULL, GNN_EIO, "num-node-list.csv.gz: No such file"},
    {"raw/num-edge-list.csv.gz", "2\n1\n0\n1\n", GNN_EFORMAT,
     "num-edge-list: 4 edges in all, edge has 5 lines"},
    {"raw/num-edge-list.csv.gz", "2\n4\n0\n0\n", GNN_EFORMAT,
     "num-edge-list: line 2, column 1: 4 edges of graph 1 after 2 of those before, edge has 5 "
     "lines"},
    {"raw/num-edge-list.csv.gz", "2\n-1\n0\n4\n", GNN_EFORMAT,
     "num-edge-list: line 2, column 1: -1 edges of graph 1, at least 0 is expected"},
    {"raw/num-edge-list.csv.gz", "2\n1\n2\n", GNN_EFORMAT,
     "num-edge-list: 3 lines, num-node-list has 4"},
    {"raw/num-edge-list.csv.gz", "2\n1 1\n", GNN_EFORMAT, "line 2, column 1: an integer"},
    {"raw/num-edge-list.csv.gz", NULL, GNN_EIO, "num-edge-list.csv.gz: No such file"},
    {"raw/edge.csv.gz", "0,1\n1,2\n1,2\n0,1\n1,0\n", GNN_EFORMAT,
     "edge: line 3, column 2: node 2, graph 1 has 2 nodes"},
    {"raw/edge.csv.gz", "0,1\n1,2\n1,0\n0,1\n-1,0\n", GNN_EFORMAT,
     "edge: line 5, column 1: node -1, graph 3 has 2 nodes"},
    {"raw/edge.csv.gz", "0,1\n1,2\n1\n0,1\n1,0\n", GNN_EFORMAT,
     "edge: line 3: two node ids are expected, got one"},
    {"raw/edge.csv.gz", NULL, GNN_EIO, "edge.csv.gz: No such file"},
    {"raw/edge-feat.csv.gz", "1\n2\n3\n4\n", GNN_EFORMAT, "edge-feat: 4 lines, edge has 5"},
    {"raw/edge-feat.csv.gz", "1\n2\n3\nnan\n5\n", GNN_ENUMERIC, "edge-feat: line 4, column 1"},
    {"raw/node-feat.csv.gz", "1\n2\n", GNN_EFORMAT,
     "num-node-list: line 1, column 1: 3 nodes of graph 0 after 0 of those before, node-feat has 2 "
     "lines"},
    {"raw/graph-label.csv.gz", "1\n0\n0\n", GNN_EFORMAT, "graph-label: 3 lines, num-node-list has 4"},
    {"raw/graph-label.csv.gz", "1,1\n0,0\n0,nan\n1,1\n", GNN_EUNSUPPORTED,
     "graph-label: line 3, column 2: a number is expected, got \"nan\""},
    {"raw/graph-label.csv.gz", "1,1\n0,0\n0,\n1,1\n", GNN_EUNSUPPORTED,
     "graph-label: line 3, column 2: a number is expected, got nothing"},
    {"raw/graph-label.csv.gz", "1\n0\ninf\n0\n", GNN_ENUMERIC, "graph-label: line 3, column 1"},
    {"raw/graph-label.csv.gz", NULL, GNN_EIO, "graph-label.csv.gz: No such file"},
    {"split/scaffold/valid.csv.gz", "4\n", GNN_EFORMAT,
     "valid: line 1, column 1: graph 4, there are 4 graphs"},
    {"split/scaffold/test.csv.gz", "2\n-1\n", GNN_EFORMAT,
     "test: line 2, column 1: graph -1, there are 4 graphs"},
    {"split/scaffold/test.csv.gz", "2\n3\n", GNN_EFORMAT,
     "test: line 2, column 1: graph 3 again, it is in train"},
    {"split/scaffold/valid.csv.gz", "1\n1\n", GNN_EFORMAT,
     "valid: line 2, column 1: graph 1 again, it is in valid"},
    {"split/scaffold/train.csv.gz", NULL, GNN_EIO, "train.csv.gz: No such file"},
};

START_TEST(wrong_folders_are_named)
{
    gnn_data_t *data = (gnn_data_t *)1;
    ck_fails(gnn_data_open(&data, write_graphs(wrong[_i].part, wrong[_i].text)), wrong[_i].code,
             wrong[_i].words);
    ck_assert_ptr_null(data);
}
END_TEST

/* Without features the node count comes only from two files of a few bytes. */
START_TEST(nodes_without_features_are_bounded_by_the_files)
{
    gnn_data_t *data = (gnn_data_t *)1;
    write_graphs("raw/node-feat.csv.gz", NULL);
    write_packed("many_ogb/raw/num-node-list.csv.gz", "3\n2\n1\n2000000000\n");
    ck_fails(gnn_data_open(&data, in_folder("many_ogb")), GNN_EFORMAT,
             "line 4, column 1: 2000000000 nodes of graph 3 after 6 of those before, edge and "
             "num-node-list tell of 1061 at most");
    ck_assert_ptr_null(data);
    write_packed("many_ogb/raw/num-node-list.csv.gz", "3\n2\n1\n1000\n");
    data = opened(in_folder("many_ogb"));
    ck_assert_int_eq(gnn_data_nodes(data), 1006);
    gnn_data_free(data);
}
END_TEST

START_TEST(every_allocation_fails_once)
{
    gnn_data_t *data = NULL;
    int rc = GNN_EMEMORY;
    int64_t n = 1;
    write_graphs(NULL, NULL);
    for (; rc == GNN_EMEMORY; n++) {
        gnn__fail_allocation(n);
        rc = gnn_data_open(&data, in_folder("many_ogb"));
        gnn__fail_allocation(0);
        ck_assert(rc == GNN_OK || (rc == GNN_EMEMORY && !data));
    }
    ck_ok(rc);
    ck_assert_int_gt(n, 50);
    gnn_data_free(data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ogb graphs");
    TCase *tests = tcase_create("folders");
    tcase_add_checked_fixture(tests, make_folder, remove_tree);
    tcase_set_timeout(tests, 300);
    tcase_add_test(tests, a_folder_of_many_graphs);
    tcase_add_test(tests, several_splits_unpacked_files_and_no_features);
    tcase_add_test(tests, non_class_labels_are_refused);
    tcase_add_loop_test(tests, wrong_folders_are_named, 0, (int)(sizeof wrong / sizeof wrong[0]));
    tcase_add_test(tests, nodes_without_features_are_bounded_by_the_files);
    tcase_add_test(tests, every_allocation_fails_once);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
