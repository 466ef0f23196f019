/* Graphs of architectures with windows, blocks, global rows and memories, among the rows of
 * sequences. */
#include <graphs/build.h>
#include <lib/weights/arch/arch.h>

typedef gnn__arch_sequences_t sequences_t;

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
    *m = (marks_t){.rows = gnn__arch_all_rows(s)};
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
    gnn__arch_spans_t spans;
    const int rc = gnn__arch_spans_new(&spans, m->rows, m->rows);
    for (int64_t k = 0, at = 0; rc == GNN_OK && k < s->count; at += s->lengths[k++])
        for (int64_t p = 0; p < s->lengths[k]; p++)
            if (!is_global(s, at + p)) {
                int32_t lo, hi;
                fill(m, &(run_t){at, s->lengths[k], p, width}, &lo, &hi);
                gnn__arch_span(&spans, lo, hi);
            }
    spans.receivers = m->count > 0 ? m->receivers : NULL;
    spans.senders = senders;
    return gnn__arch_spans_graph(graph, &spans, rc);
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
    rc = gnn__arch_merged(graph, parts, n, rc);
    marks_free(&marks);
    return rc;
}

/* One receiver per global token: it receives from the token's row or, with `whole`, from all of its
 * sequence. */
static int of_global(gnn_graph_t **graph, const sequences_t *s, bool whole)
{
    gnn__arch_spans_t spans = {.n = 0};
    marks_t marks;
    int rc = marks_make(&marks, s);
    if (rc == GNN_OK)
        rc = gnn__arch_spans_new(&spans, marks.count, marks.rows);
    for (int64_t k = 0, at = 0; rc == GNN_OK && k < s->count; at += s->lengths[k++])
        for (int64_t row = at; row < at + s->lengths[k]; row++)
            if (is_global(s, row))
                gnn__arch_span(&spans, whole ? at : row, whole ? at + s->lengths[k] : row + 1);
    rc = gnn__arch_spans_graph(graph, &spans, rc);
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
    gnn__arch_spans_t spans;
    const int64_t rows = gnn__arch_all_rows(s);
    const int rc = gnn__arch_spans_new(&spans, rows, rows);
    for (int64_t k = 0, at = 0; rc == GNN_OK && k < s->count; at += s->lengths[k++])
        for (int64_t p = 0; p < s->lengths[k]; p++) {
            int64_t from, to;
            block_run(b, s->lengths[k], p, &from, &to);
            gnn__arch_span(&spans, at + from, at + to);
        }
    return gnn__arch_spans_graph(graph, &spans, rc);
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
    return gnn__arch_merged(graph, parts, n, rc);
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
    gnn__arch_spans_t spans;
    const int rc = gnn__arch_spans_new(&spans, all_blocks(s, width), gnn__arch_all_rows(s));
    for (int64_t k = 0, at = 0; rc == GNN_OK && k < s->count; at += s->lengths[k++])
        for (int64_t b = 0, n = s->lengths[k] / width; b < n; b++)
            gnn__arch_span(&spans, at + b * width,
                           at + (b + 1 < n ? (b + 1) * width : s->lengths[k]));
    return gnn__arch_spans_graph(graph, &spans, rc);
}

/* The spans of rows: the window of each, or all blocks of its sequence. */
static int near_rows(gnn_graph_t **graph, const sequences_t *s, int64_t reach, int64_t size)
{
    gnn__arch_spans_t spans;
    const int64_t rows = gnn__arch_all_rows(s);
    const int rc = gnn__arch_spans_new(&spans, rows, rows + all_blocks(s, size));
    for (int64_t k = 0, at = 0; rc == GNN_OK && k < s->count; at += s->lengths[k++])
        for (int64_t p = 0; p < s->lengths[k]; p++)
            gnn__arch_span(&spans, at + gnn__max(p - reach, 0),
                           at + gnn__min(p + reach + 1, s->lengths[k]));
    return gnn__arch_spans_graph(graph, &spans, rc);
}

static int near_blocks(gnn_graph_t **graph, const sequences_t *s, int64_t size)
{
    gnn__arch_spans_t spans;
    int64_t block = gnn__arch_all_rows(s);
    const int rc = gnn__arch_spans_new(&spans, block, block + all_blocks(s, size));
    for (int64_t k = 0; rc == GNN_OK && k < s->count; block += s->lengths[k++] / size)
        for (int64_t p = 0; p < s->lengths[k]; p++)
            gnn__arch_span(&spans, block, block + s->lengths[k] / size);
    return gnn__arch_spans_graph(graph, &spans, rc);
}

/* Positions count blocks: a row's is its block, rows after the last whole block are of that one. */
static int count_blocks(gnn_graph_t *graph, const sequences_t *s, int64_t size)
{
    const int64_t rows = gnn__arch_all_rows(s), blocks = all_blocks(s, size);
    int64_t *position = NULL, row = 0, first = 0;
    GNN_TRY(gnn__new(&position, 2 * rows + blocks, sizeof *position, "positions"));
    for (int64_t k = 0; k < s->count; first += s->lengths[k++] / size)
        for (int64_t p = 0, n = s->lengths[k] / size; p < s->lengths[k]; p++)
            position[row++] = first + gnn__max(gnn__min(p / size, n - 1), 0);
    for (int64_t b = 0; b < blocks; b++)
        position[2 * rows + b] = b;
    const int rc = gnn__part_set_positions(graph, 0, position, position + rows);
    gnn_free(position);
    return rc;
}

/* Each row receives from a window, the first part, and from all blocks of its sequence, whose rows
 * come after those of all sequences, the second. `width`: 65536 times the reach of the window plus
 * the rows of a block. */
static int window_blocks(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    gnn_graph_t *parts[2] = {NULL, NULL};
    const int64_t reach = width >> 16, size = width & 65535;
    int rc = near_rows(&parts[0], s, reach, size);
    if (rc == GNN_OK)
        rc = near_blocks(&parts[1], s, size);
    if (rc == GNN_OK)
        rc = count_blocks(parts[1], s, size);
    return gnn__arch_merged(graph, parts, 2, rc);
}

/* ---- blocks and global rows of Pegasus-X: Phang, Zhao, Liu 2022 ---- */

/* Rows of the block of each row, which begin at multiples of `size`, or half a block before. */
static int own_blocks(gnn_graph_t **graph, const sequences_t *s, int64_t size, int64_t shift,
                      int64_t n_src)
{
    gnn__arch_spans_t spans;
    const int rc = gnn__arch_spans_new(&spans, gnn__arch_all_rows(s), n_src);
    for (int64_t k = 0, at = 0; rc == GNN_OK && k < s->count; at += s->lengths[k++])
        for (int64_t p = 0; p < s->lengths[k]; p++) {
            const int64_t first = (p + shift) / size * size - shift;
            gnn__arch_span(&spans, at + gnn__max(first, 0),
                           at + gnn__min(first + size, s->lengths[k]));
        }
    return gnn__arch_spans_graph(graph, &spans, rc);
}

/* `each` receivers of a sequence (0: its rows) receive from all of its global rows, which come
 * after those of all sequences. */
static int own_globals(gnn_graph_t **graph, const sequences_t *s, int64_t each, int64_t globals)
{
    gnn__arch_spans_t spans;
    const int64_t rows = gnn__arch_all_rows(s);
    const int rc =
        gnn__arch_spans_new(&spans, each > 0 ? s->count * each : rows, rows + s->count * globals);
    for (int64_t k = 0; rc == GNN_OK && k < s->count; k++)
        for (int64_t p = 0; p < (each > 0 ? each : s->lengths[k]); p++)
            gnn__arch_span(&spans, rows + k * globals, rows + (k + 1) * globals);
    return gnn__arch_spans_graph(graph, &spans, rc);
}

/* Rows receive from their block and from the global rows. `width`: the rows of a block times
 * 131072, 65536 if blocks begin half a block before, and the count of global rows. */
static int block_globals(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    gnn_graph_t *parts[2] = {NULL, NULL};
    const int64_t globals = width & 65535, size = width >> 17, shift = width >> 16 & 1 ? size / 2 : 0;
    int rc = own_blocks(&parts[0], s, size, shift, gnn__arch_all_rows(s) + s->count * globals);
    if (rc == GNN_OK)
        rc = own_globals(&parts[1], s, 0, globals);
    return gnn__arch_merged(graph, parts, 2, rc);
}

/* Global rows receive from all rows of their sequence and from its global rows. `width`: the count
 * of global rows. */
static int globals_all(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    gnn_graph_t *parts[2] = {NULL, NULL};
    gnn__arch_spans_t spans;
    int rc = gnn__arch_spans_new(&spans, s->count * width, gnn__arch_all_rows(s) + s->count * width);
    for (int64_t k = 0, at = 0; rc == GNN_OK && k < s->count; at += s->lengths[k++])
        for (int64_t p = 0; p < width; p++)
            gnn__arch_span(&spans, at, at + s->lengths[k]);
    rc = gnn__arch_spans_graph(&parts[0], &spans, rc);
    if (rc == GNN_OK)
        rc = own_globals(&parts[1], s, width, width);
    return gnn__arch_merged(graph, parts, 2, rc);
}

/* ---- rows after a memory, as of Transformer-XL: Dai et al. 2019 ---- */

/* Each sequence gets `width` rows before it, which receive nothing. */
static int after_memory(gnn_graph_t **graph, const sequences_t *s, int64_t width)
{
    gnn__arch_spans_t spans;
    const int64_t rows = gnn__arch_all_rows(s);
    const int rc = gnn__arch_spans_new(&spans, rows + s->count * width, rows);
    for (int64_t k = 0, at = 0; rc == GNN_OK && k < s->count; at += s->lengths[k++])
        for (int64_t p = -width; p < s->lengths[k]; p++)
            gnn__arch_span(&spans, at + gnn__max(p, 0), at + gnn__max(p + 1, 0));
    return gnn__arch_spans_graph(graph, &spans, rc);
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
        GNN_CHECK(gnn__graph_set_start(g, k, width, 0));
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
#include <lib/weights/arch/blocks.def>
#undef GNN_GRAPH_KIND
};

const gnn__arch_graph_kinds_t gnn__arch_blocks = {kinds, sizeof kinds / sizeof *kinds};
