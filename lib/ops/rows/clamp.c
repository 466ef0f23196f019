/* y = min(max(x, low), high), element by element; options: low, high. Gradients pass inside of the
 * range and at its ends. */
#include <lib/ops/rows/named_ops.h>

static inline double value(const double *options, double x)
{
    return x < options[0] ? options[0] : x > options[1] ? options[1] : x;
}

static inline double slope(const double *options, double x)
{
    return x >= options[0] && x <= options[1] ? 1 : 0;
}

GNN__MAP_ROWS

static int shape(gnn_op_call_t *call)
{
    return gnn__map_shape(call, "clamp");
}

static int forward(gnn_op_call_t *call)
{
    return gnn__map_forward(call, row_value);
}

static int backward(gnn_op_call_t *call)
{
    return gnn__map_backward(call, row_slope);
}

const gnn_op_t gnn_op_clamp = {
    .name = "clamp", .shape = shape, .forward = forward, .backward = backward};
