/* Fields of text files as integers and reals. The syntax is checked here: the C library would
 * accept hexadecimal digits and a locale's comma. */
#include <lib/data/arrays/text_file.h>

#include <math.h>
#include <stdlib.h>
#include <strings.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool gnn__field_is(const gnn__text_field_t *field, const char *word)
{
    return field->at && field->length == (int64_t)strlen(word) &&
           strncasecmp(field->at, word, (size_t)field->length) == 0;
}

bool gnn__field_is_one_of(const gnn__text_field_t *field, const char *const *words)
{
    while (*words && !gnn__field_is(field, *words))
        words++;
    return *words != NULL;
}

/* [+-] nan | inf | infinity, as printf and numpy write them. */
static bool not_finite(const gnn__text_field_t *field)
{
    static const char *const words[] = {"nan", "inf", "infinity", NULL};
    gnn__text_field_t unsigned_field = *field;
    if (field->length > 0 && (field->at[0] == '+' || field->at[0] == '-')) {
        unsigned_field.at++;
        unsigned_field.length--;
    }
    return gnn__field_is_one_of(&unsigned_field, words);
}

gnn__field_kind_t gnn__field_kind(const gnn__text_field_t *field)
{
    if (field->length == 0)
        return GNN__NOTHING; /* `at` may be NULL */
    const char *c = field->at, *end = field->at + field->length;
    int digits = 0;
    bool whole = true;
    c += *c == '+' || *c == '-';
    for (; c < end && is_digit(*c); c++)
        digits = 1;
    if (c < end && *c == '.') {
        whole = false;
        for (c++; c < end && is_digit(*c); c++)
            digits = 1;
    }
    if (digits && c < end && (*c == 'e' || *c == 'E')) {
        whole = false;
        digits = 0;
        c++;
        c += c < end && (*c == '+' || *c == '-');
        for (; c < end && is_digit(*c); c++)
            digits = 1;
    }
    if (digits && c == end)
        return whole ? GNN__INTEGER : GNN__REAL;
    return not_finite(field) ? GNN__NOT_FINITE : GNN__WORD;
}

int gnn__text_integer(const gnn__text_t *text, const gnn__text_field_t *field, const char *what,
                      int64_t *out)
{
    int64_t value = 0;
    if (gnn__field_kind(field) != GNN__INTEGER)
        return gnn__text_error(text, field, GNN_EFORMAT, "%s is expected, got %s", what,
                               gnn__field_shown(field));
    bool negative = field->at[0] == '-';
    for (int64_t k = negative || field->at[0] == '+'; k < field->length; k++)
        if (!gnn__mul(value, 10, &value) || !gnn__add(value, field->at[k] - '0', &value))
            return gnn__text_error(text, field, GNN_EFORMAT, "%s is expected, %s is too large",
                                   what, gnn__field_shown(field));
    *out = negative ? -value : value;
    return GNN_OK;
}

int gnn__text_node(const gnn__text_t *text, const gnn__text_field_t *field, int64_t n, int32_t *out)
{
    int64_t node;
    GNN_TRY(gnn__text_integer(text, field, "a node id", &node));
    if (node < 0 || node >= n)
        return gnn__text_error(text, field, GNN_EFORMAT, "node %lld, there are %lld nodes",
                               (long long)node, (long long)n);
    *out = (int32_t)node;
    return GNN_OK;
}

int gnn__text_real(const gnn__text_t *text, const gnn__text_field_t *field, const char *what,
                   gnn_real_t *out)
{
    gnn__field_kind_t kind = gnn__field_kind(field);
    if (kind == GNN__NOT_FINITE)
        return gnn__text_error(text, field, GNN_ENUMERIC, "%s is expected, %s is not finite", what,
                               gnn__field_shown(field));
    if (kind != GNN__INTEGER && kind != GNN__REAL)
        return gnn__text_error(text, field, GNN_EFORMAT, "%s is expected, got %s", what,
                               gnn__field_shown(field));
    /* A field is followed by a delimiter, a quote or the end, none of which continues a numeral. */
    *out = (gnn_real_t)strtod_l(field->at, NULL, text->numbers);
    if (!isfinite(*out))
        return gnn__text_error(text, field, GNN_ENUMERIC, "%s is expected, %s is too large", what,
                               gnn__field_shown(field));
    return GNN_OK;
}

/* ---- matrices ---- */

bool gnn__field_missing(const gnn__text_field_t *field)
{
    static const char *const words[] = {"na",  "n/a", "<na>",    "#n/a", "null", "none",
                                        "nil", "?",   "missing", "-",    ".",    NULL};
    return gnn__field_is_one_of(field, words);
}

/* Signs and digits outside ASCII: Latin-1's, those of typography, and wide ones. */
static bool is_sign(const unsigned char *c, int64_t length)
{
    return (length == 2 && c[0] == 0xc2) ||
           (length == 3 && c[0] == 0xe2 && c[1] >= 0x80 && c[1] < 0xb0) ||
           (length == 3 && c[0] == 0xef && c[1] == 0xbc && c[2] < 0xa1);
}

bool gnn__field_lettered(const gnn__text_field_t *field)
{
    const unsigned char *c = (const unsigned char *)field->at;
    for (int64_t k = 0; k < field->length;) {
        const int64_t length = gnn__max(gnn__utf8_length(c + k, field->length - k), 1);
        const bool letter = (c[k] >= 'a' && c[k] <= 'z') || (c[k] >= 'A' && c[k] <= 'Z');
        if (letter || (c[k] >= 0x80 && !is_sign(c + k, length)))
            return true;
        k += length;
    }
    return false;
}

/* Is the first line one of column names: does it hold a word, other than for missing values?
 * *names: their count. A line whose fields all begin like numerals, or without a letter, is one of
 * damaged values. */
static int look_for_names(gnn__text_t *text, bool *header, int64_t *names)
{
    gnn__text_field_t field, word = {0};
    bool numeric = true, lettered = false;
    *header = text->headed;
    for (*names = 0;;) {
        GNN_TRY(gnn__text_field(text, &field));
        if (!field.at)
            break;
        *names += field.length != 1 || field.at[0] != '#'; /* numpy.savetxt writes "# a b" */
        numeric = numeric && field.length > 0 && strchr("0123456789+-.", field.at[0]);
        if (gnn__field_kind(&field) != GNN__WORD || gnn__field_missing(&field))
            continue;
        word = word.at ? word : field;
        lettered = lettered || gnn__field_lettered(&field) || field.at[0] == '#';
        *header = true;
    }
    return text->headed || !*header || (!numeric && lettered)
               ? GNN_OK
               : gnn__text_error(text, &word, GNN_EFORMAT,
                                 "a number is expected, got %s (of column names, one begins with a "
                                 "letter)",
                                 gnn__field_shown(&word));
}

static int read_row(gnn__text_t *text, gnn_real_t **values, int64_t *count, int64_t *capacity)
{
    gnn__text_field_t field;
    for (;;) {
        GNN_TRY(gnn__text_field(text, &field));
        if (!field.at)
            return GNN_OK;
        GNN_TRY(gnn__room(values, *count, capacity, sizeof **values, "features"));
        GNN_TRY(gnn__text_real(text, &field, "a number", &(*values)[*count]));
        (*count)++;
    }
}

int gnn__text_matrix(gnn__text_t *text, bool header, gnn_real_t **values, int64_t *rows, int64_t *cols)
{
    int64_t count = 0, capacity = 0, names = 0;
    bool named = false;
    *rows = *cols = 0;
    *values = NULL;
    if (!gnn__text_line(text))
        return gnn__error(GNN_EFORMAT, "%s: no line holds anything", text->name);
    gnn__text_guess_delimiter(text, "\t;,", ' ');
    if (header && !text->headless)
        GNN_TRY(look_for_names(text, &named, &names));
    gnn__text_rewind(text);
    if (named)
        (void)gnn__text_line(text);
    while (gnn__text_line(text)) {
        int64_t before = count;
        if (text->blank && *rows > 0)
            return gnn__error(GNN_EFORMAT, "%s: line %lld is blank, numbers are expected",
                              text->name, (long long)(text->line - 1));
        GNN_TRY(read_row(text, values, &count, &capacity));
        if (*rows > 0 && count - before != *cols)
            return gnn__text_error(text, NULL, GNN_EFORMAT, "%lld values, the lines before have %lld",
                                   (long long)(count - before), (long long)*cols);
        *cols = count - before;
        if (named && *cols != names)
            return gnn__text_error(text, NULL, GNN_EFORMAT,
                                   "%lld values, the first line names %lld columns",
                                   (long long)*cols, (long long)names);
        (*rows)++;
    }
    return *rows > 0
               ? GNN_OK
               : gnn__error(GNN_EFORMAT, "%s: there are no values after the header", text->name);
}
