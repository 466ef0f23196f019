/* A softmax of every column over what is heard, with a learned temperature t: y = sum of w_j m_j,
 * w_j = exp(t m_j) / sum of exp(t m). State: of every column the largest t m, the sum of exp(t m -
 * largest), and the sum of m times that, which becomes y; then d_out over the sum. */
#include <lib/aggregate/tables.h>
#include <lib/kernels/neighbours/pair_rows.h>

static size_t declare(const gnn_aggregate_shape_t *shape, gnn_piece_t *pieces)
{
    (void)shape;
    pieces[0] = (gnn_piece_t){
        .name = "temperature", .rows = 1, .cols = 1, .init = GNN_INIT_CONSTANT, .init_argument = 1};
    return 1;
}

static size_t state(const gnn_aggregate_shape_t *shape)
{
    return 4 * (size_t)shape->width;
}

static void accumulate(const gnn_aggregate_shape_t *shape, gnn_real_t *s, const gnn_edge_t *edge)
{
    const int64_t width = shape->width;
    gnn__pair_kernels()->soften(width, shape->parameters.data[0], edge->message, s, s + width,
                                s + 2 * width);
}

static void finish(const gnn_aggregate_shape_t *shape, gnn_real_t *s, gnn_real_t *out)
{
    const gnn_real_t *sum = s + shape->width;
    gnn_real_t *heard = s + 2 * shape->width;
    for (int64_t c = 0; c < shape->width; c++)
        out[c] = heard[c] = sum[c] != 0 ? heard[c] / sum[c] : 0;
}

static void finish_grad(const gnn_aggregate_shape_t *shape, gnn_real_t *s, const gnn_real_t *out,
                        const gnn_real_t *d_out)
{
    (void)out;
    const gnn_real_t *sum = s + shape->width;
    gnn_real_t *share = s + 3 * shape->width;
    for (int64_t c = 0; c < shape->width; c++)
        share[c] = sum[c] != 0 ? d_out[c] / sum[c] : 0;
}

static void accumulate_grad(const gnn_aggregate_shape_t *shape, const gnn_real_t *s,
                            const gnn_edge_t *edge, gnn_edge_grad_t *grad)
{
    const int64_t width = shape->width;
    const gnn_real_t d_t =
        gnn__pair_kernels()->soften_grad(width, shape->parameters.data[0], edge->message, s,
                                         s + 2 * width, s + 3 * width, grad->message);
    if (grad->parameters.data)
        grad->parameters.data[0] += d_t;
}

const gnn_aggregator_t gnn_aggregator_softmax_mean = {
    .name = "softmax_mean",
    .paper = "Li et al. 2020 (GENConv)",
    .help = "a mean of every column, weighed by a softmax of its numbers with a learned temperature",
    .declare = declare,
    .state = state,
    .accumulate = accumulate,
    .finish = finish,
    .finish_grad = finish_grad,
    .accumulate_grad = accumulate_grad,
};
