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

/* Continues a hash of the offsets of tokens. */
static uint64_t hash_after(const gnn_tokenizer_t *t, const char *text, int64_t n, uint64_t value)
{
    gnn_tokens_t *tokens =
        encode_bytes(t, text, n, (gnn_encoding_t){.special = GNN_OFF, .places = GNN_ON});
    for (int64_t k = 0; k < tokens->rows; k++) {
        value = (value * 31 + (uint64_t)tokens->begin[k] + 1) % 65521;
        value = (value * 31 + (uint64_t)tokens->end[k] + 1) % 65521;
    }
    gnn_tokens_free(tokens);
    return value;
}

static unsigned hash_of(const gnn_tokenizer_t *t, const char *text, int64_t n)
{
    return (unsigned)hash_after(t, text, n, 0);
}

/* A file with this pre-tokenizer. Every word is the unknown token. */
static const char *with_steps(const char *steps)
{
    static char json[1 << 14];
    snprintf(json, sizeof json,
             "{\"pre_tokenizer\": %s, \"model\": {\"type\": \"WordLevel\", \"unk_token\": \"a\", "
             "\"vocab\": {\"a\": 0}}}",
             steps);
    return json;
}

/* Texts that a family cuts elsewhere. */
static int count_wrong(const char *name, const char *steps, const char *hashes, const texts_t *texts)
{
    int wrong = 0;
    gnn_tokenizer_t *t = open_text("patterns.json", with_steps(steps));
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

/* Forms of patterns on all texts: P has a hash of all offsets, R is refused. */
static bool is_as_expected(char *line, const texts_t *texts)
{
    char *steps = strchr(line, '\t') + 1, *hash = strchr(steps, '\t');
    if (*line == 'R') {
        gnn_tokenizer_t *t = NULL;
        const char *json = with_steps(steps);
        const int rc = gnn_tokenizer_open(&t, write_file("patterns.json", json, strlen(json)));
        const bool names = rc == GNN_EUNSUPPORTED && strstr(gnn_error_message(), "pattern");
        gnn_tokenizer_free(t);
        return names;
    }
    *hash = '\0';
    gnn_tokenizer_t *t = open_text("patterns.json", with_steps(steps));
    uint64_t value = 0;
    for (int64_t k = 0; k < texts->n; k++)
        value = hash_after(t, texts->at[k], texts->bytes[k], value);
    gnn_tokenizer_free(t);
    return value == strtoul(hash + 1, NULL, 16);
}

START_TEST(forms_of_patterns_mean_what_they_mean_to_oniguruma)
{
    static texts_t texts;
    FILE *file = open_golden();
    int forms = 0, wrong = 0;
    char *line;
    for (; (line = next_line(file)) != NULL; free(line)) {
        if (*line == 'T' || *line == 'X')
            add_text(&texts, line + 2);
        if (*line != 'P' && *line != 'R')
            continue;
        forms++;
        if (!is_as_expected(line, &texts) && ++wrong)
            printf("%s: %s\n", line, gnn_error_message());
    }
    fclose(file);
    for (int64_t k = 0; k < texts.n; k++)
        free(texts.at[k]);
    ck_assert_int_ge(forms, 110);
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
    tcase_add_test(c, forms_of_patterns_mean_what_they_mean_to_oniguruma);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
