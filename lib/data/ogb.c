/* A node prediction set of the Open Graph Benchmark as its zip unpacks (Hu et al. 2020):
 * raw/{edge,node-feat,node-label,num-node-list}.csv.gz and split/SCHEME/{train,valid,test}.csv.gz,
 * lines of integers and reals without headers. */
#include <lib/data/many.h>
#include <lib/data/ogb_parts.h>

#include <lib/data/arrays/arrays.h>

/* ---- labels, which determine the count of nodes ---- */

/* A class, as an integer or (as numpy does if a label is missing) a real; nan: unlabelled. */
static int read_label(const gnn__text_t *text, const gnn__text_field_t *field, int64_t most,
                      int32_t *out)
{
    gnn_real_t label;
    *out = -1;
    if (gnn__field_kind(field) == GNN__NOT_FINITE)
        return GNN_OK;
    GNN_TRY(gnn__text_real(text, field, "a class", &label));
    if (label < 0)
        return GNN_OK;
    if ((double)label >= (double)most || label != (gnn_real_t)(int64_t)label)
        return gnn__text_error(text, field, GNN_EFORMAT,
                               "a class is an integer less than %lld, got %s", (long long)most,
                               gnn__field_shown(field));
    *out = (int32_t)label;
    return GNN_OK;
}

static int read_classes(gnn_data_t *data, gnn__text_t *text)
{
    int64_t lines = gnn__text_count_lines(text);
    int64_t most = lines > GNN__MOST_CLASSES ? lines : GNN__MOST_CLASSES;
    gnn__text_field_t field;
    if (lines > INT32_MAX)
        return gnn__error(GNN_EFORMAT, "%s: %lld lines, at most %d nodes are possible", text->name,
                          (long long)lines, INT32_MAX);
    if (most > 1 << 24)
        most = 1 << 24; /* floats are exact for integers up to here */
    GNN_TRY(gnn__new(&data->labels, lines, sizeof *data->labels, "labels"));
    while (gnn__text_line(text)) {
        GNN_TRY(gnn__ogb_only_field(text, &field));
        GNN_TRY(read_label(text, &field, most, &data->labels[data->n]));
        if (data->labels[data->n] >= data->classes)
            data->classes = (int64_t)data->labels[data->n] + 1;
        data->n++;
    }
    return data->classes > 0 ? GNN_OK
                             : gnn__error(GNN_EFORMAT, "%s: no node has a class", text->name);
}

static int read_labels(gnn_data_t *data, const char *folder, gnn__text_t *text)
{
    bool taken;
    (void)folder;
    GNN_TRY(gnn__data_text_labels(data, text, false, &taken));
    return taken ? GNN_OK : read_classes(data, text);
}

static int read_count(gnn_data_t *data, const char *folder, gnn__text_t *text)
{
    (void)folder;
    gnn__text_field_t field;
    int64_t n;
    if (!gnn__text_line(text))
        return gnn__error(GNN_EFORMAT, "%s: no line holds a count of nodes", text->name);
    GNN_TRY(gnn__ogb_only_field(text, &field));
    GNN_TRY(gnn__text_integer(text, &field, "a count of nodes", &n));
    if (n != data->n)
        return gnn__text_error(text, &field, GNN_EFORMAT, "%lld nodes, node-label has %lld lines",
                               (long long)n, (long long)data->n);
    if (gnn__text_line(text))
        return gnn__text_error(text, NULL, GNN_EUNSUPPORTED,
                               "a second graph, sets of one graph are read");
    return GNN_OK;
}

/* ---- links, features ---- */

static int fill_links(const gnn_data_t *data, gnn__text_t *text, int32_t *a, int32_t *b, int64_t *m)
{
    gnn__text_field_t field[2];
    while (gnn__text_line(text)) {
        GNN_TRY(gnn__ogb_two_fields(text, field));
        GNN_TRY(gnn__text_node(text, &field[0], data->n, &a[*m]));
        GNN_TRY(gnn__text_node(text, &field[1], data->n, &b[*m]));
        (*m)++;
    }
    return GNN_OK;
}

/* Separate files on nodes and links in OGB's sets; those present become arrays of these names. */
static const struct {
    const char *part, *name;
    gnn_data_place_t place;
} others[] = {
    {"raw/edge-feat", "features", GNN_ON_EDGES}, {"raw/edge_weight", "weight", GNN_ON_EDGES},
    {"raw/edge_year", "year", GNN_ON_EDGES},     {"raw/edge_reltype", "reltype", GNN_ON_EDGES},
    {"raw/node_year", "year", GNN_ON_NODES},     {"raw/node_species", "species", GNN_ON_NODES},
};
enum { OTHERS = sizeof others / sizeof others[0] };

/* Reads `rows` lines of reals. On failure *values is NULL. */
static int read_matrix(gnn__text_t *text, const char *lines_of, int64_t rows, gnn_real_t **values,
                       int64_t *cols)
{
    int64_t found;
    int rc = gnn__text_matrix(text, false, values, &found, cols);
    if (rc == GNN_OK && found != rows)
        rc = gnn__error(GNN_EFORMAT, "%s: %lld lines, %s has %lld", text->name, (long long)found,
                        lines_of, (long long)rows);
    if (rc != GNN_OK) {
        gnn_free(*values);
        *values = NULL;
    }
    return rc;
}

/* Reads one of these files, of `rows` lines; array->data remains NULL if there is no such file. */
static int read_other(const char *folder, const gnn_limits_t *limits, int which, int64_t rows,
                      gnn_array_t *array)
{
    gnn__text_t text;
    gnn_real_t *values;
    int64_t cols;
    bool there;
    *array = (gnn_array_t){.name = others[which].name, .dtype = GNN__REAL_DTYPE};
    GNN_TRY(gnn__ogb_has_part(folder, others[which].part, &there));
    if (!there)
        return GNN_OK;
    GNN_TRY(gnn__ogb_open_part(&text, folder, others[which].part, limits));
    int rc = read_matrix(&text, others[which].place == GNN_ON_EDGES ? "edge" : "node-label", rows,
                         &values, &cols);
    gnn__text_free(&text);
    GNN_TRY(rc);
    array->ndim = cols == 1 ? 1 : 2;
    array->shape[0] = rows;
    array->shape[1] = cols == 1 ? 0 : cols;
    array->count = rows * cols;
    array->data = values;
    return GNN_OK;
}

static int take_links(gnn_data_t *data, const char *folder, gnn__data_links_t links)
{
    gnn_array_t arrays[OTHERS];
    int rc = GNN_OK;
    links.arrays = arrays;
    for (int k = 0; k < OTHERS && rc == GNN_OK; k++)
        if (others[k].place == GNN_ON_EDGES) {
            rc = read_other(folder, data->limits, k, links.m, &arrays[links.n_arrays]);
            links.n_arrays += rc == GNN_OK && arrays[links.n_arrays].data;
        }
    if (rc == GNN_OK)
        rc = gnn__data_links(data, &links);
    for (int64_t k = 0; k < links.n_arrays; k++)
        gnn_free((void *)arrays[k].data);
    return rc;
}

/* num-edge-list, which few sets lack, has the count of links. */
static int check_links(const gnn_data_t *data, const char *folder, int64_t m)
{
    gnn__text_t text;
    gnn__text_field_t field = {0};
    int64_t count = m;
    bool there;
    GNN_TRY(gnn__ogb_has_part(folder, "raw/num-edge-list", &there));
    if (!there)
        return GNN_OK;
    GNN_TRY(gnn__ogb_open_part(&text, folder, "raw/num-edge-list", data->limits));
    int rc = gnn__text_line(&text) ? gnn__ogb_only_field(&text, &field) : GNN_OK;
    if (rc == GNN_OK && field.at)
        rc = gnn__text_integer(&text, &field, "a count of edges", &count);
    if (rc == GNN_OK && count != m)
        rc = gnn__text_error(&text, &field, GNN_EFORMAT, "%lld edges, edge has %lld lines",
                             (long long)count, (long long)m);
    gnn__text_free(&text);
    return rc;
}

static int read_links(gnn_data_t *data, const char *folder, gnn__text_t *text)
{
    int64_t m = 0, lines = gnn__text_count_lines(text);
    int32_t *a = NULL, *b = NULL;
    int rc;
    GNN_CHECK(gnn__new(&a, lines, sizeof *a, "links"));
    GNN_CHECK(gnn__new(&b, lines, sizeof *b, "links"));
    GNN_CHECK(fill_links(data, text, a, b, &m));
    GNN_CHECK(check_links(data, folder, m));
    GNN_CHECK(take_links(data, folder, (gnn__data_links_t){.n = data->n, .m = m, .a = a, .b = b}));
done:
    gnn_free(a);
    gnn_free(b);
    return rc;
}

static int read_features(gnn_data_t *data, const char *folder, gnn__text_t *text)
{
    gnn_real_t *values;
    (void)folder;
    GNN_TRY(read_matrix(text, "node-label", data->n, &values, &data->features));
    data->x = gnn_tensor(values, data->n, data->features);
    return GNN_OK;
}

static int read_node_arrays(gnn_data_t *data, const char *folder)
{
    for (int k = 0; k < OTHERS; k++) {
        gnn_array_t array;
        if (others[k].place != GNN_ON_NODES)
            continue;
        GNN_TRY(read_other(folder, data->limits, k, data->n, &array));
        int rc = array.data ? gnn_data_array_set(data, GNN_ON_NODES, &array) : GNN_OK;
        gnn_free((void *)array.data);
        GNN_TRY(rc);
    }
    return GNN_OK;
}

/* ---- splits ---- */

/* Reads the masks of one split. */
typedef struct split {
    gnn_data_t *data;
    int64_t number;
} split_t;

static int mark(void *user, int part, gnn__text_t *text)
{
    const split_t *split = user;
    const gnn_data_t *data = split->data;
    gnn__text_field_t field;
    int32_t node;
    while (gnn__text_line(text)) {
        GNN_TRY(gnn__ogb_only_field(text, &field));
        GNN_TRY(gnn__text_node(text, &field, data->n, &node));
        if (data->classes > 0 && data->labels[node] < 0)
            return gnn__text_error(text, &field, GNN_EFORMAT, "node %d has no class", (int)node);
        if (gnn__split_marks(data->split, part, split->number)[node])
            return gnn__text_error(text, &field, GNN_EFORMAT, "node %d is given twice", (int)node);
        gnn__split_marks(data->split, part, split->number)[node] = 1;
    }
    return GNN_OK;
}

static int read_splits(gnn_data_t *data, const char *folder)
{
    gnn__ogb_schemes_t schemes = {0};
    int rc = gnn__ogb_schemes_list(&schemes, folder);
    if (rc == GNN_OK)
        rc = schemes.count > 0 ? gnn_split_new(&data->split, data->n, schemes.count)
                               : gnn__data_default_split(data, 0);
    for (int64_t s = 0; s < schemes.count && rc == GNN_OK; s++)
        rc = gnn__ogb_scheme_read(schemes.paths[s], data->limits, mark, &(split_t){data, s});
    gnn__ogb_schemes_free(&schemes);
    return rc;
}

/* ---- the set ---- */

static int read_part(gnn_data_t *data, const char *folder, const char *part,
                     int (*read)(gnn_data_t *, const char *, gnn__text_t *))
{
    gnn__text_t text;
    GNN_TRY(gnn__ogb_open_part(&text, folder, part, data->limits));
    int rc = read(data, folder, &text);
    gnn__text_free(&text);
    return rc;
}

static int read_parts(gnn_data_t *data, const char *path)
{
    GNN_TRY(read_part(data, path, "raw/node-label", read_labels));
    GNN_TRY(read_part(data, path, "raw/num-node-list", read_count));
    GNN_TRY(read_part(data, path, "raw/edge", read_links));
    GNN_TRY(read_part(data, path, "raw/node-feat", read_features));
    GNN_TRY(read_node_arrays(data, path));
    return read_splits(data, path);
}

int gnn__data_read_ogb(gnn_data_t *data, const char *path)
{
    char *raw;
    bool many;
    GNN_TRY(gnn__asprintf(&raw, "%s/raw", path));
    bool there;
    const int rc = gnn__file_there(&there, raw);
    gnn_free(raw);
    GNN_TRY(rc);
    if (!there)
        return gnn__error(GNN_EIO,
                          "%s: is a folder, expected a file, OGB's folder with raw/edge.csv.gz, TU "
                          "Dortmund's with NAME_A.txt, Geom-GCN's with out1_*.txt, LINQS' with "
                          "NAME.content or a partition's with partition.json",
                          path);
    GNN_TRY(gnn__data_ogb_is_many(path, data->limits, &many));
    if (many)
        return gnn__data_read_ogb_graphs(data, path);
    const int read = read_parts(data, path);
    return read == GNN_OK || read == GNN_EIO ? read : gnn__error_prefix(read, "%s", path);
}
