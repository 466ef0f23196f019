/* One more score per head, which is learned, and whose value is nothing. State: as softmax, and the
 * sink's own share of the sum. */
#include <lib/aggregate/weighers/softmax.h>

static size_t declare(const gnn_aggregate_shape_t *shape, gnn_piece_t *pieces)
{
    pieces[0] = (gnn_piece_t){
        .name = "attention.sink", .rows = 1, .cols = shape->heads, .init = GNN_INIT_ZEROS};
    return 1;
}

static void settle(const gnn_aggregate_shape_t *shape, int64_t head, gnn_real_t *state)
{
    const gnn_real_t sink = shape->parameters.data[head];
    softmax_enter(shape, head, state, sink);
    state[2] = softmax_weight(shape, head, state, sink);
}

static void settle_grad(const gnn_aggregate_shape_t *shape, int64_t head, const gnn_real_t *state,
                        gnn_real_t delta, const gnn_tensor_t *d_parameters)
{
    (void)shape;
    d_parameters->data[head] -= state[2] * delta;
}

const gnn_weigher_t gnn_weigher_softmax_sink = {
    .name = "softmax_sink",
    .paper = "Xiao et al. 2024 (attention sinks); learned: GPT-OSS 2025",
    .help = "as softmax, with a learned score per head in the denominator",
    .declare = declare,
    .state = 3,
    .enter = softmax_enter,
    .settle = settle,
    .weight = softmax_weight,
    .weight_grad = softmax_weight_grad,
    .settle_grad = settle_grad,
    .fast = GNN__FAST_SOFTMAX_SINK,
};
