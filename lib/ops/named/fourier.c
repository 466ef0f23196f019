/* Discrete Fourier transforms of the rows of each segment: op fourier. Lee-Thorp et al. 2022
 * (FNet). */
#include <lib/ops/named/named_ops.h>

#include <omp.h>

/* Real part of the discrete Fourier transform of each segment X (n x d), without a factor:
 *
 *     y_ab = Re sum_tc x_tc exp(-2 pi i (a t / n + b c / d))
 *
 * Option 0: the axes, 0: both, 1: rows (the sum over t alone), 2: columns (over c alone). Segments
 * are those of the graph's senders; a graph without segments is one. The matrix of the transform is
 * symmetric, so the gradient is the transform of the gradient.
 *
 * O(n d (log n + log d)), in double: sizes without a prime factor above 13 by Stockham's
 * self-sorting passes, other sizes as a convolution of a power of two (Bluestein 1970). Scratch:
 * 16 n d bytes of the longest segment. */

enum { BOTH, ROWS, COLUMNS, AXES };
enum { LANES = 8, LARGEST_RADIX = 13, STAGES = 64 };

/* Complex values of several transforms: element k of transform l is at k * LANES + l. */
typedef struct {
    double *re, *im;
} lanes_t;

/* A transform of `n` elements by passes of `radix`. */
typedef struct {
    int64_t n;
    int64_t radix[STAGES];
    int stages;
    double *cos, *sin; /* (n) of -2 pi k / n */
} passes_t;

/* A transform of `n` elements; `by_chirp`: as a convolution of `inner.n` elements. */
typedef struct {
    int64_t n;
    bool by_chirp;
    passes_t inner;
    double *chirp_re, *chirp_im;   /* (n) exp(-pi i k^2 / n) */
    double *kernel_re, *kernel_im; /* (inner.n) transform of the conjugate chirp */
} transform_t;

static double turn(int64_t k, int64_t n)
{
    return -2 * 3.14159265358979323846 * (double)k / (double)n;
}

/* ---- passes ---- */

/* Splits n into radices; false if a prime factor is too large. */
static bool split(int64_t n, passes_t *p)
{
    p->n = n;
    p->stages = 0;
    for (int64_t r = 4; r >= 2 && n > 1; r -= 2)
        for (; n % r == 0; n /= r)
            p->radix[p->stages++] = r;
    for (int64_t r = 3; r <= LARGEST_RADIX; r += 2)
        for (; n % r == 0; n /= r)
            p->radix[p->stages++] = r;
    return n == 1;
}

/* y_j = w_j sum_k x_k omega^(jk) for the elements x_k at a stride, y_j at another one. */
static void butterfly(const passes_t *p, int64_t r, int64_t w, const lanes_t *x, int64_t x_stride,
                      const lanes_t *y, int64_t y_stride)
{
    const int64_t root = p->n / r;
    for (int64_t j = 0; j < r; j++) {
        double re[LANES] = {0}, im[LANES] = {0};
        const double wr = p->cos[w * j % p->n], wi = p->sin[w * j % p->n];
        double *to_re = y->re + j * y_stride * LANES, *to_im = y->im + j * y_stride * LANES;
        for (int64_t k = 0; k < r; k++) {
            const double c = p->cos[j * k % r * root], s = p->sin[j * k % r * root];
            const double *a = x->re + k * x_stride * LANES, *b = x->im + k * x_stride * LANES;
            for (int l = 0; l < LANES; l++) {
                re[l] += c * a[l] - s * b[l];
                im[l] += c * b[l] + s * a[l];
            }
        }
        for (int l = 0; l < LANES; l++) {
            to_re[l] = wr * re[l] - wi * im[l];
            to_im[l] = wr * im[l] + wi * re[l];
        }
    }
}

static lanes_t lanes_at(const lanes_t *x, int64_t element)
{
    return (lanes_t){x->re + element * LANES, x->im + element * LANES};
}

/* Transforms x; the result is in x, y is scratch. */
static void run_passes(const passes_t *p, lanes_t *x, lanes_t *y)
{
    int64_t n = p->n, stride = 1;
    for (int stage = 0; stage < p->stages; stage++) {
        const int64_t r = p->radix[stage], m = n / r;
        for (int64_t a = 0; a < m; a++)
            for (int64_t q = 0; q < stride; q++) {
                const lanes_t from = lanes_at(x, q + stride * a),
                              to = lanes_at(y, q + stride * r * a);
                butterfly(p, r, stride * a, &from, stride * m, &to, stride);
            }
        const lanes_t swapped = *x;
        *x = *y;
        *y = swapped;
        n = m;
        stride *= r;
    }
}

/* ---- convolution with a chirp ---- */

/* x = x k for `count` elements; k has one value per element. */
static void multiply(const lanes_t *x, const double *k_re, const double *k_im, int64_t count)
{
    for (int64_t t = 0; t < count; t++)
        for (int l = 0; l < LANES; l++) {
            const double a = x->re[t * LANES + l], b = x->im[t * LANES + l];
            x->re[t * LANES + l] = a * k_re[t] - b * k_im[t];
            x->im[t * LANES + l] = a * k_im[t] + b * k_re[t];
        }
}

static void conjugate(const lanes_t *x, double factor, int64_t count)
{
    for (int64_t k = 0; k < count * LANES; k++) {
        x->re[k] *= factor;
        x->im[k] *= -factor;
    }
}

static void zero(const lanes_t *x, int64_t from, int64_t to)
{
    memset(x->re + from * LANES, 0, sizeof(double) * (size_t)((to - from) * LANES));
    memset(x->im + from * LANES, 0, sizeof(double) * (size_t)((to - from) * LANES));
}

/* The inverse transform is the conjugate of the transform of the conjugate, over m. */
static void run_chirp(const transform_t *f, lanes_t *x, lanes_t *y)
{
    const int64_t m = f->inner.n;
    multiply(x, f->chirp_re, f->chirp_im, f->n);
    zero(x, f->n, m);
    run_passes(&f->inner, x, y);
    multiply(x, f->kernel_re, f->kernel_im, m);
    conjugate(x, 1, m);
    run_passes(&f->inner, x, y);
    conjugate(x, 1 / (double)m, f->n);
    multiply(x, f->chirp_re, f->chirp_im, f->n);
}

/* ---- tables ---- */

/* Elements of the buffers, and of the tables of passes, of transforms of up to n elements: a
 * convolution has a power of two that is at least 2 n - 1. */
static int64_t room(int64_t n)
{
    return 4 * gnn__max(n, 1);
}

static void carve_tables(gnn__carve_t *carve, int64_t most, transform_t *f)
{
    f->inner.cos = gnn__carve(carve, room(most), sizeof(double));
    f->inner.sin = gnn__carve(carve, room(most), sizeof(double));
    f->kernel_re = gnn__carve(carve, room(most), sizeof(double));
    f->kernel_im = gnn__carve(carve, room(most), sizeof(double));
    f->chirp_re = gnn__carve(carve, room(most), sizeof(double));
    f->chirp_im = gnn__carve(carve, room(most), sizeof(double));
}

static void fill_chirp(transform_t *f, lanes_t x, lanes_t y)
{
    const int64_t m = f->inner.n;
    zero(&x, 0, m);
    for (int64_t k = 0; k < f->n; k++) {
        const int64_t back = k > 0 ? m - k : 0;
        f->chirp_re[k] = cos(turn(k * k % (2 * f->n), 2 * f->n));
        f->chirp_im[k] = sin(turn(k * k % (2 * f->n), 2 * f->n));
        x.re[k * LANES] = x.re[back * LANES] = f->chirp_re[k];
        x.im[k * LANES] = x.im[back * LANES] = -f->chirp_im[k];
    }
    run_passes(&f->inner, &x, &y);
    for (int64_t k = 0; k < m; k++) {
        f->kernel_re[k] = x.re[k * LANES];
        f->kernel_im[k] = x.im[k * LANES];
    }
}

/* Fills the tables for n elements; x and y are scratch. */
static void prepare(transform_t *f, int64_t n, lanes_t x, lanes_t y)
{
    passes_t *p = &f->inner;
    if (f->n == n)
        return;
    f->n = n;
    f->by_chirp = !split(n, p);
    if (f->by_chirp) {
        int64_t m = 1;
        while (m < 2 * n - 1)
            m *= 2;
        split(m, p);
    }
    for (int64_t k = 0; k < p->n; k++) {
        p->cos[k] = cos(turn(k, p->n));
        p->sin[k] = sin(turn(k, p->n));
    }
    if (f->by_chirp)
        fill_chirp(f, x, y);
}

/* ---- the op ---- */

typedef struct {
    int axes, threads;
    int64_t segments, longest, d;
    double *re, *im; /* (longest x d) */
    double *buffers; /* threads x 4 x each */
    int64_t each;
    transform_t rows, columns;
} fourier_t;

static int64_t first_row(const gnn_graph_t *g, int64_t s)
{
    return g->n_segments > 0 ? g->src_segments[s] : s > 0 ? g->n_src : 0;
}

static int lay_out(const gnn_op_call_t *call, void *scratch, fourier_t *f, size_t *bytes)
{
    const gnn_graph_t *g = gnn__op_options(call)->graph;
    gnn__carve_t carve = {.base = scratch};
    int64_t count = 0;
    *f = (fourier_t){.axes = (int)gnn__op_options(call)->options[0],
                     .threads = gnn__most_threads(call->context, call->threads),
                     .segments = g->n_segments > 0 ? g->n_segments : 1,
                     .d = call->in[0].cols};
    for (int64_t s = 0; s < f->segments; s++)
        f->longest = gnn__max(f->longest, first_row(g, s + 1) - first_row(g, s));
    const int64_t most = gnn__max(f->longest, f->d);
    if (most > INT32_MAX / (8 * LANES))
        return gnn_op_fail(call, GNN_EUNSUPPORTED, "fourier: a segment of %lld rows, %lld columns",
                           (long long)f->longest, (long long)f->d);
    f->each = room(most) * LANES;
    carve.overflow |= !gnn__mul(f->longest, f->d, &count);
    f->re = gnn__carve(&carve, count, sizeof(double));
    f->im = gnn__carve(&carve, count, sizeof(double));
    f->buffers = gnn__carve(&carve, f->threads * 4 * f->each, sizeof(double));
    carve_tables(&carve, f->longest, &f->rows);
    carve_tables(&carve, f->d, &f->columns);
    *bytes = (size_t)carve.used;
    return carve.overflow ? gnn_op_fail(call, GNN_EOVERFLOW, "fourier: its workspace overflows")
                          : GNN_OK;
}

static int fourier_shape(gnn_op_call_t *call)
{
    const double axes = gnn__op_options(call)->options[0];
    const gnn_graph_t *graph = gnn__op_options(call)->graph;
    fourier_t f;
    GNN_TRY(gnn__op_dense(call, "fourier", 0, 0, 1));
    if (!(axes >= 0 && axes < AXES) || axes != floor(axes))
        return gnn_op_fail(call, GNN_EINVALID, "fourier: option 0: expected axes 0, 1 or 2, got %g",
                           axes);
    if (!graph)
        return gnn_op_fail(call, GNN_EINVALID, "fourier needs a graph");
    GNN_TRY(gnn__op_expect(call, "fourier", 0, graph->n_src, call->in[0].cols));
    gnn__op_output(call, graph->n_src, call->in[0].cols);
    GNN_TRY(lay_out(call, NULL, &f, &call->forward_scratch));
    call->backward_scratch = call->forward_scratch;
    return GNN_OK;
}

/* Thread t's buffers: x and y. */
static lanes_t buffer(const fourier_t *f, int t, int which)
{
    double *at = f->buffers + (4 * t + 2 * which) * f->each;
    return (lanes_t){at, at + f->each};
}

/* Transforms of LANES lines from line `first` on, of `lines`: element k of line l is at
 * k * element + l * line of the segment's values. */
static void run_lines(const fourier_t *f, const transform_t *transform, int64_t first,
                      int64_t lines, int64_t element, int64_t line)
{
    const int t = omp_get_thread_num();
    const int64_t count = gnn__min(lines - first, LANES);
    lanes_t x = buffer(f, t, 0), y = buffer(f, t, 1);
    for (int64_t k = 0; k < transform->n; k++)
        for (int64_t l = 0; l < LANES; l++) {
            const int64_t at = k * element + (first + gnn__min(l, count - 1)) * line;
            x.re[k * LANES + l] = f->re[at];
            x.im[k * LANES + l] = f->im[at];
        }
    if (transform->by_chirp)
        run_chirp(transform, &x, &y);
    else
        run_passes(&transform->inner, &x, &y);
    for (int64_t k = 0; k < transform->n; k++)
        for (int64_t l = 0; l < count; l++) {
            const int64_t at = k * element + (first + l) * line;
            f->re[at] = x.re[k * LANES + l];
            f->im[at] = x.im[k * LANES + l];
        }
}

static void run_axis(const fourier_t *f, const gnn_op_call_t *call, const transform_t *transform,
                     int64_t lines, int64_t element, int64_t line)
{
    const int64_t blocks = (lines + LANES - 1) / LANES;
    const int threads = gnn__op_threads(call, lines * transform->n * 64);
    GNN__PARALLEL_FOR (threads, int64_t b = 0; b < blocks; b++)
        run_lines(f, transform, b * LANES, lines, element, line);
}

/* y = the transform of x, or += if `add`. */
static int transform_all(gnn_op_call_t *call, const gnn_tensor_t *x, const gnn_tensor_t *y, bool add)
{
    const gnn_graph_t *g = gnn__op_options(call)->graph;
    fourier_t f;
    size_t bytes;
    GNN_TRY(lay_out(call, call->scratch, &f, &bytes));
    if (f.axes != ROWS && f.d > 0 && f.longest > 0)
        prepare(&f.columns, f.d, buffer(&f, 0, 0), buffer(&f, 0, 1));
    for (int64_t s = 0; s < f.segments; s++) {
        const int64_t from = first_row(g, s), n = first_row(g, s + 1) - from, d = f.d;
        if (n == 0 || d == 0)
            continue;
        for (int64_t k = 0; k < n * d; k++) {
            f.re[k] = (double)gnn__row(x, from + k / d)[k % d];
            f.im[k] = 0;
        }
        if (f.axes != ROWS)
            run_axis(&f, call, &f.columns, n, 1, d);
        if (f.axes != COLUMNS) {
            prepare(&f.rows, n, buffer(&f, 0, 0), buffer(&f, 0, 1));
            run_axis(&f, call, &f.rows, d, d, 1);
        }
        for (int64_t k = 0; k < n * d; k++) {
            gnn_real_t *to = gnn__row(y, from + k / d) + k % d;
            *to = (gnn_real_t)(f.re[k] + (add ? (double)*to : 0));
        }
    }
    return GNN_OK;
}

static int fourier_forward(gnn_op_call_t *call)
{
    return transform_all(call, &call->in[0].value, &call->out[0].value, false);
}

static int fourier_backward(gnn_op_call_t *call)
{
    const gnn_operand_t *x = &call->in[0];
    return gnn__wants(call, 0) ? transform_all(call, &call->out[0].grad, &x->grad, x->accumulate)
                               : GNN_OK;
}

static const gnn_option_t fourier_options[] = {
    GNN__CHOICE_OPTION("axes", AXES - 1, "0: both, 1: rows, 2: columns")};

const gnn_op_t gnn_op_fourier = {.name = "fourier",
                                 GNN__OPTIONS(fourier_options),
                                 .shape = fourier_shape,
                                 .forward = fourier_forward,
                                 .backward = fourier_backward,
                                 .flags = GNN_OP_READS_GRAPH};
