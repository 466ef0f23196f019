/* Data sets in all supported formats, and round trips through gnn_data_save. */
#include "data_tiny.h"
#include "readers.h"

#include <locale.h>

START_TEST(linqs_by_either_file)
{
    static const int32_t labels[] = {2, 0, 2, 1};
    char text[400];
    write_text("tiny.content", CONTENT);
    write_text("tiny.cites", CITES);
    gnn_data_t *data = opened(in_folder(_i ? "tiny.content" : "tiny.cites"));
    ck_assert_str_eq(gnn_data_name(data), "tiny");
    ck_assert_str_eq(messages(data), "0<1 0<2 1<0 2<0");
    ck_labels(data, 4, labels);
    ck_assert_int_eq(gnn_data_classes(data), 3);
    ck_assert_str_eq(gnn_data_class_names(data)[0], "Agents");
    ck_assert_str_eq(gnn_data_class_names(data)[1], "ML");
    ck_assert_str_eq(gnn_data_class_names(data)[2], "Theory");
    ck_assert_int_eq(gnn_data_features(data), 3);
    ck_assert_int_eq(gnn_data_sparse(data)->indptr[4], 4);
    ck_assert(feature(data, 0, 1) == 1 && feature(data, 1, 0) == 1 && feature(data, 3, 0) == 0);
    ck_assert_int_eq(gnn_data_skipped(data), 2);
    gnn_data_describe(data, text, sizeof text);
    ck_assert_msg(strstr(text, "; 2 links to unknown nodes were left out") != NULL, "%s", text);
    gnn_data_free(data);
}
END_TEST

START_TEST(linqs_with_whitespace_and_crlf)
{
    static const int32_t labels[] = {1, 0};
    write_text("w.content", "\xef\xbb\xbf"
                            "a 0 0 two\r\n\r\n b  0  0   one \r\n");
    write_text("w.cites", "a b\r\n");
    gnn_data_t *data = opened(in_folder("w.cites"));
    ck_labels(data, 2, labels);
    ck_assert_str_eq(gnn_data_class_names(data)[0], "one");
    ck_assert_int_eq(gnn_data_features(data), 2);
    ck_assert_int_eq(gnn_data_sparse(data)->indptr[2], 0);
    gnn_data_free(data);
}
END_TEST

START_TEST(an_ogb_folder)
{
    static const int32_t labels[] = {0, 2, 1, -1};
    gnn_data_t *data = opened(write_ogb(NULL, NULL));
    ck_assert_str_eq(gnn_data_name(data), "tiny_ogb");
    ck_assert_str_eq(messages(data), "0<1 0<3 1<0 1<2 2<1 3<0");
    ck_labels(data, 4, labels);
    ck_assert_int_eq(gnn_data_features(data), 2);
    ck_assert(feature(data, 1, 0) == (double)(gnn_real_t)1e-3 && feature(data, 3, 1) == 6);
    ck_assert_int_eq(gnn_data_splits(data), 1);
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 4; i++)
            ck_assert_int_eq(gnn_data_mask(data, k, 0)[i], i == k);
    gnn_data_free(data);
}
END_TEST

START_TEST(ogb_unpacked_with_slashes_and_without_splits)
{
    char slashes[520];
    write_ogb("raw/edge.csv.gz", NULL);
    write_text("tiny_ogb/raw/edge.csv", "0,3\r\n");
    snprintf(slashes, sizeof slashes, "%s//", in_folder("tiny_ogb"));
    for (int k = 4; k < OGB_PARTS; k++) {
        char name[128];
        snprintf(name, sizeof name, "tiny_ogb/%s", ogb[k].name);
        ck_assert_int_eq(unlink(in_folder(name)), 0);
    }
    ck_assert_int_eq(rmdir(in_folder("tiny_ogb/split/time")), 0);
    gnn_data_t *data = opened(slashes);
    ck_assert_str_eq(gnn_data_name(data), "tiny_ogb");
    ck_assert_str_eq(messages(data), "0<3 3<0");
    ck_assert_int_eq(gnn_data_splits(data), 1);
    gnn_data_free(data);
}
END_TEST

START_TEST(edge_lists)
{
    static const struct {
        const char *name, *text, *messages;
        int n;
    } cases[] = {
        {"a.edges", "0 1\n1 2\n2 1\n3 3\n", "0<1 1<0 1<2 2<1", 4},
        {"a.csv", "source,target\n0,1\n1,2\n", "0<1 1<0 1<2 2<1", 3},
        {"a.tsv", "Src\tDst\tWeight\n0\t1\t1\n", "0<1 1<0", 2},
        {"a.csv", "id_1;id_2\n0;1\n", "0<1 1<0", 2},
        {"a.txt", "# from\tto\n0\t1\n\n% more\n1\t2\n", "0<1 1<0 1<2 2<1", 3},
        {"a.el",
         "\xef\xbb\xbf"
         "0 1\r\n1 2\r\n",
         "0<1 1<0 1<2 2<1", 3},
        {"a.csv", "0,1,0.5\n1, 2 ,-1e3", "0<1 1<0 1<2 2<1", 3},
        {"a.EdgeList", "0;5\n", "0<5 5<0", 6},
        {"no ending", "  0   +1  \n", "0<1 1<0", 2},
        {"wide.txt", "0 1000\n", "0<1000 1000<0", 1001},
    };
    gnn_data_t *data = opened(write_text(cases[_i].name, cases[_i].text));
    ck_assert_str_eq(messages(data), cases[_i].messages);
    ck_assert_int_eq(gnn_data_nodes(data), cases[_i].n);
    ck_assert_int_eq(gnn_data_features(data), 0);
    ck_assert_int_eq(gnn_data_classes(data), 0);
    ck_assert_int_eq(gnn_data_labels(data)[0], -1);
    ck_assert_int_eq(gnn_data_mask(data, GNN_TRAIN, 0)[0], 0);
    gnn_data_free(data);
}
END_TEST

START_TEST(gzipped_text_in_several_members)
{
    unsigned char packed[512];
    size_t n = pack("0 1\n1 ", 6, packed, sizeof packed);
    n += pack("2\n", 2, packed + n, sizeof packed - n);
    gnn_data_t *data = opened(write_bytes("two.edges.gz", packed, n));
    ck_assert_str_eq(gnn_data_name(data), "two");
    ck_assert_str_eq(messages(data), "0<1 1<0 1<2 2<1");
    gnn_data_free(data);
}
END_TEST

START_TEST(large_text_is_unpacked_whole)
{
    enum { LINES = 40000 };
    static char text[LINES * 16];
    static unsigned char packed[LINES * 16];
    size_t at = 0;
    for (int k = 0; k < LINES; k++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%d %d\n", k, k + 1);
    gnn_data_t *data =
        opened(write_bytes("path.txt.gz", packed, pack(text, at, packed, sizeof packed)));
    ck_assert_int_eq(gnn_data_nodes(data), LINES + 1);
    ck_assert_int_eq(gnn_graph_n_pairs(gnn_data_graph(data)), 2 * LINES);
    gnn_data_free(data);
}
END_TEST

#if GNN_WITH_IGRAPH
START_TEST(graphml_by_ending_and_by_content)
{
    static const char *const names[] = {"g.graphml", "g", "g.graphml.gz"};
    gnn_data_t *data =
        opened(_i == 2 ? write_packed(names[_i], GRAPHML) : write_text(names[_i], GRAPHML));
    ck_assert_str_eq(gnn_data_name(data), "g");
    ck_assert_str_eq(messages(data), "0<1 1<0 1<2 2<1");
    ck_assert_int_eq(gnn_data_nodes(data), 3);
    gnn_data_free(data);
}
END_TEST
#endif

/* ---- CSV ---- */

START_TEST(csv_in_all_forms)
{
    static const struct {
        const char *features, *labels;
        int named;
    } cases[] = {
        {"1,2.5\n-3,4\n0,0\n", "0\n1\n0\n", 0},
        {"\"a\",\"b, c\"\n\"1\",2.5\n-3,\"4\"\n0,0\n", "class\n0\n1\n0\n", 0},
        {"\xef\xbb\xbf"
         "x;y\r\n1;25e-1\r\n-3; 4\r\n0;.0\r\n",
         "kind\r\n\"a \"\"b\"\"\"\r\n\"c, d\"\r\n\"a \"\"b\"\"\"\r\n\r\n", 1},
        {"1\t2.5\n-3.\t+4\n0\t0", "a \"b\"\n\"c, d\"\na \"b\"", 1},
    };
    static const int32_t labels[] = {0, 1, 0};
    char features[512];
    gnn_data_t *data = opened(write_text("a.edges", "0 1\n1 2\n"));
    snprintf(features, sizeof features, "%s", write_text("x.csv", cases[_i].features));
    ck_ok(gnn_data_add_csv(data, features, write_text("y.csv", cases[_i].labels)));
    ck_labels(data, 3, labels);
    ck_assert_int_eq(gnn_data_features(data), 2);
    ck_assert_int_eq(gnn_data_classes(data), 2);
    ck_assert(feature(data, 0, 1) == 2.5 && feature(data, 1, 0) == -3 && feature(data, 1, 1) == 4);
    ck_assert_int_eq(gnn_data_class_names(data) != NULL, cases[_i].named);
    if (cases[_i].named) {
        ck_assert_str_eq(gnn_data_class_names(data)[0], "a \"b\"");
        ck_assert_str_eq(gnn_data_class_names(data)[1], "c, d");
    }
    ck_assert_int_eq(gnn_data_mask(data, GNN_TRAIN, 0)[0] + gnn_data_mask(data, GNN_TRAIN, 0)[2], 1);
    ck_assert_int_eq(gnn_data_mask(data, GNN_TRAIN, 0)[1], 1);
    gnn_data_free(data);
}
END_TEST

START_TEST(sets_of_links_grow_to_csv_lines)
{
    gnn_data_t *data = opened(write_text("a.edges", "0 1\n"));
    ck_ok(gnn_data_add_csv(data, NULL, write_text("y.csv", "\"\"\none\ntwo\none\n")));
    ck_labels(data, 4, (const int32_t[]){-1, 0, 1, 0});
    ck_assert_int_eq(gnn_graph_n_dst(gnn_data_graph(data)), 4);
    ck_assert_str_eq(messages(data), "0<1 1<0");
    ck_ok(gnn_data_add_csv(data, write_text("x.csv", "1\n2\n3\n4\n"), NULL));
    ck_assert(gnn_data_features(data) == 1 && feature(data, 3, 0) == 4);
    ck_labels(data, 4, (const int32_t[]){-1, 0, 1, 0});
    gnn_data_free(data);
    data = opened(write_text("a.edges", "0 1\n"));
    ck_ok(gnn_data_add_csv(data, write_text("x.csv", "1\n2\n3\n4\n"), NULL));
    ck_assert_int_eq(gnn_data_nodes(data), 4);
    ck_assert_int_eq(gnn_data_labels(data)[3], -1);
    ck_assert_int_eq(gnn_data_mask(data, GNN_TEST, 0)[3], 0);
    ck_ok(gnn_data_add_csv(data, NULL, write_text("y.csv", "0\n-1\n1\n1\n")));
    ck_labels(data, 4, (const int32_t[]){0, -1, 1, 1});
    gnn_data_free(data);
}
END_TEST

/* A locale of the test's own, made by the C library's localedef: few machines have one with a comma
 * installed. */
static bool enter_comma_locale(void)
{
    char command[1200];
    write_text(
        "comma.src",
        "LC_NUMERIC\ndecimal_point \"<U002C>\"\nthousands_sep \"<U002E>\"\ngrouping 3;3\nEND LC_NUMERIC\n");
    snprintf(command, sizeof command,
             "localedef --no-archive -c -i %s/comma.src %s/comma >%s/log 2>&1", test_folder,
             test_folder, test_folder);
    int status = system(command);
    setenv("LOCPATH", test_folder, 1);
    return status != -1 && setlocale(LC_NUMERIC, "comma") && localeconv()->decimal_point[0] == ',';
}

START_TEST(a_comma_locale_changes_nothing)
{
    if (!enter_comma_locale())
        test_skip("a_comma_locale_changes_nothing", "localedef makes no locale with a decimal comma");
    gnn_data_t *data = opened(write_text("a.edges", "0 1 0.5\n"));
    ck_ok(gnn_data_add_csv(data, write_text("x.csv", "1.5;1\n2.5;2e-1\n"), NULL));
    ck_assert(feature(data, 1, 0) == 2.5 && feature(data, 1, 1) == (double)(gnn_real_t)0.2);
    ck_fails(gnn_data_add_csv(data, write_text("x.csv", "1,5;1\n2,5;2\n3;4\n"), NULL), GNN_EFORMAT,
             "x.csv: line 1, column 1: a number is expected, got \"1,5\"");
    gnn_data_free(data);
    setlocale(LC_NUMERIC, "C");
}
END_TEST

/* ---- standardise ---- */

static gnn_data_t *three_columns(void)
{
    gnn_data_t *data = opened(write_text("a.edges", "0 1\n2 3\n"));
    ck_ok(gnn_data_add_csv(data, write_text("x.csv", "1,0.1,7\n2,0.1,7\n3,0.1,9\n6,0.1,7\n"), NULL));
    ck_ok(gnn_data_add_csv(data, NULL, write_text("y.csv", "0\n1\n0\n1\n")));
    return data;
}

START_TEST(standardised_over_all_nodes)
{
    gnn_data_t *data = three_columns();
    ck_ok(gnn_data_standardise(data, -1));
    for (int64_t c = 0; c < 3; c++) {
        double sum = 0, squares = 0;
        for (int64_t i = 0; i < 4; i++) {
            sum += feature(data, i, c);
            squares += feature(data, i, c) * feature(data, i, c);
        }
        ck_assert(fabs(sum) < 1e-5);
        ck_assert(fabs(squares - (c == 1 ? 0 : 4)) < 1e-5);
    }
    ck_assert(fabs(feature(data, 0, 0) + 2 / sqrt(3.5)) < 1e-6);
    gnn_data_free(data);
}
END_TEST

START_TEST(standardised_over_training_nodes)
{
    gnn_data_t *data = three_columns();
    memcpy((uint8_t *)gnn_data_mask(data, GNN_TRAIN, 0), (const uint8_t[]){1, 1, 0, 0}, 4);
    ck_ok(gnn_data_standardise(data, 0));
    static const double expected[4][3] = {{-1, 0, 0}, {1, 0, 0}, {3, 0, 2}, {9, 0, 0}};
    for (int64_t i = 0; i < 4; i++)
        for (int64_t c = 0; c < 3; c++)
            ck_assert(fabs(feature(data, i, c) - expected[i][c]) < 1e-5);
    memset((uint8_t *)gnn_data_mask(data, GNN_TRAIN, 0), 0, 4);
    ck_fails(gnn_data_standardise(data, 0), GNN_EINVALID, "no training nodes");
    ck_fails(gnn_data_standardise(data, 1), GNN_EINVALID, "split 1, expected 0 to 0");
    ck_fails(gnn_data_standardise(NULL, 0), GNN_EINVALID, "data is NULL");
    gnn_data_free(data);
}
END_TEST

/* ---- saving ---- */

static void saved_and_back(gnn_data_t *data)
{
    ck_ok(gnn_data_save(data, in_folder("saved.npz")));
    gnn_data_t *back = opened(in_folder("saved.npz"));
    ck_same_set(data, back);
    ck_assert_str_eq(gnn_data_name(back), "saved");
    gnn_data_free(back);
    gnn_data_free(data);
}

START_TEST(saved_sets_open)
{
    write_text("tiny.content", CONTENT);
    write_text("tiny.cites", CITES);
    saved_and_back(opened(in_folder("tiny.cites")));
    saved_and_back(opened(write_ogb(NULL, NULL)));
    saved_and_back(three_columns());
    saved_and_back(opened(write_text("a.edges", "0 1\n")));
    gnn_data_t *data = opened(in_folder("a.edges"));
    ck_fails(gnn_data_save(data, NULL), GNN_EINVALID, "path is NULL");
    ck_fails(gnn_data_save(NULL, "x"), GNN_EINVALID, "data is NULL");
    gnn_data_free(data);
}
END_TEST

START_TEST(several_splits_are_saved)
{
    mkdir(in_folder("tiny_ogb"), 0700);
    write_ogb(NULL, NULL);
    mkdir(in_folder("tiny_ogb/split/random"), 0700);
    write_packed("tiny_ogb/split/random/train.csv.gz", "2\n");
    write_packed("tiny_ogb/split/random/valid.csv.gz", "0\n");
    write_packed("tiny_ogb/split/random/test.csv.gz", "1\n0\n");
    gnn_data_t *data = opened(in_folder("tiny_ogb"));
    ck_assert_int_eq(gnn_data_splits(data), 2);
    ck_assert_int_eq(gnn_data_mask(data, GNN_TRAIN, 0)[2], 1);
    ck_assert_int_eq(gnn_data_mask(data, GNN_TRAIN, 1)[0], 1);
    saved_and_back(data);
}
END_TEST

START_TEST(the_graph_of_packages_keeps_its_class_names)
{
    gnn_data_t *data = opened(GNN_SOURCE_ROOT "/graphs/data/debian.npz");
    ck_assert_int_eq(gnn_data_classes(data), 16);
    ck_assert_str_eq(gnn_data_class_names(data)[0], "database");
    ck_assert_str_eq(gnn_data_class_names(data)[15], "sound");
    ck_ok(gnn_data_save(data, in_folder("again.npz")));
    gnn_data_t *back = opened(in_folder("again.npz"));
    ck_assert_str_eq(gnn_data_class_names(back)[8], gnn_data_class_names(data)[8]);
    ck_assert_mem_eq(gnn_data_labels(back), gnn_data_labels(data),
                     (size_t)gnn_data_nodes(data) * sizeof *gnn_data_labels(data));
    ck_assert_int_eq(gnn_graph_n_pairs(gnn_data_graph(back)),
                     gnn_graph_n_pairs(gnn_data_graph(data)));
    gnn_data_free(back);
    gnn_data_free(data);
}
END_TEST

#define NAMES(n, text)                                  \
    {                                                   \
        "class_names", GNN_DTYPE_UINT8, 1, {n}, n, text \
    }

static const struct {
    gnn_array_t names, offsets;
    const char *words; /* NULL: good */
} class_names[] = {
    {NAMES(4, "xyyz"), INT64("class_name_offsets", 4, 0, 1, 3, 4), NULL},
    {NAMES(5, "xyyzw"), INT32("class_name_offsets", 5, 0, 1, 3, 4, 5), NULL},
    {NAMES(4, "xyyz"),
     {.name = "class_name_offsets", .ndim = -1},
     "class_names: the array class_name_offsets is missing"},
    {NAMES(4, "xyyz"), INT64("class_name_offsets", 3, 0, 1, 4),
     "class_name_offsets: 2 names, at least 3 are expected"},
    {NAMES(4, "xyyz"), INT64("class_name_offsets", 4, 1, 2, 3, 4),
     "class_name_offsets: from 1 to 4, expected 0 to 4"},
    {NAMES(4, "xyyz"), INT64("class_name_offsets", 4, 0, 1, 3, INT64_MAX),
     "class_name_offsets: from 0 to 9223372036854775807, expected 0 to 4"},
    {NAMES(4, "xyyz"), INT64("class_name_offsets", 4, 0, 4, 3, 4),
     "class_name_offsets: class 1 from 4 to 3, class_names holds 4"},
    {NAMES(4, "xyyz"), INT64("class_name_offsets", 4, 0, INT64_MIN, 3, 4),
     "class_name_offsets: class 0 from 0 to -9223372036854775808"},
    {NAMES(4, "xyyz"), INT64("class_name_offsets", 4, 0, 1, 1, 4),
     "class_names: the name of class 1 is not UTF-8 text"},
    {NAMES(4, "x\0yz"), INT64("class_name_offsets", 4, 0, 1, 3, 4),
     "class_names: the name of class 1 is not UTF-8 text"},
    {NAMES(4, "xyy\xe2"), INT64("class_name_offsets", 4, 0, 1, 3, 4),
     "class_names: the name of class 2 is not UTF-8 text"},
    {NAMES(4, "xyyz"), FLOAT32("class_name_offsets", 4, 0, 1, 3, 4), "class_name_offsets: float32"},
    {INT32("class_names", 4, 1, 2, 3, 4), INT64("class_name_offsets", 4, 0, 1, 3, 4),
     "class_names: int32 in 1 dimensions, uint8 in 1 is expected"},
};

START_TEST(class_names_of_arrays)
{
    const gnn_array_t changes[2] = {class_names[_i].names, class_names[_i].offsets};
    gnn_data_t *data = (gnn_data_t *)1;
    const char *path = write_tiny(changes[1].ndim < 0 ? 1 : 2, changes);
    if (class_names[_i].words) {
        ck_fails(gnn_data_open(&data, path), GNN_EFORMAT, class_names[_i].words);
        ck_assert_ptr_null(data);
        return;
    }
    data = opened(path);
    ck_assert_int_eq(gnn_data_classes(data), changes[1].count - 1);
    ck_assert_str_eq(gnn_data_class_names(data)[0], "x");
    ck_assert_str_eq(gnn_data_class_names(data)[1], "yy");
    ck_assert_str_eq(gnn_data_class_names(data)[2], "z");
    gnn_data_free(data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("readers");
    TCase *tests = tcase_create("forms");
    tcase_add_checked_fixture(tests, make_folder, remove_tree);
    tcase_set_timeout(tests, 300);
    tcase_add_loop_test(tests, linqs_by_either_file, 0, 2);
    tcase_add_test(tests, linqs_with_whitespace_and_crlf);
    tcase_add_test(tests, an_ogb_folder);
    tcase_add_test(tests, ogb_unpacked_with_slashes_and_without_splits);
    tcase_add_loop_test(tests, edge_lists, 0, 10);
    tcase_add_test(tests, gzipped_text_in_several_members);
    tcase_add_test(tests, large_text_is_unpacked_whole);
#if GNN_WITH_IGRAPH
    tcase_add_loop_test(tests, graphml_by_ending_and_by_content, 0, 3);
#endif
    tcase_add_loop_test(tests, csv_in_all_forms, 0, 4);
    tcase_add_test(tests, sets_of_links_grow_to_csv_lines);
    tcase_add_test(tests, a_comma_locale_changes_nothing);
    tcase_add_test(tests, standardised_over_all_nodes);
    tcase_add_test(tests, standardised_over_training_nodes);
    tcase_add_test(tests, saved_sets_open);
    tcase_add_test(tests, several_splits_are_saved);
    tcase_add_test(tests, the_graph_of_packages_keeps_its_class_names);
    tcase_add_loop_test(tests, class_names_of_arrays, 0,
                        (int)(sizeof class_names / sizeof class_names[0]));
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
