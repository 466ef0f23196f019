/* All columns of all nodes of a graph of a batch normalised together: weight (x - mean) / std +
 * bias. `graph` from nodes to one row a segment. factor: eps [1e-5], added to the variance; with
 * theta 1 to the deviation. Paper: Ba et al. 2016. */
#include <lib/model/blocks/pieces.h>

void gnn__block_graph_layer_norm(gnn_steps_t *steps, const gnn_block_t *b)
{
    const char *x = gnn__block_input(steps, b);
    gnn__block_need(steps, b, "width", b->width > 0);
    const char *weight = gnn__piece_constant(steps, b, "weight", b->width, 1);
    x = gnn__piece_op(steps, b, "normed", &gnn_op_segment_layer_norm, (const char *[3]){x},
                      (double)b->factor, (double)b->theta);
    x = gnn__piece_multiply(steps, b, "weighed", x, weight);
    gnn__piece_bias(steps, b, "", x, b->width);
}
