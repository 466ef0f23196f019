/* Columns normalised over each graph of a batch, with a learned share of the mean taken off:
 * weight (x - s mean) / std + bias. `graph` from nodes to one row a segment. Paper: Cai et al.
 * 2021 (GraphNorm). */
#include <lib/model/blocks/pieces.h>

void gnn__block_graph_norm(gnn_steps_t *steps, const gnn_block_t *b)
{
    const char *x = gnn__block_input(steps, b);
    gnn__block_need(steps, b, "width", b->width > 0);
    const char *share = gnn__piece_constant(steps, b, "mean_scale", b->width, 1),
               *weight = gnn__piece_constant(steps, b, "weight", b->width, 1);
    x = gnn__piece_op(steps, b, "normed", &gnn_op_segment_norm, (const char *[3]){x, share}, 0, 0);
    x = gnn__piece_multiply(steps, b, "weighed", x, weight);
    gnn__piece_bias(steps, b, "", x, b->width);
}
