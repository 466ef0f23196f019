/* A graph prediction set of the Open Graph Benchmark as its zip unpacks (Hu et al. 2020):
 * raw/{num-node-list,num-edge-list} have a count per graph, raw/{edge,node-feat,edge-feat} the
 * concatenated lines of all graphs, raw/graph-label one line per graph, split/SCHEME/ indices of
 * graphs. Edges have node indices within their graph. */
#include <lib/data/many.h>
#include <lib/data/ogb_parts.h>

#include <lib/data/arrays/arrays.h>

/* Integers below this are classes. Nodes without features and edges are bounded by the bytes of
 * their count, and this many are always allowed. */
enum { MOST_CLASSES = 1000, FREE_NODES = 1024 };

typedef struct reader {
    const char *folder;
    const gnn_limits_t *limits;
    gnn__many_t many;
    int64_t *edges; /* (graphs) lines of edge */
} reader_t;

int gnn__data_ogb_is_many(const char *folder, const gnn_limits_t *limits, bool *many)
{
    gnn__text_t text;
    bool there;
    GNN_TRY(gnn__ogb_has_part(folder, "raw/graph-label", many));
    if (*many)
        return GNN_OK;
    GNN_TRY(gnn__ogb_has_part(folder, "raw/node-label", &there));
    if (there)
        return GNN_OK;
    GNN_TRY(gnn__ogb_has_part(folder, "raw/num-node-list", &there));
    if (!there)
        return GNN_OK;
    GNN_TRY(gnn__ogb_open_part(&text, folder, "raw/num-node-list", limits));
    *many = gnn__text_count_lines(&text) > 1;
    gnn__text_free(&text);
    return GNN_OK;
}

/* ---- counts of nodes and edges ---- */

/* Bounds of a list of counts, and their source. */
typedef struct bound {
    const char *of;
    int64_t least, most; /* lower bound of each, upper bound of the sum */
    bool exact;          /* the sum is exactly `most` */
    char from[80];
} bound_t;

static int read_counts(gnn__text_t *text, const bound_t *bound, int64_t **counts, int64_t *graphs,
                       int64_t *sum)
{
    gnn__text_field_t field;
    int64_t count;
    *graphs = *sum = 0;
    GNN_TRY(gnn__new(counts, gnn__text_count_lines(text), sizeof **counts, bound->of));
    while (gnn__text_line(text)) {
        GNN_TRY(gnn__ogb_only_field(text, &field));
        GNN_TRY(gnn__text_integer(text, &field, "an integer", &count));
        if (count < bound->least)
            return gnn__text_error(
                text, &field, GNN_EFORMAT, "%lld %s of graph %lld, at least %lld is expected",
                (long long)count, bound->of, (long long)*graphs, (long long)bound->least);
        if (count > bound->most - *sum)
            return gnn__text_error(
                text, &field, GNN_EFORMAT, "%lld %s of graph %lld after %lld of those before, %s",
                (long long)count, bound->of, (long long)*graphs, (long long)*sum, bound->from);
        (*counts)[(*graphs)++] = count;
        *sum += count;
    }
    return bound->exact && *sum != bound->most
               ? gnn__error(GNN_EFORMAT, "%s: %lld %s in all, %s", text->name, (long long)*sum,
                            bound->of, bound->from)
               : GNN_OK;
}

/* Reads lines of equally many reals. *values remains NULL if there is no such file. */
static int read_optional(const reader_t *r, const char *part, gnn_real_t **values, int64_t *rows,
                         int64_t *cols)
{
    gnn__text_t text;
    bool there;
    *rows = 0;
    GNN_TRY(gnn__ogb_has_part(r->folder, part, &there));
    if (!there)
        return GNN_OK;
    GNN_TRY(gnn__ogb_open_part(&text, r->folder, part, r->limits));
    int rc = gnn__text_matrix(&text, false, values, rows, cols);
    gnn__text_free(&text);
    return rc;
}

/* Sizes of the graphs: in total the lines of features or, without features, at most the bytes of
 * the texts. */
static int read_nodes(reader_t *r, const gnn__text_t *edge)
{
    gnn__many_t *m = &r->many;
    bound_t bound = {.of = "nodes", .least = 1};
    gnn__text_t text;
    GNN_TRY(read_optional(r, "raw/node-feat", &m->nodes_x, &bound.most, &m->node_cols));
    GNN_TRY(gnn__ogb_open_part(&text, r->folder, "raw/num-node-list", r->limits));
    bound.exact = m->nodes_x != NULL;
    if (!bound.exact)
        bound.most = edge->size + text.size + FREE_NODES;
    snprintf(bound.from, sizeof bound.from,
             bound.exact ? "node-feat has %lld lines" : "edge and num-node-list tell of %lld at most",
             (long long)bound.most);
    int rc = read_counts(&text, &bound, &m->lengths, &m->graphs, &m->nodes);
    if (rc == GNN_OK && (m->graphs < 1 || m->nodes > INT32_MAX))
        rc = gnn__error(GNN_EFORMAT, "%s: %lld nodes of %lld graphs, 1 to %d nodes are expected",
                        text.name, (long long)m->nodes, (long long)m->graphs, INT32_MAX);
    gnn__text_free(&text);
    return rc;
}

/* Edge counts of the graphs. */
static int count_links(reader_t *r, const gnn__text_t *edge)
{
    bound_t bound = {.of = "edges", .most = gnn__text_count_lines(edge), .exact = true};
    gnn__text_t text;
    int64_t graphs;
    GNN_TRY(gnn__ogb_open_part(&text, r->folder, "raw/num-edge-list", r->limits));
    snprintf(bound.from, sizeof bound.from, "edge has %lld lines", (long long)bound.most);
    int rc = read_counts(&text, &bound, &r->edges, &graphs, &r->many.links);
    if (rc == GNN_OK && graphs != r->many.graphs)
        rc = gnn__error(GNN_EFORMAT, "%s: %lld lines, num-node-list has %lld", text.name,
                        (long long)graphs, (long long)r->many.graphs);
    gnn__text_free(&text);
    return rc;
}

/* ---- links ---- */

static int read_end(const gnn__many_t *m, const gnn__text_t *text, const gnn__text_field_t *field,
                    int64_t graph, int64_t first, int32_t *out)
{
    int64_t node;
    GNN_TRY(gnn__text_integer(text, field, "a node id", &node));
    if (node < 0 || node >= m->lengths[graph])
        return gnn__text_error(text, field, GNN_EFORMAT, "node %lld, graph %lld has %lld nodes",
                               (long long)node, (long long)graph, (long long)m->lengths[graph]);
    *out = (int32_t)(first + node);
    return GNN_OK;
}

static int fill_links(reader_t *r, gnn__text_t *edge)
{
    gnn__many_t *m = &r->many;
    gnn__text_field_t field[2];
    int64_t graph = 0, first = 0, left = r->edges[0];
    GNN_TRY(gnn__new(&m->a, m->links, sizeof *m->a, "links"));
    GNN_TRY(gnn__new(&m->b, m->links, sizeof *m->b, "links"));
    for (int64_t k = 0; k < m->links && gnn__text_line(edge); k++, left--) {
        for (; left == 0; left = r->edges[graph])
            first += m->lengths[graph++];
        GNN_TRY(gnn__ogb_two_fields(edge, field));
        GNN_TRY(read_end(m, edge, &field[0], graph, first, &m->a[k]));
        GNN_TRY(read_end(m, edge, &field[1], graph, first, &m->b[k]));
    }
    return GNN_OK;
}

static int read_links(reader_t *r)
{
    gnn__many_t *m = &r->many;
    gnn__text_t edge;
    int64_t rows;
    int rc;
    GNN_TRY(gnn__ogb_open_part(&edge, r->folder, "raw/edge", r->limits));
    GNN_CHECK(read_nodes(r, &edge));
    GNN_CHECK(count_links(r, &edge));
    GNN_CHECK(fill_links(r, &edge));
    GNN_CHECK(read_optional(r, "raw/edge-feat", &m->links_x, &rows, &m->link_cols));
    if (m->links_x && rows != m->links)
        GNN_CHECK(gnn__error(GNN_EFORMAT, "edge-feat: %lld lines, edge has %lld", (long long)rows,
                             (long long)m->links));
done:
    gnn__text_free(&edge);
    return rc;
}

/* ---- labels ---- */

/* nan or empty, as pandas writes a missing label. */
static bool is_missing(const gnn__text_field_t *field)
{
    return field->length == 0 ||
           (gnn__field_kind(field) == GNN__NOT_FINITE && strchr("nN", field->at[field->length - 1]));
}

static int refuse_missing(gnn__text_t *text)
{
    gnn__text_field_t field;
    while (gnn__text_line(text))
        for (;;) {
            GNN_TRY(gnn__text_field(text, &field));
            if (!field.at)
                break;
            if (is_missing(&field))
                return gnn__text_error(text, &field, GNN_EUNSUPPORTED,
                                       "a number is expected, got %s: labels that are missing are "
                                       "not read",
                                       gnn__field_shown(&field));
        }
    gnn__text_rewind(text);
    return GNN_OK;
}

/* A single column of small integers also gives classes. */
static int take_classes(gnn__many_t *m)
{
    if (m->target_cols != 1)
        return GNN_OK;
    for (int64_t g = 0; g < m->graphs; g++)
        if (!(m->targets[g] >= 0 && m->targets[g] < MOST_CLASSES &&
              m->targets[g] == (gnn_real_t)(int)m->targets[g]))
            return GNN_OK;
    GNN_TRY(gnn__new(&m->labels, m->graphs, sizeof *m->labels, "labels"));
    for (int64_t g = 0; g < m->graphs; g++)
        m->labels[g] = (int64_t)m->targets[g];
    return GNN_OK;
}

static int read_labels(reader_t *r)
{
    gnn__many_t *m = &r->many;
    gnn__text_t text;
    int64_t rows;
    GNN_TRY(gnn__ogb_open_part(&text, r->folder, "raw/graph-label", r->limits));
    int rc = refuse_missing(&text);
    if (rc == GNN_OK)
        rc = gnn__text_matrix(&text, false, &m->targets, &rows, &m->target_cols);
    if (rc == GNN_OK && rows != m->graphs)
        rc = gnn__error(GNN_EFORMAT, "%s: %lld lines, num-node-list has %lld", text.name,
                        (long long)rows, (long long)m->graphs);
    gnn__text_free(&text);
    return rc == GNN_OK ? take_classes(m) : rc;
}

/* ---- splits ---- */

typedef struct parts {
    int64_t graphs;
    int8_t *of; /* (graphs) GNN_TRAIN, GNN_VALIDATION, GNN_TEST, or -1 */
} parts_t;

static int mark(void *user, int part, gnn__text_t *text)
{
    const parts_t *parts = user;
    gnn__text_field_t field;
    int64_t graph;
    while (gnn__text_line(text)) {
        GNN_TRY(gnn__ogb_only_field(text, &field));
        GNN_TRY(gnn__text_integer(text, &field, "a graph id", &graph));
        if (graph < 0 || graph >= parts->graphs)
            return gnn__text_error(text, &field, GNN_EFORMAT, "graph %lld, there are %lld graphs",
                                   (long long)graph, (long long)parts->graphs);
        if (parts->of[graph] >= 0)
            return gnn__text_error(text, &field, GNN_EFORMAT,
                                   "graph %lld again, it is in %s; one part is expected",
                                   (long long)graph, gnn__ogb_scheme_parts[parts->of[graph]]);
        parts->of[graph] = (int8_t)part;
    }
    return GNN_OK;
}

/* The array split.SCHEME on graphs. */
static int read_scheme(gnn_data_t *data, const char *path)
{
    parts_t parts = {.graphs = gnn_data_graphs(data)};
    char *name = NULL;
    int rc;
    GNN_CHECK(gnn__asprintf(&name, "split.%s", gnn__file_name(path)));
    GNN_CHECK(gnn__new(&parts.of, parts.graphs, sizeof *parts.of, "a split"));
    memset(parts.of, -1, (size_t)parts.graphs);
    GNN_CHECK(gnn__ogb_scheme_read(path, data->limits, mark, &parts));
    GNN_CHECK(gnn_data_array_set(
        data, GNN_ON_GRAPHS,
        &(gnn_array_t){name, GNN_DTYPE_INT8, 1, {parts.graphs}, parts.graphs, parts.of}));
done:
    gnn_free(name);
    gnn_free(parts.of);
    return rc;
}

static int read_splits(gnn_data_t *data, const char *folder)
{
    gnn__ogb_schemes_t schemes = {0};
    int rc = gnn__ogb_schemes_list(&schemes, folder);
    for (int64_t s = 0; s < schemes.count && rc == GNN_OK; s++)
        rc = read_scheme(data, schemes.paths[s]);
    gnn__ogb_schemes_free(&schemes);
    return rc;
}

int gnn__data_read_ogb_graphs(gnn_data_t *data, const char *folder)
{
    reader_t r = {.folder = folder, .limits = data->limits};
    int rc;
    GNN_CHECK(read_links(&r));
    GNN_CHECK(read_labels(&r));
    GNN_CHECK(gnn__data_many(data, &r.many));
    GNN_CHECK(read_splits(data, folder));
done:
    gnn__many_free(&r.many);
    gnn_free(r.edges);
    return rc;
}
