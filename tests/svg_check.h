/* Helpers of the tests of lib/report: well-formed XML, a failing stream, a locale with a decimal
 * comma. Included by one suite. */
#ifndef GNN_TESTS_SVG_CHECK_H
#define GNN_TESTS_SVG_CHECK_H

#include "support.h"

#include <errno.h>
#include <locale.h>
#include <sys/stat.h>
#include <unistd.h>

/* Pictures as strings, released by free. */
static inline char *heat(const gnn_heatmap_t *map)
{
    /* static: gcc takes what open_memstream keeps for a pointer into this frame */
    static char *text;
    static size_t size;
    FILE *file = open_memstream(&text, &size);
    ck_ok(gnn_svg_heatmap(file, map));
    fclose(file);
    return text;
}

static inline char *scatter(const gnn_scatter_t *plot)
{
    /* static: gcc takes what open_memstream keeps for a pointer into this frame */
    static char *text;
    static size_t size;
    FILE *file = open_memstream(&text, &size);
    ck_ok(gnn_svg_scatter(file, plot));
    fclose(file);
    return text;
}

static inline gnn_heatmap_t plain(gnn_real_t *values, int64_t rows, int64_t cols)
{
    return (gnn_heatmap_t){.values = gnn_tensor(values, rows, cols), .mark_row = -1, .mark_col = -1};
}

static inline int count(const char *text, const char *what)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, what)); at += strlen(what))
        n++;
    return n;
}

/* One tag after '<': keeps the stack of open elements. Returns the position after '>'. */
static inline const char *read_tag(const char *s, char stack[][32], int *depth)
{
    const char *end = strchr(s, '>');
    ck_assert_msg(end && strcspn(s, "<") > (size_t)(end - s), "a tag without an end: %.40s", s);
    if (*s == '?')
        return end + 1;
    size_t length = strcspn(s + (*s == '/'), " />");
    if (*s == '/') {
        ck_assert_msg(*depth > 0 && strncmp(stack[*depth - 1], s + 1, length) == 0 &&
                          stack[*depth - 1][length] == 0,
                      "closes what is not open: %.40s", s);
        --*depth;
    } else if (end[-1] != '/') {
        ck_assert(*depth < 16 && length < 32);
        snprintf(stack[(*depth)++], 32, "%.*s", (int)length, s);
    }
    int quotes = 0;
    for (const char *c = s; c < end; c++)
        quotes += *c == '"';
    ck_assert_msg(quotes % 2 == 0, "odd quotes: %.60s", s);
    return end + 1;
}

static inline void check_xml(const char *text)
{
    char stack[16][32];
    int depth = 0;
    static const char *const entities[] = {"&amp;", "&lt;", "&gt;", "&quot;"};
    for (const char *s = text; *s;) {
        ck_assert_msg((unsigned char)*s >= 0x20 || *s == '\n', "control character %d", *s);
        if (*s == '<') {
            s = read_tag(s + 1, stack, &depth);
            continue;
        }
        bool known = *s != '&';
        for (size_t k = 0; k < 4; k++)
            known |= strncmp(s, entities[k], strlen(entities[k])) == 0;
        ck_assert_msg(known, "a bare ampersand: %.20s", s);
        s++;
    }
    ck_assert_int_eq(depth, 0);
    ck_assert_ptr_nonnull(strstr(text, " viewBox=\"0 0 "));
}

/* The page must not contain "nan" or "inf". */
static inline void check_numbers(const char *text)
{
    static const char *const words[] = {"\"nan", "\"-nan", "\"inf", "\"-inf"};
    for (size_t k = 0; k < 4; k++)
        ck_assert_msg(!strstr(text, words[k]), "a coordinate is %s", words[k] + 1);
}

/* A stream that takes `left` bytes and then fails with EIO. */
static inline ssize_t short_write(void *cookie, const char *bytes, size_t size)
{
    size_t *left = cookie;
    (void)bytes;
    if (size > *left) {
        errno = EIO;
        return 0;
    }
    *left -= size;
    return (ssize_t)size;
}

/* Compiles a locale that differs from C in one thing, the decimal comma: glibc's LC_NUMERIC is a
 * table of six offsets. */
static inline bool comma_locale(void)
{
    char folder[] = "/tmp/gnn-locale-XXXXXX", path[64];
    if (!mkdtemp(folder))
        return false;
    snprintf(path, sizeof path, "%s/xx", folder);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/xx/LC_NUMERIC", folder);
    const uint32_t head[8] = {0x20031115u ^ LC_NUMERIC, 6, 32, 34, 36, 40, 44, 48};
    const uint32_t wide[2] = {',', 0};
    FILE *file = fopen(path, "wb");
    fwrite(head, sizeof head, 1, file);
    /* decimal point, thousands separator, grouping, padding */
    fwrite(",\0\0\0\0\0\0\0", 8, 1, file);
    fwrite(wide, sizeof wide, 1, file);
    fwrite("UTF-8", 6, 1, file);
    fclose(file);
    setenv("LOCPATH", folder, 1);
    bool set = setlocale(LC_NUMERIC, "xx") != NULL;
    unlink(path);
    snprintf(path, sizeof path, "%s/xx", folder);
    rmdir(path);
    rmdir(folder);
    char text[8];
    snprintf(text, sizeof text, "%.1f", 1.5);
    return set && strcmp(text, "1,5") == 0;
}

#endif
