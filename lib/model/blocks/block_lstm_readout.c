/* An LSTM over the nodes of a segment, in their order; its last state goes out. `graph` from nodes
 * to one row a segment. Paper: Hamilton et al. 2017. */
#include <lib/model/blocks/pieces.h>

void gnn__block_lstm_readout(gnn_steps_t *steps, const gnn_block_t *b)
{
    const int64_t out = b->out > 0 ? b->out : b->width;
    const char *x = gnn__block_input(steps, b);
    gnn__block_need(steps, b, "width", b->width > 0);
    const char *in = gnn__piece_rows(steps, b, "weight_ih", b->width, 4 * out),
               *own = gnn__piece_rows(steps, b, "weight_hh", out, 4 * out),
               *one = gnn__piece_constant(steps, b, "bias_ih", 4 * out, GNN_ZERO),
               *two = gnn__piece_constant(steps, b, "bias_hh", 4 * out, GNN_ZERO),
               *bias = gnn__piece_add(steps, b, "biases", one, two, 1);
    gnn__block_add(steps, b, "",
                   (gnn_step_t){.kind = GNN_STEP_OP,
                                .op = &gnn_op_lstm_senders,
                                .inputs = {x, in, own, bias},
                                .graph = b->graph});
}
