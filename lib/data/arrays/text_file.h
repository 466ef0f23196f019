/* Text files for readers: loaded whole (unpacked if gzipped), read by line and field. Independent
 * of the locale. */
#ifndef GNN_LIB_DATA_ARRAYS_TEXT_FILE_H
#define GNN_LIB_DATA_ARRAYS_TEXT_FILE_H

#include <lib/data/arrays/arrays.h>
#include <locale.h>

typedef struct gnn__text {
    char *data; /* NUL-terminated, without other NULs */
    int64_t size, start, at;
    int64_t packed;       /* size on disk (compressed, if gzipped), which bounds memory */
    int64_t line, column; /* position of the last field, both from 1 */
    int64_t blank;        /* blank lines skipped before this one */
    int64_t hidden;       /* a column that gnn__text_field skips, from 1; 0: none */
    bool headed;          /* the first line is known to be a header, the names of columns */
    bool headless;        /* the first line is known to hold values; neither: to be detected */
    char *cursor, *end;   /* the unread part of the line; cursor NULL: no field is left */
    char delimiter;       /* ' ' means any run of spaces and tabs */
    const char *comments; /* lines that start with one of these are skipped */
    const char *name;
    locale_t numbers;
    gnn_limits_t limits;
} gnn__text_t;

/* A field without its quotes; at NULL: end of line. */
typedef struct gnn__text_field {
    char *at;
    int64_t length, line, column;
    bool quoted;
} gnn__text_field_t;

typedef enum {
    GNN__WORD,
    GNN__NOTHING,
    GNN__INTEGER,
    GNN__REAL,
    GNN__NOT_FINITE
} gnn__field_kind_t;

/* Loads a regular file of at most the default limit's bytes; a gzipped one unpacked, of at most as
 * many. Skips a byte order mark. GNN_EFORMAT: a zero byte, or damaged gzip. On failure there is
 * nothing to free. */
int gnn__text_open(gnn__text_t *text, const char *path);
int gnn__text_open_limits(gnn__text_t *text, const char *path, const gnn_limits_t *limits);
/* The same of a copy of a text in memory, which is not unpacked. */
int gnn__text_copy(gnn__text_t *text, const char *name, const char *bytes, int64_t size);
void gnn__text_free(gnn__text_t *text);
/* Count of lines with text, comments included: an upper bound by which readers allocate. Lines
 * without text do not count, since a few compressed kilobytes of them must not allocate gigabytes.
 */
int64_t gnn__text_count_lines(const gnn__text_t *text);
void gnn__text_rewind(gnn__text_t *text);

/* The next line with text that is not a comment; false at the end. */
bool gnn__text_line(gnn__text_t *text);
/* Sets the delimiter to the first of the characters found in the current line outside quotes, else
 * `otherwise`. */
void gnn__text_guess_delimiter(gnn__text_t *text, const char *candidates, char otherwise);
/* GNN_EFORMAT: an unterminated quote, or text after it. */
int gnn__text_field(gnn__text_t *text, gnn__text_field_t *field);
/* Replaces doubled quotes of a quoted field by single ones, in place. */
void gnn__field_unquote(gnn__text_field_t *field);

/* "cora.content: line 3, column 2: ..."; no column without a field. Is `code` (a macro, so that the
 * compiler sees that it is not 0). */
#define gnn__text_error(text, field, code, ...) \
    (gnn__text_message(text, field, __VA_ARGS__), (code))
void gnn__text_message(const gnn__text_t *text, const gnn__text_field_t *field, const char *format,
                       ...) __attribute__((format(printf, 3, 4)));
/* A field for messages: truncated, in quotes, unprintable bytes as '?'. Static storage per
 * thread. */
const char *gnn__field_shown(const gnn__text_field_t *field);

gnn__field_kind_t gnn__field_kind(const gnn__text_field_t *field);
/* Is it this word, or one of a list that ends with NULL? Capital letters do not count. */
bool gnn__field_is(const gnn__text_field_t *field, const char *word);
bool gnn__field_is_one_of(const gnn__text_field_t *field, const char *const *words);
/* Is it a word that stands for a missing value, as "NA"? */
bool gnn__field_missing(const gnn__text_field_t *field);
/* Does it have a letter of any script? A word without one is a value in another notation: "$5",
 * "5%", "2020-01-31", a minus sign of typography. */
bool gnn__field_lettered(const gnn__text_field_t *field);
/* GNN_EFORMAT, with `what` as expected: not an integer, or out of range. */
int gnn__text_integer(const gnn__text_t *text, const gnn__text_field_t *field, const char *what,
                      int64_t *out);
/* The id of one of n nodes. GNN_EFORMAT: not an integer, or not from 0 to n - 1. */
int gnn__text_node(const gnn__text_t *text, const gnn__text_field_t *field, int64_t n, int32_t *out);
/* Also GNN_ENUMERIC: not finite, or too large for gnn_real_t. */
int gnn__text_real(const gnn__text_t *text, const gnn__text_field_t *field, const char *what,
                   gnn_real_t *out);
/* The rest of the file as reals, equally many per line; blank lines in between are rejected.
 * `header`: skips the first line if it names columns, as many as the others have. The caller frees
 * *values, on failure too. */
int gnn__text_matrix(gnn__text_t *text, bool header, gnn_real_t **values, int64_t *rows,
                     int64_t *cols);

/* Length of the UTF-8 character at the start of n bytes; 0: invalid (RFC 3629). */
int64_t gnn__utf8_length(const unsigned char *c, int64_t n);
/* Are n bytes valid UTF-8? */
bool gnn__is_utf8(const char *at, int64_t n);

#endif
