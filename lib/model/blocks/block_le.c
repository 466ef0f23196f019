/* How much a node differs from its neighbours: sum over j of (W_1 x_j + b_1 - W_2 x_i) + W_3 x_i +
 * b_3. Paper: Ranjan et al. 2020 (ASAP). */
#include <lib/model/blocks/pieces.h>

void gnn__block_le(gnn_steps_t *steps, const gnn_block_t *b)
{
    const int64_t in = b->width, out = b->out > 0 ? b->out : in;
    const char *x = gnn__block_input(steps, b);
    gnn__block_need(steps, b, "width", in > 0);
    const char *sent = gnn__piece_linear(steps, b, "lin1", x, in, out, GNN_ON),
               *own = gnn__piece_linear(steps, b, "lin2", x, in, out, GNN_OFF),
               *last = gnn__piece_linear(steps, b, "lin3", x, in, out, GNN_ON),
               *count = gnn__piece_op(steps, b, "degree", &gnn_op_degree, (const char *[3]){x}, 0, 0);
    own = gnn__piece_multiply(steps, b, "times", own, count);
    sent = gnn__piece_heard(steps, b, "heard", sent, &gnn_aggregator_sum, b->graph, out);
    sent = gnn__piece_add(steps, b, "difference", sent, own, -1);
    gnn__piece_add(steps, b, "", sent, last, 1);
}
