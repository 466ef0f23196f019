/* Folders of Geom-GCN and PyG's raw/, matrices of scipy, JSON of networkx: their contents, and
 * errors with advice for others. */
#include "readers.h"

#include <gnn/data.h>

static const char nodes_of_texas[] =
    "node_id\tfeature\tlabel\n2\t0,1,1\t1\n0\t1,0,0\t0\n1\t0,0,0\t2\n";
static const char nodes_of_film[] = "node_id\tfeature\tlabel\n2\t5,1,5\t1\n0\t0\t0\n1\t3,4\t2\n";
static const char links_of_texas[] = "node_id\tnode_id\n0\t1\n2\t1\n1\t1\n";

/* "FOLDER/NAME", after making the folders. */
static const char *in(const char *folder, const char *name)
{
    static char path[200];
    snprintf(path, sizeof path, "%s/", folder);
    for (char *c = path; *c; c++)
        if (*c == '/') {
            *c = '\0';
            mkdir(in_folder(path), 0700);
            *c = '/';
        }
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* A split that trains on node `train`, validates the next and tests the one after. */
static void write_split(const char *folder, const char *name, int train)
{
    static const char *const names[] = {"train_mask.npy", "val_mask.npy", "test_mask.npy"};
    static bytes_t npy[3], file;
    zip_entry_t entries[3];
    file.n = 0;
    for (int k = 0; k < 3; k++) {
        int64_t mask[3] = {0};
        mask[(train + k) % 3] = 1;
        npy[k].n = 0;
        put_npy(&npy[k], 1, "{'descr': '<i8', 'fortran_order': False, 'shape': (3,), }", mask,
                sizeof mask);
        entries[k] = (zip_entry_t){.name = names[k], .data = npy[k].at, .size = npy[k].n};
    }
    put_zip(&file, entries, 3);
    write_bytes(in(folder, name), file.at, file.n);
}

static void write_geom(const char *folder, const char *nodes)
{
    write_text(in(folder, "out1_node_feature_label.txt"), nodes);
    write_text(in(folder, "out1_graph_edges.txt"), links_of_texas);
}

static void ck_features(const gnn_data_t *data, int64_t cols, const double *x)
{
    ck_assert_int_eq(gnn_data_features(data), cols);
    for (int64_t k = 0; k < 3 * cols; k++)
        ck_assert_msg(feature(data, k / cols, k % cols) == x[k], "feature %d of node %d",
                      (int)(k % cols), (int)(k / cols));
}

START_TEST(geom_gcn_lists_and_splits)
{
    write_geom("texas", nodes_of_texas);
    write_split("texas", "texas_split_0.6_0.2_10.npz", 2);
    write_split("texas", "texas_split_0.6_0.2_0.npz", 0);
    write_split("texas", "texas_split_0.6_0.2_9.npz", 1);
    gnn_data_t *data = opened(in_folder("texas"));
    ck_assert_str_eq(messages(data), "0<1 1<0 1<2 2<1");
    ck_labels(data, 3, (const int32_t[]){0, 2, 1});
    ck_features(data, 3, (const double[]){1, 0, 0, 0, 0, 0, 0, 1, 1});
    ck_assert_int_eq(gnn_data_splits(data), 3);
    for (int s = 0; s < 3; s++)
        for (int part = 0; part < 3; part++)
            ck_assert_int_eq(gnn_data_mask(data, part, s)[(s + part) % 3], 1);
    gnn_data_free(data);
    data = opened(in_folder("texas/out1_node_feature_label.txt"));
    ck_assert_int_eq(gnn_data_classes(data), 3);
    gnn_data_free(data);
}
END_TEST

START_TEST(geom_gcn_indices_of_words)
{
    write_geom("film/raw", nodes_of_film);
    gnn_data_t *data = opened(in_folder("film"));
    ck_features(data, 6, (const double[]){1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 1});
    ck_assert_int_eq(gnn_data_splits(data), 1);
    gnn_data_free(data);
}
END_TEST

static const struct {
    const char *nodes, *words;
} bad_nodes[] = {
    {"0\t1\t0\n", "line 1, column 1: a first line of column names"},
    {"node_id\tfeature\tlabel\n", "0 lines of nodes"},
    {"node_id\tfeature\tlabel\n0\t1\t0\n0\t1\t0\n", "line 3, column 1: node 0 stands in line 2, too"},
    {"node_id\tfeature\tlabel\n1\t1\t0\n", "line 2, column 1: node 1, there are 1 nodes"},
    {"node_id\tfeature\tlabel\n0\t1\n", "line 2: a node id, its features and its label are expected"},
    {"node_id\tfeature\tlabel\n0\t1,2\t0\n1\t3,7\t0\n2\t1,5\t0\n", "cannot be told apart"},
    {"node_id\tfeature\tlabel\n0\t1,x\t0\n1\t3\t0\n2\t1,5\t0\n", "the index of a feature is expected"},
    {"node_id\tfeature\tlabel\n0\t1,9999\t0\n1\t3\t0\n2\t1,5\t0\n", "feature 9999, 0 to"},
    {"node_id\tfeature\tlabel\n0\t1,2\tred\n1\t3\t0\n2\t1\t0\n", "column 3: a class is expected"},
};

START_TEST(faults_of_geom_gcn_are_named)
{
    gnn_data_t *data;
    write_geom("bad", bad_nodes[_i].nodes);
    ck_fails(gnn_data_open(&data, in_folder("bad")), GNN_EFORMAT, bad_nodes[_i].words);
}
END_TEST

START_TEST(masks_of_geom_gcn_are_of_its_nodes)
{
    gnn_data_t *data;
    write_geom("small", "node_id\tfeature\tlabel\n0\t1,0\t0\n1\t0,1\t1\n");
    write_text(in("small", "out1_graph_edges.txt"), "node_id\tnode_id\n0\t1\n");
    write_split("small", "small_split_0.6_0.2_0.npz", 0);
    ck_fails(gnn_data_open(&data, in_folder("small")), GNN_EFORMAT,
             "small_split_0.6_0.2_0.npz: train_mask: 2 integers are expected, one per node");
}
END_TEST

/* ---- PyG's raw/ ---- */

START_TEST(raw_folders_have_the_sets_of_their_makers)
{
    write_text(in("mutag/raw", "M_A.txt"), "1, 2\n2, 1\n");
    write_text(in("mutag/raw", "M_graph_indicator.txt"), "1\n1\n2\n");
    write_text(in("mutag/raw", "M_graph_labels.txt"), "1\n2\n");
    gnn_data_t *data = opened(in_folder("mutag"));
    ck_assert_int_eq(gnn_graph_n_segments(gnn_data_graph(data)), 2);
    gnn_data_free(data);
    data = opened(in_folder("mutag/raw/M_A.txt"));
    ck_assert_int_eq(gnn_graph_n_segments(gnn_data_graph(data)), 2);
    gnn_data_free(data);
    write_text(in("linqs", "cora.content"), CONTENT);
    write_text(in("linqs", "cora.cites"), CITES);
    data = opened(in_folder("linqs"));
    ck_assert_int_eq(gnn_data_nodes(data), 4);
    gnn_data_free(data);
}
END_TEST

START_TEST(other_folders_are_refused_with_advice)
{
    gnn_data_t *data;
    write_text(in("Cora/raw", "ind.cora.graph"), "x");
    ck_fails(gnn_data_open(&data, in_folder("Cora")), GNN_EUNSUPPORTED, "numpy.savez(\"set.npz\"");
    ck_fails(gnn_data_open(&data, in_folder("Cora/raw")), GNN_EUNSUPPORTED, "Python's pickles");
    write_text(in("WikiCS/raw", "data.json"), "{}");
    ck_fails(gnn_data_open(&data, in_folder("WikiCS")), GNN_EUNSUPPORTED,
             "a folder of a format that is not read");
    in("nothing", "");
    ck_fails(gnn_data_open(&data, in_folder("nothing")), GNN_EIO, "is a folder, expected a file");
}
END_TEST

/* ---- scipy's and networkx's files ---- */

#define HEADER(type, shape) "{'descr': '" type "', 'fortran_order': False, 'shape': " shape ", }"

/* The 3 x 3 matrix of 0.5 at (0, 1) and 2 at (2, 1), as scipy writes it. */
static const char *write_matrix(const char *format, bool square)
{
    static bytes_t npy[5], file;
    const bool coo = strcmp(format, "coo") == 0, csr = strcmp(format, "csr") == 0;
    const int32_t rows[] = {0, 2}, columns[] = {1, 1};
    const int32_t by_row[] = {0, 1, 1, 2}, by_column[] = {0, 0, 2, 2};
    const int64_t shape[] = {3, square ? 3 : 4};
    const double values[] = {0.5, 2};
    const char *first = coo ? "row.npy" : "indices.npy", *second = coo ? "col.npy" : "indptr.npy";
    for (int k = 0; k < 5; k++)
        npy[k].n = 0;
    file.n = 0;
    put_npy(&npy[0], 1, HEADER("<i4", "(2,)"), csr ? columns : rows, sizeof rows);
    if (coo)
        put_npy(&npy[1], 1, HEADER("<i4", "(2,)"), columns, sizeof columns);
    else
        put_npy(&npy[1], 1, HEADER("<i4", "(4,)"), csr ? by_row : by_column, sizeof by_row);
    put_npy(&npy[2], 1, HEADER("|S3", "()"), format, 3);
    put_npy(&npy[3], 1, HEADER("<i8", "(2,)"), shape, sizeof shape);
    put_npy(&npy[4], 1, HEADER("<f8", "(2,)"), values, sizeof values);
    const char *const names[] = {first, second, "format.npy", "shape.npy", "data.npy"};
    zip_entry_t entries[5];
    for (int k = 0; k < 5; k++)
        entries[k] = (zip_entry_t){.name = names[k], .data = npy[k].at, .size = npy[k].n};
    put_zip(&file, entries, 5);
    return write_bytes("matrix.npz", file.at, file.n);
}

START_TEST(matrices_of_scipy_are_graphs)
{
    static const char *const formats[] = {"csr", "csc", "coo"};
    for (size_t k = 0; k < 3; k++) {
        gnn_data_t *data;
        ck_ok(gnn_data_open_as(&data, write_matrix(formats[k], true),
                               &(gnn_open_config_t){.directed = GNN_ON}));
        ck_assert_str_eq(messages(data), "0<1 2<1");
        const gnn_tensor_t *weight = gnn_data_rows(data, GNN_ON_EDGES, "weight");
        ck_assert_double_eq((double)weight->data[0], 0.5);
        ck_assert_double_eq((double)weight->data[1], 2);
        gnn_data_free(data);
    }
    gnn_data_t *data;
    ck_fails(gnn_data_open(&data, write_matrix("csr", false)), GNN_EUNSUPPORTED,
             "matrix.npz: a matrix of scipy of 3 x 4: a square one is a graph");
    ck_fails(gnn_data_open(&data, write_matrix("bsr", true)), GNN_EUNSUPPORTED,
             "a matrix of scipy as \"bsr\", expected \"csr\", \"csc\" or \"coo\"");
}
END_TEST

/* Words of its own above integers are a header; which column sends is not known. */
START_TEST(columns_of_other_names)
{
    const char *path = write_text("cites.csv", "paper,cites\n0,1\n1,2\n");
    gnn_data_t *data = opened(path);
    ck_assert_str_eq(messages(data), "0<1 1<0 1<2 2<1");
    gnn_data_free(data);
    ck_fails(gnn_data_open_as(&data, path, &(gnn_open_config_t){.directed = GNN_ON}), GNN_EFORMAT,
             "as column names they are \"source\" and \"target\"");
}
END_TEST

START_TEST(directions_and_attributes_of_json)
{
    static const char format[] =
        "{\"directed\": %s, \"multigraph\": false, \"graph\": {}, \"nodes\": [{\"id\": \"a\", "
        "\"colour\": \"red\"}, {\"id\": \"b\"}, {\"id\": 7}], \"links\": [{\"source\": \"a\", "
        "\"target\": \"b\", \"weight\": 0.5}, {\"source\": 7, \"target\": 7, \"weight\": 3}]}";
    for (int directed = 0; directed < 2; directed++) {
        char text[1000];
        gnn_data_t *data;
        snprintf(text, sizeof text, format, directed ? "true" : "false");
        ck_ok(gnn_data_open_as(&data, write_text("g.json", text),
                               &(gnn_open_config_t){.directed = GNN_ON}));
        ck_assert_str_eq(messages(data), directed ? "1<0 2<2" : "0<1 1<0 2<2");
        const gnn_tensor_t *weight = gnn_data_rows(data, GNN_ON_EDGES, "weight");
        ck_assert_double_eq((double)weight->data[0], 0.5);
        ck_assert_double_eq((double)weight->data[weight->rows - 1], 3);
        ck_assert_str_eq(gnn_data_node_name(data, 2), "7");
        gnn_data_describe(data, text, sizeof text);
        ck_assert_ptr_nonnull(strstr(text, "not read: colour"));
        gnn_data_free(data);
    }
}
END_TEST

/* A name that begins another one, and a key beside the lists. */
START_TEST(keys_that_are_not_read_are_described)
{
    gnn_data_t *data = opened(write_text(
        "g.json", "{\"era\": 3, \"nodes\": [{\"id\": 0, \"kind\": 1}, {\"id\": 1, \"kin\": 2}], "
                  "\"links\": [{\"source\": 0, \"target\": 1, \"kind\": 3}]}"));
    char text[1000];
    gnn_data_describe(data, text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "not read: era, kind, kin"));
    ck_assert_ptr_null(strstr(text, "kin, kind"));
    gnn_data_free(data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("data_folders");
    TCase *c = tcase_create("data_folders");
    tcase_add_unchecked_fixture(c, make_folder, remove_tree);
    tcase_add_test(c, geom_gcn_lists_and_splits);
    tcase_add_test(c, geom_gcn_indices_of_words);
    tcase_add_loop_test(c, faults_of_geom_gcn_are_named, 0,
                        (int)(sizeof bad_nodes / sizeof *bad_nodes));
    tcase_add_test(c, masks_of_geom_gcn_are_of_its_nodes);
    tcase_add_test(c, raw_folders_have_the_sets_of_their_makers);
    tcase_add_test(c, other_folders_are_refused_with_advice);
    tcase_add_test(c, matrices_of_scipy_are_graphs);
    tcase_add_test(c, columns_of_other_names);
    tcase_add_test(c, directions_and_attributes_of_json);
    tcase_add_test(c, keys_that_are_not_read_are_described);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
