#include <lib/aggregate/tables.h>

static void message(int64_t width, const gnn_real_t *dst, const gnn_real_t *src,
                    const gnn_real_t *edge, gnn_real_t *m)
{
    (void)dst;
    for (int64_t c = 0; c < width; c++)
        m[c] = edge ? src[c] + edge[c] : src[c];
}

static void message_grad(int64_t width, const gnn_real_t *dst, const gnn_real_t *src,
                         const gnn_real_t *edge, const gnn_real_t *d_message, gnn_real_t *d_dst,
                         gnn_real_t *d_src, gnn_real_t *d_edge)
{
    (void)dst;
    (void)src;
    (void)edge;
    (void)d_dst;
    for (int64_t c = 0; d_src && c < width; c++)
        d_src[c] += d_message[c];
    for (int64_t c = 0; d_edge && c < width; c++)
        d_edge[c] += d_message[c];
}

const gnn_message_t gnn__message_linear_edge = {
    .name = "linear_edge",
    .paper = "Shi et al. 2021 (TransformerConv)",
    .help = "W x_j + E e_ij: sender's and edge's features, each after a linear map",
    .projects = 1,
    .src_parts = 1,
    .edge_parts = 1,
    .message = message,
    .message_grad = message_grad,
};
