/* Maps that make a dot score a kernel, for weighers that are linear in the score: the sum over
 * senders is then a matrix of d_k' x d_v values that grows from receiver to receiver (linear
 * attention). One entry after another. */
#include <lib/aggregate/tables.h>
#include <lib/base/base.h>
#include <lib/kernels/dense/dense.h>
#include <lib/kernels/rowwise/rowwise.h>
#include <lib/kernels/simd/real_math.h>
#include <math.h>

/* Factor of each side, so that products of mapped rows see q . k / sqrt(d_k). */
static gnn_real_t quarter(const gnn_aggregate_shape_t *shape)
{
    return (gnn_real_t)pow((double)shape->d_k, -0.25);
}

static gnn_real_t root_of(gnn_real_t x)
{
    return (gnn_real_t)sqrt((double)x);
}

static gnn_real_t sine_of(gnn_real_t x)
{
    return (gnn_real_t)sin((double)x);
}

static gnn_real_t cosine_of(gnn_real_t x)
{
    return (gnn_real_t)cos((double)x);
}

/* ---- elu1, relu, exp: value by value ---- */

/* Values per call of the kernel that computes exponentials. */
enum { BLOCK = 256 };

/* to = exp(min(x, 0)) */
static void exp_below_0(int64_t n, const gnn_real_t *x, gnn_real_t *to)
{
    _Pragma("omp simd") for (int64_t c = 0; c < n; c++) to[c] = x[c] > 0 ? 0 : x[c];
    gnn__elementwise_kernels()->exp(n, to, to);
}

static void elu1_apply(const gnn_aggregate_shape_t *shape, int64_t heads, const gnn_real_t *numbers,
                       const gnn_real_t *x, gnn_real_t *y)
{
    const int64_t n = heads * shape->d_k;
    (void)numbers;
    exp_below_0(n, x, y);
    _Pragma("omp simd") for (int64_t c = 0; c < n; c++) y[c] += x[c] > 0 ? x[c] : 0;
}

static void elu1_apply_grad(const gnn_aggregate_shape_t *shape, int64_t heads,
                            const gnn_real_t *numbers, const gnn_real_t *x, const gnn_real_t *d_y,
                            gnn_real_t *d_x)
{
    gnn_real_t slope[BLOCK];
    const int64_t n = heads * shape->d_k;
    (void)numbers;
    for (int64_t c = 0; c < n; c += BLOCK) {
        const int64_t some = gnn__min(BLOCK, n - c);
        exp_below_0(some, x + c, slope);
        gnn__elementwise_kernels()->multiply(some, d_y + c, slope, true, d_x + c);
    }
}

const gnn_map_t gnn_map_elu1 = {
    .name = "elu1",
    .paper = "Katharopoulos et al. 2020, eq. 7",
    .help = "elu(x) + 1",
    .apply = elu1_apply,
    .apply_grad = elu1_apply_grad,
};

static const gnn_option_t relu_options[] = {
    {"offset", 0, 0, 1e6, "added to every value", GNN_OPTION_REAL}};

static void relu_apply(const gnn_aggregate_shape_t *shape, int64_t heads, const gnn_real_t *numbers,
                       const gnn_real_t *x, gnn_real_t *y)
{
    (void)numbers;
    for (int64_t c = 0; c < heads * shape->d_k; c++)
        y[c] = (x[c] > 0 ? x[c] : 0) + (gnn_real_t)shape->options[0];
}

static void relu_apply_grad(const gnn_aggregate_shape_t *shape, int64_t heads,
                            const gnn_real_t *numbers, const gnn_real_t *x, const gnn_real_t *d_y,
                            gnn_real_t *d_x)
{
    (void)numbers;
    for (int64_t c = 0; c < heads * shape->d_k; c++)
        d_x[c] += x[c] > 0 ? d_y[c] : 0;
}

const gnn_map_t gnn_map_relu = {
    .name = "relu",
    .paper = "Kasai et al. 2021 (T2R)",
    .help = "max(x, 0) + offset",
    .options = relu_options,
    .n_options = 1,
    .apply = relu_apply,
    .apply_grad = relu_apply_grad,
};

static void exp_apply(const gnn_aggregate_shape_t *shape, int64_t heads, const gnn_real_t *numbers,
                      const gnn_real_t *x, gnn_real_t *y)
{
    (void)numbers;
    for (int64_t c = 0; c < heads * shape->d_k; c++)
        y[c] = gnn__exp(x[c]);
}

static void exp_apply_grad(const gnn_aggregate_shape_t *shape, int64_t heads,
                           const gnn_real_t *numbers, const gnn_real_t *x, const gnn_real_t *d_y,
                           gnn_real_t *d_x)
{
    (void)numbers;
    for (int64_t c = 0; c < heads * shape->d_k; c++)
        d_x[c] += d_y[c] * gnn__exp(x[c]);
}

const gnn_map_t gnn_map_exp = {
    .name = "exp",
    .paper = "Zhang et al. 2024 (Hedgehog), with its learned matrix in the projection",
    .help = "exp(x)",
    .apply = exp_apply,
    .apply_grad = exp_apply_grad,
};

/* ---- functions of random features: p = s x W. favor: exp(p - |s x|^2 / 2) / sqrt(m). favor_relu:
 * max(p, 0) + eps. favor_trigonometric: exp(|s x|^2 / 2) / sqrt(m) of sin p and cos p. rfa: sin p
 * and cos p over sqrt(m), of rows of length 1 / sigma ---- */

typedef enum { POSITIVE, RECTIFIED, TRIGONOMETRIC, UNIT } features_t;

enum { FEATURES, SECOND };

#define FEATURE_COUNT                                                                     \
    {                                                                                     \
        "features", 256, 1, GNN_MAP_WIDEST, "count m of the features", GNN_OPTION_INTEGER \
    }

static const gnn_option_t favor_options[] = {FEATURE_COUNT};
static const gnn_option_t favor_relu_options[] = {
    FEATURE_COUNT, {"eps", 1e-3, 0, 1e6, "added to every value", GNN_OPTION_REAL}};
static const gnn_option_t rfa_options[] = {
    FEATURE_COUNT,
    {"sigma", 1, 1e-6, 1e6, "rows are divided by their length and by it", GNN_OPTION_REAL}};

static int64_t feature_count(const gnn_aggregate_shape_t *shape)
{
    return (int64_t)shape->options[FEATURES];
}

static int64_t twice_feature_count(const gnn_aggregate_shape_t *shape)
{
    return 2 * feature_count(shape);
}

static size_t declare_features(const gnn_aggregate_shape_t *shape, gnn_piece_t *pieces)
{
    pieces[0] = (gnn_piece_t){.name = "map.features",
                              .rows = shape->d_k,
                              .cols = feature_count(shape),
                              .init = GNN_INIT_NORMAL,
                              .init_argument = 1};
    return 1;
}

static gnn_real_t length_2(const gnn_real_t *x, int64_t d)
{
    gnn_real_t sum = 0;
    for (int64_t c = 0; c < d; c++)
        sum += x[c] * x[c];
    return sum;
}

/* A squared length to divide by. */
static double not_zero(gnn_real_t length)
{
    return fmax((double)length, 1e-24);
}

/* s: the factor of one head's row. */
static gnn_real_t factor_of(features_t kind, const gnn_aggregate_shape_t *shape, const gnn_real_t *x)
{
    if (kind != UNIT)
        return quarter(shape);
    return (gnn_real_t)(1 / (shape->options[SECOND] * sqrt(not_zero(length_2(x, shape->d_k)))));
}

/* p (m) = s x W of one head */
static void project(const gnn_aggregate_shape_t *shape, gnn_real_t s, const gnn_real_t *x,
                    gnn_real_t *p)
{
    const int64_t m = feature_count(shape);
    memset(p, 0, sizeof *p * (size_t)m);
    gnn__gemm_block_kernels()->multiply(&(gnn__gemm_block_t){.m = 1,
                                                             .n = m,
                                                             .k = shape->d_k,
                                                             .a = x,
                                                             .a_row = shape->d_k,
                                                             .a_col = 1,
                                                             .b = shape->parameters.data,
                                                             .ldb = shape->parameters.stride,
                                                             .c = p,
                                                             .ldc = m,
                                                             .alpha = s});
}

/* The factor of all features of a head, of h = |s x|^2 / 2. */
static gnn_real_t outer(features_t kind, const gnn_aggregate_shape_t *shape, gnn_real_t h)
{
    return (kind == TRIGONOMETRIC ? gnn__exp(h) : 1) / root_of((gnn_real_t)feature_count(shape));
}

static bool has_pairs(features_t kind)
{
    return kind == TRIGONOMETRIC || kind == UNIT;
}

/* Values of a mapped head. */
static int64_t features_width(features_t kind, const gnn_aggregate_shape_t *shape)
{
    return has_pairs(kind) ? twice_feature_count(shape) : feature_count(shape);
}

static void features(features_t kind, const gnn_aggregate_shape_t *shape, int64_t heads,
                     const gnn_real_t *x, gnn_real_t *y)
{
    const int64_t d = shape->d_k, m = feature_count(shape);
    const bool pairs = has_pairs(kind);
    for (int64_t a = 0; a < heads; a++, x += d, y += features_width(kind, shape)) {
        const gnn_real_t s = factor_of(kind, shape, x), h = s * s * length_2(x, d) / 2,
                         by = outer(kind, shape, h);
        project(shape, s, x, y);
        for (int64_t f = 0; kind == POSITIVE && f < m; f++)
            y[f] -= h;
        if (kind == POSITIVE)
            gnn__elementwise_kernels()->exp(m, y, y);
        for (int64_t f = 0; kind == POSITIVE && f < m; f++)
            y[f] *= by;
        for (int64_t f = 0; kind == RECTIFIED && f < m; f++)
            y[f] = (y[f] > 0 ? y[f] : 0) + (gnn_real_t)shape->options[SECOND];
        for (int64_t f = 0; pairs && f < m; f++) {
            y[m + f] = by * cosine_of(y[f]);
            y[f] = by * sine_of(y[f]);
        }
    }
}

/* p becomes the derivatives by p; returns that by h = |s x|^2 / 2, or, for rows of length 1, the
 * sum of p times its derivative. */
static gnn_real_t features_slope(features_t kind, const gnn_aggregate_shape_t *shape, gnn_real_t s,
                                 const gnn_real_t *x, const gnn_real_t *d_y, gnn_real_t *p)
{
    const int64_t m = feature_count(shape);
    const gnn_real_t h = s * s * length_2(x, shape->d_k) / 2, by = outer(kind, shape, h);
    gnn_real_t along = 0;
    project(shape, s, x, p);
    for (int64_t f = 0; f < m; f++) {
        const gnn_real_t at = p[f];
        if (kind == POSITIVE) {
            p[f] = d_y[f] * by * gnn__exp(at - h);
            along -= p[f];
        } else if (kind == RECTIFIED) {
            p[f] = at > 0 ? d_y[f] : 0;
        } else {
            const gnn_real_t sine = by * sine_of(at), cosine = by * cosine_of(at);
            p[f] = d_y[f] * cosine - d_y[m + f] * sine;
            along += kind == UNIT ? p[f] * at : d_y[f] * sine + d_y[m + f] * cosine;
        }
    }
    return along;
}

static void features_grad(features_t kind, const gnn_aggregate_shape_t *shape, int64_t heads,
                          const gnn_real_t *x, const gnn_real_t *d_y, gnn_real_t *d_x)
{
    const int64_t d = shape->d_k, m = feature_count(shape);
    gnn_real_t d_p[GNN_MAP_WIDEST];
    for (int64_t a = 0; a < heads; a++, x += d, d_x += d, d_y += features_width(kind, shape)) {
        const gnn_real_t s = factor_of(kind, shape, x),
                         along = features_slope(kind, shape, s, x, d_y, d_p),
                         length = (gnn_real_t)not_zero(length_2(x, d));
        for (int64_t c = 0; c < d; c++) {
            const gnn_real_t *w = gnn__row(&shape->parameters, c);
            gnn_real_t sum = 0;
            for (int64_t f = 0; f < m; f++)
                sum += d_p[f] * w[f];
            d_x[c] += s * sum + (kind == UNIT ? -along / length : along * s * s) * x[c];
        }
    }
}

static void features_parameters_grad(features_t kind, const gnn_aggregate_shape_t *shape,
                                     int64_t heads, const gnn_real_t *x, const gnn_real_t *d_y,
                                     const gnn_tensor_t *d_parameters)
{
    const int64_t d = shape->d_k, m = feature_count(shape);
    gnn_real_t d_p[GNN_MAP_WIDEST];
    for (int64_t a = 0; a < heads; a++, x += d, d_y += features_width(kind, shape)) {
        const gnn_real_t s = factor_of(kind, shape, x);
        features_slope(kind, shape, s, x, d_y, d_p);
        for (int64_t c = 0; c < d; c++) {
            gnn_real_t *d_w = gnn__row(d_parameters, c);
            for (int64_t f = 0; f < m; f++)
                d_w[f] += s * x[c] * d_p[f];
        }
    }
}

/* The three functions of an entry. */
#define FEATURE_FUNCTIONS(name, kind)                                                       \
    static void name##_apply(const gnn_aggregate_shape_t *shape, int64_t heads,             \
                             const gnn_real_t *numbers, const gnn_real_t *x, gnn_real_t *y) \
    {                                                                                       \
        (void)numbers;                                                                      \
        features(kind, shape, heads, x, y);                                                 \
    }                                                                                       \
    static void name##_apply_grad(const gnn_aggregate_shape_t *shape, int64_t heads,        \
                                  const gnn_real_t *numbers, const gnn_real_t *x,           \
                                  const gnn_real_t *d_y, gnn_real_t *d_x)                   \
    {                                                                                       \
        (void)numbers;                                                                      \
        features_grad(kind, shape, heads, x, d_y, d_x);                                     \
    }                                                                                       \
    static void name##_parameters_grad(const gnn_aggregate_shape_t *shape, int64_t heads,   \
                                       const gnn_real_t *x, const gnn_real_t *d_y,          \
                                       const gnn_tensor_t *d_parameters)                    \
    {                                                                                       \
        features_parameters_grad(kind, shape, heads, x, d_y, d_parameters);                 \
    }

FEATURE_FUNCTIONS(favor, POSITIVE)
FEATURE_FUNCTIONS(favor_relu, RECTIFIED)
FEATURE_FUNCTIONS(favor_trigonometric, TRIGONOMETRIC)
FEATURE_FUNCTIONS(rfa, UNIT)

const gnn_map_t gnn_map_favor = {
    .name = "favor",
    .paper = "Choromanski et al. 2021 (Performer), lemma 1",
    .help = "exp(w . x - |x|^2 / 2) / sqrt(m) with drawn features w, of x / d_k^(1/4)",
    .options = favor_options,
    .n_options = 1,
    .apply = favor_apply,
    .apply_grad = favor_apply_grad,
    .width = feature_count,
    .declare = declare_features,
    .parameters_grad = favor_parameters_grad,
};

const gnn_map_t gnn_map_favor_relu = {
    .name = "favor_relu",
    .paper = "Choromanski et al. 2021 (Performer), section 4",
    .help = "max(w . x, 0) + eps with drawn features w, of x / d_k^(1/4)",
    .options = favor_relu_options,
    .n_options = 2,
    .apply = favor_relu_apply,
    .apply_grad = favor_relu_apply_grad,
    .width = feature_count,
    .declare = declare_features,
    .parameters_grad = favor_relu_parameters_grad,
};

const gnn_map_t gnn_map_favor_trigonometric = {
    .name = "favor_trigonometric",
    .paper = "Choromanski et al. 2020, eq. 6",
    .help = "exp(|x|^2 / 2) / sqrt(m) times sin(w . x) and cos(w . x) with drawn features w, of "
            "x / d_k^(1/4)",
    .options = favor_options,
    .n_options = 1,
    .apply = favor_trigonometric_apply,
    .apply_grad = favor_trigonometric_apply_grad,
    .width = twice_feature_count,
    .declare = declare_features,
    .parameters_grad = favor_trigonometric_parameters_grad,
};

const gnn_map_t gnn_map_rfa = {
    .name = "rfa",
    .paper = "Peng et al. 2021 (random feature attention), eq. 5",
    .help = "sin(w . x) and cos(w . x) over sqrt(m) with drawn features w, of rows of length "
            "1 / sigma",
    .options = rfa_options,
    .n_options = 2,
    .apply = rfa_apply,
    .apply_grad = rfa_apply_grad,
    .width = twice_feature_count,
    .declare = declare_features,
    .parameters_grad = rfa_parameters_grad,
};

/* ---- taylor: 1, x, and all products of two values of x, so that products of mapped rows are 1 + s
 * + s^2 / 2 ---- */

static int64_t taylor_width(const gnn_aggregate_shape_t *shape)
{
    const int64_t d = shape->d_k;
    return d > GNN_MAP_WIDEST ? d : 1 + d + d * (d + 1) / 2;
}

static void taylor_apply(const gnn_aggregate_shape_t *shape, int64_t heads,
                         const gnn_real_t *numbers, const gnn_real_t *x, gnn_real_t *y)
{
    const int64_t d = shape->d_k;
    const gnn_real_t s = quarter(shape), half = root_of((gnn_real_t)0.5);
    (void)numbers;
    for (int64_t a = 0; a < heads; a++, x += d) {
        *y++ = 1;
        for (int64_t c = 0; c < d; c++)
            *y++ = s * x[c];
        for (int64_t c = 0; c < d; c++) {
            *y++ = half * s * s * x[c] * x[c];
            for (int64_t e = c + 1; e < d; e++)
                *y++ = s * s * x[c] * x[e];
        }
    }
}

static void taylor_apply_grad(const gnn_aggregate_shape_t *shape, int64_t heads,
                              const gnn_real_t *numbers, const gnn_real_t *x, const gnn_real_t *d_y,
                              gnn_real_t *d_x)
{
    const int64_t d = shape->d_k;
    const gnn_real_t s = quarter(shape), twice = root_of((gnn_real_t)2);
    (void)numbers;
    for (int64_t a = 0; a < heads; a++, x += d, d_x += d) {
        d_y++;
        for (int64_t c = 0; c < d; c++)
            d_x[c] += s * *d_y++;
        for (int64_t c = 0; c < d; c++) {
            gnn_real_t sum = twice * x[c] * *d_y++;
            for (int64_t e = c + 1; e < d; e++, d_y++) {
                sum += x[e] * *d_y;
                d_x[e] += s * s * x[c] * *d_y;
            }
            d_x[c] += s * s * sum;
        }
    }
}

const gnn_map_t gnn_map_taylor = {
    .name = "taylor",
    .paper = "Arora et al. 2024 (Based)",
    .help = "1, x and the products of two values of x / d_k^(1/4): 1 + s + s^2 / 2 for exp(s)",
    .apply = taylor_apply,
    .apply_grad = taylor_apply_grad,
    .width = taylor_width,
};

/* ---- dpfp: r = max([x, -x], 0); products of r with itself shifted by 1 to nu, over their sum
 * ---- */

enum { NU, SUM_EPS };

static const gnn_option_t dpfp_options[] = {
    {"nu", 1, 1, 64, "count of shifts", GNN_OPTION_INTEGER},
    {"eps", 1e-6, 0, 1e6, "added to the sum", GNN_OPTION_REAL}};

static int64_t dpfp_width(const gnn_aggregate_shape_t *shape)
{
    return 2 * shape->d_k * (int64_t)shape->options[NU];
}

static const char *dpfp_wrong(const gnn_aggregate_shape_t *shape)
{
    return shape->options[NU] < 2 * (double)shape->d_k ? NULL : "it shifts by less than 2 d_k";
}

/* r at index j, which may be below 0 by less than 2 d. */
static gnn_real_t folded(const gnn_real_t *x, int64_t d, int64_t j)
{
    const int64_t at = j < 0 ? j + 2 * d : j;
    const gnn_real_t value = at < d ? x[at] : -x[at - d];
    return value > 0 ? value : 0;
}

static gnn_real_t dpfp_products(const gnn_aggregate_shape_t *shape, const gnn_real_t *x,
                                gnn_real_t *y)
{
    const int64_t d = shape->d_k, nu = (int64_t)shape->options[NU];
    gnn_real_t sum = (gnn_real_t)shape->options[SUM_EPS];
    for (int64_t i = 1; i <= nu; i++)
        for (int64_t j = 0; j < 2 * d; j++, y++) {
            *y = folded(x, d, j) * folded(x, d, j - i);
            sum += *y;
        }
    return sum == 0 ? 0 : 1 / sum;
}

static void dpfp_apply(const gnn_aggregate_shape_t *shape, int64_t heads, const gnn_real_t *numbers,
                       const gnn_real_t *x, gnn_real_t *y)
{
    const int64_t d = shape->d_k, width = dpfp_width(shape);
    (void)numbers;
    for (int64_t a = 0; a < heads; a++, x += d, y += width) {
        const gnn_real_t by = dpfp_products(shape, x, y);
        for (int64_t c = 0; c < width; c++)
            y[c] *= by;
    }
}

/* d_x of r at index j, as in folded */
static void add_folded(const gnn_real_t *x, int64_t d, int64_t j, gnn_real_t d_r, gnn_real_t *d_x)
{
    const int64_t at = j < 0 ? j + 2 * d : j;
    if (at < d)
        d_x[at] += x[at] > 0 ? d_r : 0;
    else
        d_x[at - d] -= x[at - d] < 0 ? d_r : 0;
}

static void dpfp_apply_grad(const gnn_aggregate_shape_t *shape, int64_t heads,
                            const gnn_real_t *numbers, const gnn_real_t *x, const gnn_real_t *d_y,
                            gnn_real_t *d_x)
{
    const int64_t d = shape->d_k, width = dpfp_width(shape);
    gnn_real_t y[GNN_MAP_WIDEST];
    (void)numbers;
    for (int64_t a = 0; a < heads; a++, x += d, d_x += d, d_y += width) {
        const gnn_real_t by = dpfp_products(shape, x, y);
        gnn_real_t along = 0;
        for (int64_t c = 0; c < width; c++)
            along += d_y[c] * y[c] * by;
        for (int64_t c = 0; c < width; c++) {
            const int64_t i = c / (2 * d) + 1, j = c % (2 * d);
            const gnn_real_t d_product = (d_y[c] - along) * by;
            add_folded(x, d, j, d_product * folded(x, d, j - i), d_x);
            add_folded(x, d, j - i, d_product * folded(x, d, j), d_x);
        }
    }
}

const gnn_map_t gnn_map_dpfp = {
    .name = "dpfp",
    .paper = "Schlag, Irie, Schmidhuber 2021, eq. 37",
    .help = "products of max([x, -x], 0) with itself shifted by 1 to nu, over their sum",
    .options = dpfp_options,
    .n_options = 2,
    .wrong = dpfp_wrong,
    .apply = dpfp_apply,
    .apply_grad = dpfp_apply_grad,
    .width = dpfp_width,
};

/* ---- cosformer: max(x, 0) times the cosine and the sine of an angle in proportion to the
 * position ---- */

static const gnn_option_t cosformer_options[] = {
    {"longest", 1024, 1, 1e12, "distance at which weights would reach 0", GNN_OPTION_REAL}};

static int64_t two_numbers(const gnn_aggregate_shape_t *shape)
{
    (void)shape;
    return 2;
}

static void cosformer_prepare(const gnn_aggregate_shape_t *shape, int64_t position,
                              gnn_real_t *numbers)
{
    const double angle = 1.5707963267948966 * (double)position / shape->options[0];
    numbers[0] = (gnn_real_t)cos(angle);
    numbers[1] = (gnn_real_t)sin(angle);
}

static void cosformer_apply(const gnn_aggregate_shape_t *shape, int64_t heads,
                            const gnn_real_t *numbers, const gnn_real_t *x, gnn_real_t *y)
{
    const int64_t d = shape->d_k;
    for (int64_t a = 0; a < heads; a++, x += d, y += 2 * d)
        for (int64_t c = 0; c < d; c++) {
            const gnn_real_t value = x[c] > 0 ? x[c] : 0;
            y[c] = value * numbers[0];
            y[d + c] = value * numbers[1];
        }
}

static void cosformer_apply_grad(const gnn_aggregate_shape_t *shape, int64_t heads,
                                 const gnn_real_t *numbers, const gnn_real_t *x,
                                 const gnn_real_t *d_y, gnn_real_t *d_x)
{
    const int64_t d = shape->d_k;
    for (int64_t a = 0; a < heads; a++, x += d, d_x += d, d_y += 2 * d)
        for (int64_t c = 0; c < d; c++)
            d_x[c] += x[c] > 0 ? d_y[c] * numbers[0] + d_y[d + c] * numbers[1] : 0;
}

static int64_t twice_d_k(const gnn_aggregate_shape_t *shape)
{
    return 2 * shape->d_k;
}

const gnn_map_t gnn_map_cosformer = {
    .name = "cosformer",
    .paper = "Qin et al. 2022 (cosFormer), eq. 10",
    .help = "max(x, 0) times cos and sin of the position: weights times cos(pi/2 distance / longest)",
    .options = cosformer_options,
    .n_options = 1,
    .numbers = two_numbers,
    .prepare = cosformer_prepare,
    .apply = cosformer_apply,
    .apply_grad = cosformer_apply_grad,
    .width = twice_d_k,
};
