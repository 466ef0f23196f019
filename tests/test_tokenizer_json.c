/* Drawn files tokenizer.json give ids, types, offsets and texts as the package tokenizers does, or
 * are refused: golden/tokenizer_json.tsv, which tests/transformers/tokenizer_json.py makes. */
#include "tokenizer_make.h"

enum { MOST_TEXTS = 64, MOST_LISTS = 64, HEX = 4, ROOM = 1 << 17 };

typedef struct golden {
    char *texts[MOST_TEXTS], *lists[MOST_LISTS]; /* texts; tokens of models, as members of JSON */
    int64_t bytes[MOST_TEXTS];
    int n_texts, n_lists, equal, refused, wrong;
} golden_t;

static void add_text(golden_t *g, const char *json)
{
    static char list[1 << 12];
    json_t *root = NULL;
    ck_assert_int_lt(g->n_texts, MOST_TEXTS);
    ck_assert_int_lt(snprintf(list, sizeof list, "[%s]", json), (int)sizeof list);
    ck_ok(gnn__json_parse(&root, list, (int64_t)strlen(list), GNN__JSON_NUL, 4));
    const size_t n = json_string_length(json_array_get(root, 0));
    char *text = malloc(n + 1);
    ck_assert_ptr_nonnull(text);
    memcpy(text, json_string_value(json_array_get(root, 0)), n + 1);
    g->bytes[g->n_texts] = (int64_t)n;
    g->texts[g->n_texts++] = text;
    json_decref(root);
}

static unsigned hash_of(const gnn_tokenizer_t *t, const char *text, int64_t n)
{
    gnn_tokens_t *tokens =
        encode_bytes(t, text, n, (gnn_encoding_t){.special = GNN_ON, .places = GNN_ON});
    char *said = NULL;
    int64_t bytes = 0;
    uint64_t value = 0;
    ck_ok(gnn_tokenizer_decode(t, tokens->rows, tokens->ids, GNN_ON, &said, &bytes));
    for (int64_t k = 0; k < tokens->rows; k++)
        value = (value * 31 + (uint64_t)tokens->ids[k] + 1) % 65521;
    for (int64_t k = 0; k < tokens->rows; k++)
        value = (value * 31 + (uint64_t)tokens->types[k] + 1) % 65521;
    for (int64_t k = 0; k < tokens->rows; k++) {
        value = (value * 31 + (uint64_t)tokens->begin[k] + 1) % 65521;
        value = (value * 31 + (uint64_t)tokens->end[k] + 1) % 65521;
    }
    for (int64_t k = 0; k < bytes; k++)
        value = (value * 31 + (unsigned char)said[k] + 1) % 65521;
    gnn_free(said);
    gnn_tokens_free(tokens);
    return (unsigned)value;
}

static void compare(golden_t *g, gnn_tokenizer_t *t, const char *parts, const char *hashes)
{
    int wrong = 0;
    ck_assert_uint_eq(strlen(hashes), (size_t)(HEX * g->n_texts));
    for (int k = 0; k < g->n_texts; k++) {
        char digits[HEX + 1] = "";
        memcpy(digits, hashes + HEX * k, HEX);
        if (hash_of(t, g->texts[k], g->bytes[k]) != (unsigned)strtoul(digits, NULL, 16) && !wrong++)
            printf("text %d: %s: %s\n", k, g->texts[k], parts);
    }
    g->wrong += wrong > 0;
    g->equal++;
}

/* A file: keys of its model, count of the model's tokens, other parts, the expected error. */
static void try_file(golden_t *g, char *line)
{
    static char json[ROOM];
    gnn_tokenizer_t *t = NULL;
    char *model = line, *list = strchr(model, '\t'), *parts = strchr(list + 1, '\t'),
         *hashes = strchr(parts + 1, '\t');
    *list = *parts = *hashes = '\0';
    const int n = snprintf(json, sizeof json, "{\"model\": {%s, %s}, %s}", model,
                           g->lists[atoi(list + 1)], parts + 1);
    ck_assert_int_lt(n, ROOM);
    const int rc = gnn_tokenizer_open(&t, write_file("drawn.json", json, (size_t)n));
    if (strcmp(hashes + 1, "refused") == 0) {
        ck_assert_msg(rc == GNN_EUNSUPPORTED || rc == GNN_EFORMAT, "%d: %s: %s", rc, model,
                      parts + 1);
        g->refused++;
        return;
    }
    ck_assert_msg(rc == GNN_OK, "%s: %s %s", gnn_error_message(), model, parts + 1);
    compare(g, t, parts + 1, hashes + 1);
    gnn_tokenizer_free(t);
}

START_TEST(drawn_files_are_read_as_the_package_reads_them)
{
    static golden_t g;
    static char line[ROOM];
    FILE *file = fopen(GNN_SOURCE_ROOT "/tests/golden/tokenizer_json.tsv", "rb");
    ck_assert_ptr_nonnull(file);
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        if (*line == 'T')
            add_text(&g, line + 2);
        else if (*line == 'V' && g.n_lists < MOST_LISTS)
            g.lists[g.n_lists++] = strdup(line + 2);
        else if (*line == 'F')
            try_file(&g, line + 2);
    }
    fclose(file);
    for (int k = 0; k < g.n_texts; k++)
        free(g.texts[k]);
    for (int k = 0; k < g.n_lists; k++)
        free(g.lists[k]);
    ck_assert_int_ge(g.equal, 80);
    ck_assert_int_ge(g.refused, 20);
    ck_assert_int_eq(g.wrong, 0);
}
END_TEST

/* The package repeats what a pattern puts before the first character: such a text is refused. */
START_TEST(text_before_the_first_character_is_not_repeated)
{
    gnn_tokenizer_t *t = open_text(
        "before.json",
        "{\"normalizer\": {\"type\": \"Sequence\", \"normalizers\": [{\"type\": \"Replace\", "
        "\"pattern\": {\"Regex\": \"$\"}, \"content\": \"c\"}, {\"type\": \"Lowercase\"}]}, "
        "\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"c\": 1, \"\\n\": 2}, \"merges\": []}}");
    gnn_tokens_t *tokens = NULL;
    ck_assert_str_eq(ids_of(t, "a", (gnn_encoding_t){.special = GNN_ON}), "0 1");
    ck_assert_int_eq(gnn_tokenizer_encode(t, &(gnn_texts_t){1, &(const char *){"\na"}, NULL}, NULL,
                                          NULL, &tokens),
                     GNN_EUNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(gnn_error_message(), "before the first character"));
    gnn_tokenizer_free(t);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tokenizer_json");
    TCase *c = tcase_create("tokenizer_json");
    tcase_set_timeout(c, 300);
    tcase_add_unchecked_fixture(c, make_folder, remove_folder);
    tcase_add_test(c, drawn_files_are_read_as_the_package_reads_them);
    tcase_add_test(c, text_before_the_first_character_is_not_repeated);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
