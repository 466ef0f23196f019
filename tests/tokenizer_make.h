/* Shared by the suites of tokenizers: small tokenizers, and lists of ids as text.
 */
#ifndef GNN_TESTS_TOKENIZER_MAKE_H
#define GNN_TESTS_TOKENIZER_MAKE_H

#include "io_bytes.h"

#include <lib/text/tokenizer/tokenizer.h>

static inline const char *write_file(const char *name, const void *data, size_t n)
{
    static char path[512];
    snprintf(path, sizeof path, "%s", in_folder(name));
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(data, 1, n, file), n);
    fclose(file);
    return path;
}

static inline gnn_tokenizer_t *open_text(const char *name, const char *text)
{
    gnn_tokenizer_t *t = NULL;
    ck_ok(gnn_tokenizer_open(&t, write_file(name, text, strlen(text))));
    return t;
}

static inline gnn_tokens_t *encode_bytes(const gnn_tokenizer_t *t, const char *text, int64_t n,
                                         gnn_encoding_t how)
{
    gnn_tokens_t *tokens = NULL;
    ck_ok(gnn_tokenizer_encode(t, &(gnn_texts_t){1, &text, &n}, NULL, &how, &tokens));
    ck_assert_int_eq(tokens->sentences, 1);
    ck_assert_int_eq(tokens->lengths[0], tokens->rows);
    return tokens;
}

/* "1 2 3" */
static inline const char *ids_of(const gnn_tokenizer_t *t, const char *text, gnn_encoding_t how)
{
    static char out[1 << 16];
    gnn_tokens_t *tokens = encode_bytes(t, text, (int64_t)strlen(text), how);
    size_t at = 0;
    out[0] = '\0';
    for (int64_t k = 0; k < tokens->rows && at < sizeof out - 16; k++)
        at += (size_t)sprintf(out + at, "%s%d", k ? " " : "", tokens->ids[k]);
    gnn_tokens_free(tokens);
    return out;
}

static inline void ck_decodes(const gnn_tokenizer_t *t, const char *text, const char *expected)
{
    gnn_tokens_t *tokens =
        encode_bytes(t, text, (int64_t)strlen(text), (gnn_encoding_t){.special = GNN_OFF});
    char *got;
    ck_ok(gnn_tokenizer_decode(t, tokens->rows, tokens->ids, GNN_ON, &got, NULL));
    ck_assert_str_eq(got, expected);
    gnn_free(got);
    gnn_tokens_free(tokens);
}

/* ---- byte-level BPE: the 256 bytes, then a token for each merge ---- */

static inline int put_character(char *to, int byte)
{
    const int32_t c = gnn__character_of(byte);
    if (c == '"' || c == '\\')
        return sprintf(to, "\\%c", (char)c);
    const int n = gnn__utf8_put(to, c);
    to[n] = '\0';
    return n;
}

/* tokenizer.json; `merges`: "l o" and so on, NULL at the end. */
static inline const char *byte_pairs_json(const char *pre_tokenizer, const char *const *merges,
                                          const char *added)
{
    static char json[1 << 15];
    char *to =
        json + sprintf(json,
                       "{\"pre_tokenizer\": %s, \"added_tokens\": [%s], \"decoder\": "
                       "{\"type\": \"ByteLevel\"}, \"model\": {\"type\": \"BPE\", \"vocab\": {",
                       pre_tokenizer, added);
    for (int b = 0; b < 256; b++) {
        *to++ = '"';
        to += put_character(to, b);
        to += sprintf(to, "\": %d, ", b);
    }
    for (int k = 0; merges[k]; k++) {
        const char *blank = strchr(merges[k], ' ');
        to += sprintf(to, "%s\"%.*s%s\": %d", k ? ", " : "", (int)(blank - merges[k]), merges[k],
                      blank + 1, 256 + k);
    }
    to += sprintf(to, "}, \"merges\": [");
    for (int k = 0; merges[k]; k++)
        to += sprintf(to, "%s\"%s\"", k ? ", " : "", merges[k]);
    sprintf(to, "]}}");
    return json;
}

#define LLAMA3_SPLIT                                                                                                     \
    "{\"type\": \"Sequence\", \"pretokenizers\": [{\"type\": \"Split\", \"behavior\": \"Isolated\", \"invert\": false, " \
    "\"pattern\": {\"Regex\": \"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?\\\\p{L}+|\\\\p{N}{1,3}| ?[^" \
    "\\\\s\\\\p{L}\\\\p{N}]+[\\\\r\\\\n]*|\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+\"}}, {\"type\": \"ByteLevel\", "    \
    "\"add_prefix_space\": false, \"use_regex\": false}]}"

static const char *const small_merges[] = {"\xc4\xa0 t",
                                           "h e",
                                           "\xc4\xa0t he",
                                           "i n",
                                           "in g",
                                           "\xc4\xa0 a",
                                           "\xc4\xa0"
                                           "a n",
                                           "\xc4\xa0"
                                           "an d",
                                           "1 2",
                                           "\xc3\xb0 \xc5\x81",
                                           "\xc3\xb0\xc5\x81 \xc4\xba",
                                           "l o",
                                           NULL};

/* ---- SentencePiece models, field by field ---- */

static inline void put_piece(bytes_t *b, const char *text, float score, int type)
{
    const size_t n = strlen(text);
    uint32_t bits;
    memcpy(&bits, &score, sizeof bits);
    put_number(b, 0x0a, 1);
    put_number(b, n + 9, 1);
    put_number(b, 0x0a, 1);
    put_number(b, n, 1);
    put(b, text, n);
    put_number(b, 0x15, 1);
    put_number(b, bits, 4);
    put_number(b, 0x18, 1);
    put_number(b, (uint64_t)type, 1);
}

/* The trainer's part: the kind of model (1 unigram, 2 BPE, 3 word, 4 char). */
static inline void put_trainer(bytes_t *b, int kind)
{
    put(b, (const char[]){0x12, 2, 0x18, (char)kind}, 4);
}

#endif
