/* The tokens of a vocabulary, and GPT-2's alphabet of visible characters for bytes. */
#include <lib/text/tokenizer/tokenizer.h>

enum { MOST_TOKENS = 1 << 24 };

static int make_room(gnn_tokenizer_t *t, int64_t room)
{
    GNN_TRY(gnn__grow(&t->tokens, t->room, room, sizeof *t->tokens, "tokens"));
    GNN_TRY(gnn__grow(&t->flags, t->room, room, sizeof *t->flags, "tokens"));
    t->room = room;
    return GNN_OK;
}

static int check_token(const gnn_tokenizer_t *t, int64_t id, gnn__string_t text)
{
    const int64_t tokens = gnn__max(t->count, t->expected);
    if (id < 0 || id >= MOST_TOKENS)
        return gnn__error(GNN_EFORMAT, "token \"%.40s\" has the id %lld, at most %d is expected",
                          text.at, (long long)id, MOST_TOKENS - 1);
    if (text.length > GNN__MOST_TOKEN_BYTES)
        return gnn__error(GNN_EFORMAT, "token %lld has %lld bytes, at most %d are read",
                          (long long)id, (long long)text.length, GNN__MOST_TOKEN_BYTES);
    if (id >= 2 * tokens + GNN__SPARE_IDS)
        return gnn__error(GNN_EFORMAT,
                          "token \"%.40s\" has the id %lld, but there are %lld tokens: ids "
                          "below %lld are expected",
                          text.at, (long long)id, (long long)tokens,
                          (long long)(2 * tokens + GNN__SPARE_IDS));
    return GNN_OK;
}

int gnn__token_add(gnn_tokenizer_t *t, int64_t id, gnn__string_t text)
{
    GNN_TRY(check_token(t, id, text));
    if (id >= t->room)
        GNN_TRY(make_room(t, gnn__max(2 * t->room, gnn__max(id + 1, 256))));
    if (t->tokens[id].at && (t->tokens[id].length != text.length ||
                             memcmp(t->tokens[id].at, text.at, (size_t)text.length) != 0))
        return gnn__error(GNN_EFORMAT, "tokens \"%.40s\" and \"%.40s\" have the same id %lld",
                          t->tokens[id].at, text.at, (long long)id);
    t->count += !t->tokens[id].at;
    t->tokens[id] = text;
    t->size = gnn__max(t->size, id + 1);
    return gnn__string_add(&t->names, t->tokens, gnn__hash_bytes(0, text.at, text.length),
                           (int32_t)id);
}

int32_t gnn__token_find(const gnn_tokenizer_t *t, gnn__string_t left, gnn__string_t right)
{
    const uint64_t hash = gnn__hash_bytes(0, left.at, left.length);
    return gnn__string_find(&t->names, t->tokens, gnn__hash_bytes(hash, right.at, right.length),
                            left, right);
}

static int add_of_object(gnn_tokenizer_t *t, const json_t *vocabulary)
{
    const char *key;
    json_t *value;
    t->expected = t->count + (int64_t)json_object_size(vocabulary);
    json_object_foreach((json_t *)(uintptr_t)vocabulary, key, value)
    {
        if (!json_is_integer(value))
            return gnn__error(GNN_EFORMAT, "token \"%.40s\" is %s, an id is expected", key,
                              gnn__json_type(value));
        GNN_TRY(gnn__token_add(t, (int64_t)json_integer_value(value),
                               (gnn__string_t){key, (int64_t)strlen(key)}));
    }
    return GNN_OK;
}

static int check_object(const json_t *vocabulary)
{
    if (json_is_object(vocabulary) && json_object_size(vocabulary) > 0)
        return GNN_OK;
    return gnn__error(GNN_EFORMAT, "\"vocab\" is %s, an object of tokens is expected",
                      json_is_object(vocabulary) ? "empty" : gnn__json_type(vocabulary));
}

int gnn__vocabulary_of(gnn_tokenizer_t *t, const json_t *model)
{
    const json_t *vocabulary = json_object_get(model, "vocab");
    if (vocabulary || t->size == 0)
        GNN_TRY(check_object(vocabulary));
    if (vocabulary)
        GNN_TRY(add_of_object(t, vocabulary));
    for (int64_t id = 0; id < t->size; id++)
        if (t->tokens[id].at)
            GNN_TRY(gnn__piece_add(t, (int32_t)id));
    return GNN_OK;
}

int gnn__piece_add(gnn_tokenizer_t *t, int32_t id)
{
    gnn__string_t text = t->tokens[id];
    char *bytes;
    if (!t->rules.bytewise)
        return gnn__trie_add(&t->pieces, text.at, text.length, id);
    GNN_TRY(gnn__new(&bytes, text.length + 1, 1, "a token"));
    const int64_t n = gnn__token_bytes(text, bytes);
    int rc = n >= 0 ? gnn__trie_add(&t->pieces, bytes, n, id) : GNN_OK;
    gnn_free(bytes);
    return rc;
}

int gnn__unknown_read(gnn_tokenizer_t *t, const json_t *model, const char *initial)
{
    gnn__string_t name = {initial, initial ? (int64_t)strlen(initial) : 0};
    GNN_TRY(gnn__json_string(model, "unk_token", false, &name));
    t->rules.unknown = name.at ? gnn__token_find(t, name, (gnn__string_t){"", 0}) : -1;
    return GNN_OK;
}

/* ---- bytes ---- */

/* Printable Latin-1 characters represent themselves; the 68 other bytes, in order, map to U+0100
 * and up. */
static bool is_printable(int c)
{
    return (c >= '!' && c <= '~') || (c >= 0xa1 && c <= 0xac) || (c >= 0xae && c <= 0xff);
}

int32_t gnn__character_of(int byte)
{
    int32_t hidden = 0x100;
    for (int b = 0; b < byte; b++)
        hidden += !is_printable(b);
    return is_printable(byte) ? byte : hidden;
}

int gnn__byte_of(int32_t c)
{
    if (c < 0x100)
        return is_printable(c) ? c : -1;
    const int32_t k = c - 0x100;
    return k <= 0x20 ? k : k <= 0x42 ? k - 0x21 + 0x7f : k == 0x43 ? 0xad : -1;
}

int64_t gnn__token_bytes(gnn__string_t token, char *to)
{
    int64_t n = 0;
    for (int64_t k = 0; k < token.length;) {
        const int byte = gnn__byte_of(gnn__utf8_next(token.at, &k));
        if (byte < 0)
            return -1;
        to[n++] = (char)byte;
    }
    return n;
}

static int hexadecimal(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

int gnn__byte_token(gnn__string_t token)
{
    if (token.length != 6 || memcmp(token.at, "<0x", 3) != 0 || token.at[5] != '>')
        return -1;
    const int high = hexadecimal(token.at[3]), low = hexadecimal(token.at[4]);
    return high < 0 || low < 0 ? -1 : 16 * high + low;
}

void gnn__byte_tokens_find(gnn_tokenizer_t *t)
{
    for (int b = 0; b < 256; b++) {
        char name[8];
        snprintf(name, sizeof name, "<0x%02X>", (unsigned)b);
        t->rules.bytes[b] = gnn__token_find(t, (gnn__string_t){name, 6}, (gnn__string_t){"", 0});
    }
}
