/* The sum of all messages. */
#include <lib/aggregate/tables.h>
#include <lib/kernels/rowwise/elementwise.h>
#include <string.h>

static size_t state(const gnn_aggregate_shape_t *shape)
{
    return (size_t)shape->width;
}

static void accumulate(const gnn_aggregate_shape_t *shape, gnn_real_t *sum, const gnn_edge_t *edge)
{
    gnn__elementwise_kernels()->scale(shape->width, 1, edge->message, true, sum);
}

static void finish(const gnn_aggregate_shape_t *shape, gnn_real_t *sum, gnn_real_t *out)
{
    memcpy(out, sum, sizeof *out * (size_t)shape->width);
}

/* The state becomes the gradient of every message. */
static void finish_grad(const gnn_aggregate_shape_t *shape, gnn_real_t *sum, const gnn_real_t *out,
                        const gnn_real_t *d_out)
{
    (void)out;
    memcpy(sum, d_out, sizeof *sum * (size_t)shape->width);
}

static void accumulate_grad(const gnn_aggregate_shape_t *shape, const gnn_real_t *d_out,
                            const gnn_edge_t *edge, gnn_edge_grad_t *grad)
{
    (void)edge;
    if (grad->message)
        gnn__elementwise_kernels()->scale(shape->width, 1, d_out, true, grad->message);
}

const gnn_aggregator_t gnn_aggregator_sum = {
    .name = "sum",
    .paper = "Xu et al. 2019 (GIN)",
    .help = "sum over everything heard",
    .flags = GNN_AGGREGATOR_LINEAR,
    .state = state,
    .accumulate = accumulate,
    .finish = finish,
    .finish_grad = finish_grad,
    .accumulate_grad = accumulate_grad,
    .fast = GNN__FAST_SUM,
};
