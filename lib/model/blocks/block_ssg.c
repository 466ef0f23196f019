/* The mean of all powers of the adjacency and the features themselves, then one product: (factor x
 * + (1 - factor) / hops * sum over k = 1 .. hops of A^k x) W + b. Paper: Zhu and Koniusz 2021
 * (SSGC). */
#include <lib/model/blocks/pieces.h>

void gnn__block_ssg(gnn_steps_t *steps, const gnn_block_t *b)
{
    const int64_t hops = b->hops > 0 ? b->hops : 1, out = b->out > 0 ? b->out : b->width;
    const gnn_real_t alpha = b->factor == 0 ? (gnn_real_t)0.1 : b->factor,
                     share = (1 - alpha) / (gnn_real_t)hops;
    const char *x = gnn__block_input(steps, b), *z = x;
    gnn__block_need(steps, b, "width", b->width > 0);
    const char *sum = gnn__piece_scale(steps, b, "own", x, alpha);
    for (int64_t k = 0; k < hops; k++) {
        z = gnn__piece_hop(steps, b, gnn__numbered("hop.", k, "").text, z, b->width, GNN_ON);
        sum = gnn__piece_add(steps, b, gnn__numbered("sum.", k, "").text, sum, z, share);
    }
    gnn__piece_same(steps, b, "", gnn__piece_linear(steps, b, "lin", sum, b->width, out, GNN_ON));
}
