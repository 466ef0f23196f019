/* A folder of Geom-GCN's sets (Pei et al. 2020): out1_node_feature_label.txt has a line "node_id,
 * feature, label" per node, separated by tabs, and out1_graph_edges.txt one per link, both after a
 * line of column names. Features are separated by commas: a value for each column, or, as in film
 * (Actor), the indices of the columns that are 1. Splits are the files *_split_*.npz in the same
 * folder. */
#include <lib/data/arrays/arrays.h>
#include <lib/data/many.h>

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>

static const char nodes_name[] = "out1_node_feature_label.txt", edges_name[] = "out1_graph_edges.txt";

typedef struct nodes {
    gnn__text_t text;
    gnn__text_field_t *features; /* (n) by node */
    int64_t n, cols, nnz, room;
    bool lists; /* features are values of columns, as many for each node */
    int64_t *indptr;
    int32_t *indices;
    gnn_real_t *values;
    int64_t values_room;
} nodes_t;

static void free_nodes(nodes_t *x)
{
    gnn__text_free(&x->text);
    gnn_free(x->features);
    gnn_free(x->indptr);
    gnn_free(x->indices);
    gnn_free(x->values);
}

static int open_part(gnn__text_t *text, const char *folder, const char *name,
                     const gnn_limits_t *limits)
{
    char *path;
    GNN_TRY(gnn__asprintf(&path, "%s/%s", folder, name));
    const int rc = gnn__text_open_limits(text, path, limits);
    gnn_free(path);
    text->name = name; /* the path is freed */
    text->delimiter = '\t';
    return rc;
}

/* Reads `count` fields of the current line, and no more. */
static int fields_of(gnn__text_t *text, gnn__text_field_t *field, int count, const char *what)
{
    gnn__text_field_t more = {0};
    for (int k = 0; k < count; k++) {
        GNN_TRY(gnn__text_field(text, &field[k]));
        if (!field[k].at)
            return gnn__text_error(text, NULL, GNN_EFORMAT, "%s are expected, got %d fields", what,
                                   k);
    }
    GNN_TRY(gnn__text_field(text, &more));
    return more.at ? gnn__text_error(text, &more, GNN_EFORMAT, "%s are expected, got more", what)
                   : GNN_OK;
}

/* The line of column names, which all of these files have. */
static int pass_header(gnn__text_t *text, int count, const char *what)
{
    gnn__text_field_t field[3];
    if (!gnn__text_line(text))
        return gnn__error(GNN_EFORMAT, "%s: is empty", text->name);
    GNN_TRY(fields_of(text, field, count, what));
    return gnn__field_is(&field[0], "node_id")
               ? GNN_OK
               : gnn__text_error(text, &field[0], GNN_EFORMAT,
                                 "a first line of column names, \"node_id\" and others, is "
                                 "expected, got %s",
                                 gnn__field_shown(&field[0]));
}

/* ---- features ---- */

/* Takes the next value off a list, which is separated by commas; false: there is none. */
static bool next_value(gnn__text_field_t *list, gnn__text_field_t *value)
{
    if (!list->at)
        return false;
    *value = *list;
    const char *comma = memchr(list->at, ',', (size_t)list->length);
    value->length = comma ? comma - list->at : list->length;
    list->at = comma ? list->at + value->length + 1 : NULL;
    list->length -= comma ? value->length + 1 : 0;
    return true;
}

static int64_t count_values(const gnn__text_field_t *list)
{
    int64_t count = list->length > 0;
    for (int64_t k = 0; k < list->length; k++)
        count += list->at[k] == ',';
    return count;
}

/* Lists of one length whose values increase may be values or indices, unless all are 0 or 1. */
static int tell_form(nodes_t *x)
{
    bool increasing = true, bits = true;
    x->lists = true;
    for (int64_t i = 1; i < x->n; i++)
        x->lists = x->lists && count_values(&x->features[i]) == count_values(&x->features[0]);
    for (int64_t i = 0; i < x->n && x->lists && increasing; i++) {
        gnn__text_field_t list = x->features[i], value;
        gnn_real_t number, last = -1;
        while (list.length > 0 && next_value(&list, &value)) {
            GNN_TRY(gnn__text_real(&x->text, &value, "a feature", &number));
            increasing = increasing && number > last && number == (gnn_real_t)(int64_t)number;
            bits = bits && (number == 0 || number == 1);
            last = number;
        }
    }
    if (x->lists && increasing && !bits)
        return gnn__error(GNN_EFORMAT,
                          "%s: %lld features of each node, in increasing order: values and indices "
                          "of words cannot be told apart",
                          x->text.name, (long long)count_values(&x->features[0]));
    x->cols = x->lists ? count_values(&x->features[0]) : 0;
    return GNN_OK;
}

static int put(nodes_t *x, int64_t column, gnn_real_t value)
{
    GNN_TRY(gnn__room(&x->indices, x->nnz, &x->room, sizeof *x->indices, "features"));
    GNN_TRY(gnn__room(&x->values, x->nnz, &x->values_room, sizeof *x->values, "features"));
    x->indices[x->nnz] = (int32_t)column;
    x->values[x->nnz++] = value;
    return GNN_OK;
}

static int compare_columns(const void *a, const void *b)
{
    const int32_t left = *(const int32_t *)a, right = *(const int32_t *)b;
    return (left > right) - (left < right);
}

/* Sorts the columns of the last row and drops duplicates: a word is there or is not. */
static void settle(nodes_t *x, int64_t begin)
{
    if (x->nnz == begin)
        return;
    qsort(x->indices + begin, (size_t)(x->nnz - begin), sizeof *x->indices, compare_columns);
    int64_t to = begin + 1;
    for (int64_t k = begin + 1; k < x->nnz; k++)
        if (x->indices[k] != x->indices[to - 1])
            x->indices[to++] = x->indices[k];
    x->nnz = to;
}

static int read_row(nodes_t *x, gnn__text_field_t list)
{
    const int64_t begin = x->nnz, most = x->text.size + 1024;
    gnn__text_field_t value;
    for (int64_t k = 0; list.length > 0 && next_value(&list, &value); k++) {
        int64_t column = k;
        gnn_real_t number = 1;
        if (x->lists)
            GNN_TRY(gnn__text_real(&x->text, &value, "a feature", &number));
        else
            GNN_TRY(gnn__text_integer(&x->text, &value, "the index of a feature", &column));
        if (column < 0 || column >= most || column >= INT32_MAX)
            return gnn__text_error(&x->text, &value, GNN_EFORMAT,
                                   "feature %lld, 0 to %lld are possible in a file of this size",
                                   (long long)column, (long long)most - 1);
        if (number != 0)
            GNN_TRY(put(x, column, number));
        if (column >= x->cols)
            x->cols = column + 1;
    }
    if (!x->lists)
        settle(x, begin);
    return GNN_OK;
}

static int read_features(nodes_t *x)
{
    GNN_TRY(tell_form(x));
    GNN_TRY(gnn__new(&x->indptr, x->n + 1, sizeof *x->indptr, "features"));
    for (int64_t i = 0; i < x->n; i++) {
        GNN_TRY(read_row(x, x->features[i]));
        x->indptr[i + 1] = x->nnz;
    }
    if (x->indices)
        return GNN_OK;
    GNN_TRY(gnn__new(&x->indices, 0, sizeof *x->indices, "features"));
    return gnn__new(&x->values, 0, sizeof *x->values, "features");
}

/* ---- nodes, links, splits ---- */

static int read_node(gnn_data_t *data, nodes_t *x)
{
    static const char what[] = "a node id, its features and its label";
    gnn__text_field_t field[3];
    int32_t node;
    int64_t label;
    GNN_TRY(fields_of(&x->text, field, 3, what));
    GNN_TRY(gnn__text_node(&x->text, &field[0], x->n, &node));
    if (x->features[node].at)
        return gnn__text_error(&x->text, &field[0], GNN_EFORMAT, "node %d stands in line %lld, too",
                               (int)node, (long long)x->features[node].line);
    GNN_TRY(gnn__text_integer(&x->text, &field[2], "a class", &label));
    if (label >= gnn__max(x->n, GNN__MOST_CLASSES))
        return gnn__text_error(&x->text, &field[2], GNN_EFORMAT, "class %lld", (long long)label);
    x->features[node] = field[1];
    data->labels[node] = label < 0 ? -1 : (int32_t)label;
    if (label >= data->classes)
        data->classes = label + 1;
    return GNN_OK;
}

static int read_nodes(gnn_data_t *data, nodes_t *x, const char *folder)
{
    GNN_TRY(open_part(&x->text, folder, nodes_name, data->limits));
    GNN_TRY(pass_header(&x->text, 3, "node_id, feature and label"));
    x->n = gnn__text_count_lines(&x->text) - 1;
    if (x->n < 1 || x->n > INT32_MAX)
        return gnn__error(GNN_EFORMAT, "%s: %lld lines of nodes, 1 to %d are possible",
                          x->text.name, (long long)x->n, INT32_MAX);
    data->n = x->n;
    GNN_TRY(gnn__new(&x->features, x->n, sizeof *x->features, "nodes"));
    GNN_TRY(gnn__new(&data->labels, x->n, sizeof *data->labels, "labels"));
    while (gnn__text_line(&x->text))
        GNN_TRY(read_node(data, x));
    if (data->classes == 0)
        return gnn__error(GNN_EFORMAT, "%s: no node has a class", x->text.name);
    GNN_TRY(gnn__data_check_classes(data, x->text.name));
    GNN_TRY(read_features(x));
    data->features = x->cols;
    data->sparse = (gnn_sparse_t){x->n, x->cols, x->indptr, x->indices, x->values};
    x->indptr = NULL;
    x->indices = NULL;
    x->values = NULL;
    return GNN_OK;
}

static int read_links(gnn_data_t *data, gnn__text_t *text)
{
    int32_t *a = NULL, *b = NULL;
    int64_t m = 0;
    int rc;
    GNN_CHECK(pass_header(text, 2, "node_id and node_id"));
    GNN_CHECK(gnn__new(&a, gnn__text_count_lines(text), sizeof *a, "links"));
    GNN_CHECK(gnn__new(&b, gnn__text_count_lines(text), sizeof *b, "links"));
    for (; gnn__text_line(text); m++) {
        gnn__text_field_t field[2];
        GNN_CHECK(fields_of(text, field, 2, "two node ids"));
        GNN_CHECK(gnn__text_node(text, &field[0], data->n, &a[m]));
        GNN_CHECK(gnn__text_node(text, &field[1], data->n, &b[m]));
    }
    GNN_CHECK(gnn__data_links(data, &(gnn__data_links_t){.n = data->n, .m = m, .a = a, .b = b}));
done:
    gnn_free(a);
    gnn_free(b);
    return rc;
}

static int take_mask(gnn_data_t *data, const gnn_arrays_t *arrays, int part, int64_t split)
{
    static const char *const names[3] = {
        [GNN_TRAIN] = "train_mask", [GNN_VALIDATION] = "val_mask", [GNN_TEST] = "test_mask"};
    const gnn_array_t *mask = gnn_arrays_find(arrays, names[part]);
    if (!mask || mask->count != data->n || !gnn__element(mask->dtype)->integer)
        return gnn__error(GNN_EFORMAT, "%s: %lld integers are expected, one per node", names[part],
                          (long long)data->n);
    for (int64_t i = 0; i < data->n; i++) {
        const int64_t value = gnn__array_int(mask, i);
        if (value != 0 && (value != 1 || data->labels[i] < 0))
            return gnn__error(GNN_EFORMAT, "%s: %lld at node %lld%s", names[part], (long long)value,
                              (long long)i,
                              value == 1 ? ", which has no class" : ", 0 or 1 is expected");
        gnn__split_marks(data->split, part, split)[i] = value != 0;
    }
    return GNN_OK;
}

static int read_split(gnn_data_t *data, const char *folder, const char *name, int64_t split)
{
    gnn_arrays_t *arrays;
    char *path;
    GNN_TRY(gnn__asprintf(&path, "%s/%s", folder, name));
    int rc = gnn_npz_read(&arrays, path, data->limits);
    for (int part = 0; rc == GNN_OK && part < 3; part++)
        rc = take_mask(data, arrays, part, split);
    gnn_arrays_free(arrays);
    gnn_free(path);
    return rc == GNN_OK ? rc : gnn__error_prefix(rc, "%s", name);
}

/* By length first: split 10 stands after split 9. */
static int compare_names(const void *a, const void *b)
{
    const char *const left = *(char *const *)a, *const right = *(char *const *)b;
    const size_t m = strlen(left), n = strlen(right);
    return m != n ? (m > n) - (m < n) : strcmp(left, right);
}

enum { MOST_SPLITS = 100 };

static int list_splits(char *names[MOST_SPLITS], int64_t *count, const char *folder)
{
    DIR *opened = opendir(folder);
    int rc = GNN_OK;
    if (!opened)
        return gnn__error(GNN_EIO, "%s: %s", folder, strerror(errno));
    for (struct dirent *d; rc == GNN_OK && (d = readdir(opened)) != NULL;) {
        if (*d->d_name == '.' || !strstr(d->d_name, "_split_") ||
            !gnn__data_ends_with(d->d_name, strlen(d->d_name), ".npz"))
            continue;
        rc = *count < MOST_SPLITS ? gnn__strdup(&names[*count], d->d_name)
                                  : gnn__error(GNN_EFORMAT, "more than %d splits", MOST_SPLITS);
        *count += rc == GNN_OK;
    }
    closedir(opened);
    return rc;
}

static int read_splits(gnn_data_t *data, const char *folder)
{
    char *names[MOST_SPLITS];
    int64_t count = 0;
    int rc = list_splits(names, &count, folder);
    if (rc == GNN_OK && count == 0)
        return gnn__data_default_split(data, 0);
    if (rc == GNN_OK) {
        qsort(names, (size_t)count, sizeof *names, compare_names);
        rc = gnn_split_new(&data->split, data->n, count);
    }
    for (int64_t s = 0; s < count && rc == GNN_OK; s++)
        rc = read_split(data, folder, names[s], s);
    for (int64_t s = 0; s < count; s++)
        gnn_free(names[s]);
    return rc;
}

/* ---- the set ---- */

static int read_parts(gnn_data_t *data, nodes_t *x, const char *folder)
{
    gnn__text_t text;
    GNN_TRY(read_nodes(data, x, folder));
    GNN_TRY(open_part(&text, folder, edges_name, data->limits));
    const int rc = read_links(data, &text);
    gnn__text_free(&text);
    GNN_TRY(rc);
    return read_splits(data, folder);
}

int gnn__data_read_geom_gcn(gnn_data_t *data, const char *path)
{
    nodes_t nodes = {0};
    const int rc = read_parts(data, &nodes, path);
    free_nodes(&nodes);
    return rc == GNN_OK || rc == GNN_EIO ? rc : gnn__error_prefix(rc, "%s", path);
}
