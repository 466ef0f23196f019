/* The text format of structure2vec for sets of graphs (Dai et al. 2016), also used by GIN and
 * DGCNN: the count of graphs; per graph a line "nodes class"; per node a line "tag degree
 * neighbours... [attributes...]", neighbours by their index within the graph. */
#include <lib/data/many.h>

/* Fields of a line as integers, then as reals. */
static int integer(gnn__text_t *text, const char *what, int64_t low, int64_t high, int64_t *out)
{
    gnn__text_field_t field;
    GNN_TRY(gnn__text_field(text, &field));
    if (!field.at)
        return gnn__text_error(text, NULL, GNN_EFORMAT, "the line ends where %s is expected", what);
    GNN_TRY(gnn__text_integer(text, &field, what, out));
    if (*out < low || *out > high)
        return gnn__text_error(text, &field, GNN_EFORMAT, "%s is %lld, expected %lld to %lld", what,
                               (long long)*out, (long long)low, (long long)high);
    return GNN_OK;
}

static int next_line(gnn__text_t *text, const char *what)
{
    return gnn__text_line(text)
               ? GNN_OK
               : gnn__error(GNN_EFORMAT, "%s: the file ends where %s is expected", text->name, what);
}

static int no_more(gnn__text_t *text)
{
    gnn__text_field_t field;
    GNN_TRY(gnn__text_field(text, &field));
    return field.at ? gnn__text_error(text, &field, GNN_EFORMAT, "%s is more than is expected",
                                      gnn__field_shown(&field))
                    : GNN_OK;
}

static int read_neighbours(gnn__many_t *m, gnn__text_t *text, int64_t first, int64_t nodes)
{
    int64_t degree, other;
    GNN_TRY(integer(text, "a degree", 0, text->size, &degree));
    for (int64_t k = 0; k < degree; k++) {
        GNN_TRY(integer(text, "a neighbour id", 0, nodes - 1, &other));
        GNN_TRY(gnn__room(&m->a, m->links, &m->room_a, sizeof *m->a, "links"));
        GNN_TRY(gnn__room(&m->b, m->links, &m->room_b, sizeof *m->b, "links"));
        m->a[m->links] = (int32_t)m->nodes;
        m->b[m->links++] = (int32_t)(first + other);
    }
    return GNN_OK;
}

/* Attributes after the neighbours, equally many on each line. */
static int read_attributes(gnn__many_t *m, gnn__text_t *text)
{
    int64_t cols = 0;
    for (gnn__text_field_t field;; cols++) {
        gnn_real_t value;
        const int64_t at = m->nodes * m->node_cols + cols;
        GNN_TRY(gnn__text_field(text, &field));
        if (!field.at)
            break;
        GNN_TRY(gnn__text_real(text, &field, "an attribute", &value));
        if (m->nodes > 0 && cols >= m->node_cols)
            return gnn__text_error(text, &field, GNN_EFORMAT,
                                   "the nodes before have %lld attributes", (long long)m->node_cols);
        GNN_TRY(gnn__room(&m->nodes_x, at, &m->room_x, sizeof *m->nodes_x, "attributes"));
        m->nodes_x[at] = value;
    }
    if (m->nodes == 0)
        m->node_cols = cols;
    return cols == m->node_cols ? GNN_OK
                                : gnn__text_error(text, NULL, GNN_EFORMAT,
                                                  "%lld attributes, the nodes before have %lld",
                                                  (long long)cols, (long long)m->node_cols);
}

static int read_graph(gnn__many_t *m, gnn__text_t *text)
{
    const int64_t first = m->nodes, most = gnn__min(text->size, INT32_MAX - first);
    int64_t nodes, label, tag;
    GNN_TRY(next_line(text, "the count of a graph's nodes and its class"));
    GNN_TRY(integer(text, "a count of nodes", 1, most, &nodes));
    GNN_TRY(integer(text, "a class", INT32_MIN, INT32_MAX, &label));
    GNN_TRY(no_more(text));
    GNN_TRY(gnn__room(&m->lengths, m->graphs, &m->room_lengths, sizeof *m->lengths, "graphs"));
    GNN_TRY(gnn__room(&m->labels, m->graphs, &m->room_labels, sizeof *m->labels, "graphs"));
    m->lengths[m->graphs] = nodes;
    m->labels[m->graphs++] = label;
    for (int64_t i = 0; i < nodes; i++) {
        GNN_TRY(next_line(text, "a node"));
        GNN_TRY(integer(text, "a node's tag", INT32_MIN, INT32_MAX, &tag));
        GNN_TRY(gnn__room(&m->tags, m->nodes, &m->room_tags, sizeof *m->tags, "tags"));
        m->tags[m->nodes] = tag;
        GNN_TRY(read_neighbours(m, text, first, nodes));
        GNN_TRY(read_attributes(m, text));
        m->nodes++;
    }
    return GNN_OK;
}

static int read_all(gnn__many_t *m, gnn__text_t *text)
{
    int64_t graphs;
    GNN_TRY(next_line(text, "a count of graphs"));
    GNN_TRY(integer(text, "a count of graphs", 1, text->size, &graphs));
    GNN_TRY(no_more(text));
    while (m->graphs < graphs)
        GNN_TRY(read_graph(m, text));
    return gnn__text_line(text)
               ? gnn__text_error(text, NULL, GNN_EFORMAT, "a line after the last of %lld graphs",
                                 (long long)graphs)
               : GNN_OK;
}

int gnn__data_read_dai(gnn_data_t *data, gnn__text_t *text)
{
    gnn__many_t many = {0};
    text->delimiter = ' ';
    int rc = read_all(&many, text);
    if (rc == GNN_OK)
        rc = gnn__data_many(data, &many);
    gnn__many_free(&many);
    return rc;
}
