/* The message relu(x_j + E e_ij). */
#include <lib/aggregate/tables.h>

static void message(const gnn_aggregate_shape_t *shape, const gnn_message_rows_t *rows, gnn_real_t *m)
{
    const int64_t width = shape->message_width;
    const gnn_real_t *src = rows->src, *edge = rows->edge;
    if (!edge) {
#pragma omp simd
        for (int64_t c = 0; c < width; c++)
            m[c] = src[c] < 0 ? 0 : src[c]; /* NaN stays NaN */
        return;
    }
#pragma omp simd
    for (int64_t c = 0; c < width; c++) {
        const gnn_real_t x = src[c] + edge[c];
        m[c] = x < 0 ? 0 : x;
    }
}

/* d += d_message where x_j + e > 0. */
static void add_passed(int64_t width, const gnn_message_rows_t *rows, const gnn_real_t *d_message,
                       gnn_real_t *d)
{
    const gnn_real_t *src = rows->src, *edge = rows->edge;
    if (!edge) {
#pragma omp simd
        for (int64_t c = 0; c < width; c++)
            d[c] += src[c] > 0 ? d_message[c] : 0;
        return;
    }
#pragma omp simd
    for (int64_t c = 0; c < width; c++)
        d[c] += src[c] + edge[c] > 0 ? d_message[c] : 0;
}

static void message_grad(const gnn_aggregate_shape_t *shape, const gnn_message_rows_t *rows,
                         const gnn_real_t *d_message, gnn_message_grad_t *grad)
{
    if (grad->src)
        add_passed(shape->message_width, rows, d_message, grad->src);
    if (grad->edge)
        add_passed(shape->message_width, rows, d_message, grad->edge);
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
