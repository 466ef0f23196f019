/* Gaussian kernels over edge features e_ij (edges, edge_width): the mean over j of sum over k of
 * w_k(e_ij) x_j G_k, w_k by a learned centre and width, plus x_i R + b; `rows` kernels. Each kernel
 * is a weighted mean of its own, so that no row is as many as there are edges. Paper: Monti et al.
 * 2017 (MoNet). */
#include <lib/model/blocks/pieces.h>

/* The mean over j of w_k(e_ij) z_jk. */
static const char *heard_by_kernel(gnn_steps_t *steps, const gnn_block_t *b, const char *z,
                                   const char *w, int64_t k, int64_t out)
{
    const char *weight = gnn__piece_columns(steps, b, gnn__numbered("weight.", k, "").text, w, k, 1),
               *sent =
                   gnn__piece_columns(steps, b, gnn__numbered("sent.", k, "").text, z, k * out, out);
    return gnn__block_add(steps, b, gnn__numbered("heard.", k, "").text,
                          (gnn_step_t){.kind = GNN_STEP_AGGREGATE,
                                       .inputs = {sent},
                                       .edge_weight = weight,
                                       .graph = b->graph,
                                       .layer = {.in = out, .aggregator = &gnn_aggregator_mean}});
}

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
               *z = gnn__piece_linear(steps, b, "g", x, in, kernels * out, GNN_OFF),
               *sum = gnn__piece_linear(steps, b, "root", x, in, out, GNN_OFF);
    for (int64_t k = 0; k < kernels; k++)
        sum = gnn__piece_add(steps, b, gnn__numbered("sum.", k, "").text,
                             heard_by_kernel(steps, b, z, w, k, out), sum, 1);
    gnn__piece_bias(steps, b, "", sum, out);
}
