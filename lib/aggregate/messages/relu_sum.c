/* The message relu(x_j + E e_ij). */
#include <lib/aggregate/tables.h>

static void message(const gnn_aggregate_shape_t *shape, const gnn_message_rows_t *rows, gnn_real_t *m)
{
    const int64_t width = shape->message_width;
    const gnn_real_t *src = rows->src, *edge = rows->edge;
    for (int64_t c = 0; c < width; c++) {
        gnn_real_t x = edge ? src[c] + edge[c] : src[c];
        m[c] = x < 0 ? 0 : x; /* NaN stays NaN */
    }
}

static void message_grad(const gnn_aggregate_shape_t *shape, const gnn_message_rows_t *rows,
                         const gnn_real_t *d_message, gnn_message_grad_t *grad)
{
    const int64_t width = shape->message_width;
    const gnn_real_t *src = rows->src, *edge = rows->edge;
    for (int64_t c = 0; c < width; c++) {
        gnn_real_t x = edge ? src[c] + edge[c] : src[c], d = x > 0 ? d_message[c] : 0;
        if (grad->src)
            grad->src[c] += d;
        if (grad->edge)
            grad->edge[c] += d;
    }
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
