/* Edge lists: two nodes per line, by integers from 0 or by names, and optionally a weight; a first
 * line may name the columns. Integers that are too large to be indices are names. Not read by
 * igraph, which supports neither comments nor weights and allocates memory for any node id. */
#include <lib/data/many.h>

/* Ids with gaps are common, so there may be more nodes than links; memory remains bounded by the
 * file's size. */
enum { FREE_NODES = 1024, MOST_FIELDS = 16 };

/* Columns of source, target and weight, from 0; -1: there is none. */
typedef struct columns {
    int source, target, weight;
    int count;  /* of the named columns; 0: the first line has no names */
    int fields; /* of the first link, as of all others; 0: not read yet */
} columns_t;

typedef struct links {
    columns_t columns;
    int64_t n, m, most; /* largest node id + 1, links, limit of nodes for the file's size */
    int64_t room_a, room_b, room_weight, room_names;
    int32_t *a, *b;
    gnn_real_t *weight;       /* 1 for links without one */
    bool by_words, weighted;  /* nodes are named by words; the first link has a weight */
    bool far;                 /* a node id is too large to be an index */
    bool headed;              /* the first line names columns in words of its own */
    gnn__text_field_t *names; /* (2 m) of sources and targets, if they are words */
    char **node_names;        /* (n) the same as texts */
} links_t;

/* ---- the first lines ---- */

static bool names_pair(const gnn__text_field_t *a, const gnn__text_field_t *b)
{
    static const char *const pairs[][2] = {{"source", "target"},
                                           {"src", "dst"},
                                           {"from", "to"},
                                           {"sender", "receiver"},
                                           {"u", "v"},
                                           {"node1", "node2"},
                                           {"node_1", "node_2"},
                                           {"id1", "id2"},
                                           {"id_1", "id_2"},
                                           {"fromnodeid", "tonodeid"},
                                           {"node_id", "node_id"}}; /* Geom-GCN's edges */
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++)
        if (gnn__field_is(a, pairs[k][0]) && gnn__field_is(b, pairs[k][1]))
            return true;
    return false;
}

static bool names_weight(const gnn__text_field_t *field)
{
    static const char *const words[] = {"weight", "weights", "edge_weight", NULL};
    return gnn__field_is_one_of(field, words);
}

/* A column without effect on the graph, as pandas and Gephi write it. Gephi's types are the
 * direction, which gnn_open_config_t sets for every format. */
static bool names_nothing(const gnn__text_field_t *field, int column)
{
    static const char *const words[] = {"id",      "label",  "timeset", "type",
                                        "edge_id", "edgeid", NULL};
    static const char *const first[] = {"", "index", "unnamed: 0", NULL};
    return gnn__field_is_one_of(field, words) || (column == 0 && gnn__field_is_one_of(field, first));
}

static int fields_of(gnn__text_t *text, gnn__text_field_t field[MOST_FIELDS], int *count)
{
    for (*count = 0; *count < MOST_FIELDS; (*count)++) {
        GNN_TRY(gnn__text_field(text, &field[*count]));
        if (!field[*count].at)
            break;
    }
    return GNN_OK;
}

/* Places the columns by their names; without known names of the two nodes, the first two are them
 * if the third is called weight. */
static int place_columns(columns_t *c, const gnn__text_t *text, const gnn__text_field_t *field,
                         int count)
{
    *c = (columns_t){.source = -1, .target = -1, .weight = -1, .count = count};
    for (int k = 0; k < count && c->source < 0; k++)
        for (int l = 0; l < count && c->source < 0; l++)
            if (k != l && names_pair(&field[k], &field[l])) {
                c->source = k;
                c->target = l;
            }
    if (c->source < 0 && count == 3 && gnn__field_is(&field[0], "node_id") &&
        gnn__field_is(&field[2], "label"))
        return gnn__text_error(text, &field[1], GNN_EUNSUPPORTED,
                               "Geom-GCN's list of features: open its folder, which has "
                               "out1_graph_edges.txt, too");
    if (c->source < 0 && count == 3 && names_weight(&field[2])) {
        c->source = 0;
        c->target = 1;
    }
    for (int k = 0; k < count && c->source >= 0; k++) {
        if (k == c->source || k == c->target || names_nothing(&field[k], k))
            continue;
        if (!names_weight(&field[k]) || c->weight >= 0)
            return gnn__text_error(text, &field[k], GNN_EFORMAT,
                                   "column %s of an edge list is not read: source, target and "
                                   "weight are expected",
                                   gnn__field_shown(&field[k]));
        c->weight = k;
    }
    if (c->source < 0)
        *c = (columns_t){.target = 1, .weight = 2};
    return GNN_OK;
}

/* Commas of a dictionary (networkx's) separate no columns. */
static void guess_delimiter(gnn__text_t *text)
{
    char *end = text->end, *bracket = memchr(text->cursor, '{', (size_t)(text->end - text->cursor));
    text->end = bracket ? bracket : end;
    gnn__text_guess_delimiter(text, ";,", ' ');
    text->end = end;
}

/* Skips a first line of column names, which are those of docs/formats.md. */
static int pass_header(columns_t *c, gnn__text_t *text)
{
    gnn__text_field_t field[MOST_FIELDS];
    int count = 0;
    *c = (columns_t){.target = 1, .weight = 2};
    if (gnn__text_line(text)) {
        guess_delimiter(text);
        GNN_TRY(fields_of(text, field, &count));
        GNN_TRY(place_columns(c, text, field, count));
    }
    if (c->count == 0)
        gnn__text_rewind(text);
    return GNN_OK;
}

/* Does a field name a node by a word? Next to an integer only one with a letter that does not begin
 * with a digit or sign. */
static bool is_word(const gnn__text_field_t *field, const gnn__text_field_t *other)
{
    return gnn__field_kind(field) == GNN__WORD &&
           (gnn__field_kind(other) == GNN__WORD ||
            (!strchr("0123456789+-.", field->at[0]) && gnn__field_lettered(field)));
}

/* Are the nodes of the current line words, with its fields between these characters? */
static int look(const gnn__text_t *text, const columns_t *c, char delimiter, bool *words,
                bool *integers)
{
    gnn__text_field_t field[MOST_FIELDS];
    gnn__text_t copy = *text;
    int count;
    *words = *integers = false;
    copy.delimiter = delimiter;
    GNN_TRY(fields_of(&copy, field, &count));
    if (c->source >= count || c->target >= count)
        return GNN_OK;
    const gnn__text_field_t *a = &field[c->source], *b = &field[c->target];
    *words = is_word(a, b) || is_word(b, a);
    *integers = gnn__field_kind(a) == GNN__INTEGER && gnn__field_kind(b) == GNN__INTEGER;
    return GNN_OK;
}

/* The first link decides whether nodes are named by integers, and what the delimiter is. Names may
 * have spaces in them where it is a tab. */
static int look_at_link(links_t *links, gnn__text_t *text)
{
    bool integers, words;
    guess_delimiter(text);
    GNN_TRY(look(text, &links->columns, text->delimiter, &words, &integers));
    if (integers)
        return GNN_OK;
    const char usual = text->delimiter;
    gnn__text_guess_delimiter(text, "\t", usual);
    GNN_TRY(look(text, &links->columns, text->delimiter, &links->by_words, &integers));
    if (!links->by_words)
        text->delimiter = usual;
    return GNN_OK;
}

/* ---- links ---- */

static int node(const gnn__text_t *text, const gnn__text_field_t *field, links_t *links, int32_t *out)
{
    int64_t number;
    GNN_TRY(gnn__text_integer(text, field, "a node id of an edge list", &number));
    if (number < 0)
        return gnn__text_error(text, field, GNN_EFORMAT, "node %lld, node ids start at 0",
                               (long long)number);
    links->far = links->far || number >= links->most;
    *out = links->far ? 0 : (int32_t)number;
    return GNN_OK;
}

/* Ids that are too large to be indices are names, each of which has one spelling. */
static int check_spelling(const gnn__text_t *text, const gnn__text_field_t *field, links_t *links)
{
    int32_t unused;
    GNN_TRY(node(text, field, links, &unused));
    return (field->at[0] == '0' && field->length > 1) || field->at[0] == '+' || field->at[0] == '-'
               ? gnn__text_error(text, field, GNN_EFORMAT,
                                 "a node id without leading zeros is expected, got %s",
                                 gnn__field_shown(field))
               : GNN_OK;
}

static const char *delimiter_name(const gnn__text_t *text)
{
    return text->delimiter == ' '   ? "blanks"
           : text->delimiter == ',' ? "commas"
           : text->delimiter == ';' ? "semicolons"
                                    : "tabs";
}

/* networkx's write_edgelist adds a dictionary of attributes to each line: {} or {'weight': 0.5},
 * whose value becomes the third field. */
static int read_dictionary(const gnn__text_t *text, gnn__text_field_t *field, int *fields)
{
    static const char begin[] = "{'weight': ";
    gnn__text_field_t *last = &field[2];
    if (*fields < 3 || last->at[0] != '{' || gnn__field_is(last, "{}"))
        return GNN_OK;
    const char *end = text->end;
    while (end > last->at && end[-1] == ' ')
        end--;
    gnn__text_field_t value = *last;
    value.at = last->at + sizeof begin - 1;
    value.length = end - value.at - 1;
    if (value.length < 1 || end[-1] != '}' || memcmp(last->at, begin, sizeof begin - 1) != 0 ||
        (gnn__field_kind(&value) != GNN__INTEGER && gnn__field_kind(&value) != GNN__REAL))
        return gnn__text_error(text, last, GNN_EFORMAT,
                               "a weight is expected, got a dictionary: of networkx's, {} and "
                               "{'weight': 0.5} are read; write_weighted_edgelist writes weights, "
                               "write_edgelist(..., data=False) links alone");
    *last = value;
    *fields = 3;
    return GNN_OK;
}

static int check_count(columns_t *c, const gnn__text_t *text, int fields)
{
    if (c->count > 0 && fields == c->count)
        return GNN_OK;
    if (c->count > 0)
        return gnn__text_error(text, NULL, GNN_EFORMAT,
                               "%d fields, the first line names %d columns (an edge list with %s "
                               "between its fields, by its first line)",
                               fields, c->count, delimiter_name(text));
    if (fields != 2 && fields != 3)
        return gnn__text_error(text, NULL, GNN_EFORMAT,
                               "two nodes and perhaps a weight are expected, got %s (an edge list "
                               "with %s between its fields, by its first line)",
                               fields < 2 ? "one field" : "four fields or more",
                               delimiter_name(text));
    if (c->fields > 0 && c->fields != fields)
        return gnn__text_error(text, NULL, GNN_EFORMAT,
                               "%d fields, the first link has %d: each link has a weight, or none",
                               fields, c->fields);
    c->fields = fields;
    return GNN_OK;
}

static int read_link(links_t *links, gnn__text_t *text)
{
    columns_t *c = &links->columns;
    gnn__text_field_t field[MOST_FIELDS];
    gnn_real_t weight = 1;
    int32_t a = 0, b = 0;
    int fields;
    GNN_TRY(fields_of(text, field, &fields));
    if (c->count == 0)
        GNN_TRY(read_dictionary(text, field, &fields));
    GNN_TRY(check_count(c, text, fields));
    if (links->by_words) {
        if (links->far) {
            GNN_TRY(check_spelling(text, &field[c->source], links));
            GNN_TRY(check_spelling(text, &field[c->target], links));
        }
        GNN_TRY(gnn__room(&links->names, 2 * links->m + 1, &links->room_names, sizeof *links->names,
                          "names"));
        links->names[2 * links->m] = field[c->source];
        links->names[2 * links->m + 1] = field[c->target];
    } else {
        GNN_TRY(node(text, &field[c->source], links, &a));
        GNN_TRY(node(text, &field[c->target], links, &b));
    }
    if (c->weight >= 0 && c->weight < fields && !gnn__field_is(&field[c->weight], "{}"))
        GNN_TRY(gnn__text_real(text, &field[c->weight], "a weight", &weight));
    GNN_TRY(gnn__room(&links->a, links->m, &links->room_a, sizeof *links->a, "links"));
    GNN_TRY(gnn__room(&links->b, links->m, &links->room_b, sizeof *links->b, "links"));
    GNN_TRY(gnn__room(&links->weight, links->m, &links->room_weight, sizeof weight, "weights"));
    links->weighted = links->m == 0 ? fields > 2 : links->weighted;
    links->weight[links->m] = weight;
    links->a[links->m] = a;
    links->b[links->m++] = b;
    int32_t larger = a > b ? a : b;
    if (larger >= links->n)
        links->n = (int64_t)larger + 1;
    return GNN_OK;
}

/* A first line of two words that no other line has names columns, most likely. */
static int refuse_header(const links_t *links, const gnn__text_t *text, const int64_t *number)
{
    if (links->columns.count > 0 || links->weighted || links->far)
        return GNN_OK;
    for (int64_t k = 2; k < 2 * links->m; k++)
        if (number[k] == number[0] || number[k] == number[1])
            return GNN_OK;
    return gnn__error(GNN_EFORMAT,
                      "%s: no other line has the two names of the first one, %s and more: as "
                      "column names they are \"source\" and \"target\"; before a link of its own, "
                      "put a line with these",
                      text->name, gnn__field_shown(&links->names[0]));
}

static int number_nodes(links_t *links, const gnn__text_t *text)
{
    int64_t *number;
    GNN_TRY(gnn__new(&number, 2 * links->m, sizeof *number, "names of nodes"));
    int rc = gnn__number_names(&links->node_names, &links->n, NULL, 0, text, links->names,
                               2 * links->m, number);
    if (rc == GNN_OK && links->n > INT32_MAX)
        rc = gnn__error(GNN_EFORMAT, "%s: expected at most %d nodes, got %lld", text->name,
                        INT32_MAX, (long long)links->n);
    if (rc == GNN_OK)
        rc = refuse_header(links, text, number);
    for (int64_t k = 0; k < links->m && rc == GNN_OK; k++) {
        links->a[k] = (int32_t)number[2 * k];
        links->b[k] = (int32_t)number[2 * k + 1];
    }
    gnn_free(number);
    return rc;
}

/* Reads the lines, by integers until the first id that is too large, if names are not given. */
static int read_lines(links_t *links, gnn__text_t *text)
{
    gnn__text_rewind(text);
    links->m = links->n = 0;
    GNN_TRY(pass_header(&links->columns, text));
    if (links->headed)
        gnn__text_line(text);
    while ((links->by_words || !links->far) && gnn__text_line(text)) {
        if (links->m == 0 && !links->far)
            GNN_TRY(look_at_link(links, text));
        GNN_TRY(read_link(links, text));
    }
    return links->m > 0 ? GNN_OK : gnn__error(GNN_EFORMAT, "%s: no line holds a link", text->name);
}

/* A first line of two words above integers alone names columns, whatever the words are. */
static bool is_header(const links_t *links)
{
    bool header = links->by_words && links->columns.count == 0 && !links->weighted && links->m > 1;
    for (int64_t k = 0; k < 2 * links->m && header; k++)
        header = (gnn__field_kind(&links->names[k]) == GNN__INTEGER) == (k >= 2) &&
                 (k >= 2 || gnn__field_lettered(&links->names[k]));
    return header;
}

/* The words of such a line do not tell which end sends: as directed it remains an error. */
static int read_links(links_t *links, gnn__text_t *text, bool directed)
{
    text->comments = "#%";
    links->most = text->size + FREE_NODES < INT32_MAX ? text->size + FREE_NODES : INT32_MAX;
    GNN_TRY(read_lines(links, text));
    if (!directed && is_header(links)) {
        links->headed = true;
        links->by_words = false;
        GNN_TRY(read_lines(links, text));
    }
    if (links->far) {
        links->by_words = true;
        GNN_TRY(read_lines(links, text));
    }
    return links->by_words ? number_nodes(links, text) : GNN_OK;
}

/* Is the first line a single integer? A set of many graphs begins with their count; a link has two
 * ids. */
static bool begins_with_count(gnn__text_t *text)
{
    gnn__text_field_t first, second;
    text->comments = "#%";
    text->delimiter = ' ';
    bool alone = gnn__text_line(text) && gnn__text_field(text, &first) == GNN_OK &&
                 gnn__text_field(text, &second) == GNN_OK && !second.at &&
                 gnn__field_kind(&first) == GNN__INTEGER;
    gnn__text_rewind(text);
    return alone;
}

int gnn__data_read_edge_list(gnn_data_t *data, const char *path)
{
    gnn__text_t text;
    links_t links = {0};
    GNN_TRY(gnn__text_open_limits(&text, path, data->limits));
    const bool matrix = gnn__data_is_matrix_market(&text);
    if (!matrix && gnn__data_ends_with(path, gnn__data_unpacked_length(path), ".mtx")) {
        const int rc = gnn__error(GNN_EFORMAT,
                                  "%s: a first line \"%%%%MatrixMarket matrix coordinate ...\" is "
                                  "expected of a .mtx; an edge list is called .txt",
                                  text.name);
        gnn__text_free(&text);
        return rc;
    }
    if (matrix || begins_with_count(&text)) {
        int other =
            matrix ? gnn__data_read_matrix_market(data, &text) : gnn__data_read_dai(data, &text);
        gnn__text_free(&text);
        return other;
    }
    int rc = read_links(&links, &text, data->directed);
    if (rc == GNN_OK) {
        const gnn_array_t weight = gnn__data_weights(links.weight, links.m);
        rc = gnn__data_bare(
            data, &(gnn__data_links_t){.n = links.n,
                                       .m = links.m,
                                       .a = links.a,
                                       .b = links.b,
                                       .n_arrays = !gnn__data_all_one(links.weight, links.m),
                                       .arrays = &weight});
    }
    if (rc == GNN_OK) {
        data->node_names = links.node_names;
        data->by_words = links.by_words;
        links.node_names = NULL;
    }
    gnn__text_free(&text);
    gnn__free_names(&links.node_names);
    gnn_free(links.names);
    gnn_free(links.a);
    gnn_free(links.b);
    gnn_free(links.weight);
    return rc;
}
