/* Tokenizers: ids, offsets and texts match the published programs; expected values are from the
 * Python packages tokenizers 0.23 and sentencepiece 0.2 (tools/compare_tokenizers.py compares whole
 * corpora). */
#include "tokenizer_make.h"

#include <time.h>

static const gnn_encoding_t plain = {.special = GNN_OFF};

/* ---- UTF-8 ---- */

/* Python's errors="replace", part by part. */
START_TEST(broken_utf8_is_replaced_as_python_does)
{
    static const struct {
        const char *bytes, *expected;
    } cases[] = {{"\xff", "?"},
                 {"a\xc3", "a?"},
                 {"\xe2\x82x", "?x"},
                 {"\xf0\x9f\x98", "?"},
                 {"\xed\xa0\x80", "???"},
                 {"\xc0\xaf", "??"},
                 {"\xf0\x9f\x98 \xf0\x9f", "? ?"},
                 {"\xe0\x80\xaf\xf4\x90\x80\x80", "???????"},
                 {"\xc3\xa9\x80z", "\xc3\xa9?z"}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        const unsigned char *at = (const unsigned char *)cases[c].bytes;
        char got[64] = "";
        for (int64_t k = 0, n = (int64_t)strlen(cases[c].bytes), part; k < n; k += part) {
            bool whole, open;
            part = gnn__utf8_part(at + k, n - k, &whole, &open);
            ck_assert(!open || k + part == n);
            memcpy(got + strlen(got), whole ? cases[c].bytes + k : "?", whole ? (size_t)part : 1);
        }
        ck_assert_str_eq(got, cases[c].expected);
    }
}
END_TEST

/* ---- words ---- */

static void ck_cut(const gnn__word_rules_t *rules, const char *text, const char *expected)
{
    char got[256] = "";
    ck_assert_ptr_nonnull(rules);
    for (int64_t k = 0, n = (int64_t)strlen(text), end; k < n; k = end) {
        end = gnn__word_end(rules, text, k, n);
        ck_assert_int_gt(end, k);
        strncat(got, text + k, (size_t)(end - k));
        if (end < n)
            strcat(got, "|");
    }
    ck_assert_str_eq(got, expected);
}

#define TAIL "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define HEAD "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|"

START_TEST(words_match_the_regular_expressions)
{
    const gnn__word_rules_t *llama3 = gnn__word_rules_find(HEAD "\\p{N}{1,3}" TAIL),
                            *qwen2 = gnn__word_rules_find(HEAD "\\p{N}" TAIL);
    static const char first[] = "I'm  don'T '\xc5\xbf 12345 a1!?\n\n x\t\ty \r\n z  ",
                      second[] = "\xe3\x80\x80\xe6\x97\xa5\xe6\x9c\xac\xe3\x80\x82"
                                 "e\xcc\x81 \xe0\xaf\xa7\xc2\xbd  --\n-";
    ck_cut(&gnn__gpt2_words, first,
           "I|'m| | don|'|T| '|\xc5\xbf| 12345| a|1|!?|\n\n| x|\t|\t|y| \r\n| z|  ");
    ck_cut(llama3, first, "I|'m| | don|'T| '|\xc5\xbf| |123|45| a|1|!?\n\n| x|\t|\ty| \r\n| z|  ");
    ck_cut(qwen2, first, "I|'m| | don|'T| '|\xc5\xbf| |1|2|3|4|5| a|1|!?\n\n| x|\t|\ty| \r\n| z|  ");
    ck_cut(
        &gnn__gpt2_words, second,
        "\xe3\x80\x80|\xe6\x97\xa5\xe6\x9c\xac|\xe3\x80\x82|e|\xcc\x81| \xe0\xaf\xa7\xc2\xbd| | --|\n|-");
    ck_cut(llama3, second,
           "\xe3\x80\x80\xe6\x97\xa5\xe6\x9c\xac|\xe3\x80\x82"
           "e|\xcc\x81| |\xe0\xaf\xa7\xc2\xbd| | --\n|-");
    ck_cut(qwen2, second,
           "\xe3\x80\x80\xe6\x97\xa5\xe6\x9c\xac|\xe3\x80\x82"
           "e|\xcc\x81| |\xe0\xaf\xa7|\xc2\xbd| | --\n|-");
    ck_assert_ptr_null(gnn__word_rules_find("\\w+"));
}
END_TEST

/* ---- WordPiece ---- */

#define BERT "[UNK]\n[CLS]\n[SEP]\nwant\n##want\n##ed\nwa\nun\nrunn\n##ing\n,\n\xe4\xb8\xad\n"

/* The cases of BERT's own tests. */
START_TEST(wordpiece_of_berts_tests)
{
    gnn_tokenizer_t *t = open_text("vocab.txt", BERT);
    ck_assert_str_eq(gnn_tokenizer_kind(t), "WordPiece");
    ck_assert_int_eq(gnn_tokenizer_size(t), 12);
    ck_assert_str_eq(ids_of(t,
                            "UNwant\xc3\xa9"
                            "d,running",
                            plain),
                     "7 4 5 10 8 9");
    ck_assert_str_eq(ids_of(t,
                            "UNwant\xc3\xa9"
                            "d,running",
                            (gnn_encoding_t){0}),
                     "1 7 4 5 10 8 9 2");
    ck_assert_str_eq(ids_of(t, "unwantedX running", plain), "0 8 9");
    ck_assert_str_eq(ids_of(t, "wa\xe4\xb8\xadwa\x01\xcc\x81 [SEP]wa", plain), "6 11 6 2 6");
    ck_assert_str_eq(ids_of(t, "", (gnn_encoding_t){0}), "1 2");
    ck_decodes(t, "unwanted , running", "unwanted, running");
    ck_assert_int_eq(gnn_tokenizer_find(t, "##ing"), 9);
    ck_assert_int_eq(gnn_tokenizer_find(t, "ing"), -1);
    ck_assert_ptr_null(gnn_tokenizer_token(t, 12));
    gnn_tokenizer_free(t);
}
END_TEST

/* BERT's cased vocabularies: with a capital in a token, text keeps its case and its accents. */
START_TEST(a_vocabulary_with_capitals_keeps_case)
{
    gnn_tokenizer_t *t =
        open_text("vocab.txt", "[UNK]\n[CLS]\n[SEP]\nParis\nparis\nis\ncafe\ncaf\xc3\xa9\n");
    ck_assert_str_eq(ids_of(t, "Paris is", plain), "3 5");
    ck_assert_str_eq(ids_of(t, "paris IS PARIS", plain), "4 0 0");
    ck_assert_str_eq(ids_of(t, "caf\xc3\xa9 cafe", plain), "7 6");
    gnn_tokenizer_free(t);
    t = open_text("vocab.txt", "[UNK]\n[CLS]\n[SEP]\nparis\nis\ncafe\n");
    ck_assert_str_eq(ids_of(t, "Paris IS caf\xc3\xa9", plain), "3 4 5");
    gnn_tokenizer_free(t);
}
END_TEST

START_TEST(offsets_pairs_and_truncation)
{
    gnn_tokenizer_t *t = open_text("vocab.txt", BERT);
    const char *first[] = {" UNwant\xc3\xa9"
                           "d,x",
                           "wa"},
               *second[] = {"wa wa wa wa", "running"};
    static const int32_t ids[] = {1, 7, 4, 2, 6, 6, 2, 1, 6, 2, 8, 9, 2},
                         types[] = {0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1};
    gnn_tokens_t *tokens;
    ck_ok(gnn_tokenizer_encode(t, &(gnn_texts_t){2, first, NULL}, &(gnn_texts_t){2, second, NULL},
                               &(gnn_encoding_t){.max_length = 7, .places = GNN_ON}, &tokens));
    ck_assert_int_eq(tokens->rows, 13);
    ck_assert(tokens->lengths[0] == 7 && tokens->lengths[1] == 6);
    ck_assert_mem_eq(tokens->ids, ids, sizeof ids);
    ck_assert_mem_eq(tokens->types, types, sizeof types);
    ck_assert(tokens->begin[2] == 3 && tokens->end[2] == 7 && tokens->end[3] == 0);
    for (int64_t k = 0; k < 13; k++)
        ck_assert_int_eq(tokens->positions[k], k < 7 ? k : k - 7);
    gnn_graph_t *graph;
    ck_ok(gnn_graph_complete(&graph, tokens->sentences, tokens->lengths));
    ck_assert_int_eq(gnn_graph_n_dst(graph), 13);
    gnn_graph_free(graph);
    gnn_tokens_free(tokens);
    tokens = encode_bytes(t,
                          "want\xc3\xa9"
                          "d\0,",
                          9, (gnn_encoding_t){GNN_OFF, GNN_ON, 0});
    ck_assert_int_eq(tokens->rows, 3);
    ck_assert(tokens->begin[1] == 4 && tokens->end[1] == 7 && tokens->begin[2] == 8);
    gnn_tokens_free(tokens);
    gnn_tokenizer_free(t);
}
END_TEST

/* The 47 texts of llama.cpp's tests with BERT's real vocabulary. */
START_TEST(bert_vocabulary)
{
    const char *path = test_data("bert-vocab/vocab.txt");
    gnn_tokenizer_t *t;
    static char texts[1 << 13], expected[1 << 13];
    if (!path) {
        test_skip("bert_vocabulary", "no bert-vocab");
        return;
    }
    ck_ok(gnn_tokenizer_open(&t, path));
    FILE *in = fopen(test_data("bert-vocab/bge.inp"), "rb"),
         *out = fopen(test_data("bert-vocab/bge.out"), "rb");
    ck_assert(in && out && fread(texts, 1, sizeof texts - 1, in) > 0);
    int count = 0;
    for (char *text = texts, *end; *text && fgets(expected, sizeof expected, out);
         text = end, count++) {
        static const char border[] = "\n__ggml_vocab_test__\n";
        end = strstr(text, border);
        const char *from = expected + strspn(expected, " ");
        expected[strcspn(expected, "\n")] = '\0';
        for (char *e = expected + strlen(expected); e > from && e[-1] == ' ';)
            *--e = '\0';
        if (end)
            *end = '\0';
        ck_assert_str_eq(ids_of(t, text, plain), from);
        end = end ? end + sizeof border - 1 : text + strlen(text);
    }
    ck_assert_int_ge(count, 46);
    fclose(in);
    fclose(out);
    gnn_tokenizer_free(t);
}
END_TEST

/* ---- byte pairs ---- */

START_TEST(byte_pairs_with_added_tokens)
{
    gnn_tokenizer_t *t = open_text(
        "tokenizer.json",
        byte_pairs_json(
            LLAMA3_SPLIT, small_merges,
            "{\"id\": 268, \"content\": \"<|end|>\", \"special\": true}, "
            "{\"id\": 269, \"content\": \"<x>\", \"special\": false, \"lstrip\": true, \"rstrip\": true}"));
    static const char text[] = "the thing and  the 1234 \xf0\x9f\x98\x80<|end|>loing";
    ck_assert_str_eq(gnn_tokenizer_kind(t), "BPE");
    ck_assert_str_eq(ids_of(t, text, plain),
                     "116 257 256 104 260 263 32 258 32 264 51 52 32 266 128 268 267 260");
    ck_assert_str_eq(ids_of(t, "the  <x>  in", plain), "116 257 269 259");
    ck_assert_str_eq(ids_of(t, "a\xff", plain), "97 239 191 189");
    ck_decodes(t, text, text);
    gnn_tokenizer_free(t);
}
END_TEST

/* Falcon's: Digits and Split read ByteLevel's characters, in which the second byte of U+00B2 is a
 * digit (expected ids: the package tokenizers). */
START_TEST(steps_after_byte_level_read_its_characters)
{
    static const char steps[] =
        "{\"type\": \"Sequence\", \"pretokenizers\": ["
        "{\"type\": \"Punctuation\", \"behavior\": \"Contiguous\"}, "
        "{\"type\": \"ByteLevel\", \"add_prefix_space\": false}, "
        "{\"type\": \"Digits\", \"individual_digits\": false}, "
        "{\"type\": \"Split\", \"pattern\": {\"Regex\": \"[0-9][0-9][0-9]\"}, "
        "\"behavior\": \"Isolated\", \"invert\": false}]}";
    static const char *const merges[] = {"\xc3\x82 \xc2\xb2", "3 4", "1 2", NULL};
    gnn_tokenizer_t *t = open_text("tokenizer.json", byte_pairs_json(steps, merges, ""));
    ck_assert_str_eq(ids_of(t, "x\xc2\xb2 1234", plain), "120 194 178 32 258 51 52");
    ck_decodes(t, "x\xc2\xb2 1234", "x\xc2\xb2 1234");
    gnn_tokenizer_free(t);
    static const char rewrites[] = "{\"type\": \"Sequence\", \"pretokenizers\": ["
                                   "{\"type\": \"ByteLevel\"}, {\"type\": \"Metaspace\"}]}";
    const char *json = byte_pairs_json(rewrites, merges, "");
    ck_fails(gnn_tokenizer_open(&t, write_file("tokenizer.json", json, strlen(json))),
             GNN_EUNSUPPORTED, "\"Metaspace\" is given after ByteLevel");
}
END_TEST

START_TEST(incomplete_characters_are_held_back)
{
    gnn_tokenizer_t *t = open_text(
        "tokenizer.json",
        byte_pairs_json("{\"type\": \"ByteLevel\", \"add_prefix_space\": false}", small_merges, ""));
    static const int32_t ids[] = {104, 266, 128, 195, 105, 226, 130, 172, 240};
    static const char *const parts[] = {"h", "", "\xf0\x9f\x98\x80", "", "\xef\xbf\xbdi",
                                        "",  "", "\xe2\x82\xac",     ""};
    gnn_decoder_t *d;
    const char *text;
    ck_ok(gnn_decoder_new(&d, t, GNN_ON));
    for (int round = 0; round < 2; round++) {
        for (int k = 0; k < 9; k++) {
            ck_ok(gnn_decoder_push(d, ids[k], &text, NULL));
            ck_assert_str_eq(text, parts[k]);
        }
        ck_ok(gnn_decoder_finish(d, &text, NULL));
        ck_assert_str_eq(text, "\xef\xbf\xbd");
    }
    ck_fails(gnn_decoder_push(d, 5000, &text, NULL), GNN_EINVALID, "no token has the id 5000");
    gnn_decoder_free(d);
    gnn_tokenizer_free(t);
}
END_TEST

/* Truncated, a text of four megabytes has the first tokens of the whole, in a fraction of its time;
 * a text whose first words are longer than any prefix, too. */
START_TEST(long_texts_are_truncated_before_they_are_encoded)
{
    enum { N = 4 << 20, MOST = 24 };
    gnn_tokenizer_t *const all[] = {
        open_text("tokenizer.json", byte_pairs_json(LLAMA3_SPLIT, small_merges, "")),
        open_text("vocab.txt", BERT)};
    char *text = malloc(N);
    for (int how = 0; how < 3; how++) {
        for (int k = 0; k < N; k++)
            text[k] = how == 1 && k < N / 2      ? ' '
                      : how == 2 && k < N - 1000 ? "ing"[k % 3]
                                                 : "in ging "[k * 7 % 11 % 8];
        for (int t = 0; t < 2; t++) {
            const gnn_encoding_t cut = {.max_length = MOST, .special = GNN_OFF};
            gnn_tokens_t *whole = encode_bytes(all[t], text, N, plain), *few;
            const clock_t began = clock();
            few = encode_bytes(all[t], text, N, cut);
            const double took = (double)(clock() - began) / CLOCKS_PER_SEC;
            ck_assert_int_eq(few->rows, gnn__min(MOST, whole->rows));
            ck_assert_mem_eq(few->ids, whole->ids, (size_t)few->rows * sizeof *few->ids);
            ck_assert_msg(how > 0 || took < 0.5, "%g s", took);
            gnn_tokens_free(few);
            gnn_tokens_free(whole);
        }
    }
    free(text);
    gnn_tokenizer_free(all[0]);
    gnn_tokenizer_free(all[1]);
}
END_TEST

/* A word of a megabyte takes about a hundred times as long as one of ten kilobytes, not ten
 * thousand times. */
START_TEST(long_words_take_linear_time)
{
    enum { N = 1 << 20 };
    gnn_tokenizer_t *pairs =
                        open_text("tokenizer.json", byte_pairs_json(LLAMA3_SPLIT, small_merges, "")),
                    *pieces = open_text("vocab.txt", BERT);
    char *word = malloc(N);
    for (int k = 0; k < N; k++)
        word[k] = "ing"[k % 3];
    gnn_tokenizer_t *cuts =
        open_text("tokenizer.json",
                  "{\"model\": {\"type\": \"Unigram\", \"unk_id\": 0, \"vocab\": [[\"<unk>\", 0], "
                  "[\"ing\", -1], [\"i\", -4], [\"in\", -2], [\"ng\", -3]]}}");
    const clock_t began = clock();
    gnn_tokens_t *tokens = encode_bytes(cuts, word, N, plain);
    ck_assert_int_eq(tokens->rows, N / 3 + 1);
    ck_assert(tokens->ids[0] == 1 && tokens->ids[N / 3] == 2);
    gnn_tokens_free(tokens);
    tokens = encode_bytes(pairs, word, N, plain);
    ck_assert_int_eq(tokens->rows, N / 3 + 1);
    gnn_tokens_free(tokens);
    tokens = encode_bytes(pieces, word, N, plain);
    ck_assert(tokens->rows == 1 && tokens->ids[0] == 0);
    gnn_tokens_free(tokens);
    ck_assert_int_lt((int)((clock() - began) / CLOCKS_PER_SEC), 20);
    free(word);
    gnn_tokenizer_free(cuts);
    gnn_tokenizer_free(pairs);
    gnn_tokenizer_free(pieces);
}
END_TEST

/* ---- SentencePiece ---- */

#define B "\xe2\x96\x81"

typedef struct {
    const char *text;
    float score;
} piece_t;

/* A model of these pieces after an unknown token, a start token and a space. */
static gnn_tokenizer_t *open_pieces(int kind, int count, const piece_t *more)
{
    static bytes_t b;
    gnn_tokenizer_t *t = NULL;
    b.n = 0;
    put_piece(&b, "<unk>", 0, 2);
    put_piece(&b, "<s>", 0, 3);
    put_piece(&b, B, -3, 1);
    for (int k = 0; k < count; k++)
        put_piece(&b, more[k].text, more[k].score, 1);
    put_trainer(&b, kind);
    ck_ok(gnn_tokenizer_open(&t, write_file("m.model", b.at, b.n)));
    return t;
}

static gnn_tokenizer_t *pieces(int kind)
{
    return open_pieces(kind, 5,
                       (piece_t[]){{"a", -4}, {"b", -4}, {"ab", -5}, {B "a", -5.5f}, {"ba", -4.5f}});
}

START_TEST(sentencepiece_unigram_and_merges)
{
    gnn_tokenizer_t *unigram = pieces(1), *merges = pieces(2), *character = pieces(4);
    ck_assert_str_eq(gnn_tokenizer_kind(unigram), "Unigram");
    ck_assert_str_eq(ids_of(unigram, " aba  xyb", plain), "6 7 2 0 4");
    ck_assert_str_eq(ids_of(merges, "aba", plain), "6 7");
    ck_assert_str_eq(ids_of(character, "abx", plain), "2 3 4 0");
    ck_assert_str_eq(ids_of(unigram, "   ", plain), "");
    ck_decodes(unigram, " aba  b", "aba b");
    ck_decodes(unigram, "xa", " \xe2\x81\x87 a");
    gnn_tokenizer_free(unigram);
    gnn_tokenizer_free(merges);
    gnn_tokenizer_free(character);
}
END_TEST

/* The ids are those of the package tokenizers 0.23.3. */
START_TEST(literal_unknown_pieces_join_their_neighbours)
{
    gnn_tokenizer_t *t =
        open_text("tokenizer.json", "{\"model\": {\"type\": \"Unigram\", \"unk_id\": 0, \"vocab\": "
                                    "[[\"<unk>\", 0], [\"a\", -1]]}}");
    ck_assert_str_eq(ids_of(t, "a<unk>a", plain), "1 0 1");
    ck_assert_str_eq(ids_of(t, "ax<unk>ya<unk><unk>a", plain), "1 0 1 0 1");
    ck_assert_str_eq(ids_of(t, "x<unk>", plain), "0");
    ck_assert_str_eq(ids_of(t, "<unk>x", plain), "0");
    gnn_tokenizer_free(t);
}
END_TEST

/* At -60,000 floats are 1/256 apart, so a and b tie with ab; past -100,000 sums are reset to 0. A
 * piece that started before keeps its lead. The ids are those of the package sentencepiece
 * 0.2.3. */
START_TEST(sums_of_long_texts_are_reset)
{
    gnn_tokenizer_t *t = open_pieces(
        1, 5,
        (piece_t[]){{"a", -1}, {"b", -1.002f}, {"ab", -2.003f}, {"x", -60000}, {"xba", -60001}});
    ck_assert_str_eq(ids_of(t, "xab", plain), "2 6 5");
    ck_assert_str_eq(ids_of(t, "xxab", plain), "2 6 6 3 4");
    ck_assert_str_eq(ids_of(t, "xxba", plain), "2 6 7");
    ck_assert_str_eq(ids_of(t, "xxabxxab", plain), "2 6 6 3 4 6 6 3 4");
    gnn_tokenizer_free(t);
}
END_TEST

/* The ids of llama2.c's model for the text in its documentation. */
START_TEST(scored_merges_of_llama2c)
{
    const char *path = test_data("llama-tiny/tok512.bin");
    gnn_tokenizer_t *t;
    int32_t ids[512];
    static char text[1 << 12];
    int64_t n = 0;
    if (!path) {
        test_skip("scored_merges_of_llama2c", "no llama-tiny");
        return;
    }
    ck_ok(gnn_tokenizer_open(&t, path));
    FILE *file = fopen(test_data("llama-tiny/stories260K.greedy.ids.txt"), "r");
    while (n < 512 && fscanf(file, "%d", &ids[n]) == 1)
        n++;
    fclose(file);
    file = fopen(test_data("llama-tiny/stories260K.greedy.txt"), "r");
    ck_assert_uint_gt(fread(text, 1, sizeof text - 1, file), 100);
    fclose(file);
    char *got;
    ck_ok(gnn_tokenizer_decode(t, n, ids, GNN_OFF, &got, NULL));
    text[strlen(got)] = '\0';
    ck_assert_str_eq(got, text);
    gnn_tokens_t *tokens = encode_bytes(t, got, (int64_t)strlen(got), (gnn_encoding_t){0});
    ck_assert_int_eq(tokens->rows, n);
    ck_assert_mem_eq(tokens->ids, ids, (size_t)n * sizeof *ids);
    gnn_tokens_free(tokens);
    gnn_free(got);
    gnn_tokenizer_free(t);
}
END_TEST

/* ---- words and characters ---- */

/* A word level of some words and of GPT-2's characters for a space and two bytes. */
#define SMALL_WORDS                                                                                   \
    "\"model\": {\"type\": \"WordLevel\", \"unk_token\": \"?\", \"vocab\": {\"?\": 0, \"a\": 1, "     \
    "\"b\": 2, \" \": 3, \"ab\": 4, \"abc\": 5, \"c\": 6, \"\xc4\xa0\": 7, \"\xc3\x83\xc2\xa9\": 8, " \
    "\"\xc3\xa9\": 9, \"b\xc3\xa9\": 10}}"

START_TEST(rare_steps)
{
    static const struct {
        const char *steps, *text, *ids;
    } cases[] = {
        {"\"normalizer\": {\"type\": \"Nmt\"}, \"pre_tokenizer\": {\"type\": \"FixedLength\", \"length\": 1}",
         "a\tb\xe2\x80\x8b\x01"
         "c\xe2\x80\xa8"
         "a\xef\xbf\xbd\x7f\x0b",
         "1 3 2 3 6 3 1 3"},
        {"\"pre_tokenizer\": {\"type\": \"FixedLength\", \"length\": 2}",
         "abb\xc3\xa9"
         "c",
         "4 10 6"},
        {"\"pre_tokenizer\": {\"type\": \"CharDelimiterSplit\", \"delimiter\": \"\xc3\xa9\"}",
         "\xc3\xa9"
         "ab\xc3\xa9\xc3\xa9"
         "c\xc3\xa9",
         "4 6"},
        {"\"normalizer\": {\"type\": \"ByteLevel\"}, \"pre_tokenizer\": {\"type\": \"Split\", "
         "\"pattern\": {\"String\": \"a\"}, \"behavior\": \"Isolated\"}",
         "a\xc3\xa9"
         "a a",
         "1 8 1 7 1"}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char json[1024];
        snprintf(json, sizeof json, "{" SMALL_WORDS ", %s}", cases[k].steps);
        gnn_tokenizer_t *t = open_text("rare.json", json);
        ck_assert_str_eq(ids_of(t, cases[k].text, plain), cases[k].ids);
        gnn_tokenizer_free(t);
    }
}
END_TEST

/* Runs of a token are one, pads are nothing, with and without clean-up. */
START_TEST(temporal_classification_is_decoded)
{
    static const int32_t ids[] = {2, 2, 0, 2, 3, 1, 1, 0, 1, 3, 5, 6};
    static const char *const expected[] = {"hhi||i n't?", "hhi  in't?"};
    for (int cleanup = 0; cleanup < 2; cleanup++) {
        char json[512], *text;
        snprintf(
            json, sizeof json,
            "{\"model\": {\"type\": \"WordLevel\", \"unk_token\": \"?\", \"vocab\": {\"<pad>\": 0, "
            "\"|\": 1, \"h\": 2, \"i\": 3, \"n't\": 4, \" n't\": 5, \"?\": 6}}, \"decoder\": {\"type\": "
            "\"CTC\", \"pad_token\": \"<pad>\", \"word_delimiter_token\": \"|\", \"cleanup\": %s}}",
            cleanup ? "true" : "false");
        gnn_tokenizer_t *t = open_text("ctc.json", json);
        ck_ok(gnn_tokenizer_decode(t, sizeof ids / sizeof *ids, ids, GNN_ON, &text, NULL));
        ck_assert_str_eq(text, expected[cleanup]);
        gnn_free(text);
        gnn_tokenizer_free(t);
    }
}
END_TEST

/* Tokens of the text of a special token are left out as well, but not a special token whose text
 * normalizers changed: as in the package. */
START_TEST(tokens_are_left_out_by_their_text)
{
    gnn_tokenizer_t *t = open_text(
        "twice.json",
        "{\"model\": {\"type\": \"WordLevel\", \"unk_token\": \"?\", \"vocab\": {\"?\": 0, \"a\": 1, "
        "\"B\": 2, \"C\": 3, \"c\": 4}}, \"pre_tokenizer\": {\"type\": \"Whitespace\"}, \"normalizer\": "
        "{\"type\": \"Lowercase\"}, \"added_tokens\": ["
        "{\"id\": 1, \"content\": \"a\", \"special\": true, \"normalized\": false}, "
        "{\"id\": 5, \"content\": \"A\", \"special\": false, \"normalized\": true}, "
        "{\"id\": 3, \"content\": \"C\", \"special\": true, \"normalized\": true}]}");
    static const struct {
        int32_t ids[4];
        const char *all, *without;
    } texts[] = {{{1, 2, 5, 2}, "a B a B", "B B"}, {{3, 4, 2, 3}, "c c B c", "c c B c"}};
    for (size_t k = 0; k < 2; k++)
        for (int special = 0; special < 2; special++) {
            char *text;
            ck_ok(gnn_tokenizer_decode(t, 4, texts[k].ids, special ? GNN_ON : GNN_OFF, &text, NULL));
            ck_assert_str_eq(text, special ? texts[k].all : texts[k].without);
            gnn_free(text);
        }
    gnn_tokenizer_free(t);
}
END_TEST

START_TEST(word_level_of_words_and_characters)
{
    gnn_tokenizer_t *t = open_text(
        "w.json",
        "{\"model\": {\"type\": \"WordLevel\", \"unk_token\": \"?\", \"vocab\": {\"?\": 0, \"a\": 1, "
        "\"b!\": 2}}, \"pre_tokenizer\": {\"type\": \"WhitespaceSplit\"}, \"normalizer\": "
        "{\"type\": \"Lowercase\"}}");
    ck_assert_str_eq(ids_of(t, "A b!\tab", plain), "1 2 0");
    ck_decodes(t, "a  a x", "a a ?");
    gnn_tokenizer_free(t);
    t = open_text(
        "c.json",
        "{\"model\": {\"type\": \"WordLevel\", \"unk_token\": \"?\", \"vocab\": {\"?\": 0, \"a\": 1, "
        "\"\\n\": 2, \"\xc3\xa9\": 3}}, \"pre_tokenizer\": {\"type\": \"Split\", \"pattern\": "
        "{\"Regex\": \"[\\\\s\\\\S]\"}, \"behavior\": \"Isolated\", \"invert\": false}, "
        "\"normalizer\": {\"type\": \"NFC\"}}");
    ck_assert_str_eq(ids_of(t, "ae\xcc\x81\n.", plain), "1 3 2 0");
    /* U+0344 is two marks, of which the E takes the first: the offset of the other is the whole. */
    static const char *const marks[] = {"aE\xcd\x84."};
    gnn_tokens_t *tokens;
    ck_ok(gnn_tokenizer_encode(t, &(gnn_texts_t){1, marks, NULL}, NULL,
                               &(gnn_encoding_t){.special = GNN_OFF, .places = GNN_ON}, &tokens));
    ck_assert_int_eq(tokens->rows, 4);
    ck_assert(tokens->begin[1] == 1 && tokens->begin[2] == 2 && tokens->end[2] == 4);
    ck_assert(tokens->begin[3] == 4);
    gnn_tokens_free(tokens);
    gnn_tokenizer_free(t);
}
END_TEST

/* ---- a table of characters ---- */

/* Characters that the table drops at the start move the origins behind them back, as in the library
 * tokenizers 0.23.3. The table drops U+0001 and replaces U+0002 by "ab", U+0003 by "c". */
START_TEST(dropped_characters_move_origins)
{
    static const struct {
        const char *text, *ids, *offsets;
    } cases[] = {{"\1a", "1", " 0-1"},
                 {"\1\1a b", "1 3", " 0-1 1-3"},
                 {" \1a", "2", " 2-3"},
                 {"\1 a", "2", " 1-2"},
                 {"\2\1c d\1e \3f\1", "4 5 6", " 0-3 3-7 7-10"}};
    gnn_tokenizer_t *t = open_text(
        "m.json",
        "{\"model\": {\"type\": \"WordLevel\", \"unk_token\": \"?\", \"vocab\": {\"?\": 0, "
        "\"\xe2\x96\x81"
        "a\": 1, \"a\": 2, \"\xe2\x96\x81"
        "b\": 3, \"\xe2\x96\x81"
        "abc\": 4, \"\xe2\x96\x81"
        "de\": 5, \"\xe2\x96\x81"
        "cf\": 6}}, "
        "\"normalizer\": {\"type\": \"Sequence\", \"normalizers\": [{\"type\": \"Precompiled\", "
        "\"precompiled_charsmap\": \"MAAAAAAQAAAAAAAAAAAAAAAAAAAAAAAAATUAAAI9AAADNQAAAAAAgAEAAIAEAACAAAAA"
        "AABhYgBjAA==\"}, {\"type\": \"Strip\", \"strip_left\": true, \"strip_right\": true}]}, "
        "\"pre_tokenizer\": {\"type\": \"Metaspace\", \"replacement\": \"\xe2\x96\x81"
        "\", "
        "\"prepend_scheme\": \"first\", \"split\": true}}");
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char offsets[64] = "";
        gnn_tokens_t *tokens;
        ck_assert_str_eq(ids_of(t, cases[k].text, plain), cases[k].ids);
        ck_ok(gnn_tokenizer_encode(t, &(gnn_texts_t){1, &cases[k].text, NULL}, NULL,
                                   &(gnn_encoding_t){.special = GNN_OFF, .places = GNN_ON}, &tokens));
        for (int64_t i = 0; i < tokens->rows; i++)
            snprintf(offsets + strlen(offsets), sizeof offsets - strlen(offsets), " %lld-%lld",
                     (long long)tokens->begin[i], (long long)tokens->end[i]);
        ck_assert_str_eq(offsets, cases[k].offsets);
        gnn_tokens_free(tokens);
    }
    gnn_tokenizer_free(t);
}
END_TEST

/* ---- patterns ---- */

/* The pieces of a text, separated by "|", from a pre-tokenizer whose words are all unknown; offsets
 * identify them. */
static const char *pieces_of(const char *pattern, const char *behavior, const char *invert,
                             const char *text)
{
    static char out[256];
    char json[1024];
    gnn_tokens_t *tokens;
    snprintf(json, sizeof json,
             "{\"model\": {\"type\": \"WordLevel\", \"unk_token\": \"?\", \"vocab\": {\"?\": 0}}, "
             "\"pre_tokenizer\": {\"type\": \"Split\", \"pattern\": {\"Regex\": \"%s\"}, "
             "\"behavior\": \"%s\", \"invert\": %s}}",
             pattern, behavior, invert);
    gnn_tokenizer_t *t = open_text("p.json", json);
    ck_ok(gnn_tokenizer_encode(t, &(gnn_texts_t){1, &text, NULL}, NULL,
                               &(gnn_encoding_t){.special = GNN_OFF, .places = GNN_ON}, &tokens));
    out[0] = '\0';
    for (int64_t k = 0; k < tokens->rows; k++)
        snprintf(out + strlen(out), sizeof out - strlen(out), "%s%.*s", k ? "|" : "",
                 (int)(tokens->end[k] - tokens->begin[k]), text + tokens->begin[k]);
    gnn_tokens_free(tokens);
    gnn_tokenizer_free(t);
    return out;
}

/* As the library tokenizers 0.23.3 cuts them. */
START_TEST(patterns_match_oniguruma)
{
    static const struct {
        const char *pattern, *behavior, *invert, *text, *pieces;
    } cases[] = {{"-", "Removed", "false", "a--b-", "a|b"},
                 {"-", "Isolated", "false", "a--b-", "a|-|-|b|-"},
                 {"-", "MergedWithPrevious", "false", "a--b-", "a-|-|b-"},
                 {"-", "MergedWithNext", "false", "a--b-", "a|-|-b|-"},
                 {"-", "Contiguous", "false", "a--b-", "a|--|b|-"},
                 {"[a-c]+", "Removed", "true", "abxxc", "ab|c"},
                 {"[0-9][0-9][0-9]", "Isolated", "false", "x12345", "x|123|45"},
                 {" ?[^(\\\\s|[.,!?])]+", "Isolated", "false", "hi, you (me)", "hi|,| you| (|me|)"},
                 {"\\\\p{N}{1,3}+", "Isolated", "false", "a12345b", "a|12345|b"},
                 {"(?i:'s)|\\\\p{Lu}[\\\\p{Ll}\\\\p{M}]*", "Isolated", "false", "OneTwo'S x",
                  "One|Two|'S| x"},
                 {"\\\\s+(?!\\\\S)|\\\\s+", "Isolated", "false", "a   b", "a|  | |b"}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        ck_assert_str_eq(
            pieces_of(cases[k].pattern, cases[k].behavior, cases[k].invert, cases[k].text),
            cases[k].pieces);
}
END_TEST

/* A pattern that would take 2^40 steps is an error, not a wait. */
START_TEST(patterns_have_a_limit)
{
    static const char *const text[] = {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaXb"};
    gnn_tokens_t *tokens;
    gnn_tokenizer_t *t = open_text(
        "p.json",
        "{\"model\": {\"type\": \"WordLevel\", \"unk_token\": \"?\", \"vocab\": {\"?\": 0}}, "
        "\"pre_tokenizer\": {\"type\": \"Split\", \"pattern\": {\"Regex\": \"(a+a+)+b\"}, "
        "\"behavior\": \"Isolated\"}}");
    ck_fails(gnn_tokenizer_encode(t, &(gnn_texts_t){1, text, NULL}, NULL, NULL, &tokens),
             GNN_EOVERFLOW, "takes more steps");
    gnn_tokenizer_free(t);
}
END_TEST

/* An added token with `single_word` inside another word is text, and so are its surroundings. */
START_TEST(added_tokens_inside_words)
{
    gnn_tokenizer_t *t = open_text(
        "a.json", "{\"model\": {\"type\": \"WordLevel\", \"unk_token\": \"?\", \"vocab\": {\"?\": 0, "
                  "\"ab\": 1, \"b\": 2}}, \"pre_tokenizer\": {\"type\": \"WhitespaceSplit\"}, "
                  "\"added_tokens\": [{\"id\": 3, \"content\": \"a\", \"single_word\": true}]}");
    ck_assert_str_eq(ids_of(t, "ab b", plain), "1 2");
    ck_assert_str_eq(ids_of(t, "a ab a b", plain), "3 1 3 2");
    gnn_tokenizer_free(t);
}
END_TEST

/* ---- learning ---- */

/* "low" 3 times and "lot" twice give lo (5), then low (3) and lot (2), with and without a leading
 * space. */
START_TEST(trained_merges_survive_saving)
{
    static const char *const texts[] = {"low low low", "lot lot"}, *const special[] = {"<end>"};
    gnn_tokenizer_t *t, *again;
    ck_ok(gnn_tokenizer_learn(&t, &(gnn_texts_t){2, texts, NULL},
                              &(gnn_learning_t){.size = 262, .special = special, .n_special = 1}));
    ck_assert_int_eq(gnn_tokenizer_size(t), 262);
    ck_assert_int_eq(gnn_tokenizer_find(t, "<end>"), 0);
    ck_assert_int_eq(gnn_tokenizer_find(t, "lo"), 257);
    ck_assert_int_eq(gnn_tokenizer_find(t, "\xc4\xa0lo"), 258);
    ck_assert_int_eq(gnn_tokenizer_find(t, "\xc4\xa0low"), 259);
    ck_ok(gnn_tokenizer_save(t, in_folder("learned.json")));
    ck_ok(gnn_tokenizer_open(&again, in_folder("learned.json")));
    char ids[64];
    snprintf(ids, sizeof ids, "%s", ids_of(t, "low lot<end>\xf0\x9f\x98\x80", plain));
    ck_assert_str_eq(ids_of(again, "low lot<end>\xf0\x9f\x98\x80", plain), ids);
    ck_decodes(again, "low slot<end>\xc3\xa9", "low slot<end>\xc3\xa9");
    gnn_tokenizer_free(again);
    gnn_tokenizer_free(t);
    ck_fails(gnn_tokenizer_learn(&t, &(gnn_texts_t){2, texts, NULL}, &(gnn_learning_t){.size = 100}),
             GNN_EINVALID, "100 tokens");
    ck_fails(gnn_tokenizer_learn(&t, NULL, NULL), GNN_EINVALID, "texts is NULL");
}
END_TEST

/* ---- packed trees ---- */

enum { STRINGS = 3000, LONGEST = 9 };

/* Two, three or all kinds of bytes: nodes with many below them and with one. */
static int64_t draw_string(uint64_t *state, char *to)
{
    static const int64_t kinds[] = {2, 3, 256};
    const int64_t n = test_below(state, LONGEST), kind = kinds[test_below(state, 3)];
    for (int64_t k = 0; k < n; k++)
        to[k] = (char)test_below(state, kind);
    return n;
}

static int32_t packed_find(const gnn__packed_trie_t *t, const char *at, int64_t n)
{
    int32_t node = 0;
    for (int64_t k = 0; k < n && node >= 0; k++)
        node = gnn__packed_step(t, node, at[k]);
    return node >= 0 ? t->at[node].value : -1;
}

START_TEST(packed_tries_find_the_same)
{
    gnn__trie_t trie = {0};
    gnn__packed_trie_t packed;
    uint64_t state = 5;
    char at[LONGEST];
    int64_t found = 0;
    ck_ok(gnn__trie_pack(&packed, &trie));
    ck_assert_int_eq(packed_find(&packed, "", 0), -1);
    ck_assert_int_eq(packed_find(&packed, "a", 1), -1);
    gnn__packed_free(&packed);
    for (int32_t k = 0; k < STRINGS; k++) {
        const int64_t n = draw_string(&state, at);
        ck_ok(gnn__trie_add(&trie, at, n, k));
    }
    ck_ok(gnn__trie_pack(&packed, &trie));
    ck_assert_int_lt(packed.room, 4 * trie.nodes);
    state = 5;
    for (int64_t k = 0; k < 10 * STRINGS; k++) {
        const int64_t n = draw_string(&state, at);
        const int32_t value = packed_find(&packed, at, n);
        ck_assert_int_eq(value, gnn__trie_find(&trie, at, n));
        found += value >= 0;
    }
    ck_assert_int_gt(found, STRINGS);
    ck_assert_int_lt(found, 9 * STRINGS);
    gnn__packed_free(&packed);
    gnn__trie_free(&trie);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tokenizer");
    TCase *c = tcase_create("tokenizer");
    tcase_set_timeout(c, 300);
    tcase_add_unchecked_fixture(c, make_folder, remove_folder);
    tcase_add_test(c, broken_utf8_is_replaced_as_python_does);
    tcase_add_test(c, words_match_the_regular_expressions);
    tcase_add_test(c, wordpiece_of_berts_tests);
    tcase_add_test(c, a_vocabulary_with_capitals_keeps_case);
    tcase_add_test(c, offsets_pairs_and_truncation);
    tcase_add_test(c, bert_vocabulary);
    tcase_add_test(c, byte_pairs_with_added_tokens);
    tcase_add_test(c, steps_after_byte_level_read_its_characters);
    tcase_add_test(c, incomplete_characters_are_held_back);
    tcase_add_test(c, long_texts_are_truncated_before_they_are_encoded);
    tcase_add_test(c, long_words_take_linear_time);
    tcase_add_test(c, sentencepiece_unigram_and_merges);
    tcase_add_test(c, literal_unknown_pieces_join_their_neighbours);
    tcase_add_test(c, sums_of_long_texts_are_reset);
    tcase_add_test(c, scored_merges_of_llama2c);
    tcase_add_test(c, rare_steps);
    tcase_add_test(c, temporal_classification_is_decoded);
    tcase_add_test(c, tokens_are_left_out_by_their_text);
    tcase_add_test(c, word_level_of_words_and_characters);
    tcase_add_test(c, dropped_characters_move_origins);
    tcase_add_test(c, patterns_match_oniguruma);
    tcase_add_test(c, patterns_have_a_limit);
    tcase_add_test(c, added_tokens_inside_words);
    tcase_add_test(c, trained_merges_survive_saving);
    tcase_add_test(c, packed_tries_find_the_same);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
