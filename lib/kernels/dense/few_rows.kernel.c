/* Products of few rows by a large matrix (few_rows.h). Where the rows of W are outputs, some of
 * them walk side by side along k, and sums stand in registers; where its columns are, some rows are
 * added together from end to end, and sums stand in the nearest cache. */
#include <lib/kernels/dense/few_rows.h>
#include <lib/kernels/dense/widened.h>
#include <lib/kernels/isa.h>

/* Sums of OUTPUTS by ROWS want more than the 16 registers of AVX2. */
#if defined(__AVX512F__)
#define MANY_REGISTERS true
#else
#define MANY_REGISTERS false
#endif

enum { OUTPUTS = 4, ROWS = 4, LINE_BYTES = 64 };

/* ---- rows of W are outputs ---- */

GNN__INLINE int64_t bytes_of(gnn__numbers_t numbers)
{
    return numbers == GNN__REAL ? (int64_t)sizeof(gnn_real_t) : 2;
}

GNN__INLINE gnn__vec_t weights_at(const void *at, gnn__numbers_t numbers)
{
    return numbers == GNN__REAL ? gnn__vec_load(at) : widened(at, numbers == GNN__BF16);
}

GNN__INLINE gnn__vec_t last_weights(const void *at, int count, gnn__numbers_t numbers)
{
    return numbers == GNN__REAL ? gnn__vec_load_first(at, count)
                                : widened_first(at, count, numbers == GNN__BF16);
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

/* LANES numbers of each row of W and x. */
GNN__INLINE void step(const gnn__few_rows_t *p, const char *w, const gnn_real_t *x, int rows,
                      int outputs, gnn__numbers_t numbers, gnn__vec_t sum[ROWS][OUTPUTS])
{
    for (int o = 0; o < outputs; o++) {
        const gnn__vec_t weight = weights_at(w + o * p->ldw * bytes_of(numbers), numbers);
        for (int r = 0; r < rows; r++)
            sum[r][o] += weight * gnn__vec_load(x + r * p->ldx);
    }
}

/* A line of W that a later strip will read: into the nearest cache, unless several rows of x fill
 * that. */
GNN__INLINE void ask_for(const char *line, int64_t row, int rows)
{
    if (row > 0)
        return;
    if (rows == 1)
        __builtin_prefetch(line);
    else
        __builtin_prefetch(line, 0, 2);
}

/* One tile: `rows` of x by `outputs` rows of W. Both are constants where this is called. The rows
 * of W that come next are asked for a strip ahead, in the order in which they lie: processors
 * foresee few of several short rows side by side. */
GNN__INLINE void tile(const gnn__few_rows_t *p, int64_t row, int64_t output, int rows, int outputs,
                      gnn__numbers_t numbers)
{
    const int64_t k = p->k, whole = k - k % LANES, size = bytes_of(numbers),
                  line = LINE_BYTES / size, stride = p->ldw * size;
    const char *w = (const char *)p->w + output * stride;
    const gnn_real_t *x = p->x + row * p->ldx;
    gnn__vec_t sum[ROWS][OUTPUTS] = {{{0}}};
    int64_t i = 0;
    for (; i + line <= k; i += line) {
        for (int o = 0; o < outputs; o++)
            ask_for(w + outputs * (stride + i * size) + o * LINE_BYTES, row, rows);
        for (int l = 0; l < line; l += LANES)
            step(p, w + (i + l) * size, x + i + l, rows, outputs, numbers, sum);
    }
    for (; i < whole; i += LANES)
        step(p, w + i * size, x + i, rows, outputs, numbers, sum);
    if (whole < k)
        for (int o = 0; o < outputs; o++) {
            const gnn__vec_t weight =
                last_weights(w + o * stride + whole * size, (int)(k - whole), numbers);
            for (int r = 0; r < rows; r++)
                sum[r][o] += weight * gnn__vec_load_first(x + r * p->ldx + whole, (int)(k - whole));
        }
    for (int r = 0; r < rows; r++)
        for (int o = 0; o < outputs; o++) {
            gnn_real_t *y = p->y + (row + r) * p->ldy + output + o;
            *y = total(sum[r][o]) + (p->add ? *y : p->bias ? p->bias[output + o] : 0);
        }
}

/* All rows of x by a few outputs. */
GNN__INLINE void strip(const gnn__few_rows_t *p, int64_t output, int outputs, gnn__numbers_t numbers)
{
    int64_t row = 0;
    for (; p->rows - row >= ROWS; row += ROWS)
        tile(p, row, output, ROWS, outputs, numbers);
    if (p->rows - row == 3)
        tile(p, row, output, 3, outputs, numbers);
    else if (p->rows - row == 2)
        tile(p, row, output, 2, outputs, numbers);
    else if (p->rows - row == 1)
        tile(p, row, output, 1, outputs, numbers);
}

GNN__INLINE void strips(const gnn__few_rows_t *p, int64_t from, int64_t to, gnn__numbers_t numbers)
{
    if (p->rows <= 2 || MANY_REGISTERS)
        for (; to - from >= OUTPUTS; from += OUTPUTS)
            strip(p, from, OUTPUTS, numbers);
    for (; to - from >= 2; from += 2)
        strip(p, from, 2, numbers);
    for (; from < to; from++)
        strip(p, from, 1, numbers);
}

/* ---- columns of W are outputs ---- */

/* Rows of W that are added together, each read from one end to the other. */
enum { TOGETHER = 8 };

GNN__INLINE gnn__vec_t part_of(const gnn_real_t *at, int count)
{
    return count == LANES ? gnn__vec_load(at) : gnn__vec_load_first(at, count);
}

/* y += x W for one register of columns, or its first `count`; all pointers stand there. */
GNN__INLINE void add_part(const gnn__few_rows_t *p, const gnn_real_t *w, const gnn_real_t *x,
                          gnn_real_t *y, int count, const int rows, const int together)
{
    gnn__vec_t sum[ROWS];
    for (int r = 0; r < rows; r++)
        sum[r] = part_of(y + r * p->ldy, count);
    for (int k = 0; k < together; k++) {
        const gnn__vec_t weights = part_of(w + k * p->ldw, count);
        for (int r = 0; r < rows; r++)
            sum[r] += x[r * p->ldx + k] * weights;
    }
    for (int r = 0; r < rows; r++)
        if (count == LANES)
            gnn__vec_store(y + r * p->ldy, sum[r]);
        else
            gnn__vec_store_first(y + r * p->ldy, sum[r], count);
}

/* Rows row .. of x by rows k .. of W, columns from .. to - 1. The rows of W that come next are
 * asked for meanwhile, line after line. */
GNN__INLINE void add_rows(const gnn__few_rows_t *p, int64_t row, int64_t k, int64_t from,
                          int64_t to, const int rows, const int together)
{
    const gnn_real_t *w = (const gnn_real_t *)p->w + k * p->ldw, *x = p->x + row * p->ldx + k;
    gnn_real_t *y = p->y + row * p->ldy;
    const int64_t line = LINE_BYTES / (int64_t)sizeof(gnn_real_t);
    const gnn_real_t *ahead = w + together * p->ldw + from, *end = ahead + (to - from);
    int64_t c = from;
    for (; c + LANES <= to; c += LANES) {
        for (int l = 0; row == 0 && l < together * LANES; l += (int)line) {
            __builtin_prefetch(ahead, 0, 2);
            ahead += line;
            if (ahead >= end) {
                ahead += p->ldw - (to - from) - (ahead - end);
                end += p->ldw;
            }
        }
        add_part(p, w + c, x, y + c, LANES, rows, together);
    }
    if (c < to)
        add_part(p, w + c, x, y + c, (int)(to - c), rows, together);
}

GNN__INLINE void add_block(const gnn__few_rows_t *p, int64_t k, int64_t from, int64_t to,
                           const int together)
{
    int64_t row = 0;
    for (; p->rows - row >= ROWS; row += ROWS)
        add_rows(p, row, k, from, to, ROWS, together);
    if (p->rows - row == 3)
        add_rows(p, row, k, from, to, 3, together);
    else if (p->rows - row == 2)
        add_rows(p, row, k, from, to, 2, together);
    else if (p->rows - row == 1)
        add_rows(p, row, k, from, to, 1, together);
}

static void columns(const gnn__few_rows_t *p, int64_t from, int64_t to)
{
    const size_t bytes = (size_t)(to - from) * sizeof(gnn_real_t);
    for (int64_t r = 0; !p->add && r < p->rows; r++)
        if (p->bias)
            memcpy(p->y + r * p->ldy + from, p->bias + from, bytes);
        else
            memset(p->y + r * p->ldy + from, 0, bytes);
    int64_t k = 0;
    for (; k + TOGETHER <= p->k; k += TOGETHER)
        add_block(p, k, from, to, TOGETHER);
    for (; k < p->k; k++)
        add_block(p, k, from, to, 1);
}

static void product(const gnn__few_rows_t *p, int64_t from, int64_t to)
{
    if (!p->turned)
        columns(p, from, to);
    else if (p->numbers == GNN__REAL)
        strips(p, from, to, GNN__REAL);
    else if (p->numbers == GNN__BF16)
        strips(p, from, to, GNN__BF16);
    else
        strips(p, from, to, GNN__FLOAT16);
}

extern const gnn__few_rows_kernels_t GNN__KERNEL(few_rows_kernels);
const gnn__few_rows_kernels_t GNN__KERNEL(few_rows_kernels) = {.product = product};
