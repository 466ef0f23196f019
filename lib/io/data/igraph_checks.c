/* What is looked at before igraph reads a file, so that a few bytes cannot ask for gigabytes: it
 * keeps a place for every attribute of every node and link, and makes as many nodes as a header or
 * a link names. */
#include <lib/io/data/igraph_checks.h>

#include <stdlib.h>
#include <strings.h>

/* ---- GraphML ---- */

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

/* A link may name two nodes that have no element of their own. */
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

int gnn__check_graphml(gnn__text_t *text)
{
    elements_t e = {0};
    GNN_TRY(check_encoding(text));
    GNN_TRY(count_elements(text, &e));
    return check_places(text, &e);
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

/* The next word from *at on, or NULL; *at becomes what is behind it. */
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

int gnn__check_gml(gnn__text_t *text)
{
    const char *begin = text->data + text->start, *at = begin, **words = NULL;
    int64_t count = 0, room = 0;
    elements_t e = {0};
    int rc = GNN_OK;
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

/* ---- numbers of nodes ---- */

/* Nodes may be there that no line names, as in an edge list. */
enum { FREE_NODES = 1024 };

static int check_count(const gnn__text_t *text, const char *at, int64_t *n)
{
    const int64_t most = gnn__min(text->size + FREE_NODES, INT32_MAX);
    char *end;
    const char *digits = at + strspn(at, " \t\r\n\v\f");
    *n = strtoll(digits, &end, 10); /* of too many digits it is the largest number */
    if (strchr("0123456789", *digits) == NULL || !*digits || (*end && !strchr(" \t\r\n\v\f,;", *end)))
        return refuse(text, digits, "a number of nodes is expected");
    if (*n < 1 || *n > most) {
        char what[128];
        snprintf(what, sizeof what, "%lld nodes, a file of %lld bytes may have 1 to %lld",
                 (long long)*n, (long long)text->size, (long long)most);
        return refuse(text, digits, what);
    }
    return GNN_OK;
}

/* The first place of a word in any case, or NULL. */
static const char *find_word(const char *at, const char *word)
{
    for (const size_t n = strlen(word); *at; at++)
        if (strncasecmp(at, word, n) == 0)
            return at;
    return NULL;
}

int gnn__check_pajek(gnn__text_t *text)
{
    static const char word[] = "*vertices";
    const char *at = find_word(text->data + text->start, word);
    int64_t n;
    if (!at)
        return refuse(text, text->data + text->start, "a line \"*Vertices NUMBER\" is expected");
    for (; at; at = find_word(at, word)) {
        at += sizeof word - 1;
        GNN_TRY(check_count(text, at, &n));
        at += strspn(at, " \t\v\f");
        at += strspn(at, "0123456789");
        at += strspn(at, " \t\v\f");
        if (*at && !strchr("\r\n", *at)) {
            refuse(text, at, "nodes of two kinds, graphs of one kind are read");
            return GNN_EUNSUPPORTED;
        }
    }
    return GNN_OK;
}

/* Whole numbers in the first `columns` of each line are nodes; behind them stand weights. */
static int check_nodes(const gnn__text_t *text, const char *at, int64_t columns, int64_t n)
{
    for (int64_t column = 0; *at;) {
        const size_t digits = strspn(at, "0123456789"), length = strcspn(at, " \t\r\n\v\f,");
        if (length == 0) {
            column = strchr("\r\n", *at) ? 0 : column;
            at++;
            continue;
        }
        if (digits == length && column < columns && strtoll(at, NULL, 10) > n) {
            char what[96];
            snprintf(what, sizeof what, "node %.*s, there are 1 to %lld",
                     (int)gnn__min((int64_t)length, 20), at, (long long)n);
            return refuse(text, at, what);
        }
        column++;
        at += length;
    }
    return GNN_OK;
}

int gnn__check_dl(gnn__text_t *text)
{
    const char *begin = text->data + text->start, *data = find_word(begin, "data:");
    const bool edges = find_word(begin, "edgelist1") != NULL,
               nodes = find_word(begin, "nodelist1") != NULL;
    int64_t n = 0;
    if (!data)
        return refuse(text, begin, "a line \"data:\" is expected");
    for (const char *at = begin; at < data; at++)
        if (*at == 'n' || *at == 'N') {
            const char *sign = at + 1 + strspn(at + 1, " \t\v\f");
            if (*sign == '=')
                GNN_TRY(check_count(text, sign + 1, &n));
        }
    if (n == 0)
        return refuse(text, begin, "\"n=NUMBER\" is expected");
    return edges || nodes ? check_nodes(text, data, nodes ? INT64_MAX : 2, n) : GNN_OK;
}

/* ---- DIMACS: igraph's reader grows the graph to any node that a link names ---- */

static int problem_line(gnn__text_t *text, int64_t *n)
{
    const char *fields[] = {"a kind of problem", "a number of nodes", "a number of links"};
    int64_t number[3] = {0};
    gnn__text_field_t field;
    if (*n > 0)
        return gnn__text_error(text, NULL, GNN_EFORMAT, "a second line \"p\"");
    for (int k = 0; k < 3; k++) {
        GNN_TRY(gnn__text_field(text, &field));
        if (!field.at)
            return gnn__text_error(text, NULL, GNN_EFORMAT, "%s is expected", fields[k]);
        if (k > 0)
            GNN_TRY(gnn__text_integer(text, &field, fields[k], &number[k]));
        if (k > 0 && (number[k] < 0 || number[k] >= gnn__min(text->size + FREE_NODES, INT32_MAX)))
            return gnn__text_error(text, &field, GNN_EFORMAT,
                                   "%s, %lld is more than a file of %lld bytes may have", fields[k],
                                   (long long)number[k], (long long)text->size);
    }
    *n = number[1];
    return GNN_OK;
}

static int link_line(gnn__text_t *text, int64_t n, bool weight)
{
    gnn__text_field_t field;
    gnn_real_t capacity;
    for (int k = 0; k < 2; k++) {
        int64_t node = 0;
        GNN_TRY(gnn__text_field(text, &field));
        if (!field.at)
            return gnn__text_error(text, NULL, GNN_EFORMAT, "two node numbers are expected");
        GNN_TRY(gnn__text_integer(text, &field, "a node's number", &node));
        if (node < 1 || node > n)
            return gnn__text_error(text, &field, GNN_EFORMAT, "node %lld, there are 1 to %lld",
                                   (long long)node, (long long)n);
    }
    if (!weight)
        return GNN_OK;
    GNN_TRY(gnn__text_field(text, &field));
    if (!field.at)
        return gnn__text_error(text, NULL, GNN_EFORMAT, "a capacity is expected");
    return gnn__text_real(text, &field, "a capacity", &capacity);
}

int gnn__check_dimacs(gnn__text_t *text)
{
    gnn__text_field_t kind;
    int64_t n = 0;
    text->delimiter = ' ';
    while (gnn__text_line(text)) {
        const char letter = *text->cursor;
        GNN_TRY(gnn__text_field(text, &kind));
        if (letter == 'c')
            continue;
        if (kind.length != 1 || !strchr("pnea", letter))
            return gnn__text_error(text, &kind, GNN_EFORMAT,
                                   "a line of DIMACS begins with c, p, n, e or a, %s came",
                                   gnn__field_shown(&kind));
        if (letter == 'p')
            GNN_TRY(problem_line(text, &n));
        else if (letter != 'n')
            GNN_TRY(link_line(text, n, letter == 'a'));
    }
    gnn__text_rewind(text);
    return n > 0 ? GNN_OK
                 : gnn__error(GNN_EFORMAT, "%s: no line \"p\" tells a number of nodes", text->name);
}

/* ---- GraphDB: little-endian words of 16 bits ---- */

typedef struct words {
    const gnn__text_t *text;
    int64_t at; /* byte of the next word */
} words_t;

static int next_number(words_t *w, const char *what, int64_t *number)
{
    const unsigned char *c = (const unsigned char *)w->text->data + w->at;
    if (w->at + 2 > w->text->size)
        return gnn__error(GNN_EFORMAT, "%s: byte %lld: %s is expected, the file ends",
                          w->text->name, (long long)w->at, what);
    *number = c[0] | c[1] << 8;
    w->at += 2;
    return GNN_OK;
}

/* For each node how many others it leads to, and these. igraph would make the nodes that links
 * name. */
int gnn__check_graphdb(gnn__text_t *text)
{
    words_t w = {.text = text};
    int64_t n, degree, node;
    GNN_TRY(next_number(&w, "a number of nodes", &n));
    for (int64_t i = 0; i < n; i++) {
        GNN_TRY(next_number(&w, "a number of links", &degree));
        for (int64_t k = 0; k < degree; k++) {
            GNN_TRY(next_number(&w, "a node", &node));
            if (node >= n)
                return gnn__error(GNN_EFORMAT, "%s: byte %lld: node %lld, there are 0 to %lld",
                                  text->name, (long long)w.at - 2, (long long)node, (long long)n - 1);
        }
    }
    if (w.at == text->size)
        return GNN_OK;
    return gnn__error(GNN_EFORMAT, "%s: byte %lld: %lld nodes end here, the file has %lld bytes",
                      text->name, (long long)w.at, (long long)n, (long long)text->size);
}
