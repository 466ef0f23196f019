/* Elementwise named ops: y = f(options, x), dx = dy f'(options, x), and x^p with a learned p. */
#include <lib/ops/named/named_ops.h>

/* ---- an op from a function and its derivative ---- */

/* One row of n elements: y = f(options, x), and dx += dy f'(options, x). */
typedef void row_value_t(const double *options, int64_t n, const gnn_real_t *x, gnn_real_t *y);
typedef void row_slope_t(const double *options, int64_t n, const gnn_real_t *x,
                         const gnn_real_t *dy, gnn_real_t *dx);

static int elementwise_shape(gnn_op_call_t *call, const char *name)
{
    GNN_TRY(gnn__op_dense(call, name, 0, 0, 1));
    gnn__op_output(call, call->in[0].rows, call->in[0].cols);
    call->in[0].keep = call->in[0].wants_grad;
    return GNN_OK;
}

static int elementwise_forward(gnn_op_call_t *call, row_value_t *f)
{
    const gnn_tensor_t *x = &call->in[0].value, *y = &call->out[0].value;
    const double *options = gnn__op_options(call)->options;
    const int threads = gnn__op_threads(call, 20 * x->rows * x->cols);
    GNN__PARALLEL_FOR (threads, int64_t r = 0; r < x->rows; r++)
        f(options, x->cols, gnn__row(x, r), gnn__row(y, r));
    return GNN_OK;
}

static int elementwise_backward(gnn_op_call_t *call, row_slope_t *slope)
{
    const gnn_operand_t *x = &call->in[0];
    const gnn_tensor_t *dy = &call->out[0].grad;
    const double *options = gnn__op_options(call)->options;
    if (!gnn__wants(call, 0))
        return GNN_OK;
    gnn__op_begin(call, 0);
    const int threads = gnn__op_threads(call, 20 * dy->rows * dy->cols);
    GNN__PARALLEL_FOR (threads, int64_t r = 0; r < dy->rows; r++)
        slope(options, dy->cols, gnn__row(&x->value, r), gnn__row(dy, r), gnn__row(&x->grad, r));
    return GNN_OK;
}

/* Defines gnn_op_NAME from `double NAME_value(const double *options, double x)` and NAME_slope of
 * the same form. They are inlined, so the loops over a row contain no calls. */
#define ELEMENTWISE(name_, flags_, ...)                                                  \
    static void name_##_row_value(const double *options, int64_t n, const gnn_real_t *x, \
                                  gnn_real_t *y)                                         \
    {                                                                                    \
        const double own[] = {options[0], options[1]};                                   \
        _Pragma("omp simd") for (int64_t c = 0; c < n; c++) y[c] =                       \
            (gnn_real_t)name_##_value(own, (double)x[c]);                                \
    }                                                                                    \
    static void name_##_row_slope(const double *options, int64_t n, const gnn_real_t *x, \
                                  const gnn_real_t *dy, gnn_real_t *dx)                  \
    {                                                                                    \
        const double own[] = {options[0], options[1]};                                   \
        _Pragma("omp simd") for (int64_t c = 0; c < n; c++) dx[c] +=                     \
            (gnn_real_t)((double)dy[c] * name_##_slope(own, (double)x[c]));              \
    }                                                                                    \
    static int name_##_shape(gnn_op_call_t *call)                                        \
    {                                                                                    \
        return elementwise_shape(call, #name_);                                          \
    }                                                                                    \
    static int name_##_forward(gnn_op_call_t *call)                                      \
    {                                                                                    \
        return elementwise_forward(call, name_##_row_value);                             \
    }                                                                                    \
    static int name_##_backward(gnn_op_call_t *call)                                     \
    {                                                                                    \
        return elementwise_backward(call, name_##_row_slope);                            \
    }                                                                                    \
    const gnn_op_t gnn_op_##name_ = {.name = #name_,                                     \
                                     .flags = (flags_) | GNN_OP_BY_ROWS,                 \
                                     __VA_ARGS__,                                        \
                                     .shape = name_##_shape,                             \
                                     .forward = name_##_forward,                         \
                                     .backward = name_##_backward};

/* ---- power ---- */

/* y = (x + plus)^exponent. Options: exponent [1], plus. Where x + plus <= 0 and the exponent is
 * not a positive integer: y = 0 and the gradient is 0. */

static inline bool defined(double exponent, double x)
{
    return x > 0 || (exponent > 0 && exponent == floor(exponent));
}

static inline double power_value(const double *options, double x)
{
    const double p = options[0] != 0 ? options[0] : 1;
    return defined(p, x + options[1]) ? pow(x + options[1], p) : 0;
}

static inline double power_slope(const double *options, double x)
{
    const double p = options[0] != 0 ? options[0] : 1;
    if (!defined(p, x + options[1]))
        return 0;
    return p == 1 ? 1 : p * pow(x + options[1], p - 1);
}

static const gnn_option_t power_options[] = {GNN__REAL_OPTION("exponent", 1, ""),
                                             GNN__REAL_OPTION("plus", 0, "added to x")};

ELEMENTWISE(power, 0, GNN__OPTIONS(power_options))

/* ---- log ---- */

/* y = log(x + plus). Option: plus. */

static inline double log_value(const double *options, double x)
{
    return log(x + options[0]);
}

static inline double log_slope(const double *options, double x)
{
    return 1 / (x + options[0]);
}

static const gnn_option_t log_options[] = {GNN__REAL_OPTION("plus", 0, "added to x")};

ELEMENTWISE(log, GNN_OP_ELEMENTWISE, GNN__OPTIONS(log_options))

/* ---- exp ---- */

/* y = exp(x + plus). Option: plus. */

static inline double exp_value(const double *options, double x)
{
    return exp(x + options[0]);
}

static inline double exp_slope(const double *options, double x)
{
    return exp(x + options[0]);
}

static const gnn_option_t exp_options[] = {GNN__REAL_OPTION("plus", 0, "added to x")};

ELEMENTWISE(exp, 0, GNN__OPTIONS(exp_options))

/* ---- sin, cos ---- */

/* y = sin(factor x + plus), and of the cosine. Options: factor [1], plus. */

static inline double angle(const double *options, double x)
{
    return (options[0] != 0 ? options[0] : 1) * x + options[1];
}

static inline double sin_value(const double *options, double x)
{
    return sin(angle(options, x));
}

static inline double sin_slope(const double *options, double x)
{
    return (options[0] != 0 ? options[0] : 1) * cos(angle(options, x));
}

static const gnn_option_t sin_options[] = {GNN__REAL_OPTION("factor", 1, ""),
                                           GNN__REAL_OPTION("plus", 0, "")};

ELEMENTWISE(sin, GNN_OP_ELEMENTWISE, GNN__OPTIONS(sin_options))

static inline double cos_value(const double *options, double x)
{
    return cos(angle(options, x));
}

static inline double cos_slope(const double *options, double x)
{
    return -(options[0] != 0 ? options[0] : 1) * sin(angle(options, x));
}

static const gnn_option_t cos_options[] = {GNN__REAL_OPTION("factor", 1, ""),
                                           GNN__REAL_OPTION("plus", 0, "")};

ELEMENTWISE(cos, GNN_OP_ELEMENTWISE, GNN__OPTIONS(cos_options))

/* ---- clamp ---- */

/* y = min(max(x, low), high). Options: low, high. The gradient is 1 within the range, ends
 * included. */

static inline double clamp_value(const double *options, double x)
{
    const double above = x < options[0] ? options[0] : x;
    return above > options[1] ? options[1] : above;
}

static inline double clamp_slope(const double *options, double x)
{
    return x >= options[0] && x <= options[1] ? 1 : 0;
}

static const gnn_option_t clamp_options[] = {GNN__REAL_OPTION("low", 0, ""),
                                             GNN__REAL_OPTION("high", 0, "")};

ELEMENTWISE(clamp, 0, GNN__OPTIONS(clamp_options))

/* ---- floor ---- */

/* y = the largest integer up to x. The gradient is 0. */

static inline double floor_value(const double *options, double x)
{
    (void)options;
    return floor(x);
}

static inline double floor_slope(const double *options, double x)
{
    (void)options;
    (void)x;
    return 0;
}

ELEMENTWISE(floor, 0, GNN__NO_OPTIONS)

/* ---- between ---- */

/* y = 1 where low <= x <= high, otherwise 0. Options: low, high. The gradient is 0. */

static inline double between_value(const double *options, double x)
{
    return x >= options[0] && x <= options[1] ? 1 : 0;
}

static inline double between_slope(const double *options, double x)
{
    (void)options;
    (void)x;
    return 0;
}

static const gnn_option_t between_options[] = {GNN__REAL_OPTION("low", 0, ""),
                                               GNN__REAL_OPTION("high", 0, "")};

ELEMENTWISE(between, 0, GNN__OPTIONS(between_options))

/* ---- power_by ---- */

/* y = x^p with a learned exponent: x (n x d), p (1 x 1). Where x <= 0, y and the gradient are 0,
 * except at x = 0 with p = 1. The two halves of a power mean in DeeperGCN, Li et al. 2020. */

static int power_by_shape(gnn_op_call_t *call)
{
    GNN_TRY(gnn__op_dense(call, "power_by", 0, 1, 2));
    GNN_TRY(gnn__op_expect(call, "power_by", 1, 1, 1));
    gnn__op_output(call, call->in[0].rows, call->in[0].cols);
    call->in[0].keep = call->in[1].keep = call->out[0].keep = call->recording;
    return gnn__column_bytes(call, call->in[0].rows, 1, &call->backward_scratch);
}

static int power_by_forward(gnn_op_call_t *call)
{
    const gnn_tensor_t *x = &call->in[0].value, *y = &call->out[0].value;
    const gnn_real_t p = call->in[1].value.data[0];
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    const int threads = gnn__op_threads(call, 4 * x->rows * x->cols);
    GNN__PARALLEL_FOR (threads, int64_t r = 0; r < x->rows; r++)
        kernels->power(x->cols, p, gnn__row(x, r), gnn__row(y, r));
    return GNN_OK;
}

/* dx = p x^(p - 1) dy; dp = sum of x^p log(x) dy, in fixed chunks of rows. */
static int power_by_backward(gnn_op_call_t *call)
{
    const gnn_tensor_t *x = &call->in[0].value, *y = &call->out[0].value, *dy = &call->out[0].grad;
    const gnn_real_t p = call->in[1].value.data[0];
    const gnn__elementwise_kernels_t *kernels = gnn__elementwise_kernels();
    const int chunks = (int)gnn__column_chunks(x->rows);
    double *sums = call->scratch, dp = 0;
    gnn__op_begin(call, 0);
    gnn__op_begin(call, 1);
    const int threads = gnn__op_threads(call, 6 * x->rows * x->cols);
    GNN__PARALLEL_FOR (threads, int k = 0; k < chunks; k++) {
        sums[k] = 0;
        for (int64_t r = gnn__share(x->rows, k, chunks); r < gnn__share(x->rows, k + 1, chunks); r++)
            sums[k] +=
                kernels->power_grad(x->cols, p, gnn__row(x, r), gnn__row(y, r), gnn__row(dy, r),
                                    gnn__wants(call, 0) ? gnn__row(&call->in[0].grad, r) : NULL);
    }
    for (int k = 0; k < chunks; k++)
        dp += sums[k];
    if (gnn__wants(call, 1))
        gnn__op_accumulate(&call->in[1], &dp);
    return GNN_OK;
}

const gnn_op_t gnn_op_power_by = {.name = "power_by",
                                  GNN__NO_OPTIONS,
                                  .shape = power_by_shape,
                                  .forward = power_by_forward,
                                  .backward = power_by_backward};

/* ---- add_gradient ---- */

/* y = x, and dx = dy + g: the gradient of a term of the loss whose derivative is g, which itself
 * has none. x and g (n x c). A norm whose backward pass is not the derivative of its forward pass:
 * Shen et al. 2020. */

static int add_gradient_shape(gnn_op_call_t *call)
{
    const gnn_operand_t *x = &call->in[0];
    GNN_TRY(gnn__op_dense(call, "add_gradient", 0, 1, 2));
    GNN_TRY(gnn__op_expect(call, "add_gradient", 1, x->rows, x->cols));
    gnn__op_output(call, x->rows, x->cols);
    call->in[1].keep = x->wants_grad;
    return GNN_OK;
}

static int add_gradient_forward(gnn_op_call_t *call)
{
    gnn__op_send(call, 1, &call->in[0].value, &call->out[0].value, false);
    return GNN_OK;
}

static int add_gradient_backward(gnn_op_call_t *call)
{
    const gnn_tensor_t *dx = &call->in[0].grad;
    gnn__op_begin(call, 1);
    if (!gnn__wants(call, 0))
        return GNN_OK;
    gnn__op_send(call, 1, &call->out[0].grad, dx, call->in[0].accumulate != 0);
    gnn__op_send(call, 1, &call->in[1].value, dx, true);
    return GNN_OK;
}

const gnn_op_t gnn_op_add_gradient = {.name = "add_gradient",
                                      GNN__NO_OPTIONS,
                                      .shape = add_gradient_shape,
                                      .forward = add_gradient_forward,
                                      .backward = add_gradient_backward,
                                      .flags = GNN_OP_BY_ROWS};
