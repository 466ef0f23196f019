/* Kinds of node labels: one class per node, several labels per node (a 0/1 column each), or real
 * values. The last two become the array "targets" on nodes. */
#include <lib/data/layouts.h>

#include <math.h>

static const char *const *const names = gnn__layout_names[GNN__OF_LABELS];

/* Properties of the values of an array. */
typedef struct {
    bool bits;          /* each is 0 or 1 */
    bool one_each;      /* ... and no row has more than one 1, and some row has one */
    int64_t missing;    /* index of the first non-finite value; -1: none */
    int64_t other;      /* index of the first value other than 0 and 1; -1: none */
    int64_t rows, cols; /* (n, 1) is (n) */
} look_t;

static look_t look_at(const gnn_array_t *labels)
{
    look_t l = {.bits = true,
                .one_each = true,
                .missing = -1,
                .other = -1,
                .rows = labels->shape[0],
                .cols = labels->ndim == 2 ? labels->shape[1] : 1};
    int64_t ones = 0;
    for (int64_t r = 0; r < l.rows; r++) {
        double sum = 0;
        for (int64_t k = r * l.cols; k < (r + 1) * l.cols; k++) {
            const double value = gnn_array_get(labels, k);
            if (!isfinite(value) && l.missing < 0)
                l.missing = k;
            if (value != 0 && value != 1 && l.other < 0)
                l.other = k;
            sum += value;
        }
        ones += sum == 1;
        l.one_each = l.one_each && (sum == 0 || sum == 1);
    }
    l.bits = l.other < 0;
    l.one_each = l.one_each && l.bits && ones > 0;
    return l;
}

/* ---- classes ---- */

/* One column: classes of any width, booleans, or 0 and 1 as reals. */
static int read_classes(gnn_data_t *data, const gnn_array_t *labels, bool integer)
{
    const int64_t most = data->n > GNN__MOST_CLASSES ? data->n : GNN__MOST_CLASSES;
    for (int64_t i = 0; i < data->n; i++) {
        const int64_t label = integer ? gnn__array_int(labels, i) : (int64_t)gnn_array_get(labels, i);
        if (label >= most)
            return gnn__error(
                GNN_EFORMAT, "%s: class %s%lld at node %lld, less than %lld is expected",
                labels->name, label == INT64_MAX && labels->dtype == GNN_DTYPE_UINT64 ? ">= " : "",
                (long long)label, (long long)i, (long long)most);
        data->labels[i] = label < 0 ? -1 : (int32_t)label;
        if (label >= data->classes)
            data->classes = label + 1;
    }
    return data->classes > 0
               ? GNN_OK
               : gnn__error(GNN_EFORMAT, "%s: no node has one, all are negative", labels->name);
}

/* One-hot rows: the class is the column of the 1; a row of zeros is unlabelled. */
static int read_one_hot(gnn_data_t *data, const gnn_array_t *labels, const look_t *l)
{
    if (l->cols > GNN__MOST_CLASSES && l->cols > data->n)
        return gnn__error(GNN_EFORMAT, "%s: %lld columns", labels->name, (long long)l->cols);
    for (int64_t i = 0; i < data->n; i++) {
        data->labels[i] = -1;
        for (int64_t c = 0; c < l->cols; c++)
            if (gnn_array_get(labels, i * l->cols + c) == 1)
                data->labels[i] = (int32_t)c;
    }
    data->classes = l->cols;
    return GNN_OK;
}

/* ---- targets ---- */

static int read_targets(gnn_data_t *data, const gnn_array_t *labels, const look_t *l)
{
    gnn_array_t made = *labels;
    gnn_real_t *values;
    for (int64_t i = 0; i < data->n; i++)
        data->labels[i] = -1;
    GNN_TRY(gnn__new(&values, labels->count, sizeof *values, labels->name));
    gnn__array_reals(labels, values);
    made.name = "targets";
    made.dtype = GNN__REAL_DTYPE;
    made.ndim = 2;
    made.shape[0] = l->rows;
    made.shape[1] = l->cols;
    made.data = values;
    int rc = gnn_data_array_set(data, GNN_ON_NODES, &made);
    gnn_free(values);
    return rc;
}

/* The error for values of no kind of label. */
static int refuse(const gnn_array_t *labels, const look_t *l, bool integer)
{
    const int64_t k = integer ? l->other : l->missing;
    if (!integer)
        return gnn__error(GNN_ENUMERIC,
                          "%s: %g at row %lld, column %lld: real values are finite; "
                          "a node without one is left out of the masks",
                          labels->name, gnn_array_get(labels, k), (long long)(k / l->cols),
                          (long long)(k % l->cols));
    return gnn__error(
        GNN_EFORMAT,
        "%s: %.17g at row %lld, column %lld of %s: several labels of a "
        "node are 0 or 1 each, real values of a floating type, and "
        "classes have one column",
        labels->name, gnn_array_get(labels, k), (long long)(k / l->cols), (long long)(k % l->cols),
        gnn__element(labels->dtype)->integer ? gnn__element(labels->dtype)->name : "integers");
}

static int check_shape(const gnn_array_t *labels)
{
    if (labels->ndim != 1 && labels->ndim != 2)
        return gnn__error(GNN_EFORMAT, "%s: %d dimensions, 1 or 2 are expected", labels->name,
                          labels->ndim);
    if (labels->count == 0 || labels->shape[0] > INT32_MAX)
        return gnn__error(GNN_EFORMAT, "%s: expected 1 to %d rows, one per node, got the shape %s",
                          labels->name, INT32_MAX, gnn__shape_words(labels->ndim, labels->shape));
    return GNN_OK;
}

/* `integer`: the values are integers, in any type. */
static int take_labels(gnn_data_t *data, const gnn_array_t *labels, bool integer)
{
    GNN_TRY(check_shape(labels));
    const look_t l = look_at(labels);
    data->n = l.rows;
    GNN_TRY(gnn__new(&data->labels, data->n, sizeof *data->labels, "labels"));
    if (l.cols == 1 && (integer || l.bits))
        return read_classes(data, labels, integer);
    if (l.one_each)
        return read_one_hot(data, labels, &l);
    if (integer ? !l.bits : l.missing >= 0)
        return refuse(labels, &l, integer);
    return read_targets(data, labels, &l);
}

/* Would this array be the labels, under another name? */
static bool may_be_labels(const gnn__left_out_t *array, int64_t n)
{
    static const char *const of_names[] = {"node_names", "node_name", "node_ids",
                                           "node_id",    "names",     "ids"};
    for (size_t k = 0; k < sizeof of_names / sizeof of_names[0]; k++)
        if (strcmp(array->name, of_names[k]) == 0)
            return false;
    return array->rows == n;
}

/* A set without labels has as many nodes as its features have rows. */
static int read_no_labels(gnn_data_t *data, const gnn_arrays_t *arrays)
{
    int64_t unread;
    const gnn__left_out_t *left_out = gnn__arrays_unread(arrays, &unread);
    for (int k = 0; names[k]; k++)
        if (gnn__arrays_left_out(arrays, names[k]))
            return gnn__layout_missing(arrays, names[k]);
    GNN_TRY(gnn__layout_feature_rows(arrays, &data->n));
    if (data->n < 1 || data->n > INT32_MAX)
        return gnn__error(GNN_EFORMAT, "features of %lld nodes and no labels, 1 to %d are possible",
                          (long long)data->n, INT32_MAX);
    for (int64_t k = 0; k < unread; k++)
        if (may_be_labels(&left_out[k], data->n))
            return gnn__error(GNN_EFORMAT,
                              "there are no labels, and %.80s (%s), which has a row per node, is "
                              "not read: labels are called %s, %s or %s, other arrays node.NAME",
                              left_out[k].name, left_out[k].type, names[0], names[1], names[2]);
    GNN_TRY(gnn__new(&data->labels, data->n, sizeof *data->labels, "labels"));
    for (int64_t i = 0; i < data->n; i++)
        data->labels[i] = -1;
    return GNN_OK;
}

int gnn__layout_labels(gnn_data_t *data, const gnn_arrays_t *arrays)
{
    const gnn_array_t *labels = gnn__layout_find(arrays, names);
    if (!labels)
        return read_no_labels(data, arrays);
    GNN_TRY(take_labels(data, labels, gnn__element(labels->dtype)->integer));
    if (gnn_data_array_find(data, GNN_ON_NODES, "targets") && gnn_arrays_find(arrays, "node.targets"))
        return gnn__error(GNN_EFORMAT,
                          "%s: it becomes the array \"targets\", and the file has "
                          "node.targets, too",
                          labels->name);
    return GNN_OK;
}

/* ---- of texts ---- */

/* Properties of the fields of a text of labels. */
typedef struct {
    int64_t cols;                 /* of the first line after the header */
    bool words, points, fraction; /* some field is a word or empty; is spelled as a real value; is
                                     one between two integers */
} fields_t;

static int look_at_line(gnn__text_t *text, fields_t *f)
{
    gnn__text_field_t field;
    gnn_real_t value;
    int64_t cols = 0;
    GNN_TRY(gnn__text_field(text, &field));
    for (; field.at; cols++) {
        const gnn__field_kind_t kind = gnn__field_kind(&field);
        f->words = f->words || kind == GNN__WORD || kind == GNN__NOTHING;
        f->points = f->points || kind == GNN__REAL;
        if (kind == GNN__REAL) {
            GNN_TRY(gnn__text_real(text, &field, "a value", &value));
            f->fraction = f->fraction || value != floor(value);
        }
        GNN_TRY(gnn__text_field(text, &field));
    }
    f->cols = f->cols ? f->cols : cols;
    return GNN_OK;
}

/* `header`: the first line may be one. `otherwise`: the delimiter if none of the usual ones is
 * there. */
static int look_by(gnn__text_t *text, bool header, char otherwise, fields_t *f)
{
    fields_t first = {0};
    *f = first;
    gnn__text_rewind(text);
    if (!gnn__text_line(text))
        return GNN_OK;
    gnn__text_guess_delimiter(text, "\t;,", otherwise);
    GNN_TRY(look_at_line(text, &first));
    *f = header && (first.words || text->headed) ? *f : first;
    while (gnn__text_line(text))
        GNN_TRY(look_at_line(text, f));
    return GNN_OK;
}

/* Names of classes may contain spaces; between numeric fields a space separates columns. */
static int look_at_text(gnn__text_t *text, bool header, fields_t *f)
{
    fields_t spaced;
    GNN_TRY(look_by(text, header, ',', f));
    if (!f->words)
        return GNN_OK;
    GNN_TRY(look_by(text, header, ' ', &spaced));
    *f = spaced.words ? *f : spaced;
    return GNN_OK;
}

int gnn__data_text_labels(gnn_data_t *data, gnn__text_t *text, bool header, bool *taken)
{
    gnn_real_t *values = NULL;
    gnn_array_t array = {.name = text->name, .dtype = GNN__REAL_DTYPE, .ndim = 2};
    fields_t f;
    int rc = look_at_text(text, header, &f);
    *taken = rc == GNN_OK && !f.words && (f.cols > 1 || f.fraction);
    gnn__text_rewind(text);
    if (rc != GNN_OK || !*taken)
        return rc;
    rc = gnn__text_matrix(text, header, &values, &array.shape[0], &array.shape[1]);
    array.count = array.shape[0] * array.shape[1];
    array.data = values;
    if (rc == GNN_OK)
        rc = take_labels(data, &array, !f.points);
    gnn_free(values);
    return rc;
}

/* ---- what a set has to learn ---- */

static bool all_bits(const gnn_tensor_t *t)
{
    for (int64_t r = 0; r < t->rows; r++)
        for (int64_t c = 0; c < t->cols; c++)
            if (gnn__row(t, r)[c] != 0 && gnn__row(t, r)[c] != 1)
                return false;
    return true;
}

gnn_label_kind_t gnn_data_label_kind(const gnn_data_t *data)
{
    GNN__NEED_OR(data, (gnn_label_kind_t)0);
    if (data->classes > 0)
        return GNN_LABELS_CLASSES;
    const gnn_tensor_t *targets = gnn_data_rows(data, GNN_ON_NODES, "targets");
    if (!targets || targets->cols == 0)
        return GNN_LABELS_NONE;
    return targets->cols > 1 && all_bits(targets) ? GNN_LABELS_SEVERAL : GNN_LABELS_REAL;
}
