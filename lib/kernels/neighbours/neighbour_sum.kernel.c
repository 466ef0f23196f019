/* Sums over in-neighbours, on edges and on spans (neighbours.h).
 *
 *     edges    width         form
 *              < a register  row_tail       masked loads
 *              1 .. 8 regs   row_block      a block of features in registers, over all edges
 *              256 features  wide_block     4 edges at a time, rows read from end to end; sums in
 *                                           the first-level cache
 *
 *     spans    a queue of two stacks (spans): suffix sums of what lies left of `split`, and a
 *              running sum of what lies right of it; nothing is ever subtracted
 *                    base            split               top
 *                     |  suffix sums   |    running sum   |
 *              row:         lo .................. hi = top      sum = suffix[lo] + running */
#include <lib/kernels/isa.h>
#include <lib/kernels/neighbours/neighbours.h>
#include <lib/kernels/simd/vec.h>

enum { LANES = GNN__VEC_LANES, AHEAD = 8 };

/* ---- edges: a block of features in registers ---- */

GNN__INLINE gnn_real_t factor(const gnn__neighbour_sum_t *s, int64_t at)
{
    gnn_real_t f = s->col_scale ? s->col_scale[s->pairs.indices[at]] : 1;
    if (s->weight) {
        int64_t id = gnn__pairs_edge(&s->pairs, at);
        f *= id < s->weights ? s->weight[id * s->weight_stride] : 1;
    }
    return f;
}

GNN__INLINE void prefetch(const gnn__neighbour_sum_t *s, int64_t at, int64_t end, int64_t feature,
                          int vectors)
{
    const int64_t next = at + AHEAD < end ? at + AHEAD : end - 1;
    const char *row = (const char *)(s->x + s->pairs.indices[next] * s->ldx + feature);
    for (int byte = 0; byte < vectors * GNN__VEC_BYTES; byte += 64)
        __builtin_prefetch(row + byte);
}

/* `vectors` registers from feature f on. */
GNN__INLINE void row_block(const gnn__neighbour_sum_t *s, int64_t row, int64_t f, const int vectors,
                           const bool plain)
{
    gnn__vec_t sum[8] = {{0}};
    const int64_t to = s->pairs.indptr[row + 1], end = s->pairs.indptr[s->pairs.n_rows];
    const gnn_real_t *start = s->start ? s->start + row * s->ldstart + f : NULL;
    for (int byte = 0; start && byte < vectors * GNN__VEC_BYTES; byte += 64)
        __builtin_prefetch((const char *)start + byte);
    for (int64_t at = s->pairs.indptr[row]; at < to; at++) {
        const gnn_real_t *x = s->x + s->pairs.indices[at] * s->ldx + f;
        prefetch(s, at, end, f, vectors);
        if (plain) {
            for (int v = 0; v < vectors; v++)
                sum[v] += gnn__vec_load(x + v * LANES);
        } else {
            const gnn__vec_t w = gnn__vec_all(factor(s, at));
            for (int v = 0; v < vectors; v++)
                sum[v] += w * gnn__vec_load(x + v * LANES);
        }
    }
    const gnn__vec_t scale = gnn__vec_all(s->row_scale ? s->row_scale[row] : 1);
    gnn_real_t *y = s->y + (row - s->y_row) * s->ldy + f;
    const bool pass =
        vectors == 8 && start != y && !s->held && gnn__vec_streams(y, s->pairs.n_rows * s->width);
    for (int v = 0; v < vectors; v++)
        gnn__vec_store_or_stream(
            y + v * LANES,
            start ? gnn__vec_load(start + v * LANES) + scale * sum[v] : scale * sum[v], pass);
}

/* Features that do not fill a register. */
GNN__INLINE void row_tail(const gnn__neighbour_sum_t *s, int64_t row, int64_t f, const bool plain)
{
    const int count = (int)(s->width - f);
    gnn__vec_t sum = {0};
    const int64_t to = s->pairs.indptr[row + 1], end = s->pairs.indptr[s->pairs.n_rows];
    for (int64_t at = s->pairs.indptr[row]; at < to; at++) {
        const gnn__vec_t x = gnn__vec_load_first(s->x + s->pairs.indices[at] * s->ldx + f, count);
        prefetch(s, at, end, f, 1);
        sum += plain ? x : gnn__vec_all(factor(s, at)) * x;
    }
    sum *= gnn__vec_all(s->row_scale ? s->row_scale[row] : 1);
    if (s->start)
        sum += gnn__vec_load_first(s->start + row * s->ldstart + f, count);
    gnn__vec_store_first(s->y + (row - s->y_row) * s->ldy + f, sum, count);
}

/* ---- edges, wide rows: rows are read from end to end ---- */

/* Edges that are added together; elements of a sum, and of a cache line. */
enum { TOGETHER = 4, WIDE = 256, LINE = 64 / (int)sizeof(gnn_real_t) };

/* sum (+)= elements f .. f + WIDE - 1 of the senders in slots at .. at + count - 1. */
GNN__INLINE void few_edges(const gnn__neighbour_sum_t *s, int64_t at, int64_t end, int64_t f,
                           gnn_real_t *sum, bool fresh, const int count, const bool plain)
{
    const gnn_real_t *x[TOGETHER], *next[TOGETHER];
    gnn__vec_t w[TOGETHER];
#pragma GCC unroll 4
    for (int k = 0; k < count; k++) {
        const int64_t later = at + k + AHEAD < end ? at + k + AHEAD : end - 1;
        x[k] = s->x + s->pairs.indices[at + k] * s->ldx + f;
        next[k] = s->x + s->pairs.indices[later] * s->ldx + f;
        w[k] = gnn__vec_all(plain ? 1 : factor(s, at + k));
    }
    for (int c = 0; c < WIDE; c += LINE) {
#pragma GCC unroll 4
        for (int k = 0; k < count; k++)
            __builtin_prefetch(next[k] + c);
#pragma GCC unroll 8
        for (int v = c; v < c + LINE; v += LANES) {
            gnn__vec_t y = fresh ? gnn__vec_all(0) : gnn__vec_load(sum + v);
#pragma GCC unroll 4
            for (int k = 0; k < count; k++)
                y += plain ? gnn__vec_load(x[k] + v) : w[k] * gnn__vec_load(x[k] + v);
            gnn__vec_store(sum + v, y);
        }
    }
}

GNN__INLINE void wide_block(const gnn__neighbour_sum_t *s, int64_t row, int64_t f, const bool plain)
{
    gnn_real_t sum[WIDE];
    const int64_t from = s->pairs.indptr[row], to = s->pairs.indptr[row + 1],
                  end = s->pairs.indptr[s->pairs.n_rows];
    const gnn_real_t *start = s->start ? s->start + row * s->ldstart + f : NULL;
    for (int c = 0; start && c < WIDE; c += LINE)
        __builtin_prefetch(start + c);
    int64_t at = from;
    if (from == to)
        memset(sum, 0, sizeof sum);
    for (; at + TOGETHER <= to; at += TOGETHER)
        few_edges(s, at, end, f, sum, at == from, TOGETHER, plain);
    for (; at + 2 <= to; at += 2)
        few_edges(s, at, end, f, sum, at == from, 2, plain);
    if (at < to)
        few_edges(s, at, end, f, sum, at == from, 1, plain);
    const gnn__vec_t scale = gnn__vec_all(s->row_scale ? s->row_scale[row] : 1);
    gnn_real_t *y = s->y + (row - s->y_row) * s->ldy + f;
    const bool pass = start != y && !s->held && gnn__vec_streams(y, s->pairs.n_rows * s->width);
    for (int v = 0; v < WIDE; v += LANES) {
        const gnn__vec_t all = scale * gnn__vec_load(sum + v);
        gnn__vec_store_or_stream(y + v, start ? gnn__vec_load(start + v) + all : all, pass);
    }
}

GNN__INLINE void edge_rows(const gnn__neighbour_sum_t *s, int64_t row0, int64_t row1, const bool plain)
{
    for (int64_t row = row0; row < row1; row++) {
        int64_t f = 0;
        for (; f + WIDE <= s->width; f += WIDE)
            wide_block(s, row, f, plain);
        for (; f + 8 * LANES <= s->width; f += 8 * LANES)
            row_block(s, row, f, 8, plain);
        for (; f + 4 * LANES <= s->width; f += 4 * LANES)
            row_block(s, row, f, 4, plain);
        for (; f + LANES <= s->width; f += LANES)
            row_block(s, row, f, 1, plain);
        if (f < s->width)
            row_tail(s, row, f, plain);
    }
}

static void edges(const gnn__neighbour_sum_t *s, int64_t row0, int64_t row1)
{
    if (s->weight || s->col_scale)
        edge_rows(s, row0, row1, false);
    else
        edge_rows(s, row0, row1, true);
    if (!s->held)
        gnn__vec_fence();
}

static void store_rows(const gnn_real_t *rows, int64_t count, int64_t width, gnn_real_t *y,
                       int64_t ldy, int64_t elements, bool last)
{
    const bool pass = ldy % LANES == 0 && gnn__vec_streams(y, elements);
    for (int64_t r = 0; r < count; r++, rows += width, y += ldy) {
        int64_t c = 0;
        for (; c + LANES <= width; c += LANES)
            gnn__vec_store_or_stream(y + c, gnn__vec_load(rows + c), pass);
        if (c < width)
            gnn__vec_store_first(y + c, gnn__vec_load_first(rows + c, (int)(width - c)),
                                 (int)(width - c));
    }
    if (last)
        gnn__vec_fence();
}

/* ---- spans: two stacks ---- */

GNN__INLINE void add_place(const gnn__neighbour_sum_t *s, int64_t place, int64_t first,
                           int64_t count, gnn_real_t *sum)
{
    const int64_t node = gnn__pairs_col(&s->pairs, place);
    const gnn_real_t *x = s->x + node * s->ldx + first, scale = s->col_scale ? s->col_scale[node] : 1;
#pragma omp simd
    for (int64_t c = 0; c < count; c++)
        sum[c] += scale * x[c];
}

/* Moves slots from .. to - 1 to the suffix stack: entry k - from becomes the sum of k .. to -
 * 1. */
static void fill_suffix(const gnn__neighbour_sum_t *s, int64_t from, int64_t to, int64_t first,
                        int64_t count, gnn_real_t *suffix)
{
    gnn_real_t sum[GNN__SLIDE_BLOCK] = {0};
    for (int64_t k = to - 1; k >= from; k--) {
        add_place(s, k, first, count, sum);
        memcpy(suffix + (k - from) * GNN__SLIDE_BLOCK, sum, sizeof sum);
    }
}

static void write_row(const gnn__neighbour_sum_t *s, int64_t row, int64_t first, int64_t count,
                      const gnn_real_t *sum)
{
    const int64_t node = gnn__pairs_node(&s->pairs, row);
    const gnn_real_t scale = s->row_scale ? s->row_scale[node] : 1;
    gnn_real_t *y = s->y + node * s->ldy + first;
    const gnn_real_t *start = s->start ? s->start + node * s->ldstart + first : NULL;
    int64_t c = 0;
#pragma GCC unroll 1
    for (; c + LANES <= count; c += LANES)
        gnn__vec_store(y + c, (start ? gnn__vec_load(start + c) : gnn__vec_all(0)) +
                                  scale * gnn__vec_load(sum + c));
#pragma GCC unroll 1
    for (; c < count; c++)
        y[c] = (start ? start[c] : 0) + scale * sum[c];
}

static void spans(const gnn__neighbour_sum_t *s, int64_t row0, int64_t row1, int64_t first,
                  int64_t count, gnn_real_t *suffix)
{
    const int32_t *lo = s->pairs.lo, *hi = s->pairs.hi;
    int64_t base = lo[row0], split = base,
            top = base; /* suffixes cover base .. split - 1, the running sum split .. top - 1 */
    gnn_real_t running[GNN__SLIDE_BLOCK] = {0}, sum[GNN__SLIDE_BLOCK] = {0};
    for (int64_t row = row0; row < row1; row++) {
        if (row > row0 && lo[row] == lo[row - 1] && hi[row] == hi[row - 1]) {
            write_row(s, row, first, count, sum);
            continue;
        }
        if (lo[row] > split) {
            base = lo[row];
            top = top > base ? top : base;
            fill_suffix(s, base, top, first, count, suffix);
            split = top;
            memset(running, 0, sizeof running);
        }
        for (; top < hi[row]; top++)
            add_place(s, top, first, count, running);
        memcpy(sum, running, sizeof sum);
        for (int64_t c = 0; lo[row] < split && c < count; c++)
            sum[c] += suffix[(lo[row] - base) * GNN__SLIDE_BLOCK + c];
        write_row(s, row, first, count, sum);
    }
}

/* ---- gradient of the weights ---- */

GNN__INLINE gnn_real_t dot(const gnn_real_t *x, const gnn_real_t *y, int64_t n)
{
    gnn__vec_t all = {0};
    gnn_real_t sum = 0;
    int64_t c = 0;
#pragma GCC unroll 1
    for (; c + LANES <= n; c += LANES)
        all += gnn__vec_load(x + c) * gnn__vec_load(y + c);
    for (int l = 0; l < LANES; l++)
        sum += all[l];
#pragma GCC unroll 1
    for (; c < n; c++)
        sum += x[c] * y[c];
    return sum;
}

static void weight_grad(const gnn__neighbour_sum_t *s, int64_t row0, int64_t row1,
                        gnn_real_t *d_weight, int64_t d_stride)
{
    for (int64_t row = row0; row < row1; row++) {
        const gnn_real_t scale = s->row_scale ? s->row_scale[row] : 1;
        for (int64_t at = s->pairs.indptr[row]; at < s->pairs.indptr[row + 1]; at++) {
            const int64_t id = gnn__pairs_edge(&s->pairs, at), j = s->pairs.indices[at];
            if (id < s->weights)
                d_weight[id * d_stride] += scale * (s->col_scale ? s->col_scale[j] : 1) *
                                           dot(s->y + row * s->ldy, s->x + j * s->ldx, s->width);
        }
    }
}

extern const gnn__neighbour_sum_kernels_t GNN__KERNEL(neighbour_sum_kernels);
const gnn__neighbour_sum_kernels_t GNN__KERNEL(neighbour_sum_kernels) = {
    .edges = edges, .store_rows = store_rows, .spans = spans, .weight_grad = weight_grad};
