/* GEMV batch: few rows of x times a large W, bound by reading W. Each element of W is read once
 * from memory and meets all rows of x; BLAS reaches a third of memory bandwidth here, because it
 * packs W first, or reads rows too short for the hardware prefetcher.
 *
 *     transposed: rows of W are outputs         else: columns of W are outputs
 *     k ------------------->                    outputs -------------->
 *     W  [ output 0 ]  OUTPUTS rows             W  [ k = 0  | strip | strip |
 *        [ output 1 ]  at a time, along k          [ k = 1  |       |       |  BLOCK rows down,
 *     x  [ row 0 ]     ROWS at a time              [  ..    | v     | v     |  strip by strip
 *     sum[row][output], reduced at the end      sum[row][strip], loaded from and stored to y
 *
 * Sums stay in registers. W is prefetched in the order in which it is stored, one strip ahead. */
#include <lib/kernels/dense/dense.h>
#include <lib/kernels/simd/vec_fp16.h>
#include <lib/kernels/isa.h>

/* Sums of OUTPUTS x ROWS exceed the 16 registers of AVX2. */
#if defined(__AVX512F__)
#define MANY_REGISTERS true
#else
#define MANY_REGISTERS false
#endif

enum { OUTPUTS = 4, ROWS = 4, LINE_BYTES = 64 };

/* ---- rows of W are outputs ---- */

GNN__INLINE int64_t bytes_of(gnn__format_t format)
{
    return format == GNN__FORMAT_REAL ? (int64_t)sizeof(gnn_real_t) : 2;
}

GNN__INLINE gnn__vec_t weights_at(const void *at, gnn__format_t format)
{
    return format == GNN__FORMAT_REAL ? gnn__vec_load(at) : widened(at, format == GNN__FORMAT_BF16);
}

GNN__INLINE gnn__vec_t last_weights(const void *at, int count, gnn__format_t format)
{
    return format == GNN__FORMAT_REAL ? gnn__vec_load_first(at, count)
                                      : widened_first(at, count, format == GNN__FORMAT_BF16);
}

GNN__INLINE gnn_real_t total(gnn__vec_t x)
{
    gnn_real_t part[LANES];
    gnn__vec_store(part, x);
    for (int n = LANES / 2; n > 0; n /= 2)
        for (int l = 0; l < n; l++)
            part[l] += part[l + n];
    return part[0];
}

/* LANES elements of each row of W and of x. */
GNN__INLINE void step(const gnn__gemv_batch_t *p, const char *w, const gnn_real_t *x, int rows,
                      int outputs, gnn__format_t format, gnn__vec_t sum[ROWS][OUTPUTS])
{
    for (int o = 0; o < outputs; o++) {
        const gnn__vec_t weight = weights_at(w + o * p->ldw * bytes_of(format), format);
        for (int r = 0; r < rows; r++)
            sum[r][o] += weight * gnn__vec_load(x + r * p->ldx);
    }
}

/* Prefetches a line of W for a later strip: into the first-level cache, unless several rows of x
 * fill that. */
GNN__INLINE void prefetch_line(const char *line, int64_t row, int rows)
{
    if (row > 0)
        return;
    if (rows == 1)
        __builtin_prefetch(line);
    else
        __builtin_prefetch(line, 0, 2);
}

/* One tile: `rows` of x by `outputs` rows of W, both constants at each call. Prefetches the rows of
 * W one strip ahead, in the order in which they are stored: hardware prefetchers recognise few of
 * several short rows read in parallel. */
GNN__INLINE void tile(const gnn__gemv_batch_t *p, int64_t row, int64_t output, int rows,
                      int outputs, gnn__format_t format)
{
    const int64_t k = p->k, whole = k - k % LANES, size = bytes_of(format);
    const int64_t line = LINE_BYTES / size, stride = p->ldw * size;
    const char *w = (const char *)p->w + output * stride;
    const gnn_real_t *x = p->x + row * p->ldx;
    gnn__vec_t sum[ROWS][OUTPUTS] = {{{0}}};
    int64_t i = 0;
    for (; i + line <= k; i += line) {
        for (int o = 0; o < outputs; o++)
            prefetch_line(w + outputs * (stride + i * size) + o * LINE_BYTES, row, rows);
        for (int l = 0; l < line; l += LANES)
            step(p, w + (i + l) * size, x + i + l, rows, outputs, format, sum);
    }
    for (; i < whole; i += LANES)
        step(p, w + i * size, x + i, rows, outputs, format, sum);
    if (whole < k)
        for (int o = 0; o < outputs; o++) {
            const gnn__vec_t weight =
                last_weights(w + o * stride + whole * size, (int)(k - whole), format);
            for (int r = 0; r < rows; r++)
                sum[r][o] += weight * gnn__vec_load_first(x + r * p->ldx + whole, (int)(k - whole));
        }
    for (int r = 0; r < rows; r++)
        for (int o = 0; o < outputs; o++) {
            gnn_real_t *y = p->y + (row + r) * p->ldy + output + o, start = p->add ? *y : 0;
            if (!p->add && p->bias)
                start = p->bias[output + o];
            *y = total(sum[r][o]) + start;
        }
}

/* All rows of x by a few outputs. */
GNN__INLINE void strip(const gnn__gemv_batch_t *p, int64_t output, int outputs, gnn__format_t format)
{
    int64_t row = 0;
    for (; p->rows - row >= ROWS; row += ROWS)
        tile(p, row, output, ROWS, outputs, format);
    if (p->rows - row == 3)
        tile(p, row, output, 3, outputs, format);
    else if (p->rows - row == 2)
        tile(p, row, output, 2, outputs, format);
    else if (p->rows - row == 1)
        tile(p, row, output, 1, outputs, format);
}

GNN__INLINE void strips(const gnn__gemv_batch_t *p, int64_t from, int64_t to, gnn__format_t format)
{
    if (p->rows <= 2 || MANY_REGISTERS)
        for (; to - from >= OUTPUTS; from += OUTPUTS)
            strip(p, from, OUTPUTS, format);
    for (; to - from >= 2; from += 2)
        strip(p, from, 2, format);
    for (; from < to; from++)
        strip(p, from, 1, format);
}

/* ---- columns of W are outputs ---- */

/* Registers of a strip of columns; rows of x at once; rows of W that all strips and rows of x meet
 * before the next, so that they are read from memory once. */
enum { WIDE = MANY_REGISTERS ? 4 : 2, MOST = MANY_REGISTERS ? 6 : 4, BLOCK = 64 };

/* The next line of W to prefetch; the lines of a block are in rows of its columns. */
typedef struct {
    const char *at, *end; /* end of the row's part */
    int64_t part, stride; /* in bytes */
} cursor_t;

GNN__INLINE void prefetch_next(cursor_t *next)
{
    __builtin_prefetch(next->at, 0, 2);
    next->at += LINE_BYTES;
    if (next->at >= next->end) {
        next->end += next->stride;
        next->at = next->end - next->part;
    }
}

GNN__INLINE gnn__vec_t part_of(const gnn_real_t *at, int count)
{
    return count == LANES ? gnn__vec_load(at) : gnn__vec_load_first(at, count);
}

/* y += x W for rows row .. of x, rows from .. to - 1 of W, `wide` registers of columns from c on,
 * of which the last has `count` elements. */
GNN__INLINE void column_tile(const gnn__gemv_batch_t *p, int64_t row, int64_t c, int64_t from,
                             int64_t to, int count, cursor_t *next, const int rows, const int wide)
{
    const gnn_real_t *w = (const gnn_real_t *)p->w + from * p->ldw + c, *x = p->x + row * p->ldx;
    gnn_real_t *y = p->y + row * p->ldy + c;
    gnn__vec_t sum[MOST][WIDE];
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < wide; v++)
            sum[r][v] = part_of(y + r * p->ldy + v * LANES, count);
    for (int64_t k = from; k < to; k++, w += p->ldw) {
        gnn__vec_t weights[WIDE];
        for (int v = 0; v < wide; v++) {
            weights[v] = part_of(w + v * LANES, count);
            if (row == 0 && v * (int)sizeof(gnn__vec_t) % LINE_BYTES == 0)
                prefetch_next(next);
        }
        for (int r = 0; r < rows; r++) {
            const gnn__vec_t by = gnn__vec_all(x[r * p->ldx + k]);
            for (int v = 0; v < wide; v++)
                sum[r][v] += by * weights[v];
        }
    }
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < wide; v++)
            if (count == LANES)
                gnn__vec_store(y + r * p->ldy + v * LANES, sum[r][v]);
            else
                gnn__vec_store_first(y + r * p->ldy + v * LANES, sum[r][v], count);
}

GNN__INLINE void column_strip(const gnn__gemv_batch_t *p, int64_t c, int64_t from, int64_t to,
                              int count, cursor_t *next, const int wide)
{
    int64_t row = 0;
    for (; p->rows - row >= MOST; row += MOST)
        column_tile(p, row, c, from, to, count, next, MOST, wide);
    if (p->rows - row == 5)
        column_tile(p, row, c, from, to, count, next, 5, wide);
    else if (p->rows - row == 4)
        column_tile(p, row, c, from, to, count, next, 4, wide);
    else if (p->rows - row == 3)
        column_tile(p, row, c, from, to, count, next, 3, wide);
    else if (p->rows - row == 2)
        column_tile(p, row, c, from, to, count, next, 2, wide);
    else if (p->rows - row == 1)
        column_tile(p, row, c, from, to, count, next, 1, wide);
}

static void begin(const gnn__gemv_batch_t *p, int64_t from, int64_t to)
{
    const size_t bytes = (size_t)(to - from) * sizeof(gnn_real_t);
    for (int64_t r = 0; !p->add && r < p->rows; r++)
        if (p->bias)
            memcpy(p->y + r * p->ldy + from, p->bias + from, bytes);
        else
            memset(p->y + r * p->ldy + from, 0, bytes);
}

static void columns(const gnn__gemv_batch_t *p, int64_t from, int64_t to)
{
    const int64_t size = (int64_t)sizeof(gnn_real_t);
    begin(p, from, to);
    for (int64_t k = 0; k < p->k; k += BLOCK) {
        const int64_t end = gnn__min(k + BLOCK, p->k);
        const char *w = (const char *)p->w + (end * p->ldw + from) * size;
        cursor_t next = {w, w + (to - from) * size, (to - from) * size, p->ldw * size};
        int64_t c = from;
        for (; to - c >= WIDE * LANES; c += WIDE * LANES)
            column_strip(p, c, k, end, LANES, &next, WIDE);
        for (; to - c >= LANES; c += LANES)
            column_strip(p, c, k, end, LANES, &next, 1);
        if (c < to)
            column_strip(p, c, k, end, (int)(to - c), &next, 1);
    }
}

static void product(const gnn__gemv_batch_t *p, int64_t from, int64_t to)
{
    if (!p->transposed)
        columns(p, from, to);
    else if (p->format == GNN__FORMAT_REAL)
        strips(p, from, to, GNN__FORMAT_REAL);
    else if (p->format == GNN__FORMAT_BF16)
        strips(p, from, to, GNN__FORMAT_BF16);
    else
        strips(p, from, to, GNN__FORMAT_FP16);
}

extern const gnn__gemv_batch_kernels_t GNN__KERNEL(gemv_batch_kernels);
const gnn__gemv_batch_kernels_t GNN__KERNEL(gemv_batch_kernels) = {.product = product};
