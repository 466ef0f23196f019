/* Rows of single pairs (neighbours.h), one register at a time; the last one of a row may be filled
 * in part. Projections of edge features keep a block of columns in registers:
 *
 *     project            y[c .. c + 4 registers] += f[k] * W[k], over all features k
 *     project_weights    TILE_ROWS x TILE_COLUMNS registers of dW, over all pairs */
#include <lib/kernels/isa.h>
#include <lib/kernels/neighbours/neighbours.h>
#include <lib/kernels/simd/vec_math.h>

typedef gnn__vec_t V;
typedef gnn__vec_bits_t M;

enum { LANES = GNN__VEC_LANES };

/* A register of elements, or the `left` that remain. */
GNN__INLINE V some(const gnn_real_t *at, int64_t left)
{
    return left < LANES ? gnn__vec_load_first(at, (int)left) : gnn__vec_load(at);
}

GNN__INLINE void put(gnn_real_t *at, V x, int64_t left)
{
    if (left < LANES)
        gnn__vec_store_first(at, x, (int)left);
    else
        gnn__vec_store(at, x);
}

GNN__INLINE void add(gnn_real_t *at, V x, int64_t left)
{
    put(at, some(at, left) + x, left);
}

/* Elements c .. c + LANES - 1 of a row of n, of which `left` remain. */
#define EACH_REGISTER(n) for (int64_t c = 0, left = (n); left > 0; c += LANES, left -= LANES)

/* ---- projected edge features ---- */

enum { COLUMNS = 4, TILE_ROWS = LANES >= 16 ? 4 : 2, TILE_COLUMNS = LANES >= 16 ? 4 : 2 };

GNN__INLINE void project_block(const gnn__feature_weight_t *w, const int registers, int64_t c,
                               const gnn_real_t *f, const gnn_real_t *start, gnn_real_t *y)
{
    V sum[COLUMNS];
    for (int u = 0; u < registers; u++)
        sum[u] = gnn__vec_load(start + c + u * LANES);
    for (int64_t k = 0; k < w->count; k++)
        for (int u = 0; u < registers; u++)
            sum[u] += f[k] * gnn__vec_load(w->weight + k * w->stride + c + u * LANES);
    for (int u = 0; u < registers; u++)
        gnn__vec_store(y + c + u * LANES, sum[u]);
}

static void project(const gnn__feature_weight_t *w, const gnn_real_t *f, const gnn_real_t *start,
                    gnn_real_t *y)
{
    int64_t c = 0;
    for (; c + COLUMNS * LANES <= w->n; c += COLUMNS * LANES)
        project_block(w, COLUMNS, c, f, start, y);
    for (; c + LANES <= w->n; c += LANES)
        project_block(w, 1, c, f, start, y);
    const int left = (int)(w->n - c);
    if (left == 0)
        return;
    V sum = gnn__vec_load_first(start + c, left);
    for (int64_t k = 0; k < w->count; k++)
        sum += f[k] * gnn__vec_load_first(w->weight + k * w->stride + c, left);
    gnn__vec_store_first(y + c, sum, left);
}

/* A tile of the gradient: some rows and registers, summed over all pairs. */
GNN__INLINE void weights_tile(const gnn__feature_weight_t *w, const int rows, const int registers,
                              int64_t k, int64_t c, int64_t pairs, const gnn_real_t *const *f,
                              const gnn_real_t *d, gnn_real_t *dw)
{
    const int64_t left = w->n - c - (registers - 1) * LANES; /* in the last register */
    V sum[TILE_ROWS][TILE_COLUMNS];
    for (int r = 0; r < rows; r++)
        for (int u = 0; u < registers; u++)
            sum[r][u] = some(dw + (k + r) * w->n + c + u * LANES, u == registers - 1 ? left : LANES);
    for (int64_t p = 0; p < pairs; p++)
        for (int u = 0; u < registers; u++) {
            const V g = some(d + p * w->n + c + u * LANES, u == registers - 1 ? left : LANES);
            for (int r = 0; r < rows; r++)
                sum[r][u] += f[p][k + r] * g;
        }
    for (int r = 0; r < rows; r++)
        for (int u = 0; u < registers; u++)
            put(dw + (k + r) * w->n + c + u * LANES, sum[r][u], u == registers - 1 ? left : LANES);
}

GNN__INLINE void weights_rows(const gnn__feature_weight_t *w, const int rows, int64_t k,
                              int64_t pairs, const gnn_real_t *const *f, const gnn_real_t *d,
                              gnn_real_t *dw)
{
    int64_t c = 0;
    for (; c + TILE_COLUMNS * LANES <= w->n; c += TILE_COLUMNS * LANES)
        weights_tile(w, rows, TILE_COLUMNS, k, c, pairs, f, d, dw);
    for (; c < w->n; c += LANES)
        weights_tile(w, rows, 1, k, c, pairs, f, d, dw);
}

static void project_weights(const gnn__feature_weight_t *w, int64_t pairs,
                            const gnn_real_t *const *f, const gnn_real_t *d, gnn_real_t *dw)
{
    int64_t k = 0;
    for (; k + TILE_ROWS <= w->count; k += TILE_ROWS)
        weights_rows(w, TILE_ROWS, k, pairs, f, d, dw);
    for (; k < w->count; k++)
        weights_rows(w, 1, k, pairs, f, d, dw);
}

static void project_features(const gnn__feature_weight_t *w, const gnn_real_t *d, gnn_real_t *df)
{
    for (int64_t k = 0; k < w->count; k++) {
        V sum = gnn__vec_all(0);
        EACH_REGISTER(w->n)
        sum += some(w->weight + k * w->stride + c, left) * some(d + c, left);
        gnn_real_t total = 0;
        for (int l = 0; l < LANES; l++)
            total += sum[l];
        df[k] += total;
    }
}

/* ---- messages ---- */

static void relu_sum(int64_t n, const gnn_real_t *x, const gnn_real_t *e, gnn_real_t *y)
{
    EACH_REGISTER(n)
    {
        const V s = e ? some(x + c, left) + some(e + c, left) : some(x + c, left);
        put(y + c, gnn__vec_select((M)(s < 0), gnn__vec_all(0), s), left);
    }
}

static void relu_sum_grad(int64_t n, const gnn_real_t *x, const gnn_real_t *e, const gnn_real_t *dy,
                          gnn_real_t *dx)
{
    EACH_REGISTER(n)
    {
        const V s = e ? some(x + c, left) + some(e + c, left) : some(x + c, left);
        add(dx + c, gnn__vec_where((M)(s > 0), some(dy + c, left)), left);
    }
}

/* The gate, sigmoid(dst + src + e). */
GNN__INLINE V gate_of(const gnn_real_t *dst, const gnn_real_t *src, const gnn_real_t *e, int64_t left)
{
    const V x = some(dst, left) + some(src, left);
    return 1 / (1 + gnn__vec_exp(-(e ? x + some(e, left) : x)));
}

/* The gated value, src' + e'. */
GNN__INLINE V gated_value(const gnn_real_t *src, const gnn_real_t *e, int64_t at, int64_t left)
{
    return e ? some(src + at, left) + some(e + at, left) : some(src + at, left);
}

static void gate(int64_t n, const gnn_real_t *dst, const gnn_real_t *src, const gnn_real_t *e,
                 gnn_real_t *y)
{
    EACH_REGISTER(n)
    put(y + c, gate_of(dst + c, src + c, e ? e + c : NULL, left) * gated_value(src, e, n + c, left),
        left);
}

static void gate_grad(int64_t n, const gnn_real_t *dst, const gnn_real_t *src, const gnn_real_t *e,
                      const gnn_real_t *dy, gnn_real_t *d_dst, gnn_real_t *d_src, gnn_real_t *d_e)
{
    EACH_REGISTER(n)
    {
        const V open = gate_of(dst + c, src + c, e ? e + c : NULL, left),
                value = gated_value(src, e, n + c, left), d_value = some(dy + c, left) * open,
                d_open = d_value * (1 - open) * value;
        if (d_dst)
            add(d_dst + c, d_open, left);
        if (d_src) {
            add(d_src + c, d_open, left);
            add(d_src + n + c, d_value, left);
        }
        if (d_e) {
            add(d_e + c, d_open, left);
            add(d_e + n + c, d_value, left);
        }
    }
}

/* ---- aggregators ---- */

static void welford(int64_t n, gnn_real_t count, const gnn_real_t *x, gnn_real_t *mean,
                    gnn_real_t *squares)
{
    const gnn_real_t part = 1 / count;
    EACH_REGISTER(n)
    {
        const V m = some(x + c, left), before = some(mean + c, left), difference = m - before,
                after = before + difference * part;
        put(mean + c, after, left);
        add(squares + c, difference * (m - after), left);
    }
}

static void welford_grad(int64_t n, const gnn_real_t *factor, const gnn_real_t *x,
                         const gnn_real_t *mean, gnn_real_t *dx)
{
    EACH_REGISTER(n)
    add(dx + c, some(factor + c, left) * (some(x + c, left) - some(mean + c, left)), left);
}

/* Of the two exponentials, of the old maximum and of the new element, one is always 1. */
static void soften(int64_t n, gnn_real_t t, const gnn_real_t *x, gnn_real_t *most, gnn_real_t *sum,
                   gnn_real_t *weighted)
{
    EACH_REGISTER(n)
    {
        const V m = some(x + c, left), u = t * m, s = some(sum + c, left);
        const M first = (M)(s == 0);
        const V before = gnn__vec_select(first, u, some(most + c, left)), rise = u - before;
        const M higher = (M)(rise > 0);
        const V less = gnn__vec_exp(gnn__vec_select(higher, -rise, rise)), one = gnn__vec_all(1),
                keep = gnn__vec_where(~first, gnn__vec_select(higher, less, one)),
                w = gnn__vec_select(higher, one, less);
        put(most + c, gnn__vec_select(higher, u, before), left);
        put(sum + c, s * keep + w, left);
        put(weighted + c, some(weighted + c, left) * keep + w * m, left);
    }
}

/* With w = share exp(t x - most): dx = w (1 + t (x - y)), dt = sum of w x (x - y). */
static gnn_real_t soften_grad(int64_t n, gnn_real_t t, const gnn_real_t *x, const gnn_real_t *most,
                              const gnn_real_t *y, const gnn_real_t *share, gnn_real_t *dx)
{
    V all = gnn__vec_all(0);
    gnn_real_t total = 0;
    EACH_REGISTER(n)
    {
        const V m = some(x + c, left), off = m - some(y + c, left),
                w = some(share + c, left) * gnn__vec_exp(t * m - some(most + c, left));
        if (dx)
            add(dx + c, w * (1 + t * off), left);
        all += w * m * off;
    }
    for (int l = 0; l < LANES; l++)
        total += all[l];
    return total;
}

static void extreme(int64_t n, bool largest, const gnn_real_t *x, gnn_real_t *best, gnn_real_t *ties)
{
    EACH_REGISTER(n)
    {
        const V m = some(x + c, left), b = some(best + c, left), shared = some(ties + c, left);
        const M better = (M)(shared == 0) | (M)(m != m) | (largest ? (M)(m > b) : (M)(m < b)),
                same = (M)(m == b);
        put(best + c, gnn__vec_select(better, m, b), left);
        put(ties + c,
            gnn__vec_select(better, gnn__vec_all(1), shared + gnn__vec_where(same, gnn__vec_all(1))),
            left);
    }
}

static void extreme_grad(int64_t n, const gnn_real_t *x, const gnn_real_t *best,
                         const gnn_real_t *share, gnn_real_t *dx)
{
    EACH_REGISTER(n)
    add(dx + c,
        gnn__vec_where((M)(some(x + c, left) == some(best + c, left)), some(share + c, left)), left);
}

extern const gnn__pair_kernels_t GNN__KERNEL(pair_kernels);
const gnn__pair_kernels_t GNN__KERNEL(pair_kernels) = {
    .project = project,
    .project_weights = project_weights,
    .project_features = project_features,
    .relu_sum = relu_sum,
    .relu_sum_grad = relu_sum_grad,
    .gate = gate,
    .gate_grad = gate_grad,
    .welford = welford,
    .welford_grad = welford_grad,
    .soften = soften,
    .soften_grad = soften_grad,
    .extreme = extreme,
    .extreme_grad = extreme_grad,
};
