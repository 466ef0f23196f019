/* Passes of attention by strip (by_strip.h). Each runs over one row of scores or weights, one
 * register at a time; loads and stores of the last register are masked. Products and packing are
 * those of by_tile. */
#include <lib/kernels/attention/by_strip/by_strip.h>
#include <lib/kernels/attention/by_tile/tile.h>
#include <lib/kernels/simd/philox.h>

/* ---- packing ---- */

static bool pack(const gnn__matrix_t *m, const uint32_t *node, int64_t n, int64_t whole,
                 int64_t first, int64_t count, int64_t ld, gnn_real_t factor, gnn_real_t *rows)
{
    return pack_rows(m, node, (int)n, (int)whole, first, count, ld, factor, rows);
}

static void transpose_tiles(const gnn_real_t *rows, int64_t tiles, int64_t width, gnn_real_t *columns)
{
    for (int64_t t = 0; t < tiles; t++) {
        const panel_t p = {rows + t * COLUMNS * width, width, true};
        transpose(&p, COLUMNS, width, columns + t * COLUMNS * width);
    }
}

/* ---- elementwise ---- */

/* For each register x of a row: loads it, runs the statement, stores y; the last one masked. */
#define EACH_REGISTER(n, c, count)                                  \
    for (int64_t c = 0, count = (n) < LANES ? (n) : LANES; c < (n); \
         c += LANES, count = (n)-c < LANES ? (n)-c : LANES)

GNN__INLINE gnn__vec_t load(const gnn_real_t *x, int64_t count)
{
    return count == LANES ? gnn__vec_load(x) : gnn__vec_load_first(x, (int)count);
}

GNN__INLINE void store(gnn_real_t *y, gnn__vec_t x, int64_t count)
{
    if (count == LANES)
        gnn__vec_store(y, x);
    else
        gnn__vec_store_first(y, x, (int)count);
}

static void cap_row(int64_t n, gnn_real_t cap, gnn_real_t *x)
{
    const gnn__vec_t most = gnn__vec_all(cap), inverse = 1 / most;
    EACH_REGISTER(n, c, count)
    store(x + c, most * tanh_of(load(x + c, count) * inverse), count);
}

static void cap_grad(int64_t n, gnn_real_t cap, const gnn_real_t *capped, gnn_real_t *d)
{
    const gnn__vec_t inverse = gnn__vec_all(1 / cap);
    EACH_REGISTER(n, c, count)
    {
        const gnn__vec_t t = load(capped + c, count) * inverse, x = load(d + c, count);
        store(d + c, choose(~(lanes_t)(x == (gnn__vec_t){0}), x * (1 - t * t), 0), count);
    }
}

static void exp_row(int64_t n, gnn_real_t *x)
{
    EACH_REGISTER(n, c, count)
    store(x + c, gnn__vec_exp(load(x + c, count)), count);
}

static void gather(int64_t n, const gnn_real_t *values, const int32_t *index, gnn_real_t *out)
{
#pragma omp simd
    for (int64_t c = 0; c < n; c++)
        out[c] += values[index[c]];
}

static void gather_rows(int64_t n, const gnn_real_t *values, const int32_t *row,
                        const int32_t *index, gnn_real_t *out)
{
#pragma omp simd
    for (int64_t c = 0; c < n; c++)
        out[c] += values[row[index[c]]];
}

static bool within(int64_t n, const gnn_real_t *x, gnn_real_t most)
{
    bool all = true;
#pragma omp simd reduction(& : all)
    for (int64_t c = 0; c < n; c++)
        all &= (x[c] <= most) & (x[c] >= -most);
    return all;
}

/* ---- additive_tanh ---- */

GNN__INLINE gnn__vec_t reciprocal(gnn__vec_t x)
{
#if defined(__AVX512F__) && !GNN_DOUBLE
    const gnn__vec_t y = (gnn__vec_t)_mm512_rcp14_ps((__m512)x);
    return y * (2 - x * y);
#else
    return 1 / x;
#endif
}

/* For values that are too large for factors: pair by pair. */
static ONE_COPY void tanh_of_pairs(const gnn__strip_tanh_t *t, gnn_real_t *s, const gnn_real_t *d,
                                   gnn_real_t *d_q, gnn_real_t *d_k, gnn_real_t *d_v)
{
    for (int64_t r = 0; r < t->rows; r++)
        for (int64_t c = t->from[r]; c < t->to[r]; c++) {
            const gnn_real_t *q = t->q + r * t->ldk, *k = t->k + (t->first + c) * t->ldk;
            gnn_real_t sum = 0, *to = d ? d_k + (t->first + c) / COLUMNS * COLUMNS * t->ldk : NULL;
            for (int64_t x = 0; x < t->d_k; x++) {
                const gnn_real_t y = gnn__tanh((q[x] + k[x]) / 2);
                sum += t->v[x] * y;
                if (!d)
                    continue;
                const gnn_real_t own = d[r * t->ld + c], g = own * t->v[x] * (1 - y * y);
                d_q[r * t->ldk + x] += g;
                to[x * COLUMNS + (t->first + c) % COLUMNS] += g;
                d_v[x] += own * y;
            }
            if (s)
                s[r * t->ld + c] = sum;
        }
}

/* The elements of the transposed tiles that hold column c of the strip. */
GNN__INLINE int64_t column_at(const gnn__strip_tanh_t *t, int64_t c)
{
    const int64_t at = t->first + c;
    return at / COLUMNS * COLUMNS * t->ldk + at % COLUMNS;
}

enum { TOGETHER = 4 };

/* Rows r .. r + TOGETHER - 1 and one register of columns. */
GNN__INLINE void tanh_block(const gnn__strip_tanh_t *t, int64_t r, int64_t c, gnn__vec_t all,
                            gnn_real_t *s)
{
    const gnn_real_t *k = t->k + column_at(t, c), *q[TOGETHER];
    gnn__vec_t sum[TOGETHER];
#pragma GCC unroll 4
    for (int b = 0; b < TOGETHER; b++) {
        q[b] = t->q + (r + b < t->rows ? r + b : t->rows - 1) * t->ldk;
        sum[b] = (gnn__vec_t){0};
    }
    for (int64_t x = 0; x < t->d_k; x++) {
        const gnn__vec_t key = gnn__vec_load(k + x * COLUMNS), v = gnn__vec_all(t->v[x]);
#pragma GCC unroll 4
        for (int b = 0; b < TOGETHER; b++)
            sum[b] += v * reciprocal(1 + gnn__vec_all(q[b][x]) * key);
    }
#pragma GCC unroll 4
    for (int b = 0; b < TOGETHER; b++)
        if (r + b < t->rows)
            gnn__vec_store(s + (r + b) * t->ld + c, all - 2 * sum[b]);
}

static void tanh_scores(const gnn__strip_tanh_t *t, gnn_real_t *s)
{
    gnn_real_t all = 0;
    if (!t->factors) {
        tanh_of_pairs(t, s, NULL, NULL, NULL, NULL);
        return;
    }
    for (int64_t x = 0; x < t->d_k; x++)
        all += t->v[x];
    for (int64_t r = 0; r < t->rows; r += TOGETHER)
        for (int64_t c = 0; c < t->width; c += LANES)
            tanh_block(t, r, c, gnn__vec_all(all), s);
}

/* Rows row0 .. row1 - 1 and `registers` registers of columns of one tile. With y = 1 / (1 + e^2x):
 * tanh' = 4 (y - y^2). */
GNN__INLINE void tanh_block_grad(const gnn__strip_tanh_t *t, int64_t row0, int64_t row1, int64_t c,
                                 const int registers, const gnn_real_t *d, gnn_real_t *d_q,
                                 gnn_real_t *d_k, gnn_real_t *d_v)
{
    const int64_t at = column_at(t, c);
    for (int64_t x = 0; x < t->d_k; x++) {
        gnn__vec_t key[TOGETHER], sum[TOGETHER], moved = {0};
        const gnn_real_t v = 4 * t->v[x];
        gnn_real_t *to = d_k + at + x * COLUMNS;
#pragma GCC unroll 4
        for (int b = 0; b < registers; b++) {
            key[b] = gnn__vec_load(t->k + at + x * COLUMNS + b * LANES);
            sum[b] = (gnn__vec_t){0};
        }
        for (int64_t r = row0; r < row1; r++) {
            const gnn__vec_t q = gnn__vec_all(t->q[r * t->ldk + x]);
            gnn__vec_t own = {0};
#pragma GCC unroll 4
            for (int b = 0; b < registers; b++) {
                const gnn__vec_t of = gnn__vec_load(d + r * t->ld + c + b * LANES),
                                 y = reciprocal(1 + q * key[b]), h = of * y, g = h - h * y;
                own += g;
                sum[b] += g;
                moved += of - 2 * h;
            }
            d_q[r * t->ldk + x] += v * sum_of_lanes(own);
        }
#pragma GCC unroll 4
        for (int b = 0; b < registers; b++)
            gnn__vec_store(to + b * LANES, gnn__vec_load(to + b * LANES) + v * sum[b]);
        d_v[x] += sum_of_lanes(moved);
    }
}

static void tanh_grad(const gnn__strip_tanh_t *t, const gnn_real_t *d, gnn_real_t *d_q,
                      gnn_real_t *d_k, gnn_real_t *d_v)
{
    if (!t->factors) {
        tanh_of_pairs(t, NULL, d, d_q, d_k, d_v);
        return;
    }
    int64_t row0 = 0;
    for (int64_t c = 0, step; c < t->width; c += step) {
        const int64_t left = COLUMNS - (t->first + c) % COLUMNS,
                      end = c + left < t->width ? c + left : t->width;
        const bool many = end - c >= TOGETHER * LANES;
        int64_t row1 = t->rows;
        step = many ? TOGETHER * LANES : LANES;
        while (row0 < t->rows && t->to[row0] <= c)
            row0++;
        while (row1 > row0 && t->from[row1 - 1] >= c + step)
            row1--;
        if (many)
            tanh_block_grad(t, row0, row1, c, TOGETHER, d, d_q, d_k, d_v);
        else
            tanh_block_grad(t, row0, row1, c, 1, d, d_q, d_k, d_v);
    }
}

/* ---- dropout ---- */

static void draw(const gnn__dropout_t *d, uint32_t receiver, int64_t n, const uint32_t *sender,
                 uint32_t block, uint8_t *bits)
{
    enum { DRAWN = GNN__STRIP_DRAWN };
    uint32_t own[DRAWN], other[DRAWN];
    for (int l = 0; l < DRAWN; l++)
        own[l] = receiver;
    for (int64_t c = 0; c < n; c += DRAWN) {
        for (int64_t l = 0; l < DRAWN; l++)
            other[l] = sender[c + l < n ? c + l : n - 1];
        gnn__keep_bytes(d, (int)(n - c < DRAWN ? n - c : DRAWN), own, other, block, bits + c);
    }
}

static void drop(int64_t n, const uint8_t *bits, int bit, gnn_real_t scale, gnn_real_t *x)
{
#pragma omp simd
    for (int64_t c = 0; c < n; c++)
        x[c] = bits[c] >> bit & 1 ? scale * x[c] : 0;
}

/* ---- weighers ---- */

static void softmax(int64_t n, const gnn_real_t *s, gnn_real_t *w, gnn_real_t state[2])
{
    gnn__vec_t best = gnn__vec_all(-INFINITY), sum = {0};
    EACH_REGISTER(n, c, count)
    {
        gnn__vec_t x = load(s + c, count);
        if (count < LANES)
            x = choose(columns_inside(0, 0, (int)count), x, -INFINITY);
        best = larger(x, best);
    }
    const gnn_real_t largest = largest_lane(best);
    const gnn__vec_t base = gnn__vec_all(largest == -INFINITY ? 0 : largest);
    EACH_REGISTER(n, c, count)
    {
        const gnn__vec_t x = load(s + c, count);
        gnn__vec_t e = choose(~(lanes_t)(x == -INFINITY), gnn__vec_exp(x - base), 0);
        if (count < LANES)
            e = choose(columns_inside(0, 0, (int)count), e, 0);
        sum += e;
        store(w + c, e, count);
    }
    state[0] = largest;
    state[1] = sum_of_lanes(sum);
    const gnn__vec_t scale = gnn__vec_all(state[1] == 0 ? 0 : 1 / state[1]);
    EACH_REGISTER(n, c, count)
    store(w + c, load(w + c, count) * scale, count);
}

static void softmax_grad(int64_t n, const gnn_real_t *w, gnn_real_t delta, gnn_real_t *d)
{
    EACH_REGISTER(n, c, count)
    {
        const gnn__vec_t x = load(w + c, count), g = x * (load(d + c, count) - delta);
        store(d + c, choose(~(lanes_t)(x == (gnn__vec_t){0}), g, 0), count);
    }
}

static void sigmoid(int64_t n, gnn_real_t shift, const gnn_real_t *s, gnn_real_t *w)
{
    EACH_REGISTER(n, c, count)
    store(w + c, 1 / (1 + gnn__vec_exp(shift - load(s + c, count))), count);
}

static void sigmoid_grad(int64_t n, const gnn_real_t *w, gnn_real_t *d)
{
    EACH_REGISTER(n, c, count)
    {
        const gnn__vec_t x = load(w + c, count), g = x * (1 - x) * load(d + c, count);
        store(d + c, choose(~(lanes_t)(x == (gnn__vec_t){0}), g, 0), count);
    }
}

static gnn_real_t dot(int64_t n, const gnn_real_t *w, const gnn_real_t *d)
{
    gnn__vec_t sum = {0};
    EACH_REGISTER(n, c, count)
    {
        const gnn__vec_t x = load(w + c, count);
        sum += choose(~(lanes_t)(x == (gnn__vec_t){0}), x * load(d + c, count), 0);
    }
    return sum_of_lanes(sum);
}

static gnn_real_t sum_row(int64_t n, const gnn_real_t *x)
{
    gnn__vec_t sum = {0};
    EACH_REGISTER(n, c, count)
    sum += load(x + c, count);
    return sum_of_lanes(sum);
}

extern const gnn__attention_strips_t GNN__KERNEL(attention_strips);
const gnn__attention_strips_t GNN__KERNEL(attention_strips) = {.pack = pack,
                                                               .to_columns = transpose_tiles,
                                                               .multiply = product,
                                                               .put = put_scaled,
                                                               .cap = cap_row,
                                                               .cap_grad = cap_grad,
                                                               .exp = exp_row,
                                                               .gather = gather,
                                                               .softmax = softmax,
                                                               .softmax_grad = softmax_grad,
                                                               .sigmoid = sigmoid,
                                                               .sigmoid_grad = sigmoid_grad,
                                                               .dot = dot,
                                                               .sum = sum_row,
                                                               .gather_rows = gather_rows,
                                                               .within = within,
                                                               .tanh_scores = tanh_scores,
                                                               .tanh_grad = tanh_grad,
                                                               .draw = draw,
                                                               .drop = drop};
