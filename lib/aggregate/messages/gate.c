#include <lib/aggregate/rows.h>
#include <lib/kernels/real_math.h>

static inline gnn_real_t gate(const gnn_real_t *dst, const gnn_real_t *src, const gnn_real_t *edge,
                              int64_t c)
{
    return gnn__sigmoid(dst[c] + src[c] + (edge ? edge[c] : 0));
}

static inline gnn_real_t value(int64_t width, const gnn_real_t *src, const gnn_real_t *edge, int64_t c)
{
    return src[width + c] + (edge ? edge[width + c] : 0);
}

static void message(int64_t width, const gnn_real_t *dst, const gnn_real_t *src,
                    const gnn_real_t *edge, gnn_real_t *m)
{
    for (int64_t c = 0; c < width; c++)
        m[c] = gate(dst, src, edge, c) * value(width, src, edge, c);
}

static void message_grad(int64_t width, const gnn_real_t *dst, const gnn_real_t *src,
                         const gnn_real_t *edge, const gnn_real_t *d_message, gnn_real_t *d_dst,
                         gnn_real_t *d_src, gnn_real_t *d_edge)
{
    for (int64_t c = 0; c < width; c++) {
        gnn_real_t g = gate(dst, src, edge, c), d_value = d_message[c] * g;
        gnn_real_t d_gate = d_value * (1 - g) * value(width, src, edge, c);
        if (d_dst)
            d_dst[c] += d_gate;
        if (d_src) {
            d_src[c] += d_gate;
            d_src[width + c] += d_value;
        }
        if (d_edge) {
            d_edge[c] += d_gate;
            d_edge[width + c] += d_value;
        }
    }
}

const gnn_message_t gnn__message_gate = {
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
