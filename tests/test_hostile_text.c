/* Tokenizers, configs and model files that ask for more than they are, and files that are there and
 * cannot be read. Costs are counted in allocations and bytes, not in seconds. */
#include "bert_small.h"
#include "peak.h"

#include <lib/data/arrays/arrays.h>
#include <lib/text/tokenizer/tokenizer.h>
#include <sys/stat.h>
#include <unistd.h>

/* A text that grows. */
typedef struct page {
    char *at;
    size_t n, room;
} page_t;

static void say(page_t *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(page_t *p, const char *format, ...)
{
    va_list arguments;
    if (p->room - p->n < 1024) {
        p->room = 2 * p->room + 4096;
        p->at = realloc(p->at, p->room);
        ck_assert_ptr_nonnull(p->at);
    }
    va_start(arguments, format);
    p->n += (size_t)vsnprintf(p->at + p->n, p->room - p->n, format, arguments);
    va_end(arguments);
}

static void say_times(page_t *p, const char *text, int times)
{
    for (int k = 0; k < times; k++)
        say(p, "%s", text);
}

static void write_page(const char *name, page_t *p)
{
    write_text(name, p->at);
    free(p->at);
    *p = (page_t){0};
}

/* Opens what was written, which is then forgotten. */
static int open_page(gnn_tokenizer_t **t, const char *name, page_t *p)
{
    write_page(name, p);
    return gnn_tokenizer_open(t, in_folder(name));
}

#define MODEL \
    "\"model\": {\"type\": \"WordLevel\", \"unk_token\": \"u\", \"vocab\": {\"u\": 0, \"b\": 1}}"

static void ck_no_tokenizer(const char *name, page_t *p, int code, const char *words)
{
    gnn_tokenizer_t *t = (gnn_tokenizer_t *)1;
    ck_fails(open_page(&t, name, p), code, words);
    ck_assert_ptr_null(t);
}

static int encode_text(const gnn_tokenizer_t *t, const char *text, gnn_tokens_t **tokens)
{
    return gnn_tokenizer_encode(t, &(gnn_texts_t){1, &text, NULL}, NULL, NULL, tokens);
}

/* ---- what steps make of a text ---- */

static void say_bomb(page_t *p, const char *added)
{
    say(p, "{\"normalizer\": {\"type\": \"Sequence\", \"normalizers\": [");
    for (int k = 0; k < 30; k++)
        say(p,
            "%s{\"type\": \"Replace\", \"pattern\": {\"String\": \"a\"}, \"content\": "
            "\"aaaaaaaaaa\"}",
            k ? ", " : "");
    say(p, "]}, %s" MODEL "}", added);
}

START_TEST(expansion_of_texts_is_bounded)
{
    gnn_tokenizer_t *t;
    gnn_tokens_t *tokens = NULL;
    page_t p = {0};
    say_bomb(&p, "");
    ck_ok(open_page(&t, "bomb.json", &p));
    const size_t before = status_bytes("VmHWM:");
    ck_fails(encode_text(t, "bbbb a bbbb", &tokens), GNN_EOVERFLOW,
             "text 0: normalizer: step 4, Replace");
    ck_assert_ptr_null(tokens);
    ck_assert_uint_lt(status_bytes("VmHWM:") - before, 8 << 20);
    ck_ok(encode_text(t, "b", &tokens));
    ck_assert_int_eq(tokens->ids[0], 1);
    gnn_tokens_free(tokens);
    gnn_tokenizer_free(t);
    /* added tokens are normalised when the file is read */
    say_bomb(&p, "\"added_tokens\": [{\"id\": 2, \"content\": \"a\", \"normalized\": true}], ");
    ck_no_tokenizer("bomb.json", &p, GNN_EOVERFLOW, "added token 0: normalizer: step");
}
END_TEST

/* Each part between added tokens is short, and gets as long a prefix. */
START_TEST(parts_of_a_text_share_its_limit)
{
    gnn_tokenizer_t *t;
    gnn_tokens_t *tokens = NULL;
    page_t p = {0}, text = {0};
    say(&p, "{\"normalizer\": {\"type\": \"Prepend\", \"prepend\": \"");
    say_times(&p, "b", GNN__MOST_TOKEN_BYTES);
    say(&p,
        "\"}, \"added_tokens\": [{\"id\": 2, \"content\": \"|\", \"special\": true}], " MODEL "}");
    ck_ok(open_page(&t, "prefix.json", &p));
    say_times(&text, "b|", 20);
    ck_ok(encode_text(t, text.at, &tokens));
    ck_assert_int_eq(tokens->rows, 40);
    gnn_tokens_free(tokens);
    say_times(&text, "b|", 4000);
    ck_fails(encode_text(t, text.at, &tokens), GNN_EOVERFLOW, "Prepend");
    free(text.at);
    gnn_tokenizer_free(t);
    say(&p, "{\"normalizer\": {\"type\": \"Prepend\", \"prepend\": \"");
    say_times(&p, "b", GNN__MOST_TOKEN_BYTES + 1);
    say(&p, "\"}, " MODEL "}");
    ck_no_tokenizer("prefix.json", &p, GNN_EFORMAT, "\"prepend\" has 4097 bytes");
}
END_TEST

/* ---- vocabularies ---- */

START_TEST(tokens_are_of_at_most_4096_bytes)
{
    for (int more = 0; more < 2; more++) {
        gnn_tokenizer_t *t = NULL;
        page_t p = {0};
        for (int txt = 0; txt < 2; txt++) {
            say(&p,
                txt ? "[UNK]\n" : "{\"model\": {\"type\": \"WordLevel\", \"vocab\": {\"u\": 0, \"");
            say_times(&p, "b", GNN__MOST_TOKEN_BYTES + more);
            say(&p, txt ? "\n" : "\": 1}, \"unk_token\": \"u\"}}");
            if (more)
                ck_no_tokenizer(txt ? "v.txt" : "v.json", &p, GNN_EFORMAT,
                                "token 1 has 4097 bytes, at most 4096 are read");
            else
                ck_ok(open_page(&t, txt ? "v.txt" : "v.json", &p));
            gnn_tokenizer_free(more ? NULL : t);
        }
    }
}
END_TEST

START_TEST(ids_are_dense)
{
    gnn_tokenizer_t *t;
    page_t p = {0};
    say(&p, "{\"model\": {\"type\": \"WordLevel\", \"unk_token\": \"a\", \"vocab\": {\"a\": 0, "
            "\"b\": 16777215}}}");
    ck_no_tokenizer("v.json", &p, GNN_EFORMAT, "token \"b\" has the id 16777215");
    say(&p, "{\"added_tokens\": [{\"id\": 16777215, \"content\": \"c\"}], " MODEL "}");
    ck_no_tokenizer("v.json", &p, GNN_EUNSUPPORTED, "has the id 16777215, 2 is expected");
    say(&p, "{\"model\": {\"type\": \"WordLevel\", \"unk_token\": \"a\", \"vocab\": {\"a\": 0, "
            "\"b\": 70000}}}");
    ck_no_tokenizer("v.json", &p, GNN_EFORMAT, "ids below 65540 are expected");
    say(&p, "{\"model\": {\"type\": \"WordLevel\", \"unk_token\": \"a\", \"vocab\": {\"a\": 0, "
            "\"c\": 65000}}}");
    ck_ok(open_page(&t, "v.json", &p));
    ck_assert_int_eq(gnn_tokenizer_size(t), 65001);
    ck_assert_int_eq(gnn_tokenizer_find(t, "c"), 65000);
    gnn_tokenizer_free(t);
}
END_TEST

/* Lists double: O(log count) allocations, without quadratic copying. */
START_TEST(added_tokens_cost_constant_time_each)
{
    enum { ADDED = 20000 };
    gnn_tokenizer_t *t;
    page_t p = {0};
    say(&p, "{\"added_tokens\": [");
    for (int k = 0; k < ADDED; k++)
        say(&p, "%s{\"id\": %d, \"content\": \"<%d>\", \"special\": true}", k ? ", " : "", k + 2, k);
    say(&p, "], " MODEL "}");
    gnn__fail_allocation(0);
    ck_ok(open_page(&t, "added.json", &p));
    ck_assert_int_lt(gnn__fail_allocation(0), 300);
    ck_assert_int_eq(gnn_tokenizer_find(t, "<19999>"), 20001);
    gnn_tokenizer_free(t);
}
END_TEST

/* The same in the other files of a folder. An addition that looked at all before it took
 * minutes. */
enum { MANY = 60000 };

static void say_many(page_t *p, const char *begin, const char *format, int first, const char *end)
{
    say(p, "%s", begin);
    for (int k = 0; k < MANY; k++) {
        say(p, "%s", k ? ", " : "");
        say(p, format, k + first, k);
    }
    say(p, "%s", end);
}

static void ck_many(const char *folder, int32_t last)
{
    gnn_tokenizer_t *t;
    ck_ok(gnn_tokenizer_open(&t, in_folder(folder)));
    ck_assert_int_eq(gnn_tokenizer_find(t, "<59999>"), last);
    gnn_tokenizer_free(t);
}

START_TEST(folders_of_many_added_tokens)
{
    page_t p = {0};
    ck_assert_int_eq(mkdir(in_folder("bare"), 0700), 0);
    ck_assert_int_eq(mkdir(in_folder("whole"), 0700), 0);
    write_text("bare/config.json", "{\"model_type\": \"bert\"}");
    write_text("bare/vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nb\n");
    say_many(&p, "{\"tokenizer_class\": \"BertTokenizer\", \"additional_special_tokens\": [",
             "\"s%d_%d\"", 0, "]}");
    write_page("bare/tokenizer_config.json", &p);
    say_many(&p, "{", "\"<%2$d>\": %1$d", 6, "}");
    write_page("bare/added_tokens.json", &p);
    ck_many("bare", 60005);
    say_many(&p, "{\"added_tokens\": [", "{\"id\": %d, \"content\": \"<%d>\", \"special\": true}",
             2, "], " MODEL "}");
    write_page("whole/tokenizer.json", &p);
    say_many(&p, "{\"tokenizer_class\": \"PreTrainedTokenizerFast\", \"added_tokens_decoder\": {",
             "\"%d\": {\"content\": \"<%d>\", \"special\": true}", 2, "}}");
    write_page("whole/tokenizer_config.json", &p);
    ck_many("whole", 60001);
    static const char *const made[] = {"bare/config.json",
                                       "bare/vocab.txt",
                                       "bare/tokenizer_config.json",
                                       "bare/added_tokens.json",
                                       "bare",
                                       "whole/tokenizer.json",
                                       "whole/tokenizer_config.json",
                                       "whole"};
    for (size_t k = 0; k < sizeof made / sizeof *made; k++)
        ck_assert_int_eq(remove(in_folder(made[k])), 0);
}
END_TEST

static void say_template(page_t *p, const char *item, int times)
{
    say(p, "{\"post_processor\": {\"type\": \"TemplateProcessing\", \"single\": [");
    for (int k = 0; k < times; k++)
        say(p, "%s%s", k ? ", " : "", item);
    say(p, "], \"pair\": [], \"special_tokens\": {\"u\": {\"id\": \"u\", \"ids\": [");
    for (int k = 0; k < 100; k++)
        say(p, "%s0", k ? ", " : "");
    say(p, "]}}}, " MODEL "}");
}

START_TEST(templates_are_bounded)
{
    gnn_tokenizer_t *t;
    page_t p = {0};
    const char *const token = "{\"SpecialToken\": {\"id\": \"u\", \"type_id\": 0}}",
                      *const text = "{\"Sequence\": {\"id\": \"A\", \"type_id\": 0}}";
    say_template(&p, token, 40); /* 100 tokens for each */
    ck_ok(open_page(&t, "t.json", &p));
    gnn_tokenizer_free(t);
    say_template(&p, token, 41);
    ck_no_tokenizer("t.json", &p, GNN_EOVERFLOW, "a template of more than 4096 tokens");
    say_template(&p, text, 9);
    ck_no_tokenizer("t.json", &p, GNN_EOVERFLOW, "or of 8 texts");
}
END_TEST

/* ---- texts that are cut ---- */

static void ck_cut(const gnn_tokenizer_t *t, const char *first, const char *second, int64_t most)
{
    gnn_tokens_t *all, *cut;
    const gnn_texts_t a = {1, &first, NULL}, b = {1, &second, NULL};
    ck_ok(gnn_tokenizer_encode(t, &a, second ? &b : NULL, NULL, &all));
    const gnn_encoding_t how = {.max_length = most, .places = GNN_ON};
    ck_ok(gnn_tokenizer_encode(t, &a, second ? &b : NULL, &how, &cut));
    ck_assert_int_eq(cut->rows, gnn__min(all->rows, most));
    for (int64_t k = 0; !second && k < cut->rows; k++)
        ck_assert_int_eq(cut->ids[k], all->ids[k]);
    gnn_tokens_free(all);
    gnn_tokens_free(cut);
}

START_TEST(truncated_text_is_not_tokenized)
{
    gnn_tokenizer_t *t;
    gnn_tokens_t *tokens;
    page_t p = {0}, text = {0};
    say(&p, "{\"pre_tokenizer\": {\"type\": \"Whitespace\"}, " MODEL "}");
    ck_ok(open_page(&t, "w.json", &p));
    say_times(&text, "b c ", 100000);
    for (int64_t most = 1; most < 9; most++) {
        ck_cut(t, "b c b b c", NULL, most);
        ck_cut(t, "b c b b c b", "b b b c c", most);
        ck_cut(t, "b", "b b b c c", most);
    }
    const char *at = text.at;
    const size_t before = status_bytes("VmHWM:");
    const gnn_encoding_t how = {.max_length = 100};
    ck_ok(gnn_tokenizer_encode(t, &(gnn_texts_t){1, &at, NULL}, NULL, &how, &tokens));
    ck_assert_int_eq(tokens->rows, 100);
    /* words, but not the 200,000 tokens of 24 bytes, which double */
    ck_assert_uint_lt(status_bytes("VmHWM:") - before, 16 << 20);
    gnn_tokens_free(tokens);
    free(text.at);
    gnn_tokenizer_free(t);
}
END_TEST

/* ---- one word of many bytes ---- */

/* Peak of the memory that a word of n bytes takes. */
static double bytes_of_word(const gnn_tokenizer_t *t, const char *word, int64_t n, int64_t most)
{
    gnn_tokens_t *tokens;
    forget_peak();
    const size_t before = status_bytes("VmRSS:");
    ck_ok(gnn_tokenizer_encode(t, &(gnn_texts_t){1, &word, &n}, NULL,
                               &(gnn_encoding_t){.max_length = most}, &tokens));
    gnn_tokens_free(tokens);
    return (double)status_bytes("VmHWM:") - (double)before;
}

/* Bytes per byte of a word of 8 MB, of which all tokens are kept, or 64. WordPiece makes one
 * unknown token of it, and nothing but the normalised text takes memory. */
START_TEST(memory_of_one_long_word_is_linear)
{
    enum { BYTES = 1 << 23, KEPT = 64, FIXED = 1 << 22, PREFIXES = 1 << 24 };
    static const struct {
        const char *json;
        double most, most_of_kept;
    } families[] = {
        {"{\"normalizer\": {\"type\": \"BertNormalizer\"}, \"pre_tokenizer\": {\"type\": "
         "\"BertPreTokenizer\"}, \"model\": {\"type\": \"WordPiece\", \"unk_token\": \"u\", "
         "\"vocab\": {\"u\": 0, \"a\": 1}}}",
         1.5 * BYTES + FIXED, 1.5 * BYTES + FIXED},
        {"{\"pre_tokenizer\": {\"type\": \"ByteLevel\"}, \"model\": {\"type\": \"BPE\", \"vocab\": "
         "{\"a\": 0, \"b\": 1, \"\xc4\xa0\": 2, \"ab\": 3}, \"merges\": [\"a b\"]}}",
         110. * BYTES + FIXED, PREFIXES},
        {"{\"normalizer\": {\"type\": \"Prepend\", \"prepend\": \"\xe2\x96\x81\"}, \"model\": "
         "{\"type\": \"BPE\", \"unk_token\": \"u\", \"vocab\": {\"u\": 0, \"a\": 1, \"b\": 2, "
         "\"ab\": 3}, \"merges\": [\"a b\"]}}",
         110. * BYTES + FIXED, PREFIXES},
        {"{\"pre_tokenizer\": {\"type\": \"Metaspace\"}, \"model\": {\"type\": \"Unigram\", "
         "\"unk_id\": 0, \"vocab\": [[\"u\", 0], [\"a\", -1], [\"b\", -2], [\"ab\", -2]]}}",
         90. * BYTES + FIXED, PREFIXES}};
    char *word = malloc(BYTES + 1);
    for (int64_t k = 0; k < BYTES; k++)
        word[k] = "ab"[k % 2];
    word[BYTES] = '\0';
    for (size_t k = 0; measurable("one long word") && k < sizeof families / sizeof *families; k++) {
        gnn_tokenizer_t *t;
        page_t p = {0};
        say(&p, "%s", families[k].json);
        ck_ok(open_page(&t, "w.json", &p));
        const double kept = bytes_of_word(t, word, BYTES, KEPT),
                     all = bytes_of_word(t, word, BYTES, 0);
        printf("family %zu: %.2f bytes per byte, %.2f of %d tokens\n", k, all / BYTES, kept / BYTES,
               KEPT);
        ck_assert_double_le(kept, families[k].most_of_kept);
        ck_assert_double_le(all, families[k].most);
        gnn_tokenizer_free(t);
    }
    free(word);
}
END_TEST

/* ---- files that are there ---- */

static int open_bert(void)
{
    gnn_context_t *context;
    gnn_pretrained_t *p = NULL;
    ck_ok(gnn_context_new(&context, NULL));
    const int rc = gnn_pretrained_open(&p, context, test_folder);
    gnn_pretrained_free(p);
    gnn_context_free(context);
    return rc;
}

START_TEST(a_file_that_cannot_be_read_is_not_a_missing_one)
{
    static const char *const names[] = {"tokenizer.json",
                                        "vocab.txt",
                                        "spiece.model",
                                        "modules.json",
                                        "generation_config.json",
                                        "sentence_bert_config.json",
                                        "config_sentence_transformers.json",
                                        "model.safetensors"};
    write_all();
    ck_ok(open_bert());
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        char kept[600];
        snprintf(kept, sizeof kept, "%s.kept", in_folder(names[k]));
        const bool was = rename(in_folder(names[k]), kept) == 0;
        ck_assert_int_eq(mkdir(in_folder(names[k]), 0700), 0);
        ck_fails(open_bert(), GNN_EIO, "is a folder");
        ck_assert_int_eq(rmdir(in_folder(names[k])), 0);
        ck_assert_int_eq(symlink("nowhere", in_folder(names[k])), 0);
        ck_fails(open_bert(), GNN_EIO, "is a link to a file that is missing");
        ck_assert_int_eq(unlink(in_folder(names[k])), 0);
        if (was)
            ck_assert_int_eq(rename(kept, in_folder(names[k])), 0);
    }
    ck_ok(open_bert());
}
END_TEST

START_TEST(parts_of_a_data_set_that_cannot_be_read)
{
    gnn_data_t *data;
    ck_assert_int_eq(mkdir(in_folder("TU"), 0700), 0);
    write_text("TU/S_A.txt", "1, 2\n2, 1\n");
    write_text("TU/S_graph_indicator.txt", "1\n1\n");
    write_text("TU/S_graph_labels.txt", "1\n");
    ck_ok(gnn_data_open(&data, in_folder("TU")));
    gnn_data_free(data);
    ck_assert_int_eq(symlink("nowhere", in_folder("TU/S_node_labels.txt")), 0);
    ck_fails(gnn_data_open(&data, in_folder("TU")), GNN_EIO, "a link to a file that is missing");
    static const char *const names[] = {"TU/S_A.txt", "TU/S_graph_indicator.txt",
                                        "TU/S_graph_labels.txt", "TU/S_node_labels.txt", "TU"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        remove(in_folder(names[k]));
}
END_TEST

/* ---- configs ---- */

/* The config with other text for `part`. */
static void write_config(const char *part, const char *other)
{
    static const char config[] = CONFIG;
    page_t p = {0};
    const char *at = strstr(config, part);
    ck_assert_ptr_nonnull(at);
    say(&p, "%.*s%s", (int)(at - config), config, other);
    say(&p, "%s", at + strlen(part));
    write_text("config.json", p.at);
    free(p.at);
}

START_TEST(malformed_sizes_in_a_config_are_refused)
{
    write_all();
    static const char *const sizes[] = {"\"hidden_size\": {\"absent\": 5}",
                                        "\"hidden_size\": {\"absent\": \"x\"}",
                                        "\"hidden_size\": [8]", "\"hidden_size\": null"};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        write_config("\"hidden_size\": 8", sizes[k]);
        ck_fails(open_bert(), GNN_EUNSUPPORTED, "\"hidden_size\" is");
        ck_assert_msg(!strstr(gnn_error_message(), "(null)"), "%s", gnn_error_message());
    }
    write_all();
}
END_TEST

START_TEST(shapes_are_compared_before_memory_is_taken)
{
    write_all();
    ck_ok(open_bert()); /* buffers of products */
    write_config("\"vocab_size\": 11", "\"vocab_size\": 4100000");
    const size_t before = status_bytes("VmHWM:"), room = status_bytes("VmPeak:");
    ck_fails(open_bert(), GNN_ESHAPE, "4100000");
    if (measurable("a large vocabulary")) {
        ck_assert_uint_lt(status_bytes("VmHWM:") - before, 32 << 20);
        ck_assert_uint_lt(status_bytes("VmPeak:") - room, 64 << 20);
    }
    write_all();
}
END_TEST

/* ---- model files ---- */

static gnn_model_t *saved_model(gnn_context_t *context, const char *path)
{
    gnn_model_t *model;
    ck_ok(gnn_model_new(&model, context, 1, (gnn_layer_config_t[]){GNN_GCN(.in = 3, .out = 5)}));
    ck_ok(gnn_model_save(model, path));
    return model;
}

static bool same_weights(const gnn_model_t *a, const gnn_model_t *b)
{
    bool same = gnn_model_field_count(a) == gnn_model_field_count(b);
    for (int64_t k = 0; same && k < gnn_model_field_count(a); k++) {
        gnn_tensor_t x, y;
        ck_ok(gnn_model_field(a, gnn_model_field_name(a, k), &x, NULL));
        ck_ok(gnn_model_field(b, gnn_model_field_name(a, k), &y, NULL));
        same = memcmp(x.data, y.data, (size_t)(x.rows * x.cols) * sizeof *x.data) == 0;
    }
    return same;
}

/* The key of the checksum may be damaged, and spaces after the header: then all else is whole. */
START_TEST(a_flipped_bit_in_a_model_file_changes_no_weight)
{
    gnn_context_t *context;
    gnn_model_t *model, *again;
    static unsigned char bytes[1 << 16];
    char path[512];
    snprintf(path, sizeof path, "%s", in_folder("m.safetensors"));
    ck_ok(gnn_context_new(&context, NULL));
    model = saved_model(context, path);
    FILE *file = fopen(path, "rb");
    ck_assert_ptr_nonnull(file);
    const size_t n = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    int by_checksum = 0, loaded = 0;
    for (size_t k = 0; k < n; k++) {
        bytes[k] ^= 1;
        write_bytes("bad.safetensors", bytes, n);
        again = NULL;
        if (gnn_model_load(&again, context, in_folder("bad.safetensors")) == GNN_OK)
            ck_assert_msg(same_weights(model, again), "byte %zu of %zu", k, n);
        loaded += again != NULL;
        by_checksum += !again && strstr(gnn_error_message(), "the file is damaged");
        gnn_model_free(again);
        bytes[k] ^= 1;
    }
    ck_assert_int_ge(by_checksum, 20 * (int)sizeof(gnn_real_t));
    ck_assert_int_le(loaded, (int)strlen("gnn.checksum") + 8);
    gnn_model_free(model);
    gnn_context_free(context);
}
END_TEST

START_TEST(model_files_without_a_checksum_load)
{
    gnn_context_t *context;
    gnn_model_t *model, *again;
    gnn_arrays_t *arrays;
    gnn_tensor_t a, b;
    ck_ok(gnn_context_new(&context, NULL));
    model = saved_model(context, in_folder("m.safetensors"));
    ck_ok(gnn_safetensors_read(&arrays, in_folder("m.safetensors"), NULL));
    ck_assert_ptr_nonnull(gnn_arrays_metadata(arrays, "gnn.checksum"));
    const char *const metadata[][2] = {{"gnn.model", gnn_arrays_metadata(arrays, "gnn.model")}};
    gnn_array_t list[4];
    ck_assert_int_le(arrays->count, 4);
    for (int64_t k = 0; k < arrays->count; k++)
        list[k] = *gnn_arrays_at(arrays, k);
    ck_ok(gnn_safetensors_write(in_folder("old.safetensors"), arrays->count, list, 1, metadata));
    ck_ok(gnn_model_load(&again, context, in_folder("old.safetensors")));
    ck_ok(gnn_model_field(model, gnn_model_field_name(model, 0), &a, NULL));
    ck_ok(gnn_model_field(again, gnn_model_field_name(model, 0), &b, NULL));
    ck_assert_mem_eq(a.data, b.data, (size_t)(a.rows * a.cols) * sizeof *a.data);
    gnn_arrays_free(arrays);
    gnn_model_free(model);
    gnn_model_free(again);
    gnn_context_free(context);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hostile_text");
    TCase *c = tcase_create("hostile_text");
    tcase_set_timeout(c, 300);
    tcase_add_unchecked_fixture(c, make_folder, remove_folder);
    tcase_add_test(c, expansion_of_texts_is_bounded);
    tcase_add_test(c, parts_of_a_text_share_its_limit);
    tcase_add_test(c, tokens_are_of_at_most_4096_bytes);
    tcase_add_test(c, ids_are_dense);
    tcase_add_test(c, added_tokens_cost_constant_time_each);
    tcase_add_test(c, folders_of_many_added_tokens);
    tcase_add_test(c, templates_are_bounded);
    tcase_add_test(c, truncated_text_is_not_tokenized);
    tcase_add_test(c, memory_of_one_long_word_is_linear);
    tcase_add_test(c, a_file_that_cannot_be_read_is_not_a_missing_one);
    tcase_add_test(c, parts_of_a_data_set_that_cannot_be_read);
    tcase_add_test(c, malformed_sizes_in_a_config_are_refused);
    tcase_add_test(c, shapes_are_compared_before_memory_is_taken);
    tcase_add_test(c, a_flipped_bit_in_a_model_file_changes_no_weight);
    tcase_add_test(c, model_files_without_a_checksum_load);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
