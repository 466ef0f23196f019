/* Data sets: release, completion, description. */
#include <lib/data/data.h>

#include <gnn/graph.h>
#include <stdarg.h>

void gnn__data_free_features(gnn_data_t *data)
{
    if (!data->borrowed_x) {
        gnn_free(data->x.data);
        gnn_free((void *)data->sparse.indptr);
        gnn_free((void *)data->sparse.indices);
        gnn_free((void *)data->sparse.values);
    }
    data->x = (gnn_tensor_t){0};
    data->sparse = (gnn_sparse_t){0};
    data->borrowed_x = false;
}

void gnn__data_free_rows(gnn_data_t *data)
{
    gnn_graph_free(data->graph);
    gnn__data_free_slots(data);
    gnn__data_free_features(data);
    if (!data->borrowed_labels)
        gnn_free(data->labels);
    gnn_split_free(data->split);
    gnn__data_free_arrays(data);
}

void gnn_data_free(gnn_data_t *data)
{
    if (!data)
        return;
    gnn__data_free_rows(data);
    gnn_free(data->order);
    gnn_free(data->edge_order);
    gnn__free_names(&data->class_names);
    gnn__free_names(&data->node_names);
    gnn_free(data->name);
    gnn_free(data->unread);
    if (data->rank)
        gnn_free(data->rank->book);
    gnn_free(data->rank);
    if (data->owner.release)
        data->owner.release(data->owner.user);
    gnn_free(data);
}

int gnn__data_fill_rest(gnn_data_t *data)
{
    gnn_real_t *nothing;
    if (!data->x.data && !data->sparse.indptr) {
        GNN_TRY(gnn__new(&nothing, 0, sizeof *nothing, "features"));
        data->x = gnn_tensor(nothing, data->n, 0);
    }
    if (!data->labels) {
        GNN_TRY(gnn__new(&data->labels, data->n, sizeof *data->labels, "labels"));
        for (int64_t i = 0; i < data->n; i++)
            data->labels[i] = -1;
    }
    return gnn_split_new(&data->split, data->n, 1);
}

int gnn__data_bare(gnn_data_t *data, const gnn__data_links_t *links)
{
    data->n = links->n;
    GNN_TRY(gnn__data_links(data, links));
    return gnn__data_fill_rest(data);
}

int gnn__data_one_hot(gnn_data_t *data, const int32_t *column, int64_t cols)
{
    const int64_t n = data->n;
    int64_t *indptr;
    int32_t *indices;
    gnn_real_t *values;
    data->features = data->sparse.cols = cols;
    data->sparse.rows = n;
    GNN_TRY(gnn__new(&indptr, n + 1, sizeof *indptr, "features"));
    data->sparse.indptr = indptr;
    GNN_TRY(gnn__new(&indices, n, sizeof *indices, "features"));
    data->sparse.indices = indices;
    GNN_TRY(gnn__new(&values, n, sizeof *values, "features"));
    data->sparse.values = values;
    for (int64_t i = 0; i < n; i++) {
        indptr[i + 1] = i + 1;
        indices[i] = column ? column[i] : (int32_t)i;
        values[i] = 1;
    }
    return GNN_OK;
}

/* ---- in words ---- */

enum { SHOWN = 40 }; /* characters of a name */

static bool is_noted(const char *list, const char *name)
{
    const size_t length = strnlen(name, SHOWN);
    for (const char *at = list, *comma; at; at = comma ? comma + 2 : NULL) {
        comma = strstr(at, ", ");
        if ((comma ? (size_t)(comma - at) : strlen(at)) == length && strncmp(at, name, length) == 0)
            return true;
    }
    return false;
}

int gnn__data_note_unread(gnn_data_t *data, const char *name)
{
    char *longer;
    if (data->unread && (strlen(data->unread) > 160 || is_noted(data->unread, name)))
        return GNN_OK;
    GNN_TRY(gnn__asprintf(&longer, "%s%s%.*s", data->unread ? data->unread : "",
                          data->unread ? ", " : "", SHOWN, name));
    gnn_free(data->unread);
    data->unread = longer;
    return GNN_OK;
}

typedef struct words {
    char *text;
    size_t size, at;
} words_t;

static void say(words_t *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(words_t *w, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int n = w->at < w->size ? vsnprintf(w->text + w->at, w->size - w->at, format, arguments) : 0;
    va_end(arguments);
    w->at += n > 0 ? (size_t)n : 0;
}

/* 10556 -> 10,556 */
static void say_number(words_t *w, int64_t number)
{
    int64_t power = 1;
    while (number / power >= 1000)
        power *= 1000;
    say(w, "%lld", (long long)(number / power));
    for (power /= 1000; power > 0; power /= 1000)
        say(w, ",%03lld", (long long)(number / power % 1000));
}

static void say_count(words_t *w, int64_t number, const char *one, const char *many)
{
    say_number(w, number);
    say(w, " %s", number == 1 ? one : many);
}

static int64_t count_mask(const gnn_data_t *data, int kind)
{
    int64_t marked = 0;
    for (int64_t i = 0; i < data->n; i++)
        marked += data->split->masks[kind][i];
    return marked;
}

/* Class indices stored as reals? */
static bool may_be_classes(const gnn_tensor_t *targets)
{
    for (int64_t r = 0; r < targets->rows; r++)
        for (int64_t c = 0; c < targets->cols; c++) {
            const gnn_real_t value = gnn__row(targets, r)[c];
            if (value < 0 || value > 65536 || value != (gnn_real_t)(int64_t)value)
                return false;
        }
    return targets->cols == 1;
}

/* The kind its labels were read as. */
static void say_labels(words_t *w, const gnn_data_t *data)
{
    const gnn_tensor_t *targets = gnn_data_rows(data, GNN_ON_NODES, "targets");
    switch (gnn_data_label_kind(data)) {
    case GNN_LABELS_SEVERAL:
        say_count(w, targets->cols, "label of 0 or 1 per node; ", "labels of 0 or 1 per node; ");
        break;
    case GNN_LABELS_REAL:
        say_count(w, targets->cols, "real value per node to predict",
                  "real values per node to predict");
        say(w, "%s; ", may_be_classes(targets) ? " (whole ones: integers would be classes)" : "");
        break;
    case GNN_LABELS_NONE: say(w, "no labels; "); break;
    default: say_count(w, data->classes, "class; ", "classes; ");
    }
}

/* Nodes in more than one part of the first split that has such nodes: measured on them, a model is
 * too good. */
static void say_overlap(words_t *w, const gnn_data_t *data)
{
    int64_t several = 0, split = -1;
    while (several == 0 && ++split < data->split->count)
        for (int64_t i = 0; i < data->n; i++)
            several += gnn__split_marks(data->split, GNN_TRAIN, split)[i] +
                           gnn__split_marks(data->split, GNN_VALIDATION, split)[i] +
                           gnn__split_marks(data->split, GNN_TEST, split)[i] >
                       1;
    if (several == 0)
        return;
    say(w, " (");
    say_count(w, several, "node", "nodes");
    if (split > 0)
        say(w, " in several parts of split %lld)", (long long)split);
    else
        say(w, " in several of these)");
}

static const char *const places[] = {
    [GNN_ON_NODES] = "nodes", [GNN_ON_EDGES] = "edges", [GNN_ON_GRAPHS] = "graphs"};

void gnn_data_describe(const gnn_data_t *data, char *text, size_t size)
{
    GNN__NEED_OR(data, );
    GNN__NEED_OR(text, );
    words_t w = {text, size, 0};
    if (!text || size == 0)
        return;
    text[0] = '\0';
    if (!data)
        return;
    const int64_t graphs = gnn__data_rows_on(data, GNN_ON_GRAPHS);
    say(&w, "%s: ", data->name);
    if (graphs > 1)
        say_count(&w, graphs, "graph, ", "graphs, ");
    say_count(&w, data->n, "node", "nodes");
    say(&w, data->node_names ? " with names, " : ", ");
    say_count(&w, gnn_graph_n_pairs(data->graph), "message", "messages");
    if (data->of_links)
        say(&w, data->directed ? " (links as stored)" : " (links both ways)");
    say(&w, ", ");
    say_number(&w, data->features);
    if (data->sparse.indptr) {
        say(&w, " sparse feature%s (", data->features == 1 ? "" : "s");
        say_number(&w, data->sparse.indptr[data->n]);
        say(&w, " stored), ");
    } else {
        say(&w, " dense feature%s, ", data->features == 1 ? "" : "s");
    }
    say_labels(&w, data);
    say_count(&w, data->split->count, "split: ", "splits, the first: ");
    say_count(&w, count_mask(data, GNN_TRAIN), "train, ", "train, ");
    say_count(&w, count_mask(data, GNN_VALIDATION), "validation, ", "validation, ");
    say_count(&w, count_mask(data, GNN_TEST), "test", "test");
    say_overlap(&w, data);
    const bool told = gnn_data_label_kind(data) > GNN_LABELS_CLASSES;
    for (int64_t k = 0; k < data->n_arrays; k++)
        if (!told || data->arrays[k].place != GNN_ON_NODES ||
            strcmp(data->arrays[k].array.name, "targets") != 0)
            say(&w, "; %s on %s", data->arrays[k].array.name, places[data->arrays[k].place]);
    if (data->skipped > 0) {
        say(&w, "; ");
        say_count(&w, data->skipped, "link to an unknown node was left out",
                  "links to unknown nodes were left out");
    }
    if (data->unread)
        say(&w, "; not read: %s", data->unread);
}
