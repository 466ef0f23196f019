/* Gated messages of both ends and the edge: x_i + sum over j of sigmoid(W_f z + b_f) softplus(W_s
 * z + b_s), z = [x_i, x_j, e_ij]. Edge features: edges, edge_width. `graph`, and graphs[0] from
 * its edges to their receivers. Paper: Xie and Grossman 2018 (CGCNN). */
#include <lib/model/blocks/pieces.h>

/* z W + b for z = [x_i, x_j, e_ij]: products of nodes, gathered to edges, and one of edges. */
static const char *of_pair(gnn_steps_t *steps, const gnn_block_t *b, const char *part, const char *x)
{
    const int64_t in = b->width, more = b->edges ? b->edge_width : 0, all = 2 * in + more;
    char name[6][32];
    static const char *const parts[] = {"to", "sent", "from", "pair", "edges", "sum"};
    for (int k = 0; k < 6; k++)
        snprintf(name[k], sizeof name[k], "%s.%s", part, parts[k]);
    const char *to = gnn__piece_part(steps, b, part, NULL, x, 0, in, all, in),
               *from = gnn__piece_part(steps, b, part, name[1], x, in, in, all, in);
    to = gnn__piece_ends(steps, b, name[0], to, GNN_SIDE_RECEIVERS);
    from = gnn__piece_ends(steps, b, name[2], from, GNN_SIDE_SENDERS);
    const char *z = gnn__piece_add(steps, b, name[3], to, from, 1);
    if (more == 0)
        return z;
    const char *e = gnn__piece_part(steps, b, part, name[4], b->edges, 2 * in, more, all, in);
    return gnn__piece_add(steps, b, name[5], z, e, 1);
}

void gnn__block_cg(gnn_steps_t *steps, const gnn_block_t *b)
{
    const int64_t in = b->width;
    const char *x = gnn__block_input(steps, b);
    gnn__block_need(steps, b, "width", in > 0);
    const char *gate = of_pair(steps, b, "lin_f", x), *value = of_pair(steps, b, "lin_s", x);
    gate = gnn__piece_activation(steps, b, "gate", gate, GNN_SIGMOID);
    value = gnn__piece_activation(steps, b, "value", value, GNN_SOFTPLUS);
    value = gnn__piece_multiply(steps, b, "message", value, gate);
    value =
        gnn__piece_heard(steps, b, "heard", value, &gnn_aggregator_sum, gnn__block_graph(b, 0), in);
    gnn__piece_add(steps, b, "", value, x, 1);
}
