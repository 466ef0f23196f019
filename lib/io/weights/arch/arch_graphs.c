/* Graphs that architectures run on: who hears whom among the rows of some sequences. */
#include <lib/io/weights/arch/arch.h>

typedef gnn__arch_sequences_t sequences_t;

/* Every row hears its whole sequence. */
static int complete(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    (void)width;
    return gnn_graph_complete(graph, s->count, s->lengths);
}

/* Every row hears itself and what is before it. */
static int causal(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    (void)width;
    return gnn_graph_causal(graph, s->count, s->lengths);
}

/* Every row hears so many rows to either side. */
static int window(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    return gnn_graph_window(graph, s->count, s->lengths, width, 1, GNN_OFF);
}

/* Every row hears itself and so many rows before it. */
static int causal_window(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    return gnn_graph_window(graph, s->count, s->lengths, width, 1, GNN_ON);
}

/* Rows of the decoder hear those before them. */
static int decoder(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    (void)width;
    return gnn_graph_causal(graph, s->count, s->decoder_lengths);
}

/* Rows of the decoder hear all of their sequence in the encoder. */
static int cross(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    (void)width;
    return gnn_graph_bipartite(graph, s->count, s->decoder_lengths, s->lengths);
}

/* One receiver for each sequence hears its rows from `first` on, so many at most; a negative first
 * counts from the end. */
static int readout(gnn_graph_t **graph, const sequences_t *s, int64_t first, int64_t most)
{
    int32_t *lo = NULL, *hi = NULL;
    int64_t at = 0;
    int rc;
    GNN_CHECK(gnn__new(&lo, s->count, sizeof *lo, "spans"));
    GNN_CHECK(gnn__new(&hi, s->count, sizeof *hi, "spans"));
    for (int64_t k = 0; k < s->count; k++) {
        const int64_t begin = first >= 0 ? first : gnn__max(s->lengths[k] + first, 0);
        const int64_t end = gnn__min(begin + most, s->lengths[k]);
        lo[k] = (int32_t)(at + gnn__min(begin, end));
        hi[k] = (int32_t)(at + end);
        at += s->lengths[k];
    }
    GNN_CHECK(gnn_graph_from_spans(graph, s->count, at, NULL, NULL, lo, hi));
done:
    gnn_free(lo);
    gnn_free(hi);
    return rc;
}

static int all(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    (void)width;
    return readout(graph, s, 0, INT32_MAX);
}

static int first(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    (void)width;
    return readout(graph, s, 0, 1);
}

static int last(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    (void)width;
    return readout(graph, s, -1, 1);
}

/* Runs of receivers; `fill` says what row p of a sequence of `length` rows hears: senders first
 * .. end - 1 of it. */
typedef void (*runs_t)(int64_t p, int64_t length, int64_t width, int64_t *first, int64_t *end);

static int by_runs(gnn_graph_t **graph, const sequences_t *s, int64_t width, runs_t fill)
{
    int32_t *lo = NULL, *hi = NULL;
    int64_t rows = 0, at = 0;
    int rc;
    for (int64_t k = 0; k < s->count; k++)
        rows += s->lengths[k];
    GNN_CHECK(gnn__new(&lo, rows, sizeof *lo, "spans"));
    GNN_CHECK(gnn__new(&hi, rows, sizeof *hi, "spans"));
    for (int64_t k = 0; k < s->count; at += s->lengths[k++])
        for (int64_t p = 0; p < s->lengths[k]; p++) {
            int64_t first, end;
            fill(p, s->lengths[k], width, &first, &end);
            lo[at + p] = (int32_t)(at + first);
            hi[at + p] = (int32_t)(at + end);
        }
    GNN_CHECK(gnn_graph_from_spans(graph, rows, rows, NULL, NULL, lo, hi));
done:
    gnn_free(lo);
    gnn_free(hi);
    return rc;
}

/* So many rows to either side; the first row hears nothing. */
static void near_run(int64_t p, int64_t length, int64_t width, int64_t *first, int64_t *end)
{
    *first = gnn__max(p - width, 0);
    *end = p == 0 ? 0 : gnn__min(p + width + 1, length);
}

/* The first row, where the window does not reach it. */
static void first_run(int64_t p, int64_t length, int64_t width, int64_t *first, int64_t *end)
{
    (void)length;
    *first = 0;
    *end = p > width;
}

/* Every row but the first hears so many rows to either side, and the first. Beltagy et al. 2020. */
static int window_first(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    gnn_graph_t *parts[2] = {NULL, NULL};
    int rc = by_runs(&parts[0], s, width, near_run);
    if (rc == GNN_OK)
        rc = by_runs(&parts[1], s, width, first_run);
    if (rc == GNN_OK)
        rc = gnn_graph_merge(graph, 2, (const gnn_graph_t *const *)parts);
    gnn_graph_free(parts[0]);
    gnn_graph_free(parts[1]);
    return rc;
}

/* The first row of each sequence hears a row that stands for the sequence. */
static int spread(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    int32_t *lo = NULL, *hi = NULL;
    int64_t rows = 0, at = 0, senders = 0;
    int rc;
    (void)width;
    for (int64_t k = 0; k < s->count; k++)
        rows += s->lengths[k];
    GNN_CHECK(gnn__new(&lo, rows, sizeof *lo, "spans"));
    GNN_CHECK(gnn__new(&hi, rows, sizeof *hi, "spans"));
    for (int64_t k = 0; k < s->count; k++, senders++)
        for (int64_t p = 0; p < s->lengths[k]; p++, at++) {
            lo[at] = (int32_t)(senders + (p > 0));
            hi[at] = (int32_t)(senders + 1);
        }
    GNN_CHECK(gnn_graph_from_spans(graph, rows, s->count, NULL, NULL, lo, hi));
done:
    gnn_free(lo);
    gnn_free(hi);
    return rc;
}

static const gnn__arch_graph_kind_t kinds[] = {
#define GNN_GRAPH_KIND(name, hears) {#name, GNN__ARCH_HEARS_##hears, name},
#include <lib/io/weights/arch/graphs.def>
#undef GNN_GRAPH_KIND
};

static const char *name_at(size_t index)
{
    return index < sizeof kinds / sizeof *kinds ? kinds[index].name : NULL;
}

const gnn__arch_graph_kind_t *gnn__arch_graph_find(const char *name)
{
    for (size_t k = 0; name_at(k); k++)
        if (strcmp(name_at(k), name) == 0)
            return &kinds[k];
    gnn__unknown_name("kind of graph", name, name_at);
    return NULL;
}
