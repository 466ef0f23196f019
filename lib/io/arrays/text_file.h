/* Text files as readers see them: loaded whole (unpacked if gzipped), given out line by line and
 * field by field. Nothing here depends on the locale. */
#ifndef GNN_LIB_IO_TEXT_FILE_H
#define GNN_LIB_IO_TEXT_FILE_H

#include <lib/io/arrays/arrays.h>
#include <locale.h>

typedef struct gnn__text {
    char *data; /* a NUL follows the last byte, and stands nowhere else */
    int64_t size, start, at;
    int64_t packed;       /* size on the disk, what memory is bounded by */
    int64_t line, column; /* of the last field, both from 1 */
    int64_t blank;        /* blank lines passed over on the way to this one */
    char *cursor, *end;   /* the rest of the line; cursor NULL: no field is left */
    char delimiter;       /* ' ' means any run of blanks and tabs */
    const char *comments; /* lines that start with one of these are passed over */
    const char *name;
    locale_t numbers;
    gnn_limits_t limits;
} gnn__text_t;

/* A field without the quotes around it; at NULL: the line has no more. */
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
 * many. A byte order mark is passed over. GNN_EFORMAT: it holds a zero byte, or is damaged gzip. On
 * failure nothing is left to free. */
int gnn__text_open(gnn__text_t *text, const char *path);
int gnn__text_open_limits(gnn__text_t *text, const char *path, const gnn_limits_t *limits);
void gnn__text_free(gnn__text_t *text);
/* Lines that hold something, comments too: for sizing. Blank lines cost nothing, or a few packed
 * kilobytes of them would ask for gigabytes. */
int64_t gnn__text_count_lines(const gnn__text_t *text);
void gnn__text_rewind(gnn__text_t *text);

/* The next line that is neither blank nor a comment; false at the end. */
bool gnn__text_line(gnn__text_t *text);
/* Takes the first of the characters that stands in the current line outside quotes, else
 * `otherwise`, as delimiter. */
void gnn__text_guess_delimiter(gnn__text_t *text, const char *candidates, char otherwise);
/* GNN_EFORMAT: a quote that does not end, or more behind it. */
int gnn__text_field(gnn__text_t *text, gnn__text_field_t *field);
/* Makes each doubled quote of a quoted field one, in place. */
void gnn__field_unquote(gnn__text_field_t *field);

/* "cora.content: line 3, column 2: ..."; no column without a field. Is `code` (a macro, so that the
 * compiler sees that it is not 0). */
#define gnn__text_error(text, field, code, ...) \
    (gnn__text_message(text, field, __VA_ARGS__), (code))
void gnn__text_message(const gnn__text_t *text, const gnn__text_field_t *field, const char *format,
                       ...) __attribute__((format(printf, 3, 4)));
/* A field as messages show it: cut, in quotes, unprintable bytes as '?'. Static storage per
 * thread. */
const char *gnn__field_shown(const gnn__text_field_t *field);

gnn__field_kind_t gnn__field_kind(const gnn__text_field_t *field);
/* GNN_EFORMAT if it is none, says that `what` is expected; too large a one is one too. */
int gnn__text_integer(const gnn__text_t *text, const gnn__text_field_t *field, const char *what,
                      int64_t *out);
/* Also GNN_ENUMERIC: not finite, or too large for gnn_real_t. */
int gnn__text_real(const gnn__text_t *text, const gnn__text_field_t *field, const char *what,
                   gnn_real_t *out);
/* The rest of the file as numbers, as many in each line; blank lines between are refused. `header`:
 * the first line is passed over if it holds a word. The caller frees *values, on failure too. */
int gnn__text_matrix(gnn__text_t *text, bool header, gnn_real_t **values, int64_t *rows,
                     int64_t *cols);

/* Length of the UTF-8 character at the start of n bytes; 0 if they start with none (RFC 3629). */
int64_t gnn__utf8_length(const unsigned char *c, int64_t n);
/* Are n bytes whole characters of UTF-8? */
bool gnn__is_utf8(const char *at, int64_t n);

#endif
