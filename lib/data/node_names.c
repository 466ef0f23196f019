/* Names of nodes: words of a text become node ids by first appearance. They are sorted, not hashed,
 * so that no choice of names makes it slow. */
#include <lib/data/data.h>

#include <lib/data/arrays/arrays.h>
#include <stdlib.h>

/* One appearance of a name: known names first, then the fields in order. */
typedef struct appearance {
    const char *at;
    int64_t length, index;
} appearance_t;

static int compare_names(const appearance_t *a, const appearance_t *b)
{
    const int64_t shorter = a->length < b->length ? a->length : b->length;
    const int order = memcmp(a->at, b->at, (size_t)shorter);
    return order ? order : (a->length > b->length) - (a->length < b->length);
}

static int compare(const void *a, const void *b)
{
    const appearance_t *left = a, *right = b;
    const int order = compare_names(left, right);
    return order ? order : (left->index > right->index) - (left->index < right->index);
}

/* ---- fields ---- */

static bool has_doubled_quote(const gnn__text_field_t *field)
{
    return field->quoted && memchr(field->at, '"', (size_t)field->length);
}

/* A delimiter of another kind inside a name is a line of another form, unless it is quoted. */
static bool has_delimiter(const gnn__text_t *text, const gnn__text_field_t *field)
{
    for (int64_t k = 0; !field->quoted && k < field->length; k++)
        if (field->at[k] != text->delimiter && strchr("\t,;", field->at[k]))
            return true;
    return false;
}

static int check_name(const gnn__text_t *text, const gnn__text_field_t *field)
{
    if (field->length == 0 || (!field->quoted && gnn__field_missing(field)))
        return gnn__text_error(text, field, GNN_EFORMAT, "the name of a node is expected, got %s%s",
                               gnn__field_shown(field),
                               field->length > 0 ? " (in quotes it is a name)" : "");
    if (has_delimiter(text, field))
        return gnn__text_error(text, field, GNN_EFORMAT,
                               "the name of a node is expected, got %s, which has another "
                               "delimiter than the first line (in quotes it is a name)",
                               gnn__field_shown(field));
    if (!gnn__is_name(field->at, field->length))
        return gnn__text_error(text, field, GNN_EFORMAT,
                               "the name of a node in UTF-8 is expected, got %s",
                               gnn__field_shown(field));
    return GNN_OK;
}

/* Copies a quoted field with its doubled quotes single: the text may be read again. */
static void unquote(appearance_t *a, const gnn__text_field_t *field, char **pool)
{
    gnn__text_field_t copy = *field;
    copy.at = *pool;
    memcpy(copy.at, field->at, (size_t)field->length);
    gnn__field_unquote(&copy);
    a->at = copy.at;
    a->length = copy.length;
    *pool += copy.length;
}

static int list_appearances(appearance_t *list, char *const *names, int64_t known,
                            const gnn__text_t *text, const gnn__text_field_t *fields, int64_t count,
                            char *pool)
{
    for (int64_t k = 0; k < known; k++)
        list[k] = (appearance_t){names[k], (int64_t)strlen(names[k]), k};
    for (int64_t k = 0; k < count; k++) {
        GNN_TRY(check_name(text, &fields[k]));
        list[known + k] = (appearance_t){fields[k].at, fields[k].length, known + k};
        if (has_doubled_quote(&fields[k]))
            unquote(&list[known + k], &fields[k], &pool);
    }
    return GNN_OK;
}

/* ---- ids ---- */

/* first[k]: the first appearance of the name of appearance k. */
static void find_first(int64_t *first, const appearance_t *sorted, int64_t all)
{
    for (int64_t k = 0; k < all; k++) {
        const bool fresh = k == 0 || compare_names(&sorted[k - 1], &sorted[k]) != 0;
        first[sorted[k].index] = fresh ? sorted[k].index : first[sorted[k - 1].index];
    }
}

/* Known names that repeat do not tell their nodes apart. */
static int check_known(const appearance_t *list, const int64_t *first, int64_t known,
                       const gnn__text_t *text)
{
    for (int64_t k = 0; k < known; k++)
        if (first[k] != k)
            return gnn__error(GNN_EFORMAT, "%s: ids by name, but nodes %lld and %lld are both %.80s",
                              text->name, (long long)first[k], (long long)k, list[k].at);
    return GNN_OK;
}

/* The names with new ones appended; *more stays NULL without new ones. */
static int append(char ***more, int64_t *n_more, const appearance_t *list, const int64_t *first,
                  int64_t known, int64_t all)
{
    int64_t bytes = 0, count = known;
    char *at;
    for (int64_t k = 0; k < all; k++) {
        bytes += k < known || first[k] == k ? list[k].length : 0;
        count += k >= known && first[k] == k;
    }
    *n_more = count;
    if (count == known)
        return GNN_OK;
    GNN_TRY(gnn__new_names(more, count, bytes, &at));
    count = 0;
    for (int64_t k = 0; k < all; k++) {
        if (k >= known && first[k] != k)
            continue;
        (*more)[count++] = at;
        memcpy(at, list[k].at, (size_t)list[k].length);
        at += list[k].length + 1;
    }
    return GNN_OK;
}

/* A field whose name appears for the first time gets the next id, others that of the first;
 * `first` is overwritten by the ids. */
static void number(int64_t *node, int64_t *first, int64_t known, int64_t all)
{
    int64_t next = known;
    for (int64_t k = known; k < all; k++) {
        first[k] = first[k] == k ? next++ : first[first[k]];
        node[k - known] = first[k];
    }
}

int gnn__number_names(char ***more, int64_t *n_more, char *const *names, int64_t known,
                      const gnn__text_t *text, const gnn__text_field_t *fields, int64_t count,
                      int64_t *node)
{
    const int64_t all = known + count;
    appearance_t *list = NULL, *sorted = NULL;
    int64_t *first = NULL, quoted = 0;
    char *pool = NULL;
    int rc;
    for (int64_t k = 0; k < count; k++)
        quoted += has_doubled_quote(&fields[k]) ? fields[k].length : 0;
    GNN_CHECK(gnn__new(&list, all, sizeof *list, "names of nodes"));
    GNN_CHECK(gnn__new(&sorted, all, sizeof *sorted, "names of nodes"));
    GNN_CHECK(gnn__new(&first, all, sizeof *first, "names of nodes"));
    GNN_CHECK(gnn__new(&pool, quoted, 1, "names of nodes"));
    GNN_CHECK(list_appearances(list, names, known, text, fields, count, pool));
    memcpy(sorted, list, (size_t)all * sizeof *sorted);
    qsort(sorted, (size_t)all, sizeof *sorted, compare);
    find_first(first, sorted, all);
    GNN_CHECK(check_known(list, first, known, text));
    GNN_CHECK(append(more, n_more, list, first, known, all));
    number(node, first, known, all);
done:
    gnn_free(list);
    gnn_free(sorted);
    gnn_free(first);
    gnn_free(pool);
    return rc;
}

/* ---- of a set ---- */

int gnn__data_read_node_names(gnn_data_t *data, const gnn_arrays_t *arrays)
{
    static const char *const list[] = {"node", "names", "name_offsets"};
    int64_t count;
    if (!gnn_arrays_find(arrays, list[2]))
        return GNN_OK; /* an array of that name of another maker */
    GNN_TRY(gnn__read_names(&data->node_names, data->n, &count, arrays, list));
    if (data->node_names && count != data->n)
        return gnn__error(GNN_EFORMAT, "%s: %lld names, there are %lld nodes", list[2],
                          (long long)count, (long long)data->n);
    return GNN_OK;
}

const char *gnn_data_node_name(const gnn_data_t *data, int64_t row)
{
    GNN__NEED_OR(data, NULL);
    if (!data->node_names || row < 0 || row >= data->n)
        return NULL;
    return data->node_names[data->order ? data->order[row] : row];
}
