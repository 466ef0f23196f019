/* The message W x_j + E e_ij. */
#include <lib/aggregate/tables.h>

static void message(const gnn_aggregate_shape_t *shape, const gnn_message_rows_t *rows, gnn_real_t *m)
{
    const int64_t width = shape->message_width;
    const gnn_real_t *src = rows->src, *edge = rows->edge;
    for (int64_t c = 0; c < width; c++)
        m[c] = edge ? src[c] + edge[c] : src[c];
}

static void message_grad(const gnn_aggregate_shape_t *shape, const gnn_message_rows_t *rows,
                         const gnn_real_t *d_message, gnn_message_grad_t *grad)
{
    const int64_t width = shape->message_width;
    (void)rows;
    for (int64_t c = 0; grad->src && c < width; c++)
        grad->src[c] += d_message[c];
    for (int64_t c = 0; grad->edge && c < width; c++)
        grad->edge[c] += d_message[c];
}

const gnn_message_t gnn_message_linear_edge = {
    .name = "linear_edge",
    .paper = "Shi et al. 2021 (TransformerConv)",
    .help = "W x_j + E e_ij: sender's and edge's features, each after a linear map",
    .projects = 1,
    .src_parts = 1,
    .edge_parts = 1,
    .adds_edge = 1,
    .message = message,
    .message_grad = message_grad,
};
