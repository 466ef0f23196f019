/* Gaussian kernels over edge features e_ij (edges, edge_width): the mean over j of sum over k of
 * w_k(e_ij) x_j G_k, w_k by a learned centre and width, plus x_i R + b; `rows` kernels. `graph`,
 * and graphs[0] from its edges to their receivers. Paper: Monti et al. 2017 (MoNet). */
#include <lib/model/blocks/pieces.h>

void gnn__block_gmm(gnn_steps_t *steps, const gnn_block_t *b)
{
    const int64_t in = b->width, out = b->out > 0 ? b->out : in, kernels = b->rows > 0 ? b->rows : 1;
    const char *x = gnn__block_input(steps, b);
    gnn__block_need(steps, b, "width, .edges and .edge_width",
                    in > 0 && b->edges && b->edge_width > 0);
    const char *mu = gnn__piece_rows(steps, b, "mu", kernels, b->edge_width),
               *sigma = gnn__piece_rows(steps, b, "sigma", kernels, b->edge_width),
               *w = gnn__piece_op(steps, b, "kernels", &gnn_op_gaussian,
                                  (const char *[3]){b->edges, mu, sigma}, 0, 0),
               *z = gnn__piece_linear(steps, b, "g", x, in, kernels * out, GNN_OFF);
    z = gnn__piece_ends(steps, b, "senders", z, GNN_SIDE_SENDERS);
    z = gnn__block_add(steps, b, "messages",
                       (gnn_step_t){.kind = GNN_STEP_SCALE_HEADS, .input = z, .second = w});
    z = gnn__piece_op(steps, b, "message", &gnn_op_fold_heads, (const char *[3]){z},
                      (double)kernels, 0);
    z = gnn__piece_heard(steps, b, "heard", z, &gnn_aggregator_mean, gnn__block_graph(b, 0), out);
    x = gnn__piece_linear(steps, b, "root", x, in, out, GNN_OFF);
    z = gnn__piece_add(steps, b, "sum", z, x, 1);
    gnn__piece_bias(steps, b, "", z, out);
}
