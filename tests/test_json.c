/* The JSON parser against jansson's: the same texts are accepted, with the same values. */
#include "support.h"

#include <lib/data/arrays/json_text.h>

/* The same texts are JSON to this reader and to jansson's, and mean the same. */
static void ck_like_jansson(const char *text, size_t n)
{
    json_error_t error;
    json_t *ours = NULL, *theirs = json_loadb(text, n, JSON_REJECT_DUPLICATES, &error);
    const int rc = gnn__json_parse(&ours, text, (int64_t)n, GNN__JSON_UNIQUE, 64);
    ck_assert_msg((rc == GNN_OK) == (theirs != NULL), "\"%s\": %s, %s", text,
                  rc == GNN_OK ? "read" : gnn_error_message(), theirs ? "read" : error.text);
    ck_assert_int_eq(rc == GNN_OK, ours != NULL);
    ck_assert_msg(!ours || json_equal(ours, theirs), "\"%s\" is read as something else", text);
    json_decref(ours);
    json_decref(theirs);
}

START_TEST(json_parses_as_jansson_does)
{
    static const char *const texts[] = {"",
                                        " ",
                                        "{}",
                                        " [ ] ",
                                        "[1]",
                                        "[1,]",
                                        "[,1]",
                                        "[1 2]",
                                        "{\"a\":1}",
                                        "{\"a\":1,}",
                                        "{\"a\" 1}",
                                        "{a:1}",
                                        "[01]",
                                        "[-0]",
                                        "[-]",
                                        "[1.]",
                                        "[.5]",
                                        "[1.5e]",
                                        "[1e5]",
                                        "[1E+5]",
                                        "[1e999]",
                                        "[1e-999]",
                                        "[9223372036854775807]",
                                        "[-9223372036854775808]",
                                        "[9223372036854775808]",
                                        "[+1]",
                                        "[true]",
                                        "[tru]",
                                        "[truefalse]",
                                        "[nul]",
                                        "[null]",
                                        "[\"\\u0041\\ud83d\\ude00\"]",
                                        "[\"\\ud83d\"]",
                                        "[\"\\ude00\"]",
                                        "[\"\\u00g0\"]",
                                        "[\"\\u0000\"]",
                                        "[\"\\x\"]",
                                        "[\"a\nb\"]",
                                        "[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"]",
                                        "[\"\xc3\xa9\"]",
                                        "[\"\xc3\"]",
                                        "[\"\xed\xa0\x80\"]",
                                        "[\"\xf4\x90\x80\x80\"]",
                                        "[\"open]",
                                        "[\"open\\",
                                        "{\"a\":1,\"a\":2}",
                                        "{\"a\":{\"a\":[]}}",
                                        "[1]x",
                                        "[1] ",
                                        "1",
                                        "\"a\"",
                                        "[",
                                        "{",
                                        "{\"a\":",
                                        "[1,2",
                                        "[0x1]",
                                        "[Infinity]",
                                        "[NaN]",
                                        "\xef\xbb\xbf[]",
                                        "[1]\0",
                                        "[\"\\u0000a\"]",
                                        "{\"\\u0000\":1}",
                                        "[0.1,-1.25e-3,123456789.125]"};
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
        ck_like_jansson(texts[k], strlen(texts[k]));
    ck_like_jansson("[1]\0 ", 5);
    ck_like_jansson("[\"a\0b\"]", 7);
}
END_TEST

START_TEST(damaged_json_fails_as_jansson_does)
{
    static const char whole[] = "{\"k\": [1, -2.5e3, true, null, \"\\u00e9\\ud83d\\ude00x\\n\"], "
                                "\"l\": {\"m\": \"\xc3\xa9\", \"n\": [[], {}]}}",
                      letters[] = "{}[]:,\"\\u0123e.-+ntrf\xc3\xa9 x";
    uint64_t seed = 7;
    for (int k = 0; k < 20000; k++) {
        char text[sizeof whole];
        memcpy(text, whole, sizeof whole);
        for (int c = 0; c <= (int)test_below(&seed, 3); c++)
            text[test_below(&seed, sizeof whole - 1)] =
                letters[test_below(&seed, sizeof letters - 1)];
        ck_like_jansson(text, strlen(text));
    }
}
END_TEST

/* jansson drops one NUL byte after a literal. */
START_TEST(nul_bytes_between_values_are_refused)
{
    static const struct {
        const char text[16];
        int64_t length;
    } all[] = {{"[255\0]", 6}, {"[\0 255]", 7},    {"[true\0]", 7}, {"[1\0,2]", 6},
               {"[1]\0", 4},   {"{\"a\"\0:1}", 8}, {"[\"a\"\0]", 6}};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        json_t *root = NULL;
        ck_assert_int_eq(gnn__json_parse(&root, all[k].text, all[k].length, 0, 4), GNN_EFORMAT);
        ck_assert_ptr_null(root);
    }
}
END_TEST

static int parse(const char *text, int flags, int levels)
{
    json_t *root;
    const int rc = gnn__json_parse(&root, text, (int64_t)strlen(text), flags, levels);
    json_decref(root);
    return rc;
}

START_TEST(json_with_flags)
{
    json_t *root;
    const char wide[] = "[9223372036854775808, 3]",
               twice[] = "{\"a\": 1, \"a\": 2, \"b\": \"\\u0000\"}";
    ck_ok(gnn__json_parse(&root, wide, sizeof wide - 1, GNN__JSON_WIDE, 1));
    ck_assert(json_is_real(json_array_get(root, 0)) && json_is_integer(json_array_get(root, 1)));
    json_decref(root);
    ck_ok(gnn__json_parse(&root, twice, sizeof twice - 1, GNN__JSON_NUL, 1));
    ck_assert_int_eq(json_integer_value(json_object_get(root, "a")), 2);
    ck_assert_uint_eq(json_string_length(json_object_get(root, "b")), 1);
    json_decref(root);
    ck_ok(parse("[[[]]]", 0, 3));
    ck_fails(parse("[[[]]]", 0, 2), GNN_EFORMAT,
             "line 1, column 3 (byte 2): more than 2 levels deep");
    ck_fails(parse("{\"a\":\n 1, \"a\": 2}", GNN__JSON_UNIQUE, 2), GNN_EFORMAT,
             "line 2, column 5 (byte 10): a duplicate key");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("json");
    TCase *c = tcase_create("json");
    tcase_add_test(c, json_parses_as_jansson_does);
    tcase_add_test(c, damaged_json_fails_as_jansson_does);
    tcase_add_test(c, nul_bytes_between_values_are_refused);
    tcase_add_test(c, json_with_flags);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
