/* Nodes that files name by words: ids by first appearance, CSV files that are joined by name,
 * names that are saved and that follow gnn_data_reorder. */
#include "readers.h"

#include <gnn/data.h>
#include <gnn/graph.h>

static gnn_data_t *opened_directed(const char *path)
{
    gnn_data_t *data;
    ck_ok(gnn_data_open_as(&data, path, &(gnn_open_config_t){.directed = GNN_ON}));
    return data;
}

static void ck_names(const gnn_data_t *data, const char *want)
{
    char names[256] = "";
    for (int64_t r = 0; r < gnn_data_nodes(data); r++) {
        const size_t at = strlen(names);
        snprintf(names + at, sizeof names - at, "%s%s", r ? "|" : "", gnn_data_node_name(data, r));
    }
    ck_assert_str_eq(names, want);
    ck_assert_ptr_null(gnn_data_node_name(data, -1));
    ck_assert_ptr_null(gnn_data_node_name(data, gnn_data_nodes(data)));
}

/* Edges in the order of the file: "from>to" by name. */
static void ck_edges(const gnn_data_t *data, const char *want)
{
    int64_t m = gnn_graph_n_edges(gnn_data_graph(data)), src[16], dst[16], edge[16], at_edge[16];
    char edges[256] = "";
    ck_assert_int_le(m, 16);
    ck_ok(gnn_graph_pairs(gnn_data_graph(data), src, dst, edge));
    for (int64_t k = 0; k < m; k++)
        at_edge[edge[k]] = k;
    for (int64_t e = 0; e < m; e++) {
        const size_t at = strlen(edges);
        snprintf(edges + at, sizeof edges - at, "%s%s>%s", e ? " " : "",
                 gnn_data_node_name(data, src[at_edge[e]]),
                 gnn_data_node_name(data, dst[at_edge[e]]));
    }
    ck_assert_str_eq(edges, want);
}

static const struct {
    const char *file, *text, *names, *edges;
} lists[] = {
    {"a.csv", "alice,bob,3.5\nbob,carol,1\n", "alice|bob|carol", "alice>bob bob>carol"},
    {"a.csv", "source,target\nx,y\n", "x|y", "x>y"},
    {"a.csv", "Target,Weight,Source\nb,2,a\nc,1,b\n", "a|b|c", "a>b b>c"},
    {"a.csv", "user,item,weight\nann,m1,2\nann,m2,1\n", "ann|m1|m2", "ann>m1 ann>m2"},
    {"a.csv", ",source,target,weight\n0,a,b,2\n1,b,a,1\n", "a|b", "a>b b>a"},
    {"a.csv", "Source,Target,Type,Id,Label,timeset,Weight\nb,a,Directed,0,,,1\nc,b,Directed,1,,,1\n",
     "b|a|c", "b>a c>b"},
    {"a.tsv", "New York\tSt. Paul\nSt. Paul\tNew York\n", "New York|St. Paul",
     "New York>St. Paul St. Paul>New York"},
    {"a.csv", "\"a, b\",\"c \"\"d\"\"\"\n\"c \"\"d\"\"\",e\n", "a, b|c \"d\"|e",
     "a, b>c \"d\" c \"d\">e"},
    {"a.txt", "# friends\nann  bob\r\nbob\t\"NA\"\r\n", "ann|bob|NA", "ann>bob bob>NA"},
    {"a.edges", "Zo\xc3\xab x {}\nx 7 {}\n", "Zo\xc3\xab|x|7", "Zo\xc3\xab>x x>7"},
    {"a.edges", "0xab 0xcd\n0xcd 0xef\n", "0xab|0xcd|0xef", "0xab>0xcd 0xcd>0xef"},
    {"a.edges", "u1 12\n12 u1\n", "u1|12", "u1>12 12>u1"},
};

START_TEST(words_are_numbered_by_first_appearance)
{
    gnn_data_t *data = opened_directed(write_text(lists[_i].file, lists[_i].text));
    ck_names(data, lists[_i].names);
    ck_edges(data, lists[_i].edges);
    gnn_data_free(data);
}
END_TEST

START_TEST(weights_of_words_follow_their_columns)
{
    gnn_data_t *data = opened_directed(write_text("a.csv", "target,weight,source\nb,2,a\nc,1,b\n"));
    const gnn_tensor_t *weight = gnn_data_rows(data, GNN_ON_EDGES, "weight");
    ck_assert(weight && weight->data[0] == 2 && weight->data[1] == 1);
    gnn_data_free(data);
}
END_TEST

/* ---- CSV files by name ---- */

static gnn_data_t *three(void)
{
    return opened_directed(write_text("g.csv", "alice,bob,2\nbob,carol,3\n"));
}

static void ck_features(const gnn_data_t *data, const char *want)
{
    char rows[256] = "";
    for (int64_t r = 0; r < gnn_data_nodes(data); r++) {
        const size_t at = strlen(rows);
        snprintf(rows + at, sizeof rows - at, "%s%s=%g", r ? " " : "", gnn_data_node_name(data, r),
                 (double)gnn_data_x(data)->data[r * gnn_data_features(data)]);
    }
    ck_assert_str_eq(rows, want);
}

static const struct {
    const char *text, *want;
} features[] = {
    {"node,age\ncarol,30\nalice,20\nbob,25\n", "alice=20 bob=25 carol=30"},
    {"age,name_of,node\n30,1,carol\n20,1,alice\n25,1,bob\n", "alice=20 bob=25 carol=30"},
    {"user,age\ncarol,30\nalice,20\nbob,25\n", "alice=20 bob=25 carol=30"},
    {"carol,30\nalice,20\nbob,25\n", "alice=20 bob=25 carol=30"},
    {"carol;30\nzoe;9\nalice;20\nbob;25\n", "alice=20 bob=25 carol=30 zoe=9"},
    {"zoe,9\ncarol,30\nalice,20\nbob,25\n", "alice=20 bob=25 carol=30 zoe=9"},
};

START_TEST(features_are_joined_by_name)
{
    gnn_data_t *data = three();
    ck_ok(gnn_data_add_csv(data, write_text("x.csv", features[_i].text), NULL));
    ck_features(data, features[_i].want);
    ck_edges(data, "alice>bob bob>carol");
    gnn_data_free(data);
}
END_TEST

static const struct {
    const char *features, *labels;
    int32_t want[4]; /* of alice, bob, carol, zoe; -1: no label */
} joined[] = {
    {NULL, "node,label\ncarol,b\nalice,a\n", {0, -1, 1}},
    {NULL, "carol,b\nalice,a\nbob,b\n", {0, 1, 1}},
    {NULL, "carol,1\nalice,0\nbob,1\n", {0, 1, 1}},
    {NULL, "person,class\ncarol,b\nzoe,a\n", {-1, -1, 1, 0}},
    {"alice,1\nbob,2\nzoe,3\ncarol,4\n", "zoe,b\nalice,a\n", {0, -1, -1, 1}},
};

START_TEST(labels_are_joined_by_name)
{
    gnn_data_t *data = three();
    const char *x = joined[_i].features ? strdup(write_text("x.csv", joined[_i].features)) : NULL;
    ck_ok(gnn_data_add_csv(data, x, write_text("y.csv", joined[_i].labels)));
    static const char *const people[] = {"alice", "bob", "carol", "zoe"};
    for (int64_t r = 0; r < gnn_data_nodes(data); r++) {
        ck_assert_str_eq(gnn_data_node_name(data, r), people[r]);
        ck_assert_int_eq(gnn_data_labels(data)[r], joined[_i].want[r]);
    }
    free((char *)(uintptr_t)x);
    gnn_data_free(data);
}
END_TEST

static const struct {
    const char *features, *labels;
    int code;
    const char *words;
} unjoined[] = {
    {"1\n2\n3\n", NULL, GNN_EFORMAT, "the edges name the nodes by words: a column called \"node\""},
    {"a,b\n1,2\n3,4\n5,6\n", NULL, GNN_EFORMAT, "the edges name the nodes by words"},
    {"node,a\nalice,1\ncarol,2\n", NULL, GNN_ESHAPE, "2 of 3 nodes have a line, bob has none"},
    {"node,a\nalice,1\nbob,2\ncarol,3\nbob,4\n", NULL, GNN_EFORMAT,
     "line 5, column 1: node bob is there already, in line 3"},
    {NULL, "a\nb\na\n", GNN_EFORMAT, "the edges name the nodes by words"},
    {NULL, "person,job\nalice,a\nbob,b\n", GNN_EFORMAT,
     "the first line begins with \"person\", which is not a node"},
    {"alice,1\nbob,2\ncarol,3\n", "node,label\nalice,a\nzoe,b\n", GNN_EFORMAT,
     "y.csv: line 3, column 1: the name of a node is expected, none is called \"zoe\""},
};

START_TEST(lines_without_a_node_are_refused)
{
    gnn_data_t *data = three();
    const char *x = unjoined[_i].features ? strdup(write_text("x.csv", unjoined[_i].features)) : NULL;
    const char *y = unjoined[_i].labels ? write_text("y.csv", unjoined[_i].labels) : NULL;
    ck_fails(gnn_data_add_csv(data, x, y), unjoined[_i].code, unjoined[_i].words);
    ck_names(data, "alice|bob|carol");
    free((char *)(uintptr_t)x);
    gnn_data_free(data);
}
END_TEST

START_TEST(names_are_saved_and_follow_a_new_order)
{
    gnn_data_t *data =
        opened_directed(write_text("g.csv", "hub,a\nb,hub\nc,hub\nd,hub\nhub,e\nf,e\n"));
    ck_ok(gnn_data_reorder(data));
    const int64_t *order = gnn_data_order(data);
    static const char *const in_file[] = {"hub", "a", "b", "c", "d", "e", "f"};
    bool moved = false;
    for (int64_t r = 0; r < gnn_data_nodes(data); r++) {
        moved = moved || order[r] != r;
        ck_assert_str_eq(gnn_data_node_name(data, r), in_file[order[r]]);
    }
    ck_assert(moved);
    ck_ok(gnn_data_add_csv(data, write_text("x.csv", "e,5\nhub,0\na,1\nb,2\nc,3\nd,4\nf,6\nzoe,7\n"),
                           NULL));
    order = gnn_data_order(data);
    for (int64_t r = 0; r < 7; r++)
        ck_assert(gnn_data_x(data)->data[r] == (gnn_real_t)order[r]);
    ck_assert_str_eq(gnn_data_node_name(data, 7), "zoe");
    const char *path = strdup(in_folder("names.npz"));
    ck_ok(gnn_data_save(data, path));
    gnn_data_t *back = opened(path);
    ck_names(back, "hub|a|b|c|d|e|f|zoe");
    free((char *)(uintptr_t)path);
    gnn_data_free(data);
    gnn_data_free(back);
}
END_TEST

/* A set whose file orders its nodes takes both names and integers as ids. */
START_TEST(ids_of_linqs_are_names)
{
    write_text("t.content", "p9\t1\t0\ta\np3\t0\t1\tb\np5\t1\t1\ta\n");
    write_text("t.cites", "p9\tp3\np3\tp5\n");
    gnn_data_t *data = opened(in_folder("t.content"));
    ck_names(data, "p9|p3|p5");
    ck_ok(gnn_data_add_csv(data, write_text("x.csv", "id,a\np3,1\np5,2\np9,3\n"), NULL));
    ck_features(data, "p9=3 p3=1 p5=2");
    ck_ok(gnn_data_add_csv(data, write_text("x.csv", "id,a\n2,1\n1,2\n0,3\n"), NULL));
    ck_features(data, "p9=3 p3=2 p5=1");
    ck_ok(gnn_data_add_csv(data, write_text("x.csv", "1\n2\n3\n"), NULL));
    ck_features(data, "p9=1 p3=2 p5=3");
    gnn_data_free(data);
}
END_TEST

START_TEST(names_of_an_archive_are_checked)
{
    static const unsigned char text[] = "abcc";
    const int64_t ends[] = {0, 1, 2, 3, 4}, late[] = {0, 1, 2, 5};
    const int32_t labels[] = {0, 1, 0, 1}, links[] = {0, 1, 1, 2};
    const float x[] = {1, 2, 3, 4};
    gnn_array_t arrays[] = {
        {"node_labels", GNN_DTYPE_INT32, 1, {4}, 4, labels},
        {"edges", GNN_DTYPE_INT32, 2, {2, 2}, 4, links},
        {"names", GNN_DTYPE_UINT8, 1, {4}, 4, text},
        {"name_offsets", GNN_DTYPE_INT64, 1, {5}, 5, ends},
        {"x", GNN_DTYPE_FLOAT32, 2, {4, 1}, 4, x},
    };
    const char *path = strdup(in_folder("set.npz"));
    ck_ok(gnn_npz_write(path, 5, arrays));
    gnn_data_t *data = opened(path);
    ck_names(data, "a|b|c|c");
    ck_fails(gnn_data_add_csv(data, write_text("x.csv", "id,a\na,1\nb,2\nc,3\nc,4\n"), NULL),
             GNN_EFORMAT, "ids by name, but nodes 2 and 3 are both c");
    gnn_data_free(data);
    arrays[3] = (gnn_array_t){"name_offsets", GNN_DTYPE_INT64, 1, {4}, 4, late};
    ck_ok(gnn_npz_write(path, 5, arrays));
    ck_fails(gnn_data_open(&data, path), GNN_EFORMAT, "name_offsets: from 0 to 5, expected 0 to 4");
    free((char *)(uintptr_t)path);
}
END_TEST

#define LOOP(test, table) tcase_add_loop_test(tests, test, 0, (int)(sizeof table / sizeof table[0]))

int main(void)
{
    Suite *suite = suite_create("node names");
    TCase *tests = tcase_create("names");
    tcase_add_checked_fixture(tests, make_folder, remove_tree);
    LOOP(words_are_numbered_by_first_appearance, lists);
    tcase_add_test(tests, weights_of_words_follow_their_columns);
    LOOP(features_are_joined_by_name, features);
    LOOP(labels_are_joined_by_name, joined);
    LOOP(lines_without_a_node_are_refused, unjoined);
    tcase_add_test(tests, names_are_saved_and_follow_a_new_order);
    tcase_add_test(tests, ids_of_linqs_are_names);
    tcase_add_test(tests, names_of_an_archive_are_checked);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
