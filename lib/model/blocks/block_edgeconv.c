/* The largest over neighbours of an mlp of [x_i, x_j - x_i]: two products with a relu between, or
 * one and a relu where `hidden` is 0; layer.aggregator in place of max. `graph`, and graphs[0]
 * from its edges to their receivers. Paper: Wang et al. 2019 (DGCNN). */
#include <lib/model/blocks/pieces.h>

void gnn__block_edgeconv(gnn_steps_t *steps, const gnn_block_t *b)
{
    const int64_t in = b->width, out = b->out > 0 ? b->out : in;
    const char *x = gnn__block_input(steps, b);
    gnn__block_need(steps, b, "width", in > 0);
    /* [x_i, x_j - x_i] W = x_i (W_1 - W_2) + x_j W_2: products of nodes, not of edges. */
    const int64_t width = b->hidden > 0 ? b->hidden : out;
    const char *own = gnn__piece_part(steps, b, "nn.0", NULL, x, 0, in, 2 * in, width),
               *sent = gnn__piece_part(steps, b, "nn.0", "sent", x, in, in, 2 * in, width);
    own = gnn__piece_add(steps, b, "own", own, sent, -1);
    own = gnn__piece_ends(steps, b, "receivers", own, GNN_SIDE_RECEIVERS);
    sent = gnn__piece_ends(steps, b, "senders", sent, GNN_SIDE_SENDERS);
    const char *z = gnn__piece_add(steps, b, "pair", own, sent, 1);
    z = gnn__piece_activation(steps, b, "nn.1", z, GNN_RELU);
    if (b->hidden > 0)
        z = gnn__piece_linear(steps, b, "nn.2", z, b->hidden, out, GNN_ON);
    gnn__piece_heard(steps, b, "", z, b->layer.aggregator ? b->layer.aggregator : &gnn_aggregator_max,
                     gnn__block_graph(b, 0), out);
}
