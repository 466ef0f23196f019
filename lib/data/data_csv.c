/* Features and labels as CSV, one line per node. They are read into a temporary set and moved to
 * the caller's once nothing can fail. */
#include <lib/data/data.h>

#include <gnn/graph.h>

/* Row k becomes row node[k]. */
static int move_rows(const gnn__ids_t *ids, gnn_real_t *values, int64_t cols)
{
    gnn_real_t *from;
    int64_t count;
    if (!ids->node || cols == 0)
        return GNN_OK;
    if (!gnn__mul(ids->count, cols, &count))
        return gnn__error(GNN_EOVERFLOW, "%lld x %lld values do not fit", (long long)ids->count,
                          (long long)cols);
    GNN_TRY(gnn__new(&from, count, sizeof *from, "rows in the order of the nodes"));
    memcpy(from, values, (size_t)count * sizeof *from);
    for (int64_t k = 0; k < ids->count; k++)
        memcpy(values + ids->node[k] * cols, from + k * cols, (size_t)cols * sizeof *from);
    gnn_free(from);
    return GNN_OK;
}

/* ---- features ---- */

/* pandas writes 0, 1, ... over columns without names; as a row it would shift all others. */
static int refuse_numbered(const gnn__text_t *text, const gnn_tensor_t *x, int64_t n)
{
    for (int64_t c = 0; c < x->cols; c++)
        if (x->data[c] != (gnn_real_t)c)
            return GNN_OK;
    if (x->rows != n + 1 || x->cols < 2)
        return GNN_OK;
    return gnn__error(GNN_EFORMAT,
                      "%s: one line more than the %lld nodes, and the first is 0, 1 to %lld: column "
                      "names are words (pandas.DataFrame.to_csv(..., header=False) writes none)",
                      text->name, (long long)n, (long long)x->cols - 1);
}

/* `n`: nodes of the set without the file. */
static int read_matrix(gnn_data_t *made, gnn__text_t *text, const gnn__ids_t *ids, int64_t n)
{
    gnn_real_t *values;
    int64_t rows, cols;
    int rc = gnn__text_matrix(text, true, &values, &rows, &cols);
    if (rc != GNN_OK) {
        gnn_free(values);
        return rc;
    }
    made->n = rows;
    made->features = cols;
    made->x = gnn_tensor(values, rows, cols);
    if (rows > INT32_MAX)
        return gnn__error(GNN_EFORMAT, "%s: %lld lines, at most %d nodes are possible", text->name,
                          (long long)rows, INT32_MAX);
    GNN_TRY(refuse_numbered(text, &made->x, n));
    GNN_TRY(gnn__data_ids_check(ids, text, rows, true));
    return move_rows(ids, values, cols);
}

/* Names of the set, and of the files read before this one. */
static gnn__ids_t known_ids(const gnn_data_t *made, const gnn_data_t *data, bool grows)
{
    return (gnn__ids_t){.known = made->node_names ? made->n : data->n,
                        .names = made->node_names ? made->node_names : data->node_names,
                        .by_words = data->by_words,
                        .grows = grows};
}

static void take_names(gnn_data_t *made, gnn__ids_t *ids)
{
    if (!ids->more)
        return;
    gnn__free_names(&made->node_names);
    made->node_names = ids->more;
    ids->more = NULL;
}

/* Features are of all nodes: the first that has no line is named. */
static int check_all(const gnn__ids_t *ids, const gnn__text_t *text)
{
    if (ids->n_names == 0 || ids->count == ids->n_names)
        return GNN_OK;
    char *const *names = ids->more ? ids->more : ids->names;
    bool *seen;
    int64_t k = 0;
    GNN_TRY(gnn__new(&seen, ids->n_names, sizeof *seen, "ids of nodes"));
    for (int64_t i = 0; i < ids->count; i++)
        seen[ids->node[i]] = true;
    while (seen[k])
        k++;
    gnn_free(seen);
    return gnn__error(GNN_ESHAPE, "%s: %lld of %lld nodes have a line, %.80s has none", text->name,
                      (long long)ids->count, (long long)ids->n_names, names[k]);
}

static int read_features(gnn_data_t *made, const char *path, const gnn_data_t *data, bool bare)
{
    gnn__text_t text;
    gnn__ids_t ids = known_ids(made, data, bare);
    GNN_TRY(gnn__text_open(&text, path));
    int rc = gnn__data_ids(&ids, &text, true);
    if (rc == GNN_OK)
        rc = check_all(&ids, &text);
    if (rc == GNN_OK)
        rc = read_matrix(made, &text, &ids, data->n);
    if (rc == GNN_OK)
        take_names(made, &ids);
    gnn__data_ids_free(&ids);
    gnn__text_free(&text);
    return rc;
}

/* ---- labels ---- */

/* Counts of nodes known before the labels are read. */
typedef struct counts {
    bool bare, features; /* the set has links alone; a file of features was read */
    int64_t rows;        /* of the features; without any, of the set */
} counts_t;

/* May labels add nodes? */
static bool grows(const counts_t *c)
{
    return c->bare && !c->features;
}

typedef struct lines {
    gnn__text_field_t *fields;
    int64_t count;
} lines_t;

static int read_lines(lines_t *lines, gnn__text_t *text)
{
    gnn__text_field_t more;
    GNN_TRY(gnn__new(&lines->fields, gnn__text_count_lines(text), sizeof *lines->fields, "labels"));
    while (gnn__text_line(text)) {
        gnn__text_field_t *field = &lines->fields[lines->count];
        if (lines->count == 0)
            gnn__text_guess_delimiter(text, "\t;,", ',');
        else if (text->blank)
            return gnn__error(GNN_EFORMAT,
                              "%s: line %lld is blank, a class is expected (\"\" for none)",
                              text->name, (long long)(text->line - 1));
        GNN_TRY(gnn__text_field(text, field));
        GNN_TRY(gnn__text_field(text, &more));
        if (more.at)
            return gnn__text_error(text, &more, GNN_EFORMAT,
                                   "one class per line is expected, got %s too",
                                   gnn__field_shown(&more));
        gnn__field_unquote(field);
        lines->count++;
    }
    return lines->count > 0 ? GNN_OK
                            : gnn__error(GNN_EFORMAT, "%s: no line holds a class", text->name);
}

static bool all_numbers(const gnn__text_field_t *fields, int64_t count)
{
    bool number = count > 0;
    for (int64_t k = 0; k < count && number; k++) {
        gnn__field_kind_t kind = gnn__field_kind(&fields[k]);
        number = kind == GNN__INTEGER || kind == GNN__NOTHING;
    }
    return number;
}

static int read_numbers(gnn_data_t *made, const gnn__text_t *text, const gnn__text_field_t *fields)
{
    int64_t most = made->n > GNN__MOST_CLASSES ? made->n : GNN__MOST_CLASSES;
    for (int64_t i = 0; i < made->n; i++) {
        int64_t label = -1;
        if (fields[i].length > 0)
            GNN_TRY(gnn__text_integer(text, &fields[i], "a class", &label));
        if (label >= most)
            return gnn__text_error(text, &fields[i], GNN_EFORMAT,
                                   "class %lld, less than %lld is expected", (long long)label,
                                   (long long)most);
        made->labels[i] = label < 0 ? -1 : (int32_t)label;
        if (label >= made->classes)
            made->classes = label + 1;
    }
    return made->classes > 0 ? gnn__data_check_classes(made, text->name)
                             : gnn__error(GNN_EFORMAT, "%s: no node has a class", text->name);
}

static bool is_alone(const lines_t *lines)
{
    const gnn__text_field_t *first = &lines->fields[0];
    for (int64_t k = 1; k < lines->count; k++)
        if (lines->fields[k].length == first->length &&
            memcmp(lines->fields[k].at, first->at, (size_t)first->length) == 0)
            return false;
    return true;
}

/* The first line is a header if its names are known, if it has a word above a numeric column, or if
 * there is one line more than nodes. */
static bool has_header(const gnn__text_t *text, const lines_t *lines, const counts_t *c)
{
    static const char *const names[] = {"label",  "labels",  "class",    "classes",
                                        "target", "targets", "category", NULL};
    const gnn__text_field_t *first = &lines->fields[0];
    if (text->headed || text->headless || gnn__field_kind(first) != GNN__WORD ||
        !gnn__field_lettered(first))
        return text->headed;
    return all_numbers(lines->fields + 1, lines->count - 1) ||
           (grows(c) ? gnn__field_is_one_of(first, names) && is_alone(lines)
                     : lines->count == c->rows + 1);
}

/* A first word that no other line has, one line more than the nodes of the links: a column's name,
 * or the class of a node without links, by which the set would grow. */
static int refuse_unclear(const gnn__text_t *text, const lines_t *lines, const counts_t *c)
{
    if (!grows(c) || text->headless || lines->count != c->rows + 1 || !is_alone(lines) ||
        gnn__field_kind(&lines->fields[0]) != GNN__WORD)
        return GNN_OK;
    return gnn__error(GNN_EFORMAT,
                      "%s: one line more than the %lld nodes of the links, and no other line is %s, "
                      "as the first is: a column's name is \"label\"; for a class of a node, put a "
                      "line with \"label\" before it",
                      text->name, (long long)c->rows, gnn__field_shown(&lines->fields[0]));
}

/* Refuses words for missing values, unless they are in quotes. */
static int refuse_missing(const gnn__text_t *text, const gnn__text_field_t *fields, int64_t count)
{
    for (int64_t k = 0; k < count; k++)
        if (!fields[k].quoted && gnn__field_missing(&fields[k]))
            return gnn__text_error(text, &fields[k], GNN_EFORMAT,
                                   "a class is expected, got %s (in quotes it is one; \"\" is "
                                   "none)",
                                   gnn__field_shown(&fields[k]));
    return GNN_OK;
}

/* Integers next to words without a letter: values in another notation, not names of classes. */
static int refuse_notation(const gnn__text_t *text, const gnn__text_field_t *fields, int64_t count)
{
    const gnn__text_field_t *other = NULL;
    bool integers = false;
    for (int64_t k = 0; k < count; k++) {
        integers = integers || gnn__field_kind(&fields[k]) == GNN__INTEGER;
        if (!other && !fields[k].quoted && gnn__field_kind(&fields[k]) == GNN__WORD &&
            !gnn__field_lettered(&fields[k]))
            other = &fields[k];
    }
    return !integers || !other
               ? GNN_OK
               : gnn__text_error(text, other, GNN_EFORMAT,
                                 "a class is expected, an integer as in other lines, got %s",
                                 gnn__field_shown(other));
}

/* Lines that all differ do not name classes: they are ids, or columns with another delimiter. */
static int refuse_own_classes(const gnn_data_t *made, const gnn__text_t *text,
                              const gnn__text_field_t *fields)
{
    enum { FEW = 8 };
    if (made->n <= FEW || made->classes < made->n)
        return GNN_OK;
    return gnn__error(GNN_EFORMAT,
                      "%s: each of its %lld lines names another class (%s is the first): one class "
                      "per line is expected, which several nodes have",
                      text->name, (long long)made->n, gnn__field_shown(&fields[0]));
}

static int take_lines(gnn_data_t *made, const gnn__text_t *text, const lines_t *lines,
                      const counts_t *c)
{
    int64_t skip = has_header(text, lines, c);
    const gnn__text_field_t *fields = lines->fields + skip;
    int64_t count = lines->count - skip;
    if (count > INT32_MAX)
        return gnn__error(GNN_EFORMAT, "%s: %lld lines, at most %d nodes are possible", text->name,
                          (long long)count, INT32_MAX);
    made->n = count;
    GNN_TRY(refuse_notation(text, fields, count));
    if (!skip)
        GNN_TRY(refuse_unclear(text, lines, c));
    GNN_TRY(refuse_missing(text, fields, count));
    GNN_TRY(gnn__new(&made->labels, count, sizeof *made->labels, "labels"));
    if (all_numbers(fields, count))
        return read_numbers(made, text, fields);
    GNN_TRY(gnn__data_class_words(made, text, fields, count, made->labels));
    return refuse_own_classes(made, text, fields);
}

static int read_classes(gnn_data_t *made, gnn__text_t *text, const counts_t *c)
{
    lines_t lines = {0};
    int rc = read_lines(&lines, text);
    if (rc == GNN_OK)
        rc = take_lines(made, text, &lines, c);
    gnn_free(lines.fields);
    return rc;
}

/* Labels of lines become labels of n nodes; nodes without a line have none. */
static int move_labels(gnn_data_t *made, const gnn__ids_t *ids, int64_t n)
{
    int32_t *labels;
    if (made->n_arrays > 0)
        GNN_TRY(move_rows(ids, (gnn_real_t *)(uintptr_t)made->arrays[0].array.data,
                          made->arrays[0].rows.cols));
    GNN_TRY(gnn__new(&labels, n, sizeof *labels, "labels"));
    for (int64_t i = 0; i < n; i++)
        labels[i] = -1;
    for (int64_t k = 0; k < ids->count; k++)
        labels[ids->node[k]] = made->labels[k];
    gnn_free(made->labels);
    made->labels = labels;
    made->n = n;
    return GNN_OK;
}

static int read_lines_of(gnn_data_t *made, gnn__text_t *text, const gnn__ids_t *ids,
                         const counts_t *c)
{
    int64_t n = c->rows;
    bool taken;
    GNN_TRY(gnn__data_text_labels(made, text, true, &taken));
    if (!taken)
        GNN_TRY(read_classes(made, text, c));
    if (!ids->node)
        return GNN_OK;
    for (int64_t k = 0; k < ids->count && grows(c); k++)
        n = ids->node[k] < INT32_MAX && ids->node[k] >= n ? ids->node[k] + 1 : n;
    GNN_TRY(gnn__data_ids_check(ids, text, n, made->n_arrays > 0));
    return move_labels(made, ids, n);
}

static int read_labels(gnn_data_t *made, const char *path, const gnn_data_t *data, const counts_t *c)
{
    gnn__text_t text;
    gnn__ids_t ids = known_ids(made, data, grows(c));
    GNN_TRY(gnn__text_open(&text, path));
    int rc = gnn__data_ids(&ids, &text, false);
    made->n = 0;
    if (rc == GNN_OK)
        rc = read_lines_of(made, &text, &ids, c);
    if (rc == GNN_OK)
        take_names(made, &ids);
    gnn__data_ids_free(&ids);
    gnn__text_free(&text);
    return rc;
}

/* ---- into the set ---- */

#define SWAP(type, a, b) \
    do {                 \
        type swap = (a); \
        (a) = (b);       \
        (b) = swap;      \
    } while (0)

/* The same edges, with their ids, among more nodes, by node ids of the file. */
static int grow_graph(gnn_graph_t **graph, const gnn_data_t *data, int64_t n)
{
    int64_t m = gnn_graph_n_edges(data->graph), *pairs = NULL, *src = NULL, *dst = NULL;
    int rc;
    GNN_CHECK(gnn__new(&pairs, m, 3 * sizeof *pairs, "links"));
    GNN_CHECK(gnn__new(&src, m, sizeof *src, "links"));
    GNN_CHECK(gnn__new(&dst, m, sizeof *dst, "links"));
    GNN_CHECK(gnn_graph_pairs(data->graph, pairs, pairs + m, pairs + 2 * m));
    for (int64_t k = 0; k < m; k++) {
        int64_t from = pairs[k], to = pairs[m + k], edge = pairs[2 * m + k];
        src[edge] = data->order ? data->order[from] : from;
        dst[edge] = data->order ? data->order[to] : to;
    }
    GNN_CHECK(gnn_graph_from_edges(graph, n, n, m, src, dst));
done:
    gnn_free(pairs);
    gnn_free(src);
    gnn_free(dst);
    return rc;
}

static int grow(gnn_data_t *made, const gnn_data_t *data)
{
    if (gnn_graph_n_edges(data->graph) != gnn_graph_n_pairs(data->graph))
        return gnn__error(GNN_EUNSUPPORTED, "a graph with spans does not grow to %lld nodes",
                          (long long)made->n);
    for (int64_t k = 0; k < data->n_arrays; k++)
        if (data->arrays[k].place == GNN_ON_NODES)
            return gnn__error(GNN_ESHAPE, "array %.80s has %lld nodes, %lld are read",
                              data->arrays[k].array.name, (long long)data->n, (long long)made->n);
    GNN_TRY(grow_graph(&made->graph, data, made->n));
    return gnn__data_fill_rest(made);
}

/* Lines are in the order of the file's nodes and are permuted to the set's. New nodes have no links
 * and are last in both orders. */
static int follow(gnn_data_t *made, const gnn_data_t *data)
{
    gnn_data_t arranged;
    GNN_TRY(gnn__new(&made->order, made->n, sizeof *made->order, "an order of nodes"));
    for (int64_t r = 0; r < made->n; r++)
        made->order[r] = r < data->n ? data->order[r] : r;
    int rc = gnn__data_arrange(&arranged, made, made->order);
    if (rc == GNN_OK && made->n_arrays > 0)
        rc = gnn__data_arrange_arrays(&arranged, made, made->order, NULL);
    if (rc == GNN_OK)
        SWAP(gnn_data_t, arranged, *made);
    gnn__data_free_rows(&arranged);
    return rc;
}

static int check_count(const gnn_data_t *made, const gnn_data_t *data, bool bare, const char *path)
{
    if (made->n == data->n || (bare && made->n > data->n))
        return GNN_OK;
    return gnn__error(GNN_ESHAPE, "%s: %lld nodes, %s has %lld", gnn__file_name(path),
                      (long long)made->n, data->name ? data->name : "the set", (long long)data->n);
}

/* Each file is compared with the set before the files are compared with each other. */
static int read_files(gnn_data_t *made, const gnn_data_t *data, const char *features,
                      const char *labels)
{
    counts_t c = {.bare = data->features == 0 && data->classes == 0 && !data->counted,
                  .features = features,
                  .rows = data->n};
    if (features) {
        GNN_TRY(read_features(made, features, data, c.bare));
        GNN_TRY(check_count(made, data, c.bare, features));
        c.rows = made->n;
    }
    if (!labels)
        return GNN_OK;
    GNN_TRY(read_labels(made, labels, data, &c));
    GNN_TRY(check_count(made, data, c.bare, labels));
    if (!features || made->n == c.rows)
        return GNN_OK;
    return gnn__error(GNN_ESHAPE,
                      "%s: labels of %lld nodes, %s has features of %lld, %s links of %lld",
                      gnn__file_name(labels), (long long)made->n, gnn__file_name(features),
                      (long long)c.rows, data->name ? data->name : "the set", (long long)data->n);
}

static int read_made(gnn_data_t *made, const gnn_data_t *data, const char *features,
                     const char *labels)
{
    GNN_TRY(read_files(made, data, features, labels));
    if (made->n != data->n)
        GNN_TRY(grow(made, data));
    if (labels) {
        gnn_split_free(made->split);
        made->split = NULL;
        GNN_TRY(gnn__data_default_split(made, 0));
    }
    return data->order ? follow(made, data) : GNN_OK;
}

/* New targets replace earlier ones; new classes leave them. */
static void commit_targets(gnn_data_t *data, gnn_data_t *made)
{
    int64_t k = 0;
    while (k < data->n_arrays && (data->arrays[k].place != GNN_ON_NODES ||
                                  strcmp(data->arrays[k].array.name, "targets") != 0))
        k++;
    data->n_arrays += k == data->n_arrays;
    SWAP(gnn__data_array_t, data->arrays[k], made->arrays[0]);
}

/* Swaps the new parts into the set and the replaced ones into `made`, to be freed. */
static void commit(gnn_data_t *data, gnn_data_t *made)
{
    if (made->n_arrays > 0)
        commit_targets(data, made);
    if (made->graph)
        SWAP(gnn_graph_t *, data->graph, made->graph);
    if (made->order)
        SWAP(int64_t *, data->order, made->order);
    if (made->node_names)
        SWAP(char **, data->node_names, made->node_names);
    if (made->x.data) {
        SWAP(gnn_tensor_t, data->x, made->x);
        SWAP(gnn_sparse_t, data->sparse, made->sparse);
        SWAP(bool, data->borrowed_x, made->borrowed_x);
        data->features = made->features;
    }
    if (made->labels) {
        SWAP(int32_t *, data->labels, made->labels);
        SWAP(bool, data->borrowed_labels, made->borrowed_labels);
        SWAP(char **, data->class_names, made->class_names);
        data->classes = made->classes;
        SWAP(gnn_split_t *, data->split, made->split);
    }
    data->n = made->n;
}

int gnn_data_add_csv(gnn_data_t *data, const char *features, const char *labels)
{
    gnn_data_t *made;
    GNN__NEED(data);
    if (!features && !labels)
        return gnn__error(
            GNN_EINVALID,
            "gnn_data_add_csv: features and labels are NULL, expected the path of one or both");
    GNN_TRY(gnn__data_whole(data, "given the rows of a file"));
    GNN_TRY(gnn__new(&made, 1, sizeof *made, "a data set"));
    int rc = read_made(made, data, features, labels);
    if (rc == GNN_OK)
        rc = gnn__room(&data->arrays, data->n_arrays, &data->arrays_room, sizeof *data->arrays,
                       "a list of arrays");
    gnn__data_changed(data);
    if (rc == GNN_OK)
        commit(data, made);
    gnn_data_free(made);
    return rc;
}
