/* MatrixMarket's coordinate format: a header line, comments, a line of sizes, and one entry per
 * line with indices from 1. Row i of the matrix has the senders of receiver i, as in A x. Boisvert
 * et al. 1996. */
#include <lib/data/many.h>

/* Nodes without links take memory, too: their count is bounded by the size of the text. */
enum { FREE_NODES = 1024 };

typedef struct {
    bool valued, whole, symmetric;
    bool above, below; /* the diagonal: there are entries */
    int64_t n, entries;
    int64_t m, room_a, room_b, room_weight;
    int32_t *a, *b;
    gnn_real_t *weight;
} matrix_t;

bool gnn__data_is_matrix_market(const gnn__text_t *text)
{
    static const char head[] = "%MatrixMarket"; /* some collections write one % */
    const char *begin = text->data + text->start;
    begin += strncmp(begin, "%%", 2) == 0;
    return strncasecmp(begin, head, sizeof head - 1) == 0;
}

/* "%%MatrixMarket matrix coordinate FIELD SYMMETRY". */
static int read_head(matrix_t *x, gnn__text_t *text)
{
    gnn__text_field_t f[5];
    text->comments = "";
    text->delimiter = ' ';
    if (!gnn__text_line(text))
        return gnn__error(GNN_EFORMAT, "%s: is empty", text->name);
    for (int k = 0; k < 5; k++) {
        GNN_TRY(gnn__text_field(text, &f[k]));
        if (!f[k].at)
            return gnn__text_error(text, NULL, GNN_EFORMAT,
                                   "five words of MatrixMarket are expected, got %d", k);
    }
    text->comments = "%";
    if (!gnn__field_is(&f[1], "matrix") || !gnn__field_is(&f[2], "coordinate"))
        return gnn__text_error(text, &f[2], GNN_EUNSUPPORTED,
                               "a matrix in coordinates is expected of MatrixMarket, got %s",
                               gnn__field_shown(gnn__field_is(&f[1], "matrix") ? &f[2] : &f[1]));
    x->valued = !gnn__field_is(&f[3], "pattern");
    if (x->valued && !gnn__field_is(&f[3], "real") && !gnn__field_is(&f[3], "integer"))
        return gnn__text_error(text, &f[3], GNN_EUNSUPPORTED,
                               "pattern, real or integer is expected of MatrixMarket, got %s",
                               gnn__field_shown(&f[3]));
    x->whole = gnn__field_is(&f[3], "integer");
    x->symmetric = gnn__field_is(&f[4], "symmetric");
    if (!x->symmetric && !gnn__field_is(&f[4], "general"))
        return gnn__text_error(text, &f[4], GNN_EUNSUPPORTED,
                               "general or symmetric is expected of MatrixMarket, got %s",
                               gnn__field_shown(&f[4]));
    GNN_TRY(gnn__text_field(text, &f[0]));
    return f[0].at ? gnn__text_error(text, &f[0], GNN_EFORMAT,
                                     "five words of MatrixMarket are expected, got %s too",
                                     gnn__field_shown(&f[0]))
                   : GNN_OK;
}

static int read_sizes(matrix_t *x, gnn__text_t *text)
{
    gnn__text_field_t f[3];
    int64_t sizes[3];
    const int64_t most = gnn__min(text->size + FREE_NODES, INT32_MAX);
    if (!gnn__text_line(text))
        return gnn__error(GNN_EFORMAT, "%s: the line of sizes is missing", text->name);
    for (int k = 0; k < 3; k++) {
        GNN_TRY(gnn__text_field(text, &f[k]));
        if (!f[k].at)
            return gnn__text_error(text, NULL, GNN_EFORMAT,
                                   "rows, columns and entries are expected, got %d numbers", k);
        GNN_TRY(gnn__text_integer(text, &f[k], "a size of a matrix", &sizes[k]));
    }
    if (sizes[0] != sizes[1] || sizes[0] < 1)
        return gnn__text_error(text, &f[0], GNN_EFORMAT,
                               "%lld x %lld of MatrixMarket: a graph's matrix has a row and a "
                               "column per node",
                               (long long)sizes[0], (long long)sizes[1]);
    if (sizes[0] > most)
        return gnn__text_error(text, &f[0], GNN_EFORMAT,
                               "%lld nodes, a file of %lld bytes may name %lld",
                               (long long)sizes[0], (long long)text->size, (long long)most);
    x->n = sizes[0];
    x->entries = sizes[2];
    return GNN_OK;
}

static int add(matrix_t *x, int32_t a, int32_t b, gnn_real_t weight)
{
    GNN_TRY(gnn__room(&x->a, x->m, &x->room_a, sizeof *x->a, "links"));
    GNN_TRY(gnn__room(&x->b, x->m, &x->room_b, sizeof *x->b, "links"));
    GNN_TRY(gnn__room(&x->weight, x->m, &x->room_weight, sizeof weight, "weights"));
    x->a[x->m] = a;
    x->b[x->m] = b;
    x->weight[x->m++] = weight;
    return GNN_OK;
}

static int read_entry(matrix_t *x, gnn__text_t *text, bool directed)
{
    gnn__text_field_t f[4];
    int64_t ends[2];
    gnn_real_t weight = 1;
    int fields = 0;
    for (; fields < 4; fields++) {
        GNN_TRY(gnn__text_field(text, &f[fields]));
        if (!f[fields].at)
            break;
    }
    if (fields != 2 + x->valued)
        return gnn__text_error(text, NULL, GNN_EFORMAT, "%s expected of an entry, got %d",
                               x->valued ? "row, column and value are" : "row and column are",
                               fields);
    for (int k = 0; k < 2; k++) {
        GNN_TRY(gnn__text_integer(text, &f[k], "an index of a matrix", &ends[k]));
        if (ends[k] < 1 || ends[k] > x->n)
            return gnn__text_error(text, &f[k], GNN_EFORMAT, "index %lld, 1 to %lld are expected",
                                   (long long)ends[k], (long long)x->n);
    }
    if (x->valued)
        GNN_TRY(gnn__text_real(text, &f[2], "a weight", &weight));
    if (x->whole && gnn__field_kind(&f[2]) != GNN__INTEGER)
        return gnn__text_error(text, &f[2], GNN_EFORMAT,
                               "an integer is expected, as the first line declares, got %s",
                               gnn__field_shown(&f[2]));
    x->above = x->above || ends[0] < ends[1];
    x->below = x->below || ends[0] > ends[1];
    if (x->symmetric && x->above && x->below)
        return gnn__text_error(text, &f[0], GNN_EFORMAT,
                               "entries on one side of the diagonal are expected of a symmetric "
                               "matrix, this one is on the other");
    const int32_t row = (int32_t)(ends[0] - 1), column = (int32_t)(ends[1] - 1);
    GNN_TRY(add(x, column, row, weight));
    return directed && x->symmetric && row != column ? add(x, row, column, weight) : GNN_OK;
}

static int read_matrix(matrix_t *x, gnn__text_t *text, bool directed)
{
    int64_t entries = 0;
    GNN_TRY(read_head(x, text));
    GNN_TRY(read_sizes(x, text));
    for (; gnn__text_line(text); entries++)
        GNN_TRY(read_entry(x, text, directed));
    if (entries != x->entries)
        return gnn__error(GNN_EFORMAT,
                          "%s: expected %lld entries, the count in the line of sizes, got %lld",
                          text->name, (long long)x->entries, (long long)entries);
    return x->m > 0 ? GNN_OK : gnn__error(GNN_EFORMAT, "%s: there is no entry", text->name);
}

int gnn__data_read_matrix_market(gnn_data_t *data, gnn__text_t *text)
{
    matrix_t x = {0};
    int rc = read_matrix(&x, text, data->directed);
    if (rc == GNN_OK) {
        const gnn_array_t weight = gnn__data_weights(x.weight, x.m);
        data->counted = true;
        rc = gnn__data_bare(data, &(gnn__data_links_t){.n = x.n,
                                                       .m = x.m,
                                                       .a = x.a,
                                                       .b = x.b,
                                                       .n_arrays = !gnn__data_all_one(x.weight, x.m),
                                                       .arrays = &weight});
    }
    gnn_free(x.a);
    gnn_free(x.b);
    gnn_free(x.weight);
    return rc;
}
