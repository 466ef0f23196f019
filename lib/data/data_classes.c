/* Names, of classes and nodes: blocks of strings, and as arrays of a .npz; classes of textual
 * labels. */
#include <lib/data/data.h>

#include <lib/data/arrays/arrays.h>
#include <stdlib.h>

bool gnn__is_name(const char *name, int64_t length)
{
    for (int64_t k = 0; k < length;) {
        int64_t step = gnn__utf8_length((const unsigned char *)name + k, length - k);
        if (step == 0 || (unsigned char)name[k] < 32 || name[k] == 127)
            return false;
        k += step;
    }
    return length > 0;
}

int gnn__new_names(char ***names, int64_t count, int64_t bytes, char **block)
{
    int64_t all;
    if (!gnn__add(bytes, count, &all))
        return gnn__error(GNN_EOVERFLOW, "%lld names do not fit", (long long)count);
    GNN_TRY(gnn__new(names, count + 1, sizeof **names, "names"));
    const int rc = gnn__new(block, all, 1, "names");
    if (rc != GNN_OK)
        gnn__free_names(names);
    else
        (*names)[0] = *block;
    return rc;
}

void gnn__free_names(char ***names)
{
    if (*names)
        gnn_free((*names)[0]); /* one block holds all names */
    gnn_free(*names);
    *names = NULL;
}

int gnn__data_check_classes(const gnn_data_t *data, const char *name)
{
    enum { MANY = 1000 };
    int64_t labelled = 0;
    for (int64_t i = 0; i < data->n; i++)
        labelled += data->labels[i] >= 0;
    if (data->classes <= MANY || data->classes <= labelled)
        return GNN_OK;
    return gnn__error(GNN_EFORMAT,
                      "%s: class %lld, with labels of %lld nodes: classes are numbered from 0, and a "
                      "model has an output for each; values to predict are written as real ones",
                      name, (long long)data->classes - 1, (long long)labelled);
}

/* ---- words ---- */

typedef struct word {
    const gnn__text_field_t *field;
    int64_t row;
} word_t;

static int compare_text(const gnn__text_field_t *a, const gnn__text_field_t *b)
{
    int64_t shorter = a->length < b->length ? a->length : b->length;
    int order = memcmp(a->at, b->at, (size_t)shorter);
    return order ? order : (a->length > b->length) - (a->length < b->length);
}

static int compare_words(const void *a, const void *b)
{
    const word_t *left = a, *right = b;
    int order = compare_text(left->field, right->field);
    return order ? order : (left->row > right->row) - (left->row < right->row);
}

static bool is_new(const word_t *order, int64_t k)
{
    return k == 0 || compare_text(order[k - 1].field, order[k].field) != 0;
}

static int name_classes(gnn_data_t *data, const word_t *order, int64_t used, int32_t *labels)
{
    int64_t bytes = 0, classes = 0;
    char *at;
    for (int64_t k = 0; k < used; k++)
        if (is_new(order, k)) {
            bytes += order[k].field->length;
            classes++;
        }
    GNN_TRY(gnn__new_names(&data->class_names, classes, bytes, &at));
    data->classes = 0;
    for (int64_t k = 0; k < used; k++) {
        if (is_new(order, k)) {
            data->class_names[data->classes++] = at;
            memcpy(at, order[k].field->at, (size_t)order[k].field->length);
            at += order[k].field->length + 1;
        }
        labels[order[k].row] = (int32_t)(data->classes - 1);
    }
    return GNN_OK;
}

int gnn__data_class_words(gnn_data_t *data, const gnn__text_t *text, const gnn__text_field_t *words,
                          int64_t count, int32_t *labels)
{
    word_t *order;
    int64_t used = 0;
    int rc;
    GNN_TRY(gnn__new(&order, count, sizeof *order, "classes"));
    for (int64_t k = 0; k < count; k++) {
        labels[k] = -1;
        if (words[k].length == 0)
            continue;
        if (gnn__field_kind(&words[k]) == GNN__NOT_FINITE)
            GNN_CHECK(gnn__text_error(text, &words[k], GNN_ENUMERIC,
                                      "a class is expected, %s is not finite",
                                      gnn__field_shown(&words[k])));
        if (!gnn__is_name(words[k].at, words[k].length))
            GNN_CHECK(gnn__text_error(text, &words[k], GNN_EFORMAT,
                                      "a class in UTF-8 is expected, got %s",
                                      gnn__field_shown(&words[k])));
        order[used++] = (word_t){&words[k], k};
    }
    if (used == 0)
        GNN_CHECK(gnn__error(GNN_EFORMAT, "%s: no node has a class, all are empty", text->name));
    qsort(order, (size_t)used, sizeof *order, compare_words);
    rc = name_classes(data, order, used, labels);
done:
    gnn_free(order);
    return rc;
}

/* ---- strings ---- */

int gnn__data_copy_class_names(gnn_data_t *data, const char *const *names)
{
    int64_t bytes = 0;
    char *at;
    for (int64_t c = 0; c < data->classes; c++) {
        int64_t length = names[c] ? (int64_t)strlen(names[c]) : 0;
        if (!gnn__is_name(names[c], length))
            return gnn__error(GNN_EINVALID, ".class_names: the name of class %lld is not UTF-8 text",
                              (long long)c);
        bytes += length;
    }
    if (data->classes == 0)
        return GNN_OK;
    GNN_TRY(gnn__new_names(&data->class_names, data->classes, bytes, &at));
    for (int64_t c = 0; c < data->classes; c++) {
        data->class_names[c] = at;
        memcpy(at, names[c], strlen(names[c]));
        at += strlen(names[c]) + 1;
    }
    return GNN_OK;
}

/* ---- arrays ---- */

static int check_arrays(const gnn_array_t *names, const gnn_array_t *offsets, const char *offsets_name)
{
    if (!offsets)
        return gnn__error(GNN_EFORMAT, "%s: the array %s is missing", names->name, offsets_name);
    if (names->dtype != GNN_DTYPE_UINT8 || names->ndim != 1)
        return gnn__error(GNN_EFORMAT, "%s: %s in %d dimensions, uint8 in 1 is expected",
                          names->name, gnn__element(names->dtype)->name, names->ndim);
    if (!gnn__element(offsets->dtype)->integer || offsets->ndim != 1 || offsets->count < 1)
        return gnn__error(GNN_EFORMAT, "%s: %s, shape %s, integers in 1 dimension are expected",
                          offsets->name, gnn__element(offsets->dtype)->name,
                          gnn__shape_words(offsets->ndim, offsets->shape));
    const int64_t count = offsets->count - 1;
    if (gnn__array_int(offsets, 0) != 0 || gnn__array_int(offsets, count) != names->count)
        return gnn__error(GNN_EFORMAT, "%s: from %lld to %lld, expected 0 to %lld", offsets->name,
                          (long long)gnn__array_int(offsets, 0),
                          (long long)gnn__array_int(offsets, count), (long long)names->count);
    return GNN_OK;
}

static int copy_name(char **to, const gnn_array_t *names, const gnn_array_t *offsets, int64_t c,
                     const char *what)
{
    int64_t from = gnn__array_int(offsets, c), end = gnn__array_int(offsets, c + 1);
    if (from < 0 || end < from || end > names->count)
        return gnn__error(GNN_EFORMAT, "%s: %s %lld from %lld to %lld, %s holds %lld",
                          offsets->name, what, (long long)c, (long long)from, (long long)end,
                          names->name, (long long)names->count);
    const char *name = (const char *)names->data + from;
    if (!gnn__is_name(name, end - from))
        return gnn__error(GNN_EFORMAT, "%s: the name of %s %lld is not UTF-8 text", names->name,
                          what, (long long)c);
    memcpy(*to, name, (size_t)(end - from));
    *to += end - from + 1;
    return GNN_OK;
}

int gnn__read_names(char ***names, int64_t least, int64_t *count, const gnn_arrays_t *arrays,
                    const char *const list[3])
{
    const gnn_array_t *text = gnn_arrays_find(arrays, list[1]);
    const gnn_array_t *offsets = gnn_arrays_find(arrays, list[2]);
    char *at;
    *count = 0;
    if (!text)
        return GNN_OK;
    GNN_TRY(check_arrays(text, offsets, list[2]));
    *count = offsets->count - 1;
    if (*count < least)
        return gnn__error(GNN_EFORMAT, "%s: %lld names, at least %lld are expected", list[2],
                          (long long)*count, (long long)least);
    GNN_TRY(gnn__new_names(names, *count, text->count, &at));
    for (int64_t c = 0; c < *count; c++) {
        (*names)[c] = at;
        GNN_TRY(copy_name(&at, text, offsets, c, list[0]));
    }
    return GNN_OK;
}

int gnn__data_read_class_names(gnn_data_t *data, const gnn_arrays_t *arrays)
{
    static const char *const list[] = {"class", "class_names", "class_name_offsets"};
    int64_t count;
    if (gnn_data_label_kind(data) > GNN_LABELS_CLASSES)
        return GNN_OK;
    GNN_TRY(gnn__read_names(&data->class_names, data->classes, &count, arrays, list));
    data->classes = data->class_names ? count : data->classes;
    return GNN_OK;
}
