/* Lines of a file or of standard input. The library reads files; what standard input gives is
 * handed to it in memory, so that the same texts are refused. */
#include "program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    char *at;
    size_t size, room;
} text_t;

static int append(text_t *text, const char *line, size_t length)
{
    if (text->room - text->size < length) {
        const size_t room = 2 * text->room + length;
        char *more = realloc(text->at, room);
        if (!more)
            return GNN_EMEMORY;
        text->at = more;
        text->room = room;
    }
    memcpy(text->at + text->size, line, length);
    text->size += length;
    return GNN_OK;
}

/* The next lines of a stream, at most `most`. */
static int read_some(text_t *text, FILE *file, int64_t most, int64_t *count)
{
    size_t room = 0;
    char *line = NULL;
    int rc = GNN_OK;
    for (*count = 0; rc == GNN_OK && *count < most; ++*count) {
        const ssize_t length = getline(&line, &room, file);
        if (length < 0)
            break;
        rc = append(text, line, (size_t)length);
    }
    free(line);
    if (rc == GNN_OK && ferror(file)) {
        fprintf(stderr, "standard input: %s\n", strerror(errno));
        rc = PROGRAM_REFUSED;
    }
    return rc;
}

int program_lines_next(gnn_text_lines_t **lines, FILE *file, int64_t most, int64_t *before)
{
    text_t text = {NULL, 0, 0};
    char name[64] = "standard input";
    int64_t count;
    *lines = NULL;
    int rc = read_some(&text, file, most, &count);
    if (*before > 0)
        snprintf(name, sizeof name, "standard input, after line %lld", (long long)*before);
    if (rc == GNN_OK && (count > 0 || *before == 0))
        rc = gnn_text_lines_new(lines, name, text.at ? text.at : "", (int64_t)text.size);
    *before += count;
    free(text.at);
    return rc;
}

int program_lines_read(gnn_text_lines_t **lines, const char *path)
{
    int64_t before = 0;
    return strcmp(path, "-") == 0 ? program_lines_next(lines, stdin, INT64_MAX, &before)
                                  : gnn_text_lines_read(lines, path);
}
