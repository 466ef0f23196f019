/* Graphs of architectures: senders and receivers among the rows of sequences; those among the cells
 * of grids are in arch_grids.c. */
#include <graphs/build.h>
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

/* Chunks that read their neighbours: Kitaev et al. 2020, as the package has it. */
typedef struct chunking {
    int64_t chunk, other, before, after;
    bool causal;
} chunking_t;

/* Rows that a sequence counts: the next common multiple of both chunks, unless it has at most the
 * smaller one. */
static int64_t counted_rows(const chunking_t *c, int64_t n)
{
    int64_t a = c->chunk, b = c->other;
    while (b > 0) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    const int64_t multiple = c->chunk / a * c->other;
    return n <= gnn__min(c->chunk, c->other) ? n : (n + multiple - 1) / multiple * multiple;
}

/* The senders of row p of n in the chunk `step` chunks after its own, counted around. */
static void chunk_run(const chunking_t *c, int64_t n, int64_t p, int64_t step, int64_t *first,
                      int64_t *end)
{
    const int64_t rows = counted_rows(c, n), chunks = rows / c->chunk;
    if (rows <= c->chunk) {
        *first = 0;
        *end = step == 0 ? n : 0;
    } else {
        const int64_t moved = step > chunks || -step > chunks ? 0 : step;
        *first = (p / c->chunk + moved + chunks) % chunks * c->chunk;
        *end = gnn__min(*first + c->chunk, n);
    }
    if (c->causal)
        *end = gnn__min(*end, p + 1);
}

/* The part of one step. Starts of runs ascend with receivers ordered by them; those that receive
 * nothing are last. */
static int chunk_part(gnn_graph_t **graph, const sequences_t *s, const chunking_t *c, int64_t step)
{
    int32_t *order = NULL, *lo = NULL, *hi = NULL;
    int64_t n = 0, at = 0, reading = 0, last;
    int rc;
    for (int64_t k = 0; k < s->count; k++)
        n += s->lengths[k];
    last = n;
    GNN_CHECK(gnn__new(&order, n, sizeof *order, "order of receivers"));
    GNN_CHECK(gnn__new(&lo, n, sizeof *lo, "spans"));
    GNN_CHECK(gnn__new(&hi, n, sizeof *hi, "spans"));
    for (int64_t k = 0; k < s->count; at += s->lengths[k++])
        for (int64_t turn = 0; turn < 2; turn++) /* runs that begin before that of row 0 */
            for (int64_t p = 0; p < s->lengths[k]; p++) {
                int64_t first, end, first_of_all, end_of_all;
                chunk_run(c, s->lengths[k], p, step, &first, &end);
                chunk_run(c, s->lengths[k], 0, step, &first_of_all, &end_of_all);
                if (turn != (first >= first_of_all))
                    continue;
                const int64_t rank = first < end ? reading++ : --last;
                order[rank] = (int32_t)(at + p);
                lo[rank] = (int32_t)(first < end ? at + first : n);
                hi[rank] = (int32_t)(first < end ? at + end : n);
            }
    GNN_CHECK(gnn_graph_from_spans(graph, n, n, order, NULL, lo, hi));
done:
    gnn_free(order);
    gnn_free(lo);
    gnn_free(hi);
    return rc;
}

/* Rows receive from their chunk and from those before and after it, the first one following the
 * last; a chunk that is met twice counts twice. `width` is ((chunk 4096 + other) 8 + before) 16 + 2
 * after + causal, where `other` is the chunk of other layers. */
static int near_chunks(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    enum { MOST = 15 };
    const chunking_t c = {width >> 19, (width >> 7) & 4095, (width >> 4) & 7, (width >> 1) & 7,
                          (width & 1) != 0};
    gnn_graph_t *parts[MOST] = {NULL};
    int n = 0, rc = GNN_OK;
    for (int64_t step = -c.before; rc == GNN_OK && step <= c.after; step++)
        rc = chunk_part(&parts[n++], s, &c, step);
    if (rc == GNN_OK)
        rc = gnn_graph_merge(graph, n, (const gnn_graph_t *const *)parts);
    for (int k = 0; k < n; k++)
        gnn_graph_free(parts[k]);
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

/* ---- spans of rows of sequences ---- */

/* Spans that are filled receiver by receiver; starts ascend. */
typedef struct spans {
    int32_t *lo, *hi;
    int64_t n, n_dst, n_src;
} spans_t;

static int spans_new(spans_t *spans, int64_t n_dst, int64_t n_src)
{
    *spans = (spans_t){.n_dst = n_dst, .n_src = n_src};
    if (n_dst > INT32_MAX || n_src > INT32_MAX)
        return gnn__error(GNN_EOVERFLOW, "more than %d rows", INT32_MAX);
    GNN_TRY(gnn__new(&spans->lo, n_dst, sizeof *spans->lo, "spans"));
    return gnn__new(&spans->hi, n_dst, sizeof *spans->hi, "spans");
}

static void span(spans_t *spans, int64_t lo, int64_t hi)
{
    spans->lo[spans->n] = (int32_t)lo;
    spans->hi[spans->n++] = (int32_t)hi;
}

/* The graph of the spans, unless `rc` is an error; releases them. */
static int spans_graph(gnn_graph_t **graph, spans_t *spans, int rc)
{
    if (rc == GNN_OK)
        rc = gnn_graph_from_spans(graph, spans->n_dst, spans->n_src, NULL, NULL, spans->lo,
                                  spans->hi);
    gnn_free(spans->lo);
    gnn_free(spans->hi);
    return rc;
}

static int64_t all_rows(const sequences_t *s)
{
    int64_t rows = 0;
    for (int64_t k = 0; k < s->count; k++)
        rows += s->lengths[k];
    return rows;
}

/* Merges graphs, and frees them. */
static int merged(gnn_graph_t **graph, gnn_graph_t **parts, int n, int rc)
{
    if (rc == GNN_OK)
        rc = gnn_graph_merge(graph, n, (const gnn_graph_t *const *)parts);
    for (int k = 0; k < n; k++)
        gnn_graph_free(parts[k]);
    return rc;
}

/* ---- blocks of LongT5: Guo et al. 2022, 3.1.2 ---- */

/* A sequence has as many blocks as whole ones fit; rows after the last one are of the last one. */
static int64_t all_blocks(const sequences_t *s, int64_t size)
{
    int64_t blocks = 0;
    for (int64_t k = 0; k < s->count; k++)
        blocks += s->lengths[k] / size;
    return blocks;
}

/* Each block receives from its rows. `width`: rows of a block. */
static int block_rows(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    spans_t spans;
    const int rc = spans_new(&spans, all_blocks(s, width), all_rows(s));
    for (int64_t k = 0, at = 0; rc == GNN_OK && k < s->count; at += s->lengths[k++])
        for (int64_t b = 0, n = s->lengths[k] / width; b < n; b++)
            span(&spans, at + b * width, at + (b + 1 < n ? (b + 1) * width : s->lengths[k]));
    return spans_graph(graph, &spans, rc);
}

/* Each row receives from its block; rows of a sequence without blocks from nothing. */
static int rows_of_block(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    spans_t spans;
    int64_t first = 0;
    const int rc = spans_new(&spans, all_rows(s), all_blocks(s, width));
    for (int64_t k = 0; rc == GNN_OK && k < s->count; first += s->lengths[k++] / width)
        for (int64_t p = 0, n = s->lengths[k] / width; p < s->lengths[k]; p++) {
            const int64_t b = first + gnn__max(gnn__min(p / width, n - 1), 0);
            span(&spans, b, b + (n > 0));
        }
    return spans_graph(graph, &spans, rc);
}

/* Pairs of one sequence from pair m on, or without arrays only their count. */
typedef struct window_blocks {
    int64_t reach, size, rows, *src, *dst;
} window_blocks_t;

static int64_t window_block_pairs(const window_blocks_t *w, int64_t at, int64_t length,
                                  int64_t block, int64_t m)
{
    const int64_t n = length / w->size;
    for (int64_t p = 0; p < length; p++) {
        const int64_t lo = gnn__max(p - w->reach, 0), hi = gnn__min(p + w->reach + 1, length);
        for (int64_t j = 0; w->src && j < hi - lo + n; j++) {
            w->src[m + j] = j < hi - lo ? at + lo + j : w->rows + block + j - (hi - lo);
            w->dst[m + j] = at + p;
        }
        m += hi - lo + n;
    }
    return m;
}

/* Each row receives from a window and from all blocks of its sequence, whose rows come after those
 * of all sequences. `width`: 65536 times the reach of the window plus the rows of a block. */
static int window_blocks(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    window_blocks_t w = {width >> 16, width & 65535, all_rows(s), NULL, NULL};
    int64_t m = 0;
    int rc;
    for (int64_t k = 0; k < s->count; k++)
        m = window_block_pairs(&w, 0, s->lengths[k], 0, m);
    GNN_CHECK(gnn__new(&w.src, m, sizeof *w.src, "pairs of rows"));
    GNN_CHECK(gnn__new(&w.dst, m, sizeof *w.dst, "pairs of rows"));
    m = 0;
    for (int64_t k = 0, at = 0, block = 0; k < s->count; k++) {
        m = window_block_pairs(&w, at, s->lengths[k], block, m);
        block += s->lengths[k] / w.size;
        at += s->lengths[k];
    }
    GNN_CHECK(gnn_graph_from_edges(graph, w.rows, w.rows + all_blocks(s, w.size), m, w.src, w.dst));
done:
    gnn_free(w.src);
    gnn_free(w.dst);
    return rc;
}

/* ---- blocks and global rows of Pegasus-X: Phang, Zhao, Liu 2022 ---- */

/* Rows of the block of each row, which begin at multiples of `size`, or half a block before. */
static int own_blocks(gnn_graph_t **graph, const sequences_t *s, int64_t size, int64_t shift,
                      int64_t n_src)
{
    spans_t spans;
    const int rc = spans_new(&spans, all_rows(s), n_src);
    for (int64_t k = 0, at = 0; rc == GNN_OK && k < s->count; at += s->lengths[k++])
        for (int64_t p = 0; p < s->lengths[k]; p++) {
            const int64_t first = (p + shift) / size * size - shift;
            span(&spans, at + gnn__max(first, 0), at + gnn__min(first + size, s->lengths[k]));
        }
    return spans_graph(graph, &spans, rc);
}

/* `each` receivers of a sequence (0: its rows) receive from all of its global rows, which come
 * after those of all sequences. */
static int own_globals(gnn_graph_t **graph, const sequences_t *s, int64_t each, int64_t globals)
{
    spans_t spans;
    const int64_t rows = all_rows(s);
    const int rc = spans_new(&spans, each > 0 ? s->count * each : rows, rows + s->count * globals);
    for (int64_t k = 0; rc == GNN_OK && k < s->count; k++)
        for (int64_t p = 0; p < (each > 0 ? each : s->lengths[k]); p++)
            span(&spans, rows + k * globals, rows + (k + 1) * globals);
    return spans_graph(graph, &spans, rc);
}

/* Rows receive from their block and from the global rows. `width`: the rows of a block times
 * 131072, 65536 if blocks begin half a block before, and the count of global rows. */
static int block_globals(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    gnn_graph_t *parts[2] = {NULL, NULL};
    const int64_t globals = width & 65535, size = width >> 17, shift = width >> 16 & 1 ? size / 2 : 0;
    int rc = own_blocks(&parts[0], s, size, shift, all_rows(s) + s->count * globals);
    if (rc == GNN_OK)
        rc = own_globals(&parts[1], s, 0, globals);
    return merged(graph, parts, 2, rc);
}

/* Global rows receive from all rows of their sequence and from its global rows. `width`: the count
 * of global rows. */
static int globals_all(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    gnn_graph_t *parts[2] = {NULL, NULL};
    spans_t spans;
    int rc = spans_new(&spans, s->count * width, all_rows(s) + s->count * width);
    for (int64_t k = 0, at = 0; rc == GNN_OK && k < s->count; at += s->lengths[k++])
        for (int64_t p = 0; p < width; p++)
            span(&spans, at, at + s->lengths[k]);
    rc = spans_graph(&parts[0], &spans, rc);
    if (rc == GNN_OK)
        rc = own_globals(&parts[1], s, width, width);
    return merged(graph, parts, 2, rc);
}

/* ---- rows after a memory, as of Transformer-XL: Dai et al. 2019 ---- */

/* Each sequence gets `width` rows before it, which receive nothing. */
static int after_memory(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    spans_t spans;
    const int64_t rows = all_rows(s);
    const int rc = spans_new(&spans, rows + s->count * width, rows);
    for (int64_t k = 0, at = 0; rc == GNN_OK && k < s->count; at += s->lengths[k++])
        for (int64_t p = -width; p < s->lengths[k]; p++)
            span(&spans, at + gnn__max(p, 0), at + gnn__max(p + 1, 0));
    return spans_graph(graph, &spans, rc);
}

/* Each row receives from itself and the rows before it, of a memory of `width` rows too; `last`:
 * only from the last `width` of all of these. */
static int after_memory_causal(gnn_graph_t **graph, const sequences_t *s, int64_t width, bool last)
{
    gnn_graph_t *g = NULL;
    int64_t *lengths = NULL;
    int32_t *lo = NULL, *hi = NULL;
    int rc;
    GNN_CHECK(gnn__new(&lengths, s->count, sizeof *lengths, "lengths"));
    for (int64_t k = 0; k < s->count; k++)
        lengths[k] = s->lengths[k] + width;
    GNN_CHECK(gnn__graph_new_segments(&g, s->count, s->lengths, lengths, 1));
    GNN_CHECK(gnn__graph_own(g, &lo, g->n_dst, sizeof *lo, "spans"));
    GNN_CHECK(gnn__graph_own(g, &hi, g->n_dst, sizeof *hi, "spans"));
    for (int64_t k = 0, row = 0, at = 0; k < s->count; at += lengths[k++]) {
        for (int64_t p = 0; p < s->lengths[k]; p++, row++) {
            lo[row] = (int32_t)(at + (last ? p + 1 : 0));
            hi[row] = (int32_t)(at + p + 1 + width);
        }
        GNN_CHECK(gnn_graph_set_start(g, k, width, 0));
    }
    GNN_CHECK(gnn__spans_settle(g, &g->base.parts[0].pairs, lo, hi));
done:
    gnn_free(lengths);
    return gnn__graph_deliver(graph, g, rc);
}

static int memory_causal(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    return after_memory_causal(graph, s, width, false);
}

static int memory_window(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    return after_memory_causal(graph, s, width, true);
}

static const gnn__arch_graph_kind_t kinds[] = {
#define GNN_GRAPH_KIND(name, hears) {#name, GNN__ARCH_HEARS_##hears, name},
#include <lib/weights/arch/graphs.def>
#undef GNN_GRAPH_KIND
};

static const gnn__arch_graph_kind_t *kind_at(size_t index)
{
    const size_t n = sizeof kinds / sizeof *kinds;
    return index < n ? &kinds[index] : gnn__arch_grid_at(index - n);
}

static const char *name_at(size_t index)
{
    return kind_at(index) ? kind_at(index)->name : NULL;
}

const gnn__arch_graph_kind_t *gnn__arch_graph_find(const char *name)
{
    for (size_t k = 0; name_at(k); k++)
        if (strcmp(name_at(k), name) == 0)
            return kind_at(k);
    gnn__unknown_name("kind of graph", name, name_at);
    return NULL;
}
