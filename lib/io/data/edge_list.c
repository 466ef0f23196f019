/* Edge lists: two node ids per line, from 0, and optionally a weight; a first line may name the
 * columns. Not read by igraph, which supports neither comments nor weights and allocates memory for
 * any node id. */
#include <lib/io/data/many.h>

/* Ids with gaps are common, so there may be more nodes than links; memory remains bounded by the
 * file's size. */
enum { FREE_NODES = 1024 };

typedef struct links {
    int64_t n, m, most; /* largest node id + 1, links, limit of nodes for the file's size */
    int64_t room_a, room_b, room_weight;
    int32_t *a, *b;
    gnn_real_t *weight; /* 1 for lines without one */
} links_t;

static int node(const gnn__text_t *text, const gnn__text_field_t *field, const links_t *links,
                int32_t *out)
{
    int64_t number;
    GNN_TRY(gnn__text_integer(text, field, "a node's number of an edge list", &number));
    if (number < 0)
        return gnn__text_error(text, field, GNN_EFORMAT, "node %lld, node numbers start at 0",
                               (long long)number);
    if (number >= links->most)
        return gnn__text_error(text, field, GNN_EFORMAT,
                               "node %lld, a file of %lld bytes may name nodes below %lld",
                               (long long)number, (long long)text->size, (long long)links->most);
    *out = (int32_t)number;
    return GNN_OK;
}

static int read_link(links_t *links, gnn__text_t *text)
{
    gnn__text_field_t field[4];
    int fields = 0;
    gnn_real_t weight = 1;
    int32_t a, b;
    for (; fields < 4; fields++) {
        GNN_TRY(gnn__text_field(text, &field[fields]));
        if (!field[fields].at)
            break;
    }
    if (fields < 2 || fields > 3)
        return gnn__text_error(text, NULL, GNN_EFORMAT,
                               "two node numbers and perhaps a weight are expected, %s came "
                               "(an edge list with %s between its fields, by its first line)",
                               fields < 2 ? "one field" : "four fields or more",
                               text->delimiter == ' '   ? "blanks"
                               : text->delimiter == ',' ? "commas"
                               : text->delimiter == ';' ? "semicolons"
                                                        : "tabs");
    GNN_TRY(node(text, &field[0], links, &a));
    GNN_TRY(node(text, &field[1], links, &b));
    if (fields == 3)
        GNN_TRY(gnn__text_real(text, &field[2], "a weight", &weight));
    GNN_TRY(gnn__room(&links->a, links->m, &links->room_a, sizeof *links->a, "links"));
    GNN_TRY(gnn__room(&links->b, links->m, &links->room_b, sizeof *links->b, "links"));
    GNN_TRY(gnn__room(&links->weight, links->m, &links->room_weight, sizeof weight, "weights"));
    links->weight[links->m] = weight;
    links->a[links->m] = a;
    links->b[links->m++] = b;
    int32_t larger = a > b ? a : b;
    if (larger >= links->n)
        links->n = (int64_t)larger + 1;
    return GNN_OK;
}

/* Skips a first line of the usual column names, with or without "weight". */
static void pass_header(gnn__text_t *text)
{
    static const char *const pairs[][2] = {{"source", "target"}, {"src", "dst"},
                                           {"from", "to"},       {"sender", "receiver"},
                                           {"u", "v"},           {"node1", "node2"},
                                           {"node_1", "node_2"}, {"id1", "id2"},
                                           {"id_1", "id_2"},     {"fromnodeid", "tonodeid"}};
    gnn__text_field_t field[4] = {{0}};
    bool header = false;
    if (gnn__text_line(text)) {
        gnn__text_guess_delimiter(text, ";,", ' ');
        for (int k = 0; k < 4 && gnn__text_field(text, &field[k]) == GNN_OK && field[k].at;)
            k++;
        for (size_t k = 0; k < sizeof pairs / sizeof *pairs && !header; k++)
            header = gnn__field_is(&field[0], pairs[k][0]) && gnn__field_is(&field[1], pairs[k][1]) &&
                     (!field[2].at || gnn__field_is(&field[2], "weight")) && !field[3].at;
    }
    if (!header)
        gnn__text_rewind(text);
}

static int read_links(links_t *links, gnn__text_t *text)
{
    text->comments = "#%";
    pass_header(text);
    links->most = text->size + FREE_NODES < INT32_MAX ? text->size + FREE_NODES : INT32_MAX;
    while (gnn__text_line(text)) {
        if (links->m == 0)
            gnn__text_guess_delimiter(text, ";,", ' ');
        GNN_TRY(read_link(links, text));
    }
    return links->m > 0 ? GNN_OK : gnn__error(GNN_EFORMAT, "%s: no line holds a link", text->name);
}

/* Is the first line a single integer? A set of many graphs begins with their count; a link has two
 * ids. */
static bool begins_with_count(gnn__text_t *text)
{
    gnn__text_field_t first, second;
    text->comments = "#%";
    text->delimiter = ' ';
    bool alone = gnn__text_line(text) && gnn__text_field(text, &first) == GNN_OK &&
                 gnn__text_field(text, &second) == GNN_OK && !second.at &&
                 gnn__field_kind(&first) == GNN__INTEGER;
    gnn__text_rewind(text);
    return alone;
}

int gnn__data_read_edge_list(gnn_data_t *data, const char *path)
{
    gnn__text_t text;
    links_t links = {0};
    GNN_TRY(gnn__text_open_limits(&text, path, data->limits));
    const bool matrix = gnn__data_is_matrix_market(&text);
    if (matrix || begins_with_count(&text)) {
        int other =
            matrix ? gnn__data_read_matrix_market(data, &text) : gnn__data_read_dai(data, &text);
        gnn__text_free(&text);
        return other;
    }
    int rc = read_links(&links, &text);
    if (rc == GNN_OK) {
        const gnn_array_t weight = gnn__data_weights(links.weight, links.m);
        rc = gnn__data_bare(
            data, &(gnn__data_links_t){.n = links.n,
                                       .m = links.m,
                                       .a = links.a,
                                       .b = links.b,
                                       .n_arrays = !gnn__data_all_one(links.weight, links.m),
                                       .arrays = &weight});
    }
    gnn__text_free(&text);
    gnn_free(links.a);
    gnn_free(links.b);
    gnn_free(links.weight);
    return rc;
}
