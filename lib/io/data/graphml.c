/* GraphML, read by igraph. What igraph takes memory for is bounded first: it keeps a place for
 * every attribute of every node and link. */
#include <lib/io/data/data.h>

#include <graphs/igraph/read.h>

#if GNN_HAS_IGRAPH

typedef struct elements {
    int64_t keys, nodes, links, graphs;
} elements_t;

static bool is_element(const char *at, const char *name)
{
    size_t n = strlen(name);
    return strncmp(at, name, n) == 0 && strchr(" \t\r\n/>", at[n]);
}

static int refuse(const gnn__text_t *text, const char *at, const char *what)
{
    int64_t line = 1;
    for (const char *c = text->data; c < at; c++)
        line += *c == '\n';
    return gnn__error(GNN_EFORMAT, "%s: line %lld: %s", text->name, (long long)line, what);
}

/* The declaration may name an encoding in which '<' is another byte; what is counted here must be
 * what igraph sees. */
static int check_encoding(const gnn__text_t *text)
{
    static const char *const known[] = {"utf-8", "UTF-8", "us-ascii",   "US-ASCII",
                                        "ASCII", "ascii", "ISO-8859-1", "iso-8859-1"};
    const char *begin = text->data + text->start;
    const char *first = begin + strspn(begin, " \t\r\n");
    if (*first != '<') /* EBCDIC and others, which an XML parser tells by the first bytes */
        return refuse(text, first, "'<' is expected");
    const char *end = strncmp(begin, "<?xml", 5) == 0 ? strstr(begin, "?>") : NULL;
    const char *at = end ? strstr(begin, "encoding") : NULL;
    if (!at || at > end)
        return GNN_OK;
    at += strcspn(at, "\"'");
    for (size_t k = 0; at < end && k < sizeof known / sizeof known[0]; k++)
        if (strncmp(at + 1, known[k], strlen(known[k])) == 0 && at[1 + strlen(known[k])] == *at)
            return GNN_OK;
    return refuse(text, at, "an encoding other than UTF-8, ASCII or ISO-8859-1");
}

static int count_elements(const gnn__text_t *text, elements_t *e)
{
    for (const char *c = strchr(text->data, '<'); c; c = strchr(c + 1, '<')) {
        if (strncmp(c, "<!DOCTYPE", 9) == 0 || strncmp(c, "<!ENTITY", 8) == 0)
            return refuse(text, c,
                          "a document type, GraphML needs none and its entities are not read");
        const char *name = c + 1 + strcspn(c + 1, ":<> \t\r\n/=");
        name = *name == ':' ? name + 1 : c + 1;
        e->keys += is_element(name, "key");
        e->nodes += is_element(name, "node");
        e->links += is_element(name, "edge");
        if (is_element(name, "graph") && ++e->graphs > 1) {
            refuse(text, c, "a second graph, documents of one graph are read");
            return GNN_EUNSUPPORTED;
        }
    }
    return GNN_OK;
}

static int check(const gnn__text_t *text)
{
    elements_t e = {0};
    int64_t places, most = 4 * text->size + (1 << 20);
    GNN_TRY(check_encoding(text));
    GNN_TRY(count_elements(text, &e));
    /* A link may name two nodes that have no element of their own. */
    if (!gnn__mul(e.keys, e.nodes + 3 * e.links, &places) || places > most)
        return gnn__error(
            GNN_EFORMAT,
            "%s: %lld attributes of %lld nodes and %lld links, more than a file of %lld bytes fills",
            text->name, (long long)e.keys, (long long)e.nodes, (long long)e.links,
            (long long)text->size);
    return GNN_OK;
}

static int take(gnn_data_t *data, const gnn__read_links_t *links)
{
    const gnn_array_t weight = gnn__data_weights(links->weight, links->m);
    const bool weighted = links->weight && !gnn__data_all_one(links->weight, links->m);
    return gnn__data_bare(data, &(gnn__data_links_t){.n = links->n,
                                                     .m = links->m,
                                                     .a = links->a,
                                                     .b = links->b,
                                                     .n_arrays = weighted,
                                                     .arrays = &weight});
}

static int read(gnn_data_t *data, const gnn__text_t *text)
{
    gnn__read_links_t links = {0};
    int rc = check(text);
    if (rc != GNN_OK)
        return rc;
    rc = gnn__igraph_read_graphml(&links, text->data, text->size);
    if (rc == GNN_OK && links.n == 0)
        rc = gnn__error(GNN_EFORMAT, "no node");
    if (rc == GNN_OK)
        rc = take(data, &links);
    gnn__read_links_free(&links);
    return rc == GNN_OK ? rc : gnn__error_prefix(rc, "%s", text->name);
}

int gnn__data_read_graphml(gnn_data_t *data, const char *path)
{
    gnn__text_t text;
    GNN_TRY(gnn__text_open_limits(&text, path, data->limits));
    int rc = read(data, &text);
    gnn__text_free(&text);
    return rc;
}

#else

int gnn__data_read_graphml(gnn_data_t *data, const char *path)
{
    (void)data;
    return gnn__error(GNN_EUNSUPPORTED,
                      "%s: GraphML is read by igraph, and this build of libgnn is without it",
                      gnn__file_name(path));
}

#endif
