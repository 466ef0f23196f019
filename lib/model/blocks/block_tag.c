/* A product for each power of the adjacency, without self-loops: sum over k of A^k x W_k, k = 0 ..
 * hops, + b. Paper: Du et al. 2017 (TAGCN). */
#include <lib/model/blocks/pieces.h>

void gnn__block_tag(gnn_steps_t *steps, const gnn_block_t *b)
{
    const int64_t hops = b->hops > 0 ? b->hops : 1, out = b->out > 0 ? b->out : b->width;
    const char *x = gnn__block_input(steps, b), *sum = NULL;
    gnn__block_need(steps, b, "width", b->width > 0);
    for (int64_t k = 0; k <= hops; k++) {
        if (k > 0)
            x = gnn__piece_hop(steps, b, gnn__numbered("hop.", k, "").text, x, b->width, GNN_OFF);
        const char *y = gnn__piece_linear(steps, b, gnn__numbered("lins.", k, "").text, x, b->width,
                                          out, GNN_OFF);
        sum = sum ? gnn__piece_add(steps, b, gnn__numbered("sum.", k, "").text, sum, y, 1) : y;
    }
    gnn__piece_bias(steps, b, "", sum, out);
}
