/* The lines of a text file, empty ones included. */
#include <lib/data/arrays/text_file.h>
#include <lib/text/corpus.h>

typedef struct {
    gnn_text_lines_t public;
    char *data;
    const char **at;
    int64_t *bytes;
} lines_t;

void gnn_text_lines_free(gnn_text_lines_t *lines)
{
    lines_t *l = (lines_t *)lines;
    if (!l)
        return;
    gnn_free(l->data);
    gnn_free(l->at);
    gnn_free(l->bytes);
    gnn_free(l);
}

static int64_t count_lines(const char *at, const char *end)
{
    int64_t count = 0;
    for (; at < end; count++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        at = stop ? stop + 1 : end;
    }
    return count;
}

static int cut_lines(lines_t *l, const char *name, char *at, char *end)
{
    for (int64_t k = 0; k < l->public.count; k++) {
        char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        int64_t n = stop - at;
        n -= n > 0 && at[n - 1] == '\r';
        if (!gnn__is_utf8(at, n))
            return gnn__error(GNN_EFORMAT, "%s: line %lld is not UTF-8", name, (long long)k + 1);
        at[n] = '\0';
        l->at[k] = at;
        l->bytes[k] = n;
        at = stop + 1;
    }
    return GNN_OK;
}

static int make_lines(lines_t *l, gnn__text_t *text)
{
    char *end = text->data + text->size, *start = text->data + text->start;
    l->public.count = count_lines(start, end);
    GNN_TRY(gnn__new(&l->at, l->public.count, sizeof *l->at, "lines"));
    GNN_TRY(gnn__new(&l->bytes, l->public.count, sizeof *l->bytes, "lengths of lines"));
    GNN_TRY(cut_lines(l, text->name, start, end));
    l->public.at = l->at;
    l->public.bytes = l->bytes;
    l->data = text->data;
    text->data = NULL;
    return GNN_OK;
}

/* Consumes the text. */
static int lines_of(gnn_text_lines_t **lines, gnn__text_t *text)
{
    lines_t *l = NULL;
    int rc = gnn__new(&l, 1, sizeof *l, "lines");
    if (rc == GNN_OK)
        rc = make_lines(l, text);
    gnn__text_free(text);
    if (rc == GNN_OK)
        *lines = &l->public;
    else
        gnn_text_lines_free(&l->public);
    return rc;
}

int gnn_text_lines_read(gnn_text_lines_t **lines, const char *path)
{
    gnn__text_t text;
    GNN__NEED(lines);
    *lines = NULL;
    GNN__NEED(path);
    GNN_TRY(gnn__text_open(&text, path));
    return lines_of(lines, &text);
}

int gnn_text_lines_new(gnn_text_lines_t **lines, const char *name, const char *text, int64_t bytes)
{
    gnn__text_t copy;
    GNN__NEED(lines);
    *lines = NULL;
    GNN__NEED(name);
    GNN__NEED(text);
    if (bytes < 0)
        return gnn__error(GNN_EINVALID, "gnn_text_lines_new: bytes = %lld, expected 0 or more",
                          (long long)bytes);
    GNN_TRY(gnn__text_copy(&copy, name, text, bytes));
    return lines_of(lines, &copy);
}
