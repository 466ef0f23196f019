/* Text files: loading and unpacking, lines, fields. */
#include <lib/data/arrays/text_file.h>

#include <stdarg.h>
#include <zlib.h>

enum {
    FREE_MIB = 8,
    PIECE = 1 << 20
}; /* unpacked whatever the packed size; between two looks at the limits */

/* ---- unpacking ---- */

static void *zlib_new(void *opaque, unsigned items, unsigned size)
{
    void *block;
    (void)opaque;
    return gnn__new(&block, items, size, "unpacking") == GNN_OK ? block : NULL;
}

static void zlib_free(void *opaque, void *block)
{
    (void)opaque;
    gnn_free(block);
}

static unsigned piece(int64_t bytes)
{
    return bytes < 1 << 30 ? (unsigned)bytes : 1u << 30;
}

static int unpack_error(const gnn__file_t *file, const z_stream *z, int64_t left, int code)
{
    if (code == Z_MEM_ERROR)
        return gnn__error(GNN_EMEMORY, "%s: no memory to unpack it", file->name);
    if (code == Z_OK || code == Z_BUF_ERROR)
        return gnn__error(GNN_EFORMAT, "%s: is cut off: the gzipped data do not end at byte %lld",
                          file->name, (long long)file->size);
    return gnn__error(GNN_EFORMAT, "%s: damaged gzip data before byte %lld: %s", file->name,
                      (long long)(file->size - left), z->msg ? z->msg : "not in gzip's format");
}

/* Grows the buffer of unpacked bytes within the limits, given `used` packed bytes so far. One byte
 * is reserved for the final NUL. */
static int unpack_room(gnn__text_t *text, const gnn__file_t *file, uint64_t used, z_stream *z,
                       int64_t *capacity)
{
    const uint64_t limit = text->limits.max_bytes,
                   most = gnn__growth_room(&text->limits, (uint64_t)FREE_MIB << 20, used);
    if ((uint64_t)text->size >= limit)
        return gnn__error(GNN_EFORMAT, "%s: more than %llu bytes unpacked", file->name,
                          (unsigned long long)limit);
    if ((uint64_t)text->size > most)
        return gnn__error(
            GNN_EFORMAT,
            "%s: %lld bytes from %llu compressed ones, the limit is %llu (max_growth raises it)",
            file->name, (long long)text->size, (unsigned long long)used, (unsigned long long)most);
    if (text->size + 1 >= *capacity) {
        int64_t wanted = *capacity ? 2 * *capacity : 4 * file->size + 64;
        if ((uint64_t)wanted > limit)
            wanted = (int64_t)limit + 1;
        GNN_TRY(gnn__grow(&text->data, text->size, wanted, 1, file->name));
        *capacity = wanted;
    }
    z->next_out = (unsigned char *)text->data + text->size;
    z->avail_out = piece(*capacity - 1 - text->size);
    if (z->avail_out > PIECE)
        z->avail_out = PIECE;
    return GNN_OK;
}

/* The whole of a gzipped text counts as one entry. */
static int check_ratio(const gnn__text_t *text, const gnn__file_t *file)
{
    const uint64_t most = text->limits.max_ratio;
    return (uint64_t)text->size / most <= (uint64_t)file->size
               ? GNN_OK
               : gnn__error(GNN_EFORMAT, "%s: more than %llu bytes per compressed byte (max_ratio)",
                            file->name, (unsigned long long)most);
}

/* Unpacks all members of a gzip file in order. */
static int unpack_members(gnn__text_t *text, const gnn__file_t *file, z_stream *z,
                          unsigned char *packed)
{
    int64_t done = 0, capacity = 0;
    bool ended = false;
    while (!ended || done < file->size) {
        GNN_TRY(unpack_room(text, file, (uint64_t)done, z, &capacity));
        unsigned in = piece(file->size - done), out = z->avail_out;
        if (ended && inflateReset(z) != Z_OK)
            return unpack_error(file, z, file->size - done, Z_DATA_ERROR);
        z->next_in = packed + done;
        z->avail_in = in;
        int code = inflate(z, Z_NO_FLUSH);
        done += in - z->avail_in;
        text->size += out - z->avail_out;
        GNN_TRY(check_ratio(text, file));
        if (memchr(text->data + text->size - (out - z->avail_out), 0, out - z->avail_out))
            /* not a text: reported later, no need to unpack the rest */
            return GNN_OK;
        ended = code == Z_STREAM_END;
        if (!ended && (code != Z_OK || (done == file->size && z->avail_out > 0)))
            return unpack_error(file, z, file->size - done, code);
    }
    return GNN_OK;
}

static int unpack(gnn__text_t *text, const gnn__file_t *file)
{
    unsigned char *packed = NULL;
    z_stream z = {.zalloc = zlib_new, .zfree = zlib_free};
    int rc;
    GNN_CHECK(gnn__new(&packed, file->size, 1, file->name));
    GNN_CHECK(gnn__file_read(file, 0, packed, file->size));
    if (inflateInit2(&z, 15 + 16) != Z_OK)
        GNN_CHECK(gnn__error(GNN_EMEMORY, "%s: no memory to unpack it", file->name));
    rc = unpack_members(text, file, &z, packed);
    inflateEnd(&z);
done:
    gnn_free(packed);
    return rc;
}

/* ---- loading ---- */

static int load(gnn__text_t *text, const gnn__file_t *file)
{
    unsigned char magic[2] = {0, 0};
    if ((uint64_t)file->size > text->limits.max_bytes)
        return gnn__error(GNN_EFORMAT, "%s: %lld bytes, at most %llu are read", file->name,
                          (long long)file->size, (unsigned long long)text->limits.max_bytes);
    GNN_TRY(gnn__file_read(file, 0, magic, file->size < 2 ? 1 : 2));
    if (magic[0] == 0x1f && magic[1] == 0x8b)
        return unpack(text, file);
    GNN_TRY(gnn__new(&text->data, file->size + 1, 1, file->name));
    text->size = file->size;
    return gnn__file_read(file, 0, text->data, file->size);
}

static int check_text(gnn__text_t *text)
{
    int64_t line = 1;
    const char *zero = memchr(text->data, 0, (size_t)text->size);
    if (text->size >= 2 &&
        (memcmp(text->data, "\xff\xfe", 2) == 0 || memcmp(text->data, "\xfe\xff", 2) == 0))
        return gnn__error(GNN_EFORMAT,
                          "%s: is in UTF-16, UTF-8 is expected (iconv -f UTF-16 -t UTF-8 converts it)",
                          text->name);
    if (text->size > 6 && memcmp(text->data, "\x93NUMPY", 6) == 0)
        return gnn__error(GNN_EFORMAT,
                          "%s: is an array of numpy, text is expected: numpy.savetxt(file, array) "
                          "writes it, numpy.savez a whole set (docs/formats.md)",
                          text->name);
    for (const char *c = text->data; zero && c < zero; c++)
        line += *c == '\n';
    if (zero)
        return gnn__error(GNN_EFORMAT, "%s: line %lld: a zero byte (byte %lld), text is expected",
                          text->name, (long long)line, (long long)(zero - text->data));
    if (text->size >= 3 && memcmp(text->data, "\xef\xbb\xbf", 3) == 0)
        text->start = 3;
    gnn__text_rewind(text);
    return GNN_OK;
}

int gnn__text_open(gnn__text_t *text, const char *path)
{
    return gnn__text_open_limits(text, path, NULL);
}

static gnn__text_t text_within(const gnn_limits_t *limits)
{
    gnn__text_t text = {.delimiter = ' ', .comments = "", .limits = gnn__limits_or_defaults(limits)};
    if (text.limits.max_bytes > INT64_MAX / 4)
        text.limits.max_bytes = INT64_MAX / 4;
    return text;
}

/* Checks a text whose loading ended with `rc`; frees it after an error. */
static int finish(gnn__text_t *text, int rc)
{
    if (rc == GNN_OK) {
        text->data[text->size] = '\0';
        rc = check_text(text);
    }
    if (rc == GNN_OK && !(text->numbers = newlocale(LC_ALL_MASK, "C", (locale_t)0)))
        rc = gnn__error(GNN_EMEMORY, "%s: no memory for the C locale", text->name);
    if (rc != GNN_OK)
        gnn__text_free(text);
    return rc;
}

int gnn__text_open_limits(gnn__text_t *text, const char *path, const gnn_limits_t *limits)
{
    gnn__file_t file;
    *text = text_within(limits);
    GNN_TRY(gnn__file_open(&file, path));
    text->name = file.name;
    text->packed = file.size;
    const int rc = load(text, &file);
    gnn__file_close(&file);
    return finish(text, rc);
}

int gnn__text_copy(gnn__text_t *text, const char *name, const char *bytes, int64_t size)
{
    *text = text_within(NULL);
    text->name = name;
    text->packed = size;
    int rc = size > 0 ? GNN_OK : gnn__error(GNN_EFORMAT, "%s: is empty", name);
    if (rc == GNN_OK)
        rc = gnn__new(&text->data, size + 1, 1, name);
    if (rc == GNN_OK) {
        memcpy(text->data, bytes, (size_t)size);
        text->size = size;
    }
    return finish(text, rc);
}

void gnn__text_free(gnn__text_t *text)
{
    if (text->numbers)
        freelocale(text->numbers);
    gnn_free(text->data);
    *text = (gnn__text_t){.data = NULL};
}

void gnn__text_rewind(gnn__text_t *text)
{
    text->at = text->start;
    text->line = text->column = text->blank = 0;
    text->cursor = NULL;
}

/* ---- lines and fields ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Start of the text of a line, with the end moved before '\r'. The end itself for a blank line. */
static char *text_of_line(char *begin, char **end)
{
    while (*end > begin && (*end)[-1] == '\r')
        (*end)--;
    while (begin < *end && is_blank(*begin))
        begin++;
    return begin;
}

int64_t gnn__text_count_lines(const gnn__text_t *text)
{
    int64_t lines = 0, at = text->start;
    while (at < text->size) {
        char *begin = text->data + at, *newline = memchr(begin, '\n', (size_t)(text->size - at)),
             *end = newline ? newline : text->data + text->size;
        at = end - text->data + 1;
        begin = text_of_line(begin, &end);
        lines += begin < end;
    }
    return lines;
}

bool gnn__text_line(gnn__text_t *text)
{
    text->blank = 0;
    while (text->at < text->size) {
        char *begin = text->data + text->at;
        char *newline = memchr(begin, '\n', (size_t)(text->size - text->at));
        text->end = newline ? newline : text->data + text->size;
        text->at = text->end - text->data + (newline != NULL);
        text->line++;
        text->cursor = begin;
        text->column = 0;
        char *first = text_of_line(begin, &text->end);
        if (first < text->end && !strchr(text->comments, *first))
            return true;
        text->blank += first == text->end;
    }
    text->cursor = NULL;
    return false;
}

void gnn__text_guess_delimiter(gnn__text_t *text, const char *candidates, char otherwise)
{
    bool quoted = false;
    text->delimiter = otherwise;
    for (; *candidates; candidates++)
        for (const char *c = text->cursor; c && c < text->end; c++) {
            quoted ^= *c == '"';
            if (!quoted && *c == *candidates) {
                text->delimiter = *candidates;
                return;
            }
        }
}

static void skip_blanks(gnn__text_t *text)
{
    while (text->cursor < text->end && is_blank(*text->cursor) && *text->cursor != text->delimiter)
        text->cursor++;
    while (text->delimiter == ' ' && text->cursor < text->end && is_blank(*text->cursor))
        text->cursor++;
}

static int quoted_field(gnn__text_t *text, gnn__text_field_t *field)
{
    char *c = field->at = text->cursor + 1;
    field->quoted = true;
    while (c < text->end && (*c != '"' || (c + 1 < text->end && c[1] == '"')))
        c += *c == '"' ? 2 : 1;
    if (c >= text->end)
        return gnn__text_error(text, field, GNN_EFORMAT, "the quote does not end in its line");
    field->length = c - field->at;
    text->cursor = c + 1;
    return GNN_OK;
}

static void plain_field(gnn__text_t *text, gnn__text_field_t *field)
{
    char *c = field->at = text->cursor;
    while (c < text->end && *c != text->delimiter && !(text->delimiter == ' ' && is_blank(*c)))
        c++;
    text->cursor = c;
    while (c > field->at && is_blank(c[-1]))
        c--;
    field->length = c - field->at;
}

static int next_field(gnn__text_t *text, gnn__text_field_t *field)
{
    *field = (gnn__text_field_t){.line = text->line, .column = text->column + 1};
    if (!text->cursor)
        return GNN_OK;
    skip_blanks(text);
    if (text->delimiter == ' ' && text->cursor == text->end) {
        text->cursor = NULL;
        return GNN_OK;
    }
    text->column++;
    if (text->cursor < text->end && *text->cursor == '"')
        GNN_TRY(quoted_field(text, field));
    else
        plain_field(text, field);
    skip_blanks(text);
    if (text->cursor == text->end)
        text->cursor = NULL;
    else if (*text->cursor == text->delimiter)
        text->cursor++;
    else if (text->delimiter != ' ')
        return gnn__text_error(text, field, GNN_EFORMAT, "there is more after the closing quote");
    return GNN_OK;
}

int gnn__text_field(gnn__text_t *text, gnn__text_field_t *field)
{
    do
        GNN_TRY(next_field(text, field));
    while (field->at && text->column == text->hidden);
    return GNN_OK;
}

void gnn__field_unquote(gnn__text_field_t *field)
{
    int64_t kept = 0;
    for (int64_t k = 0; field->quoted && k < field->length; k++) {
        field->at[kept++] = field->at[k];
        k += field->at[k] == '"';
    }
    if (field->quoted)
        field->length = kept;
}

/* ---- characters ---- */

int64_t gnn__utf8_length(const unsigned char *c, int64_t n)
{
    int64_t length = c[0] < 0x80   ? 1
                     : c[0] < 0xc2 ? 0
                     : c[0] < 0xe0 ? 2
                     : c[0] < 0xf0 ? 3
                     : c[0] < 0xf5 ? 4
                                   : 0;
    if (length > n)
        return 0;
    for (int64_t k = 1; k < length; k++)
        if ((c[k] & 0xc0) != 0x80)
            return 0;
    bool long_form = (c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xf0 && c[1] < 0x90);
    bool out_of_range = (c[0] == 0xed && c[1] > 0x9f) || (c[0] == 0xf4 && c[1] > 0x8f);
    return long_form || out_of_range ? 0 : length;
}

bool gnn__is_utf8(const char *at, int64_t n)
{
    for (int64_t k = 0, step; k < n; k += step) {
        step = gnn__utf8_length((const unsigned char *)at + k, n - k);
        if (step == 0)
            return false;
    }
    return true;
}

/* ---- messages ---- */

void gnn__text_message(const gnn__text_t *text, const gnn__text_field_t *field, const char *format,
                       ...)
{
    char words[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    if (field)
        gnn__set_message("%s: line %lld, column %lld: %s", text->name, (long long)field->line,
                         (long long)field->column, words);
    else
        gnn__set_message("%s: line %lld: %s", text->name, (long long)text->line, words);
}

const char *gnn__field_shown(const gnn__text_field_t *field)
{
    static _Thread_local char shown[48];
    size_t at = 0;
    if (!field->at || field->length == 0)
        return "nothing";
    shown[at++] = '"';
    for (int64_t k = 0; k < field->length && at < sizeof shown - 6; k++)
        shown[at++] = field->at[k] >= 32 && field->at[k] < 127 ? field->at[k] : '?';
    snprintf(shown + at, sizeof shown - at, "%s\"", field->length > (int64_t)at - 1 ? "..." : "");
    return shown;
}
