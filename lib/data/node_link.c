/* JSON of networkx's node_link_data: {"nodes": [{"id": ...}], "links" or "edges": [{"source": ...,
 * "target": ..., "weight": ...}]}. Ids other than 0, 1, 2... become names. */
#include <lib/data/data.h>

#include <lib/data/arrays/json_text.h>
#include <math.h>

typedef struct list {
    const json_t *nodes, *links;
    const char *links_name;
    int64_t n, m;
    char *block;               /* the ids' texts */
    gnn__text_field_t *fields; /* (n + 2 m) of nodes, then of sources and targets */
    int64_t *number;           /* (n + 2 m) */
    char **names;
    gnn_real_t *weight;
    int32_t *a, *b;
} list_t;

static void free_list(list_t *l)
{
    gnn_free(l->block);
    gnn_free(l->fields);
    gnn_free(l->number);
    gnn__free_names(&l->names);
    gnn_free(l->weight);
    gnn_free(l->a);
    gnn_free(l->b);
}

/* The id of element k of a list; its text has room for 24 bytes, or is the string's own. */
static int id_of(gnn__text_field_t *field, char *room, const json_t *element, const char *list,
                 int64_t k, const char *key)
{
    const json_t *id = json_object_get(element, key);
    *field = (gnn__text_field_t){.at = room, .line = 1, .column = 1, .quoted = true};
    if (json_is_integer(id)) {
        field->length = snprintf(room, 24, "%lld", (long long)json_integer_value(id));
        return GNN_OK;
    }
    if (!json_is_string(id) || !gnn__is_name(json_string_value(id), (int64_t)json_string_length(id)))
        return gnn__error(GNN_EFORMAT, "%s[%lld]: %s: an integer or a text is expected", list,
                          (long long)k, key);
    field->at = (char *)(uintptr_t)json_string_value(id);
    field->length = (int64_t)json_string_length(id);
    return GNN_OK;
}

/* Keys that are not read, for the description: a kind or a time would change a model. */
static int note_unread(gnn_data_t *data, const json_t *object, const char *read)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        if (!gnn__list_has(read, key))
            GNN_TRY(gnn__data_note_unread(data, key));
    }
    return GNN_OK;
}

/* ---- parts ---- */

static int read_ids(list_t *l)
{
    GNN_TRY(gnn__new(&l->block, l->n + 2 * l->m, 24, "ids of nodes"));
    GNN_TRY(gnn__new(&l->fields, l->n + 2 * l->m, sizeof *l->fields, "ids of nodes"));
    for (int64_t k = 0; k < l->n; k++)
        GNN_TRY(id_of(&l->fields[k], l->block + 24 * k, json_array_get(l->nodes, (size_t)k),
                      "nodes", k, "id"));
    for (int64_t k = 0; k < 2 * l->m; k++)
        GNN_TRY(id_of(&l->fields[l->n + k], l->block + 24 * (l->n + k),
                      json_array_get(l->links, (size_t)(k / 2)), l->links_name, k / 2,
                      k % 2 ? "target" : "source"));
    return GNN_OK;
}

static int number_nodes(list_t *l, const gnn__text_t *text)
{
    int64_t count = 0;
    GNN_TRY(gnn__new(&l->number, l->n + 2 * l->m, sizeof *l->number, "nodes"));
    GNN_TRY(
        gnn__number_names(&l->names, &count, NULL, 0, text, l->fields, l->n + 2 * l->m, l->number));
    for (int64_t k = 0; k < l->n; k++)
        if (l->number[k] != k)
            return gnn__error(GNN_EFORMAT, "nodes[%lld]: the id %s is that of nodes[%lld], too",
                              (long long)k, gnn__field_shown(&l->fields[k]), (long long)l->number[k]);
    for (int64_t k = 0; k < 2 * l->m && count > l->n; k++)
        if (l->number[l->n + k] >= l->n)
            return gnn__error(GNN_EFORMAT, "%s[%lld]: %s is the id of no node", l->links_name,
                              (long long)k / 2, gnn__field_shown(&l->fields[l->n + k]));
    return GNN_OK;
}

static int weight_of(const list_t *l, int64_t k, gnn_real_t *out)
{
    const json_t *weight = json_object_get(json_array_get(l->links, (size_t)k), "weight");
    const bool has = json_object_get(json_array_get(l->links, 0), "weight") != NULL;
    *out = weight ? (gnn_real_t)json_number_value(weight) : 1;
    return has == !!weight && (!weight || json_is_number(weight)) && isfinite(*out)
               ? GNN_OK
               : gnn__error(GNN_EFORMAT,
                            "%s[%lld]: weight: each link has a finite number, or none has one",
                            l->links_name, (long long)k);
}

/* As directed, a link of an undirected graph is an edge in each direction. */
static int take_links(gnn_data_t *data, list_t *l, bool both)
{
    int64_t m = 0;
    GNN_TRY(gnn__new(&l->a, 2 * l->m, sizeof *l->a, "links"));
    GNN_TRY(gnn__new(&l->b, 2 * l->m, sizeof *l->b, "links"));
    GNN_TRY(gnn__new(&l->weight, 2 * l->m, sizeof *l->weight, "weights"));
    for (int64_t k = 0; k < l->m; k++) {
        const int64_t *ends = l->number + l->n + 2 * k;
        for (int back = 0; back < (both && ends[0] != ends[1] ? 2 : 1); back++) {
            l->a[m] = (int32_t)ends[back];
            l->b[m] = (int32_t)ends[!back];
            GNN_TRY(weight_of(l, k, &l->weight[m++]));
        }
    }
    const gnn_array_t weight = gnn__data_weights(l->weight, m);
    return gnn__data_bare(data, &(gnn__data_links_t){.n = l->n,
                                                     .m = m,
                                                     .a = l->a,
                                                     .b = l->b,
                                                     .n_arrays = !gnn__data_all_one(l->weight, m),
                                                     .arrays = &weight});
}

/* Ids 0, 1, 2... are those of the nodes anyway. */
static bool counts(const list_t *l)
{
    bool same = true;
    for (int64_t k = 0; k < l->n && same; k++) {
        const json_t *id = json_object_get(json_array_get(l->nodes, (size_t)k), "id");
        same = json_is_integer(id) && json_integer_value(id) == k;
    }
    return same;
}

/* ---- the set ---- */

static int find_lists(list_t *l, const json_t *root)
{
    l->nodes = json_object_get(root, "nodes");
    l->links_name = json_object_get(root, "links") ? "links" : "edges";
    l->links = json_object_get(root, l->links_name);
    if (!json_is_array(l->nodes) || !json_is_array(l->links) ||
        (json_object_get(root, "links") && json_object_get(root, "edges")) ||
        (json_array_size(l->links) > 0 && !json_object_get(json_array_get(l->links, 0), "source")))
        return gnn__error(GNN_EUNSUPPORTED,
                          "JSON is not read: but for that of networkx's node_link_data, which has "
                          "\"nodes\" and \"links\" or \"edges\"; save the arrays with numpy.savez, "
                          "under the names of docs/formats.md, and open that file");
    l->n = (int64_t)json_array_size(l->nodes);
    l->m = (int64_t)json_array_size(l->links);
    return l->n > 0 && l->n < INT32_MAX
               ? GNN_OK
               : gnn__error(GNN_EFORMAT, "nodes: there are %lld", (long long)l->n);
}

static int read_root(gnn_data_t *data, list_t *l, const json_t *root, const gnn__text_t *text)
{
    const json_t *directed = json_object_get(root, "directed");
    GNN_TRY(find_lists(l, root));
    if (directed && !json_is_boolean(directed))
        return gnn__error(GNN_EFORMAT, "directed: true or false is expected");
    GNN_TRY(read_ids(l));
    GNN_TRY(number_nodes(l, text));
    GNN_TRY(take_links(data, l, data->directed && !json_is_true(directed)));
    data->counted = true;
    if (!counts(l)) {
        data->node_names = l->names;
        l->names = NULL;
    }
    GNN_TRY(note_unread(data, root, "directed multigraph graph nodes links edges"));
    for (int64_t k = 0; k < l->n; k++)
        GNN_TRY(note_unread(data, json_array_get(l->nodes, (size_t)k), "id name label"));
    for (int64_t k = 0; k < l->m; k++)
        GNN_TRY(note_unread(data, json_array_get(l->links, (size_t)k),
                            "source target weight key id name label"));
    return GNN_OK;
}

int gnn__data_read_node_link(gnn_data_t *data, const char *path)
{
    gnn__text_t text;
    list_t list = {0};
    json_t *root = NULL;
    GNN_TRY(gnn__text_open_limits(&text, path, data->limits));
    int rc = gnn__json_parse(&root, text.data + text.start, text.size - text.start,
                             GNN__JSON_UNIQUE | GNN__JSON_WIDE, 4 * GNN__JSON_LEVELS);
    if (rc == GNN_OK)
        rc = read_root(data, &list, root, &text);
    if (rc != GNN_OK)
        rc = gnn__error_prefix(rc, "%s", text.name);
    free_list(&list);
    json_decref(root);
    gnn__text_free(&text);
    return rc;
}
