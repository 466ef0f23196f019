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
#endif

int main(void)
{
    Suite *suite = suite_create("igraph files");
    TCase *tests = tcase_create("faults");
    tcase_add_checked_fixture(tests, make_folder, remove_tree);
#if GNN_HAS_IGRAPH
    tcase_add_loop_test(tests, wrong_files_for_igraph_are_refused, 0,
                        (int)(sizeof igraph_wrong / sizeof igraph_wrong[0]));
    tcase_add_test(tests, what_igraph_reads_and_a_set_cannot_hold);
    tcase_add_test(tests, gml_that_asks_for_more_than_it_fills);
#endif
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
