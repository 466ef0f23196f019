#include <lib/aggregate/tables.h>

static void message(int64_t width, const gnn_real_t *dst, const gnn_real_t *src,
                    const gnn_real_t *edge, gnn_real_t *m)
{
    (void)dst;
    for (int64_t c = 0; c < width; c++) {
        gnn_real_t x = edge ? src[c] + edge[c] : src[c];
        m[c] = x < 0 ? 0 : x; /* NaN stays NaN */
    }
}

static void message_grad(int64_t width, const gnn_real_t *dst, const gnn_real_t *src,
                         const gnn_real_t *edge, const gnn_real_t *d_message, gnn_real_t *d_dst,
                         gnn_real_t *d_src, gnn_real_t *d_edge)
{
    (void)dst;
    (void)d_dst;
    for (int64_t c = 0; c < width; c++) {
        gnn_real_t x = edge ? src[c] + edge[c] : src[c], d = x > 0 ? d_message[c] : 0;
        if (d_src)
            d_src[c] += d;
        if (d_edge)
            d_edge[c] += d;
    }
}

const gnn_message_t gnn__message_relu_sum = {
    .name = "relu_sum",
    .paper = "Hu et al. 2020 (GINE)",
    .help = "relu(x_j + E e_ij)",
    .projects = 0,
    .src_parts = 1,
    .edge_parts = 1,
    .message = message,
    .message_grad = message_grad,
};
