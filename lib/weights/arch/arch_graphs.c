/* Graphs of architectures: senders and receivers among the rows of sequences. */
#include <lib/weights/arch/arch.h>

typedef gnn__arch_sequences_t sequences_t;

/* Every row receives from its whole sequence. */
static int complete(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    (void)width;
    return gnn_graph_complete(graph, s->count, s->lengths);
}

/* Causal: every row receives from itself and all earlier rows. */
static int causal(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    (void)width;
    return gnn_graph_causal(graph, s->count, s->lengths);
}

/* Window: every row receives from a fixed count of rows on either side. */
static int window(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    return gnn_graph_window(graph, s->count, s->lengths, width, 1, GNN_OFF);
}

/* Causal window: every row receives from itself and a fixed count of earlier rows. */
static int causal_window(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    return gnn_graph_window(graph, s->count, s->lengths, width, 1, GNN_ON);
}

/* Causal, for rows of the decoder. */
static int decoder(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    (void)width;
    return gnn_graph_causal(graph, s->count, s->decoder_lengths);
}

/* Rows of the decoder receive from their whole sequence in the encoder. */
static int cross(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    (void)width;
    return gnn_graph_bipartite(graph, s->count, s->decoder_lengths, s->lengths);
}

/* ---- one receiver per sequence ---- */

/* The rows of a sequence that its receiver aggregates: first .. end - 1 of `length`; `skipped` rows
 * of a prompt are left out. */
typedef void (*kept_t)(int64_t length, int64_t skipped, int64_t *first, int64_t *end);

static int readout(gnn_graph_t **graph, const sequences_t *s, kept_t kept)
{
    int32_t *lo = NULL, *hi = NULL;
    int64_t at = 0;
    int rc;
    GNN_CHECK(gnn__new(&lo, s->count, sizeof *lo, "spans"));
    GNN_CHECK(gnn__new(&hi, s->count, sizeof *hi, "spans"));
    for (int64_t k = 0; k < s->count; at += s->lengths[k++]) {
        int64_t first, end;
        kept(s->lengths[k], s->skipped, &first, &end);
        lo[k] = (int32_t)(at + first);
        hi[k] = (int32_t)(at + end);
    }
    GNN_CHECK(gnn_graph_from_spans(graph, s->count, at, NULL, NULL, lo, hi));
done:
    gnn_free(lo);
    gnn_free(hi);
    return rc;
}

static void keep_all(int64_t length, int64_t skipped, int64_t *first, int64_t *end)
{
    (void)skipped;
    *first = 0;
    *end = length;
}

static void keep_first(int64_t length, int64_t skipped, int64_t *first, int64_t *end)
{
    (void)skipped;
    *first = 0;
    *end = length > 0;
}

static void keep_last(int64_t length, int64_t skipped, int64_t *first, int64_t *end)
{
    (void)skipped;
    *first = length > 0 ? length - 1 : 0;
    *end = length;
}

static void keep_unskipped(int64_t length, int64_t skipped, int64_t *first, int64_t *end)
{
    *first = gnn__min(skipped, length);
    *end = length;
}

/* The first row after the prompt; for a sequence that is only a prompt, its first row. */
static void keep_first_unskipped(int64_t length, int64_t skipped, int64_t *first, int64_t *end)
{
    *first = skipped < length ? skipped : 0;
    *end = gnn__min(*first + 1, length);
}

static int all(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    (void)width;
    return readout(graph, s, keep_all);
}

static int first(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    (void)width;
    return readout(graph, s, keep_first);
}

static int last(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    (void)width;
    return readout(graph, s, keep_last);
}

static int pooled(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    (void)width;
    return readout(graph, s, keep_unskipped);
}

static int pooled_first(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    (void)width;
    return readout(graph, s, keep_first_unskipped);
}

/* The same pairs as `pooled` as separate edges, which have weights. */
static int pooled_edges(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    gnn_graph_t *spans = NULL;
    GNN_TRY(pooled(&spans, s, width));
    const int rc = gnn_graph_to_edges(graph, spans);
    gnn_graph_free(spans);
    return rc;
}

/* ---- windows and global tokens ---- */

/* Global tokens of Longformer: Beltagy, Peters, Cohan 2020. The rows of all sequences, the global
 * ones, and the count of global rows before each row. */
typedef struct marks {
    int64_t rows, count;
    int32_t *before;    /* (rows + 1) */
    int32_t *senders;   /* (rows) global rows first, then the others */
    int32_t *receivers; /* (rows) the others first */
} marks_t;

static bool is_global(const sequences_t *s, int64_t row)
{
    return s->global && s->global[row];
}

static void marks_free(marks_t *m)
{
    gnn_free(m->before);
    gnn_free(m->senders);
    gnn_free(m->receivers);
}

/* Release with marks_free, also after an error. */
static int marks_make(marks_t *m, const sequences_t *s)
{
    *m = (marks_t){.rows = 0};
    for (int64_t k = 0; k < s->count; k++)
        m->rows += s->lengths[k];
    GNN_TRY(gnn__new(&m->before, m->rows + 1, sizeof *m->before, "global tokens"));
    GNN_TRY(gnn__new(&m->senders, m->rows, sizeof *m->senders, "global tokens"));
    GNN_TRY(gnn__new(&m->receivers, m->rows, sizeof *m->receivers, "global tokens"));
    for (int64_t row = 0; row < m->rows; row++)
        m->before[row + 1] = m->before[row] + is_global(s, row);
    m->count = m->before[m->rows];
    for (int64_t row = 0; row < m->rows; row++) {
        const bool marked = is_global(s, row);
        const int64_t rank = marked ? m->before[row] : row - m->before[row];
        m->senders[marked ? rank : m->count + rank] = (int32_t)row;
        m->receivers[marked ? m->rows - m->count + rank : rank] = (int32_t)row;
    }
    return GNN_OK;
}

/* A row p of a sequence that begins at row `at`; it receives from senders lo .. hi - 1. */
typedef struct run {
    int64_t at, length, p, width;
} run_t;
typedef void (*runs_t)(const marks_t *m, const run_t *run, int32_t *lo, int32_t *hi);

/* `width` rows to either side. */
static void near_run(const marks_t *m, const run_t *r, int32_t *lo, int32_t *hi)
{
    (void)m;
    *lo = (int32_t)(r->at + gnn__max(r->p - r->width, 0));
    *hi = (int32_t)(r->at + gnn__min(r->p + r->width + 1, r->length));
}

/* Indices of global tokens of the sequence before the window. */
static void left_run(const marks_t *m, const run_t *r, int32_t *lo, int32_t *hi)
{
    *lo = m->before[r->at];
    *hi = m->before[r->at + gnn__max(r->p - r->width, 0)];
}

/* Those after the window. */
static void right_run(const marks_t *m, const run_t *r, int32_t *lo, int32_t *hi)
{
    *lo = m->before[r->at + gnn__min(r->p + r->width + 1, r->length)];
    *hi = m->before[r->at + r->length];
}

/* Global tokens receive nothing here: they are last, so that the starts of runs ascend. */
static int by_runs(gnn_graph_t **graph, const sequences_t *s, const marks_t *m, int64_t width,
                   runs_t fill, const int32_t *senders)
{
    int32_t *lo = NULL, *hi = NULL;
    int rc;
    int64_t n = 0;
    GNN_CHECK(gnn__new(&lo, m->rows, sizeof *lo, "spans"));
    GNN_CHECK(gnn__new(&hi, m->rows, sizeof *hi, "spans"));
    for (int64_t k = 0, at = 0; k < s->count; at += s->lengths[k++])
        for (int64_t p = 0; p < s->lengths[k]; p++)
            if (!is_global(s, at + p)) {
                fill(m, &(run_t){at, s->lengths[k], p, width}, &lo[n], &hi[n]);
                n++;
            }
    for (; n < m->rows; n++)
        lo[n] = hi[n] = (int32_t)m->rows;
    GNN_CHECK(gnn_graph_from_spans(graph, m->rows, m->rows, m->count > 0 ? m->receivers : NULL,
                                   senders, lo, hi));
done:
    gnn_free(lo);
    gnn_free(hi);
    return rc;
}

/* A window, and all global tokens of the sequence; global tokens receive from nothing here. */
static int window_global(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    static const runs_t runs[] = {near_run, left_run, right_run};
    gnn_graph_t *parts[3] = {NULL, NULL, NULL};
    marks_t marks;
    int rc = marks_make(&marks, s);
    const int n = rc == GNN_OK && marks.count > 0 ? 3 : 1;
    for (int k = 0; rc == GNN_OK && k < n; k++)
        rc = by_runs(&parts[k], s, &marks, width, runs[k], k > 0 ? marks.senders : NULL);
    if (rc == GNN_OK)
        rc = gnn_graph_merge(graph, n, (const gnn_graph_t *const *)parts);
    for (int k = 0; k < 3; k++)
        gnn_graph_free(parts[k]);
    marks_free(&marks);
    return rc;
}

/* One receiver per global token: it receives from the token's row or, with `whole`, from all of its
 * sequence. */
static int of_global(gnn_graph_t **graph, const sequences_t *s, bool whole)
{
    int32_t *lo = NULL, *hi = NULL;
    int64_t n = 0;
    marks_t marks;
    int rc;
    GNN_CHECK(marks_make(&marks, s));
    GNN_CHECK(gnn__new(&lo, marks.count, sizeof *lo, "spans"));
    GNN_CHECK(gnn__new(&hi, marks.count, sizeof *hi, "spans"));
    for (int64_t k = 0, at = 0; k < s->count; at += s->lengths[k++])
        for (int64_t row = at; row < at + s->lengths[k]; row++)
            if (is_global(s, row)) {
                lo[n] = (int32_t)(whole ? at : row);
                hi[n++] = (int32_t)(whole ? at + s->lengths[k] : row + 1);
            }
    GNN_CHECK(gnn_graph_from_spans(graph, n, marks.rows, NULL, NULL, lo, hi));
done:
    gnn_free(lo);
    gnn_free(hi);
    marks_free(&marks);
    return rc;
}

static int global(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    (void)width;
    return of_global(graph, s, false);
}

static int global_all(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    (void)width;
    return of_global(graph, s, true);
}

/* Each global token receives from its row among those of global tokens. */
static int spread(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    marks_t marks;
    (void)width;
    int rc = marks_make(&marks, s);
    if (rc == GNN_OK)
        rc = gnn_graph_from_spans(graph, marks.rows, marks.count, NULL, NULL, marks.before,
                                  marks.before + 1);
    marks_free(&marks);
    return rc;
}

static const gnn__arch_graph_kind_t kinds[] = {
#define GNN_GRAPH_KIND(name, hears) {#name, GNN__ARCH_HEARS_##hears, name},
#include <lib/weights/arch/graphs.def>
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
