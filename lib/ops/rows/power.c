/* y = (x + plus)^exponent, element by element; options: exponent [1], plus. What is not positive
 * becomes 0 under exponents that are no whole number above 0, without a gradient. */
#include <lib/ops/rows/named_ops.h>

static inline bool defined(double exponent, double x)
{
    return x > 0 || (exponent > 0 && exponent == floor(exponent));
}

static inline double value(const double *options, double x)
{
    const double p = options[0] != 0 ? options[0] : 1;
    return defined(p, x + options[1]) ? pow(x + options[1], p) : 0;
}

static inline double slope(const double *options, double x)
{
    const double p = options[0] != 0 ? options[0] : 1;
    return !defined(p, x + options[1]) ? 0 : p == 1 ? 1 : p * pow(x + options[1], p - 1);
}

GNN__MAP_ROWS

static int shape(gnn_op_call_t *call)
{
    return gnn__map_shape(call, "power");
}

static int forward(gnn_op_call_t *call)
{
    return gnn__map_forward(call, row_value);
}

static int backward(gnn_op_call_t *call)
{
    return gnn__map_backward(call, row_slope);
}

const gnn_op_t gnn_op_power = {
    .name = "power", .shape = shape, .forward = forward, .backward = backward};
