/* Powers of the adjacency side by side, each with its own product: [x W_0, A x W_1, ...] + b, up
 * to power `hops`, at most 7; each is `out` wide. Paper: Abu-El-Haija et al. 2019 (MixHop). */
#include <lib/model/blocks/pieces.h>

enum { MOST = 8 };

void gnn__block_mixhop(gnn_steps_t *steps, const gnn_block_t *b)
{
    const int64_t hops = b->hops > 0 ? b->hops : 1, out = b->out > 0 ? b->out : b->width;
    const char *x = gnn__block_input(steps, b), *parts[MOST] = {NULL};
    gnn__block_need(steps, b, "width", b->width > 0);
    gnn__block_need(steps, b, "hops in 1..7", hops < MOST);
    for (int64_t k = 0; k <= hops && k < MOST; k++) {
        if (k > 0)
            x = gnn__piece_hop(steps, b, gnn__numbered("hop.", k, "").text, x, b->width, GNN_ON);
        parts[k] = gnn__piece_linear(steps, b, gnn__numbered("lins.", k, "").text, x, b->width, out,
                                     GNN_OFF);
    }
    const char *all = gnn__piece_concat(steps, b, "all", parts);
    gnn__piece_bias(steps, b, "", all, (hops + 1) * out);
}
