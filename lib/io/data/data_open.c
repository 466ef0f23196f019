/* Which reader a path is for: by what the file is, then by its ending, then by its first bytes. */
#include <lib/io/data/many.h>

#include <lib/io/arrays/arrays.h>
#include <sys/stat.h>

typedef int (*read_t)(gnn_data_t *data, const char *path);

static const struct {
    const char *ending;
    read_t read;
} endings[] = {
    {".npz", gnn__data_read_npz},
    {".content", gnn__data_read_linqs},
    {".cites", gnn__data_read_linqs},
    {".edges", gnn__data_read_edge_list},
    {".edgelist", gnn__data_read_edge_list},
    {".el", gnn__data_read_edge_list},
    {".txt", gnn__data_read_edge_list},
    {".tsv", gnn__data_read_edge_list},
    {".csv", gnn__data_read_edge_list},
};

static read_t by_ending(const char *path)
{
    const size_t length = gnn__data_unpacked_length(path);
    for (size_t k = 0; k < sizeof endings / sizeof endings[0]; k++)
        if (gnn__data_ends_with(path, length, endings[k].ending))
            return endings[k].read;
    return gnn__data_igraph_ending(path) ? gnn__data_read_igraph : NULL;
}

/* NULL: the first bytes do not tell. */
static int by_content(read_t *read, const char *path, bool named)
{
    gnn__file_t file;
    char head[64] = {0};
    GNN_TRY(gnn__file_open(&file, path));
    int rc = gnn__file_read(&file, 0, head, file.size < 64 ? file.size : 63);
    gnn__file_close(&file);
    const char *c = strncmp(head, "\xef\xbb\xbf", 3) == 0 ? head + 3 : head;
    while (*c && strchr(" \t\r\n", *c))
        c++;
    *read = NULL;
    if (strncmp(head, "PK", 2) == 0)
        *read = gnn__data_read_npz;
    else if (*c == '<' || (!named && gnn__data_igraph_head(c)))
        *read = gnn__data_read_igraph;
    else if (!named && *c && strchr("#%0123456789", *c))
        *read = gnn__data_read_edge_list;
    return rc;
}

static int choose(read_t *read, const char *path)
{
    struct stat s;
    read_t named = by_ending(path);
    if (stat(path, &s) == 0 && S_ISDIR(s.st_mode)) {
        char *prefix;
        GNN_TRY(gnn__data_find_tu(&prefix, path));
        *read = prefix ? gnn__data_read_tu : gnn__data_read_ogb;
        gnn_free(prefix);
        return GNN_OK;
    }
    if (named == gnn__data_read_linqs || named == gnn__data_read_npz ||
        gnn__data_igraph_binary(path)) {
        *read = named;
        return GNN_OK;
    }
    GNN_TRY(by_content(read, path, named != NULL));
    if (!*read)
        *read = named ? named : gnn__data_read_npz;
    return GNN_OK;
}

/* The last part of the path, without slashes behind it and without its ending. */
static int set_name(gnn_data_t *data, const char *path)
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    size_t begin = length;
    while (begin > 0 && path[begin - 1] != '/')
        begin--;
    if (gnn__data_ends_with(path + begin, length - begin, ".gz"))
        length -= 3;
    GNN_TRY(gnn__asprintf(&data->name, "%.*s", (int)(length - begin), path + begin));
    char *dot = strrchr(data->name, '.');
    if (dot && dot != data->name)
        *dot = '\0';
    return GNN_OK;
}

int gnn_data_open(gnn_data_t **data, const char *path)
{
    return gnn_data_open_limits(data, path, NULL);
}

int gnn_data_open_limits(gnn_data_t **data, const char *path, const gnn_limits_t *limits)
{
    gnn_data_t *d = NULL;
    read_t read;
    int rc;
    if (!data)
        return gnn__error(GNN_EINVALID, "no place for the data set");
    *data = NULL;
    if (!path)
        return gnn__error(GNN_EINVALID, "no path");
    GNN_TRY(choose(&read, path));
    GNN_CHECK(gnn__new(&d, 1, sizeof *d, "a data set"));
    d->limits = limits;
    GNN_CHECK(read(d, path));
    d->limits = NULL;
    GNN_CHECK(set_name(d, path));
    *data = d;
    return GNN_OK;
done:
    gnn_data_free(d);
    return rc;
}
