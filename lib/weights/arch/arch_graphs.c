/* Graphs of architectures: senders and receivers among the rows of sequences; those with blocks and
 * global rows are in arch_blocks.c, those among the cells of grids in arch_grids.c. */
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
    gnn__arch_spans_t spans;
    int32_t *senders = NULL;
    const int64_t n = gnn__arch_all_rows(s);
    int rc;
    (void)width;
    GNN_CHECK(gnn__arch_spans_new(&spans, n, n));
    GNN_CHECK(gnn__new(&senders, n, sizeof *senders, "rows backwards"));
    for (int64_t k = 0, at = 0; k < s->count; at += s->lengths[k++])
        for (int64_t p = 0; p < s->lengths[k]; p++) {
            senders[at + p] = (int32_t)(at + s->lengths[k] - 1 - p);
            gnn__arch_span(&spans, at + p, at + p + 1);
        }
    spans.senders = senders;
done:
    rc = gnn__arch_spans_graph(graph, &spans, rc);
    gnn_free(senders);
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

/* The senders of row p of n that lie `step` chunks after its own; the chunk after the last is the
 * first. */
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
    gnn__arch_spans_t spans;
    int32_t *order = NULL;
    const int64_t n = gnn__arch_all_rows(s);
    int64_t last = n;
    int rc;
    GNN_CHECK(gnn__arch_spans_new(&spans, n, n));
    GNN_CHECK(gnn__new(&order, n, sizeof *order, "order of receivers"));
    for (int64_t k = 0, at = 0; k < s->count; at += s->lengths[k++])
        for (int64_t turn = 0; turn < 2; turn++) /* runs that begin before that of row 0 */
            for (int64_t p = 0; p < s->lengths[k]; p++) {
                int64_t first, end, first_of_all, end_of_all;
                chunk_run(c, s->lengths[k], p, step, &first, &end);
                chunk_run(c, s->lengths[k], 0, step, &first_of_all, &end_of_all);
                if (turn != (first >= first_of_all))
                    continue;
                order[first < end ? spans.n : --last] = (int32_t)(at + p);
                if (first < end)
                    gnn__arch_span(&spans, at + first, at + end);
            }
    spans.receivers = order;
done:
    rc = gnn__arch_spans_graph(graph, &spans, rc);
    gnn_free(order);
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
    return gnn__arch_merged(graph, parts, n, rc);
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
    gnn__arch_spans_t spans;
    const int rc = gnn__arch_spans_new(&spans, s->count, gnn__arch_all_rows(s));
    for (int64_t k = 0, at = 0; rc == GNN_OK && k < s->count; at += s->lengths[k++]) {
        int64_t first, end;
        kept(s->lengths[k], s->skipped, &first, &end);
        gnn__arch_span(&spans, at + first, at + end);
    }
    return gnn__arch_spans_graph(graph, &spans, rc);
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

/* ---- equal parts of each sequence ---- */

/* Part p of a sequence of n rows receives from rows p n / width .. (p + 1) n / width - 1. */
static int even_parts(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    gnn__arch_spans_t spans;
    int64_t parts = 0;
    if (!gnn__mul(s->count, width, &parts) || parts > INT32_MAX)
        return gnn__error(GNN_EOVERFLOW, "more than %d parts", INT32_MAX);
    const int rc = gnn__arch_spans_new(&spans, parts, gnn__arch_all_rows(s));
    for (int64_t k = 0, at = 0; rc == GNN_OK && k < s->count; at += s->lengths[k++])
        for (int64_t p = 0; p < width; p++)
            gnn__arch_span(&spans, at + p * s->lengths[k] / width,
                           at + (p + 1) * s->lengths[k] / width);
    return gnn__arch_spans_graph(graph, &spans, rc);
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
    gnn__arch_spans_t spans;
    const int rc = gnn__arch_spans_new(&spans, all_rows_at(h, s, to), all_rows_at(h, s, from));
    for (int64_t k = 0, at = 0; rc == GNN_OK && k < s->count; k++) {
        const int64_t senders = rows_at(h, s->lengths[k], from),
                      receivers = rows_at(h, s->lengths[k], to);
        for (int64_t i = 0; i < receivers; i++) {
            int64_t first, end;
            run(h, senders, i, &first, &end);
            gnn__arch_span(&spans, at + first, at + end);
        }
        at += senders;
    }
    return gnn__arch_spans_graph(graph, &spans, rc);
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
    gnn__arch_spans_t spans;
    const int rc =
        gnn__arch_spans_new(&spans, all_rows_at(&h, s, h.level), all_rows_at(&h, s, h.level + 1));
    for (int64_t k = 0, at = 0; rc == GNN_OK && k < s->count; k++) {
        const int64_t rows = rows_at(&h, s->lengths[k], h.level);
        for (int64_t p = 0; p < rows; p++) {
            const int64_t end = at + (above(&h, rows, p) >= 0);
            gnn__arch_span(&spans, at, end);
            at = end;
        }
    }
    return gnn__arch_spans_graph(graph, &spans, rc);
}

/* Rows that the level above picks receive from all rows of their sequence, others from nothing:
 * these are last, so that the starts of runs ascend. */
static int halves_readers(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    const halving_t h = halving_of(width);
    const int64_t n = all_rows_at(&h, s, h.level);
    gnn__arch_spans_t spans;
    int32_t *order = NULL;
    int64_t last = all_rows_at(&h, s, h.level + 1);
    int rc;
    GNN_CHECK(gnn__arch_spans_new(&spans, n, n));
    GNN_CHECK(gnn__new(&order, n, sizeof *order, "order of receivers"));
    for (int64_t k = 0, at = 0; k < s->count; k++) {
        const int64_t rows = rows_at(&h, s->lengths[k], h.level);
        for (int64_t p = 0; p < rows; p++) {
            const bool reads = above(&h, rows, p) >= 0;
            order[reads ? spans.n : last++] = (int32_t)(at + p);
            if (reads)
                gnn__arch_span(&spans, at, at + rows);
        }
        at += rows;
    }
    spans.receivers = order;
done:
    rc = gnn__arch_spans_graph(graph, &spans, rc);
    gnn_free(order);
    return rc;
}

static const gnn__arch_graph_kind_t kinds[] = {
#define GNN_GRAPH_KIND(name, hears) {#name, GNN__ARCH_HEARS_##hears, name},
#include <lib/weights/arch/graphs.def>
#undef GNN_GRAPH_KIND
};

static const gnn__arch_graph_kind_t *kind_at(size_t index)
{
    const gnn__arch_graph_kinds_t lists[] = {
        {kinds, sizeof kinds / sizeof *kinds}, gnn__arch_blocks, gnn__arch_grids};
    for (size_t k = 0; k < sizeof lists / sizeof *lists; index -= lists[k++].n)
        if (index < lists[k].n)
            return &lists[k].at[index];
    return NULL;
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
