/* Ids of nodes in a CSV: the column by which its lines name their nodes, as pandas and databases
 * write it: integers under a column name, or the names of a set whose nodes have names. Such a
 * column would otherwise be a feature. */
#include <lib/data/data.h>

#include <stdlib.h>

typedef struct names {
    int64_t columns, ids; /* ids: the column of ids, from 1; 0: none */
    bool words, numbers;  /* some name is a word; all names after the first are integers */
    bool maybe;           /* ids only if each stands once */
    bool headless;        /* the first line has an id, not column names */
    bool more_words;      /* a name after the first is a word */
    bool label;           /* a name is of labels */
    bool two;             /* two names are of ids */
    gnn__text_field_t id, first;
} names_t;

/* Names that are always of ids; of ids if they are first; of ids if they are first and no value
 * stands twice. */
static void look_at_name(names_t *n, const gnn__text_field_t *field)
{
    static const char *const always[] = {"id",       "ids",        "node",     "nodes",
                                         "node_id",  "node id",    "node-id",  "nodeid",
                                         "node_ids", "node_index", "node_idx", NULL};
    static const char *const first[] = {"", "index", "idx", "unnamed: 0", NULL};
    static const char *const once[] = {"name", "key", "vertex", NULL};
    const bool leads = n->columns == 1;
    const bool ends = field->length > 3 && strncasecmp(field->at + field->length - 3, "_id", 3) == 0;
    n->two = n->two ||
             (n->ids && gnn__field_is_one_of(field, always) && gnn__field_is_one_of(&n->id, always));
    if (n->ids || !(gnn__field_is_one_of(field, always) ||
                    (leads && (gnn__field_is_one_of(field, first) ||
                               gnn__field_is_one_of(field, once) || ends))))
        return;
    n->ids = n->columns;
    n->maybe = leads && (gnn__field_is_one_of(field, once) || ends) &&
               !gnn__field_is_one_of(field, always);
    n->id = *field;
}

/* Column names that a file of features does not have. */
static const char *const label_names[] = {"label",     "labels",  "node_labels", "class",
                                          "target",    "targets", "train_mask",  "val_mask",
                                          "test_mask", "split",   NULL};

static int refuse_labels(const gnn__text_t *text, const gnn__text_field_t *field)
{
    if (!gnn__field_is_one_of(field, label_names))
        return GNN_OK;
    return gnn__text_error(text, field, GNN_EFORMAT,
                           "a column of features is called %s: labels come from a file of their "
                           "own, a split from the set; a feature needs another name",
                           gnn__field_shown(field));
}

static int read_names(names_t *n, gnn__text_t *text, bool features)
{
    gnn__text_field_t field;
    n->numbers = true;
    for (;;) {
        GNN_TRY(gnn__text_field(text, &field));
        if (!field.at)
            break;
        const gnn__field_kind_t kind = gnn__field_kind(&field);
        n->columns++;
        n->first = n->columns == 1 ? field : n->first;
        n->words = n->words || (kind == GNN__WORD && !gnn__field_missing(&field));
        n->more_words = n->more_words || (n->columns > 1 && kind == GNN__WORD);
        n->label = n->label || gnn__field_is_one_of(&field, label_names);
        n->numbers = n->numbers && (n->columns == 1 || kind == GNN__INTEGER);
        look_at_name(n, &field);
        if (features)
            GNN_TRY(refuse_labels(text, &field));
    }
    /* pandas names its index "" and columns without names 0, 1, ... */
    const bool headed = n->words || (n->columns > 1 && n->numbers && n->ids == 1);
    n->ids = headed && n->columns > 1 ? n->ids : 0;
    if (n->ids && n->two)
        return gnn__text_error(text, &n->id, GNN_EFORMAT,
                               "two columns hold ids of nodes, this is the first: one is expected; "
                               "a feature needs another name");
    return GNN_OK;
}

/* ---- the column's values ---- */

/* The field in column `column` of the current line. */
static int field_of(gnn__text_t *text, int64_t column, gnn__text_field_t *out)
{
    *out = (gnn__text_field_t){.line = text->line};
    for (int64_t k = 0; k < column; k++)
        GNN_TRY(gnn__text_field(text, out));
    return GNN_OK;
}

static int refuse_word(const gnn__text_t *text, const gnn__text_field_t *field, const names_t *n)
{
    char shown[64];
    snprintf(shown, sizeof shown, "%s", gnn__field_shown(field));
    return gnn__text_error(text, field, GNN_EFORMAT,
                           "column %s holds ids of nodes: the id of a node is expected, as "
                           "the edges name it, got %s; a feature needs another name",
                           gnn__field_shown(&n->id), shown);
}

/* In a column that may be of ids: anything but integers makes it one of features. */
static int read_ids(gnn__ids_t *ids, gnn__text_t *text, const names_t *n, bool *others)
{
    gnn__text_field_t field;
    GNN_TRY(gnn__new(&ids->node, gnn__text_count_lines(text), sizeof *ids->node, "ids of nodes"));
    gnn__text_rewind(text);
    (void)gnn__text_line(text);
    while (gnn__text_line(text)) {
        GNN_TRY(field_of(text, n->ids, &field));
        if (gnn__field_kind(&field) != GNN__INTEGER) {
            *others = n->maybe && gnn__field_kind(&field) == GNN__REAL;
            return *others ? GNN_OK : refuse_word(text, &field, n);
        }
        GNN_TRY(gnn__text_integer(text, &field, "an id", &ids->node[ids->count++]));
    }
    return GNN_OK;
}

static int compare(const void *a, const void *b)
{
    const int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

/* The smallest id that stands twice, in *id. */
static int find_twice(const gnn__ids_t *ids, bool *twice, int64_t *id)
{
    int64_t *sorted;
    *twice = false;
    GNN_TRY(gnn__new(&sorted, ids->count, sizeof *sorted, "ids of nodes"));
    if (ids->count > 0)
        memcpy(sorted, ids->node, (size_t)ids->count * sizeof *sorted);
    qsort(sorted, (size_t)ids->count, sizeof *sorted, compare);
    for (int64_t k = 1; k < ids->count && !*twice; k++) {
        *twice = sorted[k] == sorted[k - 1];
        *id = sorted[k];
    }
    gnn_free(sorted);
    return GNN_OK;
}

/* ---- ids by the names of nodes ---- */

static int list_fields(gnn__text_field_t *fields, int64_t *count, gnn__text_t *text, const names_t *n)
{
    gnn__text_rewind(text);
    if (!n->headless)
        (void)gnn__text_line(text);
    while (gnn__text_line(text))
        GNN_TRY(field_of(text, n->ids, &fields[(*count)++]));
    return GNN_OK;
}

static int check_nodes(const gnn__ids_t *ids, const gnn__text_t *text, const gnn__text_field_t *fields)
{
    char *const *names = ids->more ? ids->more : ids->names;
    int64_t *line, known = 0;
    int rc;
    GNN_TRY(gnn__new(&line, ids->n_names, sizeof *line, "ids of nodes"));
    for (int64_t k = 0; k < ids->count; k++) {
        if (ids->node[k] >= ids->known && !ids->grows)
            GNN_CHECK(gnn__text_error(text, &fields[k], GNN_EFORMAT,
                                      "the name of a node is expected, none is called %s",
                                      gnn__field_shown(&fields[k])));
        if (line[ids->node[k]])
            GNN_CHECK(gnn__text_error(text, &fields[k], GNN_EFORMAT,
                                      "node %.80s is there already, in line %lld",
                                      names[ids->node[k]], (long long)line[ids->node[k]]));
        line[ids->node[k]] = fields[k].line;
        known += ids->node[k] < ids->known;
    }
    if (known == 0 && ids->count > 0)
        GNN_CHECK(gnn__text_error(text, &fields[0], GNN_EFORMAT,
                                  "the name of a node is expected, as the edges name it (%.40s); no "
                                  "line has one, this one has %s",
                                  names[0], gnn__field_shown(&fields[0])));
    rc = GNN_OK;
done:
    gnn_free(line);
    return rc;
}

static int name_ids(gnn__ids_t *ids, gnn__text_t *text, const names_t *n)
{
    const int64_t lines = gnn__text_count_lines(text);
    gnn__text_field_t *fields = NULL;
    int rc;
    GNN_CHECK(gnn__new(&fields, lines, sizeof *fields, "ids of nodes"));
    GNN_CHECK(gnn__new(&ids->node, lines, sizeof *ids->node, "ids of nodes"));
    GNN_CHECK(list_fields(fields, &ids->count, text, n));
    GNN_CHECK(gnn__number_names(&ids->more, &ids->n_names, ids->names, ids->known, text, fields,
                                ids->count, ids->node));
    GNN_CHECK(check_nodes(ids, text, fields));
    text->hidden = n->ids;
    text->headed = !n->headless;
    text->headless = n->headless;
done:
    gnn_free(fields);
    return rc;
}

/* Is the field in column `column` of the next line the name of a node? */
static int has_name(const gnn__ids_t *ids, gnn__text_t *text, int64_t column, bool *has)
{
    gnn__text_field_t field;
    char **more = NULL;
    int64_t count = ids->known, node;
    *has = false;
    if (!gnn__text_line(text))
        return GNN_OK;
    GNN_TRY(field_of(text, column, &field));
    if (field.length == 0 || !gnn__is_name(field.at, field.length))
        return GNN_OK;
    field.quoted = true; /* a missing value may be a name */
    GNN_TRY(gnn__number_names(&more, &count, ids->names, ids->known, text, &field, 1, &node));
    gnn__free_names(&more);
    *has = count == ids->known;
    return GNN_OK;
}

/* The first line begins with neither a node's name nor the name of a column of ids: it has column
 * names, or is of a new node. */
static int look_at_first(names_t *n, const gnn__text_t *text, bool features)
{
    n->ids = 1;
    n->headless = features && !n->more_words;
    if (features || n->label)
        return GNN_OK;
    return gnn__error(GNN_EFORMAT,
                      "%s: the first line begins with %s, which is not a node: as column names it is "
                      "\"node,label\"; a node without edges stands in a later line",
                      text->name, gnn__field_shown(&n->first));
}

/* Ids are names if the first of them is one, or if nodes have no other ids. */
static int find_names(gnn__ids_t *ids, gnn__text_t *text, names_t *n, bool features, bool *named)
{
    bool first, second;
    *named = false;
    if (!ids->names || n->columns < 2)
        return GNN_OK;
    gnn__text_rewind(text);
    GNN_TRY(has_name(ids, text, 1, &first));
    GNN_TRY(has_name(ids, text, n->ids ? n->ids : 1, &second));
    *named = first || second || ids->by_words;
    n->headless = first;
    if (first)
        n->ids = 1;
    else if (second && !n->ids)
        GNN_TRY(look_at_first(n, text, features));
    return GNN_OK;
}

/* ---- ids by integers ---- */

static int check_ids(gnn__ids_t *ids, gnn__text_t *text, const names_t *n)
{
    bool others = false, twice = false;
    int64_t id = 0;
    GNN_TRY(read_ids(ids, text, n, &others));
    if (!others)
        GNN_TRY(find_twice(ids, &twice, &id));
    if (others || (twice && n->maybe)) {
        gnn_free(ids->node);
        ids->node = NULL;
        ids->count = 0;
        return GNN_OK;
    }
    if (twice)
        return gnn__error(GNN_EFORMAT, "%s: column %s names node %lld in two lines", text->name,
                          gnn__field_shown(&n->id), (long long)id);
    text->hidden = n->ids;
    text->headed = true;
    return GNN_OK;
}

/* Without names: does the first of several columns count the lines from 0 or 1? Ids of nodes do,
 * features hardly. */
static int check_counting(gnn__text_t *text)
{
    enum { FEW = 3 };
    gnn__text_field_t field, second;
    int64_t lines = 0, first = 0, value;
    gnn__text_rewind(text);
    while (gnn__text_line(text)) {
        GNN_TRY(gnn__text_field(text, &field));
        GNN_TRY(gnn__text_field(text, &second));
        if (gnn__field_kind(&field) != GNN__INTEGER || !second.at)
            return GNN_OK;
        GNN_TRY(gnn__text_integer(text, &field, "a number", &value));
        first = lines == 0 ? value : first;
        if ((first != 0 && first != 1) || value != first + lines++)
            return GNN_OK;
    }
    if (lines < FEW)
        return GNN_OK;
    return gnn__error(GNN_EFORMAT,
                      "%s: the first column counts the lines from %lld: a first line of column "
                      "names says whether these are ids of nodes (\"id,...\") or a feature",
                      text->name, (long long)first);
}

static int read_column(gnn__ids_t *ids, gnn__text_t *text, names_t *n, bool features)
{
    bool named;
    GNN_TRY(find_names(ids, text, n, features, &named));
    if (n->ids)
        return named ? name_ids(ids, text, n) : check_ids(ids, text, n);
    if (ids->by_words)
        return gnn__error(GNN_EFORMAT,
                          "%s: the edges name the nodes by words: a column called \"node\" is "
                          "expected, or a name at the start of each line",
                          text->name);
    return !n->words && n->columns > 1 ? check_counting(text) : GNN_OK;
}

int gnn__data_ids(gnn__ids_t *ids, gnn__text_t *text, bool features)
{
    names_t names = {0};
    if (!gnn__text_line(text))
        return GNN_OK;
    gnn__text_guess_delimiter(text, "\t;,", features ? ' ' : ',');
    GNN_TRY(read_names(&names, text, features));
    const int rc = read_column(ids, text, &names, features);
    gnn__text_rewind(text);
    return rc;
}

void gnn__data_ids_free(gnn__ids_t *ids)
{
    gnn_free(ids->node);
    gnn__free_names(&ids->more);
}

int gnn__data_ids_check(const gnn__ids_t *ids, const gnn__text_t *text, int64_t n, bool all)
{
    if (ids->node && all && ids->count != n)
        return gnn__error(GNN_ESHAPE, "%s: ids of %lld nodes, %lld are expected", text->name,
                          (long long)ids->count, (long long)n);
    for (int64_t k = 0; k < ids->count; k++)
        if (ids->node[k] < 0 || ids->node[k] >= n)
            return gnn__error(GNN_EFORMAT,
                              "%s: line %lld after the column names is of node %lld, ids are 0 to "
                              "%lld",
                              text->name, (long long)k + 1, (long long)ids->node[k],
                              (long long)n - 1);
    return GNN_OK;
}
