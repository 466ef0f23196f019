/* Hops without weights, then one product: W A^hops x + b. Paper: Wu et al. 2019 (SGC). */
#include <lib/model/blocks/pieces.h>

void gnn__block_sgc(gnn_steps_t *steps, const gnn_block_t *b)
{
    const int64_t hops = b->hops > 0 ? b->hops : 1, out = b->out > 0 ? b->out : b->width;
    const char *x = gnn__block_input(steps, b);
    gnn__block_need(steps, b, "width", b->width > 0);
    for (int64_t k = 0; k < hops; k++)
        x = gnn__piece_hop(steps, b, gnn__numbered("hop.", k, "").text, x, b->width, GNN_ON);
    gnn__piece_same(steps, b, "", gnn__piece_linear(steps, b, "lin", x, b->width, out, GNN_ON));
}
