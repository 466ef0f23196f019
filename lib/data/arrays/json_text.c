/* A reader of JSON, RFC 8259. jansson stores and writes values, but if an allocation fails, its own
 * reader (2.14) drops a character of a string or writes past its buffer, and its writer drops keys;
 * these detect every failure. The reader descends a given count of levels and is independent of the
 * locale. */
#include <lib/data/arrays/json_text.h>

#include <lib/base/base.h>
#include <lib/data/arrays/text_file.h>

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>

typedef struct reader {
    const char *text, *at, *end;
    int flags, depth, levels;
    locale_t numbers; /* the C locale */
    char *string;     /* (room) the last string that had escapes, or was a key */
    int64_t room;
} reader_t;

/* Bytes of a string without its quotes: of the text, or of reader_t.string. */
typedef struct string {
    const char *at;
    int64_t length;
} string_t;

static int fault(const reader_t *r, const char *at, const char *words)
{
    long long line = 1, column = 1;
    for (const char *c = r->text; c < at; c++) {
        column = *c == '\n' ? 1 : column + 1;
        line += *c == '\n';
    }
    return gnn__error(GNN_EFORMAT, "line %lld, column %lld (byte %lld): %s", line, column,
                      (long long)(at - r->text), words);
}

static int no_memory(void)
{
    return gnn__error(GNN_EMEMORY, "no memory for the values of a JSON text");
}

static void skip_space(reader_t *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\t' || *r->at == '\r'))
        r->at++;
}

/* The next character after whitespace; 0 at the end. */
static char peek(reader_t *r)
{
    skip_space(r);
    return r->at < r->end ? *r->at : '\0';
}

/* ---- strings ---- */

static int hexadecimal(const char *at, const char *end, int32_t *value)
{
    *value = 0;
    for (int k = 0; k < 4; k++) {
        const char c = at + k < end ? at[k] : '\0';
        const int digit = c >= '0' && c <= '9'   ? c - '0'
                          : c >= 'a' && c <= 'f' ? c - 'a' + 10
                          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                 : -1;
        if (digit < 0)
            return -1;
        *value = 16 * *value + digit;
    }
    return 0;
}

static char *put_utf8(char *to, int32_t c)
{
    if (c < 0x80) {
        *to++ = (char)c;
        return to;
    }
    if (c < 0x800)
        *to++ = (char)(0xc0 | c >> 6);
    else {
        if (c < 0x10000)
            *to++ = (char)(0xe0 | c >> 12);
        else {
            *to++ = (char)(0xf0 | c >> 18);
            *to++ = (char)(0x80 | (c >> 12 & 0x3f));
        }
        *to++ = (char)(0x80 | (c >> 6 & 0x3f));
    }
    *to++ = (char)(0x80 | (c & 0x3f));
    return to;
}

/* \uXXXX at *from, or a pair of surrogates. */
static int unescape_code(const reader_t *r, const char **from, const char *end, char **to)
{
    const char *at = *from;
    int32_t code, low;
    if (hexadecimal(at + 2, end, &code) != 0)
        return fault(r, at, "four hexadecimal digits are expected after \\u");
    *from += 6;
    if (code >= 0xdc00 && code <= 0xdfff)
        return fault(r, at, "the second half of a surrogate pair without a first");
    if (code >= 0xd800 && code <= 0xdbff) {
        if (end - *from < 6 || (*from)[0] != '\\' || (*from)[1] != 'u' ||
            hexadecimal(*from + 2, end, &low) != 0 || low < 0xdc00 || low > 0xdfff)
            return fault(r, at, "the first half of a surrogate pair without a second");
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        *from += 6;
    }
    if (code == 0 && !(r->flags & GNN__JSON_NUL))
        return fault(r, at, "\\u0000 is not read in strings");
    *to = put_utf8(*to, code);
    return GNN_OK;
}

static int unescape(const reader_t *r, const char *from, const char *end, char *to, int64_t *length)
{
    static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    char *const begin = to;
    while (from < end) {
        if (*from != '\\') {
            *to++ = *from++;
            continue;
        }
        if (from[1] == 'u') { /* from[1] is before `end`: a string does not end in a backslash */
            GNN_TRY(unescape_code(r, &from, end, &to));
            continue;
        }
        const char *letter = from[1] ? strchr(letters, from[1]) : NULL;
        if (!letter)
            return fault(r, from, "an unknown escape in a string");
        *to++ = meant[letter - letters];
        from += 2;
    }
    *to = '\0';
    *length = to - begin;
    return GNN_OK;
}

/* `copied`: in memory that ends in a zero byte even where the string has no escapes. */
static int read_string(reader_t *r, bool copied, string_t *out)
{
    const char *begin = ++r->at;
    for (; r->at < r->end && *r->at != '"'; r->at++) {
        if ((unsigned char)*r->at < 0x20)
            return fault(r, r->at, "a control character in a string");
        if (*r->at == '\\') {
            copied = true;
            r->at += r->at + 1 < r->end && (unsigned char)r->at[1] >= 0x20;
        }
    }
    if (r->at >= r->end)
        return fault(r, begin - 1, "the string does not end");
    *out = (string_t){begin, r->at - begin};
    if (!gnn__is_utf8(out->at, out->length))
        return fault(r, begin, "the string is not UTF-8");
    r->at++;
    if (!copied)
        return GNN_OK;
    GNN_TRY(gnn__reserve(&r->string, &r->room, out->length + 1, 1, "a string of JSON"));
    GNN_TRY(unescape(r, begin, begin + out->length, r->string, &out->length));
    out->at = r->string;
    return GNN_OK;
}

/* ---- integers and reals ---- */

static bool is_digit(const reader_t *r)
{
    return r->at < r->end && *r->at >= '0' && *r->at <= '9';
}

static bool skip_digits(reader_t *r)
{
    const char *begin = r->at;
    while (is_digit(r))
        r->at++;
    return r->at > begin;
}

/* Skips the JSON number (RFC 8259, 6). */
static bool skip_number(reader_t *r, bool *real)
{
    *real = false;
    r->at += *r->at == '-';
    if (r->at < r->end && *r->at == '0')
        r->at++;
    else if (!skip_digits(r))
        return false;
    if (is_digit(r))
        return false; /* 01 */
    if (r->at < r->end && *r->at == '.') {
        *real = true;
        r->at++;
        if (!skip_digits(r))
            return false;
    }
    if (r->at < r->end && (*r->at == 'e' || *r->at == 'E')) {
        *real = true;
        r->at++;
        r->at += r->at < r->end && (*r->at == '+' || *r->at == '-');
        return skip_digits(r);
    }
    return true;
}

/* Every JSON number is followed by a byte: the text ends in a bracket or brace. */
static int read_number(reader_t *r, json_t **value)
{
    const char *begin = r->at;
    bool real;
    if (!skip_number(r, &real))
        return fault(r, begin, "a number that is not written as JSON has it");
    if (!real) {
        errno = 0;
        const long long whole = strtoll(begin, NULL, 10);
        if (errno != ERANGE) {
            *value = json_integer(whole);
            return *value ? GNN_OK : no_memory();
        }
        if (!(r->flags & GNN__JSON_WIDE))
            return fault(r, begin, "an integer of more than 64 bits");
    }
    const double number = strtod_l(begin, NULL, r->numbers);
    if (!isfinite(number))
        return fault(r, begin, "a number that is too large");
    *value = json_real(number);
    return *value ? GNN_OK : no_memory();
}

/* ---- values ---- */

static int read_value(reader_t *r, json_t **value);

/* Takes ownership of `value`. The key's string is overwritten when the value is read, so it is
 * copied first. */
static int read_member(reader_t *r, json_t *object)
{
    string_t key;
    json_t *value = NULL, *name = NULL;
    int rc;
    if (peek(r) != '"')
        return fault(r, r->at, "a string is expected, the key of an object");
    const char *at = r->at;
    GNN_TRY(read_string(r, true, &key));
    if (memchr(key.at, '\0', (size_t)key.length))
        return fault(r, at, "\\u0000 is not read in keys");
    if (r->flags & GNN__JSON_UNIQUE && json_object_get(object, key.at))
        return fault(r, at, "a duplicate key");
    if (!(name = json_stringn_nocheck(key.at, (size_t)key.length)))
        return no_memory();
    if (peek(r) != ':')
        rc = fault(r, r->at, "':' is expected after a key");
    else {
        r->at++;
        rc = read_value(r, &value);
    }
    if (rc == GNN_OK && json_object_set_new_nocheck(object, json_string_value(name), value) != 0)
        rc = no_memory();
    json_decref(name);
    return rc;
}

static int read_element(reader_t *r, json_t *array)
{
    json_t *value = NULL;
    GNN_TRY(read_value(r, &value));
    return json_array_append_new(array, value) == 0 ? GNN_OK : no_memory();
}

/* An object or an array, from its opening bracket on. */
static int read_list(reader_t *r, json_t **value)
{
    const bool object = *r->at == '{';
    const char close = object ? '}' : ']';
    if (r->depth == r->levels) {
        char words[48];
        snprintf(words, sizeof words, "more than %d levels deep", r->levels);
        return fault(r, r->at, words);
    }
    r->depth++;
    if (!(*value = object ? json_object() : json_array()))
        return no_memory();
    r->at++;
    while (peek(r) != close || json_object_size(*value) + json_array_size(*value) > 0) {
        GNN_TRY(object ? read_member(r, *value) : read_element(r, *value));
        const char next = peek(r);
        if (next != ',' && next != close)
            return fault(r, r->at, object ? "',' or '}' is expected" : "',' or ']' is expected");
        if (next == close)
            break;
        r->at++;
    }
    r->at++;
    r->depth--;
    return GNN_OK;
}

static int read_word(reader_t *r, json_t **value)
{
    static const char *const words[] = {"true", "false", "null"};
    for (int k = 0; k < 3; k++) {
        const int64_t n = (int64_t)strlen(words[k]);
        if (r->end - r->at >= n && memcmp(r->at, words[k], (size_t)n) == 0) {
            r->at += n;
            *value = k == 0 ? json_true() : k == 1 ? json_false() : json_null();
            return GNN_OK;
        }
    }
    return fault(r, r->at, r->at < r->end ? "a value is expected" : "the text ends too early");
}

/* Release *value with json_decref, also after an error. */
static int read_any(reader_t *r, json_t **value)
{
    string_t string;
    const char c = peek(r);
    if (c == '{' || c == '[')
        return read_list(r, value);
    if (c == '-' || (c >= '0' && c <= '9'))
        return read_number(r, value);
    if (c != '"')
        return read_word(r, value);
    GNN_TRY(read_string(r, false, &string));
    *value = json_stringn_nocheck(string.at, (size_t)string.length);
    return *value ? GNN_OK : no_memory();
}

static int read_value(reader_t *r, json_t **value)
{
    *value = NULL;
    const int rc = read_any(r, value);
    if (rc != GNN_OK) {
        json_decref(*value);
        *value = NULL;
    }
    return rc;
}

static int read_root(reader_t *r, json_t **root)
{
    const char first = peek(r);
    if (first != '{' && first != '[')
        return fault(r, r->at, "'[' or '{' is expected");
    GNN_TRY(read_value(r, root));
    skip_space(r);
    return r->at == r->end ? GNN_OK : fault(r, r->at, "the end of the text is expected");
}

int gnn__json_parse(json_t **root, const char *text, int64_t size, int flags, int levels)
{
    reader_t r = {
        text, text, text + size, flags, 0, levels, newlocale(LC_ALL_MASK, "C", (locale_t)0),
        NULL, 0};
    *root = NULL;
    if (r.numbers == (locale_t)0)
        return gnn__error(GNN_EMEMORY, "no memory for the C locale");
    const int rc = read_root(&r, root);
    if (rc != GNN_OK) {
        json_decref(*root);
        *root = NULL;
    }
    freelocale(r.numbers);
    gnn_free(r.string);
    return rc;
}

/* ---- writing ---- */

typedef struct text {
    char *at;
    int64_t n, room;
    int rc;
} text_t;

/* jansson ignores some errors returned here, so the text records them. */
static int append(const char *bytes, size_t n, void *user)
{
    text_t *t = user;
    const int64_t wanted = t->n + (int64_t)n + 1;
    if (t->rc == GNN_OK && wanted > t->room) {
        const int64_t room = gnn__max(2 * t->room, wanted + 256);
        t->rc = gnn__grow(&t->at, t->n, room, 1, "a JSON text");
        t->room = t->rc == GNN_OK ? room : t->room;
    }
    if (t->rc != GNN_OK)
        return -1;
    memcpy(t->at + t->n, bytes, n);
    t->n += (int64_t)n;
    t->at[t->n] = '\0';
    return 0;
}

int gnn__json_write(char **text, const json_t *json, size_t flags)
{
    text_t t = {0};
    *text = NULL;
    if (!json)
        return no_memory();
    if (json_dump_callback(json, append, &t, flags) != 0 && t.rc == GNN_OK)
        t.rc = no_memory();
    if (t.rc != GNN_OK)
        gnn_free(t.at);
    else
        *text = t.at;
    return t.rc;
}

/* ---- closed objects ---- */

bool gnn__list_has(const char *list, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = list; *at; at += strspn(at, " ")) {
        const size_t n = strcspn(at, " ");
        if (n == length && strncmp(at, word, n) == 0)
            return true;
        at += n;
    }
    return false;
}

int gnn__json_closed(const json_t *object, const char *keys)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        char *text = NULL;
        if (gnn__list_has(keys, key))
            continue;
        GNN_TRY(gnn__json_write(&text, value, JSON_ENCODE_ANY | JSON_COMPACT));
        const int rc = gnn__error(GNN_EUNSUPPORTED,
                                  "\"%.40s\" is %.60s, a key that is known here is expected: %s",
                                  key, text, keys);
        gnn_free(text);
        return rc;
    }
    return GNN_OK;
}
