/* The gated message sigmoid(A x_i + B x_j) V x_j. */
#include <lib/aggregate/tables.h>
#include <lib/kernels/rowwise/elementwise.h>
#include <lib/kernels/simd/real_math.h>

/* Numbers at a time, and those that are sooner done one by one. */
enum { BLOCK = 64, FEW = 8 };

/* n gates from number c on; returns the values that they let pass, which may stand in `sums`. */
static const gnn_real_t *open_gates(const gnn__elementwise_kernels_t *k, int64_t width, int64_t c,
                                    int64_t n, const gnn_message_rows_t *rows, gnn_real_t *gate,
                                    gnn_real_t *sums)
{
    const gnn_real_t *dst = rows->dst, *src = rows->src, *edge = rows->edge;
    k->mix(n, 1, dst + c, 1, src + c, gate);
    if (edge) {
        k->scale(n, 1, edge + c, true, gate);
        k->mix(n, 1, src + width + c, 1, edge + width + c, sums);
    }
    if (n >= FEW)
        k->activate(GNN_SIGMOID, 0, n, gate, gate);
    else
        for (int64_t x = 0; x < n; x++)
            gate[x] = gnn__sigmoid(gate[x]);
    return edge ? sums : src + width + c;
}

static int64_t least(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

static void message(const gnn_aggregate_shape_t *shape, const gnn_message_rows_t *rows, gnn_real_t *m)
{
    const int64_t width = shape->message_width;
    const gnn__elementwise_kernels_t *k = gnn__elementwise_kernels();
    gnn_real_t sums[BLOCK];
    for (int64_t c = 0; c < width; c += BLOCK) {
        const int64_t n = least(width - c, BLOCK);
        k->multiply(n, open_gates(k, width, c, n, rows, m + c, sums), m + c, false, m + c);
    }
}

static void message_grad(const gnn_aggregate_shape_t *shape, const gnn_message_rows_t *rows,
                         const gnn_real_t *d_message, gnn_message_grad_t *grad)
{
    const int64_t width = shape->message_width;
    const gnn__elementwise_kernels_t *k = gnn__elementwise_kernels();
    gnn_real_t *const both[] = {grad->src, grad->edge};
    gnn_real_t gate[BLOCK], sums[BLOCK];
    for (int64_t c = 0; c < width; c += BLOCK) {
        const int64_t n = least(width - c, BLOCK);
        const gnn_real_t *value = open_gates(k, width, c, n, rows, gate, sums);
#pragma omp simd
        for (int64_t x = 0; x < n; x++) { /* they become their derivatives */
            const gnn_real_t d_value = d_message[c + x] * gate[x];
            gate[x] = d_value * (1 - gate[x]) * value[x];
            sums[x] = d_value;
        }
        if (grad->dst)
            k->scale(n, 1, gate, true, grad->dst + c);
        for (int to = 0; to < 2; to++)
            if (both[to]) {
                k->scale(n, 1, gate, true, both[to] + c);
                k->scale(n, 1, sums, true, both[to] + width + c);
            }
    }
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
