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

/* Sequences cut into chunks of `width` rows, the last of which may be shorter. */
static int in_chunks(gnn_graph_t **graph, const sequences_t *s, int64_t width,
                     int (*make)(gnn_graph_t **, int64_t, const int64_t *))
{
    int64_t *lengths = NULL, chunks = 0, n = 0;
    for (int64_t k = 0; k < s->count; k++)
        chunks += (s->lengths[k] + width - 1) / width;
    GNN_TRY(gnn__new(&lengths, chunks, sizeof *lengths, "chunks"));
    for (int64_t k = 0; k < s->count; k++)
        for (int64_t at = 0; at < s->lengths[k]; at += width)
            lengths[n++] = gnn__min(width, s->lengths[k] - at);
    const int rc = make(graph, chunks, lengths);
    gnn_free(lengths);
    return rc;
}

/* Every row receives from its chunk. */
static int chunks(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    return in_chunks(graph, s, width, gnn_graph_complete);
}

/* The same from itself and earlier rows. */
static int causal_chunks(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    return in_chunks(graph, s, width, gnn_graph_causal);
}

/* Sequences backwards: row p of n receives from row n - 1 - p. */
static int mirror(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    int32_t *senders = NULL, *lo = NULL, *hi = NULL;
    int64_t n = 0, at = 0;
    int rc;
    (void)width;
    for (int64_t k = 0; k < s->count; k++)
        n += s->lengths[k];
    GNN_CHECK(gnn__new(&senders, n, sizeof *senders, "rows backwards"));
    GNN_CHECK(gnn__new(&lo, n, sizeof *lo, "spans"));
    GNN_CHECK(gnn__new(&hi, n, sizeof *hi, "spans"));
    for (int64_t k = 0; k < s->count; at += s->lengths[k++])
        for (int64_t p = 0; p < s->lengths[k]; p++) {
            senders[at + p] = (int32_t)(at + s->lengths[k] - 1 - p);
            lo[at + p] = (int32_t)(at + p);
            hi[at + p] = (int32_t)(at + p + 1);
        }
    GNN_CHECK(gnn_graph_from_spans(graph, n, n, NULL, senders, lo, hi));
done:
    gnn_free(senders);
    gnn_free(lo);
    gnn_free(hi);
    return rc;
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

/* ---- equal parts of each sequence ---- */

/* Part p of a sequence of n rows receives from rows p n / width .. (p + 1) n / width - 1. */
static int even_parts(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    int32_t *lo = NULL, *hi = NULL;
    int64_t at = 0, parts = 0;
    int rc;
    if (!gnn__mul(s->count, width, &parts) || parts > INT32_MAX)
        return gnn__error(GNN_EOVERFLOW, "more than %d parts", INT32_MAX);
    GNN_CHECK(gnn__new(&lo, parts, sizeof *lo, "spans"));
    GNN_CHECK(gnn__new(&hi, parts, sizeof *hi, "spans"));
    for (int64_t k = 0; k < s->count; at += s->lengths[k++])
        for (int64_t p = 0; p < width; p++) {
            lo[k * width + p] = (int32_t)(at + p * s->lengths[k] / width);
            hi[k * width + p] = (int32_t)(at + (p + 1) * s->lengths[k] / width);
        }
    GNN_CHECK(gnn_graph_from_spans(graph, parts, at, NULL, NULL, lo, hi));
done:
    gnn_free(lo);
    gnn_free(hi);
    return rc;
}

/* Bipartite by sequence: `dst` and `src` rows of each; 0: all of its rows. */
static int by_parts(gnn_graph_t **graph, const sequences_t *s, int64_t dst, int64_t src)
{
    int64_t *counts = NULL;
    GNN_TRY(gnn__new(&counts, 2 * s->count, sizeof *counts, "parts"));
    for (int64_t k = 0; k < s->count; k++) {
        counts[k] = dst > 0 ? dst : s->lengths[k];
        counts[s->count + k] = src > 0 ? src : s->lengths[k];
    }
    const int rc = gnn_graph_bipartite(graph, s->count, counts, counts + s->count);
    gnn_free(counts);
    return rc;
}

static int parts_among(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    return by_parts(graph, s, width, width);
}

static int parts_from_all(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    return by_parts(graph, s, width, 0);
}

static int all_from_parts(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    return by_parts(graph, s, 0, width);
}

static int one_from_parts(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    return by_parts(graph, s, 1, width);
}

static int parts_from_one(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    return by_parts(graph, s, width, 1);
}

/* ---- halved sequences ---- */

/* Rows that are halved again and again: Dai et al. 2020. Row i of a level stands for rows 2 i and
 * 2 i + 1 of the level below, or, with `first_alone`, row 0 for row 0 and row i for rows 2 i - 1
 * and 2 i, of which `drops_last` leaves out the last of the level. Sequences of one row, with
 * `first_alone` of two, are not halved. `width` is 4 level + 2 first_alone + drops_last. */
typedef struct halving {
    int64_t level;
    bool first_alone, drops_last;
} halving_t;

static halving_t halving_of(int64_t width)
{
    return (halving_t){width / 4, width / 2 % 2 == 1, width % 2 == 1};
}

static bool is_halved(const halving_t *h, int64_t rows)
{
    return rows > (h->first_alone ? 2 : 1);
}

static int64_t half_of(const halving_t *h, int64_t rows)
{
    return !is_halved(h, rows) ? rows : (rows + (h->first_alone && !h->drops_last ? 2 : 1)) / 2;
}

static int64_t rows_at(const halving_t *h, int64_t rows, int64_t level)
{
    for (int64_t k = 0; k < level; k++)
        rows = half_of(h, rows);
    return rows;
}

/* The first row below, of `rows` there, that row i stands for. */
static int64_t first_below(const halving_t *h, int64_t rows, int64_t i)
{
    return !is_halved(h, rows) ? i : h->first_alone && i > 0 ? 2 * i - 1 : 2 * i;
}

static int64_t end_below(const halving_t *h, int64_t rows, int64_t i)
{
    const int64_t first = first_below(h, rows, i);
    if (!is_halved(h, rows) || (h->first_alone && i == 0))
        return first + 1;
    return gnn__min(first + 2, rows - (h->first_alone && h->drops_last));
}

/* The row above that stands for row p first; -1: none. */
static int64_t above(const halving_t *h, int64_t rows, int64_t p)
{
    const int64_t i = !is_halved(h, rows) ? p : h->first_alone ? (p + 1) / 2 : p / 2;
    return i < half_of(h, rows) && first_below(h, rows, i) == p ? i : -1;
}

/* Sums of rows at a level over sequences. */
static int64_t all_rows_at(const halving_t *h, const sequences_t *s, int64_t level)
{
    int64_t rows = 0;
    for (int64_t k = 0; k < s->count; k++)
        rows += rows_at(h, s->lengths[k], level);
    return rows;
}

/* The senders of row i: first .. end - 1 of the `senders` rows of its sequence. */
typedef void (*halved_run_t)(const halving_t *h, int64_t senders, int64_t i, int64_t *first,
                             int64_t *end);

/* From the rows of level `from` to those of level `to`. */
static int between_levels(gnn_graph_t **graph, const sequences_t *s, const halving_t *h,
                          int64_t from, int64_t to, halved_run_t run)
{
    const int64_t n_dst = all_rows_at(h, s, to), n_src = all_rows_at(h, s, from);
    int32_t *lo = NULL, *hi = NULL;
    int64_t row = 0, at = 0;
    int rc;
    GNN_CHECK(gnn__new(&lo, n_dst, sizeof *lo, "spans"));
    GNN_CHECK(gnn__new(&hi, n_dst, sizeof *hi, "spans"));
    for (int64_t k = 0; k < s->count; k++) {
        const int64_t senders = rows_at(h, s->lengths[k], from),
                      receivers = rows_at(h, s->lengths[k], to);
        for (int64_t i = 0; i < receivers; i++, row++) {
            int64_t first, end;
            run(h, senders, i, &first, &end);
            lo[row] = (int32_t)(at + first);
            hi[row] = (int32_t)(at + end);
        }
        at += senders;
    }
    GNN_CHECK(gnn_graph_from_spans(graph, n_dst, n_src, NULL, NULL, lo, hi));
done:
    gnn_free(lo);
    gnn_free(hi);
    return rc;
}

static void run_below(const halving_t *h, int64_t senders, int64_t i, int64_t *first, int64_t *end)
{
    *first = first_below(h, senders, i);
    *end = end_below(h, senders, i);
}

static void run_first_below(const halving_t *h, int64_t senders, int64_t i, int64_t *first,
                            int64_t *end)
{
    *first = first_below(h, senders, i);
    *end = *first + 1;
}

static void run_to_first(const halving_t *h, int64_t senders, int64_t i, int64_t *first, int64_t *end)
{
    (void)h, (void)senders, (void)i;
    *first = 0;
    *end = 1;
}

/* Rows of level 0, each from the row of the level that stands for it. */
static void run_spread(const halving_t *h, int64_t senders, int64_t i, int64_t *first, int64_t *end)
{
    const int64_t step = (int64_t)1 << h->level;
    *first = gnn__min(h->first_alone && i > 0 ? 1 + (i - 1) / step : i / step, senders);
    *end = gnn__min(*first + 1, senders);
}

/* Rows of a level receive from all of them. */
static int halves_among(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    const halving_t h = halving_of(width);
    int64_t *lengths = NULL;
    GNN_TRY(gnn__new(&lengths, s->count, sizeof *lengths, "lengths"));
    for (int64_t k = 0; k < s->count; k++)
        lengths[k] = rows_at(&h, s->lengths[k], h.level);
    const int rc = gnn_graph_complete(graph, s->count, lengths);
    gnn_free(lengths);
    return rc;
}

/* Rows of a level receive from the first one. */
static int halves_to_first(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    const halving_t h = halving_of(width);
    return between_levels(graph, s, &h, h.level, h.level, run_to_first);
}

/* Rows of the level above receive from those that they stand for. */
static int halves_pool(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    const halving_t h = halving_of(width);
    return between_levels(graph, s, &h, h.level, h.level + 1, run_below);
}

/* Rows of the level above receive from the first one that they stand for. */
static int halves_pick(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    const halving_t h = halving_of(width);
    return between_levels(graph, s, &h, h.level, h.level + 1, run_first_below);
}

static int halves_spread(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    const halving_t h = halving_of(width);
    return between_levels(graph, s, &h, h.level, 0, run_spread);
}

/* The reverse of halves_pick: rows receive from the row above that stands for them first, others
 * from nothing. */
static int halves_place(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    const halving_t h = halving_of(width);
    const int64_t n_dst = all_rows_at(&h, s, h.level), n_src = all_rows_at(&h, s, h.level + 1);
    int32_t *lo = NULL, *hi = NULL;
    int64_t row = 0, at = 0;
    int rc;
    GNN_CHECK(gnn__new(&lo, n_dst, sizeof *lo, "spans"));
    GNN_CHECK(gnn__new(&hi, n_dst, sizeof *hi, "spans"));
    for (int64_t k = 0; k < s->count; k++) {
        const int64_t rows = rows_at(&h, s->lengths[k], h.level);
        for (int64_t p = 0; p < rows; p++, row++) {
            lo[row] = (int32_t)at;
            at += above(&h, rows, p) >= 0;
            hi[row] = (int32_t)at;
        }
    }
    GNN_CHECK(gnn_graph_from_spans(graph, n_dst, n_src, NULL, NULL, lo, hi));
done:
    gnn_free(lo);
    gnn_free(hi);
    return rc;
}

/* Rows that the level above picks receive from all rows of their sequence, others from nothing:
 * these are last, so that the starts of runs ascend. */
static int halves_readers(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    const halving_t h = halving_of(width);
    const int64_t n = all_rows_at(&h, s, h.level);
    int32_t *order = NULL, *lo = NULL, *hi = NULL;
    int64_t reading = 0, at = 0, last = all_rows_at(&h, s, h.level + 1);
    int rc;
    GNN_CHECK(gnn__new(&order, n, sizeof *order, "order of receivers"));
    GNN_CHECK(gnn__new(&lo, n, sizeof *lo, "spans"));
    GNN_CHECK(gnn__new(&hi, n, sizeof *hi, "spans"));
    for (int64_t k = 0; k < s->count; k++) {
        const int64_t rows = rows_at(&h, s->lengths[k], h.level);
        for (int64_t p = 0; p < rows; p++) {
            const bool reads = above(&h, rows, p) >= 0;
            const int64_t rank = reads ? reading++ : last++;
            order[rank] = (int32_t)(at + p);
            lo[rank] = (int32_t)(reads ? at : n);
            hi[rank] = (int32_t)(reads ? at + rows : n);
        }
        at += rows;
    }
    GNN_CHECK(gnn_graph_from_spans(graph, n, n, order, NULL, lo, hi));
done:
    gnn_free(order);
    gnn_free(lo);
    gnn_free(hi);
    return rc;
}

/* ---- blocks of BigBird ---- */

/* BigBird's pattern: Zaheer et al. 2020, as the package evaluates it. Rows of the first and of the
 * last block receive from all; the others from their block and its neighbours, from the first and
 * the last block, and from random blocks, which are all the first one: its rows count again.
 * `width` is 256 times the rows of a block plus the count of random blocks. A sequence of at most
 * 5 blocks and twice the random ones receives from all. */
enum { OWN_ALL, LAST_ALL, NEAR, THE_LAST, THE_FIRST, FIRST_AGAIN };

typedef struct blocks {
    int64_t size, random;
    int part; /* of the pattern, as listed above */
} blocks_t;

/* Starts and ends ascend along a sequence, also those of empty runs. */
static void block_run(const blocks_t *b, int64_t length, int64_t p, int64_t *lo, int64_t *hi)
{
    const int64_t last = (length + b->size - 1) / b->size - 1, own = p / b->size;
    const bool all = length <= (5 + 2 * b->random) * b->size, begins = all || own == 0,
               ends = !begins && own == last;
    *lo = *hi = begins || b->part == LAST_ALL ? 0 : b->part < THE_FIRST ? length : b->size;
    if (b->part == OWN_ALL ? begins : b->part == LAST_ALL && ends) {
        *lo = 0;
        *hi = length;
    } else if (begins || ends) {
        return;
    } else if (b->part == NEAR) {
        *lo = (own - 1) * b->size;
        *hi = gnn__min((own + 2) * b->size, length);
    } else if (b->part == THE_LAST && own + 1 < last) {
        *lo = last * b->size;
    } else if (b->part > THE_FIRST || (b->part == THE_FIRST && own > 1)) {
        *lo = 0;
    } else if (b->part == THE_FIRST) {
        *lo = *hi = 0;
    }
}

static int blocks_part(gnn_graph_t **graph, const sequences_t *s, const blocks_t *b)
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
            int64_t from, to;
            block_run(b, s->lengths[k], p, &from, &to);
            lo[at + p] = (int32_t)(at + from);
            hi[at + p] = (int32_t)(at + to);
        }
    GNN_CHECK(gnn_graph_from_spans(graph, rows, rows, NULL, NULL, lo, hi));
done:
    gnn_free(lo);
    gnn_free(hi);
    return rc;
}

static int big_bird(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    enum { MOST_RANDOM = 256 };
    gnn_graph_t *parts[FIRST_AGAIN + MOST_RANDOM] = {NULL};
    blocks_t b = {.size = width / MOST_RANDOM, .random = width % MOST_RANDOM};
    const int n = FIRST_AGAIN + (int)b.random;
    int rc = GNN_OK;
    for (b.part = 0; rc == GNN_OK && b.part < n; b.part++)
        rc = blocks_part(&parts[b.part], s, &b);
    if (rc == GNN_OK)
        rc = gnn_graph_merge(graph, n, (const gnn_graph_t *const *)parts);
    for (int k = 0; k < n; k++)
        gnn_graph_free(parts[k]);
    return rc;
}

/* ---- square grids, whose cells are counted row by row ---- */

typedef struct grid {
    int64_t side, window, shift;
} grid_t;

/* The window of row or column c, and its part that is not beyond the border, after a cyclic shift:
 * Liu et al. 2021, 3.2. */
static int64_t region(const grid_t *g, int64_t c)
{
    const int64_t moved = (c - g->shift + g->side) % g->side;
    return 2 * (moved / g->window) + (moved + g->shift >= g->side);
}

static bool same_window(const grid_t *g, int64_t i, int64_t j)
{
    return region(g, i / g->side) == region(g, j / g->side) &&
           region(g, i % g->side) == region(g, j % g->side);
}

/* Adds the pairs of one grid to m pairs. Senders of a cell lie within one window of it. */
static int64_t window_pairs(const grid_t *g, int64_t first, int64_t m, int64_t *src, int64_t *dst)
{
    for (int64_t i = 0; i < g->side * g->side; i++) {
        const int64_t y = i / g->side, x = i % g->side, reach = g->window - 1;
        for (int64_t down = gnn__max(y - reach, 0); down <= gnn__min(y + reach, g->side - 1); down++)
            for (int64_t at = gnn__max(x - reach, 0); at <= gnn__min(x + reach, g->side - 1); at++) {
                const int64_t j = down * g->side + at;
                if (!same_window(g, i, j))
                    continue;
                src[m] = first + j;
                dst[m++] = first + i;
            }
    }
    return m;
}

/* Cells receive from their window, with the cells of the other side where `shift` moves windows
 * across the border apart. `width` is (256 side + window) 256 + shift. */
static int grid_windows(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    const grid_t g = {width >> 16, (width >> 8) & 255, width & 255};
    const int64_t cells = g.side * g.side, each = g.window * g.window;
    int64_t *src = NULL, *dst = NULL, *lengths = NULL, pairs = 0, n = 0, m = 0;
    int rc = GNN_OK;
    if (!gnn__mul(s->count, cells, &n) || n > INT32_MAX || !gnn__mul(n, each, &pairs))
        return gnn__error(GNN_EOVERFLOW, "more than %d cells", INT32_MAX);
    GNN_CHECK(gnn__new(&src, pairs, sizeof *src, "pairs of windows"));
    GNN_CHECK(gnn__new(&dst, pairs, sizeof *dst, "pairs of windows"));
    GNN_CHECK(gnn__new(&lengths, s->count, sizeof *lengths, "lengths"));
    for (int64_t k = 0; k < s->count; k++) {
        lengths[k] = cells;
        m = window_pairs(&g, k * cells, m, src, dst);
    }
    GNN_CHECK(gnn_graph_from_edges(graph, n, n, m, src, dst));
    GNN_CHECK(gnn_graph_cut(*graph, s->count, lengths));
done:
    gnn_free(src);
    gnn_free(dst);
    gnn_free(lengths);
    return rc;
}

/* Four receivers for each cell of a grid of half the side, one after another: each receives from
 * one of the four cells, down before across. `width` is the side. */
static int grid_quarters(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    const int64_t half = width / 2, cells = width * width;
    int32_t *senders = NULL, *lo = NULL, *hi = NULL;
    int64_t n = 0;
    int rc;
    if (!gnn__mul(s->count, cells, &n) || n > INT32_MAX)
        return gnn__error(GNN_EOVERFLOW, "more than %d cells", INT32_MAX);
    GNN_CHECK(gnn__new(&senders, n, sizeof *senders, "cells"));
    GNN_CHECK(gnn__new(&lo, n, sizeof *lo, "cells"));
    GNN_CHECK(gnn__new(&hi, n, sizeof *hi, "cells"));
    for (int64_t r = 0; r < n; r++) {
        const int64_t cell = r % cells / 4, quarter = r % 4, y = 2 * (cell / half) + quarter % 2,
                      x = 2 * (cell % half) + quarter / 2;
        senders[r] = (int32_t)(r / cells * cells + y * width + x);
        lo[r] = (int32_t)r;
        hi[r] = (int32_t)(r + 1);
    }
    GNN_CHECK(gnn_graph_from_spans(graph, n, n, NULL, senders, lo, hi));
done:
    gnn_free(senders);
    gnn_free(lo);
    gnn_free(hi);
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
