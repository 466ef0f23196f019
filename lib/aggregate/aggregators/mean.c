/* State: how many were heard, then their sum. */
#include <lib/aggregate/tables.h>
#include <lib/kernels/rowwise/elementwise.h>

static size_t state(const gnn_aggregate_shape_t *shape)
{
    return 1 + (size_t)shape->width;
}

static void accumulate(const gnn_aggregate_shape_t *shape, gnn_real_t *s, const gnn_edge_t *edge)
{
    s[0] += 1;
    gnn__elementwise_kernels()->scale(shape->width, 1, edge->message, true, s + 1);
}

static void finish(const gnn_aggregate_shape_t *shape, gnn_real_t *s, gnn_real_t *out)
{
    for (int64_t c = 0; c < shape->width; c++)
        out[c] = s[0] > 0 ? s[1 + c] / s[0] : 0;
}

/* The sum becomes the gradient of every message. */
static void finish_grad(const gnn_aggregate_shape_t *shape, gnn_real_t *s, const gnn_real_t *out,
                        const gnn_real_t *d_out)
{
    (void)out;
    for (int64_t c = 0; c < shape->width; c++)
        s[1 + c] = s[0] > 0 ? d_out[c] / s[0] : 0;
}

static void accumulate_grad(const gnn_aggregate_shape_t *shape, const gnn_real_t *s,
                            const gnn_edge_t *edge, gnn_edge_grad_t *grad)
{
    (void)edge;
    if (grad->message)
        gnn__elementwise_kernels()->scale(shape->width, 1, s + 1, true, grad->message);
}

const gnn_aggregator_t gnn_aggregator_mean = {
    .name = "mean",
    .paper = "Hamilton, Ying, Leskovec 2017 (GraphSAGE)",
    .help =
        "sum over everything heard, divided by how many there are (edge weights do not change the count)",
    .flags = GNN_AGGREGATOR_LINEAR,
    .state = state,
    .accumulate = accumulate,
    .finish = finish,
    .finish_grad = finish_grad,
    .accumulate_grad = accumulate_grad,
    .fast = GNN__FAST_MEAN,
};
