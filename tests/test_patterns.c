/* Pre-tokenizers of published families cut hard texts where the package tokenizers cuts them:
 * golden/patterns.tsv, which tests/transformers/patterns.py makes. */
#include "tokenizer_make.h"

enum { MOST_TEXTS = 1000, HEX = 4 };

typedef struct texts {
    char *at[MOST_TEXTS];
    int64_t bytes[MOST_TEXTS];
    int64_t n;
} texts_t;

static FILE *open_golden(void)
{
    FILE *file = fopen(GNN_SOURCE_ROOT "/tests/golden/patterns.tsv", "rb");
    ck_assert_ptr_nonnull(file);
    return file;
}

/* A line without its end, NULL after the last; released with free. */
static char *next_line(FILE *file)
{
    char *line = NULL;
    size_t room = 0;
    const ssize_t n = getline(&line, &room, file);
    if (n <= 0) {
        free(line);
        return NULL;
    }
    line[n - 1] = '\0';
    return line;
}

static void add_text(texts_t *texts, const char *json)
{
    char list[1 << 12];
    json_t *root = NULL;
    ck_assert_int_lt(texts->n, MOST_TEXTS);
    snprintf(list, sizeof list, "[%s]", json);
    ck_ok(gnn__json_parse(&root, list, (int64_t)strlen(list), GNN__JSON_NUL, 4));
    const json_t *text = json_array_get(root, 0);
    texts->bytes[texts->n] = (int64_t)json_string_length(text);
    texts->at[texts->n] = malloc(json_string_length(text) + 1);
    ck_assert_ptr_nonnull(texts->at[texts->n]);
    memcpy(texts->at[texts->n++], json_string_value(text), json_string_length(text) + 1);
    json_decref(root);
}

static unsigned hash_of(const gnn_tokenizer_t *t, const char *text, int64_t n)
{
    gnn_tokens_t *tokens =
        encode_bytes(t, text, n, (gnn_encoding_t){.special = GNN_OFF, .places = GNN_ON});
    uint64_t value = 0;
    for (int64_t k = 0; k < tokens->rows; k++) {
        value = (value * 31 + (uint64_t)tokens->begin[k] + 1) % 65521;
        value = (value * 31 + (uint64_t)tokens->end[k] + 1) % 65521;
    }
    gnn_tokens_free(tokens);
    return (unsigned)value;
}

/* Texts that a family cuts elsewhere. Every word is the unknown token. */
static int count_wrong(const char *name, const char *steps, const char *hashes, const texts_t *texts)
{
    static char json[1 << 14];
    int wrong = 0;
    snprintf(json, sizeof json,
             "{\"pre_tokenizer\": %s, \"model\": {\"type\": \"WordLevel\", \"unk_token\": \"a\", "
             "\"vocab\": {\"a\": 0}}}",
             steps);
    gnn_tokenizer_t *t = open_text("patterns.json", json);
    ck_assert_uint_eq(strlen(hashes), (size_t)(HEX * texts->n));
    for (int64_t k = 0; k < texts->n; k++) {
        char digits[HEX + 1] = "";
        memcpy(digits, hashes + HEX * k, HEX);
        const unsigned expected = (unsigned)strtoul(digits, NULL, 16);
        if (hash_of(t, texts->at[k], texts->bytes[k]) != expected && wrong++ == 0)
            printf("%s: text %d: %s\n", name, (int)k, texts->at[k]);
    }
    gnn_tokenizer_free(t);
    return wrong;
}

START_TEST(published_pre_tokenizers_match_the_package)
{
    static texts_t texts;
    FILE *file = open_golden();
    int families = 0, wrong = 0;
    char *line;
    for (; (line = next_line(file)) != NULL; free(line)) {
        char *name = strchr(line, '\t');
        if (*line == 'T')
            add_text(&texts, name + 1);
        if (*line != 'F')
            continue;
        char *steps = strchr(name + 1, '\t'), *hashes = strchr(steps + 1, '\t');
        *steps = *hashes = '\0';
        const int of_family = count_wrong(name + 1, steps + 1, hashes + 1, &texts);
        if (of_family > 0)
            printf("%s: %d of %d texts\n", name + 1, of_family, (int)texts.n);
        wrong += of_family;
        families++;
    }
    fclose(file);
    for (int64_t k = 0; k < texts.n; k++)
        free(texts.at[k]);
    ck_assert_int_ge(families, 40);
    ck_assert_int_ge(texts.n, 500);
    ck_assert_int_eq(wrong, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("patterns");
    TCase *c = tcase_create("patterns");
    tcase_set_timeout(c, 300);
    tcase_add_unchecked_fixture(c, make_folder, remove_folder);
    tcase_add_test(c, published_pre_tokenizers_match_the_package);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
