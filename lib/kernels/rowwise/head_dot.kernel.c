/* Dot products per head of rows with one or two vectors, and their gradients (rowwise.h): the
 * scores of GAT. Three forms:
 *
 *     any            head by head, reduced across lanes
 *     one narrow     one head that fits a register: masked loads (AVX2 and up)
 *     8 heads x 8    AVX-512: a row in 4 registers; neighbouring lanes are added three times
 *                      h0.0 h0.1 .. h0.7 h1.0 .. h1.7  ->  h0 h1 .. h7
 *                    AVX2: a row in 8 registers, both vectors at a time */
#include <lib/kernels/isa.h>
#include <lib/kernels/rowwise/rowwise.h>
#include <lib/kernels/simd/vec_heads.h>

enum { LANES = GNN__VEC_LANES, STRIP = 64, BLOCK = 32 };

/* 8 heads x 8, the shape of the GAT paper, has loops of its own where registers are wide enough. */
static bool is_eight(const gnn__heads_block_t *b)
{
    return !GNN_DOUBLE && LANES >= 8 && b->heads == 8 && b->width == 8;
}

/* ---- any heads: one vector after the other ---- */

/* Lanes are added pairwise; a compiler's own reduction would add them in sequence. */
static gnn_real_t dot(int64_t n, const gnn_real_t *p, const gnn_real_t *q)
{
    gnn__vec_t sum = {0};
    int64_t k = 0;
    for (; k + LANES <= n; k += LANES)
        sum += gnn__vec_load(p + k) * gnn__vec_load(q + k);
    if (k < n)
        sum += gnn__vec_load_first(p + k, (int)(n - k)) * gnn__vec_load_first(q + k, (int)(n - k));
    return gnn__vec_reduce(sum, 1, false)[0];
}

/* A register of elements, or the `count` that remain. */
GNN__INLINE gnn__vec_t some(const gnn_real_t *at, int64_t count)
{
    return count < LANES ? gnn__vec_load_first(at, (int)count) : gnn__vec_load(at);
}

static void spread(const gnn__heads_block_t *b, int v, bool add)
{
    for (int64_t r = 0; r < b->rows; r++)
        for (int64_t head = 0; head < b->heads; head++) {
            const gnn_real_t g = b->y[v][r * b->ldy + head], *a = b->a[v] + head * b->width;
            gnn_real_t *dx = b->dx + r * b->lddx + head * b->width;
            for (int64_t k = 0; k < b->width; k += LANES) {
                const int64_t left = b->width - k;
                const gnn__vec_t d =
                    g * some(a + k, left) + (add ? some(dx + k, left) : gnn__vec_all(0));
                if (left < LANES)
                    gnn__vec_store_first(dx + k, d, (int)left);
                else
                    gnn__vec_store(dx + k, d);
            }
        }
}

/* Sums of some heads, at most STRIP columns at a time. */
static void strip(int64_t rows, int64_t heads, int64_t width, const gnn_real_t *g, int64_t ldg,
                  const gnn_real_t *x, int64_t ldx, double *sums)
{
    gnn_real_t block[STRIP + LANES] = {0};
    for (int64_t r = 0; r < rows; r++)
        for (int64_t head = 0; head < heads; head++)
            for (int64_t c = 0; c < width; c += LANES) {
                gnn_real_t *to = block + head * width + c;
                gnn__vec_store(to, gnn__vec_load(to) +
                                       g[r * ldg + head] *
                                           some(x + r * ldx + head * width + c, width - c));
            }
    for (int64_t c = 0; c < heads * width; c++)
        sums[c] += (double)block[c];
}

static void columns(const gnn__heads_block_t *b, int v)
{
    for (int64_t top = 0; top < b->rows; top += BLOCK) {
        const int64_t rows = b->rows - top < BLOCK ? b->rows - top : BLOCK;
        const gnn_real_t *g = b->y[v] + top * b->ldy, *x = b->x + top * b->ldx;
        if (LANES == 8 && is_eight(b)) {
            strip(rows, 8, 8, g, b->ldy, x, b->ldx, b->sums[v]);
            continue;
        }
        for (int64_t head = 0; head < b->heads; head++)
            for (int64_t c = head * b->width, end = c + b->width; c < end; c += STRIP)
                strip(rows, 1, end - c < STRIP ? end - c : STRIP, g + head, b->ldy, x + c, b->ldx,
                      b->sums[v] + c);
    }
}

/* ---- one head that fits a register, as in the last layer of a GAT; worth it where loads can be
 * masked ---- */

#if defined(__AVX2__)
static bool is_narrow(const gnn__heads_block_t *b)
{
    return b->heads == 1 && b->width < LANES;
}

static void narrow_grads(const gnn__heads_block_t *b)
{
    const int width = (int)b->width;
    gnn__vec_t a[GNN__HEAD_VECTORS], sum[GNN__HEAD_VECTORS] = {{0}};
    for (int v = 0; v < b->vectors; v++)
        a[v] = gnn__vec_load_first(b->a[v], width);
    for (int64_t r = 0; r < b->rows; r++) {
        const gnn__vec_t x = gnn__vec_load_first(b->x + r * b->ldx, width);
        gnn_real_t *to = b->dx ? b->dx + r * b->lddx : NULL;
        gnn__vec_t d = to && b->add ? gnn__vec_load_first(to, width) : gnn__vec_all(0);
        for (int v = 0; v < b->vectors; v++) {
            d += b->y[v][r * b->ldy] * a[v];
            sum[v] += b->y[v][r * b->ldy] * x;
        }
        if (to)
            gnn__vec_store_first(to, d, width);
    }
    for (int v = 0; v < b->vectors; v++)
        for (int c = 0; b->sums[v] && c < width; c++)
            b->sums[v][c] += (double)sum[v][c];
}
#endif

/* ---- 8 heads x 8 ---- */

#if !GNN_DOUBLE && defined(__AVX512F__)
enum { EIGHT = 8, REGISTERS = EIGHT * EIGHT / LANES };

/* Adds neighbouring lanes until two lanes hold a head's sum. */
GNN__INLINE gnn__vec_t halves(const gnn__vec_t *x, const gnn__vec_t *a)
{
    return gnn__vec_neighbours(gnn__vec_neighbours(x[0] * a[0], x[1] * a[1]),
                               gnn__vec_neighbours(x[2] * a[2], x[3] * a[3]));
}

static void eight_dots(const gnn__heads_block_t *b)
{
    gnn__vec_t a[GNN__HEAD_VECTORS][REGISTERS];
    for (int v = 0; v < GNN__HEAD_VECTORS; v++)
        for (int u = 0; u < REGISTERS; u++)
            a[v][u] = gnn__vec_load(b->a[v < b->vectors ? v : 0] + u * LANES);
    for (int64_t r = 0; r < b->rows; r++) {
        gnn__vec_t x[REGISTERS];
        for (int u = 0; u < REGISTERS; u++)
            x[u] = gnn__vec_load(b->x + r * b->ldx + u * LANES);
        const __m512 y = (__m512)gnn__vec_neighbours(halves(x, a[0]), halves(x, a[1]));
        _mm256_storeu_ps(b->y[0] + r * b->ldy, _mm512_castps512_ps256(y));
        if (b->vectors > 1)
            _mm256_storeu_ps(b->y[1] + r * b->ldy, _mm512_extractf32x8_ps(y, 1));
    }
}

/* Rows from .. to - 1 and two vectors, their sums in registers. */
static void eight_rows(const gnn__heads_block_t *b, int64_t from, int64_t to)
{
    gnn__vec_t a[GNN__HEAD_VECTORS][REGISTERS], sum[GNN__HEAD_VECTORS][REGISTERS] = {{{0}}};
    gnn__vec_bits_t head[REGISTERS];
    for (int u = 0; u < REGISTERS; u++) {
        head[u] = gnn__vec_head_of_lane(EIGHT, u);
        for (int v = 0; v < GNN__HEAD_VECTORS; v++)
            a[v][u] = gnn__vec_load(b->a[v] + u * LANES);
    }
    for (int64_t r = from; r < to; r++) {
        const gnn_real_t *x = b->x + r * b->ldx;
        gnn_real_t *dx = b->dx ? b->dx + r * b->lddx : NULL;
        for (int u = 0; u < REGISTERS; u++) {
            gnn__vec_t d = dx && b->add ? gnn__vec_load(dx + u * LANES) : gnn__vec_all(0);
            for (int v = 0; v < GNN__HEAD_VECTORS; v++) {
                const gnn__vec_t g =
                    gnn__vec_spread(gnn__vec_pattern(b->y[v] + r * b->ldy, EIGHT, 0), head[u]);
                d += g * a[v][u];
                sum[v][u] += g * gnn__vec_load(x + u * LANES);
            }
            if (dx)
                gnn__vec_store(dx + u * LANES, d);
        }
    }
    for (int v = 0; v < GNN__HEAD_VECTORS; v++)
        for (int c = 0; b->sums[v] && c < EIGHT * EIGHT; c++)
            b->sums[v][c] += (double)sum[v][c / LANES][c % LANES];
}

static void eight_grads(const gnn__heads_block_t *b)
{
    for (int64_t top = 0; top < b->rows; top += BLOCK) {
        const int64_t end = top + BLOCK < b->rows ? top + BLOCK : b->rows;
        eight_rows(b, top, end);
    }
}
#elif !GNN_DOUBLE && defined(__AVX2__)
typedef float eight_t __attribute__((vector_size(32)));
typedef float eight_anywhere_t __attribute__((vector_size(32), aligned(4), may_alias));

/* Adds neighbouring lanes three times, two registers at once, until each lane holds one head's
 * sum. */
static void eight_dots_of(const gnn__heads_block_t *b, int vector)
{
    for (int64_t r = 0; r < b->rows; r++) {
        const eight_anywhere_t *p = (const eight_anywhere_t *)(b->x + r * b->ldx),
                               *q = (const eight_anywhere_t *)b->a[vector];
        eight_t v[8];
        for (int h = 0; h < 8; h++)
            v[h] = p[h] * q[h];
        for (int h = 0; h < 8; h += 2)
            v[h] = __builtin_shufflevector(v[h], v[h + 1], 0, 8, 2, 10, 4, 12, 6, 14) +
                   __builtin_shufflevector(v[h], v[h + 1], 1, 9, 3, 11, 5, 13, 7, 15);
        for (int h = 0; h < 8; h += 4)
            v[h] = __builtin_shufflevector(v[h], v[h + 2], 0, 1, 8, 9, 4, 5, 12, 13) +
                   __builtin_shufflevector(v[h], v[h + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        *(eight_anywhere_t *)(b->y[vector] + r * b->ldy) =
            __builtin_shufflevector(v[0], v[4], 0, 1, 2, 3, 8, 9, 10, 11) +
            __builtin_shufflevector(v[0], v[4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
}

static void eight_dots(const gnn__heads_block_t *b)
{
    for (int v = 0; v < b->vectors; v++)
        eight_dots_of(b, v);
}

/* `rows` rows and two vectors, head by head (a register each). Sums stay in the first-level cache;
 * rows are read and written in order. */
GNN__INLINE void eight_rows(const gnn__heads_block_t *b, const int rows, int64_t r,
                            gnn_real_t sums[2][8 * LANES])
{
    const gnn_real_t *x = b->x + r * b->ldx, *g = b->y[0] + r * b->ldy, *h = b->y[1] + r * b->ldy;
    gnn_real_t *dx = b->dx ? b->dx + r * b->lddx : NULL;
    for (int head = 0; head < 8; head++) {
        const int c = head * LANES;
        const gnn__vec_t a = gnn__vec_load(b->a[0] + c), other = gnn__vec_load(b->a[1] + c);
        gnn__vec_t sum[2] = {gnn__vec_load(sums[0] + c), gnn__vec_load(sums[1] + c)};
#pragma GCC unroll 4
        for (int k = 0; k < rows; k++) {
            const gnn__vec_t own = gnn__vec_load(x + k * b->ldx + c);
            const gnn_real_t p = g[k * b->ldy + head], q = h[k * b->ldy + head];
            sum[0] += p * own;
            sum[1] += q * own;
            if (dx) {
                gnn_real_t *to = dx + k * b->lddx + c;
                gnn__vec_store(to,
                               (b->add ? gnn__vec_load(to) : gnn__vec_all(0)) + p * a + q * other);
            }
        }
        gnn__vec_store(sums[0] + c, sum[0]);
        gnn__vec_store(sums[1] + c, sum[1]);
    }
}

static void eight_grads(const gnn__heads_block_t *b)
{
    for (int64_t top = 0; top < b->rows; top += BLOCK) {
        const int64_t end = top + BLOCK < b->rows ? top + BLOCK : b->rows;
        gnn_real_t sums[2][8 * LANES] = {{0}};
        int64_t r = top;
        for (; r + 4 <= end; r += 4)
            eight_rows(b, 4, r, sums);
        for (; r < end; r++)
            eight_rows(b, 1, r, sums);
        for (int v = 0; v < 2; v++)
            for (int c = 0; b->sums[v] && c < 8 * LANES; c++)
                b->sums[v][c] += (double)sums[v][c];
    }
}
#endif

/* ---- selection ---- */

static void dots(const gnn__heads_block_t *b)
{
#if !GNN_DOUBLE && defined(__AVX2__)
    if (is_eight(b)) {
        eight_dots(b);
        return;
    }
#endif
    for (int v = 0; v < b->vectors; v++)
        for (int64_t r = 0; r < b->rows; r++)
            for (int64_t head = 0; head < b->heads; head++)
                b->y[v][r * b->ldy + head] =
                    dot(b->width, b->x + r * b->ldx + head * b->width, b->a[v] + head * b->width);
}

static void grads(const gnn__heads_block_t *b)
{
#if defined(__AVX2__)
    if (is_narrow(b)) {
        narrow_grads(b);
        return;
    }
#endif
#if !GNN_DOUBLE && defined(__AVX2__)
    if (is_eight(b) && b->vectors == GNN__HEAD_VECTORS) {
        eight_grads(b);
        return;
    }
#endif
    for (int v = 0; v < b->vectors; v++) {
        if (b->dx)
            spread(b, v, b->add || v > 0);
        if (b->sums[v])
            columns(b, v);
    }
}

extern const gnn__head_kernels_t GNN__KERNEL(head_kernels);
const gnn__head_kernels_t GNN__KERNEL(head_kernels) = {.dots = dots, .grads = grads};
