/* Truncated, damaged and inconsistent tokenizer files; failing allocations. */
#include "tokenizer_make.h"

static void ck_bad(const char *name, const void *data, size_t n, int code, const char *words)
{
    gnn_tokenizer_t *t = (gnn_tokenizer_t *)1;
    ck_fails(gnn_tokenizer_open(&t, write_file(name, data, n)), code, words);
    ck_assert_ptr_null(t);
}
#define CK_BAD(name, text, words) ck_bad(name, text, sizeof(text) - 1, GNN_EFORMAT, words)
#define CK_UNKNOWN(name, text, words) ck_bad(name, text, sizeof(text) - 1, GNN_EUNSUPPORTED, words)

START_TEST(bad_arguments_and_offsets)
{
    gnn_tokenizer_t *t;
    gnn_tokens_t *tokens;
    const char *text = "a", *none = NULL;
    const int64_t negative = -1, huge = (int64_t)1 << 40;
    ck_fails(gnn_tokenizer_open(NULL, "x"), GNN_EINVALID, "tokenizer is NULL");
    ck_fails(gnn_tokenizer_open(&t, NULL), GNN_EINVALID, "path");
    ck_fails(gnn_tokenizer_open(&t, in_folder("none")), GNN_EIO, "none");
    t = open_text("v.txt", "[UNK]\na\n");
    ck_fails(gnn_tokenizer_encode(NULL, &(gnn_texts_t){1, &text, NULL}, NULL, NULL, &tokens),
             GNN_EINVALID, "tokenizer");
    ck_fails(gnn_tokenizer_encode(t, NULL, NULL, NULL, &tokens), GNN_EINVALID, "first is NULL");
    ck_fails(gnn_tokenizer_encode(t, &(gnn_texts_t){1, &none, NULL}, NULL, NULL, &tokens),
             GNN_EINVALID, "text 0 is NULL");
    ck_fails(gnn_tokenizer_encode(t, &(gnn_texts_t){1, &text, &negative}, NULL, NULL, &tokens),
             GNN_EINVALID, "-1 bytes");
    ck_fails(gnn_tokenizer_encode(t, &(gnn_texts_t){1, &text, &huge}, NULL, NULL, &tokens),
             GNN_EOVERFLOW, "bytes");
    ck_fails(gnn_tokenizer_encode(t, &(gnn_texts_t){1, &text, NULL}, &(gnn_texts_t){0, NULL, NULL},
                                  NULL, &tokens),
             GNN_EINVALID, "expected equal counts");
    ck_fails(gnn_tokenizer_encode(t, &(gnn_texts_t){1, &text, NULL}, NULL,
                                  &(gnn_encoding_t){.max_length = -1}, &tokens),
             GNN_EINVALID, "max_length");
    ck_ok(gnn_tokenizer_encode(t, &(gnn_texts_t){0, NULL, NULL}, NULL, NULL, &tokens));
    ck_assert_int_eq(tokens->rows, 0);
    gnn_tokens_free(tokens);
    gnn_tokens_free(NULL);
    gnn_tokenizer_free(t);
    gnn_tokenizer_free(NULL);
}
END_TEST

START_TEST(bad_json)
{
    CK_BAD("a.json", "{\"model\": ", "a.json: line 1");
    CK_BAD("a.json", "{}", "a.json: \"model\" is nothing, an object is expected");
    CK_UNKNOWN("a.json", "{\"model\": {\"type\": \"Magic\"}}", "\"Magic\" is not known");
    CK_BAD("a.json", "{\"model\": {\"type\": \"WordPiece\"}}", "model: \"vocab\" is nothing");
    CK_BAD("a.json", "{\"model\": {\"type\": \"WordPiece\", \"vocab\": {\"a\": 0}}}",
           "no token for unknown words");
    CK_BAD("a.json", "{\"model\": {\"type\": \"WordLevel\", \"vocab\": {\"a\": -1}}}", "the id -1");
    CK_BAD("a.json", "{\"model\": {\"type\": \"WordLevel\", \"vocab\": {\"a\": 1, \"b\": 1}}}",
           "the same id 1");
    CK_BAD("a.json", "{\"model\": {\"type\": \"WordLevel\", \"vocab\": {\"a\": 99999999999}}}",
           "99999999999");
    CK_BAD("a.json", "{\"model\": {\"type\": \"WordLevel\", \"vocab\": {\"a\": \"x\"}}}",
           "a string, an id is expected");
    CK_BAD("a.json", "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0}, \"merges\": [\"a b\"]}}",
           "merge 0: the right token of \"a b\"");
    CK_BAD("a.json", "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0}, \"merges\": [\"a a\"]}}",
           "merge 0: the two together of \"a a\"");
    CK_BAD("a.json", "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0}, \"merges\": [\"a\"]}}",
           "merge 0");
    CK_BAD("a.json",
           "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0}, \"merges\": [[\"a\", 1]]}}",
           "merge 0");
    CK_BAD("a.json", "{\"model\": {\"type\": \"Unigram\", \"vocab\": [[\"a\", 0]], \"unk_id\": 1}}",
           "\"unk_id\" is 1, but there are 1 pieces");
    CK_BAD("a.json", "{\"model\": {\"type\": \"Unigram\", \"vocab\": [[\"a\"]], \"unk_id\": 0}}",
           "piece 0");
#define WITH(part) "{\"model\": {\"type\": \"WordLevel\", \"vocab\": {\"a\": 1}}, " part "}"
    CK_UNKNOWN("a.json", WITH("\"normalizer\": {\"type\": \"Magic\"}"),
               "normalizer: a step \"Magic\" is not known");
    CK_BAD("a.json", WITH("\"normalizer\": {\"type\": \"Sequence\"}"), "normalizers");
    CK_BAD("a.json", WITH("\"normalizer\": 5"), "\"type\" is nothing");
    CK_BAD("a.json",
           WITH("\"normalizer\": {\"type\": \"Precompiled\", \"precompiled_charsmap\": \"AA%A\"}"),
           "not base64");
    CK_BAD("a.json",
           WITH("\"normalizer\": {\"type\": \"Precompiled\", \"precompiled_charsmap\": \"/////w==\"}"),
           "the table of characters");
    CK_UNKNOWN(
        "a.json",
        WITH("\"pre_tokenizer\": {\"type\": \"Split\", \"behavior\": \"Isolated\", \"pattern\": {\"Regex\": \"x(\"}}"),
        "Split: the pattern \"x(\"");
    CK_BAD("a.json", WITH("\"added_tokens\": [{\"id\": 0}]"),
           "added token 0: \"content\" is nothing");
    CK_BAD("a.json", WITH("\"added_tokens\": [{\"id\": 1, \"content\": \"z\"}]"), "the same id 1");
    CK_BAD(
        "a.json",
        WITH("\"post_processor\": {\"type\": \"TemplateProcessing\", \"single\": [{\"SpecialToken\": {\"id\": \"x\"}}], \"pair\": []}"),
        "post_processor: special token \"x\"");
    CK_BAD(
        "a.json",
        WITH("\"post_processor\": {\"type\": \"BertProcessing\", \"cls\": [\"a\", 7], \"sep\": [\"a\", 1]}"),
        "\"cls\"");
    CK_UNKNOWN("a.json", WITH("\"decoder\": {\"type\": \"Magic\"}"),
               "decoder: a step \"Magic\" is not known");
    CK_BAD("a.json", WITH("\"decoder\": {\"type\": \"CTC\"}"), "\"pad_token\" is nothing");
    CK_BAD("a.json", WITH("\"pre_tokenizer\": {\"type\": \"FixedLength\", \"length\": 0}"),
           "\"length\" is 0, at least 1 is expected");
    CK_BAD("a.json",
           WITH("\"pre_tokenizer\": {\"type\": \"CharDelimiterSplit\", \"delimiter\": \"ab\"}"),
           "\"delimiter\" is \"ab\", one character is expected");
}
END_TEST

START_TEST(bad_text_files)
{
    CK_BAD("v.txt", "a\nb\n", "has 2 lines, and none is [UNK]");
    CK_BAD("v.txt", "[UNK]\n\xff\n", "v.txt: line 2: is not UTF-8");
    CK_BAD("v.txt", "[UNK]\na\0b\n", "v.txt: line 2");
    write_file("vocab.json", "{\"a\": 0, \"b\": 1, \"ab\": 2}", 25);
    CK_BAD("merges.txt", "#version: 0.2\na b\na c\n", "merge 1: the right token of \"a c\"");
    CK_BAD("merges.txt", "#version: 0.2\na b\n\xff a\n", "line 3: is not UTF-8");
    CK_BAD("merges.txt", "#version: 0.2\na b c\n", "merge 0");
    write_file("vocab.json", "{\"a\": 0", 7);
    CK_BAD("merges.txt", "#version: 0.2\na b\n", "vocab.json: line 1");
    unlink(in_folder("vocab.json"));
    ck_bad("merges.txt", "#version: 0.2\na b\n", 18, GNN_EIO,
           "is not another tokenizer, and merges.txt needs vocab.json next to it");
}
END_TEST

/* ---- SentencePiece ---- */

static bytes_t model(void)
{
    bytes_t b = {.n = 0};
    put_piece(&b, "<unk>", 0, 2);
    put_piece(&b, "a", -1, 1);
    put_piece(&b, "ab", -2, 1);
    put_trainer(&b, 2);
    return b;
}

START_TEST(bad_models)
{
    bytes_t b = model();
    gnn_tokenizer_t *t = NULL;
    ck_ok(gnn_tokenizer_open(&t, write_file("m.model", b.at, b.n)));
    gnn_tokenizer_free(t);
    put_piece(&b, "a", -1, 2);
    ck_bad("m.model", b.at, b.n, GNN_EFORMAT, "m.model: piece 3 is a second unknown one");
    b = model();
    put_piece(&b, "\xff", -1, 1);
    ck_bad("m.model", b.at, b.n, GNN_EFORMAT, "piece 3 is not UTF-8");
    b = model();
    put_piece(&b, "x", NAN, 1);
    ck_bad("m.model", b.at, b.n, GNN_EFORMAT, "not finite");
    b = model();
    put_piece(&b, "x", 0, 9);
    ck_bad("m.model", b.at, b.n, GNN_EFORMAT, "unknown type");
    b = model();
    put_trainer(&b, 9);
    ck_bad("m.model", b.at, b.n, GNN_EUNSUPPORTED, "neither unigram");
    b = model();
    put(&b,
        "\x1a\x05\x12\x03"
        "abc",
        7);
    ck_bad("m.model", b.at, b.n, GNN_EFORMAT, "the table of characters has 3 bytes");
}
END_TEST

/* A file truncated anywhere opens or gives an error, and a tokenizer that opened encodes. */
static void cut_everywhere(const char *name, const char *data, size_t n, size_t from)
{
    for (size_t k = from; k < n; k++) {
        gnn_tokenizer_t *t = NULL;
        const int rc = gnn_tokenizer_open(&t, write_file(name, data, k));
        ck_assert((rc == GNN_OK) == (t != NULL));
        ck_assert(rc == GNN_OK || *gnn_error_message());
        if (t)
            ids_of(t, "ab a", (gnn_encoding_t){0});
        gnn_tokenizer_free(t);
    }
}

START_TEST(files_cut_at_every_byte)
{
    bytes_t b = model();
    cut_everywhere("m.model", (const char *)b.at, b.n, 1);
    static const char *const merges[] = {"a b", NULL};
    const char *json = byte_pairs_json(LLAMA3_SPLIT, merges, "");
    cut_everywhere("t.json", json, strlen(json), strlen(json) - 200);
    static char binary[4 + 260 * 9];
    binary[0] = 1;
    for (int k = 0; k < 260; k++) {
        binary[4 + 9 * k + 4] = 1;
        binary[4 + 9 * k + 8] = 'a';
    }
    cut_everywhere("tok.bin", binary, sizeof binary, sizeof binary - 40);
}
END_TEST

/* ---- allocations ---- */

static char path[512];

static int scenario(void)
{
    gnn_tokenizer_t *t = NULL;
    gnn_tokens_t *tokens = NULL;
    char *text = NULL;
    const char *texts[] = {"the lo and 12\xff<|end|>", "ab"};
    int rc = gnn_tokenizer_open(&t, path);
    if (rc == GNN_OK)
        rc = gnn_tokenizer_encode(t, &(gnn_texts_t){2, texts, NULL}, NULL,
                                  &(gnn_encoding_t){.places = GNN_ON}, &tokens);
    if (rc == GNN_OK)
        rc = gnn_tokenizer_decode(t, tokens->rows, tokens->ids, GNN_ON, &text, NULL);
    gnn_free(text);
    gnn_tokens_free(tokens);
    gnn_tokenizer_free(t);
    return rc;
}

static void brutal(void)
{
    int64_t n = 0;
    int rc;
    do {
        gnn__fail_allocation(++n);
        rc = scenario();
        gnn__fail_allocation(0);
        ck_assert_msg(rc == GNN_OK || rc == GNN_EMEMORY, "allocation %d: %d, %s", (int)n, rc,
                      gnn_error_message());
    } while (rc != GNN_OK);
    ck_assert_int_gt(n, 20);
}

START_TEST(failing_allocations)
{
    static const char *const merges[] = {"a b", NULL};
    const char *json = byte_pairs_json(LLAMA3_SPLIT, merges,
                                       "{\"id\": 257, \"content\": \"<|end|>\", \"special\": true}");
    strcpy(path, write_file("t.json", json, strlen(json)));
    brutal();
    bytes_t b = model();
    strcpy(path, write_file("m.model", b.at, b.n));
    brutal();
    strcpy(path, write_file("v.txt", "[UNK]\n[CLS]\n[SEP]\na\n##b\n", 24));
    brutal();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tokenizer_files");
    TCase *c = tcase_create("tokenizer_files");
    tcase_set_timeout(c, 300);
    tcase_add_unchecked_fixture(c, make_folder, remove_folder);
    tcase_add_test(c, bad_arguments_and_offsets);
    tcase_add_test(c, bad_json);
    tcase_add_test(c, bad_text_files);
    tcase_add_test(c, bad_models);
    tcase_add_test(c, files_cut_at_every_byte);
    tcase_add_test(c, failing_allocations);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
