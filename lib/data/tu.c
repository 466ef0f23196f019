/* A folder of TU Dortmund's collection (Morris et al. 2020): PREFIX_A.txt has one line per link,
 * two node indices from 1; PREFIX_graph_indicator.txt the graph of each node, from 1; the other,
 * optional files the labels and attributes of graphs, nodes and links. */
#include <lib/data/arrays/arrays.h>
#include <lib/data/many.h>

#include <dirent.h>
#include <errno.h>

/* The name before "_A.txt" of the only such file; a second one would be chosen by chance. */
int gnn__data_find_tu(char **prefix, const char *path)
{
    static const char ending[] = "_A.txt";
    DIR *opened = opendir(path);
    *prefix = NULL;
    if (!opened)
        return gnn__error(GNN_EIO, "%s: %s", path, strerror(errno));
    int rc = GNN_OK;
    for (struct dirent *d; rc == GNN_OK && (d = readdir(opened)) != NULL;) {
        const size_t length = strlen(d->d_name), tail = sizeof ending - 1;
        if (length <= tail || *d->d_name == '.' || strcmp(d->d_name + length - tail, ending) != 0)
            continue;
        rc = !*prefix
                 ? gnn__asprintf(prefix, "%s/%.*s", path, (int)(length - tail), d->d_name)
                 : gnn__error(GNN_EFORMAT, "%s: %s and %s%s: a folder has one set of TU Dortmund",
                              path, d->d_name, *prefix + strlen(path) + 1, ending);
    }
    closedir(opened);
    if (rc != GNN_OK) {
        gnn_free(*prefix);
        *prefix = NULL;
    }
    return rc;
}

/* Opens a file of the set; text->data is NULL if it is missing. */
static int open_file(gnn__text_t *text, const char *prefix, const char *part,
                     const gnn_limits_t *limits)
{
    char *path;
    bool there;
    *text = (gnn__text_t){0};
    GNN_TRY(gnn__asprintf(&path, "%s_%s.txt", prefix, part));
    int rc = gnn__file_there(&there, path);
    if (rc == GNN_OK && there)
        rc = gnn__text_open_limits(text, path, limits);
    text->delimiter = ',';
    text->name = part; /* the path is freed, the literal is not */
    gnn_free(path);
    return rc;
}

/* Fields of the current line, as many as of the first. */
static int read_fields(gnn__text_t *text, int64_t line, int64_t **out, int64_t *room, int64_t *cols)
{
    gnn__text_field_t field;
    int64_t count = 0;
    for (;; count++) {
        GNN_TRY(gnn__text_field(text, &field));
        if (!field.at)
            break;
        const int64_t at = line * gnn__max(*cols, 1) + count;
        GNN_TRY(gnn__room(out, at, room, sizeof **out, text->name));
        GNN_TRY(gnn__text_integer(text, &field, "an integer", &(*out)[at]));
    }
    if (line == 0)
        *cols = count;
    return count == *cols
               ? GNN_OK
               : gnn__text_error(text, NULL, GNN_EFORMAT, "%lld values, the lines before have %lld",
                                 (long long)count, (long long)*cols);
}

/* Reads integers, `rows` lines or, for -1, all; cols NULL: one per line, else equally many. *out
 * remains NULL if there is no such file. */
static int read_integers(int64_t **out, int64_t *rows, int64_t *cols, const char *prefix,
                         const char *part, const gnn_limits_t *limits)
{
    gnn__text_t text;
    int64_t n = 0, room = 0, found = 0;
    int rc;
    GNN_TRY(open_file(&text, prefix, part, limits));
    if (!text.data)
        return GNN_OK;
    for (; gnn__text_line(&text); n++) {
        GNN_CHECK(read_fields(&text, n, out, &room, &found));
        if (!cols && found != 1)
            GNN_CHECK(gnn__text_error(&text, NULL, GNN_EFORMAT, "one value is expected, got %lld",
                                      (long long)found));
    }
    if (*rows >= 0 && n != *rows)
        GNN_CHECK(gnn__error(GNN_EFORMAT, "%s: %lld lines, expected %lld", part, (long long)n,
                             (long long)*rows));
    GNN_CHECK(n > 0 ? GNN_OK : gnn__new(out, 0, sizeof **out, part));
    *rows = n;
    if (cols)
        *cols = found;
done:
    gnn__text_free(&text);
    return rc;
}

/* Reads equally many reals per line. */
static int read_reals(gnn_real_t **out, int64_t *cols, int64_t rows, const char *prefix,
                      const char *part, const gnn_limits_t *limits)
{
    gnn__text_t text;
    int64_t found;
    GNN_TRY(open_file(&text, prefix, part, limits));
    if (!text.data)
        return GNN_OK;
    int rc = gnn__text_matrix(&text, false, out, &found, cols);
    gnn__text_free(&text);
    if (rc == GNN_OK && found != rows)
        rc = gnn__error(GNN_EFORMAT, "%s: %lld lines, expected %lld", part, (long long)found,
                        (long long)rows);
    return rc;
}

/* Sizes of the graphs from the graph of each node; nodes of a graph must be contiguous. */
static int read_nodes(gnn__many_t *m, const char *prefix, const gnn_limits_t *limits)
{
    int64_t *graph = NULL;
    int rc;
    m->nodes = -1;
    GNN_CHECK(read_integers(&graph, &m->nodes, NULL, prefix, "graph_indicator", limits));
    if (!graph || m->nodes < 1 || m->nodes > INT32_MAX)
        GNN_CHECK(gnn__error(GNN_EFORMAT, "graph_indicator: %s",
                             graph ? "no node, or more than 2^31 - 1" : "there is no such file"));
    GNN_CHECK(gnn__new(&m->lengths, m->nodes, sizeof *m->lengths, "graphs"));
    for (int64_t i = 0; i < m->nodes; i++) {
        if (graph[i] != m->graphs && graph[i] != m->graphs + 1)
            GNN_CHECK(gnn__error(GNN_EFORMAT,
                                 "graph_indicator: node %lld is of graph %lld, expected %lld or %lld",
                                 (long long)i + 1, (long long)graph[i], (long long)m->graphs,
                                 (long long)m->graphs + 1));
        m->graphs = graph[i];
        if (m->graphs < 1)
            GNN_CHECK(gnn__error(GNN_EFORMAT, "graph_indicator: graphs are numbered from 1"));
        m->lengths[m->graphs - 1]++;
    }
done:
    gnn_free(graph);
    return rc;
}

static int read_end(const gnn__many_t *m, gnn__text_t *text, int32_t *out)
{
    gnn__text_field_t field;
    int64_t node;
    GNN_TRY(gnn__text_field(text, &field));
    GNN_TRY(gnn__text_integer(text, &field, "a node id", &node));
    if (node < 1 || node > m->nodes)
        return gnn__text_error(text, &field, GNN_EFORMAT, "node %lld, there are 1 to %lld",
                               (long long)node, (long long)m->nodes);
    *out = (int32_t)(node - 1);
    return GNN_OK;
}

static int read_links(gnn__many_t *m, const char *prefix, const gnn_limits_t *limits)
{
    gnn__text_t text;
    gnn__text_field_t more;
    int rc;
    GNN_TRY(open_file(&text, prefix, "A", limits));
    const int64_t lines = text.data ? gnn__text_count_lines(&text) : 0;
    GNN_CHECK(gnn__new(&m->a, lines, sizeof *m->a, "links"));
    GNN_CHECK(gnn__new(&m->b, lines, sizeof *m->b, "links"));
    while (text.data && gnn__text_line(&text)) {
        GNN_CHECK(read_end(m, &text, &m->a[m->links]));
        GNN_CHECK(read_end(m, &text, &m->b[m->links]));
        GNN_CHECK(gnn__text_field(&text, &more));
        if (more.at)
            GNN_CHECK(gnn__text_error(&text, &more, GNN_EFORMAT,
                                      "two nodes are expected, got %s too: what links have is given "
                                      "in edge_attributes",
                                      gnn__field_shown(&more)));
        m->links++;
    }
done:
    gnn__text_free(&text);
    return rc;
}

static int read_all(gnn__many_t *m, const char *prefix, const gnn_limits_t *limits)
{
    GNN_TRY(read_nodes(m, prefix, limits));
    GNN_TRY(read_links(m, prefix, limits));
    GNN_TRY(read_integers(&m->labels, &m->graphs, NULL, prefix, "graph_labels", limits));
    GNN_TRY(read_integers(&m->tags, &m->nodes, &m->tag_cols, prefix, "node_labels", limits));
    GNN_TRY(read_integers(&m->kinds, &m->links, &m->kind_cols, prefix, "edge_labels", limits));
    GNN_TRY(read_reals(&m->nodes_x, &m->node_cols, m->nodes, prefix, "node_attributes", limits));
    GNN_TRY(read_reals(&m->links_x, &m->link_cols, m->links, prefix, "edge_attributes", limits));
    return read_reals(&m->targets, &m->target_cols, m->graphs, prefix, "graph_attributes", limits);
}

int gnn__data_read_tu(gnn_data_t *data, const char *path)
{
    gnn__many_t many = {0};
    char *prefix;
    GNN_TRY(gnn__data_find_tu(&prefix, path));
    if (!prefix)
        return gnn__error(GNN_EIO, "%s: there is no file PREFIX_A.txt", path);
    int rc = read_all(&many, prefix, data->limits);
    if (rc == GNN_OK)
        rc = gnn__data_many(data, &many);
    gnn__many_free(&many);
    gnn_free(prefix);
    return rc == GNN_OK ? rc : gnn__error_prefix(rc, "%s", path);
}
