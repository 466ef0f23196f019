/* Features and labels as CSV, one line per node. They are read into a temporary set and moved to
 * the caller's once nothing can fail. */
#include <lib/io/data/data.h>

#include <gnn/graph.h>

/* ---- features ---- */

static int read_features(gnn_data_t *made, const char *path)
{
    gnn__text_t text;
    gnn_real_t *values;
    int64_t rows, cols;
    GNN_TRY(gnn__text_open(&text, path));
    int rc = gnn__text_matrix(&text, true, &values, &rows, &cols);
    if (rc == GNN_OK && rows > INT32_MAX)
        rc = gnn__error(GNN_EFORMAT, "%s: %lld lines, at most %d nodes are possible", text.name,
                        (long long)rows, INT32_MAX);
    gnn__text_free(&text);
    if (rc != GNN_OK) {
        gnn_free(values);
        return rc;
    }
    made->n = rows;
    made->features = cols;
    made->x = gnn_tensor(values, rows, cols);
    return GNN_OK;
}

/* ---- labels ---- */

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
                                   "one class a line is expected, %s came too",
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
    return made->classes > 0 ? GNN_OK
                             : gnn__error(GNN_EFORMAT, "%s: no node has a class", text->name);
}

/* The first line is a header if it has a word above a numeric column, or if there is one line more
 * than nodes (`n`; -1: unknown). */
static bool has_header(const lines_t *lines, int64_t n)
{
    return gnn__field_kind(&lines->fields[0]) == GNN__WORD &&
           (lines->count == n + 1 || all_numbers(lines->fields + 1, lines->count - 1));
}

static int take_lines(gnn_data_t *made, const gnn__text_t *text, const lines_t *lines, int64_t n)
{
    int64_t skip = has_header(lines, n);
    const gnn__text_field_t *fields = lines->fields + skip;
    int64_t count = lines->count - skip;
    if (count > INT32_MAX || (made->n > 0 && count != made->n))
        return gnn__error(GNN_ESHAPE, "%s: classes of %lld nodes, the features have %lld",
                          text->name, (long long)count, (long long)made->n);
    made->n = count;
    GNN_TRY(gnn__new(&made->labels, count, sizeof *made->labels, "labels"));
    return all_numbers(fields, count)
               ? read_numbers(made, text, fields)
               : gnn__data_class_words(made, text, fields, count, made->labels);
}

static int read_classes(gnn_data_t *made, gnn__text_t *text, int64_t n)
{
    lines_t lines = {0};
    int rc = read_lines(&lines, text);
    if (rc == GNN_OK)
        rc = take_lines(made, text, &lines, n);
    gnn_free(lines.fields);
    return rc;
}

static int read_labels(gnn_data_t *made, const char *path, int64_t n)
{
    const int64_t nodes = made->n;
    gnn__text_t text;
    bool taken;
    GNN_TRY(gnn__text_open(&text, path));
    int rc = gnn__data_text_labels(made, &text, true, &taken);
    if (rc == GNN_OK && !taken)
        rc = read_classes(made, &text, n);
    if (rc == GNN_OK && nodes > 0 && made->n != nodes)
        rc = gnn__error(GNN_ESHAPE, "%s: labels of %lld nodes, the features have %lld", text.name,
                        (long long)made->n, (long long)nodes);
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

static int read_made(gnn_data_t *made, const gnn_data_t *data, const char *features,
                     const char *labels)
{
    bool bare = data->features == 0 && data->classes == 0;
    if (features)
        GNN_TRY(read_features(made, features));
    if (labels)
        GNN_TRY(read_labels(made, labels, features ? made->n : bare ? -1 : data->n));
    if (made->n != data->n && (!bare || made->n < data->n))
        return gnn__error(GNN_ESHAPE, "%s: %lld nodes, %s has %lld",
                          gnn__file_name(features ? features : labels), (long long)made->n,
                          data->name ? data->name : "the set", (long long)data->n);
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
    if (!data || (!features && !labels))
        return gnn__error(GNN_EINVALID, "no %s", data ? "path" : "data set");
    GNN_TRY(gnn__new(&made, 1, sizeof *made, "a data set"));
    int rc = read_made(made, data, features, labels);
    if (rc == GNN_OK)
        rc = gnn__room(&data->arrays, data->n_arrays, &data->arrays_room, sizeof *data->arrays,
                       "a list of arrays");
    if (rc == GNN_OK)
        commit(data, made);
    gnn_data_free(made);
    return rc;
}
