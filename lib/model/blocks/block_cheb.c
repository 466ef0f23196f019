/* Chebyshev polynomials of the scaled Laplacian, L = -D^-1/2 A D^-1/2 where its largest eigenvalue
 * is taken as 2: sum over k < hops of T_k(L) x W_k + b, T_0 x = x, T_1 x = L x, T_k = 2 L T_k-1 -
 * T_k-2. D counts who hears a node, as in PyG. Paper: Defferrard et al. 2016. */
#include <lib/model/blocks/pieces.h>

/* L x */
static const char *laplacian(gnn_steps_t *steps, const gnn_block_t *b, int64_t k, const char *x,
                             const char *root)
{
    x = gnn__piece_multiply(steps, b, gnn__numbered("sent.", k, "").text, x, root);
    x = gnn__piece_heard(steps, b, gnn__numbered("heard.", k, "").text, x, &gnn_aggregator_sum,
                         b->graph, b->width);
    x = gnn__piece_multiply(steps, b, gnn__numbered("normed.", k, "").text, x, root);
    return gnn__piece_scale(steps, b, gnn__numbered("laplacian.", k, "").text, x, -1);
}

void gnn__block_cheb(gnn_steps_t *steps, const gnn_block_t *b)
{
    const int64_t terms = b->hops > 0 ? b->hops : 1, out = b->out > 0 ? b->out : b->width;
    const char *x = gnn__block_input(steps, b), *sum = NULL, *before = NULL;
    gnn__block_need(steps, b, "width", b->width > 0);
    const char *degree =
                   gnn__piece_op(steps, b, "degree", &gnn_op_degree, (const char *[3]){x}, 1, 0),
               *root = gnn__piece_op(steps, b, "root", &gnn_op_power, (const char *[3]){degree},
                                     -0.5, 0);
    for (int64_t k = 0; k < terms; k++) {
        if (k > 0) {
            const char *more = laplacian(steps, b, k, x, root);
            if (before) {
                more = gnn__piece_scale(steps, b, gnn__numbered("twice.", k, "").text, more, 2);
                more = gnn__piece_add(steps, b, gnn__numbered("term.", k, "").text, more, before, -1);
            }
            before = x;
            x = more;
        }
        const char *y = gnn__piece_linear(steps, b, gnn__numbered("lins.", k, "").text, x, b->width,
                                          out, GNN_OFF);
        sum = sum ? gnn__piece_add(steps, b, gnn__numbered("sum.", k, "").text, sum, y, 1) : y;
    }
    gnn__piece_bias(steps, b, "", sum, out);
}
