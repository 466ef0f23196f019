/* The message relu(x_j + E e_ij). */
#include <lib/aggregate/tables.h>
#include <lib/kernels/neighbours/pair_rows.h>

static void message(const gnn_aggregate_shape_t *shape, const gnn_message_rows_t *rows, gnn_real_t *m)
{
    gnn__pair_kernels()->relu_sum(shape->message_width, rows->src, rows->edge, m);
}

static void message_grad(const gnn_aggregate_shape_t *shape, const gnn_message_rows_t *rows,
                         const gnn_real_t *d_message, gnn_message_grad_t *grad)
{
    gnn_real_t *const both[] = {grad->src, grad->edge};
    for (int to = 0; to < 2; to++)
        if (both[to])
            gnn__pair_kernels()->relu_sum_grad(shape->message_width, rows->src, rows->edge,
                                               d_message, both[to]);
}

const gnn_message_t gnn_message_relu_sum = {
    .name = "relu_sum",
    .paper = "Hu et al. 2020 (GINE)",
    .help = "relu(x_j + E e_ij)",
    .projects = 0,
    .src_parts = 1,
    .edge_parts = 1,
    .message = message,
    .message_grad = message_grad,
};
