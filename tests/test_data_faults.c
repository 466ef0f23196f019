/* Invalid data sets: each error names the array, the position and the values. */
#include "data_tiny.h"

static const struct {
    gnn_array_t change;
    int code;
    const char *words;
} wrong[] = {
    {INT64("adj_indptr", 5, 1, 1, 3, 3, 5), GNN_EFORMAT,
     "tiny.npz: adj_indptr: starts at 1, expected 0"},
    {INT64("adj_indptr", 5, 0, 3, 1, 3, 5), GNN_EFORMAT, "adj_indptr: falls from 3 to 1 at row 1"},
    {INT64("adj_indptr", 5, 0, 1, 3, 3, 4), GNN_EFORMAT, "adj_indptr: ends at 4, adj_indices holds 5"},
    {INT64("adj_indptr", 5, 0, 1, 3, 3, INT64_MAX), GNN_EFORMAT, "ends at 9223372036854775807"},
    {INT64("adj_indptr", 4, 0, 1, 3, 5), GNN_EFORMAT, "adj_indptr: 4 values, expected 5 for 4 rows"},
    {FLOAT32("adj_indptr", 5, 0, 1, 3, 3, 5), GNN_EFORMAT,
     "adj_indptr: integers are expected, its type is float32"},
    {MATRIX("adj_indptr", GNN_DTYPE_INT64, int64_t, 1, 5, 0, 1, 3, 3, 5), GNN_EFORMAT,
     "adj_indptr: 2 dimensions, expected 1"},
    {{.name = "adj_indptr", .ndim = -1}, GNN_EFORMAT, "the array adj_indptr is missing"},
    {{.name = "adj_indices", .ndim = -1}, GNN_EFORMAT, "the array adj_indices is missing"},
    {INT32("adj_indices", 5, 1, 2, 4, 3, 0), GNN_EFORMAT,
     "adj_indices: column 4 at position 2 (row 1), there are 4 columns"},
    {INT32("adj_indices", 5, 1, 2, 2, 3, -1), GNN_EFORMAT,
     "adj_indices: column -1 at position 4 (row 3)"},
    {{"adj_indices", GNN_DTYPE_UINT64, 1, {5}, 5, (const uint64_t[]){1, 2, 2, 3, UINT64_MAX}},
     GNN_EFORMAT,
     "column 9223372036854775807"},
    {INT64("adj_shape", 2, 4, 5), GNN_EFORMAT, "adj_shape: 4 x 5 is not square"},
    {INT64("adj_shape", 2, 5, 5), GNN_EFORMAT, "adj_shape: 5 rows, the set has 4 nodes"},
    {INT64("adj_shape", 1, 4), GNN_EFORMAT, "adj_shape: 1 values, expected 2"},
    {INT64("adj_shape", 2, 4, (int64_t)1 << 40), GNN_EFORMAT, "adj_shape: 1099511627776 columns"},
    {INT64("adj_shape", 2, -4, 4), GNN_EFORMAT, "adj_shape: -4 rows"},
    {FLOAT32("adj_data", 4, 1, 1, 1, 1), GNN_EFORMAT, "adj_data: 4 values, adj_indices holds 5"},
    {INT64("attr_indptr", 5, 0, 2, 3, 2, 4), GNN_EFORMAT, "attr_indptr: falls from 3 to 2 at row 2"},
    {INT32("attr_indices", 4, 0, 3, 1, 0), GNN_EFORMAT,
     "attr_indices: column 3 at position 1 (row 0), there are 3 columns"},
    {INT64("attr_shape", 2, 3, 3), GNN_EFORMAT, "attr_shape: 3 rows, the set has 4 nodes"},
    {{.name = "attr_data", .ndim = -1}, GNN_EFORMAT, "the array attr_data is missing"},
    {{.name = "attr_indptr", .ndim = -1}, GNN_EFORMAT, "there are no features"},
    {FLOAT32("attr_data", 3, 1, 3, -2), GNN_EFORMAT, "attr_data: 3 values, attr_indices holds 4"},
    {FLOAT32("attr_data", 4, 1, 3, NAN, 1), GNN_ENUMERIC, "attr_data: nan at row 1, column 1"},
    {FLOAT32("attr_data", 4, 1, -INFINITY, 2, 1), GNN_ENUMERIC, "attr_data: -inf at row 0, column 2"},
    {INT32("labels", 3, 0, 2, 2), GNN_EFORMAT, "attr_shape: 4 rows, the set has 3 nodes"},
    {INT32("labels", 4, -1, -1, -2, -3), GNN_EFORMAT, "labels: no node has one"},
    {INT32("labels", 4, 0, 65536, 2, 1), GNN_EFORMAT,
     "labels: class 65536 at node 1, less than 65536 is expected"},
    {INT64("labels", 4, 0, 1, INT64_MAX, 1), GNN_EFORMAT,
     "labels: class 9223372036854775807 at node 2"},
    {FLOAT32("labels", 4, 0, (float)INFINITY, 2, 1), GNN_ENUMERIC, "labels: inf at row 1"},
    {{"labels", GNN_DTYPE_INT32, 1, {0}, 0, NULL},
     GNN_EFORMAT,
     "labels: expected 1 to 2147483647 rows, one per node, got the shape 0"},
    {{.name = "val_mask", .ndim = -1}, GNN_EFORMAT, "the array val_mask is missing"},
    {BOOL("val_mask", 3, 0, 1, 0), GNN_EFORMAT,
     "val_mask: its shape is 3, expected 4, splits x 4 or 4 x splits"},
    {{"val_mask", GNN_DTYPE_BOOL, 2, {0, 4}, 0, NULL}, GNN_EFORMAT, "val_mask: its shape is 0 x 4"},
    {BOOL("test_mask", 4, 0, 0, 0, 1), GNN_EFORMAT,
     "test_mask: split 0 takes node 3, which has no label"},
    {FLOAT32("test_mask", 4, 0, 0, 1, 0), GNN_EFORMAT, "test_mask: integers"},
    {INT32("attr_indices", 4, 0, 0, 1, 0), GNN_EFORMAT,
     "attr_indices: column 0 is given twice in row 0"},
    {INT32("y", 4, 0, 1, 0, 1), GNN_EFORMAT, "labels and y: one of the two is expected"},
    {MATRIX("x", GNN_DTYPE_FLOAT32, float, 4, 1, 1, 2, 3, 4), GNN_EFORMAT,
     "x and attr_indptr: one of the two is expected"},
    {MATRIX("edge_index", GNN_DTYPE_INT64, int64_t, 2, 1, 0, 1), GNN_EFORMAT,
     "edge_index and adj_indptr: one of the two is expected"},
    {FLOAT32("edge_weight", 5, 1, 2, 3, 4, 5), GNN_EFORMAT, "edge_weight"},
    {BOOL("train_masks", 4, 0, 1, 0, 0), GNN_EFORMAT, "train_mask and train_masks"},
    {INT64("num_nodes", 1, 9), GNN_EFORMAT,
     "num_nodes: 9, expected 4, the count of rows of labels and features"},
    {INT64("num_nodes", 2, 4, 4), GNN_EFORMAT, "num_nodes: 4 and more values"},
    {INT64("num_features", 1, 9), GNN_EFORMAT, "num_features: 9, expected 3"},
    {INT64("num_classes", 1, 1), GNN_EFORMAT, "num_classes: 1, expected 3 or more"},
    {INT64("num_classes", 1, 65537), GNN_EFORMAT, "num_classes: 65537, expected 3 or more"},
    {FLOAT32("num_classes", 1, 2.5F), GNN_EFORMAT, "num_classes: 2.5, expected 3 or more"},
    {INT64("test_mask", 4, 0, 0, 2, 0), GNN_EFORMAT,
     "test_mask: 2 at node 2 of split 0, a mask holds 0 and 1 (indices of nodes are called "
     "test_idx)"},
    {INT64("test_mask", 4, 0, -1, 1, 0), GNN_EFORMAT, "test_mask: -1 at node 1 of split 0"},
};

START_TEST(wrong_sets_are_named)
{
    gnn_data_t *data = (gnn_data_t *)1;
    ck_fails(gnn_data_open(&data, write_tiny(1, &wrong[_i].change)), wrong[_i].code, wrong[_i].words);
    ck_assert_ptr_null(data);
    ck_assert_msg(strncmp(gnn_error_message(), "tiny.npz: ", 10) == 0, "\"%s\"", gnn_error_message());
}
END_TEST

START_TEST(wrong_edges)
{
    const struct {
        gnn_array_t edges;
        const char *words;
    } cases[] = {
        {MATRIX("edges", GNN_DTYPE_INT64, int64_t, 2, 2, 0, 1, 1, 4),
         "edges: node 4 in row 1, there are 4 nodes"},
        {MATRIX("edges", GNN_DTYPE_INT64, int64_t, 2, 2, 0, -1, 1, 3),
         "edges: node -1 in row 0, there are 4 nodes"},
        {MATRIX("edges", GNN_DTYPE_INT64, int64_t, 2, 3, 0, 1, 1, 3, 0, 0),
         "edges: its shape is 2 x 3, expected m x 2"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        const gnn_array_t changes[] = {
            {.name = "adj_indptr", .ndim = -1}, {.name = "adj_data", .ndim = -1}, cases[k].edges};
        gnn_data_t *data = (gnn_data_t *)1;
        ck_fails(gnn_data_open(&data, write_tiny(3, changes)), GNN_EFORMAT, cases[k].words);
        ck_assert_ptr_null(data);
    }
}
END_TEST

START_TEST(wrong_dense_features)
{
    const struct {
        gnn_array_t x;
        int code;
        const char *words;
    } cases[] = {
        {MATRIX("x", GNN_DTYPE_FLOAT32, float, 3, 1, 1, 2, 3), GNN_EFORMAT,
         "x: 3 rows, the set has 4 nodes"},
        {FLOAT32("x", 4, 1, 2, 3, 4), GNN_EFORMAT, "x: 1 dimensions, expected 2"},
        {MATRIX("x", GNN_DTYPE_FLOAT64, double, 4, 2, 1, 2, 3, 4, 5, NAN, 7, 8), GNN_ENUMERIC,
         "x: nan at row 2, column 1"},
        {MATRIX("x", GNN_DTYPE_FLOAT64, double, 4, 1, 1, 2, 3, GNN_DOUBLE ? INFINITY : 1e300),
         GNN_ENUMERIC, "at row 3, column 0"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        const gnn_array_t changes[2] = {{.name = "attr_indptr", .ndim = -1}, cases[k].x};
        gnn_data_t *data = (gnn_data_t *)1;
        ck_fails(gnn_data_open(&data, write_tiny(2, changes)), cases[k].code, cases[k].words);
        ck_assert_ptr_null(data);
    }
}
END_TEST

START_TEST(objects_in_place_of_numbers_are_named)
{
    static bytes_t npy, b;
    gnn_data_t *data;
    npy.n = b.n = 0;
    put_npy(&npy, 1, "{'descr': '|O', 'fortran_order': False, 'shape': (), }", "pickle", 6);
    put_zip(&b, &(zip_entry_t){.name = "labels.npy", .data = npy.at, .size = npy.n}, 1);
    ck_fails(gnn_data_open(&data, write_bytes("o.npz", b.at, b.n)), GNN_EFORMAT,
             "o.npz: labels: holds no plain values (its type is '|O')");
    ck_fails(gnn_data_open(NULL, in_folder("o.npz")), GNN_EINVALID, "data is NULL");
}
END_TEST

START_TEST(every_allocation_of_a_set_fails_once)
{
    const char *path = write_tiny(3, (gnn_array_t[]){{.name = "train_mask", .ndim = -1},
                                                     {.name = "val_mask", .ndim = -1},
                                                     {.name = "test_mask", .ndim = -1}});
    gnn_data_t *data = NULL;
    int rc = GNN_EMEMORY;
    int64_t n = 1;
    for (; rc == GNN_EMEMORY; n++) {
        gnn__fail_allocation(n);
        rc = gnn_data_open(&data, path);
        gnn__fail_allocation(0);
        ck_assert_msg(rc == GNN_OK || (rc == GNN_EMEMORY && !data), "allocation %d: %d, %s", (int)n,
                      rc, gnn_error_message());
    }
    ck_ok(rc);
    ck_assert_int_gt(n, 30);
    gnn_data_free(data);
    gnn_data_free(NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("data faults");
    TCase *tests = tcase_create("faults");
    tcase_add_checked_fixture(tests, make_folder, remove_folder);
    tcase_set_timeout(tests, 300);
    tcase_add_loop_test(tests, wrong_sets_are_named, 0, (int)(sizeof wrong / sizeof wrong[0]));
    tcase_add_test(tests, wrong_edges);
    tcase_add_test(tests, wrong_dense_features);
    tcase_add_test(tests, objects_in_place_of_numbers_are_named);
    tcase_add_test(tests, every_allocation_of_a_set_fails_once);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
