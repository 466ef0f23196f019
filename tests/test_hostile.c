/* Files that ask for more than they are: bombs, counts without contents, names that steer
 * terminals. Peak memory is that of this test's own process. */
#include "data_tiny.h"
#include "readers.h"

#include <lib/data/arrays/text_file.h>
#include <sys/resource.h>

static double megabytes(void)
{
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return (double)use.ru_maxrss / 1024;
}

static bool measured(void)
{
    const char *fork = getenv("CK_FORK");
    return !fork ||
           strcmp(fork, "no") !=
               0; /* elsewhere all tests are one process, under tools that take memory and time */
}

/* `head` and `count` repetitions of `line`, gzipped. */
static const char *write_repeated(const char *name, const char *head, const char *line, int count)
{
    static unsigned char out[1 << 20];
    size_t n = strlen(line), at = 0;
    char *text = malloc(n * (size_t)count + 64);
    ck_assert_ptr_nonnull(text);
    at = strlen(head);
    memcpy(text, head, at);
    for (int k = 0; k < count; k++, at += n)
        memcpy(text + at, line, n);
    const char *path = write_bytes(name, out, pack(text, at, out, sizeof out));
    free(text);
    return path;
}

enum { FLOATS = 40 << 20 };

/* The tiny set, and 160 MB of zeros under another name. */
static const char *write_bomb(const char *name)
{
    gnn_array_t zeros = {name, GNN_DTYPE_FLOAT32, 1, {FLOATS}, FLOATS, calloc(FLOATS, 4)};
    const char *path = write_tiny(1, &zeros);
    free((void *)zeros.data);
    return path;
}

START_TEST(a_bomb_is_refused_by_its_directory)
{
    gnn_data_t *data;
    gnn_arrays_t *arrays;
    const char *path = write_bomb("x");
    double before = megabytes();
    ck_fails(gnn_data_open(&data, path), GNN_EFORMAT, "max_growth raises it");
    ck_fails(gnn_npz_read(&arrays, path, NULL), GNN_EFORMAT, "arrays of 1677");
    if (measured())
        ck_assert_msg(megabytes() - before < 50, "%g MB", megabytes() - before);
    ck_ok(gnn_npz_read(&arrays, path, &(gnn_limits_t){.max_growth = 1100}));
    gnn_arrays_free(arrays);
}
END_TEST

START_TEST(arrays_that_are_not_needed_are_not_unpacked)
{
    const char *path = write_bomb("words");
    double before = megabytes();
    gnn_data_free(opened(path));
    if (measured())
        ck_assert_msg(megabytes() - before < 50, "%g MB", megabytes() - before);
}
END_TEST

START_TEST(gzipped_bombs_are_refused_early)
{
    gnn_data_t *data;
    unsigned char *zeros = calloc(1, 64 << 20), *packed = malloc(1 << 20);
    write_bytes("zeros.edges.gz", packed, pack(zeros, 64 << 20, packed, 1 << 20));
    free(zeros);
    free(packed);
    write_repeated("lines.edges.gz", "", "1 2\n", 16 << 20);
    double before = megabytes();
    ck_fails(gnn_data_open(&data, in_folder("zeros.edges.gz")), GNN_EFORMAT, "a zero byte (byte 0)");
    ck_fails(gnn_data_open(&data, in_folder("lines.edges.gz")), GNN_EFORMAT, "max_growth raises it");
    if (measured())
        ck_assert_msg(megabytes() - before < 50, "%g MB", megabytes() - before);
    write_repeated("few.edges.gz", "", "1 2\n", 3 << 20);
    ck_fails(gnn_data_open_as(&data, in_folder("few.edges.gz"),
                              &(gnn_open_config_t){.limits = &(gnn_limits_t){.max_growth = 1}}),
             GNN_EFORMAT, "max_growth raises it");
    ck_fails(gnn_data_open_as(&data, in_folder("few.edges.gz"),
                              &(gnn_open_config_t){.limits = &(gnn_limits_t){.max_bytes = 99}}),
             GNN_EFORMAT, "at most 99 are read");
}
END_TEST

START_TEST(blank_lines_take_no_memory)
{
    write_repeated("blank.content.gz", "a\t1\tx\nb\t0\ty\n", "\n", 7 << 20);
    write_repeated("blank.cites.gz", "a\tb\n", "\n", 7 << 20);
    double before = megabytes();
    gnn_data_free(opened(in_folder("blank.content.gz")));
    if (measured())
        ck_assert_msg(megabytes() - before < 100, "%g MB", megabytes() - before);
}
END_TEST

/* Readers take memory for as many lines as are counted: all that the walk over them gives must be
 * among these, whatever blanks and returns they are made of. */
START_TEST(no_line_is_read_that_was_not_counted)
{
    static const char letters[] = " \t\r\nx";
    for (int number = 0; number < 5 * 5 * 5 * 5 * 5; number++) {
        char written[6] = "";
        gnn__text_t text;
        int64_t lines = 0;
        for (int k = 0, rest = number; k < 5; k++, rest /= 5)
            written[k] = letters[rest % 5];
        ck_ok(gnn__text_open(&text, write_bytes("lines", written, 5)));
        const int64_t counted = gnn__text_count_lines(&text);
        while (gnn__text_line(&text))
            lines++;
        ck_assert_msg(lines == counted, "case %d: %d counted, %d read", number, (int)counted,
                      (int)lines);
        gnn__text_free(&text);
    }
}
END_TEST

START_TEST(unusual_graphml_is_refused)
{
#if GNN_WITH_IGRAPH
    gnn_data_t *data;
    const unsigned char ebcdic[] = {0x4c, 0x6f, 0xa7, 0x94, 0x93, 0x40, 0xa5, 0x85, 0x99};
    ck_fails(gnn_data_open(&data, write_bytes("a.graphml", ebcdic, sizeof ebcdic)), GNN_EFORMAT,
             "'<' is expected");
    ck_fails(
        gnn_data_open(&data, write_text("a.graphml", "<graphml><graph><node id=\"a\"/></graph>\n"
                                                     "<graph><node id=\"b\"/></graph></graphml>")),
        GNN_EUNSUPPORTED, "line 2: a second graph");
#endif
}
END_TEST

/* igraph's scanner of GML is quadratic in the longest token. */
START_TEST(long_words_of_gml_are_refused)
{
#if GNN_WITH_IGRAPH
    static const char *const around[][2] = {{"graph [ node [ id 0 label \"", "\" ] ]"},
                                            {"graph [ ", " 1 node [ id 0 ] ]"}};
    enum { MOST = 1 << 16 };
    char *text = malloc(MOST + 100);
    for (int k = 0; k < 2; k++)
        for (int more = 0; more < 2; more++) {
            gnn_data_t *data = NULL;
            const size_t begin = strlen(around[k][0]), length = MOST - 2 + 3 * more;
            memcpy(text, around[k][0], begin);
            memset(text + begin, 'a', length);
            strcpy(text + begin + length, around[k][1]);
            const char *path = write_text("a.gml", text);
            if (more)
                ck_fails(gnn_data_open(&data, path), GNN_EFORMAT,
                         "a.gml: line 1: a word of more than 65536 bytes");
            else
                ck_ok(gnn_data_open(&data, path));
            gnn_data_free(data);
        }
    free(text);
#endif
}
END_TEST

/* Tags of any kind, and text that igraph collects over comments, sections and elements. */
START_TEST(long_tags_and_texts_of_graphml_are_refused)
{
#if GNN_WITH_IGRAPH
    static const char head[] = "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">"
                               "<key id=\"k\" for=\"node\" attr.name=\"k\" attr.type=\"string\"/>",
                      data[] = "<graph edgedefault=\"directed\"><node id=\"a\"><data key=\"k\">",
                      tail[] = "</data></node></graph></graphml>";
    static const char *const all[][4] = {/* before, repeated, after, is in an element of data */
                                         {"<!--", "x", "-->", ""},
                                         {"<?p ", "x", "?>", ""},
                                         {"<key id='", "x", "' for='node'/>", ""},
                                         {"<key id='>", "x", "' for='node'/>", ""},
                                         {"<q ", "a='' ", "/>", ""},
                                         {"", "&lt;", "", "data"},
                                         {"<![CDATA[", "x", "]]>", "data"},
                                         {"", "<![CDATA[x]]>", "", "data"},
                                         {"", "x<!-- -->", "", "data"},
                                         {"", "x<x/>", "", "data"},
                                         {"<data/>", "x<data>y</data>", "", "data"}};
    enum { MOST = 1 << 16 };
    char *text = malloc(2 * MOST);
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        gnn_data_t *set;
        char *end = text;
        const bool inside = *all[k][3];
        end += sprintf(end, "%s%s%s", head, inside ? data : "", all[k][0]);
        for (const char *begin = end; end - begin <= MOST;)
            end += sprintf(end, "%s", all[k][1]);
        sprintf(end, "%s%s%s", all[k][2], inside ? "" : data, tail);
        ck_fails(gnn_data_open(&set, write_text("a.graphml", text)), GNN_EFORMAT,
                 "a.graphml: line 1: a tag or text of more than 65536 bytes");
    }
    free(text);
#endif
}
END_TEST

START_TEST(many_short_texts_of_graphml_are_read)
{
#if GNN_WITH_IGRAPH
    enum { NODES = 5000 };
    gnn_data_t *set;
    char *text = malloc(NODES * 100), *end = text;
    end += sprintf(end, "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\"><key id=\"k\" "
                        "for=\"node\" attr.name=\"k\" attr.type=\"string\"/><graph>");
    for (int k = 0; k < NODES; k++)
        end += sprintf(end, "<node id='a%d'><data key='k'>a text <!-- > --> </data></node>\n", k);
    sprintf(end, "<edge source='a0' target='a1'/></graph></graphml>");
    ck_ok(gnn_data_open(&set, write_text("a.graphml", text)));
    ck_assert_int_eq(gnn_data_nodes(set), NODES);
    gnn_data_free(set);
    free(text);
#endif
}
END_TEST

START_TEST(splits_of_ogb_are_folders_and_few)
{
    char name[64];
    gnn_data_t *data;
    write_ogb(NULL, NULL);
    write_text("tiny_ogb/split/README", "no split");
    gnn_data_free(opened(in_folder("tiny_ogb")));
    for (int k = 0; k < 100; k++) {
        snprintf(name, sizeof name, "tiny_ogb/split/s%d", k);
        mkdir(in_folder(name), 0700);
    }
    ck_fails(gnn_data_open(&data, in_folder("tiny_ogb")), GNN_EFORMAT, "more than 100 splits");
}
END_TEST

START_TEST(columns_need_numbers)
{
    const gnn_array_t wide = INT64("attr_shape", 2, 4, 1 << 30);
    gnn_data_t *data;
    ck_fails(gnn_data_open(&data, write_tiny(1, &wide)), GNN_EFORMAT,
             "1073741824 columns for 4 stored values");
}
END_TEST

START_TEST(names_do_not_steer_terminals)
{
    gnn_arrays_t *arrays;
    char path[256];
    snprintf(path, sizeof path, "%s/\x1b]0;pwn\x07\n\xc2\x9b.npz", test_folder);
    ck_assert_int_ne(gnn_npz_read(&arrays, path, NULL), GNN_OK);
    for (const char *c = gnn_error_message(); *c; c++)
        ck_assert((unsigned char)*c >= 32 && *c != 127);
    ck_assert_ptr_nonnull(strstr(gnn_error_message(), "?]0;pwn????.npz"));
}
END_TEST

START_TEST(names_may_have_255_bytes)
{
    const gnn_array_t array = INT64("a", 1, 7);
    gnn_arrays_t *arrays;
    char name[256];
    memset(name, 'n', 255);
    memcpy(name + 251, ".npz", 5);
    ck_ok(gnn_npz_write(in_folder(name), 1, &array));
    ck_ok(gnn_npz_read(&arrays, in_folder(name), NULL));
    gnn_arrays_free(arrays);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hostile");
    TCase *tests = tcase_create("hostile");
    tcase_add_checked_fixture(tests, make_folder, remove_tree);
    tcase_set_timeout(tests, 300);
    tcase_add_test(tests, a_bomb_is_refused_by_its_directory);
    tcase_add_test(tests, arrays_that_are_not_needed_are_not_unpacked);
    tcase_add_test(tests, gzipped_bombs_are_refused_early);
    tcase_add_test(tests, blank_lines_take_no_memory);
    tcase_add_test(tests, no_line_is_read_that_was_not_counted);
    tcase_add_test(tests, unusual_graphml_is_refused);
    tcase_add_test(tests, long_words_of_gml_are_refused);
    tcase_add_test(tests, long_tags_and_texts_of_graphml_are_refused);
    tcase_add_test(tests, many_short_texts_of_graphml_are_read);
    tcase_add_test(tests, splits_of_ogb_are_folders_and_few);
    tcase_add_test(tests, columns_need_numbers);
    tcase_add_test(tests, names_do_not_steer_terminals);
    tcase_add_test(tests, names_may_have_255_bytes);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
