/* GraphML and GML, read by igraph as edges and weights. The text is validated first, so that a few
 * bytes cannot allocate gigabytes: igraph stores every attribute of every node and edge. */
#include <lib/base/igraph.h>
#include <lib/data/data.h>

#include <stdlib.h>
#include <strings.h>

/* ---- GraphML ---- */

typedef struct elements {
    int64_t keys, nodes, links, graphs;
    const char *weight; /* id of the key of the links' weights, not terminated; NULL: none */
    size_t weight_length;
    bool undirected;   /* edgedefault of the graph */
    const char *other; /* the first edge whose `directed` contradicts edgedefault, or NULL */
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

/* The declaration may name an encoding with another byte for '<'; the counts here must match what
 * igraph reads. */
static int check_encoding(const gnn__text_t *text)
{
    static const char *const known[] = {"utf-8", "UTF-8", "us-ascii",   "US-ASCII",
                                        "ASCII", "ascii", "ISO-8859-1", "iso-8859-1"};
    const char *begin = text->data + text->start;
    const char *first = begin + strspn(begin, " \t\r\n");
    if (*first != '<') /* EBCDIC and others, detected by XML parsers from the first bytes */
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

/* Scanners of igraph and libxml2 take time quadratic in the length of a token. */
enum { LONGEST = 1 << 16 };

/* The end of `mark` at or after `at`, else that of the text. */
static const char *after(const char *at, const char *mark)
{
    const char *end = strstr(at, mark);
    return end ? end + strlen(mark) : at + strlen(at);
}

/* The end of a tag; its quoted values may contain any character but the quote. */
static const char *tag_end(const char *at)
{
    for (at += strcspn(at, ">\"'"); *at == '"' || *at == '\''; at += strcspn(at, ">\"'")) {
        at += 1 + strcspn(at + 1, *at == '"' ? "\"" : "'");
        at += *at != '\0';
    }
    return at + (*at == '>');
}

/* The local name of a tag whose '<' (or "</") is before `at`. */
static const char *local_name(const char *at)
{
    const char *name = at + strcspn(at, ":<> \t\r\n/=");
    return *name == ':' ? name + 1 : at;
}

/* 1: begins an element whose text igraph collects, also that of elements in it; -1: ends one. */
static int collects(const char *tag, const char *end)
{
    const bool ends = tag[1] == '/';
    const char *name = local_name(tag + 1 + ends);
    if (!is_element(name, "data") && !is_element(name, "default"))
        return 0;
    return ends ? -1 : end - tag > 2 && end[-2] != '/';
}

/* GNN_EFORMAT for a tag, or text between two tags or of a <data> element, that is longer than
 * LONGEST. */
static int check_lengths(const gnn__text_t *text)
{
    const char *between = text->data + text->start;
    int64_t depth = 0;
    for (const char *c = between; *c;) {
        const bool tag = *c == '<' && c[1] != '!' && c[1] != '?';
        const char *end = tag                               ? tag_end(c)
                          : strncmp(c, "<!--", 4) == 0      ? after(c + 4, "-->")
                          : strncmp(c, "<![CDATA[", 9) == 0 ? after(c, "]]>")
                          : strncmp(c, "<?", 2) == 0        ? after(c, "?>")
                                                            : c + 1 + strcspn(c + 1, "<");
        const char *begin = tag && depth == 0 ? c : between;
        if (end - begin > LONGEST)
            return refuse(text, begin, "a tag or text of more than 65536 bytes");
        depth += tag ? collects(c, end) : 0;
        if (tag && depth <= 0) {
            depth = 0;
            between = end;
        }
        c = end;
    }
    return GNN_OK;
}

/* The value of an attribute of a tag, quotes excluded; NULL: it has none. */
static const char *attribute(const char *tag, const char *end, const char *name, size_t *length)
{
    const size_t n = strlen(name);
    for (const char *c = tag + strcspn(tag, " \t\r\n/>"); c < end && *c != '>';) {
        c += strspn(c, " \t\r\n/");
        const char *equals = c + strcspn(c, "= \t\r\n/>\"'");
        const bool is = (size_t)(equals - c) == n && strncmp(c, name, n) == 0;
        c = equals + strspn(equals, " \t\r\n=");
        if (*c != '"' && *c != '\'')
            break;
        *length = strcspn(c + 1, *c == '"' ? "\"" : "'");
        if (is)
            return c + 1;
        c += *length + 2;
    }
    return NULL;
}

static bool has(const char *tag, const char *end, const char *name, const char *value)
{
    size_t length;
    const char *at = attribute(tag, end, name, &length);
    return at && length == strlen(value) && strncmp(at, value, length) == 0;
}

/* igraph leaves out keys for="all", which is also the default. */
static int check_key(const gnn__text_t *text, const char *tag, const char *end, elements_t *e)
{
    size_t length;
    e->keys++;
    if (!has(tag, end, "attr.name", "weight"))
        return GNN_OK;
    if (has(tag, end, "for", "edge"))
        e->weight = attribute(tag, end, "id", &e->weight_length);
    return !attribute(tag, end, "for", &length) || has(tag, end, "for", "all")
               ? refuse(text, tag, "a key \"weight\" for all elements, for=\"edge\" is expected")
               : GNN_OK;
}

/* igraph reads hexadecimal weights, other formats refuse them. */
static int check_weight(const gnn__text_t *text, const char *tag, const char *end,
                        const elements_t *e)
{
    size_t length;
    const char *key = e->weight ? attribute(tag, end, "key", &length) : NULL;
    if (!key || length != e->weight_length || strncmp(key, e->weight, length) != 0)
        return GNN_OK;
    const char *digits = end + strspn(end, " \t\r\n+-");
    return strncasecmp(digits, "0x", 2) == 0
               ? refuse(text, tag, "a weight in decimal digits is expected, it is hexadecimal")
               : GNN_OK;
}

/* An edge whose direction is not that of the graph, which igraph takes for all. */
static void check_direction(const char *tag, const char *end, elements_t *e)
{
    e->links++;
    if (!e->other && has(tag, end, "directed", e->undirected ? "true" : "false"))
        e->other = tag;
}

static int count_element(const gnn__text_t *text, const char *tag, const char *end, elements_t *e)
{
    const char *name = local_name(tag + 1);
    e->nodes += is_element(name, "node");
    if (is_element(name, "edge"))
        check_direction(tag, end, e);
    if (is_element(name, "key"))
        return check_key(text, tag, end, e);
    if (is_element(name, "data"))
        return check_weight(text, tag, end, e);
    if (is_element(name, "hyperedge"))
        return refuse(text, tag, "a hyperedge, links of two nodes are read");
    if (!is_element(name, "graph"))
        return GNN_OK;
    e->undirected = has(tag, end, "edgedefault", "undirected");
    if (++e->graphs == 1)
        return GNN_OK;
    refuse(text, tag, "a second graph, documents of one graph are read");
    return GNN_EUNSUPPORTED;
}

static int count_elements(const gnn__text_t *text, elements_t *e)
{
    for (const char *c = strchr(text->data, '<'); c; c = strchr(c, '<')) {
        const char *end = strncmp(c, "<!--", 4) == 0        ? after(c + 4, "-->")
                          : strncmp(c, "<![CDATA[", 9) == 0 ? after(c, "]]>")
                                                            : NULL;
        if (end) {
            c = end;
            continue;
        }
        if (strncmp(c, "<!DOCTYPE", 9) == 0 || strncmp(c, "<!ENTITY", 8) == 0)
            return refuse(text, c,
                          "a document type, GraphML needs none and its entities are not read");
        GNN_TRY(count_element(text, c, tag_end(c), e));
        c++;
    }
    return GNN_OK;
}

/* igraph creates nodes for ids in links before missing elements can be detected. */
static int check_places(const gnn__text_t *text, const elements_t *e)
{
    int64_t places, most = 4 * text->size + (1 << 20);
    if (gnn__mul(e->keys, e->nodes + 3 * e->links, &places) && places <= most)
        return GNN_OK;
    return gnn__error(
        GNN_EFORMAT,
        "%s: %lld attributes of %lld nodes and %lld links, more than a file of %lld bytes fills",
        text->name, (long long)e->keys, (long long)e->nodes, (long long)e->links,
        (long long)text->size);
}

static int check_graphml(const gnn__text_t *text, elements_t *e)
{
    GNN_TRY(check_encoding(text));
    if (!strstr(text->data + text->start, "graphml"))
        return gnn__error(GNN_EFORMAT, "%s: an element <graphml> is expected, there is none",
                          text->name);
    GNN_TRY(check_lengths(text));
    GNN_TRY(count_elements(text, e));
    GNN_TRY(check_places(text, e));
    return e->graphs > 0
               ? GNN_OK
               : gnn__error(GNN_EFORMAT, "%s: an element <graph> is expected, there is none",
                            text->name);
}

/* igraph creates nodes for ids that only links have, and one for an id that stands twice. */
static int check_declared(const elements_t *e, int64_t nodes)
{
    if (nodes < e->nodes)
        return gnn__error(GNN_EFORMAT, "%lld elements <node> have %lld ids: an id is given twice",
                          (long long)e->nodes, (long long)nodes);
    return nodes == e->nodes
               ? GNN_OK
               : gnn__error(GNN_EFORMAT,
                            "links name %lld nodes that have no element <node>, %lld have one",
                            (long long)(nodes - e->nodes), (long long)e->nodes);
}

/* ---- GML: words outside strings and comments are the attributes' names ---- */

static size_t word_length(const char *at)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    return strchr(letters, *at) ? strspn(at, "abcdefghijklmnopqrstuvwxyz"
                                             "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789")
                                : 0;
}

static int compare_words(const void *a, const void *b)
{
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;
    const size_t m = word_length(x), n = word_length(y);
    const int order = memcmp(x, y, m < n ? m : n);
    return order ? order : (m > n) - (m < n);
}

/* The next word at or after *at, or NULL; moves *at past it. */
static const char *next_word(const char **at, const char *begin)
{
    for (const char *c = *at; *c;) {
        const size_t length = word_length(c);
        if (length > 0) {
            *at = c + length;
            return c;
        }
        if (*c == '"')
            c += 1 + strcspn(c + 1, "\"");
        else if (*c == '#' && (c == begin || c[-1] == '\n'))
            c += strcspn(c, "\r\n") - 1;
        c += *c != '\0';
    }
    return NULL;
}

static size_t token_length(const char *at, const char *begin)
{
    if (*at == '"')
        return 1 + strcspn(at + 1, "\"");
    if (*at == '#' && (at == begin || at[-1] == '\n'))
        return strcspn(at, "\r\n");
    return strcspn(at, " \t\r\n[]\"");
}

static int check_tokens(const gnn__text_t *text)
{
    const char *begin = text->data + text->start;
    for (const char *c = begin; *c;) {
        const size_t length = token_length(c, begin);
        if (length > LONGEST)
            return refuse(text, c, "a word of more than 65536 bytes");
        c += length;
        c += *c != '\0';
    }
    return GNN_OK;
}

/* igraph reads the first graph and leaves out others. */
static int check_graphs(const gnn__text_t *text)
{
    const char *begin = text->data + text->start;
    int64_t depth = 0, graphs = 0;
    for (const char *c = begin; *c;) {
        const size_t length = token_length(c, begin);
        if (depth == 0 && length == 5 && strncasecmp(c, "graph", 5) == 0 && ++graphs > 1)
            return refuse(text, c, "a second graph, files of one graph are read");
        const bool string = *c == '"';
        depth += (*c == '[') - (*c == ']');
        c += length;
        c += *c && (length == 0 || string);
    }
    return GNN_OK;
}

static int check_gml(gnn__text_t *text)
{
    const char *begin = text->data + text->start, *at = begin, **words = NULL;
    int64_t count = 0, room = 0;
    elements_t e = {0};
    int rc = GNN_OK;
    GNN_TRY(check_tokens(text));
    GNN_TRY(check_graphs(text));
    for (const char *w = next_word(&at, begin); w; w = next_word(&at, begin)) {
        GNN_CHECK(gnn__room(&words, count, &room, sizeof *words, "words"));
        words[count++] = w;
        e.nodes += at - w == 4 && strncasecmp(w, "node", 4) == 0;
        e.links += at - w == 4 && strncasecmp(w, "edge", 4) == 0;
    }
    if (count > 0)
        qsort(words, (size_t)count, sizeof *words, compare_words);
    for (int64_t k = 0; k < count; k++)
        e.keys += k == 0 || compare_words(&words[k - 1], &words[k]) != 0;
    rc = check_places(text, &e);
done:
    gnn_free(words);
    return rc;
}

/* ---- the set ---- */

/* An edge of an undirected graph is one in each direction, where directions are kept. */
static int both_ways(gnn__igraph_links_t *links)
{
    const int64_t m = links->m;
    int64_t most;
    if (!gnn__mul(m, 2, &most))
        return gnn__error(GNN_EOVERFLOW, "%lld links in both directions do not fit", (long long)m);
    GNN_TRY(gnn__grow(&links->a, m, most, sizeof *links->a, "links"));
    GNN_TRY(gnn__grow(&links->b, m, most, sizeof *links->b, "links"));
    if (links->weight)
        GNN_TRY(gnn__grow(&links->weight, m, most, sizeof *links->weight, "weights"));
    for (int64_t k = 0; k < m; k++) {
        if (links->a[k] == links->b[k])
            continue;
        links->a[links->m] = links->b[k];
        links->b[links->m] = links->a[k];
        if (links->weight)
            links->weight[links->m] = links->weight[k];
        links->m++;
    }
    return GNN_OK;
}

static int take(gnn_data_t *data, gnn__igraph_links_t *links)
{
    if (data->directed && !links->directed)
        GNN_TRY(both_ways(links));
    const gnn_array_t weight = gnn__data_weights(links->weight, links->m);
    const bool weighted = links->weight && !gnn__data_all_one(links->weight, links->m);
    data->counted = true;
    return gnn__data_bare(data, &(gnn__data_links_t){.n = links->n,
                                                     .m = links->m,
                                                     .a = links->a,
                                                     .b = links->b,
                                                     .n_arrays = weighted,
                                                     .arrays = &weight});
}

static void links_free(gnn__igraph_links_t *links)
{
    gnn_free(links->a);
    gnn_free(links->b);
    gnn_free(links->weight);
}

static int read_text(gnn_data_t *data, gnn__text_t *text, gnn__igraph_form_t form)
{
    const bool gml = form == GNN__IGRAPH_GML;
    const gnn__igraph_functions_t *igraph;
    gnn__igraph_links_t links = {0};
    int rc = gnn__igraph_need(&igraph, gml ? "GML is read by igraph" : "GraphML is read by igraph");
    if (rc != GNN_OK)
        return gnn__error_prefix(rc, "%s", text->name);
    elements_t elements = {0};
    GNN_TRY(gml ? check_gml(text) : check_graphml(text, &elements));
    if (data->directed && elements.other)
        return refuse(text, elements.other,
                      "an edge with a direction of its own: opened as directed, all edges have that "
                      "of edgedefault");
    rc = igraph->read(&links, form, text->data + text->start, text->size - text->start);
    if (rc == GNN_OK && links.n == 0)
        rc = gnn__error(GNN_EFORMAT, "no node");
    if (rc == GNN_OK && !gml)
        rc = check_declared(&elements, links.n);
    if (rc == GNN_OK && *links.unread)
        rc = gnn__strdup(&data->unread, links.unread);
    if (rc == GNN_OK)
        rc = take(data, &links);
    links_free(&links);
    return rc == GNN_OK ? rc : gnn__error_prefix(rc, "%s", text->name);
}

/* ---- which of the two ---- */

bool gnn__data_markup_head(const char *head)
{
    return *head == '<' || strncasecmp(head, "graph", 5) == 0;
}

/* XML is GraphML regardless of the extension. */
static gnn__igraph_form_t choose(const char *path, const char *head)
{
    const size_t length = gnn__data_unpacked_length(path);
    const bool gml = gnn__data_ends_with(path, length, ".gml") ||
                     (!gnn__data_ends_with(path, length, ".graphml") && gnn__data_markup_head(head));
    return *head != '<' && gml ? GNN__IGRAPH_GML : GNN__IGRAPH_GRAPHML;
}

int gnn__data_read_markup(gnn_data_t *data, const char *path)
{
    gnn__text_t text;
    GNN_TRY(gnn__text_open_limits(&text, path, data->limits));
    const char *head = text.data + text.start;
    const int rc = read_text(data, &text, choose(path, head + strspn(head, " \t\r\n")));
    gnn__text_free(&text);
    return rc;
}
