/* GraphML and GML by igraph: files that are wrong are refused with their names, before igraph takes
 * memory for what they do not hold. */
#include "readers.h"

#if GNN_WITH_IGRAPH
START_TEST(wrong_gml_is_refused)
{
    static const struct {
        const char *text, *words;
    } wrong[] = {
        {"graph [ node [ id 1 ] edge [ source 1 target 2 ] ]", "igraph: "},
        {"graph [ node [ id 1 ] ", "igraph: "},
        {"graph [ ]", "no node"},
        {"graph [ node [ id 1 label \"graph\" ] ]\ngraph [ node [ id 1 ] ]",
         "line 2: a second graph, files of one graph are read"},
    };
    for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; k++)
        ck_refused(write_text("g.gml", wrong[k].text), "g.gml: ", GNN_EFORMAT, wrong[k].words);
    ck_refused(write_text("g.gml", "graph [ node [ id 1 ] node [ id 2 ] edge [ source 1 target 2 "
                                   "weight 1 ] edge [ source 2 target 1 ] ]"),
               "g.gml: ", GNN_ENUMERIC, "weight of link 1: expected a finite value, got nan");
}
END_TEST

START_TEST(gml_with_oversized_counts_is_refused)
{
    enum { KEYS = 12000, NODES = 30000 };
    static char text[KEYS * 16 + NODES * 32];
    size_t at = (size_t)snprintf(text, sizeof text, "graph [ node [ id 0 ");
    for (int k = 0; k < KEYS; k++)
        at += (size_t)snprintf(text + at, sizeof text - at, "k%d 1 ", k);
    for (int k = 1; k < NODES; k++)
        at += (size_t)snprintf(text + at, sizeof text - at, "] node [ id %d ", k);
    at += (size_t)snprintf(text + at, sizeof text - at, "] ]");
    ck_refused(write_bytes("g.gml", text, at), "g.gml: ", GNN_EFORMAT,
               "12003 attributes of 30000 nodes");
}
END_TEST

/* An edge of an undirected graph is one in each direction, for sets that keep directions. */
START_TEST(directions_are_those_of_the_file)
{
    static const char text[] =
        "graph [ directed %d node [ id 1 ] node [ id 2 ] node [ id 3 ] edge "
        "[ source 1 target 2 weight 2 ] edge [ source 3 target 3 weight 4 ] ]";
    static const char mixed[] =
        "<graphml><graph edgedefault=\"undirected\"><node id=\"a\"/>\n"
        "<edge source=\"a\" target=\"a\" directed=\"true\"/></graph></graphml>";
    static const gnn_real_t weights[2][3] = {{2, 4, 2}, {2, 4}};
    const gnn_open_config_t kept = {.directed = GNN_ON};
    char page[256];
    gnn_data_t *data;
    for (int directed = 0; directed < 2; directed++) {
        snprintf(page, sizeof page, text, directed);
        ck_ok(gnn_data_open_as(&data, write_text("g.gml", page), &kept));
        ck_assert_str_eq(messages(data), directed ? "1<0 2<2" : "0<1 1<0 2<2");
        const gnn_tensor_t *weight = gnn_data_rows(data, GNN_ON_EDGES, "weight");
        ck_assert_int_eq(weight->rows, directed ? 2 : 3);
        ck_assert_mem_eq(weight->data, weights[directed], (size_t)weight->rows * sizeof **weights);
        gnn_data_free(data);
        data = opened(in_folder("g.gml"));
        ck_assert_str_eq(messages(data), "0<1 1<0");
        gnn_data_free(data);
    }
    ck_fails(gnn_data_open_as(&data, write_text("g.graphml", mixed), &kept), GNN_EFORMAT,
             "g.graphml: line 2: an edge with a direction of its own");
    ck_assert_ptr_null(data);
    ck_fails(gnn_data_open(&data, write_text("x.graphml", "<gexf><graph></graph></gexf>")),
             GNN_EFORMAT, "x.graphml: an element <graphml> is expected");
    data = opened(in_folder("g.graphml"));
    gnn_data_free(data);
}
END_TEST

/* Attributes that are not read are named; those of names are not. */
START_TEST(attributes_that_are_not_read_are_listed)
{
    char text[512];
    gnn_data_t *data =
        opened(write_text("g.gml", "graph [ node [ id 1 label \"a\" ] node [ id 2 graph \"b\" ] "
                                   "edge [ source 1 target 2 value 3 ] ]"));
    gnn_data_describe(data, text, sizeof text);
    ck_assert_msg(strstr(text, "; not read: graph, value") != NULL, "%s", text);
    gnn_data_free(data);
    data = opened(write_text("g.gml", "graph [ node [ id 1 label \"a\" ] node [ id 2 ] "
                                      "edge [ source 1 target 2 weight 3 ] ]"));
    gnn_data_describe(data, text, sizeof text);
    ck_assert_msg(!strstr(text, "not read"), "%s", text);
    gnn_data_free(data);
}
END_TEST
#endif

/* By the extension, or by the first bytes for other extensions. */
START_TEST(formats_that_only_igraph_reads_are_named)
{
    static const struct {
        const char *path, *text, *name;
    } others[] = {
        {"g.net", "*Vertices 2\n*Edges\n1 2\n", "Pajek"},
        {"g", "\n*vertices 2\n", "Pajek"},
        {"g.ncol", "a b 1\n", "NCOL"},
        {"g.lgl", "# a\nb\n", "LGL"},
        {"g.dl", "dl n=2\ndata:\n1 2\n", "UCINET DL"},
        {"g.data", "DL n=2\n", "UCINET DL"},
        {"g.dimacs", "p edge 2 1\ne 1 2\n", "DIMACS"},
        {"g.COL", "p edge 2 1\ne 1 2\n", "DIMACS"},
        {"g.graphdb", "<", "GraphDB"},
    };
    char words[64];
    gnn_data_t *data;
    for (size_t k = 0; k < sizeof others / sizeof others[0]; k++) {
        snprintf(words, sizeof words, "%s: %s is not read: read it with igraph", others[k].path,
                 others[k].name);
        ck_fails(gnn_data_open(&data, write_text(others[k].path, others[k].text)), GNN_EUNSUPPORTED,
                 words);
        ck_assert_ptr_null(data);
        ck_assert_ptr_nonnull(strstr(gnn_error_message(), "gnn_graph_from_igraph"));
    }
    write_packed("g.net.gz", "*Vertices 2\n");
    ck_fails(gnn_data_open(&data, in_folder("g.net.gz")), GNN_EUNSUPPORTED, "Pajek is not read");
    ck_fails(gnn_data_open(&data, in_folder("none.net")), GNN_EIO, "none.net");
}
END_TEST

/* Unsupported formats: the error names the format and the remedy. */
START_TEST(other_formats_are_named)
{
    static const struct {
        const char *path, *text, *name, *advice;
    } others[] = {
        {"g.pt", "PK\x03\x04", "a file of PyTorch", "numpy.savez"},
        {"g.pkl", "\x80\x04", "Python's pickle", "numpy.savez"},
        {"g", "\x80\x05", "Python's pickle", "numpy.savez"},
        {"g.mat", "MATLAB 5.0", "MATLAB", "numpy.savez"},
        {"g.data", "\x89HDF\r\n", "HDF5", "numpy.savez"},
        {"g.parquet", "PAR1", "Parquet", "numpy.savez"},
        {"g.json", "{}", "JSON", "numpy.savez"},
        {"g", "{\"nodes\": []}", "JSON", "numpy.savez"},
        {"g.npy", "\x93NUMPY", "a single array", "numpy.savez"},
        {"g.gexf", "<gexf/>", "GEXF", "GraphML"},
        {"g.gv", "digraph {}", "Graphviz", "GraphML"},
        {"g.tar.gz", "\x1f\x8b", "an archive", "unpack"},
    };
    char words[64];
    gnn_data_t *data;
    for (size_t k = 0; k < sizeof others / sizeof others[0]; k++) {
        snprintf(words, sizeof words, "%s: %s is not read: ", others[k].path, others[k].name);
        ck_fails(gnn_data_open(&data, write_text(others[k].path, others[k].text)), GNN_EUNSUPPORTED,
                 words);
        ck_assert_ptr_nonnull(strstr(gnn_error_message(), others[k].advice));
    }
    ck_fails(gnn_data_open(&data, write_text("g.what", "what")), GNN_EFORMAT,
             "g.what: neither the name nor the first bytes tell a format");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("markup");
    TCase *tests = tcase_create("markup");
    tcase_add_checked_fixture(tests, make_folder, remove_tree);
#if GNN_WITH_IGRAPH
    tcase_add_test(tests, wrong_gml_is_refused);
    tcase_add_test(tests, gml_with_oversized_counts_is_refused);
    tcase_add_test(tests, attributes_that_are_not_read_are_listed);
    tcase_add_test(tests, directions_are_those_of_the_file);
#endif
    tcase_add_test(tests, formats_that_only_igraph_reads_are_named);
    tcase_add_test(tests, other_formats_are_named);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
