/* y = 1 where low <= x <= high, else 0; options: low, high. No gradient passes. */
#include <lib/ops/rows/named_ops.h>

static inline double value(const double *options, double x)
{
    return x >= options[0] && x <= options[1] ? 1 : 0;
}

static inline double slope(const double *options, double x)
{
    (void)options;
    (void)x;
    return 0;
}

GNN__MAP_ROWS

static int shape(gnn_op_call_t *call)
{
    return gnn__map_shape(call, "between");
}

static int forward(gnn_op_call_t *call)
{
    return gnn__map_forward(call, row_value);
}

static int backward(gnn_op_call_t *call)
{
    return gnn__map_backward(call, row_slope);
}

const gnn_op_t gnn_op_between = {
    .name = "between", .shape = shape, .forward = forward, .backward = backward};
