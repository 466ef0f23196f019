/* Weights by degree: y_i = W_d sum over j of x_j + b_d + V_d x_i, d the number of senders that i
 * hears, at most `hops`. Paper: Duvenaud et al. 2015 (neural fingerprints). */
#include <lib/model/blocks/pieces.h>

/* What degree d makes of it: the rows of that degree, 0 elsewhere. */
static const char *of_degree(gnn_steps_t *steps, const gnn_block_t *b, const char *const in[3],
                             int64_t d, int64_t last, int64_t out)
{
    const double high = d == last ? 1e30 : (double)d;
    const char *mine = gnn__piece_op(steps, b, gnn__numbered("is.", d, "").text, &gnn_op_between,
                                     (const char *[3]){in[2]}, (double)d, high),
               *heard = gnn__piece_linear(steps, b, gnn__numbered("lins_l.", d, "").text, in[0],
                                          b->width, out, GNN_ON),
               *own = gnn__piece_linear(steps, b, gnn__numbered("lins_r.", d, "").text, in[1],
                                        b->width, out, GNN_OFF);
    own = gnn__piece_add(steps, b, gnn__numbered("both.", d, "").text, heard, own, 1);
    return gnn__piece_multiply(steps, b, gnn__numbered("chosen.", d, "").text, own, mine);
}

void gnn__block_mf(gnn_steps_t *steps, const gnn_block_t *b)
{
    const int64_t last = b->hops > 0 ? b->hops : 1, out = b->out > 0 ? b->out : b->width;
    const char *in[3] = {NULL, gnn__block_input(steps, b)}, *sum = NULL;
    gnn__block_need(steps, b, "width", b->width > 0);
    in[0] = gnn__piece_heard(steps, b, "heard", in[1], &gnn_aggregator_sum, b->graph, b->width);
    in[2] = gnn__piece_op(steps, b, "degree", &gnn_op_degree, (const char *[3]){in[1]}, 0, 0);
    for (int64_t d = 0; d <= last; d++) {
        const char *y = of_degree(steps, b, in, d, last, out);
        sum = sum ? gnn__piece_add(steps, b, gnn__numbered("sum.", d, "").text, sum, y, 1) : y;
    }
    gnn__piece_same(steps, b, "", sum);
}
