/* The largest over neighbours of an mlp of [x_i, x_j - x_i]: two products with a relu between, or
 * one and a relu where `hidden` is 0; layer.aggregator in place of max. `graph`, and graphs[0]
 * from its edges to their receivers. Paper: Wang et al. 2019 (DGCNN). */
#include <lib/model/blocks/pieces.h>

void gnn__block_edgeconv(gnn_steps_t *steps, const gnn_block_t *b)
{
    const int64_t in = b->width, out = b->out > 0 ? b->out : in;
    const char *x = gnn__block_input(steps, b);
    gnn__block_need(steps, b, "width", in > 0);
    const char *to = gnn__piece_ends(steps, b, "receivers", x, GNN_SIDE_RECEIVERS),
               *from = gnn__piece_ends(steps, b, "senders", x, GNN_SIDE_SENDERS),
               *less = gnn__piece_add(steps, b, "differences", from, to, -1),
               *pair = gnn__piece_concat(steps, b, "pair", (const char *[8]){to, less});
    const char *z =
        gnn__piece_linear(steps, b, "nn.0", pair, 2 * in, b->hidden > 0 ? b->hidden : out, GNN_ON);
    z = gnn__piece_activation(steps, b, "nn.1", z, GNN_RELU);
    if (b->hidden > 0)
        z = gnn__piece_linear(steps, b, "nn.2", z, b->hidden, out, GNN_ON);
    gnn__piece_heard(steps, b, "", z, b->layer.aggregator ? b->layer.aggregator : &gnn_aggregator_max,
                     gnn__block_graph(b, 0), out);
}
