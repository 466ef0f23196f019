/* Files for igraph that are wrong: each is refused with its name before igraph takes memory. */
#include "readers.h"

#if GNN_HAS_IGRAPH
static const struct {
    const char *name, *text, *words;
} igraph_wrong[] = {
    {"g.gml", "graph [ node [ id 1 ] edge [ source 1 target 2 ] ]", "igraph: "},
    {"g.gml", "graph [ node [ id 1 ] ", "igraph: "},
    {"g.gml", "graph [ ]", "no node"},
    {"g.net", "*Edges\n1 2\n", "line 1: a line \"*Vertices NUMBER\" is expected"},
    {"g.net", "*Vertices 1000000000\n*Edges\n1 2\n", "line 1: 1000000000 nodes, a file of"},
    {"g.net", "*Vertices 99999999999999999999\n", "line 1: 9223372036854775807 nodes"},
    {"g.net", "*Vertices 1e9\n", "line 1: a number of nodes is expected"},
    {"g.net", "*Vertices 2\n*Edges\n1 3\n", "igraph: "},
    {"g.ncol", "a b 1\nc\n", "igraph: "},
    {"g.ncol", "a b x\n", "igraph: "},
    {"g.lgl", "a b\n", "igraph: "},
    {"g.dl", "dl n=1000000000\ndata:\n", "line 1: 1000000000 nodes, a file of"},
    {"g.dl", "dl n=2\nformat=edgelist1\ndata:\n1 2\n1 999999999\n", "line 5: node 999999999"},
    {"g.dl", "dl n=2\nformat=nodelist1\ndata:\n1 2 2 3\n", "line 4: node 3, there are 1 to 2"},
    {"g.dl", "dl n=2\n", "a line \"data:\" is expected"},
    {"g.dimacs", "p edge 1000000000 1\n", "line 1, column 3: a number of nodes, 1000000000 is"},
    {"g.dimacs", "p edge 2 1000000000\n", "line 1, column 4: a number of links, 1000000000 is"},
    {"g.dimacs", "p edge 2 1\ne 1 999999999\n", "line 2, column 3: node 999999999, there are 1"},
    {"g.dimacs", "p edge 2 1\ne\n1 2\n", "line 2: two node numbers are expected"},
    {"g.dimacs", "e 1 2\n", "line 1, column 2: node 1, there are 1 to 0"},
    {"g.dimacs", "c x\n", "no line \"p\""},
};

START_TEST(wrong_files_for_igraph_are_refused)
{
    ck_refused(write_text(igraph_wrong[_i].name, igraph_wrong[_i].text), igraph_wrong[_i].name,
               GNN_EFORMAT, igraph_wrong[_i].words);
}
END_TEST

START_TEST(what_igraph_reads_and_a_set_cannot_hold)
{
    ck_refused(write_text("g.net", "*Vertices 3 2\n*Edges\n1 3\n"), "g.net: ", GNN_EUNSUPPORTED,
               "line 1: nodes of two kinds");
    ck_refused(write_text("g.ncol", "a b nan\n"), "g.ncol: ", GNN_ENUMERIC, "weight: nan at link 0");
    ck_refused(write_text("g.net", "*Vertices 2\n*Edges\n1 2 1\n2 1\n"), "g.net: ", GNN_ENUMERIC,
               "weight: nan at link 1");
    ck_refused(write_text("g.dimacs", "p max 2 1\na 1 2 inf\n"), "g.dimacs: ", GNN_ENUMERIC,
               "line 2, column 4: a capacity");
}
END_TEST

START_TEST(gml_that_asks_for_more_than_it_fills)
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

/* Words of 16 bits; the ending tells, whatever the first bytes look like. */
static const char *write_graphdb(const uint16_t *words, size_t n, size_t bytes)
{
    unsigned char text[256];
    for (size_t k = 0; k < n; k++) {
        text[2 * k] = (unsigned char)words[k];
        text[2 * k + 1] = (unsigned char)(words[k] >> 8);
    }
    return write_bytes("g.graphdb", text, bytes);
}

/* 0 -> 1, 1 -> 0 and 2, 2 -> 1, and a node alone. */
static const uint16_t path_words[] = {4, 1, 1, 2, 0, 2, 1, 1, 0};
enum { WORDS = sizeof path_words / sizeof *path_words };

START_TEST(graphdb)
{
    unsigned char packed[256];
    uint16_t many['<' + 1] = {'<'};
    gnn_data_t *data = opened(write_graphdb(path_words, WORDS, sizeof path_words));
    ck_assert_int_eq(gnn_data_nodes(data), 4);
    ck_assert_str_eq(messages(data), "0<1 1<0 1<2 2<1");
    gnn_data_free(data);
    const size_t n = pack((const unsigned char[]){2, 0, 1, 0, 1, 0, 0, 0}, 8, packed, sizeof packed);
    data = opened(write_bytes("g.graphdb.gz", packed, n));
    ck_assert_str_eq(messages(data), "0<1 1<0");
    gnn_data_free(data);
    data = opened(write_graphdb(many, '<' + 1, sizeof many));
    ck_assert_int_eq(gnn_data_nodes(data), '<');
    gnn_data_free(data);
}
END_TEST

START_TEST(graphdb_that_is_wrong)
{
    uint16_t words[WORDS + 1] = {0};
    ck_refused(write_graphdb(words, 1, 2), "g.graphdb: ", GNN_EFORMAT, "no node");
    memcpy(words, path_words, sizeof path_words);
    for (size_t bytes = 1; bytes < sizeof path_words; bytes++)
        ck_refused(write_graphdb(words, WORDS, bytes), "g.graphdb: ", GNN_EFORMAT,
                   bytes > 1 ? " is expected, the file ends"
                             : "byte 0: a number of nodes is expected");
    ck_refused(write_graphdb(words, WORDS + 1, sizeof path_words + 1), "g.graphdb: ", GNN_EFORMAT,
               "byte 18: 4 nodes end here, the file has 19 bytes");
    words[5] = 4;
    ck_refused(write_graphdb(words, WORDS, sizeof path_words), "g.graphdb: ", GNN_EFORMAT,
               "byte 10: node 4, there are 0 to 3");
    words[5] = 2;
    words[1] = UINT16_MAX;
    ck_refused(write_graphdb(words, WORDS, sizeof path_words), "g.graphdb: ", GNN_EFORMAT,
               "byte 18: a node is expected, the file ends");
}
END_TEST
#else
START_TEST(graphdb)
{
    ck_refused(write_bytes("g.graphdb", "\1\0\0\0", 4), "g.graphdb: ", GNN_EUNSUPPORTED,
               ": GraphDB is read by igraph, and");
}
END_TEST
#endif

int main(void)
{
    Suite *suite = suite_create("igraph files");
    TCase *tests = tcase_create("faults");
    tcase_add_checked_fixture(tests, make_folder, remove_tree);
    tcase_add_test(tests, graphdb);
#if GNN_HAS_IGRAPH
    tcase_add_loop_test(tests, wrong_files_for_igraph_are_refused, 0,
                        (int)(sizeof igraph_wrong / sizeof igraph_wrong[0]));
    tcase_add_test(tests, what_igraph_reads_and_a_set_cannot_hold);
    tcase_add_test(tests, graphdb_that_is_wrong);
    tcase_add_test(tests, gml_that_asks_for_more_than_it_fills);
#endif
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
