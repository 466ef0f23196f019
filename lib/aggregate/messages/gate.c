/* The gated message sigmoid(A x_i + B x_j) V x_j. */
#include <lib/aggregate/tables.h>
#include <lib/kernels/neighbours/pair_rows.h>

static void message(const gnn_aggregate_shape_t *shape, const gnn_message_rows_t *rows, gnn_real_t *m)
{
    gnn__pair_kernels()->gate(shape->message_width, rows->dst, rows->src, rows->edge, m);
}

static void message_grad(const gnn_aggregate_shape_t *shape, const gnn_message_rows_t *rows,
                         const gnn_real_t *d_message, gnn_message_grad_t *grad)
{
    gnn__pair_kernels()->gate_grad(shape->message_width, rows->dst, rows->src, rows->edge,
                                   d_message, grad->dst, grad->src, grad->edge);
}

const gnn_message_t gnn_message_gate = {
    .name = "gate",
    .paper = "Bresson, Laurent 2017 (ResGatedGraphConv)",
    .help = "sigmoid(A x_i + B x_j) * V x_j; edge features join both factors",
    .projects = 1,
    .src_parts = 2,
    .dst_parts = 1,
    .edge_parts = 2,
    .message = message,
    .message_grad = message_grad,
};
