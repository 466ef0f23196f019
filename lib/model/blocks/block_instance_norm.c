/* Columns normalised over each graph of a batch: weight (x - mean) / std + bias. `graph` from
 * nodes to one row a segment. Paper: Ulyanov et al. 2016. */
#include <lib/model/blocks/pieces.h>

void gnn__block_instance_norm(gnn_steps_t *steps, const gnn_block_t *b)
{
    const char *x = gnn__block_input(steps, b);
    gnn__block_need(steps, b, "width", b->width > 0);
    const char *weight = gnn__piece_constant(steps, b, "weight", b->width, 1);
    x = gnn__piece_op(steps, b, "normed", &gnn_op_segment_norm, (const char *[3]){x}, 0, 0);
    x = gnn__piece_multiply(steps, b, "weighed", x, weight);
    gnn__piece_bias(steps, b, "", x, b->width);
}
