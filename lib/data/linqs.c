/* The LINQS format of Cora, Citeseer and WebKB (Sen et al. 2008, "Collective classification in
 * network data"): NAME.content has one line per node (id, features, class), NAME.cites one line per
 * link (two ids). Ids are strings; some links have ids of no node. */
#include <lib/data/data.h>

#include <limits.h>
#include <stdlib.h>

typedef struct node {
    gnn__text_field_t id;
    int32_t number;
} node_t;

typedef struct content {
    gnn__text_t text;
    node_t *nodes; /* sorted by id once all are read */
    gnn__text_field_t *classes;
    int64_t n, features, nnz;
    int64_t *indptr;
    int32_t *indices;
    gnn_real_t *values;
    int64_t indices_room, values_room;
} content_t;

static void free_content(content_t *c)
{
    gnn__text_free(&c->text);
    gnn_free(c->nodes);
    gnn_free(c->classes);
    gnn_free(c->indptr);
    gnn_free(c->indices);
    gnn_free(c->values);
}

/* ---- nodes ---- */

static int add_word(content_t *c, const gnn__text_field_t *field, int64_t column)
{
    gnn_real_t value;
    GNN_TRY(gnn__text_real(&c->text, field, "the value of a word", &value));
    if (value == 0)
        return GNN_OK;
    GNN_TRY(gnn__room(&c->indices, c->nnz, &c->indices_room, sizeof *c->indices, "features"));
    GNN_TRY(gnn__room(&c->values, c->nnz, &c->values_room, sizeof *c->values, "features"));
    c->indices[c->nnz] = (int32_t)column;
    c->values[c->nnz++] = value;
    return GNN_OK;
}

static int read_node(content_t *c)
{
    gnn__text_field_t id, field, next;
    int64_t column = 0;
    GNN_TRY(gnn__text_field(&c->text, &id));
    GNN_TRY(gnn__text_field(&c->text, &field));
    if (!field.at || id.length == 0)
        return gnn__text_error(&c->text, NULL, GNN_EFORMAT,
                               "a node's id, its words and its class are expected, got %s alone",
                               gnn__field_shown(&id));
    for (;; column++, field = next) {
        GNN_TRY(gnn__text_field(&c->text, &next));
        if (!next.at)
            break;
        GNN_TRY(add_word(c, &field, column));
    }
    if (c->n > 0 && column != c->features)
        return gnn__text_error(&c->text, NULL, GNN_EFORMAT, "%lld words, the nodes before have %lld",
                               (long long)column, (long long)c->features);
    if (column > INT32_MAX || c->n == INT32_MAX)
        return gnn__text_error(&c->text, NULL, GNN_EFORMAT, "more than %d nodes or words", INT32_MAX);
    c->features = column;
    c->nodes[c->n] = (node_t){id, (int32_t)c->n};
    c->classes[c->n++] = field;
    c->indptr[c->n] = c->nnz;
    return GNN_OK;
}

static int compare_ids(const void *a, const void *b)
{
    const gnn__text_field_t *left = &((const node_t *)a)->id, *right = &((const node_t *)b)->id;
    int64_t shorter = left->length < right->length ? left->length : right->length;
    int order = memcmp(left->at, right->at, (size_t)shorter);
    return order ? order : (left->length > right->length) - (left->length < right->length);
}

static int sort_nodes(content_t *c)
{
    qsort(c->nodes, (size_t)c->n, sizeof *c->nodes, compare_ids);
    for (int64_t k = 1; k < c->n; k++) {
        const gnn__text_field_t *a = &c->nodes[k - 1].id, *b = &c->nodes[k].id;
        if (compare_ids(&c->nodes[k - 1], &c->nodes[k]) == 0)
            return gnn__text_error(&c->text, a->line > b->line ? a : b, GNN_EFORMAT,
                                   "the node %s is there already, in line %lld", gnn__field_shown(a),
                                   (long long)(a->line > b->line ? b : a)->line);
    }
    return GNN_OK;
}

static int read_content(content_t *c, const char *path, const gnn_limits_t *limits)
{
    GNN_TRY(gnn__text_open_limits(&c->text, path, limits));
    int64_t lines = gnn__text_count_lines(&c->text);
    GNN_TRY(gnn__new(&c->nodes, lines, sizeof *c->nodes, "nodes"));
    GNN_TRY(gnn__new(&c->classes, lines, sizeof *c->classes, "classes"));
    GNN_TRY(gnn__new(&c->indptr, lines + 1, sizeof *c->indptr, "features"));
    while (gnn__text_line(&c->text)) {
        if (c->n == 0)
            gnn__text_guess_delimiter(&c->text, "\t", ' ');
        GNN_TRY(read_node(c));
    }
    if (c->n == 0)
        return gnn__error(GNN_EFORMAT, "%s: no line holds a node", c->text.name);
    return sort_nodes(c);
}

/* ---- links ---- */

/* Returns -1 if there is no such node. */
static int32_t find_node(const content_t *c, const gnn__text_field_t *id)
{
    const node_t key = {.id = *id};
    const node_t *found = bsearch(&key, c->nodes, (size_t)c->n, sizeof *c->nodes, compare_ids);
    return found ? found->number : -1;
}

static int read_link(const content_t *c, gnn__text_t *text, int32_t ends[2])
{
    gnn__text_field_t field[3];
    for (int k = 0; k < 3; k++)
        GNN_TRY(gnn__text_field(text, &field[k]));
    if (!field[1].at || field[2].at || field[0].length == 0 || field[1].length == 0)
        return gnn__text_error(text, NULL, GNN_EFORMAT, "two ids of nodes are expected, got %s",
                               field[2].at ? "more" : "fewer");
    ends[0] = find_node(c, &field[0]);
    ends[1] = find_node(c, &field[1]);
    return GNN_OK;
}

static int read_links(gnn_data_t *data, const content_t *c, gnn__text_t *text)
{
    int64_t m = 0, lines = gnn__text_count_lines(text);
    int32_t *a = NULL, *b = NULL, ends[2] = {-1, -1};
    int rc;
    GNN_CHECK(gnn__new(&a, lines, sizeof *a, "links"));
    GNN_CHECK(gnn__new(&b, lines, sizeof *b, "links"));
    while (gnn__text_line(text)) {
        if (m + data->skipped == 0)
            gnn__text_guess_delimiter(text, "\t", ' ');
        GNN_CHECK(read_link(c, text, ends));
        if (ends[0] < 0 || ends[1] < 0) {
            data->skipped++;
            continue;
        }
        a[m] = ends[0];
        b[m++] = ends[1];
    }
    if (m == 0 && data->skipped > 0)
        GNN_CHECK(gnn__error(GNN_EFORMAT, "%s: none of its %lld links is between two nodes of %s",
                             text->name, (long long)data->skipped, c->text.name));
    GNN_CHECK(gnn__data_links(data, &(gnn__data_links_t){.n = c->n, .m = m, .a = a, .b = b}));
done:
    gnn_free(a);
    gnn_free(b);
    return rc;
}

/* ---- the set ---- */

/* Ids in another encoding than UTF-8 do not become names. */
static int take_names(gnn_data_t *data, const content_t *c)
{
    const gnn__text_field_t **id;
    int64_t bytes = 0;
    bool names = true;
    char *at;
    GNN_TRY(gnn__new(&id, c->n, sizeof *id, "names"));
    for (int64_t k = 0; k < c->n; k++) {
        id[c->nodes[k].number] = &c->nodes[k].id;
        bytes += c->nodes[k].id.length;
        names = names && gnn__is_name(c->nodes[k].id.at, c->nodes[k].id.length);
    }
    const int rc = names ? gnn__new_names(&data->node_names, c->n, bytes, &at) : GNN_OK;
    for (int64_t k = 0; rc == GNN_OK && names && k < c->n; k++) {
        data->node_names[k] = at;
        memcpy(at, id[k]->at, (size_t)id[k]->length);
        at += id[k]->length + 1;
    }
    gnn_free(id);
    return rc;
}

static void take_features(gnn_data_t *data, content_t *c)
{
    data->n = c->n;
    data->features = c->features;
    data->sparse = (gnn_sparse_t){c->n, c->features, c->indptr, c->indices, c->values};
    c->indptr = NULL;
    c->indices = NULL;
    c->values = NULL;
}

static int fill(gnn_data_t *data, content_t *c, const char *content, const char *cites)
{
    gnn__text_t text;
    GNN_TRY(read_content(c, content, data->limits));
    if (!c->indices) { /* all words are 0; sparse features always have their arrays */
        GNN_TRY(gnn__new(&c->indices, 0, sizeof *c->indices, "features"));
        GNN_TRY(gnn__new(&c->values, 0, sizeof *c->values, "features"));
    }
    GNN_TRY(gnn__text_open_limits(&text, cites, data->limits));
    int rc = read_links(data, c, &text);
    gnn__text_free(&text);
    GNN_TRY(rc);
    GNN_TRY(gnn__new(&data->labels, c->n, sizeof *data->labels, "labels"));
    GNN_TRY(gnn__data_class_words(data, &c->text, c->classes, c->n, data->labels));
    GNN_TRY(take_names(data, c));
    take_features(data, c);
    return gnn__data_default_split(data, 0);
}

int gnn__data_read_linqs(gnn_data_t *data, const char *path)
{
    content_t c = {0};
    char *content = NULL, *cites = NULL;
    const char *dot = strrchr(path, '.');
    bool packed = dot && strcmp(dot, ".gz") == 0;
    size_t stem = packed ? (size_t)(dot - path) : strlen(path);
    int rc;
    while (stem > 0 && path[stem - 1] != '.')
        stem--;
    if (stem > INT_MAX)
        return gnn__error(GNN_EINVALID, "a path of %zu bytes", stem);
    GNN_CHECK(gnn__asprintf(&content, "%.*scontent%s", (int)stem, path, packed ? ".gz" : ""));
    GNN_CHECK(gnn__asprintf(&cites, "%.*scites%s", (int)stem, path, packed ? ".gz" : ""));
    GNN_CHECK(fill(data, &c, content, cites));
done:
    free_content(&c);
    gnn_free(content);
    gnn_free(cites);
    return rc;
}
