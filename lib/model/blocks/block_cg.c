/* Gated messages of both ends and the edge: x_i + sum over j of sigmoid(W_f z + b_f) softplus(W_s
 * z + b_s), z = [x_i, x_j, e_ij]. Edge features: edges, edge_width. `graph`, and graphs[0] from
 * its edges to their receivers. Paper: Xie and Grossman 2018 (CGCNN). */
#include <lib/model/blocks/pieces.h>

void gnn__block_cg(gnn_steps_t *steps, const gnn_block_t *b)
{
    const int64_t in = b->width, both = 2 * in + (b->edges ? b->edge_width : 0);
    const char *x = gnn__block_input(steps, b);
    gnn__block_need(steps, b, "width", in > 0);
    const char *to = gnn__piece_ends(steps, b, "receivers", x, GNN_SIDE_RECEIVERS),
               *from = gnn__piece_ends(steps, b, "senders", x, GNN_SIDE_SENDERS),
               *z = gnn__piece_concat(steps, b, "pair", (const char *[8]){to, from, b->edges}),
               *gate = gnn__piece_linear(steps, b, "lin_f", z, both, in, GNN_ON),
               *value = gnn__piece_linear(steps, b, "lin_s", z, both, in, GNN_ON);
    gate = gnn__piece_activation(steps, b, "gate", gate, GNN_SIGMOID);
    value = gnn__piece_activation(steps, b, "value", value, GNN_SOFTPLUS);
    value = gnn__piece_multiply(steps, b, "message", value, gate);
    value =
        gnn__piece_heard(steps, b, "heard", value, &gnn_aggregator_sum, gnn__block_graph(b, 0), in);
    gnn__piece_add(steps, b, "", value, x, 1);
}
