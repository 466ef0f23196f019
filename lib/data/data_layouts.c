/* Layouts of node classification sets in .npz files: the possible names of each part, and all
 * validation. */
#include <lib/data/layouts.h>

#include <gnn/graph.h>
#include <math.h>

/* ---- features ---- */

static int bad_value(const gnn_array_t *array, int64_t k, int64_t row, int64_t column)
{
    double value = gnn_array_get(array, k);
    return gnn__error(GNN_ENUMERIC, "%s: %g at row %lld, column %lld%s", array->name, value,
                      (long long)row, (long long)column, isfinite(value) ? " is too large" : "");
}

/* A model has weights for each column: a small file must not declare billions. */
enum { MOST_COLUMNS = 1 << 20, MOST_COLUMNS_EACH = 64 };

/* The norm of a row with a column twice is not that of the sum. */
static int check_distinct(const gnn__layout_csr_t *csr)
{
    int64_t *last;
    int rc = GNN_OK;
    GNN_TRY(gnn__new(&last, csr->nnz > 0 ? csr->cols : 0, sizeof *last, "columns of features"));
    for (int64_t r = 0; r < csr->rows && rc == GNN_OK; r++)
        for (int64_t k = csr->indptr[r]; k < csr->indptr[r + 1] && rc == GNN_OK; k++) {
            if (last[csr->indices[k]] == r + 1)
                rc = gnn__error(GNN_EFORMAT,
                                "attr_indices: column %d is given twice in row %lld (scipy's "
                                "sum_duplicates adds the values)",
                                (int)csr->indices[k], (long long)r);
            last[csr->indices[k]] = r + 1;
        }
    gnn_free(last);
    return rc;
}

static int read_sparse(gnn_data_t *data, const gnn_arrays_t *arrays)
{
    gnn__layout_csr_t csr = {0};
    gnn_real_t *values = NULL;
    const gnn_array_t *numbers;
    int rc;
    GNN_CHECK(gnn__layout_csr(&csr, &numbers, arrays, "attr", data->n));
    if (csr.cols > MOST_COLUMNS && csr.cols / MOST_COLUMNS_EACH > csr.nnz)
        GNN_CHECK(gnn__error(
            GNN_EFORMAT, "%s: %lld columns for %lld stored values, at most %d or %d per value",
            "attr_shape", (long long)csr.cols, (long long)csr.nnz, MOST_COLUMNS, MOST_COLUMNS_EACH));
    GNN_CHECK(check_distinct(&csr));
    if (!numbers)
        GNN_CHECK(gnn__layout_missing(arrays, "attr_data"));
    GNN_CHECK(gnn__layout_rank(numbers, 1));
    GNN_CHECK(gnn__new(&values, csr.nnz, sizeof *values, "features"));
    gnn__array_reals(numbers, values);
    for (int64_t r = 0; r < csr.rows; r++)
        for (int64_t k = csr.indptr[r]; k < csr.indptr[r + 1]; k++)
            if (!isfinite(values[k]))
                GNN_CHECK(bad_value(numbers, k, r, csr.indices[k]));
    data->features = csr.cols;
    data->sparse = (gnn_sparse_t){csr.rows, csr.cols, csr.indptr, csr.indices, values};
    return GNN_OK;
done:
    gnn_free(csr.indptr);
    gnn_free(csr.indices);
    gnn_free(values);
    return rc;
}

static int read_dense(gnn_data_t *data, const gnn_array_t *x)
{
    GNN_TRY(gnn__layout_rank(x, 2));
    if (x->shape[0] != data->n)
        return gnn__error(GNN_EFORMAT, "%s: %lld rows, the set has %lld nodes", x->name,
                          (long long)x->shape[0], (long long)data->n);
    if (x->shape[1] > INT32_MAX)
        return gnn__error(GNN_EFORMAT, "%s: %lld columns, 0 to %d are possible", x->name,
                          (long long)x->shape[1], INT32_MAX);
    gnn_real_t *values;
    GNN_TRY(gnn__new(&values, x->count, sizeof *values, "features"));
    data->features = x->shape[1];
    data->x = gnn_tensor(values, x->shape[0], x->shape[1]);
    gnn__array_reals(x, values);
    for (int64_t k = 0; k < x->count; k++)
        if (!isfinite(values[k]))
            return bad_value(x, k, k / x->shape[1], k % x->shape[1]);
    return GNN_OK;
}

static int read_features(gnn_data_t *data, const gnn_arrays_t *arrays)
{
    if (gnn__layout_indptr(arrays, "attr"))
        return read_sparse(data, arrays);
    const gnn_array_t *x = gnn__layout_dense(arrays);
    return x ? read_dense(data, x) : gnn__layout_no_features(arrays);
}

/* ---- arrays that are not read ---- */

/* Names of nodes, which no model reads. */
static bool is_of_names(const char *name)
{
    const size_t length = strlen(name);
    return strstr(name, "names") || strstr(name, "ids") ||
           (length >= 2 && strcmp(name + length - 2, "id") == 0);
}

/* Arrays that have no part in the set are listed in its description: a type or a time of links
 * would change a model. */
static int note_unread(gnn_data_t *data, const gnn_arrays_t *arrays)
{
    int64_t unread;
    const gnn__left_out_t *left_out = gnn__arrays_unread(arrays, &unread);
    for (int64_t k = 0; k < unread; k++)
        if (!is_of_names(left_out[k].name))
            GNN_TRY(gnn__data_note_unread(data, left_out[k].name));
    return GNN_OK;
}

/* An array of one value that repeats what other arrays show: PyG's num_nodes, num_features. */
static int check_count(const gnn_arrays_t *arrays, const char *name, int64_t least, int64_t most,
                       const char *what)
{
    const gnn_array_t *count = gnn_arrays_find(arrays, name);
    if (!count)
        return GNN_OK;
    const double value = count->count > 0 ? gnn_array_get(count, 0) : NAN;
    if (count->count == 1 && value >= (double)least && value <= (double)most && value == floor(value))
        return GNN_OK;
    return gnn__error(GNN_EFORMAT, "%s: %g%s, expected %lld%s, the count of %s", name, value,
                      count->count > 1 ? " and more values" : "", (long long)least,
                      most > least ? " or more" : "", what);
}

/* A model has a column for each class, also for those without a node. */
static int read_class_count(gnn_data_t *data, const gnn_arrays_t *arrays)
{
    static const char name[] = "num_classes";
    const gnn_tensor_t *targets = gnn_data_rows(data, GNN_ON_NODES, "targets");
    switch (gnn_data_label_kind(data)) {
    case GNN_LABELS_CLASSES:
        GNN_TRY(check_count(arrays, name, data->classes, GNN__MOST_CLASSES, "classes"));
        if (gnn_arrays_find(arrays, name))
            data->classes = (int64_t)gnn_array_get(gnn_arrays_find(arrays, name), 0);
        return GNN_OK;
    case GNN_LABELS_SEVERAL:
        return check_count(arrays, name, targets->cols, targets->cols, "columns of the labels");
    case GNN_LABELS_REAL:
        if (gnn_arrays_find(arrays, name))
            return gnn__error(GNN_EFORMAT,
                              "%s, and labels that are real values: classes are integers", name);
        return GNN_OK;
    default: return GNN_OK;
    }
}

/* Of the names the file has at most one, and none if *first is one; else *first becomes it. */
static int at_most_one(const char **first, const gnn_arrays_t *arrays, const char *const *names)
{
    for (; *names; names++) {
        if (!gnn_arrays_find(arrays, *names))
            continue;
        if (*first)
            return gnn__error(GNN_EFORMAT,
                              "%s and %s: one of the two is expected, a set has "
                              "each part once (docs/formats.md)",
                              *first, *names);
        *first = *names;
    }
    return GNN_OK;
}

/* Names of the same part: each group has one in a file. */
static int check_alternatives(const gnn_arrays_t *arrays)
{
    /* a part of gnn__layout_names or GNN__PARTS for none, and further names of the same */
    static const struct {
        gnn__layout_part_t part;
        const char *more[GNN__MOST_NAMES];
    } groups[] = {
        {GNN__OF_LABELS, {NULL}},
        {GNN__OF_FEATURES, {"attr_indptr", "attr_matrix.indptr", "attr.indptr"}},
        {GNN__OF_SENDERS,
         {"messages", "edges", "edge_index", "adj_indptr", "adj_matrix.indptr", "adj.indptr"}},
        {GNN__OF_RECEIVERS, {NULL}},
        {GNN__OF_WEIGHTS, {"adj_data", "adj_matrix.data", "adj.data"}},
        {GNN__OF_WEIGHTS, {"messages"}}, /* theirs is edge.weight */
        {GNN__OF_WEIGHTS, {"adj_indptr"}},
        {GNN__OF_WEIGHTS, {"adj_matrix.indptr"}},
        {GNN__OF_WEIGHTS, {"adj.indptr"}},
        {GNN__OF_EDGE_FEATURES, {"edge.features"}},
        {GNN__PARTS, {"train_mask", "train_masks"}},
        {GNN__PARTS, {"val_mask", "val_masks", "valid_mask", "valid_masks", "validation_mask"}},
        {GNN__PARTS, {"test_mask", "test_masks"}},
        {GNN__PARTS, {"train_idx", "idx_train", "train_index", "train_indices"}},
        {GNN__PARTS, {"val_idx", "idx_val", "valid_idx", "val_index", "val_indices"}},
        {GNN__PARTS, {"test_idx", "idx_test", "test_index", "test_indices"}},
    };
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
        const char *first = NULL;
        if (groups[g].part < GNN__PARTS)
            GNN_TRY(at_most_one(&first, arrays, gnn__layout_names[groups[g].part]));
        GNN_TRY(at_most_one(&first, arrays, groups[g].more));
    }
    return GNN_OK;
}

/* ---- which arrays are read ---- */

static bool begins(const char *name, size_t length, const char *with)
{
    size_t n = strlen(with);
    return length > n && memcmp(name, with, n) == 0;
}

static bool wants(const char *name, size_t length)
{
    static const char *const whole[] = {
        "class_names",      "class_name_offsets", "names",     "name_offsets", "edges",
        "messages",         "edge_index",         "num_nodes", "num_classes",  "num_features",
        "num_node_features"};
    static const char *const first[] = {"adj_",  "adj.",  "attr_", "attr.",
                                        "node.", "edge.", "graph."};
    for (int part = 0; part < GNN__PARTS; part++)
        for (const char *const *known = gnn__layout_names[part]; *known; known++)
            if (length == strlen(*known) && memcmp(name, *known, length) == 0)
                return true;
    for (size_t k = 0; k < sizeof whole / sizeof whole[0]; k++)
        if (length == strlen(whole[k]) && memcmp(name, whole[k], length) == 0)
            return true;
    for (size_t k = 0; k < sizeof first / sizeof first[0]; k++)
        if (begins(name, length, first[k]))
            return true;
    return gnn__layout_wants_split(name, length);
}

/* A part of a set that holds texts or objects would be missed. Names of nodes and features are read
 * as bytes with offsets only: other forms have no effect. */
static int refuse_left_out(const gnn_arrays_t *arrays)
{
    int64_t unread;
    const gnn__left_out_t *left_out = gnn__arrays_unread(arrays, &unread);
    for (int64_t k = 0; k < unread; k++)
        if (wants(left_out[k].name, strlen(left_out[k].name)) && !is_of_names(left_out[k].name) &&
            !strstr(left_out[k].name, "text"))
            return gnn__layout_missing(arrays, left_out[k].name);
    return GNN_OK;
}

int gnn__data_from_arrays(gnn_data_t *data, const gnn_arrays_t *arrays)
{
    GNN_TRY(check_alternatives(arrays));
    GNN_TRY(refuse_left_out(arrays));
    GNN_TRY(gnn__layout_labels(data, arrays));
    GNN_TRY(check_count(arrays, "num_nodes", data->n, data->n, "rows of labels and features"));
    GNN_TRY(read_class_count(data, arrays));
    GNN_TRY(gnn__data_read_class_names(data, arrays));
    if (!data->class_names && !gnn_arrays_find(arrays, "num_classes"))
        GNN_TRY(gnn__data_check_classes(data, "labels"));
    GNN_TRY(gnn__data_read_node_names(data, arrays));
    GNN_TRY(read_features(data, arrays));
    GNN_TRY(gnn__layout_edges(data, arrays));
    GNN_TRY(check_count(arrays, "num_features", data->features, data->features, "feature columns"));
    GNN_TRY(check_count(arrays, "num_node_features", data->features, data->features,
                        "feature columns"));
    GNN_TRY(gnn__layout_arrays(data, arrays));
    GNN_TRY(gnn__layout_masks(data, arrays));
    return note_unread(data, arrays);
}

int gnn__data_read_npz(gnn_data_t *data, const char *path)
{
    gnn_arrays_t *arrays;
    GNN_TRY(gnn__npz_read_wanted(&arrays, path, data->limits, wants));
    int rc = GNN_OK;
    if (gnn__layout_is_scipy(arrays)) {
        gnn_arrays_free(arrays);
        GNN_TRY(gnn_npz_read(&arrays, path, data->limits));
        rc = gnn__layout_scipy(data, arrays);
    } else {
        rc = gnn__data_from_arrays(data, arrays);
    }
    gnn_arrays_free(arrays);
    return rc == GNN_OK ? rc : gnn__error_prefix(rc, "%s", gnn__file_name(path));
}
