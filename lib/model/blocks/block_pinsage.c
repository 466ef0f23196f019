/* What is heard by importance, beside the node's own row: n_i = sum over j of a_ij relu(Q x_j + q)
 * / sum of a_ij, relu(W [x_i, n_i] + w) at length 1; a: edge_weight; `hidden` numbers in a
 * message. Paper: Ying et al. 2018. */
#include <lib/model/blocks/pieces.h>

void gnn__block_pinsage(gnn_steps_t *steps, const gnn_block_t *b)
{
    const int64_t in = b->width, hidden = b->hidden > 0 ? b->hidden : in,
                  out = b->out > 0 ? b->out : in;
    const char *x = gnn__block_input(steps, b);
    gnn__block_need(steps, b, "width", in > 0);
    const char *sent = gnn__piece_linear(steps, b, "message", x, in, hidden, GNN_ON);
    sent = gnn__piece_activation(steps, b, "sent", sent, GNN_RELU);
    sent = gnn__block_add(steps, b, "heard",
                          (gnn_step_t){.inputs = {sent},
                                       .graph = b->graph,
                                       .edge_weight = b->edge_weight,
                                       .layer = {.in = hidden,
                                                 .out = hidden,
                                                 .message = &gnn_message_none,
                                                 .aggregator = &gnn_aggregator_sum,
                                                 .update = &gnn_update_none,
                                                 .graph_norm = GNN_GRAPH_NORM_ROW,
                                                 .bias_out = GNN_OFF}});
    x = gnn__piece_concat(steps, b, "both", (const char *[8]){x, sent});
    x = gnn__piece_linear(steps, b, "out", x, in + hidden, out, GNN_ON);
    x = gnn__piece_activation(steps, b, "rectified", x, GNN_RELU);
    gnn__block_add(steps, b, "",
                   (gnn_step_t){.kind = GNN_STEP_NORM, .inputs = {x}, .in = out, .norm = GNN_NORM_L2});
}
