/* Folders that hold a vocabulary without tokenizer.json, as each family publishes them: ids are
 * those of transformers, also after a key of a file has changed, or the folder is refused.
 * tests/transformers/tokenizer_folders.py makes golden/tokenizer_folders.tsv. */
#include "tokenizer_make.h"

enum { MOST_FIELDS = 8, MOST_LINE = 1 << 19 };

/* Fields of a line, which tabs separate. */
typedef struct line {
    char *text, *at[MOST_FIELDS];
    int n;
} line_t;

static bool next_line(FILE *file, line_t *line)
{
    size_t room = 0;
    line->text = NULL;
    const ssize_t n = getline(&line->text, &room, file);
    line->n = 0;
    if (n <= 0) {
        free(line->text);
        return false;
    }
    line->text[n - 1] = '\0';
    for (char *at = line->text; at && line->n < MOST_FIELDS; line->n++) {
        line->at[line->n] = at;
        at = strchr(at, '\t');
        if (at)
            *at++ = '\0';
    }
    return true;
}

/* A string of JSON, for json_decref. */
static json_t *string_of(const char *json)
{
    static char list[MOST_LINE];
    json_t *root = NULL;
    ck_assert_uint_lt(strlen(json), sizeof list - 3);
    snprintf(list, sizeof list, "[%s]", json);
    ck_ok(gnn__json_parse(&root, list, (int64_t)strlen(list), GNN__JSON_NUL, 4));
    json_t *text = json_incref(json_array_get(root, 0));
    json_decref(root);
    return text;
}

/* ---- models of SentencePiece ---- */

typedef struct model {
    char name[64];
    bytes_t bytes, trainer, normaliser;
} model_t;

static void put_field(bytes_t *b, int number, int value)
{
    const int tag = number << 3;
    if (tag < 0x80)
        put(b, (const char[]){(char)tag, (char)value}, 2);
    else
        put(b, (const char[]){(char)(tag | 0x80), (char)(tag >> 7), (char)value}, 3);
}

static void put_message(bytes_t *b, int number, const bytes_t *message)
{
    put(b, (const char[]){(char)(number << 3 | 2), (char)message->n}, 2);
    put(b, message->at, message->n);
}

static void begin_model(model_t *m, const line_t *line)
{
    m->bytes.n = m->trainer.n = m->normaliser.n = 0;
    snprintf(m->name, sizeof m->name, "%s", line->at[1]);
    put_field(&m->trainer, 3, atoi(line->at[2]));
    put_field(&m->trainer, 35, atoi(line->at[3]));
    put_field(&m->normaliser, 3, atoi(line->at[4]));
    put_field(&m->normaliser, 4, atoi(line->at[5]));
}

static void end_model(model_t *m)
{
    if (!m->name[0])
        return;
    put_message(&m->bytes, 2, &m->trainer);
    put_message(&m->bytes, 3, &m->normaliser);
    write_file(m->name, m->bytes.at, m->bytes.n);
    m->name[0] = '\0';
}

/* ---- the folder ---- */

static void clear_folder(void)
{
    count_files(1);
}

static void ck_ids(const gnn_tokenizer_t *t, const char *name, const char *text, int64_t n,
                   const char *expected)
{
    static char got[1 << 16];
    gnn_tokens_t *tokens = encode_bytes(t, text, n, (gnn_encoding_t){0});
    size_t at = 0;
    got[0] = '\0';
    for (int64_t k = 0; k < tokens->rows; k++)
        at += (size_t)sprintf(got + at, "%s%d", k ? " " : "", tokens->ids[k]);
    gnn_tokens_free(tokens);
    ck_assert_msg(strcmp(got, expected) == 0, "%s: \"%s\": %s, expected %s", name, text, got,
                  expected);
}

static void ck_text(const gnn_tokenizer_t *t, const char *name, const line_t *line)
{
    json_t *text = string_of(line->at[1]);
    ck_ids(t, name, json_string_value(text), (int64_t)json_string_length(text), line->at[2]);
    json_decref(text);
}

static char *contents_of(const char *name)
{
    FILE *file = fopen(in_folder(name), "rb");
    static char text[MOST_LINE];
    if (!file)
        return NULL;
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

/* The folder with another file in the place of one: 1 if it is refused. */
static int ck_changed(const char *name, const line_t *line)
{
    gnn_tokenizer_t *t = NULL;
    char *kept = contents_of(line->at[1]);
    json_t *text = string_of(line->at[2]);
    kept = kept ? strdup(kept) : NULL;
    write_file(line->at[1], json_string_value(text), json_string_length(text));
    const int rc = gnn_tokenizer_open(&t, test_folder);
    const bool refused = strcmp(line->at[3], "refused") == 0;
    ck_assert_msg((rc != GNN_OK) == refused, "%s: %s: %d %s", name, json_string_value(text), rc,
                  rc ? gnn_error_message() : "is not refused");
    ck_assert_msg(!refused || strstr(gnn_error_message(), ".json"), "%s", gnn_error_message());
    if (!refused) {
        ck_ids(t, name, "The graph is a model of the world.", 34, line->at[3]);
        ck_ids(t, name, "(a) [b] {c}!?", 13, line->at[4]);
    }
    gnn_tokenizer_free(t);
    json_decref(text);
    if (kept)
        write_file(line->at[1], kept, strlen(kept));
    else
        unlink(in_folder(line->at[1]));
    free(kept);
    return refused;
}

/* Of two equal texts that are cut to five tokens, the first keeps three by the classes that are
 * written in Python, else two. */
static void ck_odd_pair(const gnn_tokenizer_t *t, const char *name)
{
    const gnn_texts_t text = {1, (const char *[]){"The graph is a model of the world."}, NULL};
    gnn_tokens_t *whole = NULL, *pair = NULL;
    const bool python = gnn__list_has("marian m2m100 bert_generation", name);
    const int first = python ? 3 : 2;
    ck_ok(gnn_tokenizer_encode(t, &text, NULL, &(gnn_encoding_t){.special = GNN_OFF}, &whole));
    ck_ok(gnn_tokenizer_encode(t, &text, &text,
                               &(gnn_encoding_t){.special = GNN_OFF, .max_length = 5}, &pair));
    ck_assert_int_eq(pair->rows, 5);
    for (int k = 0; k < 5; k++)
        ck_assert_msg(pair->ids[k] == whole->ids[k < first ? k : k - first], "%s: token %d", name, k);
    gnn_tokens_free(whole);
    gnn_tokens_free(pair);
}

START_TEST(published_forms_have_the_ids_of_transformers)
{
    FILE *file = fopen(GNN_SOURCE_ROOT "/tests/golden/tokenizer_folders.tsv", "rb");
    static model_t model;
    gnn_tokenizer_t *t = NULL;
    char name[64] = "";
    int families = 0, texts = 0, changes = 0, refused = 0;
    ck_assert_ptr_nonnull(file);
    for (line_t line; next_line(file, &line); free(line.text)) {
        const char kind = line.text[0];
        if (kind != 'p')
            end_model(&model);
        if (kind == 'D') {
            gnn_tokenizer_free(t);
            t = NULL;
            clear_folder();
            snprintf(name, sizeof name, "%s", line.at[1]);
            families++;
        } else if (kind == 'J') {
            json_t *text = string_of(line.at[2]);
            write_file(line.at[1], json_string_value(text), json_string_length(text));
            json_decref(text);
        } else if (kind == 'P') {
            begin_model(&model, &line);
        } else if (kind == 'p') {
            json_t *text = string_of(line.at[3]);
            put_piece(&model.bytes, json_string_value(text), strtof(line.at[1], NULL),
                      atoi(line.at[2]));
            json_decref(text);
        } else if (kind == 'X') {
            if (!t) {
                ck_ok(gnn_tokenizer_open(&t, test_folder));
                ck_odd_pair(t, name);
            }
            ck_text(t, name, &line);
            texts++;
        } else if (kind == 'C') {
            refused += ck_changed(name, &line);
            changes++;
        }
    }
    fclose(file);
    gnn_tokenizer_free(t);
    printf("%d families, %d texts, %d changes, %d of them refused\n", families, texts, changes,
           refused);
    ck_assert_int_ge(families, 25);
    ck_assert_int_ge(texts, 25 * families);
    ck_assert_int_ge(changes, 40 * families);
}
END_TEST

/* ---- truncation and decoding settings of a folder ---- */

#define WORDS "[UNK]\n[CLS]\n[SEP]\na\nb\nc\n.\n"

static gnn_tokenizer_t *open_words(const char *config)
{
    gnn_tokenizer_t *t = NULL;
    write_file("vocab.txt", WORDS, sizeof WORDS - 1);
    write_file("config.json", "{\"model_type\": \"bert\"}", 22);
    write_file("tokenizer_config.json", config, strlen(config));
    ck_ok(gnn_tokenizer_open(&t, test_folder));
    return t;
}

START_TEST(truncation_side_is_the_folders)
{
    clear_folder();
    gnn_tokenizer_t *t = open_words("{}");
    ck_assert_str_eq(ids_of(t, "a b c", (gnn_encoding_t){.max_length = 4}), "1 3 4 2");
    gnn_tokenizer_free(t);
    t = open_words("{\"truncation_side\": \"left\"}");
    ck_assert_str_eq(ids_of(t, "a b c", (gnn_encoding_t){.max_length = 4}), "1 4 5 2");
    ck_assert_str_eq(ids_of(t, "a b c", (gnn_encoding_t){.max_length = 9}), "1 3 4 5 2");
    gnn_tokenizer_free(t);
    t = NULL;
    write_file("tokenizer_config.json", "{\"truncation_side\": \"top\"}", 26);
    ck_fails(gnn_tokenizer_open(&t, test_folder), GNN_EUNSUPPORTED, "\"left\" or \"right\"");
}
END_TEST

/* Capitals in the vocabulary decide only where a single file is opened. */
START_TEST(lower_case_is_the_folders)
{
    clear_folder();
    gnn_tokenizer_t *t = open_words("{}");
    ck_assert_str_eq(ids_of(t, "A b C", (gnn_encoding_t){.special = GNN_OFF}), "3 4 5");
    gnn_tokenizer_free(t);
    t = open_words("{\"do_lower_case\": false}");
    ck_assert_str_eq(ids_of(t, "A b C", (gnn_encoding_t){.special = GNN_OFF}), "0 4 0");
    gnn_tokenizer_free(t);
}
END_TEST

START_TEST(a_model_of_another_kind_than_the_classs)
{
    static const char words[] =
        "{\"model\": {\"type\": \"WordLevel\", \"unk_token\": \"?\", \"vocab\": "
        "{\"?\": 0, \"a\": 1}}}";
    gnn_tokenizer_t *t = NULL;
    clear_folder();
    write_file("tokenizer.json", words, sizeof words - 1);
    write_file("config.json", "{\"model_type\": \"gpt2\"}", 22);
    ck_fails(gnn_tokenizer_open(&t, test_folder), GNN_EUNSUPPORTED,
             "\"type\" is \"WordLevel\", \"BPE\" is expected: so model_type \"gpt2\" says");
    write_file("tokenizer_config.json", "{\"tokenizer_class\": \"BertTokenizerFast\"}", 40);
    ck_fails(gnn_tokenizer_open(&t, test_folder), GNN_EUNSUPPORTED,
             "\"WordPiece\" is expected: so tokenizer_class \"BertTokenizer\" says");
    write_file("tokenizer_config.json", "{\"tokenizer_class\": \"PreTrainedTokenizerFast\"}", 46);
    ck_ok(gnn_tokenizer_open(&t, test_folder));
    gnn_tokenizer_free(t);
}
END_TEST

START_TEST(a_folder_without_a_tokenizer)
{
    gnn_tokenizer_t *t = NULL;
    clear_folder();
    write_file("config.json", "{\"model_type\": \"bert\"}", 22);
    ck_fails(gnn_tokenizer_open(&t, test_folder), GNN_ENOTFOUND, "expected the files of a tokenizer");
    write_file("spiece.model", "\n", 1);
    ck_fails(gnn_tokenizer_open(&t, test_folder), GNN_EUNSUPPORTED, "spiece.model without");
}
END_TEST

/* Every allocation of opening a folder fails once. */
START_TEST(failing_allocations_of_a_folder)
{
    int64_t n = 0;
    int rc;
    clear_folder();
    gnn_tokenizer_free(open_words("{\"do_lower_case\": true, \"cls_token\": \"[CLS]\"}"));
    do {
        gnn_tokenizer_t *t = NULL;
        gnn__fail_allocation(++n);
        rc = gnn_tokenizer_open(&t, test_folder);
        gnn__fail_allocation(0);
        ck_assert_msg(rc == GNN_OK || rc == GNN_EMEMORY, "allocation %d: %d, %s", (int)n, rc,
                      gnn_error_message());
        gnn_tokenizer_free(t);
    } while (rc != GNN_OK);
    ck_assert_int_gt(n, 20);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tokenizer_folders");
    TCase *c = tcase_create("tokenizer_folders");
    tcase_set_timeout(c, 300);
    tcase_add_unchecked_fixture(c, make_folder, remove_folder);
    tcase_add_test(c, published_forms_have_the_ids_of_transformers);
    tcase_add_test(c, truncation_side_is_the_folders);
    tcase_add_test(c, lower_case_is_the_folders);
    tcase_add_test(c, a_model_of_another_kind_than_the_classs);
    tcase_add_test(c, a_folder_without_a_tokenizer);
    tcase_add_test(c, failing_allocations_of_a_folder);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
