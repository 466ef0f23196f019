/* Each head's numbers divided by their length, at least 1e-12: (n x h*d). Option: heads. */
#include <lib/ops/rows/named_ops.h>
#include <lib/ops/unit_rows.h>

static int64_t heads_of(const gnn_op_call_t *call)
{
    return (int64_t)gnn__op_option(call, 0, 1);
}

static int shape(gnn_op_call_t *call)
{
    int64_t heads;
    GNN_TRY(gnn__op_whole(call, "unit_heads", 0, INT32_MAX, &heads));
    return gnn__unit_shape(call, "unit_heads", heads);
}

static int forward(gnn_op_call_t *call)
{
    return gnn__unit_forward(call, heads_of(call));
}

static int backward(gnn_op_call_t *call)
{
    return gnn__unit_backward(call, heads_of(call));
}

const gnn_op_t gnn_op_unit_heads = {
    .name = "unit_heads", .shape = shape, .forward = forward, .backward = backward};
