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

static const gnn__arch_graph_kind_t kinds[] = {
#define GNN_GRAPH_KIND(name) {#name, name},
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
