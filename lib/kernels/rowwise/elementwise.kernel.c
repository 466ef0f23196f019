/* Functions of single elements: activations and their derivatives, sums and products of rows,
 * losses, GRU and LSTM cells, powers, optimizer steps. Loops of plain C that the compiler
 * vectorises; activations run over pieces of 64 elements:
 *
 *     x    [ piece 0 | piece 1 | .. | last, padded in a buffer ]
 *          f of each, in a loop of fixed length */
#include <lib/kernels/rowwise/rowwise.h>
#include <lib/kernels/simd/gelu_table.h>
#include <lib/kernels/isa.h>
#include <lib/kernels/simd/vec_math.h>

#include <math.h>

#define R GNN__REAL

#define SIMD _Pragma("omp simd")
/* In double tanh, erf and log call libm (real_math.h). */
#if GNN_DOUBLE
#define SIMD_IN_FLOAT
#else
#define SIMD_IN_FLOAT SIMD
#endif

/* y[k] = the formula in v = x[k]. */
#define MAP(how, formula)                   \
    do {                                    \
        how for (int64_t k = 0; k < n; k++) \
        {                                   \
            const gnn_real_t v = x[k];      \
            y[k] = (formula);               \
        }                                   \
    } while (0)

static void scale_row(int64_t n, gnn_real_t alpha, const gnn_real_t *x, bool add, gnn_real_t *y)
{
    if (!add) {
        MAP(SIMD, alpha * v);
        return;
    }
#pragma omp simd
    for (int64_t k = 0; k < n; k++)
        y[k] += alpha * x[k];
}

/* Formulas run over pieces of a fixed size, since fixed-length loops need no remainder loop and
 * there are many formulas. */
enum { PIECE = 64 };

/* ---- activations: NAME_values is y = f(x); NAME_slopes is y = f'(t), where t is f(x) if
 * from_output is true in activations.def, else x ---- */

/* Both functions of an activation from its formulas in v = x[k]; `how` vectorises their loops. */
#define FORMULAS(name, how, value, derivative)                                             \
    static inline void name##_values(gnn_real_t slope, const gnn_real_t *x, gnn_real_t *y) \
    {                                                                                      \
        enum { n = PIECE };                                                                \
        (void)slope;                                                                       \
        MAP(how, value);                                                                   \
    }                                                                                      \
    static inline void name##_slopes(gnn_real_t slope, const gnn_real_t *x, gnn_real_t *y) \
    {                                                                                      \
        enum { n = PIECE };                                                                \
        (void)slope;                                                                       \
        MAP(how, derivative);                                                              \
    }

FORMULAS(identity, SIMD, v, 0 * v + 1)
FORMULAS(relu, SIMD, v <= 0 ? 0 : v, v <= 0 ? R(0) : R(1))
FORMULAS(leaky_relu, SIMD, v > 0 ? v : v * slope, v > 0 ? R(1) : slope)
FORMULAS(sigmoid, SIMD, gnn__sigmoid(v), v *(1 - v))
FORMULAS(tanh, SIMD_IN_FLOAT, gnn__tanh(v), 1 - v * v)

static void elu_values(gnn_real_t slope, const gnn_real_t *x, gnn_real_t *y)
{
    enum { n = PIECE };
    (void)slope;
#ifdef GNN__VEC_EXPM1
    for (int k = 0; k < n; k += GNN__VEC_LANES) {
        const gnn__vec_t v = gnn__vec_load(x + k);
        gnn__vec_store(y + k, gnn__vec_select(v > 0, v, gnn__vec_expm1(v)));
    }
#else
    MAP(SIMD, v > 0 ? v : gnn__expm1_negative(v));
#endif
}

static void elu_slopes(gnn_real_t slope, const gnn_real_t *x, gnn_real_t *y)
{
    enum { n = PIECE };
    (void)slope;
    MAP(SIMD, v > 0 ? R(1) : v + 1);
}

#if GNN__GELU_TABLE
static void gelu_values(float slope, const float *x, float *y)
{
    (void)slope;
    for (int k = 0; k < PIECE; k += GNN__VEC_LANES) {
        const gnn__vec_t v = gnn__vec_load(x + k);
        gnn__vec_store(y + k, v * gnn__gelu_factor(gnn__gelu_value, v));
    }
}

static void gelu_slopes(float slope, const float *x, float *y)
{
    (void)slope;
    for (int k = 0; k < PIECE; k += GNN__VEC_LANES)
        gnn__vec_store(y + k, gnn__gelu_factor(gnn__gelu_slope, gnn__vec_load(x + k)));
}
#else
static inline gnn_real_t gelu_slope(gnn_real_t v)
{
    gnn_real_t density = R(0.3989422804014327) * gnn__exp(R(-0.5) * v * v);
    return R(0.5) * (1 + gnn__erf(v * R(0.70710678118654752))) + v * density;
}

FORMULAS(gelu, SIMD_IN_FLOAT, R(0.5) * v * (1 + gnn__erf(v * R(0.70710678118654752))), gelu_slope(v))
#endif

static inline gnn_real_t gelu_tanh_value(gnn_real_t v)
{
    return R(0.5) * v * (1 + gnn__tanh(R(0.79788456080286536) * (v + R(0.044715) * v * v * v)));
}

static inline gnn_real_t gelu_tanh_slope(gnn_real_t v)
{
    const gnn_real_t c = R(0.79788456080286536), cubic = R(0.044715);
    gnn_real_t t = gnn__tanh(c * (v + cubic * v * v * v));
    return R(0.5) * (1 + t) + R(0.5) * v * (1 - t * t) * c * (1 + 3 * cubic * v * v);
}

static inline gnn_real_t silu_slope(gnn_real_t v)
{
    gnn_real_t s = gnn__sigmoid(v);
    return s * (1 + v * (1 - s));
}

static inline gnn_real_t softplus(gnn_real_t v)
{
    const gnn_real_t above = v > 0 ? v : 0, below = v > 0 ? -v : v;
    const gnn_real_t smooth = above + gnn__softplus_negative(below);
    return v > 20 ? v : smooth;
}

FORMULAS(gelu_tanh, SIMD_IN_FLOAT, gelu_tanh_value(v), gelu_tanh_slope(v))
FORMULAS(silu, SIMD, v *gnn__sigmoid(v), silu_slope(v))

static inline void softplus_values(gnn_real_t slope, const gnn_real_t *x, gnn_real_t *y)
{
    enum { n = PIECE };
    (void)slope;
    MAP(SIMD_IN_FLOAT, softplus(v));
}

static inline void softplus_slopes(gnn_real_t slope, const gnn_real_t *x, gnn_real_t *y)
{
    enum { n = PIECE };
    (void)slope;
    MAP(SIMD, v > 20 ? R(1) : gnn__sigmoid(v));
}

static void values(gnn_activation_t kind, gnn_real_t slope, const gnn_real_t *x, gnn_real_t *y)
{
    switch (kind) {
#define GNN_ACTIVATION(id, name, from_output) \
    case GNN_##id:                            \
        name##_values(slope, x, y);           \
        return;
#include <lib/kernels/rowwise/activations.def>
#undef GNN_ACTIVATION
    default: identity_values(slope, x, y);
    }
}

static void activate(gnn_activation_t kind, gnn_real_t slope, int64_t n, const gnn_real_t *x,
                     gnn_real_t *y)
{
    gnn_real_t rest[PIECE] = {0};
    int64_t k = 0;
    for (; n - k >= PIECE; k += PIECE)
        values(kind, slope, x + k, y + k);
    if (k < n) {
        memcpy(rest, x + k, (size_t)(n - k) * sizeof *x);
        values(kind, slope, rest, rest);
        memcpy(y + k, rest, (size_t)(n - k) * sizeof *x);
    }
}

static void multiply_row(int64_t n, const gnn_real_t *x, const gnn_real_t *z, bool add, gnn_real_t *y)
{
    if (!add) {
        MAP(SIMD, v * z[k]);
        return;
    }
#pragma omp simd
    for (int64_t k = 0; k < n; k++)
        y[k] += x[k] * z[k];
}

static void maximum(int64_t n, const gnn_real_t *x, const gnn_real_t *z, gnn_real_t *y)
{
    MAP(SIMD, v > z[k] || v != v ? v : z[k]);
}

static void count_ties(int64_t n, const gnn_real_t *x, const gnn_real_t *most, gnn_real_t *ties)
{
#pragma omp simd
    for (int64_t k = 0; k < n; k++)
        ties[k] += x[k] == most[k] ? R(1) : R(0);
}

static void maximum_grad(int64_t n, const gnn_real_t *x, const gnn_real_t *most,
                         const gnn_real_t *ties, const gnn_real_t *dy, bool add, gnn_real_t *dx)
{
    if (!add) {
#pragma omp simd
        for (int64_t k = 0; k < n; k++)
            dx[k] = x[k] == most[k] ? dy[k] / ties[k] : 0;
        return;
    }
#pragma omp simd
    for (int64_t k = 0; k < n; k++)
        dx[k] += x[k] == most[k] ? dy[k] / ties[k] : 0;
}

static void slopes(gnn_activation_t kind, gnn_real_t slope, const gnn_real_t *x, gnn_real_t *y)
{
    switch (kind) {
#define GNN_ACTIVATION(id, name, from_output) \
    case GNN_##id:                            \
        name##_slopes(slope, x, y);           \
        return;
#include <lib/kernels/rowwise/activations.def>
#undef GNN_ACTIVATION
    default: identity_slopes(slope, x, y);
    }
}

static void activate_grad(gnn_activation_t kind, gnn_real_t slope, int64_t n, const gnn_real_t *t,
                          const gnn_real_t *dy, bool add, gnn_real_t *dx)
{
    gnn_real_t by[PIECE], rest[PIECE] = {0};
    if (kind <= GNN_IDENTITY) {
        scale_row(n, 1, dy, add, dx);
        return;
    }
    int64_t k = 0;
    for (; n - k >= PIECE; k += PIECE) {
        slopes(kind, slope, t + k, by);
        multiply_row(PIECE, dy + k, by, add, dx + k);
    }
    if (k < n) {
        memcpy(rest, t + k, (size_t)(n - k) * sizeof *t);
        slopes(kind, slope, rest, by);
        multiply_row(n - k, dy + k, by, add, dx + k);
    }
}

static void exp_row(int64_t n, const gnn_real_t *x, gnn_real_t *y)
{
    MAP(SIMD, gnn__exp(v));
}

static double exp_sum(int64_t n, const gnn_real_t *x, gnn_real_t shift, gnn_real_t *y)
{
    gnn_real_t sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t k = 0; k < n; k++) {
        gnn_real_t e = gnn__exp(x[k] - shift);
        y[k] = e;
        sum += e;
    }
    return (double)sum;
}

/* The maximum of n elements, in lanes that compilers vectorise. */
static gnn_real_t max_row(int64_t n, const gnn_real_t *x)
{
    enum { WIDTH = 16 };
    gnn_real_t most[WIDTH], result = x[0];
    for (int l = 0; l < WIDTH; l++)
        most[l] = x[0];
    int64_t k = 0;
    for (; n - k >= WIDTH; k += WIDTH)
        for (int l = 0; l < WIDTH; l++)
            most[l] = x[k + l] > most[l] ? x[k + l] : most[l];
    for (; k < n; k++)
        result = x[k] > result ? x[k] : result;
    for (int l = 0; l < WIDTH; l++)
        result = most[l] > result ? most[l] : result;
    return result;
}

/* Blocks of a long sum are added in double, so that its error does not grow with n. */
enum { SUM_BLOCK = 1024 };

static double sum_row(int64_t n, const gnn_real_t *x)
{
    double total = 0;
    for (int64_t from = 0; from < n; from += SUM_BLOCK) {
        int64_t to = n < from + SUM_BLOCK ? n : from + SUM_BLOCK;
        gnn_real_t sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t k = from; k < to; k++)
            sum += x[k];
        total += (double)sum;
    }
    return total;
}

static double dot_row(int64_t n, const gnn_real_t *x, const gnn_real_t *y)
{
    double total = 0;
    for (int64_t from = 0; from < n; from += SUM_BLOCK) {
        int64_t to = n < from + SUM_BLOCK ? n : from + SUM_BLOCK;
        gnn_real_t sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t k = from; k < to; k++)
            sum += x[k] * y[k];
        total += (double)sum;
    }
    return total;
}

static void mix_row(int64_t n, gnn_real_t alpha, const gnn_real_t *x, gnn_real_t beta,
                    const gnn_real_t *z, gnn_real_t *y)
{
    MAP(SIMD, alpha * v + beta * z[k]);
}

/* Piece by piece, to reuse the formulas of the activations. */
static double binary_cross_entropy(int64_t n, const gnn_real_t *x, const gnn_real_t *t,
                                   gnn_real_t scale, gnn_real_t *g)
{
    gnn_real_t part[PIECE] = {0}, sum = 0;
    for (int64_t from = 0; from < n; from += PIECE, x += PIECE, t += PIECE) {
        const int64_t count = n - from < PIECE ? n - from : PIECE;
        SIMD for (int64_t k = 0; k < count; k++) part[k] = x[k] > 0 ? -x[k] : x[k];
        activate(GNN_SOFTPLUS, 0, count, part, part);
#pragma omp simd reduction(+ : sum)
        for (int64_t k = 0; k < count; k++)
            sum += (x[k] > 0 ? x[k] : 0) - x[k] * t[k] + part[k];
        if (!g)
            continue;
        activate(GNN_SIGMOID, 0, count, x, part);
        SIMD for (int64_t k = 0; k < count; k++) g[from + k] = (part[k] - t[k]) * scale;
    }
    return (double)sum;
}

static double squared(int64_t n, const gnn_real_t *x, const gnn_real_t *t, gnn_real_t scale,
                      gnn_real_t *g)
{
    gnn_real_t sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t k = 0; k < n; k++)
        sum += (x[k] - t[k]) * (x[k] - t[k]);
    if (g) {
        SIMD for (int64_t k = 0; k < n; k++) g[k] = 2 * (x[k] - t[k]) * scale;
    }
    return (double)sum;
}

static void gru_piece(int64_t count, int64_t d, const gnn_real_t *xg, const gnn_real_t *hg,
                      const gnn_real_t *h, gnn_real_t *y, gnn_real_t *keep)
{
    gnn_real_t r[PIECE] = {0}, z[PIECE] = {0}, n[PIECE] = {0};
    SIMD for (int64_t k = 0; k < count; k++)
    {
        r[k] = xg[k] + hg[k];
        z[k] = xg[d + k] + hg[d + k];
    }
    activate(GNN_SIGMOID, 0, count, r, r);
    activate(GNN_SIGMOID, 0, count, z, z);
    SIMD for (int64_t k = 0; k < count; k++) n[k] = xg[2 * d + k] + r[k] * hg[2 * d + k];
    activate(GNN_TANH, 0, count, n, n);
    if (keep) {
        memcpy(keep, r, sizeof *r * (size_t)count);
        memcpy(keep + d, z, sizeof *r * (size_t)count);
        memcpy(keep + 2 * d, n, sizeof *r * (size_t)count);
        memcpy(keep + 3 * d, hg + 2 * d, sizeof *r * (size_t)count);
    }
    SIMD for (int64_t k = 0; k < count; k++) y[k] = (1 - z[k]) * n[k] + z[k] * h[k];
}

static void gru(int64_t d, const gnn_real_t *xg, const gnn_real_t *hg, const gnn_real_t *h,
                gnn_real_t *y, gnn_real_t *keep)
{
    for (int64_t k = 0; k < d; k += PIECE)
        gru_piece(d - k < PIECE ? d - k : PIECE, d, xg + k, hg + k, h + k, y + k,
                  keep ? keep + k : NULL);
}

static void gru_grad(int64_t d, const gnn_real_t *keep, const gnn_real_t *h, const gnn_real_t *dy,
                     gnn_real_t *inner, gnn_real_t *dh_share)
{
#pragma omp simd
    for (int64_t k = 0; k < d; k++) {
        const gnn_real_t r = keep[k], z = keep[d + k], n = keep[2 * d + k];
        const gnn_real_t g = dy[k], dn = g * (1 - z) * (1 - n * n);
        inner[k] = dn * keep[3 * d + k] * r * (1 - r);
        inner[d + k] = g * (h[k] - n) * z * (1 - z);
        inner[2 * d + k] = dn;
        inner[3 * d + k] = dn * r;
        dh_share[k] = g * z;
    }
}

/* ---- powers ---- */

static void power(int64_t n, gnn_real_t p, const gnn_real_t *x, gnn_real_t *y)
{
    for (int64_t k = 0; k < n; k += GNN__VEC_LANES) {
        const int left = (int)(n - k < GNN__VEC_LANES ? n - k : GNN__VEC_LANES);
        gnn__vec_store_first(y + k, gnn__vec_power(gnn__vec_load_first(x + k, left), p), left);
    }
}

static double power_grad(int64_t n, gnn_real_t p, const gnn_real_t *x, const gnn_real_t *y,
                         const gnn_real_t *dy, gnn_real_t *dx)
{
    gnn__vec_t sum = gnn__vec_all(0);
    double total = 0;
    for (int64_t k = 0; k < n; k += GNN__VEC_LANES) {
        const int left = (int)(n - k < GNN__VEC_LANES ? n - k : GNN__VEC_LANES);
        const gnn__vec_t v = gnn__vec_load_first(x + k, left),
                         g = gnn__vec_load_first(dy + k, left), f = gnn__vec_load_first(y + k, left);
        sum += gnn__vec_select(v > 0, g * f * gnn__vec_log_positive(v), gnn__vec_all(0));
        if (dx)
            gnn__vec_store_first(
                dx + k, gnn__vec_load_first(dx + k, left) + g * gnn__vec_power_slope(v, f, p), left);
    }
    for (int l = 0; l < GNN__VEC_LANES; l++)
        total += (double)sum[l];
    return total;
}

/* ---- LSTM cell ---- */

static void lstm(int64_t n, int64_t stride, const gnn_real_t *gates, const gnn_real_t *memory,
                 gnn_real_t *h, gnn_real_t *c)
{
    const gnn_real_t *f = gates + stride, *g = f + stride, *o = g + stride;
    SIMD_IN_FLOAT for (int64_t k = 0; k < n; k++)
    {
        const gnn_real_t kept = memory ? gnn__sigmoid(f[k]) * memory[k] : 0,
                         next = kept + gnn__sigmoid(gates[k]) * gnn__tanh(g[k]);
        h[k] = gnn__sigmoid(o[k]) * gnn__tanh(next);
        c[k] = next;
    }
}

/* Adds to one gradient; NULL: not wanted. */
static inline void add_to(gnn_real_t *target, int64_t k, gnn_real_t x)
{
    if (target)
        target[k] += x;
}

static void lstm_grad(int64_t n, int64_t stride, const gnn_real_t *gates, const gnn_real_t *memory,
                      const gnn_real_t *dh, const gnn_real_t *dc, gnn_real_t *d_gates,
                      gnn_real_t *d_memory)
{
    gnn_real_t *d_i = d_gates, *d_f = NULL, *d_g = NULL, *d_o = NULL;
    if (d_gates) {
        d_f = d_gates + stride;
        d_g = d_f + stride;
        d_o = d_g + stride;
    }
    SIMD_IN_FLOAT for (int64_t k = 0; k < n; k++)
    {
        const gnn_real_t i = gnn__sigmoid(gates[k]), f = gnn__sigmoid(gates[stride + k]);
        const gnn_real_t g = gnn__tanh(gates[2 * stride + k]),
                         o = gnn__sigmoid(gates[3 * stride + k]);
        const gnn_real_t was = memory ? memory[k] : 0, t = gnn__tanh(f * was + i * g);
        const gnn_real_t total = dc[k] + dh[k] * o * (1 - t * t);
        add_to(d_i, k, total * g * i * (1 - i));
        add_to(d_f, k, total * was * f * (1 - f));
        add_to(d_g, k, total * i * (1 - g * g));
        add_to(d_o, k, dh[k] * t * o * (1 - o));
        add_to(d_memory, k, total * f);
    }
}

const gnn__elementwise_kernels_t GNN__KERNEL(elementwise_kernels) = {
    .exp = exp_row,
    .exp_sum = exp_sum,
    .max = max_row,
    .sum = sum_row,
    .dot = dot_row,
    .scale = scale_row,
    .mix = mix_row,
    .multiply = multiply_row,
    .maximum = maximum,
    .count_ties = count_ties,
    .maximum_grad = maximum_grad,
    .activate = activate,
    .activate_grad = activate_grad,
    .binary_cross_entropy = binary_cross_entropy,
    .squared = squared,
    .gru = gru,
    .gru_grad = gru_grad,
    .power = power,
    .power_grad = power_grad,
    .lstm = lstm,
    .lstm_grad = lstm_grad,
};

/* ---- optimizer steps ---- */

static void sgd(const gnn__sweep_t *s, gnn_real_t *restrict p, const gnn_real_t *restrict g,
                gnn_real_t *restrict b, int64_t n)
{
    const gnn__sweep_t c = *s;
    if (!b) {
#pragma omp simd
        for (int64_t k = 0; k < n; k++)
            p[k] -= c.lr * (c.scale * g[k] + c.l2 * p[k]);
        return;
    }
    const gnn_real_t own = c.nesterov ? 1 : 0, of_buffer = c.nesterov ? c.momentum : 1;
#pragma omp simd
    for (int64_t k = 0; k < n; k++) {
        gnn_real_t d = c.scale * g[k] + c.l2 * p[k];
        gnn_real_t buffer = c.momentum * b[k] + d;
        b[k] = buffer;
        p[k] -= c.lr * (own * d + of_buffer * buffer);
    }
}

static void adam(const gnn__sweep_t *s, gnn_real_t *restrict p, const gnn_real_t *restrict g,
                 gnn_real_t *restrict m, gnn_real_t *restrict v, int64_t n)
{
    const gnn__sweep_t c = *s;
#pragma omp simd
    for (int64_t k = 0; k < n; k++) {
        gnn_real_t d = c.scale * g[k] + c.l2 * p[k];
        gnn_real_t first = m[k] + c.one_beta1 * (d - m[k]);
        gnn_real_t second = c.beta2 * v[k] + c.one_beta2 * (d * d);
#if GNN_DOUBLE
        gnn_real_t root = sqrt(second);
#else
        gnn_real_t root = sqrtf(second);
#endif
        m[k] = first;
        v[k] = second;
        p[k] = c.shrink * p[k] - c.lr * first / (root / c.root_correction2 + c.eps);
    }
}

static double squares(int64_t n, const gnn_real_t *x)
{
    double total = 0;
#pragma omp simd reduction(+ : total)
    for (int64_t k = 0; k < n; k++)
        total += (double)x[k] * (double)x[k];
    return total;
}

/* x * 0 is NaN where x is not finite. */
static bool finite_all(int64_t n, const gnn_real_t *x)
{
    gnn_real_t any = 0;
#pragma omp simd reduction(+ : any)
    for (int64_t k = 0; k < n; k++)
        any += x[k] * 0;
    return any == 0;
}

const gnn__optimizer_kernels_t GNN__KERNEL(optimizer_kernels) = {
    .sgd = sgd, .adam = adam, .squares = squares, .finite = finite_all};
