/* y = exp(x + plus), element by element; option: plus. */
#include <lib/ops/rows/named_ops.h>

static inline double value(const double *options, double x)
{
    return exp(x + options[0]);
}

static inline double slope(const double *options, double x)
{
    return exp(x + options[0]);
}

GNN__MAP_ROWS

static int shape(gnn_op_call_t *call)
{
    return gnn__map_shape(call, "exp");
}

static int forward(gnn_op_call_t *call)
{
    return gnn__map_forward(call, row_value);
}

static int backward(gnn_op_call_t *call)
{
    return gnn__map_backward(call, row_slope);
}

const gnn_op_t gnn_op_exp = {.name = "exp", .shape = shape, .forward = forward, .backward = backward};
