/* Edge weights and features of files, through saving and CSV. */
#include "data_tiny.h"
#include "readers.h"

/* "0<1:2.5 1<0:2.5", or "none". */
static void ck_weights(const char *path, const char *wanted)
{
    gnn_data_t *data = opened(path);
    const gnn_tensor_t *found = gnn_data_rows(data, GNN_ON_EDGES, "weight");
    int64_t m = gnn_graph_n_pairs(gnn_data_graph(data)), from[64], to[64], edge[64];
    char text[1024] = "none";
    size_t at = 0;
    ck_assert_int_le(m, 64);
    ck_ok(gnn_graph_pairs(gnn_data_graph(data), from, to, edge));
    for (int64_t k = 0; found && k < m; k++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%d<%d:%g", k ? " " : "", (int)to[k],
                               (int)from[k], (double)found->data[edge[k]]);
    ck_assert_str_eq(text, wanted);
    gnn_data_free(data);
}

START_TEST(weights_of_edge_lists)
{
    ck_weights(write_text("a.edges", "0 1 2.5\n1 2 -3\n"), "0<1:2.5 1<0:2.5 1<2:-3 2<1:-3");
    ck_weights(write_text("a.edges", "0,1,2.5\n1,2,1\n"), "0<1:2.5 1<0:2.5 1<2:1 2<1:1");
    /* Each direction separately; the first of duplicates; self-loops are removed. */
    ck_weights(write_text("a.edges", "0 1 2\n1 0 3\n0 1 4\n1 1 9\n"), "0<1:3 1<0:2");
    ck_weights(write_text("a.edges", "1 0 3\n2 0 7\n0 2 8\n"), "0<1:3 0<2:7 1<0:3 2<0:8");
    ck_weights(write_text("a.edges", "0 1 1\n1 2 1\n"), "none");
}
END_TEST

START_TEST(weights_of_graphml)
{
#if GNN_WITH_IGRAPH
    const char *text =
        "<graphml><key id=\"w\" for=\"edge\" attr.name=\"weight\" attr.type=\"double\"/>"
        "<graph edgedefault=\"undirected\"><node id=\"a\"/><node id=\"b\"/><node id=\"c\"/>"
        "<edge source=\"a\" target=\"b\"><data key=\"w\">0.5</data></edge>"
        "<edge source=\"b\" target=\"c\">%s</edge></graph></graphml>";
    char filled[1024];
    gnn_data_t *data;
    snprintf(filled, sizeof filled, text, "<data key=\"w\">4</data>");
    ck_weights(write_text("a.graphml", filled), "0<1:0.5 1<0:0.5 1<2:4 2<1:4");
    snprintf(filled, sizeof filled, text, "");
    ck_fails(gnn_data_open(&data, write_text("a.graphml", filled)), GNN_ENUMERIC,
             "weight of link 1: expected a finite value, got nan");
#endif
}
END_TEST

START_TEST(weights_of_gml)
{
#if GNN_WITH_IGRAPH
    static const char *const names[] = {"a.gml", "a"};
    ck_weights(write_text(names[_i], GML), "0<1:0.5 1<0:0.5 1<2:4 2<1:4");
#endif
}
END_TEST

/* Row i has the senders of node i. */
START_TEST(weights_of_npz)
{
    const gnn_array_t weights = FLOAT64("adj_data", 5, 2, 3, 4, 9, 5);
    const gnn_array_t ones = INT32("adj_data", 5, 1, 1, 1, 1, 1);
    const gnn_array_t bad = FLOAT64("adj_data", 5, 2, 3, (double)NAN, 9, 5);
    gnn_data_t *data;
    ck_weights(write_tiny(1, &weights), "0<1:2 0<3:5 1<0:2 1<2:3 2<1:3 3<0:5");
    ck_weights(write_tiny(1, &ones), "none");
    ck_fails(gnn_data_open(&data, write_tiny(1, &bad)), GNN_ENUMERIC, "adj_data: nan at edge 2");
}
END_TEST

static const gnn_array_t pyg[] = {
    MATRIX("x", GNN_DTYPE_FLOAT32, float, 4, 2, 1, 2, 3, 4, 5, 6, 7, 8),
    MATRIX("edge_index", GNN_DTYPE_INT64, int64_t, 2, 5, 0, 1, 2, 3, 3, 1, 2, 0, 3, 1),
    INT64("y", 4, 0, 1, 0, 1), FLOAT32("edge_weight", 5, 2, 3, 4, 5, 6),
    MATRIX("edge_attr", GNN_DTYPE_FLOAT32, float, 5, 1, 20, 30, 40, 50, 60)};

static const char *write_pyg(const gnn_array_t *edge_index)
{
    gnn_array_t arrays[5];
    const char *path = in_folder("pyg.npz");
    memcpy(arrays, pyg, sizeof arrays);
    if (edge_index)
        arrays[1] = *edge_index;
    ck_ok(gnn_npz_write(path, 5, arrays));
    return path;
}

/* x, edge_index, y, edge_weight and edge_attr of PyG's Data: links both ways, as in every form, or
 * messages as they are. */
START_TEST(arrays_of_pyg)
{
    const gnn_array_t tall = MATRIX("edge_index", GNN_DTYPE_INT64, int64_t, 3, 2, 0, 1, 2, 3, 3, 1);
    const gnn_array_t far =
        MATRIX("edge_index", GNN_DTYPE_INT64, int64_t, 2, 5, 0, 1, 2, 3, 3, 1, 2, 0, 4, 1);
    gnn_data_t *data;
    ck_ok(gnn_data_open_as(&data, write_pyg(NULL), &(gnn_open_config_t){.directed = GNN_ON}));
    const gnn_tensor_t *features = gnn_data_rows(data, GNN_ON_EDGES, "features");
    ck_assert_int_eq(gnn_data_classes(data), 2);
    ck_assert_int_eq(gnn_data_features(data), 2);
    ck_assert_ptr_nonnull(features);
    for (int64_t k = 0; k < 5; k++)
        ck_assert(features->data[k] == (gnn_real_t)(20 + 10 * k));
    gnn_data_free(data);
    ck_weights(write_pyg(NULL), "0<1:2 0<2:4 1<0:2 1<2:3 1<3:6 2<0:4 2<1:3 3<1:6");
    ck_fails(gnn_data_open(&data, write_pyg(&tall)), GNN_EFORMAT,
             "edge_index: its shape is 3 x 2, expected 2 x m");
    ck_fails(gnn_data_open(&data, write_pyg(&far)), GNN_EFORMAT,
             "edge_index: node 4 in column 3, there are 4 nodes");
}
END_TEST

START_TEST(scipy_matrices_as_ppnp_keeps_them)
{
    gnn_array_t changes[14];
    int n = 0;
    for (int k = 0; k < 7; k++) {
        static char names[7][40];
        char *c = names[k];
        changes[n] = tiny[k];
        changes[n++].ndim = -1;
        snprintf(c, sizeof names[k], "%.*s_matrix.%s", (int)strcspn(tiny[k].name, "_"),
                 tiny[k].name, strchr(tiny[k].name, '_') + 1);
        changes[n] = tiny[k];
        changes[n++].name = c;
    }
    gnn_data_t *plain_set = opened(write_tiny(0, NULL)), *set = opened(write_tiny(n, changes));
    ck_same_set(set, plain_set);
    gnn_data_free(set);
    gnn_data_free(plain_set);
}
END_TEST

START_TEST(weights_are_saved_and_opened)
{
    gnn_data_t *weighted = opened(write_text("a.edges", "0 1 2\n1 0 3\n1 2 4\n"));
    ck_ok(gnn_data_add_csv(weighted, NULL, write_text("y.csv", "0\n1\n1\n")));
    ck_ok(gnn_data_save(weighted, in_folder("saved.npz")));
    gnn_data_free(weighted);
    ck_weights(in_folder("saved.npz"), "0<1:3 1<0:2 1<2:4 2<1:4");
}
END_TEST

START_TEST(csv_leaves_weights_with_their_edges)
{
    gnn_data_t *data = opened(write_text("a.edges", "0 2 2\n0 1 3\n2 3 4\n"));
    ck_ok(gnn_data_reorder(data));
    ck_ok(gnn_data_add_csv(data, NULL, write_text("y.csv", "0\n1\n1\n0\n1\n")));
    ck_ok(gnn_data_save(data, in_folder("saved.npz")));
    gnn_data_free(data);
    ck_weights(in_folder("saved.npz"), "0<1:3 0<2:2 1<0:3 2<0:2 2<3:4 3<2:4");
}
END_TEST

START_TEST(ogb_keeps_arrays_on_edges)
{
    write_ogb(NULL, NULL);
    write_text("tiny_ogb/raw/edge-feat.csv", "1,2\n3,4\n5,6\n7,8\n");
    write_text("tiny_ogb/raw/edge_weight.csv", "1\n2\n3\n4\n");
    write_text("tiny_ogb/raw/node_year.csv", "1990\n1991\n1992\n1993\n");
    gnn_data_t *data = opened(in_folder("tiny_ogb"));
    const gnn_tensor_t *rows = gnn_data_rows(data, GNN_ON_EDGES, "features");
    ck_assert_ptr_nonnull(rows);
    ck_assert_int_eq(rows->cols, 2);
    ck_assert_str_eq(messages(data), "0<1 0<3 1<0 1<2 2<1 3<0");
    const gnn_real_t second[] = {2, 8, 2, 4, 4, 8};
    for (int e = 0; e < 6; e++)
        ck_assert(rows->data[2 * e + 1] == second[e]);
    ck_assert(gnn_data_rows(data, GNN_ON_NODES, "year")->data[2] == 1992);
    gnn_data_free(data);
    ck_weights(in_folder("tiny_ogb"), "0<1:1 0<3:4 1<0:1 1<2:2 2<1:2 3<0:4");
    write_text("tiny_ogb/raw/edge-feat.csv", "1,2\n3,4\n");
    ck_fails(gnn_data_open(&data, in_folder("tiny_ogb")), GNN_EFORMAT,
             "edge-feat: 2 lines, edge has 4");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("edge_weights");
    TCase *tests = tcase_create("edge_weights");
    tcase_add_checked_fixture(tests, make_folder, remove_tree);
    tcase_add_test(tests, weights_of_edge_lists);
    tcase_add_test(tests, weights_of_graphml);
    tcase_add_loop_test(tests, weights_of_gml, 0, 2);
    tcase_add_test(tests, weights_of_npz);
    tcase_add_test(tests, arrays_of_pyg);
    tcase_add_test(tests, scipy_matrices_as_ppnp_keeps_them);
    tcase_add_test(tests, weights_are_saved_and_opened);
    tcase_add_test(tests, csv_leaves_weights_with_their_edges);
    tcase_add_test(tests, ogb_keeps_arrays_on_edges);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
