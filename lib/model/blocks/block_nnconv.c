/* A matrix for each edge: y_i = aggregate over j of x_j M(e_ij) + x_i R + b, M an mlp of the
 * edge's features (edges, edge_width) with `hidden` inner columns; layer.aggregator in place of
 * sum. `graph`, and graphs[0] from its edges to their receivers. Papers: Gilmer et al. 2017
 * (MPNN), Simonovsky and Komodakis 2017. */
#include <lib/model/blocks/pieces.h>

void gnn__block_nnconv(gnn_steps_t *steps, const gnn_block_t *b)
{
    const int64_t in = b->width, out = b->out > 0 ? b->out : in;
    const char *x = gnn__block_input(steps, b);
    gnn__block_need(steps, b, "width, .edges, .edge_width and .hidden",
                    in > 0 && b->edges && b->edge_width > 0 && b->hidden > 0);
    const char *m = gnn__piece_linear(steps, b, "nn.0", b->edges, b->edge_width, b->hidden, GNN_ON);
    m = gnn__piece_activation(steps, b, "nn.1", m, GNN_RELU);
    m = gnn__piece_linear(steps, b, "nn.2", m, b->hidden, in * out, GNN_ON);
    const char *z = gnn__piece_ends(steps, b, "senders", x, GNN_SIDE_SENDERS);
    z = gnn__piece_op(steps, b, "message", &gnn_op_row_matrix, (const char *[3]){z, m}, 0, 0);
    z = gnn__piece_heard(steps, b, "heard", z,
                         b->layer.aggregator ? b->layer.aggregator : &gnn_aggregator_sum,
                         gnn__block_graph(b, 0), out);
    x = gnn__piece_linear(steps, b, "lin", x, in, out, GNN_OFF);
    z = gnn__piece_add(steps, b, "sum", z, x, 1);
    gnn__piece_bias(steps, b, "", z, out);
}
